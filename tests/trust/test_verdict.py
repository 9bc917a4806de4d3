"""The verdict: agreement of halves, what does not change it, and its words."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from coterie import EAC, KCC, LWEA, ConsensusClustering, Ensemble, Result
from coterie.solvers import base
from coterie.trust import ClusterVotes, Verdict
from coterie.trust import verdict as module
from coterie.trust.verdict import FEW_MEMBERS, OTHER_MEMBERS, expected_agreement, size_doubt
from tests.builders import noisy_members

SOLVERS = [EAC(3), LWEA(3), KCC(3, random_state=0)]


def verdict_of(labels, solver=None, **weights):
    return (LWEA(3) if solver is None else solver).fit(labels, **weights).verdict_


@pytest.mark.parametrize("solver", SOLVERS)
def test_members_that_agree_and_members_that_do_not(solver):
    same = np.repeat(np.arange(30)[:, None] % 3, 8, axis=1)
    text = "would give nearly the same partition (expected agreement 1.00)."
    assert verdict_of(same, solver) == Verdict(
        1.0, True, f"Another set of members like these {text}"
    )
    chance = np.random.default_rng(0).integers(3, size=(200, 20))
    verdict = verdict_of(chance, solver)
    assert verdict.agreement < 0.5
    assert not verdict.reliable
    words = "Another set of members like these would give another partition"
    assert str(verdict).startswith(f"Don't rely on this partition. {words}")


def test_the_agreement_rises_with_that_of_the_members():
    agreements = [
        verdict_of(noisy_members(0, n=90, n_members=10, wrong=wrong)[0]).agreement
        for wrong in (0.9, 0.6, 0.2, 0.0)
    ]
    assert agreements == sorted(agreements)
    assert agreements[-1] == 1


def test_two_members_are_their_own_halves():
    labels, _ = noisy_members(1, n=60, n_members=2, wrong=0.3)
    # each half is one member, which any method returns if it has as many clusters
    assert verdict_of(labels).agreement == pytest.approx(adjusted_rand_score(*labels.T))


def test_both_halves_get_half_of_each_group():
    # Two kinds of members that disagree: halves that mix them alike agree, other halves do not.
    one, other = np.arange(60) % 2, np.arange(60) // 30
    labels = np.column_stack([one] * 6 + [other] * 4)
    ensemble = Ensemble.from_labels(labels)

    def solve(half):
        return LWEA(2).fit(half).labels_

    groups = ["a"] * 6 + ["b"] * 4
    alike = expected_agreement(ensemble, solve, np.random.default_rng(0), groups=groups)
    anyhow = expected_agreement(ensemble, solve, np.random.default_rng(0))
    assert alike == 1.0
    assert anyhow < 0.9


# ---------------------------------------------------------------------- what does not change it


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.2]))
def test_renaming_and_permuting_change_nothing(seed, missing):
    labels, _ = noisy_members(seed, n=40, n_members=6, wrong=0.4, missing=missing)
    rng = np.random.default_rng(seed)
    expected = verdict_of(labels).agreement
    renamed = labels.copy()
    for j in range(labels.shape[1]):
        renamed[:, j] = np.append(rng.permutation(3) + 10, -1)[labels[:, j]]
    assert verdict_of(renamed).agreement == pytest.approx(expected)
    permuted = labels[:, rng.permutation(labels.shape[1])]
    assert verdict_of(permuted).agreement == pytest.approx(expected)
    shuffled = labels[rng.permutation(len(labels))]
    assert verdict_of(shuffled).agreement == pytest.approx(expected)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_weights_are_repeated_samples(seed):
    # up to MAX_ROWS distinct rows; above, a sample of them is drawn, which has other rows
    labels, _ = noisy_members(seed, n=30, n_members=6, wrong=0.4)
    counts = np.random.default_rng(seed).integers(1, 5, size=len(labels))
    weighted = verdict_of(labels, sample_weight=counts)
    repeated = verdict_of(np.repeat(labels, counts, axis=0))
    assert weighted.agreement == pytest.approx(repeated.agreement)
    assert weighted.doubts == repeated.doubts


def test_many_distinct_rows_are_sampled(monkeypatch):
    labels, _ = noisy_members(0, n=300, n_members=10, wrong=0.3)
    every = verdict_of(labels).agreement
    monkeypatch.setattr(module, "MAX_ROWS", 100)
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters > 100
    sizes = []

    def solve(part):
        sizes.append(part.n_microclusters)
        return LWEA(3).fit(part).labels_

    sampled = expected_agreement(ensemble, solve, np.random.default_rng(0))
    assert max(sizes) <= 100
    assert sampled == pytest.approx(every, abs=0.15)
    assert verdict_of(labels).agreement == verdict_of(labels).agreement


@pytest.mark.parametrize("seed", range(5))
def test_a_member_whose_samples_are_not_drawn_is_left_out(monkeypatch, seed):
    monkeypatch.setattr(module, "MAX_ROWS", 20)
    labels = np.random.default_rng(0).integers(3, size=(60, 9))
    labels[2:, 4] = -1
    ensemble = Ensemble.from_labels(labels)
    agreement = expected_agreement(
        ensemble, LWEA(3).fit_predict, np.random.default_rng(seed), groups=np.arange(9) % 2
    )
    assert -1 <= agreement <= 1


def test_missing_labels():
    labels, _ = noisy_members(2, n=60, n_members=8, wrong=0.0, missing=0.3)
    assert verdict_of(labels).agreement > 0.8
    # halves without a common sample say nothing about a second run, and the parties say half of it
    apart = np.full((12, 2), -1)
    apart[:6, 0] = apart[6:, 1] = np.arange(6) % 2
    ensemble = Ensemble.from_labels(apart)
    solve = EAC(2).fit(ensemble).partition_of
    assert math.isnan(expected_agreement(ensemble, solve, np.random.default_rng(0)))
    # half of the pairs are inside a party, and one of the two parties keeps its clusters apart
    assert verdict_of(apart, EAC(2)).agreement == 0.25


def test_halves_with_fewer_distinct_rows_than_clusters():
    coarse = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 1]] * 5)
    verdict = verdict_of(coarse, EAC(4))
    assert 0 <= verdict.agreement <= 1


# ---------------------------------------------------------------------- single members and clusters


def test_of_one_member_nothing_is_known():
    verdict = verdict_of(np.arange(12)[:, None] % 3)
    assert math.isnan(verdict.agreement)
    assert not verdict.reliable
    assert verdict.share == 0
    assert verdict.text == "Whether another set of members like these would agree is unknown."


def test_one_cluster_is_no_partition_to_rely_on():
    model = EAC(1).fit(np.random.default_rng(0).integers(3, size=(30, 4)))
    verdict = model.verdict_
    assert (verdict.agreement, verdict.reliable, verdict.share) == (1.0, False, 1.0)
    assert verdict.text == "All samples are in one cluster, so there is no partition to rely on."
    # documented: with one cluster, confidence carries no information
    assert model.sample_confidence_.tolist() == [1.0] * 30


def doubt_of_sizes(*sizes, weight=None):
    """The doubt about a partition with clusters of these sizes."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    ensemble = Ensemble.from_labels(labels[:, None], sample_weight=weight)
    return size_doubt(ClusterVotes.of(ensemble, labels))


