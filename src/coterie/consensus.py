"""ConsensusClustering: features in, labels out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
    Real,
    check_parameters,
)
from coterie.core.random import child_seeds, generator
from coterie.core.text import counted
from coterie.ensemble import Ensemble
from coterie.ensemble.ids import index_ids
from coterie.evidence.new_rows import clusters_of_rows
from coterie.generate.columns import is_table, read_columns
from coterie.generate.features import explained_errors, refuse_not_finite
from coterie.generate.gaps import Gaps
from coterie.generate.members import Pool, Progress, make_pool
from coterie.generate.plans import COUNT, GENERATORS, ClusterCount, TooFewRows, is_clusterer
from coterie.generate.sources import FeatureSource, is_lazy
from coterie.generate.tables import Preparation, TableEncoder
from coterie.select.resolution import many_clusters, shows_border
from coterie.select.structure import category_doubt, cloud_doubt, column_doubt
from coterie.solvers.base import SOLVER, LabelConsensus
from coterie.solvers.methods import configured, default_method, find_method
from coterie.trust import ClusterVotes, DiagnosisMixin, Verdict
from coterie.trust.verdict import expected_agreement, size_doubt

if TYPE_CHECKING:
    from coterie.profiles import Profile
    from coterie.select import Selection


# Called with steps done, number of steps and stage.
StageProgress = Callable[[int, int, str], None]
CHOOSING, MAKING = "choosing the number of clusters", "making members"
# With fewer members, the criteria that compare halves of them vary much.
CHOOSING_MEMBERS = 30
# Clusters smaller than this share of the samples are outliers, unless the user says otherwise.
SMALL_SHARE = 0.01
# How often the members may be fitted again without outliers, and which share may be set aside.
MAX_ROUNDS = 5
MAX_ASIDE = 0.1
SPECTRAL = "generator is 'spectral', whose members cannot label rows that they were not fitted on"


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


def _is_range(value: object) -> bool:
    return isinstance(value, tuple) and COUNT.admits(value)


def _predicts(estimator: ConsensusClustering) -> bool:
    return not (isinstance(estimator.generator, str) and estimator.generator == "spectral")


def _has_predict(estimator: ConsensusClustering) -> bool:
    if not _predicts(estimator):
        raise AttributeError(f"predict is not available: {SPECTRAL}; use another generator")
    return True


class ConsensusClustering(DiagnosisMixin, ClusterMixin, BaseEstimator):
    """Cluster features many times and return the partition that the clusterings support.

    Parameters
    ----------
    n_clusters : int, "auto", (low, high) or None, default "auto"
        Number of clusters. "auto" chooses it from 2 to 30 as :func:`coterie.select.select_k` does, and
        a pair (low, high) from that range; both choose one cluster if the data have no structure. None
        leaves the choice to the solver. The default solver is then EAC, which cuts its dendrogram at
        the longest lifetime and does not test whether there is structure.
    n_members : int, default 60
        Number of clusterings to generate. With 60, two runs on the same table differ less than half as
        much as two starts of k-means.
    generator : {"auto", "kmeans", "subsample", "features", "spectral"} or list of clusterers
        How members are generated. "auto" takes k-means from random starts for 40 % of the members,
        and Gaussian mixtures for the others: for half of them, all clusters have the same shape, for
        the rest, each cluster has its own. "kmeans" takes k-means only, "subsample" and "features"
        run it on random subsets of the samples or of the features. "spectral" is Gaussian spectral
        clustering, which needs an n x n matrix. Or give a list with one clusterer per member.
    share : float in (0, 1] or None, default None
        Share of the samples ("subsample") or of the features ("features") that each member sees. None
        is 0.8 of the samples, or 0.5 of the features.
    clusterer : scikit-learn clusterer or None, default None
        What clusters each share, such as ``AgglomerativeClustering(metric="cosine",
        linkage="average")``; only with "subsample" and "features". It needs a parameter
        ``n_clusters``. None is k-means.
    member_clusters : None, int, "sqrt" or (low, high), default None
        Number of clusters of each member, as in :func:`coterie.generate.kmeans_pool`. None takes
        members with ``n_clusters`` clusters. If these cut across a border that members with many small
        clusters show, as between two moons, None takes members with many clusters instead: about half
        the square root of n to the square root of n. Such members, and those of a sparse matrix, are
        k-means. Generators other than "auto" and "kmeans" draw from
        (n_clusters, max(2 n_clusters, sqrt n)).
    prepare : "auto", None or TableEncoder, default "auto"
        How a table becomes features. With "auto", data frames are encoded and scaled by
        :class:`coterie.generate.TableEncoder`, and arrays are not changed. With None, data frames are
        not changed either. An encoder of your own is used for every kind of input.
    min_cluster_size : "auto", int or None, default "auto"
        Samples in clusters smaller than this are set aside as outliers, and the members are fitted
        again without them (see ``outliers``). "auto" is 1 % of the samples, and at least 2. None keeps
        clusters of any size. Has an effect only if the members can predict and ``n_clusters`` is not
        None.
    outliers : {"assign", "noise"}, default "assign"
        What becomes of samples set aside. "assign" puts each into the cluster that fits it best;
        "noise" labels them -1 with confidence 0. ``predict`` assigns them in both cases.
    solver : solver of ``coterie.solvers``, name of a method or None, default None
        How members are combined: a solver such as ``coterie.EAC(linkage="single")``, or a name such
        as ``"spce"`` for a method with its default settings. None is ``"lwea"``. With more than
        12,000 distinct label rows it is ``"lwgp"``, whose cost is linear in their number, and if
        ``n_clusters`` is None it is ``"eac"``, which chooses the number of clusters. A number given
        here replaces the solver's own ``n_clusters``.
    callback : callable or None, default None
        Called with (steps done, number of steps, stage). The stages are "choosing the number of
        clusters", if it is chosen, and "making members", with one step per member. Members may be made
        several times: with many small clusters, or without outliers. If the choice ends early, because
        there is no structure, the steps that were not needed count as done.
    random_state : int, Generator or None, default None
    n_jobs : int or None, default None
        Number of members fitted in parallel, as in joblib. It does not change the result.

    Attributes
    ----------
    labels_ : ndarray, shape (n,)
        Cluster of each sample; -1 for a sample that no member labelled, such as noise of DBSCAN, and
        for one set aside with ``outliers="noise"``.
    verdict_ : Verdict
        How far the whole partition can be relied on: the agreement that a second run is expected to
        have with it, and what speaks against it.
    sample_confidence_ : ndarray, shape (n,)
        One minus the ratio of a sample's membership in the next best cluster to the membership in its
        own. It is lowered if members put the sample with its cluster less often than is typical, and
        multiplied by ``verdict_.share``: the expected agreement of a second run, but at most 0.5 if
        there is a doubt. With one cluster it is 1 and carries no information.
    ensemble_ : Ensemble
        The members' labels, compressed.
    solver_ : fitted solver
    members_ : list of fitted clusterers
    pool_ : Pool
        The members and the labels they gave; a :class:`coterie.scale.DaskPool` for rows in Dask.
    member_weights_ : ndarray, shape (n_members,)
        Influence of each member, summing to one.
    set_aside_ : ndarray of bool, shape (n,)
        Samples that were in clusters smaller than ``min_cluster_size``. Not for rows in Dask.
    encoder_ : TableEncoder
        How the columns of a table became features; only if the input was encoded.
    selection_ : Selection
        How the number of clusters was chosen; only with "auto" or a range. Its partitions are cuts of
        an average-link dendrogram, while ``labels_`` comes from the solver, with the recommended
        number of clusters.

    Notes
    -----
    ``predict`` labels new rows with every member and finds the nearest microclusters: the distinct
    label rows of the training samples that agree with most of these labels. A new row joins the
    cluster to which most samples of the nearest microclusters belong. Training rows without gaps get
    their ``labels_`` back, unless these are -1. A row that no member labels gets -1. All members must be
    able to predict: k-means can, spectral clustering cannot.

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
            also=lambda value: Integer(1, optional=True).admits(value) or _is_range(value),
            also_words="a whole number of at least 1, a range (low, high), or None",
        ),
        "n_members": Integer(1),
        "generator": Choice(
            GENERATORS,
            also=lambda value: (
                isinstance(value, list | tuple) and len(value) > 0 and all(map(is_clusterer, value))
            ),
            also_words="a list of clusterers",
        ),
        "share": Real(0, 1, closed_low=False, optional=True),
        "clusterer": Kind(
            lambda value: value is None or is_clusterer(value), "None or a scikit-learn clusterer"
        ),
        "member_clusters": Kind(
            lambda value: value is None or COUNT.admits(value), f"None, {COUNT.describe()}"
        ),
        "prepare": Kind(
            lambda value: (
                value is None
                or (isinstance(value, str) and value == "auto")
                or isinstance(value, TableEncoder)
            ),
            "'auto', None or a TableEncoder",
        ),
        "min_cluster_size": Choice(
            ("auto",),
            also=Integer(1, optional=True).admits,
            also_words="a whole number of at least 1, or None",
        ),
        "outliers": Choice(("assign", "noise")),
        "solver": SOLVER,
        "callback": CALLBACK,
        "random_state": SEED,
        "n_jobs": JOBS,
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] | tuple[int, int] | None = "auto",
        *,
        n_members: int = 60,
        generator: str | list[Any] = "auto",
        share: float | None = None,
        clusterer: Any = None,
        member_clusters: ClusterCount | None = None,
        prepare: TableEncoder | Literal["auto"] | None = "auto",
        min_cluster_size: int | Literal["auto"] | None = "auto",
        outliers: Literal["assign", "noise"] = "assign",
        solver: LabelConsensus | str | None = None,
        callback: StageProgress | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_members = n_members
        self.generator = generator
        self.share = share
        self.clusterer = clusterer
        self.member_clusters = member_clusters
        self.prepare = prepare
        self.min_cluster_size = min_cluster_size
        self.outliers = outliers
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
        self._check()
        source = self._source_of(X)
        rng = generator(self.random_state)
        seeds = child_seeds(rng, 4)
        pool = source.make_pool(lambda rows: self._fit_pool(rows, seeds), rng)
        ensemble, solver = self._combined(source, pool, seeds)
        if isinstance(source, _InMemory):
            pool, ensemble, solver = self._without_outliers(source, pool, ensemble, solver, seeds)
        self.solver_: LabelConsensus = solver
        self.pool_ = pool
        self.members_ = list(pool.members)
        self.ensemble_ = ensemble
        self.n_clusters_: int = solver.n_clusters_
        self.verdict_ = self._verdict(pool, ensemble, solver, np.random.default_rng(seeds[3]))
        verdict = self.verdict_
        self._votes = solver.cluster_votes_.judged(verdict.share, verdict.reliable)
        confidence = ensemble.expand(self._votes.confidence)
        self.labels_ = source.expand(pool, ensemble, solver.labels_, "cluster")
        self.sample_confidence_ = source.expand(pool, ensemble, confidence, "confidence")
        self.member_weights_: NDArray[np.float64] = solver.member_weights_
        self.converged_: bool = solver.converged_
        self.history_ = solver.history_
        self.n_iter_: int = solver.n_iter_
        del self._features
        if isinstance(source, _InMemory):
            self._table = X
        return self

    def __getstate__(self) -> dict[str, Any]:
        # a saved model does not hold the data
        return {name: part for name, part in super().__getstate__().items() if name != "_table"}

    def _check(self) -> None:
        """Check the parameters before any work, and forget an earlier fit."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._domains)
        if isinstance(self.solver, str):
            # Reject an unknown method before generating members.
            find_method(self.solver)
        if self.generator not in ("subsample", "features"):
            for name in ("share", "clusterer"):
                if getattr(self, name) is not None:
                    raise ParameterError(
                        f"{type(self).__name__}: {name} is only used with generator='subsample' or "
                        f"'features', but generator is {self.generator!r}"
                    )
        for attribute in (
            "selection_",
            "encoder_",
            "set_aside_",
            "_preparation",
            "_border",
            "_table",
        ):
            self.__dict__.pop(attribute, None)

    def _combined(
        self, source: FeatureSource, pool: Pool, seeds: NDArray[np.int64]
    ) -> tuple[Ensemble, LabelConsensus]:
        """The members as an ensemble, and the solver fitted on it."""
        ensemble = source.ensemble(pool)
        method = self.solver
        if method is None:
            method = default_method(self._n_clusters, ensemble.n_microclusters)
        solver = configured(method, self._n_clusters, np.random.default_rng(seeds[2]))
        with warnings.catch_warnings():
            if hasattr(self, "selection_") and self._n_clusters == 1:
                # The user has just been warned that there is one cluster only.
                warnings.simplefilter("ignore", ConvergenceWarning)
            return ensemble, solver.fit(ensemble)

    def _without_outliers(
        self,
        source: _InMemory,
        pool: Pool,
        ensemble: Ensemble,
        solver: LabelConsensus,
        seeds: NDArray[np.int64],
    ) -> tuple[Pool, Ensemble, LabelConsensus]:
        """Set samples in small clusters aside and fit the members again, until no cluster is small.

        Returns the first fit if too many samples would be set aside, or small clusters remain.
        """
        n = ensemble.n_samples
        self.set_aside_ = np.zeros(n, dtype=bool)
        least = max(2, int(np.ceil(SMALL_SHARE * n)))
        if self.min_cluster_size != "auto":
            least = self.min_cluster_size or 1
        if self._n_clusters is None:
            self._refuse_noise("a number of clusters", "set {n_clusters}")
            return pool, ensemble, solver
        if unable := pool.cannot_predict():
            self._refuse_noise(
                f"members that can label rows they were not fitted on, which {unable[0]} cannot",
                "use another {generator}",
            )
            return pool, ensemble, solver
        first = pool, ensemble, solver
        aside = self.set_aside_
        for _ in range(MAX_ROUNDS):
            clusters = np.maximum(solver.labels_, 0)
            small = (solver.labels_ >= 0) & (np.bincount(clusters)[clusters] < least)
            if not small.any():
                self.set_aside_ = aside
                return pool, ensemble, solver
            aside = aside | small
            if aside.sum() > MAX_ASIDE * n:
                warnings.warn(
                    f"{type(self).__name__}: clusters of at least {least} samples would leave out "
                    f"{aside.sum() / n:.0%} of the samples as outliers, so smaller clusters are kept; "
                    "lower min_cluster_size or n_clusters",
                    UserWarning,
                    stacklevel=3,
                )
                break
            try:
                pool = self._make_members(seeds[0], aside)
                ensemble, solver = self._combined(source, pool, seeds)
            except ParameterError:
                # too few distinct rows are left
                break
        return first

    def _refuse_noise(self, needed: str, advice: str) -> None:
        """Raise ParameterError if outliers should be labelled as noise, but cannot be set aside."""
        if self.outliers == "noise":
            raise ParameterError(
                f"{type(self).__name__}: labelling outliers as noise needs {needed}",
                f"{advice}, or leave out {{outliers}}",
            )

    def _verdict(
        self, pool: Pool, ensemble: Ensemble, solver: LabelConsensus, rng: np.random.Generator
    ) -> Verdict:
        n_clusters = solver.n_clusters_
        if n_clusters == 1:
            chosen = hasattr(self, "selection_") and not self.selection_.structure
            return Verdict.of_one_cluster("No structure was found." if chosen else "")
        groups = [plan.group for plan in pool.plans]
        agreement = expected_agreement(ensemble, solver.partition_of, rng, groups=groups)
        doubts = [size_doubt(solver.cluster_votes_)]
        noise = self.outliers == "noise"
        remarks = [] if noise else solver.cluster_votes_.remarks()
        X = self._complete(self._features)
        doubts += [column_doubt(X, self._column_names())]
        if hasattr(self, "set_aside_"):
            kept, labels = ~self.set_aside_, solver.labels_
        else:
            # of rows in partitions, only a sample is in memory
            kept = np.ones(X.shape[0], dtype=bool)
            labels = clusters_of_rows(ensemble, solver.cluster_votes_.labels, pool.predict(X))
        if self._takes_few_clusters and not self._border:
            # outliers would widen the cloud
            slices = cloud_doubt(X[kept], labels[kept], rng)
            if slices and self._border is None:
                slices = (
                    "Members with many small clusters sometimes show a border that the partition cuts "
                    "across, and sometimes not."
                )
            doubts.append(slices)
            if slices is None and hasattr(self, "encoder_"):
                categories = self.encoder_.category_features_
                doubts.append(category_doubt(X[kept], labels[kept], categories, rng))
        if count := int((~kept).sum()):
            remarks.append(
                f"{counted(count, 'outlier')} {'was' if count == 1 else 'were'} set aside while the "
                f"members were made{', without a cluster (-1)' if noise else ''}."
            )
        return Verdict.of(agreement, doubts, remarks)

    def _column_names(self) -> list[str] | None:
        if hasattr(self, "encoder_"):
            return [str(name) for name in self.encoder_.get_feature_names_out()]
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @available_if(_has_predict)
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Clusters of new rows, from the labels that the members give them.

        A row of a table whose values are all missing gets some cluster, with a warning.

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
        clusters = partial(clusters_of_rows, self.ensemble_, self.solver_.cluster_votes_.labels)
        if is_lazy(X):
            from coterie.scale import predict_dask

            names = getattr(self, "feature_names_in_", None)
            lazy: NDArray[np.int64] = predict_dask(
                X, self.pool_, clusters, n_features=self.n_features_in_, feature_names=names
            )
            return lazy
        return clusters(self.pool_.predict(self.features_of(X)))

    def features_of(self, X: Any) -> Any:
        """The features by which rows are compared: columns encoded and scaled, gaps filled.

        A gap gets the mean of its five donors. Without ``encoder_``, the rows are returned unchanged.

        Parameters
        ----------
        X : array, dataframe or sparse matrix, shape (n, d)
        """
        check_is_fitted(self, "labels_")
        if self._preparation is not None:
            return self._preparation(X)
        return self._checked(X, reset=False)

    def profile(
        self,
        X: Any,
        *,
        external: Any = None,
        sample_weight: ArrayLike | str | None = None,
        sample_ids: ArrayLike | str | None = None,
        held_out: int | Sequence[str] | None = None,
        n_bootstrap: int = 200,
        random_state: Any = 0,
    ) -> Profile:
        """What tells each cluster from the rest; see :func:`coterie.profile`.

        Parameters
        ----------
        X : array, dataframe or sparse matrix, shape (n, d)
            The columns to describe the clusters by: those of the fit, and any others.
        external, sample_weight, sample_ids, held_out, n_bootstrap, random_state
            As in :func:`coterie.profile`.

        Examples
        --------
        >>> from coterie import ConsensusClustering
        >>> from sklearn.datasets import load_wine
        >>> X = load_wine(as_frame=True).data
        >>> model = ConsensusClustering(3, random_state=0).fit(X)
        >>> print(model.profile(X, sample_weight="confidence").sentences[0])
        Cluster ... samples, ...) has ... against ...
        """
        from coterie.profiles import profile

        return profile(
            X,
            self,
            external=external,
            sample_weight=sample_weight,
            sample_ids=sample_ids,
            held_out=held_out,
            n_bootstrap=n_bootstrap,
            random_state=random_state,
        )

    def fitted_table(self) -> Any:
        """The columns of the fit; None for rows in partitions, and for a model that was saved."""
        table = getattr(self, "_table", None)
        if table is None or not is_table(table) or not hasattr(self, "feature_names_in_"):
            return table
        # a column that was added later, such as the labels, is none of them
        columns = read_columns(table)
        return {name: columns[name] for name in self.feature_names_in_.tolist() if name in columns}

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        check_is_fitted(self, "labels_")
        return self._votes, self.solver_.member_weights_

    def _source_of(self, X: Any) -> FeatureSource:
        if type(X).__module__.partition(".")[0] == "anndata":
            raise ParameterError(
                f"{type(self).__name__}: X is an AnnData object; give its features, such as "
                "adata.obsm['X_pca'] or adata.to_df()"
            )
        if not is_lazy(X) and not isinstance(X, FeatureSource):
            return _InMemory(X)
        self._refuse_noise("rows in memory", "compute them first")
        if not _predicts(self):
            raise ParameterError(
                f"{type(self).__name__}: {SPECTRAL}; for dask collections use 'kmeans', 'subsample', "
                "'features' or clusterers that can predict"
            )
        if not is_lazy(X):
            return X
        from coterie.scale import features_from_dask

        return features_from_dask(X, encode=self.prepare is not None)

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

    def _prepared(self, X: Any, rng: np.random.Generator) -> Any:
        """The features of a table, with gaps; or the checked array."""
        encoder = self.prepare
        if encoder == "auto":
            encoder = TableEncoder() if is_table(X) else None
        self._preparation: Preparation | None = None
        if encoder is None:
            features = self._checked(X, reset=True)
            if doubt := column_doubt(features, self._column_names()):
                warnings.warn(
                    f"{type(self).__name__}: {doubt} Scale the columns, for example with "
                    "sklearn.preprocessing.StandardScaler, or give a data frame, which is scaled",
                    UserWarning,
                    stacklevel=6,
                )
            return features
        self._preparation, features = Preparation.fit(X, encoder, rng)
        self.encoder_: TableEncoder = self._preparation.encoder
        self.n_features_in_: int = self.encoder_.n_features_in_
        self.feature_names_in_: NDArray[Any] = self.encoder_.feature_names_in_
        if len(features) < 2:
            raise ParameterError(f"n_samples={len(features)}: at least two samples are needed")
        return features

    @property
    def _gaps(self) -> Gaps | None:
        """The gaps of the features, if there are any."""
        gaps = None if self._preparation is None else self._preparation.gaps
        return gaps if gaps is not None and gaps.any else None

    def _fit_pool(self, rows: Any, seeds: NDArray[np.int64]) -> Pool:
        """Prepare rows in memory, choose the number of clusters, and make the members.

        The members have their own seed, so that they are the same whether k is given or chosen.
        """
        self._features = self._prepared(rows, np.random.default_rng(seeds[0]))
        self._n_clusters = self._chosen_n_clusters(np.random.default_rng(seeds[1]))
        pool = self._make_members(seeds[0])
        self._border = self._shows_border(pool, np.random.default_rng(seeds[0]))
        return self._make_members(seeds[0]) if self._border else pool

    def _complete(self, X: Any) -> Any:
        return X if self._gaps is None else self._gaps.filled_by_mean(X)

    def _chosen_n_clusters(self, rng: np.random.Generator) -> int | None:
        """The given number of clusters, or the one that is recommended."""
        if not isinstance(self.n_clusters, str | tuple):
            # Other methods test for the type int, and numpy's integers are not of this type.
            return None if self.n_clusters is None else int(self.n_clusters)
        self.selection_: Selection = self._choose(self._features, rng)
        _warn_of_choice(self.selection_)
        return self.selection_.recommended

    def _choose(self, X: Any, rng: np.random.Generator) -> Selection:
        """The comparison of numbers of clusters, on members of many sizes."""
        from coterie.select.compare import MAX_FITTED, Plan, choose, not_fitted, planned, select

        complete = self._complete(X)
        ks: Any = self.n_clusters
        if isinstance(ks, tuple):
            low, high = ks
            ks = range(low, max(low, min(high, X.shape[0])) + 1)
        n_members = max(CHOOSING_MEMBERS, self.n_members)
        plan = Plan(n_jobs=self.n_jobs)
        steps = planned(complete, ks, n_members, plan, self._progress(CHOOSING))
        choice, compared = choose(complete, ks, steps)
        member_rng = np.random.default_rng(child_seeds(rng, 1)[0])
        # other generators may not predict, or are meant for few rows
        fits_part = self.generator in ("auto", "kmeans")
        aside = not_fitted(X.shape[0], member_rng) if fits_part else None
        n_fitted = min(X.shape[0], MAX_FITTED) if fits_part else X.shape[0]
        with self._explained_rows():
            members = make_pool(
                complete,
                self.generator,
                n_members,
                self.member_clusters or (2, max(2 * int(compared.max()), int(np.sqrt(n_fitted)))),
                member_rng,
                self.n_jobs,
                steps.after_member,
                aside=aside,
                share=self.share,
                clusterer=self.clusterer,
            ).ensemble()
        return select(members, compared, plan, rng, steps, choice=choice)

    def _progress(self, stage: str) -> Progress | None:
        """A callback that adds the stage; None without a callback."""
        if self.callback is None:
            return None
        callback = self.callback
        return lambda done, total: callback(done, total, stage)

    @property
    def _takes_few_clusters(self) -> bool:
        """Whether the members have as many clusters as the consensus, unless they cut across a border."""
        return self.generator in ("auto", "kmeans") and self.member_clusters is None

    def _shows_border(self, pool: Pool, rng: np.random.Generator) -> bool | None:
        """Whether many small clusters show a border that the members cut across; None if unsure."""
        if self._n_clusters is None or not self._takes_few_clusters:
            return False
        X = self._complete(self._features)
        return shows_border(X, pool.ensemble(), self._n_clusters, rng, self.n_jobs)

    def _make_members(self, seed: int, aside: NDArray[np.bool_] | None = None) -> Pool:
        """The members, fitted without the samples set aside."""
        with self._explained_rows():
            pool = make_pool(
                self._features,
                self.generator,
                self.n_members,
                self._member_clusters(self._n_clusters, self._features.shape[0]),
                np.random.default_rng(seed),
                self.n_jobs,
                self._progress(MAKING),
                gaps=self._gaps,
                aside=aside,
                label_aside=self.outliers == "assign",
                share=self.share,
                clusterer=self.clusterer,
            )
        return replace(pool, prepare=self._preparation)

    @contextmanager
    def _explained_rows(self) -> Iterator[None]:
        """Name the parameter that asks for more clusters than X has distinct rows."""
        try:
            yield
        except TooFewRows as error:
            reason = error.reason
            if error.constant:
                advice = f"{reason}; check how X was made"
            elif self.member_clusters is not None:
                advice = f"member_clusters is {self.member_clusters!r}, but {reason}; lower it"
            else:
                advice = f"n_clusters is {self.n_clusters!r}, but {reason}; ask for fewer clusters"
            raise ParameterError(f"{type(self).__name__}: {advice}") from None

    def _member_clusters(self, n_clusters: int | None, n: int) -> ClusterCount:
        if self.member_clusters is not None:
            return self.member_clusters
        if n_clusters is None:
            return "sqrt"
        if n_clusters == 1:
            return 2, max(20, int(np.sqrt(n)))
        if getattr(self, "_border", False):
            return many_clusters(n_clusters, n)
        if self._takes_few_clusters:
            return n_clusters
        return min(n_clusters, n), max(2 * n_clusters, int(np.sqrt(n)), 2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _warn_of_choice(selection: Selection) -> None:
    """Warn if one cluster was chosen, or if structure could not be tested."""
    if not selection.structure:
        warnings.warn(
            f"ConsensusClustering: {selection.reason} The partitions into more clusters are in "
            "selection_.labels; the confidence with one cluster is always 1 and carries no information",
            UserWarning,
            stacklevel=7,
        )
    elif not selection.tested:
        warnings.warn(f"ConsensusClustering: {selection.reason}", UserWarning, stacklevel=7)
