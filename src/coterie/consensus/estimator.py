"""ConsensusClustering: features in, labels out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from coterie.consensus.prototyping import SPECTRAL, predicts
from coterie.consensus.steps import FitSteps
from coterie.core.errors import ParameterError
from coterie.core.estimators import ClusterMixin
from coterie.core.params import (
    JOBS,
    SEED,
    Choice,
    Integer,
    Kind,
    Real,
    check_parameters,
    declared_domains,
    parameter,
)
from coterie.core.progress import PROGRESS, StageProgress
from coterie.core.random import child_seeds, generator
from coterie.evidence.new_rows import clusters_of_rows
from coterie.generate.columns import is_table, read_columns
from coterie.generate.plans import COUNT, GENERATORS, ClusterCount, is_clusterer
from coterie.generate.prototypes import PrototypeCount
from coterie.generate.sources import InMemory, is_lazy
from coterie.generate.tables import TableEncoder
from coterie.solvers.base import SOLVER, LabelConsensus
from coterie.solvers.methods import find_method
from coterie.trust import ClusterVotes, DiagnosisMixin

if TYPE_CHECKING:
    from coterie.profiles import Profile


def _is_range(value: object) -> bool:
    return isinstance(value, tuple) and COUNT.admits(value)


def _has_predict(estimator: ConsensusClustering) -> bool:
    if not predicts(estimator):
        raise AttributeError(f"predict is not available: {SPECTRAL}; use another generator")
    return True


@dataclass(eq=False, repr=False)
class ConsensusClustering(DiagnosisMixin, ClusterMixin, FitSteps):
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
    prototypes : "auto", int or None, default "auto"
        Number of prototypes: random rows that stand for all rows. The members label the prototypes, and
        every other row takes the labels of its nearest prototype. Each member is fitted on at most
        5,000 rows of its own. "auto" uses all rows up to 50,000 rows, or up to 12,000 with a method
        that compares all pairs of distinct label rows. For more rows it takes 5,000 to 20,000
        prototypes, as many as the method can combine. None always uses all rows. Members that cannot
        label new rows are fitted on the prototypes.
    solver : solver of ``coterie.solvers``, name of a method or None, default None
        How members are combined: a solver such as ``coterie.EAC(linkage="single")``, or a name such
        as ``"spce"`` for a method with its default settings. None is ``"lwea"``. With more than
        12,000 distinct label rows it is ``"lwgp"``, whose cost is linear in their number, and if
        ``n_clusters`` is None it is ``"eac"``, which chooses the number of clusters. A number given
        here replaces the solver's own ``n_clusters``.
    callback : callable, "auto" or None, default None
        Called with (steps done, number of steps, stage). The stages are "choosing the number of
        clusters", if it is chosen, and "making members", with one step per member. Members may be made
        several times: with many small clusters, or without outliers. If the choice ends early, because
        there is no structure, the steps that were not needed count as done. "auto" shows a progress bar
        in a notebook or a terminal, and nothing elsewhere.
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
    prototypes_ : Prototypes or None
        The prototypes, if they were used. ``str`` says how many there are and for how many samples.
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

    n_clusters: int | Literal["auto"] | tuple[int, int] | None = parameter(
        "auto",
        Choice(
            ("auto",),
            also=lambda value: Integer(1, optional=True).admits(value) or _is_range(value),
            also_words="a whole number of at least 1, a range (low, high), or None",
        ),
    )
    _: KW_ONLY
    n_members: int = parameter(60, Integer(1))
    generator: str | list[Any] = parameter(
        "auto",
        Choice(
            GENERATORS,
            also=lambda value: (
                isinstance(value, list | tuple) and len(value) > 0 and all(map(is_clusterer, value))
            ),
            also_words="a list of clusterers",
        ),
    )
    share: float | None = parameter(None, Real(0, 1, closed_low=False, optional=True))
    clusterer: Any = parameter(
        None,
        Kind(
            lambda value: value is None or is_clusterer(value), "None or a scikit-learn clusterer"
        ),
    )
    member_clusters: ClusterCount | None = parameter(
        None,
        Kind(lambda value: value is None or COUNT.admits(value), f"None, {COUNT.describe()}"),
    )
    prepare: TableEncoder | Literal["auto"] | None = parameter(
        "auto",
        Choice(
            ("auto", None),
            also=lambda value: isinstance(value, TableEncoder),
            also_words="a TableEncoder",
        ),
    )
    min_cluster_size: int | Literal["auto"] | None = parameter(
        "auto",
        Choice(
            ("auto",),
            also=Integer(1, optional=True).admits,
            also_words="a whole number of at least 1, or None",
        ),
    )
    prototypes: PrototypeCount = parameter(
        "auto",
        Choice(
            ("auto",),
            also=Integer(2, optional=True).admits,
            also_words="a whole number of at least 2, or None",
        ),
    )
    outliers: Literal["assign", "noise"] = parameter("assign", Choice(("assign", "noise")))
    solver: LabelConsensus | str | None = parameter(None, SOLVER)
    callback: StageProgress | Literal["auto"] | None = parameter(None, PROGRESS)
    random_state: Any = parameter(None, SEED)
    n_jobs: int | None = parameter(None, JOBS)

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
        with self._following():
            pool = source.make_pool(
                lambda rows, total=None: self._fit_pool(rows, seeds, total), rng
            )
            if isinstance(source, InMemory) and pool.prototypes is not None:
                pool = replace(pool, nearest=self._find_nearest(X, pool.prototypes))
            ensemble, solver = self._combined(source, pool, seeds)
            if isinstance(source, InMemory):
                pool, ensemble, solver = self._without_outliers(
                    source, pool, ensemble, solver, seeds
                )
        self.solver_: LabelConsensus = solver
        self.pool_ = pool
        self.prototypes_ = pool.prototypes
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
        for part in ("_features", "_base", "_drawn"):
            self.__dict__.pop(part, None)
        if isinstance(source, InMemory):
            self._table = X
        return self

    def __getstate__(self) -> dict[str, Any]:
        # a saved model does not hold the data
        return {name: part for name, part in super().__getstate__().items() if name != "_table"}

    def _check(self) -> None:
        """Check the parameters before any work, and forget an earlier fit."""
        check_parameters(
            type(self).__name__, self.get_params(deep=False), declared_domains(type(self))
        )
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
            "prototypes_",
        ):
            self.__dict__.pop(attribute, None)

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
        if unable and self.prototypes_ is None:
            raise ParameterError(
                f"predict needs members that can predict; these cannot: {', '.join(unable[:5])}"
            )
        clusters = partial(clusters_of_rows, self.ensemble_, self.solver_.cluster_votes_.labels)
        if is_lazy(X):
            from coterie.scale.features import predict_dask

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
        """The table of the last fit; None for rows in partitions, and for a model that was saved.

        Of a data frame, the columns that it had when the model was fitted.

        Examples
        --------
        >>> import pickle
        >>> from coterie import ConsensusClustering
        >>> table = {"age": [21, 23, 22, 64, 61, 66], "visits": [1, 2, 1, 8, 9, 8]}
        >>> model = ConsensusClustering(2, n_members=5, random_state=0).fit(table)
        >>> [*model.fitted_table()]
        ['age', 'visits']
        >>> pickle.loads(pickle.dumps(model)).fitted_table() is None
        True
        """
        table = getattr(self, "_table", None)
        if table is None or not is_table(table) or not hasattr(self, "feature_names_in_"):
            return table
        # a column that was added later, such as the labels, is none of them
        columns = read_columns(table)
        return {name: columns[name] for name in self.feature_names_in_.tolist() if name in columns}

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        check_is_fitted(self, "labels_")
        return self._votes, self.solver_.member_weights_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
