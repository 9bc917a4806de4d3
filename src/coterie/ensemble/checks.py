"""Checks of weights, of selected rows, and of members without labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import LabelError
from coterie.core.params import as_float, shown
from coterie.core.text import counted
from coterie.ensemble.compress import DistinctRows

# within these limits, squares of weights and of their sums neither overflow nor underflow
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-30, 1e30


def checked_rows(given: ArrayLike | slice, n_samples: int) -> slice | NDArray[Any]:
    """Positions, a mask or a slice of the samples; other values raise LabelError."""
    if isinstance(given, slice):
        return given
    try:
        rows = np.asarray(given)
    except ValueError:
        # ragged lists are not rows
        rows = np.asarray(None)
    if rows.size == 0:
        return slice(0)
    if rows.ndim != 1 or rows.dtype.kind not in "biu":
        raise LabelError(
            f"subset: rows must be positions, a mask or a slice, but is {shown(given)}"
        )
    if rows.dtype.kind == "b":
        if len(rows) != n_samples:
            raise LabelError(f"subset: the mask has {len(rows)} entries for {n_samples} samples")
    elif not -n_samples <= int(rows.min()) <= int(rows.max()) < n_samples:
        outside = int(rows.max()) if int(rows.max()) >= n_samples else int(rows.min())
        raise LabelError(f"subset: no row {outside}; there are {n_samples}, counted from 0")
    return rows


def refuse_blank_members(rows: DistinctRows, names: Sequence[str]) -> None:
    """Raise LabelError for members without any label."""
    blank = [names[j] for j in np.flatnonzero((rows.codes < 0).all(axis=0)).tolist()]
    if blank:
        first = ", ".join(repr(name) for name in blank[:5])
        raise LabelError(
            f"{counted(len(blank), 'member')} without any label: {first}"
            f"{', ...' if len(blank) > 5 else ''}; leave these members out"
        )


def checked_weights(
    given: ArrayLike | None, length: int, name: str = "member_weight"
) -> NDArray[Any]:
    """Positive and finite weights, ones if none are given; integers stay integers."""
    if given is None:
        return np.ones(length)
    if np.ma.is_masked(given):
        raise LabelError(f"{name} has masked entries; every weight must be a number")
    try:
        weights = np.array(given)
    except ValueError:
        raise LabelError(f"{name} must hold {length} numbers, but is {shown(given)}") from None
    if weights.shape != (length,):
        raise LabelError(f"{name} must hold {length} numbers, but has shape {weights.shape}")
    if weights.dtype.kind not in "iuf" or not (np.isfinite(weights) & (weights > 0)).all():
        for i, value in enumerate(weights.tolist()):
            number = as_float(value)
            if number is None or not (np.isfinite(number) and number > 0):
                raise LabelError(
                    f"{name} must be positive (not zero) and finite, but entry {i} is {value!r}"
                )
    if weights.dtype.kind not in "iu":
        # floats of half and extended precision, too
        weights = weights.astype(np.float64)
    for i in (int(np.argmin(weights)), int(np.argmax(weights))):
        if not SMALLEST_WEIGHT <= weights[i] <= LARGEST_WEIGHT:
            raise LabelError(
                f"{name} must lie between {SMALLEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, but entry {i} is "
                f"{weights[i].item()!r}; multiply all of them by one factor"
            )
    # weights are summed as floats, which are exact only up to this total
    if weights.dtype.kind in "iu" and weights.sum(dtype=np.float64) > 2.0**53:
        return weights.astype(np.float64)
    return weights
