"""From features to labels with many rows: time, peak memory and ARI of each method, beside scikit-learn.

    python benchmarks/features.py                    100,000 and 1,000,000 rows with 10 and 50 columns
    python benchmarks/features.py --rows 100000      other numbers of rows
    python benchmarks/features.py --growth           10,000 to 10,000,000 rows, the default method
    python benchmarks/features.py --pass             the search for prototypes beside a matrix product
    python benchmarks/features.py --dask             10,000,000 rows in parquet files

The data are clouds around random centres that overlap a little. Every run is a process of its own, which
reads the rows from disk; its peak memory is that of the whole process. Processor time is the sum over
threads, and varies less than wall time on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

METHODS = ("lwea", "lwgp", "spce", "eccms", "trce", "pce", "ceshl")
OTHERS = ("KMeans", "MiniBatchKMeans", "BisectingKMeans", "HDBSCAN")
CLUSTERS = 12
SPREAD = {10: 0.35, 50: 0.8}
BLOCK = 100_000


def write_rows(folder: Path, n: int, d: int) -> None:
    """Rows and classes as .npy files, written block by block."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLUSTERS, d))
    spread = SPREAD.get(d, 0.5)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", dtype=np.float64, shape=(n, d))
    y = rng.integers(0, CLUSTERS, n)
    for begin in range(0, n, BLOCK):
        part = y[begin : begin + BLOCK]
        X[begin : begin + BLOCK] = centres[part] + spread * rng.normal(size=(len(part), d))
    X.flush()
    np.save(folder / "y.npy", y)


