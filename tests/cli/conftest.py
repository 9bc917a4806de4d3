"""A directory with files to work on, and a command that must be refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from coterie.cli import main

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
CLASSES = np.repeat([0, 1, 2], 20)
POINTS = CENTRES[CLASSES] + RNG.standard_normal((60, 2))
CLUSTER = ["cluster", "data.csv", "--id", "name", "--truth", "kind"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with features, labels and tables of three parties, and the user in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_inputs()
    return tmp_path


@pytest.fixture(scope="module")
def result_of_features(tmp_path_factory):
    """The file of a result of the features, made once."""
    directory = tmp_path_factory.mktemp("result")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        write_inputs()
        assert main([*CLUSTER, "-k", "3", "--save", "result.npz"]) == 0
    return directory / "result.npz"


@pytest.fixture
def saved(folder, result_of_features):
    """A copy of it in the user's directory."""
    return Path(shutil.copy(result_of_features, "result.npz"))


def write_inputs():
    """Write them into the current directory."""
    lines = [
        f"s{i},{x},{y},{'abc'[c]}"
        for i, ((x, y), c) in enumerate(zip(POINTS, CLASSES, strict=True))
    ]
    Path("data.csv").write_text("\n".join(["name,x,y,kind", *lines]) + "\n")
    Path("features.csv").write_text("\n".join(["x,y", *(f"{x},{y}" for x, y in POINTS)]) + "\n")
    Path("labels.csv").write_text("u,v,w\n0,a,1\n0,a,1\n0,b,1\n1,b,2\n1,b,2\n2,c,\n2,c,3\n")
    Path("a.csv").write_text("customer,cluster\nann,0\nbob,0\ncy,1\ndee,1\n")
    Path("b.csv").write_text("customer,segment,tier\ncy,x,1\ndee,x,1\neve,y,2\nfay,y,2\n")
    Path("c.csv").write_text("customer,cluster\nfay,3\ngus,3\nann,5\nhal,5\n")
    Path("ids.csv").write_text("customer\nann\nbob\n")


@pytest.fixture
def refused(folder, capsys):
    """Run a command that must end with 2 and one line; returns the line."""

    def refused(*arguments: object) -> str:
        before = sorted(str(path) for path in folder.rglob("*"))
        kept = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert code == 2, captured.err
        assert captured.out == ""
        assert captured.err.startswith("coterie: error: ")
        assert captured.err.count("\n") == 1
        assert sorted(str(path) for path in folder.rglob("*")) == before
        assert all(path.read_bytes() == content for path, content in kept.items())
        return captured.err

    return refused
