"""Connected components of a graph given by a dense symmetric matrix."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _root(parent, item):
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@njit(cache=True, nogil=True)
def _unite(matrix, above):
    """Row by row, so that either triangle is read in the order of memory; ends at one component."""
    n = matrix.shape[0]
    parent = np.arange(n)
    count = n
    for u in range(n):
        if count <= 1:
            break
        here = _root(parent, u)
        for v in range(n):
            # most are united already, and point to the root at once
            if matrix[u, v] > above and parent[v] != here:
                there = _root(parent, v)
                if there != here:
                    low, high = min(here, there), max(here, there)
                    # the lowest item is the root, and comes first below
                    parent[high] = low
                    here = low
                    count -= 1
    label = np.empty(n, dtype=np.int64)
    count = 0
    for u in range(n):
        root = _root(parent, u)
        if root == u:
            label[u] = count
            count += 1
        else:
            label[u] = label[root]
    return label, count


def dense_components(
    matrix: NDArray[np.float64], above: float = 0.0
) -> tuple[NDArray[np.int64], int]:
    """Labels and number of components; an edge is an entry above ``above`` in either triangle.

    Components are numbered by their lowest item. For sparse matrices SciPy has its own.
    """
    label, count = _unite(matrix, above)
    return label, int(count)
