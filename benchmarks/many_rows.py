"""Seconds, peak memory and ARI of methods on label matrices with many distinct rows.

Samples lie in 12 overlapping blobs in ten dimensions. Each of 20 members assigns them to the nearest of 10
to 30 of them. A million samples have about 200,000 distinct rows. Every fit runs in a process of its own.
"memory" is what the fit adds to the process, next to what the method demanded from the memory budget, if
it asked.

Run: python benchmarks/many_rows.py [--samples 1000000] [--methods pce ceshl ...] [--approximate auto]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time

import numpy as np

from coterie import Ensemble, MemoryBudgetError
from coterie.core.budget import require, shown_bytes
from coterie.evaluate import ari
from coterie.solvers.methods import all_methods, find_method

BLOBS, DIMENSIONS, MEMBERS, SPREAD = 12, 10, 20, 2.3
# of the demands, only those for arrays that grow with the rows
SHOWN = 2**20


def cells_of_blobs(samples: int, seed: int = 0):
    """Labels (n x 20, 16 bits) and the blob of each sample."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10.0, 10.0, (BLOBS, DIMENSIONS))
    blobs = rng.integers(0, BLOBS, samples)
    points = centres[blobs] + SPREAD * rng.normal(size=(samples, DIMENSIONS))
    labels = np.empty((samples, MEMBERS), dtype=np.int16)
    for j in range(MEMBERS):
        chosen = points[rng.choice(samples, rng.integers(10, 31), replace=False)]
        labels[:, j] = ((chosen**2).sum(axis=1) - 2.0 * points @ chosen.T).argmin(axis=1)
    return labels, blobs


def resident() -> int:
    with open("/proc/self/statm") as file:
        return 4096 * int(file.read().split()[1])


def run(method: str, samples: int, approximate: str | int | None) -> str:
    """One line about one method."""
    labels, blobs = cells_of_blobs(samples)
    solver = find_method(method)
    demands = []

    def noted(needed, *rest, **named):
        granted = require(needed, *rest, **named)
        # a demand that was refused led to grouping
        demands.append(needed)
        return granted

    warnings.simplefilter("ignore")
    # the first fit loads the compiled kernels
    solver(3, random_state=0, approximate=200).fit(labels[:2_000, :6])
    for module in list(sys.modules.values()):
        if getattr(module, "require", None) is require:
            module.require = noted
    ensemble = Ensemble.from_labels(labels)
    del labels
    text = f"{method}: N = {ensemble.n_microclusters:,}"
    before, peak = resident(), getrusage(RUSAGE_SELF).ru_maxrss * 1024
    start, used = perf_counter(), process_time()
    try:
        model = solver(BLOBS, random_state=0, approximate=approximate).fit(ensemble)
    except MemoryBudgetError as error:
        return f"{text}: refused after {perf_counter() - start:.1f} s: {str(error)[:90]}"
    grown = getrusage(RUSAGE_SELF).ru_maxrss * 1024
    memory = f"memory {shown_bytes(grown - before)}" if grown > peak else "no new peak of memory"
    demand = f", demanded {shown_bytes(max(demands))}" if max(demands, default=0) > SHOWN else ""
    grouped = model.approximation_
    rows = (
        "" if grouped is None else f", {grouped.n_groups:,} groups, distance {grouped.distance:.3f}"
    )
    return (
        f"{text}{rows}: {perf_counter() - start:.1f} s ({process_time() - used:.1f} s of processor), "
        f"{memory}{demand}, ARI {ari(blobs, model.labels_):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--methods", nargs="+", default=[*all_methods()])
    parser.add_argument("--approximate")
    given = parser.parse_args()
    approximate = given.approximate
    if approximate is not None and approximate != "auto":
        approximate = int(approximate)
    for method in given.methods:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            print(pool.submit(run, method, given.samples, approximate).result(), flush=True)


if __name__ == "__main__":
    main()
