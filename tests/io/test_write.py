"""Writing: complete or not at all."""

from __future__ import annotations

import os
import stat
import sys

import numpy as np
import pytest

from coterie.core.errors import DataError
from coterie.io import check_writable, write_table

COLUMNS = {"id": ["a,b", "ü"], "label": np.array([0, 1]), "confidence": np.array([0.25, 1.0])}


def test_csv_and_tsv(tmp_path):
    write_table(tmp_path / "t.csv", COLUMNS)
    assert (tmp_path / "t.csv").read_text("utf-8") == 'id,label,confidence\n"a,b",0,0.25\nü,1,1.0\n'
    write_table(tmp_path / "t.TSV", COLUMNS)
    assert (tmp_path / "t.TSV").read_text("utf-8").startswith("id\tlabel\tconfidence\n")
    assert sorted(os.listdir(tmp_path)) == ["t.TSV", "t.csv"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="shorter"):
        write_table(path, {"a": [1, 2], "b": [1]})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_an_interruption_leaves_nothing(tmp_path):
    class Interrupting(list):
        def __iter__(self):
            yield 1
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(tmp_path / "t.csv", {"a": Interrupting([1, 2])})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "t.xlsx",
            "t.xlsx: name a file with the extension .csv or .tsv or .parquet, such as t.csv",
        ),
        ("t", "t: name a file with the extension .csv or .tsv or .parquet, such as t.csv"),
        ("absent/t.csv", "there is no directory"),
        ("file/t.csv", "is not a directory"),
        ("folder.csv", "is a directory; name a file"),
    ],
)
def test_places_that_cannot_be_written(tmp_path, name, says):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError) as caught:
        check_writable(tmp_path / name)
    assert says in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="rights do not bind the superuser"
)
def test_rights_are_asked_for(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(DataError, match="Permission denied"):
        check_writable(folder / "t.csv")
    path = tmp_path / "t.csv"
    path.touch(mode=0o400)
    with pytest.raises(DataError, match="read-only"):
        check_writable(path)


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")
def test_links_are_followed_and_modes_are_usual(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "t.csv"
    link.symlink_to(tmp_path / "real" / "target.csv")
    write_table(link, COLUMNS)
    assert link.is_symlink()
    target = tmp_path / "real" / "target.csv"
    assert target.read_text("utf-8").startswith("id,")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
