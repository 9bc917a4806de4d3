"""What all pictures share: the figure, text from the user's data, colours, refusals."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from coterie import Ensemble, ParameterError, plot
from coterie.plot.canvas import ENTRIES, shown
from coterie.plot.colours import OKABE_ITO
from coterie_bench import pictures
from coterie_bench.evidence_quality import evidence_quality
from tests.naive.palette import apart, distances, rgb, views

LABELS = np.array([[0, 0], [0, 0], [1, 1], [1, 0]])
HISTORY = [{"pass": 1, "objective": 1.0, "residual": 0.1}]
EVERY = {
    "matrix": lambda ax: plot.matrix(Ensemble.from_labels(LABELS), ax=ax),
    "bars": lambda ax: pictures.bars(["a", "b"], [1.0, np.nan], ax=ax),
    "cdf": lambda ax: plot.cdf([2], [0.0, 1.0], [[0.5, 1.0]], ax=ax),
    "curves": lambda ax: pictures.curves([1, 2], {"a": [0.1, 0.2], "b": [0.3, np.nan]}, ax=ax),
    "evidence": lambda ax: pictures.evidence(
        evidence_quality(Ensemble.from_labels(LABELS), [0, 0, 1, 1]), ax=ax
    ),
    "matrices": lambda ax: pictures.matrices(
        {"a": np.eye(3)}, [0, 0, 1, 1], Ensemble.from_labels(LABELS), ax=ax
    ),
    "ranks": lambda ax: pictures.ranks(["a", "b", "c"], [1.0, 2.2, 2.8], 1.0, ax=ax),
    "score_map": lambda ax: pictures.score_map([[0.1, 0.2]], [1], [1, 2], ax=ax),
    "delta_area": lambda ax: plot.delta_area([2, 3], [0.5, 0.1], ax=ax),
    "criteria": lambda ax: plot.criteria([2, 3], {"pac": [0.1, 0.2]}, ax=ax),
    "convergence": lambda ax: plot.convergence(HISTORY, ax=ax),
    "confidence": lambda ax: plot.confidence([0.1, 0.9], ax=ax),
    "members": lambda ax: plot.members(Ensemble.from_labels(LABELS), ax=ax),
    "tracking": lambda ax: plot.tracking(LABELS.T, ax=ax),
    "embedding": lambda ax: plot.embedding([[0, 0], [1, 1]], ["a", "b"], ax=ax),
}


def test_every_public_picture_is_tried_here():
    assert sorted(EVERY) == sorted({*plot.__all__, *pictures.__all__} - {"palette"})


@pytest.mark.parametrize("name", EVERY)
def test_the_given_axes_is_drawn_on_and_returned(name):
    figure = Figure(layout="constrained")
    ax = figure.add_subplot()
    assert EVERY[name](ax) is ax
    assert figure.axes == [ax]
    figure.draw_without_rendering()


@pytest.mark.parametrize("name", EVERY)
def test_without_axes_a_figure_is_made_and_all_of_it_is_inside(name):
    ax = EVERY[name](None)
    figure = ax.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    box = ax.get_tightbbox()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.x1
    assert box.y1 <= figure.bbox.y1


@pytest.mark.parametrize("name", EVERY)
def test_an_array_of_axes_is_refused(name):
    with pytest.raises(
        ParameterError, match="ax must be a matplotlib Axes or None, but is ndarray"
    ):
        EVERY[name](Figure().subplots(1, 2))


def test_the_settings_are_left_alone():
    program = (
        "import sys, coterie.plot\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import matplotlib.pyplot\n"
        "before = dict(matplotlib.rcParams)\n"
        "coterie.plot.tracking([[0, 0], [0, 1]])\n"
        "assert dict(matplotlib.rcParams) == before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", EVERY)
def test_without_matplotlib_one_line_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError) as caught:
        EVERY[name](None)
    assert str(caught.value) == 'coterie.plot needs matplotlib; run: pip install "coterie[plot]"'


# ---------------------------------------------------------------- text


def drawn_text(text):
    """What matplotlib makes of a text: the characters, and whether it is typeset as a formula."""
    ax = Figure().add_subplot()
    return ax.text(0, 0, text)._preprocess_math(text)


@pytest.mark.parametrize("name", ["$x^2$", "cost in $", r"\$5 and $6$", "a_b", "<script>", "$$"])
def test_a_dollar_stays_a_dollar(name):
    assert drawn_text(shown(name)) == (name, False)


def test_names_are_cut_to_one_short_line():
    assert shown("two\nlines\tof it") == "two lines of it"
    assert shown("x" * 50, 10) == "x" * 9 + "…"
    assert shown(3) == "3"


def test_names_from_data_reach_the_picture_as_text():
    labels = ["$a$", "$a$", "_b", "_b"]
    points = np.arange(8.0).reshape(4, 2)
    texts = plot.embedding(points, labels).get_legend().get_texts()
    assert [drawn_text(text.get_text()) for text in texts] == [
        ("$a$  (2)", False),
        ("_b  (2)", False),
    ]
    ax = plot.matrix(np.eye(4), labels=labels)
    assert [drawn_text(t.get_text()) for t in ax.get_yticklabels()] == [
        ("$a$", False),
        ("_b", False),
    ]
    ax = plot.members(np.eye(2), names=["$a$", "b$"], order="given")
    assert [drawn_text(t.get_text())[0] for t in ax.get_xticklabels()] == ["$a$", "b$"]
    ax = plot.criteria([2, 3], {"$p$": [0.1, 0.2]})
    assert drawn_text(ax.child_axes[0].get_title(loc="left")) == ("$p$", False)


def test_a_long_legend_is_cut_and_says_so_beside_the_data():
    ax = plot.embedding(np.random.default_rng(0).normal(size=(50, 2)), np.arange(50))
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(words) == ENTRIES
    assert words[-1] == f"and {50 - ENTRIES + 1} more"
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 > ax.get_window_extent().x1


# ---------------------------------------------------------------- colours


def test_the_palette_begins_with_okabe_and_ito_and_grows_without_changing():
    assert plot.palette(6) == list(OKABE_ITO)
    assert plot.palette(0) == []
    long = plot.palette(70)
    for count in (3, 7, 33, 64):
        assert plot.palette(count) == long[:count]
    assert len(set(long)) == 70


def test_the_palette_follows_its_rule():
    reached, possible = distances(plot.palette(120), first=6)
    # candidates are rounded to 256 levels only when they are written
    assert reached == pytest.approx(possible, abs=0.005)


def test_colours_differ_for_all_three_kinds_of_eye():
    colours = [views(rgb(colour)[None]) for colour in plot.palette(12)]
    nearest = min(
        float(apart(one, other)[0]) for i, one in enumerate(colours) for other in colours[:i]
    )
    # a difference of 0.02 in OKLab is about the least that is noticed side by side
    assert nearest > 0.05


def test_palette_refuses():
    with pytest.raises(ParameterError, match="palette: count must be a whole number of at least 0"):
        plot.palette(-1)
