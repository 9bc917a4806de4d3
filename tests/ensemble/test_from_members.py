"""Lists of label vectors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie import Ensemble, LabelError
from tests.naive.rows import as_given


def test_members_of_all_kinds():
    ensemble = Ensemble.from_members(
        [
            [0, 0, -1],
            ("x", None, "y"),
            np.array([1.0, np.nan, 2.0]),
            pd.Series(pd.Categorical(["u", "v", None])),
            pl.Series([True, None, False]),
            pa.array([7, None, 8]),
            np.array([[1], [2], [3]]),
        ]
    )
    assert as_given(ensemble) == [
        [0, 0, None],
        ["x", None, "y"],
        [1, None, 2],
        ["u", "v", None],
        [True, None, False],
        [7, None, 8],
        [1, 2, 3],
    ]


def test_members_are_the_columns_of_from_labels():
    matrix = np.array([[0, 1, 2], [0, 0, 2], [1, 0, -1]])
    assert Ensemble.from_members(list(matrix.T)) == Ensemble.from_labels(matrix)
    assert Ensemble.from_members(matrix.T) == Ensemble.from_labels(matrix)


def test_names_missing_weights_and_ids():
    ensemble = Ensemble.from_members(
        [[0, 9], [1, 1]],
        names=["a", "b"],
        missing=9,
        sample_weight=[1, 2],
        member_weight=[3, 4],
        sample_ids=["s", "t"],
    )
    assert ensemble.members == ("a", "b")
    assert as_given(ensemble) == [[0, None], [1, 1]]
    assert ensemble.weights.tolist() == [2, 1]
    assert ensemble.member_weight.tolist() == [3, 4]
    assert ensemble.sample_ids.tolist() == ["s", "t"]


def test_a_mapping_of_members():
    assert Ensemble.from_members({"a": [0, 1]}).members == ("a",)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "no members: an ensemble needs at least one clustering"),
        (5, "members must be a list of label vectors, but is int"),
        ("abc", "members must be a list of label vectors, but is str"),
        ([0, 0, 1], "member 'member_0' must be a sequence of labels, but is 0"),
        ([[0, 1], "ab"], "member 'member_1' must be a sequence of labels, but is 'ab'"),
        ([[], []], "no samples: the members are empty"),
        ([[0, 1], [0, 1, 2], [0, 1]], "member 'member_1' has 3 labels, but the others have 2"),
        ([np.zeros((2, 2), int)], r"member 'member_0' must hold one label per sample, .* \(2, 2\)"),
    ],
)
def test_refusals(members, message):
    with pytest.raises(LabelError, match=message):
        Ensemble.from_members(members)
