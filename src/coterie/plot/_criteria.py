"""Choosing k: every criterion beside what it would be without structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, check_parameters
from coterie.core.types import FloatArray, IntArray
from coterie.plot._check import MAPPING, K, numbers
from coterie.plot._choice import (
    Choice,
    counted,
    is_choice,
    k_axis,
    mark_recommended,
    needed,
    with_choice,
)
from coterie.plot._palette import INK, OKABE_ITO, QUIET
from coterie.plot.canvas import axes, legend_below, panels, plain, shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# the criteria of select_k as they are to be read; the arrow points to where it is better
KNOWN = {
    "anmi": "ANMI ↑",
    "cophenetic": "cophenetic correlation ↑",
    "crossing": "crossing ↓",
    "delta_area": "delta area ↑",
    "eigengap": "eigengap ↑",
    "lifetime": "lifetime ↑",
    "pac": "PAC ↓",
    "stability": "stability ↑",
}


def criteria(
    ks: ArrayLike | Choice,
    values: Mapping[str, ArrayLike] | None = None,
    *,
    null: Mapping[str, ArrayLike] | None = None,
    votes: Mapping[str, int] | None = None,
    recommended: int | None = None,
    columns: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every criterion over k, beside what it would be for data without structure.

    Parameters
    ----------
    ks : array of shape (K,), or Selection
        The numbers of clusters; a Selection brings all the rest.
    values : mapping of name to array of shape (K,)
        The criteria; NaN where undefined.
    null : mapping of name to array of shape (K,), optional
        The same under the null model, drawn dashed; criteria without one may be left out.
    votes : mapping of name to int, optional
        The k that each criterion prefers, ringed.
    recommended : int, optional
        The k of the recommendation; 1 stands for no structure.
    columns : int, optional
        Panels side by side; by default what fits.
    ax : Axes, optional

    Returns
    -------
    Axes
        Each of ``ax.child_axes`` is the panel of one criterion, in the order of ``values``: its
        ``lines[0]`` the criterion, ``lines[1]`` the null model (if given).

    Examples
    --------
    >>> from coterie.plot import criteria
    >>> ax = criteria([2, 3, 4], {"pac": [0.2, 0.0, 0.1]}, votes={"pac": 3}, recommended=3)
    >>> panel = ax.child_axes[0]
    >>> panel.get_title(loc="left"), panel.lines[0].get_ydata().tolist()
    ('PAC ↓', [0.2, 0.0, 0.1])
    """
    if is_choice(ks):
        values, null, votes, recommended = with_choice(
            ks, {"criteria": values, "null": null, "votes": votes, "recommended": recommended}
        )
    check_parameters(
        "plot.criteria",
        {"null": null, "votes": votes, "recommended": recommended, "columns": columns},
        {
            "null": MAPPING,
            "votes": MAPPING,
            "recommended": K,
            "columns": Integer(1, 1000, optional=True),
        },
    )
    counts = counted("plot.criteria", ks)
    found = _by_name("plot.criteria", "values", needed("plot.criteria", "values", values), counts)
    if not found:
        raise ParameterError("plot.criteria: values is empty: there is no criterion to draw")
    without = _by_name("plot.criteria", "null", null or {}, counts)
    preferred = {} if votes is None else dict(votes)
    for argument, names in (("null", without), ("votes", preferred)):
        stray = [name for name in names if name not in found]
        if stray:
            raise ParameterError(
                f"plot.criteria: {argument} names {stray[0]!r}, which values does not hold"
            )
    if columns is None:
        columns = min(len(found), 1 if len(found) == 1 else 2 if len(found) <= 4 else 3)
    columns = int(columns)
    rows = -(-len(found) // columns)
    ax = axes(ax, (max(2.9 * columns + 0.6, 4.6), 1.9 * rows + 0.9))
    handles: dict[str, Artist] = {}
    drawn = panels(ax, len(found), columns, (44.0, 44.0))
    for (name, line), panel in zip(found.items(), drawn, strict=True):
        (handles["measured"],) = panel.plot(
            counts, line, color=OKABE_ITO[0], marker="o", markersize=3.5
        )
        if name in without:
            (handles["without structure"],) = panel.plot(
                counts, without[name], color=QUIET, linestyle=(0, (4, 2)), zorder=1
            )
        at = np.flatnonzero(counts == preferred.get(name, -1))
        if at.size and np.isfinite(line[at[0]]):
            handles["this criterion's choice"] = _ring(panel, counts[at], line[at])
        for mark in mark_recommended(panel, counts, recommended):
            handles[f"recommended k = {recommended}"] = mark
        title = KNOWN.get(name) or shown(name.replace("_", " "))
        panel.set_title(title, loc="left", fontsize="medium")
        panel.margins(y=0.12)
        k_axis(panel, counts)
        panel.tick_params(labelsize="small")
        plain(panel)
    for panel in drawn[-columns:]:
        panel.set_xlabel("k")
    height = ax.get_window_extent().height / (ax.figure.dpi / 72)
    legend_below(ax, list(handles.values()), list(handles), drop=38.0 / max(height, 38.0))
    if recommended == 1:
        ax.set_title(
            "recommended: one cluster, no stable structure", loc="left", pad=20.0, fontsize="medium"
        )
    return ax


def _ring(panel: Axes, at: IntArray, level: FloatArray) -> Artist:
    (ring,) = panel.plot(
        at,
        level,
        linestyle="none",
        marker="o",
        markersize=10.0,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.4,
        zorder=4,
    )
    return ring


def _by_name(
    owner: str, argument: str, given: Mapping[str, ArrayLike], counts: IntArray
) -> dict[str, FloatArray]:
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"{owner}: {argument} must be a mapping of name to numbers, "
            f"but is {type(given).__name__}"
        )
    return {
        str(name): numbers(owner, f"{argument}[{name!r}]", line, (len(counts),), nan=True)
        for name, line in given.items()
    }
