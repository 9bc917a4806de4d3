"""SCCBG against its literal form on samples, its row programs, and the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble, MemoryBudgetError
from coterie.evaluate import ari
from coterie.solvers.sccbg import SCCBG
from coterie.solvers.sccbg import solver as steps
from coterie.solvers.sccbg.kernels import learn_rows, pace_rows
from tests.builders import canonical, fit_quietly, in_literal_order, noisy_members
from tests.cases import degenerate
from tests.naive import sccbg as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n_members=6, n_labels=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


# ---------------------------------------------------------------- the whole method


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("gamma", [1e-3, 1e-2, 1e-1])
def test_the_literal_method(gamma, missing):
    labels, _ = noisy(0, n=36, n_members=4, missing=missing)
    ensemble = canonical(labels)
    assert ensemble.n_microclusters < len(labels)
    raw = ensemble.expand(ensemble.labels).astype(np.int64)
    S, W, counts = naive.sccbg(raw, 3, gamma, passes=8)
    seen = []
    problem = steps.Problem.of(ensemble, 3, gamma, None)
    state = steps.start(problem)
    for _ in counts:
        steps.weigh_entries(problem, state)
        steps.learn_graph(problem, state)
        steps.embed(problem, state)
        seen.append(state.n_components)
        state.penalty *= 2.0 if state.n_components < 3 else 0.5
        state.age *= 2.0
    assert seen == counts
    assert np.allclose(ensemble.expand(state.graph), S, atol=1e-8)
    assert np.allclose(ensemble.expand(state.pace), W, atol=1e-8)


@pytest.mark.parametrize(("gamma", "passes"), [(1e-3, 7), (1e-2, 7), (1e-1, 6)])
def test_the_small_example(gamma, passes):
    model = SCCBG(2, gamma=gamma).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.n_components_ == 2
    assert model.n_iter_ == passes
    assert model.converged_ is True


def test_parts_of_the_graph_are_the_clusters():
    labels, truth = noisy(1, n=90, n_members=9)
    model = SCCBG(3).fit(labels)
    assert ari(truth, model.labels_) > 0.8
    assert model.gamma_ == pytest.approx(1 / (2 * 90 * 9))
    graph = model.bipartite_graph_.T[model.ensemble_.inverse]
    assert ((graph >= 0) & (graph <= 1)).all()
    # columns are in the order of the user's members: they still resemble the incidence
    target = model.ensemble_.incidence.toarray()[model.ensemble_.inverse]
    assert np.corrcoef(graph.ravel(), target.ravel())[0, 1] > 0.7
    assert ari(naive.parts(graph), model.labels_) == 1.0


# ---------------------------------------------------------------- the row programs


@pytest.mark.parametrize("coupling", [1e-3, 0.1, 10.0, 1000.0])
def test_the_graph_step_solves_its_programs(coupling):
    rng = np.random.default_rng(0)
    ensemble = canonical(noisy(2, n=30, n_members=5)[0])
    problem = steps.Problem.of(ensemble, 3, coupling, None)
    programs = problem.programs
    n, k = programs.target.shape
    W, S = rng.random((n, k)), rng.random((n, k))
    pull = 3.0 * rng.random((n, k))
    learn_rows(0, len(S), programs, pull, W, steps.ROW_TOL, steps.ROW_SWEEPS, S)
    C = ensemble.incidence.T @ (ensemble.weights[:, None] * ensemble.incidence.toarray())
    for u in range(n):
        H, q = naive.program(W[u], programs.target[u], programs.seen[u], C, coupling, pull[u])
        slope = H @ S[u] - q
        scale = np.diag(H)
        inside = (S[u] > 0) & (S[u] < 1)
        assert (np.abs(slope[inside]) < 1e-6 * scale[inside]).all()
        assert (slope[S[u] == 0] > -1e-6 * scale[S[u] == 0]).all()
        assert (slope[S[u] == 1] < 1e-6 * scale[S[u] == 1]).all()
        factor = np.linalg.cholesky(H).T
        reference = lsq_linear(factor, np.linalg.solve(factor.T, q), (0, 1), method="bvls").x
        assert np.allclose(S[u], reference, atol=1e-5)


def test_the_pace_step_never_raises_its_programs():
    rng = np.random.default_rng(1)
    ensemble = canonical(noisy(3, n=30, n_members=5)[0])
    problem = steps.Problem.of(ensemble, 3, 0.05, None)
    programs = problem.programs
    n, k = programs.target.shape
    S, W = rng.random((n, k)), rng.random((n, k))
    before = W.copy()
    pace_rows(0, len(W), programs, 0.5, S, steps.ROW_TOL, steps.ROW_SWEEPS, W)
    C = ensemble.incidence.T @ (ensemble.weights[:, None] * ensemble.incidence.toarray())
    for u in range(n):
        H = np.diag((S[u] - programs.target[u]) ** 2)
        H += 0.05 * C * (S[u][:, None] - S[u]) ** 2

        def value(w, H=H):
            return w @ H @ w - 0.5 * w.sum()

        assert value(W[u]) <= value(before[u])
        # no coordinate alone can do better
        for p in range(k):
            for other in (0.0, 0.5, 1.0):
                moved = W[u].copy()
                moved[p] = other
                assert value(moved) >= value(W[u]) - 1e-8


# ---------------------------------------------------------------- weights, order, corners


@settings(max_examples=20)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_weight_is_a_number_of_rows(labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    one = fit_quietly(SCCBG(c), labels, sample_weight=repeats)
    two = fit_quietly(SCCBG(c), np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(one.labels_, repeats), two.labels_)
    assert np.array_equal(one.bipartite_graph_, two.bipartite_graph_)
    assert np.array_equal(np.unique(two.labels_), np.arange(c))


def test_a_member_weight_of_two_is_the_member_twice():
    # one pass from equal entries: later ones meet the two copies one after the other in step 1
    labels, _ = noisy(4, n=30, n_members=4)
    once = Ensemble.from_labels(labels, member_weight=[1, 1, 1, 2])
    twice = Ensemble.from_labels(labels[:, [0, 1, 2, 3, 3]])
    graphs = []
    for ensemble, members in ((once, labels), (twice, labels[:, [0, 1, 2, 3, 3]])):
        problem = steps.Problem.of(ensemble, 3, 0.01, None)
        state = steps.start(problem)
        state.pace[:] = 1.0
        steps.learn_graph(problem, state)
        steps.embed(problem, state)
        steps.learn_graph(problem, state)
        graphs.append(ensemble.expand(state.graph)[:, in_literal_order(members, ensemble)])
    assert np.allclose(graphs[0], graphs[1][:, : graphs[0].shape[1]], atol=1e-6)


def test_shuffling_and_renaming():
    labels, _ = noisy(5, missing=0.2)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    renamed = np.array(["d", "b", "a", "c", None], dtype=object)[labels[samples][:, members]]
    one, two = fit_quietly(SCCBG(3), labels), fit_quietly(SCCBG(3), renamed)
    assert ari(one.labels_[samples], two.labels_) == 1.0
    assert one.objective_ == two.objective_


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_finds_the_classes(missing):
    labels, truth = noisy(6, n=90, n_members=9, missing=missing)
    assert ari(truth, fit_quietly(SCCBG(3), labels).labels_) > 0.8


@degenerate
@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_degenerate_inputs(labels, n_clusters, expected, gamma):
    assert fit_quietly(SCCBG(n_clusters, gamma=gamma), labels).labels_.tolist() == expected


def test_too_few_passes_warn_and_the_callback_sees_every_pass():
    seen = []
    with pytest.warns(ConvergenceWarning, match="SCCBG arrived at 1 component instead of 2"):
        SCCBG(2, gamma=0.01, max_iter=3, callback=seen.append).fit(T6)
    assert [record["pass"] for record in seen] == [1, 2, 3]
    assert [record["age"] for record in seen] == [0.5, 1.0, 2.0]


def test_a_graph_beyond_the_budget_is_refused():
    with pytest.raises(MemoryBudgetError, match="The bipartite graph that SCCBG learns"):
        SCCBG(2, memory_budget=100).fit(T6)
