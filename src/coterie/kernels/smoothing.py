"""TRCE's rows: smoothed graphs that take the place of the members' own."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True, nogil=True, parallel=True)
def smooth_rows(base, weights, member, scale, embedding, rho, slope, smoothed, target):
    """Row i: B_ij = H_ij / (rho G_ij + theta), and the point B_ij - slope G_ij to be projected.

    H_ij = scale_i sum_k member_k / size over the base clusters that hold both.
    """
    base_clusters, starts, rows, sizes = base
    n, m = base_clusters.shape
    for i in prange(n):
        evidence = np.zeros(n)
        for k in range(m):
            q = base_clusters[i, k]
            if q >= 0:
                value = scale[i] * member[k] / sizes[q]
                for p in range(starts[q], starts[q + 1]):
                    evidence[rows[p]] += value
        distance = np.zeros(n)
        for d in range(embedding.shape[0]):
            column = embedding[d]
            for j in range(n):
                distance[j] += (column[j] - column[i]) ** 2
        theta = _root(evidence, distance, weights, rho)
        for j in range(n):
            value = evidence[j] / (rho * distance[j] + theta)
            smoothed[i, j] = value
            target[i, j] = value - slope * distance[j]


@njit(cache=True, nogil=True)
def _root(evidence, distance, weights, rho):
    """The theta with sum_j r_j H_j / (rho G_j + theta) = 1.

    At max_j (r_j H_j - rho G_j) one term alone is 1, so the start lies left of the root, and the
    tangents of a convex decreasing function never step over it.
    """
    n = evidence.shape[0]
    mass = np.empty(n)
    penalty = np.empty(n)
    count = 0
    theta = -np.inf
    for j in range(n):
        if evidence[j] > 0.0:
            mass[count] = weights[j] * evidence[j]
            penalty[count] = rho * distance[j]
            theta = max(theta, mass[count] - penalty[count])
            count += 1
    # quadratic convergence needs a dozen steps; the cap only stops jitter in the last digit
    for _ in range(100):
        total, slope = 0.0, 0.0
        for j in range(count):
            inverse = 1.0 / (penalty[j] + theta)
            total += mass[j] * inverse
            slope += mass[j] * inverse * inverse
        step = (total - 1.0) / slope
        if not theta + step > theta:
            break
        theta += step
    return theta


@njit(cache=True, nogil=True, parallel=True)
def member_divergences(base, weights, coverage, smoothed, divergence):
    """coverage_i KL(A^(k)_i || B_i), A^(k)_i uniform on a base cluster; 0 where missing."""
    base_clusters, starts, rows, sizes = base
    n, m = base_clusters.shape
    for i in prange(n):
        # a zero or a NaN inside one of the row's clusters must reach the result
        logs = np.full(n, -np.inf)
        for j in range(n):
            if smoothed[i, j] != 0.0:
                logs[j] = weights[j] * np.log(smoothed[i, j])
        for k in range(m):
            q = base_clusters[i, k]
            divergence[i, k] = 0.0
            if q >= 0:
                total = 0.0
                for p in range(starts[q], starts[q + 1]):
                    total += logs[rows[p]]
                kl = -np.log(sizes[q]) - total / sizes[q]
                # not max(kl, 0.0), which would hide a NaN
                divergence[i, k] = 0.0 if kl < 0.0 else coverage[i] * kl
