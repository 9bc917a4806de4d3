"""The nearest centre of each row, the same whatever other rows come with it.

A matrix product would be faster, but its last digits depend on where a row stands in a block, and with
them the choice between two centres at the same distance.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_centres(rows, centres, out):
    """Write the number of the centre nearest to each row; of equally near ones the first.

    ``centres`` is d x k, so that the inner loop runs over neighbours in memory and no sum is
    reordered.
    """
    n, d = rows.shape
    k = centres.shape[1]
    distance = np.empty(k)
    for i in range(n):
        distance[:] = 0.0
        for f in range(d):
            x = np.float64(rows[i, f])
            for q in range(k):
                step = x - centres[f, q]
                distance[q] += step * step
        best = 0
        for q in range(1, k):
            if distance[q] < distance[best]:
                best = q
        out[i] = best
