"""A picture takes a model, a Result or an Ensemble, or says what to pass instead."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from coterie import EAC, SPCE, ConsensusClustering, Ensemble, ParameterError, plot
from coterie.result import Result
from coterie.select import select_k

LABELS = [[0, 0, 5], [0, 0, 5], [1, 1, 6], [1, 0, 6], [1, 1, 6], [1, 1, 5]]
ENSEMBLE = Ensemble.from_labels(LABELS)
MODEL = EAC(2).fit(ENSEMBLE)
RESULT = Result.of(MODEL)
SELECTION = select_k(ENSEMBLE, k=[2, 3], random_state=0)
CHOSEN = Result.of(MODEL, selection=SELECTION)
OVER_K = ("criteria", "cdf", "delta_area", "tracking")


def refusal(name, given):
    with pytest.raises(ParameterError) as caught:
        getattr(plot, name)(given, ax=Figure().add_subplot())
    message = str(caught.value)
    assert message.startswith(f"plot.{name}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("given", [MODEL, RESULT], ids=["model", "result"])
def test_a_model_and_a_result_are_drawn_like_their_parts(given):
    ours, theirs = plot.matrix(given), plot.matrix(ENSEMBLE, labels=MODEL.labels_)
    assert np.array_equal(ours.images[0].get_array(), theirs.images[0].get_array())
    assert [t.get_text() for t in ours.get_yticklabels()] == ["0", "1"]
    ours, theirs = plot.members(given), plot.members(ENSEMBLE)
    assert np.array_equal(ours.images[0].get_array(), theirs.images[0].get_array())
    ours = plot.confidence(given)
    theirs = plot.confidence(MODEL.sample_confidence_, labels=MODEL.labels_)
    heights = [[bar.get_height() for row in ax.containers for bar in row] for ax in (ours, theirs)]
    assert heights[0] == heights[1]
    ours = plot.embedding(given)
    expected = {*map(tuple, RESULT.coordinates.astype(float).tolist())}
    assert {*map(tuple, ours.collections[0].get_offsets().tolist())} == expected
    assert len(ours.get_legend().get_texts()) == 2
    assert RESULT.coordinates_name in ours.get_xlabel()


def test_labels_that_are_given_come_first():
    own = ["a", "b", "a", "b", "a", "b"]
    assert [t.get_text() for t in plot.matrix(MODEL, labels=own).get_yticklabels()] == ["a", "b"]


def test_passes_of_a_model():
    model = SPCE(2).fit(ENSEMBLE)
    objective, _ = plot.convergence(model).child_axes
    assert len(objective.lines[0].get_ydata()) == len(model.history_)
    assert len(plot.convergence(Result.of(model)).child_axes) == 2


@pytest.mark.parametrize("name", OVER_K)
def test_pictures_over_k_take_what_chose_k(name):
    # the picture of a result that holds the selection is the picture of the selection
    ours, theirs = (getattr(plot, name)(given) for given in (CHOSEN, SELECTION))
    assert ours.get_xlabel() == theirs.get_xlabel()
    assert len(ours.lines) == len(theirs.lines)
    assert len(ours.child_axes) == len(theirs.child_axes)
    assert len(ours.patches) == len(theirs.patches)


def test_a_model_that_chose_k_is_drawn():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 20 * np.repeat(np.eye(2), 30, axis=0)
    model = ConsensusClustering((2, 4), n_members=6, random_state=0).fit(X)
    drawn = [panel.get_title(loc="left") for panel in plot.criteria(model).child_axes]
    assert len(drawn) == len(model.selection_.criteria)
    assert len(plot.matrix(model).images[0].get_array()) == 60


@pytest.mark.parametrize("name", OVER_K)
def test_what_did_not_choose_k_is_refused(name):
    assert "is a fitted EAC that did not choose its number of clusters" in refusal(name, MODEL)
    assert "is a Result that did not choose its number of clusters" in refusal(name, RESULT)
    assert "is an Ensemble, which does not compare" in refusal(name, ENSEMBLE)
    for given in (MODEL, RESULT, ENSEMBLE, None):
        assert "pass a Selection (from select_k)" in refusal(name, given)


@pytest.mark.parametrize("name", sorted({*plot.__all__} - {"palette"}))
def test_what_is_not_fitted_is_refused(name):
    assert "is a EAC that is not fitted; call its fit first" in refusal(name, EAC())
    assert "is the class EAC; pass " in refusal(name, EAC)
    assert "is None; pass " in refusal(name, None)


def test_other_estimators_are_refused():
    from sklearn.cluster import KMeans

    assert "is a KMeans; pass a model" in refusal("matrix", KMeans(2, n_init=1).fit(np.eye(3)))


# ---------------------------------------------------------------- figures


def test_the_new_figure_is_the_current_one():
    ax = plot.matrix(MODEL)
    assert pyplot.gcf() is ax.figure
    assert pyplot.gca() is ax


def test_many_figures_do_not_pile_up_and_earlier_ones_stay_valid(tmp_path):
    mine = pyplot.figure()
    drawn = [plot.confidence(MODEL) for _ in range(30)]
    # the user's own figure stays open
    assert pyplot.fignum_exists(mine.number)
    assert len(pyplot.get_fignums()) == 2
    assert len({id(ax.figure) for ax in drawn}) == 30
    drawn[0].figure.savefig(tmp_path / "first.png")
    assert (tmp_path / "first.png").stat().st_size > 1000
    pyplot.close("all")


def test_pyplot_saves_what_was_drawn_last(tmp_path):
    program = (
        "from matplotlib import pyplot\n"
        "from coterie import plot\n"
        "ax = plot.matrix([[1.0, 0.5], [0.5, 1.0]], labels=['a', 'b'])\n"
        "pyplot.savefig(__import__('sys').argv[1])\n"
        "assert pyplot.gcf().axes[0] is ax\n"
    )
    path = tmp_path / "picture.png"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert pyplot.imread(path).std() > 0.05


def test_one_cluster_has_no_confidence_to_boast_of():
    ax = plot.confidence(np.ones(4), labels=np.zeros(4, dtype=int))
    assert "carries no information" in ax.get_title(loc="left")
    ax = plot.confidence(np.ones(4), labels=[0, 0, 1, 1])
    assert "carries no information" not in ax.get_title(loc="left")
