"""Any division into partitions gives the ensemble of all rows in memory."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dask.dataframe", reason="dask is not installed")
import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import pandas as pd
from dask import delayed

from coterie import CESHL, EAC, SPCE, Ensemble, LabelError, MemoryBudgetError
from coterie.core.errors import DataError
from coterie.scale import ensemble_from_dask, expand_to_dask
from coterie.scale import parquet as parquet_module
from coterie.scale import source as source_module
from tests.scale.pools import label_pool


def same_rows(found: Ensemble, whole: Ensemble) -> None:
    """Same microclusters in the same order, with the same weights and the same labels behind."""
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_array_equal(found.weights, whole.weights)
    assert found.weights.dtype == whole.weights.dtype
    assert found.members == whole.members
    assert found.n_samples == found.n_microclusters
    for one, other in zip(found.categories, whole.categories, strict=True):
        assert one.tolist() == other.tolist()
    # the samples of the one are the distinct rows of the other, by first appearance
    _, first = np.unique(whole.inverse, return_index=True)
    np.testing.assert_array_equal(found.inverse, whole.inverse[np.sort(first)])


@given(
    rows=st.lists(st.tuples(*[st.integers(-1, 3)] * 3), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    split_every=st.integers(2, 4),
)
def test_any_partitioning_gives_the_ensemble_in_memory(rows, cuts, split_every):
    labels = np.array([(0, *row) for row in rows])
    for j in range(4):
        labels[0, j] = max(labels[0, j], 0)
    edges = sorted({0, len(labels), *(cut for cut in cuts if cut < len(labels))})
    array = da.from_array(labels, chunks=(tuple(np.diff(edges)), 4))
    merged = patch("coterie.scale._ensemble.SPLIT_EVERY", split_every)
    with dask.config.set(scheduler="synchronous"), merged:
        found = ensemble_from_dask(array)
    same_rows(found, Ensemble.from_labels(labels))


def test_threads_give_the_same():
    labels = label_pool(3000, 6, 4)
    with dask.config.set(scheduler="threads", num_workers=4):
        found = ensemble_from_dask(da.from_array(labels, chunks=(111, 2)))
    same_rows(found, Ensemble.from_labels(labels))


def mixed_frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 200
    text = rng.choice(["b", "a", "ü", "c d"], n).astype(object)
    text[rng.random(n) < 0.1] = None
    numbers = rng.integers(-1, 5, n)
    floats = rng.integers(0, 3, n).astype(float)
    floats[rng.random(n) < 0.1] = np.nan
    nullable = pd.array(rng.integers(0, 4, n), dtype="Int64")
    nullable[5] = pd.NA
    return pd.DataFrame(
        {
            "text": text,
            "category": pd.Categorical(
                rng.choice(["x", "y", "z"], n), categories=["q", "z", "y", "x"]
            ),
            "numbers": numbers,
            "floats": floats,
            "nullable": nullable,
            "truth": rng.random(n) < 0.5,
        }
    )


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_labels_of_every_kind(partitions):
    frame = mixed_frame()
    found = ensemble_from_dask(dd.from_pandas(frame, npartitions=partitions))
    whole = Ensemble.from_labels(frame)
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_array_equal(found.weights, whole.weights)
    for one, other in zip(found.categories, whole.categories, strict=True):
        assert [str(value) for value in one.tolist()] == [str(value) for value in other.tolist()]


def test_mixed_objects_stay_apart():
    values = [1, "1", True, 1.0, None, date(2020, 1, 1), "1", 2, True, 1]
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "b": [0, 1] * 5})
    parts = [delayed(frame.iloc[i : i + 3]) for i in range(0, 10, 3)]
    # left to itself, Dask makes text of all objects
    with dask.config.set({"dataframe.convert-string": False}):
        found = ensemble_from_dask(dd.from_delayed(parts, meta=frame.iloc[:0]))
    whole = Ensemble.from_labels(frame)
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_array_equal(found.weights, whole.weights)


@pytest.mark.parametrize("block", [50, 2**18])
def test_parquet_files_in_natural_order(tmp_path, monkeypatch, block):
    for module in (source_module, parquet_module):
        monkeypatch.setattr(module, "BLOCK_ROWS", block)
    monkeypatch.setattr(source_module, "PART_ROWS", 30)
    frame = mixed_frame()
    frame.insert(0, "customer", [f"c{i}" for i in range(len(frame))])
    for i in range(11):
        piece = frame.iloc[i * 19 : (i + 1) * 19 if i < 10 else None]
        piece.to_parquet(tmp_path / f"part.{i}.parquet", row_group_size=7)
    whole = Ensemble.from_labels(frame.drop(columns="customer"))
    for path in (tmp_path, str(tmp_path / "*.parquet"), sorted(tmp_path.iterdir())):
        found = ensemble_from_dask(path, id="customer")
        np.testing.assert_array_equal(found.weights, whole.weights)
        if not isinstance(path, list):
            np.testing.assert_array_equal(found.labels, whole.labels)


def test_missing_values_as_told():
    labels = da.from_array(np.array([[9, 1], [0, 1], [9, 2], [0, 2]]), chunks=(1, 2))
    assert ensemble_from_dask(labels, missing=9).n_clusters_per_member.tolist() == [1, 2]
    assert ensemble_from_dask(labels).n_clusters_per_member.tolist() == [2, 2]


@pytest.mark.parametrize(
    "solver", [EAC(4), SPCE(4), CESHL(4)], ids=lambda solver: type(solver).__name__
)
def test_solvers_number_their_clusters_as_in_memory(solver):
    labels = label_pool(2000, 6, 4, seed=5)
    whole = Ensemble.from_labels(labels)
    expected = solver.fit(whole).labels_
    for chunk in (2000, 333):
        found = ensemble_from_dask(da.from_array(labels, chunks=(chunk, 6)))
        by_distinct = solver.fit(found).labels_
        np.testing.assert_array_equal(
            by_distinct[np.argsort(found.inverse)][whole.inverse], expected
        )


def test_member_weights_and_names():
    labels = label_pool(100, 3, 2)
    array = da.from_array(labels, chunks=(40, 3))
    found = ensemble_from_dask(array, columns=["a", "b", "c"], member_weight=[1, 2, 3])
    same_rows(found, Ensemble.from_labels(labels, names=["a", "b", "c"], member_weight=[1, 2, 3]))


def test_progress_is_told():
    told: list[tuple[int, int]] = []
    array = da.from_array(label_pool(100, 3, 2), chunks=(25, 3))
    ensemble_from_dask(array, callback=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


# ---------------------------------------------------------------------- memory


def test_too_many_distinct_rows_are_refused_early():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 9, (20_000, 8))
    read: list[int] = []

    def part(i: int) -> np.ndarray:
        read.append(i)
        return labels[i * 1000 : (i + 1) * 1000]

    blocks = [da.from_delayed(delayed(part)(i), (1000, 8), labels.dtype) for i in range(20)]
    with pytest.raises(
        MemoryBudgetError, match=r"\d,\d+ distinct label rows among \d,000 rows"
    ) as caught:
        ensemble_from_dask(da.concatenate(blocks), memory_budget="1MB")
    assert "fewer members" in str(caught.value)
    assert len(read) < 20


def test_an_unnamed_id_is_told_by_name(tmp_path):
    n = 5000
    frame = pd.DataFrame({"a": np.arange(n) % 3, "who": [f"p{i}" for i in range(n)]})
    labels = dd.from_pandas(frame, npartitions=5)
    with pytest.raises(MemoryBudgetError, match="'who' differs in every row"):
        ensemble_from_dask(labels, memory_budget="200KB")
    with pytest.raises(LabelError, match="'who' holds a different text in each of the 5,000 rows"):
        ensemble_from_dask(labels)
    assert ensemble_from_dask(labels, id="who").n_microclusters == 3
    numbers = dd.from_pandas(frame.assign(who=np.arange(n)), npartitions=5)
    with pytest.warns(
        UserWarning, match="'who' holds a different number in each of the 5,000 rows"
    ):
        ensemble_from_dask(numbers)


# ---------------------------------------------------------------------- bad input


def test_a_partition_without_a_column_is_named():
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]})
    parts = [delayed(frame), delayed(frame.drop(columns="b")), delayed(frame)]
    labels = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
    for columns in (None, ["b"]):
        with pytest.raises(LabelError, match="partition 1 has no column 'b'"):
            ensemble_from_dask(labels, columns=columns)


def among_others(part: pd.DataFrame | pd.Series) -> dd.DataFrame:
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]})
    return dd.from_delayed([delayed(frame), delayed(part)], meta=frame.iloc[:0], verify_meta=False)


@pytest.mark.parametrize("dtype", ["string", object])
def test_a_partition_of_another_kind_is_named(dtype):
    other = pd.DataFrame({"a": [0, 1, 0], "b": pd.Series(["x", None, "z"], dtype=dtype)})
    labels = among_others(other)
    with pytest.raises(
        LabelError, match="partition 1 holds text in column 'b', but the others hold numbers"
    ):
        ensemble_from_dask(labels)
    truth = other.assign(b=pd.Series([True, False, None], dtype=object))
    with pytest.raises(LabelError, match="partition 1 holds truth values in column 'b'"):
        ensemble_from_dask(among_others(truth))
    numbers = other.assign(b=pd.Series([1, 0, None], dtype=object))
    assert int(ensemble_from_dask(among_others(numbers)).weights.sum()) == 6


def test_a_partition_with_other_columns_is_named():
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]})
    more = among_others(frame.assign(c=0))
    with pytest.raises(
        LabelError, match="partition 1 has a column 'c', which the others do not have"
    ):
        ensemble_from_dask(more)
    assert ensemble_from_dask(more, columns=["a", "b"]).members == ("a", "b")
    with pytest.raises(LabelError, match="partition 1 has two columns named 'a'"):
        ensemble_from_dask(among_others(pd.concat([frame, frame[["a"]]], axis=1)))
    with pytest.raises(LabelError, match="partition 1 has no column 'a'"):
        ensemble_from_dask(among_others(frame["b"]))
    turned = ensemble_from_dask(among_others(frame[["b", "a"]]))
    assert turned.weights.tolist() == ensemble_from_dask(among_others(frame)).weights.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="b"), "part.1.parquet has no column 'b'"),
        (lambda frame: frame.assign(c=1), "part.1.parquet has a column 'c'"),
        (lambda frame: frame.assign(b="x"), "part.1.parquet holds text in column 'b'"),
    ],
)
def test_a_file_of_another_schema_is_named(tmp_path, change, message):
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]})
    frame.to_parquet(tmp_path / "part.0.parquet")
    change(frame).to_parquet(tmp_path / "part.1.parquet")
    with pytest.raises(LabelError, match=message):
        ensemble_from_dask(tmp_path)


def test_a_file_cut_short_is_named(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 0] * 100})
    frame.to_parquet(tmp_path / "part.0.parquet")
    whole = (tmp_path / "part.0.parquet").read_bytes()
    (tmp_path / "part.1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"part\.1\.parquet is damaged or cut short"):
        ensemble_from_dask(tmp_path)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([[0, 1]], LabelError, "must be a dask dataframe"),
        ("no/such/place", DataError, "no such file or directory"),
        ("no/such/*.parquet", DataError, "there is no parquet file"),
        (da.zeros((3,), dtype=int), LabelError, "must be n x m"),
        (da.zeros((0, 2), dtype=int, chunks=1), LabelError, "no samples"),
        (
            da.from_array(np.array([[0.5, 1.0]])),
            LabelError,
            "partition 0: member 'member_0', row 0",
        ),
        (da.from_array(np.full((3, 2), -1)), LabelError, "without a"),
        (delayed(np.zeros((3, 2))), LabelError, "but is Delayed"),
        (dask.bag.from_sequence([0, 1]), LabelError, "but is Bag"),
    ],
    ids=["list", "path", "pattern", "vector", "empty", "fraction", "blank", "delayed", "bag"],
)
def test_other_input_is_refused(labels, error, message):
    with pytest.raises(error, match=message):
        ensemble_from_dask(labels)


def test_the_row_of_a_bad_label_is_counted_from_the_start_of_the_partition(monkeypatch):
    for module in (source_module, parquet_module):
        monkeypatch.setattr(module, "BLOCK_ROWS", 10)
    labels = np.zeros((40, 2))
    labels[33, 1] = 0.25
    with pytest.raises(LabelError, match=r"partition 1: member 'member_1', row 13: 0\.25"):
        ensemble_from_dask(da.from_array(labels, chunks=(20, 2)))


def test_rows_without_a_label_stay_noise():
    labels = np.repeat([[0, 0], [1, 1]], 15, axis=0)
    labels[[17, 25]] = -1
    array = da.from_array(labels, chunks=(10, 2))
    ensemble = ensemble_from_dask(array)
    assert ensemble.weights.tolist() == [15, 13, 2]
    clusters = expand_to_dask(ensemble, EAC(2).fit(ensemble).labels_, array).compute()
    np.testing.assert_array_equal(clusters == -1, labels[:, 0] == -1)


def test_columns_that_are_not_there():
    frame = dd.from_pandas(pd.DataFrame({"a": [0, 1], "b": [1, 1]}), npartitions=1)
    with pytest.raises(LabelError, match="no column 'aa'"):
        ensemble_from_dask(frame, columns=["aa"])
    with pytest.raises(LabelError, match="no members"):
        ensemble_from_dask(frame, columns=["a"], id="a")


def test_hidden_files_are_no_data(tmp_path: Path):
    frame = pd.DataFrame({"a": [0, 1, 0]})
    frame.to_parquet(tmp_path / "part.0.parquet")
    (tmp_path / "_metadata.parquet").write_bytes(b"")
    (tmp_path / ".part.1.parquet").write_bytes(b"")
    (tmp_path / "_SUCCESS").write_bytes(b"")
    assert ensemble_from_dask(tmp_path).weights.tolist() == [2, 1]
    assert ensemble_from_dask(tmp_path / "*").weights.tolist() == [2, 1]
