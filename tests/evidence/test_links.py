"""Link-based similarities against their literal forms on samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evidence.links import (
    approximate_simrank,
    connected_triple,
    linked_clusters,
    simrank,
)
from tests.builders import in_literal_order
from tests.naive import links as naive
from tests.strategies import label_matrices

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
small = label_matrices(max_samples=9, max_members=4)
examples = settings(max_examples=40)


def on_samples(ensemble, similarity):
    """The n x n matrix: within a microcluster its diagonal, 1 of a sample with itself."""
    full = similarity[np.ix_(ensemble.inverse, ensemble.inverse)]
    np.fill_diagonal(full, 1.0)
    return full


@examples
@given(labels=small, kind=st.sampled_from(["triples", "quality"]))
def test_links_of_base_clusters_are_the_literal_ones(labels, kind):
    ensemble = Ensemble.from_labels(labels)
    order = in_literal_order(labels, ensemble)
    found = linked_clusters(ensemble, kind)
    np.testing.assert_allclose(found[np.ix_(order, order)], naive.linked(labels, kind), atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


@examples
@given(labels=small, decay=st.sampled_from([0.3, 0.8, 1.0]))
def test_connected_triples_are_the_literal_ones(labels, decay):
    ensemble = Ensemble.from_labels(labels)
    found = connected_triple(ensemble, decay)
    expected = naive.connected_triple(labels, decay)
    np.testing.assert_allclose(on_samples(ensemble, found), expected, atol=1e-12)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    np.testing.assert_array_equal(found, found.T)


@examples
@given(labels=small, decay=st.sampled_from([0.3, 0.8, 1.0]), n_rounds=st.integers(2, 6))
def test_simrank_is_the_literal_one(labels, decay, n_rounds):
    ensemble = Ensemble.from_labels(labels)
    found = simrank(ensemble, decay, n_rounds)
    expected = naive.simrank(labels, decay, n_rounds)
    np.testing.assert_allclose(on_samples(ensemble, found), expected, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)


@examples
@given(labels=small, decay=st.sampled_from([0.3, 0.8, 1.0]))
def test_approximate_simrank_is_the_literal_one(labels, decay):
    ensemble = Ensemble.from_labels(labels)
    found = approximate_simrank(ensemble, decay)
    expected = naive.approximate_simrank(labels, decay)
    np.testing.assert_allclose(on_samples(ensemble, found), expected, atol=1e-9)
    np.testing.assert_array_equal(found, found.T)


def test_the_small_example():
    ensemble = Ensemble.from_labels(T6)
    d, a, b = ensemble.inverse[[3, 0, 2]]
    found = connected_triple(ensemble)
    assert found[a, b] == pytest.approx(2.8 / 3)
    assert found[b, d] == pytest.approx(0.6)
    assert found[a, d] == pytest.approx(1.6 / 3)
    # the two base clusters of each member, before they are divided by the largest: 1/6, 1/3, 1/6
    linked = linked_clusters(ensemble)
    assert [linked[p, p + 1] for p in (0, 2, 4)] == pytest.approx([0.5, 1.0, 0.5])


def test_two_equal_samples_are_less_alike_than_one_with_itself():
    # by hand: two rounds leave decay times the share of common base clusters among pairs of members
    found = simrank(Ensemble.from_labels(T6), 0.8, 2)
    np.testing.assert_allclose(np.diag(found), 0.8 / 3)
    assert (np.diag(approximate_simrank(Ensemble.from_labels(T6))) < 1).all()


@pytest.mark.parametrize("similarity", [connected_triple, simrank, approximate_simrank])
def test_a_weight_of_two_is_the_sample_twice(similarity):
    labels = np.random.default_rng(0).integers(0, 3, (40, 4))
    repeats = np.random.default_rng(1).integers(1, 4, 40)
    weighted = similarity(Ensemble.from_labels(labels, sample_weight=repeats))
    repeated = similarity(Ensemble.from_labels(np.repeat(labels, repeats, axis=0)))
    np.testing.assert_allclose(weighted, repeated, atol=1e-14)


@pytest.mark.parametrize("similarity", [connected_triple, simrank, approximate_simrank])
def test_members_that_agree_link_nothing_else(similarity):
    found = similarity(Ensemble.from_labels([[0, 0], [1, 1], [2, 2]]))
    assert (found[~np.eye(3, dtype=bool)] == 0).all()


@pytest.mark.parametrize("similarity", [connected_triple, approximate_simrank])
def test_the_base_clusters_of_one_member_have_no_neighbours(similarity):
    found = similarity(Ensemble.from_labels([[0], [1], [2]]))
    np.testing.assert_array_equal(found, np.eye(3))


def test_a_member_without_weight_is_not_heard():
    labels = np.column_stack([T6, [0, 1, 0, 1, 0, 1]])
    heavy = Ensemble.from_labels(labels, member_weight=[1, 1, 1, 1e-12])
    alone = connected_triple(heavy)
    equal = connected_triple(Ensemble.from_labels(labels))
    assert not np.allclose(alone, equal)
    # only the mean over members is weighted: the links are those of all base clusters
    similarity = 0.8 * linked_clusters(heavy)
    np.fill_diagonal(similarity, 1.0)
    starts = heavy.cluster_offsets
    for u, v in ((0, 1), (1, 3)):
        values = [
            similarity[starts[j] + heavy.labels[u, j], starts[j] + heavy.labels[v, j]]
            for j in range(3)
        ]
        assert alone[u, v] == pytest.approx(np.mean(values))


@pytest.mark.parametrize("similarity", [connected_triple, simrank, approximate_simrank])
def test_refuses_with_reasons(similarity):
    ensemble = Ensemble.from_labels(T6)
    with pytest.raises(ParameterError, match="decay must be a number in"):
        similarity(ensemble, 0.0)
    with pytest.raises(MemoryBudgetError, match=r"The .* needs"):
        similarity(ensemble, memory_budget=10)
    with pytest.raises(ParameterError, match="n_rounds must be"):
        simrank(ensemble, n_rounds=1)
    with pytest.raises(ParameterError, match="links must be one of"):
        linked_clusters(ensemble, "chains")
