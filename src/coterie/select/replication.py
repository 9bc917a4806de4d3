"""Which numbers of clusters replicate: the same partition is found again in other samples.

The samples are split into halves, and each half is partitioned on its own. Either partition is carried over
to the other half and compared with the one there. How high the agreement can be depends on the number of
clusters, in a single cloud as well. So a number of clusters replicates if the agreement has a peak at it: it
is lower with fewer clusters and with more. It also replicates if it is the largest number at which every
cluster is found again: the prediction strength of Tibshirani and Walther (2005).
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
# share of the pairs of samples that the other half must keep together in each cluster, as usual
STRONG = 0.8
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
    curves, strengths = np.empty((2, N_SPLITS, 2, largest - 1))
    for curve, strength in zip(curves, strengths, strict=True):
        curve[:], strength[:] = _agreements(X, largest, rng)
        step()
    errors = np.sqrt(curves.var(axis=0, ddof=1).mean(axis=1) / N_SPLITS)
    ks: set[int] = set()
    for curve, error in zip(curves.mean(axis=0), errors, strict=True):
        ks |= {k + 2 for k in peaks(curve, N_ERRORS * float(error))}
    for strength in strengths.mean(axis=0):
        ks |= {int(k) + 2 for k in np.flatnonzero(strength >= STRONG)[-1:]}
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


def _agreements(
    X: FloatArray, largest: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """ARI and prediction strength of two halves at k = 2, ..., largest: round clusters, and of any shape."""
    order = rng.permutation(len(X))
    halves = [np.sort(order[::2]), np.sort(order[1::2])]
    first, second = (Candidates(X[rows], largest + 1) for rows in halves)
    voters = _neighbours(first.X, second.X), _neighbours(second.X, first.X)
    agreements, strengths = np.empty((2, 2, largest - 1))
    for k in range(2, largest + 1):
        partitions = first.kmeans(k), second.kmeans(k)
        carried = (
            _nearest_centre(first.X, partitions[0], second.X),
            _nearest_centre(second.X, partitions[1], first.X),
        )
        agreements[0, k - 2], strengths[0, k - 2] = _compared(partitions, carried)
        partitions = first.spectral(k), second.spectral(k)
        carried = _majority(partitions[0], voters[0]), _majority(partitions[1], voters[1])
        agreements[1, k - 2], strengths[1, k - 2] = _compared(partitions, carried)
    return agreements, strengths


def _compared(
    partitions: tuple[IntArray, IntArray], carried: tuple[IntArray, IntArray]
) -> tuple[float, float]:
    """ARI and prediction strength of each half's partition and the one carried over, averaged over halves."""
    scores = []
    for own, other in zip(partitions, reversed(carried), strict=True):
        overlaps = Overlaps.of_labels(own, other, np.ones(len(own)))
        scores.append((float(overlaps.ari()[0]), prediction_strength(own, other)))
    agreement, strength = np.mean(scores, axis=0)
    return float(agreement), float(strength)


def prediction_strength(labels: IntArray, predicted: IntArray) -> float:
    """The least share, over clusters, of the pairs of samples that ``predicted`` keeps together.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.select.replication import prediction_strength
    >>> prediction_strength(np.array([0, 0, 1, 1, 1]), np.array([1, 1, 0, 0, 2]))
    0.3333333333333333
    """
    table = np.zeros((int(labels.max()) + 1, int(predicted.max()) + 1))
    np.add.at(table, (labels, predicted), 1)
    sizes = table.sum(axis=1)
    kept = (table * (table - 1)).sum(axis=1)
    shares = np.divide(kept, sizes * (sizes - 1), out=np.zeros(len(table)), where=sizes > 1)
    return float(shares.min())


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
