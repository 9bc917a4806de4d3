"""k-means centres that follow all rows, a mini-batch at a time, without the rows leaving the workers.

A batch is a run of consecutive rows among all rows, wherever partitions begin and end: so the same
rows meet the same centres in the same order, whatever the partitioning and the workers. Members go
side by side; the batches of one follow each other.

Reference: D. Sculley (2010), Web-scale k-means clustering, WWW, 1177-1178. A centre is the mean of
the rows it was given so far, those of the sample included; rows of a batch are assigned before any
centre moves, and no centre is thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from coterie.scale.engine import compute

if TYPE_CHECKING:
    from coterie.scale.pool import Features

# batches are put together to tasks of about this many numbers: 64 MiB
TASK_CELLS = 2**23

# k x d centres, and how many rows each is the mean of
Centres = tuple[NDArray[np.float64], NDArray[np.float64]]


def follow_batches(
    members: Sequence[KMeans],
    features: Features,
    rows: Sequence[int],
    batch: int,
    client: Any,
) -> tuple[KMeans, ...]:
    """Members fitted on a sample, their centres led through all rows once."""
    from dask import delayed

    chunks = _chunks(features, rows, batch)
    final = []
    for member in members:
        state: Any = delayed(_start(member), traverse=False)
        for chunk in chunks:
            state = delayed(follow)(state, chunk, batch)
        final.append(state)
    found = compute([], delayed(list)(final), lambda _: None, client)
    return tuple(
        _moved(member, centres) for member, (centres, _) in zip(members, found, strict=True)
    )


def _chunks(features: Features, rows: Sequence[int], batch: int) -> list[Any]:
    """The rows in order, delayed, in chunks that hold whole batches but for the last."""
    import dask.array as da
    from dask import delayed

    from coterie.scale.pool import numbers_of

    width = features.width
    blocks = [
        da.from_delayed(
            delayed(numbers_of)(part, features.columns, place), (size, width), np.float64
        )
        for part, place, size in zip(features.parts(), features.places, rows, strict=True)
        if size
    ]
    size = batch * max(1, TASK_CELLS // (batch * width))
    return [*da.concatenate(blocks).rechunk((size, width)).to_delayed().ravel()]


def _start(member: KMeans) -> Centres:
    centres = np.asarray(member.cluster_centers_, dtype=np.float64)
    return centres, np.bincount(member.labels_, minlength=len(centres)).astype(np.float64)


def follow(state: Centres, rows: NDArray[Any], batch: int) -> Centres:
    """The centres after some batches of rows."""
    from coterie.scale.centres import nearest_centres

    centres, counts = state[0].copy(), state[1].copy()
    nearest = np.empty(batch, dtype=np.int32)
    for begin in range(0, len(rows), batch):
        block = np.ascontiguousarray(rows[begin : begin + batch])
        given = nearest[: len(block)]
        nearest_centres(block, np.ascontiguousarray(centres.T), given)
        met = np.bincount(given, minlength=len(centres))
        sums = np.stack(
            [np.bincount(given, weights=column, minlength=len(centres)) for column in block.T],
            axis=1,
        )
        moving = met > 0
        total = (counts + met)[moving, None]
        centres[moving] = (centres[moving] * counts[moving, None] + sums[moving]) / total
        counts += met
    return centres, counts


def _moved(member: KMeans, centres: NDArray[np.float64]) -> KMeans:
    moved = copy(member)
    moved.cluster_centers_ = centres.astype(member.cluster_centers_.dtype)
    # these are of the sample and of the centres before
    for stale in ("labels_", "inertia_", "n_iter_"):
        delattr(moved, stale)
    return moved
