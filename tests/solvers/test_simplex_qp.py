"""The simplex QP against all faces enumerated, and its certificate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.solvers.pce.simplex_qp import simplex_qp
from tests.naive import pce as naive


def kkt_residual(gram, linear, weights):
    """The largest violation of the optimality conditions, relative to the scale of the problem.

    Zero exactly at a minimiser: the sum is one, no weight is negative, and weight lies only where the
    gradient is smallest (the complementarity gap bounds the distance to the minimum).
    """
    scale = max(np.abs(gram).max(), np.abs(linear).max()) or 1.0
    gradient = gram @ weights - linear
    gap = weights @ (gradient - gradient.min()) / scale
    return max(abs(weights.sum() - 1.0), -weights.min(), gap)


def value(gram, linear, point):
    return point @ gram @ point / 2 - linear @ point


@st.composite
def problems(draw):
    """Gram matrices of any rank, with repeated variables, at any scale."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = draw(st.integers(1, 7))
    factor = rng.normal(size=(draw(st.integers(1, 9)), m))
    if m > 2 and draw(st.booleans()):
        factor[:, 1] = factor[:, 0]
    scale = 10.0 ** draw(st.integers(-6, 6))
    linear = factor.T @ rng.normal(size=len(factor)) * draw(st.sampled_from([0.0, 0.1, 1.0, 10.0]))
    return scale * factor.T @ factor, scale * linear


@given(problems())
def test_solution_is_feasible_optimal_and_certified(problem):
    gram, linear = problem
    weights = simplex_qp(gram, linear)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert kkt_residual(gram, linear, weights) <= 1e-9
    size = max(np.abs(gram).max(), np.abs(linear).max())
    best = value(gram, linear, naive.simplex_qp(gram, linear))
    assert value(gram, linear, weights) <= best + 1e-9 * size


@given(problems(), st.integers(0, 2**32 - 1))
def test_residual_bounds_the_distance_to_the_minimum(problem, seed):
    gram, linear = problem
    point = np.random.default_rng(seed).dirichlet(np.ones(len(linear)))
    size = max(np.abs(gram).max(), np.abs(linear).max(), np.finfo(float).tiny)
    best = value(gram, linear, simplex_qp(gram, linear))
    gap = value(gram, linear, point) - best
    assert gap <= (kkt_residual(gram, linear, point) + 1e-9) * size


def test_identical_variables_share_evenly_in_any_order():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(20, 4))
    factor = factor[:, [0, 1, 0, 2, 0, 3]]
    gram, linear = factor.T @ factor, factor.T @ factor[:, [0, 1]].sum(axis=1)
    weights = simplex_qp(gram, linear)
    assert weights[0] > 0.05
    np.testing.assert_allclose(weights[[2, 4]], weights[0], atol=1e-6)
    order = rng.permutation(6)
    moved = simplex_qp(gram[np.ix_(order, order)], linear[order])
    np.testing.assert_allclose(moved, weights[order], atol=1e-6)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_a_flat_objective_gives_equal_weights(m):
    np.testing.assert_allclose(simplex_qp(np.zeros((m, m)), np.zeros(m)), 1 / m, atol=1e-9)


def test_many_variables():
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(300, 200))
    gram, linear = factor.T @ factor, 40.0 * rng.normal(size=200)
    weights = simplex_qp(gram, linear)
    assert kkt_residual(gram, linear, weights) <= 1e-9
    gradient = gram @ weights - linear
    multiplier = weights @ gradient
    held = weights > 0
    np.testing.assert_allclose(gradient[held], multiplier, rtol=1e-7)
    assert (gradient[~held] >= multiplier - 1e-7 * np.abs(gradient).max()).all()
