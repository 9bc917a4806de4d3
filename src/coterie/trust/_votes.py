"""What every question of trust is answered from: how base clusters spread over the partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie._budget import require
from coterie.ensemble import Ensemble

# memberships computed at a time when only own and rival are wanted
BLOCK_VALUES = 4_000_000


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
            (ensemble.weights.astype(np.float64), (np.arange(size), labels)),
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

    def confidence(self) -> NDArray[np.float64]:
        """Per microcluster: one minus the rival's membership over its own, 0 for blank ones."""
        own, rival, _ = self.standing()
        return self.confidence_of(own, rival)

    def confidence_of(
        self, own: NDArray[np.float64], rival: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The confidence that follows from :meth:`standing`."""
        relative = np.divide(rival, own, out=np.ones_like(own), where=own > 0)
        sure = np.clip(1.0 - relative, 0.0, 1.0)
        sure[(self.ensemble.labels < 0).all(axis=1)] = 0.0
        return sure

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
    def _canonical(self) -> tuple[sparse.csr_array, Any, NDArray[np.float64]]:
        """Incidence, weighted shares and weight of the members that speak, in canonical order.

        The products below add up a row from left to right, so that no permutation of the members
        can change the last digit of a confidence.
        """
        ensemble = self.ensemble
        order = ensemble.canonical_member_order()
        starts = ensemble.cluster_offsets
        columns = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in order.tolist()])
        weight = np.repeat(ensemble.member_weight, ensemble.n_clusters_per_member)
        shares = sparse.csr_array(self.shares[columns].multiply(weight[columns][:, None]))
        said = np.zeros(ensemble.n_microclusters)
        for j in order.tolist():
            said[ensemble.labels[:, j] >= 0] += ensemble.member_weight[j]
        few = ensemble.n_base_clusters * self.n_clusters <= BLOCK_VALUES
        return (
            ensemble.reorder_members(order).incidence,
            shares.toarray() if few else shares,
            said,
        )
