"""PCE's start: eigenvectors of the evidence, and gaps in the members filled with what they predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.numerics.stiefel import leading_left_vectors

if TYPE_CHECKING:
    from coterie.solvers.pce.solver import Problem

# rounds of filling gaps and recomputing eigenvectors; further rounds change little
COMPLETION_ROUNDS = 10
# above this number of entries the incidence stays sparse, and a gap is filled with its likeliest cluster
DENSE_CELLS = 20_000_000


def complete(problem: Problem) -> tuple[FloatArray, IntArray]:
    """The c leading eigenvectors of the evidence, N x c orthonormal, and the labels completed.

    A gap in member i is filled with shares of its k_i clusters: the positive part of the prediction of
    the current eigenvectors. If no label is missing, this is a single eigenproblem.
    """
    n, k = len(problem.labels), int(problem.sizes.sum())
    first = np.concatenate([[0], np.cumsum(problem.sizes)])
    observed = problem.labels >= 0
    columns = (problem.labels + first[:-1])[observed]
    row_ends = np.concatenate([[0], np.cumsum(observed.sum(axis=1))])
    known = sparse.csr_array((np.ones(len(columns)), columns, row_ends), shape=(n, k))
    filled: Any = known.toarray() if n * k <= DENSE_CELLS else known
    labels = problem.labels.copy()
    root = np.sqrt(problem.weights)
    directions = _leading_directions(problem, root, filled)
    for _ in range(COMPLETION_ROUNDS if (labels < 0).any() else 0):
        pattern = np.asarray(filled.T @ (root[:, None] * directions))
        likeliest = []
        for member, rows in enumerate(problem.gaps):
            span = slice(first[member], first[member + 1])
            shares = np.maximum(directions[rows] @ pattern[span].T, 0.0)
            total = shares.sum(axis=1, keepdims=True)
            np.divide(shares, total, out=shares, where=total > 0)
            best = np.argmax(shares, axis=1)
            labels[rows, member] = best
            likeliest.append((shares[np.arange(len(rows)), best], rows, best + first[member]))
            if not sparse.issparse(filled):
                filled[rows, span] = shares
        if sparse.issparse(filled):
            value, row, column = (np.concatenate(part) for part in zip(*likeliest, strict=True))
            filled = known + sparse.csr_array((value, (row, column)), shape=(n, k))
        directions = _leading_directions(problem, root, filled)
    return directions, labels


def _leading_directions(problem: Problem, root: FloatArray, filled: Any) -> FloatArray:
    price = np.repeat(problem.prior, problem.sizes)
    if problem.projections:
        price = price / (problem.weights @ filled)
    scaled = sparse.diags_array(root) @ filled @ sparse.diags_array(np.sqrt(price))
    return finite(leading_left_vectors(scaled, problem.settings.n_clusters), "starting")


def finite(values: FloatArray, step: str) -> FloatArray:
    """The values. Raises FloatingPointError that names the step if one is not finite."""
    if not np.isfinite(values).all():
        raise FloatingPointError(
            f"PCE: numbers that are not finite while {step}; gamma and the sample weights may "
            "differ too much: bring them within a few orders of magnitude"
        )
    return values


def in_own_names(ensemble: Ensemble, labels: IntArray) -> NDArray[Any]:
    """The members' labels as the user gave them; of one type where the members agree on it."""
    kinds = {values.dtype.kind for values in ensemble.categories}
    columns = [values[codes] for values, codes in zip(ensemble.categories, labels.T, strict=True)]
    if len(kinds) == 1:
        return np.stack(columns, axis=1)
    mixed = np.empty(labels.shape, dtype=object)
    for member, column in enumerate(columns):
        mixed[:, member] = column
    return mixed
