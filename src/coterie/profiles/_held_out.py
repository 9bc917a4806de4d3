"""Tests of columns against clusters that were made without them.

A column that was clustered by differs between the clusters by construction. It also does so among samples
that were held out, because their cluster is found with the same column. So columns are held out, not samples:
the model is fitted again without some columns, and these are tested against the new clusters. A column that
is independent of all others is then independent of the new clusters, and its p-value is valid.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, nearest, shown
from coterie.core.types import FloatArray, IntArray
from coterie.evaluate import ari
from coterie.profiles._groups import Clustering, Groups
from coterie.profiles._measures import measure_columns
from coterie.profiles._variables import Variables, is_plain_matrix
from coterie.solvers.base import LabelConsensus

FOLDS = Integer(2)


@dataclass(frozen=True, eq=False)
class HeldOutTests:
    """P-values of columns against clusters that were made without them.

    Attributes
    ----------
    columns : ndarray of bool, shape (d,)
        The columns that were held out.
    p_value : ndarray, shape (d, c)
        NaN for other columns, and for clusters that have no counterpart.
    p_any : ndarray, shape (d,)
    agreement : list of float
        ARI of the clusters made without each group of columns with the clusters of all columns.
    """

    columns: NDArray[np.bool_]
    p_value: FloatArray
    p_any: FloatArray
    agreement: list[float]

    def note(self) -> str:
        """How the p-values were made, in one line."""
        values = ", ".join(f"{value:.2f}" for value in self.agreement)
        return (
            "Columns marked 'held out' are tested against clusters that were made without them; these "
            f"agree with the clusters described here (ARI) by {values}."
        )


def hold_out(
    X: Any,
    clustering: Clustering,
    variables: Variables,
    groups: Groups,
    held_out: int | Sequence[str],
    seeds: IntArray,
) -> HeldOutTests:
    """Fit the model again without each group of columns, and test these columns.

    ``X`` is the matrix or table that the model was fitted on; ``held_out`` is the number of groups that
    the columns are split into, or the names of the columns of a single group.
    """
    model = _refittable(clustering)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(next(iter(X.values())))
    if n_rows != len(clustering.labels):
        raise ParameterError(
            "held_out fits the model again, so X must have the rows that it was fitted on: "
            f"{len(clustering.labels)}, not {n_rows}"
        )
    names = [column.name for column in variables.columns]
    used = np.flatnonzero(variables.used)
    width = len(variables.columns)
    p_value, p_any = np.full((width, groups.n_clusters), np.nan), np.full(width, np.nan)
    is_held_out = np.zeros(width, dtype=bool)
    agreement = []
    for fold in _folds(held_out, used, names, np.random.default_rng(seeds[3])):
        kept = np.setdiff1d(used, fold)
        labels = _labels_without(model, X, variables, kept, groups.n_clusters)[groups.rows]
        labelled = labels >= 0
        clusters, codes = np.unique(labels[labelled], return_inverse=True)
        agreement.append(ari(groups.codes[labelled], codes))
        remade = groups.subset(labelled).relabelled(codes, len(clusters))
        counterpart = _counterparts(groups.codes[labelled], codes, groups.n_clusters)
        for rows, of_clusters, over_all in _tests(variables, fold, remade, seeds):
            is_held_out[rows] = True
            p_any[rows] = over_all
            matched = counterpart >= 0
            p_value[np.ix_(rows, matched)] = of_clusters[:, counterpart[matched]]
    return HeldOutTests(is_held_out, p_value, p_any, agreement)


def _refittable(clustering: Clustering) -> Any:
    model = clustering.model
    if model is None or isinstance(model, LabelConsensus):
        what = "labels" if model is None else type(model).__name__
        raise ParameterError(
            f"held_out fits the model again without some columns, which {what} cannot do; give a model "
            "that was fitted on X, such as a ConsensusClustering"
        )
    return model


def _folds(
    held_out: int | Sequence[str], used: IntArray, names: list[str], rng: np.random.Generator
) -> list[IntArray]:
    """The positions of the columns of each group."""
    if not isinstance(held_out, Sequence) and FOLDS.admits(held_out):
        if len(used) < held_out:
            raise ParameterError(
                f"held_out is {held_out}, but only {len(used)} columns were clustered by; take fewer groups"
            )
        return np.array_split(rng.permutation(used), held_out)
    if isinstance(held_out, str) or not isinstance(held_out, Sequence) or not held_out:
        raise ParameterError(
            f"held_out must be {FOLDS.describe()}, or a list of column names, but is {shown(held_out)}"
        )
    of_used = {names[j]: j for j in used.tolist()}
    for name in held_out:
        if name not in of_used:
            raise ParameterError(
                f"held_out names {name!r}, which is not a column that was clustered by"
                f"{nearest(str(name), of_used)}"
            )
    if len({*held_out}) == len(of_used):
        raise ParameterError("held_out names all columns; leave some to cluster by")
    return [np.array([of_used[name] for name in held_out])]


def _labels_without(
    model: Any, X: Any, variables: Variables, kept: IntArray, n_clusters: int
) -> NDArray[Any]:
    """The clusters that the model finds from these columns alone, as integers."""
    columns = [variables.columns[j].name for j in kept.tolist()]
    refitted = clone(model)
    parameters = refitted.get_params(deep=False)
    if "n_clusters" in parameters and not Integer(1).admits(parameters["n_clusters"]):
        refitted.set_params(n_clusters=n_clusters)
    if hasattr(model, "encoder_"):
        encoder = clone(model.encoder_).set_params(columns=columns, drop=())
        refitted.set_params(prepare=encoder)
        features = X
    elif is_plain_matrix(X):
        features = X[:, kept]
    else:
        features = nw.from_native(X, eager_only=True).select(columns).to_native()
    with warnings.catch_warnings():
        # warnings about fits with fewer columns do not concern the user
        warnings.simplefilter("ignore")
        return np.asarray(refitted.fit(features).labels_)


def _counterparts(codes: IntArray, others: IntArray, n_clusters: int) -> IntArray:
    """The new cluster that shares most samples with each cluster, one-to-one; -1 if there is none."""
    overlap = np.zeros((n_clusters, int(others.max()) + 1))
    np.add.at(overlap, (codes, others), 1)
    own, other = linear_sum_assignment(overlap, maximize=True)
    counterpart = np.full(n_clusters, -1)
    counterpart[own] = other
    return counterpart


def _tests(
    variables: Variables, fold: IntArray, groups: Groups, seeds: IntArray
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Positions of columns, their p-values per cluster, and their p-values over all clusters."""
    first = 0
    for part in variables.parts:
        inside = np.sort(fold[(fold >= first) & (fold < first + len(part.columns))])
        if inside.size:
            yield inside, *measure_columns(part, (inside - first).tolist(), groups, seeds)
        first += len(part.columns)
