"""Data on which usual choices of the number of clusters fail: what coterie answers on several draws of each.

    python benchmarks/choose_k_rows.py                     all rows, five draws
    python benchmarks/choose_k_rows.py --draws 2 --row moons --row "digits, scaled"
    python benchmarks/choose_k_rows.py --equal             what must not change the answer
    python benchmarks/choose_k_rows.py --sizes             processor time of large tables

Every answer is one of

    right      the recommended number is the true one
    named      another number is recommended, mostly 1, but `supported` has the true one
    doubted    one cluster is recommended although there are more, and the reason does not say "no structure":
               "a continuum", or that the labels cannot show it
    wrong      the rest

Draws of real data are the whole table, then nine tenths of its rows. "genes" are made tables as wide as those
of microarrays, because the tables of Golub and others and Chiaretti and others cannot be downloaded here.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from choose_k_sets import Features, Labels, Rng
from joblib import Parallel, delayed
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from coterie import ConsensusClustering, Ensemble
from coterie.select import Selection, select_k

VERDICTS = ("right", "named", "doubted", "wrong")
SQUARE = 10 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
TRIANGLE = 10 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])


@dataclass(frozen=True)
class Given:
    """One draw: features or labels, the true number of clusters, and the sources of members."""

    data: Features | Labels
    right: int
    classes: Labels | None = None
    groups: Sequence[str] | None = None


# ---------------------------------------------------------------------- features


def table(X: Features, right: int, rng: Rng, draw: int) -> Given:
    """The whole table first, then nine tenths of its rows."""
    rows = rng.permutation(len(X))
    return Given(X[rows if draw == 0 else rows[: int(0.9 * len(X))]], right)


def cancer(rng: Rng, draw: int) -> Given:
    return table(scale(load_breast_cancer().data), 2, rng, draw)


def wine(rng: Rng, draw: int) -> Given:
    return table(scale(load_wine().data), 3, rng, draw)


def digits(rng: Rng, draw: int, *, scaled: bool) -> Given:
    X = load_digits().data
    return table(scale(X) if scaled else X, 10, rng, draw)


def blobs(
    rng: Rng,
    draw: int,
    *,
    centres: Features = TRIANGLE,
    size: int = 100,
    sds: Sequence[float] = (1.0,),
    outliers: int = 0,
) -> Given:
    """Clusters of ``size`` samples around the centres."""
    k = len(centres)
    y = np.repeat(np.arange(k), size)
    X = centres[y] + np.resize(sds, k)[y, None] * rng.normal(size=(len(y), centres.shape[1]))
    low, high = X.min(axis=0), X.max(axis=0)
    wide = rng.uniform(2 * low - high, 2 * high - low, size=(outliers, X.shape[1]))
    return Given(np.vstack([X, wide]), k, np.append(y, np.full(outliers, -1)))


def many_blobs(rng: Rng, draw: int, *, k: int) -> Given:
    """Centres on a grid in four dimensions, ten standard deviations apart."""
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 4), axis=-1).reshape(-1, 4)
    return blobs(rng, draw, centres=10.0 * rng.permutation(grid)[:k], size=40)


def sheared(rng: Rng, draw: int) -> Given:
    found = blobs(rng, draw, centres=SQUARE, sds=(1.2,))
    return Given(found.data @ np.array([[1.0, 0.0], [3.0, 1.0]]), 4)


def moons(rng: Rng, draw: int, *, noise: float) -> Given:
    X, y = make_moons(400, noise=noise, random_state=draw)
    return Given(X, 2, y)


def rings(rng: Rng, draw: int) -> Given:
    X, y = make_circles(400, noise=0.05, factor=0.5, random_state=draw)
    return Given(X, 2, y)


def sticks(rng: Rng, draw: int, *, uniform: bool) -> Given:
    y = np.repeat(np.arange(3), 150)
    along = rng.uniform(-28, 28, len(y)) if uniform else 16 * rng.normal(size=len(y))
    return Given(np.c_[along, 8 * y + rng.normal(size=len(y))], 3, y)


def binary(rng: Rng, draw: int) -> Given:
    patterns = np.kron(np.eye(4), np.ones(3))[np.repeat(np.arange(4), 50)]
    return Given((rng.random(patterns.shape) < np.where(patterns > 0, 0.9, 0.1)).astype(float), 4)


def heavy_tails(rng: Rng, draw: int) -> Given:
    y = np.repeat(np.arange(3), 100)
    return Given(1.2 * TRIANGLE[y] + rng.standard_t(2, (300, 2)), 3)


def genes(rng: Rng, draw: int, *, sizes: Sequence[int], n_genes: int, shift: float) -> Given:
    """Groups of patients: a tenth of the genes differs between groups; genes come in correlated modules."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    modules = 0.15 * rng.normal(size=(len(y), 10)) @ rng.normal(size=(10, n_genes))
    own = shift * rng.normal(size=(len(sizes), n_genes)) * (rng.random(n_genes) < 0.1)
    return Given(scale(own[y] + modules + rng.normal(size=(len(y), n_genes))), len(sizes), y)


