"""The median of values that carry weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import FloatArray

# sums of float weights that are equal may differ in their last digits
_ROUNDING = 1e-12


def weighted_median(values: FloatArray, weights: NDArray[Any], *, lower: bool = False) -> float:
    """The value with half of the weight on either side.

    Where the weight below a value is exactly half, two values qualify. Their mean is returned, or
    the smaller of them with ``lower=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numerics.medians import weighted_median
    >>> values = np.array([0.9, 0.5, 0.1])
    >>> weighted_median(values, np.array([1, 1, 1]))
    0.5
    >>> weighted_median(values, np.array([1, 1, 2])), weighted_median(
    ...     values, np.array([1, 1, 2]), lower=True)
    (0.3, 0.1)
    """
    # sort equal values by weight, so that the sums do not depend on the order of the input
    order = np.lexsort((weights, values))
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    low = int(np.searchsorted(reached, half * (1 - _ROUNDING)))
    if lower:
        return float(values[order[low]])
    high = min(int(np.searchsorted(reached, half * (1 + _ROUNDING))), len(order) - 1)
    return float(values[order[low]] + values[order[high]]) / 2
