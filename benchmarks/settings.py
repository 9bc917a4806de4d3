"""Check that every method gives exactly c clusters, at every setting and ablation, on every pool.

Run: python benchmarks/settings.py [POOL ...] [--methods NAME ...] [--ends]
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from coterie import Ensemble
from coterie.solvers.methods import all_methods

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
ABLATIONS: dict[str, list[dict[str, Any]]] = {
    "eac": [{"linkage": "single"}, {"linkage": "complete"}],
    "spce": [{"self_paced": False}, {"self_paced": "fixed"}],
    "eccms": [
        {"evidence": "ca"}, {"evidence": "pts"}, {"propagate": False}, {"keep_confident": False}
    ],
    "trce": [{"member_level": False}, {"instance_level": False}, {"graph_level": False}],
    "pce": [{"rotation": False}, {"self_paced": False}, {"diversity": False}, {"impute": "random"}],
    "ceshl": [{"edge_weights": "quality"}, {"edge_weights": "uniform"}, {"degree_floor": 0.0}],
}  # fmt: skip
# with --ends, only the ends and the middle of a grid are run on pools with more distinct rows than this
LARGE = 1_000


def pools() -> Iterator[tuple[str, Ensemble, int]]:
    rng = np.random.default_rng(0)
    for path in sorted((DATA / "pools").glob("*.npz")):
        with np.load(path) as file:
            members, classes = file["members"], len(np.unique(file["gt"]))
        chosen = rng.choice(members.shape[1], 20, replace=False)
        yield path.stem, Ensemble.from_labels(members[:, chosen]), classes
    for path in sorted((DATA / "golden").glob("*.npz")):
        with np.load(path) as file:
            if not {"base", "y"} <= set(file):
                continue
            labels, classes = file["base"], len(np.unique(file["y"]))
        given = np.where(labels < 0, np.nan, labels.astype(float)).reshape(-1, *labels.shape[-2:])
        yield path.stem, Ensemble.from_labels(given[0]), classes


def combinations(grid) -> list[dict]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def main() -> int:
    parser = argparse.ArgumentParser(description="Exactly c clusters at every setting?")
    parser.add_argument("pools", nargs="*", metavar="POOL", help="default: all")
    parser.add_argument(
        "--methods", nargs="+", choices=sorted(all_methods()), default=list(all_methods())
    )
    parser.add_argument("--ends", action="store_true", help="large pools: ends and middle only")
    wanted = parser.parse_args()
    broken = 0
    for name, ensemble, classes in pools():
        if wanted.pools and name not in wanted.pools:
            continue
        print(f"{name}: {ensemble.n_samples:,} samples, {ensemble.n_microclusters:,} distinct rows")
        for method in (all_methods()[chosen] for chosen in wanted.methods):
            if ensemble.blank_samples().size and not method.about.blank_samples:
                continue
            settings = combinations(method.about.grid)
            if wanted.ends and ensemble.n_microclusters > LARGE:
                settings = [settings[0], settings[len(settings) // 2], settings[-1]]
            settings += ABLATIONS.get(method.about.name, [])
            wrong, start = [], perf_counter()
            for setting in settings:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = method(classes, **setting, random_state=0).fit(ensemble)
                if len(np.unique(model.labels_)) != classes:
                    wrong.append(setting)
            broken += len(wrong)
            print(
                f"  {method.about.name:<6} {len(settings):3} settings, c = {classes}: "
                f"{'exactly c in all' if not wrong else f'not c at {wrong}'} "
                f"({perf_counter() - start:.0f} s)",
                flush=True,
            )
    return broken


if __name__ == "__main__":
    sys.exit(main() > 0)
