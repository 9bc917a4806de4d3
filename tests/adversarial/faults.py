"""A disk that is full, a folder that is closed, too little memory, libraries that are not there."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie import EAC, Ensemble, Result
from coterie.core.errors import DataError, ResultFileError
from coterie.io import write_table
from coterie_bench import parse_spec
from coterie_bench._store import RunStore
from tests.adversarial.outcomes import Tally, Violation
from tests.adversarial.readers import SPEC, a_run

# blocked one at a time: what asks for it, and what the refusal must name
OPTIONAL = {
    "pyarrow": ("read_parquet", "coterie[io]"),
    "matplotlib": ("plot", "coterie[plot]"),
    "jinja2": ("report", "coterie[report]"),
    "pandas": ("to_pandas", "pandas"),
    "polars": ("to_polars", "polars"),
}


def _model() -> EAC:
    rng = np.random.default_rng(0)
    return EAC(3).fit(Ensemble.from_labels(rng.integers(0, 3, (400, 5))))


def _page(result: Result, path: Path) -> None:
    from coterie.report import write

    write(result, path)


def writers() -> dict[str, Callable[[Path], object]]:
    """Everything that writes, by the name of its file."""
    result = Result.of(_model())
    columns = {"row": np.arange(400), "label": result.labels, "name": [f"x{i}" for i in range(400)]}
    return {
        "t.csv": lambda path: write_table(path, columns),
        "t.tsv": lambda path: write_table(path, columns),
        "t.parquet": lambda path: write_table(path, columns),
        "r.npz": result.save,
        "r.html": lambda path: _page(result, path),
        "runs": _write_runs,
    }


def _write_runs(path: Path) -> None:
    store = RunStore(path)
    store.begin(parse_spec(SPEC))
    store.keep_facts({"cores": 2})
    with store.journal() as journal:
        for repetition in range(20):
            journal.append(a_run(repetition))


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """Writing beyond so many bytes fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores the signal, and the write fails
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def full_disk(cases: int, seed: int) -> Tally:
    """Every writer with room for a random number of bytes; an older file must survive."""
    tally = Tally("faults, full disk")
    rng = np.random.default_rng(seed)
    every = writers()
    for name, write in every.items():
        folder = Path(tempfile.mkdtemp())
        write(folder / name)
        whole = folder / name
        size = whole.stat().st_size if whole.is_file() else 8000
        for number in range(cases):
            room = int(rng.integers(0, size))
            with tally.watch(f"{name}, room for {room} of {size} bytes"):
                tally.count(_write_with_room(folder, name, write, room, number % 2 == 0))
        shutil.rmtree(folder)
    return tally


def _write_with_room(
    folder: Path, name: str, write: Callable[[Path], object], room: int, older: bool
) -> BaseException | None:
    path = folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    if older and name != "runs":
        path.write_bytes(b"older")
    error: BaseException | None = None
    try:
        with files_no_larger_than(room):
            write(path)
    except (DataError, ResultFileError) as found:
        error = found
    except OSError as found:
        # a journal of runs is no file that could wait for its name
        if name != "runs":
            raise
        error = found
    left = sorted(os.listdir(folder))
    if name == "runs":
        _check_runs(path)
    elif error is None:
        raise Violation("no error")
    elif left != ([name] if older else []) or (older and path.read_bytes() != b"older"):
        raise Violation(f"left {left}")
    return error


def _check_runs(path: Path) -> None:
    """What is there can be read, and the same can go on."""
    if not (path / "spec.toml").exists():
        return
    known = {a_run(repetition).key for repetition in range(20)}
    if not {run.key for run in RunStore(path).runs()} <= known:
        raise Violation("runs that never were")
    _write_runs(path)
    if {run.key for run in RunStore(path).runs()} != known:
        raise Violation("runs are missing after the disk had room again")


def _answers(
    arguments: Sequence[str], folder: Path, prefix: Sequence[str] = (), **keywords: Any
) -> tuple[int, str]:
    answer = subprocess.run(
        [*prefix, sys.executable, "-m", "coterie", *arguments],
        cwd=folder,
        capture_output="stdout" not in keywords,
        stderr=subprocess.PIPE if "stdout" in keywords else None,
        check=False,
        text=True,
        **keywords,
    )
    return answer.returncode, answer.stderr


