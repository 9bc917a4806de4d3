"""Pools: many clusterings of the same features, different enough to be worth combining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from coterie.core.budget import Budget, require
from coterie.core.errors import ParameterError
from coterie.core.params import Integer, Kind, Real, check_parameters
from coterie.core.random import RandomState, child_seeds, generator
from coterie.ensemble import Ensemble
from coterie.ensemble.ids import index_ids
from coterie.generate.features import as_features, count_distinct_rows, largest
from coterie.generate.members import MemberPlan, Progress, fit_members
from coterie.generate.spectral import GaussianSpectral

ClusterCount = int | Literal["sqrt"] | tuple[int, int]
# the bandwidths of the published experiments, as multiples of the mean distance
BANDWIDTHS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
MAX_ITER = 100
SHARE = Real(0, 1, closed_low=False)


class TooFewRows(ParameterError):
    """More clusters were asked for than X has distinct rows."""

    def __init__(self, message: str, distinct: int, n_samples: int) -> None:
        super().__init__(message)
        self.distinct = distinct
        self.n_samples = n_samples


def describe_distinct(distinct: int, n_samples: int) -> str:
    """How few rows differ, and where to look."""
    if distinct == 1:
        return f"all rows of X are the same (n_samples={n_samples}): its features are constant"
    return f"X has only {distinct} distinct rows among n_samples={n_samples}"


def kmeans_pool(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """k-means runs that differ in their starts and, by default, in their number of clusters.

    Parameters
    ----------
    X : array, dataframe or sparse matrix, shape (n, d)
        The index of a pandas frame, where it names the samples, becomes their ids.
    n_members : int, default 20
    n_clusters : int, "sqrt" or (low, high), default "sqrt"
        Clusters of each member: a fixed number, or drawn at random between the bounds, both
        included; "sqrt" stands for (2, sqrt n).
    random_state : int, Generator or None
    n_jobs : int or None
        Members fitted at a time, as in joblib; it does not change the result.
    callback : callable, optional
        Called with (members done, members in all).

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import kmeans_pool
    >>> kmeans_pool(load("iris").X, 10, n_clusters=3, random_state=0).n_members
    10
    """
    features = as_features(X)
    plans = kmeans_plans(features, n_members, n_clusters, generator(random_state))
    return fit_members(features, plans, n_jobs=n_jobs, callback=callback).ensemble(index_ids(X))


def subsample_pool(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    share: float = 0.8,
    clusterer: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """Members that each see a random share of the samples; the rest have no label there.

    Every sample is seen by at least one member.

    Parameters
    ----------
    X, n_members, n_clusters, random_state, n_jobs, callback
        As in :func:`kmeans_pool`.
    share : float in (0, 1], default 0.8
    clusterer : scikit-learn clusterer, optional
        With a parameter ``n_clusters``; k-means by default.

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import subsample_pool
    >>> subsample_pool(load("iris").X, 10, n_clusters=3, share=0.5, random_state=0).is_complete
    False
    """
    features = as_features(X)
    plans = subsample_plans(
        features, n_members, n_clusters, generator(random_state), share, clusterer
    )
    return fit_members(features, plans, n_jobs=n_jobs, callback=callback).ensemble(index_ids(X))


def feature_pool(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    share: float = 0.5,
    clusterer: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Ensemble:
    """Members that each see a random share of the features, at least one.

    Parameters
    ----------
    X, n_members, n_clusters, random_state, n_jobs, callback
        As in :func:`kmeans_pool`.
    share : float in (0, 1], default 0.5
    clusterer : scikit-learn clusterer, optional
        With a parameter ``n_clusters``; k-means by default.

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.generate import feature_pool
    >>> feature_pool(load("wine").X, 5, n_clusters=3, random_state=0).n_members
    5
    """
    features = as_features(X)
    plans = feature_plans(
        features, n_members, n_clusters, generator(random_state), share, clusterer
    )
    return fit_members(features, plans, n_jobs=n_jobs, callback=callback).ensemble(index_ids(X))


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
    """Spectral clusterings of Gaussian kernels of nine bandwidths, taken in turn.

    The bandwidths are the mean distance times 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50 and 100. Works on
    an n x n matrix, so it is for a few thousand samples.

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
    features = as_features(X)
    rng = generator(random_state)
    distances, plans = spectral_plans(features, n_members, n_clusters, rng, memory_budget)
    return fit_members(distances, plans, n_jobs=n_jobs, callback=callback).ensemble(index_ids(X))


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
    features = as_features(X)
    plans = estimator_plans(estimators, names)
    return fit_members(features, plans, n_jobs=n_jobs, callback=callback).ensemble(index_ids(X))


