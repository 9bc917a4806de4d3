"""The nearest point to each row, against the search one distance at a time."""

import numba
import numpy as np
import pytest
from scipy import sparse

from coterie import MemoryBudgetError
from coterie.numerics import nearest_points
from coterie.numerics.nearest_points import NearestPoints
from tests.naive.nearest import nearest_points as naive


def on_a_grid(rng, n, d):
    """Rows with many equal distances."""
    return rng.integers(0, 4, (n, d)).astype(float)


def clouds(rng, n, d):
    return rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)


def far_from_zero(rng, n, d):
    """Rows whose products lose all digits that matter unless they are centred."""
    return 1e6 + rng.normal(size=(n, d))


@pytest.mark.parametrize("make", [on_a_grid, clouds, far_from_zero])
@pytest.mark.parametrize("d", [1, 2, 7, 33])
def test_it_equals_the_naive_search(make, d):
    rng = np.random.default_rng(d)
    X, points = make(rng, 400, d), make(rng, 90, d)
    np.testing.assert_array_equal(NearestPoints(points)(X), naive(X, points))


def test_midpoints_go_to_the_first_point():
    points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [1.0, 5.0]])
    assert NearestPoints(points)(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])).tolist() == [
        0,
        1,
        0,
    ]


def test_the_answer_for_a_row_does_not_depend_on_the_other_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10)).round(1)
    search = NearestPoints(X[:500])
    whole = search(X)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(search(X[order]), whole[order])
    np.testing.assert_array_equal(search(np.repeat(X, 2, axis=0)), np.repeat(whole, 2))
    parts = [search(X[begin : begin + 7]) for begin in range(0, len(X), 7)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_the_answer_does_not_depend_on_threads_or_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    X = on_a_grid(rng, 5000, 6)
    search = NearestPoints(X[:300])
    whole = search(X)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        np.testing.assert_array_equal(search(X), whole)
    finally:
        numba.set_num_threads(threads)
    monkeypatch.setattr(nearest_points, "BLOCK_CELLS", 1000)
    monkeypatch.setattr(nearest_points, "DIRECT_CELLS", 500)
    np.testing.assert_array_equal(NearestPoints(X[:300])(X), whole)


def test_sparse_rows_are_treated_like_dense_ones():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((500, 40)) < 0.1, rng.normal(size=(500, 40)), 0.0)
    dense = NearestPoints(X[:80])(X)
    matrix = sparse.csr_array(X)
    np.testing.assert_array_equal(NearestPoints(matrix[:80])(matrix), dense)


def test_single_precision_stays_exact():
    rng = np.random.default_rng(3)
    X = (1000 + rng.normal(size=(400, 5))).astype(np.float32)
    np.testing.assert_array_equal(NearestPoints(X[:60])(X), naive(X, X[:60]))


def test_rows_far_beyond_the_points_are_compared_directly():
    points = np.array([[0.0, 1e-30], [1e-30, 0.0]])
    X = np.array([[1e20, 0.0], [0.0, 1e20], [0.0, 2e-30]])
    np.testing.assert_array_equal(NearestPoints(points)(X), naive(X, points))


def test_a_single_point_and_equal_points():
    X = np.arange(6.0).reshape(3, 2)
    assert NearestPoints(X[:1])(X).tolist() == [0, 0, 0]
    assert NearestPoints(np.ones((4, 2)))(X).tolist() == [0, 0, 0]


def test_too_little_memory_is_refused_before_the_search():
    with pytest.raises(MemoryBudgetError, match="nearest of 1,000 points in 50 dimensions needs"):
        NearestPoints(np.zeros((1000, 50)), memory_budget="1MB")
