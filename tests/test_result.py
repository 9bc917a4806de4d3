"""Result: made from any fitted model, the same after saving, and careful with files."""

from __future__ import annotations

import hashlib
import io
import json
import time
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from coterie import EAC, ECCMS, ConsensusClustering, Ensemble
from coterie.core.errors import ResultFileError
from coterie.io.result_file import VERSION, pack, unpack
from coterie.profiles import ProfileSummary
from coterie.result import Result
from coterie.trust import Verdict
from tests.trust.partitions import partitions

LABELS = {"a": [0, 0, 0, 1, 1], "β": ["x", "x", "y", "y", None], "c": [1, 1, 2, 2, 2]}
PEOPLE = ["ann", "bob", "ćy", "dee", "eve"]


def small(**given) -> Result:
    model = EAC(2).fit(Ensemble.from_labels(LABELS, sample_ids=PEOPLE))
    return Result.of(model, truth=["p", "p", "q", "q", "q"], seconds=0.5, **given)


def plain(part):
    """A part of a result, with the arrays of its profile as lists."""
    if not isinstance(part, ProfileSummary):
        return part
    # nan equals itself as text
    return {name: str(np.asarray(value).tolist()) for name, value in part.to_record().items()}


def assert_same(one: Result, other: Result) -> None:
    for part in fields(Result):
        mine, theirs = getattr(one, part.name), getattr(other, part.name)
        if part.name == "ensemble":
            assert mine == theirs
            for a, b in zip(mine.categories, theirs.categories, strict=True):
                assert a.dtype == b.dtype
                assert a.tolist() == b.tolist()
        elif isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, part.name
            assert mine.tobytes() == theirs.tobytes() or mine.tolist() == theirs.tolist()
        elif part.name != "selection":
            assert plain(mine) == plain(theirs), part.name


def saved(folder: Path, result: Result | None = None) -> Path:
    path = folder / "result.npz"
    (small() if result is None else result).save(path)
    return path


# ---------------------------------------------------------------------- of


def test_of_a_solver():
    result = small(input={"file": "people.csv"}, warnings=["look here"])
    model = EAC(2).fit(Ensemble.from_labels(LABELS, sample_ids=PEOPLE))
    assert result.method == "eac"
    assert result.parameters["n_clusters"] == 2
    assert "random_state" not in result.parameters
    assert np.array_equal(result.labels, model.labels_)
    assert result.labels.dtype == np.int32
    assert np.array_equal(result.sample_confidence, model.sample_confidence_)
    assert result.coordinates.shape == (5, 2)
    assert "spectral" in result.coordinates_name
    assert result.input["file"] == "people.csv"
    assert result.input["rows"] == 5
    assert len(result.input["sha256"]) == 64
    assert set(result.versions) == {"coterie", "python", "numpy", "scipy", "scikit-learn", "numba"}
    assert result.warnings == ["look here"]
    assert result.seconds == 0.5
    assert result.created.endswith("+00:00")
    assert result.matrix is None
    with pytest.raises(ValueError, match="read-only"):
        result.labels[0] = 1


def test_of_features():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.3, (40, 3)), rng.normal(4, 0.3, (40, 3))])
    model = ConsensusClustering(2, n_members=5, solver=EAC(linkage="single"), random_state=7).fit(X)
    result = Result.of(model, X=X)
    assert result.seed == 7
    assert result.parameters["n_members"] == 5
    assert result.parameters["generator"] == "auto"
    assert result.parameters["linkage"] == "single"
    assert json.dumps(result.parameters)
    assert result.coordinates_name == "PCA of 3 features"
    assert result.input["columns"] == 3
    # the plane keeps the distance between the two groups
    x = result.coordinates[:, 0]
    assert abs(x[:40].mean() - x[40:].mean()) == pytest.approx(4 * np.sqrt(3), rel=0.1)
    assert Result.of(model, X=X).input["sha256"] == result.input["sha256"]
    assert Result.of(model, X=X + 1).input["sha256"] != result.input["sha256"]
    assert np.allclose(Result.of(model, X=sparse.csr_array(X)).coordinates, result.coordinates)
    with pytest.raises(ValueError, match="features of the 80 samples"):
        Result.of(model, X=X[:10])


def test_a_learned_matrix_is_kept():
    labels = np.random.default_rng(0).integers(0, 3, (30, 6))
    model = ECCMS(3, random_state=0).fit(labels)
    result = Result.of(model)
    size = model.ensemble_.n_microclusters
    assert result.matrix.shape == (size, size)
    assert np.array_equal(result.matrix, model.consensus_matrix_)
    assert "ECCMS" in result.matrix_name


