"""csv and tsv: a header line, then a row per sample.

The delimiter is recognised in the first lines, whatever the extension says. Empty cells beyond the last
column name, as spreadsheets write them, are ignored.

The file is read in blocks, and a column is kept as numbers while all its cells are numbers, to save
memory. When a later cell turns out to be text, it is no longer known how the numbers were written
("007", "1.50"): the file is then read once more, with that column as text from the start.
"""

from __future__ import annotations

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count, islice, pairwise
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import memory_budget, require
from coterie.core.errors import DataError
from coterie.core.text import counted, quoted, repeated
from coterie.ensemble.missing import is_missing_text
from coterie.io.table import STRING_BYTES, Column, FileTable, as_number

# in this order: commas also occur within names and numbers, the others hardly ever do
_DELIMITERS = "\t;|,"
# lines in which the delimiter is searched
_FIRST_LINES = 10
# rows of a block; larger ones are slower: they outlive the garbage collector's young generation
_BLOCK = 2_000
# fewer rows where rows are long
_MAX_CELLS = 4_000_000
_LONGEST_LINE = 2**26
# floats are exact for whole numbers up to this one
_EXACT = 2**53
# a first line 0, 1, 2, ... with at least this many cells is taken as names, not as labels
MIN_COUNTED = 3
# digits and sign of the longest 64-bit integer
_LONGEST = 20


def read_text(path: Path, delimiter: str, as_text: Collection[str] = ()) -> FileTable:
    """A csv or tsv file; the columns in ``as_text`` keep their cells as written.

    ``delimiter`` is used if the first lines do not show another one.
    """
    try:
        delimiter = _delimiter(path, delimiter)
        table, turned = _read(path, delimiter, as_text)
        if turned:
            table, _ = _read(path, delimiter, {*as_text, *turned})
    except UnicodeDecodeError:
        raise _undecodable(path) from None
    return table


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        utf16 = file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE)
    return path.open(encoding="utf-16" if utf16 else "utf-8-sig", newline="")


def _delimiter(path: Path, expected: str) -> str:
    """The delimiter that splits the header and the rows below it into equal numbers of cells.

    If none does, it is the expected one, or another one if only that splits the header.
    """
    with _open(path) as file:
        lines = [*islice(_lines(path, file), _FIRST_LINES)]
    widths = {delimiter: [*_widths(lines, delimiter)] for delimiter in _DELIMITERS}
    split = [delimiter for delimiter, cells in widths.items() if cells and cells[0] > 1]
    equal = [delimiter for delimiter in split if len({*widths[delimiter]}) == 1]
    if not equal and expected in split:
        return expected
    return next(iter([*equal, *split]), expected)


def _widths(lines: Iterable[str], delimiter: str) -> Iterator[int]:
    """The number of cells of each row."""
    # a cell with line breaks may be cut off
    with suppress(csv.Error):
        yield from (len(row) for row in csv.reader(lines, delimiter=delimiter, strict=True) if row)


