"""What all pictures share: an Axes to draw on, text that stays text, legends beside the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coterie.core.errors import ParameterError
from coterie.plot.colours import QUIET

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.legend import Legend

MISSING = 'coterie.plot needs matplotlib: pip install "coterie[plot]"'
# legend entries below each other before a second column is opened, and in all
COLUMN, ENTRIES = 16, 32
LONGEST = 28
# room under the Axes for ticks and the axis's name, in points
UNDER = 30.0


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given Axes, or one on a new figure of this size (inches) that pyplot does not know."""
    try:
        from matplotlib.axes import Axes
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    if ax is None:
        return Figure(figsize=size, layout="constrained").add_subplot()
    if not isinstance(ax, Axes):
        raise ParameterError(
            f"ax must be a matplotlib Axes or None, but is {type(ax).__name__}; of an array of Axes, "
            "as plt.subplots(1, 2) gives it, take one"
        )
    return ax


def settle(ax: Axes) -> None:
    """Lay a figure of our own out twice: with a square picture the first layout is not the last.

    Matplotlib lays out once when it draws, which would leave names cut at the edge.
    """
    from matplotlib.figure import Figure

    figure = ax.figure
    assert isinstance(figure, Figure)
    engine = figure.get_layout_engine()
    assert engine is not None
    for _ in range(2):
        engine.execute(figure)


def shown(text: object, longest: int = LONGEST) -> str:
    """A name from the user's data as it is to be read: one line, not too long, ``$`` a dollar sign."""
    # halves of a character, as a damaged name may hold, have no shape to draw
    words = " ".join(str(text).encode(errors="replace").decode().split())
    if len(words) > longest:
        words = f"{words[: longest - 1]}…"
    # an escaped dollar is printed as one; a bare pair of them would be typeset as a formula
    return words.replace("$", r"\$")


def plain(ax: Axes) -> None:
    """Only the two spines that carry numbers."""
    ax.spines[["top", "right"]].set_visible(False)


def legend_beside(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], title: str | None = None
) -> Legend | None:
    """A legend at the right of the Axes, where it covers nothing; long ones are cut and say so."""
    if not handles:
        return None
    kept, words = list(handles), list(names)
    if len(kept) > ENTRIES:
        left_out = len(kept) - ENTRIES + 1
        kept, words = kept[: ENTRIES - 1], words[: ENTRIES - 1]
        kept.append(_nothing())
        words.append(f"and {left_out:,} more")
    return _legend(
        ax,
        kept,
        words,
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        ncols=-(-len(kept) // COLUMN),
        fontsize="small" if len(kept) > COLUMN else None,
    )


def legend_under(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], *, drop: float = UNDER
) -> Legend | None:
    """A legend in as many columns as fit, its top ``drop`` points below the Axes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import ScaledTranslation

    if not handles:
        return None
    # a character of the legend's font is about half as wide as it is high
    height = float(FontProperties(size="small").get_size_in_points())
    entry = (max(len(name) for name in names) * 0.55 + 4.2) * height
    room = ax.get_window_extent().width / (ax.figure.dpi / 72) * 1.15
    return _legend(
        ax,
        handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0.0, -drop / 72, ax.figure.dpi_scale_trans),
        borderaxespad=0.0,
        ncols=max(1, min(len(handles), int(room / entry))),
        fontsize="small",
        columnspacing=1.0,
    )


def _legend(ax: Axes, handles: Sequence[Artist], names: Sequence[str], **position: Any) -> Legend:
    # matplotlib leaves out entries that begin with an underscore: the names are set afterwards
    legend = ax.legend(
        handles=list(handles),
        labels=["x"] * len(handles),
        frameon=False,
        alignment="left",
        handlelength=1.4,
        **position,
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)
    return legend


def _nothing() -> Artist:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none")


def colour_bar(ax: Axes, image: AxesImage, words: str) -> None:
    """The scale of an image at its right side, as high as the image."""
    place = ax.inset_axes((1.03, 0.0, 0.04, 1.0))
    bar = ax.figure.colorbar(image, cax=place)
    bar.outline.set_visible(False)
    bar.set_label(words)


def note(ax: Axes, text: str) -> None:
    """A quiet line above the data, in the place of a title, that says what was left out or pooled."""
    ax.set_title(text, fontsize="small", color=QUIET, loc="left")


def panels(ax: Axes, count: int, columns: int, gap: tuple[float, float]) -> list[Axes]:
    """Small Axes in rows within a large one, with gaps (points, across and down) for their text.

    They are the children of ``ax``, in ``ax.child_axes``; ``ax`` itself shows title and legend only.
    """
    ax.set_axis_off()
    rows = -(-count // columns)
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    across = gap[0] / 72 * dpi / max(box.width, 1.0)
    down = gap[1] / 72 * dpi / max(box.height, 1.0)
    width = max((1.0 - (columns - 1) * across) / columns, 0.3 / columns)
    height = max((1.0 - (rows - 1) * down) / rows, 0.3 / rows)
    step_x = (1.0 - width) / max(columns - 1, 1)
    step_y = (1.0 - height) / max(rows - 1, 1)
    return [
        ax.inset_axes(
            ((place % columns) * step_x, 1.0 - height - (place // columns) * step_y, width, height)
        )
        for place in range(count)
    ]
