"""The process that executes runs: one ensemble, one method, and its settings one after the other."""

from __future__ import annotations

import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from coterie.ensemble import Ensemble
from coterie.solvers.methods import find_method
from coterie_bench._data import DataPool
from coterie_bench._protocol import ensemble_of, repetition_seed
from coterie_bench._records import BASE_AVERAGE, BASE_BEST, RunKey, RunRecord, setting_text
from coterie_bench._score import digest, score, score_members
from coterie_bench._spec import DataSource, MethodSpec, Protocol

MIB = 1024**2
LONGEST_MESSAGE = 300


@dataclass(frozen=True)
class Task:
    """Runs that share an ensemble and a method; without a method, the members themselves are scored."""

    source: DataSource
    protocol: Protocol
    pool: Path
    members: int
    missing: float
    repetition: int
    method: MethodSpec | None
    seed: int
    columns: NDArray[np.int64] | None = None

    @property
    def group(self) -> tuple[str, str]:
        """Runs of one group may share a process."""
        return self.source.name, "" if self.method is None else self.method.name

    def key(self, setting: str) -> RunKey:
        """The key of the run with a setting."""
        name = "" if self.method is None else self.method.name
        return RunKey(self.source.name, self.members, self.missing, self.repetition, name, setting)

    def run_keys(self) -> list[RunKey]:
        """The keys of all its runs."""
        if self.method is None:
            nothing = setting_text({})
            return [replace(self.key(nothing), method=name) for name in (BASE_AVERAGE, BASE_BEST)]
        return [self.key(setting) for setting, _ in self.method.settings()]

    def blank(self, key: RunKey) -> RunRecord:
        """A record of a run without a result."""
        method = self.method
        return RunRecord(
            key=key,
            solver="" if method is None else method.solver,
            default=method is None or key.setting == setting_text(method.default),
            ablation_of="" if method is None else method.ablation_of,
            status="failed",
            message="",
            scores={},
            n_clusters=None,
            n_clusters_wanted=None,
            n_samples=0,
            n_microclusters=0,
            seconds=None,
            peak_mib=None,
            converged=None,
            passes=None,
            seed=self.seed,
        )


def serve(connection: Connection, lifeline: Connection, threads: int) -> None:
    """Execute the tasks that come through the connection until it closes.

    For each run the answer is ``(key, None)`` when it begins and ``(key, RunRecord)`` when it is finished.
    """
    threading.Thread(target=_die_with, args=(lifeline,), daemon=True).start()
    _limit_threads(threads)
    bench = _Bench()
    while True:
        try:
            task, keys = connection.recv()
        except EOFError:
            return
        bench.warm(task)
        for key in keys:
            bench.prepare(task)
            connection.send((key, None))
            connection.send((key, bench.run(task, key)))


def _die_with(lifeline: Connection) -> None:
    """End this process when its parent is killed."""
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)


def _limit_threads(threads: int) -> None:
    import numba

    if "fork" in multiprocessing.get_all_start_methods():
        # numba's semaphore then has no name, which a killed process would leave behind
        multiprocessing.set_start_method("fork", force=True)
    threadpool_limits(threads)
    numba.set_num_threads(max(1, min(threads, numba.get_num_threads())))


