"""Ensemble.filled: random labels where there were none, and nothing else changed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Ensemble
from tests.naive.rows import as_given
from tests.strategies import label_matrices


@given(labels=label_matrices(), seed=st.integers(0, 99))
def test_what_was_there_stays_and_what_was_not_is_one_of_the_members_labels(labels, seed):
    ensemble = Ensemble.from_labels(labels)
    filled = ensemble.filled(seed)
    assert filled.is_complete
    assert filled.members == ensemble.members
    assert np.array_equal(filled.n_clusters_per_member, ensemble.n_clusters_per_member)
    for before, after in zip(as_given(ensemble), as_given(filled), strict=True):
        own = set(before) - {None}
        assert set(after) == own
        assert all(old in (None, new) for old, new in zip(before, after, strict=True))
    if ensemble.is_complete:
        assert filled == ensemble


def test_every_cluster_of_a_member_is_as_likely_whatever_its_size():
    labels = np.full((40_000, 2), -1)
    labels[:, 0] = 0
    labels[:1000, 1] = np.repeat([0, 1, 2, 3], [970, 10, 10, 10])
    filled = as_given(Ensemble.from_labels(labels).filled(random_state=0))[1]
    counts = np.bincount(filled[1000:], minlength=4)
    assert np.abs(counts / 39_000 - 0.25).max() < 0.01


def test_samples_of_one_microcluster_are_drawn_apart():
    labels = np.array([[0, 0], [1, 1], *[[0, -1]] * 60])
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters == 3
    filled = ensemble.filled(random_state=1)
    assert filled.n_microclusters == 3
    drawn = as_given(filled)[1][2:]
    assert 15 < sum(drawn) < 45


def test_a_seed_repeats_and_another_differs():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, (200, 5))
    labels[:, 0] = rng.integers(0, 4, 200)
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.filled(3) == ensemble.filled(3)
    assert ensemble.filled(3) == ensemble.filled(np.random.default_rng(3))
    assert ensemble.filled(3) != ensemble.filled(4)


def test_a_draw_does_not_depend_on_other_holes():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (100, 4))
    few, many = labels.copy(), labels.copy()
    few[50:60, 1] = -1
    many[50:, 1] = -1
    one = as_given(Ensemble.from_labels(few).filled(0))[1]
    other = as_given(Ensemble.from_labels(many).filled(0))[1]
    # labels are numbered by first appearance of heavy rows; draws go by that number
    assert one[:50] == other[:50] == labels[:50, 1].tolist()
    numbers = [Ensemble.from_labels(holed).categories[1].tolist() for holed in (few, many)]
    assert [numbers[0].index(label) for label in one[50:60]] == [
        numbers[1].index(label) for label in other[50:60]
    ]


def test_weights_names_and_ids_are_kept():
    ensemble = Ensemble.from_labels(
        [["a", "x"], [None, "y"], ["b", None]],
        names=["left", "right"],
        sample_weight=[1.5, 2.0, 3.0],
        member_weight=[1.0, 4.0],
        sample_ids=["p", "q", "r"],
    )
    filled = ensemble.filled(0)
    assert filled.members == ("left", "right")
    assert filled.sample_ids.tolist() == ["p", "q", "r"]
    assert filled.sample_weight.tolist() == [1.5, 2.0, 3.0]
    assert filled.member_weight.tolist() == [1.0, 4.0]
    assert filled.weights.sum() == pytest.approx(6.5)


def test_samples_without_any_label_are_filled_too():
    ensemble = Ensemble.from_labels([[0, 0], [-1, -1], [1, 1]])
    filled = ensemble.filled(0)
    assert filled.is_complete
    assert filled.blank_samples().size == 0
