"""Do methods give the same labels, and labels as near to the truth, if similar label rows are grouped?

For each pool, method and share of the distinct rows that is kept, print the ARI (over samples) with the exact
labels, minimum and mean over draws of members, and the mean ARI with the known classes of the exact labels
and of these. With ``--heavier``, the heavier rows are kept instead of groups, and the others are assigned
to the cluster with the highest mean co-association.

Run: python benchmarks/approximation.py [POOL ...] [--draws 3] [--methods eac spce ...] [--heavier]
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.evidence import coassociation
from coterie.solvers.methods import find_method

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MEMBERS, KEPT = 20, (0.5, 0.25)


def on_heavier_rows(solver, ensemble: Ensemble, kept: int):
    """Fit the ``kept`` heaviest microclusters; assign the others by mean co-association."""
    rows = np.argsort(-ensemble.weights, kind="stable")[:kept]
    weights = ensemble.weights[rows]
    fewer = Ensemble.from_labels(ensemble.labels[rows], sample_weight=weights)
    clusters = solver.fit(fewer).labels_
    chosen = (clusters[:, None] == np.arange(solver.n_clusters)) * weights[:, None]
    labels = np.argmax(coassociation(ensemble)[:, rows] @ (chosen / chosen.sum(axis=0)), axis=1)
    labels[rows] = clusters
    return ensemble.expand(labels)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = sorted(path.stem for path in (DATA / "pools").glob("*.npz"))
    parser.add_argument("pools", nargs="*", default=every, metavar="POOL")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=["eac", "spce", "trce", "eccms"])
    parser.add_argument("--heavier", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for pool in given.pools:
        with np.load(DATA / "pools" / f"{pool}.npz") as file:
            members, truth = file["members"], file["gt"].ravel()
        n_classes = len(np.unique(truth))
        for name in given.methods:
            method = find_method(name)
            scores = np.empty((given.draws, len(KEPT), 3))
            for draw in range(given.draws):
                rng = np.random.default_rng(draw)
                columns = rng.choice(members.shape[1], MEMBERS, replace=False)
                ensemble = Ensemble.from_labels(members[:, columns])
                exact = method(n_classes, random_state=0).fit(ensemble).labels_
                for j, share in enumerate(KEPT):
                    kept = int(share * ensemble.n_microclusters)
                    if given.heavier:
                        solver = method(n_classes, random_state=0)
                        labels = on_heavier_rows(solver, ensemble, kept)
                    else:
                        solver = method(n_classes, random_state=0, approximate=kept)
                        labels = solver.fit(ensemble).labels_
                    scores[draw, j] = ari(exact, labels), ari(truth, exact), ari(truth, labels)
            for share, column in zip(KEPT, scores.swapaxes(0, 1), strict=True):
                _, before, after = column.mean(axis=0)
                print(
                    f"{pool:<12}{name:<6}{share:.0%} kept: minimum {column[:, 0].min():.3f}, "
                    f"mean {column[:, 0].mean():.3f}; truth: exact {before:.3f}, now {after:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
