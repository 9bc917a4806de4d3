"""Labels that cannot make an ensemble: the error names member, row and remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from coterie import Ensemble, LabelError

INF = float("inf")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [0]], "row 1 has 1 labels, but row 0 has 2"),
        ([0, 1, 1], r"row 0 is 0; .* Ensemble.from_members\(\[labels\]\)"),
        (["ab", "cd"], "labels must be n x m .* but row 0 is 'ab'"),
        ([], "no samples: labels is empty"),
        ([[], []], "no members: the rows of labels are empty"),
        ({}, "no members: an ensemble needs at least one clustering"),
        ({"a": []}, "no samples: the members are empty"),
        (np.zeros((0, 3), int), r"no samples: labels has shape \(0, 3\)"),
        (np.zeros((3, 0), int), r"no members: labels has shape \(3, 0\)"),
        (np.arange(3), r"has shape \(3,\); for a list of label vectors use Ensemble.from_members"),
        (np.zeros((2, 2, 2), int), r"labels must be n x m .* but has shape \(2, 2, 2\)"),
        (pd.Series([0, 1]), r"has shape \(2,\)"),
        (None, "or a dataframe, but is NoneType"),
        (7, "or a dataframe, but is int"),
        ("abc", "or a dataframe, but is str"),
        (sparse.csr_array(np.eye(2)), "a sparse matrix cannot tell 0 from missing"),
        ({"a": 3}, "member 'a' must be a sequence of labels, but is 3"),
        ({"a": [0, 1], "b": [0], "c": [1, 1]}, "member 'b' has 1 labels, but the others have 2"),
        ({"a": [0, 1.5]}, r"member 'a', row 1: 1.5 \(labels must be whole numbers or names: bin"),
        ([[0.0, 1.0], [0.0, 0.25]], "member 'member_1', row 1: 0.25 "),
        ([["x", 0.5], ["y", "z"]], "member 'member_1', row 0: 0.5 "),
        (np.array([[0.0], [INF]]), "member 'member_0', row 1: inf .an infinite value is not"),
        ([["x"], [-INF]], "member 'member_0', row 1: -inf "),
        (np.array([[1e17], [0]]), "row 0: 1e.17 .too large for a whole number: pass it as an int"),
        ({"a": [[1], [2]]}, "member 'a', row 0: list values cannot be labels"),
        (np.array([[1j]]), "Complex data not supported: member 'member_0'"),
        (pd.DataFrame([[0, 1]], columns=["a", "a"]), "two columns named 'a'; names must differ"),
        (pa.table([[0], [1]], names=["a", "a"]), "two columns named 'a'; names must differ"),
        ({1: [0], "1": [0]}, "two columns named '1'; names must differ"),
        ([[-1, 0], [-1, 1]], "1 member without any label: 'member_0'; leave these members out"),
        (
            [[-1, 0, -1], [-1, 1, -1]],
            "2 members without any label: 'member_0', 'member_2'; leave these members out",
        ),
    ],
)
def test_refused_labels(labels, message):
    with pytest.raises(LabelError, match=message):
        Ensemble.from_labels(labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names must hold 2 names, one per member, but holds 1"),
        ({"names": ["a", "a"]}, "two members are named 'a'; names must differ"),
        ({"sample_weight": [1]}, r"sample_weight must hold 2 numbers, but has shape \(1,\)"),
        ({"sample_weight": [1, 0]}, r"sample_weight must be positive .* but entry 1 is 0"),
        ({"sample_weight": [-1, 1]}, "sample_weight must be positive .* but entry 0 is -1"),
        ({"sample_weight": ["a", 1]}, "sample_weight must be positive .* but entry 0 is 'a'"),
        ({"member_weight": [1, np.nan]}, "member_weight must be positive .* but entry 1 is nan"),
        ({"member_weight": [1, INF]}, "member_weight must be positive .* but entry 1 is inf"),
        ({"member_weight": [[1, 1]]}, r"must hold 2 numbers, but has shape \(1, 2\)"),
        ({"sample_ids": ["a"]}, r"sample_ids must hold 2 ids, but has shape \(1,\)"),
        ({"missing": 0.5}, r"missing: 0.5 \(labels must be whole numbers or names"),
    ],
)
def test_refused_options(options, message):
    with pytest.raises(LabelError, match=message):
        Ensemble.from_labels([[0, 1], [1, 1]], **options)


def test_a_label_error_is_a_value_error():
    assert issubclass(LabelError, ValueError)


def test_rows_are_counted_over_the_whole_input():
    matrix = np.zeros((300_000, 2))
    matrix[299_999, 1] = 0.5
    with pytest.raises(LabelError, match="member 'member_1', row 299999: "):
        Ensemble.from_labels(matrix)


def test_weights_out_of_bounds_are_refused():
    for weights in ([1e-31, 1.0], [1.0, 1e31]):
        with pytest.raises(LabelError, match="must lie between 1e-30 and 1e"):
            Ensemble.from_labels([[0], [1]], sample_weight=weights)
    # whole numbers whose sum is no 64-bit number
    ensemble = Ensemble.from_labels([[0], [0], [1]], sample_weight=[2**62, 2**62, 2**62])
    assert ensemble.weights.tolist() == [2.0**63, 2.0**62]
