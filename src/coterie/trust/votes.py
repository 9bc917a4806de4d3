"""Votes: how each member's clusters spread over a partition. Every diagnosis is computed from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import require
from coterie.core.errors import LabelError
from coterie.core.text import counted
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.contingency import MemberComparison, compare_members
from coterie.numerics.medians import weighted_median

# memberships per block, which bounds the memory of a pass over all microclusters
BLOCK_VALUES = 4_000_000
# exponent of the attachment in the confidence; benchmarks/confidence.py compares several
ATTACHMENT_POWER = 0.25


class Support(NamedTuple):
    """How well the votes support the cluster of each microcluster, and its rival.

    Attributes
    ----------
    own : ndarray, shape (N,)
        Membership in the microcluster's own cluster.
    rival : ndarray, shape (N,)
        Membership in the best other cluster, 0 where there is none.
    rival_cluster : ndarray, shape (N,)
        That other cluster, -1 where there is none.
    """

    own: NDArray[np.float64]
    rival: NDArray[np.float64]
    rival_cluster: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClusterVotes:
    """How each base cluster spreads over the clusters of a partition.

    The vote of a member for a sample is given by the base cluster that it puts the sample in: of the
    other samples of that base cluster, the share that belongs to each cluster of the partition. The
    mean over the members that put the sample with others is its soft label. A sample does not count in
    its own vote. The r samples of a microcluster of weight r count in each other's votes.

    Attributes
    ----------
    ensemble : Ensemble
    labels : ndarray, shape (N,)
        Cluster of each microcluster; -1 for one without any label, unless the user gave it a cluster.
    n_clusters : int
    overlap : csr_array, shape (k, c)
        Weight that each base cluster shares with each cluster.
    shares : csr_array, shape (k, c)
        The same, divided by the weight of the base cluster.
    agreement : float
        Factor of the confidence: the ``share`` of the verdict, or 1 to leave it out.
    reliable : bool
        Whether a sample may be called sure: false if the partition is not reliable.
    """

    ensemble: Ensemble
    labels: NDArray[np.int64]
    n_clusters: int
    overlap: sparse.csr_array
    shares: sparse.csr_array
    agreement: float = 1.0
    reliable: bool = True

    @classmethod
    def of(cls, ensemble: Ensemble, labels: Any) -> ClusterVotes:
        """The votes for a partition of the samples, with labels 0 .. c - 1.

        Labels must be equal within each microcluster. A sample without any label may have the label -1.
        """
        require_ensemble(ensemble)
        given = np.asarray(labels)
        if given.shape != (ensemble.n_samples,) or given.dtype.kind not in "iu":
            raise LabelError(
                f"labels must be one whole number for each of the {ensemble.n_samples} samples, "
                f"but is an array of {given.dtype} of shape {given.shape}"
            )
        by_row = np.empty(ensemble.n_microclusters, dtype=np.int64)
        by_row[ensemble.inverse] = given
        separated = by_row[ensemble.inverse] != given
        if separated.any():
            raise LabelError(
                "labels differ between samples that every member puts together (row "
                f"{int(np.argmax(separated))}); give the labels of a partition of this ensemble"
            )
        clusters = np.unique(by_row[ensemble.has_label | (by_row >= 0)])
        if by_row.min() < -1 or not np.array_equal(clusters, np.arange(len(clusters))):
            raise LabelError(
                "labels must be numbered 0 .. c - 1 without gaps, and -1 only where no member has a label"
            )
        return cls.of_microclusters(ensemble, by_row)

    @classmethod
    def of_microclusters(cls, ensemble: Ensemble, labels: NDArray[np.int64]) -> ClusterVotes:
        """The votes for a partition of the microclusters, with labels 0 .. c - 1; -1 is no label."""
        n_clusters = int(labels.max()) + 1
        rows = np.flatnonzero(labels >= 0)
        chosen = sparse.csr_array(
            (ensemble.sizes[rows], (rows, labels[rows])),
            shape=(ensemble.n_microclusters, n_clusters),
        )
        overlap = sparse.csr_array(ensemble.incidence.T @ chosen)
        overlap.sort_indices()
        shares = overlap.copy()
        shares.data /= np.repeat(ensemble.cluster_sizes, np.diff(overlap.indptr))
        return cls(ensemble, labels, n_clusters, overlap, shares)

    def remarks(self) -> list[str]:
        """How many samples are in no cluster, if any, in a sentence."""
        count = self.ensemble.as_counts(self.ensemble.sizes[self.labels < 0].sum()).item()
        if not count:
            return []
        stay = "stays" if count == 1 else "stay"
        return [
            f"{counted(count, 'sample')} without a label in any member {stay} without a cluster."
        ]

    def soft(self) -> NDArray[np.float64]:
        """Soft labels of the microclusters, N x c; uniform if no member puts one with other samples."""
        size = self.ensemble.n_microclusters
        require(
            8 * size * self.n_clusters,
            f"Soft labels of {size:,} label rows in {self.n_clusters:,} clusters",
            "Ask for fewer clusters.",
        )
        return np.concatenate([block for _, block in self._blocks()])

    def soft_row(self, row: int) -> NDArray[np.float64]:
        """Soft label of one microcluster, in time linear in the number of members."""
        ensemble, overlap, own = self.ensemble, self.overlap, self.labels[row]
        votes, weight = np.zeros(self.n_clusters), 0.0
        for j in self._member_order:
            code = ensemble.labels[row, j]
            if code < 0:
                continue
            base = ensemble.cluster_offsets[j] + code
            company = ensemble.cluster_sizes[base] - self.itself[row]
            if company > 0:
                entries = slice(overlap.indptr[base], overlap.indptr[base + 1])
                share = ensemble.member_weight[j] / company
                votes[overlap.indices[entries]] += overlap.data[entries] * share
                votes[own] -= self.itself[row] * share
                weight += ensemble.member_weight[j]
        return votes / weight if weight else np.full(self.n_clusters, 1 / self.n_clusters)

    @cached_property
    def itself(self) -> NDArray[np.float64]:
        """What a sample of each microcluster adds to the weight of its base clusters: at most one."""
        return np.minimum(self.ensemble.sizes, 1.0)

    @cached_property
    def support(self) -> Support:
        """Membership of each microcluster in its own cluster and in the best other one."""
        size = self.ensemble.n_microclusters
        own, rival = np.empty(size), np.zeros(size)
        rival_cluster = np.full(size, -1, dtype=np.int64)
        for rows, soft in self._blocks():
            here = np.arange(len(rows))
            own[rows] = soft[here, self.labels[rows]]
            if self.n_clusters > 1:
                soft[here, self.labels[rows]] = -1.0
                rival_cluster[rows] = soft.argmax(axis=1)
                rival[rows] = soft[here, rival_cluster[rows]]
        outside = self.labels < 0
        own[outside], rival[outside], rival_cluster[outside] = 0.0, 0.0, -1
        return Support(own, rival, rival_cluster)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over the microclusters of each cluster, shape (c,)."""
        inside = self.labels >= 0
        sums = np.bincount(self.labels[inside], weights=values[inside], minlength=self.n_clusters)
        return sums.astype(np.float64)

    @cached_property
    def member_comparison(self) -> MemberComparison:
        """How every two members compare; see :func:`coterie.evidence.contingency.compare_members`."""
        return compare_members(self.ensemble)

    @cached_property
    def labelled(self) -> NDArray[np.float64]:
        """Weight of each cluster that each member labelled, m x c."""
        k, m = self.ensemble.n_base_clusters, self.ensemble.n_members
        members = sparse.csr_array(
            (np.ones(k), np.arange(k), self.ensemble.cluster_offsets), shape=(m, k)
        )
        return np.asarray((members @ self.overlap).toarray())

    @cached_property
    def cohesion(self) -> NDArray[np.float64]:
        """Mean co-association of each microcluster with the other samples of its own cluster.

        Of the (member, other sample of the cluster) pairs in which the member labelled both, the
        weighted share in which it puts them together; 0 if there are none.
        """
        ensemble, overlap = self.ensemble, self.overlap
        starts = ensemble.cluster_offsets
        base = np.repeat(np.arange(ensemble.n_base_clusters), np.diff(overlap.indptr))
        pairs = base * self.n_clusters + overlap.indices
        together, seen = np.zeros((2, ensemble.n_microclusters))
        for j in self._member_order:
            rows = np.flatnonzero(ensemble.labels[:, j] >= 0)
            own = self.labels[rows]
            codes = ensemble.labels[rows, j].astype(np.int64)
            wanted = (starts[j] + codes) * self.n_clusters + own
            weight = ensemble.member_weight[j]
            others = overlap.data[np.searchsorted(pairs, wanted)] - self.itself[rows]
            together[rows] += weight * np.maximum(others, 0.0)
            seen[rows] += weight * np.maximum(self.labelled[j, own] - self.itself[rows], 0.0)
        return np.divide(together, seen, out=np.zeros_like(seen), where=seen > 0)

    @cached_property
    def attachment(self) -> NDArray[np.float64]:
        """How often all members put each microcluster with its cluster, over the median, at most 1.

        Its cohesion times the weight of the members that labelled it, because the others put it
        nowhere. Samples that are never put with their cluster do not count in the median.
        """
        often = self.cohesion * self._labelled_by
        known = often > 0
        if not known.any():
            return often
        typical = weighted_median(often[known], self.ensemble.weights[known], lower=True)
        return np.minimum(often / typical, 1.0)

    @cached_property
    def lead(self) -> NDArray[np.float64]:
        """Lead of each microcluster's own cluster over the rival, from 0 to 1: 1 - rival / own."""
        own, rival, _ = self.support
        relative = np.divide(rival, own, out=np.ones_like(own), where=own > 0)
        return np.clip(1.0 - relative, 0.0, 1.0)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Confidence of each microcluster, from 0 to 1: that of the votes, times ``agreement``."""
        return self.confidence_of_votes * self.agreement

    @cached_property
    def confidence_of_votes(self) -> NDArray[np.float64]:
        """Lead of each microcluster, lowered by loose attachment."""
        # a single cluster has no rival, so loose attachment does not lower its confidence
        attached = (
            self.attachment**ATTACHMENT_POWER if self.n_clusters > 1 else self._labelled_by > 0
        )
        return self.lead * attached

    def judged(self, agreement: float, reliable: bool) -> ClusterVotes:
        """The same votes, with the confidence multiplied by the ``share`` of the verdict."""
        votes = replace(self, agreement=agreement, reliable=reliable)
        for name, value in vars(self).items():
            if name != "confidence":
                # reuse the cached values that do not depend on the agreement
                votes.__dict__.setdefault(name, value)
        return votes

    def _blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Rows and soft labels of the microclusters, block by block."""
        company, overlap, weight = self._canonical()
        step = max(1, BLOCK_VALUES // self.n_clusters)
        for begin in range(0, self.ensemble.n_microclusters, step):
            block = np.arange(begin, min(begin + step, self.ensemble.n_microclusters))
            part = company[block]
            total = part @ overlap
            soft = np.asarray(total.toarray() if sparse.issparse(total) else total)
            own = np.arange(len(block)), self.labels[block]
            soft[own] = np.maximum(soft[own] - self.itself[block] * part.sum(axis=1), 0.0)
            alone = weight[block] == 0
            soft[alone] = 1.0
            soft /= np.where(alone, self.n_clusters, weight[block])[:, None]
            yield block, soft

    @cached_property
    def _member_order(self) -> list[int]:
        """Canonical order of the members, in which all sums run.

        No permutation of the members can then change the last digit of a confidence.
        """
        return self.ensemble.canonical_member_order.tolist()

    @cached_property
    def _labelled_by(self) -> NDArray[np.float64]:
        """Weight of the members that labelled each microcluster."""
        return self._sum_over_members(self.ensemble.observed)

    def _sum_over_members(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Weight of the chosen members of each microcluster, from an N x m mask."""
        weight = np.zeros(len(chosen))
        for j in self._member_order:
            weight[chosen[:, j]] += self.ensemble.member_weight[j]
        return weight

    def _canonical(self) -> tuple[sparse.csr_array, Any, NDArray[np.float64]]:
        """Base clusters of each microcluster in canonical order, their overlaps with the clusters, and
        the weight of the members that put it with other samples.

        An entry of the first is the weight of the member divided by the weight of these other samples.
        Products with it add up each row from left to right. Not kept: it is as large as the ensemble.
        """
        ensemble, order = self.ensemble, np.array(self._member_order)
        starts = ensemble.cluster_offsets
        columns = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in order])
        ordered = ensemble.reorder_members(order)
        company = ordered.incidence.copy()
        others = ensemble.cluster_sizes[columns][company.indices]
        others -= np.repeat(self.itself, np.diff(company.indptr))
        weight = ensemble.weight_of_cluster[columns][company.indices]
        company.data = np.divide(weight, others, out=np.zeros_like(weight), where=others > 0)
        has_company = np.zeros(ensemble.labels.shape, dtype=np.bool_)
        rows, positions = np.nonzero(ordered.observed)
        has_company[rows, order[positions]] = others > 0
        overlap = sparse.csr_array(self.overlap[columns])
        is_small = ensemble.n_base_clusters * self.n_clusters <= BLOCK_VALUES
        return (
            company,
            overlap.toarray() if is_small else overlap,
            self._sum_over_members(has_company),
        )
