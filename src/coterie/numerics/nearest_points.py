r"""The nearest of p points to each of many rows, exactly, at about the speed of a matrix product.

:math:`|x - c|^2 = |x|^2 - 2 (x \cdot c - |c|^2 / 2)`, so one matrix product in single precision gives the
order of the distances but for rounding errors. Where the two smallest differ by less than these errors can
be, the distances of the points in question are computed directly, in double precision. So the answer for a
row does not depend on the rows around it, on blocks or on threads, and equal distances have one rule: the
first point. A matrix product alone gives other last digits at another position in a block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import Budget, require
from coterie.core.threads import one_blas_thread
from coterie.numerics.row_ranges import over_rows

# products held by a thread at the same time; they stay in its cache
BLOCK_CELLS = 2**19
MAX_BLOCK_ROWS = 1024
# numbers held while doubtful rows are compared directly
DIRECT_CELLS = 2**22
# largest relative rounding error of one operation in single precision
ROUNDING = 2.0**-24


class NearestPoints:
    """Points to search among.

    Parameters
    ----------
    points : array or sparse matrix, shape (p, d)
        Finite. Of equal points only the first is ever the nearest.
    memory_budget : int, str or None
        Bytes that the search may take besides the points.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numerics.nearest_points import NearestPoints
    >>> NearestPoints(np.array([[0.0], [4.0], [9.0]]))(np.array([[1.0], [2.0], [7.0]])).tolist()
    [0, 0, 2]
    """

    def __init__(self, points: Any, memory_budget: Budget = None) -> None:
        self._points = points.tocsr() if sparse.issparse(points) else np.asarray(points)
        p, d = points.shape
        self.check(p, d, memory_budget)
        # centred, because products of large numbers hide small distances
        self._origin = np.zeros(d) if sparse.issparse(points) else _mean(self._points)
        table = np.empty((d + 1, p), dtype=np.float32)
        lengths = np.empty(p)
        step = max(1, DIRECT_CELLS // d)
        largest = 0.0
        for begin in range(0, p, step):
            part = dense_rows(self._points, begin, begin + step) - self._origin
            lengths[begin : begin + step] = np.einsum("ij,ij->i", part, part)
            largest = max(largest, float(np.abs(part).max(initial=0.0)))
        # a power of two, so that scaling changes no digit
        longest = float(np.sqrt(lengths.max(initial=0.0)))
        self._scale = 2.0 ** np.ceil(np.log2(longest)) if longest > 0 else 1.0
        for begin in range(0, p, step):
            part = dense_rows(self._points, begin, begin + step) - self._origin
            table[:d, begin : begin + step] = (part / -self._scale).T
        table[d] = lengths / (2 * self._scale**2)
        self._table = table
        # each product has d + 1 terms, whose factors were rounded before; two products are compared
        self._error = 2 * (d + 4) * ROUNDING

    @staticmethod
    def check(n_points: int, width: int, memory_budget: Budget = None) -> None:
        """Raise MemoryBudgetError if the search among so many points would need too much memory."""
        require(
            4 * (width + 1) * n_points + 8 * DIRECT_CELLS,
            f"The search for the nearest of {n_points:,} points in {width:,} dimensions",
            "Use fewer prototypes or fewer features.",
            memory_budget,
        )

    def __call__(self, X: Any) -> NDArray[np.int32]:
        """The number of the nearest point to each row of X; the first of several."""
        out = np.empty(X.shape[0], dtype=np.int32)
        with one_blas_thread():
            over_rows(self._search, X, out)
        return out

    def _search(self, begin: int, end: int, X: Any, out: NDArray[np.int32]) -> None:
        d, p = self._table.shape[0] - 1, self._table.shape[1]
        height = min(MAX_BLOCK_ROWS, max(1, BLOCK_CELLS // p), max(1, DIRECT_CELLS // d))
        rows = np.ones((height, d + 1), dtype=np.float32)
        products = np.empty((height, p), dtype=np.float32)
        for first in range(begin, end, height):
            last = min(first + height, end)
            block = dense_rows(X, first, last)
            shifted = (block - self._origin) / self._scale
            bound = self._error * (1.0 + np.sqrt(np.einsum("ij,ij->i", shifted, shifted)))
            count = last - first
            with np.errstate(over="ignore"):
                # rows so far away that they overflow are compared directly
                rows[:count, :d] = shifted
            out[first:last] = self._nearest(block, rows[:count], bound, products[:count])

    def _nearest(
        self,
        block: NDArray[np.float64],
        rows: NDArray[np.float32],
        bound: NDArray[np.float64],
        products: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        with np.errstate(invalid="ignore", over="ignore"):
            np.matmul(rows, self._table, out=products)
            nearest = products.argmin(axis=1)
            each = np.arange(len(rows))
            smallest = products[each, nearest]
            products[each, nearest] = np.inf
            lead = products.min(axis=1).astype(np.float64) - smallest
            # also if a product overflowed or is not a number
            doubtful = np.flatnonzero(~((lead > bound) & np.isfinite(smallest)))
            products[each, nearest] = smallest
        height = max(1, DIRECT_CELLS // (self._table.shape[0] * self._table.shape[1]))
        for begin in range(0, len(doubtful), height):
            some = doubtful[begin : begin + height]
            limit = smallest[some].astype(np.float64) + bound[some]
            limit[~np.isfinite(limit)] = np.inf
            candidates = ~(products[some] > limit[:, None])
            nearest[some] = self._compared(block[some], candidates)
        return nearest

    def _compared(
        self, block: NDArray[np.float64], candidates: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The nearest of the candidates to each row, from the distances themselves."""
        row, point = np.nonzero(candidates)
        points: Any = self._points[point]
        apart = block[row] - (points.toarray() if sparse.issparse(points) else points)
        squares = np.einsum("ij,ij->i", apart, apart)
        first = np.searchsorted(row, np.arange(len(block)))
        is_least = squares == np.minimum.reduceat(squares, first)[row]
        return point[is_least][np.searchsorted(row[is_least], np.arange(len(block)))]


def dense_rows(X: Any, begin: int, end: int) -> NDArray[np.float64]:
    """Some rows of a matrix, as an array of double precision."""
    part = X[begin:end]
    return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)


def _mean(points: NDArray[Any]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = points.mean(axis=0, dtype=np.float64)
    return mean
