"""Files that would make a reader wait, fill the memory, or stand where no file can be written."""

from __future__ import annotations

import os
import zipfile

import numpy as np
import pytest

from coterie import EAC, MemoryBudgetError, Result
from coterie.core.errors import DataError, ResultFileError
from coterie.io import check_writable, read_features, read_labels, read_table, write_table
from coterie.io.write import whole_file
from coterie_bench import SpecError, read_spec

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")


@needs_pipes
@pytest.mark.parametrize("kind", ["csv", "tsv", "npy", "npz", "mat", "parquet"])
def test_a_pipe_is_not_waited_for(tmp_path, kind):
    os.mkfifo(tmp_path / f"x.{kind}")
    with pytest.raises(DataError, match="is a pipe or a device; save the data to a file"):
        read_table(tmp_path / f"x.{kind}")
    with pytest.raises(ResultFileError, match="is a pipe or a device"):
        Result.load(tmp_path / f"x.{kind}")


@needs_pipes
@pytest.mark.parametrize("through_a_link", [False, True])
def test_nothing_is_put_in_the_place_of_a_pipe(tmp_path, through_a_link):
    pipe = tmp_path / "x.csv"
    os.mkfifo(pipe)
    path = tmp_path / "link.csv" if through_a_link else pipe
    if through_a_link:
        path.symlink_to(pipe)
    for attempt in (lambda: check_writable(path), lambda: write_table(path, {"a": [1]})):
        with pytest.raises(DataError, match="it is a pipe or a device; name a file"):
            attempt()
    with pytest.raises(DataError, match="pipe or a device"), whole_file(path) as file:
        file.write(b"x")
    assert pipe.is_fifo()


def test_a_link_into_a_missing_folder_is_refused_before_the_work(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "missing" / "x.csv")
    with pytest.raises(DataError, match=r"there is no directory .*missing"):
        check_writable(tmp_path / "link.csv")


@pytest.mark.parametrize("name", ["n" * 251 + ".csv", "\u00fc" * 120 + ".csv"])
def test_a_name_of_the_greatest_length_can_be_written(tmp_path, name):
    write_table(tmp_path / name, {"a": [1]})
    assert os.listdir(tmp_path) == [name]


def test_a_line_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.io.text._LONGEST_LINE", 1000)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n0,1\n" + "0," * 2000)
    with pytest.raises(DataError, match="line 3: longer than 1,000 characters"):
        read_table(path)


def test_a_nul_beyond_the_first_look(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + b"0,1\n" * 3000 + b"0,\0\n")
    with pytest.raises(DataError, match="line 3002: a NUL character"):
        read_table(path)


@pytest.mark.parametrize("cell", ["{}", "name{}"])
def test_text_is_held_against_the_budget_while_it_is_read(tmp_path, monkeypatch, cell):
    path = tmp_path / "x.csv"
    path.write_text("a\n" + "".join(f"{cell.format(i)}\n" for i in range(6000)))
    assert len(read_table(path).column("a")) == 6000
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "30kB")
    with pytest.raises(MemoryBudgetError, match=r"Reading .*x\.csv \(as far as line \d,001\)"):
        read_table(path)


def test_a_hundred_thousand_columns_are_told_apart_at_once(tmp_path):
    path = tmp_path / "x.csv"
    names = [f"c{j}" for j in range(100_000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" * 100_000) + "\n")
    assert read_features(path)[1] == names


def test_columns_without_rows_and_values_without_size(tmp_path, monkeypatch):
    from tests.adversarial.test_readers import npy_header

    path = tmp_path / "x.npy"
    path.write_bytes(npy_header((0, 10**9)))
    with pytest.raises(DataError, match="'x' has no rows"):
        read_features(path)
    path.write_bytes(npy_header((10**12,), "<U0"))
    with pytest.raises(DataError, match="values of no size"):
        read_labels(path)
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "1MB")
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_header((1, 900_000), "|u1") + bytes(900_000))
    with pytest.raises(MemoryBudgetError, match="the 900,000 columns of 'X'"):
        read_features(tmp_path / "x.npz")


def test_a_long_text_many_times_in_parquet_is_one_text(tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    long = "x" * 100_000
    numbers = pa.array([0, 1, None] * 30_000, type=pa.int32())
    text = pa.DictionaryArray.from_arrays(numbers, pa.array([long, "y"]))
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "4MB")
    for stored in (False, True):
        parquet.write_table(pa.table({"a": text}), tmp_path / "x.parquet", store_schema=stored)
        found = read_table(tmp_path / "x.parquet").column("a")
        assert found == [long, "y", None] * 30_000
        assert len({id(value) for value in found}) == 3


def test_texts_of_parquet_that_all_differ(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names = [f"name{i}" for i in range(150_000)]
    for use in (False, True):
        parquet.write_table(pa.table({"a": names}), tmp_path / "x.parquet", use_dictionary=use)
        assert read_table(tmp_path / "x.parquet").column("a") == names


def test_parquet_columns_that_are_no_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for column in (pa.array([[1], [2]]), pa.array([b"y" * 2000] * 2, type=pa.binary(2000))):
        parquet.write_table(pa.table({"a": [1, 2], "f": column}), tmp_path / "x.parquet")
        with pytest.raises(DataError, match=r"column 'f' holds .* neither numbers nor text"):
            read_table(tmp_path / "x.parquet")


def test_a_spec_of_gigabytes_is_not_read(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text('title = "x"\n')
    os.truncate(path, 2**34)
    with pytest.raises(SpecError, match="is not a spec: it has more than 65,536 bytes"):
        read_spec(path)
    path.write_bytes(b'title = "\xff"\n')
    with pytest.raises(SpecError, match="is not UTF-8 text"):
        read_spec(path)


def test_a_result_of_a_later_format_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("coterie.io.result_file.VERSION", 7)
    path = tmp_path / "r.npz"
    Result.of(EAC(2).fit(np.array([[0, 0], [0, 1], [1, 1]]))).save(path)
    monkeypatch.undo()
    with pytest.raises(ResultFileError, match=r"format version 7, .* update coterie"):
        Result.load(path)
