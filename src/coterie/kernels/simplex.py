"""Euclidean projection of rows on the weighted probability simplex."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from coterie._threads import needs_threads


@njit(cache=True, nogil=True)
def _threshold(row, weights):
    """The largest entry and the theta with sum_j w_j max(row_j - largest - theta, 0) = 1.

    Found by shrinking the set that stays positive: entries at or below the current theta cannot be
    positive at the solution, so dropping them is final. Entries are measured from the largest, which
    always stays: the one in the sum then survives rounding however large they are, and rounding
    that would let an entry back in ends the search.
    """
    top = -np.inf
    for value in row:
        top = max(top, value)
    theta = -np.inf
    kept = row.shape[0] + 1
    while True:
        total, mass, count = 0.0, 0.0, 0
        for j in range(row.shape[0]):
            below = row[j] - top
            if below > theta:
                total += weights[j] * below
                mass += weights[j]
                count += 1
        if count == 0:
            return top, np.nan
        if count >= kept:
            return top, theta
        kept = count
        theta = max(theta, (total - 1.0) / mass)


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def _project(rows, weights, out):
    for i in prange(rows.shape[0]):
        top, theta = _threshold(rows[i], weights)
        for j in range(rows.shape[1]):
            above = rows[i, j] - top - theta
            # a NaN stays one, for the caller to name the step it came from
            out[i, j] = 0.0 if above <= 0.0 else above


def project_rows(
    rows: NDArray[np.float64],
    weights: NDArray[np.float64],
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Each row x moved to the nearest point a >= 0 with sum_j w_j a_j = 1, nearness weighted by w.

    An item of weight w stands for w identical ones, so the result is that of the plain projection
    of the row with its entries repeated. Rows are independent: any number of threads gives the
    same bits. ``out`` may be ``rows`` itself.
    """
    if out is None:
        out = np.empty_like(rows)
    _project(rows, weights, out)
    return out
