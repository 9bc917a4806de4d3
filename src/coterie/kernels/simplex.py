"""Euclidean projection of rows on the weighted probability simplex."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _threshold(row, weights):  # type: ignore[no-untyped-def]
    """The theta with sum_j w_j max(row_j - theta, 0) = 1, by shrinking the set that stays positive.

    Entries at or below the current theta cannot be positive at the solution, so dropping them is
    final and the set stabilises after a few sweeps.
    """
    theta = -np.inf
    kept = row.shape[0] + 1
    while True:
        total, mass, count = 0.0, 0.0, 0
        for j in range(row.shape[0]):
            if row[j] > theta:
                total += weights[j] * row[j]
                mass += weights[j]
                count += 1
        if count == kept:
            return theta
        kept = count
        theta = (total - 1.0) / mass


@njit(cache=True, nogil=True, parallel=True)
def _project(rows, weights, out):  # type: ignore[no-untyped-def]
    for i in prange(rows.shape[0]):
        theta = _threshold(rows[i], weights)
        for j in range(rows.shape[1]):
            out[i, j] = max(rows[i, j] - theta, 0.0)


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
