"""Every reader on damaged files: data or a documented error, in bounded time and memory."""

from __future__ import annotations

import faulthandler
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from coterie import EAC, Ensemble, LabelError, Result
from coterie.io import read_features, read_labels
from coterie.io.result_file import HEADER
from coterie_bench import SpecError, parse_spec, table
from coterie_bench._records import RunKey, RunRecord
from coterie_bench._store import RunStore
from tests.adversarial.mutations import (
    damage,
    damage_cells,
    damage_entry,
    damage_json,
    damage_mat,
    resealed,
    unzipped,
)
from tests.adversarial.outcomes import (
    OF_FILES,
    OF_RESULTS,
    OF_SPECS,
    Tally,
    Violation,
    documented_warnings_only,
)

CASES = Path(__file__).parent / "cases"
# seconds for one file of a few kilobytes, on a machine that does other things too
PATIENCE = 10.0
# a file of a few kilobytes has no business with more
BUDGET = 256 * 1024**2
ADDRESS_SPACE = 4 * 1024**3

Damage = Callable[[np.random.Generator, bytes, Sequence[bytes]], bytes]


@dataclass(frozen=True)
class Reader:
    """Something that reads bytes, valid examples of them, and ways to damage those."""

    name: str
    # how the file must be called
    file: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    allowed: tuple[type[BaseException], ...]
    damages: tuple[Damage, ...] = (damage,)


# ---------------------------------------------------------------------- valid files


def _text(separator: str) -> list[bytes]:
    rows = [
        ["id", "a", "b", "café"],
        ["x1", "0", "1.5", "2"],
        ["x2", "-1", "NA", "3"],
        ["x3", "1", "1e5", '"q ""q"""'],
        ["x4", "12345678901234567890", "", "0"],
    ]
    plain = [["a", "b"], ["0", "1"], ["1", "1"], ["0", "0"], ["", "1"]]
    return [
        "\n".join(separator.join(row) for row in found).encode() + b"\n" for found in (rows, plain)
    ]


def _arrays() -> dict[str, np.ndarray]:
    return {
        "members": np.array([[0, 0], [0, 1], [1, 1], [1, -1]], dtype=np.int32),
        "gt": np.array([0, 0, 1, 1]),
        "names": np.array(["ann", "bob", "çy", "dee"]),
    }


def _npy() -> list[bytes]:
    found = []
    for array in (
        *_arrays().values(),
        np.arange(6.0).reshape(3, 2),
        np.array([], dtype=np.float32),
    ):
        buffer = io.BytesIO()
        np.save(buffer, array)
        found.append(buffer.getvalue())
    return found


def _npz() -> list[bytes]:
    found = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **_arrays())
        found.append(buffer.getvalue())
    return found


def _mat() -> list[bytes]:
    from scipy import sparse
    from scipy.io import savemat

    cells = np.empty((1, 2), dtype=object)
    cells[0, 0] = np.eye(4)[:, :2]
    cells[0, 1] = np.array([[1.0], [2.0], [2.0], [1.0]])
    contents: list[dict[str, Any]] = [
        {"X": np.arange(8.0).reshape(4, 2), "gnd": np.array([[1], [1], [2], [2]], dtype=np.uint8)},
        {"Yi": cells, "names": np.array(["ann", "bob"], dtype=object)},
        {"X": sparse.csc_array(np.eye(4)), "note": {"a": 1, "b": "text"}},
        {
            "members": np.array([[0, 1], [1, 1]], dtype=np.int16),
            "z": np.array([[1 + 2j]]),
            "t": "abc",
        },
    ]
    found = []
    for content in contents:
        for compressed in (False, True):
            buffer = io.BytesIO()
            savemat(buffer, content, do_compression=compressed)
            found.append(buffer.getvalue())
    return found


def _parquet() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    tables = [
        pa.table({"a": [0, 1, 1, None], "b": ["p", "q", None, "p"], "c": [0.5, 1.0, 2.0, 3.0]}),
        pa.table(
            {
                "d": pa.array(["x", "y", "x", "x"]).dictionary_encode(),
                "e": pa.array([True, False, None, True]),
                "f": pa.array([[1], [2, 3], [], None]),
            }
        ),
    ]
    found = []
    for content in tables:
        for compression in ("none", "zstd"):
            buffer = io.BytesIO()
            parquet.write_table(content, buffer, compression=compression)
            found.append(buffer.getvalue())
    return found


