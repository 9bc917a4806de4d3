"""Methods side by side: bars, and mean ranks with their critical difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Kind, as_float, check_parameters
from coterie.core.types import FloatArray
from coterie.plot.canvas import axes, plain, shown
from coterie.plot.checks import numbers
from coterie.plot.colours import INK, OKABE_ITO, QUIET
from coterie_bench.pictures._domains import FLAG, MAPPING, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# ------------------------------------------------------------------ bars


BARS = "pictures.bars"
# share of the axis reserved for the number at the end of the longest bar
TAIL = 0.24
UNKNOWN = "no result"


def bars(
    names: Sequence[str],
    values: ArrayLike,
    *,
    spread: ArrayLike | None = None,
    absent: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    stressed: Sequence[str] = (),
    log: bool = False,
    form: str = "{:.3g}",
    xlabel: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one horizontal bar per name, the first at the top, with its number at its end.

    Parameters
    ----------
    names : sequence of K names
    values : array of shape (K,)
        NaN where there is no result: drawn as a hatched bar across the whole axis with the reason,
        never as a bar of length 0.
    spread : array of shape (K,), optional
        Half the length of an error bar, such as a standard deviation.
    absent : mapping of name to text, optional
        Why a name has no value ("time cap").
    notes : mapping of name to text, optional
        Text after the number ("2 of 10 runs failed").
    stressed : sequence of names, optional
        Drawn in another colour, and hatched for grey print.
    log : bool, default False
        Whether the axis is logarithmic. It then begins at a power of ten below the smallest value, so
        lengths compare orders of magnitude.
    form : str, default "{:.3g}"
        Format of the number at the end of a bar.
    xlabel : str, optional
        Title of the axis.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.patches`` are the bars from the top down.

    Examples
    --------
    >>> from coterie_bench.pictures import bars
    >>> ax = bars(["eac", "drec"], [0.5, float("nan")], absent={"drec": "time cap"}, log=True)
    >>> round(float(ax.patches[0].get_x() + ax.patches[0].get_width()), 3)
    0.5
    >>> [text.get_text() for text in ax.texts]
    ['0.5', 'time cap']
    """
    check_parameters(
        BARS,
        {"names": names, "absent": absent, "notes": notes, "stressed": stressed, "log": log},
        {"names": NAMES, "absent": MAPPING, "notes": MAPPING, "stressed": NAMES, "log": FLAG},
    )
    try:
        form.format(1.0)
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ParameterError(
            f"{BARS}: form must be a format of a number such as '{{:.3g}}', but is {form!r}"
        ) from None
    named = [str(name) for name in names]
    if not named:
        raise ParameterError(f"{BARS}: names is empty: there is nothing to draw")
    lengths = numbers(f"{BARS}: values", values, (len(named),), nan=True)
    if log and (lengths <= 0).any():
        i = int(np.argmax(lengths <= 0))
        raise ParameterError(
            f"{BARS}: a logarithmic axis cannot show {float(lengths[i])!r} ({named[i]}); use "
            "log=False, or NaN where there is no result"
        )
    half = None
    if spread is not None:
        half = np.nan_to_num(numbers(f"{BARS}: spread", spread, (len(named),), nan=True))
    ax = axes(ax, (4.8, float(np.clip(0.9 + 0.24 * len(named), 1.6, 14.0))))
    left, right = _range(lengths, half, log)
    ax.set_xscale("log" if log else "linear")
    if log:
        from matplotlib.ticker import NullFormatter

        # over few powers of ten matplotlib would also label minor ticks, which then overlap
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(left, right)
    for row, (name, length) in enumerate(zip(named, lengths.tolist(), strict=True)):
        after = "" if notes is None or name not in notes else f" ({notes[name]})"
        if np.isnan(length):
            why = (absent or {}).get(name, UNKNOWN)
            ax.barh(
                row, right - left, 0.7, left=left, facecolor="white", edgecolor="#BBBBBB",
                hatch="////", linewidth=0.6,
            )  # fmt: skip
            _write(ax, row, left, f"{why}{after}", 6.0, boxed=True)
            continue
        stress = name in stressed
        ax.barh(
            row, length - left, 0.7, left=left, facecolor=OKABE_ITO[5 if stress else 0],
            edgecolor="white", hatch="////" if stress else None, linewidth=0.0,
        )  # fmt: skip
        end = length
        if half is not None and half[row] > 0:
            ax.plot([length - half[row], length + half[row]], [row, row], color=INK, linewidth=1.0)
            end = length + half[row]
        _write(ax, row, max(end, left), f"{form.format(length)}{after}", 3.0)
    ax.set_ylim(len(named) - 0.4, -0.6)
    ax.set_yticks(np.arange(len(named)), [shown(name) for name in named])
    ax.tick_params(axis="y", length=0)
    if xlabel is not None:
        ax.set_xlabel(xlabel)
    plain(ax)
    return ax


