"""The nearest k-means centre to each row.

The nearest centre of a row does not depend on the other rows of its block. A matrix product would be
faster, but its last digits depend on the position of a row in the block, and they decide between two
centres at the same distance.
"""

from __future__ import annotations

import numpy as np

from coterie.numerics.compiled import kernel


@kernel()
def nearest_centres(rows, centres, out):
    """Write the number of the nearest centre of each row to ``out``; ties go to the first centre.

    ``centres`` is d x k, so that the inner loop reads consecutive memory and no sum is reordered.
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
