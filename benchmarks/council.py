"""Council against the default, the best single setting and the oracle of EC-CMS, and other methods.

Run: python benchmarks/council.py [POOL ...] [--draws FIRST END] [--into FILE] [--show] [--cost]

Every score is added to FILE (council.jsonl beside this one) as soon as it is known and never computed
again, so that a run can be stopped and begun again at any time; the table is of what is there. --show prints
it and runs nothing. Scores of a council with another rule have another name and do not count. Draws 10 to 19
of the pools were kept for checking when the council was designed. --cost compares councils with one run of
EC-CMS.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from coterie import ECCMS, Council, Ensemble, datasets
from coterie.council import SOLVERS, seats
from coterie.council._assembly import (
    CONFIRMED,
    LEAST_DEFAULT_SUPPORT,
    LEAST_DIFFERENCE,
    LEAST_RATE,
    LEAST_SUPPORT,
)
from coterie.evaluate import ari
from coterie.generate import kmeans_pool
from coterie.solvers._catalogue import METHODS

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
RESULTS = Path(__file__).with_suffix(".jsonl")
POOLS = ("ecoli", "aggregation", "umist", "spf", "kdd99_10p", "ls", "isolet")
MEMBERS = 20
COMPARED = ("eac", "lwea", "spce", "lwgp", "ptgp", "pta", "ecpcs-hc", "ecpcs-mc", "usenc")
DEFAULT = {"alpha": 0.8, "lam": 0.4}
# a council with another rule is another method
RULE = (LEAST_SUPPORT, LEAST_DEFAULT_SUPPORT, CONFIRMED, LEAST_RATE, LEAST_DIFFERENCE)
COUNCIL = " ".join(map(str, ("council", *RULE, len(list(seats(SOLVERS, "grid"))))))


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


def setting_name(setting: dict[str, Any]) -> str:
    return "eccms " + " ".join(f"{value:g}" for value in setting.values())


def asked() -> list[str]:
    grid = [setting_name(setting) for setting in METHODS["eccms"].settings()]
    return [COUNCIL, *COMPARED, *grid]


class Store:
    """Scores by pool, draw and method, one line each in a file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scores: dict[tuple[str, int, str], float] = {}
        self.torn = False
        if path.exists():
            text = path.read_text()
            # a run that was killed may have left half a line
            self.torn = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                try:
                    one = json.loads(line)
                    self.scores[one["pool"], one["draw"], one["method"]] = one["ari"]
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue

    def add(self, pool: str, number: int, method: str, score: float, seconds: float) -> None:
        line = {"pool": pool, "draw": number, "method": method, "ari": score}
        line["seconds"] = round(seconds, 3)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(("\n" if self.torn else "") + json.dumps(line) + "\n")
        self.torn = False
        self.scores[pool, number, method] = score


def solve(
    missing: list[str], ensemble: Ensemble, c: int
) -> Iterator[tuple[str, np.ndarray, float]]:
    """Labels of the samples by each method that is missing, and how long they took."""
    for name in missing:
        if not name.startswith("eccms "):
            start = perf_counter()
            estimator = METHODS[name.split()[0]].load()(c, random_state=0)
            yield name, estimator.fit(ensemble).labels_, perf_counter() - start
    wanted = [one for one in METHODS["eccms"].settings() if setting_name(one) in missing]
    ordered = ensemble.reorder_members(ensemble.canonical_member_order()).with_fewer_copies()
    # the oracle looks at 24 settings that nobody would run: in single precision, for its time
    for precision in ("double", "single"):
        own = [one for one in wanted if (one == DEFAULT) == (precision == "double")]
        solvers = [ECCMS(c, **setting, precision=precision) for setting in own]
        for run in ECCMS._runs(solvers, ordered, 0) if own else ():
            start = perf_counter()
            partitions = run.solve()
            seconds = (perf_counter() - start) / len(partitions)
            for place, partition in zip(run.places, partitions, strict=True):
                yield setting_name(own[place]), ordered.expand(partition.labels), seconds


