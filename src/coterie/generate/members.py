"""Fitting members: each a clusterer on some rows and columns of the features, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from coterie._threads import one_thread
from coterie.ensemble import Ensemble

Progress = Callable[[int, int], None]


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
    labels = np.full((X.shape[0], len(plans)), -1, dtype=np.int64)
    estimators = []
    jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    fitted = jobs(delayed(_fit_one)(X, plan) for plan in plans)
    for j, (estimator, found) in enumerate(fitted):
        plan = plans[j]
        if np.shape(found) != (X.shape[0] if plan.rows is None else len(plan.rows),):
            raise ValueError(
                f"member {plan.name!r} ({type(estimator).__name__}) gave labels of shape "
                f"{np.shape(found)}; a clusterer gives one label per row"
            )
        labels[slice(None) if plan.rows is None else plan.rows, j] = found
        estimators.append(estimator)
        if callback is not None:
            callback(j + 1, len(plans))
    return Pool(tuple(plans), tuple(estimators), labels)


def _fit_one(X: Any, plan: MemberPlan) -> tuple[Any, NDArray[Any]]:
    estimator = clone(plan.estimator)
    # sums over several threads end in another last digit, and k-means then in another label
    with one_thread():
        labels = np.asarray(estimator.fit_predict(_seen(X, plan.rows, plan.columns)))
    return estimator, labels


def _seen(X: Any, rows: NDArray[np.int64] | None, columns: NDArray[np.int64] | None) -> Any:
    if rows is not None:
        X = X[rows]
    if columns is not None:
        X = X[:, columns]
    return X
