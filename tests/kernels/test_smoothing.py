"""The parts of TRCE's rows against plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from coterie.kernels.smoothing import COLUMNS, GROUP, _distances, _project


@pytest.mark.parametrize("n_coordinates", [1, 2, 3, 6])
@pytest.mark.parametrize("n", [5, COLUMNS + 3])
def test_distances_count_every_coordinate(n_coordinates, n):
    embedding = np.random.default_rng(n).normal(size=(n_coordinates, n))
    found = np.empty(n)
    for i in (0, n - 1):
        _distances(embedding, i, found)
        expected = ((embedding - embedding[:, [i]]) ** 2).sum(axis=0)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("far", [0.0, 0.01, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_projection_is_the_nearest_point_of_the_weighted_simplex(seed, far):
    # with far = 0 all columns without a link are near, whole groups of them
    rng = np.random.default_rng(seed)
    n, slope, i = 3 * GROUP + 5, 0.3, 7
    weights = rng.integers(1, 4, n).astype(np.float64)
    linked = np.sort(rng.choice(n, 6, replace=False))
    linked[np.abs(linked - i).argmin()] = i
    walk = np.zeros(n)
    walk[linked] = rng.random(len(linked)) / 50
    distance = far * rng.random(n)
    distance[i] = 0.0
    target = walk - slope * distance

    def excess(theta: float) -> float:
        return weights @ np.maximum(target - theta, 0.0) - 1.0

    expected = np.maximum(target - brentq(excess, -10.0, 1.0, xtol=1e-15), 0.0)
    columns, value = np.zeros(n, dtype=np.int32), np.zeros(n)
    columns[: len(linked)], value[: len(linked)] = linked, walk[linked]
    found = np.empty(n)
    _project(
        i, len(linked), walk[i], distance.copy(), slope, weights, columns, value, np.empty(n), found
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
