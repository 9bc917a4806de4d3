"""From a matrix of microclusters to a picture of samples: an order, bins of equal weight, means.

A microcluster of weight r represents r samples, so it is r wide. The ordered samples are cut into bins
of equal weight; an entry of the picture is the mean of the matrix over all pairs of samples of two
bins. With one bin per sample this is the matrix itself with repeated rows.
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
from coterie.evidence.coassociation import coassociation, mean_coassociation
from coterie.evidence.support import cluster_support

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram


@dataclass(frozen=True)
class Spans:
    """Samples of one microcluster and one label, from left to right.

    Attributes
    ----------
    row : ndarray, shape (R,)
        Row of the matrix that each span shows.
    label : ndarray, shape (R,)
        Label code of each span; zeros without labels.
    width : ndarray, shape (R,)
        Total weight of its samples.
    """

    row: IntArray
    label: IntArray
    width: FloatArray

    @classmethod
    def of(cls, rows: NDArray[Any], labels: IntArray, weights: FloatArray) -> Spans:
        """From the row, the label and the weight of each sample (or of each row)."""
        span = int(labels.max()) + 1
        pairs, where = np.unique(rows.astype(np.int64) * span + labels, return_inverse=True)
        width: FloatArray = np.bincount(where.reshape(-1), weights=weights).astype(np.float64)
        return cls(pairs // span, pairs % span, width)

    def take(self, order: IntArray) -> Spans:
        """The spans in another order."""
        return Spans(self.row[order], self.label[order], self.width[order])

    @property
    def are_counts(self) -> bool:
        """Whether the widths are numbers of samples."""
        return bool((self.width == np.rint(self.width)).all())

    @property
    def edges(self) -> FloatArray:
        """Where each span begins, followed by the total weight."""
        return np.concatenate([[0.0], np.cumsum(self.width)])


@dataclass(frozen=True)
class Arrangement:
    """The data of the picture.

    Attributes
    ----------
    values : ndarray, shape (B, B)
        Mean of the matrix over the pairs of samples of two bins.
    spans : Spans
        Positions along either axis.
    pooled : bool
        Whether a bin holds more than one sample.
    """

    values: FloatArray
    spans: Spans
    pooled: bool

    @property
    def total(self) -> float:
        """Weight of all samples."""
        return float(self.spans.edges[-1])


# ------------------------------------------------------------------ the order


def leaf_order(dendrogram: Dendrogram) -> IntArray:
    """Items from left to right under the dendrogram, so that every cluster is contiguous.

    Of two merged groups, the one that was formed at the lower height comes first. If the heights are
    equal, the one with the lower item comes first.
    """
    n = len(dendrogram.sizes)
    groups: list[list[int]] = [[item] for item in range(n)]
    height = np.zeros(n)
    for (low, high), level in zip(dendrogram.pairs.tolist(), dendrogram.heights, strict=True):
        first, second = groups[low], groups[high]
        groups[low] = second + first if height[high] < height[low] else first + second
        height[low] = level
    return np.array(groups[0], dtype=np.int64)


def similarity_order(values: FloatArray, weights: FloatArray) -> IntArray:
    """Leaf order of average linkage on a symmetric similarity of weighted rows."""
    from coterie.numerics.linkage import weighted_linkage

    distance = float(values.max()) - values
    return leaf_order(weighted_linkage(distance, weights, "average", overwrite=True))


def order_by_linkage(spans: Spans, values: FloatArray) -> IntArray:
    """Order by label, and within a label by average linkage."""
    parts = []
    for label in np.unique(spans.label):
        inside = np.flatnonzero(spans.label == label)
        rows = spans.row[inside]
        parts.append(inside[similarity_order(values[np.ix_(rows, rows)], spans.width[inside])])
    return np.concatenate(parts)


def order_by_support(spans: Spans, ensemble: Ensemble) -> IntArray:
    """Order by label, and within a label by the members' support for it."""
    micro = np.zeros(ensemble.n_microclusters, dtype=np.int64)
    # each microcluster takes the label of its heaviest span, which only affects the order
    light_first = np.argsort(spans.width, kind="stable")
    micro[spans.row[light_first]] = spans.label[light_first]
    support = cluster_support(ensemble, micro, int(spans.label.max()) + 1)
    return np.lexsort((spans.row, -support[spans.row, spans.label], spans.label))


