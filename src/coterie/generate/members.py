"""Fitting members: each a clusterer on some rows and columns of the features, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from coterie.core.params import CALLBACK, JOBS, check_parameters
from coterie.core.threads import one_thread
from coterie.ensemble import Ensemble

Progress = Callable[[int, int], None]
# so often may a backend of joblib lose what it was doing
LOSSES = 3


@dataclass(frozen=True)
class MemberPlan:
    """One member to be: a name, a clusterer, and the rows and columns it sees (None: all)."""

    name: str
    estimator: Any
    rows: NDArray[np.int64] | None = None
    columns: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Pool:
    """Fitted members and the labels they gave, -1 for rows that a member did not see."""

    plans: tuple[MemberPlan, ...]
    estimators: tuple[Any, ...]
    labels: NDArray[np.int64]
    # of the features; clusterers take new rows of no other precision
    dtype: np.dtype[Any]

    def ensemble(self, sample_ids: NDArray[Any] | None = None) -> Ensemble:
        """The labels as an Ensemble."""
        names = [plan.name for plan in self.plans]
        return Ensemble.from_labels(self.labels, names=names, sample_ids=sample_ids)

    def cannot_predict(self) -> list[str]:
        """Names of the members that cannot label new rows."""
        return [
            plan.name
            for plan, estimator in zip(self.plans, self.estimators, strict=True)
            if not hasattr(estimator, "predict")
        ]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels of new rows by every member, in the members' own values."""
        X = X.astype(self.dtype, copy=False)
        return np.stack(
            [
                np.asarray(estimator.predict(_seen(X, None, plan.columns)))
                for plan, estimator in zip(self.plans, self.estimators, strict=True)
            ],
            axis=1,
        )


def fit_members(
    X: Any,
    plans: Sequence[MemberPlan],
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Pool:
    """Fit every plan on X; the result does not depend on ``n_jobs``."""
    given = {"n_jobs": n_jobs, "callback": callback}
    check_parameters("members", given, {"n_jobs": JOBS, "callback": CALLBACK})
    labels = np.full((X.shape[0], len(plans)), -1, dtype=np.int64)
    estimators = []
    for j, (estimator, found) in enumerate(_fitted(X, plans, n_jobs)):
        plan = plans[j]
        if np.shape(found) != (X.shape[0] if plan.rows is None else len(plan.rows),):
            raise ValueError(
                f"member {plan.name!r} ({type(estimator).__name__}) gave labels of shape "
                f"{np.shape(found)}; a clusterer gives one label per row"
            )
        if found.dtype.kind not in "iub" and not _whole(found):
            raise ValueError(
                f"member {plan.name!r} ({type(estimator).__name__}) gave labels of {found.dtype}, "
                "not all of them whole numbers; a clusterer gives whole numbers, -1 for noise"
            )
        labels[slice(None) if plan.rows is None else plan.rows, j] = found
        estimators.append(estimator)
        if callback is not None:
            callback(j + 1, len(plans))
    return Pool(tuple(plans), tuple(estimators), labels, X.dtype)


def _fitted(
    X: Any, plans: Sequence[MemberPlan], n_jobs: int | None
) -> Iterator[tuple[Any, NDArray[Any]]]:
    """The plans' clusterers and labels, in order.

    A backend of joblib that other machines are behind may cancel what a lost one held: whatever is
    not there yet is then asked for again, and comes out the same.
    """
    done = 0
    for losses in range(LOSSES + 1):
        jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        try:
            for one in jobs(delayed(_fit_one)(X, plan) for plan in plans[done:]):
                yield one
                done += 1
        except CancelledError:
            if losses == LOSSES:
                raise
        else:
            return


def _fit_one(X: Any, plan: MemberPlan) -> tuple[Any, NDArray[Any]]:
    estimator = clone(plan.estimator)
    # sums over several threads end in another last digit, and k-means then in another label
    with one_thread():
        labels = np.asarray(estimator.fit_predict(_seen(X, plan.rows, plan.columns)))
    return estimator, labels


def _whole(found: NDArray[Any]) -> bool:
    return found.dtype.kind == "f" and bool((np.isfinite(found) & (found % 1 == 0)).all())


def _seen(X: Any, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None) -> Any:
    if rows is not None:
        X = X[rows]
    if columns is not None:
        X = X[:, columns]
    return X
