"""Choosing k, saving, reporting and explaining from the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from coterie import report
from coterie.cli import main
from coterie.core.errors import ResultFileError
from coterie.result import Result
from tests.cli.conftest import CLASSES, CLUSTER


def test_one_command_to_labels_result_and_report(folder, capsys):
    files = ["-o", "labels.parquet", "--save", "result.npz", "--report", "report.html"]
    assert main([*CLUSTER, "-k", "auto", *files]) == 0
    out = capsys.readouterr().out
    for name in ("labels.parquet", "result.npz", "report.html"):
        assert f"written to {name}" in out
        assert Path(name).exists()
    assert max(map(len, out.splitlines())) <= 80
    result = Result.load("result.npz")
    assert result.n_clusters == 3
    assert result.selection.recommended == 3
    assert result.ensemble.sample_ids.tolist()[:2] == ["s0", "s1"]
    assert result.input["file"] == "data.csv"
    assert len(result.input["sha256"]) == 64


def test_json_is_one_document_with_everything(folder, capsys):
    assert main([*CLUSTER, "-k", "2-5", "-o", "out.csv", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_clusters"] == 3
    assert [cluster["size"] for cluster in facts["clusters"]] == [20, 20, 20]
    assert facts["selection"]["recommended"] == 3
    assert facts["selection"]["table"]["k"] == [2, 3, 4, 5]
    assert facts["agreement"]["ARI"] == 1.0
    assert facts["files"] == {"labels": "out.csv"}


def test_noise_is_said_to_be_noise(folder, capsys):
    X = np.random.default_rng(1).random((300, 4))
    np.savetxt("noise.csv", X, delimiter=",", header="a,b,c,d", comments="")
    assert main(["cluster", "noise.csv", "-k", "auto", "-o", "out.csv"]) == 0
    out = capsys.readouterr().out
    assert "no structure" in out
    assert "lwea: 1 cluster\n" in out
    assert "1.00" not in out


def test_labels_choose_k_too(folder, capsys):
    rng = np.random.default_rng(0)
    columns = [np.where(rng.random(60) < 0.02, rng.integers(0, 3, 60), CLASSES) for _ in range(8)]
    np.savetxt(
        "many.csv", np.stack(columns, 1), "%d", ",", header=",".join("abcdefgh"), comments=""
    )
    assert main(["combine", "many.csv", "-k", "auto", "--method", "spce", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_clusters"] == 3


def test_select_takes_more_rows_than_the_default_method(folder, capsys, monkeypatch):
    monkeypatch.setattr("coterie.cli._clustering.MANY_ROWS", 10)
    assert main(["select", "features.csv", "-k", "2-4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recommended"] == 3


def test_select_prints_and_writes_its_table(folder, capsys):
    assert main(["select", "features.csv", "-k", "2-6", "-o", "k.csv"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert Path("k.csv").read_text().splitlines()[0].startswith("k,")
    assert len(Path("k.csv").read_text().splitlines()) == 6
    assert main(["select", "features.csv", "-k", "2-6", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recommended"] == 3


def test_report_of_a_saved_result(saved, capsys):
    assert main(["report", str(saved), "--title", "Three heaps"]) == 0
    assert "report written to result.html" in capsys.readouterr().out
    assert "Three heaps" in Path("result.html").read_text(encoding="utf-8")


def test_explain_names_members_and_cluster(saved, capsys):
    assert main(["explain", str(saved), "s5", "s50"]) == 0
    out = capsys.readouterr().out
    assert "s5 is in cluster 0" in out
    assert "s50 is in cluster 2" in out
    assert main(["explain", str(saved), "s5", "--json"]) == 0
    (sample,) = json.loads(capsys.readouterr().out)["samples"]
    assert sample["cluster"] == 0
    assert len(sample["votes"]) == 60
    assert sum(sample["memberships"]) == pytest.approx(1)
    assert 0 < sample["attachment"] <= 1


def test_explain_shows_those_that_differ_first(folder, capsys):
    Path("m.csv").write_text("a,b,c,d\n0,0,,x\n0,0,1,y\n1,0,1,y\n1,1,2,\n1,1,2,y\n")
    assert main(["combine", "m.csv", "-k", "2", "--save", "m.npz"]) == 0
    capsys.readouterr()
    assert main(["explain", "m.npz", "2"]) == 0
    table = capsys.readouterr().out.split("\n\n")[1]
    votes = {line.split()[0][-1]: line.split()[2:4] for line in table.splitlines()[2:]}
    told = Result.load("m.npz").explain(2).votes
    words = {True: "yes", False: "no", None: "tie"}
    for member, agrees in zip("abcd", told["agrees"].tolist(), strict=True):
        assert votes[member][0] == words[agrees]
    order = [vote for vote, _ in votes.values()]
    assert order == sorted(order, key=["no", "tie", "yes"].index)
    assert {"no", "yes"} <= {*order}
    assert main(["explain", "m.npz", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["d", *"----"]


def test_a_result_needs_its_extension(saved):
    result = Result.load(saved)
    before = sorted(os.listdir())
    for name in ("again", "again.json"):
        with pytest.raises(ResultFileError, match=r"again.*: name a file with the extension \.npz"):
            result.save(name)
    assert sorted(os.listdir()) == before


def test_an_unknown_sample_gets_near_ones(saved, capsys):
    assert main(["explain", str(saved), "s5x"]) == 2
    assert "'s5'" in capsys.readouterr().err


def test_an_interruption_says_what_is_complete(folder, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write", interrupted)
    command = [*CLUSTER, "-k", "3", "-o", "out.csv", "--report", "report.html"]
    assert main(command) == 130
    assert (
        capsys.readouterr().err == "coterie: interrupted while writing; already written: out.csv\n"
    )
    assert not [name for name in os.listdir(folder) if name.endswith((".tmp", ".html"))]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "0-4"], "range such as 2-10"),
        (["-k", "7-4"], "range such as 2-10"),
        (["-k", "few"], "auto chooses it"),
        (["-k", "3", "--report", "page.pdf"], ".html"),
        (["-k", "3", "--save", "result.json"], ".npz"),
        (["-k", "3", "--report", "nowhere/page.html"], "no directory"),
        (["-k", "3", "--save", "same.npz", "--report", "same.npz"], ".html"),
    ],
)
def test_bad_requests_are_refused(refused, arguments, words):
    assert words in refused(*CLUSTER, *arguments)


def test_what_is_no_result_is_refused(refused, folder):
    Path("cut.npz").write_bytes(b"PK\x03\x04 and nothing more")
    for command in (["report", "cut.npz"], ["explain", "cut.npz", "0"]):
        assert "cut.npz" in refused(*command)
    assert "there.npz" in refused("report", "there.npz")
    assert "--labels" in refused("select", "a.csv", "b.csv")


def test_a_report_without_its_engine_is_refused_before_the_work(refused, monkeypatch):
    monkeypatch.setattr("coterie.core.packages.find_spec", lambda name: None)
    assert "coterie[report]" in refused(*CLUSTER, "-k", "3", "-o", "x.csv", "--report", "x.html")


def test_a_page_does_not_take_the_place_of_its_result(folder, saved):
    name = folder / "copy.html"
    name.write_bytes(saved.read_bytes())
    before = name.read_bytes()
    code = main(["report", str(name)])
    assert code == 2
    assert name.read_bytes() == before
