"""DREC: the closed form in the range of X against column by column systems."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.solvers.drec import DREC, Mixture, Problem
from tests.builders import noisy_members
from tests.cases import few_rows
from tests.naive import drec as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=45, wrong=0.15)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def at_samples(matrix, rows):
    return matrix[np.ix_(rows, rows)]


@pytest.mark.parametrize("lam", [0.1, 10.0, 100.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("rounds", [1, 5])
def test_equal_to_systems_column_by_column(lam, missing, rounds):
    labels, _ = noisy(0, missing=missing)
    model = DREC(3, lam=lam, max_iter=rounds, random_state=0).fit(labels)
    twin = naive.drec(labels, lam, rounds=rounds)
    np.testing.assert_allclose(
        at_samples(model.consensus_matrix_, model.ensemble_.inverse),
        at_samples(twin.affinity, twin.inverse),
        atol=1e-8,
    )
    np.testing.assert_allclose(model.sample_residual_, twin.residual[twin.inverse], atol=1e-10)
    np.testing.assert_allclose(
        [record["objective"] for record in model.history_], twin.objectives, rtol=1e-10
    )
    if lam >= 10:  # below, the affinity is nearly the identity and every cut of it as good
        found = naive.partition(twin.affinity, 3)[twin.inverse]
        assert adjusted_rand_score(model.labels_, found) == 1.0
    assert model.n_iter_ == rounds


@given(labels=label_matrices(max_samples=8, min_samples=2), lam=st.sampled_from([0.5, 100.0]))
@settings(max_examples=30)
def test_small_cases_equal_systems_column_by_column(labels, lam):
    model = DREC(1, lam=lam, n_init=1).fit(labels)
    twin = naive.drec(labels, lam)
    np.testing.assert_allclose(
        at_samples(model.consensus_matrix_, model.ensemble_.inverse),
        at_samples(twin.affinity, twin.inverse),
        atol=1e-7,
    )
    np.testing.assert_allclose(model.sample_residual_, twin.residual[twin.inverse], atol=1e-8)


@pytest.mark.parametrize("lam", [0.01, 1.0, 100.0])
def test_the_objective_never_rises(lam):
    labels, _ = noisy(1, missing=0.1)
    seen = []
    model = DREC(3, lam=lam, max_iter=30, callback=seen.append, random_state=0).fit(labels)
    values = np.array([record["objective"] for record in model.history_])
    assert (np.diff(values) <= 1e-10 * values[:-1]).all()
    assert seen == model.history_
    assert model.objective_ == values[-1]


def test_a_round_solves_its_own_ridge_regression():
    labels, _ = noisy(2, n=20)
    problem = Problem.of(Ensemble.from_labels(labels), 7.0)
    first = Mixture.start(problem).again(problem)
    Z = (first.coefficients @ problem.rows.T).T
    gram = (problem.rows * problem.squares) @ problem.rows.T
    np.testing.assert_allclose((gram + 7.0 * np.eye(len(Z))) @ Z, gram, atol=1e-10)


def test_three_microclusters():
    model = DREC(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.ensemble_.n_microclusters == 3
    np.testing.assert_allclose(np.diag(model.consensus_matrix_), 1.0)
    here = at_samples(model.consensus_matrix_, model.ensemble_.inverse)
    assert here[0, 2] > here[2, 3] > here[0, 3]


def test_how_often_a_row_occurs_does_not_matter():
    rows = np.unique(noisy(3)[0], axis=0)
    counts = np.random.default_rng(0).integers(1, 6, len(rows))
    once = DREC(3, random_state=0).fit(rows)
    often = DREC(3, random_state=0).fit(np.repeat(rows, counts, axis=0))
    weighted = DREC(3, random_state=0).fit(rows, sample_weight=counts)
    for other, repeats in ((often, counts), (weighted, np.ones(len(rows), dtype=int))):
        matrix = at_samples(other.consensus_matrix_, other.ensemble_.inverse)
        expected = at_samples(once.consensus_matrix_, np.repeat(once.ensemble_.inverse, repeats))
        np.testing.assert_allclose(matrix, expected, atol=1e-10)
        assert adjusted_rand_score(other.labels_, np.repeat(once.labels_, repeats)) == 1.0


def test_repeated_members_are_member_weights():
    labels, _ = noisy(4, missing=0.1)
    counts = np.array([1, 3, 1, 2, 1, 1, 2, 1])
    repeated = DREC(3, random_state=0).fit(np.repeat(labels, counts, axis=1))
    weighted = DREC(3, random_state=0).fit(labels, member_weight=counts)
    np.testing.assert_allclose(
        at_samples(repeated.consensus_matrix_, repeated.ensemble_.inverse),
        at_samples(weighted.consensus_matrix_, weighted.ensemble_.inverse),
        atol=1e-10,
    )
    assert adjusted_rand_score(repeated.labels_, weighted.labels_) == 1.0


def test_order_and_names_do_not_matter():
    labels, _ = noisy(5, missing=0.1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    renamed = np.where(labels >= 0, (labels + 2) % 3 * 10, -1)
    model = DREC(3, random_state=1).fit(labels)
    other = DREC(3, random_state=1).fit(renamed[rows][:, columns])
    assert adjusted_rand_score(other.labels_, model.labels_[rows]) == 1.0
    assert other.objective_ == model.objective_
    assert np.array_equal(other.consensus_matrix_, model.consensus_matrix_)


def test_a_sample_that_resembles_nothing_stays_unexplained():
    labels = np.repeat(np.arange(30)[:, None] % 2, 6, axis=1)
    rng = np.random.default_rng(0)
    labels[np.arange(30), rng.integers(6, size=30)] ^= 1
    labels[0] = [7, 8, 9, 7, 8, 9]
    model = DREC(2, random_state=0).fit(labels)
    assert np.argmax(model.sample_residual_) == 0
    assert ((model.sample_residual_ >= 0) & (model.sample_residual_ <= 1)).all()


@few_rows
@pytest.mark.parametrize("lam", [0.01, 100.0, 1e6])
def test_any_number_of_clusters_from_one_to_all(labels, lam):
    for n_clusters in range(1, Ensemble.from_labels(labels).n_microclusters + 1):
        model = DREC(n_clusters, lam=lam, random_state=0).fit(labels)
        assert len(np.unique(model.labels_)) == n_clusters
        assert np.isfinite(model.consensus_matrix_).all()
        assert np.isfinite(model.sample_residual_).all()


def test_identical_members():
    member = np.repeat([0, 1, 2], [5, 3, 1])
    model = DREC(3, random_state=0).fit(np.repeat(member[:, None], 6, axis=1))
    assert adjusted_rand_score(model.labels_, member) == 1.0
    np.testing.assert_allclose(model.consensus_matrix_, np.eye(3), atol=1e-12)


def test_refusals():
    with pytest.raises(ParameterError, match=r"lam must be a number in \(0, inf\), but is 0"):
        DREC(2, lam=0).fit(T6)
    with pytest.raises(MemoryBudgetError, match="The affinity that DREC learns"):
        DREC(2, memory_budget=100).fit(T6)


def test_a_pool_of_ecoli(shared_data):
    pool = np.load(shared_data / "pools" / "ecoli.npz")
    model = DREC(8, random_state=0).fit(pool["members"][:, ::5])
    assert len(np.unique(model.labels_)) == 8
    assert adjusted_rand_score(pool["gt"].ravel(), model.labels_) > 0.3
