"""ConsensusClustering: features in, labels out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
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
    GENERATORS,
    ClusterCount,
    Pool,
    Progress,
    TooFewRows,
    is_clusterer,
    make_pool,
)
from coterie.solvers.base import SOLVER, LabelConsensus
from coterie.solvers.methods import configured, default_method, find_method
from coterie.trust import ClusterVotes, DiagnosisMixin

if TYPE_CHECKING:
    from coterie.select import Selection


@runtime_checkable
class FeatureSource(Protocol):
    """Features that ``fit`` takes besides arrays, such as rows in Dask.

    :func:`coterie.scale.features_from_dask` makes one.
    """

    def make_pool(self, fit: Callable[[Any], Pool], rng: np.random.Generator) -> Pool:
        """Call ``fit`` on rows held in memory, and return the pool that labels all rows."""

    def ensemble(self, pool: Any) -> Ensemble:
        """The labels of all rows, compressed."""

    def expand(self, pool: Any, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        """Values per sample of the ensemble, copied to all rows."""


@dataclass(frozen=True)
class _InMemory:
    """Features in memory: their rows are the samples of the ensemble."""

    X: Any

    def make_pool(self, fit: Callable[[Any], Pool], rng: np.random.Generator) -> Pool:
        return fit(self.X)

    def ensemble(self, pool: Any) -> Ensemble:
        ids = index_ids(self.X)
        # A copy would compute the order of its members again.
        return pool.ensemble() if ids is None else replace(pool.ensemble(), sample_ids=ids)

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
        Number of clusters. "auto" chooses it from 2 to 10 with :func:`coterie.select.select_k`, or
        one cluster if the data have no structure. None leaves the choice to the solver; the default
        solver is then EAC, which takes the longest lifetime.
    n_members : int, default 20
        Number of clusterings to generate.
    generator : {"kmeans", "subsample", "features", "spectral"} or list of clusterers
        How members are generated: k-means with random starts and sizes ("kmeans"), also on random
        shares of the samples ("subsample") or of the features ("features"); Gaussian spectral
        clustering, which needs an n x n matrix ("spectral"); or one member per given clusterer.
    member_clusters : None, int, "sqrt" or (low, high), default None
        Clusters of each member, as in :func:`coterie.generate.kmeans_pool`. None draws from
        (n_clusters, max(2 n_clusters, sqrt n)), and with "auto" from (2, max(20, sqrt n)).
    solver : solver of ``coterie.solvers``, name of a method or None, default None
        How members are combined: a solver such as ``coterie.EAC(linkage="single")``, or a name such
        as ``"spce"`` for a method with its default settings. None is ``"lwea"``. With more than
        12,000 distinct label rows it is ``"lwgp"``, whose cost is linear in their number, and if
        ``n_clusters`` is None it is ``"eac"``, which finds the number of clusters. The solver's own
        ``n_clusters`` is replaced by the one given here.
    callback : callable or None, default None
        Called with (members done, number of members). With "auto" it is then called with
        (steps done, number of steps) of the choice.
    random_state : int, Generator or None, default None
    n_jobs : int or None, default None
        Number of members fitted in parallel, as in joblib. It does not change the result.

    Attributes
    ----------
    labels_ : ndarray, shape (n,)
        Cluster of each sample.
    sample_confidence_ : ndarray, shape (n,)
        One minus the ratio of a sample's membership in the next best cluster to that in its own. It
        is lowered if members put the sample with its cluster more rarely than is usual. With one
        cluster it is 1 and carries no information.
    ensemble_ : Ensemble
        The members' labels, compressed.
    solver_ : fitted solver
    members_ : list of fitted clusterers
    pool_ : Pool
        The members and the labels they gave; a :class:`coterie.scale.DaskPool` for rows in Dask.
    member_weights_ : ndarray, shape (n_members,)
        Influence of each member, summing to one.
    selection_ : Selection
        How the number of clusters was chosen; only with ``n_clusters="auto"``. Its partitions are
        the cuts of an average-link dendrogram that were compared. ``labels_`` comes from the solver,
        with the recommended number of clusters.

    Notes
    -----
    ``predict`` labels new rows with every member and finds the microclusters (distinct label rows of
    the training samples) that agree with most of these labels. A new row joins the cluster of the
    nearest microclusters, weighted by their samples. Training rows get their ``labels_`` back. All
    members must be able to predict: k-means can, spectral clustering cannot.

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
        "solver": SOLVER,
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
            If the index of a pandas frame names the samples, it becomes their ids. For a dask
            collection ``labels_`` and ``sample_confidence_`` are lazy, in its partitions. Use
            :func:`coterie.scale.features_from_dask` to set options or to read parquet files.
        y : None
            Ignored. Present for API consistency.
        """
        check_parameters(type(self).__name__, self.get_params(deep=False), self._domains)
        if isinstance(self.solver, str):
            # Reject an unknown method before generating members.
            find_method(self.solver)
        source = self._source_of(X)
        rng = generator(self.random_state)
        # Left by an earlier fit.
        self.__dict__.pop("selection_", None)
        pool = source.make_pool(lambda rows: self._fit_pool(rows, rng), rng)
        ensemble = source.ensemble(pool)
        n_clusters = self.n_clusters
        if isinstance(n_clusters, str):
            n_clusters = self.selection_.recommended
            _warn_of_choice(self.selection_)
        method = self.solver
        if method is None:
            method = default_method(self.n_clusters, ensemble.n_microclusters)
        solver = configured(method, n_clusters, rng)
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
        """Clusters of new rows, from the labels that the members give them.

        Parameters
        ----------
        X : array, dataframe or sparse matrix, shape (n, d)
            For a dask collection the clusters are lazy, in its partitions.
        """
        check_is_fitted(self, "labels_")
        unable = self.pool_.cannot_predict()
        if unable:
            raise ParameterError(
                f"predict needs members that can predict; these cannot: {', '.join(unable[:5])}"
            )
        clusters = partial(_clusters_of, self.ensemble_, self.solver_.cluster_votes_.labels)
        if _is_lazy(X):
            from coterie.scale import predict_dask

            names = getattr(self, "feature_names_in_", None)
            lazy: NDArray[np.int64] = predict_dask(
                X, self.pool_, clusters, n_features=self.n_features_in_, feature_names=names
            )
            return lazy
        return clusters(self.pool_.predict(self._checked(X, reset=False)))

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        check_is_fitted(self, "labels_")
        return self.solver_.cluster_votes_, self.solver_.member_weights_

    def _source_of(self, X: Any) -> FeatureSource:
        if not _is_lazy(X) and not isinstance(X, FeatureSource):
            return _InMemory(X)
        if not _predicts(self):
            raise ParameterError(
                f"{type(self).__name__}: generator is 'spectral', whose members cannot label rows "
                "outside of a sample; for dask collections use 'kmeans', 'subsample', 'features' "
                "or clusterers that can predict"
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
        X = self._checked(rows, reset=True)
        if not isinstance(self.n_clusters, str):
            return self._make_members(X, rng, self.callback)
        from coterie.select.compare import DEFAULT_KS, Plan, checked_ks, select

        seed = int(child_seeds(rng, 1)[0])

        def generate(features: Any) -> Ensemble:
            # With the same seed the members of the references have the same sizes.
            return self._make_members(features, np.random.default_rng(seed), None).ensemble()

        pool = self._make_members(X, np.random.default_rng(seed), self.callback)
        self.selection_: Selection = select(
            pool.ensemble(),
            checked_ks(DEFAULT_KS, X.shape[0]),
            Plan(n_jobs=self.n_jobs),
            rng,
            callback=self.callback,
            # The user's clusterers may label all uniform features as noise.
            features=(X, generate) if isinstance(self.generator, str) else None,
        )
        return pool

    def _make_members(self, X: Any, rng: np.random.Generator, callback: Progress | None) -> Pool:
        counts = self._member_clusters(X.shape[0])
        try:
            return make_pool(X, self.generator, self.n_members, counts, rng, self.n_jobs, callback)
        except TooFewRows as error:
            reason = error.reason
            if error.constant:
                advice = f"{reason}; check how X was made"
            elif self.member_clusters is not None:
                advice = f"member_clusters is {self.member_clusters!r}, but {reason}; lower it"
            else:
                advice = f"n_clusters is {self.n_clusters!r}, but {reason}; ask for fewer clusters"
            raise ParameterError(f"{type(self).__name__}: {advice}") from None

    def _member_clusters(self, n: int) -> ClusterCount:
        if self.member_clusters is not None:
            return self.member_clusters
        if self.n_clusters is None:
            return "sqrt"
        if isinstance(self.n_clusters, str):
            return 2, max(20, int(np.sqrt(n)))
        return min(max(2, self.n_clusters), n), max(2 * self.n_clusters, int(np.sqrt(n)), 2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _warn_of_choice(selection: Selection) -> None:
    """Warn if there is only one cluster, or if too little is known to test for more."""
    if not selection.structure:
        warnings.warn(
            f"ConsensusClustering: {selection.reason} The partitions into more clusters are in "
            "selection_.labels; the confidence with one cluster is always 1 and carries no information",
            UserWarning,
            stacklevel=3,
        )
    elif not selection.tested:
        warnings.warn(f"ConsensusClustering: {selection.reason}", UserWarning, stacklevel=3)


def _clusters_of(
    ensemble: Ensemble, cluster_of: NDArray[np.int64], labels: NDArray[Any]
) -> NDArray[np.int64]:
    """Clusters of new rows, from the labels that the members give them."""
    from coterie.numerics.nearest import nearest_clusters

    columns = [_codes(labels[:, j], known) for j, known in enumerate(ensemble.categories)]
    # Rows with the same labels are looked up once.
    rows, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    clusters = nearest_clusters(
        rows, ensemble.labels, ensemble.member_weight, ensemble.sizes, cluster_of
    )
    return clusters[inverse.reshape(-1)]


def _codes(labels: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int32]:
    """A member's labels of new rows as codes of the ensemble, -1 for a label that is new."""
    order = np.argsort(known)
    rank = np.minimum(np.searchsorted(known, labels, sorter=order), len(known) - 1)
    codes = order[rank]
    return np.where(known[codes] == labels, codes, -1).astype(np.int32)
