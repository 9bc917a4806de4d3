"""Doubts about a partition of features: no border between its clusters, or few columns that decide.

Two clusters are separated if fewer samples lie at the border between them than on both sides of it. K-means
always finds clusters, even in a single cloud, but there the border runs through the samples. So the
clusters are compared with k-means clusters of uniform clouds that are as wide as the data in each principal
direction. Clusters that are not better separated may be slices of a continuum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.covariance import ledoit_wolf

from coterie.core.text import counted, listed
from coterie.core.threads import one_blas_thread, one_thread
from coterie.generate.mixtures import principal_components
from coterie.generate.steps import fill_steps

# maximum number of rows on which clusters are compared with clusters of clouds
MAX_ROWS = 1_000
N_CLOUDS = 20
# clusters are separated if they score above the mean of the clouds by this many standard deviations
DEVIATIONS = 2.0
# how often the samples are split into halves
N_SPLITS = 3
# a cluster with fewer samples in one half is left out, because they cannot show a border
MIN_TESTED = 5
# middles of the zones, between the centres at 0 and 1, in which the border between two clusters may lie
ZONES = (0.5, 0.375, 0.625)
# columns decide alone if a tenth of them, or one, carries this share of the squared distances; a category may
# decide alone if this share of the samples has the most frequent value of its cluster
NEARLY_ALL = 0.95
MIN_COLUMNS = 3


def cloud_doubt(X: Any, labels: NDArray[np.int64], rng: np.random.Generator) -> str | None:
    """The doubt about clusters that are not better separated than clusters of a single cloud."""
    rows = np.arange(X.shape[0])
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False))
    codes = np.unique(labels[rows], return_inverse=True)[1].astype(np.int64)
    n_clusters = int(codes.max()) + 1
    sample = X[rows].toarray() if sparse.issparse(X) else np.asarray(X[rows])
    sample = fill_steps(sample.astype(np.float64), rng)
    if n_clusters < 2 or n_clusters >= len(rows) or not sample.std(axis=0).any():
        return None
    mean, components = principal_components(sample, int(rng.integers(2**31)))
    scores = (sample - mean) @ components
    own = _separations(scores, codes, rng)
    # of all clouds with one peak, a uniform one has the most samples away from the middle
    widths = np.sqrt(3) * scores.std(axis=0)
    references = []
    for _ in range(N_CLOUDS):
        points = rng.uniform(-widths, widths, scores.shape)
        means = KMeans(n_clusters, n_init=1, random_state=int(rng.integers(2**31)))
        with one_thread():
            clusters = means.fit(points).labels_.astype(np.int64)
        references.append(_separations(points, clusters, rng))
    comparable = ~np.isnan([own, *references]).any(axis=0)
    reached = np.mean(references, axis=0) + DEVIATIONS * np.std(references, axis=0)
    if (own > reached)[comparable].all():
        return None
    return (
        "The clusters are not better separated than those of a single cloud with the same spread, so "
        "they may be slices of a continuum."
    )


def _separations(
    X: NDArray[np.float64], labels: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """The separation of whole clusters, and of the halves of clusters that are next to each other.

    The line through the centres of two pieces of a bent cluster leaves the cluster, and few samples
    lie in the middle of it. Halves of the pieces are less bent.
    """
    return np.array([separation(X, labels, rng), separation(X, labels, rng, _halved(X, labels))])


def _halved(X: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cells: every cluster that is large enough, cut at its centre across its longest axis."""
    cells = 2 * labels
    for label in np.flatnonzero(np.bincount(labels) >= 4 * MIN_TESTED):
        rows = np.flatnonzero(labels == label)
        centred = X[rows] - X[rows].mean(axis=0)
        with one_blas_thread():
            axis = np.linalg.svd(centred, full_matrices=False)[2][0]
        cells[rows] += centred @ axis > 0
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


def separation(
    X: NDArray[np.float64],
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    cells: NDArray[np.int64] | None = None,
) -> float:
    """How much sparser the borders between clusters are than both of their sides.

    The samples are split into halves. One half gives, for each two clusters, the line through their
    centres; the other half gives the counts of samples near either centre and in the middle between
    them. Their difference, divided by its standard deviation, is about 0 or less in a single cloud, and
    grows with the depth of the valley between the clusters and with the number of samples. A cluster
    counts with the neighbour that it is least separated from.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    labels : ndarray of int, shape (n,)
        From 0 to the number of clusters minus 1.
    rng : numpy Generator
    cells : ndarray of int, shape (n,), optional
        Parts of the clusters. If they are given, cells of different clusters are compared, and a
        cluster counts with the cell that is least separated.

    Returns
    -------
    float
        The mean over samples and splits; NaN if fewer than two clusters have at least five samples in
        each half.
    """
    cells = labels if cells is None else cells
    cluster_of = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    cluster_of[cells] = labels
    values = []
    for _ in range(N_SPLITS):
        order = rng.permutation(len(X))
        # every second sample of each cell
        order = order[np.argsort(cells[order], kind="stable")]
        first, second = order[::2], order[1::2]
        one = _half_separation(X[first], cells[first], X[second], cells[second], cluster_of)
        other = _half_separation(X[second], cells[second], X[first], cells[first], cluster_of)
        values.append((one + other) / np.sqrt(2))
    return float(np.mean(values))


