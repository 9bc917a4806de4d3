"""Back to all rows: lazily in their partitions, or to files."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("dask.dataframe", reason="dask is not installed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import pyarrow.parquet as pq
from dask import delayed

from coterie import EAC, Ensemble, LabelError
from coterie.core.errors import DataError
from coterie.scale import ensemble_from_dask, expand_to_dask, labels_to_parquet
from coterie.scale import parquet as parquet_module
from coterie.scale import source as source_module
from coterie.scale._table import Lookup
from tests.scale.pools import label_pool


@pytest.fixture
def labels() -> np.ndarray:
    return label_pool(1500, 6, 4, seed=2)


@pytest.fixture
def frame(labels) -> pd.DataFrame:
    frame = pd.DataFrame(labels[:, :3], columns=["a", "b", "c"])
    frame["text"] = np.array(["west", "east", None, "north"], dtype=object)[labels[:, 4]]
    frame.insert(0, "customer", [f"c{i}" for i in range(len(frame))])
    return frame


def in_memory(labels) -> EAC:
    return EAC(4).fit(Ensemble.from_labels(labels))


@pytest.mark.parametrize("chunk", [1500, 400, 77])
def test_an_array_gets_the_labels_of_a_fit_in_memory(labels, chunk):
    array = da.from_array(labels, chunks=(chunk, 4))
    model = EAC(4).fit(ensemble_from_dask(array))
    whole = in_memory(labels)
    found = expand_to_dask(model.ensemble_, model.labels_, array)
    assert found.chunks == (da.from_array(labels, chunks=(chunk, 6)).chunks[0],)
    np.testing.assert_array_equal(found.compute(), whole.labels_)
    confidence = expand_to_dask(model.ensemble_, model.sample_confidence_, array).compute()
    np.testing.assert_array_equal(confidence, whole.sample_confidence_)
    soft = expand_to_dask(model.ensemble_, model.soft_labels(), array)
    assert soft.shape == (1500, 4)
    np.testing.assert_array_equal(soft.compute(), whole.soft_labels())


def test_rows_divided_otherwise_get_the_same(labels):
    array = da.from_array(labels, chunks=(500, 6))
    model = EAC(4).fit(ensemble_from_dask(array))
    again = expand_to_dask(model.ensemble_, model.labels_, array.rechunk((90, 3)))
    np.testing.assert_array_equal(again.compute(), in_memory(labels).labels_)


def test_unknown_chunk_sizes(labels):
    array = da.from_array(labels, chunks=(500, 6))
    array = array[array[:, 0] >= 0]
    model = EAC(4).fit(ensemble_from_dask(array))
    found = expand_to_dask(model.ensemble_, model.labels_, array)
    np.testing.assert_array_equal(found.compute(), in_memory(labels).labels_)


def test_a_frame_gets_a_series_that_fits_it(frame):
    lazy = dd.from_pandas(frame.set_index(np.arange(len(frame)) * 2), npartitions=4)
    ensemble = ensemble_from_dask(lazy, id="customer")
    model = EAC(4).fit(ensemble)
    cluster = expand_to_dask(ensemble, model.labels_, lazy, id="customer")
    joined = lazy.assign(cluster=cluster).compute()
    expected = in_memory(frame.drop(columns="customer")).labels_
    assert joined["cluster"].tolist() == expected.tolist()
    assert cluster.divisions == lazy.divisions
    soft = expand_to_dask(ensemble, model.soft_labels(), lazy, id="customer", name="soft").compute()
    assert [*soft.columns] == ["soft_0", "soft_1", "soft_2", "soft_3"]


def test_a_frame_of_unknown_divisions(frame):
    parts = [delayed(frame.iloc[i : i + 400]) for i in range(0, 1500, 400)]
    lazy = dd.from_delayed(parts, meta=frame.iloc[:0])
    ensemble = ensemble_from_dask(lazy, id="customer")
    lazy = lazy.assign(
        cluster=expand_to_dask(ensemble, EAC(4).fit_predict(ensemble), lazy, id="customer")
    )
    expected = in_memory(frame.drop(columns="customer")).labels_
    assert lazy.compute()["cluster"].tolist() == expected.tolist()


def test_some_columns_of_a_frame(frame):
    lazy = dd.from_pandas(frame, npartitions=4)
    chosen = ["c", "a", "text"]
    ensemble = ensemble_from_dask(lazy, columns=chosen)
    found = expand_to_dask(ensemble, EAC(4).fit_predict(ensemble), lazy, columns=chosen)
    expected = in_memory(frame[chosen]).labels_
    assert lazy.assign(cluster=found).compute()["cluster"].tolist() == expected.tolist()


def test_two_rows_of_one_hash_stay_two(monkeypatch):
    from coterie.numerics import rows as kernel

    def all_alike(codes, hashes):
        hashes[:] = 7

    monkeypatch.setattr(kernel, "_hash_rows", all_alike)
    labels = label_pool(60, 3, 3)
    array = da.from_array(labels, chunks=(20, 3))
    ensemble = ensemble_from_dask(array)
    found = expand_to_dask(ensemble, np.arange(ensemble.n_samples), array).compute()
    distinct = np.unique(labels, axis=0)
    assert ensemble.n_microclusters == len(distinct)
    for row in distinct:
        assert len(set(found[(labels == row).all(axis=1)].tolist())) == 1


def test_the_table_goes_into_the_graph_once(labels):
    array = da.from_array(labels, chunks=(50, 6))
    ensemble = ensemble_from_dask(array)
    found = expand_to_dask(ensemble, np.arange(ensemble.n_samples), array)
    tasks = [*dict(found.__dask_graph__()).values()]
    assert sum(isinstance(getattr(task, "value", None), Lookup) for task in tasks) == 1
    assert not any(isinstance(part, Lookup) for task in tasks for part in getattr(task, "args", ()))


def test_labels_of_another_ensemble_are_refused(labels):
    array = da.from_array(labels, chunks=(500, 6))
    ensemble = ensemble_from_dask(array)
    other = labels.copy()
    other[700, 2] = 99
    lazy = expand_to_dask(
        ensemble, np.arange(ensemble.n_samples), da.from_array(other, chunks=(500, 6))
    )
    with pytest.raises(
        LabelError, match="partition 1, row 200: the ensemble has no row with these labels"
    ):
        lazy.compute()
    with pytest.raises(LabelError, match="pass the labels that the ensemble was made of"):
        expand_to_dask(ensemble, np.arange(ensemble.n_samples), array[:, :5])
    with pytest.raises(ValueError, match="one row per sample of the ensemble"):
        expand_to_dask(ensemble, [1, 2, 3], array)
    with pytest.raises(LabelError, match="needs an ensemble made by ensemble_from_dask"):
        expand_to_dask(Ensemble.from_labels(labels), in_memory(labels).labels_, array)


# ---------------------------------------------------------------------- files


def written(folder) -> pd.DataFrame:
    return pd.concat([pq.read_table(file).to_pandas() for file in sorted(folder.iterdir())])


@pytest.mark.parametrize("block", [100, 2**18])
@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_labels_are_written_with_their_ids(tmp_path, frame, monkeypatch, kind, block):
    for module in (source_module, parquet_module):
        monkeypatch.setattr(module, "BLOCK_ROWS", block)
    monkeypatch.setattr(source_module, "PART_ROWS", 300)
    source: object = dd.from_pandas(frame, npartitions=4)
    if kind == "parquet":
        source = tmp_path / "labels"
        source.mkdir()
        for i in range(3):
            piece = frame.iloc[i * 500 : (i + 1) * 500]
            piece.to_parquet(source / f"part.{i}.parquet", row_group_size=120)
    ensemble = ensemble_from_dask(source, id="customer")
    model = EAC(4).fit(ensemble)
    told: list[tuple[int, int]] = []
    rows = labels_to_parquet(
        tmp_path / "out",
        ensemble,
        {"label": model.labels_, "confidence": model.sample_confidence_},
        source,
        id="customer",
        callback=lambda done, total: told.append((done, total)),
    )
    whole = in_memory(frame.drop(columns="customer"))
    found = written(tmp_path / "out")
    assert rows == 1500
    assert [*found.columns] == ["customer", "label", "confidence"]
    assert found["customer"].tolist() == frame["customer"].tolist()
    np.testing.assert_array_equal(found["label"], whole.labels_)
    np.testing.assert_array_equal(found["confidence"], whole.sample_confidence_)
    assert told[-1] == (len(told), len(told))
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        ["out", *(["labels"] if kind == "parquet" else [])]
    )


def test_a_failure_leaves_nothing(tmp_path, labels, monkeypatch):
    array = da.from_array(labels, chunks=(300, 6))
    ensemble = ensemble_from_dask(array)
    calls: list[int] = []
    expand = Lookup.expand

    def full_disk(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return expand(*arguments)

    monkeypatch.setattr(Lookup, "expand", full_disk)
    with pytest.raises(DataError, match="No space left on device"):
        labels_to_parquet(
            tmp_path / "out", ensemble, {"label": np.zeros(ensemble.n_samples)}, array
        )
    assert [*tmp_path.iterdir()] == []


def test_an_existing_directory_must_be_empty(tmp_path, labels):
    array = da.from_array(labels, chunks=(1000, 6))
    ensemble = ensemble_from_dask(array)
    target = tmp_path / "out"
    target.mkdir()
    values = {"label": np.arange(ensemble.n_samples)}
    labels_to_parquet(target, ensemble, values, array)
    with pytest.raises(DataError, match="is not empty"):
        labels_to_parquet(target, ensemble, values, array)
    assert sorted(file.name for file in target.iterdir()) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_places_that_cannot_be_written(tmp_path, labels):
    array = da.from_array(labels, chunks=(1000, 6))
    ensemble = ensemble_from_dask(array)
    values = {"label": np.arange(ensemble.n_samples)}
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"):
        labels_to_parquet(tmp_path / "file", ensemble, values, array)
    with pytest.raises(DataError, match="there is no directory"):
        labels_to_parquet(tmp_path / "no" / "out", ensemble, values, array)


def test_fewer_rows_than_the_ensemble_was_made_of(tmp_path, labels):
    array = da.from_array(labels, chunks=(500, 6))
    ensemble = ensemble_from_dask(array)
    values = {"label": np.arange(ensemble.n_samples)}
    with pytest.raises(LabelError, match="1,000 rows, but the ensemble was made of 1,500"):
        labels_to_parquet(tmp_path / "out", ensemble, values, array[:1000])
    assert [*tmp_path.iterdir()] == []


def test_empty_partitions_are_written_too(tmp_path, frame):
    parts = [delayed(frame), delayed(frame.iloc[:0])]
    lazy = dd.from_delayed(parts, meta=frame.iloc[:0])
    ensemble = ensemble_from_dask(lazy, id="customer")
    values = {"label": np.arange(ensemble.n_samples)}
    assert labels_to_parquet(tmp_path / "out", ensemble, values, lazy, id="customer") == 1500
    assert len(written(tmp_path / "out")) == 1500
