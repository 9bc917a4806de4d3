"""Exactly n_clusters clusters: the cuts that methods share, and the rule that corrects the number.

An embedding is cut by k-means, a similarity by linkage, a graph into balanced parts. k-means and
balanced parts can leave fewer clusters of samples than requested, and methods that learn a graph find
as many clusters as it has components. :func:`finish_partition` merges surplus clusters or splits
existing ones, by a rule that does not depend on any order.

A cut is a :class:`Partition`, to which a method adds its own attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.core.random import child_seeds
from coterie.core.types import FloatArray, IntArray, Linkage, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import mean_coassociation
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.partitioners import graph_cut, partition_graph
from coterie.numerics.partitions import by_first_appearance
from coterie.numerics.spectral import bipartite_spectrum, unit_rows
from coterie.solvers.partition import Partition

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram


KMEANS_ADVICE = "Ask for fewer clusters: the embedding does not separate that many."
# maximum number of rounds per k-means start, in methods without a parameter for it
KMEANS_ROUNDS = 300

# a cluster of fewer samples than this share of the mean cluster is a crumb
CRUMB = 0.1
# a cluster divides at a gap if this many times as many samples lie midway as around the centres of the parts
GAP = 0.5
# two-means settles within a few rounds; the cap only guards against cycling by rounding
TWO_MEANS_ROUNDS = 50


class KMeansSettings(Protocol):
    """The parameters of a solver that :func:`cut_embedding` uses."""

    n_clusters: int
    n_init: int
    max_iter: int


def cut_embedding(
    solver: KMeansSettings,
    ensemble: Ensemble,
    embedding: FloatArray,
    rng: np.random.Generator,
    *,
    max_iter: int | None = None,
    weights: FloatArray | None = None,
    companions: tuple[FloatArray, FloatArray] | None = None,
    advice: str = KMEANS_ADVICE,
) -> Partition:
    """k-means on the rows of an embedding, which is kept as ``embedding_``.

    Parameters
    ----------
    solver : LabelConsensus
        Gives ``n_clusters``, ``n_init`` and ``max_iter``.
    ensemble : Ensemble
    embedding : ndarray, shape (N, d)
        One row per microcluster.
    rng : numpy Generator
    max_iter : int, optional
        Maximum number of rounds per start; by default that of the solver.
    weights : ndarray, shape (N,), optional
        How often each row counts; by default as often as it has samples.
    companions : pair of arrays, shapes (q, d) and (q,), optional
        Further points with weights that take part in k-means and get no label.
    advice : str
        As in :class:`Partition`.
    """
    n = len(embedding)
    points = embedding
    counts = ensemble.sizes if weights is None else weights
    if companions is not None:
        points = np.vstack([embedding, companions[0]])
        counts = np.concatenate([counts, companions[1]])
    best = fit_kmeans(
        points,
        solver.n_clusters,
        counts,
        rng,
        n_init=solver.n_init,
        max_iter=solver.max_iter if max_iter is None else max_iter,
    )
    return Partition(
        by_first_appearance(best.labels[:n]),
        converged=best.converged,
        history=one_pass(best.inertia),
        advice=advice,
        embedding=embedding,
        by_microcluster={"embedding_": embedding},
    )


def cut_bipartite_graph(
    solver: KMeansSettings,
    ensemble: Ensemble,
    links: FloatArray | sparse.csr_array,
    rng: np.random.Generator,
    advice: str,
) -> Partition:
    """Spectral cut of the graph of samples and base clusters, which take part in k-means once each.

    ``links`` (N x k) include the weights of the members.
    """
    spectrum = bipartite_spectrum(links, ensemble.weights, solver.n_clusters)
    embedding, companions = unit_rows(spectrum.rows), unit_rows(spectrum.columns)
    cut = cut_embedding(
        solver,
        ensemble,
        embedding,
        rng,
        companions=(companions, ensemble.weight_of_cluster),
        advice=advice,
    )
    return replace(cut, by_base_cluster={"cluster_embedding_": companions})


def cut_similarity(
    similarity: FloatArray,
    weights: FloatArray,
    n_clusters: int | Callable[[Dendrogram], int],
    linkage: Linkage = "average",
) -> Partition:
    """Linkage on one minus the similarity, cut by undoing the last merges.

    The matrix is used as working memory. ``n_clusters`` may be a function that chooses the number from
    the dendrogram, which is kept as ``dendrogram_``.
    """
    from coterie.numerics.linkage import weighted_linkage

    np.subtract(1.0, similarity, out=similarity)
    dendrogram = weighted_linkage(similarity, weights, linkage, overwrite=True)
    count = n_clusters(dendrogram) if callable(n_clusters) else n_clusters
    kept = len(weights) - count
    height = float(dendrogram.heights[kept - 1]) if kept else 0.0
    return Partition(
        dendrogram.cut(count), history=one_pass(height), other={"dendrogram_": dendrogram}
    )


def cut_graph(
    ensemble: Ensemble,
    graph: FloatArray | sparse.csr_array,
    vertex_weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    imbalance: float = 0.05,
    advice: str = "",
) -> Partition:
    """Parts of about equal weight with few links between them, by METIS.

    Parameters
    ----------
    ensemble : Ensemble
    graph : ndarray or sparse array, shape (V, V)
        Weights of the links; the first N vertices are the microclusters.
    vertex_weights : ndarray, shape (V,)
    n_clusters : int
        At most N.
    rng : numpy Generator
    imbalance : float
        Fraction by which a part may exceed its fair share.
    advice : str
        As in :class:`Partition`.
    """
    seed = int(child_seeds(rng, 1)[0])
    parts = partition_graph(graph, vertex_weights, n_clusters, seed=seed, imbalance=imbalance)
    return Partition(
        by_first_appearance(parts[: ensemble.n_microclusters]),
        history=one_pass(graph_cut(graph, parts)),
        advice=advice,
    )


def one_pass(objective: float) -> tuple[Pass]:
    """The history of a method that does not iterate."""
    return ({"pass": 1, "objective": objective, "residual": 0.0},)


def bipartite_components(links: FloatArray | sparse.csr_array) -> IntArray:
    """Connected component of each row of a matrix of links, numbered by first appearance.

    Rows are joined through the columns in which both have an entry. A row without entries is alone.
    """
    n, k = links.shape
    rows, columns = links.nonzero()
    graph = sparse.csr_array((np.ones(len(rows)), (rows, columns + n)), shape=(n + k, n + k))
    return by_first_appearance(connected_components(graph, directed=False)[1][:n])


# ---------------------------------------------------------------- the number of clusters


def finish_partition(
    ensemble: Ensemble,
    components: IntArray,
    n_clusters: int,
    *,
    similarity: FloatArray | None = None,
    embedding: FloatArray | None = None,
) -> IntArray:
    """Labels of exactly ``n_clusters`` clusters.

    Parameters
    ----------
    ensemble : Ensemble
    components : ndarray, shape (N,)
        Clusters that the method found.
    n_clusters : int
        At most N.
    similarity : ndarray, shape (N, N), optional
        The learned matrix. If there are too many components, they are merged by average link on this
        matrix, or on the co-association between them if the matrix does not connect any two.
    embedding : ndarray, shape (N, d), optional
        The current embedding, one row per microcluster at sample scale. If there are too few
        components, they are split by it, or by the members' labels if it does not separate them.
    """
    labels = by_first_appearance(components)
    count = int(labels.max()) + 1
    if count > n_clusters:
        return _merge(ensemble, labels, count, n_clusters, similarity)
    while count < n_clusters:
        labels = _split_widest(ensemble, labels, embedding)
        count += 1
    return labels


def replace_crumbs(ensemble: Ensemble, labels: IntArray) -> tuple[IntArray, int]:
    """Merge very small clusters into others, and divide a cluster with a gap for each of them.

    A method may cut crumbs off instead of dividing two clusters that overlap. A crumb is replaced only if
    some cluster divides at a gap: fewer than half as many samples lie midway between the two parts as
    around either centre. Also, the label rows must lie closer together in their clusters afterwards (sum of
    squares), so a small cluster stays if its rows differ from all others.

    Parameters
    ----------
    ensemble : Ensemble
    labels : ndarray, shape (N,)
        Labels from 0.

    Returns
    -------
    labels : ndarray, shape (N,)
    n_replaced : int

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Ensemble
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 1], [2, 2, 2]]
    >>> ensemble = Ensemble.from_labels(rows, sample_weight=[50, 1, 49, 60])
    >>> given = np.select([ensemble.sizes == 1, ensemble.sizes == 60], [1, 2], 0)
    >>> np.bincount(given, weights=ensemble.sizes).tolist()
    [99.0, 1.0, 60.0]
    >>> labels, n_replaced = replace_crumbs(ensemble, given)
    >>> sorted(np.bincount(labels, weights=ensemble.sizes).tolist()), n_replaced
    ([49.0, 51.0, 60.0], 1)
    """
    count = int(labels.max()) + 1
    least = CRUMB * float(ensemble.sizes.sum()) / count
    n_replaced = 0
    while True:
        sizes, sums, scatter = _scatter(ensemble, labels, count)
        crumb = int(np.argmin(sizes))
        part = None if sizes[crumb] >= least else _deepest_gap(ensemble, labels, sizes, least)
        if part is None:
            return labels, n_replaced
        together = _squares(ensemble, sizes + sizes[crumb], sums + sums[crumb]) - scatter
        together[crumb] = np.inf
        trial = np.where(labels == crumb, int(np.argmin(together)), labels)
        trial[part] = crumb
        if not _scatter(ensemble, trial, count)[2].sum() < scatter.sum():
            return labels, n_replaced
        labels, n_replaced = by_first_appearance(trial), n_replaced + 1


def _deepest_gap(
    ensemble: Ensemble, labels: IntArray, sizes: FloatArray, least: float
) -> IntArray | None:
    """The rows of one part of the cluster that divides at the deepest gap; None if none has a gap."""
    best, deepest = None, GAP
    for cluster in np.flatnonzero(sizes >= 2 * least):
        rows = np.flatnonzero(labels == cluster)
        if len(rows) < 2:
            continue
        weights = ensemble.sizes[rows]
        points = ensemble.incidence[rows].toarray()
        points = points - np.average(points, axis=0, weights=weights)
        side = _two_means(points, weights)
        if min(weights[side].sum(), weights[~side].sum()) < least:
            continue
        here = np.average(points[side], axis=0, weights=weights[side])
        there = np.average(points[~side], axis=0, weights=weights[~side])
        # 0 at one centre, 1 at the other
        along = (points - there) @ (here - there) / ((here - there) @ (here - there))
        middle, first, second = (
            float(weights[np.abs(along - centre) < 1 / 6].sum()) for centre in (0.5, 0.0, 1.0)
        )
        depth = middle / max(min(first, second), 1e-300)
        if depth < deepest:
            best, deepest = rows[side], depth
    return best


def _scatter(
    ensemble: Ensemble, labels: IntArray, count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sizes of clusters, their samples in each base cluster, and their sums of squares."""
    weights = ensemble.sizes
    chosen = sparse.csr_array((weights, (labels, np.arange(len(labels)))))
    sizes = np.bincount(labels, weights=weights, minlength=count).astype(np.float64)
    sums = (chosen @ ensemble.incidence).toarray()
    return sizes, sums, _squares(ensemble, sizes, sums)


