"""CESHL: the compressed solver against the literal transcription and the authors' own runs."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from coterie import CESHL, PCE, Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import accuracy, ari, nmi
from coterie.solvers.ceshl import solver as steps
from coterie.solvers.ceshl.box_lbfgs import SparseRows
from tests.builders import cells_of_blobs, fit_quietly, noisy_members
from tests.naive import ceshl as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=48, n_classes=4, wrong=(0.05, 0.4), random_classes=True)

EDGE_WEIGHTS = ["propagated", "quality", "uniform"]


def columns_of_twin(model):
    """The transcription sorts a member's clusters by label; where those are in the model's order."""
    ensemble = model.ensemble_
    return np.concatenate(
        [
            ensemble.cluster_offsets[j] + np.argsort(ensemble.categories[j])
            for j in range(ensemble.n_members)
        ]
    )


def history(model, name):
    return [record[name] for record in model.history_]


def equal_to_twin(model, twin):
    columns = columns_of_twin(model)
    np.testing.assert_allclose(model.hyperedge_quality_[columns], twin.quality, atol=1e-12)
    np.testing.assert_allclose(model.hyperedge_weights_[columns], twin.weights, atol=1e-10)
    assert history(model, "n_components") == twin.component_history
    assert history(model, "rho") == twin.rho_history
    np.testing.assert_allclose(history(model, "objective"), twin.objective_history, rtol=1e-8)
    learned = model.ensemble_.expand(model.incidence_.toarray())[:, columns]
    np.testing.assert_allclose(learned, twin.incidence, atol=1e-6)
    assert adjusted_rand_score(model.component_labels_, twin.component_labels) == 1.0


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize("edge_weights", EDGE_WEIGHTS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("repeats", [0, 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_compressed_equals_samples(seed, repeats, missing, edge_weights):
    labels, _ = noisy(seed, missing=missing, repeats=repeats)
    model = fit_quietly(CESHL(4, edge_weights=edge_weights), labels)
    equal_to_twin(model, naive.ceshl(labels, 4, model.lam, edge_weights=edge_weights))


@pytest.mark.parametrize("lam", [0.001, 0.1, 1000.0])
@pytest.mark.parametrize("degree_floor", [0.1, 1.0])
def test_settings_equal_samples(lam, degree_floor):
    labels, _ = noisy(2, missing=0.1, repeats=2)
    model = fit_quietly(
        CESHL(5, lam=lam, degree_floor=degree_floor, rho=10.0, inner_iter=7, tol=1e-4, max_iter=12),
        labels,
    )
    twin = naive.ceshl(
        labels, 5, lam, floor=degree_floor, rho=10.0, inner_iter=7, tol=1e-4, max_iter=12
    )
    equal_to_twin(model, twin)


def test_gradient_of_the_transcription_is_that_of_its_objective():
    labels, _ = noisy(3, n=12, n_members=3, n_classes=3)
    H = naive.incidence(labels)
    rng = np.random.default_rng(0)
    w = rng.uniform(0.2, 1.0, H.shape[1])
    Y = np.clip(H + rng.uniform(-0.3, 0.3, H.shape), 0.05, 0.95)
    # rows below and above the floor
    Y[:4] *= 0.2
    least = 0.5 * (H @ w)
    F, _ = naive.bottom_eigenvectors(H, w, least, 3, False)
    slope = naive.gradient(Y, H, w, F, 50.0, least)
    for p, q in [(0, 0), (1, 3), (5, 2), (9, 7), (11, 4)]:
        ends = []
        for h in (1e-6, -1e-6):
            moved = Y.copy()
            moved[p, q] += h
            ends.append(naive.objective(moved, H, w, F, 50.0, least))
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope[p, q], rel=1e-5, abs=1e-6)


# ---------------------------------------------------------------- against the authors' program


@pytest.fixture(scope="module")
def glioma(shared_data):
    path = shared_data / "golden" / "ceshl_glioma.npz"
    if not path.exists():
        pytest.skip(f"no reference runs at {path}")
    with np.load(path) as archive:
        return dict(archive)


def runs_of(glioma):
    for place, lam in enumerate(glioma["settings"].tolist()):
        for run, base in enumerate(glioma["base"]):
            yield run, place, lam, base.astype(np.int64)


def test_transcription_of_the_program_gives_the_authors_labels(glioma):
    equal = []
    for run, place, lam, members in runs_of(glioma):
        # every value of lambda, the ensembles in turn; make golden takes all pairs
        if run != place % len(glioma["base"]):
            continue
        twin = naive.ceshl(members, 4, lam, authors=True)
        np.testing.assert_allclose(twin.quality, glioma["s"][run, place], atol=1e-12)
        np.testing.assert_allclose(twin.weights, glioma["w"][run, place], atol=1e-10)
        equal.append(adjusted_rand_score(twin.component_labels, glioma["labels"][run, place]) == 1)
    # the program amplifies rounding: a run or two may part from it on another machine
    assert np.mean(equal) >= 0.85


def test_solver_has_the_authors_weights_and_no_worse_scores(glioma):
    truth = glioma["y"]
    ours, theirs = [], []
    for run, place, lam, members in runs_of(glioma):
        model = CESHL(4, lam=lam).fit(members)
        columns = columns_of_twin(model)
        np.testing.assert_allclose(
            model.hyperedge_quality_[columns], glioma["s"][run, place], atol=1e-12
        )
        np.testing.assert_allclose(
            model.hyperedge_weights_[columns], glioma["w"][run, place], atol=1e-10
        )
        assert model.converged_
        assert model.n_components_ == model.n_clusters_ == 4
        for scores, labels in ((ours, model.labels_), (theirs, glioma["labels"][run, place])):
            scores.append((accuracy(truth, labels), nmi(truth, labels, average="max")))
    assert (np.mean(ours, axis=0) > np.mean(theirs, axis=0) - 0.01).all()


def test_exactly_n_clusters_on_a_pool(shared_data):
    with np.load(shared_data / "pools" / "ecoli.npz") as pool:
        ensemble = Ensemble.from_labels(pool["members"][:, :20])
    for n_clusters in (2, 8, 30):
        for lam in (1.0, 1000.0):
            model = fit_quietly(CESHL(n_clusters, lam=lam), ensemble)
            assert len(np.unique(model.labels_)) == n_clusters


# ---------------------------------------------------------------- what the theory says


def small_problem(labels, n_clusters=3, **settings_):
    ensemble = Ensemble.from_labels(labels)
    settings_ = CESHL(n_clusters, **settings_)
    weights = steps.weigh_edges(ensemble, steps.edge_quality(ensemble), "propagated", settings_.lam)
    return ensemble, steps.Problem.of(ensemble, weights, settings_)


@pytest.mark.parametrize("seed", range(3))
def test_no_step_raises_the_objective(seed):
    labels, _ = noisy(seed, missing=0.1, repeats=2)
    ensemble, problem = small_problem(labels, n_clusters=4)
    state = steps.start(problem, ensemble, 100.0)
    for _ in range(6):
        before = steps.Fit(problem, state.embedding, state.rho).value(state.incidence)
        record = steps.learn_incidence(problem, state)
        assert record["objective"] <= before
        old = steps.Fit(problem, state.embedding, state.rho).value(state.incidence)
        state.embedding = steps.spectral_embedding(problem, state.incidence)
        new = steps.Fit(problem, state.embedding, state.rho).value(state.incidence)
        assert new <= old * (1 + 1e-9)
        state.rho *= 2


@settings(max_examples=40)
@given(label_matrices(max_samples=12), st.sampled_from([1e-3, 0.1, 1.0, 100.0]))
def test_hyperedge_weights_minimise_4_in_the_box(labels, lam):
    ensemble = Ensemble.from_labels(labels)
    quality = steps.edge_quality(ensemble)
    weights = steps.weigh_edges(ensemble, quality, "propagated", lam)
    assert (quality > 0).all()
    assert (quality <= 1 + 1e-12).all()
    assert (weights > 0).all()
    assert (weights <= 1).all()
    table = (ensemble.incidence.T @ (ensemble.incidence * ensemble.weights[:, None])).toarray()
    degree = table.sum(axis=1)
    slope = weights - table / np.sqrt(np.outer(degree, degree)) @ weights
    slope = slope + lam * (weights - quality)
    inside = weights < 1
    assert np.abs(slope[inside]).max(initial=0.0) < 1e-9
    assert slope[~inside].max(initial=0.0) < 1e-9


def test_the_embedding_is_orthonormal_over_samples_and_shares_ties():
    labels, _ = noisy(1, repeats=2)
    ensemble, problem = small_problem(labels, n_clusters=4)
    F = steps.spectral_embedding(problem, SparseRows.of(ensemble.incidence))
    np.testing.assert_allclose(F.T @ (problem.weights[:, None] * F), np.eye(4), atol=1e-10)
    # three equal parts: any two of three vectors would do, so each counts two thirds
    parts, problem = small_problem(np.repeat([0, 1, 2], 2)[:, None], n_clusters=2)
    F = steps.spectral_embedding(problem, SparseRows.of(parts.incidence))
    np.testing.assert_allclose(F.T @ (problem.weights[:, None] * F), np.eye(3) * 2 / 3, atol=1e-10)


# ---------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("seed", range(3))
def test_order_and_names_change_no_digit(seed):
    labels, _ = noisy(seed, n=80, missing=0.2)
    model = fit_quietly(CESHL(4), labels)
    rng = np.random.default_rng(seed)
    rows, members = rng.permutation(80), rng.permutation(labels.shape[1])
    renamed = np.where(labels < 0, -1, 10 - labels)
    other = fit_quietly(CESHL(4), renamed[rows][:, members])
    assert other.history_ == model.history_
    assert adjusted_rand_score(other.labels_, model.labels_[rows]) == 1.0
    np.testing.assert_array_equal(other.member_weights_, model.member_weights_[members])
    # base clusters follow their members and names: same columns, in another order
    ours = model.ensemble_.expand(model.incidence_.toarray())[rows][:, columns_of_twin(model)]
    theirs = other.ensemble_.expand(other.incidence_.toarray())[:, columns_of_twin(other)]
    for j, member in enumerate(members):
        k = model.ensemble_.n_clusters_per_member
        block = ours[:, k[:member].sum() : k[: member + 1].sum()]
        there = k[members[:j]].sum()
        np.testing.assert_array_equal(theirs[:, there : there + block.shape[1]][:, ::-1], block)


def test_a_repeated_sample_is_a_weight_and_a_repeated_member_too():
    labels, _ = noisy(4, missing=0.1)
    twice = np.arange(len(labels)) % 3 == 0
    repeated = fit_quietly(CESHL(4), np.concatenate([labels, labels[twice]]))
    weighted = fit_quietly(CESHL(4), labels, sample_weight=1 + twice.astype(int))
    assert history(weighted, "n_components") == history(repeated, "n_components")
    np.testing.assert_array_equal(weighted.labels_, repeated.labels_[: len(labels)])

    repeated = fit_quietly(CESHL(4), np.column_stack([labels, labels[:, 2]]))
    weighted = fit_quietly(CESHL(4), labels, member_weight=[1, 1, 2, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(
        history(weighted, "objective"), history(repeated, "objective"), rtol=1e-8
    )
    np.testing.assert_array_equal(weighted.labels_, repeated.labels_)
    once = weighted.hyperedge_weights_[columns_of_twin(weighted)]
    again = repeated.hyperedge_weights_[columns_of_twin(repeated)]
    np.testing.assert_allclose(once, again[: once.size], atol=1e-10)


def test_blas_threads_change_no_digit():
    labels, _ = noisy(5, n=300)
    histories = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            histories.append(fit_quietly(CESHL(4), labels).history_)
    assert histories[0] == histories[1]


# ---------------------------------------------------------------- many distinct rows


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_samples_without_hyperedges_are_no_clusters(seed):
    # some samples lose all hyperedges before the blobs separate
    labels, blobs = cells_of_blobs(3_000, seed, spread=4.0)
    ensemble = Ensemble.from_labels(labels)
    model = CESHL(12).fit(ensemble)
    assert model.converged_
    assert np.bincount(model.labels_).min() > 30
    assert (
        ari(blobs, model.labels_) > ari(blobs, PCE(12, random_state=0).fit_predict(ensemble)) - 0.15
    )


def test_a_sample_without_hyperedges_joins_the_part_of_its_first_ones():
    ensemble, problem = small_problem([[0, 0, 0]] * 3 + [[1, 1, 1]] * 2 + [[0, 0, 1], [2, 2, 2]])
    kept = ensemble.incidence.toarray()
    kept[ensemble.inverse[5:]] = 0.0
    labels = steps.components(problem, SparseRows.of(kept))[ensemble.inverse]
    assert len(set(labels[:3])) == len(set(labels[3:5])) == 1
    assert labels[0] != labels[3]
    # two of its three members had it with the first samples; nobody is left in those of the last
    assert labels[5] == labels[0]
    assert labels[6] not in labels[:6]


def test_memory_stays_within_the_estimate(monkeypatch):
    labels, _ = cells_of_blobs(12_000, 0, spread=3.0)
    ensemble = Ensemble.from_labels(labels)
    demanded = []
    checked = steps.require
    monkeypatch.setattr(
        steps, "require", lambda needed, *rest: (demanded.append(needed), checked(needed, *rest))
    )
    tracemalloc.start()
    try:
        fit_quietly(CESHL(3, max_iter=12), ensemble)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.1 * demanded[-1] < peak < 1.2 * demanded[-1]


# ---------------------------------------------------------------- edges of the domain


def test_identical_members_are_returned():
    labels = np.repeat(np.repeat([0, 1, 2], [3, 4, 5])[:, None], 4, axis=1)
    model = CESHL(3).fit(labels)
    assert model.labels_.tolist() == labels[:, 0].tolist()
    assert model.converged_
    assert model.objective_ == pytest.approx(0.0, abs=1e-9)


def test_parts_that_no_member_links_are_merged_with_a_warning():
    labels = np.repeat(np.repeat([0, 1, 2], [3, 4, 5])[:, None], 4, axis=1)
    with pytest.warns(ConvergenceWarning, match="No member links the 3 parts"):
        model = CESHL(2).fit(labels)
    assert model.n_components_ == 3
    assert model.n_clusters_ == 2
    assert not model.converged_


def test_too_few_passes_warn_once_with_advice():
    labels, _ = noisy(0)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter") as caught:
        model = CESHL(4, max_iter=1, rho=1e-6).fit(labels)
    assert len(caught) == 1
    assert model.n_components_ < 4 == model.n_clusters_


@settings(max_examples=40)
@given(label_matrices(max_samples=10), st.data())
def test_any_input_gives_exactly_n_clusters(labels, data):
    ensemble = Ensemble.from_labels(labels)
    n_clusters = data.draw(st.integers(1, ensemble.n_microclusters))
    model = fit_quietly(CESHL(n_clusters, max_iter=15), ensemble)
    assert len(np.unique(model.labels_)) == n_clusters
    assert len(np.unique(model.component_labels_)) == model.n_components_
    assert model.incidence_.shape == (ensemble.n_microclusters, ensemble.n_base_clusters)
    assert model.incidence_.data.min(initial=0.0) >= 0.0
    assert model.incidence_.data.max(initial=0.0) <= 1.0
    assert np.isfinite([model.objective_, model.residual_]).all()


@pytest.mark.parametrize("extra", ["one cluster", "n clusters"])
def test_members_that_say_nothing_do_no_harm(extra):
    labels, truth = noisy(6, n=60)
    column = np.zeros(60, dtype=int) if extra == "one cluster" else np.arange(60)
    model = fit_quietly(CESHL(4), np.column_stack([labels, column]))
    assert adjusted_rand_score(truth, model.labels_) > 0.8


def test_callback_sees_every_pass():
    labels, _ = noisy(0)
    seen = []
    model = fit_quietly(CESHL(4, callback=seen.append), labels)
    assert seen == model.history_
    assert history(model, "pass") == list(range(1, model.n_iter_ + 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lam", 0.0),
        ("lam", np.inf),
        ("edge_weights", "none"),
        ("rho", -1.0),
        ("degree_floor", 1.5),
        ("inner_iter", 0),
        ("max_iter", 0),
        ("tol", 1.0),
    ],
)
def test_parameters_outside_their_domain_are_named(name, value):
    with pytest.raises(ParameterError, match=name):
        CESHL(2, **{name: value}).fit([[0, 0], [1, 1]])


def test_a_small_memory_budget_is_refused_with_advice():
    labels, _ = noisy(0)
    with pytest.raises(MemoryBudgetError, match="Take fewer members"):
        CESHL(4, memory_budget="10kB").fit(labels)


def test_numbers_that_are_not_finite_are_raised_with_the_step():
    labels, _ = noisy(0)
    _, problem = small_problem(labels)
    shape = (problem.edges.shape[0], problem.edge_weights.size)
    fit = steps.Fit(problem, np.full((shape[0], 3), np.inf), 1.0)
    with pytest.raises(FloatingPointError, match="step for Y"):
        fit.value(SparseRows.of(np.ones(shape)))
