"""Gaps: values of similar rows fill them, and nothing else changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.generate import gaps as module
from coterie.generate.gaps import N_DONORS, Gaps


def matrix(seed, n=30, d=4, share=0.15):
    """A matrix with gaps; every column has values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < share] = np.nan
    X[0] = rng.normal(size=d)
    return X


def gaps_of(X, seed=0):
    return Gaps.of(X, np.random.default_rng(seed))


@given(st.integers(0, 10_000), st.integers(0, 5), st.sampled_from([0.0, 0.1, 0.6]))
def test_gaps_get_values_of_their_column_and_other_cells_stay(seed, fill, share):
    X = matrix(seed, share=share)
    known = ~np.isnan(X)
    filled = gaps_of(X).filled(X, fill)
    assert np.array_equal(filled[known], X[known])
    for j in range(X.shape[1]):
        assert np.isin(filled[:, j], X[known[:, j], j]).all()


@given(st.integers(0, 10_000))
def test_donors_are_the_nearest_rows_that_have_the_value(seed):
    X = matrix(seed)
    gaps = gaps_of(X)
    for row, column, values in zip(gaps.rows, gaps.columns, gaps.values, strict=True):
        distances = []
        for other in range(len(X)):
            both = ~np.isnan(X[row]) & ~np.isnan(X[other])
            if not np.isnan(X[other, column]):
                # mean over the common columns, as scikit-learn weights them
                square = np.mean((X[row, both] - X[other, both]) ** 2) if both.any() else np.inf
                distances.append((square, X[other, column]))
        nearest = [value for _, value in sorted(distances, key=lambda pair: pair[0])[:N_DONORS]]
        assert np.array_equal(values, nearest)


def test_seeds():
    X = matrix(0)
    gaps = gaps_of(X)
    assert np.array_equal(gaps.filled(X, 3), gaps.filled(X, 3))
    assert not np.array_equal(gaps.filled(X, 3), gaps.filled(X, 4))


def test_the_mean_is_that_of_the_donors():
    X = matrix(1)
    gaps = gaps_of(X)
    # every donor is drawn sooner or later
    drawn = np.stack([gaps.filled(X, seed)[gaps.rows, gaps.columns] for seed in range(200)])
    for values, seen in zip(gaps.values, drawn.T, strict=True):
        assert {*seen} == {*values}
    assert np.allclose(gaps.filled_by_mean(X)[gaps.rows, gaps.columns], gaps.values.mean(axis=1))


def test_without_gaps_nothing_changes():
    X = matrix(0, share=0.0)
    gaps = gaps_of(X)
    assert not gaps.any
    assert np.array_equal(gaps.filled(X, 0), X)
    assert np.array_equal(gaps.filled_by_mean(X), X)
    # the input is never written to
    with_gaps = matrix(0)
    before = with_gaps.copy()
    gaps_of(with_gaps).filled(with_gaps, 0)
    assert np.array_equal(with_gaps, before, equal_nan=True)


def test_fewer_rows_than_donors_repeat():
    X = np.array([[0.0, 1.0], [0.1, 2.0], [0.0, np.nan]])
    assert gaps_of(X).values.tolist() == [[1.0, 2.0, 1.0, 2.0, 1.0]]


def test_new_rows_get_the_donors_of_the_fit():
    X = matrix(2)
    gaps = gaps_of(X)
    assert np.array_equal(gaps.of_new(X).values, gaps.values)
    alone = [gaps.of_new(X[i : i + 1]).filled_by_mean(X[i : i + 1]) for i in range(len(X))]
    assert np.allclose(np.concatenate(alone), gaps.filled_by_mean(X), rtol=0, atol=1e-12)


def test_a_new_row_without_any_value_gets_some():
    gaps = gaps_of(matrix(0))
    blank = np.full((1, 4), np.nan)
    assert np.isfinite(gaps.of_new(blank).filled(blank, 0)).all()


def test_donors_come_from_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 10)
    X = matrix(3, n=200)
    gaps = gaps_of(X)
    assert len(gaps.candidates) == 10
    assert all(any(np.array_equal(row, x, equal_nan=True) for x in X) for row in gaps.candidates)
    assert np.isfinite(gaps.filled(X, 0)).all()
    assert np.array_equal(gaps_of(X, 5).candidates, gaps_of(X, 5).candidates, equal_nan=True)


def test_a_value_that_no_candidate_has(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 10)
    X = matrix(4, n=200, share=0.0)
    X[:, 2] = np.nan
    X[[17, 90], 2] = 5.0, 6.0
    gaps = gaps_of(X, 1)
    assert np.isin(gaps.filled(X, 0)[:, 2], [5.0, 6.0]).all()
    blank = X[:1].copy()
    assert np.isin(gaps.of_new(blank).filled(blank, 0)[:, 2], [5.0, 6.0]).all()


@pytest.mark.parametrize("cells", [1, 35, 1000])
def test_blocks_do_not_change_the_donors(monkeypatch, cells):
    X = matrix(5)
    expected = gaps_of(X).values
    monkeypatch.setattr(module, "BLOCK_CELLS", cells)
    assert np.array_equal(gaps_of(X).values, expected)
