"""Samples: their confidence, and their position in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import SEED, Integer, check_parameters
from coterie.core.random import RandomState, generator, random_rows
from coterie.core.types import FloatArray
from coterie.numerics.medians import weighted_median
from coterie.plot._given import read
from coterie.plot.canvas import COLUMN, axes, legend_beside, note, plain, shown
from coterie.plot.checks import label_codes, numbers, shares, weights
from coterie.plot.colours import INK, OKABE_ITO, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# opacity of a point with confidence 0: still visible on white
FAINTEST = 0.12
# height of a cluster's tallest bar, as a share of its row
ROW_HEIGHT = 0.86
# more bars are slow to draw, and a screen could not show them
MAX_BARS = 10_000


def confidence(
    values: Any,
    *,
    labels: Any = None,
    sample_weight: ArrayLike | None = None,
    bins: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of the confidence, of all samples or per cluster.

    Parameters
    ----------
    values : array of shape (n,), fitted model or Result
        Confidence in [0, 1], such as ``sample_confidence_``. A model or Result supplies labels, too.
    labels : sequence of n labels, optional
        With labels, one histogram per cluster, each scaled to its own tallest bar.
    sample_weight : array of shape (n,), optional
        Weight of each sample; 1 by default.
    bins : int, default 20
        Number of bars between 0 and 1, at most 10,000.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.containers`` holds the bars: one container, or one per cluster from top to bottom. A
        line marks the median of each.

    Examples
    --------
    >>> from coterie.plot import confidence
    >>> ax = confidence([0.1, 0.9, 0.95, 1.0], bins=2)
    >>> [int(bar.get_height()) for bar in ax.containers[0]]
    [1, 3]
    """
    check_parameters("plot.confidence", {"bins": bins}, {"bins": Integer(1, MAX_BARS)})
    given = read("plot.confidence: values", values, "a model, a Result or an array of confidences")
    if given is not None:
        values, labels = given.confidence, given.labels if labels is None else labels
    sure = shares("plot.confidence: values", values, None)
    weight = weights("plot.confidence: sample_weight", sample_weight, len(sure))
    edges = np.linspace(0.0, 1.0, bins + 1)
    unit = "samples" if sample_weight is None else "weight"
    if labels is None:
        ax = axes(ax, (5.6, 3.6))
        counts, _ = np.histogram(sure, edges, weights=weight)
        ax.bar(edges[:-1], counts, 1 / bins, align="edge", color=OKABE_ITO[0], edgecolor="white")
        middle = weighted_median(sure, weight)
        ax.axvline(middle, color=INK, linewidth=1.4)
        ax.set_title(f"median {middle:.2f} of {len(sure):,} samples", loc="left", fontsize="medium")
        ax.set_ylabel(unit)
    else:
        codes, names = label_codes("plot.confidence: labels", labels, len(sure))
        ax = axes(ax, (6.0, float(np.clip(1.1 + 0.5 * len(names), 2.6, 16.0))))
        _rows_of_bars(ax, sure, weight, codes, names, edges, unit)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("confidence")
    plain(ax)
    return ax


def _rows_of_bars(
    ax: Axes,
    sure: FloatArray,
    weight: FloatArray,
    codes: np.ndarray,
    names: list[Any],
    edges: FloatArray,
    unit: str,
) -> None:
    colours = palette(len(names))
    words = []
    for code, name in enumerate(names):
        inside = codes == code
        counts, _ = np.histogram(sure[inside], edges, weights=weight[inside])
        floor = len(names) - 1 - code
        scale = ROW_HEIGHT / counts.max()
        ax.bar(
            edges[:-1],
            counts * scale,
            1 / (len(edges) - 1),
            bottom=floor,
            align="edge",
            color=colours[code],
            edgecolor="white",
            linewidth=0.5,
        )
        middle = weighted_median(sure[inside], weight[inside])
        ax.plot([middle, middle], [floor, floor + ROW_HEIGHT], color=INK, linewidth=1.4)
        words.append(f"{shown(name)}  ({weight[inside].sum():,.4g})")
    ax.set_yticks(np.arange(len(names))[::-1], words, verticalalignment="bottom")
    ax.set_ylim(0.0, len(names))
    ax.tick_params(axis="y", length=0)
    for floor in range(1, len(names)):
        ax.axhline(floor, color="#DDDDDD", linewidth=0.6, zorder=0)
    ax.set_ylabel(f"cluster ({unit})")
    title = "each cluster scaled to its own height; line: median"
    if len(names) == 1:
        title = "one cluster: without a rival, confidence carries no information"
    ax.set_title(title, loc="left", fontsize="small")


