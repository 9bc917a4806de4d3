"""Tables of parties that each know a part of the samples."""

from __future__ import annotations

import re
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie import Ensemble, LabelError
from tests.naive.rows import as_given

NORTH = {"customer": ["ann", "bob", "cy"], "cluster": [0, 0, 1]}
SOUTH = {"customer": ["cy", "dee", "bob"], "cluster": ["q", "q", "p"]}
WEST = {"customer": ["eve", "ann"], "cluster": [True, False]}


def test_outer_join_by_first_appearance():
    ensemble = Ensemble.from_tables([NORTH, SOUTH, WEST], id="customer", label="cluster")
    assert ensemble.sample_ids.tolist() == ["ann", "bob", "cy", "dee", "eve"]
    assert ensemble.members == ("table_0.cluster", "table_1.cluster", "table_2.cluster")
    assert as_given(ensemble) == [
        [0, 0, 1, None, None],
        [None, "p", "q", "q", None],
        [False, None, None, None, True],
    ]
    assert ensemble.labels.min() == -1


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_dataframes_of_all_kinds(frame):
    mappings = Ensemble.from_tables([NORTH, SOUTH], id="customer", label="cluster")
    frames = Ensemble.from_tables([frame(NORTH), frame(SOUTH)], id="customer", label="cluster")
    assert frames == mappings


def test_tables_without_overlap_and_of_different_kinds():
    other = pl.DataFrame({"customer": ["zoe"], "cluster": [3]})
    with pytest.warns(UserWarning, match="table_1 and table_0 have no id in common") as caught:
        ensemble = Ensemble.from_tables([pd.DataFrame(NORTH), other], id="customer")
    assert caught[0].filename == __file__
    assert as_given(ensemble)[1] == [None, None, None, 3]


def test_tables_that_others_connect_are_no_strangers():
    far, near = {"id": [1, 2], "a": [0, 1]}, {"id": [5, 6], "b": [0, 1]}
    between = {"id": [2, 4], "c": [0, 1]}, {"id": [4, 5], "d": [0, 1]}
    assert Ensemble.from_tables([far, near, *between], id="id").n_samples == 5


@pytest.mark.parametrize(("strangers", "more"), [(1, ""), (5, ""), (6, ", ...")])
def test_the_first_strangers_are_named(strangers, more):
    tables = [{"id": [i], "a": [0]} for i in range(strangers + 1)]
    named = ", ".join(f"table_{i}" for i in range(1, min(strangers, 5) + 1))
    with pytest.warns(UserWarning, match=rf"^{named}{re.escape(more)} and table_0 have no id"):
        Ensemble.from_tables(tables, id="id")


def test_members_whose_names_meet_are_told_apart():
    tables = {"a": {"id": [1, 2], "b.c": [0, 1]}, "a.b": {"id": [1, 2], "c": [1, 1]}}
    assert Ensemble.from_tables(tables, id="id").members == ("a.b.c", "a.b.c_2")


def test_ids_of_text_keep_their_zero_bytes():
    ensemble = Ensemble.from_tables([{"id": ["a", "a\0"], "c": [0, 1]}], id="id")
    assert ensemble.sample_ids.tolist() == ["a", "a\0"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([True, False], [1, 0], "truth values in the first and numbers in the second"),
        ([b"a", b"b"], ["a", "b"], "bytes in the first and text in the second"),
        ([date(2020, 1, 1)], [1], "dates in the first and numbers in the second"),
    ],
)
def test_ids_of_two_kinds_are_not_joined(first, second, words):
    tables = [{"id": first, "a": [0] * len(first)}, {"id": second, "b": [0] * len(second)}]
    with pytest.raises(LabelError, match=words):
        Ensemble.from_tables(tables, id="id")


def test_tables_may_be_named():
    ensemble = Ensemble.from_tables({"north": NORTH, "south": SOUTH}, id="customer")
    assert ensemble.members == ("north.cluster", "south.cluster")


def test_several_label_columns():
    wide = {"id": [1, 2], "a": [0, 1], "b": ["x", -1], "note": ["?", "?"]}
    both = Ensemble.from_tables({"t": wide}, id="id", label=["b", "a"])
    assert both.members == ("t.b", "t.a")
    assert as_given(both) == [["x", None], [0, 1]]
    every = Ensemble.from_tables({"t": wide}, id="id")
    assert every.members == ("t.a", "t.b", "t.note")


def test_numeric_ids_join_across_number_types():
    floats = pd.DataFrame({"id": [1.0, 2.0], "c": [0, 1]})
    integers = pd.DataFrame({"id": np.array([2, 3], dtype=np.uint8), "c": [0, 1]})
    ensemble = Ensemble.from_tables([floats, integers], id="id")
    assert ensemble.sample_ids.tolist() == [1, 2, 3]


