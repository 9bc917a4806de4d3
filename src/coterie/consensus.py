"""ConsensusClustering: features in, labels out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie.core.errors import ParameterError
from coterie.core.params import (
    CALLBACK,
    JOBS,
    SEED,
    Choice,
    Domain,
    Integer,
    Kind,
    check_parameters,
)
from coterie.core.random import child_seeds, generator
from coterie.ensemble import Ensemble
from coterie.ensemble.ids import index_ids
from coterie.generate.features import explained_errors, refuse_not_finite
from coterie.generate.members import (
    COUNT,
    ClusterCount,
    MemberPlan,
    Pool,
    Progress,
    TooFewRows,
    describe_distinct,
    estimator_plans,
    feature_plans,
    fit_members,
    is_clusterer,
    kmeans_plans,
    spectral_plans,
    subsample_plans,
)
from coterie.solvers.base import LabelConsensus
from coterie.solvers.methods import default_method, find_method, solver_of
from coterie.trust import ClusterVotes, DiagnosisMixin

if TYPE_CHECKING:
    from coterie.select import Selection

GENERATORS = ("kmeans", "subsample", "features", "spectral")


@runtime_checkable
class FeatureSource(Protocol):
    """Where the rows of a fit are. :func:`coterie.scale.features_from_dask` makes one."""

    def make_pool(self, fit: Callable[[Any], Pool], rng: np.random.Generator) -> Pool:
        """Call ``fit`` on rows held in memory, and return the pool that labels all rows."""

    def ensemble(self, pool: Any) -> Ensemble:
        """The labels of all rows, compressed."""

    def expand(self, pool: Any, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        """Values per sample of the ensemble, copied to all rows."""


@dataclass(frozen=True)
class _InMemory:
    """All rows are here: they are the samples of the ensemble."""

    X: Any

    def make_pool(self, fit: Callable[[Any], Pool], rng: np.random.Generator) -> Pool:
        return fit(self.X)

    def ensemble(self, pool: Any) -> Ensemble:
        return replace(pool.ensemble(), sample_ids=index_ids(self.X))

    def expand(self, pool: Any, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        return values


def _is_lazy(X: object) -> bool:
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def _predicts(estimator: ConsensusClustering) -> bool:
    return not (isinstance(estimator.generator, str) and estimator.generator == "spectral")


class ConsensusClustering(DiagnosisMixin, ClusterMixin, BaseEstimator):
    """Cluster features many times and return the partition that the clusterings support.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default None
        Number of clusters; "auto" asks :func:`coterie.select.select_k` for 2 to 10, and takes one
        cluster where there is no structure; None leaves the choice to the solver (for EAC, then the
        default, the longest lifetime).
    n_members : int, default 20
        Number of members: the clusterings to make.
    generator : {"kmeans", "subsample", "features", "spectral"} or list of clusterers
        How they are made: k-means with random starts and sizes, on random shares of the samples or
        of the features, Gaussian spectral clustering (n x n), or the given clusterers, one each.
    member_clusters : None, int, "sqrt" or (low, high), default None
        Clusters of each member. None draws between the number asked for and the larger of twice
        that and the square root of n; for "auto" between 2 and the larger of 20 and the square root.
    solver : solver of ``coterie.solvers``, name of a method or None, default None
        How they are combined: ``coterie.EAC(linkage="single")``, or a name such as ``"spce"`` for a
        method with its default settings. None is ``"lwea"``; where there are more than 12,000
        distinct label rows ``"lwgp"``, whose cost is linear in them; and where ``n_clusters`` is
        None ``"eac"``, which finds it. Its ``n_clusters`` is set from here.
    callback : callable or None, default None
        Called with (members done, members in all), and with "auto" then with the steps of the choice.
    random_state : int, Generator or None, default None
    n_jobs : int or None, default None
        Members fitted at a time, as in joblib; it does not change the result.

    Attributes
    ----------
    labels_ : ndarray, shape (n,)
    sample_confidence_ : ndarray, shape (n,)
        One minus the membership in the next best cluster over that in the sample's own, less where
        members put it with its cluster more rarely than is usual; with one cluster there is no other
        and it is 1, which says nothing.
    ensemble_ : Ensemble
        The members' labels.
    solver_ : fitted solver
    members_ : list of fitted clusterers
    member_weights_ : ndarray, shape (members,)
    selection_ : Selection
        How the number of clusters was chosen; only with ``n_clusters="auto"``. Its partitions are
        cuts of the average-link dendrogram that were compared; ``labels_`` is the solver's at the
        number recommended.

    Notes
    -----
    ``predict`` asks every member for the new rows' labels and looks for the microclusters (distinct
    label rows of the training samples) that share most of them; a new row gets the cluster of the
    nearest ones, weighed by their samples. Training rows get their own ``labels_`` back. It is there
    when every member can predict: k-means can, spectral clustering cannot.

    Examples
    --------
    >>> from coterie import ConsensusClustering
    >>> from coterie.datasets import load
    >>> blobs = load("blobs")
    >>> model = ConsensusClustering(n_clusters=5, random_state=0).fit(blobs.X)
    >>> sorted(set(model.labels_.tolist()))
    [0, 1, 2, 3, 4]
    >>> bool((model.predict(blobs.X) == model.labels_).all())
    True
    >>> type(model.solver_).__name__
    'LWEA'
    >>> ConsensusClustering(5, solver="kcc", random_state=0).fit(blobs.X).solver_.n_clusters
    5
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": Choice(
            ("auto",),
            also=Integer(1, optional=True).admits,
            also_words="a whole number of at least 1, or None",
        ),
        "n_members": Integer(1),
        "generator": Choice(
            GENERATORS,
            also=lambda value: (
                isinstance(value, list | tuple) and len(value) > 0 and all(map(is_clusterer, value))
            ),
            also_words="a list of clusterers",
        ),
        "member_clusters": Kind(
            lambda value: value is None or COUNT.admits(value), f"None, {COUNT.describe()}"
        ),
        "solver": Kind(
            lambda value: value is None or isinstance(value, LabelConsensus | str),
            "None, the name of a method such as 'spce', or a solver such as coterie.EAC()",
        ),
        "callback": CALLBACK,
        "random_state": SEED,
        "n_jobs": JOBS,
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] | None = None,
        *,
        n_members: int = 20,
        generator: str | list[Any] = "kmeans",
        member_clusters: ClusterCount | None = None,
        solver: LabelConsensus | str | None = None,
        callback: Progress | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_members = n_members
        self.generator = generator
        self.member_clusters = member_clusters
        self.solver = solver
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: object = None) -> Self:
        """Make the members and combine them.

        Parameters
        ----------
        X : array, dataframe or sparse matrix, shape (n, d)
            The index of a pandas frame, where it names the samples, becomes their ids. For a dask
            collection ``labels_`` and ``sample_confidence_`` are lazy, in its partitions; pass
            :func:`coterie.scale.features_from_dask` to set options, or to read parquet files.
        y : None
            Ignored. Present for API consistency.
        """
        check_parameters(type(self).__name__, self.get_params(deep=False), self._domains)
        if isinstance(self.solver, str):
            # Reject an unknown method before generating members.
            find_method(self.solver)
        source = self._source_of(X)
        rng = generator(self.random_state)
        # Attributes of an earlier fit.
        self.__dict__.pop("selection_", None)
        pool = source.make_pool(lambda rows: self._fit_pool(rows, rng), rng)
        ensemble = source.ensemble(pool)
        n_clusters = self.n_clusters
        if isinstance(n_clusters, str):
            n_clusters = self.selection_.recommended
            _warn_of_choice(self.selection_)
        solver = self._configured_solver(ensemble, n_clusters, rng)
        with warnings.catch_warnings():
            if self.n_clusters == "auto" and n_clusters == 1:
                # The user has just been warned that there is one cluster only.
                warnings.simplefilter("ignore", ConvergenceWarning)
            self.solver_: LabelConsensus = solver.fit(ensemble)
        self.pool_ = pool
        self.members_ = list(pool.members)
        self.ensemble_ = ensemble
        self.labels_ = source.expand(pool, ensemble, solver.labels_, "cluster")
        self.sample_confidence_ = source.expand(
            pool, ensemble, solver.sample_confidence_, "confidence"
        )
        self.n_clusters_: int = solver.n_clusters_
        self.member_weights_: NDArray[np.float64] = solver.member_weights_
        self.converged_: bool = solver.converged_
        self.history_ = solver.history_
        self.n_iter_: int = solver.n_iter_
        return self

    @available_if(_predicts)
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Clusters of new rows, by the members' labels for them.

        Parameters
        ----------
        X : array, dataframe or sparse matrix, shape (n, d)
            A dask collection gives lazy clusters, in its partitions.
        """
        check_is_fitted(self, "labels_")
        silent = self.pool_.cannot_predict()
        if silent:
            raise ParameterError(
                f"predict needs members that can predict; these cannot: {', '.join(silent[:5])}"
            )
        cluster_of = np.empty(self.ensemble_.n_microclusters, dtype=np.int64)
        cluster_of[self.ensemble_.inverse] = self.solver_.labels_
        known = _LabelRows(self.ensemble_, cluster_of)
        if _is_lazy(X):
            from coterie.scale import predict_dask

            names = getattr(self, "feature_names_in_", None)
            lazy: NDArray[np.int64] = predict_dask(
                X, self.pool_, known.clusters, n_features=self.n_features_in_, feature_names=names
            )
            return lazy
        return known.clusters(self.pool_.predict(self._checked(X, reset=False)))

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        check_is_fitted(self, "labels_")
        return self.solver_.cluster_votes_, self.solver_.member_weights_

    def _source_of(self, X: Any) -> FeatureSource:
        if not _is_lazy(X) and not isinstance(X, FeatureSource):
            return _InMemory(X)
        if not _predicts(self):
            raise ParameterError(
                f"{type(self).__name__}: generator is 'spectral', whose members cannot label rows "
                "outside of a sample; with dask collections take 'kmeans', 'subsample', 'features' "
                "or clusterers that predict"
            )
        if not _is_lazy(X):
            return X
        from coterie.scale import features_from_dask

        return features_from_dask(X)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        with explained_errors(X):
            features = validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
            )
        refuse_not_finite(features, getattr(self, "feature_names_in_", None))
        return features

    def _fit_pool(self, rows: Any, rng: np.random.Generator) -> Pool:
        """Fit the members on rows in memory, and with "auto" choose the number of clusters on them."""
        features = self._checked(rows, reset=True)
        if not isinstance(self.n_clusters, str):
            return self._make_members(features, rng, self.callback)
        pool, self.selection_ = self._choose(features, rng)
        return pool

    def _choose(self, X: Any, rng: np.random.Generator) -> tuple[Pool, Selection]:
        """Members, and the number of clusters that they support."""
        from coterie.select.compare import DEFAULT_KS, Plan, checked_ks, select

        seed = int(child_seeds(rng, 1)[0])
        pool = self._make_members(X, np.random.default_rng(seed), self.callback)
        ensemble = pool.ensemble()

        def generate(features: Any) -> Ensemble:
            # the same seed, so that the references' members have the same sizes
            return self._make_members(features, np.random.default_rng(seed), None).ensemble()

        selection = select(
            ensemble,
            checked_ks(DEFAULT_KS, ensemble.n_samples),
            Plan(n_jobs=self.n_jobs),
            rng,
            callback=self.callback,
            # clusterers of the user's choice may find nothing to label in uniform features
            features=(X, generate) if isinstance(self.generator, str) else None,
        )
        return pool, selection

    def _make_members(self, X: Any, rng: np.random.Generator, callback: Progress | None) -> Pool:
        plans: list[MemberPlan]
        if not isinstance(self.generator, str):
            plans = estimator_plans(self.generator, None)
            return fit_members(X, plans, n_jobs=self.n_jobs, callback=callback)
        counts = self._member_clusters(X.shape[0])
        try:
            if self.generator == "spectral":
                X, plans = spectral_plans(X, self.n_members, counts, rng)
            else:
                make: Callable[..., list[MemberPlan]] = {
                    "kmeans": kmeans_plans,
                    "subsample": subsample_plans,
                    "features": feature_plans,
                }[self.generator]
                plans = make(X, self.n_members, counts, rng)
        except TooFewRows as error:
            raise ParameterError(self._too_few_rows(error)) from None
        return fit_members(X, plans, n_jobs=self.n_jobs, callback=callback)

    def _too_few_rows(self, error: TooFewRows) -> str:
        name, found = type(self).__name__, describe_distinct(error.distinct, error.n_samples)
        if error.distinct == 1:
            return f"{name}: {found}, and there is nothing to cluster; look at how they were made"
        if self.member_clusters is not None:
            return f"{name}: member_clusters is {self.member_clusters!r}, but {found}; lower it"
        return f"{name}: n_clusters is {self.n_clusters!r}, but {found}; ask for fewer clusters"

    def _member_clusters(self, n: int) -> ClusterCount:
        if self.member_clusters is not None:
            return self.member_clusters
        if self.n_clusters is None:
            return "sqrt"
        if isinstance(self.n_clusters, str):
            return 2, max(20, int(np.sqrt(n)))
        return min(max(2, self.n_clusters), n), max(2 * self.n_clusters, int(np.sqrt(n)), 2)

    def _configured_solver(
        self, ensemble: Ensemble, n_clusters: int | None, rng: np.random.Generator
    ) -> LabelConsensus:
        method = self.solver
        if method is None:
            method = default_method(self.n_clusters, ensemble.n_microclusters)
        solver: LabelConsensus = clone(solver_of(method))
        if n_clusters is not None:
            solver.set_params(n_clusters=n_clusters)
        if solver.random_state is None:
            solver.set_params(random_state=int(child_seeds(rng, 1)[0]))
        return solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _warn_of_choice(selection: Selection) -> None:
    """Warn if there is one cluster only, or if nobody can tell whether there are more."""
    if not selection.structure:
        warnings.warn(
            f"ConsensusClustering: {selection.reason} The partitions into more clusters are in "
            "selection_.labels; the confidence in the only cluster is 1 and says nothing",
            UserWarning,
            stacklevel=3,
        )
    elif not selection.tested:
        warnings.warn(f"ConsensusClustering: {selection.reason}", UserWarning, stacklevel=3)


@dataclass(frozen=True)
class _LabelRows:
    """The label rows that the members gave the training samples, and the cluster of each."""

    ensemble: Ensemble
    cluster_of: NDArray[np.int64]

    def clusters(self, given: NDArray[Any]) -> NDArray[np.int64]:
        """Clusters of new rows by the members' labels for them."""
        from coterie.numerics.nearest import nearest_clusters

        codes = np.stack(
            [_codes(given[:, j], known) for j, known in enumerate(self.ensemble.categories)], axis=1
        )
        # rows that the members cannot tell apart are looked up once
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        found = nearest_clusters(
            rows,
            self.ensemble.labels,
            self.ensemble.member_weight,
            self.ensemble.sizes,
            self.cluster_of,
        )
        return found[inverse.reshape(-1)]


def _codes(given: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int32]:
    """A member's labels of new rows as the ensemble's codes, -1 for a label never seen."""
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, given, sorter=order), len(known) - 1)
    found = order[place]
    return np.where(known[found] == given, found, -1).astype(np.int32)
