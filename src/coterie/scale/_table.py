"""Tables of distinct label rows with their counts: one per partition, then merged.

The rows of a table are in order of first appearance, and tables are merged in the order of their
partitions. So the last table is in order of first appearance among all rows, with any partitions.
An ensemble in memory uses the same order for symmetric rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import LabelError
from coterie.ensemble.columns import Categorical, encode
from coterie.ensemble.compress import (
    DistinctRows,
    distinct_rows_of_columns,
    distinct_rows_of_matrix,
)
from coterie.ensemble.missing import MissingValues

if TYPE_CHECKING:
    from coterie.numerics.rows import RowTable

Column = NDArray[Any] | Categorical | list[Any]


@dataclass(frozen=True)
class LabelTable:
    """Distinct label rows of some partitions.

    Attributes
    ----------
    codes : ndarray of int8, int16 or int32, shape (N, m)
        Codes of the labels, -1 if missing. The type is as narrow as possible, to save traffic.
    counts : ndarray of int64, shape (N,)
    categories : tuple of ndarray
        Per member, the label of each code.
    """

    codes: NDArray[np.signedinteger[Any]]
    counts: NDArray[np.int64]
    categories: tuple[NDArray[Any], ...]

    @property
    def n_rows(self) -> int:
        """Number of rows that were counted."""
        return int(self.counts.sum())

    @classmethod
    def of(cls, rows: DistinctRows) -> Self:
        """The table of one block of rows."""
        counts = np.bincount(rows.inverse, minlength=len(rows.codes)).astype(np.int64)
        return cls(narrow(rows.codes, rows.categories), counts, rows.categories)

    @classmethod
    def empty(cls, n_members: int) -> Self:
        """The table of no rows."""
        return cls(
            np.empty((0, n_members), dtype=np.int8),
            np.empty(0, dtype=np.int64),
            (np.empty(0, dtype=np.int64),) * n_members,
        )


def distinct_rows(
    columns: Sequence[Column], names: Sequence[str], missing: MissingValues
) -> DistinctRows:
    """Compress one block of rows, given column by column."""
    if all(is_plain_integer(column) for column in columns):
        matrix = np.stack([np.asarray(column) for column in columns], axis=1)
        return distinct_rows_of_matrix(matrix, names, missing)
    coded = [encode(column, name, missing) for column, name in zip(columns, names, strict=True)]
    return distinct_rows_of_columns(coded)


def merge_tables(tables: Sequence[LabelTable]) -> LabelTable:
    """The distinct rows of tables of neighbouring partitions, in their order."""
    if len(tables) == 1:
        return tables[0]
    columns = []
    for j in range(tables[0].codes.shape[1]):
        known, codes_of = _union([table.categories[j] for table in tables])
        # A missing label has the code -1 and selects the last entry.
        codes = [
            np.append(new_codes, np.int32(-1))[table.codes[:, j]]
            for table, new_codes in zip(tables, codes_of, strict=True)
        ]
        columns.append((np.concatenate(codes), known))
    rows = distinct_rows_of_columns(columns)
    counts = np.zeros(len(rows.codes), dtype=np.int64)
    np.add.at(counts, rows.inverse, np.concatenate([table.counts for table in tables]))
    return LabelTable(narrow(rows.codes, rows.categories), counts, rows.categories)


@dataclass(frozen=True)
class Lookup:
    """The label rows of an ensemble, and the values to copy to equal rows of the partitions.

    Attributes
    ----------
    codes : ndarray, shape (N, m)
    categories : tuple of ndarray
    values : tuple of ndarray, N rows each
        One row of values per label row.
    """

    codes: NDArray[np.signedinteger[Any]]
    categories: tuple[NDArray[Any], ...]
    values: tuple[NDArray[Any], ...]

    def numbered(self) -> RowTable:
        """The label rows by their numbers, for the blocks of one part."""
        from coterie.numerics.rows import RowTable

        numbers = RowTable(len(self.categories))
        numbers.add(self.codes.astype(np.int32), np.empty(len(self.codes), dtype=np.int32))
        return numbers

    def expand(
        self, rows: DistinctRows, numbers: RowTable, part_name: str, first_row: int
    ) -> list[NDArray[Any]]:
        """The values of each row of a block."""
        sought = np.empty(rows.codes.shape, dtype=np.int32)
        for j, known in enumerate(self.categories):
            union, (own, other) = _union([known, rows.categories[j]])
            # A label that the ensemble does not have gets a code that it does not have.
            code_of = np.full(len(union), len(known), dtype=np.int32)
            code_of[own] = np.arange(len(known))
            sought[:, j] = np.append(code_of[other], np.int32(-1))[rows.codes[:, j]]
        ids = np.empty(len(sought), dtype=np.int32)
        numbers.add(sought, ids)
        if (unknown := ids >= len(self.codes)).any():
            row = first_row + int(np.argmax(unknown[rows.inverse]))
            raise LabelError(
                f"{part_name}, row {row}: the ensemble has no row with these labels; pass the "
                "labels that the ensemble was made of"
            )
        return [values[ids][rows.inverse] for values in self.values]


def is_plain_integer(column: Column) -> bool:
    """Whether a column or its categories are integers that fit into 64 bits with a sign."""
    # NumPy converts unsigned and signed 64-bit integers to floats when it joins them.
    return isinstance(column, np.ndarray) and (
        column.dtype.kind == "i" or (column.dtype.kind == "u" and column.dtype.itemsize < 8)
    )


def narrow(
    codes: NDArray[np.signedinteger[Any]], categories: Sequence[NDArray[Any]]
) -> NDArray[np.signedinteger[Any]]:
    """Codes in the narrowest type that holds them."""
    most = max(len(values) for values in categories)
    return codes.astype(np.int8 if most <= 127 else np.int16 if most <= 32767 else np.int32)


def _union(given: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[NDArray[np.int32]]]:
    """The union of several lists of labels, and the new code of each label in each list."""
    first = given[0]
    if first.dtype.kind != "O" and all(
        values.dtype == first.dtype and np.array_equal(values, first) for values in given[1:]
    ):
        return first, [np.arange(len(first), dtype=np.int32)] * len(given)
    filled = [values for values in given if len(values)]
    if not filled:
        return first, [np.empty(0, dtype=np.int32)] * len(given)
    # NumPy would turn numbers among text into text.
    if len({values.dtype.kind for values in filled}) > 1:
        filled = [values.astype(object) for values in filled]
    codes, known = encode(np.concatenate(filled), "labels", MissingValues.named(None))
    return known, np.split(codes, np.cumsum([len(values) for values in given])[:-1])
