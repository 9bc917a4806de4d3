"""Two partitions of the same items: how their clusters overlap, and the scores that follow from it.

Every NMI and ARI of the library is computed here. Several pairs of partitions can be scored in one
pass: their contingency tables are stacked, one below the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.types import FloatArray, IntArray

Average = Literal["arithmetic", "max", "min", "geometric"]
# mutual information below this is a rounding error
NO_INFORMATION = 1e-15
# a smaller difference of the largest and the expected index, as a share of the largest, counts as zero
NO_ROOM = 1e-12


def by_first_appearance(labels: NDArray[Any]) -> IntArray:
    """Labels renumbered 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def clusters_by_first_appearance(labels: IntArray) -> IntArray:
    """The same for clusters, where -1 means none and stays."""
    clusters = np.full(len(labels), -1, dtype=np.int64)
    clusters[labels >= 0] = by_first_appearance(labels[labels >= 0])
    return clusters


@dataclass(frozen=True)
class Overlaps:
    """Contingency tables of one or several pairs of partitions, as lists of non-empty overlaps.

    Attributes
    ----------
    weight : ndarray, shape (overlaps,)
        Weight of the items that a cluster of the first and one of the second partition share.
    row, column : ndarray of int, shape (overlaps,)
        These two clusters, as positions in ``row_sizes`` and ``column_sizes``.
    row_sizes, column_sizes : ndarray
        Weight of each cluster of the first and of the second partitions, of all tables.
    row_table, column_table : ndarray of int
        The table that each of these clusters belongs to.
    n_tables : int
    """

    weight: FloatArray
    row: IntArray
    column: IntArray
    row_sizes: FloatArray
    column_sizes: FloatArray
    row_table: IntArray
    column_table: IntArray
    n_tables: int

    @classmethod
    def of_tables(cls, tables: sparse.sparray, offsets: ArrayLike) -> Overlaps:
        """From stacked tables: rows offsets[t] to offsets[t + 1] - 1 belong to table t.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy import sparse
        >>> from coterie.numerics.partitions import Overlaps
        >>> tables = sparse.csr_array([[2.0, 0.0], [0.0, 2.0], [1.0, 1.0], [1.0, 1.0]])
        >>> Overlaps.of_tables(tables, [0, 2, 4]).nmi().tolist()
        [1.0, 0.0]
        """
        starts = np.asarray(offsets)
        n_tables = len(starts) - 1
        row_table = np.repeat(np.arange(n_tables), np.diff(starts))
        entries = tables.tocoo()
        row, label = (np.asarray(index, dtype=np.int64) for index in entries.coords)
        weight = entries.data.astype(np.float64)
        # the tables can share the second partition, so its clusters are counted per table
        codes, column = np.unique(row_table[row] * tables.shape[1] + label, return_inverse=True)
        return cls(
            weight,
            row,
            column,
            np.bincount(row, weight, tables.shape[0]).astype(np.float64),
            np.bincount(column, weight, len(codes)).astype(np.float64),
            row_table,
            codes // max(tables.shape[1], 1),
            n_tables,
        )

    @classmethod
    def of_labels(cls, first: IntArray, second: IntArray, weights: FloatArray) -> Overlaps:
        """From label vectors, or from matrices with one pair of vectors per row.

        Labels are integers, and a negative label is missing. Two partitions are compared over the
        items that both label.

        Examples
        --------
        >>> import numpy as np
        >>> from coterie.numerics.partitions import Overlaps
        >>> overlaps = Overlaps.of_labels(
        ...     np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 2, -1]), np.ones(5)
        ... )
        >>> overlaps.weight.tolist(), overlaps.ari().round(4).tolist()
        ([2.0, 1.0, 1.0], [0.5714])
        """
        first, second = np.atleast_2d(first), np.atleast_2d(second)
        n_rows, n_columns = int(first.max(initial=-1)) + 1, int(second.max(initial=-1)) + 1
        pair, item = np.nonzero((first >= 0) & (second >= 0))
        rows = pair * n_rows + first[pair, item]
        tables = sparse.coo_array(
            (weights[item], (rows, second[pair, item])), shape=(len(first) * n_rows, n_columns)
        )
        return cls.of_tables(sparse.csr_array(tables), np.arange(len(first) + 1) * n_rows)

    @property
    def table(self) -> IntArray:
        """The table of each overlap."""
        return self.row_table[self.row]

    @property
    def totals(self) -> FloatArray:
        """Weight of the items of each table."""
        return self._sums(self.weight, self.table)

    @property
    def same(self) -> NDArray[np.bool_]:
        """Whether the two partitions of each table are equal up to the names of their clusters."""
        overlaps = np.bincount(self.table, minlength=self.n_tables)
        rows = np.bincount(self.row_table[self.row_sizes > 0], minlength=self.n_tables)
        columns = np.bincount(self.column_table[self.column_sizes > 0], minlength=self.n_tables)
        return (overlaps == rows) & (overlaps == columns)

    def entropies(self) -> tuple[FloatArray, FloatArray]:
        """Entropy in nats of the first and of the second partition of each table."""
        totals = self.totals

        def entropy(sizes: FloatArray, table: IntArray) -> FloatArray:
            share = sizes[sizes > 0] / totals[table[sizes > 0]]
            return self._sums(-share * np.log(share), table[sizes > 0])

        return (
            entropy(self.row_sizes, self.row_table),
            entropy(self.column_sizes, self.column_table),
        )

    def information(self) -> FloatArray:
        """Mutual information in nats of the two partitions of each table."""
        totals, table = self.totals, self.table
        sizes = self.row_sizes[self.row] * self.column_sizes[self.column]
        terms = self.weight * np.log(self.weight * totals[table] / sizes)
        return self._sums(terms, table) / np.where(totals > 0, totals, 1.0)

    def nmi(self, average: Average = "arithmetic") -> FloatArray:
        """Mutual information over an average of the two entropies, of each table, in [0, 1].

        Equal partitions score 1, an empty table NaN.
        """
        first, second = self.entropies()
        if average == "arithmetic":
            scale = (first + second) / 2
        elif average == "max":
            scale = np.maximum(first, second)
        elif average == "min":
            scale = np.minimum(first, second)
        else:
            scale = np.sqrt(first * second)
        information = self.information()
        values = np.zeros(self.n_tables)
        some = (information > NO_INFORMATION) & (scale > 0)
        np.divide(information, scale, out=values, where=some)
        # also if both are a single cluster and have zero entropy
        values = np.where(self.same, 1.0, np.minimum(values, 1.0))
        return np.where(self.totals > 0, values, np.nan)

    def pairs(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Number of pairs of items together in both partitions, in the first, in the second; and of all."""
        return (
            self._sums(_pairs(self.weight), self.table),
            self._sums(_pairs(self.row_sizes), self.row_table),
            self._sums(_pairs(self.column_sizes), self.column_table),
            _pairs(self.totals),
        )

    def ari(self) -> FloatArray:
        """Adjusted Rand index of each table; NaN for an empty one."""
        both, rows, columns, everything = self.pairs()
        possible = everything > 0
        most = (rows + columns) / 2
        expected = rows * np.divide(columns, everything, out=np.zeros_like(rows), where=possible)
        room = most - expected
        values = np.ones(self.n_tables)
        defined = possible & ~self.same & (room > NO_ROOM * most)
        np.divide(both - expected, room, out=values, where=defined)
        return np.where(self.totals > 0, values, np.nan)

    def pairs_kept(self) -> FloatArray:
        """Of the pairs that the first partition of each table puts together, the share that the second
        puts together, too, adjusted for chance (the adjusted Wallace coefficient).

        It is 1 if each cluster of the first lies in one cluster of the second, and 0 on average for
        independent partitions. NaN if the first has no pair together or the second has all together.
        """
        both, rows, columns, everything = self.pairs()
        possible = everything > 0
        expected = rows * np.divide(columns, everything, out=np.zeros_like(rows), where=possible)
        room = rows - expected
        values = np.full(self.n_tables, np.nan)
        np.divide(both - expected, room, out=values, where=possible & (room > NO_ROOM * everything))
        return values

    def _sums(self, terms: FloatArray, table: IntArray) -> FloatArray:
        return np.bincount(table, terms, self.n_tables).astype(np.float64)


def _pairs(sizes: FloatArray) -> FloatArray:
    return sizes * (sizes - 1) / 2
