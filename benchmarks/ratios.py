"""Speed as ratios measured in one run on the same inputs.

Run: make bench, or python benchmarks/ratios.py [NAME ...]
"""

from __future__ import annotations

import os
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from coterie import EAC, Ensemble
from coterie.evaluate import ari
from coterie.solvers.methods import find_method

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))

SIX = ("eac", "spce", "eccms", "trce", "pce", "ceshl")


def best_of(call: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def compression() -> None:
    """A million rows of 20 labels, 50,000 of them distinct, against numpy.unique(axis=0)."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 30, (50_000, 20)).astype(np.int32)
    labels = rows[rng.integers(0, len(rows), 1_000_000)]
    Ensemble.from_labels(labels[:100])
    ours = best_of(lambda: Ensemble.from_labels(labels))
    numpy = best_of(lambda: np.unique(labels, axis=0), repeats=1)
    tracemalloc.start()
    Ensemble.from_labels(labels)
    peak = tracemalloc.get_traced_memory()[1] / labels.nbytes
    tracemalloc.stop()
    print(
        f"  coterie {ours:.2f} s, numpy.unique(axis=0) {numpy:.2f} s: {numpy / ours:.1f} times faster"
    )
    print(f"  memory on top of the input: {peak:.2f} times the input")


def eac() -> None:
    """EAC on microclusters against scipy's average link on the n x n matrix."""
    for labels, source in pools():
        ours = best_of(lambda labels=labels: EAC(10).fit(labels))
        n = len(labels)

        def literal(labels=labels, n=n):
            shares = np.zeros((n, n))
            for column in labels.T:
                shares += column[:, None] == column
            linkage(squareform(1 - shares / labels.shape[1], checks=False), "average")

        theirs = best_of(literal, repeats=1)
        micro = Ensemble.from_labels(labels).n_microclusters
        print(
            f"  {source}, n = {n:,}, N = {micro:,}: coterie {ours:.2f} s, n x n {theirs:.2f} s: "
            f"{theirs / ours:.0f} times faster"
        )


def solvers() -> None:
    """Six methods on a pool of n = 6,435 and one of n = 49,402 (methods.py has all of them)."""
    for name in ("ls", "kdd99_10p"):
        labels, classes = draw(name)
        micro = Ensemble.from_labels(labels).n_microclusters
        print(f"  {name}: n = {len(labels):,}, N = {micro:,}, c = {classes}")
        for method in SIX:
            start = perf_counter()
            # a separate process for each, because a peak is measured per process
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                seconds, peak = pool.submit(fitted, method, labels, classes).result()
            whole = perf_counter() - start
            print(
                f"    {method:<6} {seconds:7.1f} s, {whole:7.1f} s with imports, "
                f"{peak / 2**20:6.0f} MiB",
                flush=True,
            )


def fitted(name: str, labels, classes: int) -> tuple[float, float]:
    solver = find_method(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the first fit loads the compiled kernels
        solver(2, random_state=0).fit(labels[:200, :5])
        start = perf_counter()
        solver(classes, random_state=0).fit(labels)
        return perf_counter() - start, 1024.0 * getrusage(RUSAGE_SELF).ru_maxrss


def twins() -> None:
    """Compressed solvers against the literal n x n transcriptions on a pool of n = 1,941."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.naive import ec_cms, spce, trce

    labels, classes = draw("spf")
    literal = {
        "eccms": lambda: ec_cms.ec_cms(labels, classes),
        "spce": lambda: spce.spce(labels, classes, 0.2).labels,
        "trce": lambda: trce.trce(labels, classes, 10.0, max_iter=30).component_labels,
    }
    for name, naive in literal.items():
        # the first fit loads the compiled kernels
        ours = min(fitted(name, labels, classes)[0] for _ in range(2))
        start = perf_counter()
        labels_of_twin = naive()
        theirs = perf_counter() - start
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = find_method(name)(classes, random_state=0).fit(labels)
        # the transcription ends here, before the rule that makes exactly c clusters
        same = ari(model.component_labels_, labels_of_twin)
        print(
            f"  {name}: compressed {ours:.2f} s, n x n {theirs:.1f} s: {theirs / ours:.0f} times; "
            f"ARI of the two partitions {same:.6f}",
            flush=True,
        )


def draw(name: str):
    """Twenty members of a pool, and the number of its classes."""
    path = DATA / "pools" / f"{name}.npz"
    if not path.exists():
        sys.exit(f"  this needs {path}; set COTERIE_DATA to the folder that has it")
    with np.load(path) as file:
        members, classes = file["members"], len(np.unique(file["gt"]))
    columns = np.random.default_rng(0).choice(members.shape[1], 20, replace=False)
    return members[:, columns], classes


def pools():
    rng = np.random.default_rng(0)
    paths = [DATA / "pools" / f"{name}.npz" for name in ("spf", "ls")]
    if not all(path.exists() for path in paths):
        print("  (there are no label pools in COTERIE_DATA, so artificial ones are used)")
        for n in (2_000, 6_000):
            truth = rng.integers(0, 300, n)
            yield (
                np.stack([rng.integers(0, 40, 300)[truth] for _ in range(20)], axis=1),
                "artificial",
            )
        return
    for path in paths:
        members = np.load(path)["members"]
        yield members[:, rng.choice(members.shape[1], 20, replace=False)], path.stem


BENCHMARKS = {"compression": compression, "eac": eac, "solvers": solvers, "twins": twins}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"{name}: {BENCHMARKS[name].__doc__}")
        BENCHMARKS[name]()
