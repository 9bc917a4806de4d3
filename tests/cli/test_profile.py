"""coterie profile: what the clusters of a saved result are."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np

from coterie import Result, profile
from coterie.cli import main
from tests.cli.conftest import CLASSES, POINTS


def test_sentences_rules_and_external_columns(saved, capsys):
    assert main(["profile", "result.npz", "data.csv"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    text = " ".join(out.split())
    assert "result.npz, data.csv: 3 clusters of 60 samples, described by 3 columns" in text
    assert "has higher x (median" in text
    assert "Rule: x > " in text
    assert (
        "; of the columns not used for clustering, more often kind = b (100 % against 0 %)." in text
    )
    # the known classes were not clustered by
    assert "kind category 1" in text
    assert "by construction" in text


def test_rows_in_another_order_are_matched_by_id(saved, capsys):
    head, *lines = Path("data.csv").read_text().splitlines()
    Path("turned.csv").write_text("\n".join([head, *lines[::-1], "new,1,1,a"]) + "\n")
    records = []
    for name in ("data.csv", "turned.csv"):
        assert main(["profile", "result.npz", name, "--json"]) == 0
        records.append(json.loads(capsys.readouterr().out))
    one, other = records
    assert one["table"] == other["table"]
    assert "1 row of the table without a sample left out." in other["notes"]


def test_ids_that_do_not_match_are_refused_and_rows_without_ids_are_taken_in_order(
    saved, refused, capsys
):
    text = Path("data.csv").read_text()
    Path("others.csv").write_text(text.replace("\ns", "\nt"))
    message = refused("profile", saved, "others.csv")
    assert "the ids of the rows are such as 't0', those of the samples such as 's0'" in message
    assert main(["profile", "result.npz", "features.csv"]) == 0
    assert "taken in the order of the samples" in " ".join(capsys.readouterr().out.split())
    assert main(["profile", "result.npz", "features.csv", "--json"]) == 0
    assert "No column holds the ids" in json.loads(capsys.readouterr().out)["notes"][0]
    assert main(["profile", "result.npz", "data.csv"]) == 0
    assert "No column holds" not in capsys.readouterr().out


def test_json_and_the_table_hold_everything(saved, capsys):
    assert main(["profile", "result.npz", "data.csv", "--json", "-o", "out.csv"]) == 0
    facts = json.loads(capsys.readouterr().out)
    X = {"x": POINTS[:, 0], "y": POINTS[:, 1], "kind": ["abc"[c] for c in CLASSES]}
    expected = profile(X, Result.load("result.npz"), external=["kind"])
    assert facts["sentences"] == [*expected.sentences]
    assert [row["column"] for row in facts["annotations"]] == ["kind"]
    assert len(facts["table"]) == 9
    assert len(facts["rules"]) == 3
    assert facts["files"] == {"table": "out.csv"}
    with open("out.csv", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [row["column"] for row in rows] == expected.table["column"].tolist()


def test_a_pair_of_clusters(saved, capsys):
    assert main(["profile", "result.npz", "data.csv", "--between", "0", "2", "--confidence"]) == 0
    out = capsys.readouterr().out
    assert "cluster 0" in out
    assert "cluster 2" in out
    assert main(["profile", "result.npz", "data.csv", "--between", "0", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["between"]) == 3


def test_what_is_refused(saved, refused):
    assert "the clusters are 0 to 2" in refused("profile", saved, "data.csv", "--between", "0", "x")
    assert "both are 1" in refused("profile", saved, "data.csv", "--between", "1", "1")
    assert "has no column 'agee'" in refused("profile", saved, "data.csv", "--external", "agee")
    assert "would overwrite the input" in refused("profile", saved, "data.csv", "-o", "data.csv")
    assert "labels.csv has 7 rows, but the clustering has 60" in refused(
        "profile", saved, "labels.csv"
    )
    Path("part.csv").write_text("\n".join(Path("data.csv").read_text().splitlines()[:50]) + "\n")
    assert "no row for 11 samples" in refused("profile", saved, "part.csv", "--id", "name")


def test_cluster_prints_what_tells_the_clusters_apart(saved, capsys):
    assert main(["cluster", "data.csv", "-k", "3", "--truth", "kind"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for cluster in range(3):
        assert f"Cluster {cluster} has " in " ".join(out.split())
    assert main(["cluster", "data.csv", "-k", "3", "--truth", "kind", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["profile"]
    assert [row["cluster"] for row in facts] == [0, 1, 2]
    assert all(row["sentence"] in " ".join(out.split()) for row in facts)
    assert "of cluster 0" in facts[0]["rule"]
    assert main(["cluster", "data.csv", "-k", "1", "--truth", "kind"]) == 0
    assert "Cluster 0 has all 60 samples: there is nothing to compare" in capsys.readouterr().out


def test_one_cluster_that_was_chosen_says_how_to_get_groups(folder, capsys):
    rows = np.random.default_rng(2).random((90, 4))
    np.savetxt("noise.csv", rows, delimiter=",", header="a,b,c,d", comments="")
    assert main(["cluster", "noise.csv"]) == 0
    captured = capsys.readouterr()
    # the reason is in the summary, so no warning repeats it
    assert captured.err == ""
    text = " ".join(captured.out.split())
    assert "There is no structure: " in text
    assert "Cluster 0 has all 90 samples: there is nothing to compare it with." in text
    assert "To have groups described all the same, ask for a number of them: -k 2" in text


def test_dates_and_shares_of_a_pair_are_shown_as_people_write_them(saved, capsys):
    head, *lines = Path("data.csv").read_text().splitlines()
    days = np.datetime64("2024-01-01") + np.arange(len(lines))
    dated = [f"{line},{day}" for line, day in zip(lines, days, strict=True)]
    Path("dated.csv").write_text("\n".join([f"{head},joined", *dated]) + "\n")
    assert main(["profile", "result.npz", "dated.csv", "--between", "0", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"joined +2024-\d\d-\d\d.* +2024-\d\d-\d\d.* +[+-]\d\.\d\d +[01]\.\d\d\n", out)
    assert re.search(r"kind = [abc] +(0|100) % +(0|100) % ", out)
    assert max(map(len, out.splitlines())) <= 80
