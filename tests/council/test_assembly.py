"""The trial of a default and the election of another, as by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from coterie import Ensemble
from coterie.council import Seat
from coterie.council._assembly import Assembly, Reading
from coterie.council._seats import Vote
from coterie.evaluate import anmi
from coterie.trust._votes import ClusterVotes


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
