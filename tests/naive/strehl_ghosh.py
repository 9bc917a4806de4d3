"""CSPA, HGPA and MCLA of Strehl and Ghosh on raw samples, with loops and sets.

The partitioners are not repeated here: a partition is judged by its cost, and the best one of a few
samples found by trying all.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.naive import evidence


def coassociation_cut(labels, parts):
    """CSPA: co-association of every two samples in different parts, summed."""
    shares = evidence.shares(labels)
    n = len(labels)
    return sum(shares[i, j] for i in range(n) for j in range(i) if parts[i] != parts[j])


def base_clusters(labels):
    """Member and samples of each base cluster, members side by side, labels in order."""
    return [
        (j, {int(i) for i in np.flatnonzero(labels[:, j] == label)})
        for j in range(labels.shape[1])
        for label in np.unique(labels[:, j][labels[:, j] >= 0])
    ]


def clusters_cut(labels, parts, *, size=False, connectivity=False):
    """HGPA: base clusters that lie in more than one part."""
    cost = 0
    for _, samples in base_clusters(labels):
        touched = len({parts[i] for i in samples})
        spread = touched - 1 if connectivity else int(touched > 1)
        cost += spread * (len(samples) if size else 1)
    return cost


def likeness(labels):
    """MCLA: Jaccard likeness of base clusters, zero within a member."""
    clusters = base_clusters(labels)
    k = len(clusters)
    matrix = np.zeros((k, k))
    for p, (member, one) in enumerate(clusters):
        for q, (other_member, other) in enumerate(clusters):
            if member != other_member:
                matrix[p, q] = len(one & other) / len(one | other)
    return matrix


def association(labels, meta):
    """MCLA: share of a meta-cluster's base clusters that hold the sample, n x c."""
    clusters = base_clusters(labels)
    table = np.zeros((len(labels), max(meta) + 1))
    for group in range(table.shape[1]):
        inside = [samples for (_, samples), own in zip(clusters, meta, strict=True) if own == group]
        for i in range(len(labels)):
            table[i, group] = np.mean([i in samples for samples in inside])
    return table


def best_parts(n, n_parts, cost, heaviest, weights=None):
    """The least cost of all partitions into so many parts, none above ``heaviest``."""
    weights = np.ones(n) if weights is None else weights
    best = np.inf
    for tail in product(range(n_parts), repeat=n - 1):
        parts = np.array([0, *tail])
        loads = np.bincount(parts, weights=weights, minlength=n_parts)
        if (loads > 0).all() and loads.max() <= heaviest:
            best = min(best, cost(parts))
    return best
