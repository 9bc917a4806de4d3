"""How well the clusters of a partition of features are separated.

Two measures are used. The depth compares the number of samples at the border between two clusters with the
numbers on both sides of it, along the line through their centres. The ratio compares the number of neighbours
across the border with the number of neighbours across a cut through a cluster. The depth sees borders in many
dimensions and in small samples; the ratio sees borders that are not straight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.covariance import ledoit_wolf
from sklearn.neighbors import NearestNeighbors

from coterie.core.threads import one_blas_thread, one_thread
from coterie.core.types import FloatArray, IntArray

# how often the samples are split into halves
N_SPLITS = 3
# a cluster with fewer samples in one half is left out, because they cannot show a border
MIN_TESTED = 5
# middles of the zones, between the centres at 0 and 1, in which the border between two clusters may lie
ZONES = (0.5, 0.375, 0.625)
# a cluster has at least this share of the samples, and at least this many; smaller ones are outliers
MIN_SHARE = 0.02
MIN_SIZE = 6
# neighbours of each sample in the graph, as many as in most graphs of single cells
N_NEIGHBOURS = 10
# number of wide directions that are kept beside those that separate the clusters, to see bent clusters
N_WIDE = 2


def least_size(n: int) -> float:
    """The smallest number of samples of a cluster; smaller clusters hold outliers."""
    return max(MIN_SIZE, MIN_SHARE * n)


def centres(X: FloatArray, labels: IntArray) -> FloatArray:
    """The mean of each cluster, K x d, in the order of the labels."""
    return np.stack([X[labels == label].mean(axis=0) for label in np.unique(labels)])


def halved(X: FloatArray, labels: IntArray) -> IntArray:
    """Cells: every cluster that is large enough, cut at its centre across its longest axis."""
    cells = 2 * labels
    for label in np.flatnonzero(np.bincount(labels) >= 4 * MIN_TESTED):
        rows = np.flatnonzero(labels == label)
        cells[rows] += _behind_centre(X[rows])
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


def _behind_centre(X: FloatArray) -> NDArray[np.bool_]:
    """The samples on one side of the centre, along the longest axis."""
    centred = X - X.mean(axis=0)
    with one_blas_thread():
        axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    return np.asarray(centred @ axis > 0)


def separation(
    X: FloatArray,
    labels: IntArray,
    rng: np.random.Generator,
    cells: IntArray | None = None,
    n_splits: int = N_SPLITS,
) -> float:
    """How much sparser the borders between clusters are than both of their sides.

    The mean depth over samples and splits, where a cluster counts with the neighbour that it is least
    separated from. It is about 0 or less in a single cloud, and grows with the depth of the valley
    between the clusters and with the number of samples.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    labels : ndarray of int, shape (n,)
        From 0 to the number of clusters minus 1.
    rng : numpy Generator
    cells : ndarray of int, shape (n,), optional
        Parts of the clusters. If they are given, cells of different clusters are compared, and a
        cluster counts with the cell that is least separated.
    n_splits : int

    Returns
    -------
    float
        NaN if fewer than two clusters have at least five samples in each half.
    """
    cells = labels if cells is None else cells
    cluster_of = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    cluster_of[cells] = labels
    values = []
    for _ in range(n_splits):
        by_half = [
            _mean_of_weakest(depth, sizes, cluster_of)
            for depth, sizes in _depths_of_halves(X, cells, rng)
        ]
        values.append(sum(by_half) / np.sqrt(2))
    return float(np.mean(values))


def depths(
    X: FloatArray, labels: IntArray, rng: np.random.Generator, n_splits: int = N_SPLITS
) -> FloatArray:
    """The depth of the valley between each two clusters, K x K.

    The samples are split into halves. One half gives, for each two clusters, the line through their
    centres; the other half gives the counts of samples near either centre and in the middle between
    them. Their difference, divided by its standard deviation, is the depth. Without a valley it is a
    standard normal number or less. NaN for clusters with fewer than five samples in each half.
    """
    values = []
    for _ in range(n_splits):
        (first, _), (second, _) = _depths_of_halves(X, labels, rng)
        values.append((first + second) / np.sqrt(2))
    return np.asarray(np.mean(values, axis=0))


def _depths_of_halves(
    X: FloatArray, cells: IntArray, rng: np.random.Generator
) -> list[tuple[FloatArray, IntArray]]:
    """The depths in either half, with the sizes of the cells in the other half."""
    order = rng.permutation(len(X))
    # every second sample of each cell
    order = order[np.argsort(cells[order], kind="stable")]
    first, second = order[::2], order[1::2]
    n_cells = int(cells.max()) + 1
    return [
        (
            _half_depths(X[known], cells[known], X[tested], cells[tested], n_cells),
            np.bincount(cells[known], minlength=n_cells),
        )
        for known, tested in ((first, second), (second, first))
    ]


def _half_depths(
    known: FloatArray,
    known_cells: IntArray,
    tested: FloatArray,
    tested_cells: IntArray,
    n_cells: int,
) -> FloatArray:
    """The depths between the cells of ``tested``, along lines through the centres of ``known``."""
    depth = np.full((n_cells, n_cells), np.nan)
    large = np.flatnonzero(np.bincount(known_cells, minlength=n_cells) >= MIN_TESTED)
    if len(large) < 2:
        return depth
    kept = np.isin(known_cells, large)
    middles = centres(known[kept], known_cells[kept])
    deviations = known[kept] - middles[np.searchsorted(large, known_cells[kept])]
    within = _pooled_covariance(deviations)
    # in this metric all directions within clusters are equally wide, as in linear discriminant analysis
    weighted = np.linalg.solve(within, middles.T)

    def counts(points: FloatArray, cells: IntArray) -> tuple[IntArray, IntArray]:
        """Samples near the first of two centres, and in each zone between them."""
        inside = np.isin(cells, large)
        # The centres of the points themselves: along directions that are known from few samples, they
        # are nearer to each other than the centres of those samples.
        products = centres(points[inside], cells[inside]) @ weighted
        own = np.diag(products)
        distances = own[:, None] + own[None, :] - products - products.T
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
    values = (beside - 2 * at_border) / np.sqrt(np.maximum(beside + 4 * at_border, 1))
    depth[np.ix_(large, large)] = np.minimum(values, values.T)
    return depth


def _mean_of_weakest(depth: FloatArray, sizes: IntArray, cluster_of: IntArray) -> float:
    """The least depth of each cluster, averaged over samples."""
    large = np.flatnonzero(sizes >= MIN_TESTED)
    clusters, cluster = np.unique(cluster_of[large], return_inverse=True)
    if len(clusters) < 2:
        return float("nan")
    between = depth[np.ix_(large, large)]
    between[cluster[:, None] == cluster[None, :]] = np.inf
    weakest = np.full(len(clusters), np.inf)
    np.minimum.at(weakest, cluster, between.min(axis=1))
    return float(np.average(weakest, weights=np.bincount(cluster, weights=sizes[large])))


def _pooled_covariance(deviations: FloatArray) -> FloatArray:
    """The shrunk covariance of deviations from centres of clusters."""
    within = np.asarray(ledoit_wolf(deviations, assume_centered=True)[0])
    # clusters of identical samples have no spread
    within += np.eye(len(within)) * (1e-9 * np.trace(within) or 1.0)
    return within


def neighbour_graph(X: FloatArray) -> sparse.csr_matrix:
    """The nearest neighbours of each sample: entry (i, j) is 1 if j is a neighbour of i."""
    n = len(X)
    count = min(N_NEIGHBOURS, n - 1)
    with one_thread():
        search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(X)
        columns = search.kneighbors(return_distance=False).ravel()
    rows = np.repeat(np.arange(n), count)
    return sparse.csr_matrix((np.ones(n * count), (rows, columns)), shape=(n, n))


def border_ratios(graph: sparse.csr_matrix, X: FloatArray, labels: IntArray) -> FloatArray:
    """Neighbours across the border of two clusters, relative to neighbours across a cut inside, K x K.

    Each cluster is cut at its centre across its longest axis. The cut with fewer neighbours across
    counts. The ratio is 0 if no sample has a neighbour in the other cluster, and about 1 if the border is
    a cut like any other.
    """
    n_clusters = int(labels.max()) + 1
    across = _edges(graph, labels, n_clusters)
    halves = 2 * labels
    for label in range(n_clusters):
        rows = np.flatnonzero(labels == label)
        if len(rows) > 2:
            halves[rows] += _behind_centre(X[rows])
    between_halves = _edges(graph, halves, 2 * n_clusters)
    inside = np.diag(between_halves[::2, 1::2])
    return np.asarray(across / (np.minimum(inside[:, None], inside[None, :]) + 1))


def cut_depths(graph: sparse.csr_matrix, labels: IntArray) -> FloatArray:
    """How many fewer neighbours lie across a border than across the weakest cut inside a cluster, K x K.

    In standard deviations of the difference; infinite if no neighbours lie across. A partition has its
    borders where neighbours are few. So borders are compared with cuts through the clusters that were also
    chosen to have few neighbours across.
    """
    n_clusters = int(labels.max()) + 1
    across = _edges(graph, labels, n_clusters)
    inside = np.full(n_clusters, np.inf)
    for label in range(n_clusters):
        rows = np.flatnonzero(labels == label)
        if len(rows) >= MIN_SIZE:
            inside[label] = _weakest_cut(graph[rows][:, rows])
    weakest = np.minimum(inside[:, None], inside[None, :])
    depth = np.full(weakest.shape, np.inf)
    # an empty border is one even between unions of clusters, which have empty cuts inside
    known = np.isfinite(weakest) & (across > 0)
    weakest, across = weakest[known], across[known]
    depth[known] = (weakest - across) / np.sqrt(weakest + across)
    return depth


def _weakest_cut(graph: sparse.csr_matrix) -> float:
    """The fewest edges across a cut along the second eigenvector, with a quarter of the samples aside."""
    edges = np.asarray((graph + graph.T).toarray())
    n = len(edges)
    # a weak link between all samples, in case the graph is not connected
    linked = edges + 1e-3 / n
    root = np.sqrt(linked.sum(axis=1))
    with one_thread():
        vector = linalg.eigh(linked / np.outer(root, root), subset_by_index=(n - 2, n - 2))[1]
    order = np.argsort(vector[:, 0] / root, kind="stable")
    ordered = edges[np.ix_(order, order)]
    # samples up to i have all their edges, less those among themselves, across the cut after i
    among = np.cumsum(2 * np.tril(ordered, -1).sum(axis=1))
    across = np.cumsum(ordered.sum(axis=1)) - among
    return float(across[n // 4 : n - n // 4 - 1].min())


def _edges(graph: sparse.csr_matrix, labels: IntArray, n_clusters: int) -> FloatArray:
    """Number of edges between each two clusters, in either direction."""
    n = len(labels)
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), labels)), shape=(n, n_clusters))
    counts = (member.T @ graph @ member).toarray()
    return np.asarray(counts + counts.T)


def discriminant_space(X: FloatArray, labels: IntArray) -> FloatArray:
    """X in the directions that separate the clusters, and in the widest ones, in the clusters' metric.

    Columns that do not differ between clusters hide a border from the nearest neighbours, so they are left
    out here. The columns of X must be principal components, the widest first.
    """
    sizes = np.bincount(labels)
    middles = centres(X, labels)
    values, vectors = np.linalg.eigh(_pooled_covariance(X - middles[labels]))
    whitening = vectors / np.sqrt(values)
    spread = (middles - np.average(middles, axis=0, weights=sizes)) @ whitening
    between = np.linalg.svd(spread * np.sqrt(sizes)[:, None], full_matrices=False)[2]
    between = between[: min(len(sizes) - 1, X.shape[1])]
    # the products of whitened samples with these rows are the first columns of X
    wide = (vectors * np.sqrt(values))[:N_WIDE]
    directions = np.linalg.qr(np.vstack([between, wide]).T)[0]
    return np.asarray(X @ whitening @ directions)