def embedding(
    coordinates: Any,
    labels: Any = None,
    confidence: ArrayLike | None = None,
    *,
    name: str | None = None,
    max_points: int = 20_000,
    random_state: RandomState = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw samples as points, coloured by label; less confident samples are paler.

    Parameters
    ----------
    coordinates : array of shape (n, 2), Result or fitted model
        Position of each sample: principal components, a spectral embedding, UMAP. A Result has
        coordinates, labels and confidence; for a model, spectral coordinates of its members are computed.
    labels : sequence of n labels, optional
        Cluster of each sample; without labels all points have one colour.
    confidence : array of shape (n,), optional
        In [0, 1]; samples with confidence 0 are nearly white.
    name : str, optional
        Name of the coordinates, for the axis titles.
    max_points : int, default 20000
        If there are more samples, a random subset of this size is drawn, and the title says so.
    random_state : int or Generator, default 0
        Determines the subset.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.collections[0]`` holds the points drawn (offsets and face colours), in order of
        confidence, so that confident samples lie on top.

    Examples
    --------
    >>> from coterie.plot import embedding
    >>> ax = embedding([[0, 0], [0, 1], [5, 5]], ["a", "a", "b"], [1.0, 0.2, 0.9])
    >>> ax.collections[0].get_offsets().tolist()
    [[0.0, 1.0], [5.0, 5.0], [0.0, 0.0]]
    """
    check_parameters(
        "plot.embedding",
        {"max_points": max_points, "random_state": random_state},
        {"max_points": Integer(1), "random_state": SEED},
    )
    wanted = "a Result, a model or n x 2 coordinates"
    given = read("plot.embedding: coordinates", coordinates, wanted)
    if given is not None:
        result = given.result
        if result.coordinates is None:
            raise ParameterError(
                f"plot.embedding: coordinates is {given.description} without coordinates; pass {wanted}"
            )
        coordinates, name = result.coordinates, name or result.coordinates_name
        labels = given.labels if labels is None else labels
        confidence = given.confidence if confidence is None else confidence
    points = numbers("plot.embedding: coordinates", coordinates, (None, 2))
    n = len(points)
    codes, names = np.zeros(n, dtype=np.int64), [None]
    if labels is not None:
        codes, names = label_codes("plot.embedding: labels", labels, n)
    sure = np.ones(n) if confidence is None else shares("plot.embedding: confidence", confidence, n)
    drawn = random_rows(n, max_points, generator(random_state))
    drawn = drawn[np.argsort(sure[drawn], kind="stable")]
    legend_columns = 0 if labels is None else 1 + (len(names) > COLUMN)
    ax = axes(ax, (5.0 + 1.7 * legend_columns, 4.8))
    from matplotlib.colors import to_rgba_array
    from matplotlib.lines import Line2D

    colours = to_rgba_array(palette(len(names)))
    faces = colours[codes[drawn]]
    faces[:, 3] = FAINTEST + (1.0 - FAINTEST) * sure[drawn]
    ax.scatter(
        points[drawn, 0],
        points[drawn, 1],
        s=float(np.clip(9000 / len(drawn), 3.0, 30.0)),
        c=faces,
        linewidths=0,
        rasterized=len(drawn) > 5000,
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    axis = "coordinate" if name is None else f"{shown(name, 60)},"
    ax.set_xlabel(f"{axis} 1")
    ax.set_ylabel(f"{axis} 2")
    plain(ax)
    if n > max_points:
        note(ax, f"{max_points:,} of {n:,} samples, drawn at random")
    if labels is not None:
        sizes = np.bincount(codes, minlength=len(names))
        handles = [
            Line2D([], [], linestyle="none", marker="o", markersize=7, color=colour)
            for colour in palette(len(names))
        ]
        words = [f"{shown(label)}  ({size:,})" for label, size in zip(names, sizes, strict=True)]
        legend_beside(ax, handles, words, title="cluster (samples)")
    return ax
