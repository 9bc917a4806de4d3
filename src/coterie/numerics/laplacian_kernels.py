"""Connected components of a dense similarity."""

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
def _unite(matrix):
    """Union-find, row by row in the order of memory; stops early when one component is left."""
    n = matrix.shape[0]
    parent = np.arange(n)
    count = n
    for u in range(n):
        if count <= 1:
            break
        here = _root(parent, u)
        for v in range(n):
            # most items are united already and point to the root directly
            if matrix[u, v] > 0.0 and parent[v] != here:
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


def dense_components(matrix: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Labels and number of components; an edge is a positive entry in either triangle.

    Components are numbered by their lowest item. For sparse matrices use
    :func:`scipy.sparse.csgraph.connected_components`.
    """
    label, count = _unite(matrix)
    return label, int(count)
