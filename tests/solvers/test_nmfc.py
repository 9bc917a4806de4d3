"""NMFC against the n x n factorisation, the known numbers of the small example, and the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.solvers import nmfc as steps
from coterie.solvers.nmfc import NMFC
from tests.builders import fit_quietly, noisy_members
from tests.naive import nmfc as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n_members=6, n_labels=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("member_weight", [None, [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]])
def test_the_literal_factorisation_from_the_same_start(missing, member_weight):
    labels, _ = noisy(0, missing=missing)
    ensemble = Ensemble.from_labels(labels, member_weight=member_weight)
    assert ensemble.n_microclusters < len(labels)
    problem = steps.Problem.of(ensemble)
    A = naive.coassociation(labels, ensemble.member_weight)
    assert problem.square == pytest.approx((A**2).sum())
    for seed in range(3):
        first = steps.start_at_random(problem, 3, np.random.default_rng(seed))
        found = steps.follow(problem, first, max_iter=60, tol=0.0)
        Q, S, errors = naive.nmfc(A, ensemble.expand(first.Q), first.S, len(found.history))
        assert np.allclose(ensemble.expand(found.Q), Q, atol=1e-8)
        assert np.allclose(found.S, S, atol=1e-8)
        assert np.allclose([record["objective"] for record in found.history], errors, atol=1e-8)


def test_the_start_from_k_means_has_unit_columns_and_the_overlap_of_its_columns():
    labels, _ = noisy(1)
    ensemble = Ensemble.from_labels(labels)
    problem = steps.Problem.of(ensemble)
    first = steps.start_from_kmeans(problem, ensemble, 3, np.random.default_rng(0))
    Q = ensemble.expand(first.Q)
    assert np.allclose((Q**2).sum(axis=0), 1)
    assert (Q > 0).all()
    A = naive.coassociation(labels, np.ones(6))
    assert np.allclose(np.diag(first.S), np.diag(Q.T @ A @ Q))


def test_the_numbers_of_the_small_example():
    model = NMFC(2, tol=0.0, random_state=0).fit(T6)
    order = np.argsort(-model.memberships_[0])
    Q = model.memberships_[:, order]
    assert np.allclose(Q[0], [0.6126, 0], atol=1e-4)
    assert np.allclose(Q[2], [0.4846, 0.1591], atol=1e-4)
    assert np.allclose(Q[3], [0, 0.5665], atol=1e-4)
    assert np.allclose(model.scales_[order], [2.5840, 3.1535], atol=1e-4)
    assert model.objective_ == pytest.approx(0.158, abs=1e-3)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]


def test_the_best_start_is_kept():
    labels, _ = noisy(2)
    few = fit_quietly(NMFC(4, n_init=0, random_state=0), labels)
    many = fit_quietly(NMFC(4, n_init=8, random_state=0), labels)
    assert many.objective_ <= few.objective_ * (1 + 1e-9)
    A = naive.coassociation(labels, np.ones(6))
    error = A - many.memberships_ @ np.diag(many.scales_) @ many.memberships_.T
    assert many.objective_ == pytest.approx((error**2).sum())


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_finds_the_classes(missing):
    labels, truth = noisy(3, n=90, n_members=9, missing=missing)
    assert ari(truth, fit_quietly(NMFC(3, random_state=0), labels).labels_) > 0.8


@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_weight_is_a_number_of_rows(labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    model = NMFC(c, n_init=2, max_iter=50, random_state=0)
    one = fit_quietly(model, labels, sample_weight=repeats)
    labels_of_one, objective = one.labels_, one.objective_
    two = fit_quietly(model, np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(labels_of_one, repeats), two.labels_)
    assert objective == pytest.approx(two.objective_, abs=1e-9)
    assert np.array_equal(np.unique(two.labels_), np.arange(c))


def test_shuffling_and_renaming():
    labels, _ = noisy(4, missing=0.2)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    renamed = np.array(["d", "b", "a", "c", None], dtype=object)[labels[samples][:, members]]
    one = fit_quietly(NMFC(3, random_state=0), labels)
    two = fit_quietly(NMFC(3, random_state=0), renamed)
    assert ari(one.labels_[samples], two.labels_) == 1.0
    assert one.objective_ == two.objective_


def test_too_few_passes_warn_and_the_callback_sees_every_pass():
    labels, _ = noisy(5)
    seen = []
    with pytest.warns(ConvergenceWarning, match="NMFC did not converge in 3 passes"):
        NMFC(3, max_iter=3, random_state=0, callback=seen.append).fit(labels)
    assert [record["pass"] for record in seen] == [1, 2, 3]
