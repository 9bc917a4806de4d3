"""Scalers of the columns of a table, beside scikit-learn's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler

# with "auto", values are clipped to this many standard deviations, so that a single extreme value does not
# dominate; docs/tables.md compares it with other limits
MAX_DEVIATIONS = 3.0
# a value this many interquartile ranges beyond the quartiles is wild: it would decide the standard deviation
WILD_RANGES = 20.0
MAX_WILD_SHARE = 0.05


class JointScaler(TransformerMixin, BaseEstimator):
    """Centre the columns and divide all by one number, so that their mean variance is 1.

    For columns in the same unit, such as pixels: the spreads of such columns are comparable, and this
    scaler keeps their ratios. Wild values are clipped to the common range.
    """

    def fit(self, X: NDArray[np.float64], y: object = None) -> Self:
        """Learn the common range, the means and the common scale."""
        self.range_ = common_range([*X.T])
        X = np.clip(X, *self.range_)
        self.mean_ = np.nanmean(X, axis=0)
        self.scale_ = float(np.sqrt(np.nanvar(X, axis=0).mean())) or 1.0
        return self

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns, centred and divided by the common scale."""
        return (np.clip(X, *self.range_) - self.mean_) / self.scale_


class ClippedScaler(StandardScaler):
    """Standardise columns as if they had no wild values, and clip what is far from the mean."""

    def fit(self, X: NDArray[np.float64], y: object = None) -> Self:
        """Learn the means and standard deviations of the values that are not wild."""
        scaler: Self = super().fit(np.where(is_wild(X), np.nan, X))
        return scaler

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns around 0, in standard deviations."""
        return np.clip(super().transform(X), -MAX_DEVIATIONS, MAX_DEVIATIONS)


def is_wild(X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which values lie more than 20 interquartile ranges beyond the quartiles of their column.

    A column in which many values are equal may have a range of 0; it has no wild values. If more than one
    value in twenty lies so far away, these values are a group of their own and not wild.
    """
    first, third = np.nanpercentile(X, [25, 75], axis=0)
    reach = np.where(third > first, WILD_RANGES * (third - first), np.inf)
    far: NDArray[np.bool_] = (first - reach > X) | (third + reach < X)
    return far & (far.mean(axis=0) <= MAX_WILD_SHARE)


def weigh_levels(X: NDArray[np.float64], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Standardised columns of 0 and 1, weighted by (L - 1) / L for a category with L values.

    The columns of a category depend on each other: L columns have L - 1 dimensions. So a category with
    two values counts as one number, not as two.
    """
    weights = [np.full(size, np.sqrt(1 - 1 / size)) for size in sizes]
    return X * np.concatenate([*weights, np.empty(0)])


def common_range(columns: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """The smallest and the largest value that are not wild in their column."""
    lowest, highest = _ranges(columns)
    return float(lowest.min()), float(highest.max())


def share_range(columns: Sequence[NDArray[np.float64]]) -> bool:
    """Whether at least half of the columns, and at least two, reach both ends of the common range."""
    if not columns:
        return False
    lowest, highest = _ranges(columns)
    reach = (lowest == lowest.min()) & (highest == highest.max())
    # a single wide column always reaches both ends
    return int(reach.sum()) >= max(2.0, 0.5 * len(columns))


def _ranges(columns: Sequence[NDArray[np.float64]]) -> tuple[NDArray[np.float64], ...]:
    """The smallest and the largest value of each column, without wild values."""
    tame = [column[~np.isnan(column) & ~is_wild(column)] for column in columns]
    return np.array([column.min() for column in tame]), np.array([column.max() for column in tame])
