"""Plans of members: which clusterer, rows and columns each one gets, drawn from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans

from coterie.core.budget import Budget, require
from coterie.core.errors import ParameterError
from coterie.core.params import Integer, Kind
from coterie.core.random import child_seeds
from coterie.generate.mixtures import MixtureClusterer
from coterie.generate.spectral import SpectralKMeans, gaussian_eigenvectors

ClusterCount = int | Literal["sqrt"] | tuple[int, int]
# The bandwidths of the published experiments, as multiples of the mean distance.
BANDWIDTHS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
MAX_ITER = 100
GENERATORS = ("auto", "kmeans", "subsample", "features", "spectral")
# Share of the samples or of the features that a member sees.
SHARES = {"subsample": 0.8, "features": 0.5}
# What ten members of "auto" assume about the shape of a cluster: round (k-means), one shape for all
# clusters, or any shape. Both mixtures together outvote k-means; if they disagree, k-means decides.
SHAPES: tuple[Literal["kmeans", "tied", "full"], ...] = (
    *("kmeans", "tied", "full"),
    *("kmeans", "tied", "full"),
    *("kmeans", "tied", "full"),
    "kmeans",
)


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
    return len(distinct_rows(matrix))


def distinct_rows(matrix: Any) -> NDArray[np.int64]:
    """Positions of the first of equal rows, ascending."""
    if sparse.issparse(matrix):
        tidy = matrix.tocsr()
        first: dict[tuple[bytes, bytes], int] = {}
        for i in range(tidy.shape[0]):
            part = slice(tidy.indptr[i], tidy.indptr[i + 1])
            first.setdefault((tidy.indices[part].tobytes(), tidy.data[part].tobytes()), i)
        return np.fromiter(first.values(), dtype=np.int64, count=len(first))
    from coterie.numerics.rows import number_rows

    # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bits.
    distinct, numbers = number_rows(np.ascontiguousarray(matrix + 0.0).view(np.int32))
    # numbers rise by one at every new row
    return np.searchsorted(np.maximum.accumulate(numbers), np.arange(len(distinct)))


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