def labels_of(name: str, folder: Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Labels by one method, and what is known of its fit."""
    from sklearn import cluster

    if name == "dask":
        from coterie import ConsensusClustering
        from coterie.scale import features_from_dask

        model = ConsensusClustering(CLUSTERS, random_state=0)
        model.fit(features_from_dask(str(folder / "parts")))
        labels = model.labels_.compute().to_numpy()
        return labels, {"rows": model.ensemble_.n_microclusters}
    X = np.load(folder / "X.npy", mmap_mode="r")
    if name in OTHERS:
        settings: dict[str, Any] = {"n_clusters": CLUSTERS, "random_state": 0, "n_init": 10}
        if name == "BisectingKMeans":
            settings["n_init"] = 1
        if name == "HDBSCAN":
            settings = {
                "min_cluster_size": len(X) // 100,
                "min_samples": 10,
                "n_jobs": -1,
                "copy": True,
            }
        return getattr(cluster, name)(**settings).fit_predict(X), {}
    from coterie import ConsensusClustering

    solver = None if name == "default" else name
    model = ConsensusClustering(CLUSTERS, solver=solver, random_state=0, n_jobs=-1).fit(X)
    known = 0 if model.prototypes_ is None else len(model.prototypes_)
    return model.labels_, {"prototypes": known, "rows": model.ensemble_.n_microclusters}


def run_child(name: str, folder: Path) -> None:
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    labels, known = labels_of(name, folder)
    wall = time.perf_counter() - begin
    spent = resource.getrusage(resource.RUSAGE_SELF)
    measured = {
        "wall": wall,
        "cpu": spent.ru_utime + spent.ru_stime,
        "peak": spent.ru_maxrss / 1e6,
        "ari": adjusted_rand_score(np.load(folder / "y.npy"), labels),
    }
    print(json.dumps(measured | known))


def measure(name: str, folder: Path, limit: float) -> dict[str, Any] | None:
    """What a process of its own measured; None if it did not finish in time or failed."""
    command = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(done.stderr.strip().splitlines()[-1][:200])
        return None
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


HEAD = f"{'rows':>10}{'d':>4}  {'method':16}{'wall s':>8}{'cpu s':>8}{'peak GB':>9}{'ARI':>7}{'p':>8}{'N':>7}"


def show(n: int, d: int, name: str, measured: dict[str, Any] | None) -> None:
    if measured is None:
        print(f"{n:>10,}{d:>4}  {name:16} did not finish", flush=True)
        return
    print(
        f"{n:>10,}{d:>4}  {name:16}{measured['wall']:8.1f}{measured['cpu']:8.1f}{measured['peak']:9.2f}"
        f"{measured['ari']:7.3f}{measured.get('prototypes', ''):>8}{measured.get('rows', ''):>7}",
        flush=True,
    )


def compare(rows: list[int], widths: list[int], names: list[str], limit: float) -> None:
    print(HEAD)
    for n in rows:
        for d in widths:
            with tempfile.TemporaryDirectory() as folder:
                write_rows(Path(folder), n, d)
                for name in names:
                    show(n, d, name, measure(name, Path(folder), limit))


def grow(limit: float, most: int) -> None:
    print(HEAD)
    rows = [n for n in (10_000, 30_000, 100_000, 1_000_000, 10_000_000) if n <= most]
    spent = []
    for n in rows:
        with tempfile.TemporaryDirectory() as folder:
            write_rows(Path(folder), n, 10)
            measured = measure("default", Path(folder), limit)
            show(n, 10, "default", measured)
            spent.append(measured["cpu"] if measured else np.nan)
    for i in range(1, len(rows)):
        exponent = np.log(spent[i] / spent[i - 1]) / np.log(rows[i] / rows[i - 1])
        print(f"{rows[i - 1]:,} to {rows[i]:,} rows: exponent {exponent:.2f}")


def search(n: int) -> None:
    """Processor time of the exact search, as a multiple of that of the matrix product alone."""
    from coterie.core.threads import one_blas_thread
    from coterie.numerics.nearest_points import BLOCK_CELLS, NearestPoints

    rng = np.random.default_rng(0)
    print(f"{'rows':>10}{'d':>5}{'p':>8}{'search, cpu s':>15}{'product, cpu s':>16}{'ratio':>7}")
    for d in (10, 50, 256):
        for p in (5_000, 20_000):
            X = rng.normal(size=(max(p, n * 10 // d), d))
            points = NearestPoints(X[:p])
            points(X[:1000])
            begin = time.process_time()
            points(X)
            own = time.process_time() - begin
            height = BLOCK_CELLS // p
            rows = rng.normal(size=(height, d)).astype(np.float32)
            table = rng.normal(size=(d, p)).astype(np.float32)
            out = np.empty((height, p), dtype=np.float32)
            with one_blas_thread():
                begin = time.process_time()
                for _ in range(len(X) // height):
                    np.matmul(rows, table, out=out)
                product = time.process_time() - begin
            print(
                f"{len(X):>10,}{d:>5}{p:>8,}{own:15.2f}{product:16.2f}{own / product:7.2f}",
                flush=True,
            )


def from_parquet(n: int, limit: float) -> None:
    import pandas as pd

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, n, 10)
        (folder / "parts").mkdir()
        X = np.load(folder / "X.npy", mmap_mode="r")
        for i, begin in enumerate(range(0, n, 1_000_000)):
            frame = pd.DataFrame(X[begin : begin + 1_000_000], columns=[f"x{j}" for j in range(10)])
            frame.to_parquet(folder / "parts" / f"part-{i:03d}.parquet")
        print(HEAD)
        show(n, 10, "dask", measure("dask", folder, limit))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--methods", nargs="+", default=[*METHODS, *OTHERS])
    parser.add_argument("--limit", type=float, default=900, help="seconds per run")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--pass", action="store_true", dest="search")
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(arguments.child, arguments.folder)
    elif arguments.growth:
        grow(arguments.limit, 10_000_000)
    elif arguments.search:
        search(200_000)
    elif arguments.dask:
        from_parquet(10_000_000, arguments.limit)
    else:
        compare(arguments.rows, arguments.columns, arguments.methods, arguments.limit)


if __name__ == "__main__":
    main()
