"""The labels of one member, of any type, as integer codes with -1 for missing."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import LabelError
from coterie.ensemble.missing import MissingValues, is_missing, label_key


@dataclass(frozen=True)
class Categorical:
    """A column given as codes of its categories, -1 where a cell is missing."""

    codes: NDArray[np.integer[Any]]
    categories: NDArray[Any]

    @classmethod
    def of(cls, series: Any) -> Categorical | None:
        """The column of a categorical pandas series; None for any other series."""
        values = getattr(series, "cat", None)
        codes = getattr(values, "codes", None)
        if values is None or codes is None:
            return None
        return cls(codes.to_numpy(), values.categories.to_numpy())

    def __len__(self) -> int:
        return len(self.codes)

    def cells(self) -> NDArray[Any]:
        """The value of each cell, None where it is missing."""
        # the last entry stays None: the code -1 selects it
        values = np.empty(len(self.categories) + 1, dtype=object)
        values[:-1] = self.categories
        return values[self.codes]


def first_non_label(values: NDArray[np.floating[Any]]) -> tuple[int, str] | None:
    """Row of the first float that cannot be a label, and the reason; None if there is none.

    NaN is a missing label.
    """
    present = np.where(np.isnan(values), 0, values).astype(np.float64, copy=False)
    for wrong, reason in (
        (np.isinf(present), "an infinite value is not a label"),
        (present != np.floor(present), "labels must be whole numbers or names: bin or round first"),
        (np.abs(present) > 2.0**53, "too large for a whole number: pass it as an integer"),
    ):
        if wrong.any():
            return int(np.argmax(wrong)), reason
    return None


def encode(
    values: object, member: str, missing: MissingValues
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Code a column of labels as 0, 1, ... (-1 for missing); also returns the label of each code."""
    if isinstance(values, Categorical):
        return _encode_categorical(values, member, missing)
    column = _as_column(values, member)
    if column.dtype.kind in "iuf" and not (
        column.dtype.kind == "u" and column.size and column.max() > np.iinfo(np.int64).max
    ):
        empty = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), np.bool_)
        if column.dtype.kind == "f":
            if (wrong := first_non_label(column)) is not None:
                row, reason = wrong
                raise LabelError(f"member {member!r}, row {row}: {float(column[row])!r} ({reason})")
            column = np.where(empty, 0, column)
        integers = column.astype(np.int64)
        return _number(integers, empty | missing.mask(integers))
    if column.dtype.kind in "bUS":
        kind = {"b": bool, "U": str, "S": bytes}[column.dtype.kind]
        absent = np.zeros(len(column), dtype=np.bool_)
        # numpy turns NaN among text into these
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
        # cell by cell: the message then names a row, and unused categories are ignored
        return encode(column.cells(), member, missing)
    codes = np.append(code_of, np.int32(-1))[column.codes]
    new_codes, used = dense_codes(codes[codes >= 0])
    codes[codes >= 0] = new_codes
    return codes, categories[used]


def _as_column(values: object, member: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        # not .filled(None), which fills with the array's own fill value
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
            f"member {member!r} must hold one label per sample, but has shape {column.shape}"
        )
    if column.dtype.kind == "c":
        raise LabelError(
            f"Complex data not supported: member {member!r} holds complex numbers; "
            "labels are whole numbers or names"
        )
    return column


def dense_codes(values: NDArray[np.integer[Any]]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Code integers as 0, 1, ... in ascending order; also returns the integer of each code."""
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
        present, categories = dense_codes(values[~absent])
    else:
        categories, inverse = np.unique(values[~absent], return_inverse=True)
        present = inverse.astype(np.int32)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[~absent] = present
    return codes, categories


def _number_objects(
    column: NDArray[Any], member: str, missing: MissingValues
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    known: dict[Hashable, int] = {}
    categories: list[object] = []
    codes = np.full(len(column), -1, dtype=np.int32)
    for row, value in enumerate(column):
        if is_missing(value):
            continue
        key = label_key(value, f"member {member!r}, row {row}")
        # True == 1 in Python, but they are different labels
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
