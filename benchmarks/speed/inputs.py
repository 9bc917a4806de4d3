"""Label matrices of a given shape: noisy copies of a hidden partition."""

from __future__ import annotations

import numpy as np


def members(n_rows: int, n_members: int, n_clusters: int, seed: int = 0):
    """Rows of labels and their hidden classes.

    Every member splits each hidden class into parts and gives a tenth of the rows a random label.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, n_clusters, n_rows)
    position = rng.random(n_rows)
    columns = []
    for _ in range(n_members):
        parts = rng.integers(1, 4)
        column = hidden * 3 + np.minimum((position * parts).astype(int), parts - 1)
        stray = rng.random(n_rows) < 0.1
        columns.append(np.where(stray, rng.integers(0, 3 * n_clusters, n_rows), column))
    return np.stack(columns, axis=1).astype(np.int32), hidden


def repeated(n_samples: int, n_rows: int, n_members: int, n_clusters: int, seed: int = 0):
    """Samples drawn from ``n_rows`` rows of :func:`members`."""
    rows, hidden = members(n_rows, n_members, n_clusters, seed)
    drawn = np.random.default_rng(seed).integers(0, n_rows, n_samples)
    return rows[drawn], hidden[drawn]
