"""Agglomerative linkage of weighted items by the nearest-neighbour chain.

Co-association values often tie, and the partition depends on how ties are broken. Here pairs of clusters
have a total order: by dissimilarity, then by the lower index, then by the higher index. The index of a
cluster is the lowest index of its items; under single link, two clusters are ranked by their closest pair
of items. Dissimilarities that differ by less than 2^-32 of the largest count as equal, so that rounding
does not decide. This order makes the dendrogram unique. The chain gives the same merges as plain
agglomeration, weighted items the same as repeated items, and the start of the chain does not matter.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError
from coterie.core.types import Linkage
from coterie.numerics.compiled import kernel, part_of_kernels

TIE_BITS = 32


@dataclass(frozen=True)
class Dendrogram:
    """Merges from the closest pair up.

    Attributes
    ----------
    pairs : ndarray, shape (N - 1, 2)
        The two clusters of each merge, each named by its lowest item; the first is the lower one
        and names the merged cluster.
    heights : ndarray, shape (N - 1,)
        Dissimilarity of each merge, never decreasing.
    sizes : ndarray, shape (N,)
        Weight of each item.
    """

    pairs: NDArray[np.int64]
    heights: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def cut(self, n_clusters: int) -> NDArray[np.int64]:
        """Labels of exactly ``n_clusters`` clusters, however the heights tie.

        Clusters are numbered by their lowest item.
        """
        n = len(self.sizes)
        if not 1 <= n_clusters <= n:
            raise ParameterError(f"n_clusters must be in 1 .. {n}, but is {n_clusters}")
        parent = np.arange(n)
        merged = self.pairs[: n - n_clusters]
        parent[merged[:, 1]] = merged[:, 0]
        # pointer jumping: each round doubles the length of the resolved paths
        while True:
            higher = parent[parent]
            if np.array_equal(higher, parent):
                break
            parent = higher
        return np.unique(parent, return_inverse=True)[1].astype(np.int64)

    def lifetimes(self) -> NDArray[np.float64]:
        """How long, in height, a partition into 2, 3, ... N clusters lasts before the next merge.

        Entry i belongs to i + 2 clusters. The last entry belongs to N clusters, which exist from height 0.
        """
        return np.diff(np.concatenate([[0.0], self.heights]))[::-1]


def weighted_linkage(
    dissimilarity: NDArray[np.float64],
    sizes: NDArray[np.float64],
    method: Linkage = "average",
    *,
    overwrite: bool = False,
) -> Dendrogram:
    """Agglomerate items of given sizes. An item of size s counts as s identical items.

    Parameters
    ----------
    dissimilarity : ndarray, shape (N, N)
        Symmetric and non-negative; the diagonal is not read.
    sizes : ndarray, shape (N,)
        Positive weights. They matter for average linkage only.
    method : {"average", "complete", "single"}
    overwrite : bool
        Whether the matrix may be used as working memory.
    """
    work = np.array(dissimilarity, dtype=np.float64, order="C", copy=not overwrite)
    n = len(work)
    np.fill_diagonal(work, 0.0)
    top = float(work.max(initial=0.0))
    scale = 2.0 ** (TIE_BITS - (np.frexp(top)[1] if top > 0 else 0))
    weights = np.array(sizes, dtype=np.float64)
    if method == "single":
        pairs, heights = _spanning_tree(work, scale)
        order = np.lexsort((pairs[:, 1], pairs[:, 0], np.rint(heights * scale)))
        pairs = _clusters_of_edges(pairs[order], n)
        heights = heights[order]
    else:
        steps = max(n - 1, 0)
        pairs, heights = np.empty((steps, 2), dtype=np.int64), np.empty(steps)
        chain, state = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int8)
        _chain(work, weights.copy(), scale, method == "average", chain, state, pairs, heights)
        order = _as_agglomerated(pairs, np.rint(heights * scale), n)
        pairs, heights = pairs[order], heights[order]
    return Dendrogram(pairs, np.maximum.accumulate(heights), weights)


def _as_agglomerated(
    pairs: NDArray[np.int64], keys: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """Sort the merges that the chain found into the order of plain agglomeration."""
    last_merge = np.full(n, -1)
    waiting_for = np.zeros(len(pairs), dtype=np.int64)
    unlocks: list[list[int]] = [[] for _ in pairs]
    for step, (low, high) in enumerate(pairs.tolist()):
        for child in (last_merge[low], last_merge[high]):
            if child >= 0:
                unlocks[child].append(step)
                waiting_for[step] += 1
        last_merge[low] = step
    ready = [
        (keys[step], *pairs[step].tolist(), step)
        for step in range(len(pairs))
        if not waiting_for[step]
    ]
    heapq.heapify(ready)
    order = []
    while ready:
        step = heapq.heappop(ready)[-1]
        order.append(step)
        for parent in unlocks[step]:
            waiting_for[parent] -= 1
            if not waiting_for[parent]:
                heapq.heappush(ready, (keys[parent], *pairs[parent].tolist(), parent))
    return np.array(order, dtype=np.int64)


def _clusters_of_edges(edges: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Turn edges between items, in merge order, into merges of clusters named by their lowest item."""
    root = list(range(n))

    def find(item: int) -> int:
        while root[item] != item:
            root[item] = root[root[item]]
            item = root[item]
        return item

    pairs = np.empty_like(edges)
    for step, (first, second) in enumerate(edges.tolist()):
        low, high = sorted((find(first), find(second)))
        pairs[step] = low, high
        root[high] = low
    return pairs


