"""Kernels on ranges of rows: every row once, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.numerics import row_ranges
from coterie.numerics.row_ranges import over_rows


def count(begin, end, calls, out):
    calls.append((begin, end))
    out[begin:end] += 1


@pytest.mark.parametrize("falling", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_every_row_is_in_one_range(monkeypatch, n, n_threads, falling):
    monkeypatch.setattr(row_ranges, "SERIAL_ROWS", 0)
    monkeypatch.setattr(row_ranges.numba, "get_num_threads", lambda: n_threads)
    calls, out = [], np.zeros(n, dtype=int)
    over_rows(count, calls, out, falling=falling)
    assert (out == 1).all()
    assert len(calls) == (n_threads if n else 1)


def test_ranges_take_equal_work(monkeypatch):
    monkeypatch.setattr(row_ranges.numba, "get_num_threads", lambda: 4)
    calls = []
    over_rows(count, calls, np.zeros(1000))
    assert sorted(calls) == [(0, 250), (250, 500), (500, 750), (750, 1000)]
    falling = []
    over_rows(count, falling, np.zeros(1000), falling=True)
    lengths = np.arange(1000, 0, -1)
    work = [lengths[begin:end].sum() for begin, end in falling]
    assert max(work) < 1.02 * min(work)


def test_few_rows_take_one_range(monkeypatch):
    monkeypatch.setattr(row_ranges.numba, "get_num_threads", lambda: 4)
    for height, n_calls in ((1, 1), (63, 4)):
        calls = []
        over_rows(count, calls, np.zeros(8), height=height)
        assert len(calls) == n_calls
