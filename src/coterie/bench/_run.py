"""Carrying out a spec: tasks over processes, each run under its caps, every run kept at once."""

from __future__ import annotations

import os
import platform
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from os import PathLike
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from coterie._budget import shown_bytes
from coterie.bench._data import Pool, data_folders, find, load_pool
from coterie.bench._protocol import count_repetitions, made_partial, read_columns, repetition_seed
from coterie.bench._records import Run, RunKey, Status
from coterie.bench._spec import Caps, DataSource, Spec, SpecError, read_spec
from coterie.bench._store import Journal, RunStore
from coterie.bench._worker import Task, memory_of, serve
from coterie.io import DataError

# called with (runs done, runs in all, the run that is over or None at the start)
Progress = Callable[[int, int, Run | None], None]
# how often a process is looked at
GLANCE = 0.02
# how long an idle process may take to end
FAREWELL = 5.0
# repetitions of a setting that may hit a cap before the rest is not tried
PATIENCE = 2
PACKAGES = ("coterie", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Outcome:
    """What a call of :func:`run` found and did."""

    directory: Path
    # runs of the spec, those done by this call, and those that went wrong in all
    total: int
    done_now: int
    failed: int
    # data sets that are in no folder, and remarks on those that are
    absent: tuple[str, ...]
    remarks: tuple[str, ...]


def run(
    spec: str | PathLike[str] | Spec,
    out: str | PathLike[str] | None = None,
    *,
    data: Sequence[str | PathLike[str]] = (),
    n_jobs: int = 1,
    callback: Progress | None = None,
) -> Outcome:
    """Carry out a spec, or what is left of it.

    Started again after whatever end, it goes on where it stopped. Several processes may work on
    one directory. The labels depend on the spec alone, not on the number of jobs.

    Parameters
    ----------
    spec : path, name of a spec that comes with coterie, or Spec
    out : path, optional
        Directory of the runs; by default ``bench-NAME`` after the spec.
    data : sequence of paths
        Folders with data sets; by default $COTERIE_DATA, else ``./data``.
    n_jobs : int, default 1
        Processes at a time; -1 takes all cores.
    callback : callable, optional
        Called with (runs done, runs in all, run).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from coterie.bench import parse_spec, run
    >>> text = '''
    ... [[data]]
    ... embedded = "iris"
    ... generate = {pool = 10}
    ... [[method]]
    ... solver = "eac"
    ... [protocol]
    ... members = 10
    ... repetitions = 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     outcome = run(parse_spec(text), folder)
    ...     outcome.total, outcome.failed
    (3, 0)
    """
    plan = spec if isinstance(spec, Spec) else read_spec(spec)
    if out is None:
        name = "spec" if isinstance(spec, Spec) else Path(spec).stem
        out = Path(f"bench-{name}")
    jobs = n_jobs if n_jobs > 0 else (os.cpu_count() or 1)
    store = RunStore(out)
    folders = data_folders([Path(folder) for folder in data])
    _check_data(plan, folders)
    store.begin(plan)
    with store.locked("fold"):
        store.fold()
    tasks, absent, remarks = _tasks(plan, store, folders, jobs)
    store.keep_facts(_facts(plan, absent, remarks))
    runs = {finished.key: finished for finished in store.runs()}
    wanted = {key for task in tasks for key in task.run_keys()}
    progress = _Progress(runs, wanted, callback)
    with store.journal() as journal:
        _work(tasks, store, journal, plan.caps, jobs, progress)
    with store.locked("fold"):
        store.fold()
    final = [finished for finished in store.runs() if finished.key in wanted]
    return Outcome(
        directory=Path(out),
        total=len(wanted),
        done_now=progress.done_now,
        failed=sum(finished.status != "ok" for finished in final),
        absent=tuple(absent),
        remarks=tuple(remarks),
    )


# ---------------------------------------------------------------------- what there is to do


def _check_data(plan: Spec, folders: Sequence[Path]) -> None:
    if any(source.embedded or find(source.files, folders) for source in plan.data):
        return
    names = ", ".join(source.files[0] for source in plan.data)
    places = ", ".join(str(folder) for folder in folders)
    raise DataError(
        f"none of the data sets of this spec ({names}) is in {places}; put the files there as "
        "NAME.npz or NAME.mat, or name the folder (--data)"
    )


def _tasks(
    plan: Spec, store: RunStore, folders: Sequence[Path], jobs: int
) -> tuple[list[Task], list[str], list[str]]:
    """Every task, data set by data set, methods together; absent data sets; remarks."""
    columns = None
    if plan.protocol.columns:
        path = find([plan.protocol.columns], folders)
        if path is None:
            raise DataError(
                f"the draws {plan.protocol.columns!r} (protocol.columns) are in none of "
                f"{', '.join(str(folder) for folder in folders)}"
            )
        columns = read_columns(path, plan.protocol)
    tasks: list[Task] = []
    absent, remarks = [], []
    for source in plan.data:
        first: Pool | None = None
        found: list[Task] = []
        for missing in plan.protocol.missing:
            kept = _kept_pool(source, plan, store, folders, missing, jobs)
            if kept is None:
                break
            path, pool = kept
            first = first or pool
            if columns is not None and columns.max() >= pool.labels.shape[-1]:
                raise SpecError(
                    f"the draws {plan.protocol.columns!r} go up to member {columns.max()}, but "
                    f"data {source.name!r} has {pool.labels.shape[-1]} (counted from 0)"
                )
            sizes = plan.protocol.members
            if pool.labels.ndim == 3:
                sizes = (pool.labels.shape[2],)
            for members in sizes:
                for repetition in range(count_repetitions(plan.protocol, pool, members)):
                    for method in (*((None,) if plan.base else ()), *plan.methods):
                        found.append(
                            Task(
                                source,
                                plan.protocol,
                                path,
                                members,
                                missing,
                                repetition,
                                method,
                                plan.seed,
                                columns,
                            )
                        )
        if first is None:
            absent.append(source.name)
            continue
        remarks += _remarks(source, first)
        # runs of a method follow each other, so that a process can be kept
        order = {
            name: position for position, name in enumerate(dict.fromkeys(t.group for t in found))
        }
        tasks += sorted(found, key=lambda task: order[task.group])
    return tasks, absent, remarks


def _kept_pool(
    source: DataSource,
    plan: Spec,
    store: RunStore,
    folders: Sequence[Path],
    missing: float,
    jobs: int,
) -> tuple[Path, Pool] | None:
    """A pool as the runs will read it: a copy in the directory, made once."""
    path = store.pool_path(source.name, missing if made_partial(source) else None)
    with store.locked("pools"):
        if path.exists():
            return path, Pool.load(source.name, path)
        share = missing if made_partial(source) else 0.0
        seed = repetition_seed(plan.seed, source.name, 0, share, 0)
        pool = load_pool(source, folders, seed, share, jobs)
        if pool is None:
            return None
        pool.save(path)
        return path, pool


def _remarks(source: DataSource, pool: Pool) -> list[str]:
    if pool.classes is not None:
        return []
    clusters = source.n_clusters or "the median of the members'"
    return [
        f"{source.name}: no classes (gt, y, gnd) in its file, so external scores are left out; "
        f"clusters asked for: {clusters}"
    ]


def _facts(plan: Spec, absent: list[str], remarks: list[str]) -> dict[str, Any]:
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "absent": absent,
        "remarks": remarks,
        "caps": {"seconds": plan.caps.seconds, "memory": plan.caps.memory},
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


# ---------------------------------------------------------------------- doing it


class _Progress:
    """What is done, seen by all threads."""

    def __init__(
        self, runs: dict[RunKey, Run], wanted: set[RunKey], callback: Progress | None
    ) -> None:
        self._lock = threading.Lock()
        self._runs = runs
        self._wanted = wanted
        self._callback = callback
        self._caps: dict[RunKey, list[Status]] = defaultdict(list)
        for finished in runs.values():
            self._count_cap(finished)
        self.done_now = 0
        self._tell(None)

    def open_keys(self, task: Task) -> list[RunKey]:
        with self._lock:
            return [key for key in task.run_keys() if key not in self._runs]

    def refresh(self, store: RunStore) -> None:
        """See what other processes have done."""
        found = store.runs()
        with self._lock:
            self._runs.update({finished.key: finished for finished in found})

    def add(self, finished: Run) -> None:
        with self._lock:
            self._runs[finished.key] = finished
            self.done_now += 1
            self._count_cap(finished)
            self._tell(finished)

    def hopeless(self, key: RunKey) -> Status | None:
        """The cap that other repetitions of the setting hit, when they were enough to give up."""
        with self._lock:
            seen = self._caps.get(_setting_of(key), [])
            return seen[-1] if len(seen) >= PATIENCE else None

    def _count_cap(self, finished: Run) -> None:
        if finished.status in ("time cap", "memory cap"):
            self._caps[_setting_of(finished.key)].append(finished.status)

    def _tell(self, finished: Run | None) -> None:
        if self._callback is not None:
            done = sum(key in self._runs for key in self._wanted)
            self._callback(done, len(self._wanted), finished)


def _setting_of(key: RunKey) -> RunKey:
    return replace(key, repetition=0)


def _work(
    tasks: list[Task],
    store: RunStore,
    journal: Journal,
    caps: Caps,
    jobs: int,
    progress: _Progress,
) -> None:
    queue = _Queue([task for task in tasks if progress.open_keys(task)])
    stop = threading.Event()
    errors: list[BaseException] = []
    writing = threading.Lock()

    def keep(finished: Run) -> None:
        with writing:
            journal.append(finished)
        progress.add(finished)

    def labour() -> None:
        worker = _Worker(caps, max(1, (os.cpu_count() or 1) // jobs), stop)
        try:
            while not stop.is_set() and (task := queue.next(worker.group)) is not None:
                with store.claimed(repr((task.source.name, *task.run_keys()))) as claim:
                    if claim is None:
                        queue.later(task)
                        sleep(10 * GLANCE)
                        progress.refresh(store)
                        continue
                    if claim.touched:
                        progress.refresh(store)
                    _do(task, progress, worker, keep)
                queue.over(task)
        except BaseException as error:
            errors.append(error)
            stop.set()
        finally:
            worker.close(at_once=stop.is_set())

    threads = [threading.Thread(target=labour) for _ in range(min(jobs, len(queue) or 1))]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join()
        raise
    if errors:
        raise errors[0]


def _do(task: Task, progress: _Progress, worker: _Worker, keep: Callable[[Run], None]) -> None:
    """All runs of a task that are not done."""
    while keys := progress.open_keys(task):
        left = []
        for key in keys:
            if cap := progress.hopeless(key):
                words = f"not tried: {PATIENCE} repetitions of this setting hit the {cap}"
                keep(replace(task.blank(key), status=cap, message=words))
            else:
                left.append(key)
        if left and not worker.do(task, left, keep):
            return


class _Queue:
    """Tasks in order; a process is given the next one of its own kind where there is one."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._lock = threading.Lock()
        self._tasks = deque(tasks)
        self._busy: Counter[tuple[str, str]] = Counter()

    def __len__(self) -> int:
        return len(self._tasks)

    def next(self, group: tuple[str, str] | None) -> Task | None:
        with self._lock:
            if not self._tasks:
                return None
            position = 0
            for j, task in enumerate(self._tasks):
                if task.group == group:
                    position = j
                    break
            else:
                # a group that nobody works on spares the loading of its method in two processes
                position = next(
                    (j for j, task in enumerate(self._tasks) if not self._busy[task.group]), 0
                )
            task = self._tasks[position]
            del self._tasks[position]
            self._busy[task.group] += 1
            return task

    def later(self, task: Task) -> None:
        with self._lock:
            self._busy[task.group] -= 1
            self._tasks.append(task)

    def over(self, task: Task) -> None:
        with self._lock:
            self._busy[task.group] -= 1


class _Worker:
    """A process for runs of one group, replaced when the group changes or a run breaks it."""

    def __init__(self, caps: Caps, threads: int, stop: threading.Event) -> None:
        self._caps = caps
        self._threads = threads
        self._stop = stop
        self._process: Any = None
        self._connection: Connection | None = None
        self._lifeline: Connection | None = None
        self.group: tuple[str, str] | None = None

    def do(self, task: Task, keys: list[RunKey], keep: Callable[[Run], None]) -> bool:
        """Runs until all are over or one broke the process; False when asked to stop."""
        if self.group != task.group or self._process is None or not self._process.is_alive():
            self._restart(task.group)
        assert self._connection is not None
        self._connection.send((task, keys))
        for key in keys:
            finished = self._await(task, key)
            if finished is None:
                return False
            keep(finished)
            if self._process is None:
                break
        return True

    def _await(self, task: Task, key: RunKey) -> Run | None:
        """The run, or the record of how it was stopped; None when asked to stop."""
        assert self._connection is not None
        began: float | None = None
        while True:
            if self._stop.is_set():
                self.close()
                return None
            try:
                if self._connection.poll(GLANCE):
                    _, finished = self._connection.recv()
                    if finished is not None:
                        return finished
                    began = monotonic()
                    continue
            except (EOFError, OSError):
                return self._broken(task, key)
            if began is not None and monotonic() - began > self._caps.seconds:
                self.close()
                seconds = self._caps.seconds
                return replace(
                    task.blank(key),
                    status="time cap",
                    message=f"stopped after {seconds:g} s",
                    seconds=seconds,
                )
            held = memory_of(self._process.pid)
            if held is not None and held > self._caps.memory:
                self.close()
                return replace(
                    task.blank(key),
                    status="memory cap",
                    message=f"stopped at {shown_bytes(held)} of {shown_bytes(self._caps.memory)}",
                    peak_mib=held / 1024**2,
                )

    def _broken(self, task: Task, key: RunKey) -> Run:
        self._process.join(5)
        code = self._process.exitcode
        self.close()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return replace(task.blank(key), message=f"the process ended {how}")

    def _restart(self, group: tuple[str, str]) -> None:
        self.close(at_once=False)
        known = get_all_start_methods()
        context: Any = get_context("forkserver" if "forkserver" in known else "spawn")
        if "forkserver" in known:
            # imports are paid for once
            context.set_forkserver_preload(["coterie.bench._worker", "coterie.solvers.ec_cms"])
        self._connection, theirs = context.Pipe()
        self._lifeline, their_line = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, their_line, self._threads), daemon=True
        )
        self._process.start()
        theirs.close()
        their_line.close()
        self.group = group

    def close(self, at_once: bool = True) -> None:
        """End the process: at once whatever it does, or when it sees that nothing more comes."""
        if self._process is not None and at_once:
            self._process.kill()
        for connection in (self._connection, self._lifeline if at_once else None):
            if connection is not None:
                connection.close()
        if self._process is not None:
            self._process.join(FAREWELL)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()
        if self._lifeline is not None:
            self._lifeline.close()
        self._process = self._connection = self._lifeline = None
        self.group = None
