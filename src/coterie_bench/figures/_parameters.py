"""Score against the parameters of a method: a line for one parameter, a map for two."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.core.text import counted
from coterie.solvers.methods import all_methods, find_method
from coterie_bench._records import BASE_AVERAGE, RunRecord
from coterie_bench.figures._plan import (
    COLUMN,
    BenchFigure,
    Kind,
    ensembles_words,
    file_name,
    listed,
    metric_words,
)
from coterie_bench.pictures import curves, score_map

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Study:
    """A method's scores by setting, on one data set.

    Attributes
    ----------
    parameters : tuple of str
        The varied parameters.
    values : mapping
        Scores by the tuple of the parameters' values.
    default : tuple
        The values of the default setting; None if the default was not run.
    repetitions : int
    """

    parameters: tuple[str, ...]
    values: Mapping[tuple[Any, ...], Sequence[float]]
    default: tuple[Any, ...] | None
    repetitions: int


def over_parameters(
    runs: Sequence[RunRecord], spec: Any, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """Score against each parameter of each grid: a line for one parameter, a map for two."""
    has_grid = False
    base: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in runs:
        if run.key.method == BASE_AVERAGE and _kind(run) == usual[run.key.data]:
            for metric, value in run.scores.items():
                base[run.key.data, metric].append(value)
    for method in spec.methods:
        for data, kind in usual.items():
            selected = [
                run
                for run in runs
                if run.key.method == method.name and run.key.data == data and _kind(run) == kind
            ]
            if len({run.key.setting for run in selected}) < 2:
                continue
            has_grid = True
            for metric in spec.metrics:
                study = read_study(selected, metric, _grid_order(method))
                if study is None:
                    left_out.append(
                        f"{metric_words(metric)} against the parameters of {method.name} on {data}: "
                        "no run has this score"
                    )
                    continue
                level = base.get((data, metric))
                yield from _studies(
                    method.name, data, kind, metric, study, spec.seed, level, left_out
                )
    if not has_grid:
        left_out.append("score against parameters: no method was run with more than one setting")


def read_study(runs: Sequence[RunRecord], metric: str, order: Sequence[str] = ()) -> Study | None:
    """The scores of one method on one data set by the values of the parameters that differ."""
    settings = {run.key.setting: run.parameters for run in runs}
    names = [*order, *sorted({name for setting in settings.values() for name in setting})]
    defaults = {name: _estimator_default(runs[0].solver, name) for name in names}
    by_text = {
        text: {name: _plain(setting.get(name, defaults[name])) for name in names}
        for text, setting in settings.items()
    }
    varied = tuple(
        name
        for name in dict.fromkeys(names)
        if len({repr(setting[name]) for setting in by_text.values()}) > 1
    )
    values: dict[tuple[Any, ...], dict[int, float]] = defaultdict(dict)
    default = None
    for run in runs:
        point = tuple(by_text[run.key.setting][name] for name in varied)
        score = run.scores.get(metric)
        # a default setting that is also in the grid counts once
        scores = values[point]
        if run.status == "ok" and score is not None and np.isfinite(score):
            scores.setdefault(run.key.repetition, float(score))
        if run.default:
            default = point
    if not varied or not any(values.values()):
        return None
    return Study(
        varied,
        {point: [*scores.values()] for point, scores in values.items()},
        default,
        len({run.key.repetition for run in runs}),
    )


def _studies(
    method: str,
    data: str,
    kind: Kind,
    metric: str,
    study: Study,
    seed: int,
    base: Sequence[float] | None,
    left_out: list[str],
) -> Iterator[BenchFigure]:
    score = metric_words(metric)
    lost = sum(len(scores) < study.repetitions for scores in study.values.values())
    where = (
        f" on {data} ({ensembles_words(*kind)}; mean of {counted(study.repetitions, 'repetition')}, "
        f"seed {seed})."
    )
    if lost:
        where += f" {counted(lost, 'setting')} without a result in some repetition."
    level = float(np.mean(base)) if base else None
    if len(study.parameters) == 2:
        yield BenchFigure(
            name=file_name("parameters", method, metric, data),
            title=f"{score} of {method} against {listed(study.parameters)}, {data}",
            caption=f"{score} of {method} against {listed(study.parameters)}{where}"
            " Frame: the default setting.",
            size=(COLUMN, 2.7),
            draw=partial(_draw_map, study=study, score=score),
        )
        return
    for j, parameter in enumerate(study.parameters):
        line = _line(study, j)
        if len(line) < 2:
            left_out.append(
                f"{score} against {parameter} of {method} on {data}: the grid has no two values of "
                "it with the other parameters at their defaults"
            )
            continue
        others = [name for name in study.parameters if name != parameter]
        held = f" The default values of {listed(others)} are kept." if others else ""
        yield BenchFigure(
            name=file_name("parameter", method, parameter, metric, data),
            title=f"{score} of {method} against {parameter}, {data}",
            caption=f"{score} of {method} against {parameter}{where}{held}"
            " Band: one standard deviation; vertical line: the default.",
            size=(COLUMN, 2.4),
            draw=partial(
                _draw_line,
                method=method,
                line=line,
                parameter=parameter,
                default=study.default[j] if study.default else None,
                repetitions=study.repetitions,
                score=score,
                base=level,
            ),
        )


def _line(study: Study, j: int) -> dict[Any, Sequence[float]]:
    """Scores by the values of parameter ``j``, with the other parameters at their defaults."""

    def others(point: tuple[Any, ...]) -> tuple[Any, ...]:
        return point[:j] + point[j + 1 :]

    if len(study.parameters) > 1 and study.default is None:
        return {}
    kept = {
        point[j]: scores
        for point, scores in study.values.items()
        if study.default is None or others(point) == others(study.default)
    }
    return {value: kept[value] for value in _sorted(kept)}


def _draw_line(
    figure: Figure,
    *,
    method: str,
    line: Mapping[Any, Sequence[float]],
    parameter: str,
    default: Any,
    repetitions: int,
    score: str,
    base: float | None,
) -> None:
    curves(
        list(line),
        {method: [float(np.mean(scores)) if scores else np.nan for scores in line.values()]},
        spread={method: [_sd(scores) for scores in line.values()]},
        partial={method: [0 < len(scores) < repetitions for scores in line.values()]},
        levels={} if base is None else {BASE_AVERAGE: base},
        marked=default,
        xlabel=parameter,
        ylabel=score,
        ax=figure.add_subplot(),
    )


def _draw_map(figure: Figure, *, study: Study, score: str) -> None:
    rows, columns = (_sorted({point[j] for point in study.values}) for j in range(2))
    means = np.array(
        [
            [
                float(np.mean(scores)) if (scores := study.values.get((row, column))) else np.nan
                for column in columns
            ]
            for row in rows
        ]
    )
    marked = None if study.default is None else (study.default[0], study.default[1])
    score_map(
        means,
        rows,
        columns,
        row_name=study.parameters[0],
        column_name=study.parameters[1],
        name=score,
        marked=marked,
        ax=figure.add_subplot(),
    )


def _kind(run: RunRecord) -> Kind:
    return run.key.members, run.key.missing


def _grid_order(method: Any) -> tuple[str, ...]:
    return tuple(getattr(method, "grid", None) or ())


def _estimator_default(solver: str, parameter: str) -> Any:
    """The estimator's default for a parameter that a setting does not give."""
    if solver not in all_methods():
        return None
    known = signature(find_method(solver)).parameters.get(parameter)
    return None if known is None else known.default


def _plain(value: Any) -> Any:
    """A hashable value: lists and tables become text."""
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value


def _sorted(values: Iterable[Any]) -> list[Any]:
    """Sort numbers by size, then other values by their text."""

    def sort_key(value: Any) -> tuple[bool, float, str]:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (not number, float(value) if number else 0.0, str(value))

    return sorted(values, key=sort_key)


def _sd(scores: Sequence[float]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else float("nan")
