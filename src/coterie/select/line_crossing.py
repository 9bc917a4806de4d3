"""How much members cross a partition, compared with members that cut a line.

If members have many small clusters inside true clusters, they hardly cut across the true ones. How much they
do is compared with what k-means members of the same sizes do on a line. Of all convex clouds, members of a
line cut across each other least. Those of bent clouds may cut less, but seldom less than half as much, so
structure is accepted if members cut less than half as much as on a line. The members on a line have the same
hierarchies as the given ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.numerics.linkage import weighted_linkage
from coterie.select.choice import NEGLIGIBLE
from coterie.select.criteria import against_members

# points on a line and number of lines that crossing is compared on
LINE_ROWS, N_LINES = 400, 39
# structure is accepted if members cross less than this share of what they do on a line
LINE_SHARE = 0.5


@dataclass(frozen=True)
class Crossing:
    """How much members cross the average-link partition into 1, 2, ... clusters, and members on lines theirs.

    Attributes
    ----------
    values : ndarray, shape (K,)
        0 if nested, 1 as by chance.
    lines : ndarray, shape (N_LINES, K)
        The same for members of uniform points on a line. They have the same numbers of clusters and
        the same hierarchies as the members.
    """

    values: FloatArray
    lines: FloatArray

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        copies: list[list[int]],
        chains: list[list[int]],
        max_k: int,
        rng: np.random.Generator,
        step: Callable[[], None],
    ) -> Crossing:
        """Measure the crossing up to ``max_k`` clusters.

        Parameters
        ----------
        ensemble : Ensemble
        copies, chains : list of list of int
            See ``Nesting`` in label_structure.py.
        max_k : int
        rng : Generator
        step : callable
            Called after each line.
        """
        sizes = ensemble.n_clusters_per_member
        share = ensemble.weights / ensemble.weights.sum()
        n = int(np.clip(ensemble.weights.sum(), 2, LINE_ROWS))
        alike = {group[0]: group for group in copies}
        lines = []
        for _ in range(N_LINES):
            points = np.sort(rng.random(n))
            table = np.empty((n, ensemble.n_members), dtype=np.int64)
            for chain in chains:
                for j, cells in zip(chain, _hierarchy(points, sizes[chain], rng), strict=True):
                    table[:, alike[j]] = cells[:, None]
            table[ensemble.labels[rng.choice(len(share), size=n, p=share)] < 0] = -1
            table = table[:, (table >= 0).any(axis=0)]
            lines.append(_crossings(Ensemble.from_labels(table).without_blank, max_k))
            step()
        return cls(_crossings(ensemble, max_k), np.stack(lines))

    def value(self, k: int) -> float:
        """The crossing of the partition into k clusters."""
        return float(self.values[k - 1])

    def typical(self, k: int) -> float:
        """The median crossing on lines."""
        return float(np.median(self.lines[:, k - 1]))

    def rises_at(self, ks: IntArray) -> FloatArray:
        """How much more members cross the partition into k + 1 clusters, as a logarithm."""
        padded = np.append(self.values, self.values[-1])
        negligible = np.array([max(NEGLIGIBLE * self.typical(int(k)), 1e-9) for k in ks])
        return np.asarray(np.log((padded[ks] + negligible) / (padded[ks - 1] + negligible)))

    def p_value(self, k: int) -> float:
        """The share of lines on which half of the crossing at k is as little."""
        fewer = (LINE_SHARE * self.lines[:, k - 1] <= self.values[k - 1]).sum()
        return float((1 + fewer) / (1 + len(self.lines)))


def _crossings(ensemble: Ensemble, max_k: int) -> FloatArray:
    """Crossing of the average-link partitions; 0 if nothing can cross."""
    apart = 1.0 - coassociation(ensemble)
    dendrogram = weighted_linkage(apart, ensemble.sizes, overwrite=True)
    values = np.zeros(max_k)
    for k in range(2, max_k + 1):
        labels = dendrogram.cut(min(k, ensemble.n_microclusters))
        values[k - 1] = np.nan_to_num(against_members(ensemble, labels)[0])
    return values


def _hierarchy(points: FloatArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Nested partitions of sorted points into ``sizes`` cells, ascending: k-means, then Ward's merges."""
    cells = _cells(points, int(sizes[-1]), rng)
    partitions = [cells]
    for size in sizes[-2::-1]:
        while cells.max() >= size:
            counts = np.bincount(cells)
            means = np.bincount(cells, points) / counts
            costs = np.diff(means) ** 2 / (1 / counts[1:] + 1 / counts[:-1])
            cells = cells - (cells > costs.argmin())
        partitions.append(cells)
    return partitions[::-1]


def _cells(points: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """k-means of sorted numbers, from random points."""
    k = min(k, len(points))
    sums = np.concatenate([[0.0], np.cumsum(points)])
    centres = np.sort(rng.choice(points, k, replace=False))
    borders = np.empty(0, dtype=np.int64)
    for _ in range(100):
        previous = borders
        borders = np.searchsorted(points, (centres[1:] + centres[:-1]) / 2)
        if np.array_equal(borders, previous):
            break
        edges = np.concatenate([[0], borders, [len(points)]])
        counts = np.diff(edges)
        means = np.diff(sums[edges]) / np.maximum(counts, 1)
        centres = np.sort(np.where(counts > 0, means, centres))
    cells = np.searchsorted(borders, np.arange(len(points)), side="right")
    # a centre without points has no cell
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)
