"""Projection on the weighted simplex."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.kernels.simplex import project_rows
from tests.naive import simplex as naive

NUMBERS = st.floats(-5, 5, allow_nan=False, width=32)


@given(
    entries=st.lists(st.tuples(NUMBERS, st.integers(1, 4)), min_size=1, max_size=12),
)
def test_against_sorting_of_repeated_entries(entries):
    row = np.array([value for value, _ in entries])
    repeats = np.array([count for _, count in entries])
    projected = project_rows(row[None], repeats.astype(float))[0]
    assert np.allclose(projected, naive.project(row, repeats), atol=1e-12)
    assert np.isclose(projected @ repeats, 1.0)
    assert (projected >= 0).all()


def test_points_of_the_simplex_stay():
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 5, 8).astype(float)
    rows = rng.random((5, 8))
    rows /= (rows @ weights)[:, None]
    assert np.allclose(project_rows(rows, weights), rows)


def test_no_other_point_is_nearer():
    rng = np.random.default_rng(1)
    weights = rng.random(6) + 0.5
    row = rng.normal(size=(1, 6))
    projected = project_rows(row, weights)
    others = rng.dirichlet(np.ones(6), 2000) / weights
    gap = ((others - row) ** 2 @ weights) - ((projected - row) ** 2 @ weights)
    assert (gap > -1e-12).all()


def test_in_place_and_tied_entries():
    rows = np.full((2, 4), 3.0)
    assert project_rows(rows, np.ones(4), out=rows) is rows
    assert np.allclose(rows, 0.25)


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e17, 1e300])
def test_entries_of_any_size_end_in_a_point_of_the_simplex(scale):
    rng = np.random.default_rng(0)
    rows = scale * rng.standard_normal((200, 7))
    rows[::2] = scale
    projected = project_rows(rows, np.ones(7))
    assert (projected >= 0).all()
    assert np.allclose(projected.sum(axis=1), 1.0)


@pytest.mark.parametrize("row", [[0.0, np.nan, 1.0], [np.nan, np.nan]])
def test_a_nan_is_not_hidden(row):
    assert np.isnan(project_rows(np.array([row]), np.ones(len(row)))).any()


def test_rounding_cannot_make_the_search_run_in_circles():
    row = [-0.022922401621778277, -0.025787701824500565, 0.4484234228574994]
    row += [0.2414046861385829, -0.03438360243266743, 0.24140468613858282]
    weights = np.array([3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert (project_rows(np.array([row]), weights) @ weights)[0] == pytest.approx(1)
