"""Pools: many different clusterings of the same features, as an Ensemble to combine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coterie.core.budget import Budget
from coterie.core.params import CALLBACK, JOBS, Domain, Integer, Real, check_parameters
from coterie.core.random import RandomState, generator
from coterie.ensemble import Ensemble
from coterie.ensemble.ids import index_ids
from coterie.generate.features import as_features
from coterie.generate.members import Progress, fit_members
from coterie.generate.plans import (
    BANDWIDTHS,
    COUNT,
    SHARES,
    ClusterCount,
    MemberPlan,
    estimator_plans,
    feature_plans,
    kmeans_plans,
    spectral_plans,
    subsample_plans,
)

_DOMAINS: Mapping[str, Domain] = {
    "n_members": Integer(1),
    "n_clusters": COUNT,
    "share": Real(0, 1, closed_low=False),
    "n_jobs": JOBS,
    "callback": CALLBACK,
}


def check_pool(
    owner: str,
    n_members: int,
    n_clusters: ClusterCount,
    n_jobs: int | None,
    callback: Progress | None,
    share: float = 1.0,
) -> None:
    """Raise ParameterError for the first argument of a pool that is outside its domain."""
    given = {
        "n_members": n_members,
        "n_clusters": n_clusters,
        "share": share,
        "n_jobs": n_jobs,
        "callback": callback,
    }
    check_parameters(owner, given, _DOMAINS)


def kmeans_pool(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """Run k-means with different starts and, by default, different numbers of clusters.

    Parameters
    ----------
    X : array, dataframe or sparse matrix, shape (n, d)
        If the index of a pandas frame names the samples, it becomes their ids.
    n_members : int, default 20
    n_clusters : int, "sqrt" or (low, high), default "sqrt"
        Number of clusters of each member: fixed, or drawn at random from low to high, both
        included. "sqrt" means (2, sqrt n).
    random_state : int, Generator or None
    n_jobs : int or None
        Number of members fitted in parallel, as in joblib. It does not change the result.
    callback : callable, optional
        Called with (members done, number of members).

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import kmeans_pool
    >>> kmeans_pool(load("iris").X, 10, n_clusters=3, random_state=0).n_members
    10
    """
    check_pool("kmeans_pool", n_members, n_clusters, n_jobs, callback)
    features = as_features(X)
    plans = kmeans_plans(features, n_members, n_clusters, generator(random_state))
    return _labelled(X, features, plans, n_jobs, callback)


def subsample_pool(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    share: float = SHARES["subsample"],
    clusterer: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """Cluster random subsets of the samples; each member leaves the other samples without a label.

    Every sample is seen by at least one member.

    Parameters
    ----------
    X, n_members, n_clusters, random_state, n_jobs, callback
        As in :func:`kmeans_pool`.
    share : float in (0, 1], default 0.8
        Share of the samples that each member sees.
    clusterer : scikit-learn clusterer, optional
        It needs a parameter ``n_clusters``. k-means by default.

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import subsample_pool
    >>> subsample_pool(load("iris").X, 10, n_clusters=3, share=0.5, random_state=0).is_complete
    False
    """
    check_pool("subsample_pool", n_members, n_clusters, n_jobs, callback, share)
    features = as_features(X)
    plans = subsample_plans(
        features, n_members, n_clusters, generator(random_state), share, clusterer
    )
    return _labelled(X, features, plans, n_jobs, callback)


def feature_pool(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    share: float = SHARES["features"],
    clusterer: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """Cluster the samples by random subsets of the features.

    Parameters
    ----------
    X, n_members, n_clusters, random_state, n_jobs, callback
        As in :func:`kmeans_pool`.
    share : float in (0, 1], default 0.5
        Share of the features that each member sees; at least one.
    clusterer : scikit-learn clusterer, optional
        It needs a parameter ``n_clusters``. k-means by default.

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import feature_pool
    >>> feature_pool(load("wine").X, 5, n_clusters=3, random_state=0).n_members
    5
    """
    check_pool("feature_pool", n_members, n_clusters, n_jobs, callback, share)
    features = as_features(X)
    plans = feature_plans(
        features, n_members, n_clusters, generator(random_state), share, clusterer
    )
    return _labelled(X, features, plans, n_jobs, callback)


def spectral_pool(
    X: Any,
    n_members: int = len(BANDWIDTHS),
    n_clusters: ClusterCount = "sqrt",
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
    memory_budget: Budget = None,
) -> Ensemble:
    """Spectral clustering with Gaussian kernels of nine bandwidths, which the members use in turn.

    The bandwidths are the mean distance times 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50 and 100. Each of them
    needs the eigenvectors of an n x n matrix, so use this for a few thousand samples at most.

    Parameters
    ----------
    X, n_members, n_clusters, random_state, n_jobs, callback
        As in :func:`kmeans_pool`.
    memory_budget : int, str or None
        Bytes that the n x n matrices may take.

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import spectral_pool
    >>> spectral_pool(load("iris").X, n_clusters=3, random_state=0).n_members
    9
    """
    check_pool("spectral_pool", n_members, n_clusters, n_jobs, callback)
    features = as_features(X)
    rng = generator(random_state)
    vectors, plans = spectral_plans(features, n_members, n_clusters, rng, n_jobs, memory_budget)
    return _labelled(X, vectors, plans, n_jobs, callback)


def from_estimators(
    X: Any,
    estimators: Sequence[Any],
    names: Sequence[str] | None = None,
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """One member per scikit-learn compatible clusterer; a label of -1 (noise) counts as missing.

    Examples
    --------
    >>> from sklearn.cluster import AgglomerativeClustering, KMeans
    >>> from coterie.datasets import load
    >>> from coterie.generate import from_estimators
    >>> models = [KMeans(3, n_init=1, random_state=0), AgglomerativeClustering(3)]
    >>> from_estimators(load("iris").X, models).members
    ('KMeans_0', 'AgglomerativeClustering_1')
    """
    check_pool("from_estimators", 1, 1, n_jobs, callback)
    features = as_features(X)
    plans = estimator_plans(estimators, names)
    return _labelled(X, features, plans, n_jobs, callback)


def _labelled(
    X: Any,
    features: Any,
    plans: Sequence[MemberPlan],
    n_jobs: int | None,
    callback: Progress | None,
) -> Ensemble:
    pool = fit_members(features, plans, n_jobs=n_jobs, callback=callback)
    return replace(pool.ensemble(), sample_ids=index_ids(X))