# ---------------------------------------------------------------------- plans behind the pools


def kmeans_plans(
    X: Any, n_members: int, n_clusters: ClusterCount, rng: np.random.Generator
) -> list[MemberPlan]:
    """Plans of :func:`kmeans_pool`."""
    counts = draw_counts(X, n_members, n_clusters, rng)
    seeds = child_seeds(rng, n_members)
    return [
        MemberPlan(_name("kmeans", j, n_members, k), _kmeans(int(k), int(seed)))
        for j, (k, seed) in enumerate(zip(counts, seeds, strict=True))
    ]


def subsample_plans(
    X: Any,
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    share: float = 0.8,
    clusterer: Any = None,
) -> list[MemberPlan]:
    """Plans of :func:`subsample_pool`."""
    given = {"n_members": n_members, "share": share}
    check_parameters("subsample_pool", given, {"n_members": Integer(1), "share": SHARE})
    n = X.shape[0]
    size = min(n, max(2, round(share * n)))
    seen = np.zeros((n, n_members), dtype=np.bool_)
    for j in range(n_members):
        seen[rng.choice(n, size=size, replace=False), j] = True
    forgotten = np.flatnonzero(~seen.any(axis=1))
    seen[forgotten, rng.integers(0, n_members, size=len(forgotten))] = True
    counts = draw_counts(X, n_members, n_clusters, rng)
    seeds = child_seeds(rng, n_members)
    plans = []
    for j in range(n_members):
        rows = np.flatnonzero(seen[:, j])
        k = min(int(counts[j]), count_distinct_rows(X[rows]))
        estimator = _clusterer(clusterer, k, int(seeds[j]))
        plans.append(MemberPlan(_name("subsample", j, n_members, k), estimator, rows=rows))
    return plans


def feature_plans(
    X: Any,
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    share: float = 0.5,
    clusterer: Any = None,
) -> list[MemberPlan]:
    """Plans of :func:`feature_pool`."""
    check_parameters("feature_pool", {"share": share}, {"share": SHARE})
    d = X.shape[1]
    size = max(1, round(share * d))
    counts = draw_counts(X, n_members, n_clusters, rng)
    seeds = child_seeds(rng, n_members)
    plans = []
    for j in range(n_members):
        columns = np.sort(rng.choice(d, size=size, replace=False))
        k = min(int(counts[j]), count_distinct_rows(X[:, columns]))
        estimator = _clusterer(clusterer, k, int(seeds[j]))
        plans.append(MemberPlan(_name("features", j, n_members, k), estimator, columns=columns))
    return plans


def spectral_plans(
    X: Any,
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    memory_budget: Budget = None,
) -> tuple[NDArray[np.float64], list[MemberPlan]]:
    """Squared distances and plans of :func:`spectral_pool`."""
    n = X.shape[0]
    require(
        8 * 3 * n * n,
        f"Spectral clustering of n = {n:,} samples",
        "Take kmeans_pool, which needs no n x n matrix.",
        memory_budget,
    )
    counts = draw_counts(X, n_members, n_clusters, rng)
    seeds = child_seeds(rng, n_members)
    distances = euclidean_distances(X, squared=True).astype(np.float64)
    mean = float(np.sqrt(distances).sum() / (n * (n - 1)))
    plans = []
    for j, (k, seed) in enumerate(zip(counts, seeds, strict=True)):
        factor = BANDWIDTHS[j % len(BANDWIDTHS)]
        estimator = GaussianSpectral(int(k), factor * mean, int(seed))
        plans.append(MemberPlan(f"{_name('spectral', j, n_members, k)}_s{factor:g}", estimator))
    return distances, plans


