"""The rank term: components, embeddings and their penalty, against dense n x n eigenproblems."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.numerics import davidson, laplacian
from coterie.numerics.laplacian import RankTerm, best_embedding, laplacian_trace
from coterie.numerics.laplacian_kernels import dense_components


def blocks(seed, sizes, density=0.3, bridges=0.0):
    """A random symmetric similarity with one connected block for each size."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    group = np.repeat(np.arange(len(sizes)), sizes)
    inside = group[:, None] == group
    S = rng.random((n, n)) * (rng.random((n, n)) < density) * inside
    path = np.flatnonzero(group[1:] == group[:-1])
    S[path, path + 1] += 0.2
    S += bridges * rng.random((n, n)) * ~inside
    S = np.triu(S, 1)
    return S + S.T + np.eye(n)


def sample_laplacian(S, weights):
    rows = np.repeat(np.arange(len(S)), weights.astype(int))
    big = S[np.ix_(rows, rows)]
    return rows, np.diag(big.sum(axis=1)) - big


@pytest.mark.parametrize("sizes", [(20,), (12, 9), (15, 1, 8)])
def test_equals_the_sample_level_eigenvectors(sizes):
    S = blocks(0, sizes)
    weights = np.random.default_rng(1).integers(1, 4, len(S)).astype(float)
    labels, count = dense_components(S)
    F, trace = best_embedding(S, weights, count + 2, labels)
    rows, L = sample_laplacian(S, weights)
    values, vectors = np.linalg.eigh(L)
    expected = vectors[:, : count + 2]
    # vectors that would tell identical samples apart are not among the smallest here
    np.testing.assert_allclose(F[rows] @ F[rows].T, expected @ expected.T, atol=1e-9)
    np.testing.assert_allclose(trace, values[: count + 2].sum(), rtol=1e-9)
    np.testing.assert_allclose(laplacian_trace(S, weights, F), trace, rtol=1e-9)
    np.testing.assert_allclose(F[rows].T @ F[rows], np.eye(count + 2), atol=1e-9)


@pytest.mark.parametrize("n_vectors", [3, 9, 30])
@pytest.mark.parametrize("warm", [False, True])
def test_large_blocks_equal_the_dense_solver(monkeypatch, n_vectors, warm):
    S = blocks(2, (450, 40), density=0.05)
    weights = np.random.default_rng(3).integers(1, 9, len(S)).astype(float)
    labels, _ = dense_components(S)
    start = np.random.default_rng(4).normal(size=(len(S), 5)) if warm else None
    F, trace = best_embedding(S, weights, n_vectors, labels, start)
    monkeypatch.setattr(laplacian, "DENSE_ORDER", 10**6)
    expected, value = best_embedding(S, weights, n_vectors, labels)
    np.testing.assert_allclose(F @ F.T, expected @ expected.T, atol=1e-9)
    np.testing.assert_allclose(trace, value, rtol=1e-10)


def test_a_block_on_a_thread():
    S = blocks(5, (200, 180))
    S[10, 300] = S[300, 10] = 1e-13
    weights = np.ones(len(S))
    labels, count = dense_components(S)
    assert count == 1
    F, trace = best_embedding(S, weights, 2, labels)
    sides = F[:, 1] > 0
    assert sides[:200].all() != sides[200:].all()
    assert len(set(sides[:200])) == len(set(sides[200:])) == 1
    assert 0 <= trace < 1e-9


@pytest.mark.parametrize("size", [12, 320])
def test_ties_share_their_places(size):
    S = np.ones((size, size))
    labels, _ = dense_components(S)
    F, trace = best_embedding(S, np.ones(size), 4, labels)
    assert F.shape == (size, size)
    np.testing.assert_allclose(trace, 3 * size, rtol=1e-9)
    distances = np.sum((F[:, None, :] - F[None, :, :]) ** 2, axis=2) if size < 50 else None
    if distances is not None:
        np.testing.assert_allclose(distances[~np.eye(size, dtype=bool)], 2 * 3 / (size - 1))
    np.testing.assert_allclose(np.sum(F**2), 4.0)


