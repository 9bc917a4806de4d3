"""Plan members, fit them in parallel, and keep them with their labels in a pool."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from coterie.core.budget import Budget, require
from coterie.core.errors import ParameterError
from coterie.core.params import Integer, Kind
from coterie.core.random import child_seeds
from coterie.core.threads import one_thread
from coterie.ensemble import Ensemble
from coterie.generate.gaps import Gaps
from coterie.generate.mixtures import MixtureClusterer
from coterie.generate.spectral import SpectralKMeans, gaussian_eigenvectors

Progress = Callable[[int, int], None]
ClusterCount = int | Literal["sqrt"] | tuple[int, int]
# How often members are fitted again after a joblib backend lost them.
MAX_RETRIES = 3
# The bandwidths of the published experiments, as multiples of the mean distance.
BANDWIDTHS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
MAX_ITER = 100
GENERATORS = ("auto", "kmeans", "subsample", "features", "spectral")
# What ten members of "auto" assume about the shape of a cluster: round (k-means), one shape for all
# clusters, or any shape. Both mixtures together outvote k-means; if they disagree, k-means decides.
SHAPES: tuple[Literal["kmeans", "tied", "full"], ...] = (
    *("kmeans", "tied", "full"),
    *("kmeans", "tied", "full"),
    *("kmeans", "tied", "full"),
    "kmeans",
)
# Share of the samples or of the features that a member sees.
SHARES = {"subsample": 0.8, "features": 0.5}


class TooFewRows(ParameterError):
    """More clusters were requested than X has distinct rows; ``reason`` says how many it has."""

    def __init__(self, n_clusters: ClusterCount, distinct: int, n_samples: int) -> None:
        self.constant = distinct == 1
        self.reason = f"X has only {distinct} distinct rows among n_samples={n_samples}"
        message = f"n_clusters is {n_clusters!r}, but {self.reason}"
        if self.constant:
            same = f"all rows of X are the same (n_samples={n_samples}): its features are constant"
            self.reason = f"{same}, so there is nothing to cluster"
            message = self.reason
        super().__init__(message)


@dataclass(frozen=True)
class MemberPlan:
    """A member before it is fitted: its name, its clusterer, and the rows and columns it sees.

    None for ``rows`` or ``columns`` means all of them. ``fill`` is the seed for drawing the values that
    fill gaps. Members of the same ``group`` differ by chance only.
    """

    name: str
    estimator: Any
    rows: NDArray[np.int64] | None = None
    columns: NDArray[np.int64] | None = None
    fill: int = 0
    group: str = ""

    def columns_of(self, X: Any) -> Any:
        """The features that this member sees."""
        return X if self.columns is None else X[:, self.columns]


@dataclass(frozen=True, eq=False)
class Pool:
    """Fitted members and their labels.

    Attributes
    ----------
    plans : tuple of MemberPlan
    members : tuple of fitted clusterers
    labels : ndarray of int64, shape (n, m)
        -1 for rows that a member did not see.
    dtype : dtype
        Precision of the features. Clusterers accept new rows only in the precision of the fit.
    prepare : callable or None
        Turns rows of the user's table into the features that the members are fitted on.
    """

    plans: tuple[MemberPlan, ...]
    members: tuple[Any, ...]
    labels: Any
    dtype: np.dtype[Any]
    prepare: Callable[[Any], NDArray[np.float64]] | None = None

    @property
    def member_names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(plan.name for plan in self.plans)

    @cached_property
    def _compressed(self) -> Ensemble:
        return Ensemble.from_labels(self.labels, names=self.member_names)

    def ensemble(self) -> Ensemble:
        """The labels as an Ensemble, compressed at the first call."""
        return self._compressed

    def cannot_predict(self) -> list[str]:
        """Names of the members that cannot label new rows."""
        return [
            name
            for name, member in zip(self.member_names, self.members, strict=True)
            if not hasattr(member, "predict")
        ]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels that every member gives to new rows, n x m, numbered as the member does."""
        X = X.astype(self.dtype, copy=False)
        labels = [
            np.asarray(member.predict(plan.columns_of(X)))
            for plan, member in zip(self.plans, self.members, strict=True)
        ]
        return np.stack(labels, axis=1)


