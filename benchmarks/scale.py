"""Millions of samples: time and peak memory of compression and of methods, end to end.

Samples lie in blobs that every member cuts into 10 to 30 clusters, each in its own way; now and then
a member errs on a sample, which makes a label row of its own. The share of errors sets the number of
distinct rows. Every method runs in a process of its own, which makes its own labels.

Run: python benchmarks/scale.py [--samples 1000000] [--distinct 10000] [--methods eac spce ...] [--check]
     python benchmarks/scale.py --growth [--methods eac spce ...] [--most 2000]

With --check the method is also given the distinct rows alone, each with its weight, and the two
partitions are compared.

With --growth: processor time at a fixed number N of distinct rows for more and more samples, which
should not grow but for compression; and for more and more distinct rows, with the fitted exponent.
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
    """Labels n x 20 of 16 bits with about so many distinct rows, and the classes behind them."""
    rng = np.random.default_rng(seed)
    # blobs are points of classes on a line: a member cuts every class at places of its own
    classes = np.repeat(np.arange(CLASSES), BLOBS // CLASSES)
    place = rng.random(BLOBS)
    parts = rng.integers(1, 4, (MEMBERS, CLASSES))
    shift = rng.random((MEMBERS, CLASSES))
    columns = []
    for part, moved in zip(parts, shift, strict=True):
        piece = ((place + moved[classes]) % 1.0 * part[classes]).astype(np.int64)
        columns.append(np.concatenate([[0], np.cumsum(part)[:-1]])[classes] + piece)
    prototypes = np.stack(columns, axis=1).astype(np.int16)
    n_labels = parts.sum(axis=1)
    errors = max(distinct - len(np.unique(prototypes, axis=0)), 0) / samples
    labels = np.empty((samples, MEMBERS), dtype=np.int16)
    hidden = np.empty(samples, dtype=np.int64)
    for begin in range(0, samples, CHUNK):
        blob = rng.integers(0, BLOBS, min(CHUNK, samples - begin))
        chunk = prototypes[blob]
        # two errors a sample, so that few erring samples share a row
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
    """One method on labels made here, so that the peak is that of labels, ensemble and method."""
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
    """By samples, then by distinct rows; those linear in N go ten times further."""
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
        found = [
            fitted(method, Ensemble.from_labels(members(size, MEMBERS, CLASSES)[0]))
            for size in sizes
        ]
        seconds, passes = np.array(found).T
        whole, single = (
            np.polyfit(np.log(sizes), np.log(values), 1)[0]
            for values in (seconds, seconds / passes)
        )
        times = ", ".join(
            f"{size:,}: {s:.2f} s, {p:.0f}"
            for size, s, p in zip(sizes, seconds, passes, strict=True)
        )
        print(
            f"{method:<6}N^{whole:.2f}, a pass N^{single:.2f} (time and passes at {times})",
            flush=True,
        )


def fitted(method: str, ensemble: Ensemble) -> tuple[float, int]:
    """Processor time of a fit, and its passes."""
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
            found = pool.submit(run, method, given.samples, given.distinct, given.check).result()
        pairs = 8 * found["N"] ** 2 / 2**30
        print(
            f"{method}: n = {given.samples:,}, N = {found['N']:,}: compression "
            f"{found['compression']:.1f} s, with the method {found['whole']:.1f} s "
            f"({found['processor']:.1f} s of processor), peak {found['peak']:.2f} GiB of which "
            f"{found['before']:.2f} before it (N x N doubles: {pairs:.2f}), "
            f"ARI {found['ari']:.3f}"
            + f"; ARI with the labels of the compressed rows {found['same']:.6f}"
            * given.check,
            flush=True,
        )


if __name__ == "__main__":
    main()
