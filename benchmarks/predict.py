"""Compare the clusters that predict gives to new rows with those of a fit on all rows.

Run: python benchmarks/predict.py
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from coterie import ConsensusClustering
from coterie.datasets import load
from coterie.evaluate import ari

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
SHARE = 0.8
SEEDS = range(3)


def data_sets():
    digits = load("digits")
    yield "digits", digits.X, digits.y
    path = DATA / "features" / "pendigits.npz"
    if path.exists():
        with np.load(path) as file:
            yield "pendigits", file["X"], file["y"]
    else:
        print(f"  pendigits is left out: there is no {path}")


def main() -> None:
    print("held-out rows (20 %): predict after a fit on the others, beside a fit on all rows")
    for name, X, y in data_sets():
        classes = len(np.unique(y))
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(len(X))
            seen, new = np.split(order, [int(SHARE * len(X))])
            model = ConsensusClustering(classes, random_state=seed).fit(X[seen])
            predicted = model.predict(X[new])
            again = ConsensusClustering(classes, random_state=seed).fit(X).labels_
            print(
                f"  {name:<10} seed {seed}: predict and refit ARI {ari(again[new], predicted):.3f}; "
                f"two fits on the common rows {ari(again[seen], model.labels_):.3f}; with the classes: "
                f"predict {ari(y[new], predicted):.3f}, refit {ari(y[new], again[new]):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
