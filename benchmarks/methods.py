"""Run every method at its defaults on every pool: number of clusters, ARI, time and memory.

Run: python benchmarks/methods.py [--missing SHARE] [POOL ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.solvers.methods import all_methods, find_method

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MEMBERS = 20


def draw(path: Path, missing: float):
    """Twenty members of a pool with a share of labels removed, and the classes."""
    rng = np.random.default_rng(0)
    with np.load(path) as file:
        members, classes = file["members"], file["gt"].ravel()
    labels = members[:, rng.choice(members.shape[1], MEMBERS, replace=False)].astype(float)
    if missing:
        labels[rng.random(labels.shape) < missing] = np.nan
        # all methods but one need at least one label per sample
        blank = np.isnan(labels).all(axis=1)
        labels[blank, 0] = members[blank, 0]
    return labels, classes


def run(name: str, labels, classes) -> tuple[int, float, float, float]:
    estimator, c = find_method(name), len(np.unique(classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the first fit loads the compiled kernels
        estimator(2, random_state=0).fit(labels[:200, :5])
        ensemble = Ensemble.from_labels(labels)
        start = perf_counter()
        clusters = estimator(c, random_state=0).fit(ensemble).labels_
        seconds = perf_counter() - start
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 2**20
    return len(np.unique(clusters)), ari(classes, clusters), seconds, peak


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--missing", type=float, default=0.0)
    parser.add_argument("--methods", nargs="+", default=list(all_methods()))
    known = sorted(path.stem for path in (DATA / "pools").glob("*.npz"))
    parser.add_argument("pools", nargs="*", metavar="POOL")
    arguments = parser.parse_args()
    for pool in arguments.pools:
        if pool not in known:
            parser.error(f"no pool {pool!r} in {DATA / 'pools'} (known: {', '.join(known)})")
    wrong = 0
    for path in sorted((DATA / "pools").glob("*.npz")):
        if arguments.pools and path.stem not in arguments.pools:
            continue
        labels, classes = draw(path, arguments.missing)
        size = Ensemble.from_labels(labels).n_microclusters
        c = len(np.unique(classes))
        print(f"{path.stem}: n = {len(labels):,}, N = {size:,}, c = {c}", flush=True)
        for name in arguments.methods:
            # a separate process for each, because a peak is measured per process
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                try:
                    k, score, seconds, peak = pool.submit(run, name, labels, classes).result()
                except (BrokenProcessPool, Exception) as error:
                    wrong += 1
                    print(f"  {name:<10} failed: {type(error).__name__}: {error}", flush=True)
                    continue
            wrong += k != c
            note = "" if k == c else f"  NOT {c} clusters but {k}"
            print(
                f"  {name:<10} ARI {score:6.3f} {seconds:7.1f} s {peak:5.2f} GiB{note}", flush=True
            )
    return wrong


if __name__ == "__main__":
    sys.exit(main() > 0)
