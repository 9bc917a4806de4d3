"""Do EC-CMS and TRCE give the same labels if they are fitted on the heavier distinct rows only?

The other rows are assigned to the cluster with the highest mean co-association. For each pool, method
and share of rows kept, print the minimum and mean agreement (ARI over samples) with the exact result,
over several draws of members.

Run: python benchmarks/approximation.py [POOL ...] [--draws 5]
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

from coterie import ECCMS, TRCE, Ensemble
from coterie.evaluate import ari
from coterie.evidence import coassociation

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MEMBERS, KEPT = 20, (0.9, 0.5)


def on_heavier_rows(solver, ensemble: Ensemble, kept: int):
    """Fit the ``kept`` heaviest microclusters; assign the others by mean co-association."""
    rows = np.argsort(-ensemble.weights, kind="stable")[:kept]
    weights = ensemble.weights[rows]
    fewer = Ensemble.from_labels(ensemble.labels[rows], sample_weight=weights)
    clusters = solver.fit(fewer).labels_
    chosen = (clusters[:, None] == np.arange(solver.n_clusters)) * weights[:, None]
    labels = np.argmax(coassociation(ensemble)[:, rows] @ (chosen / chosen.sum(axis=0)), axis=1)
    labels[rows] = clusters
    return labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = sorted(path.stem for path in (DATA / "pools").glob("*.npz"))
    parser.add_argument("pools", nargs="*", default=every, metavar="POOL")
    parser.add_argument("--draws", type=int, default=5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for pool in given.pools:
        with np.load(DATA / "pools" / f"{pool}.npz") as file:
            members, n_classes = file["members"], len(np.unique(file["gt"]))
        for method in (ECCMS, TRCE):
            agreement = np.empty((given.draws, len(KEPT)))
            for draw in range(given.draws):
                rng = np.random.default_rng(draw)
                columns = rng.choice(members.shape[1], MEMBERS, replace=False)
                ensemble = Ensemble.from_labels(members[:, columns])
                exact = method(n_classes).fit(ensemble).labels_
                for j, share in enumerate(KEPT):
                    kept = int(np.ceil(share * ensemble.n_microclusters))
                    labels = on_heavier_rows(method(n_classes), ensemble, kept)
                    agreement[draw, j] = ari(exact, ensemble.expand(labels))
            shown = ", ".join(
                f"{share:.0%} kept: minimum {column.min():.3f}, mean {column.mean():.3f}"
                for share, column in zip(KEPT, agreement.T, strict=True)
            )
            print(f"{pool:<12}{method.__name__:<6}{shown}", flush=True)


if __name__ == "__main__":
    main()
