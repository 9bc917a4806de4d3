r"""Minimise a smooth function of a matrix whose entries lie in [0, 1].

Limited memory BFGS on the entries that are free to move, with an Armijo search along the projected
path (two-metric projection). Most entries lie on a bound, zero as a rule, and are held there. So no
N x k array exists: points are kept as sparse rows, the gradient is computed in blocks of rows of which
the free entries are kept, and slopes at earlier points are computed again where they are needed.

Inner products carry a weight for each row and each column. If row u represents r_u equal rows, the
search therefore takes exactly the same path as for the longer matrix; the same holds for columns.

Rows do not depend on each other where threads share the work, and the order of every sum is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.types import FloatArray
from coterie.numerics.compiled import kernel, part_of_kernels
from coterie.numerics.row_ranges import over_rows

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
# rows of the gradient that a thread computes at a time
BLOCK = 256


@dataclass(frozen=True)
class SparseRows:
    """The entries of a matrix that are not zero, row by row, with increasing columns in each row.

    Attributes
    ----------
    starts : ndarray, shape (N + 1,)
        Where each row begins in ``columns`` and ``values``.
    columns, values : ndarray
    width : int
        Number of columns of the matrix.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: FloatArray
    width: int

    @classmethod
    def of(cls, matrix: ArrayLike | sparse.csr_array) -> Self:
        """The entries of a matrix."""
        rows = sparse.csr_array(matrix)
        rows.sort_indices()
        return cls(
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            rows.data.astype(np.float64),
            rows.shape[1],
        )

    @property
    def matrix(self) -> sparse.csr_array:
        """As a matrix of scipy."""
        shape = (len(self.starts) - 1, self.width)
        return sparse.csr_array((self.values, self.columns, self.starts), shape=shape)


class Gradient(Protocol):
    """Gradient at one point with respect to the weighted inner product.

    Its entries are partial derivatives over row weight times column weight.
    """

    def rows(self, begin: int, end: int, out: FloatArray) -> None:
        """Write all entries of some rows. Several threads may call this at the same time."""

    def at(self, free: FreeEntries, values: FloatArray) -> FloatArray:
        """Some entries, where the point has these values; the same digits as those of ``rows``."""


class Objective(Protocol):
    """The function to minimise."""

    def value(self, point: SparseRows) -> float:
        """The function at a point."""

    def gradient(self) -> Gradient:
        """Its gradient at the point at which ``value`` was called last."""


@dataclass(frozen=True)
class BoxMinimum:
    """Result of the search."""

    point: SparseRows
    value: float
    n_iter: int


@dataclass(frozen=True)
class FreeEntries:
    """The entries of a point that are not held at a bound, row by row as in :class:`SparseRows`.

    Attributes
    ----------
    values, slopes, weights : ndarray
        Point, gradient, and row weight times column weight at each entry.
    residual : float
        The largest slope after projection onto the box.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: FloatArray
    slopes: FloatArray
    weights: FloatArray
    residual: float


def minimise_in_box(
    objective: Objective,
    start: SparseRows,
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
    objective : Objective
    start : SparseRows
        Entries in [0, 1].
    row_weights, column_weights : ndarray, shapes (N,) and (k,)
    first_step : float
        Multiple of the negative gradient to try while there is no history.
    max_iter : int
        Maximum number of steps.
    tol : float
        The search ends when the relative decrease of a step is smaller.

    Examples
    --------
    The point of the box next to a target:

    >>> import numpy as np
    >>> target = np.array([[0.25, 2.0], [-1.0, 0.5]])
    >>> class Distance:
    ...     def value(self, point):
    ...         self.difference = point.matrix.toarray() - target
    ...         return float((self.difference**2).sum())
    ...
    ...     def gradient(self):
    ...         return Slopes(2.0 * self.difference)
    >>> class Slopes:
    ...     def __init__(self, slopes):
    ...         self.slopes = slopes
    ...
    ...     def rows(self, begin, end, out):
    ...         out[:] = self.slopes[begin:end]
    ...
    ...     def at(self, free, values):
    ...         return self.slopes[np.repeat([0, 1], np.diff(free.starts)), free.columns]
    >>> minimum = minimise_in_box(
    ...     Distance(), SparseRows.of(np.zeros((2, 2))), row_weights=np.ones(2),
    ...     column_weights=np.ones(2), first_step=0.5, max_iter=20, tol=1e-12,
    ... )
    >>> minimum.point.matrix.toarray().tolist()
    [[0.25, 1.0], [0.0, 0.5]]
    """
    now = objective.value(start)
    points, gradients = [start], [objective.gradient()]
    for n_iter in range(max_iter):
        point = points[-1]
        free = _free_entries(point, gradients[-1], row_weights, column_weights)
        if free.residual == 0.0:
            return BoxMinimum(point, now, n_iter)
        history = _history(points, gradients, free)
        mix = _two_loops(_products(history, free.weights))
        step = first_step if mix is None else 1.0
        direction = -history[-1] if mix is None else mix @ history
        del history
        for _ in range(BACKTRACKS):
            trial, promised = _step(point, free, direction, step)
            lower = objective.value(trial)
            if promised < 0.0 and lower <= now + ARMIJO * promised:
                break
            step /= 2
        else:
            return BoxMinimum(point, now, n_iter)
        points.append(trial)
        gradients.append(objective.gradient())
        del points[: -MEMORY - 1], gradients[: -MEMORY - 1]
        settled = now - lower <= tol * max(abs(now), abs(lower))
        now = lower
        if settled:
            return BoxMinimum(trial, now, n_iter + 1)
    return BoxMinimum(points[-1], now, max_iter)


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


