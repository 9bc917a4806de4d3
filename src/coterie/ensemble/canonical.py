"""Signatures of microclusters and members that do not depend on any order or name.

Colour refinement on the graph of microclusters, base clusters and members. The signature of a base
cluster is the sum over its microclusters, that of a member the sum over its base clusters, and that
of a microcluster combines its weight and the base clusters that contain it. Sums are taken modulo
2^64, so they are exact and the order of the terms does not matter.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

ROUNDS = 3


@njit(cache=True, inline="always")
def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _refine(labels, n_clusters, weight_bits, member_bits, rounds):
    n, m = labels.shape
    # a row without any label changes neither the members nor the order of the other rows
    labelled = np.zeros(n, dtype=np.bool_)
    for u in range(n):
        for j in range(m):
            labelled[u] |= labels[u, j] >= 0
    cluster_salt = np.uint64(0x9E3779B97F4A7C15)
    missing_salt = np.uint64(0xD6E8FEB86659FD93)
    signature = np.empty(n, dtype=np.uint64)
    for u in range(n):
        signature[u] = _mix(weight_bits[u] + cluster_salt)
    member = np.zeros(m, dtype=np.uint64)
    for _ in range(rounds):
        gathered = signature.copy()
        for j in range(m):
            clusters = np.zeros(n_clusters[j] + 1, dtype=np.uint64)
            for u in range(n):
                # a missing label (-1) is counted in the last entry
                if labelled[u]:
                    clusters[labels[u, j]] += signature[u]
            total = np.uint64(0)
            for q in range(n_clusters[j]):
                # skip codes that no row uses
                if clusters[q] != 0:
                    clusters[q] = _mix(clusters[q] + cluster_salt)
                    total += _mix(clusters[q])
            clusters[n_clusters[j]] = _mix(clusters[n_clusters[j]] + missing_salt)
            total += _mix(clusters[n_clusters[j]])
            member[j] = _mix(total ^ _mix(member_bits[j]))
            for u in range(n):
                gathered[u] += _mix(clusters[labels[u, j]] ^ member[j])
        for u in range(n):
            signature[u] = _mix(gathered[u])
    return signature, member


def signatures(
    labels: NDArray[np.int32],
    n_clusters: NDArray[np.int64],
    weights: NDArray[np.int64] | NDArray[np.float64],
    member_weight: NDArray[np.float64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """One signature per microcluster and one per member."""
    return _refine(labels, n_clusters, _bits(weights), _bits(member_weight), ROUNDS)


def _bits(numbers: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.uint64]:
    # the last digits of a sum of floats depend on the order of samples: use the leading digits only
    return numbers.astype(np.float32).view(np.uint32).astype(np.uint64)


@njit(cache=True, nogil=True)
def renumber(rows, n_codes):
    """Renumber each column's codes by first appearance, in place; -1 stays.

    Returns, per column, the old code of each new one (columns padded with -1).
    """
    n, m = rows.shape
    widest = 0
    for j in range(m):
        widest = max(widest, n_codes[j])
    new_of = np.full(widest, -1, dtype=np.int32)
    old_of = np.full((m, widest), -1, dtype=np.int32)
    for j in range(m):
        new_of[: n_codes[j]] = -1
        count = 0
        for u in range(n):
            code = rows[u, j]
            if code >= 0:
                if new_of[code] < 0:
                    new_of[code] = count
                    old_of[j, count] = code
                    count += 1
                rows[u, j] = new_of[code]
    return old_of
