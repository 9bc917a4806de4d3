"""One fused pass of EC-CMS's alternating updates over all pairs, in place.

The matrices may have single precision. Then all numbers combined with them are single too, because one
double would make the whole expression double. Sums over more than a tile or a panel are doubles.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from coterie.core.types import FloatArray
from coterie.numerics.row_ranges import over_rows

# side of the square tiles in which an entry and its transpose are read together; a tile fits into cache
TILE = 128
# columns for which a factorised system is solved together
PANEL = 64
# five squared changes, then five squared norms
N_SUMS = 10


@njit(cache=True, nogil=True, fastmath={"contract"})
def _eliminate(row, solved, begin, end, indices, data):
    """Subtract multiples of rows of ``solved`` from ``row``, which is not one of them.

    Subtracts two rows per loop, because the loop is bound by loads and stores.
    """
    entry = begin
    if (end - begin) % 2 == 1:
        value, other = data[entry], solved[indices[entry]]
        for column in range(len(row)):
            row[column] -= value * other[column]
        entry += 1
    while entry < end:
        first, one = data[entry], solved[indices[entry]]
        second, two = data[entry + 1], solved[indices[entry + 1]]
        for column in range(len(row)):
            row[column] -= first * one[column] + second * two[column]
        entry += 2


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _settle(row, scale, r, target):
    """Overwrite a row of X with C = scale times ``row``; return sum_j r_j C_j (X_j - 2 C_j)."""
    total = 0.0
    for column in range(len(target)):
        c = scale * row[column]
        total += r[column] * c * (target[column] - (c + c))
        target[column] = c
    return total


@njit(cache=True, nogil=True)
def _solve_panel(panel, X, rows, lower, upper, inverse_pivots, r):
    """C from X on one block and one panel of columns; returns its part of r' (C . (X - 2 C)) r."""
    n_rows, n_columns = len(rows), X.shape[1]
    left = panel * PANEL
    width = min(PANEL, n_columns - left)
    row = np.zeros(PANEL, X.dtype)
    solved = np.empty((n_rows, PANEL), X.dtype)
    starts, indices, data = lower
    for i in range(n_rows):
        row[:width] = X[rows[i], left : left + width]
        _eliminate(row, solved, starts[i], starts[i + 1], indices, data)
        solved[i] = row
    total = 0.0
    one = X.dtype.type(1.0)
    starts, indices, data = upper
    for k in range(n_rows):
        i = n_rows - 1 - k
        for column in range(PANEL):
            row[column] = solved[i, column] * inverse_pivots[i]
        _eliminate(row, solved, starts[i], starts[i + 1], indices, data)
        solved[i] = row
        weight = r[rows[i]]
        target = X[rows[i], left : left + width]
        total += weight * _settle(row, one / weight, r[left : left + width], target)
    return total


@njit(cache=True, nogil=True)
def _solve_panels(begin, end, X, rows, lower, upper, inverse_pivots, r, out):
    for panel in range(begin, end):
        out[panel] = _solve_panel(panel, X, rows, lower, upper, inverse_pivots, r)


