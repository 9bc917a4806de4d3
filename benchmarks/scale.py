"""Time and peak memory of compression and of methods on millions of samples.

Samples lie in blobs, which every member cuts into 10 to 30 clusters in its own way. Sometimes members
err on a sample, which usually makes a new distinct label row. The share of errors thus sets the number
of distinct rows. Every method runs in a separate process, which makes its own labels.

Run: python benchmarks/scale.py [--samples 1000000] [--distinct 10000] [--methods eac spce ...] [--check]
     python benchmarks/scale.py --growth [--methods eac spce ...] [--most 2000]

With --check the method is also fitted on the distinct rows with their weights, and the two partitions
are compared.

With --growth, processor time is measured for an increasing number of samples at a fixed number N of
distinct rows, where only the compression should take longer; then for increasing N, with the fitted
exponent.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time

import numpy as np
from speed.inputs import members, repeated

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.solvers.base import LabelConsensus
from coterie.solvers.methods import find_method

CLASSES, MEMBERS, BLOBS = 10, 20, 400
CHUNK = 1_000_000


def labels_of(samples: int, distinct: int, seed: int = 0):
    """Labels (n x 20, 16 bits) with about ``distinct`` distinct rows, and the hidden classes."""
    rng = np.random.default_rng(seed)
    # the blobs of a class are points on a line, which every member cuts at its own positions
    classes = np.repeat(np.arange(CLASSES), BLOBS // CLASSES)
    position = rng.random(BLOBS)
    parts = rng.integers(1, 4, (MEMBERS, CLASSES))
    shift = rng.random((MEMBERS, CLASSES))
    columns = []
    for part, moved in zip(parts, shift, strict=True):
        piece = ((position + moved[classes]) % 1.0 * part[classes]).astype(np.int64)
        columns.append(np.concatenate([[0], np.cumsum(part)[:-1]])[classes] + piece)
    prototypes = np.stack(columns, axis=1).astype(np.int16)
    n_labels = parts.sum(axis=1)
    errors = max(distinct - len(np.unique(prototypes, axis=0)), 0) / samples
    labels = np.empty((samples, MEMBERS), dtype=np.int16)
    hidden = np.empty(samples, dtype=np.int64)
    for begin in range(0, samples, CHUNK):
        blob = rng.integers(0, BLOBS, min(CHUNK, samples - begin))
        chunk = prototypes[blob]
        # two errors per sample, so that few samples with errors share a row
        wrong = np.flatnonzero(rng.random(len(blob)) < 1.02 * errors)
        for _ in range(2):
            member = rng.integers(0, MEMBERS, len(wrong))
            chunk[wrong, member] = rng.integers(0, n_labels[member])
        labels[begin : begin + len(blob)] = chunk
        hidden[begin : begin + len(blob)] = classes[blob]
    return labels, hidden


def peak() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 2**20


def run(method: str, samples: int, distinct: int, check: bool) -> dict[str, float]:
    """Run one method on labels made here, so that the peak includes labels, ensemble and method."""
    labels, hidden = labels_of(samples, distinct)
    solver = find_method(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the first fit loads the compiled kernels
        solver(3, random_state=0).fit(labels[:2_000, :6])
        before = peak()
        start, used = perf_counter(), process_time()
        ensemble = Ensemble.from_labels(labels)
        compressed = perf_counter() - start
        model = solver(CLASSES, random_state=0).fit(ensemble)
    return {
        "N": ensemble.n_microclusters,
        "compression": compressed,
        "whole": perf_counter() - start,
        "processor": process_time() - used,
        "before": before,
        "peak": peak(),
        "ari": ari(hidden, model.labels_),
        "same": 1.0 if not check else ari(model.labels_, by_rows(solver, ensemble)),
    }


def by_rows(solver: type[LabelConsensus], ensemble: Ensemble) -> np.ndarray:
    """Labels of all samples from the distinct rows and their weights."""
    rows = Ensemble.from_labels(ensemble.labels, sample_weight=ensemble.weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solver(CLASSES, random_state=0).fit(rows).labels_[ensemble.inverse]


def growth(methods: list[str], most: int) -> None:
    """Growth with samples, then with distinct rows; ten times more rows for linear methods."""
    # the first loads the compiled kernels
    Ensemble.from_labels(members(100, MEMBERS, CLASSES)[0])
    for samples in (10_000, 100_000, 1_000_000):
        labels, _ = repeated(samples, 500, MEMBERS, CLASSES)
        used = process_time()
        ensemble = Ensemble.from_labels(labels)
        times = [f"compression {process_time() - used:.2f} s"]
        times += [f"{method} {fitted(method, ensemble)[0]:.2f}" for method in methods]
        print(f"n = {samples:<10,}N = {ensemble.n_microclusters}: {', '.join(times)}", flush=True)
    for method in methods:
        reach = most * 10 if find_method(method).about.scaling == "linear" else most
        sizes = [reach // part for part in (8, 4, 2, 1)]
        measured = [
            fitted(method, Ensemble.from_labels(members(size, MEMBERS, CLASSES)[0]))
            for size in sizes
        ]
        seconds, passes = np.array(measured).T
        whole, single = (
            np.polyfit(np.log(sizes), np.log(values), 1)[0]
            for values in (seconds, seconds / passes)
        )
        times = ", ".join(
            f"{size:,}: {s:.2f} s, {p:.0f}"
            for size, s, p in zip(sizes, seconds, passes, strict=True)
        )
        print(
            f"{method:<6}N^{whole:.2f}, per pass N^{single:.2f} (time and passes at {times})",
            flush=True,
        )


def fitted(method: str, ensemble: Ensemble) -> tuple[float, int]:
    """Processor time of a fit, and its number of passes."""
    solver = find_method(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the first fit loads the compiled kernels
        solver(3, random_state=0).fit(ensemble.subset(np.arange(200)))
        used = process_time()
        model = solver(CLASSES, random_state=0).fit(ensemble)
    return process_time() - used, max(len(model.history_), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=int, default=10_000)
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--most", type=int, default=2_000, help="distinct rows of --growth")
    given = parser.parse_args()
    if given.growth:
        growth(given.methods or ["eac", "spce", "eccms", "trce", "pce", "ceshl"], given.most)
        return
    for method in given.methods or ["eac", "spce"]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            measured = pool.submit(run, method, given.samples, given.distinct, given.check).result()
        pairs = 8 * measured["N"] ** 2 / 2**30
        print(
            f"{method}: n = {given.samples:,}, N = {measured['N']:,}: compression "
            f"{measured['compression']:.1f} s, with the method {measured['whole']:.1f} s "
            f"({measured['processor']:.1f} s of processor), peak {measured['peak']:.2f} GiB of which "
            f"{measured['before']:.2f} before it (N x N doubles: {pairs:.2f}), "
            f"ARI {measured['ari']:.3f}"
            + f"; ARI with the labels of the compressed rows {measured['same']:.6f}"
            * given.check,
            flush=True,
        )


if __name__ == "__main__":
    main()
