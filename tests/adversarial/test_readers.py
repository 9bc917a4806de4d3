"""Damaged files: a few hundred here, the found ones always; the long run takes as many as asked."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib

import numpy as np
import pytest

from coterie import MemoryBudgetError, Result
from coterie.core.errors import DataError, ResultFileError
from coterie.io import read_features, read_table
from coterie.io.mat import read_shapes, read_variables
from coterie_bench import SpecError, parse_spec
from tests.adversarial.mutations import unzipped, zipped
from tests.adversarial.readers import (
    CASES,
    READERS,
    SPEC,
    _mat,
    _parquet,
    _results,
    attack,
    mutant,
)

pytest.importorskip("pyarrow", reason="parquet and tables of runs need it")
SMALL = "1MB"


@pytest.fixture(autouse=True)
def budget(monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "256MB")


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name, tmp_path):
    reader = READERS[name]
    seeds = reader.seeds()
    for number in range(15 if name in ("runs", "result") else 40):
        attack(reader, mutant(reader, seeds, 7, number), tmp_path)


@pytest.mark.parametrize("path", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_what_was_found_once(path, tmp_path):
    reader = READERS[path.name.partition("-")[0]]
    error = attack(reader, path.read_bytes(), tmp_path)
    assert error is None or isinstance(error, reader.allowed)


def test_whole_numbers_of_19_digits_are_numbers_however_often_they_occur(tmp_path):
    path = tmp_path / "t.csv"
    for cells in ([2**60] * 4, [2**60, 2**60 + 1], [-(2**63), 2**63 - 1] * 9):
        path.write_text("a,b\n" + "".join(f"{cell},0\n" for cell in cells))
        assert read_table(path).column("a").tolist() == cells
    path.write_text("a,b\n--5,0\n--5,0\n--5,0\n--5,0\n--5,0\n")
    assert read_table(path).column("a") == ["--5"] * 5


# ---------------------------------------------------------------------- bombs


def npy_header(shape, kind="<f8"):
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def test_an_npy_that_claims_more_than_it_has(tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(npy_header((10**12,)) + bytes(64))
    with pytest.raises(DataError, match="damaged or cut short"):
        read_table(path)


def test_an_npz_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", SMALL)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_header((1_000_000, 8), "|u1") + bytes(8_000_000))
    assert path.stat().st_size < 20_000
    with pytest.raises(MemoryBudgetError, match=r"needs 7\.6 MiB"):
        read_table(path)


def test_an_archive_that_lies_about_its_size(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", SMALL)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_header((8,), "|u1") + bytes(8_000_000))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 136)
    path.write_bytes(content)
    with pytest.raises(DataError):
        read_table(path)


def mat_of(content: bytes) -> bytes:
    packed = zlib.compress(content)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return head + struct.pack("<II", 15, len(packed)) + packed


def test_a_mat_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", SMALL)
    path = tmp_path / "x.mat"
    path.write_bytes(mat_of(struct.pack("<II", 14, 50_000_000) + bytes(50_000_000)))
    assert path.stat().st_size < 100_000
    with pytest.raises(MemoryBudgetError, match=r"needs 47\.\d MiB"):
        read_table(path)


def test_a_mat_that_unpacks_to_more_than_it_says(tmp_path):
    path = tmp_path / "x.mat"
    path.write_bytes(mat_of(struct.pack("<II", 14, 64) + bytes(5_000_000)))
    with pytest.raises(DataError, match="does not end where it should"):
        read_table(path)


def test_a_sparse_matrix_of_a_few_bytes_and_a_full_one_of_many(tmp_path):
    from scipy import sparse
    from scipy.io import savemat

    path = tmp_path / "x.mat"
    savemat(path, {"X": sparse.csc_array((2**31 - 1, 100))})
    with pytest.raises(MemoryBudgetError, match="as a full matrix"):
        read_table(path)
    cells = np.empty((1, 1), dtype=object)
    cells[0, 0] = sparse.csc_array((2**31 - 1, 100))
    savemat(path, {"Yi": cells})
    with pytest.raises(MemoryBudgetError, match="as a full matrix"):
        read_table(path, "labels")


def test_a_parquet_bomb_is_refused(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "4MB")
    path = tmp_path / "x.parquet"
    # a long text once, and a million times its number
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10**6, dtype=np.int8)), ["x" * 500])
    parquet.write_table(pa.table({"a": text}), path, store_schema=False)
    assert path.stat().st_size < 100_000
    with pytest.raises(MemoryBudgetError, match="Reading"):
        read_table(path)


def test_narrow_numbers_that_grow_eightfold(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", SMALL)
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((400_000, 2), dtype=np.uint8))
    with pytest.raises(MemoryBudgetError, match="400,000 rows of 2 numbers"):
        read_features(path)


def test_a_header_bomb_in_a_result(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", SMALL)
    entries = unzipped(_results()[0])
    entries["header.json"] += b" " * 1_000_000
    path = tmp_path / "r.npz"
    path.write_bytes(zipped(entries))
    with pytest.raises(ResultFileError, match=r"needs 7\.\d MiB"):
        Result.load(path)


def test_texts_wider_than_any_text(tmp_path):
    from tests.adversarial.mutations import resealed

    entries = unzipped(_results()[1])
    header = json.loads(entries.pop("header.json"))
    said = json.dumps(header["content"])
    assert '"dtype": "<U3"' in said
    header["content"] = json.loads(said.replace('"dtype": "<U3"', '"dtype": "<U99999999"'))
    path = tmp_path / "r.npz"
    path.write_bytes(resealed(entries, header))
    with pytest.raises(ResultFileError, match="The file may be damaged"):
        Result.load(path)


# ---------------------------------------------------------------------- no way out


@pytest.mark.parametrize("name", ["../secret.npz", "/etc/passwd", "a/../../b", "c:\\x", "..\\x"])
@pytest.mark.parametrize("key", ["file", "columns"])
def test_a_spec_stays_in_its_folder(name, key):
    text = SPEC.replace('file = ["ecoli", "pools/ecoli.npz"]', f"file = {json.dumps(name)}")
    if key == "columns":
        text = SPEC.replace('kind = "draw"', f'kind = "draw"\ncolumns = {json.dumps(name)}')
    with pytest.raises(SpecError, match="inside the data folder"):
        parse_spec(text)


def test_pickles_are_not_read(tmp_path):
    for name, save in (("x.npy", np.save), ("x.npz", np.savez)):
        path = tmp_path / name
        save(path, np.array([{"a": 1}], dtype=object))
        with pytest.raises(DataError, match="pickles"):
            read_table(path)


# ---------------------------------------------------------------------- the reader of MATLAB files


def test_reads_what_scipy_reads(tmp_path):
    from scipy import sparse
    from scipy.io import loadmat

    path = tmp_path / "x.mat"
    for content in _mat():
        path.write_bytes(content)
        theirs = {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
        ours = read_variables(path)
        assert ours.keys() == theirs.keys() == read_shapes(path).keys()
        for name, value in ours.items():
            expected = theirs[name]
            if sparse.issparse(expected):
                assert np.array_equal(value.toarray(), expected.toarray())
            elif expected.dtype.names is None:
                assert value.shape == expected.shape
                assert all(map(np.array_equal, value.ravel(), expected.ravel()))


def test_reads_scipys_own_examples():
    import warnings
    from pathlib import Path

    import scipy.io.matlab
    from scipy import sparse

    folder = Path(scipy.io.matlab.__file__).parent / "tests" / "data"
    paths = [p for p in sorted(folder.glob("*.mat")) if p.read_bytes()[:10] == b"MATLAB 5.0"]
    if not paths:
        pytest.skip("this scipy comes without its tests")
    # damaged on purpose
    broken = {"bad_miuint32", "corrupted_zlib_checksum", "corrupted_zlib_data", "malformed1"}
    compared = 0
    for path in paths:
        if path.stem in {*broken, "bad_miutf8_array_name"}:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = scipy.io.matlab.loadmat(path)
        for name, value in read_variables(path).items():
            expected = theirs[name]
            if sparse.issparse(expected):
                assert np.array_equal(value.toarray(), expected.toarray()), path
            elif isinstance(value, np.ndarray) and value.dtype.kind in "iufcb":
                assert value.shape == expected.shape
                assert np.array_equal(value, expected), path
                compared += 1
    assert compared > 30
    for stem in broken:
        with pytest.raises(ValueError, match=r"."):
            read_variables(folder / f"{stem}.mat")


def test_a_big_endian_file(tmp_path):
    def element(kind, content):
        return struct.pack(">II", kind, len(content)) + content + bytes(-len(content) % 8)

    parts = element(6, struct.pack(">II", 6, 0)) + element(5, struct.pack(">ii", 2, 1))
    parts += element(1, b"X") + element(9, struct.pack(">dd", 1.5, -2.0))
    path = tmp_path / "x.mat"
    path.write_bytes(
        b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(">H", 0x0100) + b"MI" + element(14, parts)
    )
    assert read_variables(path)["X"].tolist() == [[1.5], [-2.0]]


def test_valid_parquet_is_read_whole(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(_parquet()[0])
    assert read_table(path).column("c").tolist() == [0.5, 1.0, 2.0, 3.0]
    buffer = io.BytesIO(_parquet()[0])
    assert buffer.read(4) == b"PAR1"
