"""Exactly n_clusters clusters: the cuts that methods share, and the rule that corrects the number.

An embedding is cut by k-means, a dissimilarity by linkage, a graph into balanced parts. k-means and
balanced parts can leave fewer clusters of samples than requested, and methods that learn a graph find
as many clusters as it has components. :func:`finish_partition` merges surplus clusters or splits
existing ones, by a rule that does not depend on any order, and :func:`warn_if_unfinished` warns the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from coterie.core.random import child_seeds
from coterie.core.text import counted
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.partition import Partition

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram, Method


KMEANS_ADVICE = "Ask for fewer clusters: the embedding does not separate that many."

# two-means settles within a few rounds; the cap only guards against cycling by rounding
TWO_MEANS_ROUNDS = 50


@dataclass(frozen=True)
class Cut:
    """Clusters of the microclusters, before and after they are adjusted to exactly n_clusters.

    Attributes
    ----------
    labels : ndarray, shape (N,)
    components : ndarray, shape (N,)
        Clusters that the method found.
    objective : float
        The sum of squares of k-means, or the height of the last merge.
    converged : bool
    """

    labels: IntArray
    components: IntArray
    objective: float
    converged: bool = True

    @property
    def n_components(self) -> int:
        """Number of clusters that the method found."""
        return int(self.components.max()) + 1

    def partition(
        self,
        member_weights: FloatArray,
        *,
        by_base_cluster: Mapping[str, NDArray[Any]] = MappingProxyType({}),
        other: Mapping[str, Any] = MappingProxyType({}),
    ) -> Partition:
        """The record of a method that ends with this cut, with its own fitted attributes."""
        return Partition(
            labels=self.labels,
            member_weights=member_weights,
            converged=self.converged,
            history=({"pass": 1, "objective": self.objective, "residual": 0.0},),
            by_sample={"component_labels_": self.components},
            by_base_cluster=by_base_cluster,
            other={"n_components_": self.n_components, **other},
        )


def cut_embedding(
    ensemble: Ensemble,
    embedding: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    weights: FloatArray | None = None,
    companions: tuple[FloatArray, FloatArray] | None = None,
) -> Cut:
    """k-means on the rows of an embedding.

    Parameters
    ----------
    ensemble : Ensemble
    embedding : ndarray, shape (N, d)
        One row per microcluster.
    n_clusters : int
    rng : numpy Generator
    n_init, max_iter : int
        Number of starts, and the maximum number of rounds per start.
    weights : ndarray, shape (N,), optional
        How often each row counts; by default as often as it has samples.
    companions : pair of arrays, shapes (q, d) and (q,), optional
        Further points with weights that take part in k-means and get no label.
    """
    n = len(embedding)
    points = embedding
    counts = ensemble.sizes if weights is None else weights
    if companions is not None:
        points = np.vstack([embedding, companions[0]])
        counts = np.concatenate([counts, companions[1]])
    best = fit_kmeans(points, n_clusters, counts, rng, n_init=n_init, max_iter=max_iter)
    components = by_first_appearance(best.labels[:n])
    labels = finish_partition(ensemble, components, n_clusters, embedding=embedding)
    return Cut(labels, components, best.inertia, best.converged)


def cut_dendrogram(
    dissimilarity: FloatArray, weights: FloatArray, n_clusters: int, linkage: Method
) -> tuple[Cut, Dendrogram]:
    """Linkage, cut by undoing the last merges; the matrix is used as working memory."""
    from coterie.numerics.linkage import weighted_linkage

    dendrogram = weighted_linkage(dissimilarity, weights, linkage, overwrite=True)
    labels = dendrogram.cut(n_clusters)
    kept = len(weights) - n_clusters
    height = float(dendrogram.heights[kept - 1]) if kept else 0.0
    return Cut(labels, labels, height), dendrogram


def cut_graph(
    ensemble: Ensemble,
    graph: FloatArray | sparse.csr_array,
    vertex_weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
) -> Cut:
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
    """
    from coterie.numerics.partitioners import graph_cut, partition_graph

    seed = int(child_seeds(rng, 1)[0])
    parts = partition_graph(graph, vertex_weights, n_clusters, seed=seed)
    components = by_first_appearance(parts[: ensemble.n_microclusters])
    labels = finish_partition(ensemble, components, n_clusters)
    return Cut(labels, components, graph_cut(graph, parts))


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
        matrix, or on the co-association between them if it does not connect any two.
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


