"""The rows of TRCE: smoothed graphs that replace those of the members.

Rows are handled one by one. Only the distances and the output to the graph run over all pairs of a row,
in loops that vectorise. The pairs that some member links, usually a few, are first gathered into
contiguous memory, and only these need divisions and logarithms.
"""

from __future__ import annotations

import numpy as np

from coterie.numerics.compiled import kernel, part_of_kernels

# columns whose coordinates and distances stay in the fastest memory
COLUMNS = 256
# columns that are searched together for near ones
GROUP = 32


@kernel()
def learn_rows(begin, end, base, weights, fixed, moving, graph, divergence, sums):
    """Rows of B, of the members' divergences from it, and of A, which overwrites the old one.

    B_ij = H_ij / (rho G_ij + theta), H_ij = scale_i sum_k member_k / size over the base clusters that
    hold both; A is the projection of B_ij - slope G_ij. ``sums`` receives the weighted squared change
    of A, its squared norm before, and the squared norm of B - A. The rows of the embedding are its
    coordinates. Without ``project`` A is B. B itself is not kept.
    """
    coverage, project = fixed
    slope = moving[4]
    n = len(weights)
    walk, distance = np.empty(n), np.empty(n)
    links = np.empty(n) if project else walk
    # a zero or a NaN inside one of the row's clusters must reach the divergence
    logs = np.empty(n)
    for j in range(n):
        logs[j] = -np.inf
    columns = np.empty(n, dtype=np.int32)
    value, mass, penalty = np.empty(n), np.empty(n), np.empty(n)
    for i in range(begin, end):
        count = _smoothed(base, weights, moving, i, walk, distance, columns, value, mass, penalty)
        for p in range(count):
            logs[columns[p]] = weights[columns[p]] * np.log(value[p])
        _diverge(base, i, coverage[i], logs, divergence[i])
        for p in range(count):
            logs[columns[p]] = -np.inf
        if project:
            _project(i, count, walk[i], distance, slope, weights, columns, value, mass, links)
        change, before, noise = _replace(weights, links, walk, graph[i])
        sums[i, 0] = weights[i] * change
        sums[i, 1] = weights[i] * before
        sums[i, 2] = weights[i] * noise


@kernel()
def noise_rows(begin, end, base, weights, moving, graph, out):
    """Rows of B - A for the B that ``learn_rows`` computes from the same arguments."""
    n = len(weights)
    distance, columns = np.empty(n), np.empty(n, dtype=np.int32)
    value, mass, penalty = np.empty(n), np.empty(n), np.empty(n)
    for i in range(begin, end):
        _smoothed(base, weights, moving, i, out[i], distance, columns, value, mass, penalty)
        for j in range(n):
            out[i, j] -= graph[i, j]


@part_of_kernels(error_model="numpy")
def _smoothed(base, weights, moving, i, walk, distance, columns, value, mass, penalty):
    """Fill G_i, B_i, the linked columns, and B in these alone; return the number of linked columns."""
    member, scale, embedding, rho, _ = moving
    _evidence(base, i, member, scale[i], walk)
    _distances(embedding, i, distance)
    count = 0
    for j in range(len(walk)):
        # always write, but advance only past linked columns: the loop has no branch to mispredict
        columns[count] = j
        count += walk[j] != 0.0
    for p in range(count):
        j = columns[p]
        value[p] = walk[j]
        mass[p] = weights[j] * walk[j]
        penalty[p] = rho * distance[j]
    theta = _root(mass[:count], penalty[:count])
    for p in range(count):
        value[p] /= penalty[p] + theta
    # B overwrites H
    for p in range(count):
        walk[columns[p]] = value[p]
    return count


@part_of_kernels()
def _evidence(base, i, member, scale, evidence):
    base_clusters, starts, rows, sizes = base
    for j in range(len(evidence)):
        evidence[j] = 0.0
    for k in range(base_clusters.shape[1]):
        q = base_clusters[i, k]
        if q >= 0:
            value = scale * member[k] / sizes[q]
            for p in range(starts[q], starts[q + 1]):
                evidence[rows[p]] += value


@part_of_kernels()
def _distances(embedding, i, distance):
    """Squared distances; two coordinates per loop, because the loop is bound by loads and stores."""
    n_coordinates, n = embedding.shape
    for left in range(0, n, COLUMNS):
        part = distance[left : left + COLUMNS]
        for j in range(len(part)):
            part[j] = 0.0
        for d in range(n_coordinates % 2):
            one, here = embedding[d, left : left + COLUMNS], embedding[d, i]
            for j in range(len(part)):
                part[j] += (one[j] - here) * (one[j] - here)
        for d in range(n_coordinates % 2, n_coordinates, 2):
            one, here = embedding[d, left : left + COLUMNS], embedding[d, i]
            two, there = embedding[d + 1, left : left + COLUMNS], embedding[d + 1, i]
            for j in range(len(part)):
                part[j] += (one[j] - here) * (one[j] - here) + (two[j] - there) * (two[j] - there)


