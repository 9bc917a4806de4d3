"""Cluster tracking: how samples move between clusters as k grows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from coterie.core.errors import ParameterError
from coterie.core.params import check_parameters
from coterie.core.types import FloatArray, IntArray
from coterie.plot._given import selection_of
from coterie.plot.canvas import axes, shown
from coterie.plot.checks import K, label_codes, weights
from coterie.plot.colours import ACCENT, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# half the width of a column, and the gap between two clusters as a share of all samples
HALF, GAP = 0.09, 0.012
# points along each edge of a band
CURVE = 24


def tracking(
    labels: Any,
    ks: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    recommended: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the clusters of every k as a column, with bands for the samples that move between them.

    A cluster keeps the colour of the cluster in the previous column that it shares most samples with, if
    it is also the largest part of that cluster. Any other cluster gets a new colour. Bands that fan out
    from one block are a split. Bands that cross mean that the partitions of two k disagree.

    Parameters
    ----------
    labels : array of shape (K, n), Selection, ConsensusClustering or Result
        One partition of the same samples per row. A Selection, and a model or Result that chose its
        number of clusters, supply ks and the recommendation.
    ks : array of shape (K,), optional
        Name of each row; by default its number of clusters.
    sample_weight : array of shape (n,), optional
        Weight of each sample; 1 by default.
    recommended : int, optional
        The column whose name is highlighted.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.patches`` are the blocks, column by column from the bottom up; their heights are shares of
        the samples. ``ax.collections[0]`` holds the bands, whose heights are shares too.

    Examples
    --------
    >>> from coterie.plot import tracking
    >>> ax = tracking([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]])
    >>> [round(block.get_height(), 2) for block in ax.patches]
    [1.0, 0.5, 0.5, 0.5, 0.25, 0.25]
    """
    labels = selection_of("plot.tracking: labels", labels, arrays="K x n labels")
    if hasattr(labels, "ks"):
        ks = labels.ks if ks is None else ks
        recommended = labels.recommended if recommended is None else recommended
        labels = labels.labels
    check_parameters("plot.tracking", {"recommended": recommended}, {"recommended": K})
    columns = _columns(labels)
    n = len(columns[0])
    words = _names(ks, columns)
    weight = weights("plot.tracking: sample_weight", sample_weight, n)
    weight = weight / weight.sum()
    overlaps = [
        sparse.coo_array((weight, (left, right))).toarray() for left, right in pairwise(columns)
    ]
    heights = [np.bincount(column, weight).astype(np.float64) for column in columns]
    orders = _orders(heights, overlaps)
    colours = _inherited(overlaps, orders)
    floors = [_floors(height, order) for height, order in zip(heights, orders, strict=True)]
    ax = axes(ax, (float(np.clip(1.05 * len(columns) + 1.0, 4.0, 10.0)), 4.6))
    from matplotlib.patches import Rectangle

    paint = palette(1 + max(int(colour.max()) for colour in colours))
    faces = [[paint[number] for number in colour] for colour in colours]
    _bands(ax, overlaps, orders, floors, faces)
    for column, order in enumerate(orders):
        for cluster in order.tolist():
            corner = (column - HALF, float(floors[column][cluster]))
            height, face = float(heights[column][cluster]), faces[column][cluster]
            block = Rectangle(corner, 2 * HALF, height, facecolor=face, linewidth=0, zorder=2)
            ax.add_patch(block)
    ax.set_xlim(-0.3, len(columns) - 0.7)
    ax.set_ylim(0.0, max(float((f + h).max()) for f, h in zip(floors, heights, strict=True)))
    ax.set_xticks(range(len(columns)), words)
    for text, word in zip(ax.get_xticklabels(), words, strict=True):
        if recommended is not None and word == str(recommended):
            text.set_color(ACCENT)
            text.set_fontweight("bold")
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    advice = "no structure" if recommended == 1 else f"recommended: {recommended}"
    ax.set_xlabel("k" if recommended is None else f"k ({advice})")
    ax.set_ylabel(f"{n:,} samples")
    return ax