@cache
def _results() -> list[bytes]:
    from coterie import select_k

    labels = np.array([[0, 0, 1], [0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 2, 0], [1, 2, -1]])
    plain = Ensemble.from_labels(labels)
    named = Ensemble.from_labels(
        {
            "a": ["x", "x", "y", "z", "z", None],
            "b": [1, 1, True, "1", 2, 2],
            "c": [0, 1, 0, 1, 0, 1],
        },
        sample_ids=["ann", "bob", "cy", "dee", "eve", "føø"],
        sample_weight=[1.0, 2, 3, 4, 5, 6],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selection = select_k(plain, k=range(2, 4), random_state=0)
    found = []
    for result in (
        Result.of(EAC(2).fit(plain), truth=[0, 0, 0, 1, 1, 1], selection=selection, seconds=1.0),
        Result.of(EAC(3).fit(named), truth=["p", "p", "q", "q", "r", "r"], warnings=["one"]),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "result.npz")
            result.save(path)
            found.append(path.read_bytes())
    return found


SPEC = """\
title = "An experiment"
metrics = ["ari", "nmi_max"]
seed = 3
[[data]]
embedded = "iris"
generate = {pool = 10, clusters = [2, 5]}
[[data]]
name = "ecoli"
file = ["ecoli", "pools/ecoli.npz"]
n_clusters = 8
[[method]]
solver = "lwea"
grid = {theta = [0.2, 0.4]}
[[method]]
name = "lwea half"
solver = "lwea"
set = {theta = 0.5}
ablation_of = "lwea"
[protocol]
kind = "draw"
members = [5, 10]
missing = [0.0, 0.25]
repetitions = 2
[caps]
seconds = 60.0
memory = "1GB"
"""


def _specs() -> list[bytes]:
    from coterie_bench import shipped

    return [SPEC.encode(), *(path.read_bytes() for path in [*shipped().values()][:2])]


def a_run(repetition: int, method: str = "lwea", **changes: Any) -> RunRecord:
    """A run of the spec above."""
    made = RunRecord(
        key=RunKey("iris", 5, 0.0, repetition, method, '{"theta": 0.4}'),
        solver="lwea",
        default=True,
        ablation_of="",
        status="ok",
        message="",
        scores={"ari": 0.5, "nmi_max": 0.75},
        n_clusters=3,
        n_clusters_wanted=3,
        n_samples=150,
        n_microclusters=40,
        seconds=0.25,
        peak_mib=1.5,
        converged=True,
        passes=2,
        objective=(3.0, 1.0),
        labels_digest="abc",
        seed=7,
    )
    return replace(made, **changes)


# ---------------------------------------------------------------------- reading them


def _read_file(path: Path) -> None:
    """As features, and as labels up to the ensemble; either may be refused."""
    errors: list[BaseException] = []
    for read in (read_features, _read_ensemble):
        try:
            read(path)
        except (*OF_FILES, LabelError) as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _read_ensemble(path: Path) -> None:
    Ensemble.from_labels(read_labels(path))


def _read_result(path: Path) -> None:
    result = Result.load(path)
    # what is loaded can be worked with
    repr(result)
    for asked in (result.diagnose_members(), result.diagnose_clusters(), result.diagnose_samples()):
        len(asked)
    if result.selection is not None:
        str(result.selection)


def _read_spec(path: Path) -> None:
    parse_spec(path.read_bytes().decode("utf-8", "replace"))


def _read_runs(path: Path) -> None:
    """The file stands for one of those in a directory of runs, by its first letter."""
    content = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder, "runs"))
        store.begin(parse_spec(SPEC))
        place = store.directory / _PLACES[content[:1]]
        place.write_bytes(content[1:])
        with store.journal() as journal:
            journal.append(a_run(9))
        table(store.directory)
        store.facts()
        if not any(run.key.repetition == 9 for run in store.runs()):
            raise Violation("a run beside the damaged file was lost")


_PLACES = {
    b"s": "spec.toml",
    b"j": "journals/host-1-0.jsonl",
    b"p": "runs/part-1.parquet",
    b"f": "facts.json",
}


def _run_files() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    from coterie_bench._store import _row, _schema

    runs = [a_run(0), a_run(1, status="failed", message="x", scores={}, seconds=None)]
    journal = b"".join(_line(json.loads(run.to_json())) for run in runs)
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([_row(run) for run in runs], schema=_schema()), buffer)
    return [b"s" + SPEC.encode(), b"j" + journal, b"p" + buffer.getvalue(), b'f{"cores": 2}']


def _line(content: Any) -> bytes:
    text = json.dumps(content).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


# ---------------------------------------------------------------------- damage that keeps checksums


def _altered_header(rng: np.random.Generator, content: bytes, _: Sequence[bytes]) -> bytes:
    entries = unzipped(content)
    header = json.loads(entries.pop(HEADER))
    part = "content" if rng.integers(0, 4) else "arrays"
    header[part] = damage_json(rng, header[part])
    return resealed(entries, header)


def _altered_array(rng: np.random.Generator, content: bytes, _: Sequence[bytes]) -> bytes:
    """Other numbers in an array, and a checksum that fits them."""
    entries = unzipped(content)
    header = json.loads(entries.pop(HEADER))
    name = [*header["arrays"]][int(rng.integers(0, len(header["arrays"])))]
    data = bytearray(entries[f"{name}.npy"])
    if len(data) > 128:
        place = int(rng.integers(128, len(data)))
        data[place] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(0, 256)]))
    entries[f"{name}.npy"] = bytes(data)
    return resealed(entries, header)


