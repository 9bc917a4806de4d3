r"""Minimise a smooth function of a matrix whose entries lie in [0, 1].

Limited memory BFGS on the entries that are free to move, with an Armijo search along the projected
path (two-metric projection). A pass over the history costs one sweep for all inner products, taken
over the free entries only, and one for the direction; neither forms anything but arrays of the size
of the matrix.

Inner products carry a weight for each row and each column. A matrix whose row u stands for r_u equal
rows then takes exactly the path that the longer matrix would take, and so for columns.

The kernels run on one thread and release the lock: callers who have many searches run them side by
side, and the order of every sum is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# share of the decrease promised by the slope that a step must bring
ARMIJO = 1e-4
BACKTRACKS = 30
# a pair of changes with a smaller cosine says more about rounding than about curvature
LEAST_CURVATURE = 1e-10
# an entry on a bound whose slope is smaller than this share of the largest stays there: the sign of
# a slope that is zero but for rounding must not decide
SLACK = 1e-9
# an entry this close to a bound is put on it, for the same reason
SNAP = 1e-12


@dataclass(frozen=True)
class BoxMinimum:
    """Where the search ended.

    ``residual`` is the largest entry of the projected gradient step at the last point examined.
    """

    point: FloatArray
    value: float
    n_iter: int
    residual: float


def minimise_in_box(
    value: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray, FloatArray], None],
    start: FloatArray,
    *,
    row_weights: FloatArray,
    column_weights: FloatArray,
    first_step: float,
    max_iter: int,
    tol: float,
    memory: int = 5,
) -> BoxMinimum:
    """Descend from ``start`` until the value falls by less than ``tol`` of itself.

    Parameters
    ----------
    value : callable
        The function at a matrix.
    gradient : callable
        Writes, into its second argument, the gradient with respect to the weighted inner product:
        partial derivatives over row weight times column weight. Only called at the matrix at which
        ``value`` was called last.
    start : ndarray, shape (N, k)
        Entries in [0, 1]; left as it is.
    row_weights, column_weights : ndarray, shapes (N,) and (k,)
    first_step : float
        Multiple of the negative gradient to try while there is no history.
    max_iter : int
        Most steps.
    tol : float
        Least relative decrease of a step that is followed by another.
    memory : int
        Steps remembered.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([[0.25, 2.0], [-1.0, 0.5]])
    >>> def value(Y):
    ...     return float(((Y - target) ** 2).sum())
    >>> def gradient(Y, out):
    ...     np.multiply(Y - target, 2.0, out=out)
    >>> ones = np.ones(2)
    >>> found = minimise_in_box(
    ...     value, gradient, np.zeros((2, 2)), row_weights=ones, column_weights=ones,
    ...     first_step=0.5, max_iter=20, tol=1e-12,
    ... )
    >>> found.point.tolist()
    [[0.25, 1.0], [0.0, 0.5]]
    """
    point, trial = start, np.empty_like(start)
    slope, new_slope, direction = (np.empty_like(start) for _ in range(3))
    changes = np.empty((2, memory, *start.shape))
    order: list[int] = []
    now = value(point)
    gradient(point, slope)
    residual = 0.0
    for n_iter in range(max_iter):
        slots = np.array(order, dtype=np.int64)
        slack = SLACK * max(slope.max(), -slope.min())
        products, residual = _inner_products(
            point, slope, slack, changes, slots, row_weights, column_weights
        )
        if residual == 0.0:
            return BoxMinimum(point, now, n_iter, residual)
        mix = _two_loops(products)
        step = first_step if mix is None else 1.0
        if mix is None:
            mix, slots = -np.ones(1), slots[:0]
        _combine(point, slope, slack, changes, slots, mix, direction)
        lower = now
        for _ in range(BACKTRACKS):
            promised = _step(point, direction, slope, step, row_weights, column_weights, trial)
            lower = value(trial)
            if promised < 0.0 and lower <= now + ARMIJO * promised:
                break
            step /= 2
        else:
            return BoxMinimum(point, now, n_iter, residual)
        gradient(trial, new_slope)
        slot = len(order) if len(order) < memory else order.pop(0)
        np.subtract(trial, point, out=changes[0, slot])
        np.subtract(new_slope, slope, out=changes[1, slot])
        order.append(slot)
        # the caller's start is not to be overwritten by the next trial
        spare = np.empty_like(start) if point is start else point
        point, trial = trial, spare
        slope, new_slope = new_slope, slope
        settled = now - lower <= tol * max(abs(now), abs(lower))
        now = lower
        if settled:
            return BoxMinimum(point, now, n_iter + 1, residual)
    return BoxMinimum(point, now, max_iter, residual)


def working_bytes(n_rows: int, n_columns: int, memory: int = 5) -> int:
    """Memory that a search takes, the start included."""
    return 8 * n_rows * n_columns * (2 * memory + 6)


def _two_loops(products: FloatArray) -> FloatArray | None:
    """The quasi-Newton direction as a mix of steps, gradient changes and gradient, in that order.

    The classical recursion, on the table of inner products instead of the vectors. None without
    any pair of positive curvature.
    """
    size = len(products) // 2
    table = products + np.tril(products, -1).T
    step_step, change_change = np.diag(table)[:size], np.diag(table)[size:-1]
    curvature = np.diag(table[:size, size:-1])
    usable = np.flatnonzero(curvature > LEAST_CURVATURE * np.sqrt(step_step * change_change))
    if usable.size == 0:
        return None
    mix = np.zeros(len(products))
    mix[-1] = 1.0
    taken = np.zeros(size)
    for i in usable[::-1]:
        taken[i] = table[i] @ mix / curvature[i]
        mix[size + i] -= taken[i]
    newest = usable[-1]
    mix *= curvature[newest] / change_change[newest]
    for i in usable:
        mix[i] += taken[i] - table[size + i] @ mix / curvature[i]
    return -mix


@njit(cache=True, inline="always")
def _held(y, slope, slack):
    """Whether an entry lies on a bound and the descent would push it beyond."""
    return (y <= 0.0 and slope >= -slack) or (y >= 1.0 and slope <= slack)


@njit(cache=True, nogil=True)
def _inner_products(point, slope, slack, changes, slots, row_weights, column_weights):
    """Lower triangle of all inner products over free entries, and the largest projected slope."""
    n, k = point.shape
    size = slots.size
    width = 2 * size + 1
    total = np.zeros((width, width))
    largest = 0.0
    entry = np.empty(width)
    row = np.empty((width, width))
    for u in range(n):
        row[:] = 0.0
        for q in range(k):
            y, e = point[u, q], slope[u, q]
            if _held(y, e, slack):
                continue
            largest = max(largest, abs(min(max(y - e, 0.0), 1.0) - y))
            for i in range(size):
                entry[i] = changes[0, slots[i], u, q]
                entry[size + i] = changes[1, slots[i], u, q]
            entry[2 * size] = e
            for i in range(width):
                scaled = entry[i] * column_weights[q]
                for j in range(i + 1):
                    row[i, j] += scaled * entry[j]
        total += row_weights[u] * row
    return total, largest


@njit(cache=True, nogil=True)
def _combine(point, slope, slack, changes, slots, mix, out):
    """The mix of remembered changes and the gradient on free entries, zero on the others."""
    n, k = point.shape
    size = slots.size
    for u in range(n):
        for q in range(k):
            if _held(point[u, q], slope[u, q], slack):
                out[u, q] = 0.0
                continue
            sum_ = mix[2 * size] * slope[u, q]
            for i in range(size):
                sum_ += mix[i] * changes[0, slots[i], u, q]
                sum_ += mix[size + i] * changes[1, slots[i], u, q]
            out[u, q] = sum_


@njit(cache=True, nogil=True)
def _step(point, direction, slope, step, row_weights, column_weights, out):
    """Step, project on the box, and return the decrease that the slope promises (negative)."""
    n, k = point.shape
    promised = 0.0
    for u in range(n):
        sum_ = 0.0
        for q in range(k):
            y = point[u, q] + step * direction[u, q]
            if y < SNAP:
                y = 0.0
            elif y > 1.0 - SNAP:
                y = 1.0
            out[u, q] = y
            sum_ += column_weights[q] * slope[u, q] * (y - point[u, q])
        promised += sum_ * row_weights[u]
    return promised