class _Bench:
    """The current pool and ensemble."""

    def __init__(self) -> None:
        self._pool: tuple[Path, DataPool] | None = None
        self._ensemble: tuple[Any, Ensemble] | None = None
        self._warm: set[str] = set()

    def warm(self, task: Task) -> None:
        """Compile the kernels of a method, so that its time does not include this."""
        if task.method is None or task.method.solver in self._warm:
            return
        self._warm.add(task.method.solver)
        labels = np.random.default_rng(0).integers(0, 3, (30, 6))
        with warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            find_method(task.method.solver)(3, **task.method.default, random_state=0).fit(labels)

    def prepare(self, task: Task) -> tuple[DataPool, Ensemble]:
        """Pool and ensemble of a task, kept until another is needed."""
        if self._pool is None or self._pool[0] != task.pool:
            self._pool = (task.pool, DataPool.load(task.source.name, task.pool))
            self._ensemble = None
        pool = self._pool[1]
        fill = filling(task.method)
        wanted = (task.members, task.missing, task.repetition, fill)
        if self._ensemble is None or self._ensemble[0] != wanted:
            ensemble = ensemble_of(
                task.source,
                pool,
                task.protocol,
                task.members,
                task.missing,
                task.repetition,
                task.seed,
                task.columns,
            )
            if fill == "all" and not ensemble.is_complete:
                ensemble = ensemble.filled(self.seed(task))
            elif fill == "blank samples":
                ensemble = blank_samples_filled(ensemble, self.seed(task))
            self._ensemble = (wanted, ensemble)
        return pool, self._ensemble[1]

    @staticmethod
    def seed(task: Task) -> int:
        return repetition_seed(
            task.seed, task.source.name, task.members, task.missing, task.repetition
        )

    def run(self, task: Task, key: RunKey) -> RunRecord:
        """Execute one run; an error of the method becomes part of the record."""
        pool, ensemble = self.prepare(task)
        blank = replace(
            task.blank(key),
            n_samples=ensemble.n_samples,
            n_microclusters=ensemble.n_microclusters,
            seed=self.seed(task),
        )
        if task.method is None:
            average, best = score_members(ensemble, pool.classes)
            member_scores = average if key.method == BASE_AVERAGE else best
            return replace(blank, status="ok", scores=member_scores)
        wanted = task.source.n_clusters or pool.n_classes or usual_clusters(ensemble)
        blank = replace(blank, n_clusters_wanted=wanted)
        estimator = find_method(task.method.solver)(
            wanted, **blank.parameters, random_state=blank.seed
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                seconds, peak = measured(lambda: estimator.fit(ensemble))
        except MemoryError as error:
            return replace(blank, status="memory cap", message=in_words(error))
        except Exception as error:
            return replace(blank, message=in_words(error))
        history = getattr(estimator, "history_", [])
        objective = [float(entry["objective"]) for entry in history if "objective" in entry]
        return replace(
            blank,
            status="ok",
            scores=score(pool.classes, estimator.labels_),
            n_clusters=int(estimator.n_clusters_),
            seconds=seconds,
            peak_mib=peak,
            converged=bool(estimator.converged_),
            passes=int(estimator.n_iter_),
            objective=tuple(objective),
            labels_digest=digest(estimator.labels_),
        )


def filling(method: MethodSpec | None) -> Literal["all", "blank samples", "nothing"]:
    """Which missing labels are filled at random before a method is fitted."""
    if method is None:
        return "nothing"
    if method.fill == "random":
        return "all"
    return "blank samples"


def blank_samples_filled(ensemble: Ensemble, seed: int) -> Ensemble:
    """Fill samples without any label at random, because methods leave them out of all clusters."""
    blank = ensemble.blank_samples()
    if not blank.size:
        return ensemble
    labels = ensemble.labels[ensemble.inverse]
    counts = ensemble.n_clusters_per_member
    # a separate random stream: the seed itself draws members and fills whole ensembles
    rng = np.random.default_rng([seed, len(blank)])
    labels[blank] = rng.integers(0, counts, size=(len(blank), len(counts)))
    return Ensemble.from_labels(labels)


def usual_clusters(ensemble: Ensemble) -> int:
    """The number of clusters if neither spec nor classes give one: the median of the members."""
    return max(2, int(np.median(ensemble.n_clusters_per_member)))


def measured(work: Callable[[], Any]) -> tuple[float, float | None]:
    """Seconds, and the peak memory in MiB above what was in use before."""
    before = _reset_peak()
    start = perf_counter()
    work()
    seconds = perf_counter() - start
    after = _status("VmHWM")
    if before is None or after is None:
        return seconds, None
    return seconds, max(after - before, 0) / MIB


def _reset_peak() -> int | None:
    """Reset the peak memory; return the bytes held now, or None if the system does not support it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def _status(field: str) -> int | None:
    return memory_of(os.getpid(), field)


def memory_of(pid: int, field: str = "VmRSS") -> int | None:
    """Memory of a process in bytes; None if the system does not report it."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return None


def in_words(error: BaseException) -> str:
    """Type and message of an error, shortened to one line."""
    text = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {text}"[:LONGEST_MESSAGE]
