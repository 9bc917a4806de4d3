"""Ways to cut that several methods share, each giving exactly n_clusters clusters.

An embedding is cut by k-means; a similarity by linkage, in its own leading eigenvectors, through
the base clusters, or by balanced graph partitioning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.random import child_seeds
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.exact import finish_partition
from coterie.solvers.partition import Partition

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram, Method


KMEANS_ADVICE = "Ask for fewer clusters: the embedding does not tell so many apart."


@dataclass(frozen=True)
class Cut:
    """Clusters of the microclusters, and what they were before there were exactly n_clusters.

    Attributes
    ----------
    labels : ndarray, shape (N,)
    components : ndarray, shape (N,)
        What the method arrived at.
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
        """Number of clusters that the method arrived at."""
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
        One row a microcluster.
    n_clusters : int
    rng : numpy Generator
    n_init, max_iter : int
        Starts, and the most rounds of each.
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
    found = fit_kmeans(points, n_clusters, counts, rng, n_init=n_init, max_iter=max_iter)
    components = by_first_appearance(found.labels[:n])
    labels = finish_partition(ensemble, components, n_clusters, embedding=embedding)
    return Cut(labels, components, found.inertia, found.converged)


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
