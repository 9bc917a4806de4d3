r"""Balanced partitions of hypergraphs by Mt-KaHyPar (extra ``graph``).

A hypergraph is divided so that few nets (hyperedges) touch more than one part. With :math:`\lambda_e` the
number of parts that net e touches, there are two objectives, the same for two parts:

.. math::

    \text{cut} = \sum_e w_e\, [\lambda_e > 1], \qquad
    \text{connectivity} = \sum_e w_e\, (\lambda_e - 1).

Balance is that of :mod:`coterie.numerics.partitioners`. Mt-KaHyPar divides a hypergraph into all parts at
once, with its deterministic preset, which gives the same parts for any number of threads. Its random
generator belongs to the process, so a lock serialises the calls.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from coterie.core.types import FloatArray, IntArray
from coterie.numerics.partitioners import LOOSEST, load_library, set_heavy_apart, whole_numbers

Objective = Literal["cut", "connectivity"]
# passes over the vertices of a hypergraph after Mt-KaHyPar, and the least gain that counts in them
MAX_PASSES, NEGLIGIBLE = 4, 1e-9
# orders of the vertices in which Mt-KaHyPar divides a hypergraph; the best partition is returned
N_ORDERS = 4
_MT_KAHYPAR_LOCK = threading.Lock()


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
    >>> from coterie.numerics.hypergraphs import partition_hypergraph
    >>> nets = sparse.csr_array(np.array([[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]))
    >>> labels = partition_hypergraph(nets, np.ones(4), np.ones(3), 2, seed=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    weight = np.asarray(vertex_weights, dtype=np.float64)
    price = np.asarray(net_weights, dtype=np.float64)
    imbalance = min(imbalance, LOOSEST)
    module = load_library("mtkahypar", "Mt-KaHyPar")
    labels, vertices, n_alone = set_heavy_apart(weight, n_parts, imbalance)
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
    >>> from coterie.numerics.hypergraphs import hypergraph_cut
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
    prices, weights = whole_numbers(price).tolist(), whole_numbers(weight).tolist()
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
