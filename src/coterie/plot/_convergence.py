"""Convergence of a solver: the objective and the residual of every pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.core.errors import ParameterError
from coterie.core.types import FloatArray
from coterie.plot._given import read
from coterie.plot.canvas import axes, note, panels, plain
from coterie.plot.checks import numbers
from coterie.plot.colours import OKABE_ITO, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from coterie.trust import DiagnosisMixin

DRAWN = (("objective", OKABE_ITO[0]), ("residual", OKABE_ITO[5]))


def convergence(
    history: Sequence[Mapping[str, Any]] | DiagnosisMixin,
    *,
    tol: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the objective and the residual of every pass, one above the other.

    If a method works in stages (its records name a ``stage``), thin lines separate them. The objective
    may jump there, because each stage has an objective of its own.

    Parameters
    ----------
    history : sequence of mappings, fitted model or Result
        A model, or its ``history_``: one record per pass with "objective", "residual" and its number "pass".
    tol : float, optional
        The residual below which the method stops, drawn as a line.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.child_axes`` are two panels, the objective and the residual; ``lines[0]`` of each holds
        passes and values. The scale of the residual is logarithmic; residuals of 0 are left out, and
        the panel's title counts them.

    Examples
    --------
    >>> from coterie.plot import convergence
    >>> passes = [{"pass": 1, "objective": 3.0, "residual": 0.5},
    ...           {"pass": 2, "objective": 2.5, "residual": 0.01}]
    >>> objective, residual = convergence(passes).child_axes
    >>> objective.lines[0].get_ydata().tolist(), residual.lines[0].get_ydata().tolist()
    ([3.0, 2.5], [0.5, 0.01])
    """
    records = _records(history)
    numbered = [record.get("pass", i) for i, record in enumerate(records, 1)]
    passes = numbers("plot.convergence: history: pass", numbered, (len(records),))
    ax = axes(ax, (5.6, 4.6))
    from matplotlib.ticker import MaxNLocator

    upper, lower = panels(ax, 2, 1, (0.0, 22.0))
    for panel, (name, colour) in zip((upper, lower), DRAWN, strict=True):
        values = _column(records, name)
        if panel is lower and (values > 0).any():
            panel.set_yscale("log")
            n_zero = int((values <= 0).sum())
            if n_zero:
                noun = "pass" if n_zero == 1 else "passes"
                note(panel, f"{n_zero:,} {noun} with residual 0 not shown")
            values = np.where(values > 0, values, np.nan)
        panel.plot(passes, values, color=colour, marker="o", markersize=3.5)
        panel.set_ylabel(name)
        panel.set_xlim(passes[0] - 0.5, passes[-1] + 0.5)
        panel.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True, min_n_ticks=1))
        plain(panel)
        for change in _stage_changes(records, passes):
            panel.axvline(change, color=QUIET, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)
    if tol is not None:
        level = float(numbers("plot.convergence: tol", tol, ()))
        if level > 0:
            lower.axhline(level, color=QUIET, linewidth=1.0, zorder=0)
            lower.annotate(
                f"tol {level:g}",
                (1.0, level),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="right",
                color=QUIET,
                fontsize="small",
            )
    upper.tick_params(labelbottom=False)
    lower.set_xlabel("pass")
    return ax


def _records(history: Any) -> list[Mapping[str, Any]]:
    wanted = "a fitted model, a Result, or a solver's history_"
    given = read("plot.convergence: history", history, wanted)
    if given is not None:
        history = given.history
    if isinstance(history, Mapping | str) or not isinstance(history, Sequence):
        raise ParameterError(
            "plot.convergence: history must be a list with one record per pass, such as a solver's "
            f"history_, but is {type(history).__name__}"
        )
    records = [*history]
    if not records:
        raise ParameterError("plot.convergence: history is empty: there is no pass to draw")
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise ParameterError(
                f"plot.convergence: history[{i}] must be a record of a pass, but is {record!r:.60}"
            )
    return records


def _column(records: list[Mapping[str, Any]], name: str) -> FloatArray:
    for i, record in enumerate(records):
        if name not in record:
            raise ParameterError(
                f"plot.convergence: history[{i}] has no {name!r}; it has {', '.join(record)}"
            )
    values = [record[name] for record in records]
    return numbers(f"plot.convergence: history: {name}", values, (len(records),))


def _stage_changes(records: list[Mapping[str, Any]], passes: FloatArray) -> list[float]:
    return [
        float(passes[i] + passes[i - 1]) / 2
        for i in range(1, len(records))
        if records[i].get("stage") != records[i - 1].get("stage")
    ]
