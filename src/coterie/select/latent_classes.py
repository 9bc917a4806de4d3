"""Latent classes of a label matrix: classes of samples inside which the members' labels are independent.

If the samples fall into k classes that the members know something about, these classes explain why the
members agree. So the dependence of the members that is left inside 1, 2, ... classes shows how many there
are. It falls much with the last true class, and little with one class more: the curve has a *bend*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.numerics.compiled import kernel
from coterie.numerics.linkage import weighted_linkage
from coterie.select.choice import NEGLIGIBLE

# dependence below this many standard deviations is like chance: the normal quantile of the level .05
CHANCE = 1.645
# A bend is clear if the unexplained dependence is divided by a number so many times as large before k as
# after it.
CLEAR_BEND = 2.5
# EM stops if the log-likelihood grows by less than this share
TOLERANCE, MAX_STEPS = 1e-6, 60
# pseudo-count per member and class, so that no probability is 0
PRIOR = 0.5
# classes of the previous k that are tried to split
N_SPLITS = 2


@dataclass(frozen=True)
class LatentClasses:
    """Classes inside which members are independent, fitted by EM; missing labels are left out.

    Attributes
    ----------
    classes : ndarray, shape (N,)
        The most probable class of each microcluster.
    misfit : ndarray, shape (k,)
        How badly the rows of each class fit it: the sum of their negative log-probabilities.
    log_likelihood : float
    """

    classes: IntArray
    misfit: FloatArray
    log_likelihood: float

    @classmethod
    def fit(cls, ensemble: Ensemble, start: IntArray, k: int) -> LatentClasses:
        """EM from a partition into k classes."""
        classes, fitted, log_likelihood = _em(
            ensemble.labels, ensemble.sizes, ensemble.n_clusters_per_member, start, k
        )
        misfit = np.bincount(classes, -ensemble.sizes * fitted, minlength=k).astype(np.float64)
        return cls(classes, misfit, log_likelihood)

    def information_criterion(self, ensemble: Ensemble) -> float:
        """The Bayesian information criterion (BIC); smaller is better."""
        k = len(self.misfit)
        numbers = k - 1 + k * int((ensemble.n_clusters_per_member - 1).sum())
        return float(numbers * np.log(ensemble.sizes.sum()) - 2 * self.log_likelihood)


@dataclass(frozen=True)
class Curve:
    """How well 1, 2, ... classes explain the members.

    Attributes
    ----------
    dependence : ndarray, shape (K,)
        The dependence of the members that is left inside the latent classes.
    chance : float
        What chance may leave of it.
    fits : list of LatentClasses
    """

    dependence: FloatArray
    chance: float
    fits: list[LatentClasses]

    @classmethod
    def of(cls, ensemble: Ensemble, max_k: int) -> Curve:
        """Fit up to ``max_k + 1`` classes, one more than may be chosen."""
        apart = 1.0 - coassociation(ensemble)
        dendrogram = weighted_linkage(apart.copy(), ensemble.sizes, overwrite=True)
        fits: list[LatentClasses] = []
        values = []
        chance = 0.0
        for k in range(1, min(max_k + 1, ensemble.n_microclusters) + 1):
            starts = [dendrogram.cut(k)]
            if fits:
                starts += _splits(ensemble, apart, fits[-1])
            fitted = [LatentClasses.fit(ensemble, start, k) for start in starts]
            fits.append(max(fitted, key=lambda fit: fit.log_likelihood))
            value, expected = dependence_inside(ensemble, fits[-1].classes)
            values.append(value)
            if k == 1:
                chance = CHANCE * np.sqrt(2 * expected)
        return cls(np.array(values), float(chance), fits)

    @property
    def max_k(self) -> int:
        """The largest number of classes that was fitted."""
        return len(self.dependence)

    @cached_property
    def unexplained(self) -> FloatArray:
        """Share of the dependence that is left inside 1, 2, ... classes, and once more the last."""
        if self.dependence[0] <= self.chance:
            return np.ones(len(self.dependence) + 1)
        # adding what chance may leave keeps ratios of small shares from being noise
        left = np.minimum.accumulate(np.maximum(self.dependence, 0.0)) + self.chance
        shares = left / left[0]
        return np.append(shares, shares[-1])

    def unexplained_at(self, k: int) -> float:
        """The unexplained share at k."""
        return float(self.unexplained[k - 1])

    def fall_at(self, k: int) -> float:
        """The factor by which the k-th class divides the unexplained dependence, over that of one more."""
        return float(np.exp(self.bends[k - 2]))

    @cached_property
    def bends(self) -> FloatArray:
        """At 2, 3, ... classes: how much more the unexplained dependence falls before than after.

        The logarithm of the fall from k - 1 to k over the fall from k to k + 1.
        """
        # A negligible share is added before the logarithms, so that shares near 0 make no bend. It is in
        # units of what tells apart two of k equal classes.
        ks = np.arange(2, self.max_k + 1)
        shares = np.stack([self.unexplained[i:][: len(ks)] for i in range(3)])
        before, here, after = np.log(shares + NEGLIGIBLE * 2 / (ks * (ks - 1)))
        return np.asarray(before - 2 * here + after)


def _splits(ensemble: Ensemble, apart: FloatArray, fit: LatentClasses) -> list[IntArray]:
    """Partitions with one class of a fit split by average link: the classes that fit their rows worst."""
    partitions = []
    for chosen in np.argsort(-fit.misfit, kind="stable")[:N_SPLITS]:
        rows = np.flatnonzero(fit.classes == chosen)
        if len(rows) > 1:
            inside = np.ascontiguousarray(apart[np.ix_(rows, rows)])
            halves = weighted_linkage(inside, ensemble.sizes[rows], overwrite=True).cut(2)
            partition = fit.classes.copy()
            partition[rows[halves == 1]] = len(fit.misfit)
            partitions.append(partition)
    return partitions


def dependence_inside(ensemble: Ensemble, classes: IntArray) -> tuple[float, float]:
    """The dependence of the members inside classes; see :func:`dependence`."""
    order = np.argsort(classes, kind="stable")
    ends = np.cumsum(np.bincount(classes))
    return dependence(
        ensemble.labels[order], ensemble.sizes[order], ensemble.n_clusters_per_member, ends
    )


@kernel()
def _em(
    labels: NDArray[np.int32], weights: FloatArray, sizes: IntArray, start: IntArray, k: int
) -> tuple[IntArray, FloatArray, float]:
    """Classes, log-probability of each row in its class without the class's share, log-likelihood."""
    n, m = labels.shape
    starts = np.zeros(m + 1, dtype=np.int64)
    for j in range(m):
        starts[j + 1] = starts[j] + sizes[j]
    posterior = np.full((n, k), 0.1 / k)
    for i in range(n):
        posterior[i, start[i]] += 0.9
    probabilities = np.empty((starts[m], k))
    shares = np.empty(k)
    joint = np.empty((n, k))
    previous = -np.inf
    value = 0.0
    for _ in range(MAX_STEPS):
        shares[:] = PRIOR
        for j in range(m):
            probabilities[starts[j] : starts[j + 1]] = PRIOR / sizes[j]
        for i in range(n):
            for c in range(k):
                posterior[i, c] *= weights[i]
                shares[c] += posterior[i, c]
            for j in range(m):
                if labels[i, j] >= 0:
                    cluster = starts[j] + labels[i, j]
                    for c in range(k):
                        probabilities[cluster, c] += posterior[i, c]
        shares = np.log(shares / shares.sum())
        for j in range(m):
            for c in range(k):
                total = 0.0
                for cluster in range(starts[j], starts[j + 1]):
                    total += probabilities[cluster, c]
                for cluster in range(starts[j], starts[j + 1]):
                    probabilities[cluster, c] = np.log(probabilities[cluster, c] / total)
        value = 0.0
        for i in range(n):
            for c in range(k):
                joint[i, c] = shares[c]
            for j in range(m):
                if labels[i, j] >= 0:
                    cluster = starts[j] + labels[i, j]
                    for c in range(k):
                        joint[i, c] += probabilities[cluster, c]
            top = joint[i].max()
            total = 0.0
            for c in range(k):
                posterior[i, c] = np.exp(joint[i, c] - top)
                total += posterior[i, c]
            for c in range(k):
                posterior[i, c] /= total
            value += weights[i] * (top + np.log(total))
        if value - previous <= TOLERANCE * abs(value):
            break
        previous = value
    classes = np.empty(n, dtype=np.int64)
    fitted = np.empty(n)
    for i in range(n):
        classes[i] = joint[i].argmax()
        fitted[i] = joint[i, classes[i]] - shares[classes[i]]
    return classes, fitted, value