def estimator_plans(estimators: Sequence[Any], names: Sequence[str] | None) -> list[MemberPlan]:
    """Plans of :func:`from_estimators`."""
    if not isinstance(estimators, Sequence):
        raise ParameterError(
            f"estimators must be a list of clusterers, but is {type(estimators).__name__}"
        )
    if len(estimators) == 0:
        raise ParameterError("estimators is empty: an ensemble needs at least one clusterer")
    for j, estimator in enumerate(estimators):
        _refuse_no_clusterer(f"estimators[{j}]", estimator)
    if names is None:
        names = [f"{type(estimator).__name__}_{j}" for j, estimator in enumerate(estimators)]
    elif isinstance(names, str) or not isinstance(names, Sequence):
        raise ParameterError(f"names must be a list of names, but is {names!r}")
    elif len(names) != len(estimators):
        raise ParameterError(f"names must hold {len(estimators)} names, but holds {len(names)}")
    return [MemberPlan(name, estimator) for name, estimator in zip(names, estimators, strict=True)]


def draw_counts(
    X: Any, n_members: int, n_clusters: ClusterCount, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The number of clusters of each member, never more than X has distinct rows."""
    given = {"n_members": n_members, "n_clusters": n_clusters}
    check_parameters("pool", given, {"n_members": Integer(1), "n_clusters": COUNT})
    n = X.shape[0]
    if n < 2:
        raise ParameterError(f"n_samples={n}: at least two samples are needed to cluster anything")
    distinct = count_distinct_rows(X)
    if distinct > 1 and largest(X) ** 2 < np.finfo(X.dtype).tiny:
        raise ParameterError(
            f"X reaches only {largest(X):.3g}, and squares of that are zero in {X.dtype}; rescale it, "
            "such as with sklearn.preprocessing.StandardScaler"
        )
    low, high = _bounds(n_clusters, n)
    if low > distinct:
        words = describe_distinct(distinct, n)
        raise TooFewRows(
            f"{words}, and there is nothing to cluster"
            if distinct == 1
            else f"n_clusters is {n_clusters!r}, but {words}",
            distinct,
            n,
        )
    return rng.integers(low, min(high, distinct) + 1, size=n_members)


def _is_count(given: Any) -> bool:
    if isinstance(given, str):
        return given == "sqrt"
    if isinstance(given, tuple | list):
        bounds = len(given) == 2 and all(Integer(1).admits(bound) for bound in given)
        return bounds and int(given[0]) <= int(given[1])
    return Integer(1).admits(given)


COUNT = Kind(
    _is_count,
    "a whole number of at least 1, 'sqrt', or (low, high) with 1 <= low <= high",
)


def _bounds(n_clusters: ClusterCount, n: int) -> tuple[int, int]:
    if isinstance(n_clusters, str):
        return (1 if n < 4 else 2), max(2, int(np.sqrt(n)))
    low, high = n_clusters if isinstance(n_clusters, tuple | list) else (n_clusters, n_clusters)
    return int(low), int(high)


def _kmeans(k: int, seed: int) -> KMeans:
    return KMeans(n_clusters=k, n_init=1, max_iter=MAX_ITER, random_state=seed)


def is_clusterer(given: Any) -> bool:
    """Whether it can make a member: an instance with ``fit_predict``."""
    return hasattr(given, "fit_predict") and not isinstance(given, type)


def _refuse_no_clusterer(name: str, given: Any) -> None:
    if not is_clusterer(given):
        raise ParameterError(
            f"{name} ({given!r}) has no fit_predict: it must be a scikit-learn compatible "
            "clusterer, such as KMeans(3)"
        )


def _clusterer(given: Any, k: int, seed: int) -> Any:
    if given is None:
        return _kmeans(k, seed)
    _refuse_no_clusterer("clusterer", given)
    estimator = clone(given)
    known = estimator.get_params()
    if "n_clusters" not in known:
        raise ParameterError(
            f"clusterer ({type(given).__name__}) has no parameter n_clusters; "
            "use from_estimators for clusterers that choose it themselves"
        )
    settings: dict[str, Any] = {"n_clusters": k}
    if "random_state" in known:
        settings["random_state"] = seed
    return estimator.set_params(**settings)


def _name(kind: str, j: int, count: int, k: int) -> str:
    return f"{kind}_{j:0{len(str(count - 1))}d}_k{k}"
