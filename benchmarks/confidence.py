"""Does low confidence indicate errors? Per pool and method: confidence of right and wrong samples, AUC.

A sample is wrong if its class is not the one matched with its cluster, in the best one-to-one matching.
AUC is the probability that a wrong sample has a lower confidence than a right one; 0.5 is chance.

Run: python benchmarks/confidence.py [POOL ...]
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from coterie import Ensemble
from coterie.solvers.methods import find_method
from coterie.trust import ClusterVotes

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
SMALL = ("ecoli", "aggregation", "umist", "spf")
MEMBERS, DRAWS = 20, 5
SIX = ("eac", "spce", "eccms", "trce", "pce", "ceshl")


def wrong_samples(truth: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each sample is outside the class matched with its cluster; both are coded from 0."""
    table = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(table, (truth, labels), 1)
    classes, clusters = linear_sum_assignment(table, maximize=True)
    matched = np.full(labels.max() + 1, -1)
    matched[clusters] = classes
    return matched[labels] != truth


def auc(confidence: NDArray[np.float64], wrong: NDArray[np.bool_]) -> float:
    n_wrong, n_right = int(wrong.sum()), int((~wrong).sum())
    if not n_wrong or not n_right:
        return float("nan")
    ranks = rankdata(-confidence)[wrong].sum()
    return float((ranks - n_wrong * (n_wrong + 1) / 2) / (n_wrong * n_right))


def by_votes_alone(ensemble: Ensemble, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The lead over the rival cluster, without the attachment."""
    return ensemble.expand(ClusterVotes.of(ensemble, labels).lead)


def main(pools: list[str]) -> None:
    warnings.simplefilter("ignore")
    print(
        f"{'pool':12}{'method':8}{'n':>7}{'wrong':>8}{'right':>9}{'wrong':>8}{'AUC':>8}"
        f"{'  AUC of the votes alone':>10}"
    )
    for name in pools:
        with np.load(DATA / "pools" / f"{name}.npz") as file:
            members, given = file["members"], file["gt"].ravel()
        truth = np.unique(given, return_inverse=True)[1].astype(np.int64)
        n_clusters = int(truth.max()) + 1
        for method in SIX if name in SMALL else ("eac",):
            rows = []
            for draw in range(DRAWS):
                columns = np.random.default_rng(draw).choice(
                    members.shape[1], MEMBERS, replace=False
                )
                ensemble = Ensemble.from_labels(members[:, columns])
                model = find_method(method)(n_clusters, random_state=0).fit(ensemble)
                wrong = wrong_samples(truth, model.labels_)
                sure = ensemble.expand(model.cluster_votes_.confidence)
                plain = by_votes_alone(ensemble, model.labels_)
                rows.append(
                    (
                        wrong.sum(),
                        sure[~wrong].mean(),
                        sure[wrong].mean() if wrong.any() else np.nan,
                        auc(sure, wrong),
                        auc(plain, wrong),
                    )
                )
            n_wrong, right, mistaken, with_attachment, alone = np.nanmean(rows, axis=0)
            print(
                f"{name:12}{method:8}{len(truth):7d}{n_wrong:8.0f}{right:9.3f}{mistaken:8.3f}"
                f"{with_attachment:8.3f}{alone:10.3f}",
                flush=True,
            )


if __name__ == "__main__":
    every = sorted(
        (path.stem for path in (DATA / "pools").glob("*.npz")),
        key=lambda name: (name not in SMALL, name),
    )
    main(sys.argv[1:] or every)
