"""Find distinct rows by hashing, in one pass without sorting. Equal hashes are verified."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.numerics.compiled import kernel

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel()
def _hash_rows(codes, hashes):
    """Hash two labels per step: each step waits for the one before, so fewer steps are faster."""
    n, m = codes.shape
    for i in range(n):
        h = np.uint64(0x9E3779B97F4A7C15)
        if m % 2 == 1:
            h ^= np.uint64(np.int64(codes[i, 0]) + 2)
            h *= np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(31)
        for j in range(m % 2, m, 2):
            h ^= np.uint64(np.int64(codes[i, j]) + 2) << np.uint64(32)
            h ^= np.uint64(np.int64(codes[i, j + 1]) + 2)
            h *= np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(31)
        hashes[i] = h


@kernel()
def _insert(codes, hashes, begin, ids, slots, tags, rows, n_rows):
    """Number the rows of ``codes`` from ``begin`` on; stop early when the table is full.

    Returns the first row not handled and the number of distinct rows so far. ``slots`` is an
    open-addressing table with linear probing, its length a power of two. The low half of each word is
    the number of a row and the high half is half of its hash, so that a probe reads one word.
    """
    mask = slots.shape[0] - 1
    low_half = np.uint64(0xFFFFFFFF)
    n, m = codes.shape
    for i in range(begin, n):
        if n_rows == rows.shape[0]:
            return i, n_rows
        h = hashes[i]
        tag = h & ~low_half
        slot = np.int64(h & np.uint64(0x7FFFFFFF)) & mask
        while True:
            word = slots[slot]
            if word == EMPTY:
                slots[slot] = tag | np.uint64(n_rows)
                tags[n_rows] = h
                for j in range(m):
                    rows[n_rows, j] = codes[i, j]
                ids[i] = n_rows
                n_rows += 1
                break
            if word & ~low_half == tag:
                row = np.int64(word & low_half)
                differences = 0
                for j in range(m):
                    differences += rows[row, j] != codes[i, j]
                if differences == 0:
                    ids[i] = row
                    break
            slot = (slot + 1) & mask
    return n, n_rows


@kernel()
def _reseat(tags, n_rows, slots):
    mask = slots.shape[0] - 1
    low_half = np.uint64(0xFFFFFFFF)
    for row in range(n_rows):
        slot = np.int64(tags[row] & np.uint64(0x7FFFFFFF)) & mask
        while slots[slot] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = (tags[row] & ~low_half) | np.uint64(row)


class RowTable:
    """Numbers distinct rows in order of first appearance, chunk after chunk."""

    def __init__(self, n_columns: int) -> None:
        self._n_rows = 0
        self._rows = np.empty((1024, n_columns), dtype=np.int32)
        self._hashes = np.empty(1024, dtype=np.uint64)
        self._slots = np.full(4096, EMPTY, dtype=np.uint64)

    def add(self, codes: NDArray[np.int32], ids: NDArray[np.int32]) -> None:
        """Write the number of each row of ``codes`` to ``ids``."""
        hashes = np.empty(len(codes), dtype=np.uint64)
        _hash_rows(codes, hashes)
        done = 0
        while True:
            done, self._n_rows = _insert(
                codes, hashes, done, ids, self._slots, self._hashes, self._rows, self._n_rows
            )
            if done == len(codes):
                return
            self._grow()

    def rows(self) -> NDArray[np.int32]:
        """The distinct rows, in order of first appearance."""
        return self._rows[: self._n_rows].copy()

    def _grow(self) -> None:
        # the arrays double and the slots stay three quarters empty, so that probing is short
        capacity = 2 * len(self._rows)
        rows = np.empty((capacity, self._rows.shape[1]), dtype=np.int32)
        rows[: self._n_rows] = self._rows
        hashes = np.empty(capacity, dtype=np.uint64)
        hashes[: self._n_rows] = self._hashes
        self._rows, self._hashes = rows, hashes
        self._slots = np.full(4 * capacity, EMPTY, dtype=np.uint64)
        _reseat(self._hashes, self._n_rows, self._slots)


def number_rows(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The distinct rows in order of first appearance, and the number of each row among them."""
    table = RowTable(codes.shape[1])
    numbers = np.empty(len(codes), dtype=np.int32)
    table.add(codes, numbers)
    return table.rows(), numbers
