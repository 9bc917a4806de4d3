"""k-means-based consensus clustering on samples: indicator vectors, centres and distances in full."""

from __future__ import annotations

import numpy as np

EPSILON = 2.0**-52


def shares(labels, j, rows, n_labels):
    """Shares of member j's labels among some samples; those of all samples if it labelled none."""
    seen = [labels[i, j] for i in rows if labels[i, j] >= 0]
    if not seen:
        seen = [label for label in labels[:, j] if label >= 0]
    return np.array([seen.count(q) / len(seen) for q in range(n_labels)])


def centres(labels, partition, c):
    """One list of share vectors a cluster."""
    n_labels = labels.max(axis=0) + 1
    return [
        [
            shares(labels, j, np.flatnonzero(partition == cluster), n_labels[j])
            for j in range(labels.shape[1])
        ]
        for cluster in range(c)
    ]


def distance(row, centre, weights, utility, p=5.0):
    """Of a sample from a centre, over the members that labelled it."""
    total = 0.0
    for label, share, weight in zip(row, centre, weights, strict=True):
        if label < 0:
            continue
        own = np.eye(len(share))[label]
        if utility == "U_c":
            total += weight * np.sum((own - share) ** 2)
        elif utility == "U_H":
            total -= weight * np.log2(share[label] + EPSILON)
        else:
            norm = 2.0 if utility == "U_cos" else p
            length = np.sum(share**norm) ** (1 / norm)
            total += weight * (1 - (share[label] / length) ** (norm - 1))
    return total


def phi(share, utility, p=5.0):
    """The convex function behind a utility."""
    if utility == "U_c":
        return np.sum(share**2)
    if utility == "U_H":
        return sum(x * np.log2(x) for x in share if x > 0)
    norm = 2.0 if utility == "U_cos" else p
    return np.sum(share**norm) ** (1 / norm)


def member_weights(labels, weights, utility, p=5.0):
    """Weights divided by |phi| of each member's own shares."""
    everyone = np.arange(len(labels))
    n_labels = labels.max(axis=0) + 1
    own = [
        abs(phi(shares(labels, j, everyone, n_labels[j]), utility, p))
        for j in range(labels.shape[1])
    ]
    return np.array([w / x if x > 0 else w for w, x in zip(weights, own, strict=True)])


def kcc(labels, first, c, weights, utility, p=5.0, rounds=100, tol=1e-5):
    """Lloyd's rounds from centres at the given samples; the partition and the objective by round."""
    start = np.full(len(labels), c)
    start[first] = np.arange(c)
    middle = centres(labels, start, c)
    objectives, partition = [], None
    for _ in range(rounds):
        table = np.array(
            [[distance(row, centre, weights, utility, p) for centre in middle] for row in labels]
        )
        slack = 1e-10 * max(np.abs(table).max(), 1.0)
        moved = np.array([np.flatnonzero(row <= row.min() + slack)[0] for row in table])
        if len(set(moved.tolist())) < c:
            raise ValueError("an empty cluster: the rule for it is not part of this twin")
        middle = centres(labels, moved, c)
        objective = sum(
            distance(row, middle[cluster], weights, utility, p)
            for row, cluster in zip(labels, moved, strict=True)
        )
        if objectives and objective > objectives[-1]:
            break
        same = partition is not None and np.array_equal(moved, partition)
        partition = moved
        objectives.append(objective)
        if same or (len(objectives) > 1 and objectives[-2] - objective <= tol * objectives[-2]):
            break
    return partition, objectives
