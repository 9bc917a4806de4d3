"""Many fits at a time, in threads and in processes of either kind: always the same labels."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from coterie.solvers.methods import all_methods, find_method
from tests.adversarial.numerics import noisy
from tests.adversarial.outcomes import Tally, Violation

Answer = tuple[list[int], list[float]]
LABELS = noisy(90, 8, 3, 0, 0.1)
# where methods disagree with each other and the work is spread over threads
UNCLEAR = noisy(300, 12, 6, 3, 0.1, wrong=0.6)
NEWEST = Path(sys.prefix, "newest", "bin", "python")


def fit(name: str, labels: np.ndarray = LABELS, n_clusters: int = 3, **parameters: Any) -> Answer:
    """Labels and influences of one fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = find_method(name)(n_clusters, random_state=0, **parameters).fit(labels)
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
    except BrokenProcessPool:
        tally.violations.append(f"{kind}: a process of the pool died")
    return tally


def run(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """Threads and processes; the number of cases is fixed."""
    kinds = [kind for kind in ("fork", "spawn", "forkserver") if not names or kind in names]
    alone = {name: fit(name) for name in all_methods()}
    if not names or "threads" in names:
        yield in_threads(alone, 4)
    for kind in kinds:
        if kind in multiprocessing.get_all_start_methods():
            yield in_processes(alone, kind)


def digests() -> tuple[str, str]:
    """Of every method's labels, and of its labels and numbers, for comparing surroundings."""
    answers = []
    for name in sorted(all_methods()):
        answers += [(name, *fit(name)), (name, *fit(name, UNCLEAR, 6))]
    labels = [(name, found) for name, found, _ in answers]
    one, two = (hashlib.sha256(repr(said).encode()).hexdigest() for said in (labels, answers))
    return one, two


@dataclass(frozen=True)
class Surrounding:
    """Where every method is asked again, and whether the last digit must be the same there."""

    words: str
    variables: dict[str, str]
    python: str = sys.executable
    to_the_last_digit: bool = True


def surroundings(folder: str, pythons: Sequence[str]) -> list[Surrounding]:
    """Threads, a cold cache of kernels, another order of sets, other BLAS kernels, other Pythons.

    Another interpreter may bring other versions of its libraries, another processor's BLAS kernels sum
    in another order: there the labels must be the same, but not the last digit of every number.
    """
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    one, two = dict.fromkeys(threads, "1"), dict.fromkeys(threads, "2")
    found = [
        Surrounding("1 thread", one),
        Surrounding("2 threads, another hash seed", two | {"PYTHONHASHSEED": "12345"}),
        Surrounding("2 threads, fresh kernels", two | {"NUMBA_CACHE_DIR": folder}),
    ]
    for core in ("Prescott", "Haswell"):
        words = f"OpenBLAS for {core}"
        found.append(Surrounding(words, one | {"OPENBLAS_CORETYPE": core}, to_the_last_digit=False))
    for python in pythons:
        cold = two | {"NUMBA_CACHE_DIR": os.path.join(folder, str(len(found)))}
        found.append(Surrounding(python, cold, python, to_the_last_digit=False))
    return found


def matrix(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """The answers of every method in every surrounding, which must be one.

    ``determinism:PYTHON,...`` names further interpreters in which coterie is installed; without a name
    it is the one that ``make determinism`` has set up, where there is one.
    """
    pythons = names or [str(NEWEST)] * NEWEST.exists()
    tally = Tally("determinism")
    found: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for where in surroundings(folder, pythons):
            began = perf_counter()
            answer = subprocess.run(
                [where.python, "-m", "tests.adversarial.concurrency"],
                env=os.environ | where.variables,
                capture_output=True,
                check=False,
                text=True,
            )
            if answer.returncode != 0:
                tally.violations.append(f"{where.words}: {answer.stderr[-300:]}")
                continue
            found.append(tuple(answer.stdout.split()))
            checked = 2 if where.to_the_last_digit else 1
            if found[-1][:checked] != found[0][:checked]:
                tally.violations.append(f"{where.words}: other answers")
            tally.count(None)
            shown = " ".join(said[:12] for said in found[-1])
            tally.notes.append(f"{shown} {where.words} ({perf_counter() - began:.0f} s)")
    yield tally


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.stdout.write(" ".join(digests()))
