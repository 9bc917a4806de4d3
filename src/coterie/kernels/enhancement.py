"""One fused pass of EC-CMS's alternating updates over all pairs, in place."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# side of the tiles that an entry and its mirror are met in
TILE = 64
# waking threads costs more than this many rows
SERIAL_ROWS = 1024


@njit(cache=True)
def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@njit(cache=True)
def _entry(a, pinned, lam, first, c, c_was, z, p, f_was, f, weight, sums):
    """(11), (14) and the next X at one entry; the changes and new norms go to ``sums``."""
    if pinned:
        e_was, y_was = 0.0, z
    else:
        e_was, y_was = z, lam * z
    if first:
        y_was = a
    if pinned:
        e = 0.0
        y = y_was + a - c
        z = y
    else:
        e = (a - c + y_was) / (1.0 + lam)
        y = lam * e
        z = e
    p = c + p - f_was
    sums[0] += weight * (c - c_was) ** 2
    sums[1] += weight * (e - e_was) ** 2
    sums[2] += weight * (f - f_was) ** 2
    sums[3] += weight * (y - y_was) ** 2
    sums[4] += weight * (c - f) ** 2
    sums[5] += weight * c**2
    sums[6] += weight * e**2
    sums[7] += weight * f**2
    sums[8] += weight * y**2
    sums[9] += weight * (p - f) ** 2
    return z, p, a - e + y + 2.0 * f - p


@njit(cache=True)
def _sweep_stripe(stripe, A, pinned, r, C, X, Z, P, lam, first, out):
    """One stripe of rows against all columns from the diagonal on, an entry with its mirror."""
    size = len(r)
    sums = np.zeros(10)
    top, bottom = stripe * TILE, min((stripe + 1) * TILE, size)
    for left in range(top, size, TILE):
        for i in range(top, bottom):
            for j in range(max(left, i), min(left + TILE, size)):
                f_was = _unit(0.5 * (P[i, j] + P[j, i]))
                f = _unit(0.5 * (C[i, j] + P[i, j] + C[j, i] + P[j, i]) - f_was)  # (13)
                if i == j:
                    Z[i, i], P[i, i], X[i, i] = _entry(
                        A[i, i], pinned[i, i], lam, first, C[i, i], X[i, i], Z[i, i], P[i, i],
                        f_was, f, max(r[i] * (r[i] - 1.0), 0.0), sums,
                    )  # fmt: skip
                    continue
                weight = r[i] * r[j]
                Z[i, j], P[i, j], X[i, j] = _entry(
                    A[i, j], pinned[i, j], lam, first, C[i, j], X[i, j], Z[i, j], P[i, j],
                    f_was, f, weight, sums,
                )  # fmt: skip
                Z[j, i], P[j, i], X[j, i] = _entry(
                    A[i, j], pinned[i, j], lam, first, C[j, i], X[j, i], Z[j, i], P[j, i],
                    f_was, f, weight, sums,
                )  # fmt: skip
    out[stripe] = sums


@njit(cache=True, parallel=True)
def _sweep_in_parallel(A, pinned, r, C, X, Z, P, lam, first):
    """Step 3 over all pairs; sums are kept by stripe so that threads cannot change them."""
    n_stripes = (len(r) + TILE - 1) // TILE
    out = np.zeros((n_stripes, 10))
    for k in prange(n_stripes):
        # long and short stripes alternate, so that equal runs of them are equal work
        stripe = k // 2 if k % 2 == 0 else n_stripes - 1 - k // 2
        _sweep_stripe(stripe, A, pinned, r, C, X, Z, P, lam, first, out)
    return out


@njit(cache=True)
def _sweep_serially(A, pinned, r, C, X, Z, P, lam, first):
    """The same by one thread."""
    n_stripes = (len(r) + TILE - 1) // TILE
    out = np.zeros((n_stripes, 10))
    for stripe in range(n_stripes):
        _sweep_stripe(stripe, A, pinned, r, C, X, Z, P, lam, first, out)
    return out


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
    """Step 3 over all pairs; returns the sums of each stripe."""
    run = _sweep_in_parallel if len(r) > SERIAL_ROWS else _sweep_serially
    return run(A, pinned, r, C, X, Z, P, lam, first)


@njit(cache=True)
def sweep_own(a, r, c, x, z, p, lam, first):
    """Step 3 where a sample meets itself, which is never in Omega."""
    sums = np.zeros(10)
    for u in range(len(r)):
        f_was = _unit(p[u])
        f = _unit(c[u] + p[u] - f_was)
        z[u], p[u], x[u] = _entry(
            a[u], False, lam, first, c[u], x[u], z[u], p[u], f_was, f, r[u], sums
        )
    return sums
