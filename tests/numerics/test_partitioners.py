"""Graphs and hypergraphs: the objectives, balance, seeds and threads, and a missing extra."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coterie.core.errors import PackageMissing
from coterie.numerics import hypergraphs, partitioners
from coterie.numerics.hypergraphs import hypergraph_cut, partition_hypergraph
from coterie.numerics.partitioners import graph_cut, partition_graph
from tests.naive.strehl_ghosh import best_parts

objectives = pytest.mark.parametrize("objective", ["cut", "connectivity"])


def random_graph(n: int, seed: int, density: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return upper + upper.T


def planted(sizes: list[int], seed: int, inside: float = 1.0, between: float = 0.3):
    """Groups whose vertices are linked more strongly inside than between, in mixed order."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    same = group[:, None] == group[None]
    return random_graph(len(group), seed) * np.where(same, inside, between), group


# ---------------------------------------------------------------- the cut


def test_the_cut_counts_every_edge_once():
    graph = random_graph(15, 0, density=0.5)
    parts = np.random.default_rng(0).integers(0, 3, 15)
    expected = sum(graph[i, j] for i in range(15) for j in range(i) if parts[i] != parts[j])
    assert graph_cut(graph, parts) == pytest.approx(expected)
    assert graph_cut(sparse.csr_array(graph), parts) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_bisections_of_few_vertices_are_the_best_ones(seed):
    graph = random_graph(10, seed, density=0.6)
    best = best_parts(10, 2, lambda parts: graph_cut(graph, parts), heaviest=5)
    parts = partition_graph(graph, np.ones(10), 2, seed=seed)
    assert graph_cut(graph, parts) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(4))
def test_weighted_bisections_of_few_vertices_are_near_the_best(seed):
    weights = np.random.default_rng(seed).integers(1, 4, 9).astype(float)
    graph = random_graph(9, seed) * np.outer(weights, weights)
    limit = max(1.05 * weights.sum() / 2, np.ceil(weights.sum() / 2))
    best = best_parts(9, 2, lambda parts: graph_cut(graph, parts), limit, weights)
    parts = partition_graph(graph, weights, 2, seed=seed)
    assert np.bincount(parts, weights=weights).max() <= limit
    assert graph_cut(graph, parts) <= 1.2 * best


@pytest.mark.parametrize("sizes", [[40] * 5, [30, 30, 30], [25] * 8, [300, 300]])
def test_planted_groups_are_found(sizes):
    graph, group = planted(sizes, seed=len(sizes))
    parts = partition_graph(graph, np.ones(len(group)), len(sizes), seed=0)
    assert len(np.unique(np.column_stack([parts, group]), axis=0)) == len(sizes)


def test_a_path_of_many_vertices():
    n = 2000
    path = sparse.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr()
    parts = partition_graph(path, np.ones(n), 4, seed=0)
    # three edges are the least, and a multilevel method comes close to it
    assert graph_cut(path, parts) <= 8


def test_hubs_with_many_neighbours():
    # samples and base clusters as vertices: no two samples are neighbours
    rng = np.random.default_rng(0)
    n, m, c = 1200, 8, 4
    truth = rng.integers(0, c, n)
    labels = np.where(rng.random((n, m)) < 0.1, rng.integers(0, c, (n, m)), truth[:, None])
    links = sparse.csr_array(
        (np.ones(n * m), (labels + c * np.arange(m)).ravel(), np.arange(0, n * m + 1, m))
    )
    graph = sparse.block_array([[None, links], [links.T, None]], format="csr")
    parts = partition_graph(graph, np.ones(n + c * m), c, seed=0)
    # the planted partition cuts the tenth of the links that were drawn anew, less the lucky ones
    groups = np.concatenate([truth, np.tile(np.arange(c), m)])
    assert graph_cut(graph, parts) <= 1.4 * graph_cut(graph, groups)


# ---------------------------------------------------------------- balance and number of parts


@pytest.mark.parametrize(("n", "n_parts"), [(100, 2), (100, 7), (333, 10), (400, 16), (64, 3)])
def test_parts_of_equal_vertices_are_balanced(n, n_parts):
    graph = random_graph(n, n, density=0.3)
    parts = partition_graph(graph, np.ones(n), n_parts, seed=1, imbalance=0.05)
    sizes = np.bincount(parts, minlength=n_parts)
    # whole vertices: at worst one more at each of the bisections
    assert sizes.max() <= max(1.05 * n / n_parts, n / n_parts + np.log2(n_parts))


@pytest.mark.parametrize("imbalance", [0.0, 0.02, 0.2])
def test_imbalance_is_used_only_as_far_as_allowed(imbalance):
    graph, _ = planted([120, 80], seed=0)
    parts = partition_graph(graph, np.ones(200), 2, seed=0, imbalance=imbalance)
    largest = np.bincount(parts).max()
    assert largest <= 100 * (1 + imbalance)


