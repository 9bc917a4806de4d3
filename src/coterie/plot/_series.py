"""Many series in one picture: told apart by colour, marker and stroke, so that grey print will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from coterie.plot._palette import palette
from coterie.plot.canvas import _legend

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

MARKERS = "osD^vPX*<>hp"
# coprime with the number of markers, so that pairs repeat late
STROKES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (5, 1.4, 1.2, 1.4)),
    (0, (8, 2)),
)
# room under the Axes for ticks and the axis's name, in points
UNDER = 30.0


def strokes(count: int) -> list[dict[str, Any]]:
    """How to draw each of so many lines."""
    return [
        {
            "color": colour,
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": STROKES[place % len(STROKES)],
            "linewidth": 1.2,
            "markersize": 4.0,
        }
        for place, colour in enumerate(palette(count))
    ]


def legend_under(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], *, drop: float = UNDER
) -> Legend | None:
    """A legend in as many columns as fit, its top so many points below the Axes."""
    from matplotlib.transforms import ScaledTranslation

    if not handles:
        return None
    figure = ax.figure
    # a character of the legend's font is about half as wide as it is high
    longest = max(len(name) for name in names) * 0.55 + 4.2
    room = ax.get_window_extent().width / (figure.dpi / 72) * 1.15
    columns = max(1, min(len(handles), int(room / (longest * _points(ax)))))
    return _legend(
        ax,
        handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + ScaledTranslation(0.0, -drop / 72, ax.figure.dpi_scale_trans),
        borderaxespad=0.0,
        ncols=columns,
        fontsize="small",
        columnspacing=1.0,
    )


def _points(ax: Axes) -> float:
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size="small").get_size_in_points())
