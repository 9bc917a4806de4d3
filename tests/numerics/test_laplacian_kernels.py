"""Halves, Laplacians and components of dense similarities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from coterie.numerics.davidson import STRIPE, lower_laplacian, sparse_half
from coterie.numerics.laplacian_kernels import dense_components
from tests.naive.rows import same_partition

SIZES = [1, 5, STRIPE - 1, STRIPE, STRIPE + 1, 2 * STRIPE + 3]


def similarity(size, density):
    rng = np.random.default_rng(size)
    return rng.random((size, size)) * (rng.random((size, size)) < density)


@pytest.mark.parametrize("size", SIZES)
def test_a_half_and_its_mirror_are_the_symmetric_part(size):
    matrix = similarity(size, 0.2)
    half = sparse_half(matrix, 1.0).toarray()
    assert (np.tril(half, -1) == 0).all()
    np.testing.assert_allclose(half + half.T, (matrix + matrix.T) / 2, atol=1e-15)


def test_a_half_of_too_many_entries_is_not_made():
    matrix = np.eye(4)
    matrix[0, 1] = 1.0
    # four on the diagonal and two beside it
    assert sparse_half(matrix, 6 / 16).nnz == 5
    assert sparse_half(matrix, 5.9 / 16) is None


@pytest.mark.parametrize("size", SIZES)
def test_the_lower_half_of_the_laplacian(size):
    matrix = similarity(size, 0.7)
    rng = np.random.default_rng(1)
    root, diagonal = rng.random(size) + 0.5, rng.random(size)
    expected = np.diag(diagonal) - np.outer(root, root) * (matrix + matrix.T) / 2
    found = lower_laplacian(matrix, root, diagonal)
    np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.03, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_components_are_those_of_scipy(density, seed):
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


def test_components_of_no_items():
    labels, count = dense_components(np.zeros((0, 0)))
    assert (len(labels), count) == (0, 0)
