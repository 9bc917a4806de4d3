"""Every kind of figure that the papers have, from the runs of one experiment."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from coterie.core.errors import DataError, ParameterError
from coterie.io.write import whole_file
from coterie.plot.canvas import MISSING
from coterie_bench._records import RunRecord
from coterie_bench._summary import summarise
from coterie_bench.figures._costs import costs, objectives
from coterie_bench.figures._evidence import Ensembles, evidence_figures
from coterie_bench.figures._parameters import over_parameters
from coterie_bench.figures._plan import BenchFigure, BenchFigures, usual_kind
from coterie_bench.figures._scores import ablations, over_ensembles, rankings

__all__ = ["BenchFigure", "BenchFigures", "Saved", "figures", "save_figures", "usual_kind"]

FORMATS = ("svg", "png", "pdf")
# what makes a figure readable in a column, and the same bytes wherever it is drawn
STYLE: dict[str, Any] = {
    "font.size": 8.0,
    "axes.linewidth": 0.6,
    "axes.labelpad": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "hatch.linewidth": 0.5,
    "svg.hashsalt": "coterie",
    "svg.fonttype": "path",
}
DPI = 200


def figures(
    runs: Sequence[RunRecord], spec: Any, ensembles: Ensembles | None = None
) -> BenchFigures:
    """Plan the figures that these runs support; nothing is drawn yet.

    Parameters
    ----------
    runs : sequence of RunRecord
    spec : Spec
    ensembles : callable, optional
        From the name of a data set to one of its ensembles and the classes of its samples (None
        where they are not known); for the figures of the evidence itself.

    Returns
    -------
    BenchFigures
        The figures, and a line for each kind that there is nothing to draw of.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coterie_bench.figures import figures
    >>> from coterie_bench._records import RunRecord, RunKey
    >>> method = SimpleNamespace(name="eac", solver="eac", default={}, grid={}, ablation_of="")
    >>> spec = SimpleNamespace(
    ...     title="Sizes", paper="", seed=0, metrics=("ari",), methods=(method,), published=()
    ... )
    >>> runs = [
    ...     RunRecord(
    ...         RunKey("iris", members, 0.0, 0, "eac", "{}"), "eac", True, "", "ok", "",
    ...         {"ari": 0.5}, 3, 3, 150, 60, 0.1, 2.0, True, None,
    ...     )
    ...     for members in (10, 20)
    ... ]
    >>> [figure.name for figure in figures(runs, spec)]
    ['members-ari-iris', 'time', 'memory']
    """
    left_out: list[str] = []
    if not runs:
        return BenchFigures((), ("all figures: there are no runs yet",))
    usual = usual_kind(runs)
    summary = summarise(runs, spec)
    left_out.extend(f"scores on {data}: its classes are not known" for data in summary.unlabelled)
    planned = [
        *over_ensembles(summary, spec.seed, usual, left_out),
        *over_parameters(runs, spec, usual, left_out),
        *ablations(summary, spec.seed, usual, left_out),
        *rankings(summary, spec.seed, usual, left_out),
        *costs(summary, spec, usual, left_out),
        *objectives(runs, spec, usual, left_out),
        *evidence_figures(spec, usual, ensembles, left_out),
    ]
    return BenchFigures(tuple(_distinct(planned)), tuple(left_out))


@dataclass(frozen=True)
class Saved:
    """What was written.

    Attributes
    ----------
    files : tuple of Path
        Figures in every format, then the list of captions.
    left_out : tuple of str
        Why there are not more.
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...]


def save_figures(
    planned: BenchFigures,
    folder: str | PathLike[str],
    formats: Sequence[str] = ("svg", "png"),
    *,
    callback: Callable[[BenchFigure], object] | None = None,
) -> Saved:
    """Draw the figures into a folder, and ``captions.md`` beside them.

    The same runs give the same bytes. A figure that cannot be drawn (its matrix is larger than the
    memory, say) is left out with the reason; the others are written.

    Parameters
    ----------
    planned : BenchFigures
        From :func:`figures`.
    folder : path
        Made if it is not there.
    formats : sequence of {"svg", "png", "pdf"}, default ("svg", "png")
    callback : callable, optional
        Called with each figure before it is drawn.
    """
    for kind in formats:
        if kind not in FORMATS:
            raise ParameterError(
                f"save_figures: formats may be {', '.join(FORMATS)}, but one is {kind!r}"
            )
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise ImportError(MISSING) from error
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{place} cannot be made: {error.strerror or error}") from None
    files: list[Path] = []
    left_out = list(planned.left_out)
    drawn: list[BenchFigure] = []
    # the user's own settings come back at the end
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(STYLE)
        for figure in planned:
            if callback is not None:
                callback(figure)
            try:
                pictures = _render(figure, formats)
            except (ValueError, MemoryError) as error:
                left_out.append(f"{figure.name}: {error}")
                continue
            drawn.append(figure)
            for kind, content in pictures.items():
                files.append(place / f"{figure.name}.{kind}")
                with whole_file(files[-1]) as file:
                    file.write(content)
    files.append(place / "captions.md")
    with whole_file(files[-1]) as file:
        file.write(_captions(drawn, left_out).encode())
    return Saved(tuple(files), tuple(left_out))


def _render(figure: BenchFigure, formats: Sequence[str]) -> dict[str, bytes]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=figure.size, layout="constrained")
    figure.draw(canvas)
    engine = canvas.get_layout_engine()
    assert engine is not None
    # square panels and legends move what the first layout placed
    for _ in range(2):
        engine.execute(canvas)
    # without a date, and without the version that drew it
    words: dict[str, dict[str, str | None]] = {
        "svg": {"Title": figure.title, "Description": figure.caption, "Date": None},
        "png": {"Title": figure.title, "Description": figure.caption, "Software": None},
        "pdf": {"Title": figure.title, "CreationDate": None, "Producer": None, "Creator": None},
    }
    pictures = {}
    for kind in formats:
        content = io.BytesIO()
        canvas.savefig(content, format=kind, dpi=DPI, metadata=words[kind])
        pictures[kind] = content.getvalue()
    return pictures


def _captions(drawn: Sequence[BenchFigure], left_out: Sequence[str]) -> str:
    lines = ["# Figures", ""]
    for figure in drawn:
        lines += [f"- **{figure.name}**: {figure.title}. {figure.caption}"]
    if left_out:
        lines += ["", "## Left out", "", *(f"- {reason}" for reason in left_out)]
    return "\n".join(lines) + "\n"


def _distinct(planned: Sequence[BenchFigure]) -> Iterator[BenchFigure]:
    """Names of files that differ, also where names of data or methods do only by their signs."""
    taken: set[str] = set()
    for figure in planned:
        name, count = figure.name, 2
        while name in taken:
            name, count = f"{figure.name}-{count}", count + 1
        taken.add(name)
        yield figure if name == figure.name else replace(figure, name=name)