def cloud(rng: Rng, draw: int, *, kind: str) -> Given:
    t = rng.random(500)
    made = {
        "uniform": lambda: rng.random((500, 10)),
        "normal": lambda: rng.normal(size=(500, 5)),
        "t1": lambda: rng.standard_t(1, (300, 2)),
        "trajectory": lambda: (
            np.c_[t, t**2, np.sin(np.pi * t), np.cos(np.pi * t)] @ rng.normal(size=(4, 20)) * 3
            + 0.3 * rng.normal(size=(500, 20))
        ),
        "sine": lambda: np.c_[12 * t, 2 * np.sin(12 * t)] + 0.15 * rng.normal(size=(500, 2)),
    }
    return Given(made[kind](), 1)


# ---------------------------------------------------------------------- labels


def copied(rng: Rng, y: Labels, m: int, accuracy: float) -> Labels:
    """Members that copy classes; a wrong label is any other class."""
    k = int(y.max()) + 1
    labels = np.repeat(y[:, None], m, axis=1)
    wrong = rng.random(labels.shape) > accuracy
    labels[wrong] = (labels[wrong] + rng.integers(1, k, wrong.sum())) % k
    return labels


def raters(
    rng: Rng, draw: int, *, m: int = 20, k: int = 4, accuracy: float = 0.95, missing: float = 0.0
) -> Given:
    labels = copied(rng, rng.integers(0, k, 300), m, accuracy)
    gone = rng.random(labels.shape) < missing
    gone[np.arange(300), rng.integers(0, m, 300)] = False
    return Given(np.where(gone, -1, labels), k)


def four_of_six(rng: Rng, draw: int) -> Given:
    """The classes themselves, three members near them, and two that guess."""
    y = np.repeat(np.arange(3), 60)
    guesses = np.stack([rng.integers(0, k, 180) for k in (4, 2)], axis=1)
    return Given(np.column_stack([y, copied(rng, y, 3, 0.95), guesses]), 3)


def modalities(rng: Rng, draw: int, *, how: str) -> Given:
    """One modality tells 0 | 1 | 23 apart, the other 01 | 2 | 3."""
    y = np.repeat(np.arange(4), 75)
    views = np.array([0, 1, 2, 2])[y], np.array([0, 0, 1, 2])[y]
    if how == "raters":
        parts = [copied(rng, view, 8, 0.95) for view in views]
    else:
        parts = [
            kmeans(rng, (0.9 * TRIANGLE)[view] + rng.normal(size=(300, 2)), how) for view in views
        ]
    return Given(np.hstack(parts), 4, y, ["a"] * parts[0].shape[1] + ["b"] * parts[1].shape[1])


def kmeans(rng: Rng, X: Features, how: str) -> Labels:
    """Twenty k-means members with 2 to 11 clusters, or with the numbers that are named."""
    ks = rng.integers(2, 12, 20) if how == "cells" else np.full(20, int(how))
    fits = [KMeans(int(k), n_init=1, random_state=int(rng.integers(2**31))).fit(X) for k in ks]
    return np.stack([fit.labels_ for fit in fits], axis=1).astype(np.int64)


def nested(rng: Rng, draw: int) -> Given:
    tree = linkage(rng.normal(size=(300, 5)), "average" if draw % 2 else "ward")
    return Given(cut_tree(tree, np.arange(2, 12)).astype(np.int64), 1)