def _read(path: Path, delimiter: str, as_text: Collection[str]) -> tuple[FileTable, set[str]]:
    with _open(path) as file:
        reader = csv.reader(_lines(path, file), delimiter=delimiter, strict=True)
        try:
            header = _header(path, next(reader, None))
            columns = [_Column(name in as_text) for name in header]
            lines: list[int] = []
            rows = _rows(path, reader, len(header))
            if (first := next(rows, None)) is not None:
                _refuse_row_of_data(path, header, first[1])
                rows = chain([first], rows)
            budget = memory_budget()
            height = max(1, min(_BLOCK, _MAX_CELLS // len(header)))
            while block := [*islice(rows, height)]:
                lines += [line for line, _ in block]
                for column, cells in zip(
                    columns, zip(*(row for _, row in block), strict=True), strict=True
                ):
                    column.extend(cells)
                require(
                    sum(column.held for column in columns),
                    f"Reading {path} (as far as line {lines[-1]:,})",
                    "Keep fewer rows or columns in it.",
                    budget,
                )
        except csv.Error as error:
            raise DataError(
                f"{path}, line {reader.line_num}: {error}; check the quotes around cells"
            ) from None
    if not lines:
        raise DataError(f"{path} holds a header but no rows")
    table = FileTable(
        path,
        {name: column.values() for name, column in zip(header, columns, strict=True)},
        tuple(header),
        np.array(lines),
    )
    return table, {name for name, column in zip(header, columns, strict=True) if column.lost}


def _header(path: Path, cells: list[str] | None) -> list[str]:
    names = [cell.strip() for cell in cells or ()]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise DataError(f"{path}: the first line is empty; it must hold the column names")
    if names[0].startswith("# "):
        raise DataError(f"{path}: the first line is a comment; it must hold the column names")
    if not names[0] and len(names) > 1:
        # row names, as R and pandas write them
        names[0] = next(name for name in ("id", "row_id", "row_names") if name not in names)
    for j, name in enumerate(names):
        if not name:
            raise DataError(
                f"{path}: column {j + 1} of {len(names)} has no name in the first line; name it "
                "(tables saved with their row index have such a column)"
            )
    if doubled := repeated(names):
        raise DataError(
            f"{path}: the first line names {quoted(doubled)} more than once; column names must "
            "differ (a file without column names needs a line of them first)"
        )
    return names


def _refuse_row_of_data(path: Path, names: Sequence[str], below: Sequence[str]) -> None:
    """Refuse a first line of numbers that may be the first sample of a file without column names.

    Numbers are accepted as names if they count the columns (0, 1, 2, as programs write them for
    tables without names), or if they ascend with fractions (resolutions 0.5, 1.0) above whole numbers.
    """
    header = [value for value in map(as_number, names) if value is not None]
    if len(header) < len(names):
        return
    whole = all(value.is_integer() for value in header)
    below_whole = all(_is_whole_or_no_number(cell) for cell in below)
    counts = header[0] in (0, 1) and all(right - left == 1 for left, right in pairwise(header))
    ascends = header[0] >= 0 and all(left < right for left, right in pairwise(header))
    if counts and (len(names) >= MIN_COUNTED or not below_whole):
        return
    if ascends and not whole and below_whole:
        return
    raise DataError(
        f"{path}: the first line holds numbers ({', '.join(names[:3])}"
        f"{', ...' if len(names) > 3 else ''}), which may be names or the first row; add a line of "
        "names, with a letter in one of them"
    )


def _is_whole_or_no_number(cell: str) -> bool:
    number = as_number(cell)
    return number is None or not np.isfinite(number) or number.is_integer()


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines; one that is too long raises DataError before it fills the memory."""
    for number in count(1):
        line = file.readline(_LONGEST_LINE)
        if not line:
            return
        if len(line) == _LONGEST_LINE:
            raise DataError(f"{path}, line {number}: longer than {_LONGEST_LINE:,} characters")
        if "\0" in line:
            raise DataError(
                f"{path}, line {number}: a NUL character; the file is damaged or not text"
            )
        yield line


def _rows(path: Path, reader: Any, width: int) -> Iterator[tuple[int, Sequence[str]]]:
    """Line number and cells of each row."""
    blank: list[int] = []
    first = True
    for row in reader:
        if not row or (len(row) == 1 and not row[0].strip()):
            # in a file of one column an empty line is a missing cell, except at the end of the file
            blank.append(reader.line_num)
            continue
        if width == 1:
            yield from ((line, ("",)) for line in blank)
        blank.clear()
        if len(row) < width or any(map(str.strip, row[width:])):
            advice = ""
            if first:
                advice = (
                    "; remove titles above the column names, and give a column of row names a name"
                )
            raise DataError(
                f"{path}, line {reader.line_num}: {counted(len(row), 'cell')}, but the header names "
                f"{counted(width, 'column')}{advice}"
            )
        first = False
        yield reader.line_num, row if len(row) == width else row[:width]


class _Column:
    """The blocks of one column: whole numbers, numbers with NaN, or text with None for missing."""

    def __init__(self, text: bool) -> None:
        self._text: list[str | None] | None = [] if text else None
        self._blocks: list[NDArray[Any]] = []
        self._as_written: dict[str, str] = {}
        self._forced = text
        # bytes of all cells so far
        self.held = 0
        # whether it is no longer known how numbers were written, so that the file must be read again
        self.lost = False

    def extend(self, cells: Sequence[str]) -> None:
        """Add a block of cells."""
        distinct = set(cells)
        # a number, or the pointer to a text
        self.held += 8 * len(cells)
        # repeated cells, such as labels, are parsed once each; others by the quickest parser
        if self._text is None and 4 * len(distinct) > len(cells):
            block = _plain_numbers(cells)
            if block is not None:
                self._blocks.append(block)
                return
        value_of = {cell: _value(cell.strip()) for cell in distinct}
        if self._text is None:
            block = _packed(cells, value_of)
            if block is not None:
                self._blocks.append(block)
                return
            self._turn_to_text()
        # one string for all cells that hold it
        keep: dict[str, str | None] = {}
        for cell, value in value_of.items():
            text = cell.strip()
            if value is not None and text not in self._as_written:
                self._as_written[text] = text
                self.held += STRING_BYTES + len(text)
            keep[cell] = None if value is None else self._as_written[text]
        assert self._text is not None
        self._text.extend(keep[cell] for cell in cells)

    def values(self) -> Column:
        """The column; ids written as whole numbers are numbers."""
        if self._text is not None:
            whole = self._forced and all(
                cell is not None and isinstance(_value(cell), int) for cell in self._text
            )
            return np.array([int(str(cell)) for cell in self._text]) if whole else self._text
        if not self._blocks:
            return np.empty(0)
        if all(block.dtype.kind == "i" for block in self._blocks):
            return np.concatenate(self._blocks)
        self.lost = any(
            block.dtype.kind == "i" and (np.abs(block) > _EXACT).any() for block in self._blocks
        )
        return np.concatenate([block.astype(np.float64) for block in self._blocks])

    def _turn_to_text(self) -> None:
        self.lost = any(block.dtype.kind == "f" for block in self._blocks)
        self._text = [str(value) for block in self._blocks for value in block.tolist()]
        self._blocks = []


def _value(cell: str) -> int | float | str | None:
    """None for missing, an int if written as Python writes it, a float, or the text."""
    if is_missing_text(cell):
        return None
    if cell.isascii() and cell.removeprefix("-").isdigit() and len(cell) <= _LONGEST:
        whole = int(cell)
        if str(whole) == cell and -(2**63) <= whole < 2**63:
            return whole
    number = as_number(cell)
    # whole numbers too long for 64 bits are codes: rounding would make different ones equal
    if number is None or (abs(number) > _EXACT and cell.lstrip("+-").isdigit()):
        return cell
    return number


def _plain_numbers(cells: Sequence[str]) -> NDArray[Any] | None:
    """The block as an array if Python's own parsers can read it, which is quick; else None."""
    try:
        whole = [*map(int, cells)]
        if [*map(str, whole)] == [*cells]:
            return np.array(whole, dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        block = np.array([*map(float, cells)])
    except ValueError:
        return None
    # long codes and "1_000" are left to the careful parser
    simple = "_" not in "".join(cells) and not (np.abs(block) > _EXACT).any()
    return block if simple else None


def _packed(
    cells: Sequence[str], value_of: dict[str, int | float | str | None]
) -> NDArray[Any] | None:
    """The block as an array of numbers, or None where it is text."""
    values = value_of.values()
    if any(isinstance(value, str) for value in values):
        return None
    if all(isinstance(value, int) for value in values):
        return np.fromiter(map(value_of.__getitem__, cells), np.int64, len(cells))
    if any(isinstance(value, int) and abs(value) > _EXACT for value in values):
        return None
    number_of = {cell: np.nan if value is None else value for cell, value in value_of.items()}
    return np.fromiter(map(number_of.__getitem__, cells), np.float64, len(cells))


def _undecodable(path: Path) -> DataError:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return DataError(
                    f"{path}, line {number}: byte 0x{line[error.start]:02x} at position "
                    f"{error.start + 1} is not UTF-8; save the file as UTF-8 (in Excel: CSV UTF-8)"
                )
    return DataError(f"{path} is not UTF-8 text; save the file as UTF-8")
