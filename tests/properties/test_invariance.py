"""Neither names nor the order of samples and members leave a trace.

Where two microclusters have one signature they are alike in every respect the ensemble knows of (or
so nearly that three rounds of refinement do not tell), ties between them go by position, and the
partition may follow. With distinct signatures everything is equal to the last bit.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coterie import EAC, Ensemble
from coterie.ensemble.canonical import signatures
from tests.naive.rows import same_partition
from tests.strategies import label_matrices

SEEDS = st.integers(0, 1000)
NAMES = np.array(["d", "b", "a", "c", None], dtype=object)


def distinct_signatures(ensemble):
    rows, _ = signatures(
        ensemble.labels, ensemble.n_clusters_per_member, ensemble.weights, ensemble.member_weight
    )
    return len(np.unique(rows)) == len(rows)


@given(labels=label_matrices(), seed=SEEDS)
def test_renaming_labels(labels, seed):
    rng = np.random.default_rng(seed)
    renamed = np.stack(
        # -1 picks the last name, which is None
        [NAMES[np.append(rng.permutation(4), 4)][member] for member in labels.T],
        axis=1,
    )
    ensemble = Ensemble.from_labels(labels)
    assert Ensemble.from_labels(renamed) == ensemble
    c = 1 + seed % ensemble.n_microclusters
    assert np.array_equal(EAC(c).fit_predict(renamed), EAC(c).fit_predict(labels))


@given(labels=label_matrices(), seed=SEEDS)
def test_permuting_samples(labels, seed):
    ensemble = Ensemble.from_labels(labels)
    assume(distinct_signatures(ensemble))
    order = np.random.default_rng(seed).permutation(len(labels))
    turned = Ensemble.from_labels(labels[order])
    assert np.array_equal(turned.labels, ensemble.labels)
    assert np.array_equal(turned.weights, ensemble.weights)
    assert np.array_equal(turned.inverse, ensemble.inverse[order])


@given(labels=label_matrices(), seed=SEEDS)
def test_permuting_members(labels, seed):
    ensemble = Ensemble.from_labels(labels)
    assume(distinct_signatures(ensemble))
    order = np.random.default_rng(seed).permutation(labels.shape[1])
    turned = Ensemble.from_labels(labels[:, order])
    assert np.array_equal(turned.labels, ensemble.labels[:, order])
    assert np.array_equal(turned.inverse, ensemble.inverse)


def permuted(labels, seed, weighted):
    """An ensemble, the same with rows and columns permuted, both permutations, and a number of clusters."""
    rng = np.random.default_rng(seed)
    n, m = labels.shape
    member_weight = rng.random(m) + 0.5 if weighted else np.ones(m)
    ensemble = Ensemble.from_labels(labels, member_weight=member_weight)
    assume(distinct_signatures(ensemble))
    rows, columns = rng.permutation(n), rng.permutation(m)
    turned = Ensemble.from_labels(
        labels[np.ix_(rows, columns)], member_weight=member_weight[columns]
    )
    return ensemble, turned, rows, columns, int(rng.integers(1, ensemble.n_microclusters + 1))


@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
@given(labels=label_matrices(), seed=SEEDS, weighted=st.booleans())
def test_the_consensus_of_permuted_input(linkage, labels, seed, weighted):
    ensemble, turned, rows, columns, c = permuted(labels, seed, weighted)
    one = EAC(c, linkage=linkage).fit(ensemble)
    other = EAC(c, linkage=linkage).fit(turned)
    assert same_partition(one.labels_[rows], other.labels_)
    assert np.array_equal(one.dendrogram_.heights, other.dendrogram_.heights)
    votes = [model.ensemble_.expand(model.cluster_votes_.confidence) for model in (one, other)]
    assert np.allclose(votes[0][rows], votes[1], atol=1e-14)
    assert np.allclose(one.member_weights_[columns], other.member_weights_, rtol=1e-14)


# a verdict costs about as much as twenty fits or more
@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
@settings(max_examples=20)
@given(labels=label_matrices(min_samples=4), seed=SEEDS, weighted=st.booleans())
def test_the_verdict_of_permuted_input(linkage, labels, seed, weighted):
    ensemble, turned, rows, _, c = permuted(labels, seed, weighted)
    one = EAC(c, linkage=linkage).fit(ensemble)
    other = EAC(c, linkage=linkage).fit(turned)
    assert np.allclose(one.sample_confidence_[rows], other.sample_confidence_, atol=1e-14)


@given(labels=label_matrices(), seed=SEEDS)
def test_the_lifetime_criterion_of_permuted_input(labels, seed):
    rng = np.random.default_rng(seed)
    assume(distinct_signatures(Ensemble.from_labels(labels)))
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    one = EAC().fit(labels)
    other = EAC().fit(labels[np.ix_(rows, columns)])
    assert same_partition(one.labels_[rows], other.labels_)


def test_permuting_samples_of_fractional_weight():
    # sums of tenths differ in their last digits with the order of the terms
    rows = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 2, 0], [1, 2, 1]]
    labels = np.repeat(rows, [3, 3, 1, 1, 1], axis=0)
    weight = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.05, 0.07, 0.08])
    ensemble = Ensemble.from_labels(labels, sample_weight=weight)
    assert distinct_signatures(ensemble)
    rng = np.random.default_rng(0)
    for _ in range(50):
        order = rng.permutation(len(labels))
        turned = Ensemble.from_labels(labels[order], sample_weight=weight[order])
        assert np.array_equal(turned.labels, ensemble.labels)
        assert np.array_equal(turned.inverse, ensemble.inverse[order])
        assert np.allclose(turned.weights, ensemble.weights, rtol=1e-14)