def run(pools: list[str], draws: range, store: Store) -> None:
    for number, pool in product(draws, pools):
        missing = [name for name in asked() if (pool, number, name) not in store.scores]
        if not missing:
            continue
        start = perf_counter()
        ensemble, classes = draw(pool, number)
        for name, labels, seconds in solve(missing, ensemble, len(np.unique(classes))):
            store.add(pool, number, name, ari(classes, labels), seconds)
        council = store.scores[pool, number, COUNCIL]
        default = store.scores[pool, number, setting_name(DEFAULT)]
        print(
            f"{pool} {number}: default {default:.3f} Council {council:.3f} "
            f"({perf_counter() - start:.0f} s)",
            flush=True,
        )


def show(pools: list[str], draws: range, store: Store) -> None:
    """The table in Markdown: means over the draws of which everything is known."""
    grid = [setting_name(setting) for setting in METHODS["eccms"].settings()]
    print(
        "| pool | draws | EC-CMS, default | **Council** | EC-CMS, best single | EC-CMS, oracle | EAC "
        "| LWEA | best compared | closed |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    gaps, gains = [], []
    for pool in pools:
        found: dict[str, list[float]] = defaultdict(list)
        for number in draws:
            scores = {name: store.scores.get((pool, number, name)) for name in asked()}
            known = {name: score for name, score in scores.items() if score is not None}
            if len(known) < len(scores):
                continue
            for name, score in known.items():
                found[name].append(score)
            found["oracle"].append(max(known[name] for name in grid))
        if not found:
            continue
        mean = {name: float(np.mean(scores)) for name, scores in found.items()}
        default = mean[setting_name(DEFAULT)]
        single = max(grid, key=mean.__getitem__)
        best = max(COMPARED, key=mean.__getitem__)
        gaps.append(mean["oracle"] - default)
        gains.append(mean[COUNCIL] - default)
        closed = round(gains[-1] / gaps[-1], 2) + 0.0 if gaps[-1] > 0 else np.nan
        print(
            f"| {pool} | {len(found['oracle'])} | {default:.3f} | **{mean[COUNCIL]:.3f}** "
            f"| {mean[single]:.3f} ({single.removeprefix('eccms ')}) | {mean['oracle']:.3f} "
            f"| {mean['eac']:.3f} | {mean['lwea']:.3f} | {mean[best]:.3f} ({best}) | {closed:.0%} |"
        )
    if gaps:
        # where the council keeps the default the difference is rounding
        worst = round(min(gains), 3) + 0.0
        print(
            f"\nCouncil closes {np.mean(gains) / np.mean(gaps):.0%} of the mean gap between the "
            f"default and the oracle; its worst mean difference to the default is {worst:+.3f}"
        )


def cost(name: str) -> None:
    """Seconds of councils over those of one run of EC-CMS."""
    ensemble, classes = draw(name, 0)
    c = len(np.unique(classes))

    def seconds(fit: Callable[[], object]) -> float:
        start = perf_counter()
        fit()
        return perf_counter() - start

    # kernels are compiled, or read, before anything is timed: those of one run, which takes all
    # threads, and those of a council, which gives each run one
    ECCMS(c, max_iter=1).fit(ensemble)
    Council(c, n_jobs=-1).fit(ensemble.subset(np.arange(min(2000, ensemble.n_samples))))
    one = seconds(lambda: ECCMS(c).fit(ensemble))
    print(f"{name}: N {ensemble.n_microclusters}, one run of EC-CMS {one:.1f} s", flush=True)
    for council in (Council(c, n_jobs=-1), Council(c, settings="wide", n_jobs=-1)):
        took = seconds(lambda council=council: council.fit(ensemble))
        print(
            f"Council of {len(council.council_)} settings {took:.1f} s: {took / one:.1f} times",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pools", nargs="*", default=list(POOLS))
    parser.add_argument("--draws", nargs=2, type=int, default=(0, 20), metavar=("FIRST", "END"))
    parser.add_argument("--into", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--cost", action="store_true")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    if wanted.cost:
        cost(wanted.pools[0] if wanted.pools != list(POOLS) else "ls")
        return
    store, draws = Store(wanted.into), range(*wanted.draws)
    if not wanted.show:
        run(wanted.pools, draws, store)
    show(wanted.pools, draws, store)


if __name__ == "__main__":
    main()
