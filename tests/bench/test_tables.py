import csv
import math
from types import SimpleNamespace

import numpy as np
import pytest

from coterie.io import write_table
from coterie_bench._records import BASE_AVERAGE
from coterie_bench._summary import summarise
from coterie_bench._tables import as_columns, as_markdown, as_text
from tests.bench.synthetic import made_up, method, several, spec


@pytest.fixture(scope="module")
def summary():
    rng = np.random.default_rng(0)
    runs = []
    for data, level in (("ecoli", 0.45), ("umist", 0.3), ("aggregation", 0.9)):
        for alpha, gain in ((0.75, 0.1), (0.8, 0.0)):
            runs += several(
                level + gain + rng.normal(0, 0.01, 6),
                data=data,
                method="eccms",
                setting={"alpha": alpha, "lam": 0.4},
                default=alpha == 0.8,
            )
        runs += several(
            level - 0.1 + rng.normal(0, 0.01, 6),
            data=data,
            method="plain",
            solver="eccms",
            ablation_of="eccms",
        )
        runs += several(level - 0.05 + rng.normal(0, 0.01, 6), data=data, method="lwea")
        runs += several([level] * 6, data=data, method=BASE_AVERAGE, solver="")
        runs += several(
            [None] * 6, data=data, method="rce", status="memory cap", message="9 GB | of\n8 GB"
        )
        runs += several(
            [0.2, None, 0.3, None, 0.1, 0.2] if data == "umist" else [0.2] * 6,
            data=data,
            method="kc",
        )
    runs += [made_up(None, data="customers", method="lwea")]
    plan = spec(
        method("eccms"),
        method("plain", "eccms", ablation_of="eccms"),
        method("lwea"),
        method("rce"),
        method("kc"),
        paper="eccms",
        published=("IV",),
    )
    plan.data = [SimpleNamespace(name=name) for name in ("ecoli", "umist", "aggregation")]
    return summarise(runs, plan)


def row_of(text, start, after=""):
    place = text.index(after) if after else 0
    return next(line for line in text[place:].splitlines() if line.startswith(start))


@pytest.mark.parametrize("width", [50, 80, 200])
def test_text_keeps_to_the_width(summary, width):
    lines = as_text(summary, width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line != line.rstrip() for line in lines)


def test_columns_are_named_for_what_they_are(summary):
    text = as_text(summary, 200)
    (head,) = {line for line in as_markdown(summary).splitlines() if "| default |" in line}
    assert head == (
        "| method | default | less eccms | p (t, Wilcoxon) | best setting "
        "| oracle (uses the labels) | published |"
    )
    assert "oracle (uses the labels)" in text


def test_a_row_has_its_numbers(summary):
    line = next(line for line in summary.cells[0].lines if line.method == "eccms")
    row = row_of(as_text(summary, 200), "eccms ")
    for score in (line.default, line.best, line.oracle):
        assert f"{score.mean:.3f}±{score.sd:.3f}" in row
    assert "0.487±0.104 IV" in row
    assert "Best settings: eccms alpha=0.75, lam=0.4." in as_text(summary, 200)


def test_second_published_number_has_a_line_of_its_own_and_a_note(summary):
    text = as_text(summary, 200)
    assert any(line.strip() == "0.754±0.018 IV c" for line in text.splitlines())
    assert "b: alpha=0.8, lam=0.4; c: best setting" in text


def test_failures_are_words_and_never_zero(summary):
    text = as_text(summary, 200)
    assert row_of(text, "rce ").split("  ")[-1] != "0.000"
    assert "memory cap" in row_of(text, "rce ")
    assert "memory cap" in row_of(text, "rce ", after="Seconds, 20 members")
    assert "rce: memory cap in 18 of 18 runs" in text


def test_an_incomplete_mean_says_so(summary):
    text = as_text(summary, 200)
    assert "0.200±0.082 (4/6)" in row_of(text, "kc ", after="ARI on umist")
    assert "kc: 4 of 6 default runs have a score (2 failed)." in text
    assert "(4/6)" in row_of(text, "kc ", after="Seconds, 20 members")


def test_significance_against_the_reference(summary):
    text = as_text(summary, 200)
    assert "The reference is eccms, the paper's method." in text
    comparison = next(line.comparison for line in summary.cells[0].lines if line.method == "lwea")
    assert f"{comparison.difference:+.3f} {comparison.mark}" in row_of(text, "lwea ")


