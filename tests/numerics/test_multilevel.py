"""The steps of multilevel bisection against what they say of themselves, on small inputs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coterie.numerics import multilevel as kernel

SEEDS = range(6)


def a_graph(seed, n=14, density=0.35):
    """A symmetric matrix without diagonal, and its arrays."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < density), 1)
    dense = (upper + upper.T).astype(np.float64)
    return dense, arrays(dense)


def arrays(dense):
    packed = sparse.csr_array(dense)
    return packed.indptr.astype(np.int64), packed.indices.astype(np.int64), packed.data


def a_hypergraph(seed, n=12, k=7):
    """Masses of vertices in nets, and what refinement is told of them."""
    rng = np.random.default_rng(seed)
    masses = rng.integers(1, 4, (n, k)) * (rng.random((n, k)) < 0.4)
    masses = masses.astype(np.float64)
    return masses, rng.integers(1, 6, k).astype(np.float64), rng.random(k)


def loads(side, weight):
    return np.bincount(side, weights=weight, minlength=2)


# ---------------------------------------------------------------- heaps


@pytest.mark.parametrize("seed", SEEDS)
def test_a_heap_gives_the_best_vertex_of_a_side_first(seed):
    rng = np.random.default_rng(seed)
    n = 15
    side = rng.integers(0, 2, n).astype(np.int8)
    gain = rng.integers(-3, 4, n).astype(np.float64)
    heap, place = np.empty((2, n), dtype=np.int64), np.empty(n, dtype=np.int64)
    sizes = np.zeros(2, dtype=np.int64)
    kernel._fill(heap, sizes, place, gain, side)
    for vertex in rng.integers(0, n, 12):
        own = side[vertex]
        kernel._raise_key(heap[own], sizes[own], place, gain, vertex, rng.integers(-4, 5))
    for own in range(2):
        taken = [int(kernel._take(heap, sizes, own, place, gain)) for _ in range(sizes[own])]
        assert taken == sorted(np.flatnonzero(side == own), key=lambda u: (-gain[u], u))
        assert (place[taken] == -1).all()
        for vertex in taken:
            kernel._put(heap, sizes, own, place, gain, vertex)
        assert kernel._take(heap, sizes, own, place, gain) == taken[0]


# ---------------------------------------------------------------- matching and contraction


@pytest.mark.parametrize("seed", SEEDS)
def test_matched_vertices_are_neighbours_or_have_none(seed):
    dense, graph = a_graph(seed, density=0.15)
    n = len(dense)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 5, n).astype(np.float64)
    volume = np.maximum(dense.sum(axis=1), 1.0)
    order = rng.permutation(n)
    into, count = kernel.match_graph(*graph, volume, weight, 6.0, order)
    assert sorted(set(into.tolist())) == list(range(count))
    alone = ~dense.any(axis=1)
    for c in range(count):
        pair = np.flatnonzero(into == c)
        assert len(pair) in (1, 2)
        if len(pair) == 2:
            assert weight[pair].sum() <= 6.0
            assert dense[pair[0], pair[1]] > 0 or alone[pair].all()
    # the first in the order has all to choose from
    u = order[0]
    rating = np.where(weight + weight[u] <= 6.0, dense[u] / volume, 0.0)
    mate = [v for v in np.flatnonzero(into == into[u]) if v != u]
    if rating.max() > 0:
        assert mate == [int(np.argmax(rating))]


@pytest.mark.parametrize("looks", [3, 100])
@pytest.mark.parametrize("seed", SEEDS)
def test_matched_vertices_share_a_net_or_have_none(seed, looks):
    masses, _, likeness = a_hypergraph(seed)
    masses[3] = masses[8] = 0.0
    n = len(masses)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, n).astype(np.float64)
    order = rng.permutation(n)
    into, count = kernel.match_hypergraph(
        *arrays(masses), *arrays(masses.T), likeness, weight, 5.0, looks, order
    )
    assert sorted(set(into.tolist())) == list(range(count))
    for c in range(count):
        pair = np.flatnonzero(into == c)
        assert len(pair) in (1, 2)
        if len(pair) == 2:
            assert weight[pair].sum() <= 5.0
            assert masses[pair[0]] @ masses[pair[1]] > 0 or not masses[pair].any()
    u = order[0]
    if looks > n:
        shared = (masses * likeness) @ masses[u]
        rating = np.where(weight + weight[u] <= 5.0, shared / weight, 0.0)
        rating[u] = 0.0
        if rating.max() > 0:
            assert into[int(np.argmax(rating))] == into[u]


