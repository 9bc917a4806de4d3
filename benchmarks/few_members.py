"""Few members: the agreement that the verdict expects, and the measured one.

    python benchmarks/few_members.py --half choose    the pools on which the rule was chosen
    python benchmarks/few_members.py --half check     the others

From each pool of benchmarks/partial.py, two disjoint sets of m members are drawn. The measured agreement is
the ARI of their consensus partitions, the mean over six draws. It is estimated from one set: by the agreement
of two halves of the set, by that of pairs of subsets with all members but one, by the mean of both (the rule
of the verdict), and by the Spearman-Brown formula, 2 a / (1 + a) for halves that agree by a.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from partial import COPIES, FEATURES, MEMBERS, STORED, draw_pool, half_of
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble
from coterie.core.tables import Table
from coterie.solvers.methods import find_method

METHODS = ("lwea", "lwgp", "kcc")
SIZES = range(3, MEMBERS // 2 + 1)
ROWS, DRAWS, SPLITS, PAIRS = 250, 2, 10, 20
ESTIMATES = ("halves", "all but one", "mean of both", "Spearman-Brown")


class Consensus:
    """Agreement of the consensus partitions of sets of members; each set is combined once."""

    def __init__(self, labels: NDArray[np.int64], method: str, n_clusters: int) -> None:
        self.labels, self.method, self.n_clusters = labels, method, n_clusters
        self.partitions: dict[tuple[int, ...], NDArray[np.int64]] = {}

    def of(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        key = tuple(np.sort(members).tolist())
        if key not in self.partitions:
            ensemble = Ensemble.from_labels(self.labels[:, key])
            k = min(self.n_clusters, ensemble.n_microclusters)
            self.partitions[key] = find_method(self.method)(k, random_state=0).fit(ensemble).labels_
        return self.partitions[key]

    def agreement(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        return float(adjusted_rand_score(self.of(one), self.of(other)))


def estimates(consensus: Consensus, members: NDArray[np.int64], rng: np.random.Generator) -> list:
    drawn = [rng.permutation(members) for _ in range(SPLITS)]
    halves = np.mean([consensus.agreement(one[::2], one[1::2]) for one in drawn])
    pairs = [*combinations(members, 2)][:PAIRS]
    most = np.mean(
        [consensus.agreement(members[members != i], members[members != j]) for i, j in pairs]
    )
    return [halves, most, (halves + most) / 2, 2 * halves / (1 + halves)]


def measure(name: str, draw: int, method: str) -> list[tuple[int, float, list[float]]]:
    """Number of members, measured agreement and estimates."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1000 + draw)
    pool = draw_pool(name, rng)
    rows = rng.permutation(len(pool.labels))[:ROWS]
    consensus = Consensus(pool.labels[rows], method, len(np.unique(pool.truth)))
    records = []
    for m in SIZES:
        orders = [rng.permutation(MEMBERS) for _ in range(6)]
        measured = np.mean([consensus.agreement(one[:m], one[m : 2 * m]) for one in orders])
        records += [(m, measured, estimates(consensus, one[:m], rng)) for one in orders[:2]]
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("choose", "check"), required=True)
    half = parser.parse_args().half
    names = [name for name in (*STORED, *FEATURES, *COPIES) if half_of(name) == half]
    jobs = [(name, draw, method) for name in names for draw in range(DRAWS) for method in METHODS]
    by_job = Parallel(n_jobs=2)(delayed(measure)(*job) for job in jobs)
    records = [record for of_job in by_job for record in of_job]
    sizes, measured = np.array([record[0] for record in records]), [r[1] for r in records]
    estimated, truth = np.array([record[2] for record in records]), np.array(measured)
    for low, high in ((3, 3), (4, 6), (7, 10)):
        some = (sizes >= low) & (sizes <= high)
        error = estimated[some] - truth[some][:, None]
        print(f"{low} to {high} members, measured agreement {truth[some].mean():.3f}")
        print(
            Table(
                {
                    "estimate": list(ESTIMATES),
                    "bias": error.mean(axis=0),
                    "error": np.abs(error).mean(axis=0),
                    "reliable, but below .85": (
                        (estimated[some] >= 0.895) & (truth[some] < 0.85)[:, None]
                    ).mean(axis=0),
                }
            )
        )


if __name__ == "__main__":
    main()
