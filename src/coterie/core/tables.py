"""Table: named columns for people to read, in a terminal, in a notebook or as a dataframe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import ParameterError
from coterie.core.params import nearest
from coterie.core.text import plain

SHOWN_ROWS = 20
# characters of a cell in a terminal; longer ones are cut
SHOWN_WIDTH = 40
# and in a notebook
HTML_WIDTH = 120


class Table:
    """A read-only table. Diagnoses and comparisons return their results in this form.

    It prints itself in a terminal and in a notebook. Columns are numpy arrays, such as
    ``table["size"]``. :meth:`rows` and :meth:`to_dict` give Python values; :meth:`to_pandas`,
    :meth:`to_polars` and :meth:`to_arrow` give dataframes.

    Parameters
    ----------
    columns : mapping of name to values
        One-dimensional columns of equal length.

    Examples
    --------
    >>> from coterie import Table
    >>> table = Table({"cluster": [0, 1], "size": [120, 30], "share": [0.8, 0.2]})
    >>> table
    cluster  size  share
          0   120    0.8
          1    30    0.2
    >>> table["size"].tolist(), len(table), table.columns
    ([120, 30], 2, ('cluster', 'size', 'share'))
    >>> next(table.rows())
    {'cluster': 0, 'size': 120, 'share': 0.8}
    """

    __slots__ = ("_values",)

    _values: dict[str, NDArray[Any]]

    def __init__(self, columns: Mapping[str, ArrayLike | Sequence[Any]]) -> None:
        values: dict[str, NDArray[Any]] = {}
        for name, column in columns.items():
            array = _vector(column)
            if array.ndim != 1:
                raise ParameterError(
                    f"column {name!r} must have one value per row, but has shape {array.shape}"
                )
            array.flags.writeable = False
            values[name] = array
        lengths = {name: len(array) for name, array in values.items()}
        if len(set(lengths.values())) > 1:
            raise ParameterError(f"the columns differ in length: {lengths}")
        object.__setattr__(self, "_values", values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a Table is frozen: {name} cannot be set; make another with Table(...)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._values,)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._values)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._values:
            raise KeyError(
                f"no column {name!r}{nearest(str(name), self._values)} "
                f"(columns: {', '.join(self._values)})"
            )
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __len__(self) -> int:
        return len(next(iter(self._values.values()), ()))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return self.columns == other.columns and all(
            _equal(array, other._values[name]) for name, array in self._values.items()
        )

    # tables compare by content and may be large, so they cannot be keys; the type of object.__hash__ does
    # not allow None, although Python does
    __hash__ = None  # type: ignore[assignment]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, as dicts of Python values."""
        lists = self.to_dict()
        for row in zip(*lists.values(), strict=True):
            yield dict(zip(lists, row, strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists of Python values."""
        return {name: array.tolist() for name, array in self._values.items()}

    def to_pandas(self) -> Any:
        """As a pandas DataFrame."""
        return _imported("pandas", "to_pandas").DataFrame(dict(self._frame_columns()))

    def to_polars(self) -> Any:
        """As a polars DataFrame."""
        return _imported("polars", "to_polars").DataFrame(dict(self._frame_columns()))

    def to_arrow(self) -> Any:
        """As a pyarrow Table."""
        return _imported("pyarrow", "to_arrow").table(dict(self._frame_columns()))

    def _frame_columns(self) -> Iterator[tuple[str, Any]]:
        for name, array in self._values.items():
            # each library turns a list of text into its own kind of text column
            yield name, array.tolist() if array.dtype.kind in "OUS" else array.copy()

    def __repr__(self) -> str:
        if not self._values:
            return "an empty table"
        cells, left_out = self._shown()
        lines = []
        widths = [max(map(len, column)) for column in cells]
        for row in zip(*cells, strict=True):
            padded = [
                cell.rjust(width) if numeric else cell.ljust(width)
                for cell, width, numeric in zip(row, widths, self._numeric(), strict=True)
            ]
            lines.append("  ".join(padded).rstrip())
        if left_out:
            lines.append(f"… {left_out:,} more rows")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells, left_out = self._shown(HTML_WIDTH)
        numeric = self._numeric()

        def line(tag: str, row: tuple[str, ...]) -> str:
            style = [' style="text-align:right"' if number else "" for number in numeric]
            parts = (
                f"<{tag}{kind}>{escape(cell)}</{tag}>"
                for cell, kind in zip(row, style, strict=True)
            )
            return f"<tr>{''.join(parts)}</tr>"

        head, *body = zip(*cells, strict=True) if cells else [()]
        note = f"<p>… {left_out:,} more rows</p>" if left_out else ""
        return (
            f"<table><thead>{line('th', head)}</thead>"
            f"<tbody>{''.join(line('td', row) for row in body)}</tbody></table>{note}"
        )

    def _numeric(self) -> list[bool]:
        return [array.dtype.kind in "iuf" for array in self._values.values()]

    def _shown(self, width: int = SHOWN_WIDTH) -> tuple[list[list[str]], int]:
        """For each column, its name and first cells as text; and the number of rows left out."""
        cells = []
        for name, array in self._values.items():
            texts = [name, *(_cell(value) for value in array[:SHOWN_ROWS].tolist())]
            # a line break or a control character in a name would break the row
            cells.append([plain(" ".join(text.split()), width) for text in texts])
        return cells, max(len(self) - SHOWN_ROWS, 0)


def _vector(column: Any) -> NDArray[Any]:
    if isinstance(column, np.ndarray):
        return column.copy()
    values = list(column)
    kinds = {type(value) for value in values}
    # numpy would convert mixed values, such as 1 beside "a", to text
    if len(kinds) > 1 and not kinds <= {int, float, np.int64, np.float64}:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.array(values)


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    both_float = one.dtype.kind == "f" and other.dtype.kind == "f"
    return np.array_equal(one, other, equal_nan=both_float)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def _imported(module: str, method: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"{method} needs {module}: pip install {module}") from None