def kmeans_of_noise(rng: Rng, draw: int, *, k: int | None) -> Given:
    X = rng.normal(size=(300, 5))
    return Given(kmeans(rng, X, "cells" if k is None else str(k)), 1)


ROWS: dict[str, Callable[[Rng, int], Given]] = {
    "breast cancer, scaled": cancer,
    "digits, scaled": partial(digits, scaled=True),
    "digits, raw": partial(digits, scaled=False),
    "three blobs of 300, 9 outliers": partial(blobs, size=300, outliers=9),
    "three blobs of 300, 3 outliers": partial(blobs, size=300, outliers=3),
    "moons, noise .06": partial(moons, noise=0.06),
    "moons, noise .1": partial(moons, noise=0.1),
    "moons, noise .15": partial(moons, noise=0.15),
    "rings": rings,
    "sticks 16:1, normal": partial(sticks, uniform=False),
    "sticks 16:1, uniform": partial(sticks, uniform=True),
    "sheared blobs": sheared,
    "overlapping blobs, 3.5 sd": partial(blobs, centres=0.35 * TRIANGLE, size=150),
    "12 binary columns": binary,
    "densities .3/1/3": partial(blobs, centres=1.2 * TRIANGLE, sds=(0.3, 1.0, 3.0)),
    "Student's t, 2 df, three groups": heavy_tails,
    "genes, 38 x 3,051, two groups": partial(genes, sizes=(27, 11), n_genes=3051, shift=2.5),
    "genes, 38 x 3,051, three groups": partial(genes, sizes=(19, 8, 11), n_genes=3051, shift=2.5),
    "genes, 128 x 5,000, two groups": partial(genes, sizes=(95, 33), n_genes=5000, shift=2.5),
    "genes, 128 x 5,000, close groups": partial(genes, sizes=(95, 33), n_genes=5000, shift=1.2),
    "genes, 128 x 5,000, no group": partial(genes, sizes=(128,), n_genes=5000, shift=0.0),
    "60 points in three blobs": partial(blobs, size=20),
    "wine, scaled": wine,
    **{f"{k} separated blobs": partial(many_blobs, k=k) for k in (11, 12, 15, 20, 30)},
    "uniform, 10 columns": partial(cloud, kind="uniform"),
    "normal, 5 columns": partial(cloud, kind="normal"),
    "Student's t, 1 df": partial(cloud, kind="t1"),
    "trajectory": partial(cloud, kind="trajectory"),
    "sine chain": partial(cloud, kind="sine"),
    "six members, four agree": four_of_six,
    "six parties, 92 % right": partial(raters, m=6, k=3, accuracy=0.92),
    "six parties, 40 % missing": partial(raters, m=6, k=3, accuracy=0.92, missing=0.4),
    "modalities, raters": partial(modalities, how="raters"),
    "modalities, k-means, 2 to 11": partial(modalities, how="cells"),
    "modalities, k-means, 3": partial(modalities, how="3"),
    "modalities, k-means, 6": partial(modalities, how="6"),
    "20 raters, 95 %, 4 classes": raters,
    "20 raters, 70 %, 4 classes": partial(raters, accuracy=0.7),
    "8 raters, 95 %, 2 classes": partial(raters, m=8, k=2),
    "8 raters, 95 %, 8 classes": partial(raters, m=8, k=8),
    "8 raters, 80 %, 4 classes": partial(raters, m=8, accuracy=0.8),
    "40 raters, 70 %, 8 classes": partial(raters, m=40, k=8, accuracy=0.7),
    "nested cuts of noise": nested,
    "k-means of noise, 2 to 11": partial(kmeans_of_noise, k=None),
    "k-means of noise, 6": partial(kmeans_of_noise, k=6),
}
# rows whose shapes k-means cannot see: is the partition of ConsensusClustering right, too?
SHAPES = ("moons, noise .06", "rings", "sticks 16:1, normal", "sticks 16:1, uniform")


def draws_of(row: str, n_draws: int) -> Iterator[Given]:
    for draw in range(n_draws):
        yield ROWS[row](np.random.default_rng([draw, len(row)]), draw)


