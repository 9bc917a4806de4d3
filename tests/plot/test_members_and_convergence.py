"""Agreement of members, and the passes of a solver."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import EAC, SPCE, Ensemble, ParameterError
from coterie.evaluate import nmi
from coterie.plot import convergence, members

# ---------------------------------------------------------------- members


def test_agreement_is_the_nmi_of_the_members_named_at_the_ticks():
    rng = np.random.default_rng(0)
    labels = {f"m{j}": rng.integers(0, 3, 40) for j in range(5)}
    labels["twin"] = 2 - labels["m1"]
    ax = members(Ensemble.from_labels(labels))
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert sorted(names) == sorted(labels)
    assert names == [text.get_text() for text in ax.get_xticklabels()]
    drawn = np.asarray(ax.images[0].get_array())
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            assert drawn[i, j] == pytest.approx(nmi(labels[one], labels[other]))
    # like beside like
    assert abs(names.index("m1") - names.index("twin")) == 1


def test_numbers_stand_in_the_cells_of_a_small_matrix():
    ax = members([[1.0, 0.25], [0.25, 1.0]], names=["a", "b"])
    assert [text.get_text() for text in ax.texts] == ["1.00", "0.25", "0.25", "1.00"]


def test_members_without_a_common_sample_are_left_blank():
    ax = members(Ensemble.from_labels([[0, -1, 0], [1, -1, 0], [-1, 0, 1], [-1, 1, 1]]))
    drawn = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert np.isnan(drawn).sum() == 2
    assert [text.get_text() for text in ax.texts].count("–") == 2


def test_many_members_are_counted_not_named():
    ax = members(np.eye(60))
    assert ax.get_xticks().tolist() == []
    assert ax.get_xlabel() == "60 members, ordered by similarity"
    assert members(np.eye(60), order="given").get_xlabel() == "60 members, as given"


def test_the_order_may_stay():
    values = np.array([[1, 0.1, 0.9], [0.1, 1, 0.2], [0.9, 0.2, 1]])
    drawn = members(values, order="given").images[0].get_array()
    assert np.array_equal(drawn, values)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"source": np.ones((2, 3))}, "source must have shape 2 x 2"),
        ({"source": [[1, 0], [0.5, 1]]}, "source must be symmetric"),
        ({"source": np.eye(2), "names": ["a"]}, "names must hold 2 names, but holds 1"),
        ({"source": np.eye(2), "order": "alphabet"}, "order must be one of"),
        (
            {"source": Ensemble.from_labels([[0], [1]]), "names": ["a"]},
            "an Ensemble has its own names; give names only",
        ),
    ],
)
def test_member_agreement_refuses(arguments, says):
    with pytest.raises(ParameterError, match=f"plot.members: {says}"):
        members(**arguments)


# ---------------------------------------------------------------- convergence


def record(number, objective, residual, **more):
    return {"pass": number, "objective": objective, "residual": residual, **more}


def test_the_panels_hold_the_history():
    history = [record(1, 5.0, 1.0), record(2, 4.0, 0.1), record(3, 3.5, 0.0)]
    objective, residual = convergence(history, tol=0.01).child_axes
    assert objective.lines[0].get_xdata().tolist() == [1, 2, 3]
    assert objective.lines[0].get_ydata().tolist() == [5.0, 4.0, 3.5]
    assert residual.get_yscale() == "log"
    assert residual.lines[0].get_ydata()[:2].tolist() == [1.0, 0.1]
    assert np.isnan(residual.lines[0].get_ydata()[2])
    assert residual.get_title(loc="left") == "1 pass with residual 0 not shown"
    assert residual.lines[1].get_ydata() == [0.01, 0.01]


def test_stages_are_parted():
    history = [record(1, 5, 1, stage=1), record(2, 4, 1, stage=1), record(3, 9, 1, stage=2)]
    objective, _ = convergence(history).child_axes
    assert [line.get_xdata()[0] for line in objective.lines[1:]] == [2.5]


def test_histories_of_solvers():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 10)
    labels = np.where(rng.random((30, 6)) < 0.8, truth[:, None], rng.integers(0, 3, (30, 6)))
    for solver in (EAC(n_clusters=3), SPCE(n_clusters=3, random_state=0)):
        history = solver.fit(labels).history_
        objective, _ = convergence(history).child_axes
        assert objective.lines[0].get_ydata().tolist() == [r["objective"] for r in history]


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([], "history is empty: there is no pass to draw"),
        ({"pass": 1}, "history must be a list with one record per pass, .* but is dict"),
        ([1.0], r"history\[0\] must be a record of a pass, but is 1.0"),
        ([{"objective": 1.0}], r"history\[0\] has no 'residual'; it has objective"),
        ([record(1, np.nan, 0.1)], "history: objective must be finite, but entry 0 is nan"),
    ],
)
def test_convergence_refuses(history, says):
    with pytest.raises(ParameterError, match=f"plot.convergence: {says}"):
        convergence(history)