class Settings(Protocol):
    """The parameters of an iterative solver that :func:`finished` uses."""

    n_clusters: int
    max_iter: int


def finished(
    solver: Settings,
    ensemble: Ensemble,
    components: IntArray,
    history: Sequence[Pass],
    *,
    converged: bool,
    advice: str,
    member_weights: FloatArray,
    similarity: FloatArray | None = None,
    embedding: FloatArray | None = None,
    by_sample: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    by_base_cluster: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    by_sample_and_member: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    other: Mapping[str, Any] = MappingProxyType({}),
) -> Partition:
    """The record of an iterative solver: one warning at most, exactly ``n_clusters`` clusters.

    Parameters
    ----------
    solver : LabelConsensus
        Called from its ``_solve``, so that the warning points to the caller of ``fit``.
    ensemble : Ensemble
    components : ndarray, shape (N,)
        Clusters that the method found, kept as ``component_labels_`` and ``n_components_``.
    history : sequence of mappings
        One record per pass; the last gives ``objective_`` and ``residual_``.
    converged : bool
    advice : str
        What to do if the method did not converge, or found another number of clusters.
    member_weights : ndarray, shape (m,)
    similarity, embedding : ndarray, optional
        As in :func:`finish_partition`.
    by_sample, by_base_cluster, by_sample_and_member, other : mapping
        Further fitted attributes, as in :class:`coterie.Partition`.
    """
    n_clusters, n_components = solver.n_clusters, len(np.unique(components))
    warn_if_unfinished(
        type(solver).__name__,
        converged,
        n_components,
        n_clusters,
        solver.max_iter,
        advice,
        stacklevel=5,
    )
    return Partition(
        labels=finish_partition(
            ensemble, components, n_clusters, similarity=similarity, embedding=embedding
        ),
        member_weights=member_weights,
        converged=converged,
        history=tuple(history),
        by_sample={"component_labels_": components, **by_sample},
        by_base_cluster=by_base_cluster,
        by_sample_and_member=by_sample_and_member,
        other={
            "n_components_": n_components,
            "objective_": history[-1]["objective"],
            "residual_": history[-1]["residual"],
            **other,
        },
    )


def warn_if_unfinished(
    method: str,
    converged: bool,
    n_components: int,
    n_clusters: int,
    max_iter: int,
    advice: str,
    *,
    stacklevel: int = 4,
) -> None:
    """One ConvergenceWarning that says what happened and what to do."""
    if n_components != n_clusters:
        how = "merged" if n_components > n_clusters else "split"
        warnings.warn(
            f"{method} arrived at {counted(n_components, 'component')} instead of "
            f"{counted(n_clusters, 'cluster')}; {how} into {n_clusters}. {advice}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )
    elif not converged:
        warnings.warn(
            f"{method} did not converge in {max_iter} passes. Raise max_iter, or {advice[0].lower()}"
            f"{advice[1:]}",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


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
    between = np.zeros((count, count))
    if similarity is not None:
        chosen = sparse.csr_array((weights, (np.arange(len(labels)), labels)))
        # in this order, because a product with the transpose of a dense matrix would copy it
        between = np.asarray((chosen.T @ similarity) @ chosen) / np.outer(sizes, sizes)
        between = (between + between.T) / 2
        np.fill_diagonal(between, 0.0)
    if not between.any():
        between = _between_components(ensemble, labels, count)
    dendrogram = weighted_linkage(between.max() - between, sizes, "average", overwrite=True)
    return by_first_appearance(dendrogram.cut(n_clusters)[labels])


def _between_components(ensemble: Ensemble, labels: IntArray, count: int) -> FloatArray:
    """Co-association between components: agreements over observations, pooled."""
    weights = ensemble.sizes
    chosen = sparse.csr_array((weights, (np.arange(len(labels)), labels)))
    inside = np.asarray((chosen.T @ ensemble.incidence).toarray())
    value = ensemble.weight_of_cluster
    together = (inside * value) @ inside.T
    observed = np.asarray(chosen.T @ ensemble.observed.astype(np.float64))
    seen = (observed * ensemble.member_weight) @ observed.T
    shares = np.zeros((count, count))
    np.divide(together, seen, out=shares, where=seen > 0)
    return shares


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
    raise AssertionError("distinct label rows always scatter")


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
