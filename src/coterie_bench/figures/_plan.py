"""A figure of an experiment before it is drawn: its name, its caption, and how."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from coterie_bench._records import RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# inches: a column of a two-column paper, and both
COLUMN, PAGE = 3.5, 7.16
# data sets in one figure of many panels
PANELS = 6
# members and share of missing labels
Kind = tuple[int, float]
Item = TypeVar("Item")

METRIC_WORDS = {
    "accuracy": "ACC",
    "nmi_max": "NMI (max)",
    "nmi_arithmetic": "NMI",
    "nmi_geometric": "NMI (geometric)",
    "ari": "ARI",
    "pairwise_f": "pairwise F",
    "purity": "purity",
}


@dataclass(frozen=True)
class BenchFigure:
    """One figure.

    Attributes
    ----------
    name : str
        Name of its files, without the extension.
    title : str
    caption : str
        What is drawn, on which data, from how many runs, at which setting, from which seed.
    size : tuple of float
        Width and height in inches.
    draw : callable
        Draws on the empty matplotlib Figure that it is given.
    """

    name: str
    title: str
    caption: str
    size: tuple[float, float]
    draw: Callable[[Figure], None]


@dataclass(frozen=True)
class BenchFigures:
    """The figures that the runs support, and why there are not more.

    Attributes
    ----------
    figures : tuple of BenchFigure
    left_out : tuple of str
        A line for each kind of figure, or figure, that cannot be drawn.
    """

    figures: tuple[BenchFigure, ...]
    left_out: tuple[str, ...]

    def __iter__(self) -> Iterator[BenchFigure]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)


def file_name(*parts: object) -> str:
    """A name for files from any words."""
    return "-".join(
        filter(
            None, (re.sub(r"[^a-z0-9]+", "-", str(part).casefold()).strip("-") for part in parts)
        )
    )


def metric_words(metric: str) -> str:
    """A metric as it stands at an axis."""
    return METRIC_WORDS.get(metric, metric.replace("_", " "))


def ensembles_words(members: int, missing: float) -> str:
    """The kind of ensembles, for a caption."""
    return f"{members} members" + (f", {missing:.0%} of the labels missing" if missing else "")


def listed(words: Iterable[object]) -> str:
    """Words one after the other, the last with "and"."""
    every = [str(word) for word in words]
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def usual_kind(runs: Iterable[RunRecord]) -> dict[str, Kind]:
    """Per data set the ensembles that most runs were made on; of several, the most complete ones."""
    counts: dict[str, dict[Kind, int]] = defaultdict(lambda: defaultdict(int))
    for run in runs:
        counts[run.key.data][run.key.members, run.key.missing] += 1
    return {
        data: max(kinds, key=lambda kind: (kinds[kind], -kind[1], kind[0]))
        for data, kinds in counts.items()
    }


# ------------------------------------------------------------------ panels and words


def panel_grid(figure: Figure, count: int) -> list[Any]:
    """One panel as wide as a column, or two side by side on a page."""
    columns = 1 if count == 1 else 2
    rows = -(-count // columns)
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in grid[count:]:
        spare.set_axis_off()
    return grid


def grid_size(count: int, height: float) -> tuple[float, float]:
    """Size of a figure of so many panels of this height."""
    return (COLUMN, height + 0.1) if count == 1 else (PAGE, -(-count // 2) * height + 0.1)


def pages(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """As many items as one figure has panels, again and again."""
    for begin in range(0, len(items), PANELS):
        yield items[begin : begin + PANELS]


def stopped_words(stopped: Mapping[str, int]) -> str:
    """Why there is no result: what stopped the runs, the commonest first."""
    if not stopped:
        return "no result"
    return ", ".join(sorted(stopped, key=lambda status: (-stopped[status], status)))
