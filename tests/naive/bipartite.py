"""Graphs of samples and base clusters, sample by sample, and k-means on what they give.

Labels are an n x m integer array with -1 for missing; every sample counts once.
"""

from __future__ import annotations

import numpy as np

from tests.naive import evidence


def incidence(labels):
    """Samples by base clusters, one where the sample lies in it."""
    found = np.zeros((len(labels), len(evidence.base_clusters(labels))))
    for column, (_, _, samples) in enumerate(evidence.base_clusters(labels)):
        found[sorted(samples), column] = 1.0
    return found


def transfer_cut_rows(affinity, n_clusters):
    """The eigenproblem of the base clusters, carried over to the samples, rows of unit length."""
    by_sample = np.diag(1 / affinity.sum(axis=1))
    between = affinity.T @ by_sample @ affinity
    root = np.diag(1 / np.sqrt(between.sum(axis=1)))
    _, vectors = np.linalg.eigh(root @ between @ root)
    rows = by_sample @ affinity @ root @ vectors[:, ::-1][:, :n_clusters]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def lwgp_rows(labels, n_clusters, theta):
    """LWGP: links weighted by the reliability of the base cluster."""
    affinity = incidence(labels) @ np.diag(evidence.reliability(labels, theta))
    return transfer_cut_rows(affinity, n_clusters)


def hbgf_rows(labels, n_clusters):
    """HBGF: eigenvectors of the normalised graph of all vertices, samples first, unit rows."""
    links = incidence(labels)
    n, k = links.shape
    graph = np.block([[np.zeros((n, n)), links], [links.T, np.zeros((k, k))]])
    root = np.diag(graph.sum(axis=1) ** -0.5)
    _, vectors = np.linalg.eigh(root @ graph @ root)
    rows = root @ vectors[:, ::-1][:, :n_clusters]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def spectral_rows(similarity, n_clusters):
    """Leading eigenvectors of the normalised similarity, rows of unit length."""
    root = np.diag(similarity.sum(axis=1) ** -0.5)
    _, vectors = np.linalg.eigh(root @ similarity @ root)
    rows = vectors[:, ::-1][:, :n_clusters]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def sum_of_squares(points, labels):
    """What k-means minimises."""
    return sum(
        ((points[labels == c] - points[labels == c].mean(axis=0)) ** 2).sum()
        for c in np.unique(labels)
    )


def lloyd(points, labels):
    """Rounds of k-means from a partition until nothing changes."""
    while True:
        names = np.unique(labels)
        centres = np.array([points[labels == c].mean(axis=0) for c in names])
        away = np.array([((points - centre) ** 2).sum(axis=1) for centre in centres])
        moved = names[away.argmin(axis=0)]
        if np.array_equal(moved, labels):
            return labels
        labels = moved


def kmeans(points, n_clusters, seed, starts=60):
    """The best of many starts from samples drawn at random."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(starts):
        centres = points[rng.choice(len(points), n_clusters, replace=False)]
        away = np.array([((points - centre) ** 2).sum(axis=1) for centre in centres])
        labels = lloyd(points, away.argmin(axis=0))
        if len(np.unique(labels)) == n_clusters:
            found.append((sum_of_squares(points, labels), labels))
    return min(found, key=lambda one: one[0])
