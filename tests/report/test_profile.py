"""The section "What the clusters are": what it shows, and what it leaves out."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coterie import EAC, ConsensusClustering, profile, report
from coterie.core.text import plain
from coterie.report._page import PAGE_BYTES, page
from coterie.result import Result
from coterie.select import select_k
from tests.report.conftest import IMAGE, SCRIPT
from tests.report.test_page import Reader

HOSTILE = [SCRIPT, IMAGE, "</script><b>&amp;\u2028", "a\x00b\u202e"]


def customers(n=120):
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1, 2], n // 3)
    return pd.DataFrame(
        {
            "spend": rng.normal([100.0, 300.0, 900.0], 20, (n // 3, 3)).T.ravel(),
            HOSTILE[0]: np.array(HOSTILE[1:])[group],
            HOSTILE[1]: rng.normal(group, 0.2),
            "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * group, unit="D"),
            "noise": rng.normal(size=n),
        }
    )


def test_no_line_ends_inside_a_date(result):
    html = page(result).decode()
    assert '<span class="date">2020-01-01</span>' in html
    assert len(re.findall(r'<span class="date">', html)) == sum(
        len(re.findall(r"\d{4}-\d\d-\d\d", text))
        for text in [*result.profile.sentences, *filter(None, result.profile.rules)]
    )


@pytest.fixture(scope="module")
def result():
    return Result.of(ConsensusClustering(3, n_members=6, random_state=0).fit(customers()))


@pytest.fixture(scope="module")
def text(result):
    return page(result).decode("utf-8")


@pytest.fixture
def opened(open_page, result, tmp_path):
    report.write(result, tmp_path / "page.html")
    return open_page(tmp_path / "page.html")


def from_labels(labels, X):
    """The report's text and numbers for a partition of the rows of X."""
    model = EAC(len({*labels})).fit(np.stack([labels, labels], axis=1))
    made = page(Result.of(model, X=X))
    assert len(made) < PAGE_BYTES
    read = Reader(made.decode("utf-8"))
    return read.text, json.loads(read.scripts[1])["profile"]


def test_sentences_rules_and_the_line_about_construction(result, text):
    read = Reader(text).text.replace("\u00a0", " ")
    assert "What the clusters are" in read
    for sentence, rule in zip(result.profile.sentences, result.profile.rules, strict=True):
        if not any(name in sentence + rule for name in HOSTILE):
            assert sentence in read
            assert rule in read
    assert "the columns differ by construction" in read


def test_names_with_markup_are_text(text):
    tags = [tag for tag, _ in Reader(text).tags]
    assert tags.count("script") == 2
    assert not {"img", "b"} & {*tags}


def test_without_a_table_there_is_no_section():
    made = page(Result.of(EAC(2).fit([[0, 0], [0, 0], [1, 1], [1, 1]]))).decode("utf-8")
    assert "What the clusters are" not in made
    assert Reader(made).tags


def test_one_cluster_has_nothing_to_compare_it_with():
    noise = np.random.default_rng(1).random((90, 4))
    selection = select_k(noise, k=range(2, 5), n_members=8, random_state=0)
    assert not selection.structure
    result = Result.of(EAC(1).fit(np.zeros((90, 2), dtype=int)), X=noise)
    read = Reader(page(result).decode("utf-8")).text
    assert "Cluster 0 has all 90 samples: there is nothing to compare it with." in read
    assert "such as -k" not in read
    read = Reader(page(replace(result, selection=selection)).decode("utf-8")).text
    assert f"such as -k {selection.smallest_supported} on the command line" in read


