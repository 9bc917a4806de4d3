r"""A small convex quadratic program on the probability simplex, solved to its optimality conditions.

.. math:: \min_x \; \tfrac12 x' G x - f' x \quad \text{subject to} \quad x \ge 0, \; \sum_i x_i = 1

with G symmetric and positive semidefinite, of the order of the number of members. The active set
method of Lawson and Hanson, carried over from the positive orthant to the simplex: variables enter one
at a time where the gradient is smallest, leave where a step would make them negative, and the
problem on the active variables is one linear system.

If G is singular, the minimiser need not be unique. The usual case is two identical members: any split
of their common weight is equally good. A tiny ridge selects the solution of least norm, which is the
even split and does not depend on the order of the variables.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from coterie.core.types import FloatArray

# the ridge, relative to the scale of the problem: above rounding, below any difference that matters
RIDGE = 1e-9
# a gradient gap below this, on the same scale, is a rounding error
SLACK = 1e-14


def simplex_qp(gram: FloatArray, linear: FloatArray) -> FloatArray:
    """Minimise ``x' gram x / 2 - linear' x`` over the probability simplex.

    Examples
    --------
    >>> import numpy as np
    >>> simplex_qp(np.eye(3), np.array([1.0, 0.8, -1.0])).round(6).tolist()
    [0.6, 0.4, 0.0]
    """
    m = len(linear)
    scale = max(float(np.abs(gram).max()), float(np.abs(linear).max())) or 1.0
    convex = gram + RIDGE * scale * np.eye(m)
    # the best single variable: a vertex, hence feasible
    inside = np.zeros(m, dtype=bool)
    inside[np.argmin(np.diag(convex) / 2 - linear)] = True
    weights = inside.astype(np.float64)
    # each entering variable lowers the objective, so no set returns; the cap guards against rounding
    for _ in range(10 * m + 10):
        gradient = convex @ weights - linear
        multiplier = float(weights @ gradient)
        gap = np.where(inside, 0.0, gradient - multiplier)
        entering = int(np.argmin(gap))
        if gap[entering] >= -SLACK * scale:
            break
        inside[entering] = True
        weights = _shrink_to_feasible(convex, linear, weights, inside, entering)
    weights = np.maximum(weights, 0.0)
    return np.asarray(weights / weights.sum())


def _shrink_to_feasible(
    gram: FloatArray,
    linear: FloatArray,
    weights: FloatArray,
    inside: NDArray[np.bool_],
    entering: int,
) -> FloatArray:
    """Minimise over the active variables, removing variables that would become negative."""
    weights = weights.copy()
    while True:
        aim = _on_affine_hull(gram, linear, inside)
        if aim[entering] <= 0.0 and weights[entering] == 0.0:
            # rounding: the variable that enters cannot move the way the gradient promised
            inside[entering] = False
            return weights
        leaving = inside & (aim <= 0.0)
        if not leaving.any():
            return aim
        ratios = np.full(len(aim), np.inf)
        ratios[leaving] = weights[leaving] / (weights[leaving] - aim[leaving])
        step = float(ratios.min())
        weights = weights + step * (aim - weights)
        out = leaving & (ratios <= step)
        weights[out] = 0.0
        inside &= ~out


def _on_affine_hull(gram: FloatArray, linear: FloatArray, inside: NDArray[np.bool_]) -> FloatArray:
    """The minimiser over the active variables under the constraint sum x = 1 only."""
    rows = np.flatnonzero(inside)
    factor = linalg.cho_factor(gram[np.ix_(rows, rows)])
    free = linalg.cho_solve(factor, linear[rows])
    towards = linalg.cho_solve(factor, np.ones(len(rows)))
    solution = np.zeros(len(inside))
    solution[rows] = free + (1.0 - free.sum()) / towards.sum() * towards
    return solution
