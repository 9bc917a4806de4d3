"""Run a spec: processes share the tasks, runs have caps, and every finished run is kept at once."""

from __future__ import annotations

import os
import platform
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import DataError
from coterie.io.write import whole_file
from coterie_bench._data import DataPool, UnfitData, data_folders, find, load_pool
from coterie_bench._process import POLL_SECONDS, RunProcess, processor
from coterie_bench._protocol import count_repetitions, made_partial, read_columns, repetition_seed
from coterie_bench._records import RunKey, RunRecord, Status
from coterie_bench._spec import DataSource, Spec, read_spec
from coterie_bench._spec import Protocol as EnsembleProtocol
from coterie_bench._store import Journal, RunStore
from coterie_bench._worker import Task

if TYPE_CHECKING:
    from coterie_bench._remote import Workers

# called with (runs done, runs in total, the finished run or None at the start)
Progress = Callable[[int, int, RunRecord | None], None]
# after this many repetitions of a setting have hit a cap, the others are not tried
PATIENCE = 2
PACKAGES = ("coterie", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Outcome:
    """The outcome of :func:`run`."""

    directory: Path
    # runs of the spec, runs done by this call, and failed runs in total
    total: int
    done_now: int
    failed: int
    # data sets without a file, and remarks on the others
    absent: tuple[str, ...]
    remarks: tuple[str, ...]


def run(
    spec: str | PathLike[str] | Spec,
    out: str | PathLike[str] | None = None,
    *,
    data: Sequence[str | PathLike[str]] = (),
    n_jobs: int | None = None,
    client: Any = None,
    callback: Progress | None = None,
) -> Outcome:
    """Run a spec, or what is left of it.

    An interrupted call continues where it stopped when it is repeated. Several processes may work on
    one directory. The labels depend only on the spec, not on the number of jobs or where they run.

    Parameters
    ----------
    spec : path, name of a spec that comes with coterie, or Spec
    out : path, optional
        Directory to keep the runs in; by default ``bench-NAME``, with the name of the spec.
    data : sequence of paths
        Folders of data sets; by default $COTERIE_DATA, else ``./data``.
    n_jobs : int or None, default None
        Number of parallel processes; -1 uses all cores. None means one here, and all threads of the
        workers of a client.
    client : distributed.Client, optional
        A Dask cluster whose workers generate the members and execute the runs, each in its own process
        under the same caps. They need the same version of coterie, but no common disk: pools are sent
        to them, and finished runs are kept here. If a worker is lost, another repeats its run.
    callback : callable, optional
        Called with (runs done, runs in total, finished run).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from coterie_bench import parse_spec, run
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
        out = usual_directory("spec" if isinstance(spec, Spec) else spec)
    workers = None
    if client is not None:
        from coterie_bench._remote import Workers

        workers = Workers.of(client)
    cores = (os.cpu_count() or 1) if workers is None else len(workers.slots)
    if n_jobs is None:
        n_jobs = 1 if workers is None else cores
    jobs = n_jobs if n_jobs > 0 else cores
    store = RunStore(out)
    folders = data_folders([Path(folder) for folder in data])
    _check_data(plan, folders)
    store.begin(plan)
    with store.locked("fold"):
        store.fold()
    with nullcontext() if workers is None else workers.joblib():
        tasks, absent, remarks = _tasks(plan, store, folders, jobs)
    store.keep_facts(_facts(plan, absent, remarks, workers))
    runs = {finished.key: finished for finished in store.runs()}
    wanted = {key for task in tasks for key in task.run_keys()}
    progress = _Progress(runs, wanted, callback)
    with _in_words(store), store.journal() as journal:

        def begin(slot: int, stop: threading.Event) -> Runner:
            if workers is not None:
                return workers.runner(slot, plan.caps, stop)
            return RunProcess(plan.caps, max(1, cores // jobs), stop)

        _work(tasks, store, journal, begin, jobs, progress)
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


def usual_directory(spec: str | PathLike[str]) -> Path:
    """The default directory for the runs of a spec."""
    return Path(f"bench-{Path(spec).stem}")


@contextmanager
def _in_words(store: RunStore) -> Iterator[None]:
    """Turn an error of the disk into one that names the directory and says how to continue."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{store.directory}: {error.strerror or error}; finished runs are kept, and "
            "the same command continues from there"
        ) from error


# ---------------------------------------------------------------------- tasks


def _check_data(plan: Spec, folders: Sequence[Path]) -> None:
    if any(source.embedded or find(source.files, folders) for source in plan.data):
        return
    wanted = ", ".join(source.files[0] for source in plan.data)
    searched = ", ".join(str(folder) for folder in folders)
    raise DataError(
        f"none of the data sets of this spec ({wanted}) is in {searched}; put the files there as "
        "NAME.npz or NAME.mat, or name the folder (--data)"
    )


