"""Means of clusters, and bootstrap intervals of their differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coterie.core.types import FloatArray
from coterie.profiles._groups import Groups
from coterie.profiles.kernels import differences, product

# bootstrap counts that are kept, and bootstrap means in memory at once
DRAWN_COUNTS = 4_000_000
DRAWN_MEANS = 2_000_000
LEVEL = 0.95
# with a smaller share of values that are not 0, a product that skips zeros is faster than that of a library
MOST_NONZERO = 0.3


@dataclass(frozen=True, eq=False)
class Centred:
    """Variables minus their means, because sums of values that lie far from zero would lose digits.

    Where most values are 0, nothing is subtracted.

    Attributes
    ----------
    values : ndarray, shape (v, n)
        0 where there is no value.
    centre : ndarray, shape (v,)
    present : ndarray of bool, shape (v, n), or None
        Where there is a value; None if there is one everywhere.
    sums : ndarray, shape (v, c)
        Weighted sum over each cluster.
    squares : ndarray, shape (v,)
        Weighted sum of the squared distances from the weighted mean.
    """

    values: FloatArray
    centre: FloatArray
    present: NDArray[np.bool_] | None
    sums: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, values: FloatArray, groups: Groups) -> Self:
        """Centre variables whose samples are in the order of the clusters."""
        centre, present = values.mean(axis=1), None
        if np.isnan(centre).any():
            present = ~np.isnan(values)
            n_present = np.maximum(1, present.sum(axis=1))
            centre = np.where(present, values, 0.0).sum(axis=1) / n_present
        # the zeros of a variable that has many stay zeros; its other values do not lie far from them
        many_zeros = 2 * np.count_nonzero(values, axis=1) < values.shape[1]
        centre = np.where(many_zeros, 0.0, _rounded(centre))
        centred = values - centre[:, None]
        if present is not None:
            centred[~present] = 0.0
        weighted = centred if groups.counts_whole_samples else centred * groups.weight
        # not a product of matrices, whose last digits depend on the other variables
        parts = [weighted[:, begin:end] for begin, end in pairwise(groups.starts)]
        sums = np.stack([part.sum(axis=1) for part in parts], axis=1)
        squares = np.einsum("ij,ij->i", centred, weighted)
        weight = groups.weight.sum()
        if present is not None:
            weight = np.where(present, groups.weight, 0.0).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.maximum(squares - sums.sum(axis=1) ** 2 / weight, 0.0)
        return cls(centred, centre, present, sums, squares)

    def means(self, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean of each cluster and of its rest, from the weight with a value in each cluster."""
        everything, whole = (part.sum(axis=1, keepdims=True) for part in (self.sums, weight))
        with np.errstate(divide="ignore", invalid="ignore"):
            of_cluster = self.centre[:, None] + self.sums / weight
            of_rest = self.centre[:, None] + (everything - self.sums) / (whole - weight)
        # what is left of a difference of equal sums is no weight
        of_rest[whole - weight <= 1e-12 * whole] = np.nan
        return of_cluster, of_rest


def _rounded(centre: FloatArray) -> FloatArray:
    """The numbers with half of their digits, so that sums of differences from them are exact more often."""
    mantissa, exponent = np.frexp(centre)
    return np.ldexp(np.rint(mantissa * 2.0**26) / 2.0**26, exponent)


