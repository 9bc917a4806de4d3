"""Numbers of clusters that replicate in halves of the samples."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import scale

from coterie.select.feature_structure import choose_from_features
from coterie.select.replication import peaks, replicated_ks

CURVES = st.lists(st.floats(0, 1), min_size=1, max_size=12, unique=True).map(np.array)


@given(CURVES, st.floats(0, 0.5))
def test_peaks_are_the_same_from_both_sides(values, fall):
    assert peaks(values[::-1], fall) == [len(values) - 1 - i for i in peaks(values, fall)][::-1]


@given(CURVES, st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_deeper_fall_leaves_fewer_peaks(values, fall, more):
    assert set(peaks(values, fall + more)) <= set(peaks(values, fall))


@given(CURVES, st.floats(0, 0.5))
def test_values_fall_between_two_peaks(values, fall):
    found = peaks(values, fall)
    for left, right in pairwise(found):
        between = values[left : right + 1].min()
        assert between < max(values[left], values[right]) - fall


@pytest.mark.parametrize("k", [2, 3, 6])
def test_blobs_replicate_at_their_number(k):
    rng = np.random.default_rng(k)
    X = make_blobs(400, 4, centers=10 * rng.normal(size=(k, 4)), random_state=k)[0]
    assert k in replicated_ks(X, 12, np.random.default_rng(0))


def test_groups_of_clusters_replicate_at_both_numbers():
    rng = np.random.default_rng(0)
    centres = np.repeat(40 * np.eye(3), 3, axis=0) + 8 * np.tile(np.eye(3), (3, 1))
    X = centres[rng.integers(9, size=600)] + rng.normal(size=(600, 3))
    assert {3, 9} <= set(replicated_ks(X, 12, np.random.default_rng(0)))


def test_few_samples_have_no_replication():
    assert replicated_ks(np.random.default_rng(0).normal(size=(20, 2)), 5, None) == []


def test_classes_that_touch_are_supported_but_not_recommended():
    choice = choose_from_features(scale(load_breast_cancer().data), np.arange(2, 11))
    assert choice.recommended == 1
    assert 2 in choice.supported
    assert "run into each other" in choice.reason
    assert "If you need groups: partitions into 2" in choice.reason
