"""What counts as missing: the one rule for labels, ids and features, in memory, in files and in partitions.

NaN, None, NA and NaT are always missing. In files, so are texts that mean an empty cell, such as "NA". Among
the numbers or dates of a table, so are texts such as "-" and "?", which may be values elsewhere. In addition,
a label is missing if it equals one of the values of ``missing=`` (-1 by default).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import LabelError

Missing = Any
# every spelling of NaN that float() reads
_NAN = map("".join, product(("", "+", "-"), "nN", "aA", "nN"))
# cells of a file that hold nothing
MISSING_TEXTS = frozenset(
    {"", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "null", "NULL", "None", *_NAN}
)
# cells that hold nothing if all others of their column are numbers or dates
MISSING_AMONG_NUMBERS = MISSING_TEXTS | {"na", "n.a.", "none", "-", "--", "–", "—", "?", "."}
# the default of missing= in a column of text
MISSING_LABEL_TEXT = "-1"


def is_missing(value: Any) -> bool:
    """NaN, None, NA or NaT, also of decimal and complex numbers and of pyarrow's scalars."""
    if value is None:
        return True
    if isinstance(value, float | complex | np.inexact):
        return bool(np.isnan(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    # recognised by name, so that neither pandas nor pyarrow is imported
    kind = type(value)
    if kind.__module__ == "pyarrow.lib":
        return getattr(value, "is_valid", True) is False
    return kind.__name__ in ("NAType", "NaTType")


def is_missing_text(cell: str) -> bool:
    """Whether a cell of a file means a missing value.

    Examples
    --------
    >>> from coterie.ensemble.missing import is_missing_text
    >>> [is_missing_text(cell) for cell in ("", " NA ", "Nan", "0", "nancy")]
    [True, True, True, False, False]
    """
    return cell.strip() in MISSING_TEXTS


def is_hashable(value: object) -> bool:
    """Whether a value can be compared with others by its hash; a tuple that holds a list cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_whole(number: float | Decimal) -> bool:
    """Whether a number has no fraction; infinity and NaN are not whole."""
    if isinstance(number, Decimal):
        # the remainder would raise an error for numbers with many digits
        return number.is_finite() and number == number.to_integral_value()
    return number.is_integer()


def label_key(value: Any, where: str) -> tuple[str, Any]:
    """Kind and value of a label: 1 and 1.0 are the same label; True, "1" and 1 are three.

    ``where`` is the beginning of the error for a value that cannot be a label.
    """
    if isinstance(value, bool | np.bool_):
        return "truth", bool(value)
    if isinstance(value, Integral):
        return "number", int(value)
    if isinstance(value, Real | Decimal):
        number = value if isinstance(value, Decimal) else float(value)
        if not is_whole(number):
            raise LabelError(
                f"{where}: {number!r} (labels must be whole numbers or names: bin or round first)"
            )
        return "number", int(number)
    if is_hashable(value):
        return type(value).__name__, value
    raise LabelError(f"{where}: {type(value).__name__} values cannot be labels")


@dataclass(frozen=True)
class MissingValues:
    """The values that mean "no label", in addition to NaN, None and NA."""

    numbers: tuple[int, ...]
    others: frozenset[Hashable]

    @classmethod
    def named(cls, missing: Missing) -> MissingValues:
        """From the user's ``missing=``: None, one value, or several."""
        if missing is None:
            return cls((), frozenset())
        if isinstance(missing, np.ndarray):
            given = missing.ravel().tolist()
        elif isinstance(missing, str | bytes) or not isinstance(missing, Iterable):
            given = [missing]
        else:
            given = [*missing]
        keys = [label_key(value, "missing") for value in given if not is_missing(value)]
        numbers = {value for kind, value in keys if kind == "number"}
        others = {value for kind, value in keys if kind != "number"}
        return cls(tuple(sorted(numbers)), frozenset(others))

    def with_texts_of_files(self) -> MissingValues:
        """These values, and every text that means "no label" in a file."""
        return MissingValues(self.numbers, self.others | MISSING_TEXTS | {MISSING_LABEL_TEXT})

    def mask(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Where integer values are missing."""
        absent = np.zeros(values.shape, dtype=np.bool_)
        for number in self.numbers:
            absent |= values == number
        return absent