def _altered_runs(rng: np.random.Generator, content: bytes, others: Sequence[bytes]) -> bytes:
    if content[:1] == b"j" and rng.integers(0, 2):
        lines = [json.loads(line.partition(b" ")[2]) for line in content[1:].splitlines()]
        return b"j" + b"".join(_line(damage_json(rng, line)) for line in lines)
    return content[:1] + damage(rng, content[1:], [other[1:] for other in others])


TEXT: tuple[Damage, ...] = (damage, damage_cells)
READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        Reader("csv", "data.csv", lambda: _text(","), _read_file, (*OF_FILES, LabelError), TEXT),
        Reader("tsv", "data.tsv", lambda: _text("\t"), _read_file, (*OF_FILES, LabelError), TEXT),
        Reader("npy", "data.npy", _npy, _read_file, (*OF_FILES, LabelError)),
        Reader(
            "npz", "data.npz", _npz, _read_file, (*OF_FILES, LabelError), (damage, damage_entry)
        ),
        Reader("mat", "data.mat", _mat, _read_file, (*OF_FILES, LabelError), (damage, damage_mat)),
        Reader("parquet", "data.parquet", _parquet, _read_file, (*OF_FILES, LabelError)),
        Reader(
            "result",
            "result.npz",
            _results,
            _read_result,
            OF_RESULTS,
            (damage, damage_entry, _altered_header, _altered_header, _altered_array),
        ),
        Reader("spec", "spec.toml", _specs, _read_spec, OF_SPECS),
        Reader(
            "runs", "runs.bin", _run_files, _read_runs, (*OF_FILES, SpecError), (_altered_runs,)
        ),
    )
}


def attack(reader: Reader, content: bytes, folder: Path) -> BaseException | None:
    """Read the bytes from a file; the documented error that came of it, if any."""
    path = folder / reader.file
    path.write_bytes(content)
    began = process_time()
    found: BaseException | None = None
    try:
        with documented_warnings_only():
            reader.read(path)
    except reader.allowed as error:
        _check_words(error)
        found = error
    if process_time() - began > PATIENCE:
        raise Violation(f"took {process_time() - began:.1f} s")
    return found


def _check_words(error: BaseException) -> None:
    if not str(error).strip():
        raise Violation(f"{type(error).__name__} without a word")


def mutant(reader: Reader, seeds: Sequence[bytes], seed: int, number: int) -> bytes:
    """The damaged file of that number."""
    rng = np.random.default_rng([seed, number])
    content = seeds[int(rng.integers(0, len(seeds)))]
    how = reader.damages[int(rng.integers(0, len(reader.damages)))]
    return how(rng, content, seeds)


# ---------------------------------------------------------------------- many, each reader apart


def fuzz(name: str, cases: int, seed: int, folder: Path) -> Tally:
    """So many damaged files through one reader, in this process."""
    reader = READERS[name]
    seeds = reader.seeds()
    tally = Tally(f"reader, {name}")
    for content in seeds:
        with tally.watch(f"{name}, valid file"):
            tally.count(attack(reader, content, folder))
    for path in sorted(CASES.glob(f"{name}-*")):
        with tally.watch(f"{name}, {path.name}"):
            tally.count(attack(reader, path.read_bytes(), folder))
    for number in range(cases):
        faulthandler.dump_traceback_later(6 * PATIENCE, exit=True)
        with tally.watch(f"{name}, file {seed}/{number}"):
            tally.count(attack(reader, mutant(reader, seeds, seed, number), folder))
        faulthandler.cancel_dump_traceback_later()
    return tally


def run(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """Each reader in a process of its own, under a limit of memory, so that a crash is seen."""
    for name in names or READERS:
        began = perf_counter()
        folder = Path(tempfile.mkdtemp())
        tally = Tally(f"reader, {name}")
        answer = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.adversarial.readers",
                name,
                str(cases),
                str(seed),
                folder,
            ],
            env=os.environ | {"COTERIE_MEMORY_BUDGET": str(BUDGET)},
            capture_output=True,
            check=False,
        )
        if answer.returncode == 0:
            told = json.loads(answer.stdout)
            tally.cases = told["cases"]
            tally.raised.update(told["raised"])
            tally.violations += told["violations"]
            tally.notes.append(f"{perf_counter() - began:.0f} s")
            shutil.rmtree(folder)
        else:
            last = answer.stderr.decode(errors="replace").strip().splitlines()[-12:]
            tally.violations.append(
                f"{name}: the process ended with {answer.returncode}; its file is in {folder}\n    "
                + "\n    ".join(last)
            )
        yield tally


def _serve(name: str, cases: str, seed: str, folder: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    faulthandler.enable()
    tally = fuzz(name, int(cases), int(seed), Path(folder))
    found = {"cases": tally.cases, "raised": tally.raised, "violations": tally.violations}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    _serve(*sys.argv[1:])
