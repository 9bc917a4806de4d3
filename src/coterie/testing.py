"""Equations that hold for every solver, to test your own solver.

:func:`check_solver` checks all of them on random label matrices. Each other ``check_...`` function
checks one equation on one label matrix, for tests with their own labels. All raise AssertionError.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from coterie.core.errors import ParameterError
from coterie.core.types import IntArray
from coterie.ensemble import Ensemble
from coterie.ensemble.canonical import signatures
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.base import LabelConsensus

# number of small random label matrices in check_solver, besides a realistic one
N_DRAWS = 8
# how many of all these are enough for the verdict, which costs most
N_VERDICTS = 3


def check_solver(solver: LabelConsensus, *, random_state: int = 0) -> None:
    """Check that a solver satisfies the equations that hold for every method of coterie.

    A solver may declare exceptions in ``about``: with ``missing=False`` it is given complete labels
    only, and with ``weights=False`` weights need not count like repeated samples.

    Parameters
    ----------
    solver : LabelConsensus
        The solver, with any parameters. ``n_clusters`` and ``random_state`` are set by the checks.
    random_state : int, default 0
        Seed of the label matrices.

    Raises
    ------
    AssertionError
        If an equation does not hold; the message says which.

    Examples
    --------
    >>> from coterie import EAC
    >>> from coterie.testing import check_solver
    >>> check_solver(EAC(linkage="single"))
    """
    check_conventions(solver)
    check_unanimous_members(solver)
    rng = np.random.default_rng(random_state)
    realistic = noisy_copies(random_state, missing=0.2 if solver.about.missing else 0.0)
    check_threads(solver, realistic, 3)
    draws = [_draw(rng, solver.about.missing) for _ in range(N_DRAWS)]
    for number, labels in enumerate([realistic, *draws]):
        n, m = labels.shape
        n_clusters = int(rng.integers(1, min(4, len(np.unique(labels, axis=0))) + 1))
        check_partition(solver, labels, n_clusters)
        check_seed(solver, labels, n_clusters)
        samples, members = rng.permutation(n), rng.permutation(m)
        check_order_and_names(solver, labels, n_clusters, samples, members)
        if number < N_VERDICTS:
            check_verdict(solver, labels, n_clusters, samples, members)
        if solver.about.weights:
            check_weights(solver, labels, n_clusters, rng.integers(1, 4, n))
        if solver.about.missing:
            check_blank_sample(solver, labels, n_clusters, int(rng.integers(n + 1)))


def check_partition(solver: LabelConsensus, labels: IntArray, n_clusters: int) -> None:
    """Exactly ``n_clusters`` clusters; equal label rows share one; fitted attributes are complete."""
    model = _fitted(solver, n_clusters, labels)
    ensemble, clusters = model.ensemble_, model.labels_
    _require(solver, len(clusters) == len(labels), "labels_ must have one label per sample")
    all_used = np.array_equal(np.unique(clusters), np.arange(n_clusters))
    _require(solver, all_used, f"labels_ must use exactly the clusters 0 .. {n_clusters - 1}")
    in_order = np.array_equal(clusters, by_first_appearance(clusters))
    _require(solver, in_order, "clusters must be numbered by first appearance")
    pairs = np.unique(np.column_stack([ensemble.inverse, clusters]), axis=0)
    together = len(pairs) == ensemble.n_microclusters
    _require(solver, together, "samples with equal labels must be in one cluster")
    confidence, weights = _votes(model), model.member_weights_
    in_range = bool(((confidence >= 0) & (confidence <= 1)).all())
    _require(solver, in_range, "the confidence of the votes must lie in [0, 1]")
    _require(
        solver,
        weights.shape == (labels.shape[1],)
        and bool((weights >= 0).all())
        and abs(weights.sum() - 1) < 1e-9,
        "member_weights_ must be one non-negative number per member, summing to 1",
    )
    _require(solver, model.n_iter_ == len(model.history_), "n_iter_ must be the length of history_")


def check_order_and_names(
    solver: LabelConsensus,
    labels: IntArray,
    n_clusters: int,
    samples: Sequence[int] | IntArray,
    members: Sequence[int] | IntArray,
) -> None:
    """The result does not depend on the order of samples and members, nor on the names of labels.

    Nothing is checked if two distinct rows or two members have the same signature, because ties
    between them are broken by position.

    Parameters
    ----------
    solver : LabelConsensus
    labels : ndarray, shape (n, m)
        Labels 0 .. k - 1, -1 where missing.
    n_clusters : int
    samples, members : permutations of n and of m
    """
    ensemble = Ensemble.from_labels(labels)
    if not _is_asymmetric(ensemble):
        return
    samples, members = np.asarray(samples), np.asarray(members)
    model = _fitted(solver, n_clusters, ensemble)
    other = _fitted(solver, n_clusters, _shuffled_and_renamed(labels, samples, members))
    for name, moved, of_renamed in (
        ("the partition", by_first_appearance(model.labels_[samples]), other.labels_),
        ("member_weights_", model.member_weights_[members], other.member_weights_),
        ("the confidence of the votes", _votes(model)[samples], _votes(other)),
    ):
        _require(
            solver,
            np.array_equal(moved, of_renamed),
            f"{name} depends on the order of samples or members, or on the names of labels",
        )


def check_weights(
    solver: LabelConsensus,
    labels: IntArray,
    n_clusters: int,
    weights: Sequence[int] | IntArray,
) -> None:
    """A sample of weight two counts like the sample given twice."""
    weighted = _fitted(solver, n_clusters, labels, sample_weight=weights)
    repeated = _fitted(solver, n_clusters, np.repeat(labels, weights, axis=0))
    _require(
        solver,
        np.array_equal(np.repeat(weighted.labels_, weights), repeated.labels_),
        "a sample of weight w and the sample given w times lead to different partitions; use "
        "ensemble.weights, or declare MethodInfo(weights=False)",
    )


def check_blank_sample(
    solver: LabelConsensus, labels: IntArray, n_clusters: int, position: int
) -> None:
    """A sample without any label is in no cluster, and does not change those of the others."""
    without = _fitted(solver, n_clusters, labels)
    model = _fitted(solver, n_clusters, np.insert(labels, position, -1, axis=0))
    for name, of_all, of_others, alone in (
        ("labels_", model.labels_, without.labels_, -1),
        ("the confidence of the votes", _votes(model), _votes(without), 0.0),
    ):
        _require(
            solver,
            np.array_equal(of_all, np.insert(of_others, position, alone)),
            f"{name}: a sample without any label must be left out and not change the others",
        )


def check_verdict(
    solver: LabelConsensus,
    labels: IntArray,
    n_clusters: int,
    samples: Sequence[int] | IntArray,
    members: Sequence[int] | IntArray,
) -> None:
    """The confidence is that of the votes times the verdict's share, which no order or name changes.

    Nor does a sample without any label, if the solver takes missing labels. The verdict costs about as
    much as twenty fits or more, so the other checks compare the confidence of the votes only. As in
    :func:`check_order_and_names`, orders are not compared if two rows or members have the same signature.

    Parameters
    ----------
    solver : LabelConsensus
    labels : ndarray, shape (n, m)
        Labels 0 .. k - 1, -1 where missing.
    n_clusters : int
    samples, members : permutations of n and of m
    """
    ensemble = Ensemble.from_labels(labels)
    model = _fitted(solver, n_clusters, ensemble)
    confidence = model.sample_confidence_
    in_range = bool(((confidence >= 0) & (confidence <= 1)).all())
    _require(solver, in_range, "sample_confidence_ must lie in [0, 1]")
    product = np.array_equal(confidence, _votes(model) * model.verdict_.share)
    _require(solver, product, "sample_confidence_ must be that of the votes times verdict_.share")
    if _is_asymmetric(ensemble):
        samples = np.asarray(samples)
        other = _fitted(solver, n_clusters, _shuffled_and_renamed(labels, samples, members))
        _require(
            solver,
            np.array_equal(confidence[samples], other.sample_confidence_),
            "sample_confidence_ depends on the order of samples or members, or on the names of labels",
        )
    if solver.about.missing:
        # the first of the shuffled samples is any sample
        position = int(samples[0])
        with_blank = _fitted(solver, n_clusters, np.insert(labels, position, -1, axis=0))
        _require(
            solver,
            np.array_equal(with_blank.sample_confidence_, np.insert(confidence, position, 0.0)),
            "sample_confidence_: a sample without any label must not change that of the others",
        )


def check_threads(solver: LabelConsensus, labels: IntArray, n_clusters: int) -> None:
    """The number of threads does not change the result."""
    import numba

    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = _fitted(solver, n_clusters, labels)
        numba.set_num_threads(min(2, threads))
        two = _fitted(solver, n_clusters, labels)
    finally:
        numba.set_num_threads(threads)
    for name in ("labels_", "member_weights_"):
        same = np.array_equal(getattr(one, name), getattr(two, name))
        _require(solver, same, "the result depends on the number of threads")


def check_seed(solver: LabelConsensus, labels: IntArray, n_clusters: int) -> None:
    """The same seed gives the same labels."""
    first, second = (_fitted(solver, n_clusters, labels).labels_ for _ in range(2))
    _require(
        solver,
        np.array_equal(first, second),
        "two fits with the same seed differ; draw random numbers only from the rng given to _solve",
    )


def check_unanimous_members(solver: LabelConsensus) -> None:
    """If all members agree, or there is only one, the result is their partition."""
    for n_members in (1, 4):
        labels = np.repeat([[0], [0], [1], [2], [1]], n_members, axis=1)
        unchanged = _fitted(solver, 3, labels).labels_.tolist() == [0, 0, 1, 2, 1]
        _require(solver, unchanged, f"{n_members} equal members must be returned unchanged")


def check_conventions(solver: LabelConsensus) -> None:
    """Parameters, cloning, pickling and errors follow the conventions of scikit-learn."""
    parameters = solver.get_params(deep=False)
    for name in ("n_clusters", "random_state"):
        _require(solver, name in parameters, f"the constructor must take {name}")
    _require(
        solver,
        clone(solver).get_params(deep=False).keys() == parameters.keys(),
        "clone must keep the parameters; the constructor must store each under its own name",
    )
    labels = noisy_copies(0)
    model = _fitted(solver, 3, labels)
    loaded = pickle.loads(pickle.dumps(model))
    same = np.array_equal(loaded.labels_, model.labels_) and loaded.ensemble_ == model.ensemble_
    _require(solver, same, "a model must be unchanged after pickling and unpickling")
    for name in ("n_clusters", "random_state"):
        _require_refusal(clone(solver).set_params(**{name: "three"}), labels, f"{name}='three'")
    two_rows = [[0, 0], [0, 0], [1, 1]]
    _require_refusal(clone(solver).set_params(n_clusters=3), two_rows, "n_clusters=3 for two rows")


def noisy_copies(seed: int, *, n: int = 90, m: int = 8, missing: float = 0.0) -> NDArray[np.int64]:
    """Labels of three true clusters by members that draw the labels of a fifth of the samples at random.

    Parameters
    ----------
    seed : int
    n, m : int
        Number of samples, a multiple of three, and of members.
    missing : float
        Share of labels that are missing (-1). Every sample keeps at least one.

    Examples
    --------
    >>> from coterie.testing import noisy_copies
    >>> noisy_copies(0, n=6, m=4).tolist()[:2]
    [[0, 0, 0, 0], [0, 0, 0, 0]]
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], n // 3)
    labels = np.stack(
        [np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), truth) for _ in range(m)], axis=1
    )
    if missing:
        labels[rng.random(labels.shape) < missing] = -1
        labels[(labels < 0).all(axis=1), 0] = 0
    return labels


