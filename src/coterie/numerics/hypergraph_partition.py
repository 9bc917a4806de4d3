r"""Balanced partition of a weighted hypergraph that cuts few nets.

A net (hyperedge) joins any number of vertices and is cut if they lie in more than one part. Two
objectives:

.. math::

    \text{cut} = \sum_e w_e\, [\lambda_e > 1], \qquad
    \text{connectivity} = \sum_e w_e\, (\lambda_e - 1),

where :math:`\lambda_e` is the number of parts that net e touches; for two parts they are the same.

Mt-KaHyPar (extra ``graph``) divides into all parts at once. The built-in method
(:mod:`coterie.numerics.multilevel`) bisects recursively: contract pairs of like vertices, grow a side from
several starts, undo the contractions and refine after each. In a bisection a net costs

.. math::

    w_e\, [\text{cut}] + \mu\, w_e\, \frac{4 a_e b_e}{(a_e + b_e)^2}

with the masses a and b of its vertices on the two sides. The second term is there for direction: most
moves neither cut a net nor mend one, and a net once cut would no longer count. It is of the size of
the first at the start and too small to outweigh any cut net in the last refinement. Nets cut by an
earlier bisection cost nothing more under ``cut`` and count with what is left of them under
``connectivity``.

In the end, whoever divided, every two parts are refined against each other with the small second
term. The objective cannot rise by it, and of the many partitions that cut the same nets it leaves one
that cuts them unevenly.

Balance as in :mod:`coterie.numerics.graph_partition`. Every part has a vertex, always.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.errors import ParameterError
from coterie.core.types import FloatArray, IntArray
from coterie.numerics.graph_partition import (
    BUILTIN,
    COARSEST,
    LEAST_SHRINKAGE,
    LOOKS,
    MAX_PASSES,
    STARTS,
    added_up,
    checked_imbalance,
    limits,
    optional_module,
    overweight,
    patience_for,
    whole_weights,
)

Backend = Literal["auto", "mtkahypar", "builtin"]
Objective = Literal["cut", "connectivity"]

MT_KAHYPAR = "Mt-KaHyPar"

# the second term of the cost while contracting, growing and refining, before the last refinement
DIRECTION = 1.0
# times that every two parts are refined against each other
PAIR_ROUNDS = 4
# updates of gains in a pass of refinement beyond which they are looked up when needed instead
EAGER_UPDATES = 1e6
# the built-in partitioner starts anew so often where the hypergraph is small
MOST_TRIES = 4
PINS_OF_ALL_TRIES = 40_000

# Mt-KaHyPar keeps its generator and its settings in the process
_MT_KAHYPAR_LOCK = threading.Lock()


def partition_hypergraph(
    incidence: sparse.csr_array,
    vertex_weights: ArrayLike,
    edge_weights: ArrayLike,
    n_parts: int,
    *,
    seed: int,
    backend: Backend = "auto",
    objective: Objective = "cut",
    imbalance: float = 0.05,
) -> tuple[IntArray, str]:
    """Partition a hypergraph into balanced parts that cut few nets.

    Parameters
    ----------
    incidence : sparse array, shape (N, k)
        Non-zero where a vertex lies in a net.
    vertex_weights, edge_weights : array, shape (N,) and (k,)
        Positive.
    n_parts : int
        At most N; every part gets a vertex.
    seed : int
        The same seed gives the same parts.
    backend : {"auto", "mtkahypar", "builtin"}, default "auto"
        "auto" takes Mt-KaHyPar where it can be imported, else the built-in partitioner.
    objective : {"cut", "connectivity"}, default "cut"
        What a cut net costs: once, or once for each part beyond the first that it touches.
    imbalance : float, default 0.05
        How far a part may exceed its fair share; parts of heavy vertices may exceed it by more.

    Returns
    -------
    labels : ndarray, shape (N,)
        0 .. n_parts - 1.
    used : str
        "Mt-KaHyPar" or "built-in".

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from coterie.numerics.hypergraph_partition import partition_hypergraph
    >>> nets = sparse.csr_array(np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]))
    >>> labels, used = partition_hypergraph(
    ...     nets, np.ones(4), np.ones(3), 2, seed=0, backend="builtin"
    ... )
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3]), used
    (True, 'built-in')
    """
    graph = Hypergraph.of(incidence, vertex_weights, edge_weights)
    n = len(graph.weight)
    imbalance = checked_imbalance("partition_hypergraph", n_parts, n, imbalance)
    if objective not in ("cut", "connectivity"):
        raise ParameterError(
            f"partition_hypergraph: objective must be 'cut' or 'connectivity', but is {objective!r}"
        )
    module = find_mtkahypar(backend)
    rng = np.random.default_rng(seed)
    labels = np.empty(n, dtype=np.int64)
    # a vertex heavier than a part gets one of its own, whoever divides the others
    vertices, first = np.arange(n), 0
    while (alone := overweight(graph.weight, n_parts - first, imbalance)) is not None:
        labels[vertices[alone]] = first
        rest = np.delete(np.arange(len(vertices)), alone)
        graph = graph.part(rest, objective)
        vertices, first = vertices[rest], first + 1
    count = n_parts - first
    ceiling = (1.0 + imbalance) * graph.weight.sum() / count
    if module is None:
        parts = _built_in(graph, count, ceiling, objective, rng)
    else:
        parts = _by_mtkahypar(graph, count, imbalance, objective, rng, module)
        _refine_pairs(graph, parts, count, ceiling, objective)
    labels[vertices] = first + parts
    return labels, BUILTIN if module is None else MT_KAHYPAR


def hypergraph_cut(
    incidence: sparse.csr_array,
    edge_weights: ArrayLike,
    labels: ArrayLike,
    objective: Objective = "cut",
) -> float:
    """Total weight of the nets that are cut, or of the parts they touch beyond the first.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from coterie.numerics.hypergraph_partition import hypergraph_cut
    >>> nets = sparse.csr_array(np.array([[1, 1], [1, 0], [1, 0]]))
    >>> hypergraph_cut(nets, [1, 1], [0, 1, 2]), hypergraph_cut(nets, [1, 1], [0, 1, 2], "connectivity")
    (1.0, 2.0)
    """
    parts = np.unique(np.asarray(labels), return_inverse=True)[1]
    chosen = sparse.csr_array((np.ones(len(parts)), (np.arange(len(parts)), parts)))
    touched = sparse.csr_array(chosen.T @ (sparse.csr_array(incidence) != 0))
    spread = np.bincount(touched.indices, minlength=touched.shape[1]) - 1
    if objective == "cut":
        spread = np.minimum(spread, 1)
    return float(np.maximum(spread, 0) @ np.asarray(edge_weights, dtype=np.float64))


@dataclass(frozen=True)
class Hypergraph:
    """Pins by vertices and by nets, vertex weights, and what a net costs.

    ``price`` is paid for cutting a net; ``worth`` is its weight whether or not it is cut already, and
    ``whole`` the mass it had before any vertex was taken away.
    """

    pins: sparse.csr_array
    nets: sparse.csc_array
    weight: FloatArray
    price: FloatArray
    worth: FloatArray
    whole: FloatArray

    @classmethod
    def of(
        cls, incidence: sparse.csr_array, vertex_weights: ArrayLike, edge_weights: ArrayLike
    ) -> Hypergraph:
        """Check an incidence and drop the nets that cannot be cut."""
        weight = np.asarray(vertex_weights, dtype=np.float64)
        price = np.asarray(edge_weights, dtype=np.float64)
        if incidence.shape != (len(weight), len(price)):
            raise ValueError(
                f"partition_hypergraph: incidence must be {len(weight)} x {len(price)}, by vertex "
                f"and edge weights, but has shape {incidence.shape}"
            )
        if not ((weight > 0).all() and (price > 0).all()):
            raise ValueError("partition_hypergraph: vertex and edge weights must be positive")
        pins = sparse.csr_array(incidence, dtype=np.float64)
        pins.eliminate_zeros()
        pins.data = np.repeat(weight, np.diff(pins.indptr))
        whole = np.asarray(pins.sum(axis=0)).ravel()
        return cls.without_single_pins(pins, weight, price, price, whole)

    @classmethod
    def without_single_pins(
        cls,
        pins: sparse.csr_array,
        weight: FloatArray,
        price: FloatArray,
        worth: FloatArray,
        whole: FloatArray,
    ) -> Self:
        """The hypergraph of the nets with two pins or more."""
        kept = np.bincount(pins.indices, minlength=pins.shape[1]) > 1
        stays = kept[pins.indices]
        ends = np.concatenate([[0], np.cumsum(stays)])[pins.indptr]
        column = np.cumsum(kept) - 1
        shape = (pins.shape[0], int(kept.sum()))
        pins = sparse.csr_array((pins.data[stays], column[pins.indices[stays]], ends), shape=shape)
        # converting sorts the vertices within each net, which matching relies on
        nets = sparse.csc_array(pins)
        return cls(pins, nets, weight, price[kept], worth[kept], whole[kept])

    def part(self, vertices: IntArray, objective: Objective) -> Hypergraph:
        """The hypergraph of some vertices, the others lying in parts of their own.

        A net that loses vertices is cut: under ``cut`` it costs nothing more.
        """
        pins = self.pins[vertices]
        price = self.price
        if objective == "cut":
            inside = np.bincount(pins.indices, minlength=len(price))
            price = np.where(inside == np.diff(self.nets.indptr), price, 0.0)
        return self.without_single_pins(pins, self.weight[vertices], price, self.worth, self.whole)

    def contracted(self, into: IntArray, count: int) -> Hypergraph:
        """The hypergraph of coarse vertices; nets within one stay, as nets that cannot be cut."""
        n = len(into)
        merge = sparse.csr_array((np.ones(n), (into, np.arange(n))), shape=(count, n))
        pins = sparse.csr_array(merge @ self.pins)
        pins.sort_indices()
        nets = sparse.csc_array(pins)
        nets.sort_indices()
        weight = added_up(self.weight, into, count)
        return Hypergraph(pins, nets, weight, self.price, self.worth, self.whole)

    def by_vertex(self) -> tuple[IntArray, IntArray, FloatArray]:
        """First pin of each vertex, net and mass of each pin."""
        return _arrays(self.pins)

    def by_net(self) -> tuple[IntArray, IntArray, FloatArray]:
        """First pin of each net, vertex and mass of each pin."""
        return _arrays(self.nets)

    def likeness(self) -> FloatArray:
        """What a net gives to a pair of unit masses: 4 w / total mass squared."""
        total = np.asarray(self.nets.sum(axis=0)).ravel()
        return np.asarray(4.0 * self.worth / total**2)


def _arrays(matrix: Any) -> tuple[IntArray, IntArray, FloatArray]:
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        np.asarray(matrix.data, dtype=np.float64),
    )


# ---------------------------------------------------------------- recursive bisection


def _built_in(
    graph: Hypergraph,
    n_parts: int,
    ceiling: float,
    objective: Objective,
    rng: np.random.Generator,
) -> IntArray:
    """The best of a few partitions, of as many as the size allows."""
    best, kept = (np.inf, np.inf), np.zeros(len(graph.weight), dtype=np.int64)
    for _ in range(max(1, min(MOST_TRIES, PINS_OF_ALL_TRIES // max(1, graph.pins.nnz)))):
        parts = np.empty(len(graph.weight), dtype=np.int64)
        _divide(graph, np.arange(len(parts)), n_parts, 0, ceiling, objective, rng, parts)
        _refine_pairs(graph, parts, n_parts, ceiling, objective)
        load = added_up(graph.weight, parts, n_parts)
        cost = hypergraph_cut(graph.pins, graph.price, parts, objective)
        found = (float(np.maximum(load - ceiling, 0.0).sum()), cost)
        if found < best:
            best, kept = found, parts
    return kept


def _divide(
    graph: Hypergraph,
    vertices: IntArray,
    n_parts: int,
    first: int,
    ceiling: float,
    objective: Objective,
    rng: np.random.Generator,
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
    side = _bisect(graph, parts, ceiling, rng)
    for own, begin in ((0, first), (1, first + parts[0])):
        chosen = np.flatnonzero(side == own)
        below = graph
        if parts[own] > 1:
            below = graph.part(chosen, objective)
        _divide(below, vertices[chosen], parts[own], begin, ceiling, objective, rng, labels)


def _bisect(
    graph: Hypergraph, parts: tuple[int, int], ceiling: float, rng: np.random.Generator
) -> NDArray[np.int8]:
    """The built-in multilevel bisection."""
    from coterie.numerics.multilevel import grow_hypergraph, match_hypergraph

    caps = limits(graph.weight, parts, ceiling)
    target = graph.weight.sum() * parts[0] / sum(parts)
    least = np.array(parts, dtype=np.int64)
    few = max(COARSEST, 4 * sum(parts))
    heaviest = 1.5 * graph.weight.sum() / few
    likeness = graph.likeness()
    levels: list[tuple[Hypergraph, IntArray]] = []
    coarse = graph
    while len(coarse.weight) > few:
        n = len(coarse.weight)
        order = rng.permutation(n)
        into, count = match_hypergraph(
            *coarse.by_vertex(),
            *coarse.by_net(),
            likeness,
            coarse.weight,
            heaviest,
            LOOKS,
            order,
        )
        if count > LEAST_SHRINKAGE * n:
            break
        levels.append((coarse, into))
        coarse = coarse.contracted(into, count)
    n = len(coarse.weight)
    total = np.asarray(coarse.nets.sum(axis=0)).ravel()
    pins = coarse.by_vertex()
    best, side = (np.inf, np.inf), np.zeros(n, dtype=np.int8)
    for start in rng.permutation(n)[: min(n, STARTS)]:
        grown = grow_hypergraph(
            *pins, len(total), total, likeness, coarse.weight, start, target, least
        )
        found = _refine(coarse, grown, caps, least, DIRECTION * likeness)
        if found < best:
            best, side = found, grown
    for finer, into in reversed(levels):
        side = side[into]
        _refine(finer, side, caps, least, DIRECTION * likeness)
    _refine(graph, side, caps, least, _too_small_to_matter(graph, likeness))
    return side


def _too_small_to_matter(graph: Hypergraph, likeness: FloatArray) -> FloatArray:
    """The second term scaled so that all of it together weighs less than one cut net."""
    paid = graph.price[graph.price > 0]
    if not len(paid):
        return likeness
    return np.asarray(likeness * (0.5 * paid.min() / graph.worth.sum()))


def _refine(
    graph: Hypergraph,
    side: NDArray[np.int8],
    caps: FloatArray,
    least: IntArray,
    likeness: FloatArray,
) -> tuple[float, float]:
    from coterie.numerics.multilevel import refine_hypergraph

    excess, cost = refine_hypergraph(
        *graph.by_vertex(),
        *graph.by_net(),
        graph.price,
        likeness,
        graph.weight,
        side,
        caps,
        least,
        MAX_PASSES,
        patience_for(len(side)),
        # what moving every vertex once would cost otherwise
        float((np.diff(graph.nets.indptr).astype(np.float64) ** 2).sum()) > EAGER_UPDATES,
    )
    return float(excess), float(cost)


def _refine_pairs(
    graph: Hypergraph, parts: IntArray, n_parts: int, ceiling: float, objective: Objective
) -> None:
    """Refine every two parts against each other, in place; the objective never rises."""
    least = np.ones(2, dtype=np.int64)
    # when each part last changed, and when each pair was last looked at
    changed, looked = np.zeros(n_parts, dtype=np.int64), np.full((n_parts, n_parts), -1)
    pairs = [(one, other) for one in range(n_parts) for other in range(one + 1, n_parts)]
    for time in range(PAIR_ROUNDS * len(pairs)):
        one, other = pairs[time % len(pairs)]
        if looked[one, other] >= max(changed[one], changed[other]):
            continue
        looked[one, other] = time
        chosen = np.flatnonzero((parts == one) | (parts == other))
        if len(chosen) == 2:
            continue
        pair = graph.part(chosen, objective)
        side = (parts[chosen] == other).astype(np.int8)
        load = added_up(pair.weight, side.astype(np.int64), 2)
        caps = np.full(2, max(ceiling, load.max()))
        # by the whole nets, so that all pairs lower one and the same sum
        likeness = 2.0 * pair.worth / pair.whole**2
        _refine(pair, side, caps, least, _too_small_to_matter(pair, likeness))
        new = np.where(side == 0, one, other)
        if not np.array_equal(new, parts[chosen]):
            parts[chosen] = new
            changed[[one, other]] = looked[one, other] = time + 1


# ---------------------------------------------------------------- Mt-KaHyPar


def find_mtkahypar(backend: Backend) -> Any:
    """The module mtkahypar, or None for the built-in partitioner."""
    if backend == "builtin":
        return None
    if backend not in ("auto", "mtkahypar"):
        raise ParameterError(
            "partition_hypergraph: backend must be 'auto', 'mtkahypar' or 'builtin', "
            f"but is {backend!r}"
        )
    needed = ("initialize", "PresetType", "Objective", "set_seed")
    return optional_module("mtkahypar", needed, backend == "mtkahypar", "mtkahypar")


def _by_mtkahypar(
    graph: Hypergraph,
    n_parts: int,
    imbalance: float,
    objective: Objective,
    rng: np.random.Generator,
    module: Any,
) -> IntArray:
    """Parts of the vertices, none of them empty."""
    n = len(graph.weight)
    if n_parts in (1, n):
        return np.arange(n) % n_parts
    # the deterministic preset has no use for a seed; the order of the vertices stands in for it
    order = rng.permutation(n)
    place = np.argsort(order)
    paid = np.flatnonzero(graph.price > 0)
    starts, of, _ = graph.by_net()
    nets = [np.sort(place[of[starts[e] : starts[e + 1]]]).tolist() for e in paid]
    price = whole_weights(graph.price[paid]).tolist() if len(paid) else []
    weight = whole_weights(graph.weight[order]).tolist()
    with _MT_KAHYPAR_LOCK:
        session = module.initialize(1, print_warnings=False)
        context = session.context_from_preset(module.PresetType.DETERMINISTIC)
        kind = module.Objective.CUT if objective == "cut" else module.Objective.KM1
        context.set_partitioning_parameters(n_parts, imbalance, kind)
        context.logging = False
        module.set_seed(0)
        found = session.create_hypergraph(context, n, len(nets), nets, weight, price)
        parts = np.asarray(found.partition(context).get_partition(), dtype=np.int64)
    return fill_empty_parts(parts[place], n_parts, graph.weight)


def fill_empty_parts(parts: IntArray, n_parts: int, weight: FloatArray) -> IntArray:
    """Give each empty part the heaviest vertex of the heaviest part that can spare one."""
    filled = parts.copy()
    for empty in range(n_parts):
        if (filled == empty).any():
            continue
        load = np.bincount(filled, weights=weight, minlength=n_parts)
        load[np.bincount(filled, minlength=n_parts) < 2] = -1.0
        rows = np.flatnonzero(filled == int(np.argmax(load)))
        filled[rows[np.argmax(weight[rows])]] = empty
    return filled