def _squares(ensemble: Ensemble, sizes: FloatArray, sums: FloatArray) -> FloatArray:
    """Sum of squares of 0 and 1 entries around the mean of each cluster."""
    squares: FloatArray = (sums - sums**2 / sizes[:, None]) @ ensemble.weight_of_cluster
    return squares


def _merge(
    ensemble: Ensemble,
    labels: IntArray,
    count: int,
    n_clusters: int,
    similarity: FloatArray | None,
) -> IntArray:
    from coterie.numerics.linkage import weighted_linkage

    weights = ensemble.sizes
    sizes = np.bincount(labels, weights=weights, minlength=count).astype(np.float64)
    chosen = sparse.csr_array((weights, (np.arange(len(labels)), labels)))
    between = np.zeros((count, count))
    if similarity is not None:
        # in this order, because a product with the transpose of a dense matrix would copy it
        between = np.asarray((chosen.T @ similarity) @ chosen) / np.outer(sizes, sizes)
        between = (between + between.T) / 2
        np.fill_diagonal(between, 0.0)
    if not between.any():
        between = mean_coassociation(ensemble, sparse.csr_array(chosen.T @ ensemble.incidence))
    dendrogram = weighted_linkage(between.max() - between, sizes, "average", overwrite=True)
    return by_first_appearance(dendrogram.cut(n_clusters)[labels])


