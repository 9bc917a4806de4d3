"""A table as it was read: named columns, and where each row stood in its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import require
from coterie.core.errors import DataError
from coterie.core.params import nearest
from coterie.ensemble.columns import first_non_label
from coterie.ensemble.ids import SampleIds, checked_ids
from coterie.ensemble.missing import MISSING_LABEL_TEXT

Column = NDArray[Any] | list[Any]
# letters; longer cells are not even tried
LONGEST_NUMBER = 1000


@dataclass(frozen=True)
class Table:
    """Columns of equal length.

    Attributes
    ----------
    path : Path
        The file, for messages.
    columns : mapping of name to array or list
        Numbers as arrays (NaN where missing), anything else as a list (None where missing).
    main : tuple of str
        The columns that hold features or members unless the user names others. All columns of a
        csv; the columns of the matrix in a file of arrays, where vectors stand beside it.
    lines : ndarray or None
        Line of each row in a text file.
    """

    path: Path
    columns: Mapping[str, Column]
    main: tuple[str, ...]
    lines: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Column:
        """A column by name."""
        if name not in self.columns:
            raise DataError(
                f"{self.path}: no column {name!r} (its columns are {listed(self.columns)})"
                f"{nearest(name, self.columns)}"
            )
        return self.columns[name]

    def place(self, row: int) -> str:
        """Where a row is to be found, in the words of the file's own kind."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def chosen(
        self, columns: Sequence[str] | None, leave_out: Iterable[str | None] = ()
    ) -> list[str]:
        """The named columns, or the main ones, without those to be left out."""
        out = {name for name in leave_out if name is not None}
        for name in [*(columns or ()), *out]:
            self.column(name)
        kept = [name for name in (columns or self.main) if name not in out]
        if doubled := repeated(kept):
            raise DataError(f"column {doubled[0]!r} is named twice")
        return kept


def listed(names: Iterable[str], limit: int = 10) -> str:
    """Names for a message, the first few where they are many."""
    every = [*names]
    shown = ", ".join(every[:limit])
    return shown if len(every) <= limit else f"{shown}, ... ({len(every)} in all)"


def quoted(names: Iterable[str], limit: int = 5) -> str:
    """Names in quotes for a message."""
    return listed([repr(name) for name in names], limit)


def repeated(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, in order."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def numbers(table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    """Columns as an n x d matrix; text and missing or infinite values are refused by name."""
    wordy = []
    for name in names:
        column = table.column(name)
        if isinstance(column, list) or column.dtype.kind not in "iufb":
            _refuse_stray_cell(table, name, column)
            wordy.append(name)
    if wordy:
        one = len(wordy) == 1
        raise DataError(
            f"{table.path}: {'column' if one else 'columns'} {quoted(wordy)} "
            f"{'holds' if one else 'hold'} text, not numbers",
            f"leave {'it' if one else 'them'} out ({{drop}}), list the features ({{columns}}), or "
            "name the column of ids ({id})",
        )
    require(
        8.0 * table.n_rows * len(names),
        f"{table.path}: {table.n_rows:,} rows of {len(names):,} numbers",
        "Keep fewer rows or columns.",
    )
    matrix = np.empty((table.n_rows, len(names)))
    for j, name in enumerate(names):
        matrix[:, j] = table.column(name)
    for test, what, advice in (
        (np.isnan, "missing values", "fill them or leave those rows or columns out"),
        (np.isinf, "infinite values", "replace them or leave those rows or columns out"),
    ):
        if found := [
            f"{name!r} ({int(bad.sum())}, first in {table.place(int(np.argmax(bad)))})"
            for j, name in enumerate(names)
            if (bad := test(matrix[:, j])).any()
        ]:
            raise DataError(
                f"{table.path}: {what} in {'column' if len(found) == 1 else 'columns'} "
                f"{listed(found, 5)}; {advice}"
            )
    return matrix


def labels(table: Table, name: str) -> Column:
    """A column as labels: whole numbers or names; other numbers are refused with their place."""
    column = table.column(name)
    if isinstance(column, list):
        return [None if value == MISSING_LABEL_TEXT else value for value in column]
    if column.dtype.kind == "f" and (wrong := first_non_label(column)) is not None:
        row, reason = wrong
        raise DataError(
            f"{table.path}, {table.place(row)}: column {name!r} holds {float(column[row])!r} "
            f"({reason})"
        )
    return column


def ids(table: Table, name: str) -> SampleIds:
    """A column as ids: whole numbers, or text as it was written; each may occur once."""
    return checked_ids(table.column(name), f"{table.path}, column {name!r}", table.place, DataError)


def _refuse_stray_cell(table: Table, name: str, column: Column) -> None:
    """Name the first cell that keeps a column of numbers from being one."""
    strays, good = [], 0
    for row, value in enumerate(column):
        if value is None:
            continue
        if as_number(value) is None:
            strays.append(row)
        else:
            good += 1
    if strays and good > len(strays):
        value = str(column[strays[0]])
        shown = repr(value) if len(value) <= 40 else f"{value[:37]!r}..."
        comma = as_number(value.replace(",", ".")) is not None
        more = f" (and {len(strays) - 1} cells below it)" if len(strays) > 1 else ""
        raise DataError(
            f"{table.path}, {table.place(strays[0])}: column {name!r} holds {shown}{more}, which is "
            "not a number",
            f"{'write decimals with a point' if comma else 'correct it'}, or leave the column out "
            "({drop})",
        )


def as_number(value: object) -> float | None:
    """The number that a cell stands for, or None."""
    # float() takes "1_000", which no other program writes or reads as a number
    if isinstance(value, str) and ("_" in value or len(value) > LONGEST_NUMBER):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
