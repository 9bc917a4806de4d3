"""What a profile takes, what it leaves out, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from coterie import EAC, ConsensusClustering, DataError, LabelError, ParameterError, Result, profile
from coterie.datasets import load
from coterie.profiles import Profile

NAMES = [f"s{i}" for i in range(12)]
LABELS = [0, 1, 2] * 4


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=12), "b": rng.normal(size=12)}, index=NAMES)


def text_of(result):
    """The profile as text; it fits into 80 columns."""
    assert isinstance(result, Profile)
    lines = str(result).splitlines()
    assert max(map(len, lines)) <= 80
    assert repr(result) == str(result)
    return " ".join(lines)


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame.reset_index(drop=True),
        lambda frame: pl.from_pandas(frame),
        lambda frame: {name: frame[name].tolist() for name in frame},
    ],
)
def test_every_kind_of_table(frame, convert):
    assert profile(convert(frame), LABELS).table == profile(frame, LABELS).table


def test_numbers_as_an_array_and_as_a_table(frame):
    array = profile(frame.to_numpy(), LABELS, column_names=["a", "b"])
    assert array.table == profile(frame, LABELS).table


def test_a_profile_as_a_data_frame(frame):
    result = profile(frame, LABELS)
    pd.testing.assert_frame_equal(result.to_pandas(), result.table.to_pandas())
    assert len(result.to_pandas()) == 6


def test_labels_a_model_and_a_result():
    X = load("blobs").X
    model = ConsensusClustering(5, random_state=0).fit(X)
    expected = profile(X, model.labels_)
    assert profile(X, model).table == expected.table
    assert profile(X, Result.of(model)).table == expected.table
    assert profile(X, KMeans(3, n_init=1, random_state=0).fit(X)).sentences[2:]


def test_samples_are_matched_by_id(frame):
    labels = pd.Series(LABELS, index=NAMES)
    shuffled = frame.sample(frac=1, random_state=1)
    for other in (shuffled, pd.concat([shuffled, frame.rename(index="x{}".format)])):
        assert (
            profile(other, labels, n_bootstrap=0).table
            == profile(frame, LABELS, n_bootstrap=0).table
        )
    assert "12 rows of the table without a sample" in text_of(profile(other, labels))
    with_column = shuffled.reset_index(names="sample")
    matched = profile(with_column, labels, sample_ids="sample", n_bootstrap=0)
    assert matched.table == profile(frame, LABELS, n_bootstrap=0).table
    assert "sample (ids)" in text_of(matched)


def test_a_solver_knows_the_ids_of_its_samples(frame):
    model = EAC(3).fit(pd.DataFrame({"m": LABELS, "n": LABELS}, index=NAMES))
    shuffled = frame.sample(frac=1, random_state=1)
    one, other = profile(frame, model, n_bootstrap=0), profile(shuffled, model, n_bootstrap=0)
    assert one.table == other.table


def test_samples_that_do_not_match(frame):
    labels = pd.Series(LABELS, index=NAMES)
    with pytest.raises(
        DataError, match=r"X has no row for 2 samples of the clustering \(first: 's0'\)"
    ):
        profile(frame.iloc[2:], labels)
    with pytest.raises(
        DataError, match=r"no sample of the clustering has a row in X: .*'x0'.*'s0'"
    ):
        profile(frame.set_index(pd.Index([f"x{i}" for i in range(12)])), labels)
    with pytest.raises(DataError, match="X has 11 rows, but the clustering has 12 samples"):
        profile(frame.iloc[1:], LABELS)
    with pytest.raises(ParameterError, match="sample_ids is 'who', but X has no such column"):
        profile(frame, labels, sample_ids="who")


def test_columns_without_information_are_named_and_left_out(frame):
    frame = frame.assign(
        one=5, none=None, gone=np.nan, name=NAMES, words=[f"text {i}" for i in range(12)]
    )
    result = profile(frame, LABELS)
    assert {*result.table["column"]} == {"a", "b"}
    text = text_of(result)
    assert "one (constant)" in text
    assert "none, gone (empty)" in text
    assert "name, words (ids)" in text


def test_constant_and_empty_columns_of_an_array():
    X = np.random.default_rng(0).normal(size=(12, 4))
    X[:, 1], X[:, 2] = 3, np.nan
    result = profile(X, LABELS)
    assert {*result.table["column"]} == {"x0", "x3"}
    assert "x1 (constant); x2 (empty)" in text_of(result)


def test_a_column_with_few_values_is_described(frame):
    frame["rare"] = [1.0, 2.0, 3.0, *[np.nan] * 9]
    assert "rare" in {*profile(frame, LABELS).table["column"]}


def test_no_column_varies():
    with pytest.raises(
        DataError, match=r"X has no column to describe the clusters by: 'x0' \(constant\)"
    ):
        profile(np.ones((12, 1)), LABELS)
    with pytest.raises(
        DataError, match=r"X has no column to describe the clusters by: 'name' \(ids"
    ):
        profile({"name": NAMES}, LABELS)


def test_one_cluster(frame):
    result = profile(frame, [0] * 12)
    assert "Cluster 0 has all 12 samples: there is nothing to compare it with." in text_of(result)
    assert np.isnan(result.table["auc"]).all()
    assert np.isnan(result.table["p_adjusted"]).all()
    assert not np.isnan(result.table["typical"]).any()


def test_a_cluster_of_one_sample(frame):
    frame.loc["s0", "a"] = 100.0
    result = profile(frame, [9] + [0, 1, 1] * 3 + [0, 0])
    row = next(row for row in result.table.rows() if row["cluster"] == 9)
    assert (row["column"], row["size"], row["typical"], row["auc"]) == ("a", 1, 100.0, 1.0)
    assert np.isnan(row["low"])
    assert np.isnan(row["high"])
    # one of 12 places at random, on either side
    assert row["p_value"] == pytest.approx(2 / 12)
    assert "Cluster 9 (1 of 12 samples, 8 %) has higher a (median 100 against" in text_of(result)


def test_samples_without_a_cluster_are_left_out(frame):
    labels = np.array(LABELS)
    labels[[0, 4]] = -1
    result = profile(frame, labels, n_bootstrap=0)
    assert "2 samples without a cluster left out." in text_of(result)
    kept = labels >= 0
    assert result.table == profile(frame[kept], labels[kept], n_bootstrap=0).table
    with pytest.raises(DataError, match="no sample has a cluster"):
        profile(frame, [-1] * 12)


def test_clusters_are_sorted_by_name(frame):
    labels = pd.Series([10, 9, "x"] * 4, index=NAMES, dtype=object)
    assert [*dict.fromkeys(profile(frame, labels).table["cluster"])] == [9, 10, "x"]


def test_names_with_markup_and_control_characters(frame):
    frame.columns = ["<script>alert(1)</script>", "a\nb\x1b[31m" + "long" * 30]
    result = profile(frame, [f"<b>{label}</b>" for label in LABELS])
    assert "\x1b" not in text_of(result)
    assert "<script>" not in result.table._repr_html_()


def test_many_columns():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 20_000)), np.arange(60) % 3
    X[:, 777] += 5 * (labels == 1)
    result = profile(X, labels, n_bootstrap=20)
    assert len(result.table) == 60_000
    assert "higher x777" in result.sentences[1]
    text_of(result)


def test_dates():
    days = pd.date_range("2024-01-01", periods=40)
    result = profile(pd.DataFrame({"joined": days}), [0] * 20 + [1] * 20)
    assert "later joined (median 2024-01-30 against 2024-01-10)" in text_of(result)


def test_equal_medians_are_told_by_means():
    zeros = np.zeros(40)
    zeros[:8] = 6
    result = profile({"visits": zeros}, [0] * 20 + [1] * 20)
    assert "higher visits (mean 2.4 against 0)" in text_of(result)


def test_medians_have_the_digits_that_tell_them_apart():
    noise = np.tile([-0.1, 0.0, 0.1], 10)
    pressure = np.concatenate([1004.95 + noise, 1005.3 + noise])
    voltage = np.concatenate([2.3456 + noise, 0.00012 + noise])
    text = text_of(profile({"pressure": pressure, "voltage": voltage}, np.repeat([0, 1], 30)))
    assert "lower pressure (1,004.95 against 1,005.3)" in text
    assert "higher voltage (median 2.35 against 0)" in text


def test_of_a_single_sample_only_extreme_values_are_named():
    rng = np.random.default_rng(0)
    X = {"a": np.append(rng.normal(size=60), 9.0), "b": np.append(rng.normal(size=60), 0.3)}
    sentences = profile(X, np.repeat(["rest", "single"], [60, 1])).sentences
    assert "has lower a (" in sentences[0]
    assert "has higher a (" in sentences[1]
    assert not any(" b (" in sentence for sentence in sentences)
    alone = profile({"b": X["b"]}, np.repeat(["rest", "single"], [60, 1])).sentences
    assert all("differs from the rest in no single column" in sentence for sentence in alone)


def test_no_column_differs():
    X = np.tile([[0.0], [1.0]], (20, 1))
    text = text_of(profile(X, np.repeat([0, 1], 20)))
    assert "Cluster 0 (20 of 40 samples, 50 %) differs from the rest in no single column." in text


def test_columns_that_were_not_clustered_by_are_external():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        rng.normal(size=(60, 2)) + np.repeat([[0], [9]], 30, axis=0), columns=["a", "b"]
    )
    model = ConsensusClustering(2, n_members=5, random_state=0).fit(table)
    wider = table.assign(age=rng.integers(20, 60, 60) + 0.5)
    for clustering in (model, Result.of(model)):
        roles = {row["column"]: row["role"] for row in profile(wider, clustering).columns.rows()}
        assert roles == {"a": "used", "b": "used", "age": "external"}
    # columns of another table may have been computed from the same data
    assert {*profile(wider[["age"]], model).columns["role"]} == {"used"}
    only = profile(wider[["age"]], model, external=["age"])
    assert only.columns["role"].tolist() == ["external"]
    assert not any("by construction" in note for note in only.notes)
    assert any("by construction" in note for note in profile(wider, model).notes)


def test_a_table_without_columns():
    with pytest.raises(DataError, match="X has no columns"):
        profile(pd.DataFrame(index=[*"abcdefghijkl"]), pd.Series(LABELS, index=[*"abcdefghijkl"]))


def test_anndata_is_refused_with_what_to_give_instead():
    anndata = pytest.importorskip("anndata")
    data = anndata.AnnData(np.random.default_rng(0).normal(size=(12, 3)))
    with pytest.raises(DataError, match=r"give adata.to_df\(\), or adata.X with column_names="):
        profile(data, LABELS)
    names = profile(data.X, LABELS, column_names=data.var_names).columns["column"]
    assert names.tolist() == profile(data.to_df(), LABELS).columns["column"].tolist()


def test_a_column_that_was_clustered_by_cannot_be_external():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0], [9]], 30, axis=0)
    table = pd.DataFrame(X, columns=["a", "b"])
    model = ConsensusClustering(2, n_members=5, random_state=0).fit(table)
    for clustering in (model, Result.of(model)):
        with pytest.raises(DataError, match="'b' cannot be external, because the clusters were"):
            profile(table, clustering, external=["b"])
        with pytest.raises(DataError, match="'b' cannot be external, because the clusters were"):
            profile(table[["a"]], clustering, external={"b": X[:, 1]})
    assert profile(table, model.labels_, external="b").columns["role"].tolist() == [
        "used",
        "external",
    ]


def test_a_table_without_a_column_that_was_clustered_by_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + np.repeat([[0], [9]], 30, axis=0)
    model = ConsensusClustering(2, n_members=5, random_state=0).fit(
        pd.DataFrame(X, columns=["a", "b"])
    )
    outcomes = {"age": rng.normal(size=60), "height": rng.normal(size=60)}
    text = text_of(profile(outcomes, model))
    assert "No column has the name of one that the clusters were made from" in text
    assert "by construction" not in text
    assert "No column has" not in text_of(profile(outcomes, model, external=[*outcomes]))
    assert "No column has" not in text_of(profile(outcomes | {"a": X[:, 0]}, model))
    assert "by construction" in text_of(profile(outcomes, model.labels_))


def test_a_notebook_shows_dates_and_shares_as_people_write_them():
    days = pd.date_range("2024-01-01", periods=40)
    table = {"joined": days, "plan": ["pro"] * 15 + ["basic"] * 25}
    markup = profile(table, [0] * 19 + [1] * 21)._repr_html_()
    assert "<td>2024-01-10</td>" in re.sub("<td[^>]*>", "<td>", markup)
    assert "79 %" in markup


def test_sentences_do_not_name_noise():
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(300, 40))
        labels = np.arange(300) % 3
        X[:, 7] += 3 * labels
        for n_bootstrap in (0, 200):
            sentences = profile(X, labels, n_bootstrap=n_bootstrap).sentences
            assert "has lower x7 (" in sentences[0]
            assert "has higher x7 (" in sentences[2]
            # the test of 120 pairs may let one of noise pass
            assert sum(sentence.count(" x") for sentence in sentences) <= 3


def test_a_small_cluster_is_described_although_no_test_could_prove_it():
    X = np.random.default_rng(0).normal(size=(20, 60))
    X[:2, 5] += 9
    result = profile(X, np.arange(20) < 2)
    assert "has higher x5 (" in result.sentences[1]
    assert (result.table["p_adjusted"][result.table["cluster"]] > 0.05).all()


def test_sentences_name_external_columns_that_differ_beside_the_others():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 4)) + 3 * labels[:, None]
    others = {"age": 30.0 + 20 * labels + rng.normal(size=100), "noise": rng.normal(size=100)}
    sentence = profile(X, labels, external=others).sentences[1]
    assert sentence.count("higher x") == 3
    assert "; of the columns not used for clustering, higher age (median " in sentence
    assert "noise" not in sentence
    alone = profile(others, labels, external=[*others]).sentences[1]
    assert alone.startswith("Cluster 1 (50 of 100 samples, 50 %) has higher age (median ")


def test_external_columns_in_a_table_of_their_own(frame):
    outcome = {"outcome": ["well", "ill", "ill"] * 4}
    result = profile(frame, LABELS, external=outcome)
    assert result.columns["role"].tolist() == ["used", "used", "external"]
    joined = profile(frame.assign(**outcome), LABELS, external="outcome")
    assert joined.table == result.table
    with pytest.raises(DataError, match="both have a column 'a'"):
        profile(frame, LABELS, external={"a": LABELS})
    with pytest.raises(DataError, match="external has 3 rows, but X has 12"):
        profile(frame, LABELS, external={"c": [1, 2, 3]})
    with pytest.raises(DataError, match="X has no column 'outcom'; did you mean 'outcome'"):
        profile(frame.assign(**outcome), LABELS, external=["outcom"])


def test_weights_by_confidence():
    X = load("blobs").X
    model = ConsensusClustering(5, random_state=0).fit(X)
    result = profile(X, model, sample_weight="confidence", n_bootstrap=0)
    assert result.table["size"].sum() == 2 * len(X)
    positive = np.maximum(model.sample_confidence_, 1e-12)
    weighted = profile(X, model.labels_, sample_weight=positive, n_bootstrap=0)
    np.testing.assert_allclose(result.table["auc"], weighted.table["auc"], atol=1e-9)
    with pytest.raises(ParameterError, match="labels alone have no confidence"):
        profile(X, model.labels_, sample_weight="confidence")
    with pytest.raises(ParameterError, match="sample_weight must be None, 'confidence' or"):
        profile(X, model, sample_weight="confident")
    with pytest.raises(LabelError, match="sample_weight must hold"):
        profile(X, model, sample_weight=[1.0])


def test_samples_without_confidence_do_not_count():
    frame = {"a": [0.0, 1.0, 2.0, 50.0, 3.0, 4.0]}
    ensemble = [[0, 0], [0, 0], [0, 0], [None, None], [1, 1], [1, 1]]
    model = EAC(2).fit(np.array(ensemble, dtype=object))
    result = profile(frame, model, sample_weight="confidence")
    assert result.table["typical"].tolist() == [1.0, 3.5]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            np.array([[1.0]] * 3 + [[np.inf]] + [[1.0]] * 8),
            r"column 'x0' holds 1 infinite value \(first in row 3\)",
        ),
        (np.full((12, 1), 1e300), "column 'x0' holds values as large as 1e\\+300"),
        (np.zeros(12), "X must be a table or a matrix, but has 1 dimension"),
        (pl.LazyFrame({"a": [1]}), "LazyFrame"),
    ],
)
def test_values_that_cannot_be_described(X, message):
    with pytest.raises(DataError, match=message):
        profile(X, LABELS)


def test_rows_in_partitions():
    array = pytest.importorskip("dask.array")
    X = load("blobs").X
    lazy = array.from_array(X, chunks=(100, 2))
    model = ConsensusClustering(5, n_members=5, random_state=0).fit(lazy)
    with pytest.raises(ParameterError, match="rows in partitions; describe a sample of them"):
        profile(X, model)
    with pytest.raises(DataError, match="X is a dask collection"):
        profile(lazy, model.labels_.compute())
    assert len(profile(X, model.predict(X)).sentences) == 5


def test_wrong_parameters(frame):
    with pytest.raises(ParameterError, match="n_bootstrap must be"):
        profile(frame, LABELS, n_bootstrap=-1)
    with pytest.raises(DataError, match="column_names has 1 names, but X has 2 columns"):
        profile(frame.to_numpy(), LABELS, column_names=["a"])
    with pytest.raises(DataError, match="categories are columns of a table"):
        profile(frame.to_numpy(), LABELS, categories=["x0"])
    with pytest.raises(DataError, match="X has no column 'c'"):
        profile(frame, LABELS, categories=["c"])
    with pytest.raises(NotFittedError):
        profile(frame, KMeans(2))


def test_text_in_an_array():
    X = np.array([["a", 1], ["b", 2], ["a", 3], ["b", 4]] * 3, dtype=object)
    kinds = profile(X, LABELS).columns
    assert dict(zip(kinds["column"], kinds["kind"], strict=True)) == {
        "x0": "category",
        "x1": "number",
    }


def test_sparse_matrices_in_any_form_are_read_alike_and_stay_as_they_are():
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((60, 9)) < 0.6, 0.0, rng.normal(size=(60, 9)))
    labels = rng.integers(0, 3, 60)
    expected = profile(dense, labels).table
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        assert profile(form(dense), labels).table == expected
    # entries that are given twice are added up, and columns may be in any order
    row, column = np.nonzero(dense)
    half = dense[row, column] / 2
    order = rng.permutation(2 * len(row))
    twice = sparse.coo_array(
        (np.tile(half, 2)[order], (np.tile(row, 2)[order], np.tile(column, 2)[order])), dense.shape
    )
    indptr = np.concatenate([[0], np.cumsum(np.bincount(twice.coords[0], minlength=60))])
    by_row = np.argsort(twice.coords[0], kind="stable")
    unsorted = sparse.csr_array((twice.data[by_row], twice.coords[1][by_row], indptr), dense.shape)
    before = unsorted.data.copy(), unsorted.indices.copy()
    assert profile(unsorted, labels).table == expected
    assert np.array_equal(unsorted.data, before[0])
    assert np.array_equal(unsorted.indices, before[1])
