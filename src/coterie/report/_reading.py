"""What the page shows of a result, computed once: tables, blocks, medians."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import mean_coassociation
from coterie.numerics.medians import weighted_median
from coterie.plot.arrange import similarity_order
from coterie.report._matrix import Blocks
from coterie.trust import MemberVerdict

if TYPE_CHECKING:
    from coterie.core.tables import Table
    from coterie.profiles import ProfileSummary
    from coterie.result import Result

# bins of the histograms of confidence
BINS = 20
# clusters with a histogram; the least sure come first
HISTOGRAMS = 40
# members in the picture of how they agree
AGREEMENT_MEMBERS = 120
# clusters in the table of means between clusters
BETWEEN_CLUSTERS = 25
# points of the map
POINTS = 5000


@dataclass(frozen=True)
class Reading:
    """A result, and what the page shows of it.

    Attributes
    ----------
    result : Result
        Of the samples with a label in some member.
    left_out : int or float
        Number of other samples, which are in no cluster.
    """

    result: Result
    left_out: float = 0

    @cached_property
    def ensemble(self) -> Ensemble:
        """The members' labels."""
        return self.result.ensemble

    @cached_property
    def counts(self) -> NDArray[Any]:
        """How often each sample of the result counts: its weight, or one."""
        return self.ensemble.sample_counts

    @cached_property
    def weighted(self) -> bool:
        """Whether samples are counted by weight."""
        return self.ensemble.sample_weight is not None

    @property
    def profile(self) -> ProfileSummary | None:
        """What tells the clusters or groups apart; None without a table, or with nothing to compare."""
        compared = self.result.n_clusters > 1 or self.result.describes_groups
        return self.result.profile if compared else None

    @cached_property
    def truth_scores(self) -> dict[str, float] | None:
        """Scores against the known classes, where they are known for every sample."""
        if self.result.truth is None:
            return None
        from coterie.evaluate import scores

        try:
            return scores(self.result.truth, self.result.labels)
        except ValueError:
            return None

    @cached_property
    def reliable(self) -> bool:
        """Whether assignments may be called sure: the verdict does not advise against the partition."""
        return self.result.verdict is None or self.result.verdict.reliable

    @cached_property
    def median_confidence(self) -> float:
        """Median confidence of all samples."""
        return weighted_median(self.result.sample_confidence, self.counts)

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """Confidence of each microcluster, shape (N,)."""
        confidence = np.empty(self.ensemble.n_microclusters)
        confidence[self.ensemble.inverse] = self.result.sample_confidence
        return confidence

    @cached_property
    def clusters(self) -> Table:
        """One row per cluster."""
        return self.result.diagnose_clusters()

    @cached_property
    def members(self) -> Table:
        """One row per member."""
        return self.result.diagnose_members()

    @cached_property
    def member_verdict(self) -> str:
        """What to conclude from the table of members."""
        return str(MemberVerdict.of(self.members))

    @cached_property
    def base_clusters(self) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[int, list[int]]]:
        """Cluster that holds most of each base cluster, its share, and the clusters that tie with it."""
        shares = self.result.cluster_votes.shares
        rows = np.repeat(np.arange(shares.shape[0]), np.diff(shares.indptr))
        largest = np.maximum.reduceat(shares.data, shares.indptr[:-1])
        # equal sums of float weights may differ in their last digits
        best = shares.data >= largest[rows] * (1 - 1e-12)
        base, cluster = rows[best], shares.indices[best].astype(np.int64)
        first = np.r_[True, base[1:] != base[:-1]]
        ties: dict[int, list[int]] = {}
        for i in np.flatnonzero(~first).tolist():
            ties.setdefault(int(base[i]), []).append(int(cluster[i]))
        return cluster[first], largest, ties

    @cached_property
    def blocks(self) -> Blocks:
        """Samples in display order, in at most 300 blocks."""
        return Blocks.of(self.result.cluster_votes)

    @cached_property
    def between(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The largest clusters and the mean co-association between them."""
        weight = self.clusters["share"]
        largest = np.sort(np.argsort(-weight, kind="stable")[:BETWEEN_CLUSTERS])
        inside = sparse.csr_array(self.result.cluster_votes.overlap.T)[largest]
        return largest, mean_coassociation(self.ensemble, inside)

    @cached_property
    def histograms(self) -> NDArray[Any]:
        """Samples per cluster and bin of confidence, c x 20."""
        bins = np.minimum((self.result.sample_confidence * BINS).astype(np.int64), BINS - 1)
        shape = (self.result.n_clusters, BINS)
        return sparse.coo_array((self.counts, (self.result.labels, bins)), shape).toarray()

    @cached_property
    def histogram_clusters(self) -> list[int]:
        """Clusters whose confidence is drawn: all, or the least sure ones."""
        if self.result.n_clusters <= HISTOGRAMS:
            return list(range(self.result.n_clusters))
        return np.argsort(self.medians, kind="stable")[:HISTOGRAMS].tolist()

    @cached_property
    def medians(self) -> NDArray[np.float64]:
        """Median confidence of each cluster."""
        confidence, counts = self.result.sample_confidence, self.counts
        return np.array(
            [weighted_median(confidence[part], counts[part]) for part in self._parts(confidence)]
        )

    @cached_property
    def agreement(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Members in an order that puts similar ones side by side, and the NMI of each pair."""
        weight = self.result.member_weights
        kept = np.sort(np.argsort(-weight, kind="stable")[:AGREEMENT_MEMBERS])
        agreement = self.result.cluster_votes.member_comparison.agreement
        values = np.nan_to_num(agreement[np.ix_(kept, kept)])
        order = similarity_order(values, np.ones(len(kept)))
        return kept[order], values[np.ix_(order, order)]

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """Samples drawn on the map: all, or 5,000 by a fixed rule, each cluster in proportion."""
        n = len(self.result.labels)
        if n <= POINTS:
            return np.arange(n)
        # multiples of the golden ratio modulo one are spread evenly over any order of the rows
        spread = np.arange(n, dtype=np.uint64) * np.uint64(2654435769) % np.uint64(2**32)
        chosen = [part[: max(int(len(part) / n * POINTS), 1)] for part in self._parts(spread)]
        return np.sort(np.concatenate(chosen))[:POINTS]

    def _parts(self, key: NDArray[Any]) -> list[NDArray[np.int64]]:
        """The samples of each cluster, ordered by a key."""
        labels = self.result.labels
        ends = np.cumsum(np.bincount(labels, minlength=self.result.n_clusters))
        return np.split(np.lexsort((key, labels)), ends[:-1])
