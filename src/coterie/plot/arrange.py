"""How a matrix of microclusters becomes a picture of samples: an order, bins of equal weight, means.

A microcluster of weight r stands for r samples, so it is r wide. The samples, laid out in order, are
cut into bins of equal weight; an entry of the picture is the mean of the matrix over all pairs of
samples of two bins. With one bin a sample this is the matrix itself, rows repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import Budget, require
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation, share
from coterie.evidence.support import cluster_support

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram


@dataclass(frozen=True)
class Spans:
    """Samples of one microcluster and one label, from left to right.

    Attributes
    ----------
    row : ndarray, shape (R,)
        Row of the matrix that each run shows.
    label : ndarray, shape (R,)
        Label code of each run; zeros without labels.
    width : ndarray, shape (R,)
        Total weight of its samples.
    """

    row: IntArray
    label: IntArray
    width: FloatArray

    @classmethod
    def of(cls, rows: NDArray[Any], labels: IntArray, weights: FloatArray) -> Spans:
        """From the row, the label and the weight of each sample (or of each row itself)."""
        span = int(labels.max()) + 1
        found, where = np.unique(rows.astype(np.int64) * span + labels, return_inverse=True)
        width: FloatArray = np.bincount(where.reshape(-1), weights=weights).astype(np.float64)
        return cls(found // span, found % span, width)

    def take(self, order: IntArray) -> Spans:
        """The runs in another order."""
        return Spans(self.row[order], self.label[order], self.width[order])

    @property
    def edges(self) -> FloatArray:
        """Where the runs begin, and the total weight at the end."""
        return np.concatenate([[0.0], np.cumsum(self.width)])


@dataclass(frozen=True)
class Arrangement:
    """The picture's data.

    Attributes
    ----------
    values : ndarray, shape (B, B)
        Mean of the matrix over the pairs of samples of two bins.
    runs : Spans
        What lies where along either axis.
    pooled : bool
        Whether a bin holds more than one sample.
    """

    values: FloatArray
    runs: Spans
    pooled: bool

    @property
    def total(self) -> float:
        """Weight of all samples."""
        return float(self.runs.edges[-1])


# ------------------------------------------------------------------ the order


def leaf_order(dendrogram: Dendrogram) -> IntArray:
    """Items from left to right under the dendrogram: every cluster is a run of neighbours.

    Of two merged groups the tighter one, which was joined at the lower height, comes first; the lower
    item where they tie.
    """
    n = len(dendrogram.sizes)
    groups: list[list[int]] = [[item] for item in range(n)]
    height = np.zeros(n)
    for (low, high), level in zip(dendrogram.pairs.tolist(), dendrogram.heights, strict=True):
        one, other = groups[low], groups[high]
        groups[low] = other + one if height[high] < height[low] else one + other
        height[low] = level
    return np.array(groups[0], dtype=np.int64)


def similarity_order(values: FloatArray, weights: FloatArray) -> IntArray:
    """Leaf order of average link on a symmetric similarity, rows being so heavy."""
    from coterie.numerics.linkage import weighted_linkage

    distance = float(values.max()) - values
    return leaf_order(weighted_linkage(distance, weights, "average", overwrite=True))


def order_by_dendrogram(runs: Spans, leaves: IntArray) -> IntArray:
    """The runs as the leaves lie, those of one microcluster by label."""
    place = np.argsort(leaves)
    return np.lexsort((runs.label, place[runs.row]))


def order_by_cluster(runs: Spans, values: FloatArray | None, ensemble: Ensemble | None) -> IntArray:
    """Label after label; inside a label by average link, or by support where there is no matrix."""
    if values is None:
        assert ensemble is not None
        micro = np.zeros(ensemble.n_microclusters, dtype=np.int64)
        # the label of a microcluster's heaviest run stands for it: it only decides an order
        light_first = np.argsort(runs.width, kind="stable")
        micro[runs.row[light_first]] = runs.label[light_first]
        support = cluster_support(ensemble, micro, int(runs.label.max()) + 1)
        own = support[runs.row, runs.label]
        return np.lexsort((runs.row, -own, runs.label))
    parts = []
    for label in np.unique(runs.label):
        inside = np.flatnonzero(runs.label == label)
        rows = runs.row[inside]
        parts.append(inside[similarity_order(values[np.ix_(rows, rows)], runs.width[inside])])
    return np.concatenate(parts)


# ------------------------------------------------------------------ bins and means


def bin_count(runs: Spans, n_rows: int, most: int) -> tuple[int, bool]:
    """Bins to draw, and whether they pool samples: one a sample if there are not too many."""
    total, width = float(runs.edges[-1]), runs.width
    whole = bool((width == np.rint(width)).all())
    if whole and total <= most:
        return round(total), False
    if len(width) == n_rows <= most and (width == width[0]).all():
        # rows of equal weight are bins of equal weight
        return n_rows, whole and width[0] > 1
    return most, True


def bin_shares(runs: Spans, bins: int, n_rows: int) -> sparse.csr_array:
    """Share of each bin's weight that each row of the matrix holds, bins x rows."""
    edges = runs.edges
    walls = np.linspace(0.0, edges[-1], bins + 1)
    cuts = np.union1d(edges, walls)
    # rounding may part a wall from the edge that it equals: such slivers weigh nothing
    middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    run = np.clip(np.searchsorted(edges, middle, side="right") - 1, 0, len(runs.row) - 1)
    bin_of = np.clip(np.searchsorted(walls, middle, side="right") - 1, 0, bins - 1)
    overlap = sparse.coo_array((length, (bin_of, runs.row[run])), shape=(bins, n_rows))
    table = sparse.csr_array(overlap)
    scale = sparse.dia_array((1.0 / np.asarray(table.sum(axis=1))[None], [0]), shape=(bins, bins))
    return sparse.csr_array(scale @ table)


