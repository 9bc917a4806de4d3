"""HGPA: the cut of its literal form, its weights and objectives, and the corners."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Ensemble, ParameterError
from coterie.core.errors import PackageMissing
from coterie.evaluate import ari
from coterie.solvers.strehl_ghosh import HGPA
from tests.naive import strehl_ghosh as naive
from tests.strategies import label_matrices

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def small_clusters(seed: int, n: int = 90, m: int = 8, c: int = 3):
    """Members that divide each true cluster into a few of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(c), n // c))
    labels = 4 * truth[:, None] + rng.integers(0, 4, (n, m))
    labels[rng.random((n, m)) < 0.01] = 0
    return labels, truth


def test_the_small_example():
    model = HGPA(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.cut_ == 1.0
    assert model.history_ == [{"pass": 1, "objective": 1.0, "residual": 0.0}]


def test_the_small_example_by_size():
    # only the base cluster of samples 2 to 5 is cut
    assert HGPA(2, hyperedge_weight="size", random_state=0).fit(T6).cut_ == 4.0


def test_the_small_example_with_a_hole():
    holed = T6.copy()
    holed[2, 1] = -1
    model = HGPA(2, random_state=0).fit(holed)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.cut_ == 0.0


@pytest.mark.parametrize("size", [False, True])
@pytest.mark.parametrize("connectivity", [False, True])
@settings(max_examples=15)
@given(labels=label_matrices(max_samples=10), data=st.data())
def test_the_cut_is_that_of_the_samples(size, connectivity, labels, data):
    ensemble = Ensemble.from_labels(labels)
    c = data.draw(st.integers(1, ensemble.n_microclusters))
    model = HGPA(
        c,
        hyperedge_weight="size" if size else "unit",
        objective="connectivity" if connectivity else "cut",
        random_state=0,
    ).fit(ensemble)
    assert np.array_equal(np.unique(model.labels_), np.arange(c))
    expected = naive.clusters_cut(labels, model.labels_, size=size, connectivity=connectivity)
    assert model.cut_ == expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [False, True])
def test_the_best_balanced_bisection_of_distinct_samples(seed, size):
    labels = np.random.default_rng(seed).integers(0, 5, (10, 6))
    best = naive.best_parts(
        10, 2, lambda parts: naive.clusters_cut(labels, parts, size=size), heaviest=5
    )
    model = HGPA(2, hyperedge_weight="size" if size else "unit", random_state=0).fit(labels)
    assert model.cut_ == best


def test_members_of_small_clusters():
    labels, truth = small_clusters(0)
    model = HGPA(3, random_state=0).fit(labels)
    assert ari(truth, model.labels_) > 0.9
    assert np.bincount(model.labels_).max() <= 1.05 * 30


def test_order_and_names_do_not_matter():
    labels, _ = small_clusters(1)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    one = HGPA(4, random_state=3).fit(labels)
    other = HGPA(4, random_state=3).fit(99 - labels[rows][:, columns])
    assert ari(one.labels_[rows], other.labels_) == 1.0
    assert one.cut_ == other.cut_


def test_weights_are_repeated_rows():
    labels, _ = small_clusters(2, n=60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    weighted = HGPA(3, random_state=0).fit(labels, sample_weight=weights)
    repeated = HGPA(3, random_state=0).fit(np.repeat(labels, weights, axis=0))
    assert ari(np.repeat(weighted.labels_, weights), repeated.labels_) == 1.0
    assert weighted.cut_ == repeated.cut_


def test_a_weight_of_two_is_a_member_given_twice():
    labels, _ = small_clusters(3, n=30, m=3)
    doubled = HGPA(3, random_state=0).fit(labels, member_weight=[2, 1, 1])
    parts = doubled.labels_
    assert doubled.cut_ == naive.clusters_cut(labels[:, [0, 0, 1, 2]], parts)


def test_the_corners():
    assert HGPA(1).fit_predict([[3, 4]]).tolist() == [0]
    assert HGPA(3).fit_predict(T6).tolist() == [0, 0, 1, 2, 2, 2]
    assert HGPA(2).fit_predict([[0], [0], [1]]).tolist() == [0, 0, 1]
    alone = np.column_stack([T6, np.arange(6), np.zeros(6, int)])
    assert HGPA(2).fit_predict(alone).tolist() == [0, 0, 0, 1, 1, 1]
    # nothing but samples alone: no hyperedge can be cut, the balance is all there is
    every = HGPA(2).fit(np.arange(6)[:, None])
    assert np.bincount(every.labels_).tolist() == [3, 3]
    assert every.cut_ == 0.0


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    with pytest.raises(PackageMissing, match=r'mtkahypar.*pip install "coterie\[graph\]"'):
        HGPA(2).fit(T6)


def test_refusals():
    with pytest.raises(ParameterError, match="hyperedge_weight must be one of 'unit', 'size'"):
        HGPA(2, hyperedge_weight="log").fit(T6)
