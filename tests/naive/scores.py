"""Scores from their definitions: all permutations, all pairs of samples, plain logarithms."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, permutations

import numpy as np


def accuracy(truth, labels):
    """Best share of hits over all one-to-one maps of clusters to classes (or to nothing)."""
    classes, clusters = sorted(set(truth)), sorted(set(labels))
    targets = classes + [None] * len(clusters)
    best = 0
    for image in set(permutations(targets, len(clusters))):
        named = dict(zip(clusters, image, strict=True))
        best = max(best, sum(named[b] == a for a, b in zip(truth, labels, strict=True)))
    return best / len(truth)


def entropy(labels):
    shares = [count / len(labels) for count in Counter(labels).values()]
    return -sum(p * math.log(p) for p in shares)


def nmi(truth, labels, average):
    pairs = [*zip(truth, labels, strict=True)]
    first, second = entropy(truth), entropy(labels)
    if len(set(truth)) == len(set(labels)) == 1:
        return 1.0
    information = first + second - entropy(pairs)
    if information < 1e-12:
        return 0.0
    scale = {
        "arithmetic": (first + second) / 2,
        "max": max(first, second),
        "min": min(first, second),
        "geometric": math.sqrt(first * second),
    }[average]
    return information / scale


def pair_counts(truth, labels):
    """Pairs together in both, in the truth only, in the partition only, in neither."""
    both = truth_only = labels_only = neither = 0
    for i, j in combinations(range(len(truth)), 2):
        a, b = truth[i] == truth[j], labels[i] == labels[j]
        both += a and b
        truth_only += a and not b
        labels_only += b and not a
        neither += not a and not b
    return both, truth_only, labels_only, neither


def ari(truth, labels):
    both, truth_only, labels_only, neither = pair_counts(truth, labels)
    if truth_only == labels_only == 0:
        return 1.0
    return (
        2
        * (both * neither - truth_only * labels_only)
        / (
            (both + truth_only) * (truth_only + neither)
            + (both + labels_only) * (labels_only + neither)
        )
    )


def pairwise_f(truth, labels):
    both, truth_only, labels_only, _ = pair_counts(truth, labels)
    wanted = 2 * both + truth_only + labels_only
    return 2 * both / wanted if wanted else 1.0


def purity(truth, labels):
    hits = 0
    for cluster in set(labels):
        inside = [a for a, b in zip(truth, labels, strict=True) if b == cluster]
        hits += max(Counter(inside).values())
    return hits / len(truth)


def anmi(labels, partition, average, member_weight):
    """Mean NMI with the members, each over the samples that it saw."""
    values = []
    for member in np.asarray(labels).T:
        seen = np.flatnonzero(member >= 0)
        values.append(nmi(member[seen].tolist(), [partition[i] for i in seen], average))
    return float(np.average(values, weights=member_weight))