def test_sizes():
    assert doubt_of_sizes(100) is None
    assert doubt_of_sizes(98, 2) is None
    assert doubt_of_sizes(980, 19, 1) is not None
    assert doubt_of_sizes(50, 49, 2) is None
    assert doubt_of_sizes(50, 49, 1) == "1 of the 3 clusters has a single sample."
    # many clusters of less than 2 % are not set apart from a large one
    assert doubt_of_sizes(*[3] * 60) is None
    assert doubt_of_sizes(20, *[2] * 60) is None
    doubt = doubt_of_sizes(199, 1)
    assert doubt == "It only sets 1 of 200 samples apart from the rest."
    # the same for weights
    labels = np.repeat([[0, 0, 0], [1, 1, 1]], [1, 1], axis=0)
    weighted = verdict_of(labels, EAC(2), sample_weight=[199, 1])
    repeated = verdict_of(np.repeat(labels, [199, 1], axis=0), EAC(2))
    assert weighted.doubts == repeated.doubts == (doubt,)
    assert not repeated.reliable
    assert repeated.agreement == 1


def test_samples_that_are_clusters_of_their_own():
    every = "Every sample is a cluster of its own, so nothing was combined."
    assert doubt_of_sizes(1, 1) == doubt_of_sizes(*[1] * 40) == every
    assert doubt_of_sizes(2, 1) == "It only sets 1 of 3 samples apart from the rest."
    nearly = doubt_of_sizes(3, 2, *[1] * 15)
    assert nearly == "15 of 20 samples are clusters of their own."
    assert doubt_of_sizes(6, 5, 1, 1) == "2 of the 4 clusters have a single sample."
    assert doubt_of_sizes(2, 2) is None
    # a sample of weight two is two samples, and samples of small weight are still several samples
    assert doubt_of_sizes(1, 1, weight=[2, 2]) is None
    assert doubt_of_sizes(1, 1, weight=[0.5, 0.5]) == every
    assert doubt_of_sizes(3, 3, weight=np.full(6, 0.1)) is None