def _tasks(
    plan: Spec, store: RunStore, folders: Sequence[Path], jobs: int
) -> tuple[list[Task], list[str], list[str]]:
    """All tasks, grouped by data set and method; absent data sets; remarks."""
    columns = _kept_draws(plan, store, folders)
    tasks: list[Task] = []
    absent, remarks = [], []
    if plan.protocol.columns and columns is None:
        remarks.append(
            f"the draws {plan.protocol.columns!r} were not found, so ensembles are drawn by the seed and "
            "differ from those of the published values"
        )
    unfit: list[UnfitData] = []
    for source in plan.data:
        try:
            of_source, pool = _tasks_of(source, plan, store, folders, columns, jobs)
        except UnfitData as error:
            unfit.append(error)
            remarks.append(str(error))
            of_source, pool = [], None
        if pool is None:
            absent.append(source.name)
            continue
        remarks += _remarks(source, pool, plan.protocol)
        # runs of one method are consecutive, so that they share a process
        order = {
            group: position
            for position, group in enumerate(dict.fromkeys(task.group for task in of_source))
        }
        tasks += sorted(of_source, key=lambda task: order[task.group])
    if unfit and not tasks:
        raise unfit[0]
    return tasks, absent, remarks


def _tasks_of(
    source: DataSource,
    plan: Spec,
    store: RunStore,
    folders: Sequence[Path],
    columns: NDArray[np.int64] | None,
    jobs: int,
) -> tuple[list[Task], DataPool | None]:
    """The tasks on one data set, and its first pool; None if it has no file."""
    first: DataPool | None = None
    tasks: list[Task] = []
    for missing in plan.protocol.missing:
        kept = _kept_pool(source, plan, store, folders, missing, jobs)
        if kept is None:
            break
        path, pool = kept
        first = first or pool
        if columns is not None and columns.max() >= pool.labels.shape[-1]:
            raise UnfitData(
                f"the draws {plan.protocol.columns!r} go up to member {columns.max()}, but "
                f"data {source.name!r} has {pool.labels.shape[-1]} (counted from 0)"
            )
        sizes = plan.protocol.members
        if pool.labels.ndim == 3:
            sizes = (pool.labels.shape[2],)
        for members in sizes:
            for repetition in range(count_repetitions(plan.protocol, pool, members)):
                for method in (*((None,) if plan.base else ()), *plan.methods):
                    tasks.append(
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
    return tasks, first


def _kept_draws(plan: Spec, store: RunStore, folders: Sequence[Path]) -> NDArray[np.int64] | None:
    """The draws of a file, copied to the directory at the first run; None to draw by the seed.

    The spec of a paper also works without the paper's own draws. Any other spec needs its file.
    """
    if not plan.protocol.columns:
        return None
    with store.locked("pools"):
        if store.draws_path.exists():
            return read_columns(store.draws_path, plan.protocol)
        if store.draws_absent_path.exists():
            return None
        path = find([plan.protocol.columns], folders)
        if path is not None:
            columns = read_columns(path, plan.protocol)
            with whole_file(store.draws_path) as file:
                np.savez_compressed(file, allow_pickle=False, columns=columns)
            return columns
        if not plan.paper or store.runs():
            raise DataError(
                f"the draws {plan.protocol.columns!r} (protocol.columns) are not in "
                f"{', '.join(str(folder) for folder in folders)}"
            )
        with whole_file(store.draws_absent_path) as file:
            file.write(f"{plan.protocol.columns} was not there at the first run\n".encode())
        return None


def _kept_pool(
    source: DataSource,
    plan: Spec,
    store: RunStore,
    folders: Sequence[Path],
    missing: float,
    jobs: int,
) -> tuple[Path, DataPool] | None:
    """A pool, and the path of its copy in the directory, which is written once."""
    path = store.pool_path(source.name, missing if made_partial(source) else None)
    with store.locked("pools"):
        if path.exists():
            try:
                return path, DataPool.load(source.name, path)
            except DataError as error:
                # a new copy has the same labels, which depend only on the data and the seed
                store.set_aside(path, error.__cause__ or error, "it is generated again")
        share = missing if made_partial(source) else 0.0
        seed = repetition_seed(plan.seed, source.name, 0, share, 0)
        pool = load_pool(source, folders, seed, share, jobs)
        if pool is None:
            return None
        pool.save(path)
        return path, pool


def _remarks(source: DataSource, pool: DataPool, protocol: EnsembleProtocol) -> list[str]:
    remarks = []
    if pool.classes is None:
        clusters = source.n_clusters or "the median of the members'"
        remarks.append(
            f"{source.name}: no classes (gt, y, gnd) in its file, so external scores are left out; "
            f"number of clusters: {clusters}"
        )
    for members in protocol.members if pool.labels.ndim == 2 else ():
        groups = count_repetitions(protocol, pool, members)
        if groups < protocol.repetitions:
            remarks.append(
                f"{source.name}: its {pool.labels.shape[1]} members suffice for {groups} of the "
                f"{protocol.repetitions} groups of {members} in the spec"
            )
    return remarks


def _facts(
    plan: Spec, absent: list[str], remarks: list[str], workers: Workers | None
) -> dict[str, Any]:
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "absent": absent,
        "remarks": remarks,
        "caps": {"seconds": plan.caps.seconds, "memory": plan.caps.memory},
        # with workers, times and memory are theirs
        "workers": None if workers is None else workers.facts(),
    }


