"""CSPA: the cut of its literal form, balance, seeds, and the corners."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Ensemble, ParameterError
from coterie.core.errors import MemoryBudgetError, PackageMissing
from coterie.evaluate import ari
from coterie.solvers.strehl_ghosh import CSPA
from tests.builders import noisy_members
from tests.naive import strehl_ghosh as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=120, n_members=10, n_classes=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def test_the_small_example():
    model = CSPA(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.cut_ == pytest.approx(1.0)
    assert model.history_ == [{"pass": 1, "objective": model.cut_, "residual": 0.0}]


def test_the_small_example_with_a_hole():
    holed = T6.copy()
    holed[2, 1] = -1
    model = CSPA(2, random_state=0).fit(holed)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.cut_ == 0.0


@settings(max_examples=30)
@given(labels=label_matrices(max_samples=10), data=st.data())
def test_the_cut_is_that_of_the_samples(labels, data):
    ensemble = Ensemble.from_labels(labels)
    c = data.draw(st.integers(1, ensemble.n_microclusters))
    model = CSPA(c, random_state=0).fit(ensemble)
    assert np.array_equal(np.unique(model.labels_), np.arange(c))
    assert model.cut_ == pytest.approx(naive.coassociation_cut(labels, model.labels_), abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_balanced_bisection_of_distinct_samples(seed):
    labels = np.random.default_rng(seed).integers(0, 3, (10, 7))
    assert len(np.unique(labels, axis=0)) == 10
    best = naive.best_parts(10, 2, lambda parts: naive.coassociation_cut(labels, parts), heaviest=5)
    model = CSPA(2, random_state=0).fit(labels)
    assert model.cut_ == pytest.approx(best)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_noisy_members_and_missing_labels(missing):
    labels, truth = noisy(0, missing=missing)
    model = CSPA(4, random_state=0).fit(labels)
    assert ari(truth, model.labels_) > 0.9
    assert np.bincount(model.labels_).max() <= 1.05 * 30


def test_order_and_names_do_not_matter():
    labels, _ = noisy(1)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    one = CSPA(5, random_state=3).fit(labels)
    other = CSPA(5, random_state=3).fit(7 - labels[rows][:, columns])
    assert ari(one.labels_[rows], other.labels_) == 1.0
    assert one.cut_ == other.cut_


def test_weights_are_repeated_rows():
    labels, _ = noisy(2, n=60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    weighted = CSPA(4, random_state=0).fit(labels, sample_weight=weights)
    repeated = CSPA(4, random_state=0).fit(np.repeat(labels, weights, axis=0))
    assert ari(np.repeat(weighted.labels_, weights), repeated.labels_) == 1.0
    assert weighted.cut_ == pytest.approx(repeated.cut_)


def test_a_microcluster_heavier_than_a_cluster_is_one():
    labels = np.vstack([np.repeat([[0, 0]], 50, axis=0), [[1, 1], [1, 2], [2, 1], [0, 2], [2, 2]]])
    model = CSPA(3, random_state=0).fit(labels)
    assert np.bincount(model.labels_).tolist()[0] == 50
    assert model.n_clusters_ == 3


def test_the_larger_cluster_needs_a_larger_imbalance():
    truth = np.repeat([0, 1], [60, 30])
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((90, 9)) < 0.15, rng.integers(0, 2, (90, 9)), truth[:, None])
    balanced = CSPA(2, random_state=0).fit_predict(labels)
    free = CSPA(2, imbalance=0.4, random_state=0).fit_predict(labels)
    assert ari(truth, free) > ari(truth, balanced)
    # identical samples stay together, so the limit holds up to one microcluster
    assert np.bincount(balanced).max() < 60


def test_the_corners():
    assert CSPA(1).fit_predict([[3, 4]]).tolist() == [0]
    assert CSPA(3).fit_predict(T6).tolist() == [0, 0, 1, 2, 2, 2]
    assert CSPA(1).fit_predict(T6).tolist() == [0] * 6
    assert CSPA(2).fit_predict([[0], [0], [1]]).tolist() == [0, 0, 1]
    alone = np.column_stack([T6, np.arange(6), np.zeros(6, int)])
    assert CSPA(2).fit_predict(alone).tolist() == [0, 0, 0, 1, 1, 1]
    apart = [[0, -1], [0, -1], [-1, 0], [-1, 0]]
    assert CSPA(2).fit_predict(apart).tolist() == [0, 0, 1, 1]


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(PackageMissing, match=r'pymetis.*pip install "coterie\[graph\]"'):
        CSPA(2).fit(T6)


def test_refusals():
    with pytest.raises(ParameterError, match="imbalance must be a number in"):
        CSPA(2, imbalance=-0.1).fit(T6)
    with pytest.raises(MemoryBudgetError, match="The co-association graph for N = 3"):
        CSPA(2, memory_budget=100).fit(T6)
