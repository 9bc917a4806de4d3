"""A file as a table of named columns. Error messages name the line of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import require
from coterie.core.errors import DataError
from coterie.core.text import absent_column, listed, noun_for, quoted, repeated
from coterie.ensemble.columns import first_non_label
from coterie.ensemble.ids import SampleIds, checked_ids, differs_in_every_row, join_key
from coterie.ensemble.missing import MISSING_AMONG_NUMBERS, MISSING_LABEL_TEXT
from coterie.ensemble.numerals import number_format, numbers_in, readings

Column = NDArray[Any] | list[Any]
# longest cell, in characters, that is tried as a number
LONGEST_NUMBER = 1000
# bytes of a Python string in addition to its characters
STRING_BYTES = 50


@dataclass(frozen=True)
class FileTable:
    """Columns of equal length, read from a file.

    Attributes
    ----------
    path : Path
        The file, for messages.
    columns : mapping of name to array or list
        Numbers as arrays (NaN where missing), anything else as a list (None where missing).
    main : tuple of str
        The columns that hold features or members unless the user names others. All columns of a
        csv; the columns of the matrix in a file of arrays, which may hold vectors beside it.
    lines : ndarray or None
        Line of each row in a text file.
    """

    path: Path
    columns: Mapping[str, Column]
    main: tuple[str, ...]
    lines: NDArray[np.int64] | None = None
    _ids: dict[str, SampleIds] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> Column:
        """A column by name."""
        if name not in self.columns:
            raise DataError(absent_column(self.path, name, self.columns))
        return self.columns[name]

    def row_name(self, row: int) -> str:
        """How messages name a row: by its line in a text file."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"

    def transposed(self, names: str | None = None) -> FileTable:
        """The table with rows and columns exchanged; the names of its columns become ids.

        Parameters
        ----------
        names : str, optional
            The column with the names of the rows. By default the first one, if it holds text or
            counts the rows. The column of ids is named ``sample``.
        """
        first = self.column(names or self.main[0])
        count = np.arange(self.n_rows)
        counts = not isinstance(first, list) and np.isin(first - first[0], count).all()
        if names is None and (isinstance(first, list) or (counts and differs_in_every_row(first))):
            names = self.main[0]
        rows = map(str, count.tolist() if names is None else self.ids(names))
        kept = [name for name in self.main if name != names]
        if not kept:
            raise DataError(f"{self.path}: no column is left")
        cells = [self.columns[name] for name in kept]
        columns: Iterable[Column]
        if any(isinstance(column, list) for column in cells):
            # a column with text holds its numbers as text, too
            columns = map(list, zip(*map(_as_texts, cells), strict=True))
        else:
            columns = np.stack(cells).T
        turned = dict(zip(rows, columns, strict=True))
        sample = next(name for name in ("sample", "sample_id", "sample id") if name not in turned)
        return FileTable(self.path, {sample: kept, **turned}, (sample, *turned))

    def mixed(
        self,
        columns: Sequence[str] | None = None,
        leave_out: Iterable[str | None] = (),
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
    ) -> dict[str, Column]:
        """Columns of any kind, unchanged, for a TableEncoder.

        Stray text among numbers and infinite values are refused in the columns that may be used:
        ``columns``, or the main ones, without ``drop``. A category may hold any text.

        Parameters
        ----------
        columns, drop, categories : sequence of str
            As given to the encoder, which applies ``columns`` and ``drop`` itself.
        leave_out : iterable of str or None
            Columns that are neither returned nor checked, such as the ids.
        """
        leave_out = [*leave_out]
        used = self.chosen(columns, (*leave_out, *drop))
        for name in used:
            column = self.columns[name]
            if isinstance(column, list) and name not in categories:
                self._refuse_stray_cell(name, column)
        self._refuse_points_beside_commas([name for name in used if name not in categories])
        self._refuse_where(
            np.isinf,
            {name: self.columns[name] for name in used},
            "infinite values",
            "replace them or leave those rows or columns out",
        )
        kept = [name for name in self.main if name not in leave_out]
        return {name: self.columns[name] for name in dict.fromkeys([*kept, *used])}

    def members(
        self, id: str | None, label: Sequence[str] | None, drop: Sequence[str] = ()
    ) -> dict[str, Column]:
        """A mapping of member to labels, the ids first; see :func:`read_labels`."""
        chosen = self.chosen(label, (id, *drop))
        members: dict[str, Column] = {} if id is None else {id: self.ids(id)}
        for name in chosen:
            members[name] = self.labels(name)
            if label is None and differs_in_every_row(self.column(name)):
                raise DataError(
                    f"{self.path}: column {name!r} holds a different value in every row: it looks "
                    "like an id, not a clustering",
                    "name it as the id ({id}), or list the columns of labels ({label})",
                    {"id": name},
                )
        return members

    def chosen(
        self, columns: Sequence[str] | None, leave_out: Iterable[str | None] = ()
    ) -> list[str]:
        """The named columns, or the main ones, without those to be left out."""
        out = {name for name in leave_out if name is not None}
        for name in [*(columns or ()), *out]:
            self.column(name)
        kept = [name for name in (columns or self.main) if name not in out]
        if not kept:
            raise DataError(f"{self.path}: no column is left to cluster or combine")
        if doubled := repeated(kept):
            raise DataError(f"{self.path}: column {doubled[0]!r} is named twice; name it once")
        return kept

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Columns as an n x d matrix; text and missing or infinite values are refused by name."""
        texts = []
        numbers: dict[str, Column] = {}
        for name in names:
            column = numbers[name] = self.column(name)
            if isinstance(column, list) or column.dtype.kind not in "iufb":
                self._refuse_stray_cell(name, column)
                cells = _texts(column)
                if (form := number_format(cells)) is None:
                    texts.append(name)
                else:
                    numbers[name] = numbers_in(cells, form)
        if texts:
            one = len(texts) == 1
            raise DataError(
                f"{self.path}: {noun_for(len(texts), 'column')} {quoted(texts)} "
                f"{'holds' if one else 'hold'} text, not numbers",
                f"leave {'it' if one else 'them'} out ({{drop}}), list the features ({{columns}}), or "
                "name the column of ids ({id})",
            )
        require(
            8.0 * self.n_rows * len(names),
            f"{self.path}: {self.n_rows:,} rows of {len(names):,} numbers",
            "Keep fewer rows or columns.",
        )
        matrix = np.empty((self.n_rows, len(names)))
        for j, name in enumerate(names):
            matrix[:, j] = numbers[name]
        by_name = dict(zip(names, matrix.T, strict=True))
        for test, what, remedy in (
            (np.isnan, "missing values", "fill them or leave those rows or columns out"),
            (np.isinf, "infinite values", "replace them or leave those rows or columns out"),
        ):
            self._refuse_where(test, by_name, what, remedy)
        return matrix

    def _refuse_where(
        self, test: Callable[[Any], Any], columns: Mapping[str, Any], what: str, remedy: str
    ) -> None:
        """Raise DataError naming the columns with such values, and the first row of each."""
        if wrong := [
            f"{name!r} ({int(bad.sum())}, first in {self.row_name(int(np.argmax(bad)))})"
            for name, values in columns.items()
            if isinstance(values, np.ndarray)
            and values.dtype.kind == "f"
            and (bad := test(values)).any()
        ]:
            raise DataError(
                f"{self.path}: {what} in {noun_for(len(wrong), 'column')} "
                f"{listed(wrong, 5)}; {remedy}"
            )

    def labels(self, name: str) -> Column:
        """A column as labels: whole numbers or names; other numbers are refused with their row."""
        column = self.column(name)
        if isinstance(column, list):
            return [None if value == MISSING_LABEL_TEXT else value for value in column]
        if column.dtype.kind == "f" and (wrong := first_non_label(column)) is not None:
            row, reason = wrong
            raise DataError(
                f"{self.path}, {self.row_name(row)}: column {name!r} holds {float(column[row])!r} "
                f"({reason})"
            )
        return column

    def ids(self, name: str) -> SampleIds:
        """A column as ids: whole numbers, or text as it was written; each may occur once."""
        if name not in self._ids:
            self._ids[name] = checked_ids(
                self.column(name), f"{self.path}, column {name!r}", self.row_name, DataError
            )
        return self._ids[name]

    def _refuse_stray_cell(self, name: str, column: Column) -> None:
        """Raise DataError naming the first cell of text in a column where most cells are numbers."""
        cells = [row for row, value in enumerate(column) if not _is_blank(value)]
        counts = Counter(form for row in cells for form in _formats(column[row]))
        # of formats that fit equally many cells, the one with a point
        form = max(sorted(counts, reverse=True), key=counts.__getitem__, default="")
        if len(cells) < 2 * counts[form] < 2 * len(cells):
            strays = [row for row in cells if form not in _formats(column[row])]
            value = str(column[strays[0]])
            shown = repr(value) if len(value) <= 40 else f"{value[:37]!r}..."
            more = f" (and {len(strays) - 1} cells below it)" if len(strays) > 1 else ""
            mark = {".": "point", ",": "comma"}[form[0]]
            same_unit = any(other[1:] == form[1:] for other in readings(value))
            remedy = f"write decimals with a {mark}" if same_unit else "correct it"
            raise DataError(
                f"{self.path}, {self.row_name(strays[0])}: column {name!r} holds {shown}{more}, "
                "which is not a number",
                f"{remedy}, or leave the column out ({{drop}})",
            )

    def _refuse_points_beside_commas(self, names: Sequence[str]) -> None:
        """Raise DataError for 1.234 in a file with decimal commas: the point may separate thousands."""
        commas = [
            name
            for name in names
            if isinstance(self.columns[name], list)
            and (number_format(_texts(self.columns[name])) or ".")[0] == ","
        ]
        points = (name for name in names if _may_be_thousands(self.columns[name]))
        if commas and (name := next(points, None)) is not None:
            raise DataError(
                f"{self.path}: column {commas[0]!r} has decimal commas, but column {name!r} has points; "
                "if these separate thousands, remove them; otherwise write decimals with a point in "
                "all columns",
                "or leave one of the columns out ({drop})",
            )


def _may_be_thousands(column: Column) -> bool:
    """Whether all numbers may be thousands written as 1.234: below 1000, with at most three decimals."""
    if isinstance(column, list) or column.dtype.kind != "f":
        return False
    known = np.abs(column[np.isfinite(column)])
    broken = known[known % 1 != 0]
    small = bool(broken.size) and known.max() < 1000 and broken.min() > 1
    return bool(small and np.allclose(broken * 1000, np.round(broken * 1000), rtol=0, atol=1e-6))


def _texts(column: Column) -> list[str | None]:
    return [None if value is None else str(value) for value in column]


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and value in MISSING_AMONG_NUMBERS)


def _formats(value: object) -> set[str]:
    """The formats in which a cell may be read as a number."""
    formats = {"."} if as_number(value) is not None else set()
    return formats | readings(value).keys() if isinstance(value, str) else formats


def _as_texts(column: Column) -> list[str | None]:
    if isinstance(column, list):
        return column
    values = column.tolist()
    whole = [int(value) if value == value and value % 1 == 0 else value for value in values]
    return [str(value) if value == value else None for value in whole]


def ids_to_join(tables: Sequence[FileTable], name: str) -> list[SampleIds]:
    """The ids of several files; those that are text in one file become text in all.

    A text file does not say whether 7 is a number or text, so "7" in one file and 7 in another are
    the same id. Numbers written in another way ("007") are refused: only the user knows whether they
    are the same.
    """
    ids = [table.ids(name) for table in tables]
    is_text = [any(isinstance(value, str) for value in column) for column in ids]
    if all(is_text) or not any(is_text):
        return ids
    other = tables[is_text.index(False)].path
    for table, column in zip(tables, ids, strict=True):
        for value in column:
            if isinstance(value, str) and _is_number_written_otherwise(value):
                raise DataError(
                    f"{table.path} writes ids such as {value!r}, but {other} writes plain whole "
                    f"numbers; write the column {name!r} in the same way in all files"
                )
    return [SampleIds(map(str, column)) for column in ids]


def _is_number_written_otherwise(text: str) -> bool:
    """Whether a text is a whole number, but not as Python writes it, such as "007"."""
    text = join_key(text)
    if text.removeprefix("-").isdecimal():
        # not by float(), which rounds; int() accepts a few thousand digits
        return len(text) < LONGEST_NUMBER and str(int(text)) != text
    number = as_number(text)
    return number is not None and number.is_integer()


def damaged(name: object, error: BaseException) -> DataError:
    """The error about a file that its reader cannot read, with the reader's reason in one line."""
    return DataError(f"{name} is damaged or cut short: {' '.join(str(error).split())}")


def as_number(value: object) -> float | None:
    """The number that a cell holds, or None."""
    # float() accepts "1_000", which no other program takes as a number
    if isinstance(value, str) and ("_" in value or len(value) > LONGEST_NUMBER):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
