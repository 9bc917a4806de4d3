"""Compress, solve and write labels of rows in parquet on two workers of 3 GB; time and peak memory.

Run: python benchmarks/dask_scale.py --rows 20000000

Then the first million rows are clustered on the workers and in one process, and all labels compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from coterie import CESHL, SPCE, Ensemble
from coterie.evaluate import ari
from coterie.scale import dashboard_address, ensemble_from_dask, labels_to_parquet, local_cluster

MEMBERS = 12
CLUSTERS = 8
CHUNK = 500_000


def prototypes(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct label rows, their classes and frequencies; members sometimes split a class or err."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(CLUSTERS, 2 * CLUSTERS, MEMBERS)
    # one row in eight lies between classes, where members err often; elsewhere they err rarely
    known: dict[tuple[int, ...], int] = {}
    while len(known) < count:
        truth = rng.integers(0, CLUSTERS, 4 * count)
        rows = np.empty((4 * count, MEMBERS), dtype=np.int64)
        noise = np.where(rng.random(4 * count) < 0.125, 0.3, 0.04)
        for j, k in enumerate(sizes):
            rows[:, j] = truth + CLUSTERS * (rng.random(4 * count) < (k - CLUSTERS) / k / 4)
            wrong = rng.random(4 * count) < noise
            rows[wrong, j] = rng.integers(0, k, int(wrong.sum()))
        for row, cluster in zip(map(tuple, rows.tolist()), truth.tolist(), strict=True):
            if len(known) < count:
                known.setdefault(row, cluster)
    frequency = 1.0 / np.arange(1, count + 1) ** 0.8
    return np.array([*known]), np.array([*known.values()]), frequency / frequency.sum()


def write_labels(folder: Path, rows: int, distinct: int) -> None:
    labels, classes, frequency = prototypes(distinct)
    for i, begin in enumerate(range(0, rows, CHUNK)):
        count = min(CHUNK, rows - begin)
        chosen = np.random.default_rng([1, i]).choice(len(labels), size=count, p=frequency)
        columns = {f"m{j:02d}": pa.array(labels[chosen, j].astype(np.int8)) for j in range(MEMBERS)}
        columns |= {"row": pa.array(np.arange(begin, begin + count))}
        pq.write_table(pa.table(columns), folder / f"part.{i}.parquet")
        np.save(folder / f"part.{i}.npy", classes[chosen].astype(np.int8))


def peak() -> float:
    """Peak memory of this process in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError


def solvers() -> dict[str, object]:
    return {"CESHL": CESHL(CLUSTERS), "SPCE": SPCE(CLUSTERS)}


def run(files: list[Path], target: Path, client: object) -> dict[str, np.ndarray]:
    """Compress, solve and write, printing the time of each step; return the labels by solver."""
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    began = time.perf_counter()
    ensemble = ensemble_from_dask(files, id="row", client=client)
    seconds = time.perf_counter() - began
    print(
        f"  compress: {seconds:6.1f} s, {rows / seconds / 1e6:.2f} million rows per second; {ensemble}"
    )
    labels = {}
    for name, solver in solvers().items():
        began = time.perf_counter()
        labels[name] = solver.fit(ensemble).labels_
        print(f"  {name:<8}: {time.perf_counter() - began:6.1f} s")
    began = time.perf_counter()
    written = labels_to_parquet(target, ensemble, labels, files, id="row", client=client)
    seconds = time.perf_counter() - began
    print(f"  write   : {seconds:6.1f} s, {written / seconds / 1e6:.2f} million rows per second")
    return labels


def read_back(target: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(file) for file in sorted(target.iterdir())])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--distinct", type=int, default=2000)
    options.add_argument("--prefix", type=int, default=1_000_000)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--memory", default="3GB", help="memory of each worker")
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dask_scale_", dir=given.folder))
    try:
        (folder / "labels").mkdir()
        began = time.perf_counter()
        write_labels(folder / "labels", given.rows, given.distinct)
        files = [folder / "labels" / f"part.{i}.parquet" for i in range(-(-given.rows // CHUNK))]
        size = sum(file.stat().st_size for file in files) / 2**20
        print(
            f"{given.rows:,} rows x {MEMBERS} members in {len(files)} files, {size:,.0f} MiB, made in "
            f"{time.perf_counter() - began:.1f} s; {given.workers} workers of {given.memory}"
        )
        start = peak()
        with local_cluster(given.workers, given.memory) as client:
            print(f"dashboard: {dashboard_address(client)}")
            before = client.run(peak)
            solved = run(files, folder / "out", client)
            print(f"peak memory of the client: {peak():,.0f} MiB ({start:,.0f} at the start)")
            for i, (worker, most) in enumerate(client.run(peak).items()):
                print(
                    f"peak memory of worker {i}: {most:,.0f} MiB ({before[worker]:,.0f} at the start)"
                )
            classes = np.concatenate([np.load(file.with_suffix(".npy")) for file in files])
            table = read_back(folder / "out")
            assert (table["row"].to_numpy() == np.arange(given.rows)).all()
            for name in solved:
                score = ari(classes, table[name].to_numpy())
                print(f"  {name}: ARI with the classes behind the rows {score:.3f}")

            prefix = files[: max(1, given.prefix // CHUNK)]
            print(f"the first {len(prefix)} files again, on the workers:")
            run(prefix, folder / "prefix", client)
        labels = pq.read_table(prefix).to_pandas().drop(columns="row")
        whole = Ensemble.from_labels(labels)
        table = read_back(folder / "prefix")
        for name, solver in solvers().items():
            began = time.perf_counter()
            expected = solver.fit(whole).labels_
            same = np.array_equal(expected, table[name].to_numpy())
            print(
                f"  {name}: one process and {given.workers} workers give "
                f"{'the same labels' if same else 'DIFFERENT LABELS'} for all {len(expected):,} rows "
                f"(one process: {time.perf_counter() - began:.1f} s)"
            )
            assert same
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
