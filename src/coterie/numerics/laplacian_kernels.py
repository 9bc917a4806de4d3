"""Connected components of a dense similarity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.numerics.compiled import kernel, part_of_kernels


@part_of_kernels()
def _root(parent, item):
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@kernel()
def _unite(matrix, parent, label):
    """Union-find, row by row in the order of memory; stops early when one component is left."""
    n = matrix.shape[0]
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
                    # the lowest item is the root, and comes first below
                    low = here if here < there else there
                    parent[here + there - low] = low
                    here = low
                    count -= 1
    count = 0
    for u in range(n):
        root = _root(parent, u)
        if root == u:
            label[u] = count
            count += 1
        else:
            label[u] = label[root]
    return count


def dense_components(matrix: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Labels and number of components; an edge is a positive entry in either triangle.

    Components are numbered by their lowest item. For sparse matrices use
    :func:`scipy.sparse.csgraph.connected_components`.
    """
    label = np.empty(len(matrix), dtype=np.int64)
    count = _unite(matrix, np.arange(len(matrix)), label)
    return label, int(count)
