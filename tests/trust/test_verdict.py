"""The verdict: agreement of halves, what does not change it, and its words."""

import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from coterie import EAC, KCC, LWEA, Ensemble, Result
from coterie.solvers import base
from coterie.trust import Verdict
from coterie.trust import verdict as module
from coterie.trust.verdict import expected_agreement, size_doubt
from tests.builders import noisy_members

SOLVERS = [EAC(3), LWEA(3), KCC(3, random_state=0)]


def verdict_of(labels, solver=None, **weights):
    return (LWEA(3) if solver is None else solver).fit(labels, **weights).verdict_


@pytest.mark.parametrize("solver", SOLVERS)
def test_members_that_agree_and_members_that_do_not(solver):
    same = np.repeat(np.arange(30)[:, None] % 3, 8, axis=1)
    assert verdict_of(same, solver) == Verdict(
        1.0, True, "A second run would give nearly the same partition (expected agreement 1.00)."
    )
    chance = np.random.default_rng(0).integers(3, size=(200, 20))
    verdict = verdict_of(chance, solver)
    assert verdict.agreement < 0.5
    assert not verdict.reliable
    assert str(verdict).startswith("Don't rely on this partition. A second run would give another")


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


def test_missing_labels():
    labels, _ = noisy_members(2, n=60, n_members=8, wrong=0.0, missing=0.3)
    assert verdict_of(labels).agreement > 0.8
    # halves without a common sample say nothing about a second run, and the parties say half of it
    apart = np.full((12, 2), -1)
    apart[:6, 0] = apart[6:, 1] = np.arange(6) % 2
    ensemble = Ensemble.from_labels(apart)
    solve = EAC(2).fit(ensemble).partition_of
    assert math.isnan(expected_agreement(ensemble, solve, np.random.default_rng(0)))
    assert verdict_of(apart, EAC(2)).agreement == 0.5


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
    assert "is unknown" in verdict.text


def test_one_cluster_cannot_differ():
    verdict = verdict_of(np.random.default_rng(0).integers(3, size=(30, 4)), EAC(1))
    assert (verdict.agreement, verdict.reliable) == (1.0, True)
    assert verdict.text.startswith("All samples are in one cluster")


def test_sizes():
    assert size_doubt(np.array([100])) is None
    assert size_doubt(np.array([98, 2])) is None
    assert size_doubt(np.array([980, 19, 1])) is not None
    assert size_doubt(np.array([50, 49, 1])) is None
    doubt = size_doubt(np.array([199, 1]))
    assert doubt == "It only sets 1 sample of 200 samples apart from the rest."
    # the same for weights
    labels = np.repeat([[0, 0, 0], [1, 1, 1]], [1, 1], axis=0)
    weighted = verdict_of(labels, EAC(2), sample_weight=[199, 1])
    repeated = verdict_of(np.repeat(labels, [199, 1], axis=0), EAC(2))
    assert weighted.doubts == repeated.doubts == (doubt,)
    assert not repeated.reliable
    assert repeated.agreement == 1


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
    assert 0 <= verdict.share <= 1


@pytest.mark.parametrize("agreement", [0.9, float("nan"), 1])
def test_records(agreement):
    verdict = Verdict.of(agreement, ["It is odd."])
    again = Verdict.from_record(asdict(verdict))
    assert repr(again) == repr(verdict)
    # in JSON, NaN is null and a tuple a list
    record = json.loads(json.dumps(asdict(verdict) | {"agreement": None}))
    assert math.isnan(Verdict.from_record(record).agreement)
    assert Verdict.from_record(record).doubts == verdict.doubts


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

    def counting(*arguments):
        calls.append(arguments)
        return expected_agreement(*arguments)

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
