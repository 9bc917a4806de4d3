"""Tables as features and as labels: what is taken, and what is refused by name."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from coterie import Ensemble
from coterie.core.errors import DataError
from coterie.io import read_features, read_labels, read_table


@pytest.fixture
def write(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_features_are_all_columns_but_the_id(write):
    path = write("who,a,b\nann,1,2.5\nbob,3,4\n")
    X, names, ids = read_features(path, id="who")
    np.testing.assert_array_equal(X, [[1, 2.5], [3, 4]])
    assert X.dtype == np.float64
    assert names == ["a", "b"]
    assert ids == ["ann", "bob"]


def test_columns_chosen_and_dropped(write):
    path = write("a,b,c\n1,2,x\n3,4,y\n")
    assert read_features(path, columns=["b", "a"])[1] == ["b", "a"]
    assert read_features(path, drop=["c"])[1] == ["a", "b"]
    np.testing.assert_array_equal(read_features(path, columns=["b", "a"])[0], [[2, 1], [4, 3]])


def test_numbers_written_as_text_are_features(write):
    X, names, _ = read_features(write("a;b;c\n1,5;1.200;$7\n-2,25;800,5;-$1,200\n"))
    assert names == ["a", "b", "c"]
    assert X.tolist() == [[1.5, 1200.0, 7.0], [-2.25, 800.5, -1200.0]]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (
            "a,b\n1,x\n2,y\n",
            {},
            "'b' holds text, not numbers; leave it out (drop=), list the features (columns=)",
        ),
        ("a,b,c\n1,x,p\n2,y,q\n", {}, "columns 'b', 'c' hold text"),
        ("a\n1\n2\noops\n3\n", {}, "line 4: column 'a' holds 'oops', which is not a number"),
        ("a,b\n1,1\n2,2\n1 0,3\n1 1,4\n5,5\n", {}, "'1 0' (and 1 cells below it)"),
        ('a\n1.5\n2.5\n"3,5"\n', {}, "write decimals with a point"),
        (
            "a;b\n1,5;1\n2,5;2\n3.5;3\n",
            {},
            "'3.5', which is not a number; write decimals with a comma",
        ),
        (
            "a\n$1.5\n$2.5\n€3.5\n",
            {},
            "line 4: column 'a' holds '€3.5', which is not a number; correct it",
        ),
        ("a;b\n1,5;1\n-;2\n", {}, "missing values in column 'a' (1, first in line 3)"),
        ("a,b\n1,\n2,5\n3,NA\n", {}, "missing values in column 'b' (2, first in line 2)"),
        ("a,b\n1,\n,5\n3,1\n", {}, "in columns 'a' (1, first in line 3), 'b' (1, first in line 2)"),
        ("a,b\n1,inf\n2,5\n", {}, "infinite values in column 'b'"),
        ("a,b\n1,2\n", {"columns": ["a", "z"]}, "no column 'z' (its columns are a, b)"),
        ("a,b\n1,2\n", {"drop": ["z"]}, "no column 'z'"),
        ("a,b\n1,2\n", {"id": "z"}, "no column 'z'"),
        ("a,b\n1,2\n", {"drop": ["a", "b"]}, "no column is left"),
        ("a,b\n1,2\n", {"columns": ["a", "a"]}, "'a' is named twice"),
        (
            "a,b\n1,2\n1,3\n",
            {"id": "a"},
            "column 'a': the id 1 is in line 2 and line 3; ids must differ",
        ),
        ("a,b\nx,2\n,3\n", {"id": "a"}, "column 'a', line 3: the id is missing"),
    ],
)
def test_features_refused(write, text, options, says):
    path = write(text)
    with pytest.raises(DataError) as caught:
        read_features(path, **options)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_points_beside_decimal_commas_are_not_guessed(write):
    table = read_table(write("sales;x\n1.200;0,5\n950;1,5\n2.345;2,5\n"))
    with pytest.raises(
        DataError, match=r"column 'x' has decimal commas, but column 'sales' has points"
    ):
        table.mixed()
    assert [*table.mixed(drop=["sales"])] == ["sales", "x"]
    # no thousands: four decimals, or none before the point
    for cell in ("1.2345", "0.2"):
        assert read_table(write(f"sales;x\n{cell};0,5\n950;1,5\n")).mixed()


def test_advice_names_arguments_in_python_and_options_on_the_command_line(write):
    with pytest.raises(DataError) as caught:
        read_labels(write("who,b\n" + "".join(f"p{i},{i % 2}\n" for i in range(9))))
    restored = pickle.loads(pickle.dumps(caught.value))
    for error in (caught.value, restored):
        assert "name it as the id (id='who'), or list the columns of labels (label=)" in str(error)
        options = error.text(lambda name, value: f"--{name}{'' if value is None else f' {value}'}")
        assert "name it as the id (--id who), or list the columns of labels (--label)" in options


def test_labels_make_an_ensemble(write):
    ensemble = Ensemble.from_labels(read_labels(write("a,b\n1,x\n1,\n-1,y\n")))
    assert ensemble.members == ("a", "b")
    assert ensemble.expand(ensemble.labels < 0).tolist() == [
        [False, False],
        [False, True],
        [True, False],
    ]


def test_labels_with_an_id_make_a_table_to_join(write):
    north = read_labels(write("who,c\nann,1\nbob,2\n", "n.csv"), id="who")
    south = read_labels(write("who,c\nbob,1\ncy,2\n", "s.csv"), id="who")
    ensemble = Ensemble.from_tables({"n": north, "s": south}, id="who")
    assert ensemble.sample_ids.tolist() == ["ann", "bob", "cy"]


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("a,b\n1,2\n1.5,2\n", {}, "line 3: column 'a' holds 1.5 (labels must be whole numbers"),
        ("a,b\n1,2\ninf,2\n", {}, "line 3: column 'a' holds inf (an infinite value"),
        ("a,b\n1,2\n", {"label": ["z"]}, "no column 'z'"),
        ("a\n1\n", {"id": "a"}, "no column is left to cluster or combine"),
        (
            "who,b\n" + "".join(f"p{i},{i % 2}\n" for i in range(9)),
            {},
            "name it as the id (id='who')",
        ),
    ],
)
def test_labels_refused(write, text, options, says):
    with pytest.raises(DataError) as caught:
        read_labels(write(text), **options)
    assert says in str(caught.value)


def test_a_member_of_singletons_is_taken_where_it_is_named(write):
    path = write("a,b\n" + "".join(f"{i},{i % 2}\n" for i in range(9)))
    assert [*read_labels(path, label=["a", "b"])] == ["a", "b"]


SPELLINGS = ["a", "", "NA", "Nan", "null", "None", "-1", " nan ", "b"]


def test_nothing_is_spelled_alike_in_text_and_parquet(tmp_path, write):
    written = pd.DataFrame({"m": SPELLINGS, "n": "x"})
    written.to_parquet(tmp_path / "t.parquet")
    written.to_csv(tmp_path / "t.csv", index=False)
    expected = ["a", *[None] * 7, "b"]
    for name in ("t.csv", "t.parquet"):
        assert [*read_labels(tmp_path / name)["m"]] == expected


def test_nothing_is_spelled_alike_in_partitions(tmp_path):
    scale = pytest.importorskip("coterie.scale", reason="rows in partitions need dask")
    pd.DataFrame({"m": [*SPELLINGS[:-2], "b"], "n": "x"}).to_parquet(tmp_path / "t.parquet")
    ensemble = scale.ensemble_from_dask([str(tmp_path / "t.parquet")])
    labelled = ensemble.labels[:, 0] >= 0
    assert ensemble.weights[labelled].tolist() == [1, 1]
    assert ensemble.weights[~labelled].tolist() == [6]


def test_minus_one_beside_long_codes_is_no_label(write):
    path = write("m,n\n12345678901234567890123,0\n-1,0\n12345678901234567890124,1\n")
    assert read_labels(path)["m"] == ["12345678901234567890123", None, "12345678901234567890124"]
