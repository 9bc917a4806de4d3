"""Commands killed or interrupted at random moments: nothing half-written, later runs unaffected.

``python -m tests.adversarial kills --cases 100`` sends a hundred signals.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from coterie import Result
from coterie_bench import as_text, table
from tests.adversarial.outcomes import Tally, Violation

SPEC = """\
metrics = ["ari"]
[[data]]
embedded = "iris"
generate = {pool = 12, clusters = [2, 6]}
[[method]]
solver = "eac"
[[method]]
solver = "lwea"
grid = {theta = [0.2, 0.4]}
[protocol]
members = 6
repetitions = 3
"""
WARMUP, KERNELS = "warmup", "kernels"
# how long a process of a killed command may survive it
FAREWELL = 10.0


@dataclass(frozen=True)
class Command:
    """A command, the files it may leave in its folder, and what they must hold when there."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    # what must not differ between two complete runs
    essence: Callable[[Path], Any]
    # what it prints is all of its work
    prints: bool = False


# how a file of a kind ends, where its inside tells the time or the version of a library
LAST_BYTES = {".html": b"</html>", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}


def _written(path: Path) -> Any:
    """What a complete file says, without when and how fast it was made; a folder file by file."""
    if path.is_dir():
        return {
            str(file.relative_to(path)): _written(file)
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
    kind = path.suffix
    if kind == ".npz":
        result = Result.load(path)
        return result.labels.tolist(), result.sample_confidence.tolist(), result.method
    text = path.read_bytes()
    if kind in LAST_BYTES:
        if not text.rstrip().endswith(LAST_BYTES[kind]):
            raise Violation(f"{path.name} is cut short")
        return LAST_BYTES[kind]
    return text


def _runs(path: Path) -> Any:
    return [
        (run.key, run.status, run.scores, run.labels_digest)
        for run in _store(path).runs()
        if run.status == "ok"
    ]


def _nothing(path: Path) -> None:
    """Of a folder whose files are another library's."""


def _store(path: Path) -> Any:
    from coterie_bench._store import RunStore

    return RunStore(path)


COMMANDS = (
    Command(
        "cluster",
        (
            *("cluster", "features.csv", "-k", "3", "--members", "12", "--seed", "1"),
            *("-o", "labels.csv", "--save", "r.npz", "--report", "r.html"),
        ),
        ("labels.csv", "r.npz", "r.html"),
        _written,
    ),
    Command(
        "combine",
        (
            *("combine", "members.csv", "-k", "3", "--method", "lwea"),
            *("-o", "labels.parquet", "--save", "r.npz", "--report", "r.html"),
        ),
        ("labels.parquet", "r.npz", "r.html"),
        _written,
    ),
    Command(
        "select",
        ("select", "members.csv", "--labels", "-k", "2-4", "--seed", "1", "-o", "t.csv"),
        ("t.csv",),
        _written,
    ),
    Command(
        "profile",
        ("profile", "saved.npz", "features.csv", "--seed", "1", "-o", "t.csv"),
        ("t.csv",),
        _written,
    ),
    Command("report", ("report", "saved.npz", "-o", "page.html"), ("page.html",), _written),
    Command("bench run", ("bench", "run", "spec.toml", "--out", "runs"), ("runs",), _runs),
    Command("bench table", ("bench", "table", "done", "-o", "table.md"), ("table.md",), _written),
    Command("bench plot", ("bench", "plot", "done", "-o", "figures"), ("figures",), _written),
    Command("bench specs", ("bench", "specs"), (), _written, prints=True),
    Command("demo", ("demo", "--out", "demo"), ("demo",), _written),
    Command("explain", ("explain", "saved.npz", "0", "7"), (), _written, prints=True),
    Command("methods", ("methods",), (), _written, prints=True),
    # its own folder of kernels, so that the signal meets the compiler and the writing of its files
    Command(WARMUP, ("warmup", "voting"), (KERNELS,), _nothing),
)


def prepare(folder: Path) -> None:
    """The inputs of all commands."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 3)) + 4 * np.eye(3)[truth]
    np.savetxt(folder / "features.csv", X, delimiter=",", header="a,b,c", comments="")
    members = np.where(rng.random((120, 8)) < 0.2, rng.integers(0, 3, (120, 8)), truth[:, None])
    names = ",".join("abcdefgh")
    np.savetxt(folder / "members.csv", members, "%d", ",", header=names, comments="")
    (folder / "spec.toml").write_text(SPEC)
    combine = ("combine", "members.csv", "-k", "3", "--save", "saved.npz")
    for command in (combine, ("bench", "run", "spec.toml", "--out", "done")):
        subprocess.run([*_coterie(), *command], cwd=folder, check=True, capture_output=True)


def _coterie() -> list[str]:
    return [sys.executable, "-m", "coterie"]


def _environment(command: Command) -> dict[str, str]:
    # no terminal: no bars
    own = {"NUMBA_CACHE_DIR": KERNELS} if command.name == WARMUP else {}
    return os.environ | {"PYTHONUNBUFFERED": "1"} | own


def complete(command: Command, folder: Path) -> tuple[float, dict[str, Any]]:
    """Run to the end: seconds, and the essence of each output."""
    began = monotonic()
    answer = subprocess.run(
        [*_coterie(), *command.arguments],
        cwd=folder,
        env=_environment(command),
        capture_output=True,
        check=False,
    )
    if answer.returncode != 0:
        raise Violation(f"exit code {answer.returncode}: {answer.stderr.decode()[-300:]}")
    seconds = monotonic() - began
    found = {name: command.essence(folder / name) for name in command.outputs}
    return seconds, found | ({"printed": answer.stdout} if command.prints else {})


def struck(command: Command, folder: Path, number: signal.Signals, after: float) -> int:
    """Run, and send a signal after so many seconds; the exit code."""
    process = subprocess.Popen(
        [*_coterie(), *command.arguments],
        cwd=folder,
        env=_environment(command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    try:
        told = process.communicate(timeout=60)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        process.kill()
        raise Violation(f"alive a minute after {number.name}") from None
    # before coterie is there to answer, Python itself speaks
    if number is signal.SIGINT and "Traceback" in told and "in main" in told:
        raise Violation(f"a traceback after Ctrl-C: {told[-300:]}")
    _refuse_survivors(process.pid)
    return process.returncode


def _refuse_survivors(session: int) -> None:
    """No process of the command may outlive it."""
    end = monotonic() + FAREWELL
    while left := _in_session(session):
        if monotonic() > end:
            raise Violation(f"processes {left} outlived the command")
        sleep(0.1)


def _in_session(session: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # state, parent, group, session
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def check_left(command: Command, folder: Path, expected: dict[str, Any], before: set[str]) -> None:
    """Each output complete or absent, and nothing else."""
    for name in {*os.listdir(folder)} - before:
        if name not in command.outputs:
            raise Violation(f"left {name!r} behind")
        due = expected[name]
        # a folder of files that are there or not; others are for the command itself to take up again
        if (folder / name).is_dir() and not isinstance(due, dict):
            continue
        found = command.essence(folder / name)
        files = found if isinstance(found, dict) else {name: found}
        for file, content in files.items():
            if content != (due.get(file) if isinstance(due, dict) else due):
                raise Violation(f"{file} is there but not as it should be")
    for path in folder.rglob("*.tmp"):
        raise Violation(f"left {path.relative_to(folder)} behind")


def strike_once(
    command: Command, inputs: Path, expected: dict[str, Any], number: signal.Signals, after: float
) -> tuple[bool, float]:
    """A fresh copy of the inputs, a signal, a look at what is left, and a run to the end.

    Whether the signal came in time, and the seconds of the run to the end.
    """
    folder = Path(tempfile.mkdtemp())
    try:
        shutil.copytree(inputs, folder, dirs_exist_ok=True)
        before = {*os.listdir(folder)}
        code = struck(command, folder, number, after)
        check_left(command, folder, expected, before)
        seconds, found = complete(command, folder)
        if found != expected:
            raise Violation("the run after it gives another answer")
        if "runs" in command.outputs and as_text(table(folder / "runs")) == "":
            raise Violation("no table of the resumed runs")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return code != 0, seconds


def run(count: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """So many signals in all, three of four of them SIGKILL, spread over the commands."""
    # a shell's background jobs ignore it, and so would all that they start
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(seed)
    inputs = Path(tempfile.mkdtemp())
    prepare(inputs)
    chosen = [command for command in COMMANDS if not names or command.name in names]
    try:
        for place, command in enumerate(chosen):
            tally = Tally(f"kills, {command.name}")
            folder = Path(tempfile.mkdtemp())
            shutil.copytree(inputs, folder, dirs_exist_ok=True)
            seconds, expected = complete(command, folder)
            shutil.rmtree(folder)
            late = 0
            share = count // len(chosen) + (place < count % len(chosen))
            # a signal that comes too late is no case; a machine that does other things takes turns
            while tally.cases + len(tally.violations) < share and late < 3 * share:
                number = signal.SIGINT if tally.cases % 4 == 3 else signal.SIGKILL
                after = float(rng.uniform(0.02, 1.0) * seconds)
                with tally.watch(f"{command.name}, {number.name} after {after:.2f} s"):
                    in_time, took = strike_once(command, inputs, expected, number, after)
                    if in_time:
                        tally.count(None)
                    else:
                        late += 1
                    # a resumed run is shorter than a whole one
                    if command.name != "bench run":
                        seconds = min(seconds, took)
            tally.notes.append(f"{seconds:.1f} s undisturbed; {late} more came too late")
            yield tally
    finally:
        shutil.rmtree(inputs, ignore_errors=True)