def test_an_unfitted_model_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        Result.of(EAC(2))


def test_parts_must_fit():
    with pytest.raises(ValueError, match="truth must have shape"):
        Result.of(EAC(2).fit([[0], [0], [1]]), truth=[0, 1])


# ---------------------------------------------------------------------- save and load


@given(case=partitions(), data=st.data())
def test_round_trip_is_exact(tmp_path_factory, case, data):
    labels, partition = case
    n, m = labels.shape
    text = st.text(max_size=6)
    ids = data.draw(
        st.one_of(
            st.none(),
            st.lists(st.integers(-(2**40), 2**40), min_size=n, max_size=n, unique=True),
            # numpy drops the NUL characters at the end of a text
            st.lists(text, min_size=n, max_size=n, unique_by=lambda name: name.rstrip("\0")),
            st.lists(st.one_of(text, st.integers()), min_size=n, max_size=n, unique=True).map(
                lambda values: np.array([*values, None], dtype=object)[:-1]
            ),
        )
    )
    names = data.draw(st.lists(text, min_size=m, max_size=m, unique=True))
    ensemble = Ensemble.from_labels(labels, names=names, sample_ids=ids)
    numbers = st.floats(0, 1)
    result = Result(
        method="eac",
        parameters={"linkage": "average", "n_clusters": None, "range": [2, 3]},
        seed=data.draw(st.one_of(st.none(), st.integers(0, 2**32))),
        labels=partition.astype(np.int32),
        sample_confidence=np.array(data.draw(st.lists(numbers, min_size=n, max_size=n))),
        member_weights=np.full(m, 1 / m),
        n_clusters=int(partition.max()) + 1,
        converged=data.draw(st.booleans()),
        history=[{"pass": 1, "objective": data.draw(st.floats(allow_nan=False))}],
        ensemble=ensemble,
        coordinates=data.draw(st.sampled_from([None, np.ones((n, 2), dtype=np.float32)])),
        truth=data.draw(st.sampled_from([None, partition.copy()])),
        warnings=data.draw(st.lists(text, max_size=2)),
        input={"file": data.draw(text)},
        verdict=data.draw(
            st.one_of(
                st.none(),
                st.builds(Verdict.of, st.floats(-1, 1), st.lists(text, max_size=2)),
            )
        ),
        columns=data.draw(
            st.lists(
                st.fixed_dictionaries(
                    {
                        "column": text,
                        "kind": text,
                        "used": st.booleans(),
                        "missing": st.integers(0, 9),
                        "treatment": text,
                    }
                ),
                max_size=2,
            )
        ),
    )
    path = tmp_path_factory.mktemp("results") / "result.npz"
    result.save(path)
    assert_same(result, Result.load(path))


def test_a_loaded_result_answers_every_question(tmp_path):
    result = small()
    loaded = Result.load(saved(tmp_path, result))
    assert_same(result, loaded)
    assert np.array_equal(result.soft_labels(), loaded.soft_labels())
    assert result.diagnose_members() == loaded.diagnose_members()
    assert result.diagnose_clusters() == loaded.diagnose_clusters()
    assert result.diagnose_samples() == loaded.diagnose_samples()
    assert str(result.explain("ćy")) == str(loaded.explain("ćy"))
    assert np.allclose(loaded.diagnose_samples()["confidence"], loaded.sample_confidence)
    assert result.judge_members() == loaded.judge_members()
    assert loaded.diagnose_members()["member"].tolist() == ["c", "β", "a"]
    assert repr(loaded) == repr(result)


def test_a_table_leaves_its_columns_and_its_verdict(tmp_path):
    table = {"id": [*range(100, 130)], "x": [*range(15)] * 2, "plan": ["a"] * 15 + ["b"] * 15}
    model = ConsensusClustering(2, n_members=5, random_state=0).fit(table)
    result = Result.of(model, X=table)
    assert result.columns == [*model.encoder_.summary().rows()]
    assert [column["used"] for column in result.columns] == [False, True, True]
    assert result.verdict == model.verdict_
    assert result.coordinates_name == "PCA of 3 features"
    assert_same(result, Result.load(saved(tmp_path, result)))
    # a result of a solver has a verdict, too, but no columns
    assert small().verdict is not None
    assert small().columns == []


def test_the_same_result_is_the_same_bytes(tmp_path):
    result = small()
    result.save(tmp_path / "one.npz")
    result.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.npz"]


def test_no_pickle_and_readable_by_numpy_alone(tmp_path):
    with np.load(saved(tmp_path), allow_pickle=False) as archive:
        for name in archive.files:
            assert archive[name] is not None


