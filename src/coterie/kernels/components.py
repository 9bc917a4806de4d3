"""Connected components of a graph given by a dense symmetric matrix."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _flood(matrix, above):
    n = matrix.shape[0]
    label = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    count = 0
    for seed in range(n):
        if label[seed] >= 0:
            continue
        label[seed] = count
        queue[0] = seed
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for v in range(n):
                if label[v] < 0 and (matrix[u, v] > above or matrix[v, u] > above):
                    label[v] = count
                    queue[tail] = v
                    tail += 1
        count += 1
    return label, count


def dense_components(
    matrix: NDArray[np.float64], above: float = 0.0
) -> tuple[NDArray[np.int64], int]:
    """Labels and number of components; an edge is an entry above ``above`` in either triangle.

    Components are numbered by their lowest item. For sparse matrices SciPy has its own.
    """
    label, count = _flood(matrix, above)
    return label, int(count)
