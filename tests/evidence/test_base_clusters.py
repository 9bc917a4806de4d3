"""Similarities of base clusters against their definitions, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from coterie import Ensemble
from coterie.evidence.base_clusters import jaccard, likeness_to_base_clusters, mean_over_members
from tests.strategies import ensembles


def members_of(ensemble: Ensemble) -> list[set[int]]:
    """The samples of every base cluster, in the order of the incidence."""
    found = []
    for j, count in enumerate(ensemble.n_clusters_per_member):
        labels = ensemble.labels[ensemble.inverse, j]
        found += [set(np.flatnonzero(labels == label).tolist()) for label in range(count)]
    return found


def symmetric(size: int) -> np.ndarray:
    given = np.random.default_rng(size).random((size, size))
    return given + given.T


@given(ensembles())
def test_jaccard_is_shared_over_either_and_nobody_meets_itself(ensemble):
    found = members_of(ensemble)
    expected = [[len(a & b) / len(a | b) * (a is not b) for b in found] for a in found]
    np.testing.assert_allclose(jaccard(ensemble), expected, atol=1e-12)


@given(ensembles())
def test_likeness_is_that_of_the_own_cluster_and_nothing_where_none_is(ensemble):
    k = ensemble.n_base_clusters
    similarity = symmetric(k)
    member = np.repeat(np.arange(ensemble.n_members), ensemble.n_clusters_per_member)
    expected = np.zeros((ensemble.n_microclusters, k))
    for row, labels in enumerate(ensemble.labels):
        for column in range(k):
            label = labels[member[column]]
            if label >= 0:
                own = ensemble.cluster_offsets[member[column]] + label
                expected[row, column] = similarity[own, column]
    assert np.array_equal(likeness_to_base_clusters(ensemble, similarity), expected)


@given(ensembles())
def test_the_mean_is_over_the_members_that_saw_both(ensemble):
    weight = np.arange(1.0, ensemble.n_members + 1)
    weighted = Ensemble.from_labels(ensemble.labels, member_weight=weight)
    similarity = symmetric(weighted.n_base_clusters) / 2
    expected = np.zeros((weighted.n_microclusters,) * 2)
    for a, one in enumerate(weighted.labels):
        for b, two in enumerate(weighted.labels):
            both = np.flatnonzero((one >= 0) & (two >= 0))
            own = weighted.cluster_offsets[both]
            alike = similarity[own + one[both], own + two[both]]
            if len(both):
                expected[a, b] = np.average(alike, weights=weighted.member_weight[both])
    np.fill_diagonal(expected, 1.0)
    found = mean_over_members(weighted, similarity, "The mean")
    assert found == pytest.approx(expected, abs=1e-12)
