"""Pictures for choosing k: the criteria, and the distribution of the co-association."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, check_parameters
from coterie.core.types import IntArray
from coterie.plot._given import selection_of
from coterie.plot.canvas import axes, legend_beside, legend_under, panels, plain, shown
from coterie.plot.checks import K, numbers, numbers_by_name
from coterie.plot.colours import ACCENT, OKABE_ITO, QUIET, SEQUENTIAL
from coterie.select.criteria import AMBIGUOUS, CRITERIA

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from coterie.consensus import ConsensusClustering
    from coterie.result import Result
    from coterie.select import Selection

# more tick labels than this would overlap
TICKS = 10
ARRAYS = "the numbers of clusters with their values"


# ------------------------------------------------------------------ a Selection or arrays in


def _argument(name: str, value: Any, ks: Any, field: str) -> Any:
    """The argument; where it is None, the field of the Selection in ks."""
    if value is None:
        value = getattr(ks, field, None)
    if value is None:
        raise ParameterError(f"{name} is needed, unless the first argument is a Selection")
    return value


def _read_ks(owner: str, ks: Any, recommended: int | None) -> tuple[IntArray, int | None]:
    """The numbers of clusters, ascending, and the recommended one."""
    if recommended is None:
        recommended = getattr(ks, "recommended", None)
    check_parameters(owner, {"recommended": recommended}, {"recommended": K})
    given = numbers(f"{owner}: ks", getattr(ks, "ks", ks), (None,))
    if (given != np.rint(given)).any() or (given < 1).any():
        raise ParameterError(f"{owner}: ks must be whole numbers of at least 1, but is {ks!r:.60}")
    if (np.diff(given) <= 0).any():
        raise ParameterError(f"{owner}: ks must be ascending without repeats, but is {ks!r:.60}")
    return given.astype(np.int64), recommended


def _mark_recommended(ax: Axes, counts: IntArray, recommended: int | None) -> Artist | None:
    """Draw a line at the recommended k; not for k = 1, which the title mentions."""
    if recommended is None or recommended not in counts or recommended == 1:
        return None
    return ax.axvline(recommended, color=ACCENT, linewidth=1.6, alpha=0.75, zorder=0)


def _k_axis(ax: Axes, counts: IntArray) -> None:
    """Whole numbers along the axis of k."""
    every = -(-len(counts) // TICKS)
    ax.set_xticks(counts[::every])
    ax.set_xlim(counts[0] - 0.5, counts[-1] + 0.5)


# ------------------------------------------------------------------ criteria


def criteria(
    ks: ArrayLike | Selection | ConsensusClustering | Result,
    values: Mapping[str, ArrayLike] | None = None,
    *,
    recommended: int | None = None,
    columns: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every criterion over k.

    Parameters
    ----------
    ks : array of shape (K,), Selection, ConsensusClustering or Result
        The numbers of clusters. A Selection (returned by ``select_k``), and a model or Result that chose
        its number of clusters, supply all other arguments.
    values : mapping of name to array of shape (K,)
        Values of each criterion; NaN where undefined.
    recommended : int, optional
        The recommended k; 1 means no structure.
    columns : int, optional
        Panels per row; by default chosen by the number of panels.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.child_axes`` holds one panel per criterion, in the order of ``values``.

    Examples
    --------
    >>> from coterie.plot import criteria
    >>> ax = criteria([2, 3, 4], {"pac": [0.2, 0.0, 0.1]}, recommended=3)
    >>> panel = ax.child_axes[0]
    >>> panel.get_title(loc="left"), panel.lines[0].get_ydata().tolist()
    ('PAC ↓', [0.2, 0.0, 0.1])
    """
    ks = selection_of("plot.criteria: ks", ks, arrays=ARRAYS)
    counts, recommended = _read_ks("plot.criteria", ks, recommended)
    check_parameters(
        "plot.criteria", {"columns": columns}, {"columns": Integer(1, 1000, optional=True)}
    )
    given = _argument("plot.criteria: values", values, ks, "criteria")
    criterion_values = numbers_by_name("plot.criteria: values", given, len(counts))
    if not criterion_values:
        raise ParameterError("plot.criteria: values is empty: there is no criterion to draw")
    count = len(criterion_values)
    if columns is None:
        columns = 1 if count == 1 else 2 if count <= 4 else 3
    columns = int(columns)
    rows = -(-count // columns)
    ax = axes(ax, (max(2.9 * columns + 0.6, 4.6), 1.9 * rows + 0.9))
    handles: dict[str, Artist] = {}
    drawn = panels(ax, count, columns, (44.0, 44.0))
    for (name, line), panel in zip(criterion_values.items(), drawn, strict=True):
        (handles["measured"],) = panel.plot(
            counts, line, color=OKABE_ITO[0], marker="o", markersize=3.5
        )
        if mark := _mark_recommended(panel, counts, recommended):
            handles[f"recommended k = {recommended}"] = mark
        panel.set_title(_title(name), loc="left", fontsize="medium")
        panel.margins(y=0.12)
        _k_axis(panel, counts)
        panel.tick_params(labelsize="small")
        plain(panel)
    for panel in drawn[-columns:]:
        panel.set_xlabel("k")
    legend_under(ax, list(handles.values()), list(handles), drop=38.0)
    if recommended == 1:
        ax.set_title(
            "recommended: one cluster, no structure", loc="left", pad=20.0, fontsize="medium"
        )
    return ax


def _title(name: str) -> str:
    """The name of the criterion, with an arrow in the direction that is better."""
    known = CRITERIA.get(name)
    if known is None:
        return shown(name.replace("_", " "))
    return f"{known.words} {'↑' if known.higher_is_better else '↓'}"


# ------------------------------------------------------------------ distribution of the co-association


def cdf(
    ks: ArrayLike | Selection | ConsensusClustering | Result,
    grid: ArrayLike | None = None,
    values: ArrayLike | None = None,
    *,
    recommended: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the distribution of the co-association for every k.

    Each curve gives the share of pairs of samples whose co-association is at most x. A flat curve between
    the ends means that pairs are either always or never together, so that k is stable. The proportion
    of ambiguous clustering (PAC) is the rise of the curve over the shaded interval.

    Parameters
    ----------
    ks : array of shape (K,), Selection, ConsensusClustering or Result
        The numbers of clusters. A Selection (returned by ``select_k``), and a model or Result that chose
        its number of clusters, supply all other arguments.
    grid : array of shape (G,)
        Co-association values, ascending.
    values : array of shape (K, G)
        The distribution for each k.
    recommended : int, optional
        The k to highlight.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

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
    ks = selection_of("plot.cdf: ks", ks, arrays=ARRAYS)
    counts, recommended = _read_ks("plot.cdf", ks, recommended)
    grid = _argument("plot.cdf: grid", grid, ks, "cdf_grid")
    values = _argument("plot.cdf: values", values, ks, "cdf")
    points = numbers("plot.cdf: grid", grid, (None,))
    curves = numbers("plot.cdf: values", values, (len(counts), len(points)), nan=True)
    if (np.diff(points) < 0).any():
        raise ParameterError("plot.cdf: grid must be ascending, but is not")
    ax = axes(ax, (6.4, 4.2))
    from matplotlib import colormaps

    ax.axvspan(*AMBIGUOUS, color="#F3F3F3", linewidth=0, zorder=0)
    handles: list[Artist] = []
    # from pale to deep blue, in the order of k
    colours = colormaps[SEQUENTIAL](np.linspace(0.35, 1.0, len(counts)))
    for k, curve, colour in zip(counts.tolist(), curves, colours, strict=True):
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
    ks: ArrayLike | Selection | ConsensusClustering | Result,
    values: ArrayLike | None = None,
    *,
    recommended: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the relative gain in area under the distribution from one k to the next.

    Beyond the right k the gain is small: look for the last k before the line flattens.

    Parameters
    ----------
    ks : array of shape (K,), Selection, ConsensusClustering or Result
        The numbers of clusters. A Selection (returned by ``select_k``), and a model or Result that chose
        its number of clusters, supply all other arguments.
    values : array of shape (K,)
        The relative gain of each k; NaN where undefined.
    recommended : int, optional
        The k to mark.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

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
    ks = selection_of("plot.delta_area: ks", ks, arrays=ARRAYS)
    counts, recommended = _read_ks("plot.delta_area", ks, recommended)
    values = _argument("plot.delta_area: values", values, ks, "delta_area")
    gains = numbers("plot.delta_area: values", values, (len(counts),), nan=True)
    ax = axes(ax, (5.2, 3.6))
    ax.plot(counts, gains, color=OKABE_ITO[0], marker="o", markersize=5)
    ax.axhline(0.0, color=QUIET, linewidth=0.8, zorder=0)
    if mark := _mark_recommended(ax, counts, recommended):
        legend_beside(ax, [mark], [f"recommended\nk = {recommended}"])
    _k_axis(ax, counts)
    ax.set_xlabel("k")
    ax.set_ylabel("relative gain in area")
    plain(ax)
    return ax