# ---------------------------------------------------------------------- work


class _Progress:
    """The finished runs, shared by all threads."""

    def __init__(
        self, runs: dict[RunKey, RunRecord], wanted: set[RunKey], callback: Progress | None
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
        """Read the runs that other processes have finished."""
        finished_runs = store.runs()
        with self._lock:
            self._runs.update({finished.key: finished for finished in finished_runs})

    def add(self, finished: RunRecord) -> None:
        with self._lock:
            self._runs[finished.key] = finished
            self.done_now += 1
            self._count_cap(finished)
            self._tell(finished)

    def hopeless(self, key: RunKey) -> Status | None:
        """The cap that enough other repetitions of the setting have hit; None if there are too few."""
        with self._lock:
            seen = self._caps.get(_setting_of(key), [])
            return seen[-1] if len(seen) >= PATIENCE else None

    def _count_cap(self, finished: RunRecord) -> None:
        if finished.status in ("time cap", "memory cap"):
            self._caps[_setting_of(finished.key)].append(finished.status)

    def _tell(self, finished: RunRecord | None) -> None:
        if self._callback is not None:
            done = sum(key in self._runs for key in self._wanted)
            self._callback(done, len(self._wanted), finished)


def _setting_of(key: RunKey) -> RunKey:
    return replace(key, repetition=0)


class Runner(Protocol):
    """Executes runs one after the other, on this machine or on a worker."""

    group: tuple[str, str] | None

    def do(self, task: Task, keys: list[RunKey], keep: Callable[[RunRecord], None]) -> bool:
        """Execute runs until all are finished or one breaks the process; False if asked to stop."""

    def close(self, at_once: bool = True) -> None:
        """Release the process or worker."""


def _work(
    tasks: list[Task],
    store: RunStore,
    journal: Journal,
    begin: Callable[[int, threading.Event], Runner],
    jobs: int,
    progress: _Progress,
) -> None:
    queue = _Queue([task for task in tasks if progress.open_keys(task)])
    stop = threading.Event()
    errors: list[BaseException] = []
    writing = threading.Lock()

    def keep(finished: RunRecord) -> None:
        with writing:
            journal.append(finished)
        progress.add(finished)

    def work_in_slot(slot: int) -> None:
        runner = begin(slot, stop)
        try:
            while not stop.is_set() and (task := queue.next(runner.group)) is not None:
                with store.claimed(repr((task.source.name, *task.run_keys()))) as claim:
                    if claim is None:
                        queue.later(task)
                        sleep(10 * POLL_SECONDS)
                        progress.refresh(store)
                        continue
                    if claim.touched:
                        progress.refresh(store)
                    _do(task, progress, runner, keep)
                queue.over(task)
        except BaseException as error:
            errors.append(error)
            stop.set()
        finally:
            runner.close(at_once=stop.is_set())

    threads = [
        threading.Thread(target=work_in_slot, args=(slot,))
        for slot in range(min(jobs, len(queue) or 1))
    ]
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


def _do(task: Task, progress: _Progress, runner: Runner, keep: Callable[[RunRecord], None]) -> None:
    """Execute the open runs of a task."""
    while keys := progress.open_keys(task):
        left = []
        for key in keys:
            if cap := progress.hopeless(key):
                words = f"not tried: {PATIENCE} repetitions of this setting hit the {cap}"
                keep(replace(task.blank(key), status=cap, message=words))
            else:
                left.append(key)
        if left and not runner.do(task, left, keep):
            return


class _Queue:
    """Tasks in order; a process gets the next task of its own group if there is one."""

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
                # prefer a group that no process works on, so that few processes load a method
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
