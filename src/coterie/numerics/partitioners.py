r"""Balanced partitions of graphs by METIS (extra ``graph``).

A graph is divided so that its parts have about equal vertex weight and few edges run between them,

.. math::

    \min_y \sum_{u < v,\; y_u \neq y_v} w_{uv}.

Balance, here and in :mod:`coterie.numerics.hypergraphs`. A part may weigh up to :math:`1 + \varepsilon`
times its fair share of all vertex weight. Vertices are never split, so a vertex heavier than that limit
gets a part of its own. If whole vertices cannot meet the limit, it is raised to the limit that greedy
packing (heaviest first) meets. Every part has at least one vertex.

Graphs are bisected recursively, one METIS call per bisection, because METIS's own recursion prints to
standard output and returns empty parts where a side has fewer vertices than parts. The room below the
weight limit is spread over the bisections to come.

METIS has one random generator per process, so a lock serialises the calls. The same seed gives the same
parts for any number of threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.errors import PackageMissing
from coterie.core.types import FloatArray, IntArray

# METIS and Mt-KaHyPar use integer weights; their sums must not overflow in a 32-bit build
LARGEST_TOTAL = 1e8
# a larger imbalance no longer restricts anything, and its products would overflow
LOOSEST = 1e12

_METIS_LOCK = threading.Lock()


def partition_graph(
    edge_weights: ArrayLike | sparse.csr_array,
    vertex_weights: ArrayLike,
    n_parts: int,
    *,
    seed: int,
    imbalance: float = 0.05,
) -> IntArray:
    """Divide a graph into balanced parts with a small cut.

    Parameters
    ----------
    edge_weights : ndarray or sparse array, shape (N, N)
        Symmetric and non-negative; the diagonal is ignored.
    vertex_weights : array, shape (N,)
        Positive.
    n_parts : int
        At most N.
    seed : int
        The same seed gives the same parts.
    imbalance : float, default 0.05
        Fraction by which a part may exceed its fair share; parts of heavy vertices may exceed it more.

    Returns
    -------
    labels : ndarray, shape (N,)
        Part of each vertex, 0 .. n_parts - 1; no part is empty.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numerics.partitioners import partition_graph
    >>> path = np.diag([3.0, 3.0, 1.0, 3.0, 3.0], 1)
    >>> labels = partition_graph(path + path.T, np.ones(6), 2, seed=0)
    >>> bool(labels[0] == labels[1] == labels[2] != labels[3])
    True
    """
    graph, weight = _edges(edge_weights), np.asarray(vertex_weights, dtype=np.float64)
    imbalance = min(imbalance, LOOSEST)
    metis = load_library("pymetis", "METIS")
    rng = np.random.default_rng(seed)
    labels, vertices, n_alone = set_heavy_apart(weight, n_parts, imbalance)
    ceiling = (1.0 + imbalance) * weight[vertices].sum() / (n_parts - n_alone)

    def divide(vertices: IntArray, n_parts: int, first: int) -> None:
        """Write the parts first, first + 1, ... of some vertices into the labels."""
        if n_parts == 1 or len(vertices) == n_parts:
            labels[vertices] = first + np.arange(len(vertices)) % n_parts
            return
        halves = ((n_parts + 1) // 2, n_parts // 2)
        part = graph if len(vertices) == len(labels) else graph[vertices][:, vertices]
        side = _bisect(metis, part, weight[vertices], halves, ceiling, rng)
        divide(vertices[side == 0], halves[0], first)
        divide(vertices[side == 1], halves[1], first + halves[0])

    divide(vertices, n_parts - n_alone, n_alone)
    return labels


def graph_cut(edge_weights: ArrayLike | sparse.csr_array, labels: ArrayLike) -> float:
    """Total weight of the edges between different parts.

    Examples
    --------
    >>> from coterie.numerics.partitioners import graph_cut
    >>> graph_cut([[0, 2, 1], [2, 0, 0], [1, 0, 0]], [0, 0, 1])
    1.0
    """
    parts = np.asarray(labels)
    edges = sparse.coo_array(edge_weights)
    apart = parts[edges.row] != parts[edges.col]
    return float(edges.data[apart].sum() / 2)


# ---------------------------------------------------------------- input


def _edges(edge_weights: ArrayLike | sparse.csr_array) -> sparse.csr_array:
    """The edges without the diagonal."""
    edges = sparse.csr_array(edge_weights, dtype=np.float64, copy=True)
    rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    edges.data[edges.indices == rows] = 0.0
    edges.eliminate_zeros()
    return edges


def load_library(module: str, name: str) -> Any:
    """Import a module. Raises PackageMissing, which says what to install."""
    try:
        return import_module(module)
    # a compiled module can fail to load in other ways than by being absent
    except (ImportError, OSError, SystemError) as error:
        raise PackageMissing(
            f"{name} is needed to divide this graph, but {module} cannot be imported ({error}). "
            'Install it with: pip install "coterie[graph]"'
        ) from error


def whole_numbers(weight: FloatArray) -> IntArray:
    """Weights as integers of at least 1; scaled unless they are integers already."""
    if (weight == np.rint(weight)).all() and weight.sum() < LARGEST_TOTAL:
        return weight.astype(np.int64)
    return np.maximum(1, np.rint(weight * (LARGEST_TOTAL / weight.sum()))).astype(np.int64)


# ---------------------------------------------------------------- balance


def set_heavy_apart(
    weight: FloatArray, n_parts: int, imbalance: float
) -> tuple[IntArray, IntArray, int]:
    """Give each vertex that is heavier than the limit a part of its own.

    Returns the labels, the vertices that have no part yet, and the number of parts used.
    """
    labels = np.zeros(len(weight), dtype=np.int64)
    left = np.ones(len(weight), dtype=bool)
    # the last part takes all remaining vertices, whatever they weigh
    for n_alone in range(n_parts - 1):
        heaviest = int(np.argmax(np.where(left, weight, 0.0)))
        if weight[heaviest] <= (1.0 + imbalance) * weight[left].sum() / (n_parts - n_alone):
            return labels, np.flatnonzero(left), n_alone
        labels[heaviest] = n_alone
        left[heaviest] = False
    return labels, np.flatnonzero(left), n_parts - 1


def _side_limits(weight: FloatArray, halves: tuple[int, int], ceiling: float) -> FloatArray:
    """Largest weight of each side for which the final parts can stay below the ceiling."""
    fair = weight.sum() * np.array(halves) / sum(halves)
    levels = int(np.ceil(np.log2(sum(halves))))
    room = max(1.0, ceiling * sum(halves) / weight.sum()) ** (1.0 / levels)
    packed = [0.0, 0.0]
    for heavy in np.sort(weight)[::-1].tolist():
        packed[0 if fair[0] - packed[0] >= fair[1] - packed[1] else 1] += heavy
    if halves[0] == halves[1]:
        # either side may be the heavier one
        packed = [max(packed)] * 2
    return np.asarray(np.maximum(room * fair, packed))


@dataclass
class _Sides:
    """A bisection of a graph; each side keeps at least as many vertices as it will have parts."""

    graph: sparse.csr_array
    weight: FloatArray
    side: NDArray[np.int8]
    halves: IntArray
    limit: FloatArray

    def __post_init__(self) -> None:
        self.load = np.bincount(self.side, weights=self.weight, minlength=2)
        self.count = np.bincount(self.side, minlength=2)

    def links(self) -> FloatArray:
        """Weight of the edges from each vertex to each side."""
        return self.graph @ np.column_stack([self.side == 0, self.side == 1]).astype(np.float64)

    def move(self, vertex: int) -> None:
        """Move a vertex to the other side."""
        for part, sign in ((self.side[vertex], -1), (1 - self.side[vertex], 1)):
            self.load[part] += sign * self.weight[vertex]
            self.count[part] += sign
        self.side[vertex] = 1 - self.side[vertex]

    def meet_limits(self) -> None:
        """Move vertices until both sides are within their limits, the best move for the cut first."""
        while True:
            short = self.count < self.halves
            over = self.load - self.limit
            if short.any():
                giver = int(np.argmin(short))
                movable = self.side == giver
            else:
                giver = int(np.argmax(over / self.limit))
                slack = 1e-9 * self.limit[giver]
                if over[giver] <= slack or self.count[giver] == self.halves[giver]:
                    return
                # a move must leave the other side less overloaded than this side is now; without the
                # slack, rounding could move a vertex back and forth without end
                after = self.weight + over[1 - giver]
                movable = (self.side == giver) & (after < over[giver] - slack)
                if not movable.any():
                    return
            links = self.links()
            gain = np.where(movable, links[:, 1 - giver] - links[:, giver], -np.inf)
            self.move(int(np.argmax(gain)))

    def mend_cut(self) -> None:
        """Move vertices while a move within the limits makes the cut smaller.

        On graphs of a few vertices METIS can miss even the empty cut between two separate parts.
        """
        graph, side, links = self.graph, self.side, self.links()
        vertices = np.arange(len(side))
        negligible = 1e-9 * max(float(graph.data.max(initial=0.0)), 1e-300)
        while True:
            gain = links[vertices, 1 - side] - links[vertices, side]
            room = self.load[1 - side] + self.weight <= self.limit[1 - side] * (1.0 + 1e-9)
            gain[~room | (self.count[side] <= self.halves[side])] = -np.inf
            vertex = int(np.argmax(gain))
            if gain[vertex] <= negligible:
                return
            near = slice(graph.indptr[vertex], graph.indptr[vertex + 1])
            links[graph.indices[near], side[vertex]] -= graph.data[near]
            links[graph.indices[near], 1 - side[vertex]] += graph.data[near]
            self.move(vertex)


# ---------------------------------------------------------------- METIS


def _bisect(
    metis: Any,
    graph: sparse.csr_array,
    weight: FloatArray,
    halves: tuple[int, int],
    ceiling: float,
    rng: np.random.Generator,
) -> NDArray[np.int8]:
    """Side of each vertex; the two sides will be divided into ``halves`` parts."""
    n_parts = sum(halves)
    limit = _side_limits(weight, halves, ceiling)
    fair = weight.sum() * np.array(halves) / n_parts
    room = float((limit / fair).min() - 1.0)
    whole = np.rint(graph.data * (LARGEST_TOTAL / max(graph.data.sum(), 1e-300))).astype(np.int64)
    kept = whole > 0
    starts = np.concatenate([[0], np.cumsum(kept)])[graph.indptr].astype(np.int64)
    options = metis.Options(
        # the C library treats seeds 0 and 1 alike
        seed=int(rng.integers(1, 2**31 - 1)),
        ufactor=max(1, round(1000 * min(room, n_parts))),
    )
    with _METIS_LOCK:
        _, side = metis.part_graph(
            2,
            adjacency=metis.CSRAdjacency(starts, graph.indices[kept].astype(np.int64)),
            vweights=whole_numbers(weight),
            eweights=whole[kept],
            tpwgts=[halves[0] / n_parts, halves[1] / n_parts],
            recursive=True,
            options=options,
        )
    sides = _Sides(graph, weight, np.asarray(side, dtype=np.int8), np.array(halves), limit)
    sides.meet_limits()
    sides.mend_cut()
    return sides.side
