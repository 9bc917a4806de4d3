"""Evidence straight from the definitions: samples by samples, one loop per member, no weights.

Labels are an n x m integer array with -1 for missing. Every function returns one row per sample;
samples of one microcluster have equal rows.
"""

from __future__ import annotations

import math

import numpy as np


def counts(labels):
    """Members that put both samples into one cluster, n x n."""
    together = np.zeros((len(labels), len(labels)), dtype=int)
    for member in labels.T:
        together += (member[:, None] == member[None, :]) & (member[:, None] >= 0)
    return together


def observed(labels):
    """Members that label both samples, n x n."""
    seen = np.zeros((len(labels), len(labels)), dtype=int)
    for member in labels.T:
        seen += (member[:, None] >= 0) & (member[None, :] >= 0)
    return seen


def weighted(labels, values):
    """Sum over members of value times connectivity, n x n."""
    return sum(value * counts(labels[:, [j]]) for j, value in enumerate(values))


def shares(labels, member_weight=None):
    """Share of the members that saw both samples and put them together; 0 where none saw both."""
    weight = np.ones(labels.shape[1]) if member_weight is None else member_weight
    together = weighted(labels, weight)
    seen = sum(value * observed(labels[:, [j]]) for j, value in enumerate(weight))
    return np.divide(together, seen, out=np.zeros(together.shape), where=seen > 0)


def base_clusters(labels):
    """Members and label of each base cluster, members side by side, and its set of samples."""
    found = []
    for j, member in enumerate(labels.T):
        for label in np.unique(member[member >= 0]):
            found.append((j, int(label), set(np.flatnonzero(member == label).tolist())))
    return found


def contingency(labels):
    """Samples shared by each pair of base clusters, k x k."""
    clusters = [samples for _, _, samples in base_clusters(labels)]
    return np.array([[len(one & other) for other in clusters] for one in clusters])


def reliability(labels, theta):
    """ECI of each base cluster: exp of minus its entropy over the ensemble / (theta m).

    Members that saw nobody of the cluster are left out and the entropy scaled up to m members.
    """
    m = labels.shape[1]
    values = []
    for _, _, samples in base_clusters(labels):
        entropy, heard = 0.0, 0
        for member in labels.T:
            parts = [member[i] for i in samples if member[i] >= 0]
            heard += bool(parts)
            for label in set(parts):
                p = parts.count(label) / len(parts)
                entropy -= p * math.log2(p)
        values.append(math.exp(-entropy * m / heard / (theta * m)))
    return np.array(values)


def locally_weighted(labels, theta):
    """LWCA: each base cluster counts with its ECI; identical rows get 1, as the diagonal does."""
    n = len(labels)
    together = np.zeros((n, n))
    for (_, _, samples), value in zip(
        base_clusters(labels), reliability(labels, theta), strict=True
    ):
        for i in samples:
            for j in samples:
                together[i, j] += value
    seen = observed(labels)
    matrix = np.divide(together, seen, out=np.zeros((n, n)), where=seen > 0)
    matrix[(labels[:, None, :] == labels[None, :, :]).all(axis=2)] = 1.0
    return matrix


def transitions(labels, member_weight):
    """Chance to step to each sample: choose a member that saw you, then one of your cluster."""
    n, m = labels.shape
    steps = np.zeros((n, n))
    for i in range(n):
        chance = sum(member_weight[j] for j in range(m) if labels[i, j] >= 0)
        for j in range(m):
            if labels[i, j] >= 0:
                mates = labels[:, j] == labels[i, j]
                steps[i, mates] += member_weight[j] / chance / mates.sum()
    return steps


def support(labels, partition, n_clusters, member_weight):
    """Of all (member, sample of the cluster) that saw both, the share that puts them together."""
    n, m = labels.shape
    values = np.zeros((n, n_clusters))
    for i in range(n):
        for q in range(n_clusters):
            together = seen = 0.0
            for other in np.flatnonzero(partition == q):
                for j in range(m):
                    if labels[i, j] >= 0 and labels[other, j] >= 0:
                        seen += member_weight[j]
                        together += member_weight[j] * (labels[i, j] == labels[other, j])
            values[i, q] = together / seen if seen else 0.0
    return values
