"""The search in the box against an exact solver, and weights against repeated rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from coterie.solvers.ceshl.box_lbfgs import SparseRows, minimise_in_box


class Dense:
    """A function of a full matrix, and its gradient, as the search calls them."""

    def __init__(self, value, gradient):
        self.function, self.derivative = value, gradient

    def value(self, point):
        self.point = point.matrix.toarray()
        return self.function(self.point)

    def gradient(self):
        return Slopes(self.derivative(self.point))


class Slopes:
    def __init__(self, slopes):
        self.slopes = slopes

    def rows(self, begin, end, out):
        out[:] = self.slopes[begin:end]

    def at(self, free, values):
        rows = np.repeat(np.arange(len(self.slopes)), np.diff(free.starts))
        return self.slopes[rows, free.columns]


def least_squares(matrix, target, shape):
    """Half the squared distance of matrix @ vec(Y) from the target."""

    def value(Y):
        return float(0.5 * ((matrix @ Y.ravel() - target) ** 2).sum())

    def gradient(Y):
        return (matrix.T @ (matrix @ Y.ravel() - target)).reshape(shape)

    return value, gradient


@pytest.mark.parametrize("seed", range(4))
def test_convex_problem_ends_at_its_minimum(seed):
    rng = np.random.default_rng(seed)
    shape = (4, 5)
    matrix, target = rng.normal(size=(30, 20)), 3 * rng.normal(size=30)
    value, gradient = least_squares(matrix, target, shape)
    start = rng.random(shape)
    found = minimise_in_box(
        Dense(value, gradient),
        SparseRows.of(start),
        row_weights=np.ones(4),
        column_weights=np.ones(5),
        first_step=0.01,
        max_iter=500,
        tol=0.0,
    )
    exact = lsq_linear(matrix, target, (0, 1), method="bvls").x.reshape(shape)
    np.testing.assert_allclose(found.point.matrix.toarray(), exact, atol=1e-6)
    assert found.value == pytest.approx(value(found.point.matrix.toarray()))


def test_weights_take_the_path_of_repeated_rows_and_columns():
    rng = np.random.default_rng(0)
    target = rng.normal(size=(3, 4))
    rows, columns = np.array([1.0, 3.0, 2.0]), np.array([2.0, 1.0, 1.0, 4.0])

    def run(goal, row_weights, column_weights):
        weight = np.outer(row_weights, column_weights)

        def value(Y):
            # not quadratic, and its curvature differs from entry to entry
            return float((weight * ((Y - goal) ** 4 + (Y - goal) ** 2 * (1 + goal**2))).sum())

        def gradient(Y):
            return 4 * (Y - goal) ** 3 + 2 * (Y - goal) * (1 + goal**2)

        return minimise_in_box(
            Dense(value, gradient),
            SparseRows.of(np.full(goal.shape, 0.5)),
            row_weights=row_weights,
            column_weights=column_weights,
            first_step=0.3,
            max_iter=4,
            tol=0.0,
        )

    short = run(target, rows, columns)
    again = np.repeat(np.arange(3), rows.astype(int)), np.repeat(np.arange(4), columns.astype(int))
    long = run(target[np.ix_(*again)], np.ones(6), np.ones(8))
    assert short.value == pytest.approx(long.value)
    np.testing.assert_allclose(
        short.point.matrix.toarray()[np.ix_(*again)], long.point.matrix.toarray(), atol=1e-10
    )


def test_nothing_to_gain_ends_at_once():
    found = minimise_in_box(
        Dense(lambda Y: float(Y.sum()), np.ones_like),
        SparseRows.of(np.zeros((2, 3))),
        row_weights=np.ones(2),
        column_weights=np.ones(3),
        first_step=1.0,
        max_iter=10,
        tol=0.0,
    )
    assert found.n_iter == 0
