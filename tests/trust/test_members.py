"""Members: agreement equals scikit-learn's on what both labelled; a member apart is flagged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from coterie import Ensemble
from coterie.trust import diagnose_members, member_agreement
from coterie.trust.diagnosis import outliers
from tests.naive import trust as naive
from tests.strategies import label_matrices
from tests.trust.partitions import partitions


@given(case=partitions())
def test_agreement_with_the_consensus(case):
    labels, partition = case
    table = diagnose_members(Ensemble.from_labels(labels), partition)
    for j, row in enumerate(table.rows()):
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
    for j in range(m):
        others = expected[j][~np.isnan(expected[j])]
        if others.size:
            assert table["redundancy"][j] == pytest.approx(others.max(), abs=1e-9)
            like = int(table["most_like"][j].removeprefix("member_"))
            assert expected[j, like] == pytest.approx(others.max(), abs=1e-9)
        else:
            assert np.isnan(table["redundancy"][j])
            assert table["most_like"][j] is None


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
    for column in ("agreement", "ari", "redundancy", "labelled"):
        assert np.allclose(one[column], other[column])


def test_a_random_member_is_an_outlier_and_good_ones_are_not():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    good = [np.where(rng.random(200) < 0.1, rng.integers(0, 4, 200), truth) for _ in range(9)]
    labels = np.stack([*good, rng.integers(0, 4, 200)], axis=1)
    # the consensus is given per distinct row
    ensemble = Ensemble.from_labels(labels)
    majority = np.empty(ensemble.n_microclusters, dtype=np.int64)
    majority[ensemble.inverse] = truth
    table = diagnose_members(ensemble, ensemble.expand(majority))
    assert table["outlier"].tolist() == [False] * 9 + [True]


@pytest.mark.parametrize(
    ("agreement", "expected"),
    [
        ([0.1], [False]),
        ([0.9, 0.0], [False, False]),
        ([0.9, 0.9, 0.2], [False, False, True]),
        # far in deviations, near in agreement
        ([0.900, 0.901, 0.899, 0.900, 0.85], [False] * 5),
        # far in agreement, but so are the others from each other
        ([0.9, 0.7, 0.5, 0.3], [False] * 4),
        # to agree more than others is no fault
        ([0.2, 0.2, 0.2, 1.0], [False] * 4),
    ],
)
def test_the_rule_for_outliers(agreement, expected):
    assert outliers(np.array(agreement)).tolist() == expected


def test_one_member_has_nobody_to_be_like():
    table = diagnose_members(Ensemble.from_labels([[0], [1]]), [0, 1])
    assert np.isnan(table["redundancy"][0])
    assert table["most_like"].tolist() == [None]
    assert table["outlier"].tolist() == [False]
    assert table["agreement"].tolist() == [1]


def test_a_thousand_members():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 8, (300, 1000))
    labels[:, 7] = labels[:, 3]
    table = diagnose_members(Ensemble.from_labels(labels), np.arange(300) % 3)
    assert table["most_like"][7] == "member_3"
    assert table["redundancy"][7] == 1


def test_member_weights_must_be_one_each():
    with pytest.raises(ValueError, match=r"member_weights must hold one number per member \(2\)"):
        diagnose_members(Ensemble.from_labels([[0, 0], [1, 1]]), [0, 1], [1.0])
