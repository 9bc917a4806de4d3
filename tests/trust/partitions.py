"""Hypothesis strategy: a label matrix with a partition of its samples."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.strategies import label_matrices


@st.composite
def partitions(draw, **limits):
    """A label matrix and a partition of it that is equal on equal rows, numbered without gaps."""
    labels = draw(label_matrices(**limits))
    _, row = np.unique(labels, axis=0, return_inverse=True)
    row = row.reshape(-1)
    size = int(row.max()) + 1
    given = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    _, partition = np.unique(np.array(given)[row], return_inverse=True)
    return labels, partition
