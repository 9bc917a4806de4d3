"""Choosing k: the distribution of the co-association for each k, and its gain from k to k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import check_parameters
from coterie.plot._check import K, numbers
from coterie.plot._choice import (
    Choice,
    counted,
    is_choice,
    k_axis,
    mark_recommended,
    needed,
    with_choice,
)
from coterie.plot._palette import ACCENT, OKABE_ITO, QUIET
from coterie.plot.canvas import axes, legend_beside, plain

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


def cdf(
    ks: ArrayLike | Choice,
    grid: ArrayLike | None = None,
    values: ArrayLike | None = None,
    *,
    recommended: int | None = None,
    ambiguous: tuple[float, float] | None = (0.1, 0.9),
    ax: Axes | None = None,
) -> Axes:
    """Draw, for every k, the share of pairs of samples whose co-association is at most x.

    A flat line between the ends means that pairs are either always or never together: that k is
    stable. The proportion of ambiguous clustering (PAC) is the rise over the shaded interval.

    Parameters
    ----------
    ks : array of shape (K,), or Selection
        The numbers of clusters; a Selection (what ``select_k`` returns) brings all the rest.
    grid : array of shape (G,)
        Co-association values, ascending.
    values : array of shape (K, G)
        The distribution for each k.
    recommended : int, optional
        The k to stress.
    ambiguous : (low, high) or None, default (0.1, 0.9)
        The interval to shade.
    ax : Axes, optional

    Returns
    -------
    Axes
        ``ax.lines[i]`` is the curve of ``ks[i]``.

    Examples
    --------
    >>> from coterie.plot import cdf
    >>> ax = cdf([2, 3], [0.0, 0.5, 1.0], [[0.5, 0.5, 1.0], [0.6, 0.7, 1.0]], recommended=2)
    >>> ax.lines[1].get_ydata().tolist()
    [0.6, 0.7, 1.0]
    """
    if is_choice(ks):
        grid, values, recommended = with_choice(
            ks, {"cdf_grid": grid, "cdf": values, "recommended": recommended}
        )
    check_parameters("plot.cdf", {"recommended": recommended}, {"recommended": K})
    counts = counted("plot.cdf", ks)
    points = numbers("plot.cdf", "grid", needed("plot.cdf", "grid", grid), (None,))
    curves = numbers(
        "plot.cdf",
        "values",
        needed("plot.cdf", "values", values),
        (len(counts), len(points)),
        nan=True,
    )
    if (np.diff(points) < 0).any():
        raise ParameterError("plot.cdf: grid must be ascending, but is not")
    ax = axes(ax, (6.4, 4.2))
    if ambiguous is not None:
        low, high = numbers("plot.cdf", "ambiguous", ambiguous, (2,)).tolist()
        ax.axvspan(low, high, color="#F3F3F3", linewidth=0, zorder=0)
    handles: list[Artist] = []
    for k, curve, colour in zip(counts.tolist(), curves, _sequence(len(counts)), strict=True):
        chosen = k == recommended
        handles += ax.plot(
            points,
            curve,
            drawstyle="steps-post",
            color=ACCENT if chosen else colour,
            linewidth=2.6 if chosen else 1.4,
            zorder=3 if chosen else 2,
        )
    ax.set_xlim(points[0], points[-1])
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("co-association")
    ax.set_ylabel("share of pairs at or below")
    plain(ax)
    names = [f"{k} (recommended)" if k == recommended else str(k) for k in counts.tolist()]
    legend_beside(ax, handles, names, title="k")
    return ax


def delta_area(
    ks: ArrayLike | Choice,
    values: ArrayLike | None = None,
    *,
    recommended: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much the area under the distribution grows from one k to the next.

    Past the right k the gain is small: look for the last k before the line settles.

    Parameters
    ----------
    ks : array of shape (K,), or Selection
        The numbers of clusters; a Selection brings all the rest.
    values : array of shape (K,)
        The relative gain of each k; NaN where undefined.
    recommended : int, optional
        The k to mark.
    ax : Axes, optional

    Returns
    -------
    Axes
        ``ax.lines[0]`` holds ks and values.

    Examples
    --------
    >>> from coterie.plot import delta_area
    >>> delta_area([2, 3, 4], [0.5, 0.2, 0.02]).lines[0].get_ydata().tolist()
    [0.5, 0.2, 0.02]
    """
    if is_choice(ks):
        values, recommended = with_choice(ks, {"delta_area": values, "recommended": recommended})
    check_parameters("plot.delta_area", {"recommended": recommended}, {"recommended": K})
    counts = counted("plot.delta_area", ks)
    given = needed("plot.delta_area", "values", values)
    gains = numbers("plot.delta_area", "values", given, (len(counts),), nan=True)
    ax = axes(ax, (5.2, 3.6))
    ax.plot(counts, gains, color=OKABE_ITO[0], marker="o", markersize=5)
    ax.axhline(0.0, color=QUIET, linewidth=0.8, zorder=0)
    mark = mark_recommended(ax, counts, recommended)
    if mark:
        legend_beside(ax, mark, [f"recommended\nk = {recommended}"])
    k_axis(ax, counts)
    ax.set_xlabel("k")
    ax.set_ylabel("relative gain in area")
    plain(ax)
    return ax


def _sequence(count: int) -> list[Any]:
    """Ordered k, ordered colours: from pale to deep blue."""
    from matplotlib import colormaps

    return list(colormaps["Blues"](np.linspace(0.35, 1.0, count)))
