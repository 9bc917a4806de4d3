"""Signatures of microclusters and members that do not depend on any order or name.

Colour refinement on the graph of microclusters, base clusters and members. The signature of a base
cluster is the sum over its microclusters, that of a member the sum over its base clusters, and that
of a microcluster combines its weight and the base clusters that contain it. Sums are taken modulo
2^64, so they are exact and the order of the terms does not matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.numerics.compiled import kernel, part_of_kernels

ROUNDS = 3
NOTHING = np.uint64(0)
CLUSTER_SALT, MISSING_SALT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _mixed(x):
    x = (x ^ (x >> SHIFTS[0])) * FACTORS[0]
    x = (x ^ (x >> SHIFTS[1])) * FACTORS[1]
    return x ^ (x >> SHIFTS[2])


_mix = part_of_kernels()(_mixed)


@kernel()
def _refine(labels, labelled, n_clusters, member_bits, signature, gathered, clusters, member):
    """One round; ``gathered`` and ``clusters`` are working memory."""
    n, m = labels.shape
    for u in range(n):
        gathered[u] = signature[u]
    for j in range(m):
        # a missing label (-1) is counted in the last entry
        last = n_clusters[j]
        for q in range(last + 1):
            clusters[q] = NOTHING
        for u in range(n):
            if labelled[u]:
                label = labels[u, j]
                clusters[label if label >= 0 else last] += signature[u]
        total = NOTHING
        for q in range(last + 1):
            # skip codes that no row uses
            if q == last or clusters[q] != NOTHING:
                clusters[q] = _mix(clusters[q] + (CLUSTER_SALT if q < last else MISSING_SALT))
                total += _mix(clusters[q])
        member[j] = _mix(total ^ _mix(member_bits[j]))
        for u in range(n):
            label = labels[u, j]
            gathered[u] += _mix(clusters[label if label >= 0 else last] ^ member[j])
    for u in range(n):
        signature[u] = _mix(gathered[u])


def signatures(
    labels: NDArray[np.int32],
    n_clusters: NDArray[np.int64],
    weights: NDArray[np.int64] | NDArray[np.float64],
    member_weight: NDArray[np.float64],
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """One signature per microcluster and one per member."""
    # a row without any label changes neither the members nor the order of the other rows
    labelled = (labels >= 0).any(axis=1)
    signature = _mixed(_bits(weights) + CLUSTER_SALT)
    gathered, member = np.empty_like(signature), np.zeros(labels.shape[1], dtype=np.uint64)
    clusters = np.empty(int(n_clusters.max(initial=0)) + 1, dtype=np.uint64)
    bits = _bits(member_weight)
    for _ in range(ROUNDS):
        _refine(labels, labelled, n_clusters, bits, signature, gathered, clusters, member)
    return signature, member


def _bits(numbers: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.uint64]:
    # the last digits of a sum of floats depend on the order of samples: use the leading digits only
    return numbers.astype(np.float32).view(np.uint32).astype(np.uint64)


def renumber(rows: NDArray[np.int32], n_codes: NDArray[np.int64]) -> NDArray[np.int32]:
    """Renumber each column's codes by first appearance, in place; -1 stays.

    Returns, per column, the old code of each new one (columns padded with -1).
    """
    widest = int(max(n_codes, default=0))
    old_of = np.full((rows.shape[1], widest), -1, dtype=np.int32)
    _renumber(rows, np.empty(widest, dtype=np.int32), old_of)
    return old_of


@kernel()
def _renumber(rows, new_of, old_of):
    n, m = rows.shape
    for j in range(m):
        for code in range(len(new_of)):
            new_of[code] = -1
        count = 0
        for u in range(n):
            code = rows[u, j]
            if code >= 0:
                if new_of[code] < 0:
                    new_of[code] = count
                    old_of[j, count] = code
                    count += 1
                rows[u, j] = new_of[code]