def block_means(values: FloatArray, shares: sparse.csr_array) -> FloatArray:
    """Mean of the matrix over the pairs of two bins."""
    return np.asarray(shares @ np.asarray(shares @ values).T).T


def pooled_coassociation(
    ensemble: Ensemble, shares: sparse.csr_array, budget: Budget = None
) -> FloatArray:
    """Co-association between bins without the matrix of microclusters.

    Of all (member, pair of samples of the two bins) in which the member saw both, the weighted share
    that it put together. For complete labels this is the mean of the co-association.
    """
    bins = shares.shape[0]
    require(
        8.0 * bins * (2 * ensemble.n_base_clusters + 3 * bins),
        f"A picture of {bins:,} bins and {ensemble.n_base_clusters:,} base clusters",
        "Ask for fewer rows.",
        budget,
    )
    inside = np.asarray((shares @ ensemble.incidence).toarray())
    weight = ensemble.member_weight
    together = (inside * ensemble.weight_of_cluster) @ inside.T
    if ensemble.is_complete:
        return together / weight.sum()
    observed = np.asarray(shares @ ensemble.observed.astype(np.float64))
    return share(together, (observed * weight) @ observed.T)


# ------------------------------------------------------------------ all of it


def arrange(
    values: FloatArray | None,
    ensemble: Ensemble | None,
    runs: Spans,
    order: str,
    *,
    dendrogram: Dendrogram | None = None,
    max_rows: int = 2000,
    memory_budget: Budget = None,
) -> Arrangement:
    """Order the samples and average the matrix over bins.

    ``values`` None stands for the co-association of the ensemble; it is formed only where the order
    needs it or where it is small.
    """
    if values is not None:
        n_rows = len(values)
    else:
        assert ensemble is not None
        n_rows = ensemble.n_microclusters
    needs_matrix = order == "dendrogram" and dendrogram is None
    if values is None and (needs_matrix or n_rows <= max_rows):
        assert ensemble is not None
        values = coassociation(ensemble, memory_budget=memory_budget)
    if order == "dendrogram":
        if dendrogram is not None:
            leaves = leaf_order(dendrogram)
        else:
            assert values is not None
            weight = np.bincount(runs.row, runs.width, n_rows).astype(np.float64)
            require(
                16.0 * n_rows * n_rows,
                f"The dendrogram of {n_rows:,} rows",
                'Order by cluster instead: labels=..., order="cluster".',
                memory_budget,
            )
            leaves = similarity_order(values, weight)
        runs = runs.take(order_by_dendrogram(runs, leaves))
    elif order == "cluster":
        small = values if n_rows <= max_rows else None
        if small is None and ensemble is None:
            runs = runs.take(np.lexsort((runs.row, runs.label)))
        else:
            runs = runs.take(order_by_cluster(runs, small, ensemble))
    bins, pooled = bin_count(runs, n_rows, max_rows)
    shares = bin_shares(runs, bins, n_rows)
    if values is None:
        assert ensemble is not None
        drawn = pooled_coassociation(ensemble, shares, memory_budget)
    else:
        drawn = block_means(values, shares)
    return Arrangement(drawn, runs, pooled)