def test_one_cluster_with_weaker_evidence_for_groups_describes_these():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.sort(rng.random(90)) * 9, rng.random((90, 3))])
    selection = select_k(X, k=range(2, 5), n_members=8, random_state=0)
    selection = replace(selection, recommended=1, evidence={3: "replication", 4: "likelihood"})
    model = EAC(1).fit(np.zeros((90, 2), dtype=int))
    # no groups without evidence, nor those of other samples
    for other in (
        replace(selection, evidence={}),
        replace(selection, labels=selection.labels[:, :80]),
    ):
        assert not Result.of(model, X=X, selection=other).describes_groups
    result = Result.of(model, X=X, selection=selection)
    groups = profile(X, selection.labels_at(3), n_bootstrap=0)
    assert [*result.profile.clusters] == [0, 1, 2]
    assert result.describes_groups
    made = page(result).decode("utf-8")
    read = Reader(made).text.replace("\u00a0", " ")
    assert (
        "this is a partition into 3, for which there is weaker evidence (replication): -k 3" in read
    )
    assert "x0 (median" in read
    assert groups.table["column"][0] == result.profile.columns[0]["column"] == "x0"
    assert "all 90 samples are in one cluster" in read


def test_given_labels_are_described_by_a_table():
    frame = customers()
    labels = np.repeat([0, 1, 2], 40)
    model = EAC(3).fit(np.stack([labels, labels], axis=1))
    read = Reader(page(Result.of(model, X=frame)).decode("utf-8")).text
    assert "What the clusters are" in read
    assert "If the members were made from these columns, the columns differ" in read


def test_a_cluster_of_one_sample_and_constant_columns():
    labels = np.repeat([0, 1, 2], [30, 29, 1])
    X = np.column_stack([labels + np.linspace(0, 0.1, 60), np.ones(60), np.full(60, np.nan)])
    read, numbers = from_labels(labels, X[:, :2])
    assert "Columns left out: x1 (constant)." in read
    assert [column["column"] for column in numbers["columns"]] == ["x0"]
    assert "Cluster 2 has higher x0" in read


def test_20_000_columns_stay_small_and_the_page_says_so():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 20)
    X = rng.normal(size=(80, 20_000))
    X[:, 5] += 9 * labels
    read, numbers = from_labels(labels, X)
    assert "The page holds the 1,500 most telling of 20,000 columns" in read
    assert numbers["columns"][0]["column"] == "x5"


def test_many_clusters_are_folded():
    labels = np.repeat(np.arange(70), 3)
    read, numbers = from_labels(labels, labels[:, None] + np.random.default_rng(0).random((210, 2)))
    assert len(numbers["clusters"]) == 60
    assert "The other 56 clusters" in read
    assert "The 60 largest of 70 clusters." in read
    five = labels[:15]
    read, _ = from_labels(five, five[:, None] + np.random.default_rng(0).random((15, 2)))
    assert "The other cluster" in read


def test_the_heat_map_by_pointer_and_by_keyboard(opened):
    page = opened.page
    rows = page.locator("#profile-rows tr")
    assert rows.count() == 5
    colours = page.locator("#profile-rows button").evaluate_all(
        "all => all.map(one => one.style.background)"
    )
    assert len({*colours}) > 5
    row = rows.filter(has=page.locator("th", has_text="spend"))
    row.locator("button").nth(2).click()
    panel = page.locator("#profile-panel")
    assert panel.locator("h3").inner_text().startswith("spend, cluster")
    assert panel.locator("svg rect").count() > 10
    assert "95\u00a0% interval" in panel.inner_text()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert row.locator("td").nth(1).get_attribute("aria-selected") == "true"
    # one cell is reached with the tab key, the others with the arrows
    assert page.locator("#profile-rows button[tabindex='0']").count() == 1
    row.locator("button").nth(0).hover()
    assert "Median" in page.inner_text("#note")
    assert page.locator("#note svg rect").count() > 10
    assert page.locator("img").count() == 0
    assert opened.complaints == []


def test_a_category_shows_the_share_of_each_value(opened):
    page = opened.page
    row = page.locator("#profile-rows tr").filter(has=page.locator("th", has_text=SCRIPT))
    row.locator("button").nth(0).click()
    panel = page.locator("#profile-panel")
    assert re.search(r"100\u00a0% of cluster \d, 0\u00a0% of all others", panel.inner_text())
    assert panel.locator("svg text.label").count() == 3


