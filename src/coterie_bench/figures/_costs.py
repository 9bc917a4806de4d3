"""What methods cost and how they arrive: seconds, memory, objective."""

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

# why an objective does not fall from pass to pass, by method
RISES = {
    "eccms": " It may rise: its constraints are met only in the end, by an augmented Lagrangian."
}
# what cannot be told from nothing on a logarithmic axis: a clock's tick, a page of memory
LEAST = {"seconds": 1e-4, "peak_mib": 0.01}
MEASURES = {
    "seconds": ("time", "Time", "seconds", "median seconds"),
    "peak_mib": ("memory", "Peak memory", "MiB", "greatest peak memory (MiB)"),
}


def costs(
    summary: Summary, spec: Any, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """Bars of time and of memory on a logarithmic axis, a panel a data set."""
    parts = {method.name for method in spec.methods if method.ablation_of}
    aside = parts | {BASE_AVERAGE, BASE_BEST}
    by_data: dict[str, list[Cost]] = {}
    for cost in summary.costs:
        if cost.method not in aside and (cost.members, cost.missing) == usual[cost.data]:
            by_data.setdefault(cost.data, []).append(cost)
    for measure, (name, title, unit, words) in MEASURES.items():
        known = {
            data: found
            for data, found in by_data.items()
            if any(np.isfinite(getattr(cost, measure)) for cost in found)
        }
        left_out.extend(
            f"{name} on {data}: no run at a default setting ended well"
            for data in by_data
            if data not in known
        )
        for number, page in enumerate(pages(list(known.items()))):
            rows = max(len(found) for _, found in page)
            yield BenchFigure(
                name=file_name(name, number + 1 if len(known) > PANELS else ""),
                title=title,
                caption=(
                    f"{words[0].upper()}{words[1:]} of each method at its default setting, over "
                    f"{_conditions(page)}; logarithmic axis. Hatched: no result, and why; seed "
                    f"{spec.seed}."
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
    for ax, (data, found) in zip(panel_grid(figure, len(page)), page, strict=False):
        values = np.maximum([getattr(cost, measure) for cost in found], LEAST[measure])
        bars(
            [cost.method for cost in found],
            values,
            absent={
                cost.method: stopped_words(
                    {caps.get(kind, kind): count for kind, count in cost.stopped.items()}
                )
                for cost in found
            },
            notes={
                cost.method: f"{cost.runs} of {cost.of} runs"
                for cost in found
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
        f"{counted(found[0].of, 'repetition')} with "
        f"{ensembles_words(found[0].members, found[0].missing)}"
        for _, found in page
    ]
    if len(set(words)) == 1:
        return words[0]
    return "; ".join(f"{data}: {word}" for (data, _), word in zip(page, words, strict=True))


# ------------------------------------------------------------------ objective


def objectives(
    runs: Sequence[RunRecord], spec: Any, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """The objective pass by pass, a figure a method and a panel a data set."""
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
        found = [(data, histories[data]) for data in usual if data in histories]
        for number, page in enumerate(pages(found)):
            drawn = True
            kinds = {data: ensembles_words(*usual[data]) for data, _ in page}
            where = (
                next(iter(kinds.values()))
                if len(set(kinds.values())) == 1
                else "; ".join(f"{data}: {words}" for data, words in kinds.items())
            )
            yield BenchFigure(
                name=file_name("objective", method.name, number + 1 if len(found) > PANELS else ""),
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
    """Ticks at whole numbers, as far apart as they need be."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    ax.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, min_n_ticks=1))
    ax.xaxis.set_major_formatter(ScalarFormatter())
