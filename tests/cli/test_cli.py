"""The command line: what it writes, what it says, and how it refuses."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import coterie
from coterie import EAC, PCE, Ensemble
from coterie.cli import main
from tests.cli.conftest import CLASSES, POINTS


def run(
    *arguments: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "coterie", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **environment},
        timeout=300,
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def same_partition(one, other) -> bool:
    pairs = set(zip(one, other, strict=True))
    return len(pairs) == len(set(one)) == len(set(other))


# ---------------------------------------------------------------------- what works


def test_combine_joins_tables_that_overlap_in_part(folder):
    done = run("combine", "a.csv", "b.csv", "c.csv", "--id", "customer", "-k", 3, "-o", "out.csv")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = rows_of(folder / "out.csv")
    assert [row["customer"] for row in rows] == [
        "ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal",
    ]  # fmt: skip
    assert [*rows[0]] == ["customer", "label", "confidence"]
    assert {row["label"] for row in rows} == {"0", "1", "2"}
    assert all(0 <= float(row["confidence"]) <= 1 for row in rows)
    assert "3 files joined by 'customer': 8 samples" in done.stdout
    assert "out.csv" in done.stdout
    assert not [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_combine_groups_similar_rows_and_says_how_far(folder, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    rows = np.repeat([0, 1, 2], 100)[:, None] * 5 + rng.integers(0, 5, (300, 8))
    pd.DataFrame(rows, columns=[*"abcdefgh"]).to_csv("rows.csv", index=False)
    command = ["combine", "rows.csv", "-k", "3", "--method", "eac"]
    assert main([*command, "--approximate", "60", "-o", "out.csv"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "300 distinct label rows were grouped into 60. On average, " in text
    labels = [row["label"] for row in rows_of(folder / "out.csv")]
    model = EAC(3, approximate=60).fit(rows)
    assert same_partition(labels, model.labels_.tolist())
    assert main([*command, "--approximate", "60", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["approximation"] == model.approximation_.text
    assert main([*command, "--approximate", "auto"]) == 0
    assert "grouped" not in capsys.readouterr().out
    assert main([*command, "--approximate", "60", "--set", "approximate=50"]) == 2
    assert "--set approximate: leave it out" in capsys.readouterr().err
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "300kB")
    assert main(command) != 0
    assert "or group similar label rows with --approximate auto" in capsys.readouterr().err


def test_cluster_finds_the_blobs_and_says_so(folder, capsys):
    command = ["cluster", "data.csv", "-k", "3", "--id", "name", "--truth", "kind", "--seed", "1"]
    assert main([*command, "-o", "out.csv"]) == 0
    out = capsys.readouterr().out
    rows = rows_of(folder / "out.csv")
    assert [row["name"] for row in rows] == [f"s{i}" for i in range(60)]
    assert same_partition([row["label"] for row in rows], CLASSES.tolist())
    assert "60 samples, 2 columns used" in out
    assert "ACC 1.000" in out
    assert "mean confidence" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main([*command, "-o", "again.csv", "--jobs", "2"]) == 0
    assert (folder / "again.csv").read_bytes() == (folder / "out.csv").read_bytes()


def test_help_imports_nothing_heavy(folder):
    code = (
        "import sys; from coterie.cli import main; code = main(sys.argv[1:]); "
        "heavy = {'numpy', 'numba', 'scipy', 'sklearn', 'rich', 'pandas', 'pyarrow'} & {*sys.modules};"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    for arguments in (["--help"], ["cluster", "--help"], ["--version"], []):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_demo_writes_labels_and_compares(folder, capsys):
    assert main(["demo", "--out", "made/here"]) == 0
    out = capsys.readouterr().out
    assert len(rows_of(folder / "made" / "here" / "labels.csv")) == 1797
    assert "their consensus" in out
    assert str(Path("made/here/labels.csv")) in out
    assert max(map(len, out.splitlines())) <= 80


def test_columns_of_one_file_are_members(folder, capsys):
    assert main(["combine", "labels.csv", "-k", "3", "-o", "out.tsv"]) == 0
    # the members are the user's own, so the summary judges them
    assert "is nearest to the consensus (ARI" in " ".join(capsys.readouterr().out.split())
    assert main(["combine", "labels.csv", "-k", "1"]) == 0
    rows = (folder / "out.tsv").read_text().splitlines()
    assert rows[0] == "row\tlabel\tconfidence"
    assert [row.split("\t")[0] for row in rows[1:]] == [str(i) for i in range(7)]
    expected = PCE(3, random_state=0).fit_predict(
        {"u": [0, 0, 0, 1, 1, 2, 2], "v": [*"aabbbcc"], "w": [1, 1, 1, 2, 2, None, 3]}
    )
    assert [int(row.split("\t")[1]) for row in rows[1:]] == expected.tolist()
    out = capsys.readouterr().out
    assert "3 members" in out
    assert "Method: PCE, because labels are missing.\n" in out


def test_the_method_is_chosen_for_what_was_given(folder, capsys):
    half = np.full((80, 2), -1)
    half[:41, 0], half[39:, 1] = np.arange(41) % 2, np.arange(39, 80) % 2
    np.savetxt("parties.csv", half, delimiter=",", header="a,b", comments="", fmt="%d")
    assert main(["combine", "parties.csv", "-k", "2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Method: Voting, because few samples link the 2 groups of members" in out
    assert "Only 2 samples link the 2 parties" in out
    assert main(["combine", "parties.csv", "-k", "2", "--method", "lwea"]) == 0
    assert "because" not in capsys.readouterr().out


def test_files_side_by_side(folder, capsys):
    Path("one.csv").write_text("c\n0\n0\n1\n1\n")
    np.save("two.npy", np.array([[0, 5], [0, 5], [0, 6], [1, 6]]))
    assert main(["combine", "one.csv", "two.npy", "-k", "2", "-o", "out.parquet"]) == 0
    assert "3 members" in capsys.readouterr().out
    from pyarrow import parquet

    found = parquet.read_table("out.parquet")
    assert found.column_names == ["row", "label", "confidence"]
    assert found.num_rows == 4


def test_label_picks_columns_and_truth_is_no_member(folder, capsys):
    arguments = ["combine", "b.csv", "--id", "customer", "--label", "segment", "-k", "2"]
    assert main([*arguments, "--truth", "tier"]) == 0
    out = capsys.readouterr().out
    assert "1 member," in out
    assert "agreement with 'tier': ACC 1.000, NMI 1.000, ARI 1.000" in out
    assert "labels were not written" in out


def test_label_columns_may_differ_between_files(folder, capsys):
    files = ["a.csv", "b.csv"]
    assert (
        main(["combine", *files, "--id", "customer", "--label", "cluster", "tier", "-k", "2"]) == 0
    )
    assert "2 members" in capsys.readouterr().out


def test_without_k_the_method_chooses(folder, capsys):
    assert main(["combine", "labels.csv", "--method", "eac"]) == 0
    out = capsys.readouterr().out
    assert "eac: " in out
    assert "as many as the method chose" in out


def test_settings_reach_the_method(folder):
    for linkage in ("average", "single"):
        arguments = ["combine", "labels.csv", "-k", "2", "--method", "eac", "-o", "out.csv"]
        assert main([*arguments, "--set", f"linkage={linkage}"]) == 0
        labels = [int(row["label"]) for row in rows_of(folder / "out.csv")]
        table = {"u": [0, 0, 0, 1, 1, 2, 2], "v": [*"aabbbcc"], "w": [1, 1, 1, 2, 2, None, 3]}
        assert labels == EAC(2, linkage=linkage).fit_predict(table).tolist()


def test_ids_that_are_numbers_here_and_text_there(folder, capsys):
    Path("n.csv").write_text("customer,c\n1,0\n2,0\n3,1\n")
    Path("t.csv").write_text("customer,c\n2,0\n3,1\nx9,1\n")
    assert main(["combine", "n.csv", "t.csv", "--id", "customer", "-k", "2", "-o", "out.csv"]) == 0
    assert [row["customer"] for row in rows_of(folder / "out.csv")] == ["1", "2", "3", "x9"]


def test_mat_file_end_to_end(folder, capsys, shared_data):
    path = shared_data / "mat" / "Ecoli.mat"
    assert main(["combine", str(path), "-k", "8", "--truth", "gt", "-o", "out.csv"]) == 0
    assert "336 samples" in capsys.readouterr().out
    assert len(rows_of(folder / "out.csv")) == 336


def test_methods_shows_parameters_cost_and_paper(folder, capsys):
    assert main(["methods"]) == 0
    out = capsys.readouterr().out
    for words in (
        "eac",
        "linkage=average",
        "one of 'average', 'complete', 'single'",
        "cost",
        "2005",
    ):
        assert words in out
    assert max(map(len, out.splitlines())) <= 80


def test_every_method_of_the_catalogue_is_public_and_complete():
    from coterie.solvers.methods import all_methods

    for name, method in all_methods().items():
        assert getattr(coterie, method.__name__) is method
        about = method.about
        assert name == about.name == name.lower()
        assert all([about.summary, about.cost, about.paper, about.scaling])
        labels = [[0, 0, 1], [0, 0, 1], [1, 1, 1], [1, 1, 0]]
        assert len(set(method(n_clusters=2).fit_predict(labels).tolist())) == 2


def test_hostile_names_stay_text(folder, capsys):
    Path("t.csv").write_text("[bold red]id,[/x]\n[link]a,1\nb,1\nc,2\n")
    assert main(["combine", "t.csv", "--id", "[bold red]id", "-k", "2", "-o", "out.csv"]) == 0
    assert "([bold red]id, label, confidence)" in capsys.readouterr().out


def test_a_terminal_that_cannot_show_a_name(folder):
    (folder / "t.csv").write_text("größe,c\na,1\nb,1\nc,2\n", encoding="utf-8")
    done = run(
        "combine", "t.csv", "--id", "größe", "-k", 2, "-o", "out.csv", PYTHONIOENCODING="ascii"
    )
    assert done.returncode == 0, done.stderr
    assert "gr\\xf6\\xdfe" in done.stdout


def test_an_existing_output_is_replaced(folder):
    Path("out.csv").write_text("old")
    assert main(["combine", "labels.csv", "-k", "2", "-o", "out.csv"]) == 0
    assert len(rows_of(folder / "out.csv")) == 7


# ---------------------------------------------------------------------- what is refused


def test_combine_takes_a_linear_method_for_many_distinct_rows(folder, capsys):
    Path("many.csv").write_text("a,b\n" + "".join(f"{i // 110},{i % 110}\n" for i in range(12_001)))
    assert main(["combine", "many.csv", "-k", "2", "-o", "out.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["method"] == "lwgp"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b\n0,1\n0\n1,1\n", "t.csv, line 3: 1 cell, but the header names 2 columns"),
        ("a,b\n,0\n,0\n,1\n", "t.csv: 1 member without any label: 'a'"),
        ("", "t.csv is empty"),
        ("a,b\n", "t.csv holds a header but no rows"),
        ("a,b\n0,1\n0.5,1\n", "t.csv, line 3: column 'a' holds 0.5 (labels must be whole numbers"),
        ("a,b\n0,1\n-inf,1\n", "t.csv, line 3: column 'a' holds -inf (an infinite value"),
        ("a,a\n0,1\n1,1\n", "t.csv: the first line names 'a' more than once"),
        ("PAR1" + "x" * 20 + "PAR1", "t.csv is not what its extension says: it is a parquet file"),
    ],
)
def test_combine_refuses_bad_labels(refused, content, says):
    # made before the snapshot of the directory is taken
    Path("t.csv").write_text(content)
    assert says in refused("combine", "t.csv", "-k", 2, "-o", "out.csv")


@pytest.mark.parametrize("name", ["id", "customer"])
def test_a_repeated_id_is_named_with_its_file(refused, name):
    for file, ids in (("one", range(9)), ("two", [0, 1, 2, 2, 4, 5, 6, 7, 8])):
        Path(f"{file}.csv").write_text(f"{name},a\n" + "".join(f"{i},{i % 2}\n" for i in ids))
    line = refused("combine", "one.csv", "two.csv", "-k", 2)
    assert f"two.csv, column '{name}': the id 2 is in line 4 and line 5; ids must differ" in line


def test_samples_without_any_label_stay_noise(capsys, folder):
    Path("t.csv").write_text("a,b\n" + "0,1\n" * 3 + ",\n" * 7 + "1,0\n" * 4)
    files = ["-o", "out.csv", "--save", "r.npz", "--report", "r.html"]
    assert main(["combine", "t.csv", "-k", "2", *files]) == 0
    shown = capsys.readouterr().out
    assert "-1 (noise)        7  50.0 %" in shown
    assert "7 samples without a label in any member stay" in " ".join(shown.split())
    rows = Path("out.csv").read_text().splitlines()
    assert rows[4:6] == ["3,-1,0.0", "4,-1,0.0"]
    assert main(["explain", "r.npz", "3"]) == 0
    assert "Sample 3 is in no cluster" in capsys.readouterr().out
    assert "7 more without a label, in no cluster" in Path("r.html").read_text()
    assert main(["select", "--labels", "t.csv", "-k", "1-2", "--json"]) == 0


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("x,y\n1,2\n1,inf\n", [], "t.csv: infinite values in column 'y' (1, first in line 3)"),
        ("x,y\n1,2\n1,oops\n2,3\n", [], "line 3: column 'y' holds 'oops', which is not a number"),
        ("x,y\n1,2\n1,2\n2,2\n", ["--columns", "y"], "no column is left to cluster by"),
        ("x,y\n1,2\n1,2\n2,3\n", ["--drop", "x", "y"], "t.csv: no column is left to cluster"),
        ("x,y\n1,2\n1,2\n2,3\n", ["--columns", "x", "x"], "column 'x' is named twice"),
        ("x,y\n1,2\n1,2\n2,3\n", ["--categories", "z"], "no column 'z' (its columns are x, y)"),
        ("x,y\n1,2\n1,3\n2\n", [], "line 4: 1 cell"),
        ("x,y\n1,2\n", ["-k", "1"], "t.csv has one row"),
        ("x,y\n1,2\n3,4\n", ["-k", "3"], "-k 3 asks for more clusters than t.csv has rows (2)"),
        ("x,y\n1,2\n1,2\n1,2\n", ["-k", "2"], "'x' (constant), 'y' (constant); check"),
        (
            "x,y\n1,2\n-1e308,3\n",
            [],
            "column 'x' holds values as large as 1e+308, whose squares overflow",
        ),
        ("x,y\n1,2\n3,4\n", ["--id", "z"], "no column 'z' (its columns are x, y)"),
        ("x,y\n1,2\n3,4\n", ["--columns", "z"], "no column 'z' (its columns are x, y)"),
        ("x,y\n1,2\n3,4\n", ["--drop", "z"], "no column 'z' (its columns are x, y)"),
        ("x,y\n1,2\n3,4\n", ["--truth", "z"], "no column 'z' (its columns are x, y)"),
        ("x,label\n1,2\n3,4\n", ["--id", "label"], "the output has another column with that name"),
    ],
)
def test_cluster_refuses_bad_features(refused, content, options, says):
    Path("t.csv").write_text(content)
    assert says in refused("cluster", "t.csv", "-k", 1, *options, "-o", "out.csv")


def test_text_dates_and_gaps_are_encoded(folder, capsys):
    lines = [
        f"c{i},{'' if i % 7 == 3 else x},{y},{'ab'[k > 0]},2024-01-{k + 1:02},yes"
        for i, ((x, y), k) in enumerate(zip(POINTS, CLASSES.tolist(), strict=True))
    ]
    Path("t.csv").write_text("\n".join(["who,x,y,plan,day,same", *lines]) + "\n")
    assert main(["cluster", "t.csv", "-k", "3", "-o", "out.csv", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    kinds = {column["column"]: (column["kind"], column["used"]) for column in facts["columns"]}
    assert kinds == {
        "who": ("id", False),
        "x": ("number", True),
        "y": ("number", True),
        "plan": ("category", True),
        "day": ("date", True),
        "same": ("constant", False),
    }
    assert facts["verdict"]["reliable"]
    rows = rows_of(folder / "out.csv")
    # the column of ids names the samples
    assert [row["who"] for row in rows] == [f"c{i}" for i in range(60)]
    assert same_partition([row["label"] for row in rows], CLASSES.tolist())
    assert main(["cluster", "t.csv", "-k", "3", "--drop", "day", "--scale", "robust"]) == 0
    out = capsys.readouterr().out
    assert "column 'day' (date) left out on request" in out
    assert "column 'who' (id) left out: differs in every row" in out
    assert "expected agreement" in out


@pytest.mark.parametrize(
    "option", [["--drop", "y"], ["--columns", "x", "z"], ["--categories", "y"]]
)
def test_columns_that_are_not_numbers_to_cluster_by_may_hold_stray_text(folder, capsys, option):
    lines = [f"{x},{i % 2 if i else 'oops'},{z}" for i, (x, z) in enumerate(POINTS)]
    Path("t.csv").write_text("\n".join(["x,y,z", *lines]) + "\n")
    assert main(["cluster", "t.csv", "-k", "3", *option]) == 0


@pytest.mark.parametrize("command", [["cluster"], ["select", "-k", "2-4"]])
def test_every_generator_and_way_to_prepare(folder, capsys, command):
    for options in (["--scale", "none"], ["--impute", "median"], ["--categories", "kind"]):
        assert main([*command, "data.csv", "--id", "name", "--members", "10", *options]) == 0
    if command == ["cluster"]:
        for name in ("subsample", "features", "spectral"):
            options = ["--generator", name, "--members", "10", "--min-cluster-size", "2"]
            assert main([*command, "features.csv", "-k", "3", *options]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["combine", "absent.csv"], "absent.csv: no such file"),
        (["combine", "."], "is a directory"),
        (
            ["combine", "labels.csv", "-k", "0"],
            "-k/--clusters: must be a whole number of at least 1",
        ),
        (["combine", "labels.csv", "-k", "two"], "but is 'two'"),
        (["combine", "labels.csv", "-k", f"2-{'9' * 5000}"], "must be a range such as 2-10"),
        (["combine", "labels.csv", "-k", "6"], "the samples (n_samples=7) have only"),
        (["combine", "labels.csv", "--method", "eca"], "unknown method 'eca'; did you mean 'eac'?"),
        (["combine", "labels.csv", "--method", "zzz"], "(known: bce, ceshl"),
        (["combine", "labels.csv", "--set", "linkag=x"], "no parameter 'linkag'; did you mean"),
        (["combine", "labels.csv", "--set", "linkage=ward"], "linkage must be one of 'average'"),
        (["combine", "labels.csv", "--set", "linkage"], "write NAME=VALUE"),
        (["combine", "labels.csv", "--set", "n_clusters=3"], "use -k instead"),
        (["combine", "labels.csv", "--set", "random_state=3"], "use --seed instead"),
        (
            ["combine", "ids.csv", "--id", "customer"],
            "ids.csv: no column is left to cluster or combine",
        ),
        (["combine", "labels.csv", "a.csv"], "a.csv has 4 rows, but labels.csv has 7"),
        (["combine", "a.csv", "a.csv"], "a.csv is given twice"),
        (
            ["combine", "a.csv", "labels.csv", "--id", "customer"],
            "labels.csv has no column 'customer'",
        ),
        (["combine", "a.csv", "--id", "custmer"], "its columns are customer, cluster"),
        (["combine", "a.csv", "b.csv", "--id", "customer", "--label", "z"], "no column 'z'"),
        (["combine", "a.csv", "--id", "customer", "--truth", "z"], "no column 'z'"),
        (["combine"], "required: LABELS"),
        (["combine", "labels.csv", "--colour", "red"], "--colour"),
        (
            ["combine", "labels.csv", "-o", "out.xlsx"],
            "out.xlsx: name a file with the extension .csv",
        ),
        (["combine", "labels.csv", "-o", "absent/out.csv"], "there is no directory absent"),
        (["combine", "labels.csv", "-o", "a.csv/out.csv"], "a.csv is not a directory"),
        (["combine", "labels.csv", "-o", "labels.csv"], "would overwrite the input labels.csv"),
        (["cluster", "features.csv", "-o", "./features.csv"], "would overwrite the input"),
        (["cluster", "features.csv", "--members", "0"], "--members: must be a whole number"),
        (["cluster", "features.csv", "--jobs", "0"], "-1 takes all cores"),
        (["cluster", "features.csv", "--seed", "-3"], "--seed"),
        (["methods", "eca"], "unknown method 'eca'; did you mean 'eac'? (known: bce, ceshl"),
        (["clutser", "features.csv"], "unknown command 'clutser'; did you mean 'cluster'?"),
        (["demo", "--out", "a.csv"], "--out a.csv is a file; name a directory"),
    ],
)
def test_other_mistakes_are_told_in_one_line(refused, arguments, says):
    assert says in refused(*arguments)


def test_a_duplicated_id_is_named_with_its_lines(refused):
    Path("t.csv").write_text("customer,c\nann,1\nbob,2\nann,2\n")
    line = refused("combine", "a.csv", "t.csv", "--id", "customer", "-k", 2, "-o", "out.csv")
    assert "t.csv, column 'customer': the id 'ann' is in line 2 and line 4; ids must differ" in line


def test_ids_written_differently_are_not_guessed(refused):
    Path("n.csv").write_text("customer,c\n7,0\n8,0\n")
    Path("t.csv").write_text("customer,c\n007,0\n008,1\n")
    line = refused("combine", "n.csv", "t.csv", "--id", "customer", "-k", 2, "-o", "out.csv")
    assert "t.csv writes ids such as '007', but n.csv writes plain whole numbers" in line


def test_long_ids_are_compared_digit_by_digit(folder):
    ids = [str(2**53 + i) for i in range(1, 5)]
    Path("n.csv").write_text("customer,c\n" + "".join(f"{one},0\n" for one in ids))
    Path("t.csv").write_text("customer,d\nx,1\n" + "".join(f"{one},0\n" for one in ids))
    options = ("--id", "customer", "-k", "2", "-o", "out.csv")
    assert main(["combine", "n.csv", "t.csv", *options]) == 0
    assert [row["customer"] for row in rows_of(Path("out.csv"))] == [*ids, "x"]


def test_whole_ids_among_fractions_are_those_of_text(folder):
    pd.DataFrame({"customer": [1.0, 2.0, 2.5], "c": [0, 0, 1]}).to_parquet("n.parquet")
    Path("t.csv").write_text("customer,d\n1,0\n2,0\n2.5,1\nx,1\n")
    options = ("--id", "customer", "-k", "2", "-o", "out.csv")
    assert main(["combine", "t.csv", "n.parquet", *options]) == 0
    assert [row["customer"] for row in rows_of(Path("out.csv"))] == ["1", "2", "2.5", "x"]


def write_shuffled(*names, first="customer"):
    """Files of one clustering each, of the same 60 customers, in another order each."""
    for seed, name in enumerate(names):
        order = np.random.default_rng(seed).permutation(60)
        lines = [f"c{i:03},{CLASSES[i]}" for i in order]
        Path(name).write_text("\n".join([f"{first},segment", *lines]) + "\n")


@pytest.mark.parametrize("options", [[], ["--label", "segment"]])
def test_files_in_another_order_are_joined_by_the_id_they_share(folder, capsys, options):
    write_shuffled("p.csv", "q.csv", "r.csv")
    command = ["combine", "p.csv", "q.csv", "r.csv", *options, "-k", "3", "-o", "out.csv"]
    assert main(command) == 0
    assert "3 files joined by 'customer': 60 samples" in capsys.readouterr().out
    rows = rows_of(folder / "out.csv")
    of_id = [CLASSES[int(row["customer"][1:])] for row in rows]
    assert same_partition([row["label"] for row in rows], of_id)
    assert main(["select", "--labels", "p.csv", "q.csv", "-k", "2-3", "--json"]) == 0


def test_a_count_of_rows_is_no_better_id_than_names(folder, capsys):
    write_shuffled("p.csv", "q.csv", first="name")
    for path in (Path("p.csv"), Path("q.csv")):
        lines = path.read_text().splitlines()
        path.write_text(
            "\n".join([f",{lines[0]}", *(f"{i},{one}" for i, one in enumerate(lines[1:]))])
        )
    assert (
        main(["combine", "p.csv", "q.csv", "--label", "segment", "-k", "3", "-o", "out.csv"]) == 0
    )
    assert "2 files joined by 'name'" in capsys.readouterr().out


def test_files_without_a_shared_id_are_joined_by_row_number(folder, capsys, refused):
    Path("p.csv").write_text("x,height\n0,1.5\n0,2.5\n1,3.5\n1,4.5\n")
    Path("q.csv").write_text("y,height\n0,4.5\n0,1.5\n1,2.5\n1,3.5\n")
    command = ["combine", "p.csv", "q.csv", "--label", "x", "y", "-k", "2", "-o", "out.csv"]
    assert main(command) == 0
    assert "2 files joined by row number: 4 samples" in capsys.readouterr().out
    Path("out.csv").unlink()
    Path("q.csv").write_text("y\n0\n0\n1\n")
    assert "name a column of ids to join them by (--id)" in refused(
        "combine", "p.csv", "q.csv", "-k", "2", "--label", "x", "y"
    )


def test_the_ids_of_one_file_of_labels_are_found(folder, capsys):
    Path("r.csv").write_text('"","a","b"\n"s1",0,1\n"s2",0,1\n"s3",1,0\n"s4",1,0\n')
    assert main(["combine", "r.csv", "-k", "2", "-o", "out.csv"]) == 0
    assert "r.csv, ids in 'id': 4 samples" in capsys.readouterr().out
    assert [row["id"] for row in rows_of(folder / "out.csv")] == ["s1", "s2", "s3", "s4"]


def test_files_without_a_sample_in_common_leave_nothing_to_combine(refused):
    Path("p.csv").write_text("customer,p\nann,0\nbob,1\n")
    Path("q.csv").write_text("customer,q\nAnn,0\nBob,1\n")
    line = refused("combine", "p.csv", "q.csv", "--id", "customer", "-k", 2, "-o", "out.csv")
    assert (
        "no sample is in two of the 2 files (the first ids in 'customer' are 'ann' and 'Ann')"
        in line
    )


def test_members_whose_names_meet_are_all_there(folder, capsys):
    Path("a.csv").write_text("b.c,z\n0,0\n0,1\n1,1\n1,1\n")
    Path("a.b.csv").write_text("c,z\n0,0\n0,0\n1,1\n1,0\n")
    assert main(["combine", "a.csv", "a.b.csv", "-k", "2", "-o", "out.csv"]) == 0
    assert "4 members" in capsys.readouterr().out


def test_classes_are_known_whichever_file_comes_first(folder, capsys):
    Path("p.csv").write_text("id,p,t\na,0,\nb,0,x\nc,1,\nd,1,y\n")
    Path("q.csv").write_text("id,q,t\na,0,x\nb,0,x\nc,1,y\nd,1,y\n")
    said = []
    for files in (("p.csv", "q.csv"), ("q.csv", "p.csv")):
        options = ("--id", "id", "--truth", "t", "-k", "2", "-o", "out.csv")
        assert main(["combine", *files, *options]) == 0
        said.append([line for line in capsys.readouterr().out.splitlines() if "ARI" in line])
    assert said[0] == said[1] != []


@pytest.mark.parametrize("place", [".", "/", ""])
def test_a_report_of_no_file_is_refused(refused, place):
    assert "is a directory" in refused("report", place)


def test_a_missing_result_is_named_before_the_place_of_its_page(refused):
    assert "none/r.npz: there is no such file" in refused("report", "none/r.npz")


def test_links_that_lead_to_themselves_are_no_files(refused):
    Path("loop.csv").symlink_to("loop.csv")
    line = refused("combine", "loop.csv", "labels.csv", "-k", 2, "-o", "out.csv")
    assert "loop.csv: no such file" in line


def test_an_id_that_is_named_as_labels(refused):
    Path("t.csv").write_text("who,c\n" + "".join(f"p{i},{i % 2}\n" for i in range(10)))
    named = refused("combine", "t.csv", "--label", "who", "c", "-k", 2, "-o", "out.csv")
    assert "give it as --id, or leave it out" in named


def test_memory_budget_is_a_mistake_of_the_users(refused, monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "100")
    assert "COTERIE_MEMORY_BUDGET" in refused("combine", "labels.csv", "-k", 2, "-o", "out.csv")


def test_output_is_checked_before_any_work(refused, monkeypatch):
    def must_not_run(*_):
        raise AssertionError("read before the output was checked")

    monkeypatch.setattr("coterie.cli._clustering.read_oriented", must_not_run)
    assert "no directory" in refused("cluster", "data.csv", "-k", 3, "-o", "absent/out.csv")


def test_refusal_in_a_process_of_its_own(folder):
    (folder / "t.csv").write_text("a,b\n1\n")
    for arguments, says in (
        (["combine", "t.csv", "-k", 2, "-o", "out.csv"], "t.csv, line 2"),
        (["cluster", "data.csv", "-k", "x"], "must be a whole number"),
    ):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert says in done.stderr
    assert not (folder / "out.csv").exists()


# ---------------------------------------------------------------------- faults and interruptions


def test_a_fault_of_ours_ends_with_one_line_and_1(folder, capsys, monkeypatch):
    def broken(*_):
        raise RuntimeError("an array\nof the wrong shape")

    monkeypatch.setattr(PCE, "_solve", broken)
    monkeypatch.delenv("COTERIE_DEBUG", raising=False)
    assert main(["combine", "labels.csv", "-k", "2", "-o", "out.csv"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "please report it" in err
    assert "RuntimeError: an array of the wrong shape" in err
    monkeypatch.setenv("COTERIE_DEBUG", "1")
    assert main(["combine", "labels.csv", "-k", "2", "-o", "out.csv"]) == 1
    assert "Traceback" in capsys.readouterr().err
    assert not Path("out.csv").exists()


def test_without_jinja2_nothing_is_begun(folder, capsys, monkeypatch):
    monkeypatch.setattr("coterie.core.packages.find_spec", lambda name: None)
    before = sorted(os.listdir(folder))
    combine = ["combine", "labels.csv", "-k", "2", "--report", "page.html"]
    for line, what in ((combine, "--report"), (["demo", "--out", "demo"], "the report of demo")):
        assert main(line) == 2
        said = f'coterie: error: {what} needs jinja2; run: pip install "coterie[report]"\n'
        assert capsys.readouterr().err == said
    assert sorted(os.listdir(folder)) == before


def test_an_interruption_ends_with_130_and_leaves_nothing(folder, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PCE, "_solve", interrupted)
    before = sorted(os.listdir(folder))
    assert main(["combine", "labels.csv", "-k", "2", "-o", "out.csv"]) == 130
    assert capsys.readouterr().err == "coterie: interrupted while combining; nothing was written\n"
    assert sorted(os.listdir(folder)) == before


def test_an_interruption_of_the_choice_says_so(folder, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("coterie.select.feature_structure.cloud_p_value", interrupted)
    before = sorted(os.listdir(folder))
    assert main(["cluster", "features.csv", "-o", "out.csv"]) == 130
    said = "coterie: interrupted while choosing the number of clusters; nothing was written\n"
    assert capsys.readouterr().err == said
    assert sorted(os.listdir(folder)) == before


def test_warnings_are_one_line_each(folder, capsys, monkeypatch):
    import warnings

    real = PCE._solve

    def warning(self, ensemble: Ensemble, rng: np.random.Generator):
        warnings.warn("did not converge;\nraise max_iter", UserWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        return real(self, ensemble, rng)

    monkeypatch.setattr(PCE, "_solve", warning)
    assert main(["combine", "labels.csv", "-k", "2"]) == 0
    assert capsys.readouterr().err == "coterie: warning: did not converge; raise max_iter\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close otherwise there")
def test_a_reader_that_leaves_early_is_no_error(folder):
    command = f'"{sys.executable}" -m coterie methods | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.returncode == 0


def test_warmup_compiles_what_is_asked_for(capsys):
    assert main(["warmup", "eac", "pce"]) == 0
    assert "2 methods compiled" in capsys.readouterr().out
    assert main(["warmup", "eacc"]) == 2
    assert "did you mean 'eac'" in capsys.readouterr().err


def test_ids_that_look_alike_in_two_files_are_joined_or_asked_about(folder, capsys):
    ids = [f"Kundin Bäcker {i}" for i in range(30)]
    other = [unicodedata.normalize("NFD", one) for one in ids[:20]] + [
        one.upper() for one in ids[20:]
    ]
    for name, column in (("p.csv", ids), ("q.csv", other)):
        lines = [f"{one},{i % 3}" for i, one in enumerate(column)]
        Path(name).write_text("\n".join(["customer,segment", *lines]) + "\n", encoding="utf-8")
    assert main(["combine", "p.csv", "q.csv", "-k", "3", "-o", "out.csv"]) == 0
    printed = capsys.readouterr()
    assert "2 files joined by 'customer': 40 samples" in printed.out
    warned = " ".join(printed.err.split())
    assert "20 ids differ between tables only in characters that cannot be seen" in warned
    assert "10 ids of one table differ from an id of another only in upper and lower case" in warned


# ---------------------------------------------------------------------- samples as columns


def write_genes(names=None):
    """Write 40 genes by 12 patients, of two kinds."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 12)) + 4 * (np.arange(12) % 2)
    lines = [f"GENE{g}X," + ",".join(f"{v:.3f}" for v in row) for g, row in enumerate(values)]
    names = names or [f"patient_{i}" for i in range(12)]
    Path("genes.csv").write_text("\n".join([f",{','.join(names)}", *lines]) + "\n")


