"""csv and tsv: types of columns, missing cells, and every way a file can be wrong."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.core.errors import DataError
from coterie.ensemble.missing import is_missing_text
from coterie.io import read_table
from coterie.io.text import read_text


def table_of(folder: Path, text: str, name: str = "t.csv", id: str | None = None):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_table(path, id=id)


def test_columns_are_numbers_or_text_and_keep_their_order(tmp_path):
    table = table_of(tmp_path, "b,a,c,d\n1,2.5,x,\n-1,1e3,y,NA\n")
    assert [*table.columns] == ["b", "a", "c", "d"]
    assert table.columns["b"].dtype == np.int64
    assert table.columns["b"].tolist() == [1, -1]
    assert table.columns["a"].tolist() == [2.5, 1000.0]
    assert table.columns["c"] == ["x", "y"]
    assert np.isnan(table.columns["d"]).all()


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", "null", "None", " NA ", "n/a", "#N/A"])
def test_missing_cells_in_numbers_and_in_text(tmp_path, cell):
    table = table_of(tmp_path, f"a,b\n1,x\n{cell},{cell}\n3,z\n")
    assert np.isnan(table.columns["a"][1])
    assert table.columns["a"][[0, 2]].tolist() == [1.0, 3.0]
    assert table.columns["b"] == ["x", None, "z"]


def test_ids_keep_how_they_are_written(tmp_path):
    table = table_of(tmp_path, "id,zip\n007,01\n12,02\n", id="id")
    assert table.columns["id"] == ["007", "12"]
    assert table.columns["zip"].tolist() == [1.0, 2.0]
    plain = table_of(tmp_path, "id\n7\n12\n", id="id")
    assert plain.columns["id"].tolist() == [7, 12]


def test_whole_numbers_beyond_the_precision_of_floats_stay_apart(tmp_path):
    big = 2**53
    table = table_of(tmp_path, f"a,b\n{big},{big}\n{big + 1},{big + 1}\n1,\n")
    assert table.columns["a"].tolist() == [big, big + 1, 1]
    assert table.columns["b"] == [str(big), str(big + 1), None]
    longer = table_of(tmp_path, f"a\n{10**20}\n{10**20 + 1}\n")
    assert longer.columns["a"] == [str(10**20), str(10**20 + 1)]


@given(
    cells=st.lists(
        st.sampled_from(["1", "2", "", "007", "1.50", "1.5", "x", "NA", str(2**60), "-3", "1_0"]),
        min_size=1,
        max_size=12,
    )
)
def test_blocks_do_not_change_what_is_read(tmp_path_factory, cells):
    path = tmp_path_factory.mktemp("blocks") / "t.csv"
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    whole = read_table(path).columns["a"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.io.text._BLOCK", 2)
        pieces = read_table(path).columns["a"]
    assert type(pieces) is type(whole)
    if isinstance(whole, list):
        assert pieces == whole
    else:
        np.testing.assert_array_equal(pieces, whole)
        assert pieces.dtype == whole.dtype


@given(
    rows=st.lists(
        st.tuples(
            *[st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)] * 2
        ),
        min_size=1,
        max_size=5,
    )
)
def test_quoted_cells_with_commas_and_line_breaks(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("quoted") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([("first", "second"), *rows])
    table = read_text(path, ",", ("first", "second"))
    for j, name in enumerate(("first", "second")):
        found = [*table.columns[name]]
        for row, value in zip(rows, found, strict=True):
            cell = row[j].strip()
            assert value is None if is_missing_text(cell) else str(value) == cell


def test_byte_order_mark_windows_line_ends_and_blank_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n3,4\r\n\r\n")
    table = read_table(path)
    assert [*table.columns] == ["a", "b"]
    assert table.columns["a"].tolist() == [1, 3]
    assert table.lines.tolist() == [2, 4]


def test_a_blank_line_is_a_missing_cell_where_there_is_one_column(tmp_path):
    table = table_of(tmp_path, "a\n1\n\n2\n\n")
    np.testing.assert_array_equal(table.columns["a"], [1, np.nan, 2])


def test_tsv(tmp_path):
    table = table_of(tmp_path, "a\tb\n1,5\t2\n", "t.tsv")
    assert table.columns["a"] == ["1,5"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.csv", "", "t.csv is empty"),
        ("t.csv", " \n\n", "t.csv is empty"),
        ("t.csv", "\na,b\n1,2\n", "first line is empty"),
        ("t.csv", "a,b\n", "header but no rows"),
        ("t.csv", "a,b\n1,2\n3\n", "line 3: 1 cell, but the header names 2 columns"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", "line 3: 3 cells"),
        ("t.csv", 'a,b\n1,"x\ny"\n3\n', "line 4: 1 cell"),
        ("t.csv", "a;b\n1;2\n3\n", "line 3: 1 cell, but the header names 2 columns"),
        (
            "t.csv",
            "Sales 2024\na,b\n1,2\n",
            "line 2: 2 cells, but the header names 1 column; remove",
        ),
        ("t.csv", "# made today, by me\na,b\n1,2\n", "the first line is a comment"),
        ("t.csv", "a,b,a\n1,2,3\n", "names 'a' more than once"),
        ("t.csv", "a,\n1,2\n", "line 2: 2 cells, but the header names 1 column"),
        ("t.csv", "a,,b\n1,2,3\n", "column 2 of 3 has no name"),
        ("t.csv", "3.5,1.2\n1,2\n", "first line holds numbers (3.5, 1.2)"),
        ("t.csv", 'a,b\n1,"x\n', "line 2: unexpected end of data"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_line(tmp_path, name, text, says):
    with pytest.raises(DataError) as caught:
        table_of(tmp_path, text, name)
    assert str(tmp_path / name) in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_the_delimiter_is_recognised(tmp_path, name, delimiter):
    lines = [["a", "b, or not", "c"], ["1", "x, y", "2"], ["3", "z; z", "4"]]
    path = tmp_path / name
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(lines)
    table = read_table(path)
    assert [*table.columns] == lines[0]
    assert table.columns["a"].tolist() == [1, 3]
    assert table.columns["b, or not"] == ["x, y", "z; z"]


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        # a decimal comma in every cell, and in names
        ("t.csv", "cm, net;kg, net\n1,5;2,5\n3,5;4,5\n", ["cm, net", "kg, net"]),
        # one column, whose quoted name holds a delimiter
        ("t.csv", '"height; cm"\n170\n180\n', ["height; cm"]),
        ("t.tsv", '"height, cm"\n170\n180\n', ["height, cm"]),
        # lists in cells
        ("t.csv", "a,tags\n1,x;y\n2,z;y\n", ["a", "tags"]),
        ("t.tsv", "a\ttags\n1\tx,y\n2\tz\n", ["a", "tags"]),
        # a cell of more lines than are looked at
        ("t.csv", f'a;b\n1;"{"x" * 9}{12 * chr(10)},,"\n', ["a", "b"]),
    ],
)
def test_other_delimiters_within_names_and_cells(tmp_path, name, text, columns):
    assert [*table_of(tmp_path, text, name).columns] == columns


def test_empty_cells_beyond_the_header(tmp_path):
    for text in ("a,b\n1,2,\n3,4\n", "a,b,,\n1,2,,\n3,4,,\n", "a,b,\n1,2,\n  \n3,4\n"):
        table = table_of(tmp_path, text)
        assert {name: [*column] for name, column in table.columns.items()} == {
            "a": [1, 3],
            "b": [2, 4],
        }


def test_utf16_as_windows_programs_write_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("größe\tb\n1\t2\n3\t4\n", encoding="utf-16")
    assert read_table(path).columns["größe"].tolist() == [1, 3]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="save the file as UTF-8"):
        read_table(path)


def test_numbered_column_names_are_names(tmp_path):
    assert [*table_of(tmp_path, "0,1,2\n5,6,7\n").columns] == ["0", "1", "2"]
    assert [*table_of(tmp_path, "0.5,1.0\n5,6\n").columns] == ["0.5", "1.0"]
    assert [*table_of(tmp_path, "0,1\n0.5,6\n").columns] == ["0", "1"]
    assert [*table_of(tmp_path, "1,2,3\n1,2,2\n").columns] == ["1", "2", "3"]


@pytest.mark.parametrize(
    "text", ["-1.5,2.5\n-1.2,2.2\n", "0\n0\n1\n", "0,1\n1,1\n", "0.1,0.2\n0.3,0.1\n", "1,3\n1,3\n"]
)
def test_a_first_row_that_may_be_a_sample_is_not_lost(tmp_path, text):
    with pytest.raises(DataError, match="which may be names or the first row"):
        table_of(tmp_path, text)


def test_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3,caf\xe9\n")
    with pytest.raises(DataError, match=r"line 3: byte 0xe9 at position 6 is not UTF-8"):
        read_table(path)


def test_unknown_column_lists_the_columns_and_the_nearest(tmp_path):
    table = table_of(tmp_path, "customer,cluster\n1,2\n")
    with pytest.raises(DataError, match=r"are customer, cluster\).*did you mean 'customer'\?"):
        table.column("custmer")
    with pytest.raises(DataError, match=r"are 'height, cm', weight\)"):
        table_of(tmp_path, '"height, cm",weight\n1,2\n').column("cm")


def test_row_names_without_a_heading_are_ids(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"","x","y"\n"a",1,2\n"b",3,4\n')
    table = read_table(path, "features")
    assert table.main == ("id", "x", "y")
    assert table.columns["id"] == ["a", "b"]
