"""Graph partitions: the cut, the balance, both partitioners, and life without the extra."""

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
from coterie.evidence import coassociation
from coterie.numerics import graph_partition
from coterie.numerics.graph_partition import graph_cut, partition_graph
from tests.naive.strehl_ghosh import best_parts

needs_metis = pytest.mark.skipif(
    find_spec("pymetis") is None, reason="pymetis (extra graph) is not installed"
)
backends = pytest.mark.parametrize("backend", ["builtin", pytest.param("metis", marks=needs_metis)])


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


def coassociation_graph(shared_data, pool: str, seed: int = 0):
    with np.load(shared_data / "pools" / f"{pool}.npz") as file:
        members, n_classes = file["members"], len(np.unique(file["gt"]))
    columns = np.random.default_rng(seed).choice(members.shape[1], 20, replace=False)
    ensemble = Ensemble.from_labels(members[:, columns].astype(np.int64))
    weights = ensemble.weights.astype(float)
    return coassociation(ensemble) * np.outer(weights, weights), weights, n_classes


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
    parts, _ = partition_graph(graph, np.ones(10), 2, seed=seed, backend="builtin")
    assert graph_cut(graph, parts) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(4))
def test_weighted_bisections_of_few_vertices_are_the_best_ones(seed):
    weights = np.random.default_rng(seed).integers(1, 4, 9).astype(float)
    graph = random_graph(9, seed) * np.outer(weights, weights)
    limit = max(1.05 * weights.sum() / 2, np.ceil(weights.sum() / 2))
    best = best_parts(9, 2, lambda parts: graph_cut(graph, parts), limit, weights)
    parts, _ = partition_graph(graph, weights, 2, seed=seed, backend="builtin")
    assert np.bincount(parts, weights=weights).max() <= limit
    assert graph_cut(graph, parts) == pytest.approx(best)


@backends
@pytest.mark.parametrize("sizes", [[40] * 5, [30, 30, 30], [25] * 8, [300, 300]])
def test_planted_groups_are_found(backend, sizes):
    graph, group = planted(sizes, seed=len(sizes))
    parts, _ = partition_graph(graph, np.ones(len(group)), len(sizes), seed=0, backend=backend)
    assert len(np.unique(np.column_stack([parts, group]), axis=0)) == len(sizes)


@backends
def test_a_path_of_many_vertices(backend):
    n = 2000
    path = sparse.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr()
    parts, _ = partition_graph(path, np.ones(n), 4, seed=0, backend=backend)
    # three edges are the least, and a multilevel method comes close to it
    assert graph_cut(path, parts) <= 8


@backends
def test_hubs_with_many_neighbours(backend):
    # samples and base clusters as vertices: no two samples are neighbours
    rng = np.random.default_rng(0)
    n, m, c = 1200, 8, 4
    truth = rng.integers(0, c, n)
    labels = np.where(rng.random((n, m)) < 0.1, rng.integers(0, c, (n, m)), truth[:, None])
    links = sparse.csr_array(
        (np.ones(n * m), (labels + c * np.arange(m)).ravel(), np.arange(0, n * m + 1, m))
    )
    graph = sparse.block_array([[None, links], [links.T, None]], format="csr")
    parts, _ = partition_graph(graph, np.ones(n + c * m), c, seed=0, backend=backend)
    # the planted partition cuts the tenth of the links that were drawn anew, less the lucky ones
    groups = np.concatenate([truth, np.tile(np.arange(c), m)])
    assert graph_cut(graph, parts) <= 1.4 * graph_cut(graph, groups)


@needs_metis
@pytest.mark.parametrize("pool", ["ecoli", "aggregation", "umist", "spf", "kdd99_10p"])
def test_the_built_in_cut_is_as_small_as_that_of_metis(shared_data, pool):
    graph, weights, c = coassociation_graph(shared_data, pool)
    cuts = {
        backend: np.mean(
            [
                graph_cut(graph, partition_graph(graph, weights, c, seed=seed, backend=backend)[0])
                for seed in range(3)
            ]
        )
        for backend in ("metis", "builtin")
    }
    assert cuts["builtin"] <= 1.05 * cuts["metis"]


# ---------------------------------------------------------------- balance and number of parts


@backends
@pytest.mark.parametrize(("n", "n_parts"), [(100, 2), (100, 7), (333, 10), (400, 16), (64, 3)])
def test_parts_of_equal_vertices_are_balanced(backend, n, n_parts):
    graph = random_graph(n, n, density=0.3)
    parts, _ = partition_graph(graph, np.ones(n), n_parts, seed=1, backend=backend, imbalance=0.05)
    sizes = np.bincount(parts, minlength=n_parts)
    # whole vertices: at worst one more at each of the bisections
    assert sizes.max() <= max(1.05 * n / n_parts, n / n_parts + np.log2(n_parts))


@pytest.mark.parametrize("imbalance", [0.0, 0.02, 0.2])
def test_more_imbalance_is_used_only_as_far_as_allowed(imbalance):
    graph, _ = planted([120, 80], seed=0)
    parts, _ = partition_graph(
        graph, np.ones(200), 2, seed=0, backend="builtin", imbalance=imbalance
    )
    largest = np.bincount(parts).max()
    assert largest <= 100 * (1 + imbalance)
    assert largest == (120 if imbalance == 0.2 else 100 * (1 + imbalance))


