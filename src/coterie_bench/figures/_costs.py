"""Figures of time, memory, and the objective by pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.core.text import counted
from coterie_bench._records import BASE_AVERAGE, BASE_BEST, RunRecord
from coterie_bench._summary import Cost, Summary
from coterie_bench.figures._plan import (
    PANELS,
    BenchFigure,
    Kind,
    ensembles_words,
    file_name,
    grid_size,
    pages,
    panel_grid,
    stopped_words,
)
from coterie_bench.pictures import bars, curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# by method, a sentence for the caption if the objective may rise
RISES = {
    "eccms": " It may rise: its constraints are met only at the end, by an augmented Lagrangian."
}
# smallest value on the logarithmic axis, about the resolution of the measurement
LEAST = {"seconds": 1e-4, "peak_mib": 0.01}
MEASURES = {
    "seconds": ("time", "Time", "seconds", "median seconds"),
    "peak_mib": ("memory", "Peak memory", "MiB", "greatest peak memory (MiB)"),
}


def costs(
    summary: Summary, spec: Any, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """Bars of time and of memory on a logarithmic axis, with one panel per data set."""
    ablations = {method.name for method in spec.methods if method.ablation_of}
    not_drawn = ablations | {BASE_AVERAGE, BASE_BEST}
    by_data: dict[str, list[Cost]] = {}
    for cost in summary.costs:
        if cost.method not in not_drawn and (cost.members, cost.missing) == usual[cost.data]:
            by_data.setdefault(cost.data, []).append(cost)
    for measure, (name, title, unit, words) in MEASURES.items():
        known = {
            data: of_data
            for data, of_data in by_data.items()
            if any(np.isfinite(getattr(cost, measure)) for cost in of_data)
        }
        left_out.extend(
            f"{name} on {data}: no run at a default setting succeeded"
            for data in by_data
            if data not in known
        )
        for number, page in enumerate(pages(list(known.items()))):
            rows = max(len(of_data) for _, of_data in page)
            yield BenchFigure(
                name=file_name(name, number + 1 if len(known) > PANELS else ""),
                title=title,
                caption=(
                    f"{words[0].upper()}{words[1:]} of each method at its default setting, over "
                    f"{_conditions(page)}; logarithmic axis. Hatched: no result; the label says "
                    f"why. Seed {spec.seed}."
                ),
                size=grid_size(len(page), 0.62 + 0.17 * rows),
                draw=partial(
                    _draw_costs,
                    page=page,
                    measure=measure,
                    unit=unit,
                    caps=_cap_words(getattr(spec, "caps", None)),
                ),
            )


def _draw_costs(
    figure: Figure,
    *,
    page: Sequence[tuple[str, Sequence[Cost]]],
    measure: str,
    unit: str,
    caps: Mapping[str, str],
) -> None:
    for ax, (data, of_data) in zip(panel_grid(figure, len(page)), page, strict=False):
        values = np.maximum([getattr(cost, measure) for cost in of_data], LEAST[measure])
        bars(
            [cost.method for cost in of_data],
            values,
            absent={
                cost.method: stopped_words(
                    {caps.get(kind, kind): count for kind, count in cost.stopped.items()}
                )
                for cost in of_data
            },
            notes={
                cost.method: f"{cost.runs} of {cost.of} runs"
                for cost in of_data
                if 0 < cost.runs < cost.of
            },
            log=True,
            xlabel=unit,
            ax=ax,
        )
        ax.set_title(data, loc="left", fontsize="medium")


def _cap_words(caps: Any) -> dict[str, str]:
    if caps is None:
        return {}
    return {
        "time cap": f"time cap of {caps.seconds:,g} s",
        "memory cap": f"memory cap of {caps.memory / 1e9:.3g} GB",
    }


def _conditions(page: Sequence[tuple[str, Sequence[Cost]]]) -> str:
    words = [
        f"{counted(of_data[0].of, 'repetition')} with "
        f"{ensembles_words(of_data[0].members, of_data[0].missing)}"
        for _, of_data in page
    ]
    if len(set(words)) == 1:
        return words[0]
    return "; ".join(f"{data}: {word}" for (data, _), word in zip(page, words, strict=True))


# ------------------------------------------------------------------ objective


def objectives(
    runs: Sequence[RunRecord], spec: Any, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """The objective by pass, with one figure per method and one panel per data set."""
    drawn = False
    for method in spec.methods:
        if method.ablation_of:
            continue
        histories: dict[str, list[tuple[float, ...]]] = {}
        for run in sorted(runs, key=lambda run: run.key.repetition):
            if (
                run.key.method == method.name
                and run.default
                and len(run.objective) > 1
                and (run.key.members, run.key.missing) == usual[run.key.data]
            ):
                histories.setdefault(run.key.data, []).append(run.objective)
        # data sets in the order in which they were first run, as in the tables
        drawable = [(data, histories[data]) for data in usual if data in histories]
        for number, page in enumerate(pages(drawable)):
            drawn = True
            kinds = {data: ensembles_words(*usual[data]) for data, _ in page}
            where = (
                next(iter(kinds.values()))
                if len(set(kinds.values())) == 1
                else "; ".join(f"{data}: {words}" for data, words in kinds.items())
            )
            yield BenchFigure(
                name=file_name(
                    "objective", method.name, number + 1 if len(drawable) > PANELS else ""
                ),
                title=f"Objective of {method.name} by pass",
                caption=(
                    f"Objective of {method.name} after each pass, default setting ({where}); seed "
                    f"{spec.seed}. Strong line: the first repetition; pale lines: the others."
                    f"{RISES.get(method.solver, '')}"
                ),
                size=grid_size(len(page), 1.9),
                draw=partial(_draw_objectives, page=page),
            )
    if not drawn:
        left_out.append(
            "objective by pass: no run at a default setting recorded more than one pass"
        )


def _draw_objectives(
    figure: Figure, *, page: Sequence[tuple[str, Sequence[tuple[float, ...]]]]
) -> None:
    for ax, (data, histories) in zip(panel_grid(figure, len(page)), page, strict=False):
        first, *others = histories
        curves(
            range(1, len(first) + 1),
            {"first repetition": _finite(first)},
            scale="linear",
            xlabel="pass",
            ylabel="objective",
            ax=ax,
        )
        for other in others:
            ax.plot(range(1, len(other) + 1), _finite(other), color="#BBBBBB", lw=0.7, zorder=0)
        whole_ticks(ax)
        ax.set_title(data, loc="left", fontsize="medium")


def _finite(values: Sequence[float]) -> list[float]:
    return [value if np.isfinite(value) else float("nan") for value in values]


def whole_ticks(ax: Any) -> None:
    """Put ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    ax.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter(ScalarFormatter())
