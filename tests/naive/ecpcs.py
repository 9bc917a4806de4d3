"""ECPCS on raw samples: powers of the walk among base clusters, one by one, and n x n means.

Labels are an n x m integer array with -1 for missing; base clusters are those of
``evidence.base_clusters``, in that order.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from tests.naive import evidence, links


def cluster_similarity(labels, n_steps, rest=0.0):
    """Z: cosines of the trajectories laid side by side; zero for a base cluster without links."""
    weight = links.jaccard(labels)
    total = weight.sum(axis=1)
    walk = np.array([row / s if s > 0 else row for row, s in zip(weight, total, strict=True)])
    walk = (1 - rest) * walk + rest * np.diag(total > 0)
    step, trajectory = np.eye(len(walk)), []
    for _ in range(n_steps):
        step = step @ walk
        trajectory.append(step)
    rows = np.hstack(trajectory)
    length = np.linalg.norm(rows, axis=1)
    k = len(rows)
    found = np.zeros((k, k))
    for p in range(k):
        for q in range(k):
            if length[p] > 0 and length[q] > 0:
                found[p, q] = rows[p] @ rows[q] / (length[p] * length[q])
    return found


def similarity(labels, n_steps):
    """ECA: the mean over members of Z between the base clusters of two samples."""
    between = cluster_similarity(labels, n_steps)
    np.fill_diagonal(between, 1.0)
    return links.mean_over_members(labels, between)


def hierarchical(labels, n_clusters, n_steps):
    """ECPCS-HC by SciPy, which takes ties by position."""
    apart = 1 - similarity(labels, n_steps)
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(apart, checks=False), "average")
    return cut_tree(merges, n_clusters=n_clusters)[:, 0]


def embedding(between, n_clusters):
    """Normalised cut of the base clusters, regularised by one half, rows of unit length."""
    weight = np.where(between < 1e-6, 0.0, between)
    degree = weight.sum(axis=1) + 1.0
    root = np.diag(degree**-0.5)
    _, vectors = np.linalg.eigh(root @ (weight + 0.5 * np.eye(len(weight))) @ root)
    rows = root @ vectors[:, ::-1][:, :n_clusters]
    rows = rows / np.linalg.norm(rows, axis=0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def rotate(rows, first, rounds=100):
    """Yu and Shi's discretisation started at a row: groups, and the nuclear norm they reach."""
    c = rows.shape[1]
    turn, parallel, row = np.zeros((c, c)), np.zeros(len(rows)), first
    for column in range(c):
        turn[:, column] = rows[row]
        parallel += np.abs(rows @ rows[row])
        row = parallel.argmin()
    reached = 0.0
    for _ in range(rounds):
        groups = (rows @ turn).argmax(axis=1)
        left, values, right = np.linalg.svd(np.eye(c)[groups].T @ rows)
        if abs(values.sum() - reached) < 1e-12:
            break
        reached = values.sum()
        turn = right.T @ left.T
    return groups, reached


def votes(labels, groups, n_groups):
    """Share of a group's base clusters that hold each sample, n x c; 0 for an empty group."""
    incidence = np.zeros((len(labels), len(groups)))
    for p, (_, _, samples) in enumerate(evidence.base_clusters(labels)):
        incidence[sorted(samples), p] = 1.0
    score = np.zeros((len(labels), n_groups))
    for group in range(n_groups):
        if (groups == group).any():
            score[:, group] = incidence[:, groups == group].mean(axis=1)
    return score
