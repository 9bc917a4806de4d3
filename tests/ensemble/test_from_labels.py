"""Every kind of table that from_labels reads, and what counts as missing."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie import Ensemble, LabelError
from tests.naive.rows import as_given

NAN = float("nan")


def given(labels, **options):
    return as_given(Ensemble.from_labels(labels, **options))


@pytest.mark.parametrize(
    "dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4", ">f8"]
)
def test_numeric_arrays(dtype):
    matrix = np.array([[1, 7], [1, 9], [2, 7]], dtype=dtype)
    assert given(matrix) == [[1, 1, 2], [7, 9, 7]]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_the_ends_of_an_integer_type_are_labels(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    matrix = np.array([[low, high], [high, high - 1]], dtype=dtype)
    assert given(matrix, missing=None) == [[low, high], [high, high - 1]]


def test_an_array_may_lie_in_memory_as_it_likes():
    matrix = np.arange(24).reshape(4, 6) % 5
    expected = matrix[:, ::2].T.tolist()
    assert given(matrix[:, ::2]) == expected
    assert given(np.asfortranarray(matrix[:, ::2])) == expected
    assert given(matrix[::-1, ::2][::-1]) == expected


def test_the_array_given_is_left_alone():
    matrix = np.array([[3, -1], [5, 6]])
    Ensemble.from_labels(matrix)
    matrix[0, 0] = 4
    assert matrix.tolist() == [[4, -1], [5, 6]]


def test_booleans():
    assert given(np.array([[True, False], [False, False]])) == [[True, False], [False, False]]


def test_text_and_bytes():
    assert given(np.array([["x", "u"], ["y", "u"]])) == [["x", "y"], ["u", "u"]]
    assert given(np.array([[b"x"], [b"y"], [b"x"]])) == [[b"x", b"y", b"x"]]


def test_floats_with_nan():
    assert given([[1.0, 2.0], [NAN, 2.0], [1.0, NAN]]) == [[1, None, 1], [2, 2, None]]


def test_nested_lists_tuples_and_vectors():
    expected = [[1, 2], ["a", "b"]]
    assert given([[1, "a"], [2, "b"]]) == expected
    assert given(((1, "a"), (2, "b"))) == expected
    # vectors are members, not rows
    assert given([np.array([1, 2]), np.array([3, 4])]) == [[1, 2], [3, 4]]


def test_columns_may_mix_kinds():
    rows = [[1, True, "x", None], [None, False, "x", 2.0], [2, True, NAN, 2]]
    assert given(rows) == [[1, None, 2], [True, False, True], ["x", "x", None], [None, 2, 2]]


def test_one_column_may_mix_kinds():
    column = np.array([[1, 1.0, True, "1", None, pd.NA, NAN, np.int8(1)]], dtype=object).T
    ensemble = Ensemble.from_labels({"a": column[:, 0], "b": np.zeros(8, int)})
    assert as_given(ensemble)[0] == [1, 1, True, "1", None, None, None, 1]
    assert ensemble.n_clusters_per_member.tolist() == [3, 1]


def test_any_hashable_object_may_be_a_label():
    day = dt.date(2020, 1, 1)
    assert given([[(1, 2), day], [(3, 4), day]]) == [[(1, 2), (3, 4)], [day, day]]


def test_whole_and_other_numbers_of_a_list_are_one_kind():
    ensemble = Ensemble.from_members([[1, 2.0, 1.0, NAN], [0, 0, 1, 1]])
    assert ensemble.categories[0].dtype == np.int64
    assert as_given(ensemble) == [[1, 2, 1, None], [0, 0, 1, 1]]
    # a float would not tell these two apart
    large = Ensemble.from_members([[2**53, 2**53 + 1, 1.0]])
    assert large.n_clusters_per_member.tolist() == [3]


def test_numbers_beyond_int64():
    big = 2**64 - 1
    assert given(np.array([[big], [big - 1]], dtype=np.uint64)) == [[big, big - 1]]
    assert given([[2**70, 0], [0, 2**70]]) == [[2**70, 0], [0, 2**70]]


def test_far_apart_integers():
    matrix = np.array([[-(2**62), 0], [2**62, 2**40]])
    assert given(matrix) == matrix.T.tolist()


def test_masked_arrays():
    masked = np.ma.masked_array([[1, 2], [9, 2], [1, 9]], mask=[[0, 0], [1, 0], [0, 1]])
    assert given(masked) == [[1, None, 1], [2, 2, None]]
    assert given(np.ma.masked_equal([[1, 2], [9, 2]], 9)) == [[1, None], [2, 2]]
    assert given(np.ma.masked_invalid([[1.0, 2.0], [NAN, 2.0]])) == [[1, None], [2, 2]]


def test_mappings_name_the_members():
    ensemble = Ensemble.from_labels({"a": ["x", "x", "y"], "b": np.array([1.0, NAN, 2.0])})
    assert ensemble.members == ("a", "b")
    assert as_given(ensemble) == [["x", "x", "y"], [1, None, 2]]


def test_mappings_of_series():
    ensemble = Ensemble.from_labels(
        {
            "pandas": pd.Series(pd.Categorical(["x", None, "y"])),
            "polars": pl.Series([1, None, 2]),
            "arrow": pa.array([True, None, True]),
            "chunks": pa.chunked_array([[5], [None, 6]]),
            "bare": pd.array([1, pd.NA, 2], dtype="Int64"),
            "list": [0, 0, 0],
        }
    )
    assert as_given(ensemble) == [
        ["x", None, "y"],
        [1, None, 2],
        [True, None, True],
        [5, None, 6],
        [1, None, 2],
        [0, 0, 0],
    ]


def test_pandas():
    frame = pd.DataFrame(
        {
            "integers": np.array([0, 1, -1]),
            "bytes": np.array([0, 255, 3], dtype=np.uint8),
            "nullable": pd.array([1, None, 2], dtype="Int64"),
            "floats": [1.0, NAN, 2.0],
            "nullable floats": pd.array([1.0, None, 2.0], dtype="Float64"),
            "booleans": [True, False, True],
            "nullable booleans": pd.array([True, None, False], dtype="boolean"),
            "text": ["x", None, "y"],
            "nullable text": pd.array(["x", None, "y"], dtype="string"),
            "categories": pd.Categorical(["b", "a", None]),
            "numbered categories": pd.Categorical([3, 4, 3]),
            "arrow": pd.array([1, None, 2], dtype="int64[pyarrow]"),
            "objects": [1, "1", None],
        },
        index=[5, 5, 7],
    )
    ensemble = Ensemble.from_labels(frame)
    assert ensemble.members == tuple(frame.columns)
    assert as_given(ensemble) == [
        [0, 1, None],
        [0, 255, 3],
        [1, None, 2],
        [1, None, 2],
        [1, None, 2],
        [True, False, True],
        [True, None, False],
        ["x", None, "y"],
        ["x", None, "y"],
        ["b", "a", None],
        [3, 4, 3],
        [1, None, 2],
        [1, "1", None],
    ]


def test_pandas_with_numbered_columns():
    ensemble = Ensemble.from_labels(pd.DataFrame([[1, 2], [3, 2]]))
    assert ensemble.members == ("0", "1")
    assert as_given(ensemble) == [[1, 3], [2, 2]]


def test_polars():
    frame = pl.DataFrame(
        {
            "integers": [1, None, 2],
            "bytes": pl.Series([0, 255, 3], dtype=pl.UInt8),
            "text": ["x", "x", None],
            "floats": [1.0, NAN, None],
            "booleans": [True, None, False],
            "categories": pl.Series(["p", "q", None], dtype=pl.Categorical),
        }
    )
    assert given(frame) == [
        [1, None, 2],
        [0, 255, 3],
        ["x", "x", None],
        [1, None, None],
        [True, None, False],
        ["p", "q", None],
    ]


def test_pyarrow():
    table = pa.table(
        {
            "integers": pa.array([1, None, 2]),
            "bytes": pa.array([0, 255, 3], type=pa.uint8()),
            "words": pa.array(["x", "y", None]).dictionary_encode(),
        }
    )
    assert given(table) == [[1, None, 2], [0, 255, 3], ["x", "y", None]]


def test_names_may_be_given():
    assert Ensemble.from_labels([[0, 1]], names=["u", "v"]).members == ("u", "v")
    assert Ensemble.from_labels({"a": [0]}, names=np.array(["u"])).members == ("u",)
    assert Ensemble.from_labels([[0, 1]]).members == ("member_0", "member_1")


# ---------------------------------------------------------------- what counts as missing


def test_minus_one_is_missing_in_whole_numbers_by_default():
    assert given(np.array([[-1, 0], [0, 0]])) == [[None, 0], [0, 0]]
    assert given([[-1.0, 0], [NAN, 1]], missing=[]) == [[-1, None], [0, 1]]
    assert given([[-1.0, 0], [2.0, 0]]) == [[None, 2], [0, 0]]
    assert given([["-1", 0], ["2", 0]]) == [["-1", "2"], [0, 0]]


@pytest.mark.parametrize("kind", [np.array, list])
def test_nothing_named_makes_minus_one_a_label(kind):
    assert given(kind([[-1, 0], [0, 0]]), missing=None) == [[-1, 0], [0, 0]]


def test_other_values_may_be_named():
    rows = [[0, 9], [9, 1], [-1, 1]]
    expected = [[0, None, -1], [None, 1, 1]]
    assert given(rows, missing=9) == expected
    assert given(np.array(rows), missing=np.int64(9)) == expected
    assert given(np.array(rows, dtype=float), missing=9.0) == expected
    assert given(np.array(rows), missing=[9, -1, "?"]) == [[0, None, None], [None, 1, 1]]
    assert given(rows, missing={9, 77}) == expected


def test_names_and_truth_values_may_stand_for_missing():
    assert given(np.array([["?", "a"], ["b", "a"]]), missing="?") == [[None, "b"], ["a", "a"]]
    assert given([["?", 1], ["b", 1]], missing=["?"]) == [[None, "b"], [1, 1]]
    assert given({"a": np.array([b"?", b"b"]), "b": [0, 0]}, missing=b"?")[0] == [None, b"b"]
    truth = {"a": np.array([True, False]), "b": [1, 0], "c": [1, True]}
    assert given(truth, missing=True) == [[None, False], [1, 0], [1, None]]


def test_a_value_out_of_the_type_is_simply_absent():
    assert given(np.array([[0, 1], [1, 1]], dtype=np.uint8), missing=-1) == [[0, 1], [1, 1]]
    assert given(np.array([[0, 1], [1, 1]], dtype=np.int8), missing=300) == [[0, 1], [1, 1]]


def test_void_values_are_always_missing():
    column = np.array([None, NAN, pd.NA, pd.NaT, np.datetime64("NaT"), 0], dtype=object)
    ensemble = Ensemble.from_labels({"a": column, "b": np.zeros(6, int)}, missing=None)
    assert as_given(ensemble)[0] == [None] * 5 + [0]


# ---------------------------------------------------------------- weights and ids


def test_sample_weights_become_multiplicities():
    ensemble = Ensemble.from_labels([[0], [0], [1]], sample_weight=[2, 3, 4])
    assert ensemble.weights.tolist() == [5, 4]
    assert ensemble.weights.dtype == np.int64
    assert Ensemble.from_labels([[0], [0]], sample_weight=[0.5, 1]).weights.tolist() == [1.5]


def test_weights_of_samples_order_the_microclusters():
    ensemble = Ensemble.from_labels([[0], [0], [1]], sample_weight=[1, 1, 5])
    assert ensemble.inverse.tolist() == [1, 1, 0]


def test_member_weights_and_ids_are_kept():
    ensemble = Ensemble.from_labels([[0, 1]], member_weight=[1, 3], sample_ids=["s"])
    assert ensemble.member_weight.tolist() == [1, 3]
    assert ensemble.sample_ids.tolist() == ["s"]


def test_decimal_numbers_are_numbers():
    column = [Decimal(0), 0, Decimal("1.0"), Decimal("NaN"), Decimal("sNaN"), Decimal(-1)]
    ensemble = Ensemble.from_labels({"a": column, "b": [0, 0, 0, 0, 0, 0]})
    assert as_given(ensemble)[0] == [0, 0, 1, None, None, None]
    assert Ensemble.from_labels([[Decimal(7)], [Decimal(8)]], missing=(-1,)).n_base_clusters == 2
    with pytest.raises(LabelError, match="row 1: Decimal"):
        Ensemble.from_labels({"a": [Decimal(0), Decimal("0.5")]})
    with pytest.raises(LabelError, match="row 0: Decimal"):
        Ensemble.from_labels({"a": [Decimal("Infinity"), Decimal(1)]})
    with pytest.raises(LabelError, match="missing: Decimal"):
        Ensemble.from_labels([[0], [1]], missing=Decimal("0.5"))


def test_missing_in_decimal_is_taken():
    ensemble = Ensemble.from_labels([[0, 7], [1, 0]], missing=Decimal(7))
    assert as_given(ensemble) == [[0, 1], [None, 0]]


@pytest.mark.parametrize("nothing", [complex("nan"), pa.scalar(None), pa.scalar(None, pa.int64())])
def test_nothing_of_other_kinds_is_missing(nothing):
    ensemble = Ensemble.from_labels({"a": ["x", nothing, "y"], "b": [0, 0, 1]})
    assert as_given(ensemble)[0] == ["x", None, "y"]


def test_nan_that_numpy_made_text_is_missing():
    ensemble = Ensemble.from_labels(np.array([["a", "b"], ["a", np.nan], ["c", "b"]]))
    assert as_given(ensemble) == [["a", "a", "c"], ["b", None, "b"]]
