"""MCLA: likeness, association and choice against their literal forms, and the corners."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble
from coterie.core.errors import PackageMissing
from coterie.evaluate import ari
from coterie.solvers.strehl_ghosh import MCLA, first_choice, likeness_graph
from tests.builders import noisy_members
from tests.naive import strehl_ghosh as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=120, n_members=10, n_classes=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def by_the_ensemble(labels):
    """The labels as the ensemble codes them, so that base clusters come in its order."""
    ensemble = Ensemble.from_labels(labels)
    return ensemble, ensemble.labels[ensemble.inverse].astype(np.int64)


# ---------------------------------------------------------------- steps


def test_the_likeness_of_the_small_example():
    ensemble = Ensemble.from_labels(T6)
    matrix = likeness_graph(ensemble, np.ones(6)).toarray()
    # base clusters of the heaviest microcluster come first: the samples 3 to 5
    order = [1, 0, 3, 2, 5, 4]
    c = matrix[np.ix_(order, order)]
    assert c[0, 2] == pytest.approx(2 / 3)
    assert c[0, 3] == pytest.approx(1 / 6)
    assert c[0, 4] == pytest.approx(1)
    assert c[1, 3] == pytest.approx(3 / 4)
    assert c[1, 5] == pytest.approx(1)
    assert c[0, 1] == c[2, 3] == c[0, 0] == c[1, 2] == 0


@given(labels=label_matrices())
def test_the_likeness_is_the_literal_one(labels):
    ensemble, coded = by_the_ensemble(labels)
    matrix = likeness_graph(ensemble, np.ones(ensemble.n_base_clusters)).toarray()
    assert np.allclose(matrix, naive.likeness(coded), atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=30)
@given(labels=label_matrices(max_samples=10), data=st.data())
def test_the_association_and_the_choice_are_the_literal_ones(labels, data):
    ensemble, coded = by_the_ensemble(labels)
    c = data.draw(st.integers(1, ensemble.n_microclusters))
    model = MCLA(c, random_state=0).fit(ensemble)
    assert np.array_equal(np.unique(model.labels_), np.arange(c))
    expected = naive.association(coded, model.meta_clusters_)
    assert np.allclose(model.association_, expected, atol=1e-12)
    for i, chosen in enumerate(model.component_labels_):
        assert expected[i, chosen] >= expected[i].max() - 1e-9
    likeness = naive.likeness(coded)
    apart = model.meta_clusters_[:, None] != model.meta_clusters_[None]
    assert model.cut_ == pytest.approx((likeness * apart).sum() / 2, abs=1e-9)
    assert model.n_components_ == len(np.unique(model.component_labels_))
    assert model.converged_ == (model.n_components_ == c)
    if model.converged_:
        assert ari(model.component_labels_, model.labels_) == 1.0


def test_ties_go_to_the_meta_cluster_of_greater_total():
    association = np.array([[0.5, 0.5], [0.2, 0.9], [0.3, 0.1]])
    assert first_choice(association, np.ones(3)).tolist() == [1, 1, 0]
    assert first_choice(association, np.array([1.0, 1.0, 9.0])).tolist() == [0, 1, 0]


# ---------------------------------------------------------------- the whole


def test_the_small_example():
    model = MCLA(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    # base clusters by member: samples 3 to 5 first, for they are the heaviest microcluster
    assert model.meta_clusters_.tolist() == [0, 1, 0, 1, 0, 1]
    assert np.allclose(model.association_[2], [1 / 3, 2 / 3])
    # likeness 1/6 of the samples 2 to 5 with 0 to 2, in two members
    assert model.cut_ == pytest.approx(2 / 6)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_noisy_members_and_missing_labels(missing):
    labels, truth = noisy(0, missing=missing)
    model = MCLA(4, random_state=0).fit(labels)
    assert ari(truth, model.labels_) > 0.9
    assert model.converged_


def test_order_and_names_do_not_matter():
    labels, _ = noisy(1)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    one = MCLA(4, random_state=3).fit(labels)
    other = MCLA(4, random_state=3).fit(7 - labels[rows][:, columns])
    assert ari(one.labels_[rows], other.labels_) == 1.0
    assert one.cut_ == other.cut_
    assert np.array_equal(one.association_[rows], other.association_)


def test_weights_are_repeated_rows():
    labels, _ = noisy(2, n=60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    weighted = MCLA(4, random_state=0).fit(labels, sample_weight=weights)
    repeated = MCLA(4, random_state=0).fit(np.repeat(labels, weights, axis=0))
    assert ari(np.repeat(weighted.labels_, weights), repeated.labels_) == 1.0
    assert np.allclose(np.repeat(weighted.association_, weights, axis=0), repeated.association_)


def test_samples_count_as_often_as_they_are_there():
    # the same rows once each and many times are other problems: sizes enter the likeness
    ensemble = Ensemble.from_labels(np.repeat(T6, [9, 1, 1, 1, 1, 1], axis=0))
    once = likeness_graph(Ensemble.from_labels(T6), np.ones(6)).sum()
    assert likeness_graph(ensemble, np.ones(6)).sum() != pytest.approx(once)


def test_too_few_first_choices_are_mended_and_told():
    labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    with pytest.warns(ConvergenceWarning, match="MCLA arrived at .* instead of 4 clusters"):
        model = MCLA(4, random_state=0).fit(labels)
    assert model.n_clusters_ == 4
    assert model.n_components_ < 4
    assert model.converged_ is False


def test_more_clusters_than_base_clusters():
    labels = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    with pytest.warns(ConvergenceWarning):
        model = MCLA(8, random_state=0).fit(labels)
    assert model.n_clusters_ == 8
    assert model.association_.shape == (8, 6)


def test_the_corners():
    assert MCLA(1).fit_predict([[3, 4]]).tolist() == [0]
    assert MCLA(1).fit_predict(T6).tolist() == [0] * 6
    assert MCLA(3).fit_predict([[0], [0], [1], [2]]).tolist() == [
        0,
        0,
        1,
        2,
    ]
    alone = np.column_stack([T6, np.arange(6)])
    assert MCLA(2).fit_predict(alone).tolist() == [0, 0, 0, 1, 1, 1]


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(PackageMissing, match=r'pymetis.*pip install "coterie\[graph\]"'):
        MCLA(2).fit(T6)
