"""Which method for which labels: missing labels, parties with few common samples, few members.

    python benchmarks/partial.py                  all pools: mean ARI by pattern and method
    python benchmarks/partial.py --half check     the half that no choice was made on
    python benchmarks/partial.py --list           the pools

Labels are removed from pools of members with known classes: at random, a whole modality for some samples,
by parties that share few samples, and all but one for a few samples. Each pool belongs to one half by a
hash of its name, fixed before any score was seen: the default is chosen on one half ("choose") and checked
on the other ("check"). The stored pools are those of benchmarks/confidence.py; the others are made from
data sets of scikit-learn (k-means, as many clusters as classes, on half of the columns) or by members that
copy the classes with errors.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble
from coterie.core.tables import Table
from coterie.solvers.methods import choose_method, find_method

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
STORED = ("ecoli", "aggregation", "umist", "spf", "ls", "isolet", "kdd99_10p")
FEATURES = {
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
    "breast_cancer": load_breast_cancer,
}
# number of classes and share of wrong labels of members that copy the classes
COPIES = {"copies2": (2, 0.2), "copies3": (3, 0.1), "copies4": (4, 0.4), "copies5": (5, 0.25)}
COPIES |= {"copies6": (6, 0.5), "copies8": (8, 0.15), "copies10": (10, 0.3)}
METHODS = ("lwea", "eac", "pce", "lwgp", "eccms", "ptgp", "kcc", "voting")
MEMBERS, ROWS, DRAWS = 20, 400, 2
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Pool:
    """Members with known classes; the two halves of the columns are two modalities."""

    name: str
    labels: Labels
    truth: Labels

    @property
    def half(self) -> str:
        return half_of(self.name)


def half_of(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return "check" if int(digest, 16) % 2 else "choose"


def draw_pool(name: str, rng: np.random.Generator) -> Pool:
    """Some rows and 20 members of a pool."""
    if name in COPIES:
        k, wrong = COPIES[name]
        truth = rng.integers(k, size=ROWS)
        labels = np.repeat(truth[:, None], MEMBERS, axis=1)
        errs = rng.random(labels.shape) < wrong
        labels[errs] = rng.integers(k, size=int(errs.sum()))
        return Pool(name, labels, truth)
    if name in FEATURES:
        X, y = FEATURES[name](return_X_y=True)
        rows = rng.permutation(len(X))[:ROWS]
        X, truth = X[rows], y[rows]
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        views = np.array_split(rng.permutation(X.shape[1]), 2)
        members = []
        for view in np.repeat([0, 1], MEMBERS // 2):
            some = rng.choice(views[view], max(1, len(views[view]) // 2), replace=False)
            seed = int(rng.integers(2**31))
            members.append(
                KMeans(len(np.unique(y)), n_init=1, random_state=seed).fit_predict(X[:, some])
            )
        return Pool(name, np.stack(members, axis=1).astype(np.int64), truth)
    with np.load(DATA / "pools" / f"{name}.npz") as file:
        columns = rng.choice(file["members"].shape[1], MEMBERS, replace=False)
        rows = rng.permutation(len(file["members"]))[:ROWS]
        labels = file["members"][rows][:, columns].astype(np.int64)
        truth = np.unique(file["gt"].ravel()[rows], return_inverse=True)[1]
    return Pool(name, labels, truth)


# ---------------------------------------------------------------------- patterns of missing labels


def at_random(share: float, labels: Labels, rng: np.random.Generator) -> Labels:
    """Each label is missing with this probability; every sample keeps one."""
    gaps = rng.random(labels.shape) < share
    gaps[np.arange(len(labels)), rng.integers(labels.shape[1], size=len(labels))] = False
    return np.where(gaps, -1, labels)


def by_modality(share: float, labels: Labels, rng: np.random.Generator) -> Labels:
    """This share of the samples lacks one of the two modalities."""
    modality = np.arange(labels.shape[1]) * 2 // labels.shape[1]
    lacks = np.where(rng.random(len(labels)) < share, rng.integers(2, size=len(labels)), -1)
    return np.where(modality == lacks[:, None], -1, labels)


def by_party(shared: int, labels: Labels, rng: np.random.Generator, n_parties: int = 3) -> Labels:
    """Parties with members of their own; each pair of them shares this many samples."""
    n, m = labels.shape
    heard = np.zeros((n, n_parties), dtype=bool)
    heard[np.arange(n), np.arange(n) % n_parties] = True
    order = rng.permutation(n)
    for p in range(n_parties):
        for q in range(p):
            here, order = order[:shared], order[shared:]
            heard[here] = False
            heard[np.ix_(here, [p, q])] = True
    party = np.arange(m) * n_parties // m
    return np.where(heard[:, party], labels, -1)


def heard_once(share: float, labels: Labels, rng: np.random.Generator) -> Labels:
    """This share of the samples is alone in its base cluster of the only member that labels it."""
    labels = labels.copy()
    rows = rng.permutation(len(labels))[: max(2, round(share * len(labels)))]
    labels[rows] = -1
    labels[rows, rng.integers(labels.shape[1], size=len(rows))] = 10_000 + rows
    return labels


def few_members(count: int, labels: Labels, rng: np.random.Generator) -> Labels:
    return labels[:, rng.permutation(labels.shape[1])[:count]]


Pattern = Callable[[Labels, np.random.Generator], Labels]
PATTERNS: dict[str, Pattern] = {
    "complete": lambda labels, rng: labels,
    **{f"{m} members": partial(few_members, m) for m in (3, 6, 10)},
    **{f"random {share:.0%}": partial(at_random, share) for share in (0.1, 0.25, 0.5, 0.75)},
    **{f"modality {share:.0%}": partial(by_modality, share) for share in (0.25, 0.5, 0.8)},
    **{f"parties {shared}": partial(by_party, shared) for shared in (6, 12, 30)},
    **{f"heard once {share:.1%}": partial(heard_once, share) for share in (0.005, 0.03)},
}


def scores(name: str, draw: int) -> list[dict[str, object]]:
    """ARI of every method for one draw of a pool and every pattern."""
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    for pattern, remove in PATTERNS.items():
        rng = np.random.default_rng(draw)
        pool = draw_pool(name, rng)
        ensemble = Ensemble.from_labels(remove(pool.labels, rng))
        k = len(np.unique(pool.truth))
        row: dict[str, object] = {"pool": name, "half": pool.half, "pattern": pattern}
        row["default"] = choose_method(ensemble, k).name
        for method in METHODS:
            model = find_method(method)(k, random_state=0).fit(ensemble)
            row[method] = adjusted_rand_score(pool.truth, model.labels_)
        rows.append(row)
    return rows


def show(rows: Sequence[dict[str, object]]) -> None:
    """Mean ARI by half, pattern and method, and of the default."""
    for half in sorted({str(row["half"]) for row in rows}):
        mine = [row for row in rows if row["half"] == half]
        n_pools = len({row["pool"] for row in mine})
        print(f"\n{half}: mean ARI over {n_pools} pools, {DRAWS} draws")
        table: dict[str, list[object]] = {"pattern": [], **{method: [] for method in METHODS}}
        table |= {"default": [], "chosen": []}
        for pattern in [*PATTERNS, "all"]:
            here = [row for row in mine if pattern in ("all", row["pattern"])]
            table["pattern"].append(pattern)
            for method in METHODS:
                table[method].append(round(float(np.mean([row[method] for row in here])), 3))
            default = float(np.mean([row[str(row["default"])] for row in here]))
            table["default"].append(round(default, 3))
            table["chosen"].append(", ".join(sorted({str(row["default"]) for row in here})))
        print(Table({name: np.array(column) for name, column in table.items()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=("choose", "check"))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    names = [n for n in (*STORED, *FEATURES, *COPIES) if arguments.half in (None, half_of(n))]
    if arguments.list:
        for name in names:
            print(f"{name:15}{half_of(name)}")
        return
    jobs = [(name, draw) for name in names for draw in range(DRAWS)]
    done = Parallel(n_jobs=arguments.jobs)(delayed(scores)(*job) for job in jobs)
    show([row for rows in done for row in rows])


if __name__ == "__main__":
    main()
