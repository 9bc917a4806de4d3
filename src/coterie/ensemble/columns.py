"""One member's labels, whatever they are made of, as integer codes with -1 for missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import LabelError

Missing = Any


@dataclass(frozen=True)
class MissingValues:
    """The values that stand for "no label", beside NaN, None and NA, which always do."""

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
        numbers, others = set(), set()
        for value in given:
            if is_void(value):
                continue
            if isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_):
                number = value if isinstance(value, Integral | Decimal) else float(value)
                if not isinstance(number, Integral) and not _is_whole(number):
                    raise LabelError(
                        f"missing={value!r}: labels are whole numbers or names, "
                        "so no label can have this value"
                    )
                numbers.add(int(number))
            elif is_hashable(value):
                others.add(value)
            else:
                raise LabelError(
                    f"missing={missing!r}: {type(value).__name__} values are no labels"
                )
        return cls(tuple(sorted(numbers)), frozenset(others))

    def and_names(self, names: Iterable[Hashable]) -> MissingValues:
        """These, and names that stand for missing as well."""
        return MissingValues(self.numbers, self.others | {*names})

    def mask(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Where integer values stand for missing."""
        found = np.zeros(values.shape, dtype=np.bool_)
        for number in self.numbers:
            found |= values == number
        return found


@dataclass(frozen=True)
class Categorical:
    """A column that comes as codes of its categories, -1 where a cell has none."""

    codes: NDArray[np.integer[Any]]
    categories: NDArray[Any]

    @classmethod
    def of(cls, series: Any) -> Categorical | None:
        """Of a pandas series whose values are categorical, else None."""
        values = getattr(series, "cat", None)
        codes = getattr(values, "codes", None)
        if values is None or codes is None:
            return None
        return cls(codes.to_numpy(), values.categories.to_numpy())

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> NDArray[Any]:
        """The cells one by one, None where there is no category."""
        # one more, so that the code -1 finds it at the end
        known = np.empty(len(self.categories) + 1, dtype=object)
        known[:-1] = self.categories
        return known[self.codes]


