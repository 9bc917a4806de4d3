"""Choosing k: the curves drawn are the arrays given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import same_color

from coterie import ParameterError
from coterie.plot import cdf, criteria, delta_area, tracking
from coterie.plot.colours import ACCENT

KS = np.array([2, 3, 4])
GRID = np.linspace(0, 1, 5)
CDF = np.array([[0.5, 0.5, 0.5, 0.5, 1], [0.6, 0.6, 0.7, 0.7, 1], [0.7, 0.7, 0.8, 0.9, 1]])
CHOICE = SimpleNamespace(
    ks=KS,
    cdf_grid=GRID,
    cdf=CDF,
    delta_area=np.array([0.5, np.nan, 0.1]),
    criteria={"pac": np.array([0.0, 0.2, 0.3]), "eigengap": np.array([0.5, 0.1, np.nan])},
    recommended=2,
    labels=np.array([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 2, 3]]),
)


def test_cdf_draws_a_step_curve_for_each_k_and_stresses_the_recommended():
    ax = cdf(KS, GRID, CDF, recommended=3)
    for line, curve in zip(ax.lines, CDF, strict=True):
        assert np.array_equal(line.get_xdata(), GRID)
        assert np.array_equal(line.get_ydata(), curve)
        assert line.get_drawstyle() == "steps-post"
    assert [same_color(line.get_color(), ACCENT) for line in ax.lines] == [False, True, False]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "2",
        "3 (recommended)",
        "4",
    ]


def test_cdf_shades_the_ambiguous_interval():
    def shaded(ax):
        return [(round(p.get_x(), 9), round(p.get_x() + p.get_width(), 9)) for p in ax.patches]

    assert shaded(cdf(KS, GRID, CDF)) == [(0.1, 0.9)]


def test_delta_area_and_the_mark_of_the_recommended():
    ax = delta_area(KS, [0.5, 0.2, 0.1], recommended=3)
    assert ax.lines[0].get_xdata().tolist() == [2, 3, 4]
    assert ax.lines[0].get_ydata().tolist() == [0.5, 0.2, 0.1]
    assert ax.lines[2].get_xdata() == [3, 3]
    assert ax.get_xticks().tolist() == [2, 3, 4]
    assert delta_area(KS, [0.5, 0.2, 0.1]).get_legend() is None


def test_criteria_panels_hold_criterion_and_recommendation():
    ax = criteria(KS, CHOICE.criteria, recommended=2)
    pac, eigengap = ax.child_axes
    assert pac.get_title(loc="left") == "PAC ↓"
    assert pac.lines[0].get_ydata().tolist() == [0.0, 0.2, 0.3]
    assert pac.lines[1].get_xdata() == [2, 2]
    assert np.isnan(eigengap.lines[0].get_ydata()[2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "measured",
        "recommended k = 2",
    ]


def test_no_structure_is_said_in_words():
    ax = criteria(KS, CHOICE.criteria, recommended=1)
    assert "no structure" in ax.get_title(loc="left")
    assert all(len(panel.lines) == 1 for panel in ax.child_axes)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_panels_do_not_overlap(count):
    ax = criteria(KS, {f"c{i}": [0.1, 0.2, 0.3] for i in range(count)})
    ax.figure.draw_without_rendering()
    boxes = [panel.get_tightbbox() for panel in ax.child_axes]
    assert len(boxes) == count
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert not one.overlaps(other)
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(box) for box in boxes)


def test_a_selection_brings_everything():
    assert np.array_equal(cdf(CHOICE).lines[2].get_ydata(), CDF[2])
    assert delta_area(CHOICE).lines[0].get_ydata()[[0, 2]].tolist() == [0.5, 0.1]
    assert len(criteria(CHOICE).child_axes[0].lines) == 2
    ax = tracking(CHOICE)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "3", "4"]
    assert len(ax.patches) == 2 + 3 + 4
    # what is given beside it goes first
    assert "k = 4" in delta_area(CHOICE, recommended=4).get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cdf(KS), "plot.cdf: grid is needed, unless the first argument is a Selection"),
        (lambda: cdf(KS, GRID), "plot.cdf: values is needed"),
        (
            lambda: cdf(KS, GRID, CDF[:2]),
            r"plot.cdf: values must have shape 3 x 5, but has \(2, 5\)",
        ),
        (lambda: cdf(KS, GRID[::-1], CDF), "plot.cdf: grid must be ascending"),
        (lambda: cdf([2.5], GRID, CDF[:1]), "plot.cdf: ks must be whole numbers of at least 1"),
        (lambda: cdf([], GRID, CDF[:0]), "plot.cdf: ks is empty"),
        (lambda: cdf([3, 2, 4], GRID, CDF), "plot.cdf: ks must be ascending without repeats"),
        (lambda: delta_area(KS), "plot.delta_area: values is needed"),
        (lambda: delta_area(KS, [1, 2]), "plot.delta_area: values must have shape 3"),
        (lambda: delta_area(KS, [1, np.inf, 2]), "values must be finite, but entry 1 is inf"),
        (lambda: criteria(KS, {}), "plot.criteria: values is empty"),
        (lambda: criteria(KS, [1, 2, 3]), "plot.criteria: values must be a mapping"),
        (lambda: criteria(KS, {"a": [1, 2]}), r"plot.criteria: values\['a'\] must have shape 3"),
        (
            lambda: criteria(KS, {"a": [1, 2, 3]}, columns=0),
            "columns must be a whole number of at least 1",
        ),
    ],
)
def test_refusals(call, says):
    with pytest.raises(ParameterError, match=says):
        call()
