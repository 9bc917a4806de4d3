"""CESHL's loss over a weighted hypergraph and its slope, by rows of the incidence."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _guarded(degree, least):
    """The degree itself, or a parabola that meets it at ``least`` and is half of that at zero."""
    return degree if degree >= least else 0.5 * (least + degree * degree / least)


@njit(cache=True, nogil=True)
def degrees_and_losses(
    incidence, edges, offsets, weights, multiplicity, least, embedding, degrees, points
):
    """Each node's loss; its degree and its point a_u = F_u / sqrt(d_u) as a by-product."""
    n, m = edges.shape
    losses = np.empty(n)
    for u in range(n):
        degree = 0.0
        loss = 0.0
        for j in range(m):
            own = edges[u, j]
            for q in range(offsets[j], offsets[j + 1]):
                y = incidence[u, q]
                mass = multiplicity[q] * weights[q]
                degree += mass * y
                error = y - 1.0 if q == own else y
                loss += mass * weights[q] * error * error
        losses[u] = loss
        degrees[u] = _guarded(degree, least[u])
        scale = 1.0 / np.sqrt(degrees[u])
        for t in range(embedding.shape[1]):
            points[u, t] = embedding[u, t] * scale
    return losses


@njit(cache=True, nogil=True)
def edge_means(incidence, weights, points, means):
    """Mean point of each hyperedge; returns its degree times the mean's squared length."""
    n, k = incidence.shape
    width = points.shape[1]
    volumes = np.zeros(k)
    means[:] = 0.0
    for u in range(n):
        for q in range(k):
            y = incidence[u, q]
            if y != 0.0:
                y *= weights[u]
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
    return volumes


@njit(cache=True, nogil=True)
def slopes(
    incidence, edges, offsets, weights, multiplicity, least, degrees, points, means, rho, out
):
    """(13) by rows: 2 w^2 (y - h) + rho w (|mean|^2 - 2 a mean + inside), where inside, the mean of
    a mean over the node's hyperedges, is what a larger degree would cost."""
    n, m = edges.shape
    k, width = means.shape
    pulls = np.empty((width, k))
    squares = np.zeros(k)
    for q in range(k):
        for t in range(width):
            pulls[t, q] = means[q, t]
            squares[q] += means[q, t] * means[q, t]
    nearness = np.empty(k)
    for u in range(n):
        nearness[:] = 0.0
        for t in range(width):
            for q in range(k):
                nearness[q] += points[u, t] * pulls[t, q]
        inside = 0.0
        for q in range(k):
            inside += multiplicity[q] * weights[q] * incidence[u, q] * nearness[q]
        inside /= degrees[u]
        if degrees[u] < least[u]:
            # the parabola's own slope
            inside *= np.sqrt(max(2.0 * degrees[u] / least[u] - 1.0, 0.0))
        for j in range(m):
            own = edges[u, j]
            for q in range(offsets[j], offsets[j + 1]):
                w = weights[q]
                slope = rho * w * (squares[q] - 2.0 * nearness[q] + inside)
                target = 1.0 if q == own else 0.0
                out[u, q] = slope + 2.0 * w * w * (incidence[u, q] - target)
