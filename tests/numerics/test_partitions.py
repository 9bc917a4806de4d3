"""Stacked contingency tables against scikit-learn's scores, one pair of partitions at a time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from coterie.numerics.partitions import Overlaps

AVERAGES = ["arithmetic", "max", "min", "geometric"]


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, (6, 40)), rng.integers(0, 5, (6, 40))
    # the same partition under other names, a single cluster, and two partitions that agree in part
    second[1] = (first[1] + 1) % 4
    second[2] = 0
    second[3, :30] = first[3, :30]
    first[4, rng.random(40) < 0.3] = -1
    second[4, rng.random(40) < 0.3] = -1
    return first, second, rng.integers(1, 5, 40)


@pytest.mark.parametrize("average", AVERAGES)
def test_scores_of_stacked_pairs_are_those_of_samples(labels, average):
    first, second, weights = labels
    overlaps = Overlaps.of_labels(first, second, weights.astype(float))
    for pair, (nmi, ari) in enumerate(zip(overlaps.nmi(average), overlaps.ari(), strict=True)):
        both = (first[pair] >= 0) & (second[pair] >= 0)
        one, other = (side[pair, both].repeat(weights[both]) for side in (first, second))
        expected = normalized_mutual_info_score(one, other, average_method=average)
        assert nmi == pytest.approx(expected, abs=1e-12)
        assert ari == pytest.approx(adjusted_rand_score(one, other), abs=1e-12)
    assert overlaps.same.tolist() == [False, True, False, False, False, False]


def test_ari_of_weighted_rows_is_that_of_samples():
    rng = np.random.default_rng(3)
    one, other, weights = rng.integers(0, 3, 20), rng.integers(0, 4, 20), rng.integers(1, 5, 20)

    def ari(first, second):
        return Overlaps.of_labels(first, second, weights.astype(float)).ari()[0]

    expected = adjusted_rand_score(one.repeat(weights), other.repeat(weights))
    assert ari(one, other) == pytest.approx(expected)
    assert ari(one, one) == 1
    assert ari(one * 0, one * 0) == 1


def test_a_pair_without_common_items_has_no_score():
    overlaps = Overlaps.of_labels(np.array([0, -1]), np.array([-1, 0]), np.ones(2))
    assert np.isnan(overlaps.nmi()).all()
    assert np.isnan(overlaps.ari()).all()


def test_few_pairs_among_many_samples_are_not_equal_by_rounding():
    # of two million samples, two are together in the first partition and two others in the second
    n = 2_000_000
    weights = np.ones(n)
    first, second = np.arange(n), np.arange(n)
    first[1], second[3] = 0, 2
    assert abs(Overlaps.of_labels(first, second, weights).ari()[0]) < 1e-6


def test_rows_without_weight_do_not_count():
    tables = sparse.csr_array([[2.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    overlaps = Overlaps.of_tables(tables, [0, 3])
    assert overlaps.nmi().tolist() == overlaps.ari().tolist() == [1.0]