def solve_factorised(
    X: FloatArray,
    rows: NDArray[np.int64],
    lower: tuple[NDArray[np.int32], NDArray[np.int32], FloatArray],
    upper: tuple[NDArray[np.int32], NDArray[np.int32], FloatArray],
    inverse_pivots: FloatArray,
    r: FloatArray,
) -> float:
    """Step 2 on some rows, overwriting X; returns the sum of r_i r_j C_ij (X_ij - 2 C_ij).

    ``rows`` are in the order of elimination, ``lower`` and ``upper`` the rows of the unit triangular
    factor of R K and of its transpose without their diagonals (starts, columns, values).
    """
    out = np.empty(-(-X.shape[1] // PANEL))
    over_rows(_solve_panels, X, rows, lower, upper, inverse_pivots, r, out, height=PANEL)
    return float(out.sum())


@njit(cache=True)
def _unit(value, zero, one):
    return min(max(value, zero), one)


# the arrays overlap nowhere, and sums may be taken in any fixed order: both let the loop vectorise
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _run(scale, r, a, pinned, lam, first, c, x, z, p, f_was, f, sums):
    """(11), (14) and the next X along a run of entries; changes and new norms go to ``sums``.

    ``x`` holds the old C on the way in.
    """
    zero, one = c.dtype.type(0.0), c.dtype.type(1.0)
    change_c, change_e, change_f, change_y, change_p = zero, zero, zero, zero, zero
    norm_c, norm_e, norm_f, norm_y, norm_p = zero, zero, zero, zero, zero
    inverse = one / (one + lam)
    for j in range(len(r)):
        weight = r[j]
        held = pinned[j]
        e_was = zero if held else z[j]
        y_was = z[j] if held else lam * z[j]
        y_was = a[j] if first else y_was
        gap = a[j] - c[j] + y_was
        e = zero if held else gap * inverse
        y = gap if held else lam * e
        shifted = c[j] + p[j] - f_was[j]
        change_c += weight * (c[j] - x[j]) ** 2
        change_e += weight * (e - e_was) ** 2
        change_f += weight * (f[j] - f_was[j]) ** 2
        change_y += weight * (y - y_was) ** 2
        change_p += weight * (c[j] - f[j]) ** 2
        norm_c += weight * c[j] ** 2
        norm_e += weight * e**2
        norm_f += weight * f[j] ** 2
        norm_y += weight * y**2
        norm_p += weight * (shifted - f[j]) ** 2
        z[j] = y if held else e
        p[j] = shifted
        x[j] = a[j] - e + y + (f[j] + f[j]) - shifted
    sums[0] += scale * change_c
    sums[1] += scale * change_e
    sums[2] += scale * change_f
    sums[3] += scale * change_y
    sums[4] += scale * change_p
    sums[5] += scale * norm_c
    sums[6] += scale * norm_e
    sums[7] += scale * norm_f
    sums[8] += scale * norm_y
    sums[9] += scale * norm_p


@njit(cache=True, nogil=True)
def _copies(rows, columns, C, P, f_was, f):
    """F before and after (13) on a tile."""
    top, bottom = rows
    left, right = columns
    zero, half, one = C.dtype.type(0.0), C.dtype.type(0.5), C.dtype.type(1.0)
    for j in range(left, right):
        for i in range(top, bottom):
            f_was[i - top, j - left] = P[j, i]
            f[i - top, j - left] = C[j, i] + P[j, i]
    for i in range(top, bottom):
        for j in range(left, right):
            was = _unit(half * (P[i, j] + f_was[i - top, j - left]), zero, one)
            now = _unit(half * (C[i, j] + P[i, j] + f[i - top, j - left]) - was, zero, one)
            f_was[i - top, j - left] = was
            f[i - top, j - left] = now


@njit(cache=True, nogil=True)
def _turn(tile):
    for i in range(TILE):
        for j in range(i):
            tile[i, j], tile[j, i] = tile[j, i], tile[i, j]


@njit(cache=True, nogil=True)
def _sweep_stripe(stripe, A, pinned, r, C, X, Z, P, lam, first, out):
    """One stripe of rows against all columns from the diagonal on, a tile with its mirror."""
    size = len(r)
    sums = out[stripe]
    zero, one = C.dtype.type(0.0), C.dtype.type(1.0)
    f_was, f = np.empty((TILE, TILE), C.dtype), np.empty((TILE, TILE), C.dtype)
    top, bottom = stripe * TILE, min((stripe + 1) * TILE, size)
    for left in range(top, size, TILE):
        right = min(left + TILE, size)
        _copies((top, bottom), (left, right), C, P, f_was, f)
        for i in range(top, bottom):
            for turn in range(3):
                # on the diagonal: the columns before it, those after it, and itself
                begin, end, scale = left, right, r[i]
                if left == top and turn == 0:
                    end = i
                elif left == top and turn == 1:
                    begin = i + 1
                elif left == top:
                    # two samples of one microcluster are r (r - 1) pairs
                    begin, end, scale = i, i + 1, max(r[i] - one, zero)
                elif turn > 0:
                    break
                if begin < end:
                    _run(
                        scale, r[begin:end], A[i, begin:end], pinned[i, begin:end], lam, first,
                        C[i, begin:end], X[i, begin:end], Z[i, begin:end], P[i, begin:end],
                        f_was[i - top, begin - left : end - left],
                        f[i - top, begin - left : end - left], sums,
                    )  # fmt: skip
        if left == top:
            continue
        _turn(f_was)
        _turn(f)
        for j in range(left, right):
            _run(
                r[j], r[top:bottom], A[j, top:bottom], pinned[j, top:bottom], lam, first,
                C[j, top:bottom], X[j, top:bottom], Z[j, top:bottom], P[j, top:bottom],
                f_was[j - left, : bottom - top], f[j - left, : bottom - top], sums,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def _sweep_stripes(begin, end, A, pinned, r, C, X, Z, P, lam, first, out):
    for stripe in range(begin, end):
        _sweep_stripe(stripe, A, pinned, r, C, X, Z, P, lam, first, out)


def sweep(
    A: FloatArray,
    pinned: NDArray[np.bool_],
    r: FloatArray,
    C: FloatArray,
    X: FloatArray,
    Z: FloatArray,
    P: FloatArray,
    lam: float,
    first: bool,
) -> FloatArray:
    """Step 3 over all pairs; returns the sums of each stripe, which do not depend on the threads."""
    out = np.zeros((-(-len(r) // TILE), N_SUMS))
    over_rows(_sweep_stripes, A, pinned, r, C, X, Z, P, lam, first, out, height=TILE, falling=True)
    return out


@njit(cache=True)
def sweep_own(a, r, c, x, z, p, lam, first):
    """Step 3 for the pairs of a sample with itself, which are never in Omega."""
    f_was, f = np.empty_like(p), np.empty_like(p)
    zero, one = p.dtype.type(0.0), p.dtype.type(1.0)
    for u in range(len(r)):
        f_was[u] = _unit(p[u], zero, one)
        f[u] = _unit(c[u] + p[u] - f_was[u], zero, one)
    sums = np.zeros(N_SUMS)
    _run(one, r, a, np.zeros(len(r), dtype=np.bool_), lam, first, c, x, z, p, f_was, f, sums)
    return sums
