"""Table: equal columns, frozen, shown with escapes, turned into each kind of frame."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from coterie import Table


def mixed() -> Table:
    return Table(
        {
            "name": ["ann", "bob", "cy"],
            "size": np.array([3, 1, 2]),
            "share": [0.5, float("nan"), 1 / 3],
            "agrees": [True, None, False],
        }
    )


def test_columns_rows_and_lists():
    table = mixed()
    assert table.columns == ("name", "size", "share", "agrees")
    assert len(table) == 3
    assert "size" in table
    assert "weight" not in table
    assert table["size"].dtype.kind == "i"
    assert table["agrees"].tolist() == [True, None, False]
    rows = list(table.rows())
    assert rows[0] == {"name": "ann", "size": 3, "share": 0.5, "agrees": True}
    assert type(rows[0]["size"]) is int
    assert table.to_dict()["name"] == ["ann", "bob", "cy"]
    assert table == mixed()
    assert table != Table({"name": ["ann"]})


def test_it_is_frozen_and_keeps_a_copy():
    values = np.arange(3)
    table = Table({"a": values})
    values[0] = 9
    assert table["a"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        table["a"][0] = 1
    with pytest.raises(AttributeError, match="frozen"):
        table.columns = ()
    assert pickle.loads(pickle.dumps(table)) == table


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, 2], "b": [1]}, "differ in length"),
        ({"a": np.zeros((2, 2))}, "one value per row"),
    ],
)
def test_columns_must_be_equally_long_vectors(columns, message):
    with pytest.raises(ValueError, match=message):
        Table(columns)


def test_an_unknown_column_gets_the_nearest():
    with pytest.raises(KeyError, match="did you mean 'share'"):
        mixed()["shares"]


def test_text_is_aligned_and_cut():
    lines = repr(mixed()).splitlines()
    assert lines[0].split() == ["name", "size", "share", "agrees"]
    assert lines[2].split() == ["bob", "1", "-", "-"]
    assert lines[1].endswith("yes")
    assert repr(Table({"a": range(50)})).splitlines()[-1] == "… 30 more rows"
    assert len(repr(Table({"a": ["x" * 500]})).splitlines()[1]) == 40
    # a name with a line break stays in its row
    assert len(repr(Table({"a": ["one\ntwo", "three"]})).splitlines()) == 3
    assert repr(Table({})) == "an empty table"
    assert repr(Table({"a": []})) == "a"


def test_html_is_escaped():
    html = Table({"<script>": ["<b>&", "x"], "n": [1, 2]})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;&amp;" in html
    assert html.count("<tr>") == 3
    assert "<td" in html


def test_mixed_values_stay_what_they_are():
    table = Table({"label": [1, "a", None, 2.5, True]})
    assert table["label"].tolist() == [1, "a", None, 2.5, True]


def test_frames():
    pandas = pytest.importorskip("pandas")
    frame = mixed().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (3, 4)
    assert frame["size"].tolist() == [3, 1, 2]
    polars = pytest.importorskip("polars")
    assert mixed().to_polars()["name"].dtype == polars.String
    assert mixed().to_polars()["agrees"].to_list() == [True, None, False]
    pytest.importorskip("pyarrow")
    assert mixed().to_arrow().column_names == ["name", "size", "share", "agrees"]


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="to_polars needs polars: pip install polars"):
        mixed().to_polars()
