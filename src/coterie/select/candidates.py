"""Partitions of features into k clusters, of several shapes, to test whether their clusters are separated.

Every partition starts from Ward's dendrogram of the samples, or of their spectral embedding, so it does not
depend on a seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import linalg, sparse
from scipy.cluster.hierarchy import fcluster
from scipy.cluster.hierarchy import linkage as tree_of
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from coterie.core.random import fix_signs
from coterie.core.threads import one_thread
from coterie.core.types import FloatArray, IntArray
from coterie.generate.mixtures import MIN_VARIANCE
from coterie.numerics.partitions import by_first_appearance
from coterie.select.separation import centres, neighbour_graph

# with more clusters, no mixtures are fitted, because they take long
MAX_MIXTURE = 15
# the spread in a direction that is narrower than this share of the widest one is rounding error
RANK = 1e-9
# maximum number of directions, the widest, that are searched for parallel clusters
MAX_DIRECTIONS = 10


class Candidates:
    """Partitions of samples into any number of clusters up to ``largest``.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    largest : int
        Below n.
    """

    def __init__(self, X: FloatArray, largest: int) -> None:
        self.X = X
        self.largest = largest
        self._tree = tree_of(X, "ward")
        self._mixtures: dict[tuple[int, str], GaussianMixture] = {}

    @cached_property
    def graph(self) -> sparse.csr_matrix:
        """The nearest neighbours of each sample."""
        return neighbour_graph(self.X)

    @cached_property
    def _embedding(self) -> FloatArray:
        return _embedding(self.graph, self.largest)

    def kmeans(self, k: int) -> IntArray:
        """Round clusters."""
        return _kmeans(self.X, _cut(self._tree, k))

    def spectral(self, k: int) -> IntArray:
        """Clusters of any shape, if few samples have neighbours in another cluster."""
        vectors = self._embedding[:, : k - 1]
        return _kmeans(vectors, _cut(tree_of(vectors, "ward"), k))

    def side_by_side(self, k: int) -> IntArray:
        """Parallel clusters of any length, next to each other where the samples are least peaked."""
        return _kmeans(self._flattest, _cut(tree_of(self._flattest, "ward"), k))

    def in_any_units(self, k: int) -> IntArray:
        """Round clusters after all directions were scaled to one width.

        Parallel clusters that are sheared or stretched together stay together.
        """
        return _kmeans(self._spherical, _cut(self._tree_of_spherical, k))

    @cached_property
    def _tree_of_spherical(self) -> FloatArray:
        return tree_of(self._spherical, "ward")

    @cached_property
    def _spherical(self) -> FloatArray:
        """The samples in the widest directions, with the same variance in each."""
        n = len(self.X)
        wide = self.X[:, : max(1, min(MAX_DIRECTIONS, n // MAX_DIRECTIONS))]
        centred = wide - wide.mean(axis=0)
        with one_thread():
            basis, widths, _ = np.linalg.svd(centred, full_matrices=False)
        return np.asarray(fix_signs(basis[:, widths > RANK * widths[0]]) * np.sqrt(n))

    @cached_property
    def _flattest(self) -> FloatArray:
        """The samples along the direction with the least kurtosis, as a column.

        No distribution has less kurtosis than two equal lumps. The direction does not depend on the
        widths of the clusters in other directions (invariant coordinate selection; Tyler, Critchley,
        Duembgen and Oja 2009).
        """
        squares = (self._spherical**2).sum(axis=1)
        with one_thread():
            _, axes = np.linalg.eigh((self._spherical * squares[:, None]).T @ self._spherical)
            return np.asarray(fix_signs(self._spherical @ axes[:, :1]))

    def mixture(self, k: int, shape: str) -> GaussianMixture:
        """A Gaussian mixture that starts from round clusters.

        The components have one covariance ("tied"), one each ("full"), or one each without correlations
        ("diag").
        """
        if (k, shape) not in self._mixtures:
            self._mixtures[k, shape] = _mixture(self.X, self.kmeans(k), shape)
        return self._mixtures[k, shape]

    def of(self, k: int) -> Iterator[IntArray]:
        """All partitions into at most k clusters, without repetition."""
        seen: set[bytes] = set()
        for labels in self._of(k):
            codes = by_first_appearance(labels)
            if codes.tobytes() not in seen:
                seen.add(codes.tobytes())
                yield codes

    def _of(self, k: int) -> Iterator[IntArray]:
        yield self.kmeans(k)
        of_any_shape = self.spectral(k)
        yield of_any_shape
        yield self.side_by_side(k)
        yield self.in_any_units(k)
        if k <= MAX_MIXTURE:
            yield _assigned(self.mixture(k, "tied"), self.X)
            yield _assigned(self.mixture(k, "full"), self.X)
            yield _assigned(_mixture(self.X, of_any_shape, "tied"), self.X)


def _cut(tree: FloatArray, k: int) -> IntArray:
    return np.unique(fcluster(tree, k, "maxclust"), return_inverse=True)[1].astype(np.int64)


def _embedding(graph: sparse.csr_matrix, count: int) -> FloatArray:
    """The leading eigenvectors of the graph's random walk, without the constant one."""
    edges = ((graph + graph.T) / 2).toarray()
    root = np.sqrt(edges.sum(axis=1))
    edges /= root[:, None] * root[None, :]
    n = len(edges)
    with one_thread():
        _, vectors = linalg.eigh(edges, subset_by_index=(max(n - count, 0), n - 2))
    return np.asarray(fix_signs(vectors[:, ::-1]) / root[:, None] * np.sqrt((root**2).sum()))


def _kmeans(X: FloatArray, start: IntArray) -> IntArray:
    """K-means from the centres of a partition."""
    first = centres(X, start)
    with warnings.catch_warnings(), one_thread():
        # fewer distinct rows than clusters
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(len(first), init=first, n_init=1).fit(X).labels_.astype(np.int64)


def _assigned(mixture: GaussianMixture, X: FloatArray) -> IntArray:
    with one_thread():
        return np.asarray(mixture.predict(X), dtype=np.int64)


def _mixture(X: FloatArray, start: IntArray, covariance: str) -> GaussianMixture:
    """A Gaussian mixture from the clusters of a partition."""
    means = centres(X, start)
    deviations = X - means[start]
    least = MIN_VARIANCE * np.eye(X.shape[1])
    pooled = deviations.T @ deviations / len(X) + least
    precisions = np.linalg.inv(pooled)
    if covariance == "full":
        # shrunk towards the pooled covariance, as if each cluster had one more sample per column
        scatters = [deviations[start == i].T @ deviations[start == i] for i in range(len(means))]
        counts = np.bincount(start) + X.shape[1]
        precisions = np.stack(
            [
                np.linalg.inv((scatter + X.shape[1] * pooled) / count)
                for scatter, count in zip(scatters, counts, strict=True)
            ]
        )
    elif covariance == "diag":
        precisions = np.tile(1 / np.diag(pooled), (len(means), 1))
    mixture = GaussianMixture(
        len(means),
        covariance_type=covariance,
        reg_covar=MIN_VARIANCE,
        init_params="random_from_data",
        weights_init=np.bincount(start) / len(X),
        means_init=means,
        precisions_init=precisions,
        random_state=0,
    )
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(X)
