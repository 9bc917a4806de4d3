"""Hypergraph partitions: the objectives, the balance, both partitioners, life without the extra."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coterie import Ensemble, ParameterError
from coterie.core.errors import PartitionerMissing
from coterie.numerics import hypergraph_partition
from coterie.numerics.hypergraph_partition import (
    fill_empty_parts,
    hypergraph_cut,
    partition_hypergraph,
)
from tests.naive.strehl_ghosh import best_parts

needs_mtkahypar = pytest.mark.skipif(
    find_spec("mtkahypar") is None, reason="mtkahypar (extra graph) is not installed"
)
backends = pytest.mark.parametrize(
    "backend", ["builtin", pytest.param("mtkahypar", marks=needs_mtkahypar)]
)
objectives = pytest.mark.parametrize("objective", ["cut", "connectivity"])


def random_nets(n: int, k: int, seed: int, density: float = 0.2) -> sparse.csr_array:
    return sparse.csr_array((np.random.default_rng(seed).random((n, k)) < density).astype(float))


def planted(n_groups: int, size: int, seed: int):
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


# ---------------------------------------------------------------- the objectives


def test_the_objectives_count_parts_that_a_net_touches():
    nets = random_nets(12, 20, 0, density=0.3)
    parts = np.random.default_rng(1).integers(0, 4, 12)
    price = np.arange(1.0, 21)
    touched = [len(set(parts[nets.toarray()[:, e] > 0])) for e in range(20)]
    cut = sum(p for p, t in zip(price, touched, strict=True) if t > 1)
    spread = sum(p * max(t - 1, 0) for p, t in zip(price, touched, strict=True))
    assert hypergraph_cut(nets, price, parts) == cut
    assert hypergraph_cut(nets, price, parts, "connectivity") == spread


@backends
@pytest.mark.parametrize("seed", range(5))
def test_bisections_of_few_vertices_are_the_best_ones(backend, seed):
    nets = random_nets(10, 14, seed, density=0.25)
    price = np.random.default_rng(seed).integers(1, 4, 14).astype(float)
    best = best_parts(10, 2, lambda parts: hypergraph_cut(nets, price, parts), heaviest=5)
    parts, _ = partition_hypergraph(nets, np.ones(10), price, 2, seed=seed, backend=backend)
    assert np.bincount(parts).tolist() == [5, 5]
    assert hypergraph_cut(nets, price, parts) == best


@objectives
@pytest.mark.parametrize("seed", range(3))
def test_three_parts_of_few_vertices_are_near_the_best(objective, seed):
    nets = random_nets(9, 16, seed, density=0.25)
    price = np.ones(16)
    best = best_parts(9, 3, lambda parts: hypergraph_cut(nets, price, parts, objective), heaviest=3)
    parts, _ = partition_hypergraph(
        nets, np.ones(9), price, 3, seed=seed, backend="builtin", objective=objective
    )
    assert np.bincount(parts).max() == 3
    assert hypergraph_cut(nets, price, parts, objective) <= 1.25 * best


@backends
@objectives
def test_planted_groups_are_found(backend, objective):
    nets, group = planted(5, 40, seed=0)
    parts, _ = partition_hypergraph(
        nets, np.ones(200), np.ones(nets.shape[1]), 5, seed=0, backend=backend, objective=objective
    )
    assert len(np.unique(np.column_stack([parts, group]), axis=0)) == 5


@objectives
@pytest.mark.parametrize("updates", [0.0, np.inf])
def test_gains_looked_up_when_needed_are_as_good(monkeypatch, objective, updates):
    monkeypatch.setattr(hypergraph_partition, "EAGER_UPDATES", updates)
    nets, group = planted(4, 60, seed=1)
    price = np.ones(nets.shape[1])
    parts, _ = partition_hypergraph(
        nets, np.ones(240), price, 4, seed=0, backend="builtin", objective=objective
    )
    assert hypergraph_cut(nets, price, parts) == hypergraph_cut(nets, price, group)


@needs_mtkahypar
@pytest.mark.parametrize("pool", ["ecoli", "spf"])
def test_the_built_in_cut_is_within_a_tenth_of_mtkahypar(shared_data, pool):
    with np.load(shared_data / "pools" / f"{pool}.npz") as file:
        members, c = file["members"], len(np.unique(file["gt"]))
    columns = np.random.default_rng(0).choice(members.shape[1], 20, replace=False)
    ensemble = Ensemble.from_labels(members[:, columns].astype(np.int64))
    price = np.ones(ensemble.n_base_clusters)
    cuts = {}
    for backend in ("mtkahypar", "builtin"):
        parts, _ = partition_hypergraph(
            ensemble.incidence, ensemble.weights, price, c, seed=0, backend=backend
        )
        cuts[backend] = hypergraph_cut(ensemble.incidence, price, parts)
    assert cuts["builtin"] <= 1.1 * cuts["mtkahypar"]


def test_nets_that_must_be_cut_are_cut_unevenly():
    # every net spans all vertices but one, so every bisection cuts all of them
    nets = np.ones((8, 8)) - np.eye(8)
    pairs = np.zeros((8, 4))
    for e in range(4):
        pairs[[e, e + 4], e] = 1
    incidence = sparse.csr_array(np.hstack([nets, pairs]))
    parts, _ = partition_hypergraph(
        incidence, np.ones(8), np.ones(12), 2, seed=0, backend="builtin"
    )
    assert hypergraph_cut(incidence, np.ones(12), parts) == 8
    assert np.array_equal(parts[:4], parts[4:])


# ---------------------------------------------------------------- balance and number of parts


@backends
@pytest.mark.parametrize(("n", "n_parts"), [(100, 2), (120, 7), (200, 10)])
def test_parts_of_equal_vertices_are_balanced(backend, n, n_parts):
    nets = random_nets(n, 60, n, density=0.1)
    parts, _ = partition_hypergraph(nets, np.ones(n), np.ones(60), n_parts, seed=1, backend=backend)
    sizes = np.bincount(parts, minlength=n_parts)
    assert sizes.max() <= max(1.05 * np.ceil(n / n_parts), n / n_parts + np.log2(n_parts))


@backends
@settings(max_examples=30)
@given(data=st.data())
def test_every_part_has_a_vertex(backend, data):
    n = data.draw(st.integers(1, 18))
    n_parts = data.draw(st.integers(1, n))
    weights = np.array(
        data.draw(st.lists(st.sampled_from([1, 1, 2, 5, 60]), min_size=n, max_size=n)), dtype=float
    )
    nets = random_nets(n, data.draw(st.integers(1, 12)), data.draw(st.integers(0, 9)), 0.3)
    objective = data.draw(st.sampled_from(["cut", "connectivity"]))
    parts, used = partition_hypergraph(
        nets, weights, np.ones(nets.shape[1]), n_parts, seed=3, backend=backend, objective=objective
    )
    assert np.array_equal(np.unique(parts), np.arange(n_parts))
    assert used == ("Mt-KaHyPar" if backend == "mtkahypar" else "built-in")


@backends
def test_a_vertex_heavier_than_a_part_is_alone(backend):
    weights = np.ones(30)
    weights[[4, 17]] = 50, 90
    nets = random_nets(30, 25, 0)
    parts, _ = partition_hypergraph(nets, weights, np.ones(25), 5, seed=0, backend=backend)
    sizes = np.bincount(parts, minlength=5)
    assert sizes[parts[4]] == sizes[parts[17]] == 1
    assert max(sizes) <= 11


def test_empty_parts_are_filled_from_the_heaviest():
    parts = fill_empty_parts(np.array([0, 0, 0, 2]), 4, np.array([1.0, 3.0, 2.0, 9.0]))
    assert parts.tolist() == [0, 1, 3, 2]


# ---------------------------------------------------------------- seeds, threads, inputs


@backends
def test_a_seed_repeats_also_from_threads(backend):
    nets = random_nets(80, 50, 5, density=0.1)

    def parts_of(seed):
        return partition_hypergraph(nets, np.ones(80), np.ones(50), 4, seed=seed, backend=backend)[
            0
        ]

    alone = [parts_of(seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(parts_of, list(range(4)) * 2))
    for one, other in zip(alone * 2, together, strict=True):
        assert np.array_equal(one, other)
    assert any(not np.array_equal(alone[0], other) for other in alone[1:])


@needs_mtkahypar
def test_the_threads_of_mtkahypar_do_not_matter(capfd):
    import mtkahypar

    nets = random_nets(200, 90, 1, density=0.05)
    found = []
    for threads in (1, 2, 1):
        mtkahypar.initialize(threads, print_warnings=False)
        mtkahypar.set_seed(threads)
        found.append(
            partition_hypergraph(nets, np.ones(200), np.ones(90), 6, seed=0, backend="mtkahypar")[0]
        )
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert capfd.readouterr().out == ""


def test_inputs_that_are_no_hypergraph():
    nets = random_nets(5, 3, 0)
    with pytest.raises(ValueError, match="incidence must be 4 x 3"):
        partition_hypergraph(nets, np.ones(4), np.ones(3), 2, seed=0)
    with pytest.raises(ValueError, match="must be positive"):
        partition_hypergraph(nets, np.ones(5), np.zeros(3), 2, seed=0)
    with pytest.raises(ParameterError, match="n_parts must be between 1 and"):
        partition_hypergraph(nets, np.ones(5), np.ones(3), 6, seed=0)
    with pytest.raises(ParameterError, match="objective must be 'cut' or 'connectivity', but is"):
        partition_hypergraph(nets, np.ones(5), np.ones(3), 2, seed=0, objective="km1")
    with pytest.raises(ParameterError, match="backend must be 'auto', 'mtkahypar' or 'builtin'"):
        partition_hypergraph(nets, np.ones(5), np.ones(3), 2, seed=0, backend="hmetis")


# ---------------------------------------------------------------- without the extra


def test_without_mtkahypar_the_built_in_partitioner_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    nets = random_nets(20, 15, 0)
    assert partition_hypergraph(nets, np.ones(20), np.ones(15), 3, seed=0)[1] == "built-in"
    with pytest.raises(PartitionerMissing, match=r"needs the package mtkahypar.*coterie\[graph\]"):
        partition_hypergraph(nets, np.ones(20), np.ones(15), 3, seed=0, backend="mtkahypar")


def test_another_version_of_mtkahypar_is_as_good_as_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "mtkahypar", sys)
    nets = random_nets(20, 15, 0)
    assert partition_hypergraph(nets, np.ones(20), np.ones(15), 3, seed=0)[1] == "built-in"
