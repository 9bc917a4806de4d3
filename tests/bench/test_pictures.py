"""Pictures that compare methods: what is drawn is what was given, and what is absent is no zero."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import Ensemble, ParameterError
from coterie.evidence import coassociation
from coterie_bench.evidence_quality import evidence_quality
from coterie_bench.pictures import bars, curves, evidence, matrices, ranks, score_map
from coterie_bench.pictures._bars import joined
from coterie_bench.pictures._curves import strokes

NAN = float("nan")


def texts(ax):
    return [text.get_text() for text in ax.texts]


# ---------------------------------------------------------------- curves


def test_numbers_over_decades_get_a_log_axis_and_others_do_not():
    assert curves([0.1, 1, 10], {"a": [1, 2, 3]}).get_xscale() == "log"
    assert curves([10, 20, 40], {"a": [1, 2, 3]}).get_xscale() == "linear"
    assert curves([1, 100], {"a": [1, 2]}, scale="linear").get_xscale() == "linear"


@pytest.mark.parametrize("x", [[0, 0.1, 100], ["min", "max", None], [True, False, True]])
def test_what_has_no_place_on_a_log_axis_is_spaced_evenly(x):
    ax = curves(x, {"a": [1, 2, 3]})
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 2]
    assert ax.get_xticklabels()[0].get_text() == str(x[0])


def test_a_point_without_a_result_is_a_cross_above_the_axis():
    ax = curves([1, 2, 3], {"a": [0.5, NAN, 0.7], "b": [0.4, NAN, 0.2]})
    assert np.isnan(ax.lines[0].get_ydata()[1])
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    assert [cross.get_xdata().tolist() for cross in crosses] == [[2.0], [2.0]]
    heights = [cross.get_transform().transform((2.0, 0.03))[1] for cross in crosses]
    assert heights[1] > heights[0]
    assert ax.get_title(loc="left") == "×: no result"


def test_bands_levels_marks_and_hollow_points():
    ax = curves(
        [1, 2],
        {"a": [0.5, 0.7]},
        spread={"a": [0.1, NAN]},
        partial={"a": [False, True]},
        levels={"base": 0.3},
        marked=2,
    )
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.4)
    assert band[:, 1].max() == pytest.approx(0.7)
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata().tolist() for line in hollow] == [[2.0]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "base", "default (2)"]


def test_lines_differ_without_colour():
    styles = [(style["marker"], str(style["linestyle"])) for style in strokes(24)]
    assert len(set(styles)) == 24


def test_curves_refuses():
    with pytest.raises(ParameterError, match=r"lines\['a'\] must have shape 2"):
        curves([1, 2], {"a": [1, 2, 3]})
    with pytest.raises(ParameterError, match="spread has the name 'b', which is not in lines"):
        curves([1, 2], {"a": [1, 2]}, spread={"b": [1, 2]})
    with pytest.raises(ParameterError, match="x is empty"):
        curves([], {"a": []})
    with pytest.raises(ParameterError, match="lines is empty"):
        curves([1], {})
    with pytest.raises(ParameterError, match="scale 'log' needs numbers in x, but has 'b'"):
        curves(["b", 1], {"a": [1, 2]}, scale="log")
    with pytest.raises(ParameterError, match="values that a log axis cannot show"):
        curves([0, 1], {"a": [1, 2]}, scale="log")


# ---------------------------------------------------------------- maps


def test_a_map_frames_the_default_and_rings_the_best():
    values = np.arange(64.0).reshape(8, 8) / 100
    values[0, 0] = NAN
    ax = score_map(values, range(8), range(8), marked=(1, 2), row_name="alpha", column_name="lam")
    assert np.array_equal(ax.images[0].get_array().filled(NAN), values, equal_nan=True)
    assert ax.get_title(loc="left") == "○ best 0.630; □ default 0.100"
    assert [(patch.get_x(), patch.get_y()) for patch in ax.patches] == [(1.5, 0.5)]
    marks = {line.get_marker(): line.get_xydata().tolist() for line in ax.lines}
    assert marks == {"x": [[0.0, 0.0]], "o": [[7.0, 7.0]]}
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("alpha", "lam")


def test_a_small_map_has_its_numbers_and_a_default_without_a_result_says_so():
    ax = score_map([[0.25, NAN]], [1], ["a", "b"], marked=(1, "b"))
    assert texts(ax) == [".25"]
    assert ax.get_title(loc="left") == "best 0.250; □ default without a result"


def test_a_map_refuses():
    with pytest.raises(ParameterError, match="values must have shape 1 x 2"):
        score_map([[1, 2, 3]], [1], [1, 2])
    with pytest.raises(ParameterError, match="holds no result"):
        score_map([[NAN]], [1], [1])


# ---------------------------------------------------------------- bars


@pytest.mark.parametrize("log", [True, False])
def test_what_has_no_result_is_hatched_across_the_axis_and_says_why(log):
    ax = bars(["a", "b", "c"], [2.0, NAN, NAN], absent={"b": "time cap"}, log=log)
    whole = ax.get_xlim()[1] - ax.get_xlim()[0]
    assert [patch.get_hatch() for patch in ax.patches] == [None, "////", "////"]
    assert [patch.get_width() for patch in ax.patches[1:]] == pytest.approx([whole, whole])
    assert texts(ax) == ["2", "time cap", "no result"]
    assert ax.patches[0].get_x() + ax.patches[0].get_width() == pytest.approx(2.0)


def test_a_logarithmic_axis_is_labelled_at_powers_of_ten_only():
    ax = bars(["a", "b"], [0.02, 0.17], log=True)
    ax.figure.canvas.draw()
    assert not any(label.get_text() for label in ax.xaxis.get_ticklabels(minor=True))
    assert any(label.get_text() for label in ax.xaxis.get_ticklabels())


def test_bars_of_nothing_but_failures():
    assert texts(bars(["a"], [NAN], absent={"a": "failed"}, log=True)) == ["failed"]


def test_spread_notes_and_stress():
    ax = bars(
        ["a", "b"], [0.5, -0.1], spread=[0.1, NAN], notes={"b": "3 of 5 runs"}, stressed=["a"]
    )
    assert ax.lines[0].get_xdata().tolist() == pytest.approx([0.4, 0.6])
    assert texts(ax) == ["0.5", "-0.1 (3 of 5 runs)"]
    assert ax.get_xlim()[0] == pytest.approx(-0.1)
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()


def test_bars_refuses():
    with pytest.raises(ParameterError, match=r"cannot show 0\.0 \(b\)"):
        bars(["a", "b"], [1.0, 0.0], log=True)
    with pytest.raises(ParameterError, match="values must have shape 2"):
        bars(["a", "b"], [1.0])
    with pytest.raises(ParameterError, match="names is empty"):
        bars([], [])


# ---------------------------------------------------------------- ranks


def test_groups_are_the_longest_runs_within_the_critical_difference():
    found = np.array([1.0, 1.5, 2.2, 4.0, 4.1])
    assert joined(found, 1.0) == [(0, 1), (1, 2), (3, 4)]
    assert joined(found, 10.0) == [(0, 4)]
    assert joined(found, 0.05) == []
    assert joined(found, NAN) == []
    # exactly as far apart as the critical difference is told apart
    assert joined(np.array([1.0, 2.0]), 1.0) == []


def test_ranks_are_drawn_best_first_and_without_a_test_nothing_is_joined():
    ax = ranks(["a", "b", "c"], [3.0, 1.0, 2.0], None)
    assert texts(ax)[:3] == ["b  1.00", "c  2.00", "3.00  a"]
    assert not [line for line in ax.lines if line.get_gid() == "group"]
    assert not any("critical" in text for text in texts(ax))
    with pytest.raises(ParameterError, match="ranks must have shape 2"):
        ranks(["a", "b"], [1.0])


# ---------------------------------------------------------------- evidence and matrices


@pytest.fixture
def ensemble():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [20, 10, 6])
    labels = np.where(rng.random((36, 4)) < 0.2, rng.integers(0, 3, (36, 4)), classes[:, None])
    return Ensemble.from_labels(labels), classes


def test_evidence_draws_the_shares_of_the_record(ensemble):
    found = evidence_quality(*ensemble)
    upper, lower = evidence(found).child_axes
    assert upper.get_yscale() == "log"
    assert [bar.get_height() for bar in upper.patches] == found.share[found.share > 0].tolist()
    drawn = [line.get_ydata() for line in lower.lines]
    for line, values in zip(
        drawn, (found.precision, found.recall, found.precision_at), strict=True
    ):
        assert np.array_equal(line, values, equal_nan=True)


def test_evidence_of_no_pair_and_of_something_else():
    ax = evidence(evidence_quality(Ensemble.from_labels([[0], [1]]), ["a", "b"]))
    assert "no two samples" in ax.child_axes[0].get_title(loc="left")
    with pytest.raises(ParameterError, match="evidence_quality returns, but is list"):
        evidence([0.1])


def test_matrices_are_in_one_order_with_difference_and_truth(ensemble):
    source, classes = ensemble
    before = coassociation(source)
    after = before**2
    ax = matrices({"one": before, "two": after}, classes, source, difference=("one", "two"))
    one, two, difference, truth = [np.asarray(p.images[0].get_array()) for p in ax.child_axes]
    assert [panel.get_title(loc="left") for panel in ax.child_axes] == [
        "one", "two", "difference", "classes",
    ]  # fmt: skip
    assert np.array_equal(truth, classes[:, None] == classes)
    assert two == pytest.approx(one**2)
    assert difference == pytest.approx(two - one)
    # every sample is there once
    whole = before[np.ix_(source.inverse, source.inverse)]
    assert np.sort(np.asarray(one).sum(axis=0)) == pytest.approx(np.sort(whole.sum(axis=0)))
    assert ax.child_axes[0].images[0].get_clim() == ax.child_axes[1].images[0].get_clim()
    low, high = ax.child_axes[2].images[0].get_clim()
    assert low == -high


def test_pooled_matrices_keep_their_means(ensemble):
    source, classes = ensemble
    before = coassociation(source)
    ax = matrices({"one": before}, classes, source, max_rows=12)
    one, truth = [panel.images[0].get_array() for panel in ax.child_axes]
    assert one.shape == (12, 12)
    whole = before[np.ix_(source.inverse, source.inverse)]
    assert one.mean() == pytest.approx(whole.mean())
    assert truth.mean() == pytest.approx((classes[:, None] == classes).mean())
    assert "means over 12 bins of 3 samples" in ax.get_title(loc="left")


def test_of_a_walk_both_directions_are_drawn(ensemble):
    source, classes = ensemble
    walk = np.triu(coassociation(source))
    ax = matrices({"walk": walk}, classes, source)
    drawn = np.asarray(ax.child_axes[0].images[0].get_array())
    assert np.array_equal(drawn, drawn.T)
    assert drawn.sum() == pytest.approx(walk[np.ix_(source.inverse, source.inverse)].sum())


def test_matrices_refuses(ensemble):
    source, classes = ensemble
    with pytest.raises(ParameterError, match="named is empty"):
        matrices({}, classes, source)
    with pytest.raises(ParameterError, match=r"named\['a'\] must have shape"):
        matrices({"a": np.eye(2)}, classes, source)
    good = {"a": np.eye(source.n_microclusters)}
    with pytest.raises(ParameterError, match="difference has the name 'b', which is not in named"):
        matrices(good, classes, source, difference=("a", "b"))
    with pytest.raises(ParameterError, match="labels must hold 36 labels, but holds 2"):
        matrices(good, [0, 1], source)
