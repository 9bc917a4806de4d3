"""CESHL's loss over a weighted hypergraph and its slope, by rows of the incidence."""

from __future__ import annotations

import numpy as np

from coterie.numerics.compiled import kernel, part_of_kernels


@part_of_kernels()
def _guarded(degree, least):
    """The degree itself, or a parabola that meets it at ``least`` and is half of that at zero."""
    return degree if degree >= least else 0.5 * (least + degree * degree / least)


@kernel()
def losses_and_means(
    starts, columns, values, edges, member_of, weights, multiplicity, least, row_weights, embedding,
    degrees, means,
):  # fmt: skip
    """Each node's loss, and each hyperedge's degree times the squared length of its mean point.

    Also fills the nodes' degrees, and the hyperedges' means of the points a_u = F_u / sqrt(d_u).
    """
    n, m = edges.shape
    k, width = means.shape
    losses = np.empty(n)
    volumes = np.zeros(k)
    means[:] = 0.0
    row = np.zeros(k)
    for u in range(n):
        degree = 0.0
        loss = 0.0
        for e in range(starts[u], starts[u + 1]):
            q, y = columns[e], values[e]
            row[q] = y
            mass = multiplicity[q] * weights[q]
            degree += mass * y
            error = y - 1.0 if edges[u, member_of[q]] == q else y
            loss += mass * weights[q] * error * error
        for j in range(m):
            q = edges[u, j]
            if q >= 0 and row[q] == 0.0:
                loss += multiplicity[q] * weights[q] * weights[q]
        losses[u] = loss
        degrees[u] = _guarded(degree, least[u])
        scale = 1.0 / np.sqrt(degrees[u])
        for e in range(starts[u], starts[u + 1]):
            q = columns[e]
            row[q] = 0.0
            y = values[e] * row_weights[u]
            volumes[q] += y
            for t in range(width):
                means[q, t] += y * (embedding[u, t] * scale)
    for q in range(k):
        squares = 0.0
        if volumes[q] > 0.0:
            for t in range(width):
                means[q, t] /= volumes[q]
                squares += means[q, t] * means[q, t]
        volumes[q] *= squares
    return losses, volumes


@part_of_kernels()
def _nearness(point, mean):
    total = 0.0
    for t in range(len(point)):
        total += point[t] * mean[t]
    return total


@kernel()
def costs_of_degrees(
    begin, end, starts, columns, values, mass, least, degrees, embedding, means, out
):
    """What a larger degree would cost a node: the mean, over its hyperedges, of its nearness to them."""
    point = np.empty(means.shape[1])
    for u in range(begin, end):
        scale = 1.0 / np.sqrt(degrees[u])
        for t in range(len(point)):
            point[t] = embedding[u, t] * scale
        inside = 0.0
        for e in range(starts[u], starts[u + 1]):
            q = columns[e]
            inside += mass[q] * values[e] * _nearness(point, means[q])
        inside /= degrees[u]
        if degrees[u] < least[u]:
            # the parabola's own slope
            inside *= np.sqrt(max(2.0 * degrees[u] / least[u] - 1.0, 0.0))
        out[u] = inside


@kernel()
def slopes(
    begin, end, starts, columns, values, edges, weights, degrees, embedding, means, squares, costs,
    rho, out,
):  # fmt: skip
    """(13) by rows: 2 w^2 (y - h) + rho w (|mean|^2 - 2 a mean + cost of the degree)."""
    m = edges.shape[1]
    k, width = means.shape
    pulls = np.ascontiguousarray(means.T)
    nearness = np.empty(k)
    row = np.zeros(k)
    for u in range(begin, end):
        for q in range(k):
            nearness[q] = 0.0
        scale = 1.0 / np.sqrt(degrees[u])
        for t in range(width):
            coordinate = embedding[u, t] * scale
            pull = pulls[t]
            for q in range(k):
                nearness[q] += coordinate * pull[q]
        slope = out[u - begin]
        cost = costs[u]
        for q in range(k):
            slope[q] = rho * weights[q] * (squares[q] - 2.0 * nearness[q] + cost)
        for e in range(starts[u], starts[u + 1]):
            row[columns[e]] = values[e]
        for j in range(m):
            q = edges[u, j]
            if q >= 0:
                row[q] -= 1.0
                slope[q] += 2.0 * weights[q] * weights[q] * row[q]
                row[q] = 0.0
        for e in range(starts[u], starts[u + 1]):
            q = columns[e]
            slope[q] += 2.0 * weights[q] * weights[q] * row[q]
            row[q] = 0.0


@kernel()
def slopes_at(
    begin, end, entry_starts, entry_columns, values, edges, member_of, weights, degrees, embedding,
    means, squares, rho, out, costs,
):  # fmt: skip
    """The same digits at some entries, where Y has these values."""
    point = np.empty(means.shape[1])
    for u in range(begin, end):
        scale = 1.0 / np.sqrt(degrees[u])
        for t in range(len(point)):
            point[t] = embedding[u, t] * scale
        for e in range(entry_starts[u], entry_starts[u + 1]):
            q = entry_columns[e]
            w = weights[q]
            slope = rho * w * (squares[q] - 2.0 * _nearness(point, means[q]) + costs[u])
            error = values[e] - 1.0 if edges[u, member_of[q]] == q else values[e]
            out[e] = slope + 2.0 * w * w * error


@kernel()
def inner_products(starts, columns, values, width):
    """Inner products of the columns of a matrix that is given by its rows."""
    table = np.zeros((width, width))
    for u in range(len(starts) - 1):
        for e in range(starts[u], starts[u + 1]):
            products = table[columns[e]]
            for f in range(starts[u], e + 1):
                products[columns[f]] += values[e] * values[f]
    for p in range(width):
        for q in range(p):
            table[q, p] = table[p, q]
    return table
