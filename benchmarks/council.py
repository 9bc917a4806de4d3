"""Council against the default, the best single setting and the oracle of EC-CMS, and other methods.

Run: python benchmarks/council.py [POOL ...] [--draws FIRST LAST] [--cost]
The council's grids were settled on draws 0 to 9 of the four small pools; draws from 10 on were kept
for checking. --cost compares a council of over fifty settings with one run of EC-CMS.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

from coterie import EAC, ECCMS, LWEA, SPCE, Council, Ensemble, datasets
from coterie.evaluate import ari
from coterie.generate import kmeans_pool
from coterie.solvers._catalogue import METHODS

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MEMBERS = 20
OTHERS = ("ecpcs-hc", "lwgp", "usenc", "ptgp")
WIDE = {
    "eccms": {"alpha": (0.7, 0.725, 0.75, 0.775, 0.8), "lam": (0.1, 0.15, 0.2, 0.3, 0.4)},
    "spce": {"theta": tuple(round(0.1 + 0.02 * step, 2) for step in range(26))},
}


def draw(name: str, number: int) -> tuple[Ensemble, np.ndarray]:
    """Twenty members: of a pool, by the paper's own draws where there are, or made from features."""
    path = DATA / "pools" / f"{name}.npz"
    if not path.exists():
        known = datasets.load(name)
        return kmeans_pool(known.X, MEMBERS, random_state=1_000 + number), known.y
    with np.load(path) as file:
        members, classes = file["members"], file["gt"].ravel()
    given = DATA / "golden" / "eccms_paper_columns.npz"
    if members.shape[1] == 100 and given.exists():
        with np.load(given) as file:
            columns = file["columns"][number]
    else:
        rng = np.random.default_rng(number)
        columns = rng.choice(members.shape[1], MEMBERS, replace=False)
    return Ensemble.from_labels(members[:, columns]), classes


def scores(name: str, number: int) -> dict[str, float]:
    ensemble, classes = draw(name, number)
    c = len(np.unique(classes))
    found = {}

    def score(estimator) -> float:
        return ari(classes, estimator.fit(ensemble).labels_)

    for setting in METHODS["eccms"].settings():
        found[f"{setting}"] = score(ECCMS(c, **setting))
    grid = dict(found)
    found = {"default": score(ECCMS(c)), "oracle": max(grid.values())}
    found["Council"] = score(Council(c, random_state=0))
    found["EAC"] = score(EAC(c))
    found["LWEA"] = score(LWEA(c))
    found["SPCE"] = score(SPCE(c))
    for other in OTHERS:
        found[other] = score(METHODS[other].load()(c, random_state=0))
    return found | {f"= {setting}": value for setting, value in grid.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pools", nargs="*", default=["ecoli", "aggregation", "umist", "spf"])
    parser.add_argument("--draws", nargs=2, type=int, default=(0, 20), metavar=("FIRST", "LAST"))
    parser.add_argument("--cost", action="store_true")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    if wanted.cost:
        cost(wanted.pools[0])
        return
    gaps, gains = [], []
    for name in wanted.pools:
        runs = [scores(name, number) for number in range(*wanted.draws)]
        mean = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        single = max(value for key, value in mean.items() if key.startswith("= "))
        gaps.append(mean["oracle"] - mean["default"])
        gains.append(mean["Council"] - mean["default"])
        shown = {key: value for key, value in mean.items() if not key.startswith("= ")}
        shown["best single"] = single
        words = "  ".join(f"{key} {value:.3f}" for key, value in shown.items())
        print(f"{name} ({len(runs)} draws): {words}", flush=True)
    print(
        f"Council closes {np.mean(gains) / np.mean(gaps):.0%} of the mean gap between the default "
        f"and the oracle; its worst mean difference to the default is {min(gains):+.3f}"
    )


def cost(name: str) -> None:
    ensemble, classes = draw(name, 0)
    c = len(np.unique(classes))
    for estimator in (ECCMS(c), Council(c, settings=WIDE, n_jobs=-1)):
        estimator.__class__(**estimator.get_params()).fit(ensemble.subset(np.arange(300)))
        start = perf_counter()
        estimator.fit(ensemble)
        seconds = perf_counter() - start
        if isinstance(estimator, ECCMS):
            one = seconds
            print(f"{name}: one run of EC-CMS {one:.1f} s")
        else:
            count = len(estimator.council_)
            print(f"Council of {count} settings {seconds:.1f} s: {seconds / one:.1f} times")


if __name__ == "__main__":
    main()
