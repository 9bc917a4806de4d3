"""Link-based similarities sample by sample and base cluster by base cluster, with loops.

Labels are an n x m integer array with -1 for missing; base clusters are those of
``evidence.base_clusters``, in that order.
"""

from __future__ import annotations

import numpy as np

from tests.naive import evidence


def jaccard(labels):
    """Samples in both over samples in either; 0 with itself."""
    clusters = [samples for _, _, samples in evidence.base_clusters(labels)]
    k = len(clusters)
    weight = np.zeros((k, k))
    for p in range(k):
        for q in range(k):
            if p != q:
                weight[p, q] = len(clusters[p] & clusters[q]) / len(clusters[p] | clusters[q])
    return weight


def linked(labels, kind):
    """Similarity of base clusters of one member through third ones, by the largest of all."""
    member = [j for j, _, _ in evidence.base_clusters(labels)]
    weight = jaccard(labels)
    k = len(member)
    found = np.zeros((k, k))
    for p in range(k):
        for q in range(k):
            if p == q or member[p] != member[q]:
                continue
            for z in range(k):
                if kind == "triples":
                    found[p, q] += min(weight[p, z], weight[q, z])
                elif weight[p, z] > 0 and weight[q, z] > 0:
                    found[p, q] += 1 / weight[:, z].sum()
    if found.max() > 0:
        found /= found.max()
    np.fill_diagonal(found, 1.0)
    return found


def places(labels):
    """The base cluster of each sample in each member, -1 where missing."""
    at = {(j, q): p for p, (j, q, _) in enumerate(evidence.base_clusters(labels))}
    return [[at.get((j, q), -1) for j, q in enumerate(row)] for row in labels.tolist()]


def mean_over_members(labels, similarity):
    """For each two samples the mean over members that saw both; 0 where none did."""
    n, m = labels.shape
    place = places(labels)
    found = np.zeros((n, n))
    for i in range(n):
        for other in range(n):
            values = [
                similarity[place[i][j], place[other][j]]
                for j in range(m)
                if labels[i, j] >= 0 and labels[other, j] >= 0
            ]
            found[i, other] = np.mean(values) if values else 0.0
    return found


def connected_triple(labels, decay):
    """CTS."""
    similarity = decay * linked(labels, "triples")
    np.fill_diagonal(similarity, 1.0)
    return mean_over_members(labels, similarity)


def simrank(labels, decay, n_rounds):
    """SRS, both sides at once from the identity; every sample is one vertex."""
    clusters = [sorted(samples) for _, _, samples in evidence.base_clusters(labels)]
    own = [[p for p in row if p >= 0] for row in places(labels)]
    n, k = len(labels), len(clusters)
    of_samples, of_clusters = np.eye(n), np.eye(k)
    for _ in range(n_rounds - 1):
        samples, between = np.eye(n), np.eye(k)
        for i in range(n):
            for j in range(n):
                if i != j:
                    samples[i, j] = decay * of_clusters[np.ix_(own[i], own[j])].mean()
        for p in range(k):
            for q in range(k):
                if p != q:
                    between[p, q] = decay * of_samples[np.ix_(clusters[p], clusters[q])].mean()
        of_samples, of_clusters = samples, between
    return of_samples


def approximate_simrank(labels, decay):
    """ASRS; the most similar base clusters count as much as equal ones."""
    weight = jaccard(labels)
    k = len(weight)
    found = np.zeros((k, k))
    for p in range(k):
        for q in range(k):
            neighbours = np.count_nonzero(weight[p]) * np.count_nonzero(weight[q])
            if p != q and neighbours:
                found[p, q] = weight[p] @ weight[q] / neighbours
    if found.max() > 0:
        found /= found.max()
    np.fill_diagonal(found, 1.0)
    counted = np.array(
        [[1.0 if abs(value - 1) < 1e-12 else decay * value for value in row] for row in found]
    )
    own = [[p for p in row if p >= 0] for row in places(labels)]
    n = len(labels)
    samples = np.eye(n)
    for i in range(n):
        for j in range(n):
            if i != j:
                samples[i, j] = counted[np.ix_(own[i], own[j])].mean()
    return samples


def refined(labels, kind, decay):
    """LCE's RA, n x k: 1 in one's own base cluster, else the decayed likeness with it.

    A sample that a member did not see gets the mean of those it saw.
    """
    similarity = decay * linked(labels, kind)
    np.fill_diagonal(similarity, 1.0)
    base = evidence.base_clusters(labels)
    place = places(labels)
    found = np.zeros((len(labels), len(base)))
    for i in range(len(labels)):
        for p, (j, _, _) in enumerate(base):
            if place[i][j] >= 0:
                found[i, p] = similarity[p, place[i][j]]
    for p, (j, _, _) in enumerate(base):
        found[labels[:, j] < 0, p] = found[labels[:, j] >= 0, p].mean()
    return found


def lce_rows(labels, n_clusters, kind, decay):
    """Eigenvectors of the normalised graph of all vertices, samples first, unit rows."""
    links = refined(labels, kind, decay)
    n, k = links.shape
    graph = np.block([[np.zeros((n, n)), links], [links.T, np.zeros((k, k))]])
    root = np.diag(graph.sum(axis=1) ** -0.5)
    _, vectors = np.linalg.eigh(root @ graph @ root)
    rows = root @ vectors[:, ::-1][:, :n_clusters]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
