"""RCE: two errors a pair on microclusters, against m matrices of errors over the samples."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.solvers.rce import RCE
from coterie.solvers.rce.kernels import _error
from tests.builders import fit_quietly, noisy_members
from tests.cases import few_rows
from tests.naive import rce as naive

noisy = partial(noisy_members, n=16, n_members=5, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def at_samples(model):
    rows = model.ensemble_.inverse
    return model.consensus_matrix_[np.ix_(rows, rows)]


# ---------------------------------------------------------------- the errors


def test_errors_of_a_half():
    assert 1 - _error(1.0, 1.0) == pytest.approx(0.7071, abs=1e-4)
    assert _error(2.0 - 1.0, 1.0) == pytest.approx(0.2929, abs=1e-4)


@pytest.mark.parametrize(
    ("x", "of_a_one", "of_a_zero"), [(2 / 3, 0.1835, 0.4226), (1 / 3, 0.4226, 0.1835)]
)
def test_errors_of_thirds(x, of_a_one, of_a_zero):
    assert _error(2 * x, 1.0) == pytest.approx(of_a_one, abs=1e-4)
    assert _error(2 - 2 * x, 1.0) == pytest.approx(of_a_zero, abs=1e-4)


@pytest.mark.parametrize("lam", [0.01, 0.5, 1.0, 3.0, 100.0])
def test_errors_minimise_their_own_cost(lam):
    grid = np.linspace(0, 1, 2001)
    for a, b in [(0.1, 0.3), (0.5, 0.5), (0.9, 0.6), (0.02, 0.97)]:
        for answer, found in ((1, _error(a + b, lam)), (0, -_error(2 - a - b, lam))):
            costs = [
                naive.kl(a, abs(answer - x)) + naive.kl(b, abs(answer - x)) + 2 * lam * x
                for x in grid
            ]
            assert abs(found) == pytest.approx(grid[np.argmin(costs)], abs=6e-4)
            assert found == pytest.approx(naive.best_error(a, b, answer, lam), abs=1e-12)


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize(("lam1", "lam2"), [(1.0, 1.0), (10.0, 0.1), (0.1, 10.0), (100.0, 100.0)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_equal_to_the_samples(lam1, lam2, missing):
    labels, _ = noisy(0, missing=missing)
    assert Ensemble.from_labels(labels).n_microclusters < len(labels)
    twin = naive.rce(labels, lam1, lam2, passes=4, steps=5)
    model = fit_quietly(
        RCE(3, lam1=lam1, lam2=lam2, max_iter=4, max_iter_inner=5, tol=0.0, random_state=0), labels
    )
    np.testing.assert_allclose(at_samples(model), twin.X, atol=1e-9)
    np.testing.assert_allclose(
        [record["objective"] for record in model.history_], twin.objectives, rtol=1e-8
    )


def test_three_microclusters():
    twin = naive.rce(T6, 100.0, 1.0)
    model = RCE(2, tol=0.0, random_state=0).fit(T6)
    np.testing.assert_allclose(at_samples(model), twin.X, atol=1e-9)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    # two of three members join b to a, one to d: the majority is made clearer
    between = at_samples(model)
    assert between[0, 2] > 2 / 3
    assert between[2, 3] < 1 / 3
    assert between[0, 3] == 0.0
    assert between[0, 1] == 1.0


# ---------------------------------------------------------------- behaviour


@pytest.mark.parametrize("lam1", [1.0, 10.0])
def test_the_objective_falls(lam1):
    labels, _ = noisy(1, n=60, n_members=8)
    model = RCE(3, lam1=lam1, lam2=0.1, tol=0.0, random_state=0).fit(labels)
    values = np.array([record["objective"] for record in model.history_])
    assert (np.diff(values) <= 1e-6 * values[:-1]).all()
    assert model.n_iter_ == 20


def test_tol_ends_passes_early_and_keeps_the_partition():
    labels, _ = noisy(2, n=90, n_members=8)
    every = RCE(3, tol=0.0, random_state=0).fit(labels)
    model = RCE(3, random_state=0).fit(labels)
    assert model.n_iter_ < every.n_iter_ == 20
    assert model.residual_ < 0.01
    assert sum(record["steps"] for record in every.history_) == 400
    assert adjusted_rand_score(model.labels_, every.labels_) == 1.0


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_noisy_members(missing):
    rng = np.random.default_rng(3)
    truth = np.arange(90) % 3
    labels = np.repeat(truth[:, None], 8, axis=1)
    wrong = rng.random(labels.shape) < 0.2
    labels[wrong] = rng.integers(3, size=int(wrong.sum()))
    gaps = rng.random(labels.shape) < missing
    gaps[np.arange(90), rng.integers(8, size=90)] = False
    labels[gaps] = -1
    assert adjusted_rand_score(truth, RCE(3, random_state=0).fit_predict(labels)) > 0.85


def test_no_rank_term():
    labels, _ = noisy(4)
    twin = naive.rce(labels, 1.0, 0.0, passes=3, steps=4)
    model = fit_quietly(
        RCE(3, lam1=1.0, lam2=0.0, max_iter=3, max_iter_inner=4, tol=0.0, random_state=0), labels
    )
    np.testing.assert_allclose(at_samples(model), twin.X, atol=1e-9)


def test_a_pair_that_no_member_saw_has_no_link():
    labels = np.array([[0, -1], [0, 0], [-1, 0], [1, -1], [1, 1], [-1, 1]])
    model = fit_quietly(RCE(2, random_state=0), labels)
    unseen = ((labels[:, None, :] >= 0) & (labels[None, :, :] >= 0)).sum(axis=2) == 0
    assert not at_samples(model)[unseen].any()
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1.0


# ---------------------------------------------------------------- invariances


def test_repeated_samples_are_weights():
    labels = np.unique(noisy(5, n=40)[0], axis=0)
    counts = np.random.default_rng(1).integers(1, 5, len(labels))
    repeated = RCE(3, random_state=0).fit(np.repeat(labels, counts, axis=0))
    weighted = RCE(3, random_state=0).fit(labels, sample_weight=counts)
    assert adjusted_rand_score(repeated.labels_, np.repeat(weighted.labels_, counts)) == 1.0
    assert repeated.objective_ == weighted.objective_


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_repeated_members_are_member_weights(missing):
    labels, _ = noisy(6, n=40, missing=missing)
    counts = np.array([1, 3, 1, 2, 1])
    repeated = RCE(3, random_state=0).fit(np.repeat(labels, counts, axis=1))
    weighted = RCE(3, random_state=0).fit(labels, member_weight=counts)
    np.testing.assert_allclose(at_samples(repeated), at_samples(weighted), atol=1e-9)
    assert repeated.objective_ == pytest.approx(weighted.objective_, rel=1e-9)


def test_order_and_names_do_not_matter():
    labels, _ = noisy(7, n=40, missing=0.1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    renamed = np.where(labels >= 0, (labels + 2) % 3 * 10, -1)
    model = RCE(3, random_state=1).fit(labels)
    other = RCE(3, random_state=1).fit(renamed[rows][:, columns])
    assert adjusted_rand_score(other.labels_, model.labels_[rows]) == 1.0
    assert other.objective_ == model.objective_


# ---------------------------------------------------------------- degenerate inputs


def test_identical_members():
    member = np.repeat([0, 1, 2], [5, 3, 1])
    model = RCE(3, random_state=0).fit(np.repeat(member[:, None], 6, axis=1))
    assert adjusted_rand_score(model.labels_, member) == 1.0
    np.testing.assert_array_equal(model.consensus_matrix_, np.eye(3))


@few_rows
@pytest.mark.parametrize(("lam1", "lam2"), [(100.0, 1.0), (1e-4, 1e4), (1e4, 1e-4), (1e4, 1e4)])
def test_any_number_of_clusters_from_one_to_all(labels, lam1, lam2):
    for n_clusters in range(1, Ensemble.from_labels(labels).n_microclusters + 1):
        model = fit_quietly(RCE(n_clusters, lam1=lam1, lam2=lam2, random_state=0), labels)
        assert len(np.unique(model.labels_)) == n_clusters
        assert ((model.consensus_matrix_ >= 0) & (model.consensus_matrix_ <= 1)).all()
        assert np.isfinite(model.objective_)
        assert len(np.unique(model.component_labels_)) == model.n_components_


def test_manners():
    seen = []
    model = RCE(2, callback=seen.append, random_state=0).fit(T6)
    assert seen == model.history_
    with pytest.raises(
        ParameterError, match=r"lam1 must be a number in \[1e-12, 1e\+12\], but is 0"
    ):
        RCE(2, lam1=0).fit(T6)
    with pytest.raises(MemoryBudgetError, match="The consensus matrix that RCE learns"):
        RCE(2, memory_budget=100).fit(T6)


def test_a_pool_of_ecoli(shared_data):
    pool = np.load(shared_data / "pools" / "ecoli.npz")
    model = RCE(8, random_state=0).fit(pool["members"][:, ::5])
    assert len(np.unique(model.labels_)) == 8
    assert adjusted_rand_score(pool["gt"].ravel(), model.labels_) > 0.3
