"""A council of settings elects one partition, the same for any order, thread count and seed."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import Council, ParameterError
from coterie.council import Seat, seats
from coterie.datasets import load
from coterie.evaluate import ari
from coterie.generate import kmeans_pool

SMALL = {"eccms": {"alpha": (0.7, 0.8)}, "spce": {"theta": (0.2, 0.4)}}


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    members = [np.where(rng.random(60) < 0.15, rng.integers(0, 3, 60), truth) for _ in range(8)]
    return np.stack(members, axis=1)


@pytest.fixture(scope="module")
def model(labels):
    return Council(3, settings=SMALL, random_state=0).fit(labels)


def test_it_finds_the_clusters(model):
    assert ari(np.repeat([0, 1, 2], 20), model.labels_) > 0.9
    assert model.n_clusters_ == 3
    assert model.left_out_ == []


def test_the_elected_partition_is_one_of_the_council(model):
    table = model.council_
    assert len(table) == 4
    elected = [
        row for row in table.rows() if f"{row['solver']}({row['setting']})" == model.elected_
    ]
    assert [row["with_result"] for row in elected] == [1.0]
    assert table["agreement"][0] == max(table["agreement"])


def test_every_solver_has_the_same_weight_in_all(labels):
    settings = {"eccms": {"alpha": (0.7, 0.75, 0.8)}, "spce": {"theta": (0.2,)}}
    table = Council(3, settings=settings).fit(labels).council_
    for solver in ("eccms", "spce"):
        assert table["weight"][table["solver"] == solver].sum() == pytest.approx(0.5)


def test_confidence_is_that_of_the_council(model):
    assert model.sample_confidence_.shape == (60,)
    assert ((model.sample_confidence_ >= 0) & (model.sample_confidence_ <= 1)).all()
    if (model.council_["with_result"] == 1).all():
        assert (model.sample_confidence_ == 1).all()


def test_threads_and_order_change_nothing(labels, model):
    threads = Council(3, settings=SMALL, n_jobs=2, random_state=0).fit(labels)
    assert (threads.labels_ == model.labels_).all()
    order = np.random.default_rng(1).permutation(60)
    shuffled = Council(3, settings=SMALL, random_state=0).fit(labels[order][:, ::-1])
    assert ari(shuffled.labels_, model.labels_[order]) == 1


def test_a_sample_given_twice_is_a_weight_of_two(labels):
    weight = np.ones(60, dtype=int)
    weight[:7] = 2
    twice = Council(3, settings=SMALL).fit(np.vstack([labels, labels[:7]]))
    weighted = Council(3, settings=SMALL).fit(labels, sample_weight=weight)
    assert ari(twice.labels_[:60], weighted.labels_) == 1


def test_weights_below_one_only_set_the_scale(labels, model):
    small = Council(3, settings=SMALL, random_state=0).fit(labels, sample_weight=np.full(60, 0.01))
    assert ari(small.labels_, model.labels_) == 1


def test_partitions_can_be_combined(labels):
    combined = Council(3, settings=SMALL, combine="eac").fit(labels)
    assert combined.elected_ == ""
    assert len(np.unique(combined.labels_)) == 3


def test_a_budget_of_settings_says_what_it_left_out(labels):
    with pytest.warns(UserWarning, match="allowed 3 of 4 settings"):
        model = Council(3, settings=SMALL, budget="3 settings").fit(labels)
    assert len(model.council_) == 3
    assert len(model.left_out_) == 1


def test_a_budget_of_no_time_still_answers(labels):
    with pytest.warns(UserWarning, match="allowed 1 of 4 settings"):
        model = Council(3, settings=SMALL, budget=1e-9).fit(labels)
    assert len(model.council_) == 1
    assert len(np.unique(model.labels_)) == 3


def test_auto_chooses_the_number_of_clusters():
    pool = kmeans_pool(load("blobs").X, 30, random_state=0)
    assert Council("auto", settings=SMALL, random_state=0).fit(pool).n_clusters_ == 5


def test_without_structure_there_is_nothing_to_vote_on():
    noise = np.random.default_rng(0).integers(0, 4, (80, 12))
    model = Council("auto", settings=SMALL, random_state=0).fit(noise)
    assert model.n_clusters_ == 1
    assert len(model.council_) == 0


def test_seats_take_turns_and_go_from_coarse_to_fine():
    order = list(seats(["spce", "eccms"], {"spce": {"theta": (0.1, 0.2, 0.3)}, "eccms": [{}]}))
    assert order == [
        Seat("spce", {"theta": 0.2}),
        Seat("eccms", {}),
        Seat("spce", {"theta": 0.1}),
        Seat("spce", {"theta": 0.3}),
    ]


def test_a_degenerate_partition_has_no_vote(labels):
    # single link of chained data chips off samples one by one
    chained = np.vstack([labels, np.arange(16).reshape(2, 8) + 10])
    settings = {"eccms": [{}], "spce": [{}], "eac": [{"linkage": "single"}]}
    table = Council(3, solvers=("eccms", "spce", "eac"), settings=settings).fit(chained).council_
    assert (table["weight"][table["left_out"]] == 0).all()
    assert table["weight"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solvers": ("ecms",)}, "did you mean 'eccms'"),
        ({"solvers": "eccms"}, "solvers must be a sequence"),
        ({"settings": {"lwea": {}}}, "not among solvers"),
        ({"settings": {"spce": {"theta": 0.2}}}, "must be a list of values"),
        ({"settings": {"spce": {"tetha": [0.2]}}}, "no parameter 'tetha'"),
        ({"settings": {"spce": {"theta": [3.0]}}}, "theta must be"),
        ({"settings": {"spce": []}}, "is empty"),
        ({"settings": {"spce": 3}}, "must be a grid"),
        ({"solvers": ("council",)}, "cannot sit in a council"),
        ({"combine": "medoit"}, "unknown method 'medoit'"),
        ({"budget": 0}, "budget must be"),
        ({"budget": "three settings"}, "budget must be"),
        ({"n_clusters": "many"}, "n_clusters must be"),
    ],
)
def test_what_is_wrong_is_named(labels, options, words):
    with pytest.raises(ParameterError, match=words):
        Council(**({"n_clusters": 3} | options)).fit(labels)
