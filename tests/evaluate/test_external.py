"""External scores against their definitions and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from coterie import MemoryBudgetError, ParameterError
from coterie.evaluate import (
    accuracy,
    ari,
    nmi,
    pairwise_f,
    purity,
    scores,
)
from coterie.evaluate.external import contingency_table
from tests.naive import scores as naive

AVERAGES = ["arithmetic", "max", "min", "geometric"]
ALL = [accuracy, nmi, ari, pairwise_f, purity]
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=14)


def split(pairs):
    truth, labels = zip(*pairs, strict=True)
    return list(truth), list(labels)


@given(pairs=PAIRS)
def test_against_the_definitions(pairs):
    truth, labels = split(pairs)
    found = scores(truth, labels)
    expected = {
        "accuracy": naive.accuracy(truth, labels),
        "nmi_arithmetic": naive.nmi(truth, labels, "arithmetic"),
        "nmi_max": naive.nmi(truth, labels, "max"),
        "ari": naive.ari(truth, labels),
        "pairwise_f": naive.pairwise_f(truth, labels),
        "purity": naive.purity(truth, labels),
    }
    assert [*found] == [*expected]
    assert found == pytest.approx(expected, abs=1e-12)
    assert all(type(value) is float for value in found.values())


@given(pairs=PAIRS, average=st.sampled_from(AVERAGES))
def test_nmi_and_ari_against_scikit_learn(pairs, average):
    truth, labels = split(pairs)
    reference = metrics.normalized_mutual_info_score(truth, labels, average_method=average)
    assert nmi(truth, labels, average) == pytest.approx(reference, abs=1e-12)
    assert ari(truth, labels) == pytest.approx(metrics.adjusted_rand_score(truth, labels))


@given(pairs=PAIRS, seed=st.integers(0, 100))
def test_names_and_order_do_not_matter(pairs, seed):
    truth, labels = split(pairs)
    order = np.random.default_rng(seed).permutation(len(truth))
    renamed = scores([f"class {truth[i]}" for i in order], [(labels[i], "x") for i in order])
    assert renamed == pytest.approx(scores(truth, labels), abs=1e-12)


@given(pairs=PAIRS)
def test_the_same_partition_scores_exactly_one(pairs):
    truth, _ = split(pairs)
    assert set(scores(truth, [7 - label for label in truth]).values()) == {1.0}
    assert {nmi(truth, truth, average) for average in AVERAGES} == {1.0}


@given(pairs=PAIRS, data=st.data())
def test_weights_are_repeated_samples(pairs, data):
    truth, labels = split(pairs)
    weight = data.draw(st.lists(st.integers(0, 3), min_size=len(truth), max_size=len(truth)))
    if not any(weight):
        weight[0] = 1
    repeated = scores(np.repeat(truth, weight), np.repeat(labels, weight))
    assert scores(truth, labels, sample_weight=weight) == pytest.approx(repeated, abs=1e-12)
    assert scores(truth, labels, np.ones(len(truth))) == scores(truth, labels)


@pytest.mark.parametrize(
    ("truth", "labels", "expected"),
    [
        # one cluster each; every sample alone; one sample
        ([0, 0, 0], [5, 5, 5], [1, 1, 1, 1, 1, 1]),
        ([0, 1, 2], [7, 8, 9], [1, 1, 1, 1, 1, 1]),
        ([0], ["x"], [1, 1, 1, 1, 1, 1]),
        # one cluster against every sample alone, both ways
        ([0, 0, 0, 0], [0, 1, 2, 3], [0.25, 0, 0, 0, 0, 1]),
        ([0, 1, 2, 3], [0, 0, 0, 0], [0.25, 0, 0, 0, 0, 0.25]),
        # independent
        ([0, 0, 1, 1], [0, 1, 0, 1], [0.5, 0, 0, -0.5, 0, 0.5]),
    ],
)
def test_degenerate_partitions(truth, labels, expected):
    assert [*scores(truth, labels).values()] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
def test_a_single_cluster_tells_nothing(average):
    assert nmi([0, 0, 1, 1], [3, 3, 3, 3], average) == 0.0


def test_more_clusters_than_classes_and_fewer():
    assert accuracy([0, 0, 0, 1, 1], [0, 1, 2, 3, 3]) == pytest.approx(0.6)
    assert accuracy([0, 1, 2, 3, 3], [0, 0, 0, 1, 1]) == pytest.approx(0.6)


def test_the_best_match_is_not_the_greedy_one():
    truth = [0] * 5 + [1] * 4 + [0] * 4
    labels = [0] * 5 + [0] * 4 + [1] * 4
    assert accuracy(truth, labels) == pytest.approx(8 / 13)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 0, 1], dtype=np.uint8),
        np.array([2**64 - 1, 2**64 - 1, 0], dtype=np.uint64),
        np.array([-1, -1, 2**40]),
        np.array([0.5, 0.5, 1.5]),
        np.array(["a", "a", "b"]),
        np.array([True, True, False]),
        ["a", "a", 1],
        ("a", "a", "b"),
        [(1, 2), (1, 2), (3,)],
        pd.Series(["a", "a", "b"], index=[9, 9, 9]),
        pd.Series(pd.Categorical(["a", "a", "b"])),
        pd.array([1, 1, 2], dtype="Int64"),
        pl.Series(["a", "a", "b"]),
        range(7, 10),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_of_any_kind(labels):
    first, second, _ = labels
    other = [4, 4, 2] if first == second else [4, 5, 2]
    assert set(scores(labels, other).values()) == {1.0}
    assert set(scores(other, labels).values()) == {1.0}


@pytest.mark.parametrize("function", [*ALL, scores], ids=lambda function: function.__name__)
def test_refusals(function):
    def refused(message, *arguments, **options):
        with pytest.raises(ValueError, match=message):
            function(*arguments, **options)

    refused("truth has 3 labels, but labels has 2; both must label", [0, 1, 1], [0, 1])
    refused("truth and labels are empty: there is nothing to score", [], [])
    refused("labels has no label in row 1; leave out such samples first", [0, 1], [0, None])
    refused("truth has no label in row 0", np.array([np.nan, 1.0]), [0, 1])
    refused("truth has no label in row 1", pd.array([1, pd.NA], dtype="Int64"), [0, 1])
    refused("labels must be a sequence of labels, but is 'ab'", [0, 1], "ab")
    refused("truth must be a sequence of labels, but is 3", 3, [0])
    refused(r"labels must hold one label per sample, but has shape \(1, 2\)", [0], np.zeros((1, 2)))
    refused("truth, row 0: list values cannot be labels", [[0], [1]], [0, 1])
    refused(r"must hold 2 numbers, but has shape \(1,\)", [0, 1], [0, 1], sample_weight=[1])
    refused("at least 1, or 0 .* entry 1 is 0.5", [0, 1], [0, 1], sample_weight=[1, 0.5])
    refused("entry 0 is -1.0", [0, 1], [0, 1], sample_weight=[-1, 1])
    refused("entry 0 is nan", [0, 1], [0, 1], sample_weight=[np.nan, 1])
    refused("sample_weight is zero everywhere", [0, 1], [0, 1], sample_weight=[0, 0])


def test_unknown_average():
    with pytest.raises(ParameterError, match="average must be one of 'arithmetic', 'max', 'min'"):
        nmi([0], [0], "mean")


def test_classes_without_weight_are_not_in_the_table():
    table = contingency_table([0, 0, 1, 2], ["a", "b", "b", "c"], [1, 1, 1, 0])
    assert table.toarray().tolist() == [[1, 1], [0, 1]]


def test_nothing_grows_with_the_square_of_the_samples(monkeypatch):
    n = 200_000
    rng = np.random.default_rng(0)
    labels = rng.permutation(n)
    assert ari(labels, labels[::-1]) == 1.0
    assert nmi(labels, rng.integers(0, 3, n)) < 0.2
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "1GB")
    with pytest.raises(MemoryBudgetError, match="Matching 200,000 clusters with 200,000 classes"):
        accuracy(labels, labels)
