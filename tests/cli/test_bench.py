"""``coterie bench`` from a spec to tables and figures."""

from __future__ import annotations

import csv

import pytest

from coterie.cli import main

pytest.importorskip("pyarrow", reason="the table of runs is parquet")
pytest.importorskip("matplotlib", reason="figures need matplotlib")

SPEC = """
title = "Small"
metrics = ["ari"]

[protocol]
members = 6
repetitions = 2

[[data]]
embedded = "iris"
generate = { pool = 8 }

[[data]]
name = "nowhere"

[[method]]
solver = "eac"

[[method]]
solver = "lwea"
grid = { theta = [0.2, 0.4] }
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench")
    (folder / "small.toml").write_text(SPEC)
    assert main(["bench", "run", str(folder / "small.toml"), "--out", str(folder / "runs")]) == 0
    return folder / "runs"


def test_run_says_what_was_done_and_what_was_not_there(runs, capsys):
    assert main(["bench", "run", str(runs.parent / "small.toml"), "--out", str(runs)]) == 0
    said = capsys.readouterr().out
    assert "10 runs, 10 of them done before; none went wrong." in said
    assert "left out: nowhere" in said


def test_table_fits_the_terminal(runs, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["bench", "table", str(runs)]) == 0
    said = capsys.readouterr().out
    assert "oracle" in said
    assert "lwea" in said
    assert all(len(line) <= 60 and line == line.rstrip() for line in said.splitlines())


def test_tables_as_files(runs, tmp_path, capsys):
    for name in ("table.md", "table.txt", "table.csv", "table.parquet"):
        assert main(["bench", "table", str(runs), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "table.md").read_text().startswith("# Small")
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} >= {"eac", "lwea", "base best"}
    assert "table.parquet" in capsys.readouterr().out


def test_figures_with_captions(runs, tmp_path, capsys):
    folder = tmp_path / "figures"
    assert main(["bench", "plot", str(runs), "-o", str(folder), "--formats", "svg"]) == 0
    assert (folder / "captions.md").exists()
    assert list(folder.glob("*.svg"))
    assert "Left out" in capsys.readouterr().out


def test_specs_are_listed(capsys):
    assert main(["bench", "specs"]) == 0
    assert "quick:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["bench", "run", "quik"], "did you mean 'quick'"),
        (["bench", "table", "."], "no directory of runs"),
        (["bench", "rum", "quick"], "coterie bench --help"),
        (["bench", "run", "quick", "--data", "/nowhere/at/all"], "no such directory"),
    ],
)
def test_mistakes_are_one_line(line, words, capsys):
    assert main(line) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
