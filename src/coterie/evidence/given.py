"""The similarity that a user names or gives as a matrix: checks, and reduction to microclusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import as_numbers
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.evidence.reliability import locally_weighted_coassociation, mean_reliability
from coterie.evidence.trajectories import trajectory_similarity

# smaller differences are taken for rounding in the program that computed the matrix
ROUNDING = 1e-8


def checked_similarity(values: object, name: str) -> NDArray[np.float64]:
    """The matrix, if it is square, finite, symmetric and within [0, 1]."""
    matrix = as_numbers(name, values)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise ParameterError(
            f"{name} must be a square matrix of similarities, but has shape {matrix.shape}"
        )
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ParameterError(
            f"{name} must be finite, but row {row}, column {column} is {matrix[row, column]}"
        )
    apart = np.abs(matrix - matrix.T)
    if apart.max() > ROUNDING:
        row, column = np.unravel_index(int(np.argmax(apart)), apart.shape)
        raise ParameterError(
            f"{name} must be symmetric, but row {row}, column {column} is {matrix[row, column]:g} "
            f"and row {column}, column {row} is {matrix[column, row]:g}; give (S + S.T) / 2"
        )
    low, high = float(matrix.min()), float(matrix.max())
    if low < -ROUNDING or high > 1.0 + ROUNDING:
        raise ParameterError(
            f"{name} must lie in [0, 1], but ranges from {low:g} to {high:g}; rescale it"
        )
    return matrix


def given_similarity(
    ensemble: Ensemble, values: object
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A similarity matrix of samples or of microclusters, on microclusters.

    Parameters
    ----------
    ensemble : Ensemble
    values : array
        n x n in the order of the samples, equal for samples with equal labels; or, where N < n,
        N x N in the order of the ensemble's microclusters.

    Returns
    -------
    between : ndarray, shape (N, N)
        Similarity of different samples; on the diagonal, of two samples of one microcluster.
    own : ndarray, shape (N,)
        Similarity of a sample with itself; 1 for a matrix of microclusters.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.given import given_similarity
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 0]])
    >>> between, own = given_similarity(ensemble, [[1, 0.7, 0.2], [0.7, 1, 0.2], [0.2, 0.2, 1]])
    >>> between.tolist(), own.tolist()
    ([[0.7, 0.2], [0.2, 1.0]], [1.0, 1.0])
    """
    matrix = checked_similarity(values, "evidence")
    n, size, inverse = ensemble.n_samples, ensemble.n_microclusters, ensemble.inverse
    if len(matrix) == size < n:
        return matrix.copy(), np.ones(size)
    if len(matrix) != n:
        raise ParameterError(
            f"evidence must be {n} x {n} (samples) or {size} x {size} (microclusters), "
            f"but is {len(matrix)} x {len(matrix)}"
        )
    counts = np.bincount(inverse, minlength=size)
    ends = np.cumsum(counts)
    by_microcluster = np.argsort(inverse, kind="stable")
    first, last = by_microcluster[ends - counts], by_microcluster[ends - 1]
    between = matrix[np.ix_(first, last)]
    own = np.diag(matrix)[first]
    for sample, microcluster in enumerate(inverse):
        expected = between[microcluster][inverse]
        expected[sample] = own[microcluster]
        apart = np.abs(matrix[sample] - expected)
        if apart.max() > ROUNDING:
            raise ParameterError(
                f"evidence differs between samples that have the same labels (row {sample}, column "
                f"{int(np.argmax(apart))}), so it cannot be reduced to distinct label rows; "
                "coterie.enhance(matrix, confidence=ensemble) works on single samples"
            )
    return between, own


def chosen_similarity(
    ensemble: Ensemble,
    evidence: object,
    reliability: NDArray[np.float64] | None,
    *,
    n_steps: int | None = None,
    memory_budget: Budget = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The similarity "ca", "lwca" or "pts", or that of a matrix, as :func:`given_similarity` returns it.

    ``reliability`` is that of the base clusters, for "lwca" only; ``n_steps`` is for "pts".
    """
    if not isinstance(evidence, str):
        return given_similarity(ensemble, evidence)
    if evidence == "pts":
        between = trajectory_similarity(ensemble, n_steps=n_steps, memory_budget=memory_budget)
    elif reliability is None:
        between = coassociation(ensemble, memory_budget=memory_budget)
    else:
        between = locally_weighted_coassociation(
            ensemble, reliability=reliability, memory_budget=memory_budget
        )
        np.fill_diagonal(between, mean_reliability(ensemble, reliability))
    return between, np.ones(ensemble.n_microclusters)
