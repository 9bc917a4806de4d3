"""Lines: scores over a varied quantity, and precision and recall of the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Choice, Real, check_parameters
from coterie.core.types import FloatArray
from coterie.plot.canvas import axes, legend_under, note, panels, plain, shown
from coterie.plot.checks import numbers_by_name
from coterie.plot.colours import INK, OKABE_ITO, QUIET, palette
from coterie_bench.evidence_quality import EvidenceQuality
from coterie_bench.pictures._domains import MAPPING, NAMES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# ------------------------------------------------------------------ many lines in one picture


MARKERS = "osD^vPX*<>hp"
# their number is coprime with that of the markers, so that pairs repeat late
STROKES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.6)),
    (0, (1.2, 1.2)),
    (0, (5, 1.4, 1.2, 1.4)),
    (0, (8, 2)),
)


def strokes(count: int) -> list[dict[str, Any]]:
    """Colour, marker and stroke of each line, so that they differ in grey print too."""
    return [
        {
            "color": colour,
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": STROKES[i % len(STROKES)],
            "linewidth": 1.2,
            "markersize": 4.0,
        }
        for i, colour in enumerate(palette(count))
    ]


# ------------------------------------------------------------------ curves


# values whose ratio exceeds this are drawn on a logarithmic axis
DECADES = 30.0
OWNER = "pictures.curves"
Scale = Literal["linear", "log", "even"]


def curves(
    x: Sequence[Any] | ArrayLike,
    lines: Mapping[str, ArrayLike],
    *,
    spread: Mapping[str, ArrayLike] | None = None,
    partial: Mapping[str, ArrayLike] | None = None,
    levels: Mapping[str, float] | None = None,
    marked: Any = None,
    marked_name: str = "default",
    scale: Scale | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per name over a varied quantity, with a band of one standard deviation.

    Numbers that span decades get a logarithmic axis; text, None, and zeros among decades are spaced
    evenly.

    Parameters
    ----------
    x : sequence of K numbers, or of K values of any kind
        Values of the varied quantity.
    lines : mapping of name to array of shape (K,)
        NaN where there is no result: drawn as a cross above the axis, never as 0.
    spread : mapping of name to array of shape (K,), optional
        Half the height of the band; NaN where unknown.
    partial : mapping of name to array of shape (K,), optional
        True where some runs of a point have no result; the point is drawn hollow.
    levels : mapping of name to float, optional
        Values that do not depend on x, drawn as dashed horizontal lines.
    marked : value of x, optional
        Value marked by a thin vertical line.
    marked_name : str, default "default"
        Name of that line.
    scale : {"linear", "log", "even"}, optional
        Scale of x; chosen by its values if not given.
    xlabel, ylabel : str, optional
        Titles of the axes.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        The first lines of ``ax.lines`` are those of the names, in order.

    Examples
    --------
    >>> from coterie_bench.pictures import curves
    >>> ax = curves([0.01, 1, 100], {"eac": [0.4, 0.5, 0.3]}, marked=1, xlabel="theta")
    >>> ax.get_xscale(), ax.lines[0].get_ydata().tolist()
    ('log', [0.4, 0.5, 0.3])
    """
    check_parameters(
        OWNER,
        {"x": x, "lines": lines, "spread": spread, "partial": partial, "scale": scale},
        {
            "x": NAMES,
            "lines": MAPPING,
            "spread": MAPPING,
            "partial": MAPPING,
            "scale": Choice(("linear", "log", "even", None)),
        },
    )
    heights = levels_of(levels)
    given = [*x] if isinstance(x, Sequence) else np.asarray(x).tolist()
    if not given:
        raise ParameterError(f"{OWNER}: x is empty: there is nothing to draw")
    if not lines:
        raise ParameterError(f"{OWNER}: lines is empty: there is nothing to draw")
    line_values = numbers_by_name(f"{OWNER}: lines", lines, len(given))
    bands = numbers_by_name(f"{OWNER}: spread", spread or {}, len(given))
    hollow = numbers_by_name(f"{OWNER}: partial", partial or {}, len(given))
    for argument, names in (("spread", bands), ("partial", hollow)):
        if stray := names.keys() - line_values.keys():
            raise ParameterError(
                f"{OWNER}: {argument} has the name {sorted(stray)[0]!r}, which is not in lines"
            )
    ax = axes(ax, (4.6, 3.4))
    positions, scale = layout(given, scale)
    handles: dict[str, Artist] = {}
    ax.set_xscale("log" if scale == "log" else "linear")
    styles = dict(zip(line_values, strokes(len(line_values)), strict=True))
    for name, line in line_values.items():
        (handles[shown(name)],) = ax.plot(positions, line, **styles[name])
    for name, line in line_values.items():
        colour = styles[name]["color"]
        if name in bands:
            half = np.nan_to_num(bands[name])
            ax.fill_between(
                positions, line - half, line + half, color=colour, alpha=0.13, linewidth=0, zorder=1
            )
        if name in hollow:
            at = (hollow[name] > 0) & np.isfinite(line)
            ax.plot(
                positions[at],
                line[at],
                linestyle="none",
                marker=styles[name]["marker"],
                markersize=4.0,
                markerfacecolor="white",
                markeredgecolor=colour,
                zorder=3,
            )
    for i, (name, level) in enumerate(heights.items()):
        stroke = ((0, (4, 2)), (0, (1, 1.5)))[i % 2]
        handles[shown(name)] = ax.axhline(
            level, color=QUIET, linestyle=stroke, linewidth=1.0, zorder=0
        )
    if (spot := index_of(marked, given)) is not None:
        handles[shown(f"{marked_name} ({word(marked)})")] = ax.axvline(
            positions[spot], color=INK, linewidth=0.7, zorder=0
        )
    ax.margins(y=0.08)
    _mark_absent(ax, positions, line_values, styles)
    _ticks(ax, given, positions, scale)
    remarks = []
    if any((hollow[name] > 0).any() for name in hollow):
        remarks.append("hollow: some runs without a result")
    if any(np.isnan(line).any() for line in line_values.values()):
        remarks.append("×: no result")
    if remarks:
        note(ax, "; ".join(remarks))
    if xlabel is not None:
        ax.set_xlabel(xlabel)
    if ylabel is not None:
        ax.set_ylabel(ylabel)
    plain(ax)
    if len(handles) > 1:
        legend_under(ax, list(handles.values()), list(handles))
    return ax