@kernel()
def dependence(
    labels: NDArray[np.int32], weights: FloatArray, sizes: IntArray, ends: IntArray
) -> tuple[float, float]:
    """Sum over classes and pairs of members of Pearson's chi-square minus its mean; and the sum of the means.

    The mean is that of permuted labels, the degrees of freedom times n / (n - 1). Two members are
    compared over the samples that both label.

    Parameters
    ----------
    labels : ndarray of int32, shape (N, m)
        Classes follow each other; -1 is missing.
    weights : ndarray, shape (N,)
    sizes : ndarray, shape (m,)
        Number of clusters of each member.
    ends : ndarray
        The row after the last of each class.
    """
    columns_of = labels.T.copy()
    m = labels.shape[1]
    most = sizes.max()
    table = np.empty((most, most))
    rows, columns = np.empty(most), np.empty(most)
    excess, means = 0.0, 0.0
    begin = 0
    for end in ends:
        for i in range(m):
            for j in range(i + 1, m):
                table[: sizes[i], : sizes[j]] = 0.0
                rows[: sizes[i]] = 0.0
                columns[: sizes[j]] = 0.0
                both = 0.0
                for row in range(begin, end):
                    a, b = columns_of[i, row], columns_of[j, row]
                    if a >= 0 and b >= 0:
                        table[a, b] += weights[row]
                        rows[a] += weights[row]
                        columns[b] += weights[row]
                        both += weights[row]
                if both <= 1:
                    continue
                chi_square = -both
                for a in range(sizes[i]):
                    for b in range(sizes[j]):
                        if table[a, b] > 0:
                            chi_square += table[a, b] ** 2 * both / (rows[a] * columns[b])
                filled = (rows[: sizes[i]] > 0).sum() - 1, (columns[: sizes[j]] > 0).sum() - 1
                mean = filled[0] * filled[1] * both / (both - 1)
                excess += chi_square - mean
                means += mean
        begin = end
    return excess, means
