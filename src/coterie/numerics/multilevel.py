"""The steps of multilevel bisection: matching, contraction, growing and refinement.

Graphs are CSR arrays with every edge in both directions. Hypergraphs are an incidence by vertices
and the same by nets; a pin carries the mass of the vertex that lies in the net, because a contracted
vertex may lie in it with a part of its vertices only.

Refinement is that of Fiduccia and Mattheyses: move the vertex of greatest gain, once each, and go
back to the best state on the way. A state is better if it exceeds the weight limits by less, then if
it cuts less. Ties go to the lower index, so the outcome depends on the arrays only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# a change of the cut below this share of all edge weight is rounding
ROUNDING = 1e-11


# ---------------------------------------------------------------- a heap a side, the best on top


@njit(cache=True, nogil=True)
def _rise(heap, place, gain, slot):
    vertex = heap[slot]
    while slot > 0:
        parent = (slot - 1) // 2
        other = heap[parent]
        if gain[other] > gain[vertex] or (gain[other] == gain[vertex] and other < vertex):
            break
        heap[slot] = other
        place[other] = slot
        slot = parent
    heap[slot] = vertex
    place[vertex] = slot


@njit(cache=True, nogil=True)
def _sink(heap, place, gain, slot, size):
    vertex = heap[slot]
    while 2 * slot + 1 < size:
        child = 2 * slot + 1
        best = heap[child]
        if child + 1 < size:
            right = heap[child + 1]
            if gain[right] > gain[best] or (gain[right] == gain[best] and right < best):
                child += 1
                best = right
        if gain[vertex] > gain[best] or (gain[vertex] == gain[best] and vertex < best):
            break
        heap[slot] = best
        place[best] = slot
        slot = child
    heap[slot] = vertex
    place[vertex] = slot


@njit(cache=True, nogil=True)
def _raise_key(heap, size, place, gain, vertex, change):
    """Change the gain of a vertex and mend the heap, if the vertex is still in one."""
    gain[vertex] += change
    slot = place[vertex]
    if slot < 0:
        return
    if change > 0:
        _rise(heap, place, gain, slot)
    elif change < 0:
        _sink(heap, place, gain, slot, size)


@njit(cache=True, nogil=True)
def _take(heap, sizes, side, place, gain):
    """Remove the best vertex of a side."""
    vertex = heap[side, 0]
    sizes[side] -= 1
    last = heap[side, sizes[side]]
    place[vertex] = -1
    if sizes[side] > 0:
        heap[side, 0] = last
        place[last] = 0
        _sink(heap[side], place, gain, 0, sizes[side])
    return vertex


@njit(cache=True, nogil=True)
def _put(heap, sizes, side, place, gain, vertex):
    """Add a vertex to a side's heap."""
    heap[side, sizes[side]] = vertex
    sizes[side] += 1
    _rise(heap[side], place, gain, sizes[side] - 1)


