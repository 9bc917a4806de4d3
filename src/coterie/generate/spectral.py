"""Spectral clustering of Ng, Jordan and Weiss (2001): eigenvectors of Gaussian kernels, then k-means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from coterie.core.random import fix_signs
from coterie.core.threads import one_thread
from coterie.numerics.eigen import extreme_eigenpairs


def gaussian_eigenvectors(
    X: Any, bandwidths: Sequence[float], counts: Sequence[int], n_jobs: int | None = None
) -> list[NDArray[np.float64]]:
    """The leading eigenvectors of the normalised kernel exp(-d^2 / (2 sigma^2)), one array per bandwidth.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
    bandwidths : sequence of float
        sigma, as multiples of the mean distance of two rows.
    counts : sequence of int
        How many eigenvectors to compute for each bandwidth.
    n_jobs : int or None
        Number of bandwidths computed in parallel. It does not change the result.
    """
    n = X.shape[0]
    with one_thread():
        squared = euclidean_distances(X, squared=True).astype(np.float64)
    mean = float(np.sqrt(squared).sum() / (n * (n - 1)))
    jobs = Parallel(n_jobs=n_jobs, prefer="threads")
    vectors: list[NDArray[np.float64]] = jobs(
        delayed(_eigenvectors)(squared, factor * mean, count)
        for factor, count in zip(bandwidths, counts, strict=True)
    )
    return vectors


def _eigenvectors(squared: NDArray[np.float64], sigma: float, count: int) -> NDArray[np.float64]:
    """The first ``count`` eigenvectors, from the largest eigenvalue on.

    The eigenvalues of a narrow kernel are all close to one, and those of a wide kernel close to zero.
    An iterative method often fails to separate them, so the dense one is faster.
    """
    kernel = squared / (-2.0 * sigma**2)
    np.exp(kernel, out=kernel)
    # The diagonal is one, so no degree is zero, however narrow the kernel is.
    scale = 1.0 / np.sqrt(kernel.sum(axis=1))
    kernel *= scale
    kernel *= scale[:, None]
    with one_thread():
        _, vectors = extreme_eigenpairs(kernel, count)
    return fix_signs(vectors[:, ::-1])


@dataclass(eq=False, repr=False)
class SpectralKMeans(ClusterMixin, BaseEstimator):
    """k-means of rows of eigenvectors, each row scaled to length one."""

    n_clusters: int = 8
    random_state: Any = None

    def fit(self, vectors: NDArray[np.float64], y: object = None) -> Self:
        """Cluster the rows of an n x k matrix of eigenvectors."""
        rows = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12)
        means = KMeans(n_clusters=self.n_clusters, n_init=3, random_state=self.random_state)
        self.labels_ = means.fit_predict(rows)
        return self
