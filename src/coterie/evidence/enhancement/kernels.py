"""The two halves of a pass of EC-CMS on pairs of tiles: solving for C, and all other updates in place.

The matrices are stored as :mod:`coterie.evidence.enhancement.tiles` describes. They may have single
precision. Then all numbers combined with them are single too, because one double would make the whole
expression double. Sums over more than a tile are doubles.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from coterie.core.types import FloatArray
from coterie.evidence.enhancement.factors import Factor
from coterie.evidence.enhancement.tiles import TILE, Numbers
from coterie.numerics.row_ranges import over_rows

# five squared changes, five squared norms, 2 tr(C' Phi C)
N_SUMS = 11


# ---------------------------------------------------------------- (9) by factors


@njit(cache=True, nogil=True, fastmath={"contract"})
def _forward(solved, four, begin, end, starts, rows, values, corners):
    """Multiply by the inverse of L: each row of a quad, then subtract them from the rows below."""
    for quad in range(begin, end):
        top = 4 * quad
        l_10, l_20, l_21 = corners[quad, 1, 0], corners[quad, 2, 0], corners[quad, 2, 1]
        l_30, l_31, l_32 = corners[quad, 3, 0], corners[quad, 3, 1], corners[quad, 3, 2]
        for j in range(TILE):
            f_0 = solved[top, j]
            f_1 = solved[top + 1, j] - l_10 * f_0
            f_2 = solved[top + 2, j] - l_20 * f_0 - l_21 * f_1
            f_3 = solved[top + 3, j] - l_30 * f_0 - l_31 * f_1 - l_32 * f_2
            four[0, j], four[1, j], four[2, j], four[3, j] = f_0, f_1, f_2, f_3
            solved[top + 1, j], solved[top + 2, j], solved[top + 3, j] = f_1, f_2, f_3
        entry, last = starts[quad], starts[quad + 1]
        if (last - entry) % 2 != 0:
            k = rows[entry]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            for j in range(TILE):
                solved[k, j] -= (
                    a_0 * four[0, j] + a_1 * four[1, j] + a_2 * four[2, j] + a_3 * four[3, j]
                )
            entry += 1
        # two at a time, because the loop is bound by loads and stores
        while entry < last:
            k, m = rows[entry], rows[entry + 1]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            entry += 1
            b_0, b_1, b_2, b_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            entry += 1
            for j in range(TILE):
                f_0, f_1, f_2, f_3 = four[0, j], four[1, j], four[2, j], four[3, j]
                solved[k, j] -= a_0 * f_0 + a_1 * f_1 + a_2 * f_2 + a_3 * f_3
                solved[m, j] -= b_0 * f_0 + b_1 * f_1 + b_2 * f_2 + b_3 * f_3


@njit(cache=True, nogil=True, fastmath={"contract"})
def _backward(solved, four, begin, end, starts, rows, values, corners, pivots):
    """Multiply by the inverses of D and U: subtract the rows below from those of a quad."""
    for quad in range(end - 1, begin - 1, -1):
        top = 4 * quad
        p_0, p_1, p_2, p_3 = pivots[quad, 0], pivots[quad, 1], pivots[quad, 2], pivots[quad, 3]
        for j in range(TILE):
            four[0, j] = p_0 * solved[top, j]
            four[1, j] = p_1 * solved[top + 1, j]
            four[2, j] = p_2 * solved[top + 2, j]
            four[3, j] = p_3 * solved[top + 3, j]
        entry, last = starts[quad], starts[quad + 1]
        if (last - entry) % 2 != 0:
            k = rows[entry]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            for j in range(TILE):
                s = solved[k, j]
                four[0, j] -= a_0 * s
                four[1, j] -= a_1 * s
                four[2, j] -= a_2 * s
                four[3, j] -= a_3 * s
            entry += 1
        while entry < last:
            k, m = rows[entry], rows[entry + 1]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            entry += 1
            b_0, b_1, b_2, b_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            entry += 1
            for j in range(TILE):
                s, u = solved[k, j], solved[m, j]
                four[0, j] -= a_0 * s + b_0 * u
                four[1, j] -= a_1 * s + b_1 * u
                four[2, j] -= a_2 * s + b_2 * u
                four[3, j] -= a_3 * s + b_3 * u
        l_10, l_20, l_21 = corners[quad, 1, 0], corners[quad, 2, 0], corners[quad, 2, 1]
        l_30, l_31, l_32 = corners[quad, 3, 0], corners[quad, 3, 1], corners[quad, 3, 2]
        for j in range(TILE):
            f_3 = four[3, j]
            f_2 = four[2, j] - l_32 * f_3
            f_1 = four[1, j] - l_31 * f_3 - l_21 * f_2
            f_0 = four[0, j] - l_30 * f_3 - l_20 * f_2 - l_10 * f_1
            solved[top, j], solved[top + 1, j] = f_0, f_1
            solved[top + 2, j], solved[top + 3, j] = f_2, f_3


@njit(cache=True, nogil=True)
def _solve_panels(
    begin, end, quads, starts, rows, lower, upper, lower_corners, upper_corners, pivots, slots, panels
):
    four = np.empty((4, TILE), panels.dtype)
    for panel in range(begin, end):
        for block in range(len(quads) - 1):
            low, high = quads[block], quads[block + 1]
            present = False
            for stripe in range(4 * low // TILE, (4 * high - 1) // TILE + 1):
                present |= slots[min(stripe, panel), max(stripe, panel)] >= 0
            if present:
                solved = panels[panel]
                _forward(solved, four, low, high, starts, rows, lower, lower_corners)
                _backward(solved, four, low, high, starts, rows, upper, upper_corners, pivots)


# ---------------------------------------------------------------- (11), (13), (14) and the next X


@njit(cache=True)
def _unit(value, zero, one):
    return min(max(value, zero), one)


@njit(cache=True, nogil=True, fastmath=True)
def _inside(c_1, c_2):
    """Whether the symmetric part of C is in [0, 1] all over a pair of tiles."""
    least, most = c_1[0] + c_2[0], c_1[0] + c_2[0]
    for k in range(len(c_1)):
        twice = c_1[k] + c_2[k]
        least = min(least, twice)
        most = max(most, twice)
    return least >= 0 and most <= 2


# the arrays overlap nowhere, and sums may be taken in any fixed order: both let the loop vectorise
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _relax(weight, a, pinned, lam, begun, c_1, c_2, x_1, x_2, z_1, z_2, y, s, sums):
    """One pair of tiles; ``x_1`` and ``x_2`` hold the old C on the way in.

    ``s`` is None where no bound of F is active, neither now nor before.
    """
    zero, half, one = c_1.dtype.type(0.0), c_1.dtype.type(0.5), c_1.dtype.type(1.0)
    change_c, change_e, change_f, change_y, change_p = zero, zero, zero, zero, zero
    norm_c, norm_e, norm_f, norm_y, norm_p = zero, zero, zero, zero, zero
    twice_smoothness, active = zero, zero
    inverse = one / (one + lam)
    for k in range(len(weight)):
        w = weight[k]
        c, d = c_1[k], c_2[k]
        c_was, d_was = x_1[k], x_2[k]
        if s is None:
            f_was = half * (c_was + d_was)
            f = half * (c + d)
            excess_was, excess = zero, zero
        else:
            f_was = _unit(s[k], zero, one)
            excess_was = s[k] - f_was
            shifted = half * (c + d) + excess_was
            active = max(active, abs(excess_was))
            f = _unit(shifted, zero, one)
            excess = shifted - f
            active = max(active, abs(excess))
            s[k] = shifted
        turned_was = y[k]
        turned = turned_was + half * (c - d)
        y[k] = turned
        held = pinned[k]
        rate = one if held else lam
        gain = one if held else inverse
        free = zero if held else w
        z, q = z_1[k], z_2[k]
        z_now = gain * (a[k] - c + rate * z)
        q_now = gain * (a[k] - d + rate * q)
        z_1[k], z_2[k] = z_now, q_now
        # in Y1 - E, where E is zero at first
        past = zero if held else one
        common = a[k] + f - excess
        x_1[k] = common + (rate - past) * z_now - turned
        x_2[k] = common + (rate - past) * q_now + turned
        # C is the solution for this X
        common_was = a[k] + f_was - excess_was
        x_was = common_was + (rate - past * begun) * z - turned_was
        y_was = common_was + (rate - past * begun) * q + turned_was
        twice_smoothness += w * (c * (x_was - (c + c)) + d * (y_was - (d + d)))
        square_z = z_now * z_now + q_now * q_now
        square_dz = (z_now - z) * (z_now - z) + (q_now - q) * (q_now - q)
        change_c += w * ((c - c_was) * (c - c_was) + (d - d_was) * (d - d_was))
        change_e += free * square_dz
        change_f += w * ((f - f_was) * (f - f_was))
        change_y += w * (rate * rate) * square_dz
        change_p += w * ((c - f) * (c - f) + (d - f) * (d - f))
        norm_c += w * (c * c + d * d)
        norm_e += free * square_z
        norm_f += w * (f * f)
        norm_y += w * (rate * rate) * square_z
        norm_p += w * (turned * turned + excess * excess)
    sums[0] = change_c
    sums[1] = change_e
    sums[2] = 2.0 * change_f
    sums[3] = change_y
    sums[4] = change_p
    sums[5] = norm_c
    sums[6] = norm_e
    sums[7] = 2.0 * norm_f
    sums[8] = norm_y
    sums[9] = 2.0 * norm_p
    sums[10] = twice_smoothness
    return active > zero


@njit(cache=True, nogil=True)
def _turn(square, flat):
    for i in range(TILE):
        for j in range(TILE):
            flat[j * TILE + i] = square[i, j]


@njit(cache=True, nogil=True)
def _weigh(stripe, panel, r, weight):
    """Pairs of samples behind each entry; on a diagonal tile every pair of entries is visited twice."""
    for i in range(TILE):
        for j in range(TILE):
            weight[i * TILE + j] = r[stripe * TILE + i] * r[panel * TILE + j]
    if stripe == panel:
        for i in range(TILE):
            many = r[stripe * TILE + i]
            weight[i * TILE + i] = many * max(many - 1, 0)
        for k in range(TILE * TILE):
            weight[k] /= 2


@njit(cache=True, nogil=True)
def _sweep(
    begin, end, corners, r, lam, begun, A, pinned, C, X, E, mirrored_E, turned, shifted, clipped, out
):
    weight = np.empty(TILE * TILE, A.dtype)
    c_2, x_2, z_turned = np.empty_like(weight), np.empty_like(weight), np.empty_like(weight)
    for slot in range(begin, end):
        stripe, panel = corners[slot]
        top, left = stripe * TILE, panel * TILE
        _weigh(stripe, panel, r, weight)
        c_1 = C[panel, top : top + TILE].ravel()
        x_1 = X[panel, top : top + TILE].ravel()
        _turn(C[stripe, left : left + TILE], c_2)
        _turn(X[stripe, left : left + TILE], x_2)
        z_1, z_2 = E[slot], mirrored_E[slot]
        if stripe == panel:
            z_2 = z_turned
            _turn(z_1.reshape((TILE, TILE)), z_2)
        if not clipped[slot]:
            clipped[slot] = not _inside(c_1, c_2)
            if clipped[slot]:
                for k in range(TILE * TILE):
                    shifted[slot, k] = (x_1[k] + x_2[k]) / 2
        if clipped[slot]:
            clipped[slot] = _relax(
                weight, A[slot], pinned[slot], lam, begun, c_1, c_2, x_1, x_2, z_1, z_2,
                turned[slot], shifted[slot], out[slot],
            )  # fmt: skip
        else:
            _relax(
                weight, A[slot], pinned[slot], lam, begun, c_1, c_2, x_1, x_2, z_1, z_2,
                turned[slot], None, out[slot],
            )  # fmt: skip
        if stripe < panel:
            for i in range(TILE):
                for j in range(TILE):
                    X[stripe, left + j, i] = x_2[i * TILE + j]


# ---------------------------------------------------------------- both halves on ranges of rows


def solve(factor: Factor, slots: NDArray[np.int32], X: Numbers) -> None:
    """Step 2, which overwrites X with C."""
    over_rows(_solve_panels, *factor, slots, X, height=TILE)


def sweep(
    corners: NDArray[np.int32],
    r: Numbers,
    lam: float,
    begun: float,
    A: Numbers,
    pinned: NDArray[np.bool_],
    C: Numbers,
    X: Numbers,
    E: Numbers,
    mirrored_E: Numbers,
    turned: Numbers,
    shifted: Numbers,
    clipped: NDArray[np.bool_],
) -> FloatArray:
    """Step 3 over all pairs; returns the sums, which do not depend on the threads.

    ``X`` is the old C on the way in, and ``begun`` 0 in the first pass, in which E is not yet in X.
    """
    out = np.empty((len(corners), N_SUMS))
    over_rows(
        _sweep, corners, r, lam, begun, A, pinned, C, X, E, mirrored_E, turned, shifted, clipped, out,
        height=TILE,
    )  # fmt: skip
    return np.asarray(out.sum(axis=0))