def _half_separation(
    known: NDArray[np.float64],
    known_cells: NDArray[np.int64],
    tested: NDArray[np.float64],
    tested_cells: NDArray[np.int64],
    cluster_of: NDArray[np.int64],
) -> float:
    """The separation of the clusters of ``tested`` along lines through the centres of ``known``."""
    sizes = np.bincount(known_cells)
    large = np.flatnonzero(sizes >= MIN_TESTED)
    clusters, cluster = np.unique(cluster_of[large], return_inverse=True)
    if len(clusters) < 2:
        return float("nan")
    centres = np.stack([known[known_cells == cell].mean(axis=0) for cell in large])
    kept = np.isin(known_cells, large)
    deviations = known[kept] - centres[np.searchsorted(large, known_cells[kept])]
    within = ledoit_wolf(deviations, assume_centered=True)[0]
    # clusters of identical samples have no spread
    within += np.eye(len(within)) * (1e-9 * np.trace(within) or 1.0)
    # in this metric all directions within clusters are equally wide, as in linear discriminant analysis
    weighted = np.linalg.solve(within, centres.T)
    products = centres @ weighted
    own = np.diag(products)
    distances = own[:, None] + own[None, :] - 2 * products

    def counts(
        points: NDArray[np.float64], cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Samples near the first of two centres, and in each zone between them."""
        near_own, near_other = np.zeros((2, len(large), len(large)), dtype=np.int64)
        between = np.zeros((len(ZONES), len(large), len(large)), dtype=np.int64)
        for i, cell in enumerate(large):
            projected = points[cells == cell] @ weighted
            with np.errstate(divide="ignore", invalid="ignore"):
                # 0 at the own centre, 1 at the other
                position = (projected - projected[:, [i]] - (products[i] - own[i])) / distances[i]
            near_own[i] = (np.abs(position) <= 0.25).sum(axis=0)
            near_other[i] = (np.abs(position - 1) <= 0.25).sum(axis=0)
            for zone, middle in enumerate(ZONES):
                between[zone, i] += (np.abs(position - middle) < 0.125).sum(axis=0)
                between[zone, :, i] += (np.abs(1 - position - middle) < 0.125).sum(axis=0)
        return near_own + near_other.T, between

    # the border is nearer to the smaller cluster; the known half shows where
    border = counts(known, known_cells)[1].argmin(axis=0)[None]
    beside, between = counts(tested, tested_cells)
    at_border = np.take_along_axis(between, border, axis=0)[0]
    # a zone is half as wide as a side
    depth = (beside - 2 * at_border) / np.sqrt(np.maximum(beside + 4 * at_border, 1))
    depth = np.minimum(depth, depth.T)
    depth[cluster[:, None] == cluster[None, :]] = np.inf
    weakest = np.full(len(clusters), np.inf)
    np.minimum.at(weakest, cluster, depth.min(axis=1))
    return float(np.average(weakest, weights=np.bincount(cluster, weights=sizes[large])))


def category_doubt(
    X: NDArray[np.float64],
    labels: NDArray[np.int64],
    categories: Mapping[str, NDArray[np.int64]],
    rng: np.random.Generator,
) -> str | None:
    """The doubt about clusters that are the values of one category, and are not separated without it.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    labels : ndarray of int, shape (n,)
    categories : mapping of str to ndarray of int
        The features of each category, one per value.
    rng : numpy Generator
    """
    for name, features in categories.items():
        overlaps = np.zeros((int(labels.max()) + 1, len(features)))
        np.add.at(overlaps, (labels, X[:, features].argmax(axis=1)), 1)
        has_one_value = overlaps.max(axis=1).sum() >= NEARLY_ALL * len(X)
        if not has_one_value or len(np.unique(overlaps.argmax(axis=1))) == 1:
            continue
        others = np.delete(X, features, axis=1)
        if not others.shape[1] or cloud_doubt(others, labels, rng):
            return f"Only the column {name!r} separates the clusters."
    return None


def deciding_columns(X: Any) -> tuple[NDArray[np.int64], float]:
    """The few columns that make up nearly all squared distances, largest first, and their share.

    Empty if more columns are needed, for sparse matrices, and with fewer than three columns.
    """
    no_columns = np.empty(0, dtype=np.int64), 0.0
    if sparse.issparse(X) or X.shape[1] < MIN_COLUMNS:
        return no_columns
    spread = np.nanvar(np.asarray(X, dtype=np.float64), axis=0)
    if not spread.sum() > 0:
        return no_columns
    order = np.argsort(-spread, kind="stable")
    reached = np.cumsum(spread[order]) / spread.sum()
    count = int(np.searchsorted(reached, NEARLY_ALL)) + 1
    if count > max(1, X.shape[1] // 10):
        return no_columns
    return order[:count], float(reached[count - 1])


def column_doubt(X: Any, names: Sequence[str] | None) -> str | None:
    """The doubt about a partition that depends on a few columns only."""
    columns, share = deciding_columns(X)
    if not len(columns):
        return None
    shown = [repr(str(names[j])) if names is not None else str(j) for j in columns]
    verb = "makes" if len(columns) == 1 else "make"
    return (
        f"{counted(len(columns), 'column')} of {X.shape[1]:,} ({listed(shown, 3)}) {verb} up "
        f"{min(share, 0.999):.1%} of the distances between samples."
    )
