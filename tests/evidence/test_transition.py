"""Transitions and the support of clusters."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie import Ensemble
from coterie.evidence import cluster_support, transitions
from tests.naive import evidence as naive
from tests.strategies import label_matrices


@given(labels=label_matrices(), seed=st.integers(0, 100))
def test_transitions(labels, seed):
    ensemble = Ensemble.from_labels(labels)
    values = np.random.default_rng(seed).random(ensemble.n_members) + 0.1
    for given_values, used in ((None, np.ones(ensemble.n_members)), (values, values)):
        found = transitions(ensemble, given_values)
        samples = found[np.ix_(ensemble.inverse, ensemble.inverse)]
        assert np.allclose(samples, naive.transitions(labels, used), rtol=1e-12)
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
