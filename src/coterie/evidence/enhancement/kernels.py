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

# five squared changes, then five squared norms
N_SUMS = 10


# ---------------------------------------------------------------- columns of a matrix, on some rows


@njit(cache=True, nogil=True)
def _load(panel, begin, end, slots, first, second, buffer):
    """Copy rows ``begin`` to ``end`` of a tile's columns; return whether any pair of tiles is there."""
    present = False
    for stripe in range(begin // TILE, (end - 1) // TILE + 1):
        top = stripe * TILE
        low, high = max(begin, top) - top, min(end, top + TILE) - top
        slot = slots[min(stripe, panel), max(stripe, panel)]
        present |= slot >= 0
        shift = top - begin
        if slot < 0:
            for i in range(low, high):
                for j in range(TILE):
                    buffer[shift + i, j] = 0
        elif stripe <= panel:
            for i in range(low, high):
                for j in range(TILE):
                    buffer[shift + i, j] = first[slot, i, j]
        else:
            for j in range(TILE):
                for i in range(low, high):
                    buffer[shift + i, j] = second[slot, j, i]
    return present


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _settle(panel, begin, end, slots, first, second, buffer, r, turned):
    """Overwrite X with C, which is ``buffer`` by r; return the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
    zero, one = first.dtype.type(0.0), first.dtype.type(1.0)
    total = 0.0
    right = panel * TILE
    for stripe in range(begin // TILE, (end - 1) // TILE + 1):
        slot = slots[min(stripe, panel), max(stripe, panel)]
        if slot < 0:
            continue
        top = stripe * TILE
        low, high = max(begin, top) - top, min(end, top + TILE) - top
        shift = top - begin
        if stripe <= panel:
            for i in range(low, high):
                row_total, share = zero, one / r[top + i]
                for j in range(TILE):
                    c = share * buffer[shift + i, j]
                    row_total += r[right + j] * c * (first[slot, i, j] - (c + c))
                    first[slot, i, j] = c
                total += r[top + i] * row_total
        else:
            for i in range(low, high):
                share = one / r[top + i]
                for j in range(TILE):
                    turned[j, i] = share * buffer[shift + i, j]
            for j in range(TILE):
                row_total = zero
                for i in range(low, high):
                    c = turned[j, i]
                    row_total += r[top + i] * c * (second[slot, j, i] - (c + c))
                    second[slot, j, i] = c
                total += r[right + j] * row_total
    return total


# ---------------------------------------------------------------- (9) by factors


@njit(cache=True, nogil=True, fastmath={"contract"})
def _forward(solved, four, begin, end, corners, starts, rows, values):
    """Multiply by the inverse of L: each row of a quad, then subtract them from the rows below."""
    for quad in range(begin, end):
        top = 4 * (quad - begin)
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
def _backward(solved, four, begin, end, corners, starts, rows, values, pivots):
    """Multiply by the inverse of D, and by that of L': subtract the rows below from those of a quad."""
    for quad in range(end - 1, begin - 1, -1):
        top = 4 * (quad - begin)
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
    begin, end, ranges, quads, corners, starts, rows, values, pivots, slots, first, second, r, out
):
    widest = 0
    for block in range(len(ranges)):
        widest = max(widest, quads[block + 1] - quads[block])
    solved = np.empty((4 * widest, TILE), first.dtype)
    four, turned = np.empty((4, TILE), first.dtype), np.empty((TILE, TILE), first.dtype)
    for panel in range(begin, end):
        total = 0.0
        for block in range(len(ranges)):
            top, bottom = ranges[block]
            if not _load(panel, top, bottom, slots, first, second, solved):
                continue
            low, high = quads[block], quads[block + 1]
            for i in range(bottom - top, 4 * (high - low)):
                for j in range(TILE):
                    solved[i, j] = 0
            _forward(solved, four, low, high, corners, starts, rows, values)
            _backward(solved, four, low, high, corners, starts, rows, values, pivots)
            total += _settle(panel, top, bottom, slots, first, second, solved, r, turned)
        out[panel] = total


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
def _relax(weight, a, pinned, lam, c_1, c_2, x_1, x_2, z_1, z_2, y, s, sums):
    """One pair of tiles; ``x_1`` and ``x_2`` hold the old C on the way in.

    ``s`` is None where no bound of F is active, neither now nor before.
    """
    zero, half, one = c_1.dtype.type(0.0), c_1.dtype.type(0.5), c_1.dtype.type(1.0)
    change_c, change_e, change_f, change_y, change_p = zero, zero, zero, zero, zero
    norm_c, norm_e, norm_f, norm_y, norm_p = zero, zero, zero, zero, zero
    active = zero
    inverse = one / (one + lam)
    for k in range(len(weight)):
        w = weight[k]
        c, d = c_1[k], c_2[k]
        c_was, d_was = x_1[k], x_2[k]
        if s is None:
            f_was = half * (c_was + d_was)
            f = half * (c + d)
            excess = zero
        else:
            f_was = _unit(s[k], zero, one)
            excess = s[k] - f_was
            shifted = half * (c + d) + excess
            active = max(active, abs(excess))
            f = _unit(shifted, zero, one)
            excess = shifted - f
            active = max(active, abs(excess))
            s[k] = shifted
        turned = y[k] + half * (c - d)
        y[k] = turned
        held = pinned[k]
        rate = one if held else lam
        gain = one if held else inverse
        free = zero if held else w
        z, q = z_1[k], z_2[k]
        z_now = gain * (a[k] - c + rate * z)
        q_now = gain * (a[k] - d + rate * q)
        z_1[k], z_2[k] = z_now, q_now
        # Y1 - E
        past = zero if held else one
        common = a[k] + f - excess
        x_1[k] = common + (rate - past) * z_now - turned
        x_2[k] = common + (rate - past) * q_now + turned
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
    return active > zero