def _draw(rng: np.random.Generator, missing: bool) -> NDArray[np.int64]:
    """A small random label matrix with ties, repeated rows and possibly missing labels."""
    n, m, k = rng.integers(2, 15), rng.integers(1, 7), rng.integers(1, 5)
    labels = rng.integers(-1 if missing and rng.random() < 0.5 else 0, k, (n, m))
    if rng.random() < 0.5:
        labels = labels[rng.integers(0, n, n)]
    # every sample and every member needs a label
    labels[(labels < 0).all(axis=1), 0] = 0
    labels[0, (labels < 0).all(axis=0)] = 0
    return labels


def _is_asymmetric(ensemble: Ensemble) -> bool:
    """Whether all microclusters and all members have different signatures."""
    rows, members = signatures(
        ensemble.labels, ensemble.n_clusters_per_member, ensemble.weights, ensemble.member_weight
    )
    return len(np.unique(rows)) == len(rows) and len(np.unique(members)) == len(members)


def _shuffled_and_renamed(
    labels: IntArray, samples: Sequence[int] | IntArray, members: Sequence[int] | IntArray
) -> list[list[str | None]]:
    """The labels in another order of samples and members, as text; missing ones are None."""
    rows = labels[np.asarray(samples)][:, np.asarray(members)].tolist()
    return [[f"c{label}" if label >= 0 else None for label in row] for row in rows]


def _votes(model: LabelConsensus) -> NDArray[np.float64]:
    """Confidence of each sample from the votes of the members, without the verdict."""
    return model.ensemble_.expand(model.cluster_votes_.confidence)


def _fitted(
    solver: LabelConsensus, n_clusters: int, labels: object, **weights: object
) -> LabelConsensus:
    with warnings.catch_warnings():
        # in small random ensembles the learned graph seldom has n_clusters components
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (
            clone(solver).set_params(n_clusters=n_clusters, random_state=0).fit(labels, **weights)
        )


def _require_refusal(solver: LabelConsensus, labels: object, invalid_input: str) -> None:
    try:
        solver.fit(labels)
    except ParameterError:
        return
    raise AssertionError(f"{type(solver).__name__}: {invalid_input} must raise a ParameterError")


def _require(solver: LabelConsensus, holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(f"{type(solver).__name__}: {message}")