def _products(history: FloatArray, weights: FloatArray) -> FloatArray:
    """Lower triangle of all weighted inner products."""
    total = np.zeros((len(history), len(history)))
    for begin in range(0, history.shape[1], CHUNK):
        chunk = history[:, begin : begin + CHUNK]
        total += (chunk * weights[begin : begin + CHUNK]) @ chunk.T
    return np.tril(total)


def _free_entries(
    point: SparseRows, gradient: Gradient, row_weights: FloatArray, column_weights: FloatArray
) -> FreeEntries:
    """The entries that may move: descent does not push them beyond a bound on which they lie."""
    n, k = len(row_weights), len(column_weights)
    blocks = np.empty(-(-n // BLOCK), dtype=object)

    def search(first: int, last: int, blocks: NDArray[Any]) -> None:
        slopes = np.empty((min(BLOCK, n), k))
        for block in range(first, last):
            begin = block * BLOCK
            end = min(begin + BLOCK, n)
            gradient.rows(begin, end, slopes[: end - begin])
            blocks[block] = _movable(
                begin, slopes[: end - begin], point.starts, point.columns, point.values
            )

    over_rows(search, blocks, height=BLOCK)
    slack = SLACK * max(largest for *_, largest in blocks)
    free = [_beyond_slack(slack, *arrays) for *arrays, _ in blocks]
    del blocks
    counts, columns, values, slopes = (np.concatenate(parts) for parts in zip(*free, strict=True))
    weights = np.repeat(row_weights, counts) * column_weights[columns]
    projected = np.abs(np.clip(values - slopes, 0.0, 1.0) - values)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return FreeEntries(starts, columns, values, slopes, weights, float(projected.max(initial=0.0)))


def _history(points: list[SparseRows], gradients: list[Gradient], free: FreeEntries) -> FloatArray:
    """Rows of steps, of gradient changes, and last the gradient, on the free entries."""
    size = len(points) - 1
    rows = np.empty((2 * size + 1, len(free.values)))
    later, slopes = free.values, free.slopes
    rows[-1] = slopes
    for i in range(size - 1, -1, -1):
        point = points[i]
        values = _values_at(
            point.starts, point.columns, point.values, free.starts, free.columns, point.width
        )
        earlier = gradients[i].at(free, values)
        np.subtract(later, values, out=rows[i])
        np.subtract(slopes, earlier, out=rows[size + i])
        later, slopes = values, earlier
    return rows


def _step(
    point: SparseRows, free: FreeEntries, direction: FloatArray, step: float
) -> tuple[SparseRows, float]:
    """Step, project onto the box; also the change that the slope predicts (negative)."""
    starts, columns, values, promised = _moved(
        point.starts, point.columns, point.values, free.starts, free.columns, free.slopes,
        free.weights, direction, step, point.width,
    )  # fmt: skip
    return SparseRows(starts, columns, values, point.width), promised


@kernel()
def _movable(begin, slopes, starts, columns, values):
    """Entries of a block of rows that are not held at a bound if there is no slack.

    Returns their number in each row, columns, values and slopes, and the largest slope of the block.
    """
    height, k = slopes.shape
    counts = np.empty(height, dtype=np.int64)
    # memory pages that are not written are never allocated
    free = np.empty(height * k + 1, dtype=np.int32)
    sign = np.empty(k)
    count = 0
    for i in range(height):
        # negative: free to move; an entry of zero is where its slope is
        # not sign[:] = slopes[i]: numba compiles that, with its check of the shapes, for a second
        for q in range(k):
            sign[q] = slopes[i, q]
        for e in range(starts[begin + i], starts[begin + i + 1]):
            q = columns[e]
            sign[q] = 1.0 if values[e] >= 1.0 and slopes[i, q] <= 0.0 else -1.0
        before = count
        for q in range(k):
            # always write, but advance only past free entries: the loop has no branch to mispredict
            free[count] = q
            count += sign[q] < 0.0
        counts[i] = count - before
    there, slope_there = np.empty(count), np.empty(count)
    e = 0
    for i in range(height):
        f, last = starts[begin + i], starts[begin + i + 1]
        for _ in range(counts[i]):
            q = free[e]
            while f < last and columns[f] < q:
                f += 1
            there[e] = values[f] if f < last and columns[f] == q else 0.0
            slope_there[e] = slopes[i, q]
            e += 1
    return counts, free[:count], there, slope_there, _largest(slopes)


@part_of_kernels(fastmath={"nnan", "nsz"})
def _largest(matrix):
    top = 0.0
    for i in range(matrix.shape[0]):
        for q in range(matrix.shape[1]):
            size = abs(matrix[i, q])
            top = size if size > top else top
    return top


@kernel()
def _beyond_slack(slack, counts, columns, values, slopes):
    """Those of the entries whose slope is not zero up to rounding, or that lie on no bound."""
    kept = np.empty(len(columns), dtype=np.bool_)
    remaining = np.empty_like(counts)
    e = 0
    for i in range(len(counts)):
        remaining[i] = 0
        for _ in range(counts[i]):
            y, slope = values[e], slopes[e]
            kept[e] = not (((y <= 0.0) & (slope >= -slack)) | ((y >= 1.0) & (slope <= slack)))
            remaining[i] += kept[e]
            e += 1
    return remaining, columns[kept], values[kept], slopes[kept]


@kernel()
def _values_at(starts, columns, values, entry_starts, entry_columns, width):
    """A matrix at some of its entries."""
    out = np.empty(len(entry_columns))
    row = np.zeros(width)
    for u in range(len(starts) - 1):
        for e in range(starts[u], starts[u + 1]):
            row[columns[e]] = values[e]
        for e in range(entry_starts[u], entry_starts[u + 1]):
            out[e] = row[entry_columns[e]]
        for e in range(starts[u], starts[u + 1]):
            row[columns[e]] = 0.0
    return out


@kernel()
def _moved(
    starts, columns, values, free_starts, free_columns, slopes, weights, direction, step, width
):  # fmt: skip
    n = len(starts) - 1
    size = len(columns) + len(free_columns)
    new_starts = np.zeros(n + 1, dtype=np.int64)
    new_columns = np.empty(size, dtype=np.int32)
    new_values = np.empty(size)
    promised = 0.0
    count = 0
    for u in range(n):
        e, last = starts[u], starts[u + 1]
        for f in range(free_starts[u], free_starts[u + 1]):
            q = free_columns[f]
            # entries before it are held, and stay
            while e < last and columns[e] < q:
                new_columns[count] = columns[e]
                new_values[count] = values[e]
                count += 1
                e += 1
            here = 0.0
            if e < last and columns[e] == q:
                here = values[e]
                e += 1
            y = here + step * direction[f]
            if y < SNAP:
                y = 0.0
            elif y > 1.0 - SNAP:
                y = 1.0
            promised += weights[f] * slopes[f] * (y - here)
            if y != 0.0:
                new_columns[count] = q
                new_values[count] = y
                count += 1
        while e < last:
            new_columns[count] = columns[e]
            new_values[count] = values[e]
            count += 1
            e += 1
        new_starts[u + 1] = count
    return new_starts, new_columns[:count].copy(), new_values[:count].copy(), promised
