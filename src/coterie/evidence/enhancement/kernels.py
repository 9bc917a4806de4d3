"""The two halves of a pass of EC-CMS on pairs of tiles: solving for C, and all other updates in place.

The matrices are stored as :mod:`coterie.evidence.enhancement.tiles` describes. They may have single
precision. Then all numbers combined with them are single too, because one double would make the whole
expression double. Sums over more than a tile are doubles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import FloatArray
from coterie.evidence.enhancement.factors import Factor
from coterie.evidence.enhancement.tiles import TILE, Numbers
from coterie.numerics.compiled import kernel, part_of_kernels
from coterie.numerics.row_ranges import over_rows

# five squared changes, five squared norms, 2 tr(C' Phi C)
N_SUMS = 11


# ---------------------------------------------------------------- (9) by factors


@part_of_kernels(fastmath={"contract"})
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
        while (last - entry) % 4 != 0:
            k = rows[entry]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            for j in range(TILE):
                solved[k, j] = (
                    solved[k, j]
                    - a_0 * four[0, j] - a_1 * four[1, j] - a_2 * four[2, j] - a_3 * four[3, j]
                )  # fmt: skip
            entry += 1
        # four at a time, because starting a loop takes as long as ten of its steps
        while entry < last:
            k, m, n, o = rows[entry], rows[entry + 1], rows[entry + 2], rows[entry + 3]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            b_0, b_1, b_2, b_3 = (
                values[entry + 1, 0], values[entry + 1, 1], values[entry + 1, 2], values[entry + 1, 3]
            )  # fmt: skip
            c_0, c_1, c_2, c_3 = (
                values[entry + 2, 0], values[entry + 2, 1], values[entry + 2, 2], values[entry + 2, 3]
            )  # fmt: skip
            d_0, d_1, d_2, d_3 = (
                values[entry + 3, 0], values[entry + 3, 1], values[entry + 3, 2], values[entry + 3, 3]
            )  # fmt: skip
            entry += 4
            for j in range(TILE):
                f_0, f_1, f_2, f_3 = four[0, j], four[1, j], four[2, j], four[3, j]
                # not a sum that is then subtracted, which would take one operation more
                solved[k, j] = solved[k, j] - a_0 * f_0 - a_1 * f_1 - a_2 * f_2 - a_3 * f_3
                solved[m, j] = solved[m, j] - b_0 * f_0 - b_1 * f_1 - b_2 * f_2 - b_3 * f_3
                solved[n, j] = solved[n, j] - c_0 * f_0 - c_1 * f_1 - c_2 * f_2 - c_3 * f_3
                solved[o, j] = solved[o, j] - d_0 * f_0 - d_1 * f_1 - d_2 * f_2 - d_3 * f_3


@part_of_kernels(fastmath={"contract"})
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
        while (last - entry) % 4 != 0:
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
            k, m, n, o = rows[entry], rows[entry + 1], rows[entry + 2], rows[entry + 3]
            a_0, a_1, a_2, a_3 = (
                values[entry, 0], values[entry, 1], values[entry, 2], values[entry, 3]
            )  # fmt: skip
            b_0, b_1, b_2, b_3 = (
                values[entry + 1, 0], values[entry + 1, 1], values[entry + 1, 2], values[entry + 1, 3]
            )  # fmt: skip
            c_0, c_1, c_2, c_3 = (
                values[entry + 2, 0], values[entry + 2, 1], values[entry + 2, 2], values[entry + 2, 3]
            )  # fmt: skip
            d_0, d_1, d_2, d_3 = (
                values[entry + 3, 0], values[entry + 3, 1], values[entry + 3, 2], values[entry + 3, 3]
            )  # fmt: skip
            entry += 4
            for j in range(TILE):
                s, u, v, w = solved[k, j], solved[m, j], solved[n, j], solved[o, j]
                four[0, j] = four[0, j] - a_0 * s - b_0 * u - c_0 * v - d_0 * w
                four[1, j] = four[1, j] - a_1 * s - b_1 * u - c_1 * v - d_1 * w
                four[2, j] = four[2, j] - a_2 * s - b_2 * u - c_2 * v - d_2 * w
                four[3, j] = four[3, j] - a_3 * s - b_3 * u - c_3 * v - d_3 * w
        l_10, l_20, l_21 = corners[quad, 1, 0], corners[quad, 2, 0], corners[quad, 2, 1]
        l_30, l_31, l_32 = corners[quad, 3, 0], corners[quad, 3, 1], corners[quad, 3, 2]
        for j in range(TILE):
            f_3 = four[3, j]
            f_2 = four[2, j] - l_32 * f_3
            f_1 = four[1, j] - l_31 * f_3 - l_21 * f_2
            f_0 = four[0, j] - l_30 * f_3 - l_20 * f_2 - l_10 * f_1
            solved[top, j], solved[top + 1, j] = f_0, f_1
            solved[top + 2, j], solved[top + 3, j] = f_2, f_3


@part_of_kernels()
def _fetch(solved, begin, end):
    """Read rows once in order, which is faster than having them fetched in the order of elimination."""
    total = 0.0
    for i in range(begin, end):
        for j in range(0, TILE, 8):
            total += solved[i, j]
    return total


@kernel()
def _solve_panels(
    begin, end, quads, starts, rows, lower, upper, lower_corners, upper_corners, pivots, slots, r,
    degrees, panels, own, read,
):  # fmt: skip
    four, surplus = np.empty((4, TILE), panels.dtype), np.empty(TILE, panels.dtype)
    for panel in range(begin, end):
        solved, left = panels[panel], panel * TILE
        for j in range(TILE):
            if r[left + j] > 0:
                surplus[j] = own[left + j] - solved[left + j, j]
                solved[left + j, j] += surplus[j] / r[left + j]
        for block in range(len(quads) - 1):
            low, high = quads[block], quads[block + 1]
            present = False
            for stripe in range(4 * low // TILE, (4 * high - 1) // TILE + 1):
                slot = slots[stripe, panel] if stripe < panel else slots[panel, stripe]
                present |= slot >= 0
            if present:
                # stored, because a compiler leaves out what is not used
                read[panel] = _fetch(solved, 4 * low, 4 * high)
                _forward(solved, four, low, high, starts, rows, lower, lower_corners)
                _backward(solved, four, low, high, starts, rows, upper, upper_corners, pivots)
        for j in range(TILE):
            if r[left + j] > 0:
                t = degrees[left + j]
                solved[left + j, j] -= surplus[j] / (r[left + j] * t)
                own[left + j] = solved[left + j, j] + surplus[j] / t


# ---------------------------------------------------------------- (11), (13), (14) and the next X


@part_of_kernels()
def _unit(value, zero, one):
    # a NaN stays
    least = zero if value < zero else value
    return one if least > one else least


# the arrays overlap nowhere, and sums may be taken in any fixed order: both let the loop vectorise
@part_of_kernels(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _relax(weight, a, pinned, lam, begun, c_1, c_2, x_1, x_2, z_1, z_2, turned, shifted, sums):
    """One pair of tiles; ``x_1`` holds the old C on the way in."""
    zero, half, one = c_1.dtype.type(0.0), c_1.dtype.type(0.5), c_1.dtype.type(1.0)
    change_c, change_e, change_f, change_y, change_p = zero, zero, zero, zero, zero
    norm_c, norm_e, norm_f, norm_y, norm_p = zero, zero, zero, zero, zero
    twice_smoothness = zero
    inverse = one / (one + lam)
    for k in range(len(weight)):
        w = weight[k]
        c, d = c_1[k], c_2[k]
        f_was = _unit(shifted[k], zero, one)
        # what the bounds cut off, which is the symmetric part of Y2
        cut_was = shifted[k] - f_was
        now = half * (c + d) + cut_was
        f = _unit(now, zero, one)
        cut = now - f
        shifted[k] = now
        y_was = turned[k]
        y = y_was + half * (c - d)
        turned[k] = y
        held = pinned[k]
        # outside of Omega, Y1 is E times lambda
        rate = one if held else lam
        gain = one if held else inverse
        free = zero if held else w
        p, q = z_1[k], z_2[k]
        p_now = gain * (a[k] - c + rate * p)
        q_now = gain * (a[k] - d + rate * q)
        z_1[k], z_2[k] = p_now, q_now
        # Y1 - E is E times this number; in the first X, E is zero
        step = rate - (zero if held else one)
        step_was = rate - (zero if held else begun)
        change_c += w * ((c - x_1[k]) * (c - x_1[k]))
        both = a[k] + f - cut
        x_1[k] = both + step * p_now - y
        x_2[k] = both + step * q_now + y
        # the X that C solves
        both_was = a[k] + f_was - cut_was
        x_was = both_was + step_was * p - y_was
        x_was_mirrored = both_was + step_was * q + y_was
        twice_smoothness += w * (c * (x_was - (c + c)) + d * (x_was_mirrored - (d + d)))
        square = p_now * p_now + q_now * q_now
        square_of_change = (p_now - p) * (p_now - p) + (q_now - q) * (q_now - q)
        change_e += free * square_of_change
        change_f += w * ((f - f_was) * (f - f_was))
        change_y += w * (rate * rate) * square_of_change
        change_p += w * ((c - f) * (c - f) + (d - f) * (d - f))
        norm_c += w * (c * c + d * d)
        norm_e += free * square
        norm_f += w * (f * f)
        norm_y += w * (rate * rate) * square
        norm_p += w * (y * y + cut * cut)
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


@part_of_kernels()
def _turn(square, flat):
    for i in range(TILE):
        for j in range(TILE):
            flat[j * TILE + i] = square[i, j]


@part_of_kernels(fastmath={"reassoc", "contract"})
def _change(square, was, r_rows, r_columns):
    """Weighted squares of the change of a tile."""
    total = 0.0
    for i in range(TILE):
        of_row = square.dtype.type(0.0)
        for j in range(TILE):
            change = square[i, j] - was[i, j]
            of_row += r_columns[j] * (change * change)
        total += r_rows[i] * of_row
    return total


@part_of_kernels()
def _weigh(r_rows, r_columns, weight):
    for i in range(TILE):
        for j in range(TILE):
            weight[i * TILE + j] = r_rows[i] * r_columns[j]


@kernel()
def _sweep(begin, end, corners, r, lam, begun, A, pinned, C, X, E, mirrored, turned, shifted, out):
    weight = np.empty(TILE * TILE, A.dtype)
    c_2, x_2, z_turned = np.empty_like(weight), np.empty_like(weight), np.empty_like(weight)
    for slot in range(begin, end):
        stripe, panel = corners[slot]
        top, left = stripe * TILE, panel * TILE
        r_1, r_2 = r[top : top + TILE], r[left : left + TILE]
        _weigh(r_1, r_2, weight)
        c_1, x_1 = C[panel, top : top + TILE].ravel(), X[panel, top : top + TILE].ravel()
        mirror, mirror_was = C[stripe, left : left + TILE], X[stripe, left : left + TILE]
        _turn(mirror, c_2)
        z_1, z_2 = E[slot], mirrored[slot]
        change = 0.0
        if stripe < panel:
            change = _change(mirror, mirror_was, r_2, r_1)
        else:
            z_2 = z_turned
            _turn(z_1.reshape((TILE, TILE)), z_2)
            for i in range(TILE):
                # two samples of a microcluster are r (r - 1) pairs
                r_i = r_1[i]
                weight[i * TILE + i] = r_i * (r_i - 1) if r_i > 1 else r_i * 0
        _relax(
            weight, A[slot], pinned[slot], lam, begun, c_1, c_2, x_1, x_2, z_1, z_2, turned[slot],
            shifted[slot], out[slot],
        )  # fmt: skip
        if stripe < panel:
            out[slot, 0] += change
            for i in range(TILE):
                for j in range(TILE):
                    mirror_was[j, i] = x_2[i * TILE + j]
        else:
            # an entry and its mirror image are both in the tile, and both were counted twice, but for
            # the change of C
            for k in range(1, N_SUMS):
                out[slot, k] /= 2


# ---------------------------------------------------------------- both halves on ranges of rows


def solve(
    factor: Factor,
    slots: NDArray[np.int32],
    r: Numbers,
    degrees: Numbers,
    X: Numbers,
    own: Numbers,
) -> None:
    """Step 2, which overwrites X and its own values with C; all by position."""
    over_rows(_solve_panels, *factor, slots, r, degrees, X, own, np.empty(len(X)), height=TILE)


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
    mirrored: Numbers,
    turned: Numbers,
    shifted: Numbers,
) -> FloatArray:
    """Step 3 over all pairs; returns the sums, which do not depend on the threads.

    ``X`` is the old C on the way in, and ``begun`` 0 in the first pass, in which E is not yet in X.
    """
    out = np.empty((len(corners), N_SUMS))
    over_rows(
        _sweep, corners, r, lam, begun, A, pinned, C, X, E, mirrored, turned, shifted, out,
        height=TILE,
    )  # fmt: skip
    return np.asarray(out.sum(axis=0))
