"""The directory of an experiment: its spec, its pools, and a table of runs that survives a kill.

Each process appends every finished run to its own journal at once. When the process has ended, its
journal becomes a parquet part; the next process does this for journals of killed processes. Locks are
the system's (flock), which are released when a process ends. Runs are never overwritten.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from coterie.core.errors import DataError
from coterie.io.parquet import require_pyarrow
from coterie.io.write import whole_file
from coterie_bench._records import RunKey, RunRecord
from coterie_bench._score import METRICS
from coterie_bench._spec import Spec, SpecError, read_spec

SPEC, FACTS = "spec.toml", "facts.json"
RUNS, JOURNALS, LOCKS, POOLS, ASIDE = "runs", "journals", "locks", "pools", "set-aside"
_PLAIN = [part.name for part in fields(RunRecord) if part.name not in ("key", "scores")]
_KEYS = [part.name for part in fields(RunKey)]


class RunStore:
    """The runs of one experiment on disk.

    Parameters
    ----------
    directory : path
        The directory of the experiment.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)

    # ------------------------------------------------------------------ the spec

    def begin(self, spec: Spec) -> None:
        """Create the directory, or check that it belongs to the same spec."""
        require_pyarrow(self.directory / RUNS)
        _require_locks()
        try:
            for name in (RUNS, JOURNALS, LOCKS, POOLS):
                (self.directory / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{self.directory} cannot be written: {error.strerror}") from None
        path = self.directory / SPEC
        with self.locked("spec"):
            if not path.exists():
                with whole_file(path) as file:
                    file.write(spec.text.encode())
            elif path.read_text(encoding="utf-8") != spec.text:
                has_runs = self.runs() or any((self.directory / JOURNALS).glob("*.jsonl"))
                raise SpecError(
                    f"{self.directory} belongs to another spec ({self.spec().title!r}); give another "
                    f"directory (--out){'' if has_runs else ', or remove this one: it holds no runs'}"
                )

    def spec(self) -> Spec:
        """The spec of the runs."""
        path = self.directory / SPEC
        if not path.is_file():
            raise DataError(
                f"{self.directory} is not a directory of runs (it has no {SPEC}); "
                "coterie bench run creates one"
            )
        return read_spec(path)

    def keep_facts(self, facts: dict[str, Any]) -> None:
        """Write the facts of the last call: machine, versions, absent data sets and remarks."""
        with whole_file(self.directory / FACTS) as file:
            file.write(json.dumps(facts, indent=2, sort_keys=True).encode())

    def facts(self) -> dict[str, Any]:
        """Read what :meth:`keep_facts` wrote; empty if the file is missing or damaged."""
        try:
            facts = json.loads((self.directory / FACTS).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return facts if isinstance(facts, dict) else {}

    @property
    def draws_path(self) -> Path:
        """Copy of the draws that a file gave."""
        return self.directory / "draws.npz"

    @property
    def draws_absent_path(self) -> Path:
        """Exists if the file of draws was missing at the first run.

        Later runs then ignore the file, so that runs with and without its draws do not mix.
        """
        return self.directory / "draws-absent.txt"

    def pool_path(self, data: str, missing: float | None = None) -> Path:
        """File of the pool of a data set; with ``missing``, one file per share of missing labels."""
        safe = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in data)
        if safe != data:
            # "a b" and "a_b" are two data sets
            safe += f"-{zlib.crc32(data.encode()):08x}"
        suffix = "" if missing is None else f"-{missing:g}"
        return self.directory / POOLS / f"{safe}{suffix}.npz"

    # ------------------------------------------------------------------ runs

    def runs(self) -> list[RunRecord]:
        """Every finished run, sorted by key."""
        by_key: dict[RunKey, RunRecord] = {}
        for path in sorted((self.directory / RUNS).glob("*.parquet")):
            for run in self._read_part(path):
                by_key.setdefault(run.key, run)
        for path in sorted((self.directory / JOURNALS).glob("*.jsonl")):
            for run in self._read_journal(path):
                by_key.setdefault(run.key, run)
        return sorted(by_key.values(), key=lambda run: _sortable(run.key))

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """A new journal for the runs of this process; it becomes a parquet part at the end."""
        number = 0
        while True:
            path = self.directory / JOURNALS / f"{os.uname().nodename}-{os.getpid()}-{number}.jsonl"
            try:
                descriptor = os.open(
                    path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666
                )
                break
            except FileExistsError:
                # another journal of this process, or of an ended one with the same process id
                number += 1
        with open(descriptor, "wb", buffering=0) as file:
            _lock(file)
            yield Journal(file)
        self.fold()

    def fold(self) -> None:
        """Turn the journals of ended processes into parquet parts."""
        for path in sorted((self.directory / JOURNALS).glob("*.jsonl")):
            with suppress(FileNotFoundError), path.open("rb") as file:
                if not _try_lock(file):
                    continue
                runs = self._read_journal(path)
                if runs:
                    self._write_part(runs)
                # a kill before this line leaves the runs twice; reading removes duplicates
                path.unlink(missing_ok=True)

    def _write_part(self, runs: Sequence[RunRecord]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [_row(run) for run in runs]
        table = pa.Table.from_pylist(rows, schema=_schema())
        content = hashlib.sha256("\n".join(run.to_json() for run in runs).encode()).hexdigest()
        with whole_file(self.directory / RUNS / f"part-{content[:16]}.parquet") as file:
            pq.write_table(table, file, compression="zstd")

    def _read_part(self, path: Path) -> list[RunRecord]:
        require_pyarrow(path)
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(path, schema=_schema()).to_pylist()
            return [_from_row(row) for row in rows]
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            TypeError,
            KeyError,
            RecursionError,
        ) as error:
            self.set_aside(path, error, "its runs will be repeated, all others are kept")
            return []

    def _read_journal(self, path: Path) -> list[RunRecord]:
        try:
            lines = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            # another process has just turned it into a part
            return []
        # a last line without an end was cut off by a kill, so its run is not finished
        runs, bad = [], []
        for line in lines[:-1]:
            try:
                runs.append(_from_line(line))
            except (ValueError, TypeError, KeyError, RecursionError):
                bad.append(line)
        if bad:
            folder = self.directory / ASIDE
            folder.mkdir(exist_ok=True)
            kept = folder / f"{path.name}.lines"
            with whole_file(kept) as file:
                file.write(b"\n".join(bad) + b"\n")
            warnings.warn(
                f"{path}: {len(bad)} of {len(lines) - 1} lines are damaged and were moved to {kept}; "
                "their runs will be repeated",
                UserWarning,
                stacklevel=4,
            )
        return runs

    def set_aside(self, path: Path, error: BaseException, consequence: str) -> None:
        """Move a damaged file to another folder, and warn with the consequence."""
        folder = self.directory / ASIDE
        folder.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            path.replace(folder / path.name)
        reason = " ".join(str(error).split())[:120]
        warnings.warn(
            f"{path} is damaged ({reason}) and was moved to {folder}; {consequence}",
            UserWarning,
            stacklevel=5,
        )

    # ------------------------------------------------------------------ locks

    @contextmanager
    def claimed(self, task: str) -> Iterator[Claim | None]:
        """Claim a task for this process; None while another process has it."""
        path = self.directory / LOCKS / hashlib.sha256(task.encode()).hexdigest()[:24]
        with path.open("a+b", buffering=0) as file:
            if not _try_lock(file):
                yield None
                return
            file.seek(0)
            claim = Claim(touched=bool(file.read()))
            file.write(f"{os.getpid()}\n".encode())
            yield claim

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Wait for a lock and hold it during a short piece of work."""
        with (self.directory / LOCKS / name).open("a+b") as file:
            _lock(file)
            yield


class Journal:
    """A file with one line per run; each line is on disk before the next run begins."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def append(self, run: RunRecord) -> None:
        """Write a run in one system call, so that lines do not mix."""
        text = run.to_json().encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        if self._file.write(line) != len(line):
            # a full disk writes a part of the line without raising an error
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(self._file.fileno())


class Claim:
    """A task claimed by this process; ``touched`` if another process claimed it before."""

    def __init__(self, touched: bool) -> None:
        self.touched = touched


def _from_line(line: bytes) -> RunRecord:
    check, _, text = line.partition(b" ")
    if int(check, 16) != zlib.crc32(text):
        raise ValueError("the line does not match its checksum")
    return RunRecord.from_json(text.decode())


def _row(run: RunRecord) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(run.key, name) for name in _KEYS}
    row |= {name: getattr(run, name) for name in _PLAIN}
    row["objective"] = list(run.objective)
    return row | {metric: run.scores.get(metric) for metric in METRICS}


