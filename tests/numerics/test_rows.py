"""Distinct rows by hashing: right even where hashes collide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from coterie.numerics import rows
from coterie.numerics.rows import RowTable
from tests.naive.rows import distinct
from tests.strategies import label_matrices


def numbered(matrix, chunk=None):
    table = RowTable(matrix.shape[1])
    ids = np.empty(len(matrix), dtype=np.int32)
    step = chunk or len(matrix)
    for begin in range(0, len(matrix), step):
        table.add(np.ascontiguousarray(matrix[begin : begin + step]), ids[begin : begin + step])
    return table.rows(), ids


def assert_right(matrix, found):
    distinct_rows, ids = found
    expected = distinct(matrix)
    assert distinct_rows.tolist() == [list(row) for row in expected]
    for number, samples in enumerate(expected.values()):
        assert (ids[samples] == number).all()


@given(matrix=label_matrices(max_samples=30))
def test_rows_are_numbered_by_first_appearance(matrix):
    matrix = matrix.astype(np.int32)
    assert_right(matrix, numbered(matrix))
    assert_right(matrix, numbered(matrix, chunk=3))


def test_the_table_grows():
    rng = np.random.default_rng(0)
    matrix = rng.integers(-1, 60, (9000, 2)).astype(np.int32)
    assert_right(matrix, numbered(matrix))
    assert_right(matrix, numbered(matrix, chunk=1000))


def test_a_table_that_grew_has_slots_for_its_mask():
    table = RowTable(1)
    codes = np.arange(5000, dtype=np.int32)[:, None]
    table.add(codes, np.empty(5000, dtype=np.int32))
    n_slots = len(table._slots)
    assert n_slots & (n_slots - 1) == 0
    # mostly empty, so that probing is short, and not much larger than it must be
    assert 4 * 5000 <= n_slots <= 8 * 5000


@pytest.mark.parametrize("constant", [0, 7, 2**31 - 1, 2**64 - 1])
def test_every_hash_the_same(monkeypatch, constant):
    monkeypatch.setattr(rows, "_hash_rows", lambda codes, hashes: hashes.fill(constant))
    rng = np.random.default_rng(1)
    matrix = rng.integers(0, 40, (3000, 2)).astype(np.int32)
    assert_right(matrix, numbered(matrix, chunk=700))


def test_two_rows_of_one_hash_are_told_apart():
    codes = np.array([[0, 1], [2, 3], [0, 1], [2, 3], [4, 5]], dtype=np.int32)
    # the first two share all bits, the last one only those that choose the slot
    hashes = np.array([9, 9, 9, 9, 9 | 1 << 40], dtype=np.uint64)
    slots = np.full(8, rows.EMPTY, dtype=np.uint64)
    tags = np.empty(4, dtype=np.uint64)
    store = np.empty((4, 2), dtype=np.int32)
    ids = np.empty(5, dtype=np.int32)
    done, count = rows._insert(codes, hashes, 0, ids, slots, tags, store, 0)
    assert (done, count) == (5, 3)
    assert ids.tolist() == [0, 1, 0, 1, 2]
    assert store[:3].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_a_full_table_hands_back_where_it_stopped():
    codes = np.arange(6, dtype=np.int32).reshape(3, 2)
    slots = np.full(4, rows.EMPTY, dtype=np.uint64)
    arguments = np.empty(3, np.int32), slots, np.empty(2, np.uint64), np.empty((2, 2), np.int32)
    assert rows._insert(codes, np.arange(3, dtype=np.uint64), 0, *arguments, 0) == (2, 2)
