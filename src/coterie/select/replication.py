"""Which numbers of clusters replicate: the same partition is found again in other samples.

The samples are split into halves, and each half is partitioned on its own. Either partition is carried over
to the other half and compared with the one there. How high the agreement can be depends on the number of
clusters, in a single cloud as well. So a number of clusters replicates if the agreement has a peak at it: it
is lower with fewer clusters and with more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.neighbors import NearestNeighbors

from coterie.core.threads import one_thread
from coterie.core.types import FloatArray, IntArray
from coterie.numerics.partitions import Overlaps
from coterie.select.candidates import Candidates
from coterie.select.separation import centres

# how often the samples are split into halves
N_SPLITS = 10
# samples that each cluster of a half has on average
MIN_SAMPLES = 6
# nearest neighbours that decide the cluster of a sample of the other half
N_VOTERS = 5
# standard errors by which the agreement must fall on both sides of a peak: the usual rule of one
N_ERRORS = 1.0


def replicated_ks(
    X: FloatArray, top: int, rng: np.random.Generator, step: Callable[[], None] = lambda: None
) -> list[int]:
    """Numbers of clusters up to ``top`` at which round clusters, or clusters of any shape, replicate.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    top : int
    rng : numpy Generator
    step : callable, optional
        Called after each split.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.datasets import load
    >>> from coterie.select.replication import replicated_ks
    >>> replicated_ks(load("blobs").X, 10, np.random.default_rng(0))
    [2, 5]
    """
    # one number more shows whether the agreement falls after the last
    largest = min(top + 1, len(X) // (2 * MIN_SAMPLES))
    if largest < 2:
        return []
    curves = np.empty((N_SPLITS, 2, largest - 1))
    for curve in curves:
        curve[:] = _agreements(X, largest, rng)
        step()
    errors = np.sqrt(curves.var(axis=0, ddof=1).mean(axis=1) / N_SPLITS)
    ks: set[int] = set()
    for curve, error in zip(curves.mean(axis=0), errors, strict=True):
        ks |= {k + 2 for k in peaks(curve, N_ERRORS * float(error))}
    return sorted(k for k in ks if k <= top)


def peaks(values: FloatArray, fall: float) -> list[int]:
    """Positions of values that fall by more than ``fall`` on both sides before a larger value follows.

    The first value needs no fall before it, and the last value none after it.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.select.replication import peaks
    >>> peaks(np.array([0.5, 0.9, 0.4, 0.6, 0.5]), fall=0.05)
    [1, 3]
    """
    return [
        i
        for i, value in enumerate(values)
        if _falls(values[i + 1 :], value, fall) and _falls(values[:i][::-1], value, fall)
    ]


def _falls(values: FloatArray, peak: float, fall: float) -> bool:
    higher = np.flatnonzero(values > peak)
    before = values[: higher[0]] if len(higher) else values
    return bool(len(values) == 0 or (before < peak - fall).any())


def _agreements(X: FloatArray, largest: int, rng: np.random.Generator) -> FloatArray:
    """ARI of the partitions of two halves at k = 2, ..., largest: of round clusters, and of any shape."""
    order = rng.permutation(len(X))
    halves = [np.sort(order[::2]), np.sort(order[1::2])]
    first, second = (Candidates(X[rows], largest + 1) for rows in halves)
    voters = _neighbours(first.X, second.X), _neighbours(second.X, first.X)
    agreements = np.empty((2, largest - 1))
    for k in range(2, largest + 1):
        partitions = first.kmeans(k), second.kmeans(k)
        carried = (
            _nearest_centre(first.X, partitions[0], second.X),
            _nearest_centre(second.X, partitions[1], first.X),
        )
        agreements[0, k - 2] = _mean_ari(partitions, carried)
        partitions = first.spectral(k), second.spectral(k)
        carried = _majority(partitions[0], voters[0]), _majority(partitions[1], voters[1])
        agreements[1, k - 2] = _mean_ari(partitions, carried)
    return agreements


def _mean_ari(partitions: tuple[IntArray, IntArray], carried: tuple[IntArray, IntArray]) -> float:
    """Agreement of each half's own partition with the one that is carried over from the other half."""
    scores = [
        float(Overlaps.of_labels(own, other, np.ones(len(own))).ari()[0])
        for own, other in zip(partitions, reversed(carried), strict=True)
    ]
    return sum(scores) / 2


def _nearest_centre(X: FloatArray, labels: IntArray, others: FloatArray) -> IntArray:
    """Clusters of other samples, by the nearest centre."""
    own = centres(X, labels)
    with one_thread():
        squares = (own**2).sum(axis=1) - 2 * others @ own.T
    return np.asarray(squares.argmin(axis=1), dtype=np.int64)


def _neighbours(X: FloatArray, others: FloatArray) -> IntArray:
    """The nearest samples of X to each of the others."""
    with one_thread():
        search = NearestNeighbors(n_neighbors=min(N_VOTERS, len(X))).fit(X)
        return np.asarray(search.kneighbors(others, return_distance=False))


def _majority(labels: IntArray, voters: IntArray) -> IntArray:
    """The most frequent cluster among the voters of each sample."""
    votes = np.eye(int(labels.max()) + 1, dtype=np.int64)[labels[voters]].sum(axis=1)
    return np.asarray(votes.argmax(axis=1), dtype=np.int64)
