"""Figures of scores: over ensemble size and missing labels; ablations; mean ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from coterie.core.text import counted
from coterie_bench._records import BASE_AVERAGE
from coterie_bench._summary import Cell, Ranking, Score, Summary
from coterie_bench.figures._plan import (
    COLUMN,
    PANELS,
    BenchFigure,
    Kind,
    ensembles_words,
    file_name,
    grid_size,
    listed,
    metric_words,
    pages,
    panel_grid,
    stopped_words,
)
from coterie_bench.pictures import bars, curves, ranks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# ------------------------------------------------------------------ over ensembles


def over_ensembles(
    summary: Summary, seed: int, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """Score against ensemble size, and against missing labels."""
    sizes: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    shares: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in summary.cells:
        members, missing = usual[cell.data]
        if cell.missing == missing:
            sizes[cell.data, cell.metric].append(cell)
        if cell.members == members:
            shares[cell.data, cell.metric].append(cell)
    drawn = 0
    for (data, metric), cells in sizes.items():
        if len(cells) > 1:
            drawn += 1
            yield _curves(data, metric, cells, seed, by_size=True)
    if not drawn:
        left_out.append(
            "score against ensemble size: every data set has ensembles of one size only"
        )
    drawn = 0
    for (data, metric), cells in shares.items():
        if len(cells) > 1:
            drawn += 1
            yield _curves(data, metric, cells, seed, by_size=False)
    if not drawn:
        left_out.append(
            "score against missing labels: every data set has one share of missing labels only"
        )


def _curves(
    data: str, metric: str, cells: Sequence[Cell], seed: int, *, by_size: bool
) -> BenchFigure:
    cells = sorted(cells, key=lambda cell: cell.members if by_size else cell.missing)
    names = [line.method for line in cells[0].lines if not (line.ablation_of or line.is_base)]
    if any(line.method == BASE_AVERAGE for cell in cells for line in cell.lines):
        names.append(BASE_AVERAGE)
    scores = {
        name: [
            next((line.default for line in cell.lines if line.method == name), None)
            for cell in cells
        ]
        for name in names
    }
    varied = "ensemble size" if by_size else "missing labels"
    fixed = (
        (
            f"{cells[0].missing:.0%} of the labels missing"
            if cells[0].missing
            else "no label missing"
        )
        if by_size
        else counted(cells[0].members, "member")
    )
    repetitions = sorted({cell.repetitions for cell in cells})
    return BenchFigure(
        name=file_name("members" if by_size else "missing", metric, data),
        title=f"{metric_words(metric)} against {varied}, {data}",
        caption=(
            f"{metric_words(metric)} on {data} against {varied} ({fixed}). Default settings; mean of "
            f"{' to '.join(str(count) for count in repetitions[:1] + repetitions[1:][-1:])} "
            f"repetitions, band: one standard deviation; seed {seed}."
            f"{_incomplete(scores)}"
        ),
        size=(COLUMN, 2.5 + 0.14 * -(-len(names) // 3)),
        draw=partial(
            _draw_curves,
            x=[cell.members if by_size else round(100 * cell.missing, 6) for cell in cells],
            scores=scores,
            xlabel="members" if by_size else "labels missing (%)",
            ylabel=metric_words(metric),
        ),
    )


def _draw_curves(
    figure: Figure,
    *,
    x: Sequence[float],
    scores: Mapping[str, Sequence[Score | None]],
    xlabel: str,
    ylabel: str,
) -> None:
    curves(
        [int(value) if float(value).is_integer() else value for value in x],
        {name: [_mean(score) for score in line] for name, line in scores.items()},
        spread={
            name: [score.sd if score else np.nan for score in line] for name, line in scores.items()
        },
        partial={
            name: [score is not None and 0 < score.runs < score.of for score in line]
            for name, line in scores.items()
        },
        scale="linear",
        xlabel=xlabel,
        ylabel=ylabel,
        ax=figure.add_subplot(),
    )


def _mean(score: Score | None) -> float:
    return score.mean if score is not None and score.runs else np.nan


def _incomplete(scores: Mapping[str, Sequence[Score | None]]) -> str:
    """A sentence, after a space, with the number of runs without a result per method."""
    words = []
    for name, line in scores.items():
        known = [score for score in line if score is not None]
        lost = sum(score.of - score.runs for score in known)
        if lost:
            words.append(f"{name} {lost:,} of {sum(score.of for score in known):,}")
    return f" Runs without a result: {'; '.join(words)}." if words else ""


# ------------------------------------------------------------------ ablations and ranks


def ablations(
    summary: Summary, seed: int, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """A method beside its ablations, with one panel per data set."""
    cells = [cell for cell in summary.cells if (cell.members, cell.missing) == usual[cell.data]]
    wholes = dict.fromkeys(
        line.ablation_of for cell in cells for line in cell.lines if line.ablation_of
    )
    if not wholes:
        left_out.append("ablation: the spec has no ablation with a score")
    for whole in wholes:
        for metric in summary.metrics:
            own = [cell for cell in cells if cell.metric == metric]
            for number, page in enumerate(pages(own)):
                scores = {
                    cell.data: {
                        line.method: line.default
                        for line in cell.lines
                        if line.method == whole or line.ablation_of == whole
                    }
                    for cell in page
                }
                rows = max(len(by_method) for by_method in scores.values())
                yield BenchFigure(
                    name=file_name(
                        "ablation", whole, metric, number + 1 if len(own) > PANELS else ""
                    ),
                    title=f"{metric_words(metric)} of {whole} with and without its parts",
                    caption=(
                        f"{metric_words(metric)} of {whole} (hatched) and of its ablations, each "
                        f"without one of its parts. Default settings, mean and standard "
                        f"deviation; {_conditions(page)}; seed {seed}."
                    ),
                    size=grid_size(len(page), 0.62 + 0.19 * rows),
                    draw=partial(
                        _draw_scores, scores=scores, stressed=[whole], score=metric_words(metric)
                    ),
                )


def _draw_scores(
    figure: Figure, *, scores: Mapping[str, Mapping[str, Score]], stressed: list[str], score: str
) -> None:
    for ax, (data, by_method) in zip(panel_grid(figure, len(scores)), scores.items(), strict=False):
        bars(
            list(by_method),
            [_mean(default) for default in by_method.values()],
            spread=[default.sd for default in by_method.values()],
            absent={name: stopped_words(default.stopped) for name, default in by_method.items()},
            notes={
                name: f"{default.runs} of {default.of} runs"
                for name, default in by_method.items()
                if 0 < default.runs < default.of
            },
            stressed=stressed,
            form="{:.3f}",
            xlabel=score,
            ax=ax,
        )
        ax.set_title(data, loc="left", fontsize="medium")


def rankings(
    summary: Summary, seed: int, usual: Mapping[str, Kind], left_out: list[str]
) -> Iterator[BenchFigure]:
    """Mean ranks over data sets with the critical difference."""
    drawn, kinds = False, set(usual.values())
    for ranking in summary.rankings:
        if len(ranking.data) < 2 or (ranking.members, ranking.missing) not in kinds:
            continue
        drawn = True
        kind = ensembles_words(ranking.members, ranking.missing)
        lost = [
            f"{name} on {count}"
            for name, count in zip(ranking.methods, ranking.without, strict=True)
            if count
        ]
        yield BenchFigure(
            name=file_name("ranks", ranking.metric, kind if len(kinds) > 1 else ""),
            title=f"Mean ranks by {metric_words(ranking.metric)}",
            caption=(
                f"Mean rank by {metric_words(ranking.metric)} over {listed(ranking.data)} ({kind}); "
                f"1 is best; default settings, seed {seed}. A bar joins methods that differ by less "
                "than the critical difference (Nemenyi, 5 %)."
                + (
                    f" Ranked last because of missing scores: {', '.join(lost)} data sets."
                    if lost
                    else ""
                )
            ),
            size=(COLUMN, 1.0 + 0.11 * len(ranking.methods)),
            draw=partial(_draw_ranks, ranking=ranking),
        )
    if not drawn:
        left_out.append("mean ranks: fewer than two data sets with classes and the same ensembles")


def _draw_ranks(figure: Figure, *, ranking: Ranking) -> None:
    ranks(ranking.methods, ranking.ranks, ranking.critical_difference, ax=figure.add_subplot())


def _conditions(cells: Sequence[Cell]) -> str:
    """Ensembles and repetitions as text; written once if they are equal for all data sets."""
    words = [
        f"{ensembles_words(cell.members, cell.missing)}, {counted(cell.repetitions, 'repetition')}"
        for cell in cells
    ]
    if len(set(words)) == 1:
        return words[0]
    return "; ".join(f"{cell.data}: {word}" for cell, word in zip(cells, words, strict=True))
