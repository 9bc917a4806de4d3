"""Discrete columns as if they were continuous."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.generate.mixtures import MixtureClusterer
from coterie.generate.steps import fill_steps


@given(st.integers(0, 1000), st.integers(2, 6))
def test_values_stay_nearest_to_where_they_were(seed, n_values):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(size=n_values))
    column = np.r_[values, rng.choice(values, 30)]
    filled = fill_steps(column[:, None], rng)[:, 0]
    nearest = values[np.abs(filled[:, None] - values).argmin(axis=1)]
    assert (nearest == column).all()


def test_columns_of_different_values_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), np.ones(50), rng.integers(2, size=50)])
    filled = fill_steps(X, rng)
    assert (filled[:, :2] == X[:, :2]).all()
    assert len(np.unique(filled[:, 2])) == 50


def test_equal_shares_fill_the_space_evenly():
    column = np.repeat([0.0, 1.0], 5000)[:, None]
    filled = fill_steps(column, np.random.default_rng(0))
    counts = np.histogram(filled, bins=10, range=(-0.5, 1.5))[0]
    assert counts == pytest.approx(1000, abs=120)


def test_a_mixture_does_not_split_by_a_discrete_column():
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 2
    answer = rng.integers(2, size=300)
    X = np.column_stack([3.5 * truth + rng.normal(size=300), rng.normal(size=300), 2.0 * answer])
    labels = MixtureClusterer(2, "full", random_state=0).fit(X).labels_
    assert max((labels == truth).mean(), (labels != truth).mean()) > 0.9
