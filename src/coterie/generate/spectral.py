"""Spectral clustering of a Gaussian kernel, as one member of a pool."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from coterie.core.random import fix_signs
from coterie.numerics.eigen import extreme_eigenpairs, leading_eigenpairs

# below this order the dense solver is quicker than setting up an iteration
DENSE_ORDER = 500


class GaussianSpectral(ClusterMixin, BaseEstimator):
    """Ng, Jordan and Weiss's spectral clustering, on squared distances.

    Parameters
    ----------
    n_clusters : int
    sigma : float
        Bandwidth of the kernel exp(-d^2 / (2 sigma^2)).
    random_state : int or None
        Seed of the final k-means.
    """

    def __init__(self, n_clusters: int = 8, sigma: float = 1.0, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.sigma = sigma
        self.random_state = random_state

    def fit(self, squared_distances: NDArray[np.float64], y: object = None) -> Self:
        """Cluster the rows of an n x n matrix of squared distances."""
        kernel = squared_distances / (-2.0 * self.sigma**2)
        np.exp(kernel, out=kernel)
        # the diagonal is one, so no degree is zero, however narrow the kernel
        scale = 1.0 / np.sqrt(kernel.sum(axis=1))
        kernel *= scale
        kernel *= scale[:, None]
        rows = _leading_vectors(kernel, self.n_clusters)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-12
        means = KMeans(n_clusters=self.n_clusters, n_init=3, random_state=self.random_state)
        self.labels_ = means.fit_predict(rows)
        return self


def _leading_vectors(matrix: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    n = len(matrix)
    if n > DENSE_ORDER:
        found = leading_eigenpairs(lambda vector: matrix @ vector, n, count)
        if found is not None:
            return fix_signs(found[1])
    _, vectors = extreme_eigenpairs(matrix, count)
    return fix_signs(vectors[:, ::-1])
