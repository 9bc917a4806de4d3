"""Polar factors, leading singular vectors and the quadratic over orthonormal columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from coterie.numerics import stiefel
from coterie.numerics.stiefel import (
    leading_left_vectors,
    minimise_quadratic,
    minimise_quadratics,
    polar,
    polars,
)
from tests.naive import pce as naive


def quadratic(point, diagonal, linear):
    """The value tr(X' D X) - 2 tr(X' C)."""
    return float((diagonal[:, None] * point**2).sum() - 2.0 * (point * linear).sum())


SHAPES = st.tuples(st.integers(1, 30), st.integers(1, 6))


@given(SHAPES, st.integers(0, 2**32 - 1), st.integers(0, 6))
def test_polar_is_the_procrustes_solution(shape, seed, decades):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=shape) * np.logspace(0, -decades, shape[1])
    factor = polar(matrix)
    small = min(shape)
    product = factor.T @ factor if shape[0] >= shape[1] else factor @ factor.T
    np.testing.assert_allclose(product, np.eye(small), atol=1e-12)
    # tr(Q'B) is at most the sum of the singular values
    nuclear = np.linalg.svd(matrix, compute_uv=False).sum()
    assert (factor * matrix).sum() == pytest.approx(nuclear, rel=1e-12)


def test_polar_of_a_deficient_matrix_is_orthonormal():
    matrix = np.zeros((40, 3))
    matrix[:, 0] = 1.0
    factor = polar(matrix)
    np.testing.assert_allclose(factor.T @ factor, np.eye(3), atol=1e-12)


@given(
    st.integers(5, 30),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.1, 1.0, 7.0]),
)
def test_no_step_raises_the_quadratic(n, c, seed, scale):
    rng = np.random.default_rng(seed)
    point = scale * polar(rng.normal(size=(n, c)))
    diagonal, linear = rng.uniform(0, 2, n), rng.normal(size=(n, c))
    values = [quadratic(point, diagonal, linear)]
    for _ in range(20):
        point = minimise_quadratic(point, diagonal, linear, scale=scale, max_steps=1)
        np.testing.assert_allclose(point.T @ point, scale**2 * np.eye(c), atol=1e-10 * scale**2)
        values.append(quadratic(point, diagonal, linear))
    assert (np.diff(values) <= 1e-12 * np.abs(values).max()).all()


@pytest.mark.parametrize("seed", range(5))
def test_ends_no_higher_than_the_papers_cayley_steps(seed):
    rng = np.random.default_rng(seed)
    start = polar(rng.normal(size=(40, 4)))
    diagonal, linear = 1.0 + rng.uniform(0, 1, 40) ** 2, rng.normal(size=(40, 4))
    curve = start
    for _ in range(2000):
        curve = naive.cayley_step(curve, diagonal, linear, 0.02)
    np.testing.assert_allclose(curve.T @ curve, np.eye(4), atol=1e-9)
    ours = minimise_quadratic(start, diagonal, linear, max_steps=500)
    best = quadratic(curve, diagonal, linear)
    assert quadratic(ours, diagonal, linear) <= best + 1e-8 * abs(best)
    # first-order conditions: the gradient is the point times a symmetric matrix
    gradient = diagonal[:, None] * ours - linear
    inner = ours.T @ gradient
    np.testing.assert_allclose(inner, inner.T, atol=1e-7)
    np.testing.assert_allclose(gradient, ours @ inner, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_several_at_once_are_each_by_itself(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([16, 5, 9, 4])
    inside = np.arange(16) < sizes[:, None]
    pulls = rng.normal(size=(4, 16, 4)) * inside[:, :, None]
    # the third has no unique factor, and what completes it must not lie in the rows of zeros
    pulls[2, :, 1] = pulls[2, :, 0]
    factors = polars(pulls, sizes)
    assert not factors[~inside].any()
    for factor, pull, size in zip(factors, pulls, sizes, strict=True):
        np.testing.assert_allclose(factor[:size], polar(pull[:size]), atol=1e-12)
    diagonal = rng.uniform(0, 2, (4, 16)) * inside
    found = minimise_quadratics(factors, diagonal, 0.1 * pulls, sizes, max_steps=7)
    for k, size in enumerate(sizes):
        alone = minimise_quadratic(
            factors[k, :size], diagonal[k, :size], 0.1 * pulls[k, :size], max_steps=7
        )
        np.testing.assert_allclose(found[k, :size], alone, atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (12, 12)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("iterated", [False, True])
def test_leading_left_vectors(shape, kind, iterated, monkeypatch):
    if iterated:
        monkeypatch.setattr(stiefel, "DENSE_ORDER", 4)
    matrix = np.random.default_rng(0).normal(size=shape)
    vectors = leading_left_vectors(kind(matrix), 4)
    reference = np.linalg.svd(matrix, full_matrices=False)[0][:, :4]
    np.testing.assert_allclose(np.abs(vectors.T @ reference), np.eye(4), atol=1e-8)
    assert (vectors[np.argmax(np.abs(vectors), axis=0), range(4)] > 0).all()


@pytest.mark.parametrize("columns", [1, 2, 9])
def test_deficient_matrices_are_made_up(columns):
    matrix = np.zeros((9, columns))
    matrix[:3, 0] = 1.0
    vectors = leading_left_vectors(matrix, 5)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-12)
    # the direction that the matrix has is there
    kept = vectors @ (vectors.T @ matrix[:, 0])
    np.testing.assert_allclose(kept, matrix[:, 0], atol=1e-12)
