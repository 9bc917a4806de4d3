"""SPCE's passes over rows of pairs: weights of pairs, then links, each with the members' disagreement.

Pairs are handled row by row. Except for W, only the pairs that some member joins matter, usually a few
per row. They come from the lists of the microclusters in each base cluster.
"""

from __future__ import annotations

import numpy as np

from coterie.numerics.compiled import kernel, part_of_kernels

# a link this close to its threshold counts as equal to it, and a link this weak as zero
ROUNDING = 1e-10


# The kernels avoid what numba compiles slowly: assignments to slices, np.full, min and max.


@part_of_kernels()
def _sum(values):
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total


@part_of_kernels()
def _fill(values, value):
    for i in range(len(values)):
        values[i] = value


@part_of_kernels(error_model="numpy")
def _observe(by_member, u, prior, values, seen, total):
    """Over the members that saw both u and v, the sums of their priors and of their values."""
    m, n = by_member.shape
    for v in range(n):
        seen[v] = 0.0
        total[v] = 0.0
    for i in range(m):
        if by_member[i, u] < 0:
            continue
        labels = by_member[i]
        for v in range(n):
            there = labels[v] >= 0
            seen[v] += prior[i] if there else 0.0
            total[v] += values[i] if there else 0.0


@part_of_kernels(error_model="numpy")
def _join(base, u, first, values, support, begins, columns):
    """The sum of the values of the members that join u and v, from v = ``first`` on.

    Also fills the position where each member's list reaches ``first``, and the v that some member joins
    with u. Returns the number of these v.
    """
    base_clusters, starts, rows = base
    for v in range(first, len(support)):
        support[v] = 0.0
    for i in range(base_clusters.shape[1]):
        q = base_clusters[u, i]
        if q >= 0:
            low, high = starts[q], starts[q + 1]
            while low < high:
                middle = (low + high) // 2
                if rows[middle] < first:
                    low = middle + 1
                else:
                    high = middle
            begins[i] = low
            for p in range(begins[i], starts[q + 1]):
                support[rows[p]] += values[i]
    count = 0
    for v in range(first, len(support)):
        # always write, but advance only past new columns: the loop has no branch to mispredict
        columns[count] = v
        count += support[v] != 0.0
    return count


@part_of_kernels()
def _sums_inside(rows, together, apart):
    joined, inside = 0.0, 0.0
    for p in range(len(rows)):
        joined += together[rows[p]]
        inside += apart[rows[p]]
    return joined, inside


@part_of_kernels(error_model="numpy", fastmath={"reassoc"})
def _sum_outside(labels, label, apart):
    """Sum over the microclusters to which a member gives another label."""
    total = 0.0
    for v in range(labels.shape[0]):
        total += apart[v] if labels[v] != label and labels[v] >= 0 else 0.0
    return total


@part_of_kernels(error_model="numpy")
def _disagree(base, by_member, complete, u, begins, columns, together, apart, out):
    """Every member's sum of ``together`` over the pairs that it joins and ``apart`` over the others.

    ``apart`` is zero outside ``columns``; ``begins`` gives the first position of each sum. Without
    missing labels, the sum over the other pairs is the total minus the sum over the joined ones. Both
    sums run in the order of the pairs, so that the difference is exactly zero if all of ``apart`` lies
    in the joined pairs.
    """
    base_clusters, starts, rows = base
    _, everything = _sums_inside(columns, together, apart)
    for i in range(base_clusters.shape[1]):
        q = base_clusters[u, i]
        if q < 0:
            continue
        joined, inside = _sums_inside(rows[begins[i] : starts[q + 1]], together, apart)
        if complete:
            rest = everything - inside
            # a NaN must reach the caller
            out[i] += joined + (0.0 if rest < 0.0 else rest)
        else:
            out[i] += joined + _sum_outside(by_member[i], by_member[i, u], apart)


@kernel(error_model="numpy")
def cover(begin, end, fixed, covered):
    """Add up the pairs that each member saw, each scaled by all votes over the votes that saw it."""
    _, by_member, weights, prior = fixed
    m, n = by_member.shape
    n_votes = _sum(prior)
    seen, total = np.empty(n), np.empty(n)
    for u in range(begin, end):
        _observe(by_member, u, prior, prior, seen, total)
        for i in range(m):
            if by_member[i, u] < 0:
                continue
            for v in range(n):
                if by_member[i, v] >= 0:
                    covered[u, i] += weights[u] * weights[v] * n_votes / seen[v]


