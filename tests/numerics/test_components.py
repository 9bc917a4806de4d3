"""Connected components of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from coterie.numerics.components import dense_components
from tests.naive.rows import same_partition


@pytest.mark.parametrize("density", [0.0, 0.01, 0.03, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_against_scipy(density, seed):
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((60, 60)) < density, rng.random((60, 60)), 0.0)
    labels, count = dense_components(matrix)
    expected_count, expected = connected_components(matrix, directed=False)
    assert count == expected_count
    assert same_partition(labels, expected)
    # numbered by their lowest item
    assert (np.diff(np.unique(labels, return_index=True)[1]) > 0).all()


def test_an_edge_in_one_triangle_is_enough():
    matrix = np.zeros((3, 3))
    matrix[2, 0] = 1.0
    labels, count = dense_components(matrix)
    assert (labels.tolist(), count) == ([0, 1, 0], 2)


def test_only_entries_above_the_threshold_are_edges():
    matrix = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.2], [0.2, 0.2, 1.0]])
    assert dense_components(matrix, above=0.2)[0].tolist() == [0, 0, 1]
    assert dense_components(matrix, above=0.5)[1] == 3


def test_no_items():
    labels, count = dense_components(np.zeros((0, 0)))
    assert (len(labels), count) == (0, 0)
