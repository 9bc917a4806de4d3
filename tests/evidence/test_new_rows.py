"""Clusters of new rows: those of the known label rows that share most labels with them."""

import numpy as np

from coterie import Ensemble
from coterie.evidence.new_rows import clusters_of_rows


def by_definition(known, cluster_of, new):
    clusters = []
    for row in new:
        both = (known >= 0) & (row >= 0)
        shares = ((known == row) & both).sum(axis=1) / np.maximum(both.sum(axis=1), 1)
        nearest = np.flatnonzero(shares == shares.max())
        votes = np.bincount(cluster_of[nearest], both[nearest].sum(axis=1), minlength=3)
        clusters.append(int(votes.argmax()) if votes.any() else -1)
    return clusters


def test_equals_the_definition_for_every_kind_of_row():
    rng = np.random.default_rng(0)
    known = rng.integers(0, 4, (60, 5)) * 10
    known[rng.random(known.shape) < 0.1] = -1
    known = known[(known >= 0).any(axis=1)]
    ensemble = Ensemble.from_labels(known)
    cluster_of = rng.integers(0, 3, ensemble.n_microclusters)
    new = rng.integers(0, 5, (200, 5)) * 10
    new[rng.random(new.shape) < 0.2] = -1
    new[-1] = -1
    # 40 is a label that no known row has: it agrees with nothing, like a missing one
    expected = by_definition(known, cluster_of[ensemble.inverse], np.where(new == 40, -1, new))
    assert clusters_of_rows(ensemble, cluster_of, new).tolist() == expected
    assert expected[-1] == -1


def test_a_known_row_without_labels_is_never_the_nearest():
    ensemble = Ensemble.from_labels([[-1, -1], [0, 0], [0, 0], [1, 1]])
    cluster_of = np.where(ensemble.has_label, ensemble.labels[:, 0], -1).astype(np.int64)
    assert clusters_of_rows(ensemble, cluster_of, np.array([[1, 1], [0, 7]])).tolist() == [1, 0]
