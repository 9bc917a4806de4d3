"""Doubts about a partition of features: no structure at this k, or distances that few columns decide.

K-means always finds clusters, even in a single cloud. So the clusters are compared with k-means clusters
of clouds that have the same spread but no structure: normal distributions with the covariance of the
data. Clusters that are not tighter may be slices of a continuum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from coterie.core.text import counted, listed
from coterie.core.threads import one_thread

# maximum number of rows on which clusters are compared with clusters of clouds
MAX_ROWS = 1_000
N_CLOUDS = 10
# clusters are tighter if their scatter is below the mean of the clouds by this many standard deviations
DEVIATIONS = 2.0
# columns decide alone if a tenth of them, or one, carries this share of the squared distances
NEARLY_ALL = 0.95
MIN_COLUMNS = 3


def cloud_doubt(X: Any, labels: NDArray[np.int64], rng: np.random.Generator) -> str | None:
    """The doubt about clusters that are not tighter than clusters of a single cloud."""
    rows = np.arange(X.shape[0])
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False))
    codes = np.unique(labels[rows], return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    sample = X[rows].toarray() if sparse.issparse(X) else np.asarray(X[rows])
    centred = sample.astype(np.float64) - sample.mean(axis=0, dtype=np.float64)
    total = float((centred**2).sum())
    if n_clusters < 2 or n_clusters >= len(rows) or total == 0.0:
        return None
    own = _scatter(centred, codes, n_clusters) / total
    clouds = [_cloud_scatter(centred, n_clusters, rng) for _ in range(N_CLOUDS)]
    if own < np.mean(clouds) - DEVIATIONS * np.std(clouds):
        return None
    return (
        "The clusters are not tighter than those of a single cloud with the same spread, so they "
        "may be slices of a continuum."
    )


def _scatter(X: NDArray[np.float64], labels: NDArray[np.int64], n_clusters: int) -> float:
    """Sum of squared distances to the means of the clusters."""
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.zeros((n_clusters, X.shape[1]))
    np.add.at(sums, labels, X)
    return float((X**2).sum() - (sums**2 / sizes[:, None]).sum())


def _cloud_scatter(X: NDArray[np.float64], n_clusters: int, rng: np.random.Generator) -> float:
    """The share of the scatter of a normal cloud that lies within its k-means clusters."""
    # normal combinations of the rows have the covariance of the rows
    cloud = rng.standard_normal((len(X), len(X))) @ X / np.sqrt(len(X))
    cloud -= cloud.mean(axis=0)
    means = KMeans(n_clusters, n_init=3, random_state=int(rng.integers(2**31)))
    with one_thread():
        return float(means.fit(cloud).inertia_ / (cloud**2).sum())


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
