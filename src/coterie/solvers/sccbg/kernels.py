"""SCCBG's quadratic programs over the unit box, one per row, with coefficients that share a graph.

The graph of base clusters is given by the rows of a symmetric sparse matrix without diagonal. Rows are
independent: any number of threads gives the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import FloatArray
from coterie.numerics.compiled import kernel, part_of_kernels

# sweeps between two runs of conjugate gradients, and the maximum number of steps of a run
SWEEPS_BEFORE_GRADIENTS = 4
GRADIENT_STEPS = 200


class RowPrograms(NamedTuple):
    """The data that the programs of all rows share.

    Attributes
    ----------
    starts, ends, links : ndarray
        The graph of base clusters by rows: where each begins, columns, and values times gamma.
    seen, target : ndarray, shape (N, k)
        Which entries are known, and the incidence.
    value : ndarray, shape (k,)
        Weight of each base cluster.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    links: FloatArray
    seen: FloatArray
    target: FloatArray
    value: FloatArray


@part_of_kernels()
def _pace_row(starts, ends, links, fit, gain, s, w, tol, max_sweeps):
    """Coordinate descent on w'(diag(fit) + links . (s_p - s_q)^2) w - 2 gain'w from the given w."""
    k = len(s)
    pull = np.zeros(k)
    for p in range(k):
        if w[p] != 0.0:
            for e in range(starts[p], starts[p + 1]):
                q = ends[e]
                pull[q] += links[e] * (s[p] - s[q]) ** 2 * w[p]
    for _ in range(max_sweeps):
        largest = 0.0
        for p in range(k):
            slack = gain[p] - pull[p]
            # if both are equal up to rounding, every w is equally good
            if abs(slack) <= 1e-12 * gain[p]:
                slack = 0.0
            if fit[p] > 0.0:
                new = min(max(slack / fit[p], 0.0), 1.0)
            elif slack > 0.0:
                new = 1.0
            elif slack < 0.0:
                new = 0.0
            else:
                new = w[p]
            step = new - w[p]
            if step != 0.0:
                w[p] = new
                largest = max(largest, abs(step))
                for e in range(starts[p], starts[p + 1]):
                    q = ends[e]
                    pull[q] += links[e] * (s[p] - s[q]) ** 2 * step
        if largest <= tol:
            break


@part_of_kernels()
def _gradients(starts, ends, links, w, diagonal, free, residual, x):
    """Conjugate gradients, scaled by the diagonal: x with H x = residual on the free entries."""
    k = len(w)
    direction = np.zeros(k)
    image = np.empty(k)
    size = 0.0
    for p in range(k):
        x[p] = 0.0
        if free[p]:
            direction[p] = residual[p] / diagonal[p]
            size += residual[p] * direction[p]
    enough = 1e-24 * size
    for _ in range(GRADIENT_STEPS):
        if size <= enough:
            break
        curvature = 0.0
        for p in range(k):
            if free[p]:
                inside = 0.0
                for e in range(starts[p], starts[p + 1]):
                    q = ends[e]
                    inside += links[e] * w[q] * direction[q]
                image[p] = diagonal[p] * direction[p] - 2.0 * w[p] * inside
                curvature += image[p] * direction[p]
        if curvature <= 0.0:
            break
        step = size / curvature
        new = 0.0
        for p in range(k):
            if free[p]:
                x[p] += step * direction[p]
                residual[p] -= step * image[p]
                new += residual[p] ** 2 / diagonal[p]
        for p in range(k):
            if free[p]:
                direction[p] = residual[p] / diagonal[p] + new / size * direction[p]
        size = new


