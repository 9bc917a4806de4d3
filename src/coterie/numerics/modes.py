"""Groups of similar label rows: k-modes, the k-means of categories, with weights.

A row lies as far from a mode as the members, by weight, that label the two differently. A label that
is missing in only one of the two counts as half a difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import FloatArray
from coterie.numerics.compiled import kernel
from coterie.numerics.row_ranges import over_rows


@dataclass(frozen=True)
class ModeGroups:
    """Groups of rows.

    Attributes
    ----------
    modes : ndarray of int32, shape (p, m)
        The label that most of each group has from each member; -1 if no row of it has one.
    group : ndarray of int32, shape (N,)
    distance : ndarray of float32, shape (N,)
        From each row to the mode of its group.
    """

    modes: NDArray[np.int32]
    group: NDArray[np.int32]
    distance: NDArray[np.float32]


def fit_modes(
    labels: NDArray[np.int32],
    row_weights: FloatArray,
    member_weights: FloatArray,
    n_groups: int,
    rng: np.random.Generator,
    rounds: int,
) -> ModeGroups:
    """At most ``n_groups`` groups, from random rows as first modes.

    Parameters
    ----------
    labels : ndarray of int32, shape (N, m)
        Codes from 0, -1 where missing.
    row_weights, member_weights : ndarray, shapes (N,) and (m,)
    n_groups : int
        At most N.
    rng : numpy Generator
    rounds : int
        How often the modes are computed anew.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]], dtype=np.int32)
    >>> groups = fit_modes(rows, np.array([5.0, 1, 5, 1]), np.ones(3), 2, np.random.default_rng(0), 3)
    >>> groups.group.tolist(), groups.distance.tolist()
    ([0, 0, 1, 1], [0.0, 1.0, 0.0, 1.0])
    """
    labels = np.ascontiguousarray(labels)
    share = row_weights / row_weights.sum()
    drawn = np.sort(rng.choice(len(labels), n_groups, replace=False, p=share))
    groups = _nearest(labels, member_weights, labels[drawn])
    for _ in range(rounds):
        modes = _modes(labels, row_weights, groups.group)
        groups = _nearest(labels, member_weights, modes)
    return groups


def _nearest(
    labels: NDArray[np.int32], member_weights: FloatArray, modes: NDArray[np.int32]
) -> ModeGroups:
    """Every row in the group of its nearest mode, the first of several; empty groups are dropped."""
    group = np.empty(len(labels), dtype=np.int32)
    distance = np.empty(len(labels), dtype=np.float32)
    across = np.ascontiguousarray(modes.T)
    over_rows(_nearest_of_rows, labels, across, member_weights.astype(np.float32), group, distance)
    used, numbered = np.unique(group, return_inverse=True)
    return ModeGroups(modes[used], numbered.astype(np.int32), distance)


def _modes(
    labels: NDArray[np.int32], row_weights: FloatArray, group: NDArray[np.int32]
) -> NDArray[np.int32]:
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
    return _modes_of_groups(labels, row_weights, order, starts, int(labels.max()) + 1)


@kernel()
def _nearest_of_rows(begin, end, labels, modes, weights, group, distance):
    m, p = modes.shape
    far = np.empty(p, dtype=np.float32)
    for u in range(begin, end):
        far[:] = 0.0
        for j in range(m):
            label, whole, half = labels[u, j], weights[j], np.float32(0.5) * weights[j]
            mode = modes[j]
            if label < 0:
                for q in range(p):
                    far[q] += half if mode[q] >= 0 else np.float32(0.0)
            else:
                for q in range(p):
                    other = half if mode[q] < 0 else whole
                    far[q] += np.float32(0.0) if mode[q] == label else other
        nearest = 0
        for q in range(p):
            if far[q] < far[nearest]:
                nearest = q
        group[u] = nearest
        distance[u] = far[nearest]


@kernel()
def _modes_of_groups(labels, row_weights, order, starts, n_labels):
    m = labels.shape[1]
    modes = np.full((len(starts) - 1, m), -1, dtype=np.int32)
    counts = np.zeros(n_labels)
    for g in range(len(starts) - 1):
        rows = order[starts[g] : starts[g + 1]]
        for j in range(m):
            for u in rows:
                if labels[u, j] >= 0:
                    counts[labels[u, j]] += row_weights[u]
            most = 0.0
            for u in rows:
                label = labels[u, j]
                # of equally frequent labels the smallest
                if label >= 0 and (
                    counts[label] > most or (counts[label] == most and label < modes[g, j])
                ):
                    most = counts[label]
                    modes[g, j] = label
            for u in rows:
                if labels[u, j] >= 0:
                    counts[labels[u, j]] = 0.0
    return modes
