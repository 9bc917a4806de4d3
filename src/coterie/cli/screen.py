"""What the user sees: a summary on stdout as wide as the terminal, a bar on stderr while waiting."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from shutil import get_terminal_size
from threading import Timer
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size

from coterie.core.text import counted, printable, shown_count

MOST_CLUSTERS = 20
# work that is done sooner needs no bar
PATIENCE_SECONDS = 1.0
# longer lines of prose are hard to read
WIDEST_PROSE = 100
# a terminal that says less of itself is not believed
NARROWEST = 24
# text in a table is not cut to less than this
NARROWEST_TEXT = 16
MARGIN = "  "


class Screen:
    """The summary: no line wider than the terminal unless a word is, none with blanks at its end."""

    def __init__(self) -> None:
        self._width = max(get_terminal_size().columns, NARROWEST)

    def say(self, *parts: str | Path, indent: int = 0) -> None:
        """Words, broken between words; a path stays whole, so that it can be copied."""
        words: list[str] = []
        for part in parts:
            words += [str(part)] if isinstance(part, Path) else part.split()
        room = min(self._width, WIDEST_PROSE)
        line = " " * indent + "".join(words[:1])
        for word in words[1:]:
            if cell_len(line) + 1 + cell_len(word) > room:
                self._write(line)
                line = " " * indent + word
            else:
                line += f" {word}"
        self._write(line)

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self._width

    def text(self, page: str) -> None:
        """Lines that have their width already."""
        for line in page.splitlines():
            self._write(line)

    def json(self, record: dict[str, Any]) -> None:
        """One JSON document and nothing else; what is not a number is null there."""
        self.text(json.dumps(_without_nan(record), indent=2))

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[int] = (0,)
    ) -> None:
        """Rows under headings, numbers to the right, after a blank line.

        Where all columns do not fit side by side, those of text are cut; if that is not enough,
        the last columns follow below, beside the first once more.

        Parameters
        ----------
        headings : sequence of str
        rows : sequence of sequences of str
        text : collection of int
            The columns that hold text and start at the left.
        """
        columns = [
            # one line a cell, whatever the user's data hold
            [" ".join(cell.split()) for cell in column]
            for column in zip(headings, *rows, strict=True)
        ]
        widths = [max(map(cell_len, column)) for column in columns]
        room = self._width - len(MARGIN)
        # numbers that would not fit otherwise move closer together
        gap = next((gap for gap in ("  ", " ") if _total(widths, gap) <= room), " ")
        while _total(widths, gap) > room:
            widest = max(text, key=lambda j: widths[j], default=None)
            if widest is None or widths[widest] <= NARROWEST_TEXT:
                break
            widths[widest] -= 1
        aligned = [
            [_set(cell, width, j in text) for cell in column]
            for j, (column, width) in enumerate(zip(columns, widths, strict=True))
        ]
        beside = [0]
        for j in range(1, len(columns)):
            if len(beside) > 1 and _total([widths[i] for i in [*beside, j]], gap) > room:
                self._columns([aligned[i] for i in beside], gap)
                beside = [0]
            beside.append(j)
        self._columns([aligned[i] for i in beside], gap)

    def _columns(self, columns: Sequence[Sequence[str]], gap: str) -> None:
        heading, *lines = (gap.join(cells) for cells in zip(*columns, strict=True))
        self._write("")
        for line in (heading, "-" * cell_len(heading), *lines):
            self._write(f"{MARGIN}{line}")

    def _write(self, line: str) -> None:
        sys.stdout.write(f"{printable(line.rstrip())}\n")

    def clusters(
        self,
        labels: NDArray[Any],
        confidence: NDArray[np.float64],
        class_heading: str | None = None,
        classes: NDArray[Any] | None = None,
        counts: NDArray[Any] | None = None,
    ) -> None:
        """Size and mean confidence of each cluster, and its commonest class where given.

        Samples that stand for several are counted as told.
        """
        counts = np.ones(len(labels)) if counts is None else counts
        sizes = np.bincount(labels, weights=counts)
        means = np.bincount(labels, weights=confidence * counts) / sizes
        shown = np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLUSTERS])
        rows = []
        for cluster in shown.tolist():
            share = sizes[cluster] / sizes.sum()
            row = [f"{cluster:>7}", shown_count(sizes[cluster]), f"{100 * share:.1f} %"]
            row.append(f"{means[cluster]:.2f}" if len(sizes) > 1 else "-")
            if classes is not None:
                inside = np.bincount(classes[labels == cluster])
                row.append(f"{inside.argmax()} ({100 * inside.max() / inside.sum():.0f} %)")
            rows.append(row)
        headings = ["cluster", "samples", "share", "confidence"]
        self.table([*headings, *([class_heading] if class_heading else [])], rows)
        if len(sizes) > len(shown):
            more = len(sizes) - len(shown)
            self.say(
                f"and {counted(more, 'cluster')} more, none of them larger", indent=len(MARGIN)
            )

    def agreement(self, column: str, truth: Any, labels: NDArray[Any]) -> None:
        """Scores against known classes, where they are known."""
        from coterie.cli.outputs import agreement

        scores = agreement(truth, labels)
        if scores is None:
            self.say(f"agreement with {column!r}: the column is empty")
            return
        few = scores["samples"] < len(labels)
        note = f" ({counted(scores['samples'], 'sample')})" if few else ""
        self.say(
            f"agreement with {column!r}{note}: "
            + ", ".join(f"{name} {scores[name]:.3f}" for name in ("ACC", "NMI", "ARI"))
        )


def _total(widths: Sequence[int], gap: str) -> int:
    return sum(widths) + len(gap) * (len(widths) - 1)


def _set(cell: str, width: int, from_left: bool) -> str:
    """A cell of just this width, cut where it is wider."""
    size = cell_len(cell)
    if size > width:
        return f"{set_cell_size(cell, width - 3)}..."
    return cell + " " * (width - size) if from_left else " " * (width - size) + cell


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Stages:
    """A bar on stderr for work that takes over a second; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = _new_bar()
            self._timer = Timer(PATIENCE_SECONDS, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._timer.cancel()
            self._timer.join()
            if self._bar.live.is_started:
                self._bar.stop()

    def begin(self, words: str, total: int | None = None) -> None:
        """Start the next stage; without a total the bar only moves."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(words, total=total)

    def reach(self, done: int, total: int | None) -> None:
        """Say how far the stage is."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def members_then(self, words: str) -> Callable[[int, int], None]:
        """A callback that counts members, and starts the next stage after the last."""

        def follow(done: int, total: int) -> None:
            self.reach(done, total)
            if done >= total:
                self.begin(words)

        return follow


def _new_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class Standing(ProgressColumn):
        """How many of how many, the time spent, and the time left where it can be told."""

        def render(self, task: Task) -> Text:
            spent = f"{task.elapsed or 0:.0f} s"
            if task.total is None:
                return Text(spent)
            left = "" if task.time_remaining is None else f", {task.time_remaining:.0f} s left"
            return Text(f"{task.completed:.0f} of {task.total:.0f}, {spent}{left}")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        Standing(),
        console=Console(stderr=True),
        transient=True,
    )
