r"""Minimise a smooth function of a matrix whose entries lie in [0, 1].

Limited memory BFGS on the entries that are free to move, with an Armijo search along the projected
path (two-metric projection). Most entries lie on a bound and are held there, so the history is kept
as the last points and gradients themselves, and the steps and changes between them are formed for
the free entries only.

Inner products carry a weight for each row and each column. If row u represents r_u equal rows, the
search therefore takes exactly the same path as for the longer matrix; the same holds for columns.

The kernels run on one thread and release the GIL, so several searches can run in parallel, and the
order of every sum is fixed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from coterie.core.types import FloatArray

# Armijo condition: share of the decrease predicted by the slope that a step must reach
ARMIJO = 1e-4
BACKTRACKS = 30
# a pair of changes with a smaller cosine is dominated by rounding, not by curvature
MIN_CURVATURE = 1e-10
# an entry on a bound stays there if its slope is below this share of the largest, because the sign of
# a slope that is zero up to rounding is arbitrary
SLACK = 1e-9
# an entry this close to a bound is put on it, for the same reason
SNAP = 1e-12
# earlier steps kept for the quasi-Newton direction
MEMORY = 5
# free entries per block of inner products
CHUNK = 16384


@dataclass(frozen=True)
class BoxMinimum:
    """Result of the search."""

    point: FloatArray
    value: float
    n_iter: int


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
) -> BoxMinimum:
    """Descend from ``start`` until a step lowers the value by less than ``tol`` times the value.

    Parameters
    ----------
    value : callable
        The function at a matrix.
    gradient : callable
        Writes, into its second argument, the gradient with respect to the weighted inner product:
        partial derivatives over row weight times column weight. Only called at the matrix at which
        ``value`` was called last.
    start : ndarray, shape (N, k)
        Entries in [0, 1]; not changed.
    row_weights, column_weights : ndarray, shapes (N,) and (k,)
    first_step : float
        Multiple of the negative gradient to try while there is no history.
    max_iter : int
        Maximum number of steps.
    tol : float
        The search ends when the relative decrease of a step is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> target = np.array([[0.25, 2.0], [-1.0, 0.5]])
    >>> def value(Y):
    ...     return float(((Y - target) ** 2).sum())
    >>> def gradient(Y, out):
    ...     np.multiply(Y - target, 2.0, out=out)
    >>> ones = np.ones(2)
    >>> minimum = minimise_in_box(
    ...     value, gradient, np.zeros((2, 2)), row_weights=ones, column_weights=ones,
    ...     first_step=0.5, max_iter=20, tol=1e-12,
    ... )
    >>> minimum.point.tolist()
    [[0.25, 1.0], [0.0, 0.5]]
    """
    points, slopes = [start], [np.empty_like(start)]
    spare_points: list[FloatArray] = []
    spare_slopes: list[FloatArray] = []
    now = value(start)
    gradient(start, slopes[0])
    for n_iter in range(max_iter):
        point, slope = points[-1], slopes[-1]
        entries, weights, residual = _free_entries(
            point, slope, SLACK * _largest(slope), row_weights, column_weights
        )
        if residual == 0.0:
            return BoxMinimum(point, now, n_iter)
        history = _history(points, slopes, entries)
        mix = _two_loops(_products(history, weights))
        step = first_step if mix is None else 1.0
        direction = -history[-1] if mix is None else mix @ history
        trial = spare_points.pop() if spare_points else np.empty_like(start)
        np.copyto(trial, point)
        lower = now
        for _ in range(BACKTRACKS):
            promised = _step(point, entries, direction, history[-1], weights, step, trial)
            lower = value(trial)
            if promised < 0.0 and lower <= now + ARMIJO * promised:
                break
            step /= 2
        else:
            return BoxMinimum(point, now, n_iter)
        points.append(trial)
        slopes.append(spare_slopes.pop() if spare_slopes else np.empty_like(start))
        gradient(trial, slopes[-1])
        if len(points) > MEMORY + 1:
            oldest = points.pop(0)
            # the caller's start must not be overwritten
            if oldest is not start:
                spare_points.append(oldest)
            spare_slopes.append(slopes.pop(0))
        settled = now - lower <= tol * max(abs(now), abs(lower))
        now = lower
        if settled:
            return BoxMinimum(trial, now, n_iter + 1)
    return BoxMinimum(points[-1], now, max_iter)


def working_bytes(n_rows: int, n_columns: int) -> int:
    """Bytes that a search takes including its start, if about a third of the entries are free."""
    return 8 * n_rows * n_columns * (3 * MEMORY + 6)


def _two_loops(products: FloatArray) -> FloatArray | None:
    """The quasi-Newton direction as a mix of steps, gradient changes and gradient, in that order.

    The classical recursion, on the table of inner products instead of the vectors. None without
    any pair of positive curvature.
    """
    size = len(products) // 2
    table = products + np.tril(products, -1).T
    step_step, change_change = np.diag(table)[:size], np.diag(table)[size:-1]
    curvature = np.diag(table[:size, size:-1])
    usable = np.flatnonzero(curvature > MIN_CURVATURE * np.sqrt(step_step * change_change))
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
    # & and | rather than short-circuit operators, which would be branches
    return ((y <= 0.0) & (slope >= -slack)) | ((y >= 1.0) & (slope <= slack))


def _history(
    points: list[FloatArray], slopes: list[FloatArray], entries: NDArray[np.int64]
) -> FloatArray:
    """Rows of steps, of gradient changes, and last the gradient, on the free entries."""
    size = len(points) - 1
    rows = np.empty((2 * size + 1, len(entries)))
    for first, matrices in ((0, points), (size, slopes)):
        last = matrices[0].ravel()[entries]
        for i in range(size):
            new = matrices[i + 1].ravel()[entries]
            np.subtract(new, last, out=rows[first + i])
            last = new
    rows[-1] = slopes[-1].ravel()[entries]
    return rows


def _products(history: FloatArray, weights: FloatArray) -> FloatArray:
    """Lower triangle of all weighted inner products."""
    total = np.zeros((len(history), len(history)))
    for begin in range(0, history.shape[1], CHUNK):
        chunk = history[:, begin : begin + CHUNK]
        total += (chunk * weights[begin : begin + CHUNK]) @ chunk.T
    return np.tril(total)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _largest(matrix):
    top = 0.0
    for value in matrix.ravel():
        top = max(top, abs(value))
    return top


@njit(cache=True, nogil=True)
def _free_entries(point, slope, slack, row_weights, column_weights):
    """Positions of the entries not held at a bound, their weights, and the largest projected slope."""
    n, k = point.shape
    # memory pages that are not written are never allocated
    entries = np.empty(n * k, dtype=np.int64)
    count = 0
    for u in range(n):
        for q in range(k):
            # always write, but advance only past free entries: the loop has no branch to mispredict
            entries[count] = u * k + q
            count += not _held(point[u, q], slope[u, q], slack)
    entries = entries[:count].copy()
    weights = np.empty(count)
    largest = 0.0
    for i in range(count):
        u, q = divmod(entries[i], k)
        weights[i] = row_weights[u] * column_weights[q]
        y = point[u, q]
        largest = max(largest, abs(min(max(y - slope[u, q], 0.0), 1.0) - y))
    return entries, weights, largest


@njit(cache=True, nogil=True)
def _step(point, entries, direction, slope, weights, step, out):
    """Step, project onto the box, and return the change that the slope predicts (negative)."""
    here, there = point.ravel(), out.ravel()
    promised = 0.0
    for i in range(len(entries)):
        entry = entries[i]
        y = here[entry] + step * direction[i]
        if y < SNAP:
            y = 0.0
        elif y > 1.0 - SNAP:
            y = 1.0
        there[entry] = y
        promised += weights[i] * slope[i] * (y - here[entry])
    return promised
