"""Projection on the weighted simplex."""

from __future__ import annotations

import numpy as np
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
