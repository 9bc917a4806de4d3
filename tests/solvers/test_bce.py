"""BCE against its literal form on samples, its bound, and the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma as reference_digamma

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.solvers.bce import BCE
from coterie.solvers.bce import solver as steps
from coterie.solvers.bce.kernels import digamma
from tests.builders import fit_quietly, noisy_members
from tests.naive import bce as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n_members=6, n_labels=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def split(ensemble, beta):
    """One c x k_j matrix a member."""
    ends = ensemble.cluster_offsets
    return [beta[ends[j] : ends[j + 1]].T for j in range(ensemble.n_members)]


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("member_weight", [None, [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]])
def test_the_literal_method_from_the_same_start(missing, member_weight):
    labels, _ = noisy(0, n=45, missing=missing)
    ensemble = Ensemble.from_labels(labels, member_weight=member_weight)
    raw = ensemble.expand(ensemble.labels)
    for first in steps.starts(ensemble, 3, 3, np.random.default_rng(0)):
        found = steps.follow(ensemble, first, max_iter=6, tol=0.0)
        alpha, betas, gammas, bounds = naive.bce(
            raw, first.alpha, split(ensemble, first.beta), ensemble.member_weight, 6
        )
        assert np.allclose(ensemble.expand(found.gamma), gammas, rtol=1e-7)
        assert np.allclose(found.model.alpha, alpha, rtol=1e-7)
        for one, two in zip(split(ensemble, found.model.beta), betas, strict=True):
            assert np.allclose(one, two, atol=1e-8)
        assert np.allclose([record["objective"] for record in found.history], bounds, rtol=1e-9)


@given(x=st.floats(1e-6, 1e6))
def test_digamma(x):
    assert digamma(x) == pytest.approx(reference_digamma(x), rel=1e-12, abs=1e-12)


def test_the_bound_rises_as_a_rule_where_memberships_are_exact(monkeypatch):
    monkeypatch.setattr(steps, "ROW_TOL", 1e-10)
    monkeypatch.setattr(steps, "ALPHA_TOL", 1e-10)
    labels, _ = noisy(5, missing=0.1)
    ensemble = Ensemble.from_labels(labels)
    for first in steps.starts(ensemble, 3, 6, np.random.default_rng(1)):
        found = steps.follow(ensemble, first, max_iter=100, tol=1e-4)
        bounds = np.array([record["objective"] for record in found.history])
        # memberships start anew in each pass, and may end elsewhere now and then
        assert np.mean(np.diff(bounds) > -1e-6 * np.abs(bounds[:-1])) > 0.9
        assert bounds[-1] > bounds[0]


def test_the_start_of_largest_bound_is_kept():
    labels, _ = noisy(2)
    few = fit_quietly(BCE(3, n_init=1, random_state=0), labels)
    bounds = []
    ensemble = Ensemble.from_labels(labels)
    canonical = ensemble.reorder_members(ensemble.canonical_member_order)
    for first in steps.starts(canonical, 3, 8, np.random.default_rng(0)):
        bounds.append(steps.follow(canonical, first, 500, 0.01).bound)
    many = fit_quietly(BCE(3, n_init=8, random_state=0), labels)
    assert many.bound_ == pytest.approx(max(bounds))
    assert np.isfinite(few.bound_)


def test_starts_come_from_members_of_as_many_clusters_then_from_k_means_then_at_random():
    labels, _ = noisy(3)
    labels[:, 1:] = np.where(labels[:, 1:] == 3, 0, labels[:, 1:])
    labels[:3, 0] = [0, 1, 3]
    ensemble = Ensemble.from_labels(labels)
    assert (ensemble.n_clusters_per_member == 3).sum() == 5
    models = steps.starts(ensemble, 3, 4, np.random.default_rng(0))
    assert [bool((model.alpha == steps.FIRST_ALPHA).all()) for model in models] == [True] * 2 + [
        False
    ] * 2
    for model in models:
        for block in split(ensemble, model.beta):
            assert np.allclose(block.sum(axis=1), 1)
            assert (block > 0).all()


def test_most_seeds_find_the_small_example():
    found = [fit_quietly(BCE(2, random_state=seed), T6).labels_.tolist() for seed in range(8)]
    assert found == [[0, 0, 0, 1, 1, 1]] * 8


def test_memberships_and_chances_are_shares():
    labels, _ = noisy(4, missing=0.2)
    model = fit_quietly(BCE(3, random_state=0), labels)
    assert np.allclose(model.memberships_.sum(axis=1), 1)
    ends = model.ensemble_.cluster_offsets
    for j in range(6):
        assert np.allclose(model.label_chances_[ends[j] : ends[j + 1]].sum(axis=0), 1)
    assert ari(np.argmax(model.memberships_, axis=1), model.component_labels_) == 1.0


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_finds_the_classes(missing):
    labels, truth = noisy(5, n=90, n_members=9, missing=missing)
    assert ari(truth, fit_quietly(BCE(3, random_state=0), labels).labels_) > 0.8


@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_weight_is_a_number_of_rows(labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    one = fit_quietly(BCE(c, n_init=3, random_state=0), labels, sample_weight=repeats)
    two = fit_quietly(BCE(c, n_init=3, random_state=0), np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(one.labels_, repeats), two.labels_)
    assert one.bound_ == pytest.approx(two.bound_)
    assert np.array_equal(np.unique(two.labels_), np.arange(c))


def test_shuffling_and_renaming():
    labels, _ = noisy(6, missing=0.2)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    renamed = np.array(["d", "b", "a", "c", None], dtype=object)[labels[samples][:, members]]
    one = fit_quietly(BCE(3, random_state=0), labels)
    two = fit_quietly(BCE(3, random_state=0), renamed)
    assert ari(one.labels_[samples], two.labels_) == 1.0
    assert one.bound_ == two.bound_


def test_the_callback_sees_every_pass_of_the_start_kept():
    labels, _ = noisy(7)
    seen = []
    model = fit_quietly(BCE(3, random_state=0, callback=seen.append), labels)
    assert seen == model.history_
