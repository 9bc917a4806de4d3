"""Spectral cuts: against the sample-level algorithms, ties, both decompositions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.metrics import adjusted_rand_score

from coterie.numerics import spectral
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.spectral import (
    bipartite_spectrum,
    leading_embedding,
    tcut_embedding,
    unit_rows,
)

# three members of six samples: rows a (twice), b, d (three times)
W = np.array([[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1]], dtype=np.float64)
COUNTS = np.array([2, 1, 3])


def random_affinity(seed: int, n: int = 40, k: int = 15) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((n, k)) * (rng.random((n, k)) < 0.5) + 0.01


def plain_tcut_embedding(affinity, c):
    """The transfer cut step by step, each row one sample."""
    by_row = affinity.sum(axis=1)
    between = affinity.T @ np.diag(1 / by_row) @ affinity
    root = np.diag(1 / np.sqrt(between.sum(axis=1)))
    _, vectors = np.linalg.eigh(root @ between @ root)
    rows = np.diag(1 / by_row) @ affinity @ root @ vectors[:, ::-1][:, :c]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def tcut(affinity, weights, c):
    """The transfer cut: k-means on its embedding."""
    rows = tcut_embedding(affinity, weights, c)
    return fit_kmeans(rows, c, weights, np.random.default_rng(0), n_init=20).labels


def products(rows):
    """What k-means sees: signs and rotations do not matter."""
    return rows @ rows.T


def test_the_small_example():
    spectrum = bipartite_spectrum(W, COUNTS, 6)
    assert spectrum.values.round(4).tolist() == [1, 0.8727, 0.1273]
    rows = tcut_embedding(W, COUNTS, 2)
    assert np.abs(rows).round(3).tolist() == [[0.665, 0.747], [0.902, 0.433], [0.740, 0.673]]
    assert rows[0, 1] * rows[1, 1] > 0 > rows[0, 1] * rows[2, 1]


@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_tcut_embedding_is_the_plain_one(shape, form):
    affinity = random_affinity(0, *shape)
    rows = tcut_embedding(form(affinity), np.ones(shape[0]), 4)
    assert np.allclose(products(rows), products(plain_tcut_embedding(affinity, 4)), atol=1e-10)


@pytest.mark.parametrize("shape", [(12, 7), (7, 12)])
def test_weights_are_repeated_rows(shape):
    affinity = random_affinity(1, *shape)
    counts = np.random.default_rng(1).integers(1, 5, shape[0])
    repeated = plain_tcut_embedding(np.repeat(affinity, counts, axis=0), 3)
    weighted = np.repeat(tcut_embedding(affinity, counts, 3), counts, axis=0)
    assert np.allclose(products(weighted), products(repeated), atol=1e-10)


def test_rows_and_columns_solve_the_eigenproblem_of_the_whole_graph():
    affinity = random_affinity(2)
    n, k = affinity.shape
    spectrum = bipartite_spectrum(affinity, np.ones(n), 4)
    graph = np.block([[np.zeros((n, n)), affinity], [affinity.T, np.zeros((k, k))]])
    vectors = np.vstack([spectrum.rows, spectrum.columns])
    degrees = graph.sum(axis=1)[:, None]
    assert np.allclose(graph @ vectors, degrees * vectors * np.sqrt(spectrum.values), atol=1e-9)


def test_leading_embedding_is_that_of_the_samples():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(12, 2))
    similarity = np.exp(-((points[:, None] - points) ** 2).sum(axis=2))
    counts = rng.integers(1, 5, 12)
    samples = np.repeat(np.repeat(similarity, counts, axis=0), counts, axis=1)
    root = np.diag(samples.sum(axis=1) ** -0.5)
    vectors = linalg.eigh(root @ samples @ root)[1][:, ::-1][:, :3]
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = np.repeat(leading_embedding(similarity, counts, 3), counts, axis=0)
    assert np.allclose(products(found), products(rows), atol=1e-9)


def test_products_and_factorisation_agree(monkeypatch):
    affinity = random_affinity(4, 130, 90)
    similarity = affinity @ affinity.T
    ones = np.ones(130)
    before = (
        products(tcut_embedding(affinity, ones, 3)),
        products(leading_embedding(similarity, ones, 3)),
    )
    monkeypatch.setattr(spectral, "WHOLE_ORDER", 10)
    subset = (
        products(tcut_embedding(affinity, ones, 3)),
        products(leading_embedding(similarity, ones, 3)),
    )
    monkeypatch.setattr(spectral, "DENSE_ORDER", 20)
    monkeypatch.setattr(spectral, "LANCZOS_SHARE", 5)
    lanczos = (
        products(tcut_embedding(affinity, ones, 3)),
        products(leading_embedding(similarity, ones, 3)),
    )
    for one, two, three in zip(before, subset, lanczos, strict=True):
        assert np.allclose(one, two, atol=1e-9)
        assert np.allclose(one, three, atol=1e-9)


def test_a_tie_at_the_last_vector_prefers_no_row():
    # five blocks without any link: the eigenvalue one is there five times, two vectors are wanted
    affinity = np.kron(np.eye(5), np.ones((3, 2)))
    rows = tcut_embedding(affinity, np.ones(15), 2)
    assert np.allclose(products(rows), np.kron(np.eye(5), np.ones((3, 3))), atol=1e-10)
    similarity = np.kron(np.eye(5), np.ones((3, 3)))
    assert np.allclose(
        products(leading_embedding(similarity, np.ones(15), 2)), similarity, atol=1e-10
    )


def test_a_tie_is_seen_beyond_the_first_look(monkeypatch):
    monkeypatch.setattr(spectral, "WHOLE_ORDER", 2)
    affinity = np.kron(np.eye(12), np.ones((2, 1)))
    rows = tcut_embedding(affinity, np.ones(24), 2)
    assert np.allclose(products(rows), np.kron(np.eye(12), np.ones((2, 2))), atol=1e-10)


def test_rows_and_columns_without_affinity_stay_out():
    affinity = np.vstack([np.hstack([W, np.zeros((3, 1))]), np.zeros((1, 7))])
    counts = np.append(COUNTS, 2)
    rows = tcut_embedding(affinity, counts, 2)
    assert np.allclose(products(rows[:3]), products(tcut_embedding(W, COUNTS, 2)), atol=1e-10)
    assert not rows[3].any()
    assert np.isfinite(bipartite_spectrum(affinity, counts, 2).columns).all()


def test_more_clusters_than_columns():
    # two members of two clusters each tell four rows apart, by three vectors
    affinity = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]], dtype=np.float64)
    labels = tcut(affinity, np.array([4, 3, 2, 1]), 4)
    assert sorted(labels.tolist()) == [0, 1, 2, 3]


def test_tcut_finds_blocks():
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1, 2], 40)
    labels = np.stack(
        [np.where(rng.random(120) < 0.2, rng.integers(0, 3, 120), truth) for _ in range(10)], axis=1
    )
    affinity = np.hstack([np.eye(3)[member] for member in labels.T])
    found = tcut(affinity, np.ones(120), 3)
    assert adjusted_rand_score(truth, found) > 0.9


def test_unit_rows_ignore_rounding():
    assert unit_rows(np.array([[2.0, 0.0], [1e-17, 1e-17]])).tolist() == [[1, 0], [0, 0]]


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(FloatingPointError, match="affinities are not finite"):
        tcut_embedding(np.array([[np.inf]]), np.ones(1), 1)
    with pytest.raises(FloatingPointError, match="similarity is not finite"):
        leading_embedding(np.array([[np.nan]]), np.ones(1), 1)


@pytest.mark.parametrize("seed", range(5))
def test_all_parts_of_a_graph_are_found_by_products(monkeypatch, seed):
    """Every part has an eigenvalue of one, and a single start sees but some of them."""
    monkeypatch.setattr(spectral, "DENSE_ORDER", 10)
    rng = np.random.default_rng(seed)
    part = np.repeat(np.arange(12), 300)
    rows = np.arange(len(part))
    columns = [12 * 30 * i + part * 30 + rng.integers(0, 30, len(part)) for i in range(2)]
    incidence = sparse.csr_array(
        (rng.random(2 * len(part)) + 0.5, (np.tile(rows, 2), np.concatenate(columns))),
        shape=(len(part), 12 * 60),
    )
    assert np.allclose(bipartite_spectrum(incidence, np.ones(len(part)), 12).values, 1)
    labels = tcut(incidence, np.ones(len(part)), 12)
    assert adjusted_rand_score(part, labels) == 1
