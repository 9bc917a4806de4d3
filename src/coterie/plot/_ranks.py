"""Mean ranks over data sets, and which of them cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Kind, as_float, check_parameters
from coterie.core.types import FloatArray
from coterie.plot._check import NAMES, numbers
from coterie.plot._palette import INK, OKABE_ITO
from coterie.plot.canvas import axes, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWNER = "plot.ranks"
# NaN stands for one that could not be computed
CRITICAL = Kind(
    lambda value: value is None or ((gap := as_float(value)) is not None and not gap < 0),
    "None or a number of at least 0",
)


def ranks(
    names: Sequence[str],
    ranks: ArrayLike,
    critical_difference: float | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw methods along an axis of mean ranks; a thick bar joins those too near to be told apart.

    Parameters
    ----------
    names : sequence of K names
    ranks : array of shape (K,)
        Mean rank of each, 1 the best.
    critical_difference : float, optional
        Ranks nearer than this are joined; NaN or None where it was not tested.
    ax : Axes, optional

    Returns
    -------
    Axes
        ``ax.texts`` begins with the methods and their ranks, the best first. ``ax.lines`` with the gid
        "group" are the joining bars.

    Examples
    --------
    >>> from coterie.plot import ranks
    >>> ax = ranks(["a", "b", "c"], [1.2, 1.9, 2.9], 0.9)
    >>> [text.get_text() for text in ax.texts][:3]
    ['a  1.20', 'b  1.90', '2.90  c']
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "group"]
    [[1.2, 1.9]]
    """
    check_parameters(
        OWNER,
        {"names": names, "critical_difference": critical_difference},
        {"names": NAMES, "critical_difference": CRITICAL},
    )
    named = [str(name) for name in names]
    if not named:
        raise ParameterError(f"{OWNER}: names is empty: there is nothing to draw")
    places = numbers(OWNER, "ranks", ranks, (len(named),))
    apart = np.nan if critical_difference is None else float(critical_difference)
    order = np.argsort(places, kind="stable")
    found, sorted_names = places[order], [named[place] for place in order.tolist()]
    groups = joined(found, apart)
    half = -(-len(named) // 2)
    # in units of a line of text below the axis: bars first, then the names
    first = 1.0 + 0.55 * len(groups)
    ax = axes(ax, (5.6, float(1.0 + 0.22 * (first + half))))
    low, high = min(1.0, float(np.floor(found[0]))), max(float(np.ceil(found[-1])), 2.0)
    margin = 0.08 * (high - low)
    ax.hlines(0.0, low, high, color=INK, linewidth=1.0)
    for depth, (start, stop) in enumerate(groups):
        level = 0.55 + 0.55 * depth
        ends = [float(found[start]), float(found[stop])]
        ax.plot(
            ends, [level, level], color=OKABE_ITO[5], linewidth=3.2, solid_capstyle="butt",
            gid="group", zorder=3,
        )  # fmt: skip
    for place, (name, rank) in enumerate(zip(sorted_names, found.tolist(), strict=True)):
        better = place < half
        line = first + (place if better else len(named) - 1 - place)
        side = low - margin if better else high + margin
        ax.plot([rank, rank, side], [0.0, line, line], color=INK, linewidth=0.7)
        ax.text(
            side, line, f"{shown(name)}  {rank:.2f}" if better else f"{rank:.2f}  {shown(name)}",
            ha="right" if better else "left", va="center",
        )  # fmt: skip
    for tick in np.arange(np.ceil(low), high + 1):
        ax.vlines(tick, 0.0, -0.25, color=INK, linewidth=1.0)
        ax.annotate(f"{tick:.0f}", (tick, -0.3), ha="center", va="bottom", fontsize="small")
    top = -1.3
    if np.isfinite(apart):
        top = -2.4
        ends = [low, min(low + apart, high)]
        ax.plot(ends, [-1.6, -1.6], color=INK, linewidth=1.6, marker="|", markersize=6)
        ax.annotate(f"critical difference {apart:.2f}", (low, -1.85), va="bottom", fontsize="small")
    ax.set_xlim(low - margin, high + margin)
    ax.set_ylim(first + half - 0.5, top)
    ax.set_axis_off()
    return ax


def joined(ranks: FloatArray, apart: float) -> list[tuple[int, int]]:
    """Longest runs of sorted ranks whose ends are nearer than the critical difference."""
    if not np.isfinite(apart):
        return []
    groups: list[tuple[int, int]] = []
    for start in range(len(ranks)):
        near = np.flatnonzero(ranks - ranks[start] < apart)
        stop = int(near[-1]) if near.size else start
        if stop > start and (not groups or stop > groups[-1][1]):
            groups.append((start, stop))
    return groups
