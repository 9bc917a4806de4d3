"""A score over two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Kind, check_parameters
from coterie.core.types import FloatArray
from coterie.plot._check import NAMES, numbers
from coterie.plot._curves import place_of, word
from coterie.plot._palette import INK, SEQUENTIAL
from coterie.plot.canvas import axes, colour_bar, settle, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWNER = "plot.score_map"
# a score is written into each cell of a map no wider than this
WRITTEN = 7
NOTHING = "#D9D9D9"


def score_map(
    values: ArrayLike,
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    row_name: str | None = None,
    column_name: str | None = None,
    name: str | None = None,
    marked: tuple[Any, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a score for each pair of values of two parameters, dark where it is high.

    Parameters
    ----------
    values : array of shape (R, C)
        NaN where there is no result, drawn grey with a cross.
    rows, columns : sequences of R and C values
        The parameters' values, spaced evenly; the first row is drawn at the bottom.
    row_name, column_name : str, optional
        The parameters.
    name : str, optional
        What the score is, beside the colour bar.
    marked : pair of values, optional
        Row and column of the cell that a frame stands around, such as the default setting.
    ax : Axes, optional

    Returns
    -------
    Axes
        ``ax.images[0]`` holds the values. A ring marks the highest.

    Examples
    --------
    >>> from coterie.plot import score_map
    >>> ax = score_map([[0.2, 0.5], [0.4, 0.1]], [0.1, 0.2], [1, 10], marked=(0.1, 10))
    >>> ax.images[0].get_array().tolist(), [t.get_text() for t in ax.get_xticklabels()]
    ([[0.2, 0.5], [0.4, 0.1]], ['1', '10'])
    """
    check_parameters(
        OWNER,
        {"rows": rows, "columns": columns, "marked": marked},
        {
            "rows": NAMES,
            "columns": NAMES,
            "marked": Kind(
                lambda value: (
                    value is None or (isinstance(value, tuple | list) and len(value) == 2)
                ),
                "None or a pair (row, column)",
            ),
        },
    )
    down, across = [*rows], [*columns]
    drawn = numbers(OWNER, "values", values, (len(down), len(across)), nan=True)
    if np.isnan(drawn).all():
        raise ParameterError(f"{OWNER}: values holds no result: there is nothing to draw")
    own, ax = ax is None, axes(ax, (5.4, 4.2))
    low, high = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    if high == low:
        # one colour for one value, whatever it is
        low, high = low - 0.5, high + 0.5
    image = ax.imshow(drawn, cmap=SEQUENTIAL, vmin=low, vmax=high, origin="lower", aspect="auto")
    colour_bar(ax, image, "score" if name is None else shown(name, 60))
    ax.set_facecolor(NOTHING)
    for row, column in np.argwhere(np.isnan(drawn)).tolist():
        ax.plot(column, row, marker="x", color=INK, markersize=5, linestyle="none")
    _write(ax, drawn, low, high)
    ax.set_yticks(np.arange(len(down)), [word(value) for value in down])
    ax.set_xticks(np.arange(len(across)), [word(value) for value in across])
    if sum(len(word(value)) for value in across) > 36:
        ax.tick_params(axis="x", labelrotation=90)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if row_name is not None:
        ax.set_ylabel(shown(row_name))
    if column_name is not None:
        ax.set_xlabel(shown(column_name))
    notes = _marks(ax, drawn, down, across, marked)
    ax.set_title(notes, fontsize="small", loc="left")
    if own:
        settle(ax)
    return ax


def _write(ax: Axes, drawn: FloatArray, low: float, high: float) -> None:
    if max(drawn.shape) > WRITTEN:
        return
    for (row, column), value in np.ndenumerate(drawn):
        if np.isfinite(value):
            ax.text(
                column,
                row,
                f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}",
                ha="center",
                va="center",
                fontsize="small",
                color="white" if value > low + 0.6 * (high - low) else "black",
            )


def _marks(
    ax: Axes,
    drawn: FloatArray,
    down: list[Any],
    across: list[Any],
    marked: tuple[Any, Any] | None,
) -> str:
    """The frame around the default and the ring at the best; what they say, for the title."""
    from matplotlib.patches import Rectangle

    row, column = np.unravel_index(np.nanargmax(drawn), drawn.shape)
    words = f"best {drawn[row, column]:.3f}"
    best = int((drawn == drawn[row, column]).sum())
    if max(drawn.shape) > WRITTEN and best == 1:
        ax.plot(
            column, row, marker="o", markersize=6, linestyle="none",
            markerfacecolor="none", markeredgecolor="white",
        )  # fmt: skip
        words = f"○ {words}"
    found = (
        (None, None) if marked is None else (place_of(marked[0], down), place_of(marked[1], across))
    )
    if found[0] is not None and found[1] is not None:
        at = (found[0], found[1])
        frame = Rectangle(
            (at[1] - 0.5, at[0] - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=1.6, zorder=4
        )
        frame.set_clip_on(False)
        ax.add_patch(frame)
        value = drawn[at]
        words += f"; □ default {'without a result' if np.isnan(value) else f'{value:.3f}'}"
    return words
