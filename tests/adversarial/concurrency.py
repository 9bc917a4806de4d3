"""Many fits at a time, in threads and in processes of either kind: always the same labels."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from coterie._threads import ForkedError
from coterie.solvers._catalogue import METHODS
from tests.adversarial.numerics import noisy
from tests.adversarial.outcomes import Tally, Violation

Answer = tuple[list[int], list[float]]
LABELS = noisy(90, 8, 3, 0, 0.1)


def fit(name: str) -> Answer:
    """Labels and influences of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[name].load()(3, random_state=0).fit(LABELS)
    return model.labels_.tolist(), model.member_weights_.tolist()


def fit_in_child(name: str) -> tuple[str, Answer]:
    """For pools of processes."""
    return name, fit(name)


def in_threads(alone: dict[str, Answer], n_threads: int) -> Tally:
    """Every thread fits every method, each beginning with another one."""
    tally = Tally(f"concurrency, {n_threads} threads")
    names = [*alone]
    before = _threads_of_libraries()

    def work(start: int) -> None:
        for name in names[start:] + names[:start]:
            with tally.watch(f"{name} among threads"):
                if fit(name) != alone[name]:
                    raise Violation("other labels than alone")
                tally.count(None)

    workers = [
        threading.Thread(target=work, args=(j * len(names) // n_threads,)) for j in range(n_threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with tally.watch("after the threads"):
        if _threads_of_libraries() != before:
            raise Violation(f"BLAS and OpenMP had {before} threads, now {_threads_of_libraries()}")
    return tally


def _threads_of_libraries() -> list[tuple[str, int]]:
    return sorted((info["user_api"], info["num_threads"]) for info in threadpool_info())


def in_processes(alone: dict[str, Answer], kind: str) -> Tally:
    """Two processes of a kind, started after this one has fitted everything."""
    tally = Tally(f"concurrency, processes by {kind}")
    context: Any = multiprocessing.get_context(kind)
    try:
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            for name, found in pool.map(fit_in_child, alone):
                with tally.watch(f"{name} in a process by {kind}"):
                    if found != alone[name]:
                        raise Violation("other labels than alone")
                    tally.count(None)
    except ForkedError as error:
        # GNU OpenMP cannot be forked; what matters is that it is said, and that nothing hangs
        if kind != "fork":
            raise
        tally.count(error)
    except BrokenProcessPool:
        tally.violations.append(f"{kind}: a process of the pool died")
    return tally


def run(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """Threads and processes; the number of cases is fixed."""
    kinds = [kind for kind in ("fork", "spawn", "forkserver") if not names or kind in names]
    alone = {name: fit(name) for name in METHODS}
    if not names or "threads" in names:
        yield in_threads(alone, 4)
    for kind in kinds:
        if kind in multiprocessing.get_all_start_methods():
            yield in_processes(alone, kind)


def digest() -> str:
    """A line that says what every method answers here, for comparing surroundings."""
    import hashlib

    said = repr([(name, fit(name)) for name in sorted(METHODS)])
    return hashlib.sha256(said.encode()).hexdigest()


def surroundings(folder: str) -> dict[str, dict[str, str]]:
    """Environments that must not change an answer: threads, and a cold or warm cache of kernels."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {
        "1 thread": dict.fromkeys(threads, "1"),
        "2 threads": dict.fromkeys(threads, "2"),
        "fresh kernels": {"NUMBA_CACHE_DIR": folder},
        "kernels of the run before": {"NUMBA_CACHE_DIR": folder},
        "another hash seed": {"PYTHONHASHSEED": "12345"},
    }


def matrix(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """The answers of every method in every surrounding, which must be one."""
    import tempfile

    tally = Tally("determinism")
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        for words, variables in surroundings(folder).items():
            answer = subprocess.run(
                [sys.executable, "-m", "tests.adversarial.concurrency"],
                env=os.environ | variables,
                capture_output=True,
                check=True,
                text=True,
            )
            found[words] = answer.stdout.strip()
            tally.count(None)
            tally.notes.append(f"{found[words][:16]} {words}")
    if len({*found.values()}) > 1:
        tally.violations.append("the answers differ")
    yield tally


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.stdout.write(digest())
