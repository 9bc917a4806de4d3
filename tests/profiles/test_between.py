"""Pairs of clusters, and the association of clusters with external columns."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from coterie import ParameterError, profile
from coterie.evaluate import nmi


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    labels = np.repeat([3, 7, 9], 40)
    X = rng.normal(size=(120, 5))
    X[labels == 9] += 20
    X[labels == 7, 2] += 2
    return X, labels


def test_a_pair_is_a_profile_of_its_samples(case):
    X, labels = case
    pair = profile(X, labels).between(3, 7)
    only = labels != 9
    table = profile(X[only], labels[only]).table
    own = table["cluster"] == 3
    names = {"typical_b": "typical_rest", "mean_b": "mean_rest"}
    for name in pair.columns:
        assert pair[name].tolist() == table[names.get(name, name)][own].tolist(), name
    assert pair["column"][0] == "x2"


def test_turning_a_pair_around_turns_its_signs(case):
    X, labels = case
    whole = profile(X, labels, n_bootstrap=0)
    one, other = whole.between(3, 7), whole.between(7, 3)
    assert one["column"].tolist() == other["column"].tolist()
    np.testing.assert_allclose(one["auc"], 1 - other["auc"])
    np.testing.assert_allclose(one["difference"], -other["difference"])
    np.testing.assert_allclose(one["p_value"], other["p_value"])
    assert one["typical"].tolist() == other["typical_b"].tolist()


def test_columns_that_do_not_vary_in_the_pair_are_left_out():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0], [5.0, 5.0], [6.0, 6.0]])
    pair = profile(X, [0, 0, 1, 1, 2, 2]).between(0, 1)
    assert pair["column"].tolist() == ["x1"]


def test_clusters_that_cannot_be_compared(case):
    X, labels = case
    whole = profile(X, labels, n_bootstrap=0)
    with pytest.raises(ParameterError, match="there is no cluster 4; the clusters are 3, 7, 9"):
        whole.between(3, 4)
    with pytest.raises(ParameterError, match="two different clusters, but both are 3"):
        whole.between(3, 3)


def test_annotations_are_the_external_columns_with_the_strongest_first(case):
    X, labels = case
    rng = np.random.default_rng(1)
    noise, classes = rng.normal(size=120), np.where(labels == 9, "ill", "well")
    result = profile(X, labels, external={"noise": noise, "class": classes})
    annotations = result.annotations
    assert annotations["column"].tolist() == ["class", "noise"]
    assert annotations["association"][0] == pytest.approx(1)
    assert annotations["nmi"][0] == pytest.approx(nmi(classes, labels))
    assert np.isnan(annotations["nmi"][1])
    groups = [noise[labels == c] for c in (3, 7, 9)]
    assert annotations["p_value"][1] == pytest.approx(stats.kruskal(*groups).pvalue)
    assert profile(X, labels).annotations["column"].tolist() == []