@njit(cache=True, nogil=True)
def _turn(tile, turned):
    for i in range(TILE):
        for j in range(TILE):
            turned[j * TILE + i] = tile[i * TILE + j]


@njit(cache=True, nogil=True)
def _weigh(stripe, panel, r, weight):
    """Pairs of samples behind each entry; both entries of a diagonal tile's pairs are visited twice."""
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
def _sweep(begin, end, corners, r, lam, A, pinned, C, D, X, W, Z, Q, Y, S, clipped, out):
    dtype = A.dtype
    weight = np.empty(TILE * TILE, dtype)
    d_turned, w_turned, q_turned = np.empty_like(weight), np.empty_like(weight), np.empty_like(weight)
    for slot in range(begin, end):
        stripe, panel = corners[slot]
        _weigh(stripe, panel, r, weight)
        d, w, q = D[slot], W[slot], Q[slot]
        if stripe == panel:
            d, w, q = d_turned, w_turned, q_turned
            _turn(C[slot], d)
            _turn(X[slot], w)
            _turn(Z[slot], q)
        if not clipped[slot]:
            clipped[slot] = not _inside(C[slot], d)
            if clipped[slot]:
                for k in range(TILE * TILE):
                    S[slot, k] = (X[slot, k] + w[k]) / 2
        if clipped[slot]:
            clipped[slot] = _relax(
                weight, A[slot], pinned[slot], lam, C[slot], d, X[slot], w, Z[slot], q, Y[slot],
                S[slot], out[slot],
            )  # fmt: skip
        else:
            _relax(
                weight, A[slot], pinned[slot], lam, C[slot], d, X[slot], w, Z[slot], q, Y[slot],
                None, out[slot],
            )  # fmt: skip


# ---------------------------------------------------------------- both halves on ranges of rows


def solve(factor: Factor, slots: NDArray[np.int32], first: Numbers, second: Numbers, r: Numbers) -> float:
    """Step 2, overwriting X with C; returns the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
    out = np.empty(len(slots))
    over_rows(_solve_panels, *factor, slots, first, second, r, out, height=TILE)
    return float(out.sum())


def sweep(
    corners: NDArray[np.int32],
    r: Numbers,
    lam: float,
    A: Numbers,
    pinned: NDArray[np.bool_],
    *halves: Numbers,
    clipped: NDArray[np.bool_],
) -> FloatArray:
    """Step 3 over all pairs; returns the ten sums, which do not depend on the threads.

    ``halves`` are both halves of C, of the old C, which become those of X, and of Z, then the
    antisymmetric part of Y2, and the symmetric part of P where it is clipped.
    """
    out = np.empty((len(corners), N_SUMS))
    flat = [array.reshape(len(corners), -1) for array in (A, pinned, *halves)]
    over_rows(_sweep, corners, r, lam, *flat, clipped, out, height=TILE)
    return np.asarray(out.sum(axis=0))
