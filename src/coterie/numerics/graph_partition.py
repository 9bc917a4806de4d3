r"""Balanced partition of a weighted graph into parts that few edges leave.

.. math::

    \min_y \sum_{u < v,\; y_u \neq y_v} w_{uv} \quad \text{with parts of about equal vertex weight.}

Recursive bisection: the vertices are divided in two sides that stand for half of the parts each, then
each side in turn. A bisection is made by METIS (extra ``graph``) or by the built-in multilevel method
(:mod:`coterie.numerics.multilevel`): contract pairs of like vertices until few are left, grow a side
from several starts, undo the contractions and refine after each.

Balance. A part may weigh up to :math:`1 + \varepsilon` times its fair share of all vertex weight; in a
bisection the room left below that is spread over the levels to come. Vertices are not split: where
that limit cannot be kept, the one that packing the vertices heaviest first attains takes its place. A
vertex heavier than a part may be gets a part of its own. Every part has a vertex, always.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.errors import ParameterError, PartitionerMissing
from coterie.core.types import FloatArray, IntArray

Backend = Literal["auto", "metis", "builtin"]

METIS = "METIS"
BUILTIN = "built-in"

# vertices left when contraction ends, starts tried on them, passes and fruitless moves of refinement
COARSEST = 120
STARTS = 12
MAX_PASSES = 12
# contraction that keeps more than this share of the vertices has come to its end
LEAST_SHRINKAGE = 0.95
# above this share of the vertices matching of neighbours has failed to find them
FEW_NEIGHBOURS = 0.75
# vertices of one net or around one hub that matching looks at; more would make large ones quadratic
LOOKS = 64
# METIS counts in whole numbers; its sums must stay far from their limit, also in a 32-bit build
METIS_TOTAL = 1e8
# beyond this an imbalance says nothing more, and its products leave the range of numbers
LOOSEST = 1e12

# METIS draws from a generator of the process: two calls at once would disturb each other's seeds
_METIS_LOCK = threading.Lock()


def partition_graph(
    weights: ArrayLike | sparse.csr_array,
    vertex_weights: ArrayLike,
    n_parts: int,
    *,
    seed: int,
    backend: Backend = "auto",
    imbalance: float = 0.05,
) -> tuple[IntArray, str]:
    """Partition a graph into balanced parts with a small cut.

    Parameters
    ----------
    weights : ndarray or sparse array, shape (N, N)
        Edge weights, symmetric, non-negative; the diagonal is ignored.
    vertex_weights : array, shape (N,)
        Positive.
    n_parts : int
        At most N; every part gets a vertex.
    seed : int
        The same seed gives the same parts.
    backend : {"auto", "metis", "builtin"}, default "auto"
        "auto" takes METIS where pymetis can be imported, else the built-in partitioner.
    imbalance : float, default 0.05
        How far a part may exceed its fair share; parts of heavy vertices may exceed it by more.

    Returns
    -------
    labels : ndarray, shape (N,)
        0 .. n_parts - 1.
    used : str
        "METIS" or "built-in".

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numerics.graph_partition import partition_graph
    >>> path = np.diag([3.0, 3.0, 1.0, 3.0, 3.0], 1)
    >>> labels, used = partition_graph(path + path.T, np.ones(6), 2, seed=0, backend="builtin")
    >>> bool(labels[0] == labels[1] == labels[2] != labels[3]), used
    (True, 'built-in')
    """
    graph = Graph.of(weights, vertex_weights)
    imbalance = checked_imbalance("partition_graph", n_parts, len(graph.weight), imbalance)
    metis = find_metis(backend)
    rng = np.random.default_rng(seed)
    labels = np.empty(len(graph.weight), dtype=np.int64)
    vertices, first = np.arange(len(labels)), 0
    while (alone := overweight(graph.weight, n_parts - first, imbalance)) is not None:
        labels[vertices[alone]] = first
        rest = np.delete(np.arange(len(vertices)), alone)
        graph, vertices, first = graph.part(rest), vertices[rest], first + 1
    ceiling = (1.0 + imbalance) * graph.weight.sum() / (n_parts - first)
    _divide(graph, vertices, n_parts - first, first, ceiling, rng, metis, labels)
    return labels, BUILTIN if metis is None else METIS


def graph_cut(weights: ArrayLike | sparse.csr_array, labels: ArrayLike) -> float:
    """Total weight of the edges between different parts.

    Examples
    --------
    >>> from coterie.numerics.graph_partition import graph_cut
    >>> graph_cut([[0, 2, 1], [2, 0, 0], [1, 0, 0]], [0, 0, 1])
    1.0
    """
    parts = np.asarray(labels)
    if sparse.issparse(weights):
        entries = sparse.coo_array(weights)
        apart = parts[entries.row] != parts[entries.col]
        return float(entries.data[apart].sum() / 2)
    matrix = np.asarray(weights, dtype=np.float64)
    # row by row: a mask of all pairs would be another N x N array
    return float(sum(row[parts != part].sum() for row, part in zip(matrix, parts, strict=True)) / 2)


@dataclass(frozen=True)
class Graph:
    """Edges in both directions without loops, vertex weights, and the volume of each vertex.

    The volume is the edge weight that a vertex had before contraction, edges inside it included.
    """

    indptr: IntArray
    indices: IntArray
    data: FloatArray
    weight: FloatArray
    volume: FloatArray

    @classmethod
    def of(cls, weights: ArrayLike | sparse.csr_array, vertex_weights: ArrayLike) -> Self:
        """Check a matrix of edge weights and drop its diagonal."""
        weight = np.asarray(vertex_weights, dtype=np.float64)
        n = len(weight)
        given: Any = weights if sparse.issparse(weights) else np.asarray(weights, dtype=np.float64)
        if given.shape != (n, n):
            raise ValueError(
                f"partition_graph: weights must be {n} x {n}, a row per vertex weight, "
                f"but have shape {given.shape}"
            )
        matrix = sparse.csr_array(given, dtype=np.float64)
        rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
        edge = (matrix.indices != rows) & (matrix.data != 0)
        data = matrix.data[edge]
        if not ((np.isfinite(data) & (data > 0)).all() and (weight > 0).all()):
            raise ValueError(
                "partition_graph: edge weights must be non-negative and vertex weights positive"
            )
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[edge], minlength=n))])
        volume = added_up(data, rows[edge], n)
        return cls(indptr, matrix.indices[edge].astype(np.int64), data, weight, volume)

    def part(self, vertices: IntArray) -> Graph:
        """The graph of some vertices."""
        matrix = sparse.csr_array(
            (self.data, self.indices, self.indptr), shape=(len(self.weight),) * 2
        )
        chosen = matrix[vertices][:, vertices]
        volume = np.asarray(chosen.sum(axis=1)).ravel()
        return Graph(
            chosen.indptr.astype(np.int64),
            chosen.indices.astype(np.int64),
            chosen.data,
            self.weight[vertices],
            volume,
        )


def checked_imbalance(caller: str, n_parts: int, n: int, imbalance: float) -> float:
    """The imbalance, unless it or the number of parts means nothing."""
    if not 1 <= n_parts <= n:
        raise ParameterError(
            f"{caller}: n_parts must be between 1 and the number of vertices, {n}, but is {n_parts}"
        )
    if not imbalance >= 0:
        raise ParameterError(f"{caller}: imbalance must not be negative, but is {imbalance!r}")
    # any part may hold everything long before that
    return min(imbalance, LOOSEST)


def overweight(weight: FloatArray, n_parts: int, imbalance: float) -> int | None:
    """The vertex that needs a part of its own, if there is one."""
    heaviest = int(np.argmax(weight))
    # the last part takes what is left
    limit = (1.0 + imbalance) * weight.sum() / n_parts if n_parts > 1 else np.inf
    return heaviest if weight[heaviest] > limit else None


def limits(weight: FloatArray, parts: tuple[int, int], ceiling: float) -> FloatArray:
    """Most weight of either side, so that no part has to exceed ``ceiling`` in the end.

    What room there is below the ceiling is spread over the bisections to come.
    """
    from coterie.numerics.multilevel import packed

    fair = weight.sum() * np.array(parts) / sum(parts)
    levels = int(np.ceil(np.log2(sum(parts))))
    room = max(1.0, ceiling * sum(parts) / weight.sum()) ** (1.0 / levels)
    order = np.argsort(-weight, kind="stable")
    return np.asarray(np.maximum(room * fair, packed(weight[order], fair)))


def added_up(values: FloatArray, into: IntArray, count: int) -> FloatArray:
    """Sums of the values that go into each of ``count`` places."""
    return np.bincount(into, weights=values, minlength=count).astype(np.float64)


# ---------------------------------------------------------------- recursive bisection


def _divide(
    graph: Graph,
    vertices: IntArray,
    n_parts: int,
    first: int,
    ceiling: float,
    rng: np.random.Generator,
    metis: Any,
    labels: IntArray,
) -> None:
    """Write the parts ``first``, ``first + 1``, ... of some vertices into ``labels``."""
    if n_parts == 1:
        labels[vertices] = first
        return
    if len(vertices) == n_parts:
        labels[vertices] = np.arange(first, first + n_parts)
        return
    parts = ((n_parts + 1) // 2, n_parts // 2)
    if metis is None:
        side = _bisect(graph, parts, ceiling, rng)
    else:
        side = _bisect_by_metis(graph, parts, ceiling, rng, metis)
    for own, begin in ((0, first), (1, first + parts[0])):
        chosen = np.flatnonzero(side == own)
        below = graph if parts[own] == 1 else graph.part(chosen)
        _divide(below, vertices[chosen], parts[own], begin, ceiling, rng, metis, labels)


def _bisect(
    graph: Graph, parts: tuple[int, int], ceiling: float, rng: np.random.Generator
) -> NDArray[np.int8]:
    """The built-in multilevel bisection."""
    from coterie.numerics.multilevel import contract_graph, grow_graph

    caps = limits(graph.weight, parts, ceiling)
    target = graph.weight.sum() * parts[0] / sum(parts)
    least = np.array(parts, dtype=np.int64)
    few = max(COARSEST, 4 * sum(parts))
    heaviest = 1.5 * graph.weight.sum() / few
    levels: list[tuple[Graph, IntArray]] = []
    coarse = graph
    while len(coarse.weight) > few:
        n = len(coarse.weight)
        into, count = _match(coarse, heaviest, rng.permutation(n))
        if count > LEAST_SHRINKAGE * n:
            break
        levels.append((coarse, into))
        indptr, indices, data = contract_graph(
            coarse.indptr, coarse.indices, coarse.data, into, count
        )
        coarse = Graph(
            indptr,
            indices,
            data,
            added_up(coarse.weight, into, count),
            added_up(coarse.volume, into, count),
        )
    n = len(coarse.weight)
    best, side = (np.inf, np.inf), np.zeros(n, dtype=np.int8)
    for turn, start in enumerate(rng.permutation(n)[: min(n, STARTS)]):
        grown = grow_graph(
            coarse.indptr,
            coarse.indices,
            coarse.data,
            coarse.weight,
            start,
            target,
            least,
            turn % 2 == 1,
        )
        found = _refine(coarse, grown, caps, least)
        if found < best:
            best, side = found, grown
    for finer, into in reversed(levels):
        side = side[into]
        _refine(finer, side, caps, least)
    return side


def _match(graph: Graph, heaviest: float, order: IntArray) -> tuple[IntArray, int]:
    """Coarse vertex of each vertex, and their number: neighbours, or vertices that share some."""
    from coterie.numerics.multilevel import match_graph, match_hypergraph

    edges = (graph.indptr, graph.indices, graph.data)
    into, count = match_graph(*edges, graph.volume, graph.weight, heaviest, order)
    if count > FEW_NEIGHBOURS * len(order):
        # around hubs few vertices find a free neighbour, but those of one hub may be alike
        likeness = np.zeros(len(order))
        np.divide(1.0, graph.volume**2, out=likeness, where=graph.volume > 0)
        shared, fewer = match_hypergraph(
            *edges, *edges, likeness, graph.weight, heaviest, LOOKS, order
        )
        if fewer < count:
            return shared, int(fewer)
    return into, int(count)


def _refine(
    graph: Graph, side: NDArray[np.int8], caps: FloatArray, least: IntArray
) -> tuple[float, float]:
    from coterie.numerics.multilevel import refine_graph

    patience = patience_for(len(side))
    excess, cut = refine_graph(
        graph.indptr,
        graph.indices,
        graph.data,
        graph.weight,
        side,
        caps,
        least,
        MAX_PASSES,
        patience,
    )
    return float(excess), float(cut)


def patience_for(n: int) -> int:
    """Moves without improvement before a pass of refinement is given up."""
    return max(50, min(200, n // 10))


# ---------------------------------------------------------------- METIS


def find_metis(backend: Backend) -> Any:
    """The module pymetis, or None for the built-in partitioner."""
    if backend == "builtin":
        return None
    if backend not in ("auto", "metis"):
        raise ParameterError(
            f"partition_graph: backend must be 'auto', 'metis' or 'builtin', but is {backend!r}"
        )
    return optional_module("pymetis", ("part_graph", "Options"), backend == "metis", "metis")


def optional_module(name: str, needed: tuple[str, ...], required: bool, partitioner: str) -> Any:
    """An optional module that has what is needed; None where it is absent, broken or too old."""
    try:
        module = import_module(name)
        lacking = [attribute for attribute in needed if not hasattr(module, attribute)]
        reason = f"it has no {', '.join(lacking)}" if lacking else ""
    # a compiled module can fail to load in any way, and the built-in partitioner is always there
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    if not reason:
        return module
    if required:
        raise PartitionerMissing(
            f"partitioner {partitioner!r} needs the package {name}, which cannot be used ({reason}). "
            "Install it with: pip install 'coterie[graph]', or take partitioner='builtin'"
        )
    return None


def _bisect_by_metis(
    graph: Graph, parts: tuple[int, int], ceiling: float, rng: np.random.Generator, metis: Any
) -> NDArray[np.int8]:
    caps = limits(graph.weight, parts, ceiling)
    fair = graph.weight.sum() * np.array(parts) / sum(parts)
    room = float((caps / fair).min() - 1.0)
    scale = METIS_TOTAL / max(graph.data.sum(), 1e-300)
    whole = np.rint(graph.data * scale).astype(np.int64)
    kept = whole > 0
    rows = np.repeat(np.arange(len(graph.weight)), np.diff(graph.indptr))
    counts = np.bincount(rows[kept], minlength=len(graph.weight))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    options = metis.Options(
        # a seed of 0 and of 1 are the same to the C library
        seed=int(rng.integers(1, 2**31 - 1)),
        ufactor=max(1, round(1000 * min(room, sum(parts)))),
    )
    with _METIS_LOCK:
        _, found = metis.part_graph(
            2,
            **_adjacency(metis, starts, graph.indices[kept]),
            vweights=whole_weights(graph.weight),
            eweights=whole[kept],
            tpwgts=[parts[0] / sum(parts), parts[1] / sum(parts)],
            recursive=True,
            options=options,
        )
    side = np.asarray(found, dtype=np.int8)
    load = np.bincount(side, weights=graph.weight, minlength=2)
    short = (np.bincount(side, minlength=2) < np.array(parts)).any()
    if short or (load > caps * (1 + 1e-9)).any():
        _refine(graph, side, caps, np.array(parts, dtype=np.int64))
    return side


def _adjacency(metis: Any, starts: IntArray, neighbours: IntArray) -> dict[str, Any]:
    """The graph as this version of pymetis takes it."""
    if hasattr(metis, "CSRAdjacency"):
        return {"adjacency": metis.CSRAdjacency(starts, neighbours)}
    return {"xadj": starts, "adjncy": neighbours}


def whole_weights(weight: FloatArray) -> IntArray:
    """Vertex weights as whole numbers of at least one, scaled where they are not whole."""
    if (weight == np.rint(weight)).all() and weight.sum() < METIS_TOTAL:
        return weight.astype(np.int64)
    return np.maximum(1, np.rint(weight * (METIS_TOTAL / weight.sum()))).astype(np.int64)
