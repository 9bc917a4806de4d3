"""Products with indicator matrices that are not formed, against those of the matrices themselves."""

from __future__ import annotations

import numpy as np

from coterie.solvers.pce.kernels import points_by_member, sums_over_members, sums_over_rows


def test_products_are_those_of_the_indicators():
    rng = np.random.default_rng(0)
    n, width, sizes = 40, 3, np.array([2, 5, 4])
    first = np.cumsum(sizes) - sizes
    codes = np.stack([rng.integers(0, size, n) for size in sizes], axis=1) + first
    indicators = [np.eye(sizes.sum())[column] for column in codes.T]
    points, values = rng.normal(size=(sizes.sum(), width)), rng.normal(size=(n, width))
    weights = rng.integers(1, 5, n).astype(float)

    sums, by_member = np.empty((n, width)), np.empty((len(sizes), n, width))
    sums_over_members(codes, points, sums)
    points_by_member(codes, points, by_member)
    np.testing.assert_allclose(sums, sum(indicators) @ points, atol=1e-12)
    np.testing.assert_array_equal(by_member, [one @ points for one in indicators])

    totals, masses = np.empty_like(points), np.empty(len(points))
    sums_over_rows(codes, weights, values, totals, masses)
    weighted = sum(indicators).T * weights
    np.testing.assert_allclose(totals, weighted @ values, atol=1e-12)
    np.testing.assert_allclose(masses, weighted.sum(axis=1), atol=1e-12)
