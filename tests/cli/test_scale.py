"""Directories and patterns of parquet files from the command line: rows stay in partitions."""

from __future__ import annotations

import json
import socket
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow as pa
from pyarrow import parquet

from coterie import EAC, Ensemble, LabelError
from coterie.cli import main
from coterie.result import Result
from coterie.select import select_k

PARTS = 3
ROWS = 600
POINTS = 150
MEMBERS = ("a", "b", "c", "d", "e", "f", "g", "h")


def labels() -> np.ndarray:
    """Eight members that see three clusters, some labels missing; 40 distinct rows at most."""
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 3
    noise = rng.integers(0, 3, (40, len(MEMBERS)))
    rows = np.where(rng.random(noise.shape) < 0.85, truth[:, None], noise)
    rows[::7, 1] = -1
    return rows[rng.integers(0, 40, ROWS)]


def write(folder: str, columns: dict[str, list]) -> None:
    """A directory of three files of unlike size, and one file with all rows."""
    Path(folder).mkdir()
    table = pa.table(columns)
    n = table.num_rows
    cuts = [0, n // 6, n // 2, n]
    for i in range(PARTS):
        part = table.slice(cuts[i], cuts[i + 1] - cuts[i])
        parquet.write_table(part, f"{folder}/part-{i}.parquet")
    parquet.write_table(table, f"{folder}.parquet")


@pytest.fixture
def parts(folder):
    """Labels and features, each as a directory and as a file."""
    who = [f"w{i}" for i in range(ROWS)]
    rows = labels()
    write("pool", {"who": who} | {name: rows[:, j] for j, name in enumerate(MEMBERS)})
    rng = np.random.default_rng(1)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[rng.integers(0, 3, POINTS)]
    X += rng.standard_normal(X.shape)
    write("points", {"who": who[:POINTS], "x": X[:, 0], "y": X[:, 1]})
    return folder


def read(folder: str) -> dict[str, list]:
    files = sorted(Path(folder).iterdir())
    assert len(files) == PARTS
    return pa.concat_tables([parquet.read_table(file) for file in files]).to_pydict()


def ran(capsys, *arguments: object) -> str:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


@pytest.mark.parametrize(("given", "k"), [("pool", "3"), ("pool/*.parquet", "2-4")])
def test_a_directory_of_labels_gives_the_labels_of_one_file(parts, capsys, given, k):
    options = ["--id", "who", "-k", k, "--json"]
    one = json.loads(ran(capsys, "combine", "pool.parquet", *options, "-o", "one.parquet"))
    several = json.loads(ran(capsys, "combine", given, *options, "--workers", 0, "-o", "out"))
    assert read("out") == parquet.read_table("one.parquet").to_pydict()
    assert several["n_samples"] == one["n_samples"] == ROWS
    assert several["input"]["rows"] == ROWS
    assert several["input"]["parts"] == PARTS
    assert several["files"] == {"labels": "out"}
    assert several["mean_confidence"] == pytest.approx(one["mean_confidence"])
    for mine, theirs in zip(several["clusters"], one["clusters"], strict=True):
        assert isinstance(mine["size"], int)
        assert mine == pytest.approx(theirs)
    if "selection" in one:
        assert several["selection"]["reason"] == one["selection"]["reason"]


def test_a_directory_of_features_gives_the_labels_of_one_file(parts, capsys, monkeypatch):
    # one criterion is enough to see that both choose from the same rows
    quick = partial(select_k, criteria=["lifetime"], resamples=2)
    monkeypatch.setattr("coterie.select.select_k", quick)
    options = ["--id", "who", "-k", "2-3", "--members", "6"]
    ran(capsys, "cluster", "points.parquet", *options, "-o", "one.parquet")
    out = ran(capsys, "cluster", "points", *options, "--workers", 0, "-o", "out.parquet")
    assert "points: 150 samples, 2 features, in 3 parquet files" in out
    assert "labels written to out.parquet (who, label, confidence)" in out
    assert read("out.parquet") == parquet.read_table("one.parquet").to_pydict()


def test_summary_report_and_result_count_rows_by_weight(parts, capsys):
    command = ["combine", "pool", "--id", "who", "-k", 3, "--workers", 0]
    out = ran(capsys, *command, "--report", "r.html", "--save", "r.npz")
    whole = Ensemble.from_labels(labels())
    expected = EAC(3, random_state=0).fit(whole)
    sizes = np.bincount(expected.labels_)
    assert "pool: 600 samples, in 3 parquet files" in out
    shown = [line.split()[1] for line in out.splitlines() if line.strip()[:1] in ("0", "1", "2")]
    assert shown == [str(size) for size in sizes]
    assert f"mean confidence {expected.sample_confidence_.mean():.2f}" in out
    result = Result.load("r.npz")
    assert repr(result).startswith("Result(eac, 600 samples, 8 members, 3 clusters")
    assert result.clusters()["size"].tolist() == sizes.tolist()
    page = Path("r.html").read_text()
    assert "3 clusters of 600 samples" in page
    assert "Samples are counted by weight" in page
    assert f"weighted rows stand for {ROWS} samples" in page


def test_without_an_id_rows_keep_their_order(parts, capsys):
    out = ran(capsys, "combine", "pool", "--label", *MEMBERS, "-k", 3, "--workers", 0, "-o", "out")
    assert "labels written to out (label, confidence)" in out
    found = EAC(3, random_state=0).fit(Ensemble.from_labels(labels()))
    assert read("out")["label"] == found.labels_.tolist()


def test_files_are_partitions_where_workers_are_asked_for(parts, capsys):
    files = [f"pool/part-{i}.parquet" for i in (0, 1, 2)]
    ran(capsys, "combine", *files, "--id", "who", "-k", 3, "--workers", 0, "-o", "out")
    assert read("out")["who"][-1] == f"w{ROWS - 1}"


@pytest.mark.timeout(60)
def test_workers_of_its_own_and_of_a_scheduler(parts, capsys):
    from coterie.scale import local_cluster

    command = ["combine", "pool", "--id", "who", "-k", 3]
    ran(capsys, *command, "--workers", 0, "-o", "threads")
    ran(capsys, *command, "--workers", 1, "--worker-memory", "600MB", "-o", "processes")
    with local_cluster(1, "600MB") as client:
        address = client.scheduler.address
        ran(capsys, *command, "--scheduler", address, "-o", "scheduler")
        # the cluster was there before and goes on
        assert client.submit(int, 7).result() == 7
    assert read("processes") == read("scheduler") == read("threads")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "out.csv"], "a directory of parquet files; name a directory, such as out"),
        (["-o", "pool/out"], "-o pool/out lies in the input pool"),
        (["-o", "points"], "-o points is not empty"),
        (["-o", "pool.parquet"], "-o pool.parquet is a file"),
        (["-o", "absent/out"], "there is no directory absent"),
        (["--truth", "a"], "--truth is not read"),
        (["--label", "nothing"], "has no column 'nothing'"),
        (["--workers", "-1"], "--workers"),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "run already"),
        (["--worker-memory", "much"], "--worker-memory must be a number of bytes"),
        (["--worker-memory", "1GB", "--workers", "0"], "--workers 0 asks for none"),
        (["--report", "page.txt"], ".html"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(parts, refused, arguments, words):
    asked = [] if any(option.startswith("--w") for option in arguments) else ["--workers", 0]
    if "--scheduler" in arguments:
        asked = []
    assert words in refused("combine", "pool", "--id", "who", "-k", 3, *asked, *arguments)


def test_inputs_that_are_no_partitions_are_refused(parts, refused):
    Path("empty").mkdir()
    assert "empty is a directory without parquet" in refused("combine", "empty", "-k", 3)
    assert "no file has such a name" in refused("combine", "nothing/*.parquet", "-k", 3)
    assert "parquet files only" in refused("combine", "*.csv", "-k", 3)
    assert "parquet files only" in refused("combine", "labels.csv", "-k", 3, "--workers", 0)
    assert "given twice" in refused(
        "combine", "pool", "pool/part-0.parquet", "-k", 3, "--workers", 0
    )
    unnamed = refused("combine", "pool", "-k", 3, "--workers", 0)
    assert "'who'" in unnamed
    assert "--id" in unnamed
    parquet.write_table(pa.table({"who": ["z"], "a": [1]}), "pool/part-9.parquet")
    other = refused("combine", "pool", "--id", "who", "-k", 3, "--workers", 0)
    assert "pool/part-9.parquet has no column 'b'" in other


def test_files_of_a_pattern_without_quotes_are_not_taken_for_members(parts, refused):
    files = [f"pool/part-{i}.parquet" for i in range(PARTS)]
    assert "a pattern in quotes" in refused("combine", *files, "--id", "who", "-k", 3)


def test_features_that_are_none_are_named(parts, refused):
    command = ["cluster", "points", "-k", 3, "--workers", 0]
    assert "column 'who' holds text" in refused(*command)
    assert "has no column 'xx'" in refused(*command, "--drop", "xx")
    assert "no column is left" in refused(*command, "--drop", "who", "x", "y")
    parquet.write_table(
        pa.table({"who": ["z"], "x": [float("nan")], "y": [1.0]}), "points/part-9.parquet"
    )
    line = refused(*command, "--id", "who")
    assert "NaN" in line
    assert "'x'" in line


def test_no_scheduler_is_said_within_seconds(parts, refused):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    line = refused("combine", "pool", "--id", "who", "-k", 3, "--scheduler", address)
    assert f"no Dask scheduler answers at {address}" in line
    assert time.monotonic() - began < 15


def test_without_dask_one_line_says_how_to_get_it(parts, refused, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("coterie.scale")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("coterie.scale", raising=False)
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *_: None if name == "dask" else object()
    )
    assert 'pip install "coterie[dask]"' in refused("combine", "pool", "--id", "who", "-k", 3)


def test_dask_collections_are_not_loaded_by_mistake():
    import dask.array as da

    with pytest.raises(LabelError, match=r"coterie\.scale\.ensemble_from_dask"):
        EAC(2).fit(da.zeros((10, 2), chunks=5, dtype=int))
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"a": [0, 1], "b": [0, 1]}), npartitions=1)
    with pytest.raises(LabelError, match=r"coterie\.scale\.ensemble_from_dask"):
        Ensemble.from_labels(frame)