def test_ranks_come_with_what_tells_them_apart(summary):
    text = as_text(summary, 200)
    (ranking,) = summary.rankings
    assert f"{ranking.critical_difference:.2f}" in text
    assert row_of(text, "eccms ", after="ARI over 3 data sets").split() == ["eccms", "1.00", "yes"]


def test_data_without_classes_are_said_to_be(summary):
    for text in (as_text(summary), as_markdown(summary)):
        assert "The classes are unknown, so external scores are left out" in text
    assert "customers" in as_text(summary)


def test_one_data_set_has_no_tested_ranks():
    runs = [*several([0.5, 0.6], method="eac"), *several([0.4, 0.5], method="cspa")]
    text = as_text(summarise(runs, spec(method("eac"), method("cspa"))))
    assert "No Friedman test: one data set." in text
    assert "not significantly worse" not in text
    assert "best setting" not in text
    assert "published" not in text


def test_too_wide_a_table_is_split_and_repeats_its_methods(summary):
    text = as_text(summary, 50)
    first = text[text.index("ARI on ecoli") : text.index("Best settings")]
    assert sum(line.startswith("eccms ") for line in first.splitlines()) > 1
    for head in ("default", "published"):
        assert head in first


def test_names_with_hyphens_stay_whole():
    runs = [*several([0.5, 0.6], method="EC-CMS"), *several([0.4, 0.5], method="cspa")]
    plan = spec(method("EC-CMS", "eccms"), method("cspa"), paper="eccms")
    text = as_text(summarise(runs, plan), 50)
    assert not any(line.rstrip().endswith("EC-") for line in text.splitlines())
    assert "EC- " not in text


def test_a_default_that_is_best_is_called_so():
    runs = [
        *several([0.5, 0.6], method="lwea"),
        *several([0.1, 0.2], method="lwea", setting={"theta": 0.2}, default=False),
    ]
    assert "Best settings: lwea its default." in as_text(summarise(runs, spec(method("lwea"))))


def test_markdown_tables_are_whole(summary):
    lines = as_markdown(summary).splitlines()
    tables = [line for line in lines if line.startswith("|")]
    width = 0
    for above, line in zip(["", *lines], lines, strict=False):
        if not line.startswith("|"):
            continue
        cells = line.replace("\\|", "").count("|")
        width = width if above.startswith("|") else cells
        assert cells == width, line
    assert len(tables) > 20


def test_names_cannot_become_markup():
    runs = several([0.5, 0.6], data="a|b<script>", method="my_own*method")
    text = as_markdown(summarise(runs, spec(method("my_own*method", "eac"))))
    assert "<script>" not in text.replace("\\<", "")
    assert r"my\_own\*method" in text


def test_long_form_has_every_number(summary):
    columns = as_columns(summary)
    assert len({len(column) for column in columns.values()}) == 1
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    ours = {
        row["what"]: row
        for row in rows
        if (row["data"], row["method"], row["metric"]) == ("ecoli", "eccms", "ari")
        and row["what"] != "published"
    }
    line = next(line for line in summary.cells[0].lines if line.method == "eccms")
    assert ours["default"]["value"] == line.default.mean
    assert ours["best setting"]["setting"] == "alpha=0.75, lam=0.4"
    assert ours["oracle (uses the labels)"]["value"] == line.oracle.mean
    whats = {row["what"] for row in rows}
    assert whats >= {"published", "mean rank", "seconds", "peak MiB"}
    failed = next(row for row in rows if (row["method"], row["what"]) == ("rce", "default"))
    assert math.isnan(failed["value"])
    assert (failed["runs"], failed["of"], failed["stopped"]) == (0, 6, "6 memory cap")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_long_form_can_be_written(summary, tmp_path, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"table.{kind}"
    write_table(path, as_columns(summary))
    if kind == "csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(as_columns(summary)["value"])
    assert path.stat().st_size > 0


def test_the_order_of_the_runs_leaves_no_trace():
    rng = np.random.default_rng(1)
    runs = [
        run
        for data in ("ecoli", "umist")
        for name in ("eac", "cspa", "kc")
        for run in several(rng.random(5), method=name, data=data)
    ]
    plan = spec(method("eac"), method("cspa"), method("kc"))
    shuffled = [runs[place] for place in rng.permutation(len(runs))]
    one, other = summarise(runs, plan), summarise(shuffled, plan)
    assert as_text(one) == as_text(other)
    assert repr(as_columns(one)) == repr(as_columns(other))
