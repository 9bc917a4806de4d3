"""In a notebook: pictures show themselves, objects are shown as markup, and a fit has a progress bar."""

from __future__ import annotations

import base64
import html
from html.parser import HTMLParser

import numpy as np
import pytest

from coterie import EAC, Ensemble, Table, profile
from coterie.result import Result
from coterie.select import select_k

SETUP = """
import numpy as np
from coterie import ConsensusClustering, Ensemble, Table, plot, profile
from coterie.result import Result
X = np.random.default_rng(0).normal(size=(60, 2)) + 20 * np.repeat(np.eye(2), 30, axis=0)
model = ConsensusClustering((2, 4), n_members=6, random_state=0, callback="auto").fit(X)
result = Result.of(model, X=X)
"""
FIGURES = "import matplotlib.pyplot as plt; plt.get_fignums()"
PICTURES = (
    "plot.matrix(model)",
    "plot.criteria(model)",
    "plot.members(result)",
    "plot.embedding(result);",
    "plot.confidence(model);",
)
SHOWN = {
    "model.ensemble_": "Ensemble of 6 members and 60 samples",
    "result": "Result(",
    "model.selection_": "2 clusters",
    "model.explain(3)": "Sample 3 is in cluster 0",
    "profile(X, model)": "Cluster 0 (30 of 60 samples",
    "model.diagnose_clusters()": "cohesion",
    "model.verdict_": "agreement",
    "model.judge_members()": "is nearest to the consensus",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The outputs of each cell of an executed notebook."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cells = [SETUP, *PICTURES, *SHOWN, FIGURES]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    client.execute()
    return {cell.source: cell.outputs for cell in notebook.cells}


def data(outputs, mime):
    return [output["data"][mime] for output in outputs if mime in output.get("data", {})]


@pytest.mark.parametrize("cell", PICTURES)
def test_a_picture_shows_itself_once(outputs, cell):
    (png,) = data(outputs[cell], "image/png")
    picture = base64.b64decode(png)
    assert picture.startswith(b"\x89PNG")
    # an empty figure has about 2 kB
    assert len(picture) > 5_000


def test_shown_figures_are_closed(outputs):
    assert data(outputs[FIGURES], "text/plain") == ["[]"]


@pytest.mark.parametrize("cell", SHOWN)
def test_an_object_is_shown_as_markup(outputs, cell):
    (markup,) = data(outputs[cell], "text/html")
    assert SHOWN[cell] in html.unescape(markup)
    # readable in light and dark themes: no colour of its own
    assert "color" not in markup
    assert "background" not in markup


def test_the_fit_had_a_progress_bar_that_went_away(outputs):
    (bar,) = [output for output in outputs[SETUP] if output.output_type == "display_data"]
    assert bar["data"] == {"text/html": "", "text/plain": ""}
    # nothing else was printed, and nothing warned
    assert len(outputs[SETUP]) == 1


# ---------------------------------------------------------------- without a notebook


class Tags(HTMLParser):
    """The tags of a page, and whether all were closed."""

    def __init__(self, markup):
        super().__init__()
        self.seen, self.open = set(), []
        self.feed(markup)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


# the tags that the library writes
ALLOWED = {"div", "p", "strong", "ul", "li", "details", "summary"}
ALLOWED |= {"table", "thead", "tbody", "tr", "th", "td"}
ODD = "<script>alert(1)</script>&\x00\n"


def odd_objects():
    names = [f"{ODD}{i}" for i in range(6)]
    labels = {
        f"{ODD}a": ["x", "x", "x", "y", "y", "y"],
        f"{ODD}b": ["x", "x", ODD, "y", "y", "y"],
        # of members that tie, the one with the shortest name comes first
        "c" * 60: [0, 0, 0, 1, 1, 1],
    }
    ensemble = Ensemble.from_labels(labels, sample_ids=names)
    model = EAC(2).fit(ensemble)
    columns = {f"{ODD}size": [1.0, 2.0, 3.0, 7.0, 8.0, 9.5], ODD: ["p", "p", ODD, "q", "q", "q"]}
    return {
        "ensemble": ensemble,
        "result": Result.of(model),
        "selection": select_k(ensemble, k=[2], random_state=0),
        "explanation": model.explain(names[0]),
        "profile": profile(columns, [ODD] * 3 + ["other"] * 3),
        "table": Table({ODD: [ODD, "b"], "long": ["x" * 10_000, "y"]}),
        "verdict": model.verdict_,
        "member verdict": model.judge_members(),
    }


OBJECTS = odd_objects()


@pytest.mark.parametrize("name", OBJECTS)
def test_markup_in_names_is_escaped(name):
    markup = OBJECTS[name]._repr_html_()
    tags = Tags(markup)
    assert tags.seen <= ALLOWED
    assert "\x00" not in markup
    assert len(markup) < 20_000
    if name not in ("selection", "verdict"):
        assert "&lt;script&gt;" in markup


def test_large_objects_stay_compact():
    rng = np.random.default_rng(0)
    ensemble = Ensemble.from_labels(rng.integers(0, 5, (500, 300)))
    assert len(ensemble._repr_html_()) < 5_000
    wide = profile(rng.normal(size=(40, 500)), np.arange(40) % 2, n_bootstrap=0)
    assert len(wide._repr_html_()) < 10_000