def _range(lengths: FloatArray, half: FloatArray | None, log: bool) -> tuple[float, float]:
    known = lengths[np.isfinite(lengths)]
    if not known.size:
        return (0.1, 1.0) if log else (0.0, 1.0)
    if log:
        left = 10.0 ** np.floor(np.log10(known.min()) - 0.15)
        top = max(float(known.max()), 10 * left)
        return float(left), float(left * (top / left) ** (1 / (1 - TAIL)))
    ends = lengths if half is None else lengths + half
    starts = lengths if half is None else lengths - half
    left = min(0.0, float(np.nanmin(starts)))
    top = max(float(np.nanmax(ends)), 0.0)
    if top == left:
        top = left + 1.0
    return left, left + (top - left) / (1 - TAIL)


def _write(ax: Axes, row: int, at: float, text: str, gap: float, *, boxed: bool = False) -> None:
    ax.annotate(
        shown(text, 60),
        (at, row),
        xytext=(gap, 0.0),
        textcoords="offset points",
        va="center",
        fontsize="small",
        color=QUIET if boxed else INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.2} if boxed else None,
        annotation_clip=False,
    )


# ------------------------------------------------------------------ ranks


RANKS = "pictures.ranks"
# NaN means that it could not be computed
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
    """Draw methods along an axis of mean ranks; thick bars join methods that do not differ significantly.

    Parameters
    ----------
    names : sequence of K names
    ranks : array of shape (K,)
        Mean rank of each name; 1 is best.
    critical_difference : float, optional
        Ranks closer than this are joined; None or NaN if not tested.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The first of ``ax.texts`` are the methods and their ranks, the best first. The joining bars are
        the ``ax.lines`` with the gid "group".

    Examples
    --------
    >>> from coterie_bench.pictures import ranks
    >>> ax = ranks(["a", "b", "c"], [1.2, 1.9, 2.9], 0.9)
    >>> [text.get_text() for text in ax.texts][:3]
    ['a  1.20', 'b  1.90', '2.90  c']
    >>> [line.get_xdata().tolist() for line in ax.lines if line.get_gid() == "group"]
    [[1.2, 1.9]]
    """
    check_parameters(
        RANKS,
        {"names": names, "critical_difference": critical_difference},
        {"names": NAMES, "critical_difference": CRITICAL},
    )
    named = [str(name) for name in names]
    if not named:
        raise ParameterError(f"{RANKS}: names is empty: there is nothing to draw")
    mean_ranks = numbers(f"{RANKS}: ranks", ranks, (len(named),))
    apart = np.nan if critical_difference is None else float(critical_difference)
    order = np.argsort(mean_ranks, kind="stable")
    sorted_ranks, sorted_names = mean_ranks[order], [named[i] for i in order.tolist()]
    groups = joined(sorted_ranks, apart)
    half = -(-len(named) // 2)
    # in units of a line of text below the axis: bars first, then the names
    first = 1.0 + 0.55 * len(groups)
    ax = axes(ax, (5.6, float(1.0 + 0.22 * (first + half))))
    low, high = (
        min(1.0, float(np.floor(sorted_ranks[0]))),
        max(float(np.ceil(sorted_ranks[-1])), 2.0),
    )
    margin = 0.08 * (high - low)
    ax.hlines(0.0, low, high, color=INK, linewidth=1.0)
    for depth, (start, stop) in enumerate(groups):
        level = 0.55 + 0.55 * depth
        ends = [float(sorted_ranks[start]), float(sorted_ranks[stop])]
        ax.plot(
            ends, [level, level], color=OKABE_ITO[5], linewidth=3.2, solid_capstyle="butt",
            gid="group", zorder=3,
        )  # fmt: skip
    for i, (name, rank) in enumerate(zip(sorted_names, sorted_ranks.tolist(), strict=True)):
        better = i < half
        line = first + (i if better else len(named) - 1 - i)
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
    """Longest groups of sorted ranks whose ends are closer than the critical difference."""
    if not np.isfinite(apart):
        return []
    groups: list[tuple[int, int]] = []
    for start in range(len(ranks)):
        near = np.flatnonzero(ranks - ranks[start] < apart)
        stop = int(near[-1]) if near.size else start
        if stop > start and (not groups or stop > groups[-1][1]):
            groups.append((start, stop))
    return groups