@dataclass(frozen=True, eq=False)
class Draws:
    """The bootstrap samples: how often each sample is drawn. Samples are drawn within their clusters.

    They are the same for all columns, and are kept if they fit in memory.
    """

    groups: Groups
    n_bootstrap: int
    seed: int

    def of_cluster(self, cluster: int) -> Iterable[tuple[slice, FloatArray]]:
        """How much each sample of a cluster (rows) weighs in some bootstrap samples (columns) at a time."""
        return self._drawn(cluster) if self._kept is None else self._kept[cluster]

    @cached_property
    def _kept(self) -> list[list[tuple[slice, FloatArray]]] | None:
        if self.n_bootstrap * len(self.groups.rows) > DRAWN_COUNTS:
            return None
        return [[*self._drawn(cluster)] for cluster in range(self.groups.n_clusters)]

    def _drawn(self, cluster: int) -> Iterator[tuple[slice, FloatArray]]:
        begin, end = self.groups.starts[cluster : cluster + 2].tolist()
        if begin == end:
            return
        size, weight = end - begin, self.groups.weight[begin:end]
        # a seed per cluster: its draws do not depend on the other clusters
        rng = np.random.default_rng([self.seed, cluster])
        step = max(1, DRAWN_COUNTS // size)
        for first in range(0, self.n_bootstrap, step):
            n = min(step, self.n_bootstrap - first)
            drawn = rng.integers(0, size, size=(n, size))
            drawn += np.arange(n)[:, None] * size
            counts = np.bincount(drawn.ravel(), minlength=n * size).reshape(n, size)
            yield slice(first, first + n), np.ascontiguousarray((counts * weight).T)


def intervals(centred: Centred, draws: Draws) -> FloatArray:
    """Ends of the bootstrap interval of each difference of means, shape (2, v, c)."""
    n_variables, c = centred.sums.shape
    ends = np.full((2, n_variables, c), np.nan)
    if draws.n_bootstrap == 0 or c < 2:
        return ends
    step = max(1, DRAWN_MEANS // (draws.n_bootstrap * c))
    for begin in range(0, n_variables, step):
        some = slice(begin, begin + step)
        present = None if centred.present is None else centred.present[some].astype(np.float64)
        ends[:, some] = _ends(centred.values[some], present, draws)
    return ends


def _ends(values: FloatArray, present: FloatArray | None, draws: Draws) -> FloatArray:
    n_variables, starts = len(values), draws.groups.starts
    c, n_bootstrap = draws.groups.n_clusters, draws.n_bootstrap
    total = np.zeros((c, n_variables, n_bootstrap))
    weight = np.zeros((c, 1 if present is None else n_variables, n_bootstrap))
    few = np.count_nonzero(values, axis=1) < MOST_NONZERO * values.shape[1]
    sparse, dense = np.flatnonzero(few), np.flatnonzero(~few)
    for cluster in range(c):
        own = slice(starts[cluster], starts[cluster + 1])
        for drawn, counts in draws.of_cluster(cluster):
            if not len(sparse):
                total[cluster, :, drawn] = values[:, own] @ counts
            else:
                total[cluster, sparse, drawn] = product(values, sparse, starts[cluster], counts)
                total[cluster, dense, drawn] = values[dense, own] @ counts
            if present is None:
                weight[cluster, 0, drawn] = counts.sum(axis=0)
            else:
                weight[cluster, :, drawn] = present[:, own] @ counts
    n_known = differences(total, weight)
    total.sort(axis=2)
    ends = np.full((2, n_variables, c), np.nan)
    sizes = np.diff(starts)
    for cluster, size in enumerate(np.minimum(sizes, sizes.sum() - sizes).tolist()):
        # one sample does not vary
        if size > 1:
            outside = _share_outside(size)
            for end, share in enumerate((outside, 1 - outside)):
                ends[end, :, cluster] = _quantile(total[cluster], n_known[cluster], share)
    return ends


def _quantile(ascending: FloatArray, n_known: NDArray[np.int64], share: float) -> FloatArray:
    """The quantile of the first values of each row; NaN without any."""
    position = np.maximum(n_known - 1, 0) * share
    below = position.astype(np.int64)
    above = np.minimum(below + 1, np.maximum(n_known - 1, 0))
    rows = np.arange(len(ascending))
    low, high = ascending[rows, below], ascending[rows, above]
    return low + (high - low) * (position - below)


def _share_outside(size: int) -> float:
    """The share of bootstrap means beyond each end of the interval, from the size of the smaller group.

    The percentiles of few samples are too close together. This share is that of the expanded percentile
    interval (Hesterberg, 2015): of the mean of normal values, it makes the interval as wide as that of
    Student's t.
    """
    t = stats.t.ppf((1 + LEVEL) / 2, size - 1)
    return float(stats.norm.sf(t * np.sqrt(size / (size - 1))))
