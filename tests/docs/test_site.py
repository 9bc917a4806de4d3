"""The built site in a browser. ``make docs`` builds it; without it these tests skip."""

import re
from pathlib import Path

import pytest

SITE = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
REPORTS = ("wine", "breast_cancer", "digits", "iris", "diabetes")


@pytest.fixture
def site():
    if not (SITE / "searchindex.js").is_file():
        pytest.skip("the site has not been built: make docs")
    return SITE


def test_the_header_has_one_row(site, open_page):
    page = open_page(site / "index.html", width=1280).page
    links = page.locator(".bd-header .navbar-header-items__start, .bd-header .nav-item:visible")
    boxes = [links.nth(i).bounding_box() for i in range(links.count())]
    middles = {round(box["y"] + box["height"] / 2, -1) for box in boxes if box["height"]}
    assert len(middles) == 1
    names = [
        name.strip() for name in page.locator(".bd-header .nav-item > .nav-link").all_inner_texts()
    ]
    assert [name for name in names if name][:5] == [
        "User guide",
        "Methods",
        "Examples",
        "API",
        "Benchmarks",
    ]


def test_no_page_loads_anything_from_elsewhere(site):
    loading = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=["'](https?:)?//""")
    pages = [*site.rglob("*.html")]
    assert len(pages) > 50
    assert [page.name for page in pages if loading.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "how_it_works", "reports", "gallery/index"])
def test_axe_finds_no_violation(site, open_page, axe, name, scheme, width):
    opened = open_page(site / f"{name}.html", width=width, scheme=scheme)
    page = opened.page
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # the theme logs what it does: which of light and dark it chose, where it scrolled the sidebar
    assert [text for text in opened.complaints if not text.startswith("[PST]: ")] == []
    page.evaluate(axe)
    violations = page.evaluate("async () => (await axe.run(document)).violations")
    seen = [(found["id"], [node["html"][:200] for node in found["nodes"]]) for found in violations]
    assert seen == []


@pytest.mark.parametrize("name", ["index", "how_it_works", "start"])
def test_no_line_of_code_is_cut_off_on_a_phone(site, open_page, name):
    page = open_page(site / f"{name}.html", width=390).page
    blocks = page.locator(".bd-article pre")
    assert blocks.count() > 1
    assert blocks.evaluate_all("all => all.map(b => b.scrollWidth - b.clientWidth)") == (
        [0] * blocks.count()
    )


@pytest.mark.parametrize("name", REPORTS)
def test_the_first_page_leads_to_finished_reports(site, open_page, name):
    page = open_page(site / "index.html").page
    page.locator(f'a[href="reports/{name}.html"]').click()
    page.wait_for_load_state()
    assert "clusters" in page.inner_text("body")


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("DBSCAN", "faq"),
        ("HDBSCAN", "faq"),
        ("categorical", "faq"),
        ("missing values", "faq"),
        ("Gower", "faq"),
        ("DBSCAN", "gallery/labels/plot_dbscan"),
        ("missing values", "tables"),
    ],
)
def test_search_finds_the_answer(site, open_page, words, page):
    results = open_page(site / "search.html").page
    results.goto(f"{(site / 'search.html').as_uri()}?q={words}")
    results.wait_for_selector("#search-results li a")
    results.wait_for_function(
        "document.querySelector('#search-results .search-summary')?.innerText.includes('found')"
    )
    links = results.locator("#search-results li > a").evaluate_all(
        "all => all.map(a => a.pathname)"
    )
    assert any(link.endswith(f"/html/{page}.html") for link in links)
