"""ConsensusClustering: features in, labels out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from coterie._estimator import LabelConsensus
from coterie._params import SEED, Choice, Domain, Integer, Kind, ParameterError, check_parameters
from coterie._random import child_seeds, generator
from coterie.ensemble import Ensemble
from coterie.generate.features import refuse_not_finite
from coterie.generate.members import MemberPlan, Pool, Progress, fit_members
from coterie.generate.pools import (
    ClusterCount,
    estimator_plans,
    feature_plans,
    kmeans_plans,
    spectral_plans,
    subsample_plans,
)
from coterie.solvers.eac import EAC

GENERATORS = ("kmeans", "subsample", "features", "spectral")


def _predicts(estimator: ConsensusClustering) -> bool:
    return not (isinstance(estimator.generator, str) and estimator.generator == "spectral")


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Cluster features many times and return the partition that the clusterings support.

    Parameters
    ----------
    n_clusters : int or None, default None
        Number of clusters; None leaves the choice to the solver (for EAC the longest lifetime).
    members : int, default 20
        Number of clusterings to make.
    generator : {"kmeans", "subsample", "features", "spectral"} or list of clusterers
        How they are made: k-means with random starts and sizes, on random shares of the samples or
        of the features, Gaussian spectral clustering (n x n), or the given clusterers, one each.
    member_clusters : None, int, "sqrt" or (low, high), default None
        Clusters of each member. None draws between the number asked for and the larger of twice
        that and the square root of n.
    solver : solver of ``coterie.solvers`` or None, default None
        How they are combined; None is ``EAC()``. Its ``n_clusters`` is set from here.
    callback : callable or None, default None
        Called with (members done, members in all).
    random_state : int, Generator or None, default None
    n_jobs : int or None, default None
        Members fitted at a time, as in joblib; it does not change the result.

    Attributes
    ----------
    labels_ : ndarray, shape (n,)
    sample_confidence_ : ndarray, shape (n,)
        One minus the support of the next best cluster over that of the sample's own.
    ensemble_ : Ensemble
        The members' labels.
    solver_ : fitted solver
    members_ : list of fitted clusterers
    member_weights_ : ndarray, shape (members,)

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
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": Integer(1, optional=True),
        "members": Integer(1),
        "generator": Choice(
            GENERATORS,
            also=lambda value: isinstance(value, list | tuple),
            also_words="a list of clusterers",
        ),
        "solver": Kind(
            lambda value: value is None or isinstance(value, LabelConsensus),
            "None or a solver such as coterie.EAC()",
        ),
        "random_state": SEED,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        members: int = 20,
        generator: str | list[Any] = "kmeans",
        member_clusters: ClusterCount | None = None,
        solver: LabelConsensus | None = None,
        callback: Progress | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.members = members
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
        y : None
            Ignored; there for scikit-learn's sake.
        """
        check_parameters(type(self).__name__, self.get_params(deep=False), self._domains)
        features = self._checked(X, reset=True)
        rng = generator(self.random_state)
        pool = self._make_members(features, rng)
        ensemble = pool.ensemble()
        self.solver_ = self._configured_solver(rng).fit(ensemble)
        self._pool = pool
        self.members_ = list(pool.estimators)
        self.ensemble_: Ensemble = ensemble
        self.labels_: NDArray[np.int64] = self.solver_.labels_
        self.n_clusters_: int = self.solver_.n_clusters_
        self.sample_confidence_: NDArray[np.float64] = self.solver_.sample_confidence_
        self.member_weights_: NDArray[np.float64] = self.solver_.member_weights_
        self.converged_: bool = self.solver_.converged_
        self.history_ = self.solver_.history_
        self.n_iter_: int = self.solver_.n_iter_
        return self

    @available_if(_predicts)
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Clusters of new rows, by the members' labels for them.

        Parameters
        ----------
        X : array, dataframe or sparse matrix, shape (n, d)
        """
        from coterie.kernels.nearest import nearest_clusters

        check_is_fitted(self, "labels_")
        silent = self._pool.cannot_predict()
        if silent:
            raise ParameterError(
                f"predict needs members that can predict; these cannot: {', '.join(silent[:5])}"
            )
        given = self._pool.predict(self._checked(X, reset=False))
        codes = np.stack(
            [_codes(given[:, j], known) for j, known in enumerate(self.ensemble_.categories)],
            axis=1,
        )
        # rows that the members cannot tell apart are looked up once
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        cluster_of = np.empty(self.ensemble_.n_microclusters, dtype=np.int64)
        cluster_of[self.ensemble_.inverse] = self.labels_
        found = nearest_clusters(
            rows,
            self.ensemble_.labels,
            self.ensemble_.member_weight,
            self.ensemble_.weights.astype(np.float64),
            cluster_of,
        )
        return found[inverse.reshape(-1)]

    def _checked(self, X: Any, *, reset: bool) -> Any:
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

    def _make_members(self, X: Any, rng: np.random.Generator) -> Pool:
        plans: list[MemberPlan]
        if not isinstance(self.generator, str):
            plans = estimator_plans(self.generator, None)
            return fit_members(X, plans, n_jobs=self.n_jobs, callback=self.callback)
        counts = self._member_clusters(X.shape[0])
        if self.generator == "spectral":
            X, plans = spectral_plans(X, self.members, counts, rng)
        else:
            make: Callable[..., list[MemberPlan]] = {
                "kmeans": kmeans_plans,
                "subsample": subsample_plans,
                "features": feature_plans,
            }[self.generator]
            plans = make(X, self.members, counts, rng)
        return fit_members(X, plans, n_jobs=self.n_jobs, callback=self.callback)

    def _member_clusters(self, n: int) -> ClusterCount:
        if self.member_clusters is not None:
            return self.member_clusters
        if self.n_clusters is None:
            return "sqrt"
        return min(max(2, self.n_clusters), n), max(2 * self.n_clusters, int(np.sqrt(n)), 2)

    def _configured_solver(self, rng: np.random.Generator) -> LabelConsensus:
        solver: LabelConsensus = EAC() if self.solver is None else clone(self.solver)
        if self.n_clusters is not None:
            solver.set_params(n_clusters=self.n_clusters)
        if solver.random_state is None:
            solver.set_params(random_state=int(child_seeds(rng, 1)[0]))
        return solver

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _codes(given: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int32]:
    """A member's labels of new rows as the ensemble's codes, -1 for a label never seen."""
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, given, sorter=order), len(known) - 1)
    found = order[place]
    return np.where(known[found] == given, found, -1).astype(np.int32)
