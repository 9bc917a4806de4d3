"""How many clusters the members should have, for a given number of clusters of the consensus.

Members with exactly k clusters give the steadiest consensus on tables, where clusters are clouds that
touch each other. They fail if clusters are long, bent or of very different density, because k-means
cuts through such clusters. Members with many small clusters do not fail there, because small clusters
hardly ever reach across a border. So members with small clusters are tried, and used if they show a border
that members with k clusters cut across (docs/ensembles.md compares both on real tables and on shapes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from coterie.core.random import child_seeds, random_rows
from coterie.core.types import IntArray
from coterie.ensemble import Ensemble
from coterie.generate.members import make_pool
from coterie.generate.plans import TooFewRows
from coterie.generate.steps import fill_steps
from coterie.trust import ClusterVotes

# maximum number of rows on which small clusters are tried
MAX_ROWS = 2_000
# members in each pool that is tried
TRIED_MEMBERS = 20
# number of pools that must show a border, and number of pools after which the search ends if none does
N_POOLS = 4
MIN_POOLS = 2
# a border separates samples of a small cluster at most this often, relative to how often the partition by
# members with k clusters does
MAX_APART = 0.25
# every cluster beside a border has at least this share of the mean cluster size; smaller ones are outliers
MIN_SHARE = 0.3


def many_clusters(n_clusters: int, n: int) -> tuple[int, int]:
    """The range of the number of clusters of members with many small clusters."""
    high = max(2 * n_clusters, int(np.sqrt(n)))
    return max(2 * n_clusters, high // 2), high


def shows_border(
    X: Any, coarse: Ensemble, n_clusters: int, rng: np.random.Generator, n_jobs: int | None
) -> bool | None:
    """Whether members with many clusters show a border that members with ``n_clusters`` cut across.

    Several pools of members are tried, because one may show a border by chance.

    Parameters
    ----------
    X : array, shape (n, d)
    coarse : Ensemble
        Members with ``n_clusters`` clusters each, on the rows of X.
    n_clusters : int
    rng : numpy Generator
    n_jobs : int or None

    Returns
    -------
    bool or None
        None if some pools show a border and others do not.
    """
    n = X.shape[0]
    low, high = many_clusters(n_clusters, min(n, MAX_ROWS))
    if n_clusters < 2 or low >= n:
        return False
    if coarse.n_microclusters < n_clusters:
        return False
    from coterie.solvers import LWEA

    partition = LWEA(n_clusters).fit(coarse).labels_
    shown: list[bool] = []
    for seed in child_seeds(rng, N_POOLS):
        pool_rng = np.random.default_rng(seed)
        shown.append(_pool_shows_border(X, partition, n_clusters, (low, high), pool_rng, n_jobs))
        if len(set(shown)) > 1:
            return None
        if len(shown) == MIN_POOLS and not shown[0]:
            return False
    return True


def _pool_shows_border(
    X: Any,
    coarse: IntArray,
    n_clusters: int,
    sizes: tuple[int, int],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> bool:
    """Whether small clusters show a border that the partition ``coarse`` cuts across."""
    from coterie.solvers import LWEA

    rows = random_rows(X.shape[0], MAX_ROWS, rng)
    # the space between two values of a discrete column is not a border between clusters
    tried = X[rows] if sparse.issparse(X) else fill_steps(X[rows], rng)
    try:
        fine = make_pool(tried, "kmeans", TRIED_MEMBERS, sizes, rng, n_jobs, None).ensemble()
    except TooFewRows:
        # So few distinct rows have no small clusters.
        return False
    if fine.n_microclusters < n_clusters:
        return False
    labels = LWEA(n_clusters).fit(fine).labels_
    if np.bincount(labels).min() < MIN_SHARE * len(rows) / n_clusters:
        return False
    # samples of one fine microcluster may be in different coarse clusters: the first one decides for all
    by_row = coarse[rows][np.unique(fine.inverse, return_index=True)[1]]
    return pairs_apart(fine, labels) < MAX_APART * pairs_apart(fine, by_row[fine.inverse])


def pairs_apart(ensemble: Ensemble, labels: Any) -> float:
    """How often a partition separates two samples that a member puts together, relative to chance.

    Relative to two samples drawn at random: 1 as by chance, 0 if no cluster of a member reaches across.
    """
    codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    votes = ClusterVotes.of(ensemble, codes)
    shares = votes.shares
    apart = 1.0 - np.asarray(shares.multiply(shares).sum(axis=1)).ravel()
    within = float((apart * ensemble.cluster_sizes).sum() / ensemble.cluster_sizes.sum())
    share = np.bincount(codes, weights=ensemble.sample_weight) / ensemble.weights.sum()
    by_chance = 1.0 - float((share**2).sum())
    return within / by_chance if by_chance > 0 else 0.0
