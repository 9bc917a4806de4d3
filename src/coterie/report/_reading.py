"""What the page reads off a result, computed once: values per microcluster, tables, pairs of members."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.ensemble import Ensemble
from coterie.report._blocks import Blocks, leaves, mean_coassociation
from coterie.report._merged import Merged, merged_clusters
from coterie.trust import ClusterVotes, member_agreement

if TYPE_CHECKING:
    from coterie.core.tables import Table
    from coterie.result import Result

BINS = 20
# members in the picture of how they agree
AGREEMENT_MEMBERS = 120
# clusters in the table of means between clusters
BETWEEN_CLUSTERS = 25
# points of the map
POINTS = 5000


@dataclass(frozen=True)
class Reading:
    """A result and what the page says about it."""

    result: Result

    @property
    def ensemble(self) -> Ensemble:
        """The members' labels."""
        return self.result.ensemble

    @cached_property
    def counts(self) -> NDArray[Any]:
        """How many samples each entry of the result stands for: its weight, else one."""
        return self.ensemble.sample_counts

    @property
    def n(self) -> int | float:
        """How many samples the result stands for."""
        return self.ensemble.total_count

    @property
    def weighted(self) -> bool:
        """Whether samples have weights, and are counted by them."""
        return self.ensemble.sample_weight is not None

    @cached_property
    def median_confidence(self) -> float:
        """Median confidence of all samples."""
        return weighted_median(self.result.sample_confidence, self.counts)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """A sample of each microcluster, shape (N,)."""
        return np.unique(self.ensemble.inverse, return_index=True)[1]

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Cluster of each microcluster, shape (N,)."""
        return self.result.labels[self.first].astype(np.int64)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Confidence of each microcluster, shape (N,)."""
        return self.result.sample_confidence[self.first]

    @cached_property
    def votes(self) -> ClusterVotes:
        """How base clusters spread over the partition."""
        return self.result.cluster_votes

    @cached_property
    def clusters(self) -> Table:
        """One row a cluster."""
        return self.result.diagnose_clusters()

    @cached_property
    def merged(self) -> list[Merged]:
        """Clusters that join what most members keep apart."""
        return merged_clusters(self.votes, self.clusters["nearest"])

    @cached_property
    def members(self) -> Table:
        """One row a member."""
        return self.result.diagnose_members()

    @cached_property
    def rivals(self) -> dict[str, NDArray[Any]]:
        """Rival and membership in the own and in the rival cluster, of each microcluster.

        With one cluster the rival is the cluster itself.
        """
        own, next_best, rival = self.votes.support
        rival = np.where(rival < 0, self.labels, rival)
        return {"rival": rival, "support": own, "rival_support": next_best}

    @cached_property
    def base_clusters(self) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[int, list[int]]]:
        """Cluster that each base cluster mostly belongs to, its share, and who else ties for it."""
        shares = self.votes.shares
        rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
        largest = np.maximum.reduceat(shares.data, shares.indptr[:-1])
        # sums of float weights that are equal may differ in their last digits
        best = shares.data >= largest[rows] * (1 - 1e-12)
        base, cluster = rows[best], shares.indices[best].astype(np.int64)
        first = np.r_[True, base[1:] != base[:-1]]
        ties: dict[int, list[int]] = {}
        for place in np.flatnonzero(~first).tolist():
            ties.setdefault(int(base[place]), []).append(int(cluster[place]))
        return cluster[first], largest, ties

    @cached_property
    def blocks(self) -> Blocks:
        """Samples in display order, in at most 300 blocks."""
        rivals = self.rivals
        lead = rivals["support"] - rivals["rival_support"]
        return Blocks.of(self.ensemble, self.labels, self.votes.overlap, rivals["rival"], lead)

    @cached_property
    def between(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The largest clusters and the mean co-association between them."""
        weight = self.clusters["share"]
        largest = np.sort(np.argsort(-weight, kind="stable")[:BETWEEN_CLUSTERS])
        inside = sparse.csr_array(self.votes.overlap.T)[largest]
        return largest, mean_coassociation(self.ensemble, inside)

    @cached_property
    def histograms(self) -> NDArray[Any]:
        """Samples per cluster and bin of confidence, c x 20."""
        place = np.minimum((self.result.sample_confidence * BINS).astype(np.int64), BINS - 1)
        flat = np.bincount(
            self.result.labels * BINS + place,
            weights=self.counts,
            minlength=self.result.n_clusters * BINS,
        )
        return self.ensemble.as_counts(flat).reshape(self.result.n_clusters, BINS)

    @cached_property
    def medians(self) -> NDArray[np.float64]:
        """Median confidence of each cluster."""
        order = np.lexsort((self.result.sample_confidence, self.result.labels))
        ends = np.cumsum(np.bincount(self.result.labels, minlength=self.result.n_clusters))
        parts = np.split(order, ends[:-1])
        confidence = self.result.sample_confidence
        return np.array([weighted_median(confidence[part], self.counts[part]) for part in parts])

    @cached_property
    def agreement(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Members in an order that puts like ones side by side, and NMI of each pair."""
        weight = self.result.member_weights
        kept = np.sort(np.argsort(-weight, kind="stable")[:AGREEMENT_MEMBERS])
        values = np.nan_to_num(member_agreement(self.ensemble.reorder_members(kept)))
        order = leaves(values, np.ones(len(kept)))
        return kept[order], values[np.ix_(order, order)]

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """Samples drawn on the map: all, or 5,000 by a fixed rule, each cluster by its share."""
        n = len(self.result.labels)
        if n <= POINTS:
            return np.arange(n)
        # multiples of the golden ratio modulo one are spread evenly, whatever the order of rows
        spread = np.arange(n, dtype=np.uint64) * np.uint64(2654435769) % np.uint64(2**32)
        sizes = np.bincount(self.result.labels, minlength=self.result.n_clusters)
        quota = np.maximum(np.floor(sizes / n * POINTS), 1).astype(np.int64)
        order = np.lexsort((spread, self.result.labels))
        starts = np.cumsum(sizes) - sizes
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n) - np.repeat(starts, sizes)
        return np.flatnonzero(rank < quota[self.result.labels])[:POINTS]


def weighted_median(values: NDArray[np.float64], counts: NDArray[Any]) -> float:
    """The median of values that stand for so many each; the mean of the middle two where they differ.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.report._reading import weighted_median
    >>> weighted_median(np.array([0.5, 0.1, 0.9]), np.array([1, 4, 1]))
    0.1
    """
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(counts[order])
    half = upto[-1] / 2
    low, high = np.searchsorted(upto, half), np.searchsorted(upto, half, side="right")
    found = values[order[[low, min(high, len(order) - 1)]]]
    return float(found.mean())