def make_pool(
    X: Any,
    generator: str | Sequence[Any],
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    n_jobs: int | None,
    callback: Progress | None,
    *,
    gaps: Gaps | None = None,
    aside: NDArray[np.bool_] | None = None,
    label_aside: bool = True,
    share: float | None = None,
    clusterer: Any = None,
) -> Pool:
    """Fit the members of a named generator, or one member per given clusterer.

    Parameters
    ----------
    X : array, shape (n, d)
        Features, complete unless ``gaps`` are given.
    generator, n_members, n_clusters, rng, n_jobs, callback
        As in :class:`coterie.ConsensusClustering`.
    gaps : Gaps, optional
        The missing values of X. Every member fills them anew.
    aside : array of bool, shape (n,), optional
        Samples on which no member is fitted.
    label_aside : bool
        Whether the fitted members label these samples.
    share, clusterer
        Of the generators "subsample" and "features"; None takes their default.
    """
    kept = None if aside is None else np.flatnonzero(~aside)
    complete = X if gaps is None else gaps.filled_by_mean(X)
    seen = complete if kept is None else complete[kept]
    plans: list[MemberPlan]
    if not isinstance(generator, str):
        plans = estimator_plans(generator, None, rng)
    elif generator == "spectral":
        seen, plans = spectral_plans(seen, n_members, n_clusters, rng, n_jobs)
        return fit_members(seen, plans, n_jobs=n_jobs, callback=callback)
    elif generator in ("auto", "kmeans"):
        make_plans = shape_plans if generator == "auto" else kmeans_plans
        plans = make_plans(seen, n_members, n_clusters, rng)
    else:
        plans_of = subsample_plans if generator == "subsample" else feature_plans
        part = SHARES[generator] if share is None else share
        plans = plans_of(seen, n_members, n_clusters, rng, part, clusterer)
    if kept is not None:
        plans = [
            replace(plan, rows=kept if plan.rows is None else kept[plan.rows]) for plan in plans
        ]
    if gaps is not None:
        seeds = child_seeds(rng, len(plans)).tolist()
        plans = [replace(plan, fill=seed) for plan, seed in zip(plans, seeds, strict=True)]
    with warnings.catch_warnings():
        if generator == "auto":
            # A member need not be the best mixture, and copies of a row need no cluster each.
            warnings.simplefilter("ignore", ConvergenceWarning)
        pool = fit_members(X, plans, n_jobs=n_jobs, callback=callback, gaps=gaps)
    if aside is not None and label_aside:
        pool.labels[aside] = pool.predict(complete[aside])
    return pool


def fit_members(
    X: Any,
    plans: Sequence[MemberPlan],
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
    gaps: Gaps | None = None,
) -> Pool:
    """Fit every plan on X. The result does not depend on ``n_jobs``."""
    labels = np.full((X.shape[0], len(plans)), -1, dtype=np.int64)
    members = []
    for j, (member, assigned) in enumerate(_fitted(X, plans, n_jobs, gaps)):
        plan = plans[j]
        if np.shape(assigned) != (X.shape[0] if plan.rows is None else len(plan.rows),):
            raise ValueError(
                f"member {plan.name!r} ({type(member).__name__}) gave labels of shape "
                f"{np.shape(assigned)}; a clusterer must give one label per row"
            )
        if assigned.dtype.kind not in "iub" and not _whole(assigned):
            raise ValueError(
                f"member {plan.name!r} ({type(member).__name__}) gave labels of {assigned.dtype} that "
                "are not whole numbers; a clusterer must give whole numbers, and -1 for noise"
            )
        labels[slice(None) if plan.rows is None else plan.rows, j] = assigned
        members.append(member)
        if callback is not None:
            callback(j + 1, len(plans))
    return Pool(tuple(plans), tuple(members), labels, X.dtype)