def selection_of(given: Given) -> Selection:
    options = {"criteria": "lifetime", "random_state": 0}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given.data.dtype.kind != "i":
            return select_k(given.data, n_members=2, **options)
        labels = np.where(given.data < 0, np.nan, given.data)
        return select_k(Ensemble.from_labels(labels), groups=given.groups, **options)


def verdict_on(found: Selection, right: int) -> str:
    if found.recommended == right:
        return "right"
    if right in found.supported:
        return "named"
    silent = found.recommended == 1 and "no structure" not in found.reason
    return "doubted" if silent else "wrong"


def ari_of(given: Given) -> float:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ConsensusClustering("auto", random_state=0).fit_predict(given.data)
    return float(adjusted_rand_score(given.classes, found))


def answered(row: str, n_draws: int) -> dict[str, object]:
    answers, verdicts, scores = [], Counter[str](), []
    start = time.process_time()
    for given in draws_of(row, n_draws):
        found = selection_of(given)
        verdicts[verdict_on(found, given.right)] += 1
        further = [k for k in found.supported if k != found.recommended]
        answers.append(f"{found.recommended}({' '.join(map(str, further))})".replace("()", ""))
    seconds = (time.process_time() - start) / n_draws
    if row in SHAPES:
        scores = [f"{ari_of(given):.2f}" for given in draws_of(row, n_draws)]
    return {
        "row": row,
        "true": given.right,
        **{verdict: verdicts[verdict] or "" for verdict in VERDICTS},
        "answers (further supported)": ", ".join(answers),
        "ARI": " ".join(scores),
        "s": round(seconds, 1),
    }


# ---------------------------------------------------------------------- what must not change the answer


def answer(X: Features, k: str | range = "auto", seed: int = 0) -> tuple[object, ...]:
    found = select_k(X, k, n_members=2, criteria="lifetime", random_state=seed)
    return found.recommended, tuple(k for k in found.supported if k <= 10), found.p_value


def equal(n_draws: int) -> Iterator[dict[str, object]]:
    """Row shuffles, seeds, ranges and sparse matrices must give the same answer."""
    for row in ("wine, scaled", "digits, scaled", "12 binary columns", "60 points in three blobs"):
        X = next(draws_of(row, 1)).data
        expected = answer(X)
        changed = {
            "shuffles": [
                answer(X[np.random.default_rng(i).permutation(len(X))]) for i in range(n_draws)
            ],
            "seeds": [answer(X, seed=i) for i in range(1, n_draws + 1)],
            "ranges": [answer(X, range(2, top)) for top in (11, 16)],
            "CSR": [answer(sparse.csr_matrix(X))],
        }
        yield {"row": row, "answer": expected[0]} | {
            name: f"{sum(found == expected for found in answers)} of {len(answers)}"
            for name, answers in changed.items()
        }


def sizes() -> Iterator[dict[str, object]]:
    """Processor time of `ConsensusClustering("auto")`, ten columns, five clusters."""
    for n in (20_000, 100_000, 1_000_000):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 5, n)
        X = 8 * rng.normal(size=(5, 10))[y] / np.sqrt(2) + rng.normal(size=(n, 10))
        start, cpu = time.perf_counter(), time.process_time()
        model = ConsensusClustering("auto", random_state=0).fit(X)
        yield {
            "rows": n,
            "k": model.n_clusters_,
            "ARI": round(adjusted_rand_score(y, model.labels_), 3),
            "processor s": round(time.process_time() - cpu, 1),
            "elapsed s": round(time.perf_counter() - start, 1),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--row", action="append", help="rows whose names contain this")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--equal", action="store_true")
    only.add_argument("--sizes", action="store_true")
    arguments = parser.parse_args()
    if arguments.equal:
        lines = equal(arguments.draws)
    elif arguments.sizes:
        lines = sizes()
    else:
        wanted = arguments.row or [""]
        rows = [row for row in ROWS if any(part in row for part in wanted)]
        jobs = (delayed(answered)(row, arguments.draws) for row in rows)
        lines = Parallel(n_jobs=arguments.jobs, return_as="generator")(jobs)
    for i, line in enumerate(lines):
        text = pd.DataFrame([line]).to_csv(sep="|", index=False).splitlines()
        print("\n".join(text[0 if i == 0 else 1 :]), flush=True)


if __name__ == "__main__":
    main()
