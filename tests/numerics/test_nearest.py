"""New rows against a literal vote of the microclusters."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.numerics.nearest import nearest_clusters


def voted(row, labels, member_weight, weights, clusters):
    both = (labels >= 0) & (row >= 0)
    seen = both @ member_weight
    agreed = (both & (labels == row)) @ member_weight
    share = np.divide(agreed, seen, out=np.zeros(len(labels)), where=seen > 0)
    nearest = share == share.max()
    votes = np.bincount(clusters[nearest], weights=(weights * seen)[nearest])
    return int(np.argmax(votes)) if votes.any() else -1


@pytest.mark.parametrize("seed", range(6))
def test_equals_the_literal_vote(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 3, (25, 4)).astype(np.int32)
    new = rng.integers(-1, 3, (20, 4)).astype(np.int32)
    member_weight = rng.choice([0.25, 0.5, 1.0, 2.0], 4)
    weights = rng.integers(1, 5, 25).astype(np.float64)
    clusters = rng.integers(0, 4, 25)
    arguments = (labels, member_weight, weights, clusters)
    found = nearest_clusters(new, *arguments)
    assert found.tolist() == [voted(row, *arguments) for row in new]


def test_of_equal_votes_the_lower_cluster_wins():
    labels = np.array([[0, 0], [1, 1]], dtype=np.int32)
    new = np.array([[0, 1]], dtype=np.int32)
    found = nearest_clusters(new, labels, np.ones(2), np.ones(2), np.array([1, 0]))
    assert found.tolist() == [0]


def test_a_row_that_no_member_labels_is_noise():
    labels = np.array([[0, -1], [1, -1]], dtype=np.int32)
    new = np.array([[-1, -1], [-1, 0], [1, 0]], dtype=np.int32)
    found = nearest_clusters(new, labels, np.ones(2), np.ones(2), np.array([0, 1]))
    assert found.tolist() == [-1, -1, 1]
