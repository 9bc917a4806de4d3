"""Laws of compression: nothing is lost, and weights are repeated rows."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coterie import EAC, Ensemble
from tests.naive.rows import as_given, distinct, same_partition
from tests.strategies import label_matrices


def spelled(labels):
    return [[None if label < 0 else label for label in member] for member in labels.T.tolist()]


@given(labels=label_matrices())
def test_what_goes_in_comes_out(labels):
    ensemble = Ensemble.from_labels(labels)
    assert as_given(ensemble) == spelled(labels)
    assert ensemble.n_microclusters == len(distinct(labels))
    assert ensemble.weights.sum() == len(labels)
    assert np.array_equal(np.bincount(ensemble.inverse), ensemble.weights)
    assert (np.diff(ensemble.weights) <= 0).all()
    assert len(np.unique(ensemble.labels, axis=0)) == ensemble.n_microclusters


@given(labels=label_matrices())
def test_codes_have_no_gaps_and_first_appear_in_order(labels):
    ensemble = Ensemble.from_labels(labels)
    for j, k in enumerate(ensemble.n_clusters_per_member):
        codes = ensemble.labels[:, j]
        _, first = np.unique(codes[codes >= 0], return_index=True)
        assert len(first) == k
        assert (np.diff(first) > 0).all()


@given(labels=label_matrices())
def test_expanding_and_compressing_again_changes_nothing(labels):
    ensemble = Ensemble.from_labels(labels)
    assert Ensemble.from_labels(ensemble.expand(ensemble.labels)) == ensemble


@given(labels=label_matrices(), data=st.data())
def test_repeated_rows_are_weights(labels, data):
    n = len(labels)
    repeats = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    weighted = Ensemble.from_labels(labels, sample_weight=repeats)
    repeated = Ensemble.from_labels(np.repeat(labels, repeats, axis=0))
    assert np.array_equal(weighted.labels, repeated.labels)
    assert np.array_equal(weighted.weights, repeated.weights)
    assert np.array_equal(np.repeat(weighted.inverse, repeats), repeated.inverse)
    c = data.draw(st.integers(1, weighted.n_microclusters))
    one, other = EAC(c).fit(weighted), EAC(c).fit(repeated)
    assert np.array_equal(np.repeat(one.labels_, repeats), other.labels_)
    assert np.array_equal(
        np.repeat(one.cluster_votes_.confidence[weighted.inverse], repeats),
        other.cluster_votes_.confidence[repeated.inverse],
    )


# a verdict costs about as much as twenty fits or more
@settings(max_examples=30)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_repeated_rows_are_weights_for_the_verdict(labels, data):
    n = len(labels)
    repeats = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    c = data.draw(st.integers(1, len(distinct(labels))))
    one = EAC(c).fit(labels, sample_weight=repeats)
    other = EAC(c).fit(np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(one.sample_confidence_, repeats), other.sample_confidence_)


@given(labels=label_matrices(), factor=st.sampled_from([2, 7]))
def test_all_weights_times_a_factor_change_no_partition(labels, factor):
    plain = Ensemble.from_labels(labels)
    scaled = Ensemble.from_labels(labels, sample_weight=np.full(len(labels), factor))
    assert np.array_equal(plain.weights * factor, scaled.weights)


@given(data=st.data(), n=st.integers(1, 12))
def test_concat_is_columns_side_by_side(data, n):
    left = data.draw(label_matrices(min_samples=n, max_samples=n, max_members=3))
    right = data.draw(label_matrices(min_samples=n, max_samples=n, max_members=3))
    names = [f"m{j}" for j in range(left.shape[1] + right.shape[1])]
    one = Ensemble.from_labels(left, names=names[: left.shape[1]])
    other = Ensemble.from_labels(right, names=names[left.shape[1] :])
    whole = Ensemble.from_labels(np.hstack([left, right]), names=names)
    assert one.concat(other) == whole
    assert as_given(one.concat(other)) == spelled(np.hstack([left, right]))


@given(labels=label_matrices(), data=st.data())
def test_select_is_columns(labels, data):
    m = labels.shape[1]
    chosen = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=m, unique=True))
    part = labels[:, chosen]
    assume((part >= 0).any(axis=1).all())
    assert as_given(Ensemble.from_labels(labels).select(chosen)) == spelled(part)


@given(labels=label_matrices(), data=st.data())
def test_subset_is_rows(labels, data):
    n = len(labels)
    rows = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n + 2))
    part = labels[rows]
    assume((part >= 0).any(axis=0).all())
    subset = Ensemble.from_labels(labels).subset(rows)
    assert as_given(subset) == spelled(part)
    assert same_partition(subset.inverse, Ensemble.from_labels(part).inverse)
    assert subset.n_base_clusters == Ensemble.from_labels(part).n_base_clusters