def is_void(value: Any) -> bool:
    """NaN, None, NA or NaT, also of decimal and complex numbers and of pyarrow's scalars."""
    if value is None:
        return True
    if isinstance(value, float | complex | np.inexact):
        return bool(np.isnan(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    # known by name, so that neither pandas nor pyarrow is imported for them
    kind = type(value)
    if kind.__module__ == "pyarrow.lib":
        return getattr(value, "is_valid", True) is False
    return kind.__name__ in ("NAType", "NaTType")


def is_hashable(value: object) -> bool:
    """Whether a value can be told from others; a tuple that holds a list cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def whole_numbers(
    values: NDArray[Any], member: str, missing: MissingValues, first_row: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A numeric column (or chunk of it) as integers and the mask of its missing entries."""
    if values.dtype.kind == "f":
        absent = np.isnan(values)
        solid = np.where(absent, 0, values).astype(np.float64, copy=False)
        for wrong, why in (
            (np.isinf(solid), "an infinite value is not a label"),
            (solid != np.floor(solid), "labels must be whole numbers or names: bin or round first"),
            (np.abs(solid) > 2.0**53, "too large for a whole number: pass it as an integer"),
        ):
            if wrong.any():
                row = int(np.argmax(wrong))
                raise LabelError(
                    f"member {member!r}, row {first_row + row}: {solid[row].item()!r} ({why})"
                )
        integers = solid.astype(np.int64)
        return integers, absent | missing.mask(integers)
    integers = values.astype(np.int64)
    return integers, missing.mask(integers)


def encode(
    values: object, member: str, missing: MissingValues
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """A column of labels as codes 0.. (-1 missing) and the label that each code stands for."""
    if isinstance(values, Categorical):
        return _encode_categorical(values, member, missing)
    column = _as_column(values, member)
    if column.dtype.kind in "iuf" and not (
        column.dtype.kind == "u" and column.size and column.max() > np.iinfo(np.int64).max
    ):
        integers, absent = whole_numbers(column, member, missing)
        return _number(integers, absent)
    if column.dtype.kind in "bUS":
        kind = {"b": bool, "U": str, "S": bytes}[column.dtype.kind]
        absent = np.zeros(len(column), dtype=np.bool_)
        # what numpy makes of NaN among texts
        for value in {"nan", b"nan", *missing.others}:
            if isinstance(value, kind):
                absent |= column == value
        return _number(column, absent)
    return _number_objects(column.astype(object), member, missing)


def _encode_categorical(
    column: Categorical, member: str, missing: MissingValues
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    try:
        code_of, categories = encode(column.categories, member, missing)
    except LabelError:
        # cell by cell, so that the message names a row, and categories without a cell do no harm
        return encode(column.cells(), member, missing)
    codes = np.append(code_of, np.int32(-1))[column.codes]
    used, found = dense_codes(codes[codes >= 0])
    codes[codes >= 0] = used
    return codes, categories[found]


def _as_column(values: object, member: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        # not .filled(None): that fills with the array's own fill value
        column = values.data.astype(object)
        column[np.ma.getmaskarray(values)] = None
        values = column
    if isinstance(values, np.ndarray):
        column = values
    elif isinstance(values, Iterable) and not isinstance(values, str | bytes):
        # a plain numpy.array would turn [1, "a"] into text
        items = [*values]
        kinds = {type(item) for item in items}
        if kinds <= {int} and all(abs(item) < 2**62 for item in items):
            column = np.array(items, dtype=np.int64)
        elif kinds <= {int, float} and all(
            isinstance(item, float) or abs(item) < 2**53 for item in items
        ):
            column = np.array(items, dtype=np.float64)
        else:
            column = np.empty(len(items), dtype=object)
            column[:] = items
    else:
        raise LabelError(f"member {member!r} must be a sequence of labels, but is {values!r}")
    if column.ndim == 2 and 1 in column.shape:
        column = column.reshape(-1)
    if column.ndim != 1:
        raise LabelError(
            f"member {member!r} must be one label per sample, but has shape {column.shape}"
        )
    if column.dtype.kind == "c":
        raise LabelError(
            f"Complex data not supported: member {member!r} holds complex numbers; "
            "labels are whole numbers or names"
        )
    return column


def dense_codes(values: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Integers as codes without gaps, and the integer of each code, ascending."""
    if values.size == 0:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > max(4 * values.size, 2**16):
        distinct, inverse = np.unique(values, return_inverse=True)
        return inverse.astype(np.int32), distinct.astype(np.int64)
    shifted = values - low
    present = np.zeros(high - low + 1, dtype=np.bool_)
    present[shifted] = True
    code_of = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return code_of[shifted], np.flatnonzero(present) + low


def _number(
    values: NDArray[Any], absent: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    categories: NDArray[Any]
    if values.dtype.kind == "i":
        found, categories = dense_codes(values[~absent])
    else:
        categories, inverse = np.unique(values[~absent], return_inverse=True)
        found = inverse.astype(np.int32)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[~absent] = found
    return codes, categories


def _number_objects(
    column: NDArray[Any], member: str, missing: MissingValues
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    known: dict[Hashable, int] = {}
    categories: list[object] = []
    codes = np.full(len(column), -1, dtype=np.int32)
    for row, value in enumerate(column):
        if is_void(value):
            continue
        key = _key(value, member, row)
        # True equals 1 to Python, not here
        if key[1] in (missing.numbers if key[0] == "number" else missing.others):
            continue
        code = known.get(key)
        if code is None:
            code = known[key] = len(categories)
            categories.append(key[1])
        codes[row] = code
    kept = np.empty(len(categories), dtype=object)
    kept[:] = categories
    return codes, kept


def _key(value: Any, member: str, row: int) -> tuple[str, Any]:
    """1 and 1.0 are one label; True, "1" and 1 are three."""
    if isinstance(value, bool | np.bool_):
        return "truth", bool(value)
    if isinstance(value, Integral):
        return "number", int(value)
    if isinstance(value, Real | Decimal):
        number = value if isinstance(value, Decimal) else float(value)
        if not _is_whole(number):
            raise LabelError(
                f"member {member!r}, row {row}: {number!r} "
                "(labels must be whole numbers or names: bin or round first)"
            )
        return "number", int(number)
    if is_hashable(value):
        return type(value).__name__, value
    raise LabelError(
        f"member {member!r}, row {row}: {type(value).__name__} values cannot be labels"
    )


def _is_whole(number: float | Decimal) -> bool:
    if isinstance(number, Decimal):
        # not by its remainder: that of a number of many digits is an error
        return number.is_finite() and number == number.to_integral_value()
    return number.is_integer()