def test_groups_that_no_member_joins_are_merged_without_evidence():
    truth = np.random.default_rng(0).integers(4, size=200)
    members = np.stack([truth] * 6, axis=1)
    merged = LWEA(2).fit(members)
    assert not merged.verdict_.reliable
    assert "form 4 groups that no member joins" in merged.verdict_.text
    assert merged.sample_confidence_.mean() < 0.51
    assert LWEA(4).fit(members).verdict_.reliable
    # a member that joins groups is evidence
    joined = np.column_stack([members, truth // 2])
    assert not any("no member joins" in doubt for doubt in LWEA(2).fit(joined).verdict_.doubts)
    # two samples that one member labelled are no groups
    lone = np.vstack([members, [[9, -1, -1, -1, -1, -1], [8, -1, -1, -1, -1, -1]]])
    assert not any("no member joins" in doubt for doubt in LWEA(4).fit(lone).verdict_.doubts)


@pytest.mark.parametrize("n", [2, 3, 12])
def test_as_many_clusters_as_samples_are_not_reliable(n):
    labels = np.repeat(np.arange(n)[:, None], 4, axis=1)
    verdict = verdict_of(labels, EAC(n))
    assert not verdict.reliable
    assert verdict.doubts[0].startswith("Every sample is a cluster of its own")
    model = ConsensusClustering(n, n_members=6, min_cluster_size=None, random_state=0)
    of_features = model.fit(np.arange(n)[:, None] ** 2.0).verdict_
    assert not of_features.reliable
    assert of_features.doubts[0] == verdict.doubts[0]


# ---------------------------------------------------------------------- few members


def test_few_members_are_compared_with_all_but_one_too():
    labels, _ = noisy_members(3, n=80, n_members=3, wrong=0.4)
    ensemble = Ensemble.from_labels(labels)
    sizes = []

    def solve(part):
        sizes.append(part.n_members)
        return LWEA(3).fit(part).labels_

    promised = expected_agreement(ensemble, solve, np.random.default_rng(0))
    # ten splits into one and two members, and the three sets without one
    assert sorted(sizes) == [1] * 10 + [2] * 13
    pairs = [LWEA(3).fit(np.delete(labels, j, axis=1)).labels_ for j in range(3)]
    between = [adjusted_rand_score(pairs[i], pairs[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    halves = [adjusted_rand_score(pairs[j], LWEA(3).fit(labels[:, [j]]).labels_) for j in range(3)]
    assert min(halves) < np.mean(halves) < promised < max(between)


def test_many_members_are_compared_in_halves_only():
    labels, _ = noisy_members(3, n=80, n_members=FEW_MEMBERS + 2, wrong=0.4)
    sizes = []

    def solve(part):
        sizes.append(part.n_members)
        return LWEA(3).fit(part).labels_

    expected_agreement(Ensemble.from_labels(labels), solve, np.random.default_rng(0))
    assert set(sizes) == {FEW_MEMBERS // 2 + 1}
    # what counts is how many members label a sample
    sizes.clear()
    gaps = np.arange(labels.shape[1]) % 2 == np.arange(len(labels))[:, None] % 2
    expected_agreement(
        Ensemble.from_labels(np.where(gaps, labels, -1)), solve, np.random.default_rng(0)
    )
    assert FEW_MEMBERS + 1 in sizes


def test_few_members_promise_less_than_they_keep_but_not_as_little_as_halves(monkeypatch):
    errors = []
    for few in (FEW_MEMBERS, 0):
        monkeypatch.setattr(module, "FEW_MEMBERS", few)
        for seed in range(12):
            labels, _ = noisy_members(seed, n=150, n_members=8, wrong=0.3)
            model, other = LWEA(3).fit(labels[:, :4]), LWEA(3).fit(labels[:, 4:])
            measured = adjusted_rand_score(model.labels_, other.labels_)
            errors.append(model.verdict_.agreement - measured)
    of_both, of_halves = np.mean(np.reshape(errors, (2, -1)), axis=1)
    assert of_halves + 0.1 < of_both < 0


# ---------------------------------------------------------------------- the confidence follows


def lonely_samples():
    """Ten members that are nine times out of ten right, and two samples that are labelled once, alone."""
    labels, _ = noisy_members(0, n=300, n_members=10, wrong=0.1)
    labels[298:] = -1
    labels[298, 0], labels[299, 1] = 77, 78
    return labels


@pytest.mark.parametrize("method", [EAC, LWEA])
def test_the_confidence_of_samples_falls_with_the_whole(method):
    model = method(3).fit(lonely_samples())
    assert model.verdict_.agreement < 0.6
    alone = model.ensemble_.expand(model.cluster_votes_.confidence)
    assert alone.mean() > 0.9
    assert model.verdict_.share <= 0.5
    assert np.allclose(model.sample_confidence_, alone * model.verdict_.share)
    result = Result.of(model)
    assert np.array_equal(result.sample_confidence, model.sample_confidence_)
    assert np.allclose(result.diagnose_samples()["confidence"], model.sample_confidence_)


def test_a_doubt_halves_the_confidence_and_takes_the_word_sure(tmp_path):
    labels = np.repeat([[0] * 5, [1] * 5], [199, 1], axis=0)
    model = EAC(2).fit(labels)
    assert (model.verdict_.agreement, model.verdict_.share) == (1.0, 0.5)
    assert model.sample_confidence_[0] == 0.5
    Result.of(model).save(tmp_path / "r.npz")
    for explained in (model, Result.load(tmp_path / "r.npz")):
        sentence = explained.explain(0).sentence
        assert "is in cluster 0, but the partition is not reliable (confidence 0.50)" in sentence
        assert "sure" not in sentence


def test_a_doubt_whose_effect_is_measured_does_not_count_twice():
    assert Verdict.of(0.7, measured="Few links.").share == 0.7
    assert Verdict.of(0.7, ["It is odd."], measured="Few links.").share == 0.5
    assert Verdict.of(0.3, ["It is odd."]).share == 0.3
    assert not Verdict.of(1.0, measured="Few links.").reliable


# ---------------------------------------------------------------------- words and records


@pytest.mark.parametrize(
    ("agreement", "words", "reliable"),
    [
        (1.0, "A second run would give nearly the same", True),
        (0.95, "A second run would give nearly the same", True),
        (0.9449, "A second run would give mostly the same", True),
        (0.9, "A second run would give mostly the same", True),
        (0.8949, "Don't rely on this partition. A second run would give only partly the", False),
        (0.5, "Don't rely on this partition. A second run would give only partly the", False),
        (0.4949, "Don't rely on this partition. A second run would give another", False),
        (-0.1, "Don't rely on this partition. A second run would give another", False),
        (float("nan"), "Whether a second run would agree is unknown", False),
    ],
)
def test_words_at_the_thresholds(agreement, words, reliable):
    verdict = Verdict.of(agreement)
    assert verdict.text.startswith(words)
    assert verdict.reliable is reliable
    doubted = Verdict.of(agreement, ["It is odd."], ["A remark."])
    assert not doubted.reliable
    assert doubted.text.startswith("Don't rely on this partition. It is odd. ")
    assert doubted.text.endswith(" A remark.")
    assert doubted.doubts == ("It is odd.",)
    assert 0 <= doubted.share <= 0.5
    assert 0 <= verdict.share <= 1
    of_labels = Verdict.of(agreement, other=OTHER_MEMBERS).text
    assert of_labels == verdict.text.replace(
        "A second run", "Another set of members like these"
    ).replace("a second run", "another set of members like these")


@pytest.mark.parametrize("agreement", [0.9, float("nan"), 1])
def test_records(agreement):
    verdict = Verdict.of(agreement, ["It is odd."])
    again = Verdict.from_record(asdict(verdict))
    assert repr(again) == repr(verdict)
    # in JSON, NaN is null and a tuple a list
    record = json.loads(json.dumps(asdict(verdict) | {"agreement": None}))
    assert math.isnan(Verdict.from_record(record).agreement)
    assert Verdict.from_record(record).doubts == verdict.doubts
    # results of format version 2 have no share
    del record["share"]
    assert (
        Verdict.from_record(record | {"agreement": agreement}).share == Verdict.of(agreement).share
    )


@pytest.mark.parametrize(
    "damage",
    [
        {"agreement": "high"},
        {"agreement": [1.0]},
        {"agreement": True},
        {"agreement": 1.5},
        {"agreement": float("-inf")},
        {"reliable": 1},
        {"reliable": None},
        {"text": 5},
        {"doubts": "odd"},
        {"doubts": [1]},
        {"share": 1.5},
        {"share": "half"},
    ],
)
def test_damaged_records(damage):
    record = asdict(Verdict.of(0.9)) | damage
    with pytest.raises(ValueError, match="the verdict is damaged"):
        Verdict.from_record(record)
    del record["text"]
    with pytest.raises(ValueError, match="the verdict is damaged"):
        Verdict.from_record(record)


def test_results_keep_the_verdict_of_a_single_member(tmp_path):
    solver = EAC(3).fit(np.arange(12)[:, None] % 3)
    Result.of(solver).save(tmp_path / "r.npz")
    again = Result.load(tmp_path / "r.npz").verdict
    assert repr(again) == repr(solver.verdict_)


# ---------------------------------------------------------------------- solvers


def test_the_verdict_is_computed_once_and_forgotten_by_a_new_fit(monkeypatch):
    calls = []

    def counting(*arguments, **options):
        calls.append(arguments)
        return expected_agreement(*arguments, **options)

    monkeypatch.setattr(base, "expected_agreement", counting)
    solver = LWEA(3).fit(noisy_members(0)[0])
    assert not calls
    first = solver.verdict_
    assert solver.verdict_ is first
    assert len(calls) == 1
    solver.fit(noisy_members(1, wrong=0.7)[0])
    assert solver.verdict_ != first
    assert len(calls) == 2


def test_the_verdict_leaves_the_fit_alone():
    passes = []
    solver = KCC(3, callback=passes.append, random_state=0).fit(noisy_members(0)[0])
    labels, done, seen = solver.labels_.copy(), solver.n_iter_, len(passes)
    assert solver.verdict_.agreement > 0
    assert np.array_equal(solver.labels_, labels)
    assert solver.n_iter_ == done
    # passes of the halves are not those of the fit
    assert len(passes) == seen