@pytest.mark.parametrize("seed", SEEDS)
def test_contraction_adds_up_the_edges_between_groups(seed):
    dense, graph = a_graph(seed)
    into = np.random.default_rng(seed).permutation(np.arange(len(dense)) // 2)
    member = np.eye(7)[into]
    expected = member.T @ dense @ member
    np.fill_diagonal(expected, 0.0)
    starts, ends, values = kernel.contract_graph(*graph, into, 7)
    found = sparse.csr_array((values, ends, starts), shape=(7, 7))
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.nnz == np.count_nonzero(expected)


# ---------------------------------------------------------------- growing


def grown(n, start, weight, target, least, value_of):
    """The rule of growing, literally: ``value_of(u, inside)`` for each vertex that fits."""
    inside = [start]
    while True:
        load = weight[inside].sum()
        if n - len(inside) <= least[1] or (len(inside) >= least[0] and load >= target):
            break
        fits = [
            u
            for u in range(n)
            if u not in inside
            and (len(inside) < least[0] or load + weight[u] - target <= target - load)
        ]
        if not fits:
            break
        inside.append(max(fits, key=lambda u: (value_of(u, inside), -u)))
    return [0 if u in inside else 1 for u in range(n)]


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_graph_is_grown_by_the_rule(seed, relative):
    dense, graph = a_graph(seed)
    n = len(dense)
    weight = np.random.default_rng(seed).integers(1, 4, n).astype(np.float64)
    degree = dense.sum(axis=1)

    def value_of(u, inside):
        into = dense[u, inside].sum()
        if relative:
            return into / degree[u] if degree[u] > 0 else 0.0
        return 2 * into - degree[u]

    for least in (np.array([1, 1]), np.array([9, 2]), np.array([2, 9])):
        target = weight.sum() / 2
        found = kernel.grow_graph(*graph, weight, seed, target, least, relative)
        assert found.tolist() == grown(n, seed, weight, target, least, value_of)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_hypergraph_is_grown_by_the_rule(seed):
    masses, _, _ = a_hypergraph(seed)
    n, k = masses.shape
    rng = np.random.default_rng(seed)
    weight, likeness = rng.integers(1, 4, n).astype(float), rng.integers(1, 4, k).astype(float)
    total = masses.sum(axis=0)

    def value_of(u, inside):
        into = masses[inside].sum(axis=0)
        return (likeness * masses[u] * (2 * into - total + masses[u])).sum()

    for least in (np.array([1, 1]), np.array([8, 2]), np.array([2, 8])):
        target = weight.sum() / 3
        found = kernel.grow_hypergraph(
            *arrays(masses), k, total, likeness, weight, seed, target, least
        )
        assert found.tolist() == grown(n, seed, weight, target, least, value_of)


# ---------------------------------------------------------------- refinement


LIMITS = [
    # fractions of all weight that either side may have, and the fewest vertices of each
    ((1.0, 1.0), (1, 1)),
    ((0.6, 0.6), (1, 1)),
    ((0.35, 0.75), (1, 1)),
    ((0.75, 0.35), (3, 3)),
    ((0.5, 0.5), (6, 6)),
]


@pytest.mark.parametrize(("shares", "least"), LIMITS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_refined_graph_costs_what_is_said_and_no_more_than_before(seed, shares, least):
    dense, graph = a_graph(seed)
    n = len(dense)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, n).astype(np.float64)
    caps = weight.sum() * np.array(shares)
    side = rng.integers(0, 2, n).astype(np.int8)
    side[:6], side[6:12] = 0, 1

    def cost():
        across = side[:, None] != side
        return np.maximum(loads(side, weight) - caps, 0).sum(), (dense * across).sum() / 2

    before = cost()
    assert kernel.cut_of_graph(*graph, side) == before[1]
    found = kernel.refine_graph(*graph, weight, side, caps, np.array(least), 8, 50)
    assert found == pytest.approx(cost())
    assert found <= before
    assert (np.bincount(side, minlength=2) >= least).all()
    # where every move is allowed none is left that makes it better
    for u in range(n) if shares == (1.0, 1.0) else ():
        side[u] = 1 - side[u]
        assert cost()[1] >= found[1] or len(set(side)) == 1
        side[u] = 1 - side[u]


def test_a_side_of_too_few_vertices_is_supplied():
    dense, graph = a_graph(0)
    side = np.zeros(len(dense), dtype=np.int8)
    weight = np.ones(len(dense))
    excess, cut = kernel.refine_graph(
        *graph, weight, side, np.array([14.0, 14.0]), np.array([2, 4]), 8, 50
    )
    assert np.bincount(side, minlength=2)[1] >= 4
    assert excess == 0.0
    assert cut == pytest.approx(kernel.cut_of_graph(*graph, side))


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("shares", "least"), LIMITS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_refined_hypergraph_costs_what_is_said_and_no_more_than_before(seed, shares, least, lazy):
    masses, price, likeness = a_hypergraph(seed)
    n = len(masses)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, n).astype(np.float64)
    caps = weight.sum() * np.array(shares)
    side = (np.arange(n) % 2).astype(np.int8)

    def cost():
        first, second = masses[side == 0].sum(axis=0), masses[side == 1].sum(axis=0)
        cut = price[(first > 0) & (second > 0)].sum() + (likeness * first * second).sum()
        return np.maximum(loads(side, weight) - caps, 0).sum(), cut

    before = cost()
    found = kernel.refine_hypergraph(
        *arrays(masses),
        *arrays(masses.T),
        price,
        likeness,
        weight,
        side,
        caps,
        np.array(least),
        8,
        50,
        lazy,
    )
    assert found == pytest.approx(cost())
    assert found[0] <= before[0] + 1e-9
    assert found[0] < before[0] or found[1] <= before[1] + 1e-9
    assert (np.bincount(side, minlength=2) >= least).all()
    for u in range(n) if shares == (1.0, 1.0) else ():
        side[u] = 1 - side[u]
        assert cost()[1] >= found[1] - 1e-9 or len(set(side)) == 1
        side[u] = 1 - side[u]


def test_packing_puts_each_vertex_where_most_room_is_left():
    load = kernel.packed(np.array([5.0, 4.0, 3.0, 1.0]), np.array([9.0, 4.0]))
    # at 4 to 4 the first side takes the second vertex
    assert load.tolist() == [9.0, 4.0]
