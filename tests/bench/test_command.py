"""``coterie bench`` from a spec to tables and figures."""

from __future__ import annotations

import csv
import os
import sys

import numpy as np
import pytest

from coterie.cli import main
from coterie.cli.screen import Stages
from coterie_bench._store import RunStore

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
    assert "10 runs, 10 of them done before; none failed." in said
    assert "left out: nowhere" in said


def test_an_interruption_says_where_the_runs_are(runs, tmp_path, monkeypatch, capsys):
    def interrupted(self: Stages, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Stages, "reach", interrupted)
        assert main(["bench", "run", str(runs.parent / "small.toml")]) == 130
    assert (
        capsys.readouterr().err
        == "coterie: interrupted while running; already written: bench-small\n"
    )
    assert len(RunStore(tmp_path / "bench-small").runs()) == 2


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


@pytest.mark.parametrize("step", ["table", "plot"])
def test_runs_that_cannot_be_read_say_what_to_install(runs, tmp_path, monkeypatch, capsys, step):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main(["bench", step, str(runs)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert 'parquet needs pyarrow; run: pip install "coterie[io]"' in said


def test_figures_say_what_to_install(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("coterie.core.packages.find_spec", lambda name: None)
    assert main(["bench", "plot", str(runs), "-o", str(tmp_path / "figures")]) == 2
    said = capsys.readouterr().err
    assert said == 'coterie: error: a figure needs matplotlib; run: pip install "coterie[bench]"\n'
    assert not (tmp_path / "figures").exists()


def test_specs_are_listed(capsys):
    assert main(["bench", "specs"]) == 0
    assert "quick:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["bench", "run", "quik"], "did you mean 'quick'"),
        (["bench", "table", "."], "not a directory of runs"),
        (["bench", "rum", "quick"], "coterie bench --help"),
        (["bench", "run", "quick", "--data", "/nowhere/at/all"], "no such directory"),
    ],
)
def test_mistakes_are_one_line(line, words, capsys):
    assert main(line) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


MEMBERS = np.arange(120).reshape(20, 6) % 7


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"members": MEMBERS[:, :2]}, "has 2 members, but protocol.members is 6"),
        ({"X": np.ones((1, 3))}, "at least two samples are needed"),
        ({"X": np.array([[1e200], [0.0], [1.0]])}, "squares overflow"),
        ({"base": MEMBERS[None]}, "set protocol.kind to 'groups'"),
        ({"base": MEMBERS[None], "gt": np.array([None] * 20)}, "Python objects"),
        ({"base": MEMBERS[None], "gt": np.full(20, np.nan)}, "must be known for every sample"),
        ({"base": MEMBERS[None] + 2**32}, "which exceeds 32 bits"),
        ({"base": MEMBERS[None, :0]}, "'base' is empty"),
        ({"members": MEMBERS, "columns": np.arange(6)[None] + 1}, "go up to member 6"),
        ({"members": MEMBERS, "columns": np.empty((0, 6), int)}, "must be repetitions x members"),
        ({"members": MEMBERS}, "has no array 'columns'"),
    ],
)
def test_unfit_arrays_are_one_line(arrays, words, tmp_path, capsys):
    np.savez(tmp_path / "nowhere.npz", **arrays)
    columns = "columns" in arrays or "'columns'" in words
    assert words in refusal(tmp_path, "nowhere.npz" if columns else "", capsys)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_draws_are_not_waited_for(tmp_path, capsys):
    np.savez(tmp_path / "nowhere.npz", members=MEMBERS)
    os.mkfifo(tmp_path / "draws.npz")
    assert "draws.npz is a pipe" in refusal(tmp_path, "draws.npz", capsys)


def test_draws_of_another_kind_are_refused(tmp_path, capsys):
    np.savez(tmp_path / "nowhere.npz", members=MEMBERS)
    (tmp_path / "draws.csv").write_text("columns\n1\n")
    assert "must be in an npz file" in refusal(tmp_path, "draws.csv", capsys)


def refusal(folder, columns, capsys):
    protocol = f'[protocol]\nmembers = 6\nrepetitions = 1\ncolumns = "{columns}"\n'
    spec = folder / "unfit.toml"
    spec.write_text(f'{protocol}[[data]]\nname = "nowhere"\n[[method]]\nsolver = "eac"\n')
    line = ["bench", "run", str(spec), "--data", str(folder), "--out", str(folder / "runs")]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said
