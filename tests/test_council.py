"""A council of settings elects one partition, the same for any order, thread count and seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mutual_info_score

from coterie import EAC, ECCMS, LWEA, SPCE, Council, Ensemble, ParameterError
from coterie.council import Seat, seats
from coterie.council._assembly import Assembly, Reading
from coterie.council._seats import Vote
from coterie.datasets import load
from coterie.evaluate import anmi, ari
from coterie.generate import kmeans_pool
from coterie.trust import samples
from coterie.trust._votes import ClusterVotes

SMALL = {"eccms": {"alpha": (0.7, 0.8)}, "spce": {"theta": (0.2, 0.4)}}


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    members = [np.where(rng.random(60) < 0.15, rng.integers(0, 3, 60), truth) for _ in range(8)]
    return np.stack(members, axis=1)


@pytest.fixture(scope="module")
def disputed():
    rng = np.random.default_rng(5)
    truth = np.arange(90) % 4
    members = [np.where(rng.random(90) < 0.3, rng.integers(0, 6, 90), truth) for _ in range(10)]
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


def assembly(members, *partitions):
    """A council of EC-CMS at its default and at other settings, and SPCE with the last partition."""
    ensemble = Ensemble.from_labels(members)
    _, first = np.unique(ensemble.inverse, return_index=True)
    settings = [Seat("eccms", {}), Seat("eccms", {"lam": 0.01}), Seat("eccms", {"lam": 0.02})]
    settings = [*settings[: len(partitions) - 1], Seat("spce", {})]
    votes = [
        Vote(seat, partition[first], np.ones(ensemble.n_members), True, 0.0)
        for seat, partition in zip(settings, partitions, strict=True)
    ]
    return Assembly.of(ensemble, votes, "eccms")


@pytest.fixture(scope="module")
def halves():
    """A line of 400 samples and two far groups; with the line cut in the middle, and whole."""
    place = np.concatenate([np.arange(400), np.full(100, 1000), np.full(100, 2000)])
    cut = np.digitize(place, [200, 900, 1900])
    return place, cut, np.maximum(cut - 1, 0)


def fine_members(place, cuts):
    rng = np.random.default_rng(0)
    columns = []
    for _ in range(12):
        inside = np.sort(rng.choice(np.arange(1, 400), 2, replace=False))
        columns.append(np.digitize(place, np.union1d(inside, [*cuts, 900, 1900])))
    return np.stack(columns, axis=1)


def test_a_distinction_that_the_members_do_not_confirm_is_given_up(halves):
    place, cut, whole = halves
    assert assembly(fine_members(place, []), cut, whole, whole).elect() == 1


def test_a_distinction_that_the_members_confirm_is_kept(halves):
    place, cut, whole = halves
    assert assembly(fine_members(place, [200]), cut, whole, whole).elect() == 0


def test_coarse_members_are_not_asked_for_distinctions(halves):
    place, cut, whole = halves
    coarse = np.repeat(np.digitize(place, [900])[:, None], 10, axis=1)
    for cuts, winner in (([200], 0), ([], 1)):
        members = np.hstack([fine_members(place, cuts), coarse])
        assert assembly(members, cut, whole, whole).elect() == winner


def test_a_default_that_says_next_to_nothing_makes_way(halves):
    place, cut, whole = halves
    giant = (place == 0).astype(np.int64)
    council = assembly(fine_members(place, [200]), giant, whole, cut, cut)
    assert council.default is None
    assert council.elect() == 2


def test_the_case_against_the_default_is_as_by_hand(halves):
    place, cut, whole = halves
    members = fine_members(place, [])
    council = assembly(members, cut, whole, whole)

    def said(labels):
        return mutual_info_score(labels, labels)

    def confirmed(labels):
        finer = sorted(members.T, key=said)[6:]
        return np.mean([mutual_info_score(member, labels) for member in finer])

    # as the microclusters have it: a sample goes with the first of its row
    _, first, inverse = np.unique(members, axis=0, return_index=True, return_inverse=True)
    cut, whole = cut[first][np.ravel(inverse)], whole[first][np.ravel(inverse)]
    rate = confirmed(cut) / said(cut)
    case = 0.91 * rate * (said(cut) - said(whole)) - (confirmed(cut) - confirmed(whole))
    assert case > 0
    assert council.case_against(0) == pytest.approx([-0.0, case, case], abs=1e-12)


def test_a_default_with_little_support_has_a_vote_while_it_may_be_the_answer(halves):
    place, cut, _ = halves
    coarse = np.digitize(place, [900])
    council = assembly(fine_members(place, [200]), coarse, cut, cut)
    assert council.support[0] < 0.85 * council.support[1]
    # nothing says less, so that nobody accuses it
    assert council.elect() == 0
    assert (council.weights > 0).all()
    confidence = ClusterVotes.of(council.ensemble, council.votes[0].labels).confidence()
    assert ((confidence >= 0) & (confidence <= 1)).all()


def by_hand(solvers, default, weights, between, says, confirmed):
    """Who elects and who is elected, one partition after the other."""
    rate = confirmed[default] / says[default]
    if rate >= 0.92:
        return {default: 1.0}, default
    against = {}
    for place, weight in enumerate(weights):
        beyond = says[default] - says[place]
        case = 0.91 * rate * beyond - (confirmed[default] - confirmed[place])
        if weight > 0 and beyond >= 0.12 * says[default] and case > 0:
            against[place] = case
    candidates = [place for place in against if solvers[place] == "eccms"]
    if not candidates:
        return {default: 1.0}, default
    sitting = [solvers[place] for place in against]
    voice = {place: case / sitting.count(solvers[place]) for place, case in against.items()}
    total = sum(voice.values())
    agreement = [sum(voice[j] * between[i, j] for j in against) for i in candidates]
    electorate = {place: part / total for place, part in voice.items()}
    return electorate, candidates[int(np.argmax(agreement))]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_trial_and_election_are_as_by_hand(seed):
    rng = np.random.default_rng(seed)
    own, others = rng.integers(2, 6), rng.integers(1, 5)
    solvers = ["eccms"] * own + ["spce"] * others
    votes = [
        Vote(Seat(solver, {}), np.zeros(1, dtype=np.int64), np.ones(1), True, 0.0)
        for solver in solvers
    ]
    weights = rng.random(len(votes)) * (rng.random(len(votes)) < 0.8)
    weights[0] = 0.5
    between = rng.random((len(votes), len(votes)))
    says = rng.uniform(0.5, 1.0, len(votes)) * rng.uniform(0.5, 3)
    confirmed = says * rng.uniform(0.6, 1.0, len(votes))
    says[0] = says.max()
    council = Assembly(
        votes, "eccms", 0, weights, between, np.ones(len(votes)), says, confirmed,
        Ensemble.from_labels([[0], [1]]),
    )  # fmt: skip
    electorate, elected = by_hand(solvers, 0, weights, between, says, confirmed)
    found = council.electorate()
    assert {int(place): found[place] for place in np.flatnonzero(found)} == pytest.approx(
        electorate
    )
    assert council.elect() == elected


@pytest.mark.parametrize(("confirmed", "elected"), [(0.925, 0), (0.915, 1)])
def test_a_default_that_is_confirmed_nearly_whole_is_not_tried(confirmed, elected):
    votes = [Vote(Seat("eccms", {}), np.zeros(1, dtype=np.int64), np.ones(1), True, 0.0)] * 2
    says, shown = np.array([1.0, 0.7]), np.array([confirmed, 0.68])
    council = Assembly(
        votes, "eccms", 0, np.full(2, 0.5), np.eye(2), np.ones(2), says, shown,
        Ensemble.from_labels([[0], [1]]),
    )  # fmt: skip
    assert council.case_against(0)[1] > 0
    assert council.elect() == elected


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


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_what_a_partition_says_is_counted_as_by_hand(missing, disputed):
    rng = np.random.default_rng(2)
    given = disputed.copy()
    given[rng.random(given.shape) < missing] = -1
    given = given[(given >= 0).any(axis=1)]
    ensemble = Ensemble.from_labels(given)
    partition = rng.integers(0, 4, ensemble.n_microclusters)
    labels = ensemble.expand(partition)
    reading = Reading.of(ensemble, partition)
    for i, member in enumerate(given.T):
        there = member >= 0
        of_member, of_labels = member[there], labels[there]
        assert reading.says[i] == pytest.approx(mutual_info_score(of_labels, of_labels))
        assert reading.told[i] == pytest.approx(mutual_info_score(of_member, of_member))
        assert reading.shared[i] == pytest.approx(mutual_info_score(of_member, of_labels))
    assert reading.support() == pytest.approx(anmi(ensemble, labels))
    finer = np.argsort(reading.told)[5:]
    assert reading.by_finer_members() == pytest.approx(
        (reading.says[finer].mean(), reading.shared[finer].mean())
    )


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


def test_a_member_of_weight_three_is_three_members(disputed):
    weight = np.array([3, 1, 1, 2, 1, 1, 1, 4, 1, 1])
    partition = np.random.default_rng(3).integers(0, 4, 90)

    def read(ensemble):
        return Reading.of(ensemble, partition[np.unique(ensemble.inverse, return_index=True)[1]])

    one = read(Ensemble.from_labels(disputed, member_weight=weight))
    many = read(Ensemble.from_labels(np.repeat(disputed, weight, axis=1)))
    assert one.support() == pytest.approx(many.support())
    assert one.by_finer_members() == pytest.approx(many.by_finer_members())
    equal = read(Ensemble.from_labels(disputed))
    assert one.support() != pytest.approx(equal.support())
    assert one.by_finer_members() != pytest.approx(equal.by_finer_members())


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_who_says_little_about_the_members_has_no_vote(seed):
    rng = np.random.default_rng(seed)
    truth = np.arange(80) % 4

    def blur(noise):
        return np.where(rng.random(80) < noise, rng.integers(0, 4, 80), truth)

    members = np.stack([blur(0.1) for _ in range(6)], axis=1)
    council = assembly(members, blur(rng.uniform(0, 0.6)), *(blur(x) for x in (0.08, 0.15)), truth)
    least = 0.5 if council.default == 0 else 0.85
    share = council.support / council.support.max()
    assert (council.default == 0) == (share[0] >= 0.5)
    assert ((council.weights > 0) == (share >= np.array([least, 0.85, 0.85, 0.85]))).all()


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
    "settings", ["grid", {"eccms": {"lam": (0.01, 0.1, 0.4), "alpha": (0.8,)}}]
)
def test_the_default_setting_is_heard_first(settings):
    first = next(iter(seats(["eccms"], settings)))
    assert first.is_default
    assert first.setting == {name: ECCMS(2).get_params()[name] for name in first.setting}


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