def test_a_cell_of_a_category_names_its_value(opened, result):
    column = next(c for c in result.profile.columns if c["column"] == SCRIPT)
    row = opened.page.locator("#profile-rows tr").filter(
        has=opened.page.locator("th", has_text=SCRIPT)
    )
    shown = row.locator("button .level").all_text_contents()
    assert len(shown) == 3
    assert {*shown} <= {plain(level, 40) for level in column["levels"]}
    other = opened.page.locator("#profile-rows tr").filter(
        has=opened.page.locator("th", has_text="spend")
    )
    assert other.locator(".level").count() == 0


def test_columns_are_found_by_name(open_page, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 40)) + labels[:, None]
    report.write(Result.of(EAC(2).fit(np.stack([labels] * 2, axis=1)), X=X), tmp_path / "a.html")
    page = open_page(tmp_path / "a.html").page
    rows = page.locator("#profile-rows tr")
    assert rows.count() == 12
    page.click("#profile-more")
    assert rows.count() == 37
    page.fill("#profile-search", "X3")
    assert page.inner_text("#profile-status") == "11 of 40 columns"
    assert all(name.startswith("x3") for name in rows.locator("th").all_inner_texts())
    page.fill("#profile-search", "height")
    assert page.inner_text("#profile-status") == "No column has this name."
    page.keyboard.press("Escape")
    assert rows.count() == 12


def test_cells_are_legible_in_both_themes(opened):
    ratio = """() => Math.min(...[...document.querySelectorAll("#profile-rows button")].map(cell => {
        const light = text => text.match(/\\d+/g).slice(0, 3)
            .map(level => level / 255)
            .map(level => level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4)
            .reduce((sum, level, i) => sum + level * [0.2126, 0.7152, 0.0722][i], 0.05);
        const style = getComputedStyle(cell);
        const [one, other] = [light(style.color), light(style.backgroundColor)];
        return Math.max(one, other) / Math.min(one, other);
    }))"""
    assert opened.page.evaluate(ratio) > 4.5
    opened.page.click("#theme")
    assert opened.page.evaluate(ratio) > 4.5


def test_a_long_name_breaks_after_an_underscore(open_page, tmp_path):
    labels = np.repeat([0, 1, 2, 3], 20)
    frame = pd.DataFrame({"orders_per_calendar_year_and_shop": labels + np.linspace(0, 1, 80)})
    model = EAC(4).fit(np.stack([labels, labels], axis=1))
    report.write(Result.of(model, X=frame), tmp_path / "long.html")
    head = open_page(tmp_path / "long.html", width=390).page.locator("#profile-rows th bdi").first
    lines = head.evaluate(
        """node => { const lines = new Map();
            for (const part of node.childNodes) {
              const range = document.createRange();
              range.selectNodeContents(part);
              for (const box of range.getClientRects()) lines.set(Math.round(box.y), 1);
              if (range.getClientRects().length > 1) lines.set(part.textContent, 1);
            }
            return [...lines.keys()]; }"""
    )
    # several lines, and no part of the name on two of them
    assert len(lines) > 1
    assert all(isinstance(line, int) for line in lines)


def test_a_phone_shows_the_sections_folded_and_opens_them(open_page, result, tmp_path):
    report.write(result, tmp_path / "page.html")
    page = open_page(tmp_path / "page.html", width=390).page
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    members = page.locator("details", has=page.locator("#members"))
    assert members.get_attribute("open") is None
    page.evaluate("document.querySelector('nav a[href=\"#members\"]').click()")
    assert members.get_attribute("open") is not None
    page.locator("summary", has=page.locator("#map")).click()
    page.wait_for_selector("#map-plot canvas")
    wide = open_page(tmp_path / "page.html").page
    assert wide.locator("details.fold:not([open])").count() == 0