def _from_row(row: dict[str, Any]) -> RunRecord:
    key = RunKey(**{name: row[name] for name in _KEYS})
    scores = {metric: row[metric] for metric in METRICS if row[metric] is not None}
    plain = {name: row[name] for name in _PLAIN}
    plain["objective"] = tuple(plain["objective"])
    run = RunRecord(key=key, scores=scores, **plain)
    run.check()
    return run


def _schema() -> Any:
    import pyarrow as pa

    kinds = {
        "members": pa.int32(),
        "missing": pa.float64(),
        "repetition": pa.int32(),
        "default": pa.bool_(),
        "n_clusters": pa.int32(),
        "n_clusters_wanted": pa.int32(),
        "n_samples": pa.int64(),
        "n_microclusters": pa.int64(),
        "seconds": pa.float64(),
        "peak_mib": pa.float64(),
        "converged": pa.bool_(),
        "passes": pa.int32(),
        "objective": pa.list_(pa.float64()),
        "seed": pa.int64(),
    }
    columns = [(name, kinds.get(name, pa.string())) for name in (*_KEYS, *_PLAIN)]
    return pa.schema([*columns, *((metric, pa.float64()) for metric in METRICS)])


def _sortable(key: RunKey) -> tuple[Any, ...]:
    return tuple(getattr(key, name) for name in _KEYS)


def _require_locks() -> None:
    if find_spec("fcntl") is None:
        raise DataError(
            "coterie bench run needs file locks (flock), which this system does not have; "
            "tables and figures of finished runs work"
        )


def _lock(file: IO[bytes]) -> None:
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX)


def _try_lock(file: IO[bytes]) -> bool:
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