@njit(cache=True, nogil=True)
def _fill(heap, sizes, place, gain, side):
    sizes[:] = 0
    for vertex in range(len(side)):
        own = side[vertex]
        heap[own, sizes[own]] = vertex
        place[vertex] = sizes[own]
        sizes[own] += 1
    for own in range(2):
        for slot in range(sizes[own] // 2 - 1, -1, -1):
            _sink(heap[own], place, gain, slot, sizes[own])


# ---------------------------------------------------------------- balance


@njit(cache=True, nogil=True)
def packed(descending, fair):
    """Weight of either side when each vertex, heaviest first, goes where most room is left."""
    load = np.zeros(2)
    for weight in descending:
        side = 0 if fair[0] - load[0] >= fair[1] - load[1] else 1
        load[side] += weight
    return load


@njit(cache=True, nogil=True)
def _excess(load, caps):
    return max(0.0, load[0] - caps[0]) + max(0.0, load[1] - caps[1])


@njit(cache=True, nogil=True)
def _loads(side, weight):
    load = np.zeros(2)
    count = np.zeros(2, dtype=np.int64)
    for vertex in range(len(side)):
        load[side[vertex]] += weight[vertex]
        count[side[vertex]] += 1
    return load, count


@njit(cache=True, nogil=True)
def _choose(heap, sizes, place, gain, weight, load, count, caps, least, leeway):
    """The next vertex to move, -1 if none may; taken from its heap.

    A side that is too heavy must give; else the greater gain decides, and at equal gains the side
    that is fuller. One vertex too many is allowed on the way, or equal sides could never exchange.
    """
    while True:
        best = -1
        for own in range(2):
            if sizes[own] == 0 or count[own] <= least[own]:
                continue
            if load[1 - own] > caps[1 - own] and load[own] <= caps[own]:
                continue
            if best < 0:
                best = own
                continue
            here, there = gain[heap[own, 0]], gain[heap[best, 0]]
            fuller = load[own] * caps[best] > load[best] * caps[own]
            if here > there or (here == there and fuller):
                best = own
        if best < 0:
            return -1
        vertex = _take(heap, sizes, best, place, gain)
        if load[1 - best] + weight[vertex] <= caps[1 - best] + leeway:
            return vertex


# ---------------------------------------------------------------- graphs


@njit(cache=True, nogil=True)
def match_graph(indptr, indices, data, volume, weight, heaviest, order):
    """Pairs of vertices to contract: the free neighbour of greatest w_uv / (volume_u volume_v).

    Returns the coarse vertex of each vertex and their number. A plain heavy edge would pair heavy
    vertices whatever their likeness; over the volumes (total edge weight) it is relative.
    """
    n = len(weight)
    mate = np.full(n, -1, dtype=np.int64)
    for u in order:
        if mate[u] >= 0:
            continue
        mate[u] = u
        best, rating = -1, 0.0
        for edge in range(indptr[u], indptr[u + 1]):
            v = indices[edge]
            if mate[v] >= 0 or v == u or weight[u] + weight[v] > heaviest:
                continue
            value = data[edge] / volume[v]
            if value > rating or (value == rating and v < best):
                best, rating = v, value
        if best >= 0:
            mate[u] = best
            mate[best] = u
    _pair_unlinked(mate, indptr, weight, heaviest, order)
    return _number(mate)


@njit(cache=True, nogil=True)
def _pair_unlinked(mate, starts, weight, heaviest, order):
    """Pair vertices without any edge with each other: to the cut they are all alike."""
    waiting = -1
    for u in order:
        if starts[u] < starts[u + 1]:
            continue
        if waiting >= 0 and weight[u] + weight[waiting] <= heaviest:
            mate[u] = waiting
            mate[waiting] = u
            waiting = -1
        else:
            waiting = u


@njit(cache=True, nogil=True)
def _number(mate):
    coarse = np.full(len(mate), -1, dtype=np.int64)
    count = 0
    for u in range(len(mate)):
        if coarse[u] < 0:
            coarse[u] = count
            coarse[mate[u]] = count
            count += 1
    return coarse, count


@njit(cache=True, nogil=True)
def contract_graph(indptr, indices, data, coarse, n_coarse):
    """The graph of the coarse vertices: edge weights added up, edges inside a vertex dropped."""
    n = len(coarse)
    starts = np.zeros(n_coarse + 1, dtype=np.int64)
    for u in range(n):
        starts[coarse[u] + 1] += 1
    starts = np.cumsum(starts)
    members = np.empty(n, dtype=np.int64)
    filled = starts[:-1].copy()
    for u in range(n):
        members[filled[coarse[u]]] = u
        filled[coarse[u]] += 1
    new_indptr = np.zeros(n_coarse + 1, dtype=np.int64)
    new_indices = np.empty(len(indices), dtype=np.int64)
    new_data = np.empty(len(indices))
    slot_of = np.full(n_coarse, -1, dtype=np.int64)
    end = 0
    for c in range(n_coarse):
        begin = end
        for place in range(starts[c], starts[c + 1]):
            u = members[place]
            for edge in range(indptr[u], indptr[u + 1]):
                d = coarse[indices[edge]]
                if d == c:
                    continue
                if slot_of[d] < begin:
                    slot_of[d] = end
                    new_indices[end] = d
                    new_data[end] = data[edge]
                    end += 1
                else:
                    new_data[slot_of[d]] += data[edge]
        new_indptr[c + 1] = end
    return new_indptr, new_indices[:end].copy(), new_data[:end].copy()


@njit(cache=True, nogil=True)
def grow_graph(indptr, indices, data, weight, start, target, least, relative):
    """Sides 0 and 1: side 0 grows from a vertex, by one neighbour at a time, to its target.

    The next is the vertex of least increase of the cut, or with ``relative`` the one that has the
    greatest share of its edges into the side: by the former a hub is added only when most of what
    hangs on it is there already, and what hangs on it only after the hub.
    """
    n = len(weight)
    side = np.ones(n, dtype=np.int8)
    degree = np.zeros(n)
    inside = np.zeros(n)
    for u in range(n):
        for edge in range(indptr[u], indptr[u + 1]):
            degree[u] += data[edge]
    load, count, vertex = 0.0, 0, start
    while True:
        side[vertex] = 0
        load += weight[vertex]
        count += 1
        for edge in range(indptr[vertex], indptr[vertex + 1]):
            inside[indices[edge]] += data[edge]
        if n - count <= least[1] or (count >= least[0] and load >= target):
            return side
        vertex, best = -1, 0.0
        for u in range(n):
            # the vertex that overshoots by more than stopping falls short is left out
            fits = count < least[0] or load + weight[u] - target <= target - load
            if side[u] == 0 or not fits:
                continue
            if not relative:
                value = 2.0 * inside[u] - degree[u]
            elif degree[u] > 0.0:
                value = inside[u] / degree[u]
            else:
                value = 0.0
            if vertex < 0 or value > best:
                vertex, best = u, value
        if vertex < 0:
            return side


@njit(cache=True, nogil=True)
def cut_of_graph(indptr, indices, data, side):
    """Total weight of the edges between parts."""
    cut = 0.0
    for u in range(len(side)):
        for edge in range(indptr[u], indptr[u + 1]):
            if side[indices[edge]] != side[u]:
                cut += data[edge]
    return cut / 2.0


@njit(cache=True, nogil=True)
def supply(gain, side, load, count, weight, least):
    """Which vertex must change sides because the other has too few vertices; -1 if none must."""
    for own in range(2):
        if count[1 - own] < least[1 - own]:
            best = -1
            for u in range(len(side)):
                if side[u] == own and (best < 0 or gain[u] > gain[best]):
                    best = u
            side[best] = 1 - own
            load[own] -= weight[best]
            load[1 - own] += weight[best]
            count[own] -= 1
            count[1 - own] += 1
            return best
    return -1


@njit(cache=True, nogil=True)
def refine_graph(indptr, indices, data, weight, side, caps, least, max_passes, patience):
    """Refine a bisection in place; returns its excess over the limits and its cut."""
    n = len(weight)
    gain = np.empty(n)
    heap = np.empty((2, n), dtype=np.int64)
    sizes = np.zeros(2, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    moved = np.empty(n, dtype=np.int64)
    load, count = _loads(side, weight)
    leeway = weight.max()
    total = data.sum()
    cut = cut_of_graph(indptr, indices, data, side)
    for _ in range(max_passes):
        for u in range(n):
            value = 0.0
            for edge in range(indptr[u], indptr[u + 1]):
                if side[indices[edge]] != side[u]:
                    value += data[edge]
                else:
                    value -= data[edge]
            gain[u] = value
        while True:
            forced = supply(gain, side, load, count, weight, least)
            if forced < 0:
                break
            cut -= gain[forced]
            gain[forced] = -gain[forced]
            for edge in range(indptr[forced], indptr[forced + 1]):
                v = indices[edge]
                same = side[v] == side[forced]
                gain[v] += -2.0 * data[edge] if same else 2.0 * data[edge]
        _fill(heap, sizes, place, gain, side)
        best_excess, best_cut, kept = _excess(load, caps), cut, 0
        before_excess, before_cut = best_excess, best_cut
        n_moved = 0
        while n_moved - kept < patience:
            u = _choose(heap, sizes, place, gain, weight, load, count, caps, least, leeway)
            if u < 0:
                break
            own = side[u]
            other = 1 - own
            side[u] = other
            load[own] -= weight[u]
            load[other] += weight[u]
            count[own] -= 1
            count[other] += 1
            cut -= gain[u]
            moved[n_moved] = u
            n_moved += 1
            for edge in range(indptr[u], indptr[u + 1]):
                v = indices[edge]
                if place[v] >= 0:
                    side_v = side[v]
                    change = 2.0 * data[edge] if side_v == own else -2.0 * data[edge]
                    _raise_key(heap[side_v], sizes[side_v], place, gain, v, change)
            excess = _excess(load, caps)
            if excess < best_excess * (1 - ROUNDING) or (
                excess <= best_excess and cut < best_cut - ROUNDING * total
            ):
                best_excess, best_cut, kept = excess, cut, n_moved
        for step in range(n_moved - 1, kept - 1, -1):
            u = moved[step]
            own = side[u]
            side[u] = 1 - own
            load[own] -= weight[u]
            load[1 - own] += weight[u]
            count[own] -= 1
            count[1 - own] += 1
        cut = best_cut
        if best_excess >= before_excess and best_cut >= before_cut - ROUNDING * total:
            break
    return _excess(load, caps), cut


# ---------------------------------------------------------------- hypergraphs


@njit(cache=True, nogil=True)
def match_hypergraph(
    vertex_start,
    net_of,
    mass,
    net_start,
    vertex_of,
    net_mass,
    likeness,
    weight,
    heaviest,
    looks,
    order,
):
    """Pairs of vertices to contract: the free vertex that shares most, over both weights.

    ``likeness`` is what a net gives to a pair of unit masses in it. Of a net with more pins than
    ``looks`` only so many after the vertex's own are looked at.
    """
    n = len(weight)
    mate = np.full(n, -1, dtype=np.int64)
    rating = np.zeros(n)
    touched = np.empty(n, dtype=np.int64)
    for u in order:
        if mate[u] >= 0:
            continue
        mate[u] = u
        n_touched = 0
        for pin in range(vertex_start[u], vertex_start[u + 1]):
            e = net_of[pin]
            begin, end = net_start[e], net_start[e + 1]
            size = end - begin
            first = 0
            if size > looks:
                first = np.searchsorted(vertex_of[begin:end], u)
            for step in range(min(size, looks)):
                at = begin + (first + step) % size
                v = vertex_of[at]
                if mate[v] >= 0 or weight[u] + weight[v] > heaviest:
                    continue
                if rating[v] == 0.0:
                    touched[n_touched] = v
                    n_touched += 1
                rating[v] += likeness[e] * mass[pin] * net_mass[at]
        best, value = -1, 0.0
        for step in range(n_touched):
            v = touched[step]
            here = rating[v] / weight[v]
            if here > value or (here == value and v < best):
                best, value = v, here
            rating[v] = 0.0
        if best >= 0:
            mate[u] = best
            mate[best] = u
    _pair_unlinked(mate, vertex_start, weight, heaviest, order)
    return _number(mate)


@njit(cache=True, nogil=True)
def grow_hypergraph(
    vertex_start, net_of, mass, n_nets, net_total, likeness, weight, start, target, least
):
    """Sides 0 and 1: side 0 grows from a vertex by the one that shares most with it."""
    n = len(weight)
    side = np.ones(n, dtype=np.int8)
    inside = np.zeros(n_nets)
    load, count, vertex = 0.0, 0, start
    while True:
        side[vertex] = 0
        load += weight[vertex]
        count += 1
        for pin in range(vertex_start[vertex], vertex_start[vertex + 1]):
            inside[net_of[pin]] += mass[pin]
        if n - count <= least[1] or (count >= least[0] and load >= target):
            return side
        vertex, best = -1, 0.0
        for u in range(n):
            fits = count < least[0] or load + weight[u] - target <= target - load
            if side[u] == 0 or not fits:
                continue
            value = 0.0
            for pin in range(vertex_start[u], vertex_start[u + 1]):
                e = net_of[pin]
                value += likeness[e] * mass[pin] * (2.0 * inside[e] - net_total[e] + mass[pin])
            if vertex < 0 or value > best:
                vertex, best = u, value
        if vertex < 0:
            return side


@njit(cache=True, nogil=True)
def _net_state(net_start, vertex_of, net_mass, side, pins_on, mass_on):
    pins_on[:] = 0
    mass_on[:] = 0.0
    for e in range(len(net_start) - 1):
        for at in range(net_start[e], net_start[e + 1]):
            own = side[vertex_of[at]]
            pins_on[e, own] += 1
            mass_on[e, own] += net_mass[at]


@njit(cache=True, nogil=True)
def _net_gain(pins_own, pins_other, price):
    if pins_own == 1 and pins_other > 0:
        return price
    if pins_own > 1 and pins_other == 0:
        return -price
    return 0.0


@njit(cache=True, nogil=True)
def _gain_of(u, vertex_start, net_of, mass, pins_on, mass_on, price, likeness, own):
    value = 0.0
    for pin in range(vertex_start[u], vertex_start[u + 1]):
        e = net_of[pin]
        value += _net_gain(pins_on[e, own], pins_on[e, 1 - own], price[e])
        apart = mass_on[e, 1 - own] - mass_on[e, own] + mass[pin]
        value += likeness[e] * mass[pin] * apart
    return value


@njit(cache=True, nogil=True)
def refine_hypergraph(
    vertex_start,
    net_of,
    mass,
    net_start,
    vertex_of,
    net_mass,
    price,
    likeness,
    weight,
    side,
    caps,
    least,
    max_passes,
    patience,
    lazy,
):
    """Refine a bisection in place; returns its excess over the limits and its cost.

    The cost of a net is its ``price`` if it is cut, plus ``likeness`` times the product of its
    masses on the two sides: a net once cut is still better cut unevenly.

    A move changes the gain of every vertex in the same nets. With ``lazy`` gains are looked up again
    only when a vertex comes to the top: one that fell is put back, one that rose waits for the next
    pass. For large nets that is far less work.
    """
    n, n_nets = len(weight), len(price)
    gain = np.empty(n)
    heap = np.empty((2, n), dtype=np.int64)
    sizes = np.zeros(2, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)
    moved = np.empty(n, dtype=np.int64)
    pins_on = np.zeros((n_nets, 2), dtype=np.int64)
    mass_on = np.zeros((n_nets, 2))
    leeway = weight.max()
    _net_state(net_start, vertex_of, net_mass, side, pins_on, mass_on)
    load, count = _loads(side, weight)
    cost, total = 0.0, 0.0
    for e in range(n_nets):
        if pins_on[e, 0] > 0 and pins_on[e, 1] > 0:
            cost += price[e]
        cost += likeness[e] * mass_on[e, 0] * mass_on[e, 1]
        total += price[e] + likeness[e] * (mass_on[e, 0] + mass_on[e, 1]) ** 2
    for _ in range(max_passes):
        for u in range(n):
            gain[u] = _gain_of(
                u, vertex_start, net_of, mass, pins_on, mass_on, price, likeness, side[u]
            )
        _fill(heap, sizes, place, gain, side)
        best_excess, best_cost, kept = _excess(load, caps), cost, 0
        before_excess, before_cost = best_excess, best_cost
        n_moved = 0
        while n_moved - kept < patience:
            u = _choose(heap, sizes, place, gain, weight, load, count, caps, least, leeway)
            if u < 0:
                break
            own = side[u]
            other = 1 - own
            if lazy:
                now = _gain_of(
                    u, vertex_start, net_of, mass, pins_on, mass_on, price, likeness, own
                )
                stale = now < gain[u]
                gain[u] = now
                if stale and sizes[own] > 0 and gain[heap[own, 0]] > now:
                    _put(heap, sizes, own, place, gain, u)
                    continue
            side[u] = other
            load[own] -= weight[u]
            load[other] += weight[u]
            count[own] -= 1
            count[other] += 1
            cost -= gain[u]
            moved[n_moved] = u
            n_moved += 1
            for pin in range(vertex_start[u], vertex_start[u + 1]):
                e = net_of[pin]
                stay, come = pins_on[e, own], pins_on[e, other]
                pull = 2.0 * likeness[e] * mass[pin]
                # gains of the others by the pins on their side and on the other, before and after
                on_own = _net_gain(stay - 1, come + 1, price[e]) - _net_gain(stay, come, price[e])
                on_other = _net_gain(come + 1, stay - 1, price[e]) - _net_gain(come, stay, price[e])
                pins_on[e, own] -= 1
                pins_on[e, other] += 1
                mass_on[e, own] -= mass[pin]
                mass_on[e, other] += mass[pin]
                if lazy or (pull == 0.0 and on_own == 0.0 and on_other == 0.0):
                    continue
                for at in range(net_start[e], net_start[e + 1]):
                    v = vertex_of[at]
                    if place[v] < 0:
                        continue
                    side_v = side[v]
                    if side_v == own:
                        change = on_own + pull * net_mass[at]
                    else:
                        change = on_other - pull * net_mass[at]
                    _raise_key(heap[side_v], sizes[side_v], place, gain, v, change)
            excess = _excess(load, caps)
            if excess < best_excess * (1 - ROUNDING) or (
                excess <= best_excess and cost < best_cost - ROUNDING * total
            ):
                best_excess, best_cost, kept = excess, cost, n_moved
        for step in range(n_moved - 1, kept - 1, -1):
            u = moved[step]
            own = side[u]
            side[u] = 1 - own
            load[own] -= weight[u]
            load[1 - own] += weight[u]
            count[own] -= 1
            count[1 - own] += 1
            for pin in range(vertex_start[u], vertex_start[u + 1]):
                e = net_of[pin]
                pins_on[e, own] -= 1
                pins_on[e, 1 - own] += 1
                mass_on[e, own] -= mass[pin]
                mass_on[e, 1 - own] += mass[pin]
        cost = best_cost
        if best_excess >= before_excess and best_cost >= before_cost - ROUNDING * total:
            break
    return _excess(load, caps), cost
