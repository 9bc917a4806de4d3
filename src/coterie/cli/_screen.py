"""What the user sees: a summary on stdout that fits 80 columns, a bar on stderr while waiting."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from threading import Timer
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

MOST_CLUSTERS = 20
# work that is done sooner needs no bar
PATIENCE_SECONDS = 1.0


def counted(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the caller, who knows that it is nobody's mistake; rich would exit with 1."""
        raise BrokenPipeError


class Screen:
    """The summary."""

    def __init__(self) -> None:
        # names from the user's data are text, whatever brackets they hold
        self._console = _Terminal(highlight=False, markup=False, emoji=False)

    def say(self, text: str) -> None:
        """A line, left to the terminal to break, so that a path can be copied whole."""
        self._console.print(text, soft_wrap=True)

    def paragraph(self, text: str) -> None:
        """Words, broken between words."""
        self._console.print(text)

    def json(self, record: dict[str, Any]) -> None:
        """One JSON document and nothing else; what is not a number is null there."""
        self._console.print(json.dumps(_without_nan(record), indent=2), soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows under headings, numbers to the right."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="")
        for j, heading in enumerate(headings):
            table.add_column(heading, justify="right" if j else "left")
        for row in rows:
            table.add_row(*row)
        self._console.print(Padding(table, (1, 0, 0, 1), expand=False))

    def entry(self, name: str, rows: Sequence[tuple[str, str]]) -> None:
        """A name, and below it short terms with their explanations."""
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for term, words in rows:
            table.add_row(term, words)
        self.say(name)
        self._console.print(Padding(table, (0, 0, 1, 2), expand=False))

    def clusters(
        self,
        labels: NDArray[Any],
        confidence: NDArray[np.float64],
        class_heading: str | None = None,
        classes: NDArray[Any] | None = None,
    ) -> None:
        """Size and mean confidence of each cluster, and its commonest class where given."""
        sizes = np.bincount(labels)
        means = np.bincount(labels, weights=confidence) / sizes
        shown = np.sort(np.argsort(-sizes, kind="stable")[:MOST_CLUSTERS])
        rows = []
        for cluster in shown.tolist():
            share = sizes[cluster] / len(labels)
            row = [f"{cluster:>7}", f"{sizes[cluster]:,}", f"{100 * share:.1f} %"]
            row.append(f"{means[cluster]:.2f}")
            if classes is not None:
                inside = np.bincount(classes[labels == cluster])
                row.append(f"{inside.argmax()} ({100 * inside.max() / inside.sum():.0f} %)")
            rows.append(row)
        headings = ["cluster", "samples", "share", "confidence"]
        self.table([*headings, *([class_heading] if class_heading else [])], rows)
        if len(sizes) > len(shown):
            self.say(f"  and {counted(len(sizes) - len(shown), 'smaller cluster')}")

    def agreement(self, column: str, truth: Any, labels: NDArray[Any]) -> None:
        """Scores against known classes, where they are known."""
        from coterie.cli._outputs import agreement

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
