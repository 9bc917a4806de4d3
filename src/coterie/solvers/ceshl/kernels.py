"""CESHL's loss over a weighted hypergraph and its slope, by rows of the incidence."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _guarded(degree, least):
    """The degree itself, or a parabola that meets it at ``least`` and is half of that at zero."""
    return degree if degree >= least else 0.5 * (least + degree * degree / least)


@njit(cache=True, nogil=True)
def losses_and_means(
    incidence, edges, member_of, weights, multiplicity, least, row_weights, embedding, degrees, points,
    means,
):  # fmt: skip
    """Each node's loss, and each hyperedge's degree times the squared length of its mean point.

    Also fills the nodes' degrees, their points a_u = F_u / sqrt(d_u), and the hyperedges' means. Few
    entries of the incidence are non-zero, and only these are read twice.
    """
    n, m = edges.shape
    k, width = means.shape
    losses = np.empty(n)
    volumes = np.zeros(k)
    means[:] = 0.0
    inside = np.empty(k + 1, dtype=np.int64)
    for u in range(n):
        count = 0
        for q in range(k):
            inside[count] = q
            count += incidence[u, q] != 0.0
        degree = 0.0
        loss = 0.0
        for i in range(count):
            q = inside[i]
            y = incidence[u, q]
            mass = multiplicity[q] * weights[q]
            degree += mass * y
            error = y - 1.0 if edges[u, member_of[q]] == q else y
            loss += mass * weights[q] * error * error
        for j in range(m):
            q = edges[u, j]
            if q >= 0 and incidence[u, q] == 0.0:
                loss += multiplicity[q] * weights[q] * weights[q]
        losses[u] = loss
        degrees[u] = _guarded(degree, least[u])
        scale = 1.0 / np.sqrt(degrees[u])
        for t in range(width):
            points[u, t] = embedding[u, t] * scale
        for i in range(count):
            q = inside[i]
            y = incidence[u, q] * row_weights[u]
            volumes[q] += y
            for t in range(width):
                means[q, t] += y * points[u, t]
    for q in range(k):
        squares = 0.0
        if volumes[q] > 0.0:
            for t in range(width):
                means[q, t] /= volumes[q]
                squares += means[q, t] * means[q, t]
        volumes[q] *= squares
    return losses, volumes


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _inside(mass, row, nearness):
    total = 0.0
    for q in range(len(row)):
        total += mass[q] * row[q] * nearness[q]
    return total


@njit(cache=True, nogil=True)
def slopes(incidence, edges, weights, multiplicity, least, degrees, points, means, rho, out):
    """(13) by rows: 2 w^2 (y - h) + rho w (|mean|^2 - 2 a mean + inside), where inside, the mean of
    a mean over the node's hyperedges, is what a larger degree would cost."""
    n, m = edges.shape
    k, width = means.shape
    pulls = np.empty((width, k))
    squares = np.zeros(k)
    mass = multiplicity * weights
    for q in range(k):
        for t in range(width):
            pulls[t, q] = means[q, t]
            squares[q] += means[q, t] * means[q, t]
    nearness = np.empty(k)
    for u in range(n):
        nearness[:] = 0.0
        for t in range(width):
            coordinate = points[u, t]
            pull = pulls[t]
            for q in range(k):
                nearness[q] += coordinate * pull[q]
        row, slope = incidence[u], out[u]
        inside = _inside(mass, row, nearness) / degrees[u]
        if degrees[u] < least[u]:
            # the parabola's own slope
            inside *= np.sqrt(max(2.0 * degrees[u] / least[u] - 1.0, 0.0))
        for q in range(k):
            w = weights[q]
            slope[q] = rho * w * (squares[q] - 2.0 * nearness[q] + inside) + 2.0 * w * w * row[q]
        for j in range(m):
            q = edges[u, j]
            if q >= 0:
                w = weights[q]
                slope[q] = rho * w * (squares[q] - 2.0 * nearness[q] + inside) + 2.0 * w * w * (
                    row[q] - 1.0
                )
