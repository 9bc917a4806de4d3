"""KC against k-means on the rows of the n x n co-association matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble, MemoryBudgetError
from coterie.evaluate import ari
from coterie.solvers import kc
from coterie.solvers.kc import KC, row_features
from tests.naive import bipartite as naive
from tests.naive import evidence
from tests.strategies import label_matrices

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def literal_rows(labels, member_weight=None):
    rows = evidence.shares(labels, member_weight)
    np.fill_diagonal(rows, 1.0)
    return rows


def squares(points):
    return ((points[:, None] - points) ** 2).sum(axis=2)


@given(labels=label_matrices(), data=st.data())
def test_features_are_as_far_apart_as_rows(labels, data):
    m = labels.shape[1]
    weight = np.array(data.draw(st.lists(st.integers(1, 3), min_size=m, max_size=m)), dtype=float)
    ensemble = Ensemble.from_labels(labels, member_weight=weight)
    features = ensemble.expand(row_features(ensemble))
    assert np.allclose(squares(features), squares(literal_rows(labels, weight)), atol=1e-9)


def test_both_forms_of_the_features(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 3, (200, 4))
    ensemble = Ensemble.from_labels(labels)
    n, k = ensemble.n_microclusters, ensemble.n_base_clusters
    few = row_features(ensemble)
    assert few.shape[1] == k - 4 + 1 < n
    monkeypatch.setattr(Ensemble, "is_complete", property(lambda self: False))
    many = row_features(ensemble)
    assert many.shape == (n, n)
    assert np.allclose(squares(few), squares(many), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_best_of_literal_kmeans(seed, missing):
    rng = np.random.default_rng(seed)
    truth = np.arange(75) % 3
    labels = np.where(rng.random((75, 7)) < 0.2, rng.integers(0, 4, (75, 7)), truth[:, None])
    labels[rng.random(labels.shape) < missing] = -1
    labels[(labels < 0).all(axis=1), 0] = 0
    labels = np.concatenate([labels, labels[:30]])
    model = KC(4, n_init=30, random_state=0).fit(labels)
    rows = literal_rows(labels)
    best, expected = naive.kmeans(rows, 4, seed)
    assert model.objective_ == pytest.approx(best)
    assert model.objective_ == pytest.approx(naive.sum_of_squares(rows, model.labels_))
    assert ari(expected, model.labels_) == 1.0


def test_the_small_example():
    model = KC(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.objective_ == pytest.approx(4 / 9)
    assert naive.sum_of_squares(literal_rows(T6), np.array([0, 0, 1, 1, 1, 1])) == pytest.approx(2)


@given(labels=label_matrices(min_samples=2, missing=False), data=st.data())
def test_complete_rows_are_always_told_apart(labels, data):
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    model = KC(c, n_init=2, random_state=0).fit(labels)
    assert model.n_clusters_ == model.n_components_ == c


def test_rows_that_missing_labels_make_equal_are_split_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="KC arrived at 1 component instead of 2 clusters"):
        assert KC(2, random_state=0).fit_predict([[0, 0], [0, -1]]).tolist() == [0, 1]


def test_memory_is_asked_for_first():
    with pytest.raises(MemoryBudgetError, match="co-association matrix and its k-means for N = 3"):
        KC(2, memory_budget=100).fit(T6)
    many = np.random.default_rng(0).integers(0, 3, (200, 4))
    with pytest.raises(MemoryBudgetError, match=r"features of N = .* by k = 12 base clusters"):
        KC(2, memory_budget=100).fit(many)


def test_member_weights_are_the_users():
    labels = np.random.default_rng(1).integers(0, 3, (50, 3))
    model = KC(3, random_state=0).fit(labels, member_weight=[1, 2, 5])
    assert np.allclose(model.member_weights_, [1 / 8, 2 / 8, 5 / 8])
    assert kc.KC.domains().keys() == model.get_params().keys()
