"""Signatures that depend on no order and no name."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.ensemble.canonical import renumber, signatures
from tests.strategies import ensembles


def signed(ensemble, labels=None):
    labels = ensemble.labels if labels is None else labels
    return signatures(
        labels, ensemble.n_clusters_per_member, ensemble.weights, ensemble.member_weight
    )


@given(ensemble=ensembles(), seed=st.integers(0, 100))
def test_order_of_rows_members_and_names_does_not_matter(ensemble, seed):
    rng = np.random.default_rng(seed)
    row, member = signed(ensemble)
    rows = rng.permutation(ensemble.n_microclusters)
    columns = rng.permutation(ensemble.n_members)
    labels = ensemble.labels.copy()
    for j, k in enumerate(ensemble.n_clusters_per_member):
        # -1 picks the last entry, which keeps missing labels missing
        labels[:, j] = np.append(rng.permutation(k), -1)[labels[:, j]]
    turned_row, turned_member = signatures(
        np.ascontiguousarray(labels[np.ix_(rows, columns)]),
        ensemble.n_clusters_per_member[columns],
        ensemble.weights[rows],
        ensemble.member_weight[columns],
    )
    assert np.array_equal(turned_row, row[rows])
    assert np.array_equal(turned_member, member[columns])


def test_signatures_stay_what_they_were():
    # they order microclusters and members, so that another one changes what a seed gives
    labels = np.array([[0, 0, 0], [1, 0, -1], [1, 1, 1]], dtype=np.int32)
    row, member = signatures(
        labels, np.array([2, 2, 2]), np.array([3, 2, 1]), np.array([1.0, 1.0, 2.0])
    )
    assert row.tolist() == [0xFE4CE78CF635AFFF, 0x2A6B35A681563395, 0xC17B7CFABD1927B5]
    assert member.tolist() == [0x3B2F42169FC97C44, 0xCD57064F80252B67, 0x37CC2AEAF1BF2B93]


def test_signatures_tell_apart_what_differs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, (500, 6)).astype(np.int32)
    labels = np.unique(labels, axis=0)
    k = np.full(6, 5)
    weights = rng.integers(1, 9, len(labels))
    row, member = signatures(labels, k, weights, np.ones(6))
    assert len(np.unique(row)) == len(labels)
    assert len(np.unique(member)) == 6


def test_what_symmetry_makes_equal_stays_equal():
    labels = np.array([[0, 0], [1, 1]], dtype=np.int32)
    row, member = signatures(labels, np.array([2, 2]), np.array([1, 1]), np.ones(2))
    assert row[0] == row[1]
    assert member[0] == member[1]


def test_weights_and_missing_labels_count():
    labels = np.array([[0, 0], [1, 1]], dtype=np.int32)
    k = np.array([2, 2])
    row, _ = signatures(labels, k, np.array([1, 2]), np.ones(2))
    assert row[0] != row[1]
    _, member = signatures(labels, k, np.array([1, 1]), np.array([1.0, 2.0]))
    assert member[0] != member[1]
    holed = np.array([[0, 0], [1, -1]], dtype=np.int32)
    row, member = signatures(holed, np.array([2, 1]), np.array([1, 1]), np.ones(2))
    assert row[0] != row[1]
    assert member[0] != member[1]


def test_renumbering_by_first_appearance():
    rows = np.array([[3, -1], [0, 1], [3, 0], [-1, 1]], dtype=np.int32)
    old_of = renumber(rows, np.array([4, 2]))
    assert rows.tolist() == [[0, -1], [1, 0], [0, 1], [-1, 0]]
    assert old_of.tolist() == [[3, 0, -1, -1], [1, 0, -1, -1]]