@settings(max_examples=40)
@given(data=st.data())
def test_every_part_has_a_vertex(data):
    n = data.draw(st.integers(1, 24))
    n_parts = data.draw(st.integers(1, n))
    weights = np.array(
        data.draw(st.lists(st.sampled_from([1, 1, 2, 5, 60]), min_size=n, max_size=n)), dtype=float
    )
    density = data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    graph = random_graph(n, data.draw(st.integers(0, 9)), density)
    parts = partition_graph(graph, weights, n_parts, seed=3)
    assert np.array_equal(np.unique(parts), np.arange(n_parts))


def test_a_vertex_heavier_than_a_part_is_alone():
    graph = random_graph(30, 0)
    weights = np.ones(30)
    weights[[4, 17]] = 50, 90
    parts = partition_graph(graph, weights, 5, seed=0)
    sizes = np.bincount(parts, minlength=5)
    assert sizes[parts[4]] == sizes[parts[17]] == 1
    assert sorted(sizes.tolist())[2:] == [9, 9, 10]


def test_metis_is_not_asked_what_it_answers_by_printing(capfd):
    # its own recursion complains on standard output when a side runs out of vertices
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weights = rng.choice([1.0, 1.0, 40.0], 14)
        partition_graph(random_graph(14, seed, 0.3), weights, 11, seed=seed)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


# ---------------------------------------------------------------- seeds, threads, inputs


