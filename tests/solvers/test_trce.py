"""TRCE: the compressed solver against the n x n transcription and the authors' own runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.solvers.trce import TRCE
from coterie.solvers.trce import solver as steps
from tests.builders import fit_quietly, noisy_members
from tests.naive import trce as naive
from tests.strategies import label_matrices

noisy = partial(
    noisy_members, n=70, n_members=9, n_classes=4, wrong=(0.05, 0.4), random_classes=True
)

# the paper's useful range and one value beyond each end
LAMBDAS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]


def at_samples(model, matrix):
    rows = model.ensemble_.inverse
    return matrix[np.ix_(rows, rows)]


def history(model, name):
    return [record[name] for record in model.history_]


def equal_to_twin(model, twin):
    assert history(model, "n_components") == twin.component_history
    assert history(model, "rho") == twin.rho_history
    assert adjusted_rand_score(model.component_labels_, twin.component_labels) == 1.0
    np.testing.assert_allclose(at_samples(model, model.consensus_matrix_), twin.graph, atol=1e-8)
    np.testing.assert_allclose(at_samples(model, model.noise_), twin.noise, atol=1e-8)
    np.testing.assert_allclose(model.instance_weights_, twin.instance_weights, atol=1e-8)
    shares = twin.member_weights / twin.member_weights.sum()
    np.testing.assert_allclose(model.member_weights_, shares, atol=1e-8)
    np.testing.assert_allclose(history(model, "objective"), twin.objective_history, rtol=1e-8)
    np.testing.assert_allclose(history(model, "residual"), twin.residual_history, rtol=1e-6)


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("repeats", [0, 2])
def test_compressed_equals_samples(lam, missing, repeats):
    labels, _ = noisy(3, missing=missing, repeats=repeats)
    model = fit_quietly(TRCE(4, lam=lam, max_iter=10), labels)
    equal_to_twin(model, naive.trce(labels, 4, lam))


@pytest.mark.parametrize("level", ["member_level", "instance_level", "graph_level"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_ablations_equal_samples(level, missing):
    labels, _ = noisy(5, missing=missing, repeats=2)
    off = {level: False}
    model = fit_quietly(TRCE(4, lam=0.1, max_iter=6, **off), labels)
    equal_to_twin(model, naive.trce(labels, 4, 0.1, max_iter=6, **off))


# ---------------------------------------------------------------- against the authors' program


@pytest.fixture(scope="module")
def lung(shared_data):
    path = shared_data / "golden" / "trce_lung.npz"
    if not path.exists():
        pytest.skip(f"no reference runs at {path}")
    with np.load(path) as archive:
        return dict(archive)


def settings_of(lung):
    """Every value of lambda, the ensembles in turn; ``make golden`` takes all pairs."""
    for setting, lam in enumerate(lung["settings"]):
        run = setting % len(lung["base"])
        yield lung["base"][run].astype(np.int64), lam, lung["labels"][run, setting]


def test_transcription_with_the_programs_slip_gives_the_authors_labels(lung):
    for members, lam, authors in settings_of(lung):
        twin = naive.trce(members, 5, lam, last_member_only=True)
        assert adjusted_rand_score(twin.component_labels, authors) == 1.0, lam


def test_solver_gives_the_corrected_transcriptions_labels(lung):
    for members, lam, _ in settings_of(lung):
        model = fit_quietly(TRCE(5, lam=lam, max_iter=10), members)
        twin = naive.trce(members, 5, lam)
        assert adjusted_rand_score(model.component_labels_, twin.component_labels) == 1.0, lam
        assert model.n_components_ == twin.n_components
        assert model.n_clusters_ == 5
        if twin.n_components == 5:
            np.testing.assert_array_equal(model.labels_, renumbered(model.component_labels_))


def renumbered(labels):
    first = {}
    return [first.setdefault(label, len(first)) for label in labels.tolist()]


def test_exactly_n_clusters_on_a_pool(shared_data):
    with np.load(shared_data / "pools" / "ecoli.npz") as pool:
        members = pool["members"][:, :20]
    ensemble = Ensemble.from_labels(members)
    for n_clusters in (2, 8, 30):
        for lam in LAMBDAS:
            model = fit_quietly(TRCE(n_clusters, lam=lam), ensemble)
            assert len(np.unique(model.labels_)) == n_clusters


# ---------------------------------------------------------------- every step is a minimiser


def moving(lam=0.3, missing=0.2, passes=0, **levels):
    """Problem and state after some passes, taken step by step."""
    labels, _ = noisy(11, missing=missing, repeats=2)
    ensemble = Ensemble.from_labels(labels)
    problem = steps.Problem.of(ensemble, TRCE(4, lam=lam, **levels))
    state = steps.start(problem, ensemble)
    for _ in range(passes):
        steps.weigh_instances(problem, state)
        steps.learn_graph(problem, state)
        state.rank = state.rank.follow(state.graph)
        steps.weigh_members(problem, state)
        state.age *= steps.AGE_GROWTH
    return problem, state


@pytest.mark.parametrize("passes", [0, 1, 2, 4])
@pytest.mark.parametrize("lam", [0.01, 0.3, 10.0])
def test_weights_and_embedding_never_raise_the_objective(passes, lam):
    problem, state = moving(lam, passes=passes)
    state.rho = state.rank.penalty

    def follow_rank(state):
        state.rank = state.rank.follow(state.graph)

    def no_rise(step, *arguments):
        before = steps.objective(problem, state)
        step(*arguments)
        after = steps.objective(problem, state)
        assert after <= before + 1e-9 * abs(before)

    no_rise(steps.weigh_instances, problem, state)
    steps.learn_graph(problem, state)
    # the old F on the new graph, before a new F is taken
    held = state.rank
    symmetric = (state.graph + state.graph.T) / 2
    distances = ((held.embedding[:, None] - held.embedding[None]) ** 2).sum(axis=2)
    trace = 0.5 * problem.weights @ (symmetric * distances) @ problem.weights
    state.rank = replace(held, trace=float(trace))
    no_rise(follow_rank, state)
    no_rise(steps.weigh_members, problem, state)


@pytest.mark.parametrize("passes", [0, 2, 5])
def test_rows_of_b_satisfy_the_kkt_conditions(passes):
    problem, state = moving(passes=passes)
    embedding, rho, alpha = state.rank.embedding, state.rank.penalty, state.alpha
    steps.weigh_instances(problem, state)
    w = state.instance_weights
    steps.learn_graph(problem, state)
    base, starts, rows, sizes = problem.base
    smoothed = state.graph + steps.noise(problem, state)
    evidence = np.zeros_like(smoothed)
    for i in range(len(base)):
        for k in np.flatnonzero(base[i] >= 0):
            q = base[i, k]
            evidence[i, rows[starts[q] : starts[q + 1]]] += alpha[k] / sizes[q]
    evidence *= (w**2 * problem.coverage)[:, None]
    distances = ((embedding[:, None] - embedding[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(smoothed @ problem.weights, 1.0, rtol=1e-12)
    assert ((smoothed > 0) == (evidence > 0)).all()
    for b, h, g in zip(smoothed, evidence, rho * distances, strict=True):
        inside = h > 0
        theta = h[inside] / b[inside] - g[inside]
        np.testing.assert_allclose(theta, theta[0], rtol=1e-8)
        assert theta[0] > 0


@pytest.mark.parametrize("passes", [0, 2, 5])
def test_rows_of_a_satisfy_the_kkt_conditions(passes):
    problem, state = moving(passes=passes)
    embedding, rho = state.rank.embedding, state.rank.penalty
    steps.learn_graph(problem, state)
    distances = ((embedding[:, None] - embedding[None]) ** 2).sum(axis=2)
    target = (
        state.graph + steps.noise(problem, state) - rho * distances / (2 * problem.settings.lam)
    )
    np.testing.assert_allclose(state.graph @ problem.weights, 1.0, rtol=1e-12)
    assert (state.graph >= 0).all()
    for a, v in zip(state.graph, target, strict=True):
        shift = (v - a)[a > 0]
        np.testing.assert_allclose(shift, shift[0], atol=1e-10)
        assert (v[a == 0] <= shift[0] + 1e-10).all()


def test_noise_sums_to_zero_and_leaves_a_walk():
    labels, _ = noisy(2, repeats=2)
    model = fit_quietly(TRCE(4), labels)
    weights = model.ensemble_.weights
    walk = model.consensus_matrix_ + model.noise_
    np.testing.assert_allclose(model.noise_ @ weights, 0.0, atol=1e-12)
    np.testing.assert_allclose(walk @ weights, 1.0, rtol=1e-12)
    assert (walk >= -1e-15).all()


# ---------------------------------------------------------------- what users see


def test_recovers_a_noisy_partition():
    labels, truth = noisy(1, n=150, n_members=15)
    model = TRCE(4).fit(labels)
    assert adjusted_rand_score(model.labels_, truth) > 0.9
    assert model.converged_
    assert model.n_components_ == 4
    assert model.n_iter_ == len(model.history_)
    assert model.objective_ == model.history_[-1]["objective"]
    assert model.residual_ == model.history_[-1]["residual"]


def test_bad_members_and_hard_samples_lose_weight():
    labels, _ = noisy(1, n=150, n_members=15)
    rng = np.random.default_rng(0)
    labels[:, 3] = rng.integers(4, size=150)
    labels[7] = rng.integers(4, size=15)
    model = TRCE(4).fit(labels)
    assert np.argmin(model.member_weights_) == 3
    assert model.instance_weights_[7] < np.quantile(model.instance_weights_, 0.1)


def test_ablations_do_what_they_say():
    labels, _ = noisy(6)
    equal = fit_quietly(TRCE(4, member_level=False), labels)
    np.testing.assert_allclose(equal.member_weights_, 1 / 9)
    full = fit_quietly(TRCE(4, instance_level=False), labels)
    np.testing.assert_array_equal(full.instance_weights_, 1.0)
    with pytest.warns(ConvergenceWarning, match="to be expected"):
        dense = TRCE(4, graph_level=False).fit(labels)
    np.testing.assert_array_equal(dense.noise_, 0.0)
    assert dense.n_components_ == 1
    assert dense.n_clusters_ == 4


def test_callback_sees_every_pass():
    seen = []
    labels, _ = noisy(4)
    model = fit_quietly(TRCE(4, callback=seen.append), labels)
    assert seen == model.history_
    assert [record["pass"] for record in seen] == list(range(1, len(seen) + 1))


def test_tol_asks_for_a_settled_graph():
    labels, _ = noisy(4)
    quick = TRCE(4).fit(labels)
    settled = TRCE(4, tol=1e-3, max_iter=200).fit(labels)
    assert settled.converged_
    assert settled.residual_ <= 1e-3 < quick.residual_
    assert settled.n_iter_ > quick.n_iter_
    with pytest.warns(ConvergenceWarning, match=r"Raise max_iter, or raise tol"):
        TRCE(4, tol=0.0, max_iter=quick.n_iter_).fit(labels)


def test_too_few_passes_warn_and_still_give_n_clusters():
    labels, _ = noisy(4)
    with pytest.warns(ConvergenceWarning, match=r"component instead of 4 clusters.*max_iter"):
        model = TRCE(4, lam=100.0, max_iter=1).fit(labels)
    assert not model.converged_
    assert len(np.unique(model.labels_)) == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_clusters", 0),
        ("n_clusters", None),
        ("lam", 0.0),
        ("lam", float("inf")),
        ("member_level", "no"),
        ("max_iter", 0),
        ("tol", -1.0),
        ("callback", 3),
    ],
)
def test_parameters_outside_their_domain_are_named(name, value):
    with pytest.raises(ParameterError, match=rf"TRCE: {name} must be .* but is {value!r}"):
        TRCE(**{"n_clusters": 2, name: value}).fit([[0, 0], [1, 1], [1, 0]])


def test_memory_budget_is_respected():
    labels, _ = noisy(0)
    with pytest.raises(MemoryBudgetError, match="microclusters"):
        TRCE(4, memory_budget=1000).fit(labels)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_non_finite_numbers_are_raised_with_the_step():
    problem, state = moving()
    state.rank = replace(state.rank, embedding=np.full_like(state.rank.embedding, np.nan))
    with pytest.raises(FloatingPointError, match="step 2"):
        steps.learn_graph(problem, state)


# ---------------------------------------------------------------- degenerate inputs


def test_identical_members_are_returned():
    labels = np.repeat([0, 0, 1, 2, 2, 2], 2)[:, None].repeat(4, axis=1)
    model = TRCE(3).fit(labels)
    assert model.labels_.tolist() == labels[:, 0].tolist()
    assert model.converged_
    np.testing.assert_array_equal(model.instance_weights_, 1.0)
    np.testing.assert_allclose(model.member_weights_, 0.25)


def test_one_member():
    assert TRCE(3).fit_predict([["a"], ["b"], ["b"], ["c"]]).tolist() == [0, 1, 1, 2]


def test_unlinked_parts_beyond_n_clusters_are_merged():
    with pytest.warns(ConvergenceWarning, match="No member links the 3 parts"):
        model = TRCE(2).fit([[0], [1], [1], [2], [2]])
    assert model.n_clusters_ == 2
    assert model.n_components_ == 3
    assert model.n_iter_ == 2


def test_one_cluster():
    labels, _ = noisy(4)
    model = TRCE(1).fit(labels)
    assert (model.labels_ == 0).all()
    assert model.converged_


def test_every_microcluster_its_own_cluster():
    labels, _ = noisy(4, n=12, repeats=2)
    ensemble = Ensemble.from_labels(labels)
    model = fit_quietly(TRCE(ensemble.n_microclusters), ensemble)
    assert adjusted_rand_score(model.labels_, ensemble.inverse) == 1.0


@pytest.mark.parametrize("extra", ["one cluster", "every sample apart"])
def test_members_that_say_nothing(extra):
    labels, truth = noisy(1, n=120, n_members=12)
    column = np.zeros(120) if extra == "one cluster" else np.arange(120)
    model = TRCE(4).fit(np.column_stack([labels, column.astype(int)]))
    assert adjusted_rand_score(model.labels_, truth) > 0.85


@given(labels=label_matrices())
@settings(max_examples=60)
def test_any_small_input_gives_n_clusters(labels):
    ensemble = Ensemble.from_labels(labels)
    n = ensemble.n_microclusters
    for n_clusters in {1, (n + 1) // 2, n}:
        model = fit_quietly(TRCE(n_clusters), ensemble)
        assert len(np.unique(model.labels_)) == n_clusters
        assert np.isfinite(model.consensus_matrix_).all()
        assert np.isfinite(model.objective_)
        assert ((model.instance_weights_ > 0) & (model.instance_weights_ <= 1)).all()


# ---------------------------------------------------------------- invariances


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_order_and_names_do_not_matter(missing):
    labels, _ = noisy(8, missing=missing)
    model = fit_quietly(TRCE(4), labels)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    names = np.append(rng.permutation(50)[:4], -1)
    moved = fit_quietly(TRCE(4), names[labels][np.ix_(rows, columns)])
    assert adjusted_rand_score(model.labels_[rows], moved.labels_) == 1.0
    np.testing.assert_array_equal(model.instance_weights_[rows], moved.instance_weights_)
    np.testing.assert_array_equal(model.member_weights_[columns], moved.member_weights_)
    np.testing.assert_array_equal(model.consensus_matrix_, moved.consensus_matrix_)


def test_repeated_samples_are_weights():
    labels, _ = noisy(9, missing=0.2)
    counts = np.random.default_rng(2).integers(1, 4, size=len(labels))
    repeated = fit_quietly(TRCE(4), np.repeat(labels, counts, axis=0))
    weighted = fit_quietly(TRCE(4), labels, sample_weight=counts)
    np.testing.assert_array_equal(repeated.labels_, np.repeat(weighted.labels_, counts))
    np.testing.assert_array_equal(repeated.consensus_matrix_, weighted.consensus_matrix_)


def test_a_member_given_twice_is_a_weight_of_two():
    labels, _ = noisy(10, missing=0.2)
    twice = fit_quietly(TRCE(4), np.column_stack([labels, labels[:, 2]]))
    weight = np.where(np.arange(9) == 2, 2.0, 1.0)
    weighted = fit_quietly(TRCE(4), labels, member_weight=weight)
    np.testing.assert_array_equal(twice.labels_, weighted.labels_)
    order = twice.ensemble_.inverse, weighted.ensemble_.inverse
    np.testing.assert_allclose(
        twice.consensus_matrix_[np.ix_(order[0], order[0])],
        weighted.consensus_matrix_[np.ix_(order[1], order[1])],
        atol=1e-10,
    )
    np.testing.assert_allclose(twice.objective_, weighted.objective_)


def test_fractional_sample_weights_are_taken():
    labels, _ = noisy(9)
    model = fit_quietly(TRCE(4), labels, sample_weight=np.full(len(labels), 0.01))
    assert model.n_clusters_ == 4


def test_threads_do_not_change_a_bit():
    labels, _ = noisy(12, n=120, repeats=2)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = fit_quietly(TRCE(4), labels)
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
        many = fit_quietly(TRCE(4), labels)
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(one.consensus_matrix_, many.consensus_matrix_)
    np.testing.assert_array_equal(one.labels_, many.labels_)