@kernel(error_model="numpy")
def weigh(begin, end, fixed, complete, moving, disagreement, mass):
    """Overwrite W; per row its sum, and every member's disagreement."""
    base, by_member, weights, prior = fixed
    values, age, consensus, out = moving
    n = len(weights)
    n_votes = _sum(prior)
    seen, total = np.empty(n), np.empty(n)
    _fill(seen, n_votes)
    _fill(total, _sum(values))
    support, together, apart = np.empty(n), np.empty(n), np.empty(n)
    begins, columns = np.empty(len(prior), dtype=np.int64), np.empty(n, dtype=np.int32)
    for u in range(begin, end):
        if not complete:
            _observe(by_member, u, prior, values, seen, total)
        count = _join(base, u, 0, values, support, begins, columns)
        links, row = consensus[u], out[u]
        for v in range(n):
            link = links[v]
            scale = n_votes / seen[v]
            loss = scale * (total[v] * link * link - 2.0 * link * support[v] + support[v])
            weight = age / (2.0 * loss) if 2.0 * loss > age else 1.0
            row[v] = weight if seen[v] > 0.0 else 0.0
            pairs = weights[u] * weights[v] * scale * weight * weight
            pairs = pairs if seen[v] > 0.0 else 0.0
            together[v] = pairs * (1.0 - link) * (1.0 - link)
            apart[v] = pairs * link * link
        mass[u] = weights[u] * _dot(weights, row)
        used = columns[:count]
        _disagree(base, by_member, complete, u, begins, used, together, apart, disagreement[u])


@kernel(error_model="numpy")
def learn(begin, end, fixed, complete, moving, disagreement, sums):
    """Overwrite S; per row its squared change, squared norm before, links and disagreements.

    A row starts at the diagonal and its pairs count twice, because S is symmetric. If no member joins a
    pair, S is and stays zero and there is no disagreement. Microclusters differ, so all members join a
    pair only if it is a microcluster with itself.
    """
    base, by_member, weights, prior = fixed
    values, (rho, gamma), embedding, pair_weights, consensus = moving
    n = len(weights)
    n_votes = _sum(prior)
    seen, total = np.empty(n), np.empty(n)
    _fill(seen, n_votes)
    _fill(total, _sum(values))
    support, together, apart = np.empty(n), np.empty(n), np.empty(n)
    _fill(apart, 0.0)
    begins, columns = np.empty(len(prior), dtype=np.int64), np.empty(n, dtype=np.int32)
    links, thresholds, squared, masses = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    old, inside, outside = np.empty(n), np.empty(n), np.empty(n)
    half_rho, inverse_pull = 0.5 * rho, 1.0 / _sum(values)
    root = np.sqrt(gamma * inverse_pull) * (1.0 + ROUNDING)
    for u in range(begin, end):
        if not complete:
            _observe(by_member, u, prior, values, seen, total)
        count = _join(base, u, u, values, support, begins, columns)
        for p in range(count):
            links[p] = half_rho * _squared_distance(embedding[u], embedding[columns[p]])
            squared[p] = pair_weights[u, columns[p]]
        if complete:
            for p in range(count):
                # the same as below with one division
                inverse = 1.0 / squared[p]
                links[p] *= inverse * inverse * inverse_pull
                thresholds[p] = root * inverse
                squared[p] *= squared[p]
            for p in range(count):
                links[p] = support[columns[p]] * inverse_pull - links[p]
        else:
            for p in range(count):
                v = columns[p]
                scale = n_votes / seen[v]
                squared[p] *= squared[p]
                pull = scale * total[v]
                links[p] = (scale * support[v] - links[p] / squared[p]) / pull
                thresholds[p] = np.sqrt(gamma / (pull * squared[p])) * (1.0 + ROUNDING)
                squared[p] *= scale
        for p in range(count):
            v = columns[p]
            masses[p] = 2.0 * weights[u] * weights[v]
            old[p] = consensus[u, v]
        # the first is the pair of u with itself
        masses[0], links[0], thresholds[0] = weights[u] * weights[u], 1.0, 0.0
        changed, before, linked = _settle(
            count, links, thresholds, masses, squared, old, inside, outside
        )
        for p in range(count):
            v = columns[p]
            together[v] = inside[p]
            apart[v] = outside[p]
            consensus[u, v] = links[p]
            consensus[v, u] = links[p]
        sums[u, 0] = changed
        sums[u, 1] = before
        sums[u, 2] = linked
        used = columns[:count]
        _disagree(base, by_member, complete, u, begins, used, together, apart, disagreement[u])
        for p in range(count):
            apart[columns[p]] = 0.0


@part_of_kernels(error_model="numpy", fastmath={"reassoc"})
def _settle(count, links, thresholds, masses, squared, old, inside, outside):
    """Set links below their thresholds to zero; fill the cost of a pair if joined, and if separated.

    Returns the squared change, the squared norm before and the number of links.
    """
    changed, before, linked = 0.0, 0.0, 0.0
    for p in range(count):
        threshold = thresholds[p] if thresholds[p] > ROUNDING else ROUNDING
        link = 0.0 if links[p] <= threshold else links[p]
        links[p] = link
        pairs = masses[p] * squared[p]
        inside[p] = pairs * (1.0 - link) * (1.0 - link)
        outside[p] = pairs * link * link
        changed += masses[p] * (link - old[p]) * (link - old[p])
        before += masses[p] * old[p] * old[p]
        linked += masses[p] if link > 0.0 else 0.0
    return changed, before, linked


@part_of_kernels(fastmath={"reassoc"})
def _squared_distance(one, other):
    total = 0.0
    for k in range(len(one)):
        total += (one[k] - other[k]) * (one[k] - other[k])
    return total


@part_of_kernels(fastmath={"reassoc"})
def _dot(weights, row):
    total = 0.0
    for v in range(len(row)):
        total += weights[v] * row[v]
    return total
