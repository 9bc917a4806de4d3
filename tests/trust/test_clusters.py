"""Clusters: cohesion, separation, stability and the rest equal loops over pairs of samples."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given

from coterie import Ensemble
from coterie.trust import diagnose_clusters
from tests.naive import trust as naive
from tests.trust.partitions import partitions


@given(case=partitions(max_samples=10))
def test_cluster_diagnostics_equal_loops(case):
    labels, partition = case
    m, c = labels.shape[1], partition.max() + 1
    weight = np.arange(1, m + 1, dtype=float)
    ensemble = Ensemble.from_labels(labels, member_weight=weight)
    table = diagnose_clusters(ensemble, partition)
    soft = naive.soft_labels(labels, partition, c, weight)
    sure = naive.confidence(labels, partition, soft, weight)
    for q, row in enumerate(table.rows()):
        inside = partition == q
        assert row["cluster"] == q
        assert row["size"] == inside.sum()
        assert row["share"] == pytest.approx(inside.mean())
        assert row["confidence"] == pytest.approx(sure[inside].mean(), abs=1e-9)
        expected = naive.cohesion(labels, partition, q, weight)
        assert row["cohesion"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
        expected = naive.separation(labels, partition, q, weight)
        assert row["separation"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
        best = [naive.best_jaccard(labels, partition, q, j) for j in range(m)]
        seen = [j for j in range(m) if best[j] is not None]
        mean = np.average([best[j] for j in seen], weights=weight[seen])
        assert row["stability"] == pytest.approx(mean)
        against = sum(best[j] <= 0.5 for j in seen)
        assert sum(count for _, count in read(row["disagreeing"])) == against
        if c == 1:
            assert row["nearest"] == -1
        else:
            near = [
                naive.separation(labels, partition, q, weight, other=d) if d != q else -1
                for d in range(c)
            ]
            greatest = np.nanmax(near)
            assert row["nearest"] != q
            assert np.nan_to_num(near[row["nearest"]]) == pytest.approx(max(greatest, 0), abs=1e-9)


def read(text):
    """How members disagree, and how many, as (way, count)."""
    for part in filter(None, text.split("; ")):
        way, by = part.split(" by ", 1)
        many = re.match(r"(?:all )?(\d+) members\b", by)
        yield way, int(many[1]) if many else len(by.split(", "))


def test_weights_count_as_repeated_samples():
    labels = np.array([[0, 0, -1], [0, 1, 1], [1, 1, 0], [1, 1, 1]])
    weight = [3, 1, 2, 4]
    partition = np.array([0, 0, 1, 1])
    rows = np.repeat(np.arange(4), weight)
    one = diagnose_clusters(Ensemble.from_labels(labels, sample_weight=weight), partition)
    other = diagnose_clusters(Ensemble.from_labels(labels[rows]), partition[rows])
    for column in (c for c in one.columns if c != "disagreeing"):
        assert np.allclose(one[column], other[column])


def test_a_lone_sample_has_no_cohesion():
    table = diagnose_clusters(Ensemble.from_labels([[0, 0], [1, 1], [1, 1]]), [0, 1, 1])
    assert np.isnan(table["cohesion"][0])
    assert table["cohesion"][1] == 1
    assert table["size"].tolist() == [1, 2]


def test_members_that_split_or_merge_are_named():
    truth = np.repeat([0, 1, 2], 8)
    merge = np.where(truth == 1, 0, truth)
    split = np.where(truth == 2, 2 + np.arange(24) % 4, truth)
    ensemble = Ensemble.from_members(
        [truth, truth, merge, split], ["good", "fine", "merges", "splits"]
    )
    table = diagnose_clusters(ensemble, truth)
    assert table["disagreeing"].tolist() == [
        "merged with 1 by merges",
        "merged with 0 by merges",
        "split by splits",
    ]
    many = Ensemble.from_members([truth, *[split] * 5], ["good", *"abcde"])
    assert diagnose_clusters(many, truth)["disagreeing"][2] == "split by 5 members (a, b, c, …)"
    alone = Ensemble.from_members([split] * 2, ["a", "b"])
    assert diagnose_clusters(alone, truth)["disagreeing"][2] == "split by all 2 members"
    assert table["nearest"].tolist()[:2] == [1, 0]
    assert table["stability"].tolist() == pytest.approx([3.5 / 4, 3.5 / 4, 3.25 / 4])


def test_weights_below_one_make_no_pairs_of_their_own():
    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [1, 1]], sample_weight=[0.5, 0.5, 0.5])
    table = diagnose_clusters(ensemble, [0, 0, 1])
    assert table["cohesion"][0] == pytest.approx(0.5)
    assert np.isnan(table["cohesion"][1])
