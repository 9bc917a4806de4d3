"""The page in a real browser: it works offline, by keyboard, in both themes, and runs nothing foreign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coterie import EAC, ConsensusClustering, report
from coterie.datasets import load
from coterie.result import Result
from coterie.select import select_k
from tests.report.conftest import IMAGE, SCRIPT


@pytest.fixture(scope="module")
def folder(tmp_path_factory, iris, hostile):
    path = tmp_path_factory.mktemp("report")
    report.write(iris, path / "iris.html")
    report.write(hostile, path / "hostile.html", title=SCRIPT)
    data = load("iris")
    model = ConsensusClustering(3, n_members=12, random_state=0).fit(data.X)
    selection = select_k(model.ensemble_, k=range(2, 12), random_state=0)
    report.write(replace(iris, selection=selection), path / "full.html")
    alone = ConsensusClustering(1, n_members=12, random_state=0).fit(data.X)
    report.write(Result.of(alone, X=data.X), path / "one.html")
    report.write(Result.of(EAC(2).fit([[0]] * 20 + [[1]] * 20), X=shops()), path / "shops.html")
    return path


def shops():
    """Categories and dates; the median date of the first cluster is the middle of a day."""
    days = np.concatenate([np.arange(20), np.arange(100, 120)])
    return {
        "opened": (np.datetime64("2020-01-01") + days).tolist(),
        "kind": ["town"] * 18 + ["village"] * 22,
        "staff": np.concatenate([np.arange(20) % 3, 6 + np.arange(20) % 4]),
    }


@pytest.fixture
def iris_page(open_page, folder):
    return open_page(folder / "iris.html")


def test_loads_without_complaint_or_request(iris_page, folder):
    assert "3 clusters of 150 samples" in iris_page.page.inner_text("main")
    assert iris_page.complaints == []
    assert iris_page.requests == [(folder / "iris.html").as_uri()]


@pytest.mark.parametrize("plot", ["map-plot", "matrix-plot", "agreement-plot", "confidence-0"])
def test_pictures_are_drawn(iris_page, plot):
    box = iris_page.page.locator(f"#{plot} > *").bounding_box()
    assert box["width"] > 100
    assert box["height"] > 40


def test_the_map_and_the_matrix_have_colours(iris_page):
    for plot in ("map-plot", "matrix-plot"):
        colours = iris_page.page.evaluate(
            """id => { const node = document.querySelector(`#${id} canvas`);
                const all = node.getContext("2d").getImageData(0, 0, node.width, node.height).data;
                const seen = new Set();
                for (let i = 0; i < all.length; i += 4) seen.add(all.slice(i, i + 4).join());
                return seen.size; }""",
            plot,
        )
        assert colours > 20


def test_the_policy_stops_foreign_scripts_and_requests(iris_page):
    ran = iris_page.page.evaluate(
        """() => { window.ran = false;
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            return window.ran; }"""
    )
    assert ran is False
    failed = iris_page.page.evaluate(
        "() => fetch('https://example.org/').then(() => 'sent', () => 'stopped')"
    )
    assert failed == "stopped"
    assert any("Content Security Policy" in text for text in iris_page.complaints)


def test_a_sample_is_found_by_keyboard_and_its_votes_are_those_of_explain(iris_page, iris):
    page = iris_page.page
    page.focus("#sample-input")
    page.keyboard.type("10")
    options = page.locator("#sample-list [role=option]")
    assert options.first.inner_text().startswith("10")
    assert page.get_attribute("#sample-input", "aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#sample-input", "aria-activedescendant") == "sample-option-0"
    page.keyboard.press("ArrowDown")
    chosen = options.nth(1).locator("bdi").inner_text()
    page.keyboard.press("Enter")
    assert page.get_attribute("#sample-input", "aria-expanded") == "false"
    told = iris.explain(int(chosen))
    panel = page.locator("#sample-panel").inner_text()
    assert f"Row {chosen}" in panel
    assert f"Cluster {told.cluster}, confidence {told.confidence:.2f}" in panel
    rows = page.locator("#sample-panel tbody tr")
    assert rows.count() == iris.ensemble.n_members
    agreeing = sum("agrees" in text for text in rows.all_inner_texts())
    assert agreeing == sum(bool(vote) for vote in told.votes["agrees"])


def test_a_member_that_ties_is_undecided_as_in_explain(open_page, tmp_path):
    labels = {"all": [0, 0, 0, 0], "b": [0, 0, 1, 1], "c": [0, 0, 1, 1], "d": [0, -1, 1, 1]}
    result = Result.of(EAC(2).fit(labels))
    report.write(result, tmp_path / "tie.html")
    page = open_page(tmp_path / "tie.html").page
    page.fill("#sample-input", "1")
    page.keyboard.press("Enter")
    rows = [text.split("\t") for text in page.locator("#sample-panel tbody tr").all_inner_texts()]
    assert [row[0] for row in rows] == ["all", "b", "c", "d"]
    assert rows[0][2:] == ["several, each50 %", "– undecided"]
    assert rows[3][1] == "did not label it"
    said = page.inner_text("#sample-panel")
    for words in ("2 group it mostly with cluster 0", "1 equally with another cluster"):
        assert words in said
        assert words.removeprefix("2 ") in result.explain(1).sentence


def test_loose_attachment_is_said_as_in_explain(open_page, tmp_path):
    result = Result.of(EAC(2).fit([[0, 0, 0, 0]] * 8 + [[1, 1, 1, 1]] * 6 + [[1, 2, 2, 2]]))
    report.write(result, tmp_path / "loose.html")
    page = open_page(tmp_path / "loose.html").page
    words = "members put it with the samples of its cluster only 25 % as often as is typical"
    for sample, loose in (("14", True), ("3", False)):
        page.fill("#sample-input", sample)
        page.keyboard.press("Enter")
        assert (words in result.explain(int(sample)).sentence) is loose
        assert (words in page.inner_text("#sample-panel")) is loose


def test_a_name_that_is_not_there_gets_near_ones(iris_page):
    page = iris_page.page
    page.fill("#sample-input", "1x9")
    assert "Similar ids" in page.inner_text("#sample-hint")
    assert "119" in page.locator("#sample-list").inner_text()
    page.fill("#sample-input", "nothing like it")
    assert "no id is similar" in page.inner_text("#sample-hint")
    page.keyboard.press("Escape")
    assert page.input_value("#sample-input") == ""


def test_tables_sort_by_click_and_by_keyboard(iris_page):
    page = iris_page.page
    table = page.locator("table[data-sortable]").first
    head = table.locator("th", has_text="Size")

    def sizes():
        return [int(text) for text in table.locator("tbody .count").all_inner_texts()]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert sizes() == sorted(sizes(), reverse=True)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert sizes() == sorted(sizes())
    assert table.locator("th[aria-sort=ascending]").count() == 1
    assert "Sorted by Size" in page.inner_text("#said")


def test_dark_theme_follows_the_system_and_the_button(open_page, folder):
    background = "getComputedStyle(document.body).backgroundColor"
    dark = open_page(folder / "iris.html", scheme="dark").page
    light = open_page(folder / "iris.html").page
    assert dark.get_attribute("#theme", "aria-pressed") == "true"
    before = light.evaluate(background)
    assert dark.evaluate(background) != before
    light.click("#theme")
    assert light.get_attribute("#theme", "aria-pressed") == "true"
    assert light.evaluate(background) == dark.evaluate(background)
    light.click("#theme")
    assert light.evaluate(background) == before


WIDTHS = (320, 390, 768, 1280)


@pytest.mark.parametrize("name", ["full", "hostile", "one"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(open_page, folder, width, name):
    page = open_page(folder / f"{name}.html", width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_nothing_is_wider_than_the_screen_after_resizing(open_page, folder):
    page = open_page(folder / "full.html").page
    page.fill("#sample-input", "10")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    for width in (*reversed(WIDTHS), 1280, 380, 1280, 320):
        page.set_viewport_size({"width": width, "height": 900})
        # pictures are drawn anew in the frame after the change
        page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_one_cluster_shows_no_confidence_anywhere(open_page, folder):
    opened = open_page(folder / "one.html")
    page = opened.page
    page.fill("#sample-input", "10")
    assert "cluster 0" in page.inner_text("#sample-list")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "Cluster 0. There is no other cluster." in page.inner_text("#sample-panel")
    assert "onfidence 1" not in page.inner_text("body")
    assert opened.complaints == []


def test_hovering_says_what_is_there(iris_page):
    page = iris_page.page
    page.locator("#matrix-plot canvas").hover(position={"x": 60, "y": 60})
    assert "Co-association" in page.inner_text("#note")
    page.locator("#confidence-0 svg").hover(position={"x": 5, "y": 30})
    assert "cluster 0" in page.inner_text("#note")


def test_clusters_can_be_hidden_on_the_map(iris_page):
    button = iris_page.page.locator("#map-legend button").first
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


def test_hostile_names_stay_text(open_page, folder):
    opened = open_page(folder / "hostile.html")
    page = opened.page
    assert page.inner_text("h1") == SCRIPT
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    page.fill("#sample-input", "<script")
    assert page.locator("#sample-list bdi").first.inner_text() == SCRIPT
    page.keyboard.press("Enter")
    panel = page.locator("#sample-panel")
    assert SCRIPT in panel.locator("h3").inner_text()
    assert IMAGE in panel.inner_text()
    page.fill("#sample-input", IMAGE)
    assert page.locator("#sample-list [role=option]").count() > 0
    page.locator("#map-plot canvas").hover(position={"x": 30, "y": 30})
    page.locator("#agreement-plot canvas").hover(position={"x": 200, "y": 30})
    assert page.locator("img").count() == 0
    assert opened.complaints == []


def test_a_cell_and_its_panel_say_what_the_sentence_says(open_page, folder):
    page = open_page(folder / "shops.html").page
    sentence = page.locator(".traits li").first.inner_text()
    assert "2020-01-10" in sentence
    cell = page.locator("#profile-rows tr", has_text="opened").locator("button").first
    cell.click()
    assert "2020-01-10" in page.locator("#profile-panel").inner_text()
    level = page.locator("#profile-rows tr", has_text="kind").locator("button").first
    seen = level.inner_text().split()
    assert seen[1] in ("town", "village")
    assert level.get_attribute("aria-label") == f"kind, cluster 0: {' '.join(seen)}"


def test_paper_shows_tables_whole_and_no_controls(iris_page):
    page = iris_page.page
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#theme").is_visible()
    frame = page.locator(".frame.tall")
    assert frame.evaluate("node => node.scrollHeight <= node.clientHeight + 1")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["iris", "hostile", "one", "shops"])
def test_axe_finds_no_violation(open_page, folder, axe, name, width, scheme):
    page = open_page(folder / f"{name}.html", scheme=scheme, width=width).page
    # sections are folded on a phone
    page.evaluate("document.querySelectorAll('details').forEach(node => { node.open = true; })")
    page.fill("#sample-input", "10")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.fill("#sample-input", "11")
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run(document)).violations")
    assert [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found] == []
