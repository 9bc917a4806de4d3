"""TRCE's rows: smoothed graphs that take the place of the members' own."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from coterie._threads import needs_threads


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def learn_rows(base, weights, fixed, moving, graph, divergence, sums):
    """Rows of B, of the members' divergences from it, and of A in the place of the old one.

    B_ij = H_ij / (rho G_ij + theta), H_ij = scale_i sum_k member_k / size over the base clusters that
    hold both; A is the projection of B_ij - slope G_ij. ``sums`` takes the weighted squared change
    of A, its squared norm before, and the squared norm of B - A. The embedding comes with its
    coordinates as rows. Without ``project`` A is B. B itself is not kept.
    """
    coverage, project = fixed
    slope = moving[4]
    for i in prange(len(weights)):
        distance, walk = _smoothed(base, weights, moving, i)
        _diverge(base, i, weights, coverage[i], walk, divergence[i])
        links = walk
        if project:
            links = _links(walk, distance, slope, weights)
        change, before, noise = _squares(weights, links, graph[i], walk)
        sums[i, 0] = weights[i] * change
        sums[i, 1] = weights[i] * before
        sums[i, 2] = weights[i] * noise
        graph[i] = links


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def noise_rows(base, weights, moving, graph, out):
    """Rows of B - A for the B that ``learn_rows`` met with the same arguments."""
    for i in prange(len(weights)):
        _, walk = _smoothed(base, weights, moving, i)
        for j in range(len(walk)):
            out[i, j] = walk[j] - graph[i, j]


@njit(cache=True, nogil=True)
def _smoothed(base, weights, moving, i):
    """G_i and B_i."""
    member, scale, embedding, rho, _ = moving
    evidence = _evidence(base, i, member, scale[i])
    distance = _distances(embedding, i)
    theta = _root(evidence, distance, weights, rho)
    # B takes the place of H
    _walk(evidence, distance, rho, theta, evidence)
    return distance, evidence


@njit(cache=True, nogil=True)
def _evidence(base, i, member, scale):
    base_clusters, starts, rows, sizes = base
    n, m = base_clusters.shape
    evidence = np.zeros(n)
    for k in range(m):
        q = base_clusters[i, k]
        if q >= 0:
            value = scale * member[k] / sizes[q]
            for p in range(starts[q], starts[q + 1]):
                evidence[rows[p]] += value
    return evidence


@njit(cache=True, nogil=True)
def _distances(embedding, i):
    n = embedding.shape[1]
    distance = np.zeros(n)
    for d in range(embedding.shape[0]):
        column = embedding[d]
        here = column[i]
        for j in range(n):
            distance[j] += (column[j] - here) * (column[j] - here)
    return distance


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(evidence, distance, rho, theta, out):
    for j in range(len(out)):
        out[j] = evidence[j] / (rho * distance[j] + theta)


@njit(cache=True, nogil=True)
def _links(walk, distance, slope, weights):
    """The projection of B - slope G on the weighted simplex."""
    target = np.empty(len(walk))
    for j in range(len(walk)):
        target[j] = walk[j] - slope * distance[j]
    top, theta = _threshold(target, weights)
    for j in range(len(walk)):
        above = target[j] - top - theta
        # a NaN stays one, for the caller to name the step it came from
        target[j] = 0.0 if above <= 0.0 else above
    return target


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _squares(weights, links, old, walk):
    change, before, noise = 0.0, 0.0, 0.0
    for j in range(len(links)):
        change += weights[j] * (links[j] - old[j]) ** 2
        before += weights[j] * old[j] ** 2
        noise += weights[j] * (walk[j] - links[j]) ** 2
    return change, before, noise


@njit(cache=True, nogil=True, error_model="numpy")
def _threshold(row, weights):
    """The largest entry and the theta with sum_j w_j max(row_j - largest - theta, 0) = 1.

    As in the projection of :mod:`coterie.kernels.simplex`, but the largest entry alone shows at once
    which ones cannot stay positive, and only the others are looked at again.
    """
    n = row.shape[0]
    first = np.argmax(row)
    top = row[first]
    theta = -1.0 / weights[first]
    value, mass = np.empty(n), np.empty(n)
    count = 0
    for j in range(n):
        # written in any case, kept by moving on: there is no branch to guess
        value[count] = row[j] - top
        mass[count] = weights[j]
        count += row[j] - top > theta
    if count == 0:
        return top, np.nan
    while True:
        total, heap = _weigh(value[:count], mass[:count])
        theta = max(theta, (total - 1.0) / heap)
        kept = 0
        for j in range(count):
            value[kept] = value[j]
            mass[kept] = mass[j]
            kept += value[j] > theta
        # rounding that would leave nothing ends the search, too
        if kept == count or kept == 0:
            return top, theta
        count = kept


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _weigh(value, mass):
    total, heap = 0.0, 0.0
    for j in range(len(value)):
        total += mass[j] * value[j]
        heap += mass[j]
    return total, heap


@njit(cache=True, nogil=True, error_model="numpy")
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
        # written in any case, kept by moving on: there is no branch to guess
        mass[count] = weights[j] * evidence[j]
        penalty[count] = rho * distance[j]
        if evidence[j] > 0.0:
            theta = max(theta, mass[count] - penalty[count])
            count += 1
    # quadratic convergence needs a dozen steps; the cap only stops jitter in the last digit
    for _ in range(100):
        total, slope = _tangent(mass[:count], penalty[:count], theta)
        step = (total - 1.0) / slope
        if not theta + step > theta:
            break
        theta += step
    return theta


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _tangent(mass, penalty, theta):
    """Value and negative slope of sum_j mass_j / (penalty_j + theta)."""
    total, slope = 0.0, 0.0
    for j in range(len(mass)):
        inverse = 1.0 / (penalty[j] + theta)
        share = mass[j] * inverse
        total += share
        slope += share * inverse
    return total, slope


@njit(cache=True, nogil=True)
def _diverge(base, i, weights, coverage, walk, out):
    """coverage KL(A^(k)_i || B_i), A^(k)_i uniform on a base cluster; 0 where missing."""
    base_clusters, starts, rows, sizes = base
    n, m = base_clusters.shape
    # a zero or a NaN inside one of the row's clusters must reach the result
    logs = np.full(n, -np.inf)
    for j in range(n):
        if walk[j] != 0.0:
            logs[j] = weights[j] * np.log(walk[j])
    for k in range(m):
        q = base_clusters[i, k]
        out[k] = 0.0
        if q >= 0:
            total = 0.0
            for p in range(starts[q], starts[q + 1]):
                total += logs[rows[p]]
            kl = -np.log(sizes[q]) - total / sizes[q]
            # not max(kl, 0.0), which would hide a NaN
            out[k] = 0.0 if kl < 0.0 else coverage * kl


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def member_divergences(base, weights, coverage, smoothed, divergence):
    """Every member's divergence from every row of B, times the row's coverage."""
    for i in prange(len(weights)):
        _diverge(base, i, weights, coverage[i], smoothed[i], divergence[i])
