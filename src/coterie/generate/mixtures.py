"""Gaussian mixtures as members: clusters may be stretched, where k-means makes them round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture

from coterie.core.random import random_rows
from coterie.generate.steps import fill_steps

# rows that a mixture is fitted on; it labels all rows
MAX_ROWS = 2_000
# principal components that are used: those that hold this share of the variance, up to a limit
VARIANCE = 0.95
MAX_COMPONENTS = 50
# share of the variance that is rounding error
NO_VARIANCE = 1e-12
# smallest variance of a cluster in any direction, as a share of the mean variance of the columns
MIN_VARIANCE = 0.01
# rows projected at the same time
BLOCK_ROWS = 65_536


def principal_components(
    sample: NDArray[np.float64], seed: int, least: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean, and the components with nearly all of the variance as columns.

    The components are divided by the mean spread of the columns, so that units do not matter. The first
    ``least`` components are returned even if they are not needed for the variance.
    """
    spread = np.sqrt(sample.var(axis=0).mean())
    if spread == 0:
        # A sample of a nearly constant matrix.
        return sample[0], np.zeros((sample.shape[1], 1))
    width = min(MAX_COMPONENTS, len(sample) - 1, sample.shape[1])
    components = PCA(width, random_state=seed).fit(sample)
    reached = np.cumsum(components.explained_variance_ratio_)
    needed = int(np.searchsorted(reached, VARIANCE)) + 1
    # a component without variance says nothing
    least = min(least, int((components.explained_variance_ratio_ > NO_VARIANCE).sum()))
    width = min(width, max(needed, least))
    return components.mean_, components.components_[:width].T / spread


@dataclass(eq=False, repr=False)
class MixtureClusterer(ClusterMixin, BaseEstimator):
    """A Gaussian mixture of the first principal components, which can label new rows.

    Parameters
    ----------
    n_clusters : int
    covariance : {"full", "tied"}
        Whether every cluster has a shape of its own, or all clusters share one.
    random_state : int or None
        Seed of the rows that it is fitted on, of the projection and of the start.
    """

    n_clusters: int = 8
    covariance: Literal["full", "tied"] = "full"
    random_state: int | None = None

    def fit(self, X: NDArray[Any], y: object = None) -> Self:
        """Fit the mixture on a sample of the rows, and label all rows."""
        rng = np.random.default_rng(self.random_state)
        sample = np.asarray(X, dtype=np.float64)[random_rows(len(X), MAX_ROWS, rng)]
        seed = int(rng.integers(2**31))
        # otherwise a component would shrink to a single value of a discrete column
        sample = fill_steps(sample, rng)
        self.mean_, self.components_ = principal_components(sample, seed)
        mixture = GaussianMixture(
            self.n_clusters,
            covariance_type=self.covariance,
            reg_covar=MIN_VARIANCE,
            random_state=seed,
        )
        self.mixture_ = mixture.fit(self._projected(sample))
        self.labels_ = self.predict(X)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """The most probable cluster of each row."""
        labels = np.empty(len(X), dtype=np.int64)
        for begin in range(0, len(X), BLOCK_ROWS):
            block = slice(begin, begin + BLOCK_ROWS)
            labels[block] = self.mixture_.predict(self._projected(X[block]))
        return labels

    def _projected(self, X: NDArray[Any]) -> NDArray[np.float64]:
        projected: NDArray[np.float64] = (X - self.mean_) @ self.components_
        return projected
