"""Evidence accumulation on raw samples: n x n co-association, agglomerated pair after pair.

Ties go to the pair of lowest index, samples being numbered by a given rank (that of their
microclusters, heaviest first); samples with identical rows merge before all others, and values
closer than 2^-32 of the largest tie.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.naive import evidence
from tests.naive.linkage import cut, merges


def exact(labels, n_clusters, rank, linkage="average"):
    """In exact fractions with plain loops: for a dozen samples."""
    order = np.argsort(rank, kind="stable")
    together, seen = evidence.counts(labels[order]), evidence.observed(labels[order])
    n = len(labels)
    same = (labels[order][:, None] == labels[order][None]).all(axis=2)
    d = [
        # below every other dissimilarity; linkage of identical rows to others is not touched by it
        [
            Fraction(-1)
            if same[i, j]
            else 1 - (Fraction(int(together[i, j]), int(seen[i, j])) if seen[i, j] else 0)
            for j in range(n)
        ]
        for i in range(n)
    ]
    labels_in_order = cut(merges(d, np.ones(n, dtype=int).tolist(), linkage), n, n_clusters)
    out = np.empty(n, dtype=int)
    out[order] = labels_in_order
    return out


def literal(labels, n_clusters, rank, linkage="average"):
    """The same in floating point, average or complete link: for a few thousand samples.

    Sums of dissimilarities are kept, not averages; each row remembers its closest partner.
    """
    order = np.argsort(rank, kind="stable")
    rows = labels[order]
    apart = 1.0 - evidence.shares(rows)
    scale = 2.0 ** (32 - np.frexp(apart.max())[1])
    n = len(rows)
    size = np.ones(n)
    key = np.full((n, n), np.inf)
    cluster = np.arange(n)

    def refresh(i, j):
        value = apart[i, j] / (size[i] * size[j]) if linkage == "average" else apart[i, j]
        key[i, j] = key[j, i] = np.rint(value * scale)

    def merge(low, high):
        apart[low] = (
            apart[low] + apart[high]
            if linkage == "average"
            else np.maximum(apart[low], apart[high])
        )
        apart[:, low] = apart[low]
        size[low] += size[high]
        alive[high] = False
        cluster[cluster == high] = low

    alive = np.ones(n, dtype=bool)
    # identical rows stand side by side in this order
    for i in range(1, n):
        if (rows[i] == rows[i - 1]).all():
            merge(cluster[i - 1], i)
    for i in np.flatnonzero(alive):
        others = np.flatnonzero(alive)
        refresh(i, others[others != i])
    partner = np.argmin(key, axis=1)
    best = key[np.arange(n), partner]
    for _ in range(int(alive.sum()) - n_clusters):
        low = int(np.argmin(best))
        high = int(partner[low])
        merge(low, high)
        key[high] = key[:, high] = best[high] = np.inf
        others = np.flatnonzero(alive)
        others = others[others != low]
        refresh(low, others)
        closer = (key[others, low] < best[others]) | (
            (key[others, low] == best[others]) & (low < partner[others])
        )
        best[others[closer]], partner[others[closer]] = key[others[closer], low], low
        lost = others[~closer & ((partner[others] == low) | (partner[others] == high))]
        for i in [*lost, low]:
            partner[i] = np.argmin(key[i])
            best[i] = key[i, partner[i]]
    out = np.empty(n, dtype=int)
    out[order] = cluster
    return out
