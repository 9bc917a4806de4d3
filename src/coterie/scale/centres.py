"""k-means centres: the nearest one to each row, and centres that follow rows in mini-batches.

The nearest centre of a row does not depend on the other rows of its block. A matrix product would be
faster, but its last digits depend on the position of a row in the block, and they decide between two
centres at the same distance.

A mini-batch is a run of consecutive rows among all rows, independent of where partitions begin and end.
So the same rows meet the same centres in the same order with any partitions and any workers. A centre
is the mean of the rows assigned to it so far, including those of the sample. No centre is dropped.

Reference: D. Sculley (2010), Web-scale k-means clustering, WWW, 1177-1178.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.cluster import KMeans

# k x d centres, and the number of rows that each is the mean of
Centres = tuple[NDArray[np.float64], NDArray[np.float64]]


@njit(cache=True, nogil=True)
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


def start(member: KMeans) -> Centres:
    """The centres of a fitted member, and the number of rows of the sample in each."""
    centres = np.asarray(member.cluster_centers_, dtype=np.float64)
    return centres, np.bincount(member.labels_, minlength=len(centres)).astype(np.float64)


def follow(state: Centres, rows: NDArray[Any], batch: int) -> Centres:
    """The centres after some batches of rows. A batch is assigned before any centre moves."""
    centres, counts = state[0].copy(), state[1].copy()
    nearest = np.empty(batch, dtype=np.int32)
    for begin in range(0, len(rows), batch):
        block = np.ascontiguousarray(rows[begin : begin + batch])
        assigned = nearest[: len(block)]
        nearest_centres(block, np.ascontiguousarray(centres.T), assigned)
        added = np.bincount(assigned, minlength=len(centres))
        sums = np.stack(
            [np.bincount(assigned, weights=column, minlength=len(centres)) for column in block.T],
            axis=1,
        )
        moving = added > 0
        total = (counts + added)[moving, None]
        centres[moving] = (centres[moving] * counts[moving, None] + sums[moving]) / total
        counts += added
    return centres, counts


def moved(member: KMeans, centres: NDArray[np.float64]) -> KMeans:
    """A copy of the member with other centres."""
    changed = copy(member)
    changed.cluster_centers_ = centres.astype(member.cluster_centers_.dtype)
    # These attributes belong to the sample and the old centres.
    for stale in ("labels_", "inertia_", "n_iter_"):
        delattr(changed, stale)
    return changed
