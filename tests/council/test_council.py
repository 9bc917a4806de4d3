"""A council of settings elects one partition, the same for any order, thread count and seed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from coterie import EAC, ECCMS, SPCE, Council, Ensemble, ParameterError
from coterie.datasets import load
from coterie.evaluate import anmi, ari
from coterie.generate import kmeans_pool
from coterie.trust import samples

SMALL = {"eccms": {"alpha": (0.7, 0.8)}, "spce": {"theta": (0.2, 0.4)}}


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
    assert [row["elects"] for row in elected] == [True]
    assert table["agreement"][0] == max(table["agreement"])


@pytest.mark.parametrize("first", ["eccms", "spce"])
def test_the_first_solver_stands_for_election(disputed, first):
    others = [name for name in ("eccms", "spce") if name != first]
    model = Council(4, solvers=(first, *others), settings=SMALL, random_state=0).fit(disputed)
    assert model.elected_.startswith(first)


def test_where_the_first_solver_has_no_vote_another_is_elected(disputed):
    settings = {"eac": [{"linkage": "single"}], "eccms": [{}]}
    model = Council(4, solvers=("eac", "eccms"), settings=settings).fit(disputed)
    assert model.elected_.startswith("eccms")


@pytest.fixture(scope="module")
def ecoli(shared_data):
    """Twenty members of a pool where the default cuts a large class that the members leave whole."""
    with np.load(shared_data / "pools" / "ecoli.npz") as file:
        columns = np.random.default_rng([7, 102]).choice(100, 20, replace=False)
        return file["members"][:, columns], file["gt"].ravel()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_on_ecoli_the_default_is_unseated(ecoli):
    members, classes = ecoli
    model = Council(8, random_state=0).fit(members)
    assert model.elected_.startswith("eccms(alpha=")
    assert model.elected_ != "eccms(alpha=0.8, lam=0.4)"
    table = model.council_
    default = (table["solver"] == "eccms") & (table["setting"] == "alpha=0.8, lam=0.4")
    assert not table["elects"][default].any()
    assert table["elects"].sum() > 1
    assert ari(classes, model.labels_) > ari(classes, ECCMS(8).fit_predict(members)) + 0.2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_order_names_and_threads_do_not_change_an_election(ecoli):
    members, _ = ecoli
    model = Council(8, random_state=0).fit(members)
    rng = np.random.default_rng(3)
    order = rng.permutation(len(members))
    renamed = np.stack([rng.permutation(99)[member] for member in members[order].T], axis=1)
    other = Council(8, random_state=0, n_jobs=2).fit(renamed[:, rng.permutation(20)])
    assert other.elected_ == model.elected_
    assert ari(other.labels_, model.labels_[order]) == 1


def test_without_a_default_the_greatest_agreement_wins(disputed):
    settings = {"eccms": {"alpha": (0.6, 0.7)}, "spce": {"theta": (0.2, 0.4)}}
    model = Council(4, settings=settings, random_state=0).fit(disputed)
    own = [row for row in model.council_.rows() if row["solver"] == "eccms" and not row["left_out"]]
    best = max(row["agreement"] for row in own)
    assert model.elected_ in {f"eccms({row['setting']})" for row in own if row["agreement"] == best}


def test_every_solver_has_the_same_weight_in_all(labels):
    settings = {"eccms": {"alpha": (0.7, 0.75, 0.8)}, "spce": {"theta": (0.2,)}}
    table = Council(3, settings=settings).fit(labels).council_
    for solver in ("eccms", "spce"):
        assert table["weight"][table["solver"] == solver].sum() == pytest.approx(0.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_confidence_of_the_council_is_that_of_its_partitions_as_members(disputed):
    settings = {"spce": {"theta": (0.0, 0.2, 0.5, 0.8)}}
    model = Council(4, solvers=("spce",), settings=settings, random_state=0).fit(disputed)
    table = model.council_
    votes = [
        SPCE(4, theta=float(setting.removeprefix("theta="))).fit_predict(disputed)
        for setting, left_out in zip(table["setting"], table["left_out"], strict=True)
        if not left_out
    ]
    council = samples(Ensemble.from_labels(np.stack(votes, axis=1)), model.labels_)
    assert model.council_confidence_ == pytest.approx(council["confidence"])
    assert model.council_confidence_.min() < 1


def test_confidence_of_a_sample_is_that_of_the_members(labels, model):
    assert model.sample_confidence_ == pytest.approx(
        samples(Ensemble.from_labels(labels), model.labels_)["confidence"]
    )


def assert_same_tables(one, other):
    first, second = (
        {row["setting"]: row for row in model.council_.rows()} for model in (one, other)
    )
    assert first.keys() == second.keys()
    for setting, row in first.items():
        for name in ("weight", "agreement", "with_result", "with_members"):
            assert row[name] == pytest.approx(second[setting][name], nan_ok=True)


def test_threads_and_order_change_nothing(disputed):
    model = Council(4, settings=SMALL, random_state=0).fit(disputed)
    assert model.council_["agreement"].min() < 1
    threads = Council(4, settings=SMALL, n_jobs=2, random_state=0).fit(disputed)
    assert (threads.labels_ == model.labels_).all()
    order = np.random.default_rng(1).permutation(90)
    shuffled = Council(4, settings=SMALL, random_state=0).fit(disputed[order][:, ::-1])
    assert ari(shuffled.labels_, model.labels_[order]) == 1
    assert_same_tables(shuffled, model)


def test_a_sample_given_twice_is_a_weight_of_two(disputed):
    weight = np.ones(90, dtype=int)
    weight[:17] = 2
    twice = Council(4, settings=SMALL).fit(np.vstack([disputed, disputed[:17]]))
    weighted = Council(4, settings=SMALL).fit(disputed, sample_weight=weight)
    assert weighted.council_["agreement"].min() < 1
    assert ari(twice.labels_[:90], weighted.labels_) == 1
    assert_same_tables(twice, weighted)


def test_weights_below_one_can_be_counted(labels, model):
    # the solvers know their own ways with such weights, and agree on samples as clear as these
    small = Council(3, settings=SMALL, random_state=0).fit(labels, sample_weight=np.full(60, 0.01))
    assert ari(small.labels_, model.labels_) == 1


def test_partitions_can_be_combined(disputed):
    settings = {"eac": {"linkage": ("average", "single")}, "eccms": [{}]}
    combined = Council(4, solvers=("eac", "eccms"), settings=settings, combine="EAC").fit(disputed)
    assert combined.elected_ == ""
    assert combined.council_["left_out"].sum() == 1
    assert (combined.council_["elects"] == ~combined.council_["left_out"]).all()
    assert len(np.unique(combined.labels_)) == 4


def test_an_elected_setting_that_did_not_converge_is_named(disputed):
    settings = {"eccms": [{"max_iter": 1}]}
    with pytest.warns(ConvergenceWarning, match=r"eccms\(max_iter=1\) was elected") as told:
        model = Council(4, solvers=("eccms",), settings=settings).fit(disputed)
    assert model.converged_ is False
    assert model.council_["converged"].tolist() == [False]
    assert {warning.filename for warning in told} == {__file__}


def test_weights_of_the_members_are_the_mean_of_those_of_the_solvers(disputed):
    settings = {"eccms": [{}], "spce": [{}]}
    model = Council(4, settings=settings, random_state=0).fit(disputed)
    each = [one.member_weights_ / one.member_weights_.sum() for one in (
        ECCMS(4).fit(disputed), SPCE(4).fit(disputed)
    )]  # fmt: skip
    assert not np.allclose(*each)
    assert model.member_weights_ / model.member_weights_.sum() == pytest.approx(
        np.mean(each, axis=0)
    )


def test_a_budget_of_settings_says_what_it_left_out(labels):
    with pytest.warns(UserWarning, match=r"allowed 3 of 4 settings; left out: ") as told:
        model = Council(3, settings=SMALL, budget="3 settings").fit(labels)
    assert len(model.council_) == 3
    assert len(model.left_out_) == 1
    assert str(told[0].message).endswith(model.left_out_[0])
    assert told[0].filename == __file__


@pytest.mark.parametrize("budget", [1e-9, "1e-9", "1e-9 s", "1e-9 seconds"])
def test_a_budget_of_no_time_still_answers(labels, budget):
    with pytest.warns(UserWarning, match=r"the budget \(1e-09 s\) allowed 1 of 4 settings"):
        model = Council(3, settings=SMALL, budget=budget).fit(labels)
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
    assert model.left_out_ == []
    heard = Council(2, settings=SMALL, random_state=0).fit(noise)
    assert model.council_.columns == heard.council_.columns


def test_a_partition_that_says_little_about_the_members_has_no_vote(disputed):
    # complete and single link leave clusters of a few samples and hence a giant one
    ways = ("average", "complete", "single")
    settings = {"eac": {"linkage": ways}}
    table = Council(4, solvers=("eac",), settings=settings).fit(disputed).council_
    for row in table.rows():
        found = EAC(4, linkage=row["setting"].removeprefix("linkage=")).fit(disputed)
        assert row["with_members"] == pytest.approx(anmi(found.ensemble_, found.labels_))
    left_out = {row["setting"] for row in table.rows() if row["left_out"]}
    assert left_out == {"linkage=complete", "linkage=single"}
    support = table["with_members"]
    assert (table["left_out"] == (support < 0.85 * support.max())).all()
    assert ((table["weight"] == 0) == table["left_out"]).all()
    assert table["weight"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solvers": ("ecms",)}, "did you mean 'eccms'"),
        ({"solvers": "eccms"}, "solvers must be a sequence"),
        ({"settings": {"lwea": {}}}, "not among solvers"),
        ({"settings": "narrow"}, "settings must be 'grid', 'wide'"),
        ({"settings": {"spce": {"theta": 0.2}}}, "must be a list of values"),
        ({"settings": {"spce": {"tetha": [0.2]}}}, "no parameter 'tetha'"),
        ({"settings": {"spce": {"theta": [3.0]}}}, "theta must be"),
        ({"settings": {"spce": []}}, "is empty"),
        ({"settings": {"spce": 3}}, "must be a grid"),
        ({"solvers": ("council",)}, "cannot sit in a council"),
        ({"settings": {"spce": [{}], "SPCE": [{}]}}, "'spce' twice"),
        ({"combine": "medoit"}, "'medoid' or a method; unknown method 'medoit'"),
        ({"combine": "council"}, "a council in a council"),
        ({"budget": 0}, "budget must be"),
        ({"budget": "three settings"}, "budget must be"),
        ({"n_clusters": "many"}, "n_clusters must be"),
    ],
)
def test_what_is_wrong_is_named(labels, options, words):
    with pytest.raises(ParameterError, match=words):
        Council(**({"n_clusters": 3} | options)).fit(labels)
