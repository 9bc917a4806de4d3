"""Halves and Laplacians of dense similarities, on sizes around that of a tile."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.numerics.laplacian_kernels import TILE, lower_laplacian, sparse_half

SIZES = [1, 5, TILE - 1, TILE, TILE + 1, 2 * TILE + 3]


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
