"""Plain agglomeration: look at every pair of clusters, merge the closest, repeat.

In exact fractions, so that ties are ties. The order of pairs is the one that
``coterie.numerics.linkage`` states.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np


def merges(dissimilarity, sizes, method):
    """Each merge as (lower cluster, other cluster, height); a cluster is named by its lowest item.

    ``dissimilarity`` may hold fractions or floats, which are taken at their exact value.
    """
    n = len(sizes)
    d = [[Fraction(dissimilarity[i][j]) for j in range(n)] for i in range(n)]
    weight = [Fraction(size) for size in sizes]
    clusters = {i: [i] for i in range(n)}
    found = []
    while len(clusters) > 1:
        *_, height, low, high = min(
            (*_rank(clusters[a], clusters[b], d, weight, method), a, b)
            for a, b in combinations(sorted(clusters), 2)
        )
        clusters[low] += clusters.pop(high)
        found.append((low, high, height))
    return found


def _rank(one, other, d, weight, method):
    """What pairs of clusters are sorted by; the dissimilarity stands last."""
    pairs = [(d[i][j], min(i, j), max(i, j)) for i in one for j in other]
    if method == "single":
        # clusters are as close as their closest items, and rank as these do
        closest = min(pairs)
        return *closest, closest[0]
    lows = min(*one, *other), max(min(one), min(other))
    if method == "complete":
        height = max(pairs)[0]
    else:
        total = sum(weight[i] * weight[j] * d[i][j] for i in one for j in other)
        height = total / (sum(weight[i] for i in one) * sum(weight[j] for j in other))
    return height, *lows, height


def cut(found, n, n_clusters):
    """Labels after all but the last ``n_clusters - 1`` merges, numbered by the lowest item."""
    clusters = {i: [i] for i in range(n)}
    for low, high, _ in found[: n - n_clusters]:
        clusters[low] += clusters.pop(high)
    labels = np.empty(n, dtype=int)
    for number, lowest in enumerate(sorted(clusters)):
        labels[clusters[lowest]] = number
    return labels


def lifetimes(found):
    """Height that a partition into 2, 3, ... N clusters lasts."""
    heights = [Fraction(0)] + [height for *_, height in found]
    return [later - earlier for earlier, later in pairwise(heights)][::-1]