def test_order_of_rows_does_not_matter():
    ring = np.eye(12) + np.eye(12, k=1) + np.eye(12, k=-1)
    ring[0, -1] = ring[-1, 0] = 1.0
    labels = np.zeros(12, dtype=np.int64)
    F, _ = best_embedding(ring, np.ones(12), 2, labels)
    order = np.random.default_rng(0).permutation(12)
    G, _ = best_embedding(ring[np.ix_(order, order)], np.ones(12), 2, labels)
    np.testing.assert_allclose((F @ F.T)[np.ix_(order, order)], G @ G.T, atol=1e-12)


def test_penalty_follows_the_components():
    S = blocks(6, (8, 7), bridges=0.01)
    weights = np.arange(1.0, 16.0)
    rank = RankTerm.start(S, weights, n_clusters=2)
    assert (rank.n_components, rank.penalty, rank.satisfied) == (1, 1.0, False)
    rank = rank.follow(S)
    assert rank.penalty == 2.0
    apart = blocks(6, (8, 7))
    rank = rank.follow(apart)
    assert (rank.penalty, rank.trace, rank.satisfied) == (2.0, 0.0, True)
    sizes = np.array([weights[:8].sum(), weights[8:].sum()])
    between = np.sum((rank.embedding[0] - rank.embedding[-1]) ** 2)
    np.testing.assert_allclose(between, np.sum(1 / sizes))
    kept = rank.embedding
    rank = rank.follow(np.eye(15))
    assert (rank.n_components, rank.penalty) == (15, 1.0)
    np.testing.assert_array_equal(rank.embedding, kept)
    assert rank.trace == 0.0


def test_more_components_than_clusters_from_the_start():
    rank = RankTerm.start(blocks(7, (5, 4, 3)), np.ones(12), n_clusters=2)
    assert (rank.n_components, rank.trace) == (3, 0.0)
    np.testing.assert_array_equal(rank.component_labels, np.repeat([0, 1, 2], [5, 4, 3]))


def test_not_finite_is_refused():
    S = blocks(8, (6,))
    S[0, 1] = S[1, 0] = np.nan
    with pytest.raises(FloatingPointError, match="eigenvectors of the Laplacian"):
        best_embedding(S, np.ones(6), 2, np.zeros(6, dtype=np.int64))


@pytest.mark.parametrize("density", [0.02, 0.25, 0.6])
def test_the_symmetric_part_of_a_matrix_is_meant(density):
    S = blocks(9, (420, 30), density=density)
    upper = np.triu(S, 1) * 2.0 + np.diag(np.diag(S))
    weights = np.random.default_rng(10).integers(1, 6, len(S)).astype(float)
    labels, count = dense_components(S)
    assert np.array_equal(dense_components(upper)[0], labels)
    F, trace = best_embedding(S, weights, count + 3, labels)
    G, other = best_embedding(upper, weights, count + 3, labels, symmetric=False)
    np.testing.assert_allclose(F @ F.T, G @ G.T, atol=1e-9)
    np.testing.assert_allclose(trace, other, rtol=1e-10)
    np.testing.assert_allclose(
        laplacian_trace(upper, weights, F, symmetric=False), trace, rtol=1e-9
    )


def test_an_old_inverse_saves_time_and_changes_nothing():
    inverse = davidson.RoughInverse()
    weights = np.ones(460)
    for seed, density in ((11, 0.03), (12, 0.03), (13, 0.05)):
        S = blocks(seed, (460,), density=density)
        labels, _ = dense_components(S)
        F, trace = best_embedding(S, weights, 4, labels, inverse=inverse)
        assert inverse.factor is not None
        fresh, expected = best_embedding(S, weights, 4, labels)
        np.testing.assert_allclose(F @ F.T, fresh @ fresh.T, atol=1e-9)
        np.testing.assert_allclose(trace, expected, rtol=1e-10)
