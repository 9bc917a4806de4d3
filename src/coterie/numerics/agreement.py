"""Agreement (NMI) of every pair of members, without storing their contingency tables."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from coterie.core.threads import needs_threads
from coterie.numerics.partitions import normalised_information


@njit(cache=True, nogil=True)
def _x_log_x(x):
    return x * np.log(x) if x > 0 else 0.0


@njit(cache=True, nogil=True)
def _compare(by_first, first, second, weights, inside, other, touched):
    """Mutual information, the two entropies, and whether the partitions are the same.

    Only microclusters that both members label count. The three numbers are NaN if there are none.

    ``by_first`` lists the microclusters sorted by the first member's label. ``inside`` holds one row
    of the contingency table: the joint counts of one cluster of the first member.
    """
    other[:] = 0.0
    total = joint = rows = 0.0
    n_joint = n_rows = n_columns = 0
    position, n = 0, len(by_first)
    while position < n:
        label = first[by_first[position]]
        n_touched, row = 0, 0.0
        while position < n and first[by_first[position]] == label:
            u = by_first[position]
            position += 1
            b = second[u]
            if label < 0 or b < 0:
                continue
            if inside[b] == 0.0:
                touched[n_touched] = b
                n_touched += 1
            inside[b] += weights[u]
            row += weights[u]
        for t in range(n_touched):
            b = touched[t]
            joint += _x_log_x(inside[b])
            other[b] += inside[b]
            inside[b] = 0.0
        n_joint += n_touched
        if row > 0:
            n_rows += 1
            rows += _x_log_x(row)
            total += row
    if total == 0:
        return np.nan, np.nan, np.nan, False
    columns = 0.0
    for b in range(len(other)):
        if other[b] > 0:
            n_columns += 1
            columns += _x_log_x(other[b])
    log_total = np.log(total)
    return (
        log_total + (joint - rows - columns) / total,
        log_total - rows / total,
        log_total - columns / total,
        n_joint == n_rows and n_joint == n_columns,
    )


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def _compare_all(members, orders, weights, most, information, first, second, same):
    m = members.shape[0]
    for i in prange(m):
        inside, other = np.zeros(most), np.zeros(most)
        touched = np.empty(most, dtype=np.int64)
        for j in range(i + 1, m):
            information[i, j], first[i, j], second[i, j], same[i, j] = _compare(
                orders[i], members[i], members[j], weights, inside, other, touched
            )


def member_agreements(
    labels: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """NMI of every pair of members over the samples that both label, m x m; O(N m^2) time.

    NaN where two members have no sample in common.
    """
    members = np.ascontiguousarray(labels.T)
    orders = np.argsort(members, axis=1, kind="stable")
    most = int(labels.max(initial=-1)) + 1
    information, first, second = np.zeros((3, len(members), len(members)))
    same = np.zeros(information.shape, dtype=np.bool_)
    _compare_all(members, orders, weights, most, information, first, second, same)
    values = normalised_information(information, first, second, same)
    values[np.isnan(information)] = np.nan
    values += values.T
    np.fill_diagonal(values, 1.0)
    return values
