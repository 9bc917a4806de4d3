"""Rank tests of each cluster against the rest, from sums of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from coterie.core.types import FloatArray

# as scipy does, the rank test is exact if one group has at most this many samples and no values are equal
EXACT_SIZE = 8
# beside more samples than this, the normal approximation, which errs on the side of caution, is used
MAX_EXACT = 10_000


# ---------------------------------------------------------------------- ranks


@dataclass(frozen=True, eq=False)
class RankSums:
    """Sums of ranks per variable and cluster; a sample of weight w counts like w samples.

    Attributes
    ----------
    present : ndarray, shape (v, c)
        Weight of the samples with a value.
    rank_sum : ndarray, shape (v, c)
    ties : ndarray, shape (v,)
        Sum of t^3 - t over groups of t equal values.
    """

    present: FloatArray
    rank_sum: FloatArray
    ties: FloatArray

    @property
    def u(self) -> FloatArray:
        """The statistic of Mann and Whitney: pairs in which the cluster has the larger value."""
        return self.rank_sum - self.present * (self.present + 1) / 2

    @property
    def pairs(self) -> FloatArray:
        """Pairs of a sample of the cluster and one of the rest."""
        return self.present * (self.total[:, None] - self.present)

    @property
    def total(self) -> FloatArray:
        """Weight of the samples with a value."""
        return np.asarray(self.present.sum(axis=1))

    def auc(self) -> FloatArray:
        """Share of the pairs in which the cluster has the larger value; equal values count half."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.u / self.pairs)

    def p_values(self) -> FloatArray:
        """Mann-Whitney test of each cluster against the rest, with the normal approximation."""
        total = self.total[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (total + 1) - (self.ties[:, None] / (total * (total - 1)))
            deviation = np.sqrt(self.pairs * spread / 12)
            # as in scipy, half a unit is taken off because U is discrete
            z = (np.abs(self.u - self.pairs / 2) - 0.5) / deviation
        p = np.minimum(2 * stats.norm.sf(z), 1.0)
        return np.where((deviation > 0) & np.isfinite(z), p, np.nan)

    def _h(self) -> tuple[FloatArray, FloatArray]:
        """The statistic of Kruskal and Wallis, and its degrees of freedom."""
        total = self.total
        with np.errstate(invalid="ignore", divide="ignore"):
            squares = np.where(self.present > 0, self.rank_sum**2 / self.present, 0.0).sum(axis=1)
            h = 12 / (total * (total + 1)) * squares - 3 * (total + 1)
            h /= 1 - self.ties / (total**3 - total)
        return h, np.asarray((self.present > 0).sum(axis=1) - 1.0)

    def p_any(self) -> FloatArray:
        """Kruskal-Wallis test over all clusters."""
        h, freedom = self._h()
        with np.errstate(invalid="ignore"):
            sound = np.isfinite(h) & (freedom > 0)
            return np.where(sound, stats.chi2.sf(h, np.maximum(freedom, 1)), np.nan)

    def association(self) -> FloatArray:
        """Correlation ratio of the ranks: 0 if the clusters tell nothing about them, 1 if all."""
        h, freedom = self._h()
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.sqrt(np.clip(h / (self.total - 1), 0.0, 1.0))
        return np.where(np.isfinite(ratio) & (freedom > 0), ratio, np.nan)

    def exact_p_values(self) -> FloatArray:
        """Exact Mann-Whitney test where one side is small and no values are equal; NaN elsewhere."""
        p_values = np.full(self.present.shape, np.nan)
        rest = self.total[:, None] - self.present
        small, large = np.minimum(self.present, rest), np.maximum(self.present, rest)
        eligible = (small >= 1) & (small <= EXACT_SIZE) & (large <= MAX_EXACT)
        eligible &= (self.ties == 0)[:, None]
        sizes, which = np.unique(
            np.stack([small[eligible], large[eligible]]), axis=1, return_inverse=True
        )
        lower = np.minimum(self.u, self.pairs - self.u)[eligible]
        exact = np.empty(len(lower))
        for i, (one, other) in enumerate(sizes.T.astype(int).tolist()):
            of_size = which.ravel() == i
            distribution = _distribution_of_u(one, other)
            exact[of_size] = 2 * distribution[np.rint(lower[of_size]).astype(np.int64)]
        p_values[eligible] = np.minimum(exact, 1.0)
        return p_values


@lru_cache(maxsize=32)
def _distribution_of_u(small: int, large: int) -> FloatArray:
    """P(U <= u) for u = 0, 1, ... if both groups come from one distribution without equal values.

    The number of arrangements with U = u is the coefficient of q^u in the product of
    (1 - q^(large + i)) / (1 - q^i) over i = 1, ..., small. SciPy has no function of U alone: its test would
    rank all samples again for each small cluster.
    """
    arrangements = np.zeros(small * large + 1)
    arrangements[0] = 1.0
    for i in range(1, small + 1):
        arrangements[large + i :] -= arrangements[: max(0, len(arrangements) - large - i)].copy()
        for first in range(i):
            arrangements[first::i] = np.cumsum(arrangements[first::i])
    return np.cumsum(arrangements) / arrangements.sum()
