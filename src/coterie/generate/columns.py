"""The columns of a table as numbers, dates or texts, whatever kind of table they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.errors import DataError
from coterie.core.text import counted
from coterie.ensemble.missing import MISSING_AMONG_NUMBERS, is_missing
from coterie.ensemble.numerals import number_format, numbers_in
from coterie.generate.features import SAME_NAME, largest_number, refuse_lazy

_ISO = "iso"
_DATE_FORMATS = (_ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Column:
    """A column as numbers (NaN where missing) or as texts (None where missing).

    Numbers and dates written as text have both: the numbers, or the days, and the texts.
    """

    numbers: NDArray[np.float64] | None = None
    texts: list[str | None] | None = None
    is_date: bool = False
    format: str = ""

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.array([text is None for text in self.texts or ()], dtype=bool)

    @property
    def distinct(self) -> int:
        """Number of different values."""
        if self.numbers is not None:
            return len(np.unique(self.numbers[~np.isnan(self.numbers)]))
        return len({*(self.texts or ())} - {None})

    def __len__(self) -> int:
        return len(self.missing)


def is_table(X: object) -> bool:
    """Whether an object is a dataframe that narwhals supports, or a mapping of columns."""
    # a sparse matrix in the format "dictionary of keys" is a mapping, too
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        return False
    return isinstance(X, Mapping) or nw.dependencies.is_into_dataframe(X)


def read_columns(X: Any) -> dict[str, Column]:
    """The columns of a dataframe, a mapping or a matrix by name; columns of a matrix are numbered."""
    refuse_lazy(X)
    if isinstance(X, Mapping):
        if X and all(isinstance(values, Column) for values in X.values()):
            return dict(X)
        columns = [(str(name), _from_values(str(name), values)) for name, values in X.items()]
    elif nw.dependencies.is_into_dataframe(X):
        try:
            frame = nw.from_native(X, eager_only=True)
        except DuplicateError:
            raise DataError(SAME_NAME) from None
        # not frame[name], which takes a number as a position
        pairs = zip(frame.columns, frame.iter_columns(), strict=True)
        columns = [(str(name), _from_series(str(name), series)) for name, series in pairs]
    else:
        matrix = np.ma.asanyarray(X) if np.ma.isMaskedArray(X) else np.asarray(X)
        if sparse.issparse(X) or matrix.ndim != 2:
            raise DataError(
                f"a TableEncoder takes a data frame, a mapping or a dense matrix, not {type(X).__name__}"
            )
        columns = [(str(j), _from_values(str(j), matrix[:, j])) for j in range(matrix.shape[1])]
    table = dict(columns)
    if len(table) < len(columns):
        raise DataError(SAME_NAME)
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise DataError("the columns of the table differ in length")
    return table


def _from_series(name: str, series: Any) -> Column:
    if series.dtype.is_numeric():
        return _from_values(name, series.cast(nw.Float64).to_numpy())
    # what the user made a category is one, even if its values read like numbers
    made_category = series.dtype in (nw.Categorical, nw.Enum)
    return _from_values(name, series.to_list(), texts_may_be_numbers=not made_category)


def _from_values(name: str, values: Any, *, texts_may_be_numbers: bool = True) -> Column:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"column {name!r} must hold a value per row, but is {values!r:.40}")
    if np.ma.isMaskedArray(values):
        values = values.tolist()
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError(f"column {name!r} must have one dimension, but has {values.ndim}")
        if values.dtype.kind in "iuf":
            return Column(values.astype(np.float64))
        if values.dtype.kind in "mM":
            values = values.astype(f"{values.dtype.kind}8[us]").tolist()
    cells = [None if is_missing(value) else value for value in values]
    present = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, timedelta) for cell in present):
        cells = [None if cell is None else cell.total_seconds() for cell in cells]
        present = [cell for cell in cells if cell is not None]
    if all(_is_number(cell) for cell in present):
        try:
            numbers = [np.nan if cell is None else float(cell) for cell in cells]
        except OverflowError:
            raise DataError(
                f"column {name!r} holds a number that is too large; rescale it, or leave the column out"
            ) from None
        return Column(np.array(numbers))
    if all(isinstance(cell, date) for cell in present):
        return Column(np.array([_days(cell) for cell in cells]), is_date=True)
    texts = [None if cell is None else str(cell).strip() or None for cell in cells]
    known = [None if text in MISSING_AMONG_NUMBERS else text for text in texts]
    number_form = number_format(texts) if texts_may_be_numbers else None
    for form in (*_DATE_FORMATS, number_form) if any(known) else ():
        if form is not None and (read := numbers_of_texts(texts, form)) is not None:
            return Column(read, known, is_date=form in _DATE_FORMATS, format=form)
    return Column(texts=texts)


def _is_number(cell: object) -> bool:
    return isinstance(cell, Real | Decimal) and not isinstance(cell, bool)


def require_finite(name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers of a column. Raises DataError if one is infinite or its square overflows."""
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(
            f"column {name!r} holds {counted(int(infinite.sum()), 'infinite value')} (first in row "
            f"{int(np.argmax(infinite))}); replace them, or leave the column out",
        )
    largest = float(np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0))
    if largest > largest_number(np.float64):
        raise DataError(
            f"column {name!r} holds values as large as {largest:.3g}, whose squares overflow; rescale "
            "it, or leave the column out"
        )
    return numbers


def _days(value: Any) -> float:
    if value is None:
        return np.nan
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() / 86_400


def numbers_of_texts(texts: Sequence[str | None], form: str) -> NDArray[np.float64] | None:
    """Numbers, or dates in days, written in this format; None if a cell is not written in it."""
    try:
        if form not in _DATE_FORMATS:
            return numbers_in(texts, form)
        return np.array(
            [
                np.nan
                if text is None or text in MISSING_AMONG_NUMBERS
                else _days(_dated(text, form))
                for text in texts
            ]
        )
    except (ValueError, KeyError):
        return None


def _dated(text: str, form: str) -> datetime:
    # "20240131" and "1234" are numbers or codes, not dates
    if not re.search(r"\d[-/.]\d", text):
        raise ValueError(text)
    if form == _ISO:
        return datetime.fromisoformat(text)
    day, _, clock = text.partition(" ")
    # 9:30 is 09:30
    moment = time.fromisoformat(clock.zfill(5 + 3 * (clock.count(":") - 1))) if clock else time()
    return datetime.combine(datetime.strptime(day, form), moment)
