"""What every question of trust is answered from: how base clusters spread over the partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import require
from coterie.ensemble import Ensemble, require_ensemble

# memberships computed at a time when only own and rival are wanted
BLOCK_VALUES = 4_000_000
# how much loose attachment counts beside the votes; benchmarks/confidence.py weighs it
ATTACHMENT_POWER = 0.25


@dataclass(frozen=True, eq=False)
class ClusterVotes:
    """How each base cluster spreads over the clusters of a partition.

    A member votes for a sample by the company that it puts it in: of the base cluster of the
    sample, the share that belongs to each consensus cluster. The mean over the members that
    labelled the sample is its soft label.

    Attributes
    ----------
    ensemble : Ensemble
    labels : ndarray, shape (N,)
        Cluster of each microcluster.
    n_clusters : int
    overlap : csr_array, shape (k, c)
        Weight that each base cluster shares with each cluster.
    shares : csr_array, shape (k, c)
        The same as a share of the base cluster.
    """

    ensemble: Ensemble
    labels: NDArray[np.int64]
    n_clusters: int
    overlap: sparse.csr_array
    shares: sparse.csr_array

    @classmethod
    def of(cls, ensemble: Ensemble, labels: Any) -> ClusterVotes:
        """From labels of the samples, 0 .. c - 1, equal within each microcluster."""
        require_ensemble(ensemble)
        given = np.asarray(labels)
        if given.shape != (ensemble.n_samples,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"labels must be one whole number for each of the {ensemble.n_samples} samples, "
                f"but is an array of {given.dtype} of shape {given.shape}"
            )
        by_row = np.empty(ensemble.n_microclusters, dtype=np.int64)
        by_row[ensemble.inverse] = given
        torn = by_row[ensemble.inverse] != given
        if torn.any():
            raise ValueError(
                f"labels differ between samples that no member tells apart (row "
                f"{int(np.argmax(torn))}); give the labels of a partition of this ensemble"
            )
        if given.min() < 0 or len(np.unique(by_row)) != by_row.max() + 1:
            raise ValueError("labels must be numbered 0 .. c - 1 without gaps")
        return cls.of_microclusters(ensemble, by_row)

    @classmethod
    def of_microclusters(cls, ensemble: Ensemble, labels: NDArray[np.int64]) -> ClusterVotes:
        """From labels of the microclusters, 0 .. c - 1."""
        n_clusters = int(labels.max()) + 1
        size = ensemble.n_microclusters
        chosen = sparse.csr_array(
            (ensemble.sizes, (np.arange(size), labels)),
            shape=(size, n_clusters),
        )
        overlap = sparse.csr_array(ensemble.incidence.T @ chosen)
        overlap.sort_indices()
        shares = overlap.copy()
        shares.data /= np.repeat(ensemble.cluster_sizes, np.diff(overlap.indptr))
        return cls(ensemble, labels, n_clusters, overlap, shares)

    def soft(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Soft labels of all or some microclusters; uniform where no member says anything."""
        size = self.ensemble.n_microclusters if rows is None else len(rows)
        require(
            8 * size * self.n_clusters,
            f"Soft labels of {size:,} label rows in {self.n_clusters:,} clusters",
            "Ask for fewer clusters.",
        )
        return np.concatenate([block for _, block in self._blocks(rows)])

    def standing(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Per microcluster: membership in its own cluster, in the next best, and which that is."""
        size = self.ensemble.n_microclusters
        own, rival = np.empty(size), np.zeros(size)
        which = np.full(size, -1, dtype=np.int64)
        for rows, soft in self._blocks(None):
            here = np.arange(len(rows))
            own[rows] = soft[here, self.labels[rows]]
            if self.n_clusters > 1:
                soft[here, self.labels[rows]] = -1.0
                which[rows] = soft.argmax(axis=1)
                rival[rows] = soft[here, which[rows]]
        return own, rival, which

    @cached_property
    def cohesion(self) -> NDArray[np.float64]:
        """Mean co-association of each microcluster with its own cluster, itself included.

        Of all (member, sample of the cluster) in which the member labelled both, the weighted share
        that it puts together; 0 where no member labelled the microcluster.
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
            entries = slice(overlap.indptr[starts[j]], overlap.indptr[starts[j + 1]])
            company = overlap.data[entries]
            labelled = np.bincount(overlap.indices[entries], company, self.n_clusters)
            weight = ensemble.member_weight[j]
            together[rows] += weight * company[np.searchsorted(pairs[entries], wanted)]
            seen[rows] += weight * labelled[own]
        return np.divide(together, seen, out=together, where=seen > 0)

    @cached_property
    def attachment(self) -> NDArray[np.float64]:
        """Cohesion of each microcluster over the median of all samples with a label, at most 1."""
        known = self.cohesion > 0
        if not known.any():
            return self.cohesion
        usual = lower_median(self.cohesion[known], self.ensemble.weights[known])
        return np.minimum(self.cohesion / usual, 1.0)

    def confidence(self) -> NDArray[np.float64]:
        """Per microcluster, from 0 to 1: its lead over the rival, less where it is attached loosely."""
        own, rival, _ = self.standing()
        return self.confidence_of(own, rival)

    def confidence_of(
        self,
        own: NDArray[np.float64],
        rival: NDArray[np.float64],
        rows: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float64]:
        """The confidence that follows from :meth:`standing` of all or some microclusters."""
        attachment = self.attachment if rows is None else self.attachment[rows]
        # one cluster has no rival, and how firmly samples hang together is no doubt about it
        return lead_of(own, rival) * (
            attachment**ATTACHMENT_POWER if self.n_clusters > 1 else attachment > 0
        )

    def _blocks(
        self, rows: NDArray[np.int64] | None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        incidence, shares, said = self._canonical
        chosen = np.arange(self.ensemble.n_microclusters) if rows is None else rows
        step = max(1, BLOCK_VALUES // self.n_clusters)
        for begin in range(0, len(chosen), step):
            block = chosen[begin : begin + step]
            total = incidence[block] @ shares
            soft = np.asarray(total.toarray() if sparse.issparse(total) else total)
            blank = said[block] == 0
            soft[blank] = 1.0
            soft /= np.where(blank, self.n_clusters, said[block])[:, None]
            yield block, soft

    @cached_property
    def _member_order(self) -> list[int]:
        """Members in the order in which all sums run.

        So no permutation of the members can change the last digit of a confidence.
        """
        return self.ensemble.canonical_member_order.tolist()

    @cached_property
    def _canonical(self) -> tuple[sparse.csr_array, Any, NDArray[np.float64]]:
        """Incidence, weighted shares and weight of the members that speak, in canonical order.

        Products with them add up a row from left to right.
        """
        ensemble, order = self.ensemble, self._member_order
        starts = ensemble.cluster_offsets
        columns = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in order])
        weight = ensemble.weight_of_cluster
        shares = sparse.csr_array(self.shares[columns].multiply(weight[columns][:, None]))
        said = np.zeros(ensemble.n_microclusters)
        for j in order:
            said[ensemble.labels[:, j] >= 0] += ensemble.member_weight[j]
        few = ensemble.n_base_clusters * self.n_clusters <= BLOCK_VALUES
        return (
            ensemble.reorder_members(np.array(order)).incidence,
            shares.toarray() if few else shares,
            said,
        )


def lead_of(own: NDArray[np.float64], rival: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the own cluster's votes are ahead: one minus the rival's over them, not below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.trust.votes import lead_of
    >>> lead_of(np.array([0.8, 0.4]), np.array([0.2, 0.6])).tolist()
    [0.75, 0.0]
    """
    relative = np.divide(rival, own, out=np.ones_like(own), where=own > 0)
    return np.clip(1.0 - relative, 0.0, 1.0)


def lower_median(values: NDArray[np.float64], weights: NDArray[Any]) -> float:
    """The smallest of the values up to which they have half of the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.trust.votes import lower_median
    >>> lower_median(np.array([0.9, 0.5, 0.1]), np.array([1, 1, 2])), lower_median(
    ...     np.array([0.9, 0.5, 0.1]), np.array([1, 2, 2]))
    (0.1, 0.5)
    """
    order = np.lexsort((weights, values))
    upto = np.cumsum(weights[order])
    # sums of float weights that are equal may differ in their last digits
    half = upto[-1] / 2 * (1 - 1e-12)
    return float(values[order[np.searchsorted(upto, half)]])
