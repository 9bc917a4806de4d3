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

from coterie.core.random import random_rows
from coterie.core.text import counted, listed
from coterie.core.threads import one_thread
from coterie.generate.mixtures import principal_components
from coterie.generate.steps import fill_steps
from coterie.select.separation import halved, separation

# maximum number of rows on which clusters are compared with clusters of clouds
MAX_ROWS = 1_000
N_CLOUDS = 20
# clusters are separated if they score above the mean of the clouds by this many standard deviations
DEVIATIONS = 2.0
# columns decide alone if a tenth of them, or one, carries this share of the squared distances; a category may
# decide alone if this share of the samples has the most frequent value of its cluster
NEARLY_ALL = 0.95
MIN_COLUMNS = 3


def cloud_doubt(X: Any, labels: NDArray[np.int64], rng: np.random.Generator) -> str | None:
    """The doubt about clusters that are not better separated than clusters of a single cloud."""
    rows = random_rows(X.shape[0], MAX_ROWS, rng)
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
    return np.array([separation(X, labels, rng), separation(X, labels, rng, halved(X, labels))])


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
        f"{min(share, 0.999):.1%} of the squared distances between samples."
    )
