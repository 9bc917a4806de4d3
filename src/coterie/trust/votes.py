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
from coterie.core.text import counted
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.contingency import member_agreements
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

    The vote of a member for a sample is given by the base cluster that it puts the sample in: the
    share of that base cluster that belongs to each cluster of the partition. The mean over the
    members that labelled the sample is its soft label.

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
        Factor of the confidence: the expected agreement of a second run, or 1 to leave it out.
    """

    ensemble: Ensemble
    labels: NDArray[np.int64]
    n_clusters: int
    overlap: sparse.csr_array
    shares: sparse.csr_array
    agreement: float = 1.0

    @classmethod
    def of(cls, ensemble: Ensemble, labels: Any) -> ClusterVotes:
        """The votes for a partition of the samples, with labels 0 .. c - 1.

        Labels must be equal within each microcluster. A sample without any label may have the label -1.
        """
        require_ensemble(ensemble)
        given = np.asarray(labels)
        if given.shape != (ensemble.n_samples,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"labels must be one whole number for each of the {ensemble.n_samples} samples, "
                f"but is an array of {given.dtype} of shape {given.shape}"
            )
        by_row = np.empty(ensemble.n_microclusters, dtype=np.int64)
        by_row[ensemble.inverse] = given
        separated = by_row[ensemble.inverse] != given
        if separated.any():
            raise ValueError(
                "labels differ between samples that every member puts together (row "
                f"{int(np.argmax(separated))}); give the labels of a partition of this ensemble"
            )
        clusters = np.unique(by_row[ensemble.has_label | (by_row >= 0)])
        if by_row.min() < -1 or not np.array_equal(clusters, np.arange(len(clusters))):
            raise ValueError(
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
        """Soft labels of the microclusters, N x c; uniform where no member labelled one."""
        size = self.ensemble.n_microclusters
        require(
            8 * size * self.n_clusters,
            f"Soft labels of {size:,} label rows in {self.n_clusters:,} clusters",
            "Ask for fewer clusters.",
        )
        return np.concatenate([block for _, block in self._blocks()])

    def soft_row(self, row: int) -> NDArray[np.float64]:
        """Soft label of one microcluster, in time linear in the number of members."""
        ensemble, shares = self.ensemble, self.shares
        votes, weight = np.zeros(self.n_clusters), 0.0
        for j in self._member_order:
            code = ensemble.labels[row, j]
            if code >= 0:
                base = ensemble.cluster_offsets[j] + code
                entries = slice(shares.indptr[base], shares.indptr[base + 1])
                votes[shares.indices[entries]] += shares.data[entries] * ensemble.member_weight[j]
                weight += ensemble.member_weight[j]
        return votes / weight if weight else np.full(self.n_clusters, 1 / self.n_clusters)

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
    def member_agreement(self) -> NDArray[np.float64]:
        """NMI of every pair of members, m x m; see :func:`coterie.trust.member_agreement`."""
        return member_agreements(self.ensemble)

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
        """Mean co-association of each microcluster with its own cluster, itself included.

        Of the (member, sample of the cluster) pairs in which the member labelled both the sample and
        the microcluster, the weighted share in which it puts them together; 0 if no member labelled
        the microcluster.
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
            together[rows] += weight * overlap.data[np.searchsorted(pairs, wanted)]
            seen[rows] += weight * self.labelled[j, own]
        return np.divide(together, seen, out=together, where=seen > 0)

    @cached_property
    def attachment(self) -> NDArray[np.float64]:
        """Cohesion of each microcluster divided by the median of all labelled samples, at most 1."""
        known = self.cohesion > 0
        if not known.any():
            return self.cohesion
        typical = weighted_median(self.cohesion[known], self.ensemble.weights[known], lower=True)
        return np.minimum(self.cohesion / typical, 1.0)

    @cached_property
    def lead(self) -> NDArray[np.float64]:
        """Lead of each microcluster's own cluster over the rival, from 0 to 1: 1 - rival / own."""
        own, rival, _ = self.support
        relative = np.divide(rival, own, out=np.ones_like(own), where=own > 0)
        return np.clip(1.0 - relative, 0.0, 1.0)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Confidence of each microcluster, from 0 to 1: its lead, lowered by loose attachment.

        It is also multiplied by ``agreement``.
        """
        # a single cluster has no rival, so loose attachment does not lower its confidence
        attached = self.attachment**ATTACHMENT_POWER if self.n_clusters > 1 else self.attachment > 0
        return self.lead * attached * self.agreement

    def lowered(self, agreement: float) -> ClusterVotes:
        """The same votes, with the confidence multiplied by the expected agreement."""
        votes = replace(self, agreement=agreement)
        for name, value in vars(self).items():
            if name != "confidence":
                # reuse the cached values that do not depend on the agreement
                votes.__dict__.setdefault(name, value)
        return votes

    def _blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Rows and soft labels of the microclusters, block by block."""
        incidence, shares, labelled = self._canonical()
        step = max(1, BLOCK_VALUES // self.n_clusters)
        for begin in range(0, self.ensemble.n_microclusters, step):
            block = np.arange(begin, min(begin + step, self.ensemble.n_microclusters))
            total = incidence[block] @ shares
            soft = np.asarray(total.toarray() if sparse.issparse(total) else total)
            blank = labelled[block] == 0
            soft[blank] = 1.0
            soft /= np.where(blank, self.n_clusters, labelled[block])[:, None]
            yield block, soft

    @cached_property
    def _member_order(self) -> list[int]:
        """Canonical order of the members, in which all sums run.

        No permutation of the members can then change the last digit of a confidence.
        """
        return self.ensemble.canonical_member_order.tolist()

    def _canonical(self) -> tuple[sparse.csr_array, Any, NDArray[np.float64]]:
        """Incidence and weighted shares in canonical order, and the weight of the labelling members.

        Products with these matrices add up each row from left to right. They are not cached, because
        they are as large as the ensemble.
        """
        ensemble, order = self.ensemble, self._member_order
        starts = ensemble.cluster_offsets
        columns = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in order])
        weight = ensemble.weight_of_cluster
        shares = sparse.csr_array(self.shares[columns].multiply(weight[columns][:, None]))
        labelled = np.zeros(ensemble.n_microclusters)
        for j in order:
            labelled[ensemble.labels[:, j] >= 0] += ensemble.member_weight[j]
        is_small = ensemble.n_base_clusters * self.n_clusters <= BLOCK_VALUES
        return (
            ensemble.reorder_members(np.array(order)).incidence,
            shares.toarray() if is_small else shares,
            labelled,
        )
