"""The summary on stdout, as wide as the terminal, and the progress bar on stderr."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from shutil import get_terminal_size
from threading import Timer
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from rich.box import Box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from coterie.core.progress import terminal_bar
from coterie.core.text import counted, percent, printable, shown_count

MAX_CLUSTERS = 20
# shorter work shows no bar
PATIENCE_SECONDS = 1.0
# longer lines of prose are hard to read
WIDEST_PROSE = 100
# used where the terminal reports a smaller width
NARROWEST = 24
MARGIN = "  "
# table style: a line of dashes under the headings only
UNDERLINED = Box("    \n    \n ---\n    \n    \n    \n    \n    \n", ascii=True)


class Screen:
    """Prints the summary in lines that fit the terminal, unless a word is longer."""

    def __init__(self) -> None:
        self._width = max(get_terminal_size().columns, NARROWEST)

    def say(self, *parts: str | Path, indent: int = 0) -> None:
        """Print text, wrapped between words; a path is never wrapped, so that it can be copied."""
        words: list[str] = []
        for part in parts:
            for word in [str(part)] if isinstance(part, Path) else part.split():
                # no line begins with the per cent sign of a number
                if word.startswith("%") and words:
                    words[-1] += f" {word}"
                else:
                    words.append(word)
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
        """Print lines without wrapping."""
        for line in page.splitlines():
            self._write(line)

    def json(self, record: dict[str, Any]) -> None:
        """Print one JSON document; numbers that are not finite become null."""
        self.text(json.dumps(_without_nan(record), indent=2))

    def table(
        self, headings: Sequence[str], rows: Sequence[Sequence[str]], text: Collection[int] = (0,)
    ) -> None:
        """Print a table after a blank line; cells that are too wide wrap.

        Parameters
        ----------
        headings : sequence of str
        rows : sequence of sequences of str
        text : collection of int
            The columns that hold text and are aligned to the left.
        """
        cells = [[printable(" ".join(cell.split())) for cell in row] for row in (headings, *rows)]
        room = self._width - len(MARGIN)
        widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
        roomy = sum(widths) + 2 * (len(widths) - 1) <= room
        table = Table(
            box=UNDERLINED,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1 if roomy else 0, 0, 0),
            header_style="",
        )
        for j, heading in enumerate(cells[0]):
            justify: Literal["left", "right"] = "left" if j in text else "right"
            table.add_column(Text(heading), justify=justify, overflow="fold")
        for row in cells[1:]:
            table.add_row(*map(Text, row))
        page = Console(width=room, color_system=None, file=io.StringIO())
        with page.capture() as printed:
            page.print(table)
        self._write("")
        for line in printed.get().splitlines():
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
        """Print size and mean confidence of each cluster, and its commonest class if given.

        ``counts`` gives the number of samples that each entry represents, one by default.
        """
        counts = np.ones(len(labels)) if counts is None else counts
        noise = counts[labels < 0].sum()
        labels, confidence, counts = (part[labels >= 0] for part in (labels, confidence, counts))
        sizes = np.bincount(labels, weights=counts)
        means = np.bincount(labels, weights=confidence * counts) / sizes
        total = sizes.sum() + noise
        shown = np.sort(np.argsort(-sizes, kind="stable")[:MAX_CLUSTERS])
        rows = []
        for cluster in shown.tolist():
            share = f"{100 * sizes[cluster] / total:.1f} %"
            row = [str(cluster), shown_count(sizes[cluster]), share]
            row.append(f"{means[cluster]:.2f}" if len(sizes) > 1 else "-")
            if classes is not None:
                inside = np.bincount(classes[labels == cluster])
                row.append(f"{inside.argmax()} ({percent(inside.max() / inside.sum())})")
            rows.append(row)
        if noise:
            rows.append(["-1 (noise)", shown_count(noise), f"{100 * noise / total:.1f} %", "-"])
        headings = ["cluster", "samples", "share", "confidence"]
        self.table([*headings, *([class_heading] if class_heading else [])], rows)
        if len(sizes) > len(shown):
            more = len(sizes) - len(shown)
            self.say(
                f"and {counted(more, 'cluster')} more, none of them larger", indent=len(MARGIN)
            )


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
    """A progress bar on stderr for work of more than a second; nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._stage = ""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = terminal_bar()
            self._timer = Timer(PATIENCE_SECONDS, self._bar.start)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyboardInterrupt) and self._stage:
            error.add_note(f"while {self._stage}")
        if self._bar is not None:
            self._timer.cancel()
            self._timer.join()
            if self._bar.live.is_started:
                self._bar.stop()

    def begin(self, words: str, total: int | None = None) -> None:
        """Start the next stage; without a total, the bar shows only the time."""
        self._stage = words
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(words, total=total)

    def reach(self, done: int, total: int | None) -> None:
        """Update the progress of the stage."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def members_then(self, words: str) -> Callable[[int, int], None]:
        """A callback that counts members, and starts the next stage after the last."""

        def follow(done: int, total: int) -> None:
            self.reach(done, total)
            if done >= total:
                self.begin(words)

        return follow

    def model_then(self, words: str) -> Callable[[int, int, str], None]:
        """A callback that shows the stages of a model, and begins the next after members and assignments."""
        from coterie.consensus import ASSIGNING, MAKING

        def follow(done: int, total: int, stage: str) -> None:
            if stage != self._stage:
                self.begin(stage, total)
            self.reach(done, total)
            if stage in (MAKING, ASSIGNING) and done >= total:
                self.begin(words)

        return follow