def test_a_seed_repeats_also_from_threads():
    graph = random_graph(150, 5, density=0.2)

    def parts_of(seed):
        return partition_graph(graph, np.ones(150), 6, seed=seed)

    alone = [parts_of(seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(parts_of, list(range(6)) * 2))
    for one, other in zip(alone * 2, together, strict=True):
        assert np.array_equal(one, other)
    assert any(not np.array_equal(alone[0], other) for other in alone[1:])


def test_dense_and_sparse_graphs_and_their_diagonal():
    graph = random_graph(60, 2, density=0.4)
    dense = partition_graph(graph, np.ones(60), 4, seed=0)
    loops = graph + np.diag(np.full(60, 7.0))
    for same in (sparse.csr_array(graph), sparse.coo_array(graph), loops):
        other = partition_graph(same, np.ones(60), 4, seed=0)
        assert np.array_equal(dense, other)


def test_fractional_weights():
    weights = np.random.default_rng(0).random(80) + 0.1
    parts = partition_graph(random_graph(80, 0), weights, 4, seed=0)
    assert np.bincount(parts, weights=weights).max() <= 1.06 * weights.sum() / 4


# ---------------------------------------------------------------- hypergraphs


def random_nets(n: int, k: int, seed: int, density: float = 0.2) -> sparse.csr_array:
    return sparse.csr_array((np.random.default_rng(seed).random((n, k)) < density).astype(float))


def planted_nets(n_groups: int, size: int, seed: int):
    """Nets of four vertices of one group, and a few across."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(n_groups), size))
    nets = []
    for own in range(n_groups):
        inside = np.flatnonzero(group == own)
        nets += [rng.choice(inside, 4, replace=False) for _ in range(4 * size)]
    nets += [rng.choice(len(group), 3, replace=False) for _ in range(size // 2)]
    incidence = np.zeros((len(group), len(nets)))
    for e, pins in enumerate(nets):
        incidence[pins, e] = 1
    return sparse.csr_array(incidence), group


def test_the_objectives_count_parts_that_a_net_touches():
    nets = random_nets(12, 20, 0, density=0.3)
    parts = np.random.default_rng(1).integers(0, 4, 12)
    price = np.arange(1.0, 21)
    touched = [len(set(parts[nets.toarray()[:, e] > 0])) for e in range(20)]
    cut = sum(p for p, t in zip(price, touched, strict=True) if t > 1)
    spread = sum(p * max(t - 1, 0) for p, t in zip(price, touched, strict=True))
    assert hypergraph_cut(nets, price, parts) == cut
    assert hypergraph_cut(nets, price, parts, "connectivity") == spread


@pytest.mark.parametrize("seed", range(5))
def test_nets_bisections_of_few_vertices_are_the_best_ones(seed):
    nets = random_nets(10, 14, seed, density=0.25)
    price = np.random.default_rng(seed).integers(1, 4, 14).astype(float)
    best = best_parts(10, 2, lambda parts: hypergraph_cut(nets, price, parts), heaviest=5)
    parts = partition_hypergraph(nets, np.ones(10), price, 2, seed=seed)
    assert np.bincount(parts).tolist() == [5, 5]
    assert hypergraph_cut(nets, price, parts) == best


@objectives
@pytest.mark.parametrize("seed", range(3))
def test_three_parts_of_few_vertices_are_near_the_best(objective, seed):
    nets = random_nets(9, 16, seed, density=0.25)
    price = np.ones(16)
    best = best_parts(9, 3, lambda parts: hypergraph_cut(nets, price, parts, objective), heaviest=3)
    parts = partition_hypergraph(nets, np.ones(9), price, 3, seed=seed, objective=objective)
    assert np.bincount(parts).max() == 3
    assert hypergraph_cut(nets, price, parts, objective) <= 1.25 * best


@objectives
def test_nets_planted_groups_are_found(objective):
    nets, group = planted_nets(5, 40, seed=0)
    parts = partition_hypergraph(
        nets, np.ones(200), np.ones(nets.shape[1]), 5, seed=0, objective=objective
    )
    assert len(np.unique(np.column_stack([parts, group]), axis=0)) == 5


@pytest.mark.parametrize(("n", "n_parts"), [(100, 2), (120, 7), (200, 10)])
def test_nets_parts_of_equal_vertices_are_balanced(n, n_parts):
    nets = random_nets(n, 60, n, density=0.1)
    parts = partition_hypergraph(nets, np.ones(n), np.ones(60), n_parts, seed=1)
    sizes = np.bincount(parts, minlength=n_parts)
    assert sizes.max() <= max(1.05 * np.ceil(n / n_parts), n / n_parts + np.log2(n_parts))


@settings(max_examples=30)
@given(data=st.data())
def test_nets_every_part_has_a_vertex(data):
    n = data.draw(st.integers(1, 18))
    n_parts = data.draw(st.integers(1, n))
    weights = np.array(
        data.draw(st.lists(st.sampled_from([1, 1, 2, 5, 60]), min_size=n, max_size=n)), dtype=float
    )
    nets = random_nets(n, data.draw(st.integers(1, 12)), data.draw(st.integers(0, 9)), 0.3)
    objective = data.draw(st.sampled_from(["cut", "connectivity"]))
    parts = partition_hypergraph(
        nets, weights, np.ones(nets.shape[1]), n_parts, seed=3, objective=objective
    )
    assert np.array_equal(np.unique(parts), np.arange(n_parts))


def test_nets_a_vertex_heavier_than_a_part_is_alone():
    weights = np.ones(30)
    weights[[4, 17]] = 50, 90
    nets = random_nets(30, 25, 0)
    parts = partition_hypergraph(nets, weights, np.ones(25), 5, seed=0)
    sizes = np.bincount(parts, minlength=5)
    assert sizes[parts[4]] == sizes[parts[17]] == 1
    assert max(sizes) <= 11


def test_empty_parts_are_filled_from_the_heaviest():
    parts = hypergraphs._fill_empty_parts(np.array([0, 0, 0, 2]), 4, np.array([1.0, 3.0, 2.0, 9.0]))
    assert parts.tolist() == [0, 1, 3, 2]


def test_nets_a_seed_repeats_also_from_threads():
    nets = random_nets(80, 50, 5, density=0.1)

    def parts_of(seed):
        return partition_hypergraph(nets, np.ones(80), np.ones(50), 4, seed=seed)

    alone = [parts_of(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(parts_of, list(range(4)) * 2))
    for one, other in zip(alone * 2, together, strict=True):
        assert np.array_equal(one, other)
    assert any(not np.array_equal(alone[0], other) for other in alone[1:])


def test_the_threads_of_mtkahypar_do_not_matter(capfd):
    import mtkahypar

    nets = random_nets(200, 90, 1, density=0.05)
    found = []
    for threads in (1, 2, 1):
        mtkahypar.initialize(threads, print_warnings=False)
        mtkahypar.set_seed(threads)
        found.append(partition_hypergraph(nets, np.ones(200), np.ones(90), 6, seed=0))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert capfd.readouterr().out == ""


# ---------------------------------------------------------------- without the extra


def test_without_pymetis_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(PackageMissing, match=r'pymetis.*pip install "coterie\[graph\]"$'):
        partition_graph(random_graph(9, 0), np.ones(9), 3, seed=0)


def test_without_mtkahypar_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    with pytest.raises(PackageMissing, match=r'mtkahypar.*pip install "coterie\[graph\]"$'):
        partition_hypergraph(random_nets(9, 4, 0), np.ones(9), np.ones(4), 3, seed=0)


@pytest.mark.parametrize("failure", [OSError("libmetis.so: cannot open"), SystemError("bad build")])
def test_a_library_that_does_not_load(monkeypatch, failure):
    def broken(name):
        raise failure

    monkeypatch.setattr(partitioners, "import_module", broken)
    with pytest.raises(PackageMissing, match=rf"{failure}.*coterie\[graph\]"):
        partition_graph(random_graph(9, 0), np.ones(9), 3, seed=0)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 7e-10 / 3, 1e12 / 3])
def test_a_bisection_with_tied_loads_ends(scale):
    # moving a vertex of weight 2 only swaps the loads, and rounding decided which one was larger
    weight = scale * np.array([2, 2, 2, 1, 4, 3, 2, 1, 1, 1, 2, 2, 1]) / 3
    side = np.array([1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1], dtype=np.int8)
    graph = sparse.csr_array((13, 13))
    limit = np.full(2, 12.6 * scale / 3)
    sides = partitioners._Sides(graph, weight, side, np.array([1, 1]), limit)
    sides.meet_limits()
    assert np.allclose(sides.load, np.bincount(sides.side, weights=weight), rtol=1e-9)
    assert sides.load.max() <= 13.0 * scale / 3 * (1 + 1e-9)
