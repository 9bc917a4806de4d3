"""Maps in colour: a score over two parameters, and matrices of one ensemble side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, Kind, check_parameters
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble, require_ensemble
from coterie.plot.arrange import Spans, arrange, bin_count, bin_weights, block_means
from coterie.plot.canvas import axes, colour_bar, note, panels, settle, shown
from coterie.plot.checks import label_codes, numbers
from coterie.plot.colours import INK, SEQUENTIAL
from coterie_bench.pictures._curves import index_of, word
from coterie_bench.pictures._domains import FLAG, MAPPING, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# ------------------------------------------------------------------ scores over two parameters


SCORE_MAP = "pictures.score_map"
# larger maps have no numbers in their cells
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
    """Draw the score for each pair of values of two parameters; dark is high.

    Parameters
    ----------
    values : array of shape (R, C)
        Scores; NaN where there is no result, drawn grey with a cross.
    rows, columns : sequences of R and C values
        Values of the parameters, spaced evenly; the first row is at the bottom.
    row_name, column_name : str, optional
        Names of the parameters.
    name : str, optional
        Title of the colour bar.
    marked : pair of values, optional
        Row and column of the cell to frame, such as the default setting.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.images[0]`` holds the values. A ring marks the highest.

    Examples
    --------
    >>> from coterie_bench.pictures import score_map
    >>> ax = score_map([[0.2, 0.5], [0.4, 0.1]], [0.1, 0.2], [1, 10], marked=(0.1, 10))
    >>> ax.images[0].get_array().tolist(), [t.get_text() for t in ax.get_xticklabels()]
    ([[0.2, 0.5], [0.4, 0.1]], ['1', '10'])
    """
    check_parameters(
        SCORE_MAP,
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
    drawn = numbers(f"{SCORE_MAP}: values", values, (len(down), len(across)), nan=True)
    if np.isnan(drawn).all():
        raise ParameterError(f"{SCORE_MAP}: values holds no result: there is nothing to draw")
    own, ax = ax is None, axes(ax, (5.4, 4.2))
    low, high = float(np.nanmin(drawn)), float(np.nanmax(drawn))
    if high == low:
        # a single value gets the middle colour
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
    """Draw a frame around the default and a ring at the best; return their legend for the title."""
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
    cell = (
        (None, None) if marked is None else (index_of(marked[0], down), index_of(marked[1], across))
    )
    if cell[0] is not None and cell[1] is not None:
        at = (cell[0], cell[1])
        frame = Rectangle(
            (at[1] - 0.5, at[0] - 0.5), 1, 1, fill=False, edgecolor=INK, linewidth=1.6, zorder=4
        )
        frame.set_clip_on(False)
        ax.add_patch(frame)
        value = drawn[at]
        words += f"; □ default {'without a result' if np.isnan(value) else f'{value:.3f}'}"
    return words


# ------------------------------------------------------------------ matrices


MATRICES = "pictures.matrices"
# white is no change; orange and purple are distinct for colour-blind readers too
DIVERGING = "PuOr"
# the colour scale ends at this quantile off the diagonal; a few high pairs would hide the rest
TOP = 0.995
# with more classes, the lines between them would cover the matrix
WALLS = 12


def matrices(
    named: Mapping[str, ArrayLike],
    labels: Any,
    ensemble: Ensemble,
    *,
    difference: tuple[str, str] | None = None,
    ideal: bool = True,
    columns: int | None = None,
    max_rows: int = 400,
    ax: Axes | None = None,
) -> Axes:
    """Draw matrices of one ensemble in the same order, with their difference and the ideal one.

    Samples are ordered by class, and within a class by average linkage of the first matrix. All matrices
    share one colour scale.

    Parameters
    ----------
    named : mapping of name to array of shape (N, N)
        Similarities between the ensemble's microclusters, such as evidence and a solver's
        ``consensus_matrix_``. A matrix that is not symmetric is averaged with its transpose.
    labels : sequence of n labels
        The known class of each sample.
    ensemble : Ensemble
        The ensemble whose microclusters are the rows.
    difference : pair of names, optional
        Also draw the second matrix minus the first.
    ideal : bool, default True
        Also draw the matrix of the classes: 1 where two samples are of one class.
    columns : int, optional
        Panels per row; by default one row of up to three, else two.
    max_rows : int, default 400
        More samples than this are pooled into this many bins of equal weight.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.child_axes`` are the panels, in the order of ``named``, then the difference, then the
        ideal; ``images[0]`` of each holds the array drawn.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import coassociation
    >>> from coterie_bench.pictures import matrices
    >>> ensemble = Ensemble.from_labels([[0, 0], [1, 1], [1, 1]])
    >>> ax = matrices({"co-association": coassociation(ensemble)}, ["a", "b", "b"], ensemble)
    >>> [panel.images[0].get_array().tolist() for panel in ax.child_axes][1]
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    check_parameters(
        MATRICES,
        {
            "named": named,
            "columns": columns,
            "max_rows": max_rows,
            "difference": difference,
            "ideal": ideal,
        },
        {
            "named": MAPPING,
            "columns": Integer(1, 1000, optional=True),
            "max_rows": Integer(2),
            "difference": Kind(
                lambda value: (
                    value is None
                    or (
                        isinstance(value, tuple | list)
                        and len(value) == 2
                        and all(isinstance(name, str) for name in value)
                    )
                ),
                "None or the names of two matrices",
            ),
            "ideal": FLAG,
        },
    )
    require_ensemble(ensemble)
    if not named:
        raise ParameterError(f"{MATRICES}: named is empty: there is no matrix to draw")
    n = ensemble.n_microclusters
    given = {
        str(name): numbers(f"{MATRICES}: named[{name!r}]", values, (n, n))
        for name, values in named.items()
    }
    for name in difference or ():
        if name not in given:
            raise ParameterError(
                f"{MATRICES}: difference has the name {name!r}, which is not in named"
            )
    drawn, truth, spans, pooled = _arranged(given, labels, ensemble, max_rows)
    shown_panels: list[tuple[str, FloatArray, str]] = [
        (name, values, SEQUENTIAL) for name, values in drawn.items()
    ]
    if difference is not None:
        before, after = difference
        shown_panels.append(("difference", drawn[after] - drawn[before], DIVERGING))
    if ideal:
        shown_panels.append(("classes", truth, SEQUENTIAL))
    if columns is None:
        columns = len(shown_panels) if len(shown_panels) <= 3 else 2
    columns = int(columns)
    rows = -(-len(shown_panels) // columns)
    ax = axes(ax, (2.5 * columns + 0.3, 2.35 * rows + 0.5))
    top = max(_ceiling(values) for values in drawn.values())
    for panel, (name, values, colours) in zip(
        panels(ax, len(shown_panels), columns, (48.0, 24.0)), shown_panels, strict=True
    ):
        if colours == DIVERGING:
            high = max(_ceiling(np.abs(values)), 1e-12)
            low = -high
        elif values is truth:
            low, high = 0.0, 1.0
        else:
            low, high = min(0.0, float(values.min())), top
        _panel(panel, values, spans, (low, high), colours, bar=values is not truth)
        panel.set_title(shown(name, 36), fontsize="medium", loc="left")
    if pooled:
        each = float(spans.edges[-1]) / len(truth)
        note(ax, f"means over {len(truth):,} bins of {each:.3g} samples each\n")
    return ax


def _arranged(
    given: dict[str, FloatArray], labels: Any, ensemble: Ensemble, max_rows: int
) -> tuple[dict[str, FloatArray], FloatArray, Spans, bool]:
    codes, names = label_codes(f"{MATRICES}: labels", labels, ensemble.n_samples)
    spans = Spans.of(ensemble.inverse, codes, ensemble.sample_counts)
    first = next(iter(given.values()))
    # the matrix exists already, so average linkage is affordable within each class
    arranged = arrange(
        (first + first.T) / 2,
        ensemble,
        spans,
        "cluster",
        max_rows=max(max_rows, ensemble.n_microclusters),
    )
    spans = arranged.spans
    bins, pooled = bin_count(spans, ensemble.n_microclusters, max_rows)
    inside = bin_weights(spans, bins, ensemble.n_microclusters)
    drawn = {}
    for name, values in given.items():
        means = block_means(values, inside)
        drawn[name] = (means + means.T) / 2
    by_class = bin_weights(Spans(spans.label, spans.label, spans.width), bins, len(names)).toarray()
    by_class /= by_class.sum(axis=1, keepdims=True)
    return drawn, np.asarray(by_class @ by_class.T), spans, pooled


def _ceiling(values: FloatArray) -> float:
    off = values[~np.eye(len(values), dtype=bool)]
    top = float(np.quantile(off, TOP)) if off.size else 0.0
    return top if top > 0 else max(float(values.max()), 1e-12)


def _panel(
    panel: Axes,
    values: FloatArray,
    spans: Spans,
    limits: tuple[float, float],
    colours: str,
    *,
    bar: bool,
) -> None:
    total = float(spans.edges[-1])
    image = panel.imshow(
        values,
        cmap=colours,
        vmin=limits[0],
        vmax=limits[1],
        extent=(0.0, total, total, 0.0),
        aspect="equal",
        interpolation="nearest",
    )
    panel.set_xticks([])
    panel.set_yticks([])
    first = np.flatnonzero(spans.label[1:] != spans.label[:-1]) + 1
    if len(first) < WALLS:
        for wall in spans.edges[first]:
            panel.axhline(wall, color=INK, linewidth=0.25)
            panel.axvline(wall, color=INK, linewidth=0.25)
    if bar:
        beyond = (values.min() < limits[0] - 1e-12, values.max() > limits[1] + 1e-12)
        extend = {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}
        cax = panel.inset_axes((1.04, 0.0, 0.05, 1.0))
        scale = panel.figure.colorbar(image, cax=cax, extend=extend[int(beyond[0]), int(beyond[1])])
        scale.outline.set_visible(False)
        scale.ax.tick_params(labelsize="small")
        scale.ax.locator_params(nbins=5)