def test_columns_named_like_samples_get_a_question_and_transpose_answers_it(folder, capsys):
    write_genes()
    assert main(["cluster", "genes.csv", "-k", "2", "-o", "out.csv"]) == 0
    asked = " ".join(capsys.readouterr().err.split())
    assert "the 40 rows are clustered, and the 12 columns are named like samples" in asked
    assert "use --transpose" in asked
    assert main(["cluster", "genes.csv", "-k", "2", "--transpose", "-o", "turned.csv"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "12 samples, 40 columns used" in printed.out
    rows = rows_of(folder / "turned.csv")
    assert [row["sample"] for row in rows] == [f"patient_{i}" for i in range(12)]
    assert same_partition([row["label"] for row in rows], [i % 2 for i in range(12)])
    write_genes([f"PC{i}" for i in range(12)])
    assert main(["cluster", "genes.csv", "-k", "2", "-o", "out.csv"]) == 0
    assert "--transpose" not in capsys.readouterr().err


@pytest.mark.parametrize("text", [False, True])
def test_members_as_rows(folder, capsys, text):
    members = [
        [("abc" if text else "012")[c] if i % 3 or j else "" for j, c in enumerate(CLASSES)]
        for i in range(5)
    ]
    head = ",".join(["run", *(f"s{j}" for j in range(60))])
    lines = [",".join([f"run{i}", *row]) for i, row in enumerate(members)]
    Path("runs.csv").write_text("\n".join([head, *lines]) + "\n")
    assert main(["combine", "runs.csv", "--transpose", "-k", "3", "-o", "out.csv"]) == 0
    assert "5 members" in capsys.readouterr().out
    rows = rows_of(folder / "out.csv")
    assert [row["sample"] for row in rows] == [f"s{j}" for j in range(60)]
    assert same_partition([row["label"] for row in rows], CLASSES.tolist())
    assert main(["select", "runs.csv", "--labels", "--transpose", "-k", "2-4", "--json"]) == 0
    capsys.readouterr()
    assert main(["combine", "runs.csv", "-k", "2", "-o", "wrong.csv", "--id", "run"]) == 0
    assert "5 rows and 60 columns are read as 5 samples" in " ".join(
        capsys.readouterr().err.split()
    )
