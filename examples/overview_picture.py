"""Draw docs/pictures/overview.svg: three weak clusterings of three rings, and the consensus of forty.

Run: python examples/overview_picture.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie import EAC
from coterie.datasets import load
from coterie.evaluate import ari
from coterie.generate import kmeans_pool

# the colours of Okabe and Ito, which colour-blind readers can distinguish, and grey
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"]
SIDE, MARGIN, CAPTION = 200, 10, 34


def panel(X: NDArray[np.float64], labels: NDArray[np.int64], left: int, words: list[str]) -> str:
    """One square of coloured points with two lines of text under it."""
    low, high = X.min(), X.max()
    points = MARGIN + (X - low) / (high - low) * (SIDE - 2 * MARGIN)
    dots = "".join(
        f'<circle cx="{left + x:.0f}" cy="{y:.0f}" r="2.4" fill="{COLOURS[label % 8]}"/>'
        for (x, y), label in zip(points, labels, strict=True)
    )
    text = "".join(
        f'<text x="{left + SIDE / 2}" y="{SIDE + 14 + 15 * i}" text-anchor="middle"'
        f' font-weight="{"bold" if i == 0 else "normal"}">{line}</text>'
        for i, line in enumerate(words)
    )
    return dots + text


def main(target: Path) -> None:
    """Cluster the rings and write the picture."""
    rings = load("rings")
    ensemble = kmeans_pool(rings.X, 40, n_clusters=(15, 25), random_state=0)
    members = ensemble.expand(ensemble.labels)
    consensus = EAC(n_clusters=3, linkage="single").fit_predict(ensemble)
    shown = np.arange(0, len(rings.X), 2)
    parts = []
    for i, j in enumerate((0, 1, 2)):
        words = [f"member {j + 1} of 40", f"ARI {ari(rings.y, members[:, j]):.2f}"]
        parts.append(panel(rings.X[shown], members[shown, j], i * (SIDE + 10), words))
    words = ["what they support together", f"ARI {ari(rings.y, consensus):.2f}"]
    parts.append(panel(rings.X[shown], consensus[shown], 3 * (SIDE + 10) + 30, words))
    arrow = 3 * (SIDE + 10) + 4
    parts.append(f'<text x="{arrow}" y="{SIDE / 2}" font-size="28" fill="#777">→</text>')
    width, height = 4 * (SIDE + 10) + 30, SIDE + CAPTION
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="13" role="img">'
        "<title>Three k-means clusterings of three rings, each wrong, and the consensus of forty, "
        "which is right</title>"
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/overview.svg"))
