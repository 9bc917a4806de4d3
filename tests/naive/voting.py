"""Majority voting sample by sample: every renaming tried, votes counted one after the other."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np


def renamings(k, c, cover):
    """All admissible renamings of k clusters to c names, as tuples."""
    if k <= c:
        return list(permutations(range(c), k))
    return [names for names in product(range(c), repeat=k) if not cover or len(set(names)) == c]


def agreement(labels, names, z, value):
    """Weight of the votes that agree with z."""
    return sum(
        value[j]
        for i in range(len(labels))
        for j in range(labels.shape[1])
        if labels[i, j] >= 0 and z[i] >= 0 and names[j][labels[i, j]] == z[i]
    )


def best_overlap(labels, j, z, c, cover):
    """The largest overlap of member j with z under any admissible renaming."""
    k = int(labels[:, j].max()) + 1
    seen = [(labels[i, j], z[i]) for i in range(len(z)) if labels[i, j] >= 0 and z[i] >= 0]
    return max(sum(names[q] == name for q, name in seen) for names in renamings(k, c, cover))


def vote(labels, names, c, value):
    """The name with most votes of each sample, the lower one in a tie; -1 without a vote."""
    out = []
    for row in labels:
        votes = np.zeros(c)
        for j, label in enumerate(row):
            if label >= 0 and names[j][label] >= 0:
                votes[names[j][label]] += value[j]
        out.append(int(np.argmax(votes)) if votes.any() else -1)
    return np.array(out)
