"""LWEA against its literal form on samples, the authors' runs, and in the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from coterie import EAC, Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import ari
from coterie.solvers.locally_weighted import LWEA
from tests.builders import noisy_members
from tests.naive import evidence
from tests.naive import lwea as naive

noisy = partial(noisy_members, n=80, n_members=9, n_classes=4, n_labels=5, wrong=0.3, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("theta", [0.2, 0.4, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_literal_dendrogram(seed, theta, missing):
    labels, _ = noisy(seed, missing=missing)
    model = LWEA(4, theta=theta).fit(labels)
    assert model.ensemble_.n_microclusters < len(labels)
    # further down, pairs that share one base cluster only tie, and SciPy takes them by position
    top = model.dendrogram_.heights[-8:]
    assert np.allclose(naive.dendrogram(labels, theta)[-8:, 2], top)
    for c in (2, 4, 9):
        found = LWEA(c, theta=theta).fit_predict(labels)
        assert ari(naive.partition(labels, c, theta), found) == 1.0


@pytest.mark.parametrize("pool", ["ecoli", "aggregation", "umist", "spf"])
def test_the_authors_labels(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file["lwea"]
    for labels, theirs in zip(base, golden, strict=True):
        assert ari(theirs, LWEA(len(np.unique(truth))).fit_predict(labels)) == 1.0


def test_the_small_example():
    model = LWEA(2).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.dendrogram_.heights.round(4).tolist() == [0.6899, 0.9713]
    assert model.history_[0]["objective"] == pytest.approx(0.6899, abs=1e-4)
    assert model.n_components_ == 2
    assert ari(model.component_labels_, model.labels_) == 1.0


def test_reliabilities_are_in_the_users_order():
    labels, _ = noisy(4)
    model = LWEA(4).fit(labels)
    ensemble = Ensemble.from_labels(labels)
    values = evidence.reliability(labels, 0.4)
    for (j, q, _), value in zip(evidence.base_clusters(labels), values, strict=True):
        place = ensemble.cluster_offsets[j] + ensemble.categories[j].tolist().index(q)
        assert model.cluster_reliability_[place] == pytest.approx(value)
    mean = [
        np.mean(
            [
                values[p]
                for p, (k, _, own) in enumerate(evidence.base_clusters(labels))
                if k == j
                for _ in own
            ]
        )
        for j in range(labels.shape[1])
    ]
    assert np.allclose(model.member_weights_, np.array(mean) / np.sum(mean))


def test_theta_without_bound_is_evidence_accumulation():
    labels, _ = noisy(5)
    heights = LWEA(4, theta=1e12).fit(labels).dendrogram_.heights
    assert np.allclose(heights, EAC(4).fit(labels).dendrogram_.heights)


def test_a_scattered_base_cluster_counts_less():
    # the last member mixes the two groups; without weights its pairs count as much as the others'
    labels = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 1, 0], [1, 1, 1], [1, 1, 2]])
    weights = LWEA(2).fit(labels).member_weights_
    assert weights[2] < weights[0] == pytest.approx(weights[1])


def test_degenerate_inputs():
    assert LWEA(1).fit_predict([[0, 1], [1, 1]]).tolist() == [0, 0]
    assert LWEA(3).fit_predict([[5], [5], [7], [9]]).tolist() == [0, 0, 1, 2]
    assert LWEA(1).fit_predict([[3, 4]]).tolist() == [0]
    with pytest.raises(ParameterError, match="theta must be a number in"):
        LWEA(2, theta=0.0).fit(T6)
    with pytest.raises(MemoryBudgetError, match="The locally weighted co-association matrix"):
        LWEA(2, memory_budget=10).fit(T6)
