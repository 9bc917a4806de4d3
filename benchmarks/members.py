"""The members' verdict: who stands apart, and which resolution is supported.

    python benchmarks/members.py apart [--half choose | check]
    python benchmarks/members.py resolution

apart: members are drawn from each pool of benchmarks/partial.py, and some of them are altered: all labels,
half of them or a fifth of them are shuffled among the samples. Share of the altered and of the other members
that are said to stand apart, and the mean of what the others share.
resolution: k-means members with 2 to 16 clusters (one start each) of blobs, of blobs in groups and of clouds
without structure, 20 sets each. The number of clusters of the supported member.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from partial import COPIES, FEATURES, STORED, draw_pool, half_of
from sklearn.cluster import KMeans

from coterie import LWEA, Ensemble
from coterie.core.tables import Table

DRAWS, ROWS, SETS = 3, 400, 20


def shuffled(labels, share, rng):
    """The labels, a share of them permuted among their samples."""
    altered = labels.copy()
    chosen = np.flatnonzero(rng.random(len(labels)) < share)
    altered[chosen] = labels[rng.permutation(chosen)]
    return altered


def apart(half):
    names = [name for name in (*STORED, *FEATURES, *COPIES) if half_of(name) == half]
    rows = []
    for m, bad in ((6, 1), (20, 1), (20, 4)):
        for share in (0.0, 0.2, 0.5, 1.0):
            hits, others, common = [], [], []
            for name in names:
                for draw in range(DRAWS):
                    rng = np.random.default_rng([draw, m, bad])
                    pool = draw_pool(name, rng)
                    labels = pool.labels[rng.permutation(len(pool.labels))[:ROWS]]
                    chosen = rng.permutation(labels.shape[1])[:m]
                    labels = labels[:, chosen]
                    if labels.shape[1] < m:
                        continue
                    for j in range(bad):
                        labels[:, j] = shuffled(labels[:, j], share, rng)
                    ensemble = Ensemble.from_labels(labels)
                    k = min(len(np.unique(pool.truth)), ensemble.n_microclusters)
                    table = LWEA(k).fit(ensemble).diagnose_members()
                    is_bad = np.isin(table["member"], [f"member_{j}" for j in range(bad)])
                    hits.append(table["apart"][is_bad].mean())
                    others.append(table["apart"][~is_bad].mean())
                    common.append(table["shared"][~is_bad].mean())
            rows.append([m, bad, share, len(hits), np.mean(hits), np.mean(others), np.mean(common)])
    heads = ["members", "altered", "share", "pools", "altered apart", "others apart", "shared"]
    print(Table(dict(zip(heads, map(list, zip(*rows, strict=True)), strict=True))))


def clouds(rng):
    """Name, right number of clusters, and samples."""
    centres = rng.normal(size=(8, 10)) * 3
    yield "8 blobs", 8, centres[rng.integers(0, 8, 800)] + rng.normal(size=(800, 10))
    groups = [one + rng.normal(size=(3, 10)) * 2.5 for one in rng.normal(size=(3, 10)) * 8]
    centres = np.concatenate(groups)
    yield "3 groups of 3", 9, centres[rng.integers(0, 9, 800)] + rng.normal(size=(800, 10))
    for d in (2, 5, 20):
        yield f"normal, {d} columns", None, rng.normal(size=(800, d))
    yield "uniform, 2 columns", None, rng.random((800, 2))
    yield "stretched, 2 columns", None, rng.normal(size=(800, 2)) * [5, 1]


def resolution():
    for sizes in (range(2, 17), (2, 4, 8, 16)):
        answers: dict[str, Counter] = {}
        for seed in range(SETS):
            rng = np.random.default_rng(seed)
            for name, _, X in clouds(rng):
                members = {
                    str(k): KMeans(k, n_init=1, random_state=int(rng.integers(2**31)))
                    .fit(X)
                    .labels_
                    for k in sizes
                }
                ensemble = Ensemble.from_labels(members)
                verdict = LWEA(4).fit(ensemble).judge_members()
                answers.setdefault(name, Counter())[verdict.supported] += 1
        print("members with", *sizes, "clusters")
        for name, counter in answers.items():
            print(f"  {name:22}", ", ".join(f"{k}: {n}" for k, n in counter.most_common()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("apart", "resolution"))
    parser.add_argument("--half", choices=("choose", "check"), default="check")
    arguments = parser.parse_args()
    if arguments.what == "apart":
        apart(arguments.half)
    else:
        resolution()


if __name__ == "__main__":
    main()
