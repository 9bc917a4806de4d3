"""Criteria that describe the partitions at each number of clusters: one record each, and what they measure.

They do not decide which number is recommended.

To add a criterion, write a function that measures it on :class:`Cuts` and a record in ``CRITERIA``;
``select_k``, the terminal, the report and the plots read everything else from the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed
from scipy import linalg

from coterie.core.budget import Budget
from coterie.core.threads import one_blas_thread
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.evaluate.internal import ambiguous_share, cophenetic_correlation
from coterie.evidence.coassociation import coassociation, require_dense, weighted_coassociation
from coterie.numerics.partitions import Overlaps
from coterie.trust import ClusterVotes

# co-association between these bounds is ambiguous
AMBIGUOUS = (0.1, 0.9)
# steps of the grid of the CDF
GRID = 100
BLOCK = 512


@dataclass(frozen=True)
class Cuts:
    """Partitions into each number of clusters, of all members and of halves of the members.

    The whole ensemble and each half give a dendrogram, and each dendrogram a partition at every k.

    Attributes
    ----------
    ensemble : Ensemble
    ks : ndarray, shape (K,)
        Numbers of clusters, from 2 to the number of microclusters.
    lifetimes : ndarray, shape (N - 1,)
        How long 2, 3, ... N clusters last in the whole ensemble's dendrogram.
    partitions : ndarray, shape (K, N)
        Cluster of each microcluster: cuts of that dendrogram, or the partitions of a solver.
    halves : ndarray, shape (2 B, K, N)
        Partitions of B pairs of halves that share no member, the two of a pair next to each other;
        -1 for a microcluster that no member of the half labelled.
    memory_budget : int, str or None
    """

    ensemble: Ensemble
    ks: IntArray
    lifetimes: FloatArray
    partitions: IntArray
    halves: IntArray
    memory_budget: Budget = None

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        ks: IntArray,
        splits: Iterable[IntArray],
        *,
        partitions: IntArray | None = None,
        n_jobs: int | None = None,
        memory_budget: Budget = None,
        step: Callable[[], None] = lambda: None,
    ) -> Cuts:
        """Make the dendrograms and cut them.

        Parameters
        ----------
        ensemble : Ensemble
            With its members in canonical order.
        ks : ndarray
        splits : arrays of m member positions
            The first half of each is compared with the second.
        partitions : ndarray, shape (K, N), optional
            Partitions of a solver, used instead of cuts of the ensemble's dendrogram.
        n_jobs : int or None
        memory_budget : int, str or None
        step : callable, optional
            Called after each dendrogram.
        """
        lifetimes, cut = _cuts(ensemble, ks, memory_budget)
        step()
        members = [
            np.sort(half)
            for order in splits
            for half in (order[: len(order) // 2], order[len(order) // 2 : 2 * (len(order) // 2)])
            if len(half)
        ]
        halves = np.empty((len(members), len(ks), ensemble.n_microclusters), dtype=np.int64)
        jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        tasks = (
            delayed(_cuts_of_seen)(ensemble.reorder_members(half), ks, memory_budget)
            for half in members
        )
        for i, labels in enumerate(jobs(tasks)):
            halves[i] = labels
            step()
        partitions = cut if partitions is None else partitions
        return cls(ensemble, ks, lifetimes, partitions, halves, memory_budget)

    @cached_property
    def of_halves(self) -> list[Ensemble]:
        """At each k, the ensemble whose members are the partitions of all halves."""
        return [
            Ensemble.from_labels(self.halves[:, i].T, sample_weight=self.ensemble.sizes)
            for i in range(len(self.ks))
        ]

    @cached_property
    def distributions(self) -> tuple[FloatArray, FloatArray]:
        """At each k, the CDF of the co-association of the halves, K x (GRID + 1), and the PAC."""
        by_k = [_distribution(halves, self.memory_budget) for halves in self.of_halves]
        return np.array([cdf for cdf, _ in by_k]), np.array([pac for _, pac in by_k])

    @cached_property
    def against_members(self) -> tuple[FloatArray, FloatArray]:
        """Crossing and ANMI of the partition at each k."""
        values = np.array([against_members(self.ensemble, labels) for labels in self.partitions])
        return values[:, 0], values[:, 1]


# ---------------------------------------------------------------------- the measures


def stability(cuts: Cuts) -> FloatArray:
    """Mean ARI of the partitions of the two halves of each split."""
    first, second = cuts.halves[0::2], cuts.halves[1::2]
    by_k = [
        Overlaps.of_labels(first[:, i], second[:, i], cuts.ensemble.sizes).ari()
        for i in range(len(cuts.ks))
    ]
    # the ARI of halves without a common sample is NaN and counts as 0
    return np.nan_to_num(by_k).mean(axis=1)


def cophenetic(cuts: Cuts) -> FloatArray:
    """Cophenetic correlation of the consensus of the halves at each k."""
    return np.array(
        [
            cophenetic_correlation(halves, memory_budget=cuts.memory_budget)
            for halves in cuts.of_halves
        ]
    )


def delta_area(cuts: Cuts) -> FloatArray:
    """Relative growth of the area under the CDF with k."""
    return areas_gained(cuts.distributions[0][:, :-1].mean(axis=1))


def areas_gained(area: FloatArray) -> FloatArray:
    """Relative growth of the area under the CDF with k; the first entry is the area itself."""
    gained = area.copy()
    best = np.maximum.accumulate(area)[:-1]
    gained[1:] = np.divide(area[1:] - best, best, out=np.zeros(len(best)), where=best > 0)
    return gained


def against_members(ensemble: Ensemble, labels: IntArray) -> tuple[float, float]:
    """Crossing and ANMI of a partition of the microclusters.

    A member's cluster that lies inside a cluster of the partition, or is a union of its clusters, agrees
    with the partition at another resolution. A member's cluster that holds parts of several clusters
    does not agree: with n_ca samples in both member cluster c and cluster a, the member crosses the
    partition by sum n_ca (1 - max(n_ca / n_c, n_ca / n_a)) / n. Crossing is the sum of this over
    members, divided by its value for independent labels with the same cluster sizes: 0 means nested, 1
    means as by chance, and NaN means that nothing can cross. ANMI is the mean normalised mutual
    information of the partition with the members.
    """
    tables = ClusterVotes.of_microclusters(ensemble, labels).overlap
    overlaps = Overlaps.of_tables(tables, ensemble.cluster_offsets)
    influence, totals, table = ensemble.member_weight, overlaps.totals, overlaps.table
    nested = np.maximum(
        overlaps.weight / overlaps.row_sizes[overlaps.row],
        overlaps.weight / overlaps.column_sizes[overlaps.column],
    )
    crossed = overlaps.weight * (1 - nested) @ (influence / totals)[table]
    # independent labels: the share of a pair of clusters is the product of their shares
    own = (overlaps.row_sizes / totals[overlaps.row_table])[:, None]
    sizes = np.add.reduceat(tables.toarray(), ensemble.cluster_starts, axis=0)
    others = (sizes / totals[:, None])[overlaps.row_table]
    by_chance = (own * others * (1 - np.maximum(own, others))).sum(axis=1)
    expected = float(by_chance @ influence[overlaps.row_table])
    crossing = float(crossed) / expected if expected > 1e-12 else np.nan
    return crossing, float(np.average(overlaps.nmi(), weights=influence))


def eigengaps(ensemble: Ensemble, ks: IntArray, memory_budget: Budget = None) -> FloatArray:
    """Gap between the k-th and the next smallest eigenvalue of the normalised Laplacian.

    In the graph of samples, the weight of an edge is the total weight of the members that put its two
    samples together. With Z the scaled incidence of microclusters and base clusters, I minus the
    Laplacian is Z Z'. Z' Z has the same non-zero eigenvalues, so the smaller of the two matrices is
    formed. NaN at k = N, where there is no next eigenvalue.
    """
    root = np.sqrt(ensemble.sizes)
    per_cluster = ensemble.weight_of_cluster
    degree = ensemble.incidence @ (per_cluster * ensemble.cluster_sizes)
    scale = np.divide(root, np.sqrt(degree), out=np.zeros_like(root), where=degree > 0)
    n, k = ensemble.n_microclusters, ensemble.n_base_clusters
    if k <= n:
        scaled = ensemble.incidence.multiply(scale[:, None]).tocsr()
        scaled = scaled.multiply(np.sqrt(per_cluster)[None, :]).tocsr()
        matrix = np.asarray((scaled.T @ scaled).toarray())
    else:
        require_dense(ensemble, 16, "The eigenvalues of the Laplacian", memory_budget)
        matrix = weighted_coassociation(
            ensemble, ensemble.member_weight, memory_budget=memory_budget
        )
        matrix *= scale[:, None]
        matrix *= scale[None, :]
    wanted = min(int(ks.max()) + 1, len(matrix))
    with one_blas_thread():
        top = linalg.eigh(
            matrix,
            eigvals_only=True,
            subset_by_index=(len(matrix) - wanted, len(matrix) - 1),
            overwrite_a=True,
            check_finite=False,
        )[::-1]
    values = np.concatenate([np.clip(top, 0.0, 1.0), np.zeros(max(0, int(ks.max()) + 1 - wanted))])
    gaps = values[ks - 1] - values[ks]
    return np.where(ks < n, np.round(gaps, 12), np.nan)


# ---------------------------------------------------------------------- the records


@dataclass(frozen=True)
class Criterion:
    """One way to describe the partition at each number of clusters.

    Attributes
    ----------
    measure : callable
        From :class:`Cuts` to one value per k.
    words : str
        Its name in sentences.
    short : str
        Its heading in a narrow table.
    title : str
        Its heading in the report.
    meaning : str
        What it says and which values are better, for the report.
    higher_is_better : bool
    compares_halves : bool
        Whether it needs partitions of halves of the members, and so at least two members.
    """

    measure: Callable[[Cuts], FloatArray]
    words: str
    short: str
    title: str
    meaning: str
    higher_is_better: bool = True
    compares_halves: bool = False


# by their names in ``select_k(criteria=...)`` and ``Selection.criteria``
CRITERIA: dict[str, Criterion] = {
    "stability": Criterion(
        measure=stability,
        words="stability",
        short="stabil.",
        title="Stability of halves",
        meaning="agreement of consensus partitions of two random halves of the members; more is "
        "better",
        compares_halves=True,
    ),
    "crossing": Criterion(
        measure=lambda cuts: cuts.against_members[0],
        words="crossing",
        short="cross.",
        title="Crossing members",
        meaning="how much members’ clusters cut across the partition; less is better",
        higher_is_better=False,
    ),
    "pac": Criterion(
        measure=lambda cuts: cuts.distributions[1],
        words="PAC",
        short="PAC",
        title="Ambiguous pairs (PAC)",
        meaning="share of pairs that are neither always nor never together; less is better, and "
        "it tends to favour large k",
        higher_is_better=False,
        compares_halves=True,
    ),
    "cophenetic": Criterion(
        measure=cophenetic,
        words="cophenetic correlation",
        short="coph.",
        title="Cophenetic correlation",
        meaning="how well a dendrogram reproduces the co-association; more is better",
        compares_halves=True,
    ),
    "delta_area": Criterion(
        measure=delta_area,
        words="delta area",
        short="d.area",
        title="Gain in CDF area",
        meaning="how much the area under the CDF grows with one more cluster",
        compares_halves=True,
    ),
    "eigengap": Criterion(
        measure=lambda cuts: eigengaps(cuts.ensemble, cuts.ks, cuts.memory_budget),
        words="eigengap",
        short="e.gap",
        title="Eigengap",
        meaning="gap after the k-th eigenvalue of the evidence’s Laplacian; more is better",
    ),
    "lifetime": Criterion(
        measure=lambda cuts: cuts.lifetimes[cuts.ks - 2],
        words="lifetime",
        short="lifet.",
        title="Lifetime",
        meaning="how long k clusters last in the dendrogram; more is better",
    ),
    "anmi": Criterion(
        measure=lambda cuts: cuts.against_members[1],
        words="ANMI",
        short="ANMI",
        title="Agreement (ANMI)",
        meaning="mean agreement of the partition with the members; more is better",
    ),
}


# ---------------------------------------------------------------------- the steps of Cuts


def _cuts(ensemble: Ensemble, ks: IntArray, memory_budget: Budget) -> tuple[FloatArray, IntArray]:
    """Lifetimes in the average-link dendrogram, and its partition at each k."""
    from coterie.numerics.linkage import weighted_linkage

    dissimilarity = coassociation(ensemble, memory_budget=memory_budget)
    np.subtract(1.0, dissimilarity, out=dissimilarity)
    dendrogram = weighted_linkage(dissimilarity, ensemble.sizes, overwrite=True)
    return dendrogram.lifetimes(), np.stack([dendrogram.cut(int(k)) for k in ks])


def _cuts_of_seen(half: Ensemble, ks: IntArray, memory_budget: Budget) -> IntArray:
    """The partitions of the microclusters that a half of the members labelled; -1 for the others."""
    seen = np.asarray(half.observed.any(axis=1))
    if seen.all():
        return _cuts(half, ks, memory_budget)[1]
    labels = np.full((len(ks), len(seen)), -1, dtype=np.int64)
    if seen.any():
        known = replace(
            half,
            labels=half.labels[seen],
            weights=half.weights[seen],
            inverse=np.arange(seen.sum(), dtype=np.int32),
            sample_weight=None,
            sample_ids=None,
        )
        labels[:, seen] = _cuts(known, np.minimum(ks, seen.sum()), memory_budget)[1]
    return labels


def _distribution(ensemble: Ensemble, memory_budget: Budget) -> tuple[FloatArray, float]:
    """Share of the pairs of samples with co-association up to 0, 1 / GRID, ..., 1; and the PAC."""
    weights = ensemble.sizes
    together = coassociation(ensemble, memory_budget=memory_budget)
    counts = np.zeros(GRID + 1)
    for begin in range(0, len(weights), BLOCK):
        rows = slice(begin, begin + BLOCK)
        levels = np.ceil(together[rows] * GRID - 1e-9).astype(np.int64)
        pairs = np.multiply.outer(weights[rows], weights)
        counts += np.bincount(levels.ravel(), weights=pairs.ravel(), minlength=GRID + 1)
    # the pairs of a sample with itself
    counts[-1] -= weights.sum()
    total = counts.sum()
    if total <= 0:
        return np.ones(GRID + 1), 0.0
    return np.cumsum(counts) / total, ambiguous_share(together, weights, *AMBIGUOUS)
