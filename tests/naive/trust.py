"""Trust, literally: loops over samples, members and pairs; every sample stands for itself."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score


def soft_labels(labels, partition, n_clusters, member_weight):
    """Mean over members of the shares of the other samples of its base cluster in each cluster."""
    n, m = labels.shape
    values = np.zeros((n, n_clusters))
    for i in range(n):
        said = 0.0
        for j in range(m):
            if labels[i, j] < 0:
                continue
            company = [o for o in range(n) if o != i and labels[o, j] == labels[i, j]]
            said += member_weight[j] if company else 0.0
            for other in company:
                values[i, partition[other]] += member_weight[j] / len(company)
        values[i] = values[i] / said if said else 1 / n_clusters
    return values


def attachment(labels, partition, member_weight):
    """Mean co-association with the rest of the cluster, times the weight of the members that labelled
    the sample, over the median of what is not 0, at most 1.
    """
    values = np.zeros(len(labels))
    for i, own in enumerate(partition):
        others = [(i, q) for q in np.flatnonzero(partition == own) if q != i]
        by = member_weight[labels[i] >= 0].sum()
        values[i] = by * np.nan_to_num(_together(labels, others, member_weight))
    known = sorted(values[values > 0])
    return np.minimum(values / known[(len(known) - 1) // 2], 1.0) if known else values


def confidence(labels, partition, soft, member_weight):
    """One minus the best rival's membership over the own, times the fourth root of the attachment.

    It is 0 without any label or support, and 1 with a label where there is no rival.
    """
    values = np.zeros(len(labels))
    attached = attachment(labels, partition, member_weight)
    for i, own in enumerate(partition):
        if (labels[i] < 0).all():
            continue
        rivals = [soft[i, q] for q in range(soft.shape[1]) if q != own]
        if not rivals:
            values[i] = 1.0
            continue
        if soft[i, own] > 0:
            values[i] = max(1 - max(rivals) / soft[i, own], 0.0) * attached[i] ** 0.25
    return values


def cohesion(labels, partition, cluster, member_weight):
    """Of all (member, pair inside) that the member labelled, the share it puts together."""
    inside = np.flatnonzero(partition == cluster)
    pairs = [(a, b) for a in inside for b in inside if a < b]
    return _together(labels, pairs, member_weight)


def separation(labels, partition, cluster, member_weight, other=None):
    """The same of the pairs of a sample inside with one outside (or in one other cluster)."""
    outside = partition != cluster if other is None else partition == other
    pairs = [(a, b) for a in np.flatnonzero(partition == cluster) for b in np.flatnonzero(outside)]
    return _together(labels, pairs, member_weight)


def _together(labels, pairs, member_weight):
    together = seen = 0.0
    for a, b in pairs:
        for j, weight in enumerate(member_weight):
            if labels[a, j] >= 0 and labels[b, j] >= 0:
                seen += weight
                together += weight * (labels[a, j] == labels[b, j])
    return together / seen if seen else np.nan


def best_jaccard(labels, partition, cluster, j):
    """Best Jaccard index of a base cluster of member j, over what it labelled; None if unseen."""
    seen = labels[:, j] >= 0
    inside = set(np.flatnonzero(seen & (partition == cluster)).tolist())
    if not inside:
        return None
    best = 0.0
    for label in np.unique(labels[seen, j]):
        base = set(np.flatnonzero(labels[:, j] == label).tolist())
        best = max(best, len(base & inside) / len(base | inside))
    return best


def agreement(one, other):
    """NMI and ARI over the samples that both label."""
    both = (one >= 0) & (other >= 0)
    if not both.any():
        return np.nan, np.nan
    return (
        normalized_mutual_info_score(one[both], other[both]),
        adjusted_rand_score(one[both], other[both]),
    )


def pairs_kept(one, other):
    """Of the pairs that one member puts together, the share that the other puts together, beyond chance."""
    both = np.flatnonzero((one >= 0) & (other >= 0))
    pairs = [(i, q) for i in both for q in both if i < q]
    together = [(i, q) for i, q in pairs if one[i] == one[q]]
    if not together:
        return np.nan
    chance = np.mean([other[i] == other[q] for i, q in pairs])
    if chance == 1:
        return np.nan
    return (np.mean([other[i] == other[q] for i, q in together]) - chance) / (1 - chance)