# ------------------------------------------------------------------ reading


def _columns(labels: Any) -> list[IntArray]:
    rows = np.asarray(labels)
    if rows.ndim != 2:
        raise ParameterError(
            f"plot.tracking: labels must be K x n, one partition per row, but has shape {rows.shape}"
        )
    if 0 in rows.shape:
        raise ParameterError("plot.tracking: labels is empty: there is nothing to draw")
    return [
        label_codes(f"plot.tracking: labels, row {i}", row, None)[0] for i, row in enumerate(rows)
    ]


def _names(ks: ArrayLike | None, columns: list[IntArray]) -> list[str]:
    if ks is None:
        return [str(column.max() + 1) for column in columns]
    given = np.asarray(ks)
    if given.shape != (len(columns),):
        raise ParameterError(
            f"plot.tracking: ks must hold {len(columns)} names, one per row of labels, "
            f"but has shape {given.shape}"
        )
    return [shown(name) for name in given.tolist()]


# ------------------------------------------------------------------ positions and colours


def _orders(heights: list[FloatArray], overlaps: list[FloatArray]) -> list[IntArray]:
    """Clusters from the bottom up: the first column by size, the others by where their samples were."""
    orders = [np.argsort(-heights[0], kind="stable")]
    for overlap in overlaps:
        middle = _floors(overlap.sum(axis=1), orders[-1]) + overlap.sum(axis=1) / 2
        centre = middle @ overlap / overlap.sum(axis=0)
        # among the children of one parent, the larger one is below
        orders.append(np.lexsort((-overlap.sum(axis=0), np.round(centre, 9))))
    return orders


def _floors(heights: FloatArray, order: IntArray) -> FloatArray:
    floors = np.empty(len(heights))
    floors[order] = np.concatenate([[0.0], np.cumsum(heights[order] + GAP)[:-1]])
    return floors


def _inherited(overlaps: list[FloatArray], orders: list[IntArray]) -> list[IntArray]:
    """The colour number of each cluster.

    A cluster takes the number of the cluster in the previous column that it shares most weight with, its
    parent, if it is also the largest part of that parent. Any other cluster gets a new number.
    """
    colours, used = [np.argsort(orders[0])], len(orders[0])
    for overlap, order in zip(overlaps, orders[1:], strict=True):
        parent, heir = overlap.argmax(axis=0), overlap.argmax(axis=1)
        inherited = np.empty(overlap.shape[1], dtype=np.int64)
        for cluster in order.tolist():
            if heir[parent[cluster]] == cluster:
                inherited[cluster] = colours[-1][parent[cluster]]
            else:
                inherited[cluster] = used
                used += 1
        colours.append(inherited)
    return colours


# ------------------------------------------------------------------ drawing


def _bands(
    ax: Axes,
    overlaps: list[FloatArray],
    orders: list[IntArray],
    floors: list[FloatArray],
    faces: list[list[str]],
) -> None:
    from matplotlib.collections import PolyCollection

    step = np.linspace(0.0, 1.0, CURVE)
    ease = step * step * (3 - 2 * step)
    shapes, colours = [], []
    for column, overlap in enumerate(overlaps):
        leaving, arriving = floors[column].copy(), floors[column + 1].copy()
        across = column + HALF + step * (1 - 2 * HALF)
        for left in orders[column].tolist():
            for right in orders[column + 1].tolist():
                height = overlap[left, right]
                if height == 0:
                    continue
                low = leaving[left] + ease * (arriving[right] - leaving[left])
                edge = np.concatenate([low, (low + height)[::-1]])
                shapes.append(np.stack([np.concatenate([across, across[::-1]]), edge], axis=1))
                colours.append(faces[column + 1][right])
                leaving[left] += height
                arriving[right] += height
    ax.add_collection(
        PolyCollection(shapes, facecolors=colours, alpha=0.35, linewidths=0, zorder=1),
        autolim=False,
    )
