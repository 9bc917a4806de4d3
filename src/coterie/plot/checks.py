"""Checks of the arguments of a picture.

Names of arguments begin with the function, as in ``"plot.cdf: grid"``, so that every error names both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import LabelError, ParameterError
from coterie.core.params import Integer, as_numbers
from coterie.core.types import FloatArray
from coterie.ensemble.columns import encode
from coterie.ensemble.missing import MissingValues

K = Integer(1, optional=True)


def numbers(
    name: str, given: ArrayLike, shape: tuple[int | None, ...], *, nan: bool = False
) -> FloatArray:
    """The array as floats of this shape (None: any length); finite, or NaN where ``nan`` allows it."""
    array = as_numbers(name, given)
    fits = array.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = " x ".join("any" if want is None else f"{want:,}" for want in shape)
        raise ParameterError(f"{name} must have shape {wanted}, but has {array.shape}")
    if array.size == 0:
        raise ParameterError(f"{name} is empty: there is nothing to draw")
    wrong = np.isinf(array) if nan else ~np.isfinite(array)
    _refuse_entries(f"{name} must be finite", array, wrong)
    return array


def _refuse_entries(rule: str, array: FloatArray, wrong: NDArray[np.bool_]) -> None:
    """Raise ParameterError naming the first wrong entry, if there is one."""
    if wrong.any():
        entry = tuple(int(index) for index in np.argwhere(wrong)[0])
        shown = entry[0] if len(entry) == 1 else entry
        raise ParameterError(f"{rule}, but entry {shown} is {float(array[entry])!r}")


def symmetric(
    name: str, given: ArrayLike, size: int | None = None, *, nan: bool = False
) -> FloatArray:
    """The array as a symmetric matrix, of this size if one is given."""
    array = numbers(name, given, (None, None), nan=nan)
    side = len(array) if size is None else size
    array = numbers(name, array, (side, side), nan=nan)
    tolerance = 1e-6 * max(float(np.abs(np.nan_to_num(array)).max()), 1e-300)
    if not np.allclose(array, array.T, rtol=0.0, atol=tolerance, equal_nan=True):
        raise ParameterError(f"{name} must be symmetric, but is not")
    return array


def numbers_by_name(
    name: str, given: Mapping[str, ArrayLike], length: int
) -> dict[str, FloatArray]:
    """A vector of this length per name; NaN is allowed."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{name} must be a mapping of name to numbers, but is {type(given).__name__}"
        )
    return {
        str(key): numbers(f"{name}[{key!r}]", values, (length,), nan=True)
        for key, values in given.items()
    }


def shares(name: str, given: ArrayLike, length: int | None) -> FloatArray:
    """A vector of numbers between 0 and 1."""
    values = numbers(name, given, (length,))
    # rounding may push a share slightly above one
    wrong = (values < -1e-9) | (values > 1 + 1e-9)
    _refuse_entries(f"{name} must lie in [0, 1]", values, wrong)
    return np.clip(values, 0.0, 1.0)


def weights(name: str, given: ArrayLike | None, length: int) -> FloatArray:
    """Positive weights, one by default."""
    if given is None:
        return np.ones(length)
    values = numbers(name, given, (length,))
    _refuse_entries(f"{name} must be positive", values, values <= 0)
    return values


def label_codes(name: str, given: Any, length: int | None) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels as integer codes, and the label of each code in natural order.

    A missing label (None, NaN) is an error; -1 is an ordinary label.
    """
    # numpy converts data frame columns, categoricals and arrow arrays
    values = np.asarray(given) if hasattr(given, "__array__") else given
    try:
        codes, categories = encode(values, "labels", MissingValues.named(None))
    except LabelError as error:
        raise ParameterError(f"{name}: {error}") from None
    if length is not None and len(codes) != length:
        raise ParameterError(f"{name} must hold {length:,} labels, but holds {len(codes):,}")
    if len(codes) == 0:
        raise ParameterError(f"{name} is empty: there is nothing to draw")
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ParameterError(f"{name} has no label in row {row}; leave out such samples")
    distinct = categories.tolist()
    order = sorted(range(len(distinct)), key=lambda code: _natural(distinct[code]))
    return np.argsort(order)[codes], [distinct[code] for code in order]


def _natural(label: Any) -> list[tuple[int, float, str]]:
    """Sort key that orders numbers by size, also inside text: "T 2" comes before "T 10"."""
    if isinstance(label, Integral):
        return [(0, float(label), "")]
    return [
        (0, float(part), part) if part.isdecimal() else (1, 0.0, part)
        for part in re.split(r"([0-9]+)", str(label))
        if part
    ]
