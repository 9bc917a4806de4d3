"""npy, npz and mat files, and parquet."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from coterie import Ensemble
from coterie.core.errors import DataError
from coterie.io import read_features, read_labels, read_table, write_table

MEMBERS = np.array([[1, 1, 2], [1, 1, 2], [2, 1, 1], [2, 2, 1]])
TRUTH = np.array([5, 5, 6, 6])


def cells(arrays):
    found = np.empty((1, len(arrays)), dtype=object)
    for j, array in enumerate(arrays):
        found[0, j] = array
    return found


def one_hot(labels):
    return (labels[:, None] == np.unique(labels)).astype(np.uint8)


def test_npy_features_and_labels(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "X.npy", X)
    found, names, ids = read_features(tmp_path / "X.npy")
    np.testing.assert_array_equal(found, X)
    assert names == ["X_0", "X_1", "X_2"]
    assert ids is None
    np.save(tmp_path / "m.npy", MEMBERS)
    labels = read_labels(tmp_path / "m.npy")
    np.testing.assert_array_equal(np.stack([*labels.values()], axis=1), MEMBERS)


def test_npz_matrix_under_its_usual_name_with_vectors_beside_it(tmp_path):
    X = np.arange(8.0).reshape(4, 2)
    np.savez(tmp_path / "d.npz", y=TRUTH, X=X, other=np.zeros((4, 5)), id=np.array(list("abcd")))
    found, _, ids = read_features(tmp_path / "d.npz", id="id")
    np.testing.assert_array_equal(found, X)
    assert ids == ["a", "b", "c", "d"]
    table = read_table(tmp_path / "d.npz")
    np.testing.assert_array_equal(table.column("y"), TRUTH)
    assert "y" not in table.main


def test_npz_with_one_matrix_needs_no_name(tmp_path):
    np.savez(tmp_path / "d.npz", whatever=np.ones((4, 2)), y=TRUTH)
    assert read_features(tmp_path / "d.npz")[1] == ["whatever_0", "whatever_1"]


@pytest.mark.parametrize(
    ("features", "truth"), [("X", "Y"), ("X", "y"), ("fea", "gnd"), ("fea", "gt")]
)
def test_mat_layouts_of_features(tmp_path, features, truth):
    X = np.arange(8.0).reshape(4, 2)
    savemat(tmp_path / "d.mat", {features: X, truth: TRUTH[:, None]})
    found, _, _ = read_features(tmp_path / "d.mat")
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(read_table(tmp_path / "d.mat").column(truth), TRUTH)


def test_mat_sparse_features(tmp_path):
    X = np.array([[0, 1.5], [0, 0], [2, 0]])
    savemat(tmp_path / "d.mat", {"fea": sparse.csc_matrix(X)})
    np.testing.assert_array_equal(read_features(tmp_path / "d.mat")[0], X)


def test_mat_layouts_of_members(tmp_path):
    savemat(tmp_path / "a.mat", {"members": MEMBERS, "gt": TRUTH[:, None]})
    mixed = [one_hot(MEMBERS[:, 0]), MEMBERS[:, [1]], sparse.csc_matrix(one_hot(MEMBERS[:, 2]))]
    savemat(tmp_path / "b.mat", {"Yi": cells(mixed), "y": TRUTH[:, None]})
    one, other = (
        Ensemble.from_labels([*zip(*read_labels(tmp_path / name).values(), strict=True)])
        for name in ("a.mat", "b.mat")
    )
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.inverse, other.inverse)


def test_a_row_of_zeros_in_a_one_hot_member_is_missing(tmp_path):
    member = one_hot(np.array([0, 0, 1, 1]))
    member[2] = 0
    savemat(tmp_path / "b.mat", {"Yi": cells([member, MEMBERS[:, [0]]])})
    assert read_labels(tmp_path / "b.mat")["Yi_0"].tolist() == [0, 0, -1, 1]


def test_mat_class_names_in_a_cell_array(tmp_path):
    savemat(tmp_path / "d.mat", {"X": np.ones((3, 2)), "y": cells(["ab", "c", "ab"]).T})
    assert read_table(tmp_path / "d.mat").column("y") == ["ab", "c", "ab"]


def test_mat_files_of_others(shared_data):
    ecoli = read_labels(shared_data / "mat" / "Ecoli.mat")
    assert len(ecoli) == 100
    assert Ensemble.from_labels(ecoli).n_samples == 336
    glioma = read_labels(shared_data / "mat" / "GLIOMA_50n_4434d_4c_uni.mat")
    assert len(glioma) == 200
    ensemble = Ensemble.from_labels(glioma)
    assert ensemble.n_samples == 50
    assert set(ensemble.n_clusters_per_member.tolist()) <= {2, 3, 4}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        (
            {"a": np.ones((3, 2)), "b": np.ones((3, 2))},
            "the file has a (3 x 2), b (3 x 2); rename the array to 'X'",
        ),
        ({"members": MEMBERS, "gt": TRUTH}, "or does the file hold labels to combine?"),
        ({"X": np.ones((2, 3, 4))}, "'X' must be n x d (a row per sample), but is 2 x 3 x 4"),
        ({"X": np.ones((0, 3))}, "'X' has no rows"),
        ({"X": np.array([["a", "b"]])}, "'X' holds"),
        ({"X": np.array([[1j, 2]])}, "'X' holds complex128 values"),
        ({}, "holds no arrays"),
    ],
)
def test_arrays_that_are_no_features(tmp_path, arrays, says):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(DataError) as caught:
        read_features(tmp_path / "d.npz")
    assert says in str(caught.value)
    assert str(tmp_path / "d.npz") in str(caught.value)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([MEMBERS[:, [0]], MEMBERS[:3, [0]], MEMBERS[:, [1]]], "cell 2 of 'Yi' has 3 samples"),
        ([MEMBERS], "cell 1 of 'Yi' is 4 x 3 but not one-hot"),
        (["text", MEMBERS[:, [0]]], "cell 1 of 'Yi' must be labels or a one-hot matrix"),
    ],
)
def test_cell_arrays_that_are_no_members(tmp_path, members, says):
    savemat(tmp_path / "b.mat", {"Yi": cells(members)})
    with pytest.raises(DataError) as caught:
        read_labels(tmp_path / "b.mat")
    assert says in str(caught.value)


def test_pickles_are_not_loaded(tmp_path):
    objects = np.array([[{"a": 1}, None]], dtype=object)
    np.save(tmp_path / "o.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "o.npz", X=objects)
    for name in ("o.npy", "o.npz"):
        with pytest.raises(DataError, match="pickle"):
            read_features(tmp_path / name)


def write_like(path, kind):
    if kind == "text":
        path.write_text("a,b\n1,2\n")
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, np.ones((3, 2)))
    elif kind == "npz":
        with path.open("wb") as file:
            np.savez(file, X=np.ones((3, 2)))
    elif kind == "mat":
        with path.open("wb") as file:
            savemat(file, {"X": np.ones((3, 2))})
    elif kind == "utf16":
        path.write_text("a,b\n1,2\n", encoding="utf-16")
    elif kind == "hdf5":
        path.write_bytes(
            b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(128) + b"\x89HDF\r\n\x1a\n"
        )
    else:
        path.write_bytes(b"\x00\x01\x02binary")


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("d.parquet", "text", "it is text, not parquet"),
        ("d.npy", "text", "it is text, not npy"),
        ("d.npz", "text", "it is text, not npz"),
        ("d.mat", "text", "it is text, not mat"),
        ("d.npy", "npz", "it is a zip archive (an npz or a spreadsheet), not npy"),
        ("d.npz", "npy", "it is an npy file, not npz"),
        ("d.csv", "npy", "it is an npy file, not csv"),
        ("d.csv", "mat", "it is a MATLAB file, not csv"),
        ("d.npy", "utf16", "it is UTF-16 text, not npy"),
        ("d.csv", "binary", "it is binary data, not csv"),
        ("d.mat", "hdf5", "version 7.3 (HDF5), which is not read; save it again"),
        ("d.txt", "text", "a file with the extension '.txt' cannot be read; use one of .csv"),
        ("data", "text", "a file without extension"),
    ],
)
def test_a_file_that_is_not_what_its_extension_says(tmp_path, name, kind, says):
    path = tmp_path / name
    write_like(path, kind)
    with pytest.raises(DataError) as caught:
        read_features(path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kind", ["npy", "npz", "mat"])
def test_files_cut_short(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    write_like(path, kind)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged or cut short"):
        read_features(path)


def test_missing_files_and_directories(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_features(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="is a directory"):
        read_features(tmp_path)


class TestParquet:
    @pytest.fixture(autouse=True)
    def _needs_pyarrow(self):
        pytest.importorskip("pyarrow")

    def test_columns_of_every_kind(self, tmp_path):
        import pandas as pd

        frame = pd.DataFrame(
            {
                "whole": [1, 2, 3],
                "real": [0.5, None, 2.0],
                "gaps": pd.array([1, None, 3], dtype="Int64"),
                "name": ["x", None, "z"],
                "category": pd.Categorical(["u", "v", "u"]),
                "truth": [True, False, True],
            },
            index=[7, 8, 9],
        )
        frame.to_parquet(tmp_path / "t.parquet")
        table = read_table(tmp_path / "t.parquet")
        assert table.main == tuple(frame.columns)
        np.testing.assert_array_equal(table.column("whole"), [1, 2, 3])
        np.testing.assert_array_equal(table.column("real"), [0.5, np.nan, 2.0])
        np.testing.assert_array_equal(table.column("gaps"), [1, np.nan, 3])
        assert table.column("name") == ["x", None, "z"]
        assert table.column("category") == ["u", "v", "u"]
        assert table.column("truth").tolist() == [True, False, True]
        assert table.column("__index_level_0__").tolist() == [7, 8, 9]

    def test_what_is_written_is_read(self, tmp_path):
        columns = {"id": ["a", "b"], "label": np.array([0, 1]), "confidence": np.array([0.5, 1])}
        write_table(tmp_path / "t.parquet", columns)
        table = read_table(tmp_path / "t.parquet")
        assert [*table.columns] == [*columns]
        assert table.column("id") == ["a", "b"]
        assert table.column("label").tolist() == [0, 1]

    def test_cut_short_or_without_rows(self, tmp_path):
        path = tmp_path / "t.parquet"
        write_table(path, {"a": [1, 2]})
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(DataError, match="damaged or cut short"):
            read_table(path)
        write_table(path, {"a": np.empty(0)})
        with pytest.raises(DataError, match="no rows"):
            read_table(path)


def test_without_pyarrow_the_remedy_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1xxxxPAR1")
    with pytest.raises(DataError, match=r'pip install "coterie\[io\]"'):
        read_table(path)
    with pytest.raises(DataError, match=r'pip install "coterie\[io\]"'):
        write_table(tmp_path / "out.parquet", {"a": [1]})
    assert not (tmp_path / "out.parquet").exists()