@part_of_kernels(fastmath={"nnan", "nsz"})
def _smallest(row):
    best = np.inf
    for j in range(len(row)):
        best = row[j] if row[j] < best else best
    return best


@kernel()
def _chain(distance, size, scale, average, chain, state, pairs, heights):
    """``state`` is 0 for a cluster, 1 for one on the chain, and 2 for one merged into another."""
    n = distance.shape[0]
    length = 0
    first = 0
    for i in range(n):
        distance[i, i] = np.inf
    for step in range(n - 1):
        while True:
            if length == 0:
                while state[first] == 2:
                    first += 1
                chain[0] = first
                state[first] = 1
                length = 1
            x = chain[length - 1]
            row = distance[x]
            key = np.rint(_smallest(row) * scale)
            y = 0
            while np.rint(row[y] * scale) != key:
                y += 1
            if length > 1 and chain[length - 2] == y:
                break
            # averages that tie after rounding can lead back into the chain: continue from that cluster
            if state[y] == 1:
                while chain[length - 1] != y:
                    length -= 1
                    state[chain[length]] = 0
            else:
                chain[length] = y
                state[y] = 1
                length += 1
        length -= 2
        low = x if x < y else y
        high = x + y - low
        state[low], state[high] = 0, 2
        pairs[step, 0] = low
        pairs[step, 1] = high
        heights[step] = distance[low, high]
        total = size[low] + size[high]
        share_low, share_high = size[low] / total, size[high] / total
        for j in range(n):
            if state[j] != 2 and j != low:
                one, other = distance[low, j], distance[high, j]
                if average:
                    # written so that equal distances stay equal to the last bit
                    merged = one if one == other else share_low * one + share_high * other
                else:
                    merged = one if one > other else other
                distance[low, j] = merged
                distance[j, low] = merged
                distance[j, high] = np.inf
        distance[low, high] = np.inf
        size[low] = total


@kernel()
def _spanning_tree(distance, scale):
    """Prim's minimum spanning tree under the total order of pairs."""
    n = distance.shape[0]
    pairs = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    heights = np.empty(max(n - 1, 0))
    key = np.full(n, np.inf)
    low = np.zeros(n, dtype=np.int64)
    high = np.zeros(n, dtype=np.int64)
    outside = np.ones(n, dtype=np.bool_)
    newest = 0
    for step in range(n - 1):
        outside[newest] = False
        best = -1
        for j in range(n):
            if not outside[j]:
                continue
            a, b = min(newest, j), max(newest, j)
            k = np.rint(distance[newest, j] * scale)
            if k < key[j] or (k == key[j] and (a < low[j] or (a == low[j] and b < high[j]))):
                key[j], low[j], high[j] = k, a, b
            if best < 0 or (
                key[j] < key[best]
                or (
                    key[j] == key[best]
                    and (low[j] < low[best] or (low[j] == low[best] and high[j] < high[best]))
                )
            ):
                best = j
        pairs[step, 0] = low[best]
        pairs[step, 1] = high[best]
        heights[step] = distance[low[best], high[best]]
        newest = best
    return pairs, heights