def test_a_selection_travels_along(tmp_path, monkeypatch):
    import sys
    import types

    class Selection:
        def __init__(self, record):
            self.record = record

        def to_record(self):
            return self.record

        @classmethod
        def from_record(cls, record):
            return cls(record)

    module = types.ModuleType("coterie.select")
    module.Selection = Selection
    monkeypatch.setitem(sys.modules, "coterie.select", module)
    record = {"ks": np.arange(2, 5), "criteria": {"pac": np.array([0.1, np.nan])}, "reason": "so"}
    loaded = Result.load(saved(tmp_path, small(selection=Selection(record))))
    assert loaded.selection.record["ks"].tolist() == [2, 3, 4]
    assert np.isnan(loaded.selection.record["criteria"]["pac"][1])
    assert loaded.selection.record["reason"] == "so"


def test_a_million_samples(tmp_path):
    rng = np.random.default_rng(0)
    n = 1_000_000
    rows = rng.integers(0, 6, (400, 8))
    ensemble = Ensemble.from_labels(rows[rng.integers(0, 400, n)], sample_ids=np.arange(n))
    labels = ensemble.expand(np.arange(ensemble.n_microclusters) % 4).astype(np.int32)
    result = Result(
        "eac", {}, 0, labels, rng.random(n).round(2), np.ones(8) / 8, 4, True, [], ensemble
    )
    start = time.process_time()
    path = saved(tmp_path, result)
    loaded = Result.load(path)
    assert time.process_time() - start < 20
    assert np.array_equal(loaded.labels, labels)
    assert path.stat().st_size < 12 * n


# ---------------------------------------------------------------------- files that are not right


