"""Tracking: heights are shares, bands are overlaps, colours are inherited."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import ParameterError
from coterie.plot import tracking
from coterie.plot._tracking import HALF


def bands(ax):
    """Each band as (left column, height at its left, height at its right)."""
    found = []
    for path in ax.collections[0].get_paths() if ax.collections else []:
        corners = path.vertices
        left, right = corners[:, 0].min(), corners[:, 0].max()
        first = corners[np.isclose(corners[:, 0], left), 1]
        last = corners[np.isclose(corners[:, 0], right), 1]
        found.append((round(left - HALF), np.ptp(first), np.ptp(last)))
    return found


@settings(max_examples=25)
@given(
    data=st.data(),
    n=st.integers(1, 12),
    columns=st.integers(1, 4),
)
def test_blocks_and_bands_are_shares_of_the_samples(data, n, columns):
    labels = np.array(
        [data.draw(st.lists(st.integers(-1, 4), min_size=n, max_size=n)) for _ in range(columns)]
    )
    ax = tracking(labels)
    for place, row in enumerate(labels):
        heights = [b.get_height() for b in ax.patches if round(b.get_x() + HALF) == place]
        assert sorted(heights) == pytest.approx(sorted(np.unique(row, return_counts=True)[1] / n))
    for place in range(columns - 1):
        pairs = np.unique(labels[[place, place + 1]], axis=1, return_counts=True)[1] / n
        mine = [band for band in bands(ax) if band[0] == place]
        assert sorted(band[1] for band in mine) == pytest.approx(sorted(pairs))
        assert sorted(band[2] for band in mine) == pytest.approx(sorted(pairs))


def test_blocks_of_a_column_do_not_overlap():
    ax = tracking(np.random.default_rng(0).integers(0, 6, (5, 40)))
    for place in range(5):
        blocks = [b for b in ax.patches if round(b.get_x() + HALF) == place]
        ends = sorted((b.get_y(), b.get_y() + b.get_height()) for b in blocks)
        assert all(low[1] < high[0] for low, high in pairwise(ends))


def test_a_split_keeps_the_parent_colour_for_the_larger_part():
    ax = tracking([[0] * 10, [0] * 6 + [1] * 4])
    parent, larger, smaller = ax.patches
    assert larger.get_height() == pytest.approx(0.6)
    assert larger.get_facecolor() == parent.get_facecolor()
    assert smaller.get_facecolor() != parent.get_facecolor()


def test_renamed_partitions_run_straight_through():
    ax = tracking([[0, 0, 0, 1, 1, 2], [5, 5, 5, 3, 3, 1]])
    first, second = ax.patches[:3], ax.patches[3:]
    for left, right in zip(first, second, strict=True):
        assert left.get_facecolor() == right.get_facecolor()
        assert left.get_y() == pytest.approx(right.get_y())


def test_weights_count():
    ax = tracking([[0, 1]], sample_weight=[3, 1])
    assert [block.get_height() for block in ax.patches] == [0.75, 0.25]


def test_columns_are_named_by_k_or_by_their_number_of_clusters():
    rows = [[0, 0, 1], [0, 1, 2]]
    assert [text.get_text() for text in tracking(rows).get_xticklabels()] == ["2", "3"]
    ax = tracking(rows, ["r=0.5", "r=1"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["r=0.5", "r=1"]
    ax = tracking(rows, recommended=3)
    assert [text.get_fontweight() for text in ax.get_xticklabels()] == ["normal", "bold"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"labels": [0, 1]},
            r"labels must be K x n, one partition per row, but has shape \(2,\)",
        ),
        ({"labels": np.empty((0, 3))}, "labels is empty"),
        ({"labels": [[0.5, 1]]}, "labels, row 0: .*whole numbers"),
        ({"labels": [[0, 1]], "ks": [2, 3]}, "ks must hold 1 names"),
        ({"labels": [[0, 1]], "sample_weight": [1]}, "sample_weight must have shape 2"),
    ],
)
def test_refusals(arguments, says):
    with pytest.raises(ParameterError, match=f"plot.tracking: {says}"):
        tracking(**arguments)
