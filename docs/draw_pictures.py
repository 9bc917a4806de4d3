"""Draw the pictures of the first page and of "How it works", for light and dark pages.

The docs build calls :func:`draw_all`. ``python docs/draw_pictures.py`` draws the picture of the README,
``docs/pictures/rings.svg``, anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from coterie import EAC, ConsensusClustering, Ensemble
from coterie.datasets import load
from coterie.evaluate import ari
from coterie.generate import kmeans_pool
from coterie.plot import palette

HERE = Path(__file__).resolve().parent
# text and lines on a light and on a dark page; their background is transparent
INK = {"light": "#1f2328", "dark": "#e6e8eb"}
# the eight people of "How it works", and how four members group them
PEOPLE = ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal"]
PLACES = np.array(
    [
        [0.5, 2.2],
        [0.9, 2.9],
        [1.4, 2.1],
        [2.25, 1.75],
        [3.2, 1.0],
        [3.7, 1.6],
        [4.1, 0.8],
        [3.9, 0.3],
    ]
)
MEMBERS = {
    "member 1": [0, 0, 0, 0, 1, 1, 1, 1],
    "member 2": [0, 0, 0, 1, 1, 1, 1, 1],
    "member 3": [0, 0, 0, 0, 1, 1, 1, 1],
    "member 4": [0, 1, 0, 0, 2, 2, 2, 2],
}


def two_rings() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The two inner rings of the data set ``rings``."""
    rings = load("rings")
    inner = rings.y < 2
    return rings.X[inner], rings.y[inner]


def scatter(
    ax: Axes, points: NDArray[np.float64], labels: Any, title: str, size: float = 9
) -> None:
    """Points in the colours of their labels, without axes."""
    labels = np.asarray(labels)
    colours = np.array(palette(labels.max() + 1))
    ax.scatter(*points.T, s=size, c=colours[labels], linewidths=0)
    ax.set(aspect="equal")
    ax.set_axis_off()
    ax.set_title(title, fontsize=13)


def rings(figure: Figure) -> None:
    """K-means, one member and the consensus on two rings."""
    X, y = two_rings()
    alone = KMeans(2, n_init=10, random_state=0).fit_predict(X)
    model = ConsensusClustering(n_clusters=2, random_state=0).fit(X)
    member = model.ensemble_.expand(model.ensemble_.labels)[:, 0]
    for ax, labels, title in zip(
        figure.subplots(1, 3),
        [alone, member, model.labels_],
        ["k-means, two clusters", "one of 60 members", "what they support together"],
        strict=True,
    ):
        scatter(ax, X, labels, f"{title}\nARI {abs(ari(y, labels)):.2f}")


def people(figure: Figure) -> None:
    """Four groupings of eight people."""
    for ax, (name, labels) in zip(figure.subplots(1, 4), MEMBERS.items(), strict=True):
        scatter(ax, PLACES, labels, name, size=70)
        ax.margins(0.2)
        for (x, y), person in zip(PLACES, PEOPLE, strict=True):
            ax.annotate(person, (x, y), (0, 7), textcoords="offset points", ha="center", fontsize=9)


def coassociation(figure: Figure) -> None:
    """The share of members that put each pair of people together."""
    labels = np.array(list(MEMBERS.values())).T
    together = (labels[:, None] == labels[None]).mean(axis=2)
    ax = figure.subplots()
    ax.imshow(together, cmap="Blues", vmin=0, vmax=1)
    for (i, j), share in np.ndenumerate(together):
        ax.text(
            j, i, f"{4 * share:.0f}", ha="center", va="center",
            color="white" if share > 0.6 else "#1f2328", fontsize=10,
        )  # fmt: skip
    ax.set_xticks(range(8), PEOPLE)
    ax.set_yticks(range(8), PEOPLE)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def microclusters(figure: Figure) -> None:
    """Label rows of eight people, and the distinct ones with their weights."""
    ensemble = Ensemble.from_labels(MEMBERS)
    every, distinct = figure.subplots(1, 2, width_ratios=[1, 1])
    order = np.argsort(ensemble.inverse, kind="stable")
    colours = palette(3)
    for ax, rows, names, title in [
        (
            every,
            ensemble.expand(ensemble.labels)[order],
            [PEOPLE[i] for i in order],
            "8 samples",
        ),
        (
            distinct,
            ensemble.labels,
            [f"weight {weight:g}" for weight in ensemble.weights],
            f"{ensemble.n_microclusters} microclusters",
        ),
    ]:
        heights = np.ones(len(rows)) if ax is every else ensemble.weights
        tops = np.concatenate([[0], np.cumsum(heights)])
        for row, top, height in zip(rows, tops[:-1], heights, strict=True):
            for j, label in enumerate(row):
                ax.add_patch(
                    mpl.patches.Rectangle(
                        (j, top), 0.94, height - 0.08, facecolor=colours[label], linewidth=0
                    )
                )
        ax.set(xlim=(0, 4), ylim=(tops[-1], 0))
        ax.set_xticks(np.arange(4) + 0.47, ["1", "2", "3", "4"])
        ax.set_yticks(tops[:-1] + heights / 2, names)
        ax.set_xlabel("member")
        ax.set_title(title, fontsize=11)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)


def confidence(figure: Figure) -> None:
    """Two overlapping clouds: members that disagree, and the confidence of the consensus."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal([0, 0], 1, (150, 2)), rng.normal([3.2, 0], 1, (150, 2))])
    ensemble = kmeans_pool(X, 40, n_clusters=(2, 8), random_state=0)
    model = EAC(n_clusters=2).fit(ensemble)
    left, right = figure.subplots(1, 2)
    scatter(left, X, model.labels_, "clusters", size=14)
    drawn = right.scatter(
        *X.T, s=16, c=model.sample_confidence_, cmap="viridis", vmin=0, vmax=1,
        edgecolors=mpl.rcParams["text.color"], linewidths=0.3,
    )  # fmt: skip
    right.set(aspect="equal")
    right.set_axis_off()
    right.set_title("confidence", fontsize=11)
    bar = figure.colorbar(drawn, ax=right, shrink=0.8)
    bar.outline.set_visible(False)


PICTURES: dict[str, tuple[Callable[[Figure], None], tuple[float, float]]] = {
    "rings": (rings, (9.0, 3.3)),
    "people": (people, (9.6, 2.4)),
    "coassociation": (coassociation, (4.4, 4.2)),
    "microclusters": (microclusters, (6.4, 3.6)),
    "confidence": (confidence, (7.6, 2.9)),
}


def draw(name: str, path: Path, theme: str | None) -> None:
    """Write one picture as SVG; without a theme it is dark on white."""
    ink = INK[theme or "light"]
    style = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Arial", "sans-serif"],
        **dict.fromkeys(["text.color", "axes.labelcolor", "xtick.color", "ytick.color"], ink),
    }
    function, size = PICTURES[name]
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        function(figure)
        figure.savefig(
            path,
            transparent=theme is not None,
            bbox_inches="tight",
            pad_inches=0.1,
            metadata={"Date": None},
        )


def draw_all(folder: Path) -> None:
    """Write every picture for light and for dark pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        for theme in INK:
            draw(name, folder / f"{name}-{theme}.svg", theme)


if __name__ == "__main__":
    draw("rings", HERE / "pictures" / "rings.svg", None)
