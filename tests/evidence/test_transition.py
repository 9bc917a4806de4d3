"""Transitions and the support of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Ensemble, ParameterError
from coterie.evidence import cluster_support, transitions
from tests.naive import evidence as naive
from tests.strategies import label_matrices


@given(labels=label_matrices(), seed=st.integers(0, 100))
def test_transitions(labels, seed):
    chance = np.random.default_rng(seed).random(labels.shape[1]) + 0.1
    for weight in (np.ones(labels.shape[1]), chance):
        ensemble = Ensemble.from_labels(labels, member_weight=weight)
        found = transitions(ensemble)
        samples = found[np.ix_(ensemble.inverse, ensemble.inverse)]
        assert np.allclose(samples, naive.transitions(labels, weight), rtol=1e-12)
        assert np.allclose(found @ ensemble.weights, 1.0)


@given(labels=label_matrices(), seed=st.integers(0, 100), n_clusters=st.integers(1, 4))
def test_support(labels, seed, n_clusters):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, labels.shape[1]).astype(float)
    ensemble = Ensemble.from_labels(labels, member_weight=weight)
    partition = rng.integers(0, n_clusters, ensemble.n_microclusters)
    found = cluster_support(ensemble, partition, n_clusters)
    expected = naive.support(labels, partition[ensemble.inverse], n_clusters, weight)
    assert np.allclose(found[ensemble.inverse], expected)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0, 1], r"one per microcluster, but is an array of int64 of shape \(2,\)"),
        ([0.0, 1.0, 1.0], "but is an array of float64"),
        ([-1, 0, 1], r"must lie in 0 \.\. 1, but go from -1 to 1"),
        ([0, 1, 2], r"must lie in 0 \.\. 1, but go from 0 to 2"),
    ],
)
def test_support_of_what_is_no_partition(labels, words):
    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [1, 1]])
    with pytest.raises(ParameterError, match=words):
        cluster_support(ensemble, np.array(labels), 2)
