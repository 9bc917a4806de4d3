"""``callback="auto"``: a progress bar in a notebook or a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, Literal

from coterie.core.params import Choice

# (steps done, number of steps, stage)
StageProgress = Callable[[int, int, str], None]
PROGRESS = Choice(("auto", None), also=callable, also_words="a callable")
# seconds between two updates of a notebook
PAUSE = 0.1
# of the bar in a terminal: with the longest stage and the time left, a line has at most 80 columns
BAR_WIDTH = 16
# rows rather than steps, which are shown as a percentage
MANY_STEPS = 10_000


@contextmanager
def following(
    callback: StageProgress | Literal["auto"] | None,
) -> Iterator[StageProgress | None]:
    """The callback; for "auto" a progress bar that goes away at the end, or None without a screen.

    Examples
    --------
    >>> from coterie.core.progress import following
    >>> with following("auto") as callback:  # the output is not a terminal
    ...     print(callback)
    None
    """
    if not isinstance(callback, str):
        yield callback
    elif (display := _notebook_display()) is not None:
        bar = _NotebookBar(display)
        try:
            yield bar.show
        finally:
            bar.remove()
    elif sys.stderr is not None and sys.stderr.isatty():
        with terminal_bar() as bar:
            task = bar.add_task("", total=None)
            yield lambda done, total, stage: bar.update(
                task, description=stage, completed=done, total=total
            )
    else:
        yield None


def terminal_bar() -> Any:
    """A bar on the error stream, where it does not mix with results: steps and time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
    from rich.text import Text

    class StepsAndTime(ProgressColumn):
        """Steps done, number of steps, time spent, and an estimate of the time left."""

        def render(self, task: Task) -> Text:
            spent = f"{task.elapsed or 0:.0f} s"
            if task.total is None:
                return Text(spent)
            left = "" if task.time_remaining is None else f", {task.time_remaining:.0f} s left"
            done = f"{task.completed:.0f} of {task.total:.0f}"
            if task.total >= MANY_STEPS:
                done = f"{100 * task.completed / task.total:.0f} %"
            return Text(f"{done}, {spent}{left}")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=BAR_WIDTH),
        StepsAndTime(),
        console=Console(stderr=True),
        transient=True,
    )


def _notebook_display() -> Any:
    """The function that shows markup in the running notebook; None outside of one."""
    # a notebook has imported IPython already
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


class _NotebookBar:
    """A bar of the browser's own, in the colours of the notebook."""

    def __init__(self, display: Any) -> None:
        self._display, self._handle = display, None
        self._stage, self._shown = "", 0.0

    def show(self, done: int, total: int, stage: str) -> None:
        now = time.monotonic()
        if stage == self._stage and done < total and now - self._shown < PAUSE:
            return
        self._stage, self._shown = stage, now
        self._put(
            f'<progress value="{done}" max="{total}"></progress> '
            f"{escape(stage)}, {done:,} of {total:,}",
            f"{stage}, {done:,} of {total:,}",
        )

    def remove(self) -> None:
        if self._handle is not None:
            self._put("", "")

    def _put(self, markup: str, text: str) -> None:
        data = {"text/html": markup, "text/plain": text}
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