# ------------------------------------------------------------------ bins and means


def bin_count(spans: Spans, n_rows: int, most: int) -> tuple[int, bool]:
    """Number of bins, one per sample up to ``most``, and whether a bin pools several samples."""
    total, width, whole = float(spans.edges[-1]), spans.width, spans.are_counts
    if whole and total <= most:
        return round(total), False
    if len(width) == n_rows <= most and (width == width[0]).all():
        # with equal weights each row is a bin
        return n_rows, whole and width[0] > 1
    return most, True


def bin_weights(spans: Spans, bins: int | FloatArray, n_rows: int) -> sparse.csr_array:
    """Weight of each row of the matrix in each bin, bins x rows.

    ``bins`` is the number of equal bins or the positions of their walls, as in ``numpy.histogram``.
    """
    edges = spans.edges
    walls = np.linspace(0.0, edges[-1], bins + 1) if isinstance(bins, int) else bins
    cuts = np.union1d(edges, walls)
    # rounding may put a wall beside an equal edge; the gap between them then has almost no weight
    middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
    run = np.clip(np.searchsorted(edges, middle, side="right") - 1, 0, len(spans.row) - 1)
    bin_of = np.clip(np.searchsorted(walls, middle, side="right") - 1, 0, len(walls) - 2)
    return sparse.csr_array((length, (bin_of, spans.row[run])), shape=(len(walls) - 1, n_rows))


def block_means(values: FloatArray, inside: sparse.csr_array) -> FloatArray:
    """Mean of the matrix over the pairs of two bins, given the weight of each row in each bin."""
    weight = np.asarray(inside.sum(axis=1))
    return np.asarray(inside @ np.asarray(inside @ values).T).T / np.outer(weight, weight)


def pooled_coassociation(
    ensemble: Ensemble, inside: sparse.csr_array, budget: Budget = None
) -> FloatArray:
    """Mean co-association between bins without the matrix of microclusters."""
    bins = inside.shape[0]
    require(
        8.0 * bins * (2 * ensemble.n_base_clusters + 3 * bins),
        f"A picture of {bins:,} bins and {ensemble.n_base_clusters:,} base clusters",
        "Ask for fewer rows.",
        budget,
    )
    return mean_coassociation(ensemble, sparse.csr_array(inside @ ensemble.incidence))


# ------------------------------------------------------------------ the whole arrangement


def arrange(
    values: FloatArray | None,
    ensemble: Ensemble | None,
    spans: Spans,
    order: str,
    dendrogram: Dendrogram | None = None,
    max_rows: int = 2000,
    memory_budget: Budget = None,
) -> Arrangement:
    """Order the samples and average the matrix over bins.

    With ``values=None`` the co-association of the ensemble is used. It is computed only if the order
    needs it or if it is small.
    """
    n_rows = 1 + int(spans.row.max())
    needs_matrix = order == "dendrogram" and dendrogram is None
    if values is None and ensemble is not None and (needs_matrix or n_rows <= max_rows):
        values = coassociation(ensemble, memory_budget=memory_budget)
    if order == "dendrogram":
        if dendrogram is not None:
            leaves = leaf_order(dendrogram)
        else:
            assert values is not None
            weight = np.bincount(spans.row, spans.width).astype(np.float64)
            require(
                16.0 * n_rows * n_rows,
                f"The dendrogram of {n_rows:,} rows",
                'Order by cluster instead: labels=..., order="cluster".',
                memory_budget,
            )
            leaves = similarity_order(values, weight)
        # within a microcluster by label
        spans = spans.take(np.lexsort((spans.label, np.argsort(leaves)[spans.row])))
    elif order == "cluster":
        if values is not None and n_rows <= max_rows:
            spans = spans.take(order_by_linkage(spans, values))
        elif ensemble is not None:
            spans = spans.take(order_by_support(spans, ensemble))
        else:
            spans = spans.take(np.lexsort((spans.row, spans.label)))
    bins, pooled = bin_count(spans, n_rows, max_rows)
    inside = bin_weights(spans, bins, n_rows)
    if values is not None:
        return Arrangement(block_means(values, inside), spans, pooled)
    assert ensemble is not None
    return Arrangement(pooled_coassociation(ensemble, inside, memory_budget), spans, pooled)
