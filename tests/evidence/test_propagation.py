"""Propagated similarities against their literal forms on samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evidence import coassociation
from coterie.evidence.propagation import propagated_cluster_similarity, propagated_similarity
from tests.naive import ecpcs as naive
from tests.naive import evidence
from tests.strategies import label_matrices

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


@settings(max_examples=40)
@given(
    labels=label_matrices(max_samples=10, max_members=5),
    n_steps=st.sampled_from([1, 2, 20]),
    rest=st.sampled_from([0.0, 0.5]),
)
def test_the_literal_matrices(labels, n_steps, rest):
    ensemble = Ensemble.from_labels(labels)
    order = [
        ensemble.cluster_offsets[j] + ensemble.categories[j].tolist().index(q)
        for j, q, _ in evidence.base_clusters(labels)
    ]
    found = propagated_cluster_similarity(ensemble, n_steps, rest=rest)
    expected = naive.cluster_similarity(labels, n_steps, rest)
    np.testing.assert_allclose(found[np.ix_(order, order)], expected, atol=1e-10)
    carried = propagated_similarity(ensemble, n_steps)
    expected = naive.similarity(labels, n_steps)
    both = np.ix_(ensemble.inverse, ensemble.inverse)
    np.testing.assert_allclose(carried[both], expected, atol=1e-10)
    np.testing.assert_array_equal(np.diag(carried), 1.0)
    np.testing.assert_array_equal(carried, carried.T)
    assert carried.max() <= 1.0


def test_the_small_example():
    ensemble = Ensemble.from_labels(T6)
    # the card's base clusters: {0,1,2} | {3,4,5}, {0,1} | {2,3,4,5}, {0,1,2} | {3,4,5}
    c1, c2, c3, c4, c5, _ = (
        ensemble.cluster_offsets[j] + ensemble.labels[ensemble.inverse[i], j]
        for j, i in ((0, 0), (0, 3), (1, 0), (1, 3), (2, 0), (2, 3))
    )
    Z = propagated_cluster_similarity(ensemble, 20)
    for pair, value in (
        ((c1, c3), 0.9389),
        ((c1, c2), 0.6482),
        ((c3, c4), 0.7101),
        ((c2, c4), 0.9348),
        ((c1, c5), 0.8973),
    ):
        assert Z[pair] == pytest.approx(value, abs=5e-5)
    d, a, b = ensemble.inverse[[3, 0, 2]]
    eca = propagated_similarity(ensemble)
    assert eca[a, b] == pytest.approx(0.9034, abs=5e-5)
    assert eca[b, d] == pytest.approx(0.7654, abs=5e-5)
    assert eca[a, d] == pytest.approx(0.6688, abs=5e-5)


def test_one_member_leaves_every_base_cluster_alone():
    ensemble = Ensemble.from_labels([[0], [1], [2], [2]])
    assert not propagated_cluster_similarity(ensemble).any()
    np.testing.assert_array_equal(propagated_similarity(ensemble), np.eye(3))


def test_walkers_of_two_members_meet_only_where_they_rest():
    ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]])
    assert not propagated_cluster_similarity(ensemble)[:2, 2:].any()
    assert propagated_cluster_similarity(ensemble, rest=0.5)[:2, 2:].all()


def test_a_pair_that_no_member_saw_has_no_evidence():
    ensemble = Ensemble.from_labels([[0, -1], [-1, 0], [0, 0], [1, 1]])
    one, other = ensemble.inverse[:2]
    assert propagated_similarity(ensemble)[one, other] == 0.0


def test_a_weight_of_two_is_the_sample_twice_and_members_weigh_in_the_mean():
    rng = np.random.default_rng(0)
    labels, repeats = rng.integers(0, 3, (40, 4)), rng.integers(1, 4, 40)
    weighted = propagated_similarity(Ensemble.from_labels(labels, sample_weight=repeats))
    repeated = propagated_similarity(Ensemble.from_labels(np.repeat(labels, repeats, axis=0)))
    np.testing.assert_allclose(weighted, repeated, atol=1e-14)
    single = Ensemble.from_labels(labels, member_weight=[1.0, 1e-13, 1e-13, 1e-13])
    close = propagated_similarity(single)
    together = coassociation(single) > 0.5
    np.testing.assert_allclose(close[together], 1.0)
    assert (close[~together] < 1).all()


def test_refuses_with_reasons():
    ensemble = Ensemble.from_labels(T6)
    with pytest.raises(ParameterError, match="n_steps must be a whole number of at least 1"):
        propagated_similarity(ensemble, 0)
    with pytest.raises(ParameterError, match="rest must be a number in"):
        propagated_cluster_similarity(ensemble, rest=1.0)
    with pytest.raises(MemoryBudgetError, match="base clusters"):
        propagated_similarity(ensemble, memory_budget=10)
    many = Ensemble.from_labels(np.random.default_rng(0).integers(0, 2, (2000, 9)))
    with pytest.raises(MemoryBudgetError, match="microclusters"):
        propagated_similarity(many, memory_budget=80_000)
