"""Fit members in parallel, and keep them with their labels in a pool."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from coterie.core.errors import LabelError
from coterie.core.random import child_seeds
from coterie.core.threads import one_thread
from coterie.ensemble import Ensemble
from coterie.generate.gaps import Gaps
from coterie.generate.plans import (
    SHARES,
    ClusterCount,
    MemberPlan,
    estimator_plans,
    feature_plans,
    kmeans_plans,
    shape_plans,
    spectral_plans,
    subsample_plans,
)
from coterie.generate.prototypes import Prototypes, with_own_rows

Progress = Callable[[int, int], None]
# How often members are fitted again after a joblib backend lost them.
MAX_RETRIES = 3


@dataclass(frozen=True, eq=False)
class Pool:
    """Fitted members and their labels.

    Attributes
    ----------
    plans : tuple of MemberPlan
    members : tuple of fitted clusterers
    labels : ndarray of int64, shape (n, m)
        -1 for rows that a member did not see. With prototypes, there is one row per prototype.
    dtype : dtype
        Precision of the features. Clusterers accept new rows only in the precision of the fit.
    prepare : callable or None
        Turns rows of the user's table into the features that the members are fitted on.
    prototypes : Prototypes or None
        Given if every other row takes the labels of the prototype nearest to it.
    nearest : ndarray of int32, shape (n,), or None
        The prototype of each row, for rows in memory.
    """

    plans: tuple[MemberPlan, ...]
    members: tuple[Any, ...]
    labels: Any
    dtype: np.dtype[Any]
    prepare: Callable[[Any], NDArray[np.float64]] | None = None
    prototypes: Prototypes | None = None
    nearest: NDArray[np.int32] | None = None

    @property
    def member_names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(plan.name for plan in self.plans)

    @cached_property
    def _compressed(self) -> Ensemble:
        ensemble = Ensemble.from_labels(self.labels, names=self.member_names)
        return ensemble if self.nearest is None else ensemble.subset(self.nearest)

    def ensemble(self) -> Ensemble:
        """The labels as an Ensemble, compressed at the first call."""
        return self._compressed

    def cannot_predict(self) -> list[str]:
        """Names of the members that cannot label rows that they were not fitted on."""
        return [
            name
            for name, member in zip(self.member_names, self.members, strict=True)
            if not hasattr(member, "predict")
        ]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels of new rows, n x m, as the members number them; with prototypes, those of the nearest."""
        X = X.astype(self.dtype, copy=False)
        if self.prototypes is not None:
            return self.prototypes.predict(X)
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
    member_rows: int | None = None,
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
    member_rows : int, optional
        Number of rows that each member is fitted on, drawn for each anew. None is all of them.
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
    if member_rows is not None:
        plans = with_own_rows(plans, X.shape[0], member_rows, rng)
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
            raise LabelError(
                f"member {plan.name!r} ({type(member).__name__}) gave labels of shape "
                f"{np.shape(assigned)}; a clusterer must give one label per row"
            )
        if assigned.dtype.kind not in "iub" and not _whole(assigned):
            raise LabelError(
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