@part_of_kernels(error_model="numpy")
def _root(mass, penalty):
    """The theta with sum_j mass_j / (penalty_j + theta) = 1.

    At max_j (mass_j - penalty_j) one term alone is 1, so the start lies left of the root. One over
    the sum is a harmonic mean of the penalty_j + theta, up to a factor: increasing and concave in
    theta, and nearly straight, so its tangents never step over the root and come near it soon.
    """
    theta = -np.inf
    for j in range(len(mass)):
        height = mass[j] - penalty[j]
        theta = height if height > theta else theta
    # a few steps are enough; the cap only stops changes in the last digit
    for _ in range(100):
        total, slope = _tangent(mass, penalty, theta)
        step = total * (total - 1.0) / slope
        if not theta + step > theta:
            break
        theta += step
    return theta


@part_of_kernels(error_model="numpy", fastmath={"reassoc"})
def _tangent(mass, penalty, theta):
    """Value and negative slope of sum_j mass_j / (penalty_j + theta)."""
    total, slope = 0.0, 0.0
    for j in range(len(mass)):
        inverse = 1.0 / (penalty[j] + theta)
        share = mass[j] * inverse
        total += share
        slope += share * inverse
    return total, slope


@kernel(error_model="numpy")
def _project(i, count, own, distance, slope, weights, columns, value, mass, links):
    """The projection of B - slope G on the weighted simplex, to ``links``.

    ``value`` holds B in the linked columns; it, ``mass``, ``columns`` and ``distance`` are overwritten.
    The linked columns, and the row's own column alone, each give a lower bound of theta, which rules out
    most of the other columns. All values are measured from B_ii, which is near the largest.
    """
    for p in range(count):
        j = columns[p]
        value[p] = value[p] - slope * distance[j] - own
        mass[p] = weights[j]
        # only columns that no member links keep a finite distance
        distance[j] = np.inf
    total, total_mass = _weigh(value[:count], mass[:count])
    if not np.isfinite(total):
        # the caller raises the error, because it knows the step
        for j in range(len(links)):
            links[j] = np.nan
        return
    theta, alone = (total - 1.0) / total_mass, -1.0 / weights[i]
    theta = alone if alone > theta else theta
    count = _keep(theta, count, columns, value, mass)
    for left in range(0, len(distance), GROUP):
        if _n_near(distance[left : left + GROUP], slope, own, theta) > 0:
            for j in range(left, min(left + GROUP, len(distance))):
                if -slope * distance[j] - own > theta:
                    columns[count] = j
                    value[count] = -slope * distance[j] - own
                    mass[count] = weights[j]
                    count += 1
    while True:
        total, total_mass = _weigh(value[:count], mass[:count])
        bound = (total - 1.0) / total_mass
        theta = bound if bound > theta else theta
        kept = _keep(theta, count, columns, value, mass)
        if kept == count:
            break
        count = kept
    for j in range(len(links)):
        links[j] = 0.0
    for p in range(count):
        links[columns[p]] = value[p] - theta


@part_of_kernels()
def _n_near(distance, slope, own, theta):
    near = 0
    for j in range(len(distance)):
        near += -slope * distance[j] - own > theta
    return near


@part_of_kernels()
def _keep(theta, count, columns, value, mass):
    """Move what lies above theta to the front; returns how many."""
    kept = 0
    for p in range(count):
        # read before anything is written, or each step would wait for the one before
        column, height, weight = columns[p], value[p], mass[p]
        columns[kept] = column
        value[kept] = height
        mass[kept] = weight
        kept += height > theta
    return kept


@part_of_kernels(fastmath={"reassoc"})
def _weigh(value, mass):
    total, total_mass = 0.0, 0.0
    for j in range(len(value)):
        total += mass[j] * value[j]
        total_mass += mass[j]
    return total, total_mass


@part_of_kernels(fastmath={"reassoc"})
def _replace(weights, links, walk, graph):
    """Overwrite the links; return squares of the change, of the old links, and of B - A."""
    change, before, noise = 0.0, 0.0, 0.0
    for j in range(len(links)):
        moved, error = links[j] - graph[j], walk[j] - links[j]
        change += weights[j] * (moved * moved)
        before += weights[j] * (graph[j] * graph[j])
        noise += weights[j] * (error * error)
        graph[j] = links[j]
    return change, before, noise


@part_of_kernels(fastmath={"reassoc"})
def _sum_at(values, positions):
    total = 0.0
    for p in range(len(positions)):
        total += values[positions[p]]
    return total


@part_of_kernels()
def _diverge(base, i, coverage, logs, out):
    """coverage KL(A^(k)_i || B_i), A^(k)_i uniform on a base cluster; 0 where missing."""
    base_clusters, starts, rows, sizes = base
    for k in range(base_clusters.shape[1]):
        q = base_clusters[i, k]
        out[k] = 0.0
        if q >= 0:
            total = _sum_at(logs, rows[starts[q] : starts[q + 1]])
            kl = -np.log(sizes[q]) - total / sizes[q]
            # not max(kl, 0.0), which would hide a NaN
            out[k] = 0.0 if kl < 0.0 else coverage * kl


@kernel()
def member_divergences(begin, end, base, weights, coverage, smoothed, divergence):
    """Every member's divergence from every row of B, times the row's coverage."""
    logs = np.empty(len(weights))
    for i in range(begin, end):
        for j in range(len(weights)):
            there = smoothed[i, j]
            logs[j] = weights[j] * np.log(there) if there != 0.0 else -np.inf
        _diverge(base, i, coverage[i], logs, divergence[i])