@part_of_kernels()
def _learn_row(starts, ends, links, fit, linear, w, s, tol, max_sweeps):
    """Minimise s'(diag(fit) + 2 (diag(E 1) - E)) s - 2 linear's, E = links . w w', from the given s.

    Sweeps over the coordinates find which entries are at a bound; where neighbours are strongly
    coupled they are slow, and conjugate gradients on the entries off their bounds help.
    """
    k = len(s)
    diagonal = np.empty(k)
    slope = np.empty(k)
    for p in range(k):
        degree, inside = 0.0, 0.0
        for e in range(starts[p], starts[p + 1]):
            q = ends[e]
            degree += links[e] * w[q]
            inside += links[e] * w[q] * s[q]
        diagonal[p] = fit[p] + 2.0 * w[p] * degree
        slope[p] = diagonal[p] * s[p] - 2.0 * w[p] * inside - linear[p]
    free = np.empty(k, dtype=np.bool_)
    residual = np.empty(k)
    x = np.empty(k)
    for sweep in range(1, max_sweeps + 1):
        largest = 0.0
        for p in range(k):
            if diagonal[p] > 0.0:
                new = min(max(s[p] - slope[p] / diagonal[p], 0.0), 1.0)
            elif slope[p] > 0.0:
                new = 0.0
            elif slope[p] < 0.0:
                new = 1.0
            else:
                new = s[p]
            step = new - s[p]
            if step != 0.0:
                s[p] = new
                largest = max(largest, abs(step))
                slope[p] += diagonal[p] * step
                for e in range(starts[p], starts[p + 1]):
                    q = ends[e]
                    slope[q] -= 2.0 * links[e] * w[p] * w[q] * step
        if largest <= tol:
            return
        if sweep % SWEEPS_BEFORE_GRADIENTS != 0:
            continue
        for p in range(k):
            free[p] = diagonal[p] > 0.0 and 0.0 < s[p] < 1.0
            residual[p] = -slope[p]
        _gradients(starts, ends, links, w, diagonal, free, residual, x)
        share = 1.0
        for p in range(k):
            if free[p] and x[p] < 0.0:
                share = min(share, -s[p] / x[p])
            elif free[p] and x[p] > 0.0:
                share = min(share, (1.0 - s[p]) / x[p])
        for p in range(k):
            if free[p]:
                s[p] = min(max(s[p] + share * x[p], 0.0), 1.0)
        for p in range(k):
            inside = 0.0
            for e in range(starts[p], starts[p + 1]):
                q = ends[e]
                inside += links[e] * w[q] * s[q]
            slope[p] = diagonal[p] * s[p] - 2.0 * w[p] * inside - linear[p]


@kernel()
def pace_rows(begin, end, programs, age, S, tol, max_sweeps, W):
    """The W-step of every row, in place."""
    starts, ends, links, seen, target, value = programs
    for u in range(begin, end):
        fit = value * seen[u] * (S[u] - target[u]) ** 2
        _pace_row(starts, ends, links, fit, 0.5 * age * value, S[u], W[u], tol, max_sweeps)


@kernel()
def learn_rows(begin, end, programs, pull, W, tol, max_sweeps, S):
    """The S-step of every row, in place; ``pull`` is rho h, N x k."""
    starts, ends, links, seen, target, value = programs
    for u in range(begin, end):
        fit = value * seen[u] * W[u] ** 2
        linear = fit * target[u] - 0.5 * value * pull[u]
        _learn_row(starts, ends, links, fit, linear, W[u], S[u], tol, max_sweeps)


@kernel()
def row_costs(begin, end, programs, age, pull, W, S, costs):
    """The objective's share of each row."""
    starts, ends, links, seen, target, value = programs
    for u in range(begin, end):
        s, w = S[u], W[u]
        cost = 0.0
        for p in range(len(s)):
            cost += value[p] * (
                seen[u, p] * (w[p] * (s[p] - target[u, p])) ** 2 - age * w[p] + pull[u, p] * s[p]
            )
            for e in range(starts[p], starts[p + 1]):
                q = ends[e]
                cost += links[e] * (s[p] - s[q]) ** 2 * w[p] * w[q]
        costs[u] = cost
