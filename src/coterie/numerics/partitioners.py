r"""Balanced partitions of graphs and hypergraphs, by METIS and Mt-KaHyPar (extra ``graph``).

A graph is divided so that its parts have about equal vertex weight and few edges run between them,

.. math::

    \min_y \sum_{u < v,\; y_u \neq y_v} w_{uv},

a hypergraph so that few nets (hyperedges) touch more than one part. With :math:`\lambda_e` the number
of parts that net e touches, there are two objectives, the same for two parts:

.. math::

    \text{cut} = \sum_e w_e\, [\lambda_e > 1], \qquad
    \text{connectivity} = \sum_e w_e\, (\lambda_e - 1).

Balance. A part may weigh up to :math:`1 + \varepsilon` times its fair share of all vertex weight.
Vertices are never split, so a vertex heavier than that limit gets a part of its own. If whole vertices
cannot meet the limit, it is raised to the limit that greedy packing (heaviest first) meets. Every part
has at least one vertex.

Graphs are bisected recursively, one METIS call per bisection, because METIS's own recursion prints to
standard output and returns empty parts where a side has fewer vertices than parts. The room below the
weight limit is spread over the bisections to come. Mt-KaHyPar divides a hypergraph into all parts at
once, with its deterministic preset.

Both libraries have one random generator per process, so a lock serialises the calls. The same seed
gives the same parts for any number of threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.errors import PartitionerMissing
from coterie.core.types import FloatArray, IntArray

Objective = Literal["cut", "connectivity"]

# both libraries use integer weights; their sums must not overflow in a 32-bit build
LARGEST_TOTAL = 1e8
# a larger imbalance no longer restricts anything, and its products would overflow
LOOSEST = 1e12
# passes over the vertices of a hypergraph after Mt-KaHyPar, and the least gain that counts in them
MAX_PASSES, NEGLIGIBLE = 4, 1e-9
# orders of the vertices in which Mt-KaHyPar divides a hypergraph; the best partition is returned
N_ORDERS = 4

_METIS_LOCK = threading.Lock()
_MT_KAHYPAR_LOCK = threading.Lock()


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
    metis = _library("pymetis", "METIS")
    rng = np.random.default_rng(seed)
    labels, vertices, n_alone = _set_heavy_apart(weight, n_parts, imbalance)
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


def partition_hypergraph(
    incidence: sparse.csr_array,
    vertex_weights: ArrayLike,
    net_weights: ArrayLike,
    n_parts: int,
    *,
    seed: int,
    objective: Objective = "cut",
    imbalance: float = 0.05,
) -> IntArray:
    """Divide a hypergraph into balanced parts that cut few nets.

    Parameters
    ----------
    incidence : sparse array, shape (N, k)
        One where a vertex lies in a net, else zero.
    vertex_weights, net_weights : array, shapes (N,) and (k,)
        Positive.
    objective : {"cut", "connectivity"}, default "cut"
        Whether a cut net costs its weight once, or once for each part beyond the first.
    n_parts, seed, imbalance
        As in :func:`partition_graph`, which also describes the result.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from coterie.numerics.partitioners import partition_hypergraph
    >>> nets = sparse.csr_array(np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]))
    >>> labels = partition_hypergraph(nets, np.ones(4), np.ones(3), 2, seed=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    weight = np.asarray(vertex_weights, dtype=np.float64)
    price = np.asarray(net_weights, dtype=np.float64)
    imbalance = min(imbalance, LOOSEST)
    module = _library("mtkahypar", "Mt-KaHyPar")
    labels, vertices, n_alone = _set_heavy_apart(weight, n_parts, imbalance)
    n_left = n_parts - n_alone
    if n_left == 1 or len(vertices) == n_left:
        labels[vertices] = n_alone + np.arange(len(vertices)) % n_left
        return labels
    rng = np.random.default_rng(seed)
    best: tuple[float, float] | None = None
    for _ in range(N_ORDERS):
        # the deterministic preset ignores its seed, so the seed decides the order of the vertices
        order = vertices[rng.permutation(len(vertices))]
        parts, score = _divide_in_order(
            module, incidence, weight, price, order, n_left, imbalance, objective
        )
        if best is None or score < best:
            best = score
            labels[order] = n_alone + parts
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


def hypergraph_cut(
    incidence: sparse.csr_array,
    net_weights: ArrayLike,
    labels: ArrayLike,
    objective: Objective = "cut",
) -> float:
    """Cost of a partition: each cut net counts its weight once, or once per part beyond the first.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from coterie.numerics.partitioners import hypergraph_cut
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
    return float(np.maximum(spread, 0) @ np.asarray(net_weights, dtype=np.float64))


# ---------------------------------------------------------------- input


def _edges(edge_weights: ArrayLike | sparse.csr_array) -> sparse.csr_array:
    """The edges without the diagonal."""
    edges = sparse.csr_array(edge_weights, dtype=np.float64, copy=True)
    rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    edges.data[edges.indices == rows] = 0.0
    edges.eliminate_zeros()
    return edges


def _library(module: str, name: str) -> Any:
    try:
        return import_module(module)
    # a compiled module can fail to load in other ways than by being absent
    except (ImportError, OSError, SystemError) as error:
        raise PartitionerMissing(
            f"{name} is needed to divide this graph, but {module} cannot be imported ({error}). "
            'Install it with: pip install "coterie[graph]"'
        ) from error


def _whole_numbers(weight: FloatArray) -> IntArray:
    """Weights as integers of at least 1; scaled unless they are integers already."""
    if (weight == np.rint(weight)).all() and weight.sum() < LARGEST_TOTAL:
        return weight.astype(np.int64)
    return np.maximum(1, np.rint(weight * (LARGEST_TOTAL / weight.sum()))).astype(np.int64)


# ---------------------------------------------------------------- balance


def _set_heavy_apart(
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


def _settle_ties(
    nets: sparse.csr_array,
    weight: FloatArray,
    price: FloatArray,
    labels: IntArray,
    n_parts: int,
    limit: float,
    objective: Objective,
) -> None:
    """Move and exchange vertices so that nets stay as whole as possible. Works in place.

    Most partitions cut nearly all nets of an ensemble, so many have the same objective. Mt-KaHyPar
    returns any of them. A move must not raise the objective; among moves that leave it equal, one that
    raises the sum over nets of the squared shares of their mass in each part is taken.
    """
    n_nets = nets.shape[1]
    pins, mass = np.zeros((n_nets, n_parts)), np.zeros((n_nets, n_parts))
    nets_of = np.split(nets.indices, nets.indptr[1:-1])
    for vertex, own in enumerate(nets_of):
        pins[own, labels[vertex]] += 1.0
        mass[own, labels[vertex]] += weight[vertex]
    total = np.maximum(mass.sum(axis=1), 1e-300)
    load = np.bincount(labels, weights=weight, minlength=n_parts)
    count = np.bincount(labels, minlength=n_parts)

    def gains(vertex: int) -> tuple[FloatArray, FloatArray]:
        """What moving a vertex to each part gains: in the objective, and in wholeness."""
        own, part, w = nets_of[vertex], labels[vertex], weight[vertex]
        spread = (pins[own] > 0).sum(axis=1)[:, None]
        after = spread - (pins[own, part] == 1)[:, None] + (pins[own] == 0)
        lost = after - spread if objective == "connectivity" else (after > 1.5) * 1.0 - (spread > 1)
        share = price[own] / total[own] ** 2
        # the squares change by 2 w (mass there - mass here + w)
        whole = share @ (mass[own] - mass[own, part][:, None] + w)
        worth = -(price[own] @ lost)
        worth[part], whole[part] = 0.0, 0.0
        return np.asarray(worth), np.asarray(2.0 * w * whole)

    def move(vertex: int, part: int) -> None:
        own, before = nets_of[vertex], labels[vertex]
        for array, amount in ((pins, 1.0), (mass, weight[vertex])):
            array[own, before] -= amount
            array[own, part] += amount
        load[before] -= weight[vertex]
        load[part] += weight[vertex]
        count[before] -= 1
        count[part] += 1
        labels[vertex] = part

    def exchange(vertex: int, part: int, worth: float, whole: float) -> bool:
        """Move a vertex to a full part, and from there the one that can best be spared."""
        before = int(labels[vertex])
        partners = np.flatnonzero((labels == part) & (weight == weight[vertex]))
        move(vertex, part)
        best = vertex
        if len(partners):
            own = np.concatenate([nets_of[partner] for partner in partners])
            ends = np.cumsum([len(nets_of[partner]) for partner in partners])
            spread = (pins[own] > 0).sum(axis=1)
            after = spread - (pins[own, part] == 1) + (pins[own, before] == 0)
            if objective == "cut":
                after, spread = np.minimum(after, 2), np.minimum(spread, 2)
            square = mass[own, before] - mass[own, part] + weight[vertex]
            sums = np.column_stack(
                [price[own] * (spread - after), price[own] / total[own] ** 2 * square]
            ).cumsum(axis=0)
            sums = np.diff(np.vstack([np.zeros(2), sums])[np.concatenate([[0], ends])], axis=0)
            back, whole_back = sums[:, 0].round(9), 2.0 * weight[vertex] * sums[:, 1]
            choice = int(np.lexsort((-whole_back, -back))[0])
            if (worth + back[choice], whole + whole_back[choice]) > (0.0, NEGLIGIBLE):
                best = int(partners[choice])
        move(best, before)
        return best != vertex

    for _ in range(MAX_PASSES):
        changed = False
        for vertex in range(len(labels)):
            worth, whole = gains(vertex)
            for part in np.lexsort((-whole, -worth)).tolist():
                if (worth[part], whole[part]) <= (0.0, NEGLIGIBLE):
                    break
                alone = count[labels[vertex]] == 1
                if load[part] + weight[vertex] <= limit and not alone:
                    move(vertex, part)
                    changed = True
                    break
                if exchange(vertex, part, float(worth[part]), float(whole[part])):
                    changed = True
                    break
        if not changed:
            return


def _fill_empty_parts(parts: IntArray, n_parts: int, weight: FloatArray) -> IntArray:
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


# ---------------------------------------------------------------- the libraries


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
            vweights=_whole_numbers(weight),
            eweights=whole[kept],
            tpwgts=[halves[0] / n_parts, halves[1] / n_parts],
            recursive=True,
            options=options,
        )
    sides = _Sides(graph, weight, np.asarray(side, dtype=np.int8), np.array(halves), limit)
    sides.meet_limits()
    sides.mend_cut()
    return sides.side


def _divide_in_order(
    module: Any,
    incidence: sparse.csr_array,
    weight: FloatArray,
    price: FloatArray,
    order: IntArray,
    n_parts: int,
    imbalance: float,
    objective: Objective,
) -> tuple[IntArray, tuple[float, float]]:
    """Part of each vertex in this order, and a score, lower is better: the cost, then minus wholeness."""
    pins = sparse.csc_array(incidence[order])
    size = np.diff(pins.indptr)
    # a net with a vertex that was set apart is cut already: under "cut" it costs nothing more
    whole = np.bincount(incidence.indices, minlength=incidence.shape[1]) == size
    counted = np.flatnonzero((size > 1) & (whole | (objective == "connectivity")))
    nets, weight, price = sparse.csr_array(pins[:, counted]), weight[order], price[counted]
    parts = _by_mtkahypar(module, nets, price, weight, n_parts, imbalance, objective)
    parts = _fill_empty_parts(parts, n_parts, weight)
    load = np.bincount(parts, weights=weight, minlength=n_parts)
    limit = max((1.0 + imbalance) * load.sum() / n_parts, load.max())
    _settle_ties(nets, weight, price, parts, n_parts, limit, objective)
    chosen = sparse.csr_array((weight, (parts, np.arange(len(parts)))))
    mass = np.asarray((chosen @ nets).toarray())
    wholeness = (price * (mass**2).sum(axis=0) / mass.sum(axis=0) ** 2).sum()
    cost = hypergraph_cut(nets, price, parts, objective) if len(counted) else 0.0
    return parts, (round(cost, 9), -round(float(wholeness), 9))


def _by_mtkahypar(
    module: Any,
    nets: sparse.csr_array,
    price: FloatArray,
    weight: FloatArray,
    n_parts: int,
    imbalance: float,
    objective: Objective,
) -> IntArray:
    """Part of each vertex; parts may be empty."""
    by_net = sparse.csr_array(nets.T)
    pins = [by_net.indices[begin:end].tolist() for begin, end in pairwise(by_net.indptr)]
    prices, weights = _whole_numbers(price).tolist(), _whole_numbers(weight).tolist()
    with _MT_KAHYPAR_LOCK:
        session = module.initialize(1, print_warnings=False)
        context = session.context_from_preset(module.PresetType.DETERMINISTIC_QUALITY)
        kind = module.Objective.CUT if objective == "cut" else module.Objective.KM1
        context.set_partitioning_parameters(n_parts, imbalance, kind)
        context.logging = False
        module.set_seed(0)
        hypergraph = session.create_hypergraph(
            context, len(weights), len(prices), pins, weights, prices
        )
        return np.asarray(hypergraph.partition(context).get_partition(), dtype=np.int64)
