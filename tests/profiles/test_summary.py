"""The part of a profile that a Result keeps: of bounded size, saved and loaded."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coterie import EAC, ConsensusClustering, Result, profile
from coterie.core.errors import ResultFileError
from coterie.io.result_file import write_result
from coterie.profiles import BINS, _summary


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], [40, 30, 20])
    return pd.DataFrame(
        {
            "height": rng.normal(group * 9.0, 1),
            "kind": np.array(["a", "b", "c"])[group],
            "noise": rng.normal(size=90),
            "few": rng.integers(0, 4, 90),
            "same": 1.0,
        }
    )


@pytest.fixture(scope="module")
def model(frame):
    return ConsensusClustering(3, n_members=6, random_state=0).fit(frame)


@pytest.fixture(scope="module")
def summary(model):
    return Result.of(model).profile


def test_numbers_are_those_of_the_profile(model, frame, summary):
    full = {(row["cluster"], row["column"]): row for row in profile(frame, model).table.rows()}
    assert len(full) == 3 * len(summary.columns)
    for j, column in enumerate(summary.columns):
        for c, cluster in enumerate(summary.clusters.tolist()):
            row = full[cluster, column["column"]]
            for name in ("difference", "auc", "typical", "typical_rest", "mean", "mean_rest"):
                assert getattr(summary, name)[j, c] == pytest.approx(row[name], abs=1e-5)
            if column["kind"] == "category":
                assert column["levels"][summary.level[j, c]] == row["level"]
    assert summary.notes == ["Columns left out: same (constant)."]
    assert (summary.n_columns, summary.n_samples, summary.n_looked_at) == (4, 90, 90)


def test_the_most_telling_columns_come_first(summary):
    assert {column["column"] for column in summary.columns[:2]} == {"height", "kind"}
    assert summary.sentences[0].startswith("Cluster 0 has ")
    assert all(" of cluster " in rule for rule in summary.rules)


def test_bars_are_shares_of_the_cluster_and_of_all_others(model, frame, summary):
    start = 0
    for column in summary.columns:
        end = start + (len(column["labels"]) or BINS)
        own, rest = summary.own[:, start:end], summary.rest[:, start:end]
        np.testing.assert_allclose(own.sum(axis=1), 1, atol=1e-5)
        values = frame[column["column"]]
        for c, cluster in enumerate(summary.clusters.tolist()):
            inside = model.labels_ == cluster
            for part, shares in ((values[inside], own[c]), (values[~inside], rest[c])):
                if column["column"] in ("kind", "few"):
                    counts = part.astype(str).value_counts(normalize=True)
                    expected = [counts.get(label, 0) for label in column["labels"]]
                else:
                    low, high = column["ends"]
                    clipped = np.clip(part, low, high)
                    expected = np.histogram(clipped, BINS, (low, high))[0] / len(part)
                np.testing.assert_allclose(shares, expected, atol=1e-5)
        start = end


def test_a_result_keeps_it_in_its_file(model, tmp_path):
    result = Result.of(model)
    result.save(tmp_path / "result.npz")
    again = Result.load(tmp_path / "result.npz").profile
    assert again.sentences == result.profile.sentences
    assert again.columns == result.profile.columns
    np.testing.assert_array_equal(again.own, result.profile.own)
    record = result.to_record()
    del record["profile"]
    write_result(tmp_path / "old.npz", record)
    assert Result.load(tmp_path / "old.npz").profile is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("own", np.zeros((3, 2), dtype=np.float32)),
        ("level", np.full((4, 3), 99, dtype=np.int32)),
        ("clusters", np.zeros(2, dtype=np.int64)),
        ("columns", [{"column": "a"}] * 4),
        ("sentences", [1, 2, 3]),
        ("n_columns", "many"),
    ],
)
def test_a_damaged_part_is_noticed(model, tmp_path, name, value):
    result = Result.of(model)
    damaged = replace(result, profile=replace(result.profile, **{name: value}))
    write_result(tmp_path / "result.npz", damaged.to_record())
    with pytest.raises(ResultFileError, match="the profile is damaged"):
        Result.load(tmp_path / "result.npz")


def test_columns_added_after_the_fit_are_not_described(frame):
    table = frame.copy()
    model = ConsensusClustering(3, n_members=6, random_state=0).fit(table)
    table["cluster"] = model.labels_
    names = {column["column"] for column in Result.of(model).profile.columns}
    assert names == {"height", "kind", "noise", "few"}
    given = Result.of(model, X=table).profile
    assert {c["column"] for c in given.columns if c["role"] == "external"} == {"cluster"}


def test_a_saved_model_does_not_hold_the_table(frame, model):
    again = pickle.loads(pickle.dumps(model))
    assert again.fitted_table() is None
    assert Result.of(again).profile is None
    assert Result.of(again, X=frame).profile.sentences == Result.of(model).profile.sentences


def test_no_table_and_nothing_to_describe():
    labels = [[0, 0], [0, 0], [1, 1], [1, 1]]
    assert Result.of(EAC(2).fit(labels)).profile is None
    assert Result.of(EAC(2).fit(labels), X=np.ones((4, 2))).profile is None


def test_of_many_columns_the_most_telling_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20_000))
    labels = np.arange(60) % 3
    X[:, 12_345] += 9 * labels
    summary = Result.of(EAC(3).fit(np.stack([labels, labels], axis=1)), X=X).profile
    assert summary.n_columns == 20_000
    assert len(summary.columns) == 2000
    assert summary.columns[0]["column"] == "x12345"


def test_of_many_samples_some_are_drawn_and_sizes_stay_true(monkeypatch):
    monkeypatch.setattr(_summary, "MAX_SAMPLES", 300)
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [800, 190, 10])
    X = rng.normal(size=(1000, 2)) + 5 * labels[:, None]
    summary = Result.of(EAC(3).fit(np.stack([labels, labels], axis=1)), X=X).profile
    assert summary.n_samples == 1000
    assert 300 <= summary.n_looked_at <= 303
    assert summary.mean[0].tolist() == pytest.approx([0, 5, 10], abs=0.9)


def test_many_clusters_and_clusters_of_one_sample():
    labels = np.r_[np.repeat(np.arange(80), 3), 80]
    X = np.random.default_rng(0).normal(size=(241, 2)) + labels[:, None]
    summary = Result.of(EAC(81).fit(np.stack([labels, labels], axis=1)), X=X).profile
    assert len(summary.clusters) == len(summary.sentences) == 60
    assert 80 not in summary.clusters
    alone = Result.of(
        EAC(2).fit([[0, 0], [0, 0], [0, 0], [1, 1]]), X=np.array([[1.0], [2.0], [1.5], [9.0]])
    )
    assert "cluster 1" not in "".join(alone.profile.rules)
    assert np.isnan(alone.profile.low[0, 1])
