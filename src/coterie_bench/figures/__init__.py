"""The figures of an experiment: every kind of figure in the papers, drawn from its runs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from coterie.core.errors import DataError, ParameterError
from coterie.core.packages import require_package
from coterie.io.write import whole_file
from coterie_bench._records import RunRecord
from coterie_bench._summary import summarise
from coterie_bench.figures._costs import costs, objectives
from coterie_bench.figures._evidence import Ensembles, evidence_figures
from coterie_bench.figures._parameters import over_parameters
from coterie_bench.figures._plan import BenchFigure, BenchFigures, usual_kind
from coterie_bench.figures._scores import ablations, over_ensembles, rankings

__all__ = ["BenchFigure", "BenchFigures", "Saved", "figures", "save_figures", "usual_kind"]

FORMATS = ("svg", "png", "pdf")
# readable in a column of a paper, and the same bytes on every machine
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
        Called with the name of a data set; returns one of its ensembles and the classes of its samples
        (None if unknown). Needed for the figures of the evidence.

    Returns
    -------
    BenchFigures
        The figures, and one line per kind of figure that the runs do not support.

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
    left_out.extend(f"scores on {data}: its classes are unknown" for data in summary.unlabelled)
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
    """The files that were written.

    Attributes
    ----------
    files : tuple of Path
        Figures in every format, then the list of captions.
    left_out : tuple of str
        The reasons why other figures were left out.
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
    """Write the figures and ``captions.md`` to a folder.

    The same runs give the same bytes. A figure that cannot be drawn, for example because its matrix
    exceeds the memory, is left out with the reason; the others are written.

    Parameters
    ----------
    planned : BenchFigures
        From :func:`figures`.
    folder : path
        Created if it does not exist.
    formats : sequence of {"svg", "png", "pdf"}, default ("svg", "png")
    callback : callable, optional
        Called with each figure before it is drawn.
    """
    for kind in formats:
        if kind not in FORMATS:
            raise ParameterError(
                f"save_figures: formats may be {', '.join(FORMATS)}, but one is {kind!r}"
            )
    require_package("a figure", "matplotlib", "bench")
    import matplotlib

    directory = Path(folder)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{directory} cannot be created: {error.strerror or error}") from None
    files: list[Path] = []
    left_out = list(planned.left_out)
    drawn: list[BenchFigure] = []
    # restores the user's settings at the end
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
                files.append(directory / f"{figure.name}.{kind}")
                with whole_file(files[-1]) as file:
                    file.write(content)
    files.append(directory / "captions.md")
    with whole_file(files[-1]) as file:
        file.write(_captions(drawn, left_out).encode())
    return Saved(tuple(files), tuple(left_out))


def _render(figure: BenchFigure, formats: Sequence[str]) -> dict[str, bytes]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=figure.size, layout="constrained")
    figure.draw(canvas)
    engine = canvas.get_layout_engine()
    assert engine is not None
    # square panels and legends change the first layout
    for _ in range(2):
        engine.execute(canvas)
    # no date and no version, so that the bytes do not change
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Title": figure.title, "Description": figure.caption, "Date": None},
        "png": {"Title": figure.title, "Description": figure.caption, "Software": None},
        "pdf": {"Title": figure.title, "CreationDate": None, "Producer": None, "Creator": None},
    }
    pictures = {}
    for kind in formats:
        content = io.BytesIO()
        canvas.savefig(content, format=kind, dpi=DPI, metadata=metadata[kind])
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
    """Give figures distinct file names, even if data or methods differ in special characters only."""
    taken: set[str] = set()
    for figure in planned:
        name, count = figure.name, 2
        while name in taken:
            name, count = f"{figure.name}-{count}", count + 1
        taken.add(name)
        yield figure if name == figure.name else replace(figure, name=name)
