"""RSEC: compressed and in the range of S, against full n x n decompositions of the samples."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.solvers.rsec import RSECH, RSECZ
from tests.builders import fit_quietly, noisy_members
from tests.cases import few_rows
from tests.naive import rsec as naive

noisy = partial(noisy_members, n=36, n_members=7, wrong=0.15, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
both = pytest.mark.parametrize("solver", [RSECH, RSECZ])


def at_samples(model):
    rows = model.ensemble_.inverse
    return model.consensus_matrix_[np.ix_(rows, rows)]


def equal_to_twin(model, twin):
    np.testing.assert_allclose(
        [record["residual"] for record in model.history_], twin.residuals, rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(
        [record["objective"] for record in model.history_], twin.objectives, rtol=1e-7
    )
    assert [record["rank"] for record in model.history_] == twin.ranks
    errors = np.linalg.norm(twin.E, axis=0) / np.linalg.norm(twin.S, axis=0)
    np.testing.assert_allclose(model.sample_error_, errors, atol=1e-8)


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize(("lam1", "lam2"), [(0.1, 0.1), (0.5, 0.5), (0.1, 0.01), (0.02, 0.5)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_equal_to_full_matrices_of_the_samples(lam1, lam2, missing):
    labels, _ = noisy(0, missing=missing)
    twin = naive.rsec(labels, 3, lam1, lam2, passes=60)
    model = fit_quietly(
        RSECH(3, lam1=lam1, lam2=lam2, max_iter=60, tol=0.0, random_state=0), labels
    )
    equal_to_twin(model, twin)
    np.testing.assert_allclose(at_samples(model), twin.W, atol=1e-8)
    assert adjusted_rand_score(model.labels_, naive.partition(twin.H, 3)) == 1.0

    model = fit_quietly(
        RSECZ(3, lam1=lam1, lam2=lam2, max_iter=60, tol=0.0, random_state=0), labels
    )
    graph = (np.abs(twin.J) + np.abs(twin.J.T)) / 2
    np.testing.assert_allclose(at_samples(model), graph, atol=1e-8)
    expected = naive.partition(naive.leading(graph, 3), 3)
    assert adjusted_rand_score(model.labels_, expected) == 1.0


def test_the_range_of_s_may_be_everything():
    # as many base clusters as microclusters and more: nothing lies outside
    rng = np.random.default_rng(1)
    labels = rng.integers(6, size=(20, 6))
    twin = naive.rsec(labels, 3, 0.1, 0.1, passes=50)
    model = fit_quietly(RSECH(3, lam1=0.1, lam2=0.1, max_iter=50, tol=0.0), labels)
    equal_to_twin(model, twin)


def test_both_stop_by_the_same_rule():
    labels, _ = noisy(2)
    twin = naive.rsec(labels, 3, 0.1, 0.1, passes=500, tol=1e-5)
    model = RSECH(3, lam1=0.1, lam2=0.1, random_state=0).fit(labels)
    assert model.converged_
    assert model.n_iter_ == len(twin.residuals)
    assert model.residual_ < 1e-5
    # the two copies of the mixtures have met, and what they leave is the error
    np.testing.assert_allclose(twin.Z, twin.J, atol=1e-5)
    np.testing.assert_allclose(twin.S, twin.S @ twin.Z + twin.E, atol=1e-5)


# ---------------------------------------------------------------- what it is for


@both
def test_members_that_agree_are_reproduced_without_error(solver):
    member = np.repeat([0, 1, 2], [5, 3, 4])
    labels = np.repeat(member[:, None], 6, axis=1)
    model = solver(3, lam1=0.1, lam2=0.1, random_state=0).fit(labels)
    assert adjusted_rand_score(model.labels_, member) == 1.0
    assert model.rank_ == 3
    np.testing.assert_allclose(model.sample_error_, 0.0, atol=1e-6)
    off = model.consensus_matrix_[~np.eye(3, dtype=bool)]
    np.testing.assert_allclose(off, 0.0, atol=1e-8)


@pytest.mark.parametrize(("size", "explained"), [(4, False), (5, True)])
def test_groups_that_are_too_small_count_as_errors(size, explained):
    # s samples on which all agree cost lam1 as a mixture and lam2 s^1.5 as an error
    member = np.repeat([0, 1], [20, size])
    labels = np.repeat(member[:, None], 3, axis=1)
    model = RSECH(2, lam1=0.1, lam2=0.01, random_state=0).fit(labels)
    assert (model.sample_error_[-1] < 1e-6) == explained
    assert model.sample_error_[0] < 1e-6
    assert adjusted_rand_score(model.labels_, member) == 1.0


@both
def test_three_microclusters(solver):
    model = solver(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.consensus_matrix_.shape == (3, 3)
    # the sample between the clusters is the one that fits least
    assert np.argmax(model.sample_error_) == 2


@both
def test_noisy_members(solver):
    rng = np.random.default_rng(3)
    truth = np.arange(90) % 3
    labels = np.repeat(truth[:, None], 8, axis=1)
    wrong = rng.random(labels.shape) < 0.2
    labels[wrong] = rng.integers(3, size=int(wrong.sum()))
    gaps = rng.random(labels.shape) < 0.2
    gaps[np.arange(90), rng.integers(8, size=90)] = False
    assert adjusted_rand_score(truth, solver(3, random_state=0).fit_predict(labels)) > 0.8
    labels[gaps] = -1
    assert adjusted_rand_score(truth, solver(3, random_state=0).fit_predict(labels)) > 0.7


# ---------------------------------------------------------------- invariances


@both
def test_repeated_samples_are_weights(solver):
    labels = np.unique(noisy(4)[0], axis=0)
    counts = np.random.default_rng(1).integers(1, 5, len(labels))
    repeated = solver(3, random_state=0).fit(np.repeat(labels, counts, axis=0))
    weighted = solver(3, random_state=0).fit(labels, sample_weight=counts)
    assert adjusted_rand_score(repeated.labels_, np.repeat(weighted.labels_, counts)) == 1.0
    assert repeated.objective_ == weighted.objective_


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_repeated_members_are_member_weights(missing):
    labels, _ = noisy(5, missing=missing)
    counts = np.array([1, 3, 1, 2, 1, 1, 2])
    repeated = RSECH(3, random_state=0).fit(np.repeat(labels, counts, axis=1))
    weighted = RSECH(3, random_state=0).fit(labels, member_weight=counts)
    np.testing.assert_allclose(at_samples(repeated), at_samples(weighted), atol=1e-7)
    assert adjusted_rand_score(repeated.labels_, weighted.labels_) == 1.0


@both
def test_order_and_names_do_not_matter(solver):
    labels, _ = noisy(6, missing=0.1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    renamed = np.where(labels >= 0, (labels + 2) % 3 * 10, -1)
    model = solver(3, random_state=1).fit(labels)
    other = solver(3, random_state=1).fit(renamed[rows][:, columns])
    assert adjusted_rand_score(other.labels_, model.labels_[rows]) == 1.0
    assert other.objective_ == model.objective_


# ---------------------------------------------------------------- degenerate inputs


@few_rows
@both
@pytest.mark.parametrize(("lam1", "lam2"), [(0.1, 0.1), (1.0, 0.01), (0.01, 10.0)])
def test_any_number_of_clusters_from_one_to_all(solver, labels, lam1, lam2):
    for n_clusters in range(1, Ensemble.from_labels(labels).n_microclusters + 1):
        model = fit_quietly(solver(n_clusters, lam1=lam1, lam2=lam2, random_state=0), labels)
        assert len(np.unique(model.labels_)) == n_clusters
        assert np.isfinite(model.consensus_matrix_).all()
        assert np.isfinite(model.sample_error_).all()
        assert len(np.unique(model.component_labels_)) == model.n_components_


@both
def test_a_penalty_that_leaves_nothing_says_so(solver):
    with pytest.warns(ConvergenceWarning, match="lam1 = 1000 makes all mixtures zero"):
        model = solver(2, lam1=1000.0, lam2=0.01, random_state=0).fit(T6)
    assert model.rank_ == 0
    assert not model.converged_
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]


def test_too_few_passes_say_so():
    with pytest.warns(ConvergenceWarning, match="RSECH did not converge in 9 passes"):
        model = RSECH(3, max_iter=9, random_state=0).fit(noisy(7)[0])
    assert not model.converged_
    assert model.n_iter_ == 9


@both
def test_manners(solver):
    seen = []
    model = solver(2, callback=seen.append, random_state=0).fit(T6)
    assert seen == model.history_
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(
        ParameterError, match=r"lam2 must be a number in \[1e-12, 1e\+12\], but is 0"
    ):
        solver(2, lam2=0).fit(T6)
    with pytest.raises(MemoryBudgetError, match="The RSEC problem"):
        solver(2, memory_budget=100).fit(T6)


@both
def test_a_pool_of_ecoli(shared_data, solver):
    pool = np.load(shared_data / "pools" / "ecoli.npz")
    model = solver(8, random_state=0).fit(pool["members"][:, ::5])
    assert len(np.unique(model.labels_)) == 8
    assert model.converged_
    assert adjusted_rand_score(pool["gt"].ravel(), model.labels_) > 0.3