def refused(path: Path) -> str:
    with pytest.raises(ResultFileError) as caught:
        Result.load(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


def test_a_file_cut_short_anywhere(tmp_path):
    path = saved(tmp_path)
    content = path.read_bytes()
    for length in [0, 1, 3, 30, len(content) // 2, len(content) - 30, len(content) - 1]:
        path.write_bytes(content[:length])
        message = refused(path)
        assert any(word in message for word in ("cut short", "empty", "not a coterie result"))


def test_any_single_byte_altered(tmp_path):
    path = saved(tmp_path)
    content = path.read_bytes()
    loaded = Result.load(path)
    messages = []
    for position in range(0, len(content), 101):
        altered = bytearray(content)
        altered[position] ^= 0x55
        path.write_bytes(bytes(altered))
        try:
            # dates and the like of zip's own directory carry nothing
            assert_same(loaded, Result.load(path))
        except ResultFileError as error:
            messages.append(str(error))
    assert len(messages) > 20
    assert all(str(path) in message for message in messages)


def rewrite(path: Path, change) -> None:
    """The archive with its entries changed by ``change(entries)``, otherwise sound."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def header_with(path: Path, **changes) -> None:
    def change(entries):
        header = json.loads(entries["header.json"])
        header.update(changes)
        entries["header.json"] = json.dumps(header).encode()

    rewrite(path, change)


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def entry_of(entries, part: str) -> str:
    return next(name for name in entries if part in name)


def test_a_newer_version(tmp_path):
    path = saved(tmp_path)
    header_with(path, version=VERSION + 1)
    message = refused(path)
    assert f"version {VERSION + 1}" in message
    assert "update coterie" in message


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.0])
def test_a_version_that_is_none(tmp_path, version):
    path = saved(tmp_path)
    header_with(path, version=version)
    assert "no version" in refused(path)


def test_another_format(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, labels=np.arange(3))
    assert "not a coterie result" in refused(path)
    path.write_text("id,label\n1,2\n")
    assert "not a coterie result" in refused(path)
    path = saved(tmp_path)
    header_with(path, format="another")
    assert "another format" in refused(path)


def test_tampered_labels_are_noticed(tmp_path):
    path = saved(tmp_path)

    def change(entries):
        name = entry_of(entries, "result_labels")
        entries[name] = npy(1 - np.load(io.BytesIO(entries[name])))

    rewrite(path, change)
    assert "checksum" in refused(path)


def test_tampered_parameters_are_noticed(tmp_path):
    path = saved(tmp_path)

    def change(entries):
        assert b"people" in entries["header.json"]
        entries["header.json"] = entries["header.json"].replace(b"people", b"peopIe")

    small(input={"file": "people.csv"}).save(path)
    rewrite(path, change)
    assert "checksum" in refused(path)


def test_a_missing_array(tmp_path):
    path = saved(tmp_path)
    rewrite(path, lambda entries: entries.pop(entry_of(entries, "result_labels")))
    assert "is missing" in refused(path)


def test_an_entry_too_many(tmp_path):
    path = saved(tmp_path)
    rewrite(path, lambda entries: entries.update({"evil.npy": npy(np.zeros(3))}))
    assert "evil" in refused(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = saved(tmp_path)

    def change(entries):
        entries[entry_of(entries, "result_labels")] = npy(np.zeros(20_000_000, dtype=np.int32))

    rewrite(path, change)
    assert "another type, shape or size than the header declares" in refused(path)


def test_a_declared_bomb_is_refused_by_the_budget(tmp_path, monkeypatch):
    path = saved(tmp_path)
    monkeypatch.setenv("COTERIE_MEMORY_BUDGET", "100")
    assert "memory budget" in refused(path)


def test_another_shape_and_type(tmp_path):
    path = saved(tmp_path)

    def reshape(entries):
        name = entry_of(entries, "result_labels")
        entries[name] = npy(np.load(io.BytesIO(entries[name])).reshape(1, -1))

    rewrite(path, reshape)
    assert "another type, shape or size" in refused(path)

    path = saved(tmp_path)

    def pickled(entries):
        name = entry_of(entries, "result_labels")
        file = io.BytesIO()
        np.save(file, np.array([{}], dtype=object), allow_pickle=True)
        entries[name] = file.getvalue()

    rewrite(path, pickled)
    refused(path)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("labels", lambda record: record.update(labels=record["labels"][:-1])),
        ("clusters", lambda record: record.update(n_clusters=7)),
        ("method is missing", lambda record: record.pop("method")),
        ("sample_ids", lambda record: record["ensemble"].update(sample_ids=np.arange(2))),
        ("the verdict is damaged", lambda record: record.update(verdict={"agreement": 1.0})),
        ("verdict has the wrong type", lambda record: record.update(verdict="good")),
        ("a column is damaged", lambda record: record.update(columns=[{"column": "x"}])),
        ("a column is damaged", lambda record: record.update(columns=["x"])),
        ("another length", lambda record: record["ensemble"].update(members=["only"])),
        ("microclusters", lambda record: record["ensemble"].update(inverse=np.zeros(5, np.int32))),
        (
            "exceeds the number of clusters",
            lambda record: record["ensemble"].update(labels=record["ensemble"]["labels"] + 9),
        ),
    ],
)
def test_a_sound_file_whose_parts_do_not_fit(tmp_path, part, change):
    from coterie.io.result_file import write_result

    record = small().to_record()
    record["ensemble"] = dict(record["ensemble"])
    change(record)
    path = tmp_path / "result.npz"
    write_result(path, record)
    message = refused(path)
    assert "do not fit together" in message
    assert part in message


def test_places_that_cannot_be_read_or_written(tmp_path):
    assert "no such file" in refused(tmp_path / "absent.npz")
    assert "directory" in refused(tmp_path)
    with pytest.raises(ResultFileError, match="there is no directory"):
        small().save(tmp_path / "absent" / "result.npz")
    with pytest.raises(ResultFileError, match="is a directory"):
        small().save(tmp_path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = saved(tmp_path)
    before = hashlib.sha256(path.read_bytes()).hexdigest()

    def fail(*_arguments, **_named):
        raise OSError("disk full")

    monkeypatch.setattr("numpy.lib.format.write_array", fail)
    with pytest.raises(ResultFileError, match="disk full"):
        small().save(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [file.name for file in tmp_path.iterdir()] == ["result.npz"]


def test_texts_are_kept_to_the_last_letter():
    arrays: dict = {}
    given = {"plain": np.array(["a", "ß", ""]), "odd": np.array(["a\0", 3, None], dtype=object)}
    found = unpack(json.loads(json.dumps(pack(given, "x", arrays))), arrays)
    assert found["plain"].tolist() == ["a", "ß", ""]
    assert found["plain"].dtype == given["plain"].dtype
    assert found["odd"].tolist() == ["a\0", 3, None]
    with pytest.raises(TypeError, match="cannot be stored"):
        pack({"f": object()}, "x", {})


@pytest.mark.parametrize(
    "truth",
    [
        ["p", pd.NA, "q"],
        np.array(["p", None, "q"], dtype=object),
        np.ma.array(["p", "p", "q"], mask=[False, True, False]),
    ],
)
def test_classes_that_are_missing_stay_missing(tmp_path, truth):
    result = Result.of(EAC(2).fit([[0], [0], [1]]), truth=truth)
    result.save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").truth.tolist() == ["p", None, "q"]
