"""Co-association of microclusters against samples by samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Ensemble
from coterie.evidence import (
    coassociation,
    contingency,
    weighted_coassociation,
)
from coterie.numerics.pairs import agreement_counts, observation_counts
from tests.naive import evidence as naive
from tests.strategies import label_matrices

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def on_samples(ensemble, matrix):
    """A matrix of microclusters written out for samples."""
    return np.asarray(matrix)[np.ix_(ensemble.inverse, ensemble.inverse)]


@given(labels=label_matrices())
def test_counts_and_observed(labels):
    ensemble = Ensemble.from_labels(labels)
    counts = agreement_counts(ensemble.labels)
    assert counts.dtype == np.int16
    assert np.array_equal(on_samples(ensemble, counts), naive.counts(labels))
    observed = observation_counts(ensemble.labels)
    assert np.array_equal(on_samples(ensemble, observed), naive.observed(labels))


@given(labels=label_matrices(), seed=st.integers(0, 100))
def test_shares(labels, seed):
    ensemble = Ensemble.from_labels(labels)
    assert np.array_equal(on_samples(ensemble, coassociation(ensemble)), naive.shares(labels))
    weight = np.random.default_rng(seed).integers(1, 6, labels.shape[1]).astype(float)
    weighted = Ensemble.from_labels(labels, member_weight=weight)
    assert np.allclose(
        on_samples(weighted, coassociation(weighted)), naive.shares(labels, weight), rtol=1e-14
    )


@given(labels=label_matrices())
def test_equal_member_weights_change_nothing(labels):
    plain = Ensemble.from_labels(labels)
    weighted = Ensemble.from_labels(labels, member_weight=np.full(labels.shape[1], 2.5))
    assert np.array_equal(
        on_samples(plain, coassociation(plain)), on_samples(weighted, coassociation(weighted))
    )


@given(labels=label_matrices(), seed=st.integers(0, 100))
def test_weighted_sums(labels, seed):
    ensemble = Ensemble.from_labels(labels)
    values = np.random.default_rng(seed).normal(size=ensemble.n_members)
    dense = weighted_coassociation(ensemble, values)
    assert np.allclose(on_samples(ensemble, dense), naive.weighted(labels, values))


@given(labels=label_matrices())
def test_contingency_of_base_clusters(labels):
    ensemble = Ensemble.from_labels(labels)
    table = contingency(ensemble).toarray()
    # the naive table counts base clusters by their labels, ascending
    place = [
        int(ensemble.cluster_offsets[j] + ensemble.categories[j].tolist().index(label))
        for j, label, _ in naive.base_clusters(labels)
    ]
    assert np.array_equal(table[np.ix_(place, place)], naive.contingency(labels))
    assert np.array_equal(np.diag(table), ensemble.cluster_sizes)


def test_the_small_example():
    shares = on_samples(Ensemble.from_labels(T6), coassociation(Ensemble.from_labels(T6)))
    assert np.allclose(shares[0], [1, 1, 2 / 3, 0, 0, 0])
    assert np.allclose(shares[2], [2 / 3, 2 / 3, 1, 1 / 3, 1 / 3, 1 / 3])


def test_the_small_example_with_a_hole():
    holed = T6.copy()
    holed[2, 1] = -1
    ensemble = Ensemble.from_labels(holed)
    shares = on_samples(ensemble, coassociation(ensemble))
    assert shares[2].tolist() == [1, 1, 1, 0, 0, 0]


def test_pairs_that_nobody_saw_together():
    ensemble = Ensemble.from_labels([[0, -1], [-1, 0]])
    assert coassociation(ensemble).tolist() == [[1, 0], [0, 1]]
    assert observation_counts(ensemble.labels).tolist() == [[1, 0], [0, 1]]


def test_many_members_need_wider_counts():
    counts = agreement_counts(np.zeros((1, 33_000), dtype=np.int32))
    assert counts.dtype == np.int32
    assert counts.tolist() == [[33_000]]


def test_member_values_must_fit():
    with pytest.raises(ValueError, match=r"one number per member \(3\), but has shape \(2,\)"):
        weighted_coassociation(Ensemble.from_labels(T6), [1, 2])