def _check_one_line(code: int, said: str, allowed: Sequence[int]) -> None:
    if code not in allowed:
        raise Violation(f"exit code {code}: {said[-300:]}")
    if "Traceback" in said:
        raise Violation(f"a traceback: {said[-300:]}")


def commands(folder: Path) -> Tally:
    """A closed folder, an output that is full, and limits of memory, seen from the command line."""
    tally = Tally("faults, command line")
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (60, 5))
    np.savetxt(folder / "m.csv", labels, "%d", ",", header="a,b,c,d,e", comments="")
    combine = ("combine", "m.csv", "-k", "3")
    with Path("/dev/full").open("w") as full, tally.watch("standard output is full"):
        code, said = _answers(["methods", "--brief"], folder, stdout=full)
        _check_one_line(code, said, (2,))
        tally.count(None)
    closed = folder / "closed"
    closed.mkdir(mode=0o500)
    # the superuser writes everywhere, unless that right is taken away
    prefix = ("setpriv", "--bounding-set", "-dac_override") if os.geteuid() == 0 else ()
    if not prefix or shutil.which("setpriv"):
        for option, name in (("-o", "t.csv"), ("--save", "r.npz"), ("--report", "r.html")):
            with tally.watch(f"closed folder, {option}"):
                code, said = _answers([*combine, option, f"closed/{name}"], folder, prefix)
                _check_one_line(code, said, (2,))
                if "Permission denied" not in said or os.listdir(closed):
                    raise Violation(f"said {said!r}, left {os.listdir(closed)}")
                tally.count(None)
    else:
        tally.notes.append("no setpriv: the superuser's closed folder was not tried")
    for mebibytes in (1500, 2500, 4000):
        limit = mebibytes * 1024**2
        with tally.watch(f"ulimit -v of {mebibytes} MiB"):
            code, said = _answers(
                [*combine, "-o", "t.csv"],
                folder,
                preexec_fn=lambda limit=limit: resource.setrlimit(
                    resource.RLIMIT_AS, (limit, limit)
                ),
            )
            _check_one_line(code, said, (0, 2))
            if (folder / "t.csv").exists() == (code != 0):
                raise Violation(f"exit code {code}, and the file is {'not ' * (code == 0)}there")
            (folder / "t.csv").unlink(missing_ok=True)
            tally.count(None)
    return tally


_ASKING = """
import sys
sys.modules[{name!r}] = None
import numpy as np
from coterie import EAC, Result
from coterie.core.tables import Table
from pathlib import Path
model = EAC(2).fit([[0, 0], [0, 1], [1, 1]])

def read_parquet():
    from coterie.io import read_table
    Path("t.parquet").write_bytes(b"PAR1" + bytes(20))
    read_table("t.parquet")

def plot():
    from coterie.plot import confidence
    confidence(model.sample_confidence_)

def report():
    from coterie.report import write
    write(model, "r.html")

def to_pandas():
    Table({{"a": [1]}}).to_pandas()

def to_polars():
    Table({{"a": [1]}}).to_polars()

try:
    {asked}()
except (ImportError, ValueError, AttributeError, TypeError) as error:
    print(type(error).__name__, error)
"""


def missing_libraries(folder: Path) -> Tally:
    """Each optional library absent: the rest works, what needs it says what to install."""
    tally = Tally("faults, missing libraries")
    for name, (asked, words) in OPTIONAL.items():
        with tally.watch(f"without {name}"):
            answer = subprocess.run(
                [sys.executable, "-c", _ASKING.format(name=name, asked=asked)],
                cwd=folder,
                capture_output=True,
                check=False,
                text=True,
            )
            if answer.returncode or words not in answer.stdout or "install" not in answer.stdout:
                raise Violation(f"said {answer.stdout[-300:]!r} {answer.stderr[-300:]!r}")
            tally.count(None)
    return tally


def run(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """All faults; the number of cases is that of each writer on a full disk."""
    if not names or "disk" in names:
        yield full_disk(cases, seed)
    for name, attack in (("commands", commands), ("libraries", missing_libraries)):
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                yield attack(Path(folder))
