"""Directories and patterns of parquet files from the command line: rows stay in partitions."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import time
from functools import partial
from html import unescape
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow as pa
from pyarrow import parquet

from coterie import EAC, PCE, Ensemble, LabelError
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
    """The labels as one file would have them, without the number of the distinct row."""
    files = sorted(Path(folder).iterdir())
    assert len(files) == PARTS
    table = pa.concat_tables([parquet.read_table(file) for file in files])
    return table.drop_columns("distinct").to_pydict()


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
    assert "points: 150 samples, 2 columns used, in 3 parquet files" in out
    assert "labels written to out.parquet (who, label, confidence, distinct)" in out
    assert read("out.parquet") == parquet.read_table("one.parquet").to_pydict()


def test_a_directory_with_text_and_dates_gives_the_labels_of_one_file(parts, capsys):
    table = parquet.read_table("points.parquet")
    kinds = (np.asarray(table["x"]) > 4.5).astype(int)
    days = [f"2024-0{1 + k}-1{i % 9}" for i, k in enumerate(kinds.tolist())]
    table = table.append_column("plan", [np.array(["basic", "pro"])[kinds]])
    table = table.append_column("day", [days])
    parquet.write_table(table, "mixed.parquet")
    Path("mixed").mkdir()
    for i in range(PARTS):
        step = -(-len(table) // PARTS)
        parquet.write_table(table[i * step : (i + 1) * step], f"mixed/part-{i}.parquet")
    options = ["--id", "who", "-k", "3", "--members", "6", "--json"]
    one = json.loads(ran(capsys, "cluster", "mixed.parquet", *options, "-o", "one.parquet"))
    several = ran(capsys, "cluster", "mixed", *options, "--workers", 0, "-o", "out")
    assert json.loads(several)["columns"] == one["columns"]
    assert json.loads(several)["input"]["columns"] == one["input"]["columns"] == 4
    assert read("out") == parquet.read_table("one.parquet").to_pydict()
    # without --id, the column of ids is found
    told = ran(capsys, "cluster", "mixed", "-k", 3, "--members", 6, "--workers", 0, "-o", "found")
    assert f"{PARTS} parquet files, ids in 'who'" in " ".join(told.split())
    assert read("found") == read("out")


def test_members_have_as_many_clusters_as_told(parts, capsys, refused):
    command = ["cluster", "--id", "who", "-k", 3, "--members", 6, "--member-clusters", "2-3"]
    ran(capsys, *command, "points.parquet", "-o", "one.parquet", "--save", "one.npz")
    ran(capsys, *command, "points", "--workers", 0, "-o", "out", "--save", "out.npz")
    assert read("out") == parquet.read_table("one.parquet").to_pydict()
    for name in ("one.npz", "out.npz"):
        counts = {len(labels) for labels in Result.load(name).ensemble.categories}
        assert counts <= {2, 3}
    assert "must be a range" in refused("cluster", "points", "-k", 3, "--member-clusters", "many")


def test_summary_report_and_result_count_rows_by_weight(parts, capsys):
    command = ["combine", "pool", "--id", "who", "-k", 3, "--workers", 0]
    out = ran(capsys, *command, "--report", "r.html", "--save", "r.npz")
    whole = Ensemble.from_labels(labels())
    expected = PCE(3, random_state=0).fit(whole)
    sizes = np.bincount(expected.labels_)
    assert "pool: 600 samples, in 3 parquet files" in out
    shown = [line.split()[1] for line in out.splitlines() if line.strip()[:1] in ("0", "1", "2")]
    assert shown == [str(size) for size in sizes]
    assert f"mean confidence {expected.sample_confidence_.mean():.2f}" in out
    result = Result.load("r.npz")
    assert repr(result).startswith("Result(pce, 600 samples, 8 members, 3 clusters")
    assert result.diagnose_clusters()["size"].tolist() == sizes.tolist()
    page = Path("r.html").read_text()
    assert "3 clusters of 600 samples" in page
    assert "Samples are counted by weight" in page
    assert f"weighted rows represent {ROWS} samples" in page


def without_ids():
    """Write the labels of the pool without the column of ids."""
    Path("bare").mkdir()
    for path in sorted(Path("pool").glob("*.parquet")):
        parquet.write_table(parquet.read_table(path).drop(["who"]), f"bare/{path.name}")


def test_ids_in_partitions_are_found(parts, capsys):
    for command in (["combine", "pool"], ["combine", "pool", "--label", *MEMBERS]):
        out = ran(capsys, *command, "-k", 3, "--workers", 0, "-o", "out")
        assert "ids in 'who'" in " ".join(out.split())
        assert read("out")["who"] == [f"w{i}" for i in range(ROWS)]
        shutil.rmtree("out")
    out = ran(capsys, "select", "pool", "--labels", "-k", "2-3", "--workers", 0, "--json")
    assert json.loads(out)["input"]["columns"] == len(MEMBERS)


def test_without_an_id_rows_keep_their_order(parts, capsys):
    without_ids()
    out = ran(capsys, "combine", "bare", "-k", 3, "--workers", 0, "-o", "out")
    assert "labels written to out (label, confidence, distinct)" in out
    found = PCE(3, random_state=0).fit(Ensemble.from_labels(labels()))
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
        (["-o", "pool/out"], "-o pool/out is inside the input pool"),
        (["-o", "points"], "-o points is not empty"),
        (["-o", "pool.parquet"], "-o pool.parquet is a file"),
        (["-o", "absent/out"], "there is no directory absent"),
        (["--truth", "a"], "--truth does not work for rows in partitions"),
        (["--label", "nothing"], "has no column 'nothing'"),
        (["--workers", "-1"], "--workers"),
        (["--scheduler", "tcp://127.0.0.1:1", "--workers", "2"], "leave them out with --scheduler"),
        (["--worker-memory", "much"], "--worker-memory must be a number of bytes"),
        (["--worker-memory", "1GB", "--workers", "0"], "--workers 0 starts none"),
        (["--report", "page.txt"], ".html"),
        (["--id", "distinct", "-o", "out"], "rename the id"),
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
    assert "no file matches this pattern" in refused("combine", "nothing/*.parquet", "-k", 3)
    assert "parquet files only" in refused("combine", "*.csv", "-k", 3)
    assert "only parquet files" in refused("combine", "labels.csv", "-k", 3, "--workers", 0)
    assert "given twice" in refused(
        "combine", "pool", "pool/part-0.parquet", "-k", 3, "--workers", 0
    )
    parquet.write_table(pa.table({"who": ["z"], "a": [1]}), "pool/part-9.parquet")
    other = refused("combine", "pool", "--id", "who", "-k", 3, "--workers", 0)
    assert "pool/part-9.parquet has no column 'b'" in other


def test_files_of_a_pattern_without_quotes_are_not_taken_for_members(parts, refused):
    files = [f"pool/part-{i}.parquet" for i in range(PARTS)]
    assert "a quoted pattern" in refused("combine", *files, "--id", "who", "-k", 3)


def test_features_that_are_none_are_named(parts, refused):
    command = ["cluster", "points", "-k", 3, "--workers", 0]
    assert "has no column 'xx'" in refused(*command, "--drop", "xx")
    assert "no column is left" in refused(*command, "--drop", "who", "x", "y")
    parquet.write_table(
        pa.table({"who": ["z"], "x": [float("inf")], "y": [1.0]}), "points/part-9.parquet"
    )
    line = refused(*command, "--id", "who")
    assert "points/part-9.parquet: column 'x' holds 1 infinite value (first in row 0)" in line
    assert line == refused("select", "points", "--id", "who", "--workers", 0)


@pytest.mark.parametrize(
    ("name", "options"),
    [("pool", ["--labels"]), ("points", ["--columns", "x", "y", "--members", "6"])],
)
def test_the_choice_of_k_on_a_directory_is_that_on_one_file(
    parts, capsys, monkeypatch, name, options
):
    quick = partial(select_k, criteria=["lifetime", "pac"], resamples=2)
    monkeypatch.setattr("coterie.select.select_k", quick)
    command = ["--id", "who", "-k", "2-4", *options]
    one = json.loads(ran(capsys, "select", f"{name}.parquet", *command, "--json"))
    several = json.loads(ran(capsys, "select", name, *command, "--json", "--workers", 0))
    size = ROWS if name == "pool" else POINTS
    columns = len(MEMBERS) if name == "pool" else 2
    expected = {"file": name, "parts": PARTS, "rows": size, "columns": columns}
    assert several.pop("input") == expected
    for left in (one, several):
        del left["seconds"]
    one.pop("input")
    assert several == one
    out = ran(capsys, "select", f"{name}/*.parquet", *command, "--workers", 0, "-o", "table.csv")
    kinds = "8 members" if name == "pool" else "2 features"
    assert f"{name}/*.parquet: {size} samples, {kinds}, in 3 parquet files" in out
    assert Path("table.csv").read_text().startswith("k,")


def test_a_choice_on_partitions_is_refused_before_the_work(parts, refused):
    command = ["select", "pool", "--labels", "--workers", 0]
    assert "-o pool/k.csv is inside the input" in refused(*command, "-o", "pool/k.csv")
    assert "leave them out with --scheduler" in refused(
        *command[:3], "--workers", 2, "--scheduler", "tcp://127.0.0.1:1"
    )


def test_the_report_of_partitions_shows_how_k_was_chosen(parts, capsys):
    command = ["combine", "--id", "who", "-k", "2-4"]
    ran(capsys, *command, "pool", "--workers", 0, "--report", "r.html", "--save", "r.npz")
    ran(capsys, *command, "pool.parquet", "--report", "one.html")
    panels = [
        page.split('<h2 id="k">')[1].split("</section>")[0]
        for page in (Path("r.html").read_text(), Path("one.html").read_text())
    ]
    assert panels[0] == panels[1]
    assert Result.load("r.npz").selection.reason in unescape(panels[0])


# ---------------------------------------------------------------------- asking by id


@pytest.fixture
def saved(parts, capsys):
    ran(
        capsys, "combine", "pool", "--id", "who", "-k", 3, "--workers", 0,
        "-o", "out", "--save", "r.npz",
    )  # fmt: skip
    return PCE(3, random_state=0).fit(
        Ensemble.from_labels(labels(), names=MEMBERS, sample_ids=[f"w{i}" for i in range(ROWS)])
    )


def test_a_sample_is_explained_by_its_id_in_the_written_labels(saved, capsys):
    asked = ["w0", "w317", "w599", "w0"]
    command = ["explain", "r.npz", *asked, "--labels", "out"]
    told = json.loads(ran(capsys, *command, "--json"))["samples"]
    whole = Result.of(saved)
    for name, found in zip(asked, told, strict=True):
        expected = whole.explain(name)
        assert found["sample"] == name
        assert found["cluster"] == expected.cluster
        assert found["confidence"] == pytest.approx(expected.confidence)
        labels_of = [(vote["member"], vote["label"]) for vote in expected.votes.rows()]
        assert [(vote["member"], vote["label"]) for vote in found["votes"]] == labels_of
        assert found["sentence"].startswith(expected.sentence)
    rows = labels()
    same = int((rows == rows[317]).all(axis=1).sum())
    assert f"which represents {same} rows" in told[1]["sentence"]
    assert "Sample w317 is in cluster" in ran(capsys, *command)


def test_without_ids_a_sample_is_a_row_among_all(parts, capsys):
    without_ids()
    ran(capsys, "combine", "bare", "-k", 3, "--workers", 0, "-o", "out", "--save", "r.npz")
    whole = Result.of(PCE(3, random_state=0).fit(Ensemble.from_labels(labels())))
    asked = ["0", "99", "100", "301", "599"]
    told = ran(capsys, "explain", "r.npz", *asked, "--labels", "out", "--json")
    for place, found in zip(asked, json.loads(told)["samples"], strict=True):
        assert found["sentence"].startswith(whole.explain(int(place)).sentence)


def test_features_in_partitions_are_explained_too(parts, capsys):
    command = ["cluster", "points", "--id", "who", "-k", 3, "--members", 6, "--workers", 0]
    ran(capsys, *command, "-o", "out", "--save", "r.npz")
    label = dict(zip(*(read("out")[name] for name in ("who", "label")), strict=True))
    told = ran(capsys, "explain", "r.npz", "w77", "--labels", "out", "--json")
    assert json.loads(told)["samples"][0]["cluster"] == label["w77"]


def test_ids_that_cannot_be_looked_up_are_told_what_to_do(saved, capsys, refused):
    line = refused("explain", "r.npz", "w5")
    assert "r.npz holds 25 distinct rows (0 to 24), not the ids of the 600 rows" in line
    assert "--labels DIR" in line
    told = " ".join(ran(capsys, "explain", "r.npz", "5").split())
    assert "This distinct row represents" in told
    assert "no row has 'nobody'" in refused("explain", "r.npz", "w1", "nobody", "--labels", "out")
    assert "is not a directory of parquet files" in refused(
        "explain", "r.npz", "w1", "--labels", "r.npz"
    )
    assert "not written with this result" in refused("explain", "r.npz", "w1", "--labels", "pool")
    ran(capsys, "combine", "labels.csv", "-k", 2, "--save", "plain.npz")
    line = refused("explain", "plain.npz", "0", "--labels", "out")
    assert "leave it out for plain.npz" in line


def test_no_scheduler_is_said_within_seconds(parts, refused):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    line = refused("combine", "pool", "--id", "who", "-k", 3, "--scheduler", address)
    assert f"no Dask scheduler answers at {address}" in line
    assert time.monotonic() - began < 60


def test_without_dask_one_line_says_how_to_get_it(parts, refused, monkeypatch):
    monkeypatch.setattr("coterie.core.packages.find_spec", lambda name: None)
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


def test_without_pyarrow_one_line_says_how_to_get_it(parts, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for command in (("combine", "pool", "-k", 3), ("select", "pool", "--labels", "-k", "2-3")):
        assert 'pool: parquet needs pyarrow; run: pip install "coterie[io]"' in refused(*command)