@backends
@settings(max_examples=40)
@given(data=st.data())
def test_every_part_has_a_vertex(backend, data):
    n = data.draw(st.integers(1, 24))
    n_parts = data.draw(st.integers(1, n))
    weights = np.array(
        data.draw(st.lists(st.sampled_from([1, 1, 2, 5, 60]), min_size=n, max_size=n)), dtype=float
    )
    density = data.draw(st.sampled_from([0.0, 0.2, 1.0]))
    graph = random_graph(n, data.draw(st.integers(0, 9)), density)
    parts, used = partition_graph(graph, weights, n_parts, seed=3, backend=backend)
    assert np.array_equal(np.unique(parts), np.arange(n_parts))
    assert used == ("METIS" if backend == "metis" else "built-in")


@backends
def test_a_vertex_heavier_than_a_part_is_alone(backend):
    graph = random_graph(30, 0)
    weights = np.ones(30)
    weights[[4, 17]] = 50, 90
    parts, _ = partition_graph(graph, weights, 5, seed=0, backend=backend)
    sizes = np.bincount(parts, minlength=5)
    assert sizes[parts[4]] == sizes[parts[17]] == 1
    assert sorted(sizes.tolist())[2:] == [9, 9, 10]


@needs_metis
def test_metis_is_not_asked_what_it_answers_by_printing(capfd):
    # its own recursion complains on standard output when a side runs out of vertices
    for seed in range(30):
        rng = np.random.default_rng(seed)
        weights = rng.choice([1.0, 1.0, 40.0], 14)
        partition_graph(random_graph(14, seed, 0.3), weights, 11, seed=seed, backend="metis")
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


# ---------------------------------------------------------------- seeds, threads, inputs


@backends
def test_a_seed_repeats_also_from_threads(backend):
    graph = random_graph(150, 5, density=0.2)

    def parts_of(seed):
        return partition_graph(graph, np.ones(150), 6, seed=seed, backend=backend)[0]

    alone = [parts_of(seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(parts_of, list(range(6)) * 2))
    for one, other in zip(alone * 2, together, strict=True):
        assert np.array_equal(one, other)
    assert any(not np.array_equal(alone[0], other) for other in alone[1:])


@backends
def test_dense_and_sparse_graphs_and_their_diagonal(backend):
    graph = random_graph(60, 2, density=0.4)
    dense, _ = partition_graph(graph, np.ones(60), 4, seed=0, backend=backend)
    loops = graph + np.diag(np.full(60, 7.0))
    for same in (sparse.csr_array(graph), sparse.coo_array(graph), loops):
        other, _ = partition_graph(same, np.ones(60), 4, seed=0, backend=backend)
        assert np.array_equal(dense, other)


@backends
def test_fractional_weights(backend):
    weights = np.random.default_rng(0).random(80) + 0.1
    parts, _ = partition_graph(random_graph(80, 0), weights, 4, seed=0, backend=backend)
    assert np.bincount(parts, weights=weights).max() <= 1.06 * weights.sum() / 4


def test_numbers_of_parts_that_are_none():
    for n_parts in (0, 4):
        with pytest.raises(ParameterError, match=r"n_parts must be between 1 and .* vertices, 3"):
            partition_graph(np.ones((3, 3)), np.ones(3), n_parts, seed=0)


def test_inputs_that_are_no_graph():
    with pytest.raises(ValueError, match="weights must be 2 x 2"):
        partition_graph(np.ones((3, 3)), np.ones(2), 1, seed=0)
    with pytest.raises(ValueError, match="non-negative"):
        partition_graph(-np.ones((3, 3)), np.ones(3), 1, seed=0)
    with pytest.raises(ValueError, match="vertex weights positive"):
        partition_graph(np.ones((3, 3)), np.zeros(3), 1, seed=0)
    with pytest.raises(ParameterError, match="imbalance must not be negative, but is -1"):
        partition_graph(np.ones((3, 3)), np.ones(3), 2, seed=0, imbalance=-1)
    with pytest.raises(
        ParameterError, match="backend must be 'auto', 'metis' or 'builtin', but is"
    ):
        partition_graph(np.ones((3, 3)), np.ones(3), 2, seed=0, backend="kmetis")


# ---------------------------------------------------------------- without the extra


def test_without_pymetis_the_built_in_partitioner_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    graph = random_graph(20, 0)
    parts, used = partition_graph(graph, np.ones(20), 3, seed=0)
    assert used == "built-in"
    same, _ = partition_graph(graph, np.ones(20), 3, seed=0, backend="builtin")
    assert np.array_equal(parts, same)


@pytest.mark.parametrize("failure", [OSError("libmetis.so: cannot open"), SystemError("bad build")])
def test_a_broken_pymetis_is_as_good_as_none(monkeypatch, failure):
    def broken(name):
        raise failure

    monkeypatch.setattr(graph_partition, "import_module", broken)
    assert partition_graph(random_graph(9, 0), np.ones(9), 3, seed=0)[1] == "built-in"
    with pytest.raises(PartitionerMissing, match=rf"{failure}.*coterie\[graph\].*'builtin'"):
        partition_graph(random_graph(9, 0), np.ones(9), 3, seed=0, backend="metis")


def test_a_module_of_the_same_name_without_the_functions(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", sys)
    assert partition_graph(random_graph(9, 0), np.ones(9), 3, seed=0)[1] == "built-in"
    with pytest.raises(PartitionerMissing, match="it has no part_graph, Options"):
        partition_graph(random_graph(9, 0), np.ones(9), 3, seed=0, backend="metis")