def _split_widest(ensemble: Ensemble, labels: IntArray, embedding: FloatArray | None) -> IntArray:
    """Split the cluster of widest scatter in two."""
    weights = ensemble.sizes
    views: list[Any] = [ensemble.incidence]
    if embedding is not None:
        views.insert(0, embedding)
    for view in views:
        best, widest = None, 0.0
        for cluster in range(int(labels.max()) + 1):
            rows = np.flatnonzero(labels == cluster)
            if len(rows) < 2:
                continue
            points = view[rows].toarray() if sparse.issparse(view) else view[rows]
            centred = points - np.average(points, axis=0, weights=weights[rows])
            scatter = float((weights[rows][:, None] * centred**2).sum())
            # scatter at the level of rounding separates nothing
            noise = 1e-18 * float((weights[rows][:, None] * points**2).sum())
            if scatter > max(widest * (1 + 1e-9), noise):
                best, widest = (rows, centred), scatter
        if best is not None:
            rows, centred = best
            split = labels.copy()
            split[rows[_two_means(centred, weights[rows])]] = labels.max() + 1
            return split
    raise AssertionError("no cluster can be split, although the label rows are distinct")


def _two_means(points: FloatArray, weights: FloatArray) -> NDArray[np.bool_]:
    """The side of each point after two-means started from the widest direction."""
    _, _, directions = np.linalg.svd(np.sqrt(weights)[:, None] * points, full_matrices=False)
    side = points @ directions[0] > 0
    if side.all() or not side.any():
        side = np.arange(len(points)) == int(np.argmax((points**2).sum(axis=1)))
    for _ in range(TWO_MEANS_ROUNDS):
        here = np.average(points[side], axis=0, weights=weights[side])
        there = np.average(points[~side], axis=0, weights=weights[~side])
        new = ((points - here) ** 2).sum(axis=1) < ((points - there) ** 2).sum(axis=1)
        if new.all() or not new.any() or np.array_equal(new, side):
            break
        side = new
    return np.asarray(side)
