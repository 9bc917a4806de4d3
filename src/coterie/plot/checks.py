"""Checks of what a picture is given; every error names the function and the argument."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sized
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import LabelError, ParameterError
from coterie.core.params import Integer, Kind, as_numbers
from coterie.core.types import FloatArray
from coterie.ensemble.columns import encode
from coterie.ensemble.missing import MissingValues

FLAG = Kind(lambda value: isinstance(value, bool | np.bool_), "True or False")
K = Integer(1, optional=True)
MAPPING = Kind(
    lambda value: value is None or isinstance(value, Mapping), "None or a mapping of name to value"
)
NAMES = Kind(
    lambda value: (
        isinstance(value, Sized)
        and isinstance(value, Iterable)
        and not isinstance(value, str | bytes)
        and getattr(value, "shape", None) != ()
    ),
    "a sequence of names",
)


def refuse_records(owner: str, name: str, given: object, field: str) -> None:
    """Refuse a fitted model or a Result where one of its fields belongs, and None."""
    kind = type(given).__name__
    if hasattr(given, "get_params"):
        if not hasattr(given, "labels_"):
            raise ParameterError(
                f"{owner}: {name} is a {kind} that is not fitted; fit it and pass its {field}_"
            )
        raise ParameterError(f"{owner}: {name} is a {kind}, not what to draw; pass its {field}_")
    if hasattr(given, "sample_confidence"):
        raise ParameterError(f"{owner}: {name} is a {kind}, not what to draw; pass its {field}")
    if given is None:
        raise ParameterError(
            f"{owner}: {name} is None; pass the {field}_ of a fitted model or the {field} of a Result"
        )


def require_selection(owner: str, name: str, given: Any) -> None:
    """Refuse what is neither a Selection nor arrays; a model has one only if it chose k itself."""
    if given is None or (hasattr(given, "labels_") and not hasattr(given, "selection_")):
        what = "None" if given is None else f"a {type(given).__name__} that did not choose k"
        raise ParameterError(
            f"{owner}: {name} is {what}; pass a Selection: what select_k returns, or the selection_ of "
            'a ConsensusClustering("auto")'
        )
    refuse_records(owner, name, given, "selection")


def numbers(
    owner: str, name: str, given: ArrayLike, shape: tuple[int | None, ...], *, nan: bool = False
) -> FloatArray:
    """The array as floats of the wanted shape (None: any length), finite unless nan may stand."""
    array = as_numbers(f"{owner}: {name}", given)
    fits = array.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = " x ".join("any" if want is None else f"{want:,}" for want in shape)
        raise ParameterError(f"{owner}: {name} must have shape {wanted}, but has {array.shape}")
    if array.size == 0:
        raise ParameterError(f"{owner}: {name} is empty: there is nothing to draw")
    wrong = np.isinf(array) if nan else ~np.isfinite(array)
    if wrong.any():
        place = tuple(int(index) for index in np.argwhere(wrong)[0])
        where = place[0] if len(place) == 1 else place
        raise ParameterError(
            f"{owner}: {name} must be finite, but entry {where} is {float(array[place])!r}"
        )
    return array


def numbers_by_name(
    owner: str, name: str, given: Mapping[str, ArrayLike], length: int
) -> dict[str, FloatArray]:
    """A vector of this length per name; NaN is allowed."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{owner}: {name} must be a mapping of name to numbers, but is {type(given).__name__}"
        )
    return {
        str(key): numbers(owner, f"{name}[{key!r}]", values, (length,), nan=True)
        for key, values in given.items()
    }


def shares(owner: str, name: str, given: ArrayLike, length: int | None) -> FloatArray:
    """A vector of numbers between 0 and 1."""
    values = numbers(owner, name, given, (length,))
    # a share computed in another order may end a rounding above one
    wrong = (values < -1e-9) | (values > 1 + 1e-9)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ParameterError(
            f"{owner}: {name} must lie in [0, 1], but entry {row} is {float(values[row])!r}"
        )
    return np.clip(values, 0.0, 1.0)


def weights(owner: str, name: str, given: ArrayLike | None, length: int) -> FloatArray:
    """Positive weights, one by default."""
    if given is None:
        return np.ones(length)
    values = numbers(owner, name, given, (length,))
    if (values <= 0).any():
        row = int(np.argmax(values <= 0))
        raise ParameterError(
            f"{owner}: {name} must be positive, but entry {row} is {float(values[row])!r}"
        )
    return values


def label_codes(
    owner: str, name: str, given: Any, length: int | None
) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels as codes in the order of their names (numbers as numbers), and the names.

    A missing label (None, NaN) is refused; -1 is a label like any other.
    """
    # a dataframe's column, a categorical, an arrow array: numpy knows them all
    values = np.asarray(given) if hasattr(given, "__array__") else given
    try:
        codes, categories = encode(values, name, MissingValues.named(None))
    except LabelError as error:
        raise ParameterError(f"{owner}: {name}: {error}") from None
    if length is not None and len(codes) != length:
        raise ParameterError(
            f"{owner}: {name} must hold {length:,} labels, but holds {len(codes):,}"
        )
    if len(codes) == 0:
        raise ParameterError(f"{owner}: {name} is empty: there is nothing to draw")
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise ParameterError(f"{owner}: {name} has no label in row {row}; leave out such samples")
    found = [*categories.tolist()]
    order = sorted(range(len(found)), key=lambda code: _natural(found[code]))
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    return rank[codes], [found[code] for code in order]


def _natural(label: Any) -> list[tuple[int, float, str]]:
    """Numbers by size, also those inside text, so that "T 2" comes before "T 10"."""
    if isinstance(label, Integral):
        return [(0, float(label), "")]
    return [
        (0, float(part), part) if part.isdecimal() else (1, 0.0, part)
        for part in re.split(r"([0-9]+)", str(label))
        if part
    ]