def _fitted(
    X: Any, plans: Sequence[MemberPlan], n_jobs: int | None, gaps: Gaps | None
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The fitted clusterers and their labels, in the order of the plans.

    A joblib backend on other machines may cancel the jobs of a machine that was lost. Those members
    are fitted again, with the same result.
    """
    done = 0
    for retries in range(MAX_RETRIES + 1):
        jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        try:
            for fitted in jobs(delayed(_fit_one)(X, plan, gaps) for plan in plans[done:]):
                yield fitted
                done += 1
        except CancelledError:
            if retries == MAX_RETRIES:
                raise
        else:
            return


def _fit_one(X: Any, plan: MemberPlan, gaps: Gaps | None) -> tuple[Any, NDArray[Any]]:
    estimator = clone(plan.estimator)
    if gaps is not None:
        X = gaps.filled(X, plan.fill)
    seen = plan.columns_of(X if plan.rows is None else X[plan.rows])
    # Sums over several threads differ in the last digit, which can change a k-means label.
    with one_thread():
        labels = np.asarray(estimator.fit_predict(seen))
    return estimator, labels


def _whole(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind == "f" and bool((np.isfinite(labels) & (labels % 1 == 0)).all())


# ---------------------------------------------------------------------- plans


def kmeans_plans(
    X: Any, n_members: int, n_clusters: ClusterCount, rng: np.random.Generator
) -> list[MemberPlan]:
    """Plans of :func:`kmeans_pool`."""
    return [
        MemberPlan(_name("kmeans", j, n_members, k), _kmeans(k, seed))
        for j, (k, seed) in enumerate(draw_counts(X, n_members, n_clusters, rng))
    ]


def shape_plans(
    X: Any, n_members: int, n_clusters: ClusterCount, rng: np.random.Generator
) -> list[MemberPlan]:
    """Plans for k-means and, with a given number of clusters, for Gaussian mixtures among them.

    Members of a sparse matrix are k-means.
    """
    if sparse.issparse(X) or not isinstance(n_clusters, int) or n_clusters < 2:
        return kmeans_plans(X, n_members, n_clusters, rng)
    plans = []
    for j, (k, seed) in enumerate(draw_counts(X, n_members, n_clusters, rng)):
        shape = SHAPES[j % len(SHAPES)]
        estimator = _kmeans(k, seed) if shape == "kmeans" else MixtureClusterer(k, shape, seed)
        plans.append(MemberPlan(_name(shape, j, n_members, k), estimator, group=shape))
    return plans


def subsample_plans(
    X: Any,
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    share: float,
    clusterer: Any,
) -> list[MemberPlan]:
    """Plans of :func:`subsample_pool`."""
    n = X.shape[0]
    size = min(n, max(2, round(share * n)))
    seen = np.zeros((n, n_members), dtype=np.bool_)
    for j in range(n_members):
        seen[rng.choice(n, size=size, replace=False), j] = True
    unseen = np.flatnonzero(~seen.any(axis=1))
    seen[unseen, rng.integers(0, n_members, size=len(unseen))] = True
    plans = []
    for j, (count, seed) in enumerate(draw_counts(X, n_members, n_clusters, rng)):
        rows = np.flatnonzero(seen[:, j])
        k = min(count, count_distinct_rows(X[rows]))
        estimator = _clusterer(clusterer, k, seed)
        plans.append(MemberPlan(_name("subsample", j, n_members, k), estimator, rows=rows))
    return plans


def feature_plans(
    X: Any,
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    share: float,
    clusterer: Any,
) -> list[MemberPlan]:
    """Plans of :func:`feature_pool`."""
    d = X.shape[1]
    size = max(1, round(share * d))
    plans = []
    for j, (count, seed) in enumerate(draw_counts(X, n_members, n_clusters, rng)):
        columns = np.sort(rng.choice(d, size=size, replace=False))
        k = min(count, count_distinct_rows(X[:, columns]))
        estimator = _clusterer(clusterer, k, seed)
        plans.append(MemberPlan(_name("features", j, n_members, k), estimator, columns=columns))
    return plans


def spectral_plans(
    X: Any,
    n_members: int,
    n_clusters: ClusterCount,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    memory_budget: Budget = None,
) -> tuple[NDArray[np.float64], list[MemberPlan]]:
    """Eigenvectors for each bandwidth, side by side, and plans of :func:`spectral_pool` that use them.

    The members with the same bandwidth share its eigenvectors: one with k clusters uses the first k.
    """
    n = X.shape[0]
    bandwidths = BANDWIDTHS[:n_members]
    jobs = min(effective_n_jobs(n_jobs), len(bandwidths))
    # the distances, and per job a kernel and the copy that LAPACK works on
    require(
        8 * (1 + 2 * jobs) * n * n,
        f"Spectral clustering of n = {n:,} samples",
        "Use fewer jobs, or kmeans_pool, which needs no n x n matrix.",
        memory_budget,
    )
    drawn = draw_counts(X, n_members, n_clusters, rng)
    widths = [max(k for k, _ in drawn[b :: len(BANDWIDTHS)]) for b in range(len(bandwidths))]
    vectors = gaussian_eigenvectors(X, bandwidths, widths, jobs)
    first = np.cumsum([0, *widths])
    plans = []
    for j, (k, seed) in enumerate(drawn):
        b = j % len(BANDWIDTHS)
        name = f"{_name('spectral', j, n_members, k)}_s{BANDWIDTHS[b]:g}"
        columns = np.arange(first[b], first[b] + k)
        plans.append(MemberPlan(name, SpectralKMeans(k, seed), columns=columns))
    return np.hstack(vectors), plans


def estimator_plans(
    estimators: Sequence[Any], names: Sequence[str] | None, rng: np.random.Generator | None = None
) -> list[MemberPlan]:
    """Plans of :func:`from_estimators`; clusterers without a seed of their own get one from ``rng``."""
    if not isinstance(estimators, Sequence):
        raise ParameterError(
            f"estimators must be a list of clusterers, but is {type(estimators).__name__}"
        )
    if len(estimators) == 0:
        raise ParameterError("estimators is empty: an ensemble needs at least one clusterer")
    for j, estimator in enumerate(estimators):
        _require_clusterer(f"estimators[{j}]", estimator)
    if names is None:
        names = [f"{type(estimator).__name__}_{j}" for j, estimator in enumerate(estimators)]
    elif isinstance(names, str) or not isinstance(names, Sequence):
        raise ParameterError(f"names must be a list of names, but is {names!r}")
    elif len(names) != len(estimators):
        raise ParameterError(f"names must hold {len(estimators)} names, but holds {len(names)}")
    if rng is not None:
        seeds = child_seeds(rng, len(estimators)).tolist()
        estimators = [
            _seeded(estimator, seed) for estimator, seed in zip(estimators, seeds, strict=True)
        ]
    return [MemberPlan(name, estimator) for name, estimator in zip(names, estimators, strict=True)]


def _seeded(estimator: Any, seed: int) -> Any:
    """A copy with a seed, if the clusterer takes one and has none."""
    if not hasattr(estimator, "get_params"):
        return estimator
    if estimator.get_params(deep=False).get("random_state", seed) is not None:
        return estimator
    return clone(estimator).set_params(random_state=seed)


def draw_counts(
    X: Any, n_members: int, n_clusters: ClusterCount, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """The number of clusters of each member, never more than X has distinct rows, and its seed."""
    n = X.shape[0]
    if n < 2:
        raise ParameterError(f"n_samples={n}: at least two samples are needed to cluster anything")
    distinct = count_distinct_rows(X)
    largest = max(float(X.max()), -float(X.min()))
    if distinct > 1 and largest**2 < np.finfo(X.dtype).tiny:
        raise ParameterError(
            f"X holds no value larger than {largest:.3g}, and its square is zero in {X.dtype}; rescale "
            "X, for example with sklearn.preprocessing.StandardScaler"
        )
    low, high = _bounds(n_clusters, n)
    if low > distinct:
        raise TooFewRows(n_clusters, distinct, n)
    counts = rng.integers(low, min(high, distinct) + 1, size=n_members)
    return [*zip(counts.tolist(), map(int, child_seeds(rng, n_members)), strict=True)]


def count_distinct_rows(matrix: Any) -> int:
    """Number of distinct rows: no clusterer can find more clusters."""
    if sparse.issparse(matrix):
        tidy = matrix.tocsr()
        rows = {
            (
                tidy.indices[tidy.indptr[i] : tidy.indptr[i + 1]].tobytes(),
                tidy.data[tidy.indptr[i] : tidy.indptr[i + 1]].tobytes(),
            )
            for i in range(tidy.shape[0])
        }
        return len(rows)
    from coterie.numerics.rows import number_rows

    # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bits.
    distinct, _ = number_rows(np.ascontiguousarray(matrix + 0.0).view(np.int32))
    return len(distinct)


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
    """Whether an object is an instance (not a class) with the method ``fit_predict``."""
    return hasattr(given, "fit_predict") and not isinstance(given, type)


def _require_clusterer(name: str, given: Any) -> None:
    if not is_clusterer(given):
        raise ParameterError(
            f"{name} ({given!r}) has no fit_predict: it must be a scikit-learn compatible "
            "clusterer, such as KMeans(3)"
        )


def _clusterer(given: Any, k: int, seed: int) -> Any:
    if given is None:
        return _kmeans(k, seed)
    _require_clusterer("clusterer", given)
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
