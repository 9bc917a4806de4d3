"""Who sits in a council, in which order, and which runs answer for whom."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import ECCMS, LWEA, SPCE, Ensemble
from coterie.council import Seat, seats


def test_settings_that_mean_the_same_have_one_seat():
    given = [{}, {"alpha": 0.8}, {"lam": 0.4, "alpha": 0.8}, {"lam": 1}, {"lam": 1.0}]
    assert [seat.setting for seat in seats(["ECCMS"], {"ECCMS": given})] == [
        {},
        {"lam": 1},
    ]


def test_the_council_of_the_docs():
    smooth = [(0.8, 0.4), (0.75, 0.01), (0.7, 0.4), (0.7, 0.01), (0.75, 0.4), (0.8, 0.01)]
    invited = list(seats(["eccms", "spce"], "grid"))
    assert [seat.solver for seat in invited] == ["eccms", "spce"] * 6
    assert [tuple(seat.setting.values()) for seat in invited[::2]] == smooth
    assert sorted(seat.setting["theta"] for seat in invited[1::2]) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def test_any_beginning_of_a_grid_covers_it():
    grid = {"alpha": (0.5, 0.6, 0.7), "lam": (1, 2, 3)}
    first = [seat.setting for seat in seats(["eccms"], {"eccms": grid})]
    assert len(first) == 9
    assert first[:3] == [
        {"alpha": 0.6, "lam": 2},
        {"alpha": 0.6, "lam": 1},
        {"alpha": 0.5, "lam": 2},
    ]
    assert {one["alpha"] for one in first[:6]} == {0.5, 0.6, 0.7}
    assert {one["lam"] for one in first[:6]} == {1, 2, 3}


def test_the_wide_council_has_more_than_fifty_seats():
    invited = list(seats(["eccms", "spce"], "wide"))
    assert len(invited) == 54
    assert [seat.is_default for seat in invited[:3]] == [True, True, False]


def test_seats_take_turns_and_go_from_coarse_to_fine():
    order = list(seats(["spce", "eccms"], {"spce": {"theta": (0.1, 0.2, 0.3)}, "eccms": [{}]}))
    assert order == [
        Seat("spce", {"theta": 0.2}),
        Seat("eccms", {}),
        Seat("spce", {"theta": 0.1}),
        Seat("spce", {"theta": 0.3}),
    ]


@pytest.mark.parametrize(
    "settings", ["grid", {"eccms": {"lam": (0.01, 0.1, 0.4), "alpha": (0.8,)}}]
)
def test_the_default_setting_is_heard_first(settings):
    first = next(iter(seats(["eccms"], settings)))
    assert first.is_default
    assert first.setting == {name: ECCMS(2).get_params()[name] for name in first.setting}


ECCMS_SETTINGS = [
    {"alpha": alpha, "lam": lam, "tol": tol}
    for alpha in (0.6, 0.7, 0.75, 0.8, 1.0)
    for lam in (0.1, 0.4)
    for tol in (0.1, 0.02, 0.01)
] + [
    {"max_iter": 3},
    {"max_iter": 3, "tol": 0.5},
    {"evidence": "ca", "theta": 0.1},
    {"evidence": "ca", "theta": 0.9},
    {"theta": 0.1},
    {"theta": 4.0},
    {"propagate": False},
    {"keep_confident": False},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        (ECCMS, ECCMS_SETTINGS),
        (SPCE, [{"theta": k / 10} for k in range(10)] + [{"self_paced": "fixed"}]),
        (LWEA, [{"theta": 0.2}, {"theta": 1.0}]),
    ],
)
def test_settings_that_share_work_arrive_where_each_does_alone(solver, settings, missing, disputed):
    rng = np.random.default_rng(6)
    given = disputed.copy()
    given[rng.random(given.shape) < missing] = -1
    ensemble = Ensemble.from_labels(given)
    ensemble = ensemble.reorder_members(ensemble.canonical_member_order())
    solvers = [solver(4, **setting) for setting in settings]
    heard = []
    for run in solver._runs(solvers, ensemble, 0):
        for place, partition in zip(run.places, run.solve(), strict=True):
            alone = solvers[place]._solve(ensemble, np.random.default_rng(0))
            assert np.array_equal(partition.labels, alone.labels), settings[place]
            assert np.array_equal(partition.member_weights, alone.member_weights)
            assert partition.converged == alone.converged
            heard.append(place)
    assert sorted(heard) == list(range(len(settings)))


def test_alphas_that_ask_for_the_same_pairs_are_one_run(labels):
    # eight members: shares are eighths
    settings = [ECCMS(3, alpha=alpha, tol=tol) for alpha in (0.7, 0.75, 0.8) for tol in (0.1, 0.01)]
    runs = ECCMS._runs(settings, Ensemble.from_labels(labels), 0)
    assert [run.places for run in runs] == [(0, 1, 2, 3), (4, 5)]
