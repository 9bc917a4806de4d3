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
from coterie.evidence.enhancement.tiles import TILE, Numbers, Quads, Triangle
from coterie.numerics.row_ranges import over_rows

# five squared changes, then five squared norms
N_SUMS = 10


# ---------------------------------------------------------------- columns of a matrix, on some rows


@njit(cache=True, nogil=True)
def _load(panel, begin, end, slots, first, second, buffer, left):
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
                    buffer[shift + i, left + j] = 0
        elif stripe <= panel:
            for i in range(low, high):
                for j in range(TILE):
                    buffer[shift + i, left + j] = first[slot, i, j]
        else:
            for j in range(TILE):
                for i in range(low, high):
                    buffer[shift + i, left + j] = second[slot, j, i]
    return present


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _settle(panel, begin, end, slots, first, second, buffer, left, r, turned):
    """Overwrite X with C from ``buffer``; return the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
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
                row_total = first.dtype.type(0.0)
                for j in range(TILE):
                    c = buffer[shift + i, left + j]
                    row_total += r[right + j] * c * (first[slot, i, j] - (c + c))
                    first[slot, i, j] = c
                total += r[top + i] * row_total
        else:
            for i in range(low, high):
                for j in range(TILE):
                    turned[j, i] = buffer[shift + i, left + j]
            for j in range(TILE):
                row_total = first.dtype.type(0.0)
                for i in range(low, high):
                    c = turned[j, i]
                    row_total += r[top + i] * c * (second[slot, j, i] - (c + c))
                    second[slot, j, i] = c
                total += r[right + j] * row_total
    return total


@njit(cache=True, nogil=True)
def _load_panels(begin, end, group, rows, slots, first, second, buffer, out):
    for k in range(begin, end):
        _load(group + k, rows[0], rows[1], slots, first, second, buffer, k * TILE)


@njit(cache=True, nogil=True)
def _settle_panels(begin, end, group, rows, slots, first, second, buffer, r, out):
    turned = np.empty((TILE, TILE), first.dtype)
    for k in range(begin, end):
        out[k] = _settle(
            group + k, rows[0], rows[1], slots, first, second, buffer, k * TILE, r, turned
        )


# ---------------------------------------------------------------- (9) by factors


@njit(cache=True, nogil=True, fastmath={"contract"})
def _eliminate(target, row, sources, begin, end, columns, values):
    """Subtract multiples of some sources from one row, four per loop to save loads and stores."""
    entry = begin
    while (end - entry) % 4 != 0:
        k, v = columns[entry], values[entry]
        for j in range(TILE):
            target[row, j] -= v * sources[k, j]
        entry += 1
    while entry < end:
        k_0, k_1, k_2, k_3 = (
            columns[entry], columns[entry + 1], columns[entry + 2], columns[entry + 3]
        )  # fmt: skip
        v_0, v_1, v_2, v_3 = values[entry], values[entry + 1], values[entry + 2], values[entry + 3]
        for j in range(TILE):
            target[row, j] -= (
                v_0 * sources[k_0, j] + v_1 * sources[k_1, j]
                + v_2 * sources[k_2, j] + v_3 * sources[k_3, j]
            )  # fmt: skip
        entry += 4


@njit(cache=True, nogil=True, fastmath={"contract"})
def _scatter(solved, four, begin, end, rows, values):
    """Subtract multiples of four rows from other rows, two per loop."""
    entry = begin
    if (end - entry) % 2 != 0:
        k = rows[entry]
        a_0, a_1, a_2, a_3 = values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
        for j in range(TILE):
            solved[k, j] -= (
                a_0 * four[0, j] + a_1 * four[1, j] + a_2 * four[2, j] + a_3 * four[3, j]
            )
        entry += 1
    while entry < end:
        k, m = rows[entry], rows[entry + 1]
        a_0, a_1, a_2, a_3 = values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
        entry += 1
        b_0, b_1, b_2, b_3 = values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
        entry += 1
        for j in range(TILE):
            f_0, f_1, f_2, f_3 = four[0, j], four[1, j], four[2, j], four[3, j]
            solved[k, j] -= a_0 * f_0 + a_1 * f_1 + a_2 * f_2 + a_3 * f_3
            solved[m, j] -= b_0 * f_0 + b_1 * f_1 + b_2 * f_2 + b_3 * f_3


@njit(cache=True, nogil=True, fastmath={"contract"})
def _gather(four, solved, begin, end, rows, values):
    """Subtract multiples of other rows, two per loop, from four rows."""
    entry = begin
    if (end - entry) % 2 != 0:
        k = rows[entry]
        a_0, a_1, a_2, a_3 = values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
        for j in range(TILE):
            s = solved[k, j]
            four[0, j] -= a_0 * s
            four[1, j] -= a_1 * s
            four[2, j] -= a_2 * s
            four[3, j] -= a_3 * s
        entry += 1
    while entry < end:
        k, m = rows[entry], rows[entry + 1]
        a_0, a_1, a_2, a_3 = values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
        entry += 1
        b_0, b_1, b_2, b_3 = values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
        entry += 1
        for j in range(TILE):
            s, u = solved[k, j], solved[m, j]
            four[0, j] -= a_0 * s + b_0 * u
            four[1, j] -= a_1 * s + b_1 * u
            four[2, j] -= a_2 * s + b_2 * u
            four[3, j] -= a_3 * s + b_3 * u


@njit(cache=True, nogil=True)
def _forward(top, bottom, fours, solved, four, rows_of_l, quads):
    """Multiply by the inverse of L."""
    starts, columns, values = rows_of_l
    heads, quad_starts, quad_rows, quad_values, inner = quads
    i, head = top, fours
    while i < bottom:
        size = 4 if head < len(heads) and heads[head] == i else 1
        for k in range(i, i + size):
            _eliminate(solved, k - top, solved, starts[k], starts[k + 1], columns, values)
        if size == 4:
            for k in range(4):
                for m in range(k):
                    v = inner[head, k, m]
                    for j in range(TILE):
                        solved[i - top + k, j] -= v * solved[i - top + m, j]
                for j in range(TILE):
                    four[k, j] = solved[i - top + k, j]
            _scatter(
                solved, four, quad_starts[head], quad_starts[head + 1], quad_rows, quad_values
            )
            head += 1
        i += size
    return head


@njit(cache=True, nogil=True)
def _backward(top, bottom, fours, solved, four, columns_of_l, quads, pivots):
    """Multiply by the inverse of D, and by that of L'; ``fours`` is after the last group of four."""
    starts, rows, values = columns_of_l
    heads, quad_starts, quad_rows, quad_values, inner = quads
    i, head = bottom, fours
    while i > top:
        if head > 0 and heads[head - 1] == i - 4:
            head -= 1
            i -= 4
            for k in range(4):
                for j in range(TILE):
                    four[k, j] = solved[i - top + k, j] * pivots[i + k]
            _gather(four, solved, quad_starts[head], quad_starts[head + 1], quad_rows, quad_values)
            for m in range(3, -1, -1):
                for k in range(m + 1, 4):
                    v = inner[head, k, m]
                    for j in range(TILE):
                        four[m, j] -= v * four[k, j]
                for j in range(TILE):
                    solved[i - top + m, j] = four[m, j]
        else:
            i -= 1
            for j in range(TILE):
                four[0, j] = solved[i - top, j] * pivots[i]
            _eliminate(four, 0, solved, starts[i], starts[i + 1], rows, values)
            for j in range(TILE):
                solved[i - top, j] = four[0, j]


