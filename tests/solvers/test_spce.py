"""SPCE: the compressed solver against the n x n transcription and the authors' own runs."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.numerics import row_ranges
from coterie.solvers.spce import SPCE
from coterie.solvers.spce import solver as steps
from tests.builders import fit_quietly, noisy_members
from tests.cases import few_rows
from tests.naive import spce as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=50, n_classes=4, wrong=(0.05, 0.3), random_classes=True)


def at_samples(model, matrix):
    rows = model.ensemble_.inverse
    return matrix[np.ix_(rows, rows)]


def equal_to_twin(model, twin):
    assert [record["n_components"] for record in model.history_] == twin.components
    assert model.n_components_ == twin.n_components
    assert adjusted_rand_score(model.component_labels_, twin.labels) == 1.0
    np.testing.assert_allclose(
        at_samples(model, model.consensus_matrix_), twin.consensus, atol=1e-8
    )
    np.testing.assert_allclose(at_samples(model, model.pair_weights_), twin.pair_weights, atol=1e-8)
    np.testing.assert_allclose(
        model.member_weights_, 1 / twin.alpha / np.sum(1 / twin.alpha), atol=1e-8
    )
    ours = [(record["objective_before"], record["objective"]) for record in model.history_]
    # the terms of the objective have both signs and cancel; each is a sum over all pairs of samples
    n_pairs = twin.consensus.size
    np.testing.assert_allclose(ours, twin.objectives, rtol=1e-8, atol=1e-10 * n_pairs)


def never_rises(model):
    for record in model.history_:
        assert record["objective"] <= record["objective_before"] * (1 + 1e-10) + 1e-8 * abs(
            record["objective_before"]
        )


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize("theta", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("repeats", [0, 1])
def test_compressed_equals_samples(theta, missing, repeats):
    labels, _ = noisy(3, missing=missing, repeats=repeats)
    model = fit_quietly(SPCE(4, theta=theta, tol=0.0), labels)
    equal_to_twin(model, naive.spce(labels, 4, theta))
    never_rises(model)


@pytest.mark.parametrize("self_paced", [False, "fixed"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_ablations_equal_samples(self_paced, missing):
    labels, _ = noisy(5, missing=missing, repeats=1)
    model = fit_quietly(SPCE(4, self_paced=self_paced, tol=0.0), labels)
    equal_to_twin(model, naive.spce(labels, 4, 0.2, self_paced=self_paced))
    never_rises(model)
    if self_paced is False:
        assert set(np.unique(model.pair_weights_)) <= {0.0, 1.0}


@given(
    labels=label_matrices(max_samples=9, min_samples=2),
    theta=st.sampled_from([0.15, 0.35, 0.8]),
    data=st.data(),
)
@settings(max_examples=40)
def test_small_cases_equal_samples(labels, theta, data):
    n_distinct = len(np.unique(labels, axis=0))
    n_clusters = data.draw(st.integers(1, n_distinct))
    model = fit_quietly(
        SPCE(n_clusters, theta=theta, tol=0.0, max_iter=3, max_iter_stage=2), labels
    )
    twin = naive.spce(labels, n_clusters, theta, stage_passes=2, last_passes=3)
    equal_to_twin(model, twin)
    assert len(np.unique(model.labels_)) == n_clusters


# ---------------------------------------------------------------- against the authors' runs


def golden_lung(shared_data):
    runs = np.load(shared_data / "golden" / "spce_lung.npz")
    for base, by_setting in zip(runs["base"], runs["labels"], strict=True):
        for theta, expected in zip(runs["settings"], by_setting, strict=True):
            yield base.astype(np.int64), float(theta), expected


def test_every_golden_run_agrees(shared_data):
    for base, theta, expected in golden_lung(shared_data):
        model = fit_quietly(SPCE(5, theta=theta), base)
        assert adjusted_rand_score(model.component_labels_, expected) == 1.0, theta
        assert len(np.unique(model.labels_)) == 5
        never_rises(model)


@pytest.mark.parametrize("authors_rank_test", [False, True])
def test_transcription_agrees_with_golden_runs(shared_data, authors_rank_test):
    runs = [run for run in golden_lung(shared_data) if run[1] in (0.1, 0.4, 0.9)][:3]
    for base, theta, expected in runs:
        twin = naive.spce(base, 5, theta, authors_rank_test=authors_rank_test)
        assert adjusted_rand_score(twin.labels, expected) == 1.0, theta


# ---------------------------------------------------------------- invariances


def test_order_and_names_do_not_matter():
    labels, _ = noisy(9, missing=0.1, repeats=1)
    rng = np.random.default_rng(0)
    model = fit_quietly(SPCE(4), labels)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    renamed = np.where(labels >= 0, (labels + 2) % 4 * 10, -1)
    for other, expected in [
        (labels[rows], model.labels_[rows]),
        (labels[:, columns], model.labels_),
        (renamed, model.labels_),
    ]:
        again = fit_quietly(SPCE(4), other)
        assert adjusted_rand_score(again.labels_, expected) == 1.0
        assert again.objective_ == model.objective_
    moved = fit_quietly(SPCE(4), labels[:, columns]).member_weights_
    np.testing.assert_allclose(moved, model.member_weights_[columns], rtol=1e-12)


def test_repeated_samples_are_weights():
    labels = np.unique(noisy(10)[0], axis=0)
    counts = np.random.default_rng(1).integers(1, 5, len(labels))
    repeated = fit_quietly(SPCE(4), np.repeat(labels, counts, axis=0))
    weighted = fit_quietly(SPCE(4), labels, sample_weight=counts)
    assert adjusted_rand_score(repeated.labels_, np.repeat(weighted.labels_, counts)) == 1.0
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_repeated_members_are_member_weights(missing):
    labels, _ = noisy(11, missing=missing)
    counts = np.array([1, 3, 1, 2, 1, 1, 2, 1])
    repeated = fit_quietly(SPCE(4), np.repeat(labels, counts, axis=1))
    weighted = fit_quietly(SPCE(4), labels, member_weight=counts)
    assert adjusted_rand_score(repeated.labels_, weighted.labels_) == 1.0
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-9)
    np.testing.assert_allclose(
        at_samples(repeated, repeated.consensus_matrix_),
        at_samples(weighted, weighted.consensus_matrix_),
        atol=1e-8,
    )


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(row_ranges, "SERIAL_ROWS", 0)
    labels, _ = noisy(12, n=300, n_members=10, missing=0.05)
    before = numba.get_num_threads()
    try:
        runs = []
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(threads)
            runs.append(fit_quietly(SPCE(4), labels))
    finally:
        numba.set_num_threads(before)
    assert runs[0].history_ == runs[1].history_
    np.testing.assert_array_equal(runs[0].consensus_matrix_, runs[1].consensus_matrix_)
    np.testing.assert_array_equal(runs[0].labels_, runs[1].labels_)


# ---------------------------------------------------------------- degenerate inputs


@pytest.mark.parametrize("self_paced", [True, False, "fixed"])
def test_identical_members(self_paced):
    member = np.repeat([0, 1, 2], [5, 3, 1])
    model = SPCE(3, self_paced=self_paced).fit(np.repeat(member[:, None], 6, axis=1))
    assert adjusted_rand_score(model.labels_, member) == 1.0
    assert model.converged_
    np.testing.assert_allclose(model.member_weights_, 1 / 6)
    np.testing.assert_allclose(model.sample_easiness_, 1.0)


@few_rows
@pytest.mark.parametrize("theta", [0.0, 0.2, 0.9])
def test_any_number_of_clusters_from_one_to_all(labels, theta):
    size = Ensemble.from_labels(labels).n_microclusters
    for n_clusters in range(1, size + 1):
        model = fit_quietly(SPCE(n_clusters, theta=theta), labels)
        assert len(np.unique(model.labels_)) == n_clusters
        assert np.isfinite(model.consensus_matrix_).all()
        assert np.isfinite(model.objective_)
        assert len(np.unique(model.component_labels_)) == model.n_components_
        never_rises(model)


def test_a_member_that_equals_the_consensus_does_not_divide_by_zero():
    truth = np.repeat([0, 1, 2], 10)
    labels, _ = noisy(13, n=30, n_members=5)
    labels[:, 0] = truth
    labels[:, 1:4] = truth[:, None]
    labels[::7, 4] = (labels[::7, 4] + 1) % 4
    model = fit_quietly(SPCE(3), labels)
    assert np.isfinite(model.member_weights_).all()
    assert adjusted_rand_score(model.labels_, truth) == 1.0


def test_a_pair_that_no_member_saw_has_no_weight_and_no_link():
    labels = np.array([[0, -1], [0, 0], [-1, 0], [1, -1], [1, 1], [-1, 1]])
    model = fit_quietly(SPCE(2), labels)
    unseen = ((labels[:, None, :] >= 0) & (labels[None, :, :] >= 0)).sum(axis=2) == 0
    assert unseen[0, 2]
    assert not at_samples(model, model.pair_weights_)[unseen].any()
    assert not at_samples(model, model.consensus_matrix_)[unseen].any()
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1.0


def test_half_the_labels_missing_chains_nothing_together():
    rng = np.random.default_rng(4)
    truth = np.repeat([0, 1, 2], 40)
    labels = np.repeat(truth[:, None], 20, axis=1)
    wrong = rng.random(labels.shape) < 0.15
    labels[wrong] = rng.integers(3, size=int(wrong.sum()))
    labels[rng.random(labels.shape) < 0.5] = -1
    assert adjusted_rand_score(SPCE(3).fit_predict(labels), truth) > 0.95


# ---------------------------------------------------------------- what is reported


def test_disputed_samples_are_less_easy():
    rng = np.random.default_rng(5)
    labels = np.repeat(np.repeat([0, 1], 20)[:, None], 10, axis=1)
    labels[:4] = rng.integers(2, size=(4, 10))
    model = fit_quietly(SPCE(2), labels)
    assert model.sample_easiness_[:4].mean() < model.sample_easiness_[4:].min()
    assert (model.sample_easiness_ <= 1).all()


def test_worse_members_count_less():
    rng = np.random.default_rng(6)
    labels = np.repeat(rng.integers(3, size=60)[:, None], 8, axis=1)
    for member, share in enumerate(np.linspace(0.0, 0.6, 8)):
        wrong = rng.random(60) < share
        labels[wrong, member] = rng.integers(3, size=int(wrong.sum()))
    weights = fit_quietly(SPCE(3), labels).member_weights_
    assert weights[:3].min() > weights[5:].max()


def test_callback_sees_every_pass():
    seen = []
    model = fit_quietly(SPCE(4, callback=seen.append), noisy(7)[0])
    assert [dict(record) for record in seen] == model.history_
    assert [record["pass"] for record in seen] == list(range(1, model.n_iter_ + 1))
    assert sorted({record["stage"] for record in seen}) == [0.5, 0.6, 0.7, 0.8, 0.9]
    assert model.objective_ == seen[-1]["objective"]
    assert model.residual_ == seen[-1]["residual"]


def test_one_warning_with_advice():
    labels, _ = noisy(8)
    with pytest.warns(ConvergenceWarning, match=r"Lower theta \(now 0.95\)") as caught:
        model = SPCE(2, theta=0.95).fit(labels)
    assert len(caught) == 1
    assert not model.converged_
    assert model.n_components_ > 2
    with pytest.warns(ConvergenceWarning, match="No member links 3 parts"):
        SPCE(2).fit([[0], [1], [2]])
    with pytest.warns(ConvergenceWarning, match="Raise max_iter or theta"):
        SPCE(15, theta=0.0, max_iter=2, max_iter_stage=1).fit(labels)


def test_bad_parameters():
    labels, _ = noisy(0)
    for wrong, text in [
        ({"theta": 1.0}, r"theta must be a number in \[0, 1\), but is 1.0"),
        ({"self_paced": "slow"}, "self_paced must be one of True, False, 'fixed'"),
        ({"max_iter": 1}, "max_iter must be a whole number of at least 2"),
        ({"tol": -1.0}, "tol must be"),
    ]:
        with pytest.raises(ParameterError, match=text):
            SPCE(3, **wrong).fit(labels)
    with pytest.raises(MemoryBudgetError, match="The consensus matrix that SPCE learns"):
        SPCE(3, memory_budget=1000).fit(labels)


def test_numbers_that_are_not_finite_are_refused(monkeypatch):
    def broken(problem, state):
        state.alpha = np.full_like(state.alpha, np.nan)

    monkeypatch.setattr(steps, "weigh_members", broken)
    with pytest.raises(FloatingPointError, match="SPCE: the consensus step"):
        SPCE(3).fit(noisy(1)[0])
