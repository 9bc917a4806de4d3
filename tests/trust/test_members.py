"""Members: agreement equals scikit-learn's on what both labelled; planted bad members stand apart; the
supported resolution is the planted one.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import LWEA, ConsensusClustering, Ensemble
from coterie.evidence.contingency import compare_members
from coterie.result import Result
from coterie.trust import diagnose_members, judge_members, member_agreement
from coterie.trust.members import stands_apart
from tests.naive import trust as naive
from tests.strategies import label_matrices
from tests.trust.partitions import partitions


@given(case=partitions())
def test_agreement_with_the_consensus(case):
    labels, partition = case
    ensemble = Ensemble.from_labels(labels)
    table = diagnose_members(ensemble, partition)
    assert (np.diff(np.nan_to_num(table["ari"], nan=-2)) <= 1e-9).all()
    assert sorted(table["member"]) == sorted(ensemble.members)
    for row in table.rows():
        j = ensemble.members.index(row["member"])
        information, rand = naive.agreement(labels[:, j], partition)
        assert row["agreement"] == pytest.approx(information, abs=1e-9)
        assert row["ari"] == pytest.approx(rand, abs=1e-9)
        assert row["labelled"] == pytest.approx((labels[:, j] >= 0).mean())
        assert row["clusters"] == len(np.unique(labels[labels[:, j] >= 0, j]))
    assert table["weight"].sum() == pytest.approx(1)


@given(labels=label_matrices(max_members=5))
def test_agreement_of_members_with_each_other(labels):
    m = labels.shape[1]
    found = member_agreement(Ensemble.from_labels(labels))
    expected = np.array(
        [[naive.agreement(labels[:, i], labels[:, j])[0] for j in range(m)] for i in range(m)]
    )
    assert np.allclose(found, expected, atol=1e-9, equal_nan=True)
    table = diagnose_members(Ensemble.from_labels(labels), np.zeros(len(labels), dtype=int))
    np.fill_diagonal(expected, np.nan)
    for row in table.rows():
        j = int(row["member"].removeprefix("member_"))
        others = expected[j][~np.isnan(expected[j])]
        if others.size:
            assert row["redundancy"] == pytest.approx(others.max(), abs=1e-9)
            like = int(row["most_like"].removeprefix("member_"))
            assert expected[j, like] == pytest.approx(others.max(), abs=1e-9)
        else:
            assert np.isnan(row["redundancy"])
            assert row["most_like"] is None


@given(labels=label_matrices(max_members=5))
def test_pairs_that_one_member_puts_together_and_another_keeps(labels):
    m = labels.shape[1]
    expected = np.array(
        [[naive.pairs_kept(labels[:, i], labels[:, j]) for j in range(m)] for i in range(m)]
    )
    kept = compare_members(Ensemble.from_labels(labels)).kept
    np.testing.assert_allclose(kept, expected, atol=1e-9)


@given(labels=label_matrices(max_members=5), data=st.data())
def test_the_order_of_members_changes_no_digit(labels, data):
    order = data.draw(st.permutations(range(labels.shape[1])))
    partition = np.zeros(len(labels), dtype=int)
    one = diagnose_members(Ensemble.from_labels(labels), partition)
    reordered = {f"member_{j}": labels[:, j] for j in order}
    other = diagnose_members(Ensemble.from_labels(reordered), partition)
    by_name = {row["member"]: row for row in other.rows()}
    for row in one.rows():
        for column in ("ari", "shared", "support", "apart"):
            np.testing.assert_equal(row[column], by_name[row["member"]][column])


def test_members_that_share_no_sample_are_not_compared():
    ensemble = Ensemble.from_labels([[0, -1], [1, -1], [-1, 0], [-1, 1]])
    assert np.isnan(member_agreement(ensemble)[0, 1])


def test_weights_count_as_repeated_samples():
    labels = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
    weight = [3, 1, 2, 4]
    partition = np.array([0, 0, 1, 1])
    rows = np.repeat(np.arange(4), weight)
    one = diagnose_members(Ensemble.from_labels(labels, sample_weight=weight), partition)
    other = diagnose_members(Ensemble.from_labels(labels[rows]), partition[rows])
    for column in ("agreement", "ari", "redundancy", "labelled", "shared", "support"):
        assert np.allclose(one[column], other[column], equal_nan=True)


def noisy(truth, share, rng, count):
    """Members that agree with the truth but for a share of the samples."""
    k = truth.max() + 1
    return [
        np.where(rng.random(len(truth)) < share, rng.integers(0, k, len(truth)), truth)
        for _ in range(count)
    ]


def judged(labels, k):
    ensemble = Ensemble.from_labels(labels)
    return judge_members(ensemble, LWEA(k).fit(ensemble).labels_)


def apart(members):
    """The members that stand apart, of a consensus by LWEA."""
    verdict = judged(np.stack(members, axis=1), 4)
    return sorted(int(name.removeprefix("member_")) for name in verdict.apart)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_planted_bad_members_stand_apart_and_no_others(seed, share):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 50)
    good = noisy(truth, share, rng, 9)
    assert apart(good) == []
    assert apart([*good, rng.integers(0, 4, 200)]) == [9]
    # three that agree with each other, but not with the rest
    wrong = rng.permutation(truth)
    assert apart([*good, *noisy(wrong, share, rng, 3)]) == [9, 10, 11]


@pytest.mark.parametrize("seed", range(3))
def test_members_that_agree_a_bit_less_do_not_stand_apart(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 50)
    # each fifth of the labels is wrong in one of them, and one kind of members is worse than the other
    assert apart([*noisy(truth, 0.01, rng, 9), *noisy(truth, 0.2, rng, 1)]) == []
    assert apart([*noisy(truth, 0.02, rng, 12), *noisy(truth, 0.15, rng, 10)]) == []
    # nothing in common: nobody stands apart
    assert apart([rng.integers(0, 4, 200) for _ in range(8)]) == []


def test_finer_and_coarser_members_do_not_stand_apart():
    fine = np.repeat(np.arange(32), 10)
    members = [fine // size for size in (16, 8, 4, 2, 1)]
    assert apart(members) == []
    rng = np.random.default_rng(0)
    # a coarse and a fine one that cut across all others
    assert apart([*members, rng.permutation(members[1])]) == [5]
    assert apart([*members, rng.permutation(fine)]) == [5]


@pytest.mark.parametrize(
    ("shared", "sizes", "expected"),
    [
        ([0.1], [2], [False]),
        ([0.9, 0.0], [2, 2], [False, False]),
        ([0.9, 0.9, 0.4], [2, 2, 2], [False, False, True]),
        ([0.9, 0.9, 0.5], [2, 2, 2], [False, False, False]),
        # of two members of its size, both must share more
        ([0.9, 0.3, 0.3], [2, 2, 2], [False, False, False]),
        # less than half, but hardly less
        ([0.15, 0.15, 0.15, 0.06], [2] * 4, [False] * 4),
        # members of its own size share as little
        ([0.9, 0.9, 0.9, 0.3, 0.3, 0.3], [2, 2, 2, 9, 9, 9], [False] * 6),
        ([0.9, 0.9, 0.9, 0.3, 0.3, 0.3], [2, 2, 2, 4, 4, 4], [False] * 3 + [True] * 3),
        # a member that says nothing is not compared
        ([0.9, 0.9, np.nan, 0.1], [2, 2, 1, 2], [False, False, False, True]),
    ],
)
def test_the_rule_for_standing_apart(shared, sizes, expected):
    assert stands_apart(np.array(shared), np.array(sizes)).tolist() == expected


def kmeans_members(X, sizes, seed):
    from sklearn.cluster import KMeans

    return {f"k={k}": KMeans(k, n_init=1, random_state=seed + k).fit(X).labels_ for k in sizes}


@pytest.mark.parametrize("seed", range(3))
def test_the_supported_resolution_is_the_planted_one_and_noise_has_none(seed):
    rng = np.random.default_rng(seed)
    centres = 12 * np.eye(6)
    blobs = centres[rng.integers(0, 6, 300)] + rng.normal(size=(300, 6))
    members = kmeans_members(blobs, range(2, 13), 100 * seed)
    # one start may be bad: give each size twice
    again = kmeans_members(blobs, range(2, 13), 100 * seed + 50)
    members |= {f"{name} again": labels for name, labels in again.items()}
    verdict = judged(members, 6)
    assert verdict.supported.startswith("k=6")
    assert f"The supported resolution is 6 clusters ({verdict.supported}, " in verdict.text
    noise = kmeans_members(rng.normal(size=(300, 6)), range(2, 13), 100 * seed)
    verdict = judged(noise, 6)
    assert verdict.supported is None
    assert "No resolution is supported: finer members cross the borders" in verdict.text


def test_the_verdict_is_the_same_everywhere(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3)) + 9 * np.repeat(np.eye(3), 20, axis=0)
    model = ConsensusClustering(3, n_members=8, random_state=0).fit(X)
    text = str(model.judge_members())
    assert text.endswith("All members have 3 clusters. No member stands apart.")
    assert str(model.solver_.judge_members()) == text
    result = Result.of(model)
    assert result.judge_members() == model.judge_members()
    result.save(tmp_path / "result.npz")
    assert str(Result.load(tmp_path / "result.npz").judge_members()) == text
    assert str(judge_members(model.ensemble_, model.labels_)) == text


def test_members_that_tie_are_ordered_by_name():
    groups = [0, 0, 1, 1]
    for names in (["m2", "m10", "a"], ["a", "m10", "m2"]):
        ensemble = Ensemble.from_labels(dict.fromkeys(names, groups))
        assert judge_members(ensemble, groups).nearest == "a"
        assert diagnose_members(ensemble, groups)["member"].tolist() == ["a", "m2", "m10"]


def test_words_for_the_odd_cases():
    one = judge_members(Ensemble.from_labels({"only": [0, 0, 1]}), [0, 0, 1])
    assert one.text == "only (2 clusters) is nearest to the consensus (ARI 1.00)."
    single = judge_members(Ensemble.from_labels([[0, 0], [1, 0], [1, 0], [0, 0]]), [0, 0, 0, 0])
    assert single.nearest == "member_1"
    assert "No two members are near enough in size" in single.text
    none = judge_members(Ensemble.from_labels([[0, 0], [1, 1], [1, 0], [0, 1]]), [0, 0, 0, 0])
    assert none.nearest is None
    assert none.text.startswith("No member agrees with the consensus more than by chance.")
    # line breaks and control characters of a name do not reach the sentence
    odd = judge_members(Ensemble.from_labels({"a\nb\x1b": [0, 0, 1]}), [0, 0, 1])
    assert odd.text.startswith("a b\ufffd (2 clusters)")


def test_many_members_apart_are_counted():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    members = [*noisy(truth, 0.05, rng, 12), *(rng.integers(0, 4, 200) for _ in range(5))]
    verdict = judged(np.stack(members, axis=1), 4)
    assert sorted(verdict.apart) == [f"member_{j}" for j in range(12, 17)]
    assert verdict.text.endswith(
        "... (5 in all) stand apart: they share less than half as much with the others as members of "
        "their size do."
    )


def test_one_member_has_nobody_to_be_like():
    table = diagnose_members(Ensemble.from_labels([[0], [1]]), [0, 1])
    assert np.isnan(table["redundancy"][0])
    assert table["most_like"].tolist() == [None]
    assert table["apart"].tolist() == [False]
    assert np.isnan([table["shared"][0], table["support"][0]]).all()
    assert table["agreement"].tolist() == [1]


def test_a_thousand_members():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, (300, 1000))
    labels[:, 7] = labels[:, 3]
    table = diagnose_members(Ensemble.from_labels(labels), np.arange(300) % 3)
    copy = table["member"].tolist().index("member_7")
    assert table["most_like"][copy] == "member_3"
    assert table["redundancy"][copy] == 1


def test_member_weights_must_be_one_each():
    with pytest.raises(ValueError, match=r"member_weights must hold one number per member \(2\)"):
        diagnose_members(Ensemble.from_labels([[0, 0], [1, 1]]), [0, 1], [1.0])