@njit(cache=True, nogil=True)
def _solve_panels(begin, end, ranges, lower, upper, quads, pivots, slots, first, second, r, out):
    widest = 0
    for block in range(len(ranges)):
        widest = max(widest, ranges[block, 1] - ranges[block, 0])
    solved = np.empty((widest, TILE), first.dtype)
    four, turned = np.empty((4, TILE), first.dtype), np.empty((TILE, TILE), first.dtype)
    heads = quads[0]
    for panel in range(begin, end):
        total = 0.0
        head = 0
        for block in range(len(ranges)):
            top, bottom = ranges[block]
            if not _load(panel, top, bottom, slots, first, second, solved, 0):
                continue
            while head < len(heads) and heads[head] < top:
                head += 1
            head = _forward(top, bottom, head, solved, four, lower, quads)
            _backward(top, bottom, head, solved, four, upper, quads, pivots)
            for i in range(bottom - top):
                share = 1 / r[top + i]
                for j in range(TILE):
                    solved[i, j] *= share
            total += _settle(panel, top, bottom, slots, first, second, solved, 0, r, turned)
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


def solve_factorised(
    ranges: NDArray[np.int64],
    lower: Triangle,
    upper: Triangle,
    quads: Quads,
    pivots: Numbers,
    slots: NDArray[np.int32],
    first: Numbers,
    second: Numbers,
    r: Numbers,
) -> float:
    """Step 2 on ranges of positions, overwriting X; returns the sum of r_i r_j C_ij (X_ij - 2 C_ij).

    ``lower``, ``upper`` and ``quads`` as in :class:`Factorised`; ``pivots`` is one over D.
    """
    out = np.empty(len(slots))
    over_rows(
        _solve_panels, ranges, lower, upper, quads, pivots, slots, first, second, r, out,
        height=TILE,
    )  # fmt: skip
    return float(out.sum())


def multiply(
    rows: tuple[int, int],
    inverse: Numbers,
    slots: NDArray[np.int32],
    first: Numbers,
    second: Numbers,
    r: Numbers,
    most: int,
) -> float:
    """Step 2 on one range of positions by the inverse of K; ``most`` panels are solved together."""
    total = 0.0
    for group in range(0, len(slots), most):
        out = np.empty(min(most, len(slots) - group))
        panels = np.empty((rows[1] - rows[0], len(out) * TILE), first.dtype)
        over_rows(_load_panels, group, rows, slots, first, second, panels, out, height=TILE)
        panels = inverse @ panels
        over_rows(_settle_panels, group, rows, slots, first, second, panels, r, out, height=TILE)
        total += float(out.sum())
    return total


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
