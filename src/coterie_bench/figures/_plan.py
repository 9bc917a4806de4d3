"""A planned figure of an experiment: its name, its caption, and the function that draws it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from coterie_bench._records import RunRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# widths in inches of one column and of the page in a two-column paper
COLUMN, PAGE = 3.5, 7.16
# most data sets (panels) in one figure
PANELS = 6
# number of members and share of missing labels
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
        What is drawn, with data, number of runs, setting and seed.
    size : tuple of float
        Width and height in inches.
    draw : callable
        Called with an empty matplotlib Figure, on which it draws.
    """

    name: str
    title: str
    caption: str
    size: tuple[float, float]
    draw: Callable[[Figure], None]


@dataclass(frozen=True)
class BenchFigures:
    """The figures that the runs support, and why others were left out.

    Attributes
    ----------
    figures : tuple of BenchFigure
    left_out : tuple of str
        One line per figure or kind of figure that cannot be drawn.
    """

    figures: tuple[BenchFigure, ...]
    left_out: tuple[str, ...]

    def __iter__(self) -> Iterator[BenchFigure]:
        return iter(self.figures)

    def __len__(self) -> int:
        return len(self.figures)


def file_name(*parts: object) -> str:
    """A file name made of the parts, without special characters."""
    return "-".join(
        filter(
            None, (re.sub(r"[^a-z0-9]+", "-", str(part).casefold()).strip("-") for part in parts)
        )
    )


def metric_words(metric: str) -> str:
    """The name of a metric for an axis."""
    return METRIC_WORDS.get(metric, metric.replace("_", " "))


def ensembles_words(members: int, missing: float) -> str:
    """The kind of ensembles as text for a caption."""
    return f"{members} members" + (f", {missing:.0%} of the labels missing" if missing else "")


def listed(words: Iterable[object]) -> str:
    """Join words by commas, and the last one by "and"."""
    texts = [str(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def usual_kind(runs: Iterable[RunRecord]) -> dict[str, Kind]:
    """The kind of ensembles with most runs, per data set; ties go to the fewest missing labels."""
    counts: dict[str, dict[Kind, int]] = defaultdict(lambda: defaultdict(int))
    for run in runs:
        counts[run.key.data][run.key.members, run.key.missing] += 1
    return {
        data: max(kinds, key=lambda kind: (kinds[kind], -kind[1], kind[0]))
        for data, kinds in counts.items()
    }


# ------------------------------------------------------------------ panels and words


def panel_grid(figure: Figure, count: int) -> list[Any]:
    """Add panels to a figure: a single one, or two per row."""
    columns = 1 if count == 1 else 2
    rows = -(-count // columns)
    grid = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for spare in grid[count:]:
        spare.set_axis_off()
    return grid


def grid_size(count: int, height: float) -> tuple[float, float]:
    """Size of a figure with ``count`` panels of a given height."""
    return (COLUMN, height + 0.1) if count == 1 else (PAGE, -(-count // 2) * height + 0.1)


def pages(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Split items into groups that fit into one figure each."""
    for begin in range(0, len(items), PANELS):
        yield items[begin : begin + PANELS]


def stopped_words(stopped: Mapping[str, int]) -> str:
    """The reasons for missing results, the most frequent first."""
    if not stopped:
        return "no result"
    return ", ".join(sorted(stopped, key=lambda status: (-stopped[status], status)))
