"""Spectral rotation: ascent, weights as repeated rows, recovery of a rotated partition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from coterie.numerics.discretise import (
    best_discretisation,
    cross_product,
    discretise,
    spread_rotation,
)
from coterie.numerics.stiefel import polar


def rotated_indicator(seed, n=40, c=4, noise=0.0):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(c), rng.integers(c, size=n - c)])
    turn = polar(rng.normal(size=(c, c)))
    return np.eye(c)[labels] @ turn + noise * rng.normal(size=(n, c)), labels


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("c", [1, 2, 5])
def test_recovers_a_rotated_partition(seed, c):
    embedding, labels = rotated_indicator(seed, c=c, noise=0.05)
    found = best_discretisation(embedding, np.ones(40), np.array([0, 7]))
    assert adjusted_rand_score(found.labels, labels) == 1.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_rounds_raise_the_alignment(seed, c):
    rng = np.random.default_rng(seed)
    embedding, weights = rng.normal(size=(25, c)), rng.uniform(0.5, 3.0, 25)
    rotation, last = polar(rng.normal(size=(c, c))), -np.inf
    for _ in range(8):
        found = discretise(embedding, weights, rotation, max_rounds=1)
        rotation = found.rotation
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(c), atol=1e-12)
        chosen = (embedding @ rotation)[np.arange(25), found.labels]
        assert found.alignment == pytest.approx(weights @ chosen)
        assert found.alignment >= last - 1e-9
        last = found.alignment


def test_weights_are_repeated_rows():
    embedding, _ = rotated_indicator(1, noise=0.6)
    counts = np.random.default_rng(2).integers(1, 4, 40)
    rotation = spread_rotation(embedding, 3)
    weighted = discretise(embedding, counts.astype(float), rotation)
    repeated = discretise(
        np.repeat(embedding, counts, axis=0), np.ones(int(counts.sum())), rotation
    )
    np.testing.assert_array_equal(np.repeat(weighted.labels, counts), repeated.labels)
    np.testing.assert_allclose(weighted.rotation, repeated.rotation, atol=1e-10)


def test_more_starts_are_never_worse():
    embedding, _ = rotated_indicator(5, n=80, c=8, noise=0.5)
    few = best_discretisation(embedding, np.ones(80), np.arange(1))
    many = best_discretisation(embedding, np.ones(80), np.arange(20))
    assert many.alignment >= few.alignment - 1e-9


def test_rows_of_no_length_are_no_directions():
    embedding = np.array([[1.0, 0.0], [0.0, 0.0], [1e-12, 1e-12], [0.0, 1.0]])
    np.testing.assert_allclose(np.abs(spread_rotation(embedding, 0)), np.eye(2))


def test_cross_product():
    rng = np.random.default_rng(0)
    embedding, weights, labels = rng.normal(size=(9, 3)), rng.random(9), rng.integers(4, size=9)
    expected = embedding.T @ np.diag(weights) @ np.eye(4)[labels]
    np.testing.assert_allclose(cross_product(embedding, weights, labels, 4), expected, atol=1e-12)
