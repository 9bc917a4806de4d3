"""The consensus matrix at the size of a screen: samples in a readable order, averaged in blocks.

Blocks hold equal weight within a cluster and never cross from one cluster into the next. The area of
a block in the picture is therefore proportional to its samples, and its value is the mean over all
their pairs. A microcluster on the edge of two blocks belongs to each in proportion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import memory_budget
from coterie.evidence.coassociation import coassociation, mean_coassociation
from coterie.plot.arrange import Spans, bin_weights, order_by_linkage, similarity_order
from coterie.trust import ClusterVotes

# rows of the picture; a screen does not show more
BLOCKS = 300
# with at most this many rows, the order inside a cluster comes from a dendrogram
DENDROGRAM_ROWS = 2000


@dataclass(frozen=True)
class Blocks:
    """Samples in display order, cut into blocks.

    Attributes
    ----------
    inside : csr_array, shape (B, N)
        Weight that each microcluster has in each block.
    cluster : ndarray, shape (B,)
        Cluster of each block; where clusters outnumber blocks, the one at its centre.
    order : str
        How samples are ordered inside a cluster, in words.
    """

    inside: sparse.csr_array
    cluster: NDArray[np.int64]
    order: str

    @classmethod
    def of(cls, votes: ClusterVotes, limit: int = BLOCKS) -> Blocks:
        """At most ``limit`` blocks of the votes' partition."""
        ensemble, labels = votes.ensemble, votes.labels
        order, description = _display_order(votes)
        spans = Spans(order, labels[order], ensemble.sizes[order])
        groups = spans.label
        # only whole weights say how many samples there are
        limit = min(
            limit, int(ensemble.total_count if ensemble.has_whole_weights else ensemble.n_samples)
        )
        if len(np.unique(groups)) > limit:
            groups = np.zeros_like(groups)
        starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
        totals = np.add.reduceat(spans.width, starts)
        ends = np.cumsum(totals)
        walls = [0.0]
        for end, total, count in zip(ends, totals, _apportion(totals, limit), strict=True):
            walls += np.linspace(end - total, end, count + 1)[1:].tolist()
        inside = bin_weights(spans, np.array(walls), len(order))
        centre = np.add(walls[1:], walls[:-1]) / 2
        at = np.minimum(np.searchsorted(spans.edges[1:], centre), len(order) - 1)
        return cls(inside, spans.label[at], description)


def _apportion(totals: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Blocks per cluster in proportion to its weight, by largest remainders, at least one each."""
    quota = totals / totals.sum() * count
    # a rounding error must not cost a cluster its last block
    seats = np.maximum(np.floor(quota + 1e-9), 1).astype(np.int64)
    spare = count - int(seats.sum())
    if spare > 0:
        ranked = np.argsort(-(quota - seats), kind="stable")
        seats[ranked[:spare]] += 1
    for _ in range(-spare):
        seats[np.argmax(np.where(seats > 1, seats - quota, -np.inf))] -= 1
    return seats


def _display_order(votes: ClusterVotes) -> tuple[NDArray[np.int64], str]:
    """Microclusters with similar clusters side by side and similar rows inside, and how in words."""
    ensemble, labels = votes.ensemble, votes.labels
    n = len(labels)
    rank = np.argsort(_order_of_clusters(votes))
    if n <= DENDROGRAM_ROWS and 24 * n * n <= memory_budget():
        spans = Spans(np.arange(n), rank[labels], ensemble.sizes)
        order = order_by_linkage(spans, coassociation(ensemble))
        return order, "by the average-link dendrogram of the co-association"
    own, rival_support, rival = votes.support
    # rows that lean to a cluster are drawn on the side of that cluster
    towards = rank[np.where(rival < 0, labels, rival)]
    return (
        np.lexsort((np.arange(n), rival_support - own, towards, rank[labels])),
        "by the next best cluster, then from sure to unsure",
    )


def _order_of_clusters(votes: ClusterVotes) -> NDArray[np.int64]:
    if not 3 <= votes.n_clusters <= DENDROGRAM_ROWS:
        return np.arange(votes.n_clusters)
    between = mean_coassociation(votes.ensemble, sparse.csr_array(votes.overlap.T))
    return similarity_order(between, np.asarray(votes.overlap.sum(axis=0), dtype=np.float64))
