"""Products with the indicator matrices of all members at once, which are never formed.

``codes`` holds the base cluster of each row in each member (N x m, numbered over all members, none
missing); ``points`` one row for each base cluster.
"""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def sums_over_members(codes, points, out):
    """For each row the sum of the points of its base clusters."""
    n, m = codes.shape
    width = points.shape[1]
    for u in range(n):
        row = out[u]
        row[:] = 0.0
        for i in range(m):
            point = points[codes[u, i]]
            for t in range(width):
                row[t] += point[t]


@njit(cache=True, nogil=True)
def sums_over_rows(codes, weights, values, out, masses):
    """For each base cluster the weighted sum of the values of its rows, and their weight."""
    n, m = codes.shape
    width = values.shape[1]
    out[:] = 0.0
    masses[:] = 0.0
    for u in range(n):
        weight, value = weights[u], values[u]
        for i in range(m):
            q = codes[u, i]
            masses[q] += weight
            total = out[q]
            for t in range(width):
                total[t] += weight * value[t]


@njit(cache=True, nogil=True)
def points_by_member(codes, points, out):
    """The point of each row's base cluster in each member, shape (m, N, width)."""
    n, m = codes.shape
    width = points.shape[1]
    for u in range(n):
        for i in range(m):
            point, row = points[codes[u, i]], out[i, u]
            for t in range(width):
                row[t] = point[t]
