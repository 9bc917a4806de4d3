"""Hypothesis strategies: small label matrices with ties, repeated rows and missing labels."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from coterie import Ensemble


@st.composite
def label_matrices(
    draw: st.DrawFn,
    *,
    max_samples: int = 14,
    max_members: int = 6,
    max_clusters: int = 4,
    min_samples: int = 1,
    missing: bool = True,
    repeated: bool = True,
) -> NDArray[np.int64]:
    """An n x m matrix of labels 0 .. k - 1, -1 missing, every row and column labelled somewhere."""
    m = draw(st.integers(1, max_members))
    n_rows = draw(st.integers(min_samples, max_samples))
    k = draw(st.integers(1, max_clusters))
    low = -1 if missing and draw(st.booleans()) else 0
    row = st.lists(st.integers(low, k - 1), min_size=m, max_size=m)
    rows = np.array(draw(st.lists(row, min_size=n_rows, max_size=n_rows)), dtype=np.int64)
    if repeated and draw(st.booleans()):
        rows = rows[draw(st.lists(st.integers(0, n_rows - 1), min_size=n_rows, max_size=n_rows))]
    # a sample or member without any label is refused, so label its first place
    rows[(rows < 0).all(axis=1), 0] = 0
    rows[0, (rows < 0).all(axis=0)] = 0
    return rows


def ensembles(**limits: int | bool) -> st.SearchStrategy[Ensemble]:
    """Ensembles of such matrices."""
    return label_matrices(**limits).map(Ensemble.from_labels)


@st.composite
def dissimilarities(
    draw: st.DrawFn, *, max_items: int = 12, levels: int = 4
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A symmetric matrix with few distinct values, so that they tie, and a size for each item."""
    n = draw(st.integers(1, max_items))
    values = st.integers(0, levels).map(lambda level: level / levels)
    upper = draw(st.lists(values, min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = upper
    sizes = draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    return matrix + matrix.T, np.array(sizes, dtype=np.float64)