def test_missing_values_and_weights_pass_through():
    ensemble = Ensemble.from_tables(
        [{"id": [1, 2], "c": [9, 0]}, {"id": [1, 2], "c": [0, 0]}],
        id="id",
        missing=9,
        member_weight=[1, 2],
    )
    assert as_given(ensemble)[0] == [None, 0]
    assert ensemble.member_weight.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ([], {}, "tables is empty; give at least one table"),
        (
            [{"id": [1, 2, 1], "c": [0, 1, 0]}],
            {},
            "table_0, column 'id': the id 1 is in row 0 and row 2; ids must differ",
        ),
        (
            {"north": {"name": [1], "c": [0]}},
            {},
            r"north has no column 'id' \(its columns are name, c\)",
        ),
        (
            [{"id": [1], "c": [0]}, {"id": [1], "d": [0]}],
            {"label": "c"},
            r"table_1 has no column 'c' \(its columns are id, d\)",
        ),
        ([{"id": [1]}], {}, "table_0 has no column of labels beside the id 'id'"),
        (
            [{"id": [1], "c": [0]}, {"id": ["1"], "c": [0]}],
            {},
            "ids of table_0 and table_1 cannot be joined: 'id' holds numbers in the first and text",
        ),
        ([{"id": [1, None], "c": [0, 1]}], {}, "table_0, column 'id', row 1: the id is missing"),
        ([{"id": [1, 2], "c": [0, 1, 1]}], {}, "member 'table_0.c' has 3 labels for 2 ids"),
        ([{"id": [1], "c": [0.5]}], {}, r"member 'table_0.c', row 0: 0.5 \(labels must be whole"),
        (["a.csv"], {}, "table_0 must be a dataframe or a mapping of columns, but is str"),
        (
            [{"id": [], "c": []}, {"id": ["a"], "c": [0]}],
            {},
            "1 member without any label: 'table_0.c'",
        ),
    ],
)
def test_refusals(tables, options, message):
    with pytest.raises(LabelError, match=message):
        Ensemble.from_tables(tables, id="id", **options)


# ---------------------------------------------------------------------- ids that look alike

ALIKE = {
    "zero-width space": ("ann", "ann\u200b"),
    "space": ("ann", " ann "),
    "byte order mark": ("ann", "\ufeffann"),
    "accents": ("jos\u00e9", "jose\u0301"),
    "whole number": ("7", "7.0"),
}


def tables_of(*columns):
    return [{"id": ids, "c": [i % 2 for i in range(len(ids))]} for ids in columns]


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_ids_that_look_the_same_are_joined_and_said(one, other):
    with pytest.warns(UserWarning, match=r"^1 id differs .* such ids were joined") as caught:
        ensemble = Ensemble.from_tables(tables_of([one, "bob"], ["bob", other]), id="id")
    assert ascii(other) in str(caught[0].message)
    assert len(caught) == 1
    assert ensemble.sample_ids.tolist() == [one, "bob"]
    assert ensemble.is_complete


def test_sixty_rows_in_two_tables_are_sixty_customers():
    plain = [f"customer {i}" for i in range(60)]
    written = [name + "\u200b" * (i % 2) for i, name in enumerate(plain)]
    with pytest.warns(UserWarning, match="^30 ids differ"):
        assert Ensemble.from_tables(tables_of(plain, written), id="id").n_samples == 60


def test_ids_in_another_case_are_asked_about():
    with pytest.warns(
        UserWarning, match=r"2 ids .* only in upper and lower case; .*'ann' and 'ANN'"
    ):
        ensemble = Ensemble.from_tables(
            tables_of(["ann", "bob", "cy"], ["ANN", "Bob", "cy"]), id="id"
        )
    assert ensemble.n_samples == 5


def test_case_that_one_table_distinguishes_is_not_asked_about(recwarn):
    Ensemble.from_tables(tables_of(["ann", "Ann"], ["ann", "Ann"]), id="id")
    assert not recwarn.list


def test_ids_that_look_the_same_in_one_table_are_refused():
    with pytest.raises(LabelError, match=r"table_0: the ids 'ann' and 'ann ' look the same"):
        Ensemble.from_tables(tables_of(["ann", "ann ", "bob"]), id="id")


def test_series_with_ids_that_look_the_same_are_aligned():
    one = pd.Series([0, 0, 1], index=["ann", "jos\u00e9", "cy"])
    other = pd.Series(["x", "y", "y"], index=["cy", "jose\u0301", "ann\u200b"])
    with pytest.warns(UserWarning, match="^2 ids differ"):
        ensemble = Ensemble.from_labels({"rna": one, "meth": other})
    assert ensemble.sample_ids.tolist() == ["ann", "jos\u00e9", "cy"]
    labels = [ensemble.categories[1][code] for code in ensemble.labels[ensemble.inverse, 1]]
    assert labels == ["y", "y", "x"]
    with (
        pytest.warns(UserWarning, match="1 id .* differs .* upper and lower case"),
        pytest.raises(LabelError, match="2 ids are in only one of their indexes"),
    ):
        Ensemble.from_labels({"rna": one, "meth": one.rename({"ann": "Ann"})})