def levels_of(given: Mapping[str, float] | None) -> dict[str, float]:
    """The levels as floats, validated."""
    check_parameters(OWNER, {"levels": given}, {"levels": MAPPING})
    levels = dict(given or {})
    check_parameters(OWNER, levels, dict.fromkeys(levels, Real()))
    return {name: float(level) for name, level in levels.items()}


def index_of(wanted: Any, given: Sequence[Any]) -> int | None:
    """The index of a value in a sequence; None if it is not there, or is an array."""
    if wanted is None or isinstance(wanted, list) or hasattr(wanted, "shape"):
        return None
    return next(
        (at for at, value in enumerate(given) if value is wanted or same(value, wanted)), None
    )


def same(first: Any, second: Any) -> bool:
    """Whether two values are equal; False if the comparison is not a single truth value."""
    equal = first == second
    return isinstance(equal, bool | np.bool_) and bool(equal)


def layout(given: Sequence[Any], wanted: Scale | None = None) -> tuple[FloatArray, Scale]:
    """The position of each value, and the scale."""
    even = np.arange(len(given), dtype=np.float64)
    is_number = [isinstance(v, int | float) and not isinstance(v, bool) for v in given]
    if wanted == "even" or not all(is_number):
        if wanted not in (None, "even"):
            odd = given[is_number.index(False)]
            raise ParameterError(f"{OWNER}: scale {wanted!r} needs numbers in x, but has {odd!r}")
        return even, "even"
    values = np.array(given, dtype=np.float64)
    finite, positive = bool(np.isfinite(values).all()), bool((values > 0).all())
    if wanted is not None:
        if not finite or (wanted == "log" and not positive):
            raise ParameterError(f"{OWNER}: x has values that a {wanted} axis cannot show")
        return values, wanted
    if not finite:
        return even, "even"
    sizes = np.abs(values[values != 0])
    if sizes.size and sizes.max() / sizes.min() > DECADES:
        return (values, "log") if positive else (even, "even")
    return values, "linear"


