"""Parts of all pictures: the Axes to draw on, text from the user's data, legends and panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coterie.core.errors import ParameterError
from coterie.core.packages import require_package
from coterie.core.text import plain as plain_text
from coterie.plot.colours import QUIET

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from matplotlib.legend import Legend

# name of the figure that pyplot keeps if it cannot show any
HIDDEN = "coterie"
# legend entries per column, and in total
COLUMN, ENTRIES = 16, 32
LONGEST = 28
# points under the Axes for the ticks and the title of the axis
UNDER = 30.0


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return ``ax``, or Axes on a new figure of this size (inches), the current one of pyplot.

    A backend that cannot show figures would keep all of them in memory until they are closed. There,
    the new figure replaces the last one of this package in pyplot; Axes of earlier figures stay valid.
    """
    require_package("coterie.plot", "matplotlib", "plot")
    from matplotlib.axes import Axes

    if ax is None:
        return _new_figure(size).add_subplot()
    if not isinstance(ax, Axes):
        raise ParameterError(
            f"ax must be a matplotlib Axes or None, but is {type(ax).__name__}; plt.subplots(1, 2) "
            "returns an array of Axes: pass one of them"
        )
    return ax


def _new_figure(size: tuple[float, float]) -> Figure:
    from matplotlib import pyplot
    from matplotlib.backends.registry import BackendFilter, backend_registry

    # without annotations
    registry: Any = backend_registry
    silent = registry.list_builtin(BackendFilter.NON_INTERACTIVE)
    name = HIDDEN if pyplot.get_backend().lower() in silent else None
    if name in pyplot.get_figlabels():
        pyplot.close(name)
    return pyplot.figure(name, figsize=size, layout="constrained")


def settle(ax: Axes) -> None:
    """Lay out a new figure twice, because the first layout moves a square picture.

    Matplotlib lays out once when it draws, which would cut off names at the edge.
    """
    from matplotlib.figure import Figure

    figure = ax.figure
    assert isinstance(figure, Figure)
    engine = figure.get_layout_engine()
    assert engine is not None
    for _ in range(2):
        engine.execute(figure)


def shown(text: object, longest: int = LONGEST) -> str:
    """A name from the user's data for display: one line, shortened, with ``$`` escaped."""
    # a pair of bare dollars would be typeset as a formula
    return plain_text(" ".join(str(text).split()), longest).replace("$", r"\$")


def plain(ax: Axes) -> None:
    """Hide the spines that carry no numbers."""
    ax.spines[["top", "right"]].set_visible(False)


def legend_beside(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], title: str | None = None
) -> Legend:
    """A legend to the right of the Axes. A long one ends with the number of entries left out."""
    from matplotlib.lines import Line2D

    kept, words = list(handles), list(names)
    if len(kept) > ENTRIES:
        left_out = len(kept) - ENTRIES + 1
        kept, words = kept[: ENTRIES - 1], words[: ENTRIES - 1]
        kept.append(Line2D([], [], linestyle="none"))
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
) -> Legend:
    """A legend in as many columns as fit, its top ``drop`` points below the Axes."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import ScaledTranslation

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
    # the names are set afterwards, because matplotlib leaves out entries that begin with an underscore
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


def colour_bar(ax: Axes, image: AxesImage, words: str) -> None:
    """A colour bar to the right of an image, as high as the image."""
    cax = ax.inset_axes((1.03, 0.0, 0.04, 1.0))
    bar = ax.figure.colorbar(image, cax=cax)
    bar.outline.set_visible(False)
    bar.set_label(words)


def note(ax: Axes, text: str) -> None:
    """A small grey line instead of a title, which says what was left out or pooled."""
    ax.set_title(text, fontsize="small", color=QUIET, loc="left")


def panels(ax: Axes, count: int, columns: int, gap: tuple[float, float]) -> list[Axes]:
    """Split an Axes into rows of panels, with gaps (points, across and down) for their text.

    The panels are ``ax.child_axes``; ``ax`` itself shows only title and legend.
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
            ((i % columns) * step_x, 1.0 - height - (i // columns) * step_y, width, height)
        )
        for i in range(count)
    ]