def word(value: Any) -> str:
    """A value of a parameter as text for an axis."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return shown(value)


def _mark_absent(
    ax: Axes,
    positions: FloatArray,
    line_values: dict[str, FloatArray],
    styles: dict[str, dict[str, Any]],
) -> None:
    """Draw a cross above the axis for each point without a result, stacked where they coincide."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    absent = {name: np.isnan(line) for name, line in line_values.items()}
    taken = np.zeros(len(positions))
    for name, at in absent.items():
        for i in np.flatnonzero(at).tolist():
            ax.plot(
                [positions[i]],
                [0.03],
                linestyle="none",
                marker="x",
                markersize=4.5,
                color=styles[name]["color"],
                clip_on=False,
                transform=blended_transform_factory(ax.transData, ax.transAxes)
                + ScaledTranslation(0.0, 6.0 * taken[i] / 72, ax.figure.dpi_scale_trans),
            )
            taken[i] += 1


def _ticks(ax: Axes, given: Sequence[Any], positions: FloatArray, scale: str) -> None:
    from matplotlib.ticker import MaxNLocator, NullLocator

    if scale == "even" or len(given) <= 8:
        ax.set_xticks(positions, [word(value) for value in given])
        ax.xaxis.set_minor_locator(NullLocator())
        if sum(len(word(value)) for value in given) > 40:
            ax.tick_params(axis="x", labelrotation=90)
    elif scale == "linear":
        whole = all(float(value).is_integer() for value in given)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=whole, steps=[1, 2, 5, 10]))


# ------------------------------------------------------------------ evidence


def evidence(
    quality: EvidenceQuality, *, name: str = "co-association", ax: Axes | None = None
) -> Axes:
    """Draw how many pairs of samples have each value, and how many of them are of one class.

    Parameters
    ----------
    quality : EvidenceQuality
        From :func:`coterie_bench.evidence_quality.evidence_quality`.
    name : str, default "co-association"
        Name of the values.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.child_axes`` are two panels. The upper one has one bar per level, the share of all pairs
        (logarithmic, because most pairs are never together). The lower one has three lines: precision
        at or above a value, recall at or above it, and precision of the pairs at that value.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie_bench.evidence_quality import evidence_quality
    >>> from coterie_bench.pictures import evidence
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> ax = evidence(evidence_quality(ensemble, ["a", "a", "b", "b"]))
    >>> ax.child_axes[1].lines[1].get_ydata().tolist()
    [1.0, 1.0, 0.5]
    """
    if not isinstance(quality, EvidenceQuality):
        raise ParameterError(
            "pictures.evidence: quality must be what evidence_quality returns, "
            f"but is {type(quality).__name__}"
        )
    ax = axes(ax, (4.8, 4.4))
    upper, lower = panels(ax, 2, 1, (0.0, 16.0))
    step = float(quality.values[1])
    share = quality.share
    upper.set_yscale("log")
    if (share > 0).any():
        upper.bar(
            quality.values[share > 0], share[share > 0], 0.8 * step, color=OKABE_ITO[4], linewidth=0
        )
    upper.set_ylabel("share of pairs")
    upper.tick_params(labelbottom=False)
    styles = (
        ("precision at or above", quality.precision, OKABE_ITO[0], "o", "-"),
        ("recall at or above", quality.recall, OKABE_ITO[5], "s", (0, (5, 1.6))),
        ("precision at the value", quality.precision_at, QUIET, "", (0, (1.2, 1.2))),
    )
    handles = [
        lower.plot(
            quality.values, line, color=colour, marker=marker, linestyle=stroke, markersize=3.5,
            linewidth=1.2,
        )[0]
        for _, line, colour, marker, stroke in styles
    ]  # fmt: skip
    lower.set_ylim(-0.03, 1.03)
    lower.set_ylabel("precision, recall")
    lower.set_xlabel(name)
    for panel in (upper, lower):
        panel.set_xlim(-0.7 * step, 1 + 0.7 * step)
        plain(panel)
    if np.isnan(quality.recall).all():
        note(upper, "no two samples are of one class")
    legend_under(lower, handles, [words for words, *_ in styles])
    return ax
