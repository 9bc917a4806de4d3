"""Format summaries: text for a terminal, markdown for the docs, columns for a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from coterie.core.text import counted
from coterie_bench._published import PAPERS, Published
from coterie_bench._records import BASE_AVERAGE, BASE_BEST
from coterie_bench._summary import (
    ALPHA,
    Cell,
    Comparison,
    Cost,
    Line,
    Ranking,
    Score,
    Summary,
    Trouble,
    setting_words,
)

DEFAULT, BEST, ORACLE, PUBLISHED = (
    "default",
    "best setting",
    "oracle (uses the labels)",
    "published",
)
_METRICS = {
    "accuracy": "accuracy",
    "nmi_max": "NMI (max)",
    "nmi_arithmetic": "NMI (arithmetic)",
    "nmi_geometric": "NMI (geometric)",
    "ari": "ARI",
    "pairwise_f": "pairwise F",
    "purity": "purity",
}
# numbers of the authors that are not printed in a paper
BESIDE = {
    "stored": "the means that the authors keep with their program, over ten ensembles",
    "program": "the scores of the authors' program on the given ensembles",
}
# fewest pairs for which a two-sided Wilcoxon test can give p < 0.05: 2 / 2^6
ENOUGH, ENOUGH_WORD = 6, "six"
# longest message of a failed run, in characters
_MESSAGE = 200
_GAP = "  "
# column heads are wrapped to the width of their cells, but not below this
_HEAD = 9


@dataclass(frozen=True)
class _Grid:
    """Cells of a table; the first column names the rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Section:
    """A heading, sentences before a table, the table, and notes after it."""

    title: str
    level: int
    before: tuple[str, ...] = ()
    grid: _Grid | None = None
    after: tuple[str, ...] = ()


def as_text(summary: Summary, width: int = 80) -> str:
    """Format for a terminal. A table that is too wide is split, and each part repeats the first column.

    Examples
    --------
    >>> from coterie_bench._summary import Summary
    >>> from coterie_bench._tables import as_text
    >>> print(as_text(Summary("Nothing yet", "", ("ari",), (), (), (), (), ())))
    Nothing yet
    ===========
    <BLANKLINE>
    There are no runs.
    """
    parts = [part for section in _sections(summary, wide=False) for part in _text(section, width)]
    return "\n\n".join(parts)


def as_markdown(summary: Summary) -> str:
    """Format as markdown for the docs.

    Examples
    --------
    >>> from coterie_bench._summary import Summary
    >>> from coterie_bench._tables import as_markdown
    >>> print(as_markdown(Summary("Nothing yet", "", ("ari",), (), (), (), (), ())))
    # Nothing yet
    <BLANKLINE>
    There are no runs.
    """
    parts = [part for section in _sections(summary, wide=True) for part in _markdown(section)]
    return "\n\n".join(parts)


def as_columns(summary: Summary) -> dict[str, list[Any]]:
    """Columns of a table with one row per number.

    ``what`` is "default", "best setting", "oracle (uses the labels)" or "published" for scores,
    "mean rank", "seconds" (median) or "peak MiB" (maximum); ``value`` is the number. If a column
    does not apply, a number is NaN, a count 0 and a text empty.

    Examples
    --------
    >>> from coterie_bench._summary import Summary
    >>> from coterie_bench._tables import as_columns
    >>> list(as_columns(Summary("", "", (), (), (), (), (), ())))[:5]
    ['data', 'members', 'missing', 'metric', 'method']
    """
    columns: dict[str, list[Any]] = {name: [] for name in _EMPTY}
    for row in _long(summary):
        for name, empty in _EMPTY.items():
            columns[name].append(row.get(name, empty))
    return columns


# ---------------------------------------------------------------- content


def _sections(summary: Summary, wide: bool) -> Iterator[_Section]:
    if not summary.costs:
        yield _Section(summary.title, 1, ("There are no runs.",))
        return
    yield _Section(summary.title, 1, tuple(_legend(summary)))
    heading = ""
    for cell in summary.cells:
        if cell.where != heading:
            heading = cell.where
            yield _Section(heading, 2)
        yield _cell_section(cell, summary.paper, wide)
    for name in summary.unlabelled:
        yield _Section(name, 2, ("The classes are unknown, so external scores are left out.",))
    if summary.rankings:
        yield _Section(
            "Ranks over data sets",
            2,
            (
                "Mean rank of the default settings; 1 is best, and ties share the mean of their "
                "ranks. A method that lacks a score in some run of a data set ranks last there.",
            ),
        )
        for ranking in summary.rankings:
            yield _ranking_section(ranking)
    yield _Section(
        "Time and memory",
        2,
        (
            "Default settings: median time, and maximum memory in addition to what was in use "
            "before the run. (17/20) means that 17 of 20 runs succeeded; the others do not count.",
        ),
    )
    yield from _cost_sections(summary.costs)
    if summary.troubles:
        yield _trouble_section(summary)


def _legend(summary: Summary) -> Iterator[str]:
    if not summary.cells:
        return
    yield (
        "Scores are mean ± standard deviation over the runs; 0.50±0.10 (17/20) is over 17 of 20 "
        "runs, because the others have no score."
    )
    lines = [line for cell in summary.cells for line in cell.lines]
    if any(line.best for line in lines):
        yield (
            f'"{DEFAULT}" is one setting, chosen beforehand. "{BEST}" is the one setting with the '
            "best mean over all runs of the data set. "
            f'"{ORACLE}" takes the best setting of each run. '
            "The last two choose by the score that they report. A method with a single setting "
            "has the same number in all three columns and shows it once."
        )
    if any(line.comparison for line in lines):
        few = any(cell.repetitions < ENOUGH for cell in summary.cells)
        yield (
            'The column "less X" is the mean difference from the reference X over the runs, both at '
            "their default settings. ++ or -- means that the paired t-test and the Wilcoxon test are "
            f"both significant (p < {ALPHA:g}, Holm-corrected over the table), + or - that one of them is, "
            "? that neither was possible. Runs that draw from one pool are not independent: take the "
            "marks as hints."
            + f" With fewer than {ENOUGH_WORD} runs the Wilcoxon test cannot reach this p, so there is "
            "at most one + or -." * few
        )
    parts = dict.fromkeys(
        f"{line.method} of {line.ablation_of}" for line in lines if line.ablation_of
    )
    if parts:
        yield f"Ablations (a method without one of its parts), marked -: {', '.join(parts)}."
    shown = {(row.paper, row.table): None for line in lines for row in line.published}
    if shown:
        tables = ", ".join(
            f"{PAPERS[paper]} Table {table}" for paper, table in shown if table not in BESIDE
        )
        if tables:
            yield f'"{PUBLISHED}" holds the papers\' own numbers ({tables}).'
        for table in dict.fromkeys(table for _, table in shown if table in BESIDE):
            yield f'"{table}" in the column "{PUBLISHED}" marks {BESIDE[table]}.'


def _cell_section(cell: Cell, paper: str, wide: bool) -> _Section:
    with_grid = any(line.best for line in cell.lines)
    with_tests = any(line.comparison for line in cell.lines)
    with_published = any(line.published for line in cell.lines)
    head = ["method", DEFAULT]
    if with_tests:
        head.append(f"less {cell.reference}")
        head += ["p (t, Wilcoxon)"] if wide else []
    head += [BEST, ORACLE] if with_grid else []
    head += [PUBLISHED] if with_published else []
    letters: dict[str, str] = {}
    rows = []
    for line in cell.lines:
        row = [_name(line), _score(line.default)]
        if with_tests:
            row.append(_difference(line.comparison))
            row += [_p_values(line.comparison)] if wide else []
        if with_grid:
            row += [
                _score(line.best) if line.best else "",
                _score(line.oracle) if line.oracle else "",
            ]
        if with_published:
            texts = [_printed(number, line, paper, letters, wide) for number in line.published]
            if wide:
                row.append("; ".join(texts))
            else:
                # every further published number gets its own line
                rows += [(*row, text) for text in texts[:1]]
                rows += [(*[""] * len(row), text) for text in texts[1:]]
                if texts:
                    continue
                row.append("")
        rows.append(tuple(row))
    after = [*_settings_notes(cell)]
    if letters:
        after.append("; ".join(f"{letter}: {words}" for words, letter in letters.items()) + ".")
    after += _stopped_notes(cell)
    count = f"{cell.repetitions} runs" if cell.repetitions != 1 else "one run"
    before = [f"The reference is {cell.reference}, {cell.reference_reason}."] if with_tests else []
    return _Section(
        f"{_metric(cell.metric)} on {cell.where}, {count}",
        3,
        tuple(before),
        _Grid(tuple(head), tuple(rows)),
        tuple(after),
    )


def _name(line: Line) -> str:
    return f"- {line.method}" if line.ablation_of else line.method


def _score(score: Score) -> str:
    if not score.runs:
        return ", ".join(score.stopped) or "not run"
    spread = "" if math.isnan(score.sd) else f"±{score.sd:.3f}"
    part = "" if score.complete else f" ({score.runs}/{score.of})"
    return f"{score.mean:.3f}{spread}{part}"


def _difference(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    if math.isnan(comparison.difference):
        return "?"
    return f"{comparison.difference:+.3f} {comparison.mark}".rstrip()


def _p_values(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    return ", ".join(_p_value(p) for p in (comparison.t_holm, comparison.wilcoxon_holm))


def _p_value(p: float) -> str:
    if math.isnan(p):
        return "not tested"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _printed(row: Published, line: Line, paper: str, letters: dict[str, str], wide: bool) -> str:
    spread = "" if math.isnan(row.sd) else f"±{row.sd:.3f}"
    number = f"{row.mean:.3f}{spread}"
    table = row.table if row.paper == paper else f"{PAPERS[row.paper]} {row.table}"
    words = row.note if line.is_base else row.setting
    if wide:
        return f"{number} ({', '.join(part for part in (table, words) if part)})"
    if not words:
        return f"{number} {table}"
    letter = letters.setdefault(words, _letter(len(letters)))
    return f"{number} {table} {letter}"


def _letter(position: int) -> str:
    return chr(ord("a") + position) if position < 26 else str(position)


def _settings_notes(cell: Cell) -> Iterator[str]:
    named = [
        f"{line.method} {_best_words(line.best, line.default)}"
        for line in cell.lines
        if line.best and line.best.runs
    ]
    if named:
        yield f"Best settings: {'; '.join(named)}."
    narrowed = [
        f"{line.method} in {counted(line.narrowed, 'run')}" for line in cell.lines if line.narrowed
    ]
    if narrowed:
        yield f"Some settings gave no score, so the oracle had fewer to choose from: {', '.join(narrowed)}."


def _best_words(best: Score, default: Score) -> str:
    words = setting_words(best.setting)
    if best.setting != default.setting:
        return words
    return f"{words} (its default)" if words else "its default"


def _stopped_notes(cell: Cell) -> Iterator[str]:
    for line in cell.lines:
        # a cell without a number already shows the reason
        if line.default.stopped and (line.default.runs or len(line.default.stopped) > 1):
            yield (
                f"{line.method}: {line.default.runs} of {line.default.of} default runs have a "
                f"score ({_kinds(line.default.stopped)})."
            )
        comparison = line.comparison
        if comparison and comparison.note and not line.default.stopped:
            yield f"{line.method} and {cell.reference}: {comparison.note}."


def _kinds(stopped: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in stopped.items())


def _ranking_section(ranking: Ranking) -> _Section:
    best = ranking.ranks[0]
    with_gaps = any(ranking.without)
    rows = []
    for method, rank, without in zip(ranking.methods, ranking.ranks, ranking.without, strict=True):
        close = rank - best < ranking.critical_difference
        row = [method, f"{rank:.2f}", "yes" if close else "no"]
        rows.append((*row, str(without) if without else "") if with_gaps else tuple(row))
    head = ["method", "mean rank", "not significantly worse than the first"]
    if math.isnan(ranking.critical_difference):
        rows = [(row[0], row[1], *row[3:]) for row in rows]
        del head[2]
    after = [_friedman_words(ranking)]
    if ranking.unfinished:
        after.append(f"Not counted, because runs are missing: {', '.join(ranking.unfinished)}.")
    missing = f", {ranking.missing:.0%} missing" if ranking.missing else ""
    return _Section(
        f"{_metric(ranking.metric)} over {counted(len(ranking.data), 'data set')}, "
        f"{ranking.members} members{missing}",
        3,
        (f"{', '.join(ranking.data)}.",),
        _Grid((*head, *(["data sets without a score"] if with_gaps else [])), tuple(rows)),
        tuple(after),
    )


def _friedman_words(ranking: Ranking) -> str:
    test = ranking.friedman
    if test.note:
        return f"{test.note[0].upper()}{test.note[1:]}."
    return (
        f"Friedman test: chi-square {test.statistic:.2f}, p {_p_value(test.p)}. Ranks that differ by "
        f"less than {ranking.critical_difference:.2f} are not significantly different "
        f"(Nemenyi, {ALPHA:g})."
    )


def _cost_sections(costs: Sequence[Cost]) -> Iterator[_Section]:
    of_methods = [cost for cost in costs if cost.method not in (BASE_AVERAGE, BASE_BEST)]
    methods = dict.fromkeys(cost.method for cost in of_methods)
    for members, missing in dict.fromkeys((cost.members, cost.missing) for cost in of_methods):
        by_method_and_data = {
            (cost.method, cost.data): cost
            for cost in of_methods
            if (cost.members, cost.missing) == (members, missing)
        }
        data = dict.fromkeys(name for _, name in by_method_and_data)
        kind = f"{members} members" + (f", {missing:.0%} missing" if missing else "")
        for title, amount in (
            (f"Seconds, {kind}", "seconds"),
            (f"Peak memory in MiB, {kind}", "peak_mib"),
        ):
            rows = tuple(
                (
                    method,
                    *(
                        _amount(cost, getattr(cost, amount))
                        if (cost := by_method_and_data.get((method, name)))
                        else "not run"
                        for name in data
                    ),
                )
                for method in methods
            )
            yield _Section(title, 3, (), _Grid(("method", *data), rows))


def _amount(cost: Cost, value: float) -> str:
    if not cost.runs:
        return ", ".join(cost.stopped) or "not run"
    number = "not measured" if math.isnan(value) else _three_digits(value)
    return number if cost.runs == cost.of else f"{number} ({cost.runs}/{cost.of})"


def _three_digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 0.1:
        return f"{value:.3g}"
    return f"{value:.2g}" if value >= 0.001 else "<0.001"


def _trouble_section(summary: Summary) -> _Section:
    alike: dict[tuple[str, str, str], list[Trouble]] = {}
    for trouble in summary.troubles:
        message = " ".join(trouble.message.split())
        if len(message) > _MESSAGE:
            message = f"{message[: _MESSAGE - 1]}…"
        alike.setdefault((trouble.method, trouble.status, message), []).append(trouble)
    sentences = []
    for (method, status, message), troubles in alike.items():
        runs = sum(trouble.runs for trouble in troubles)
        of = sum(trouble.of for trouble in troubles)
        where = "; ".join(trouble.where for trouble in troubles)
        sentences.append(
            f"{method}: {status} in {runs} of {counted(of, 'run')} over all settings ({where})"
            + (f": {message}" if message else ".")
        )
    return _Section("Runs without a result", 2, tuple(sentences))


def _metric(name: str) -> str:
    return _METRICS.get(name, name)


# ---------------------------------------------------------------- layout


def _folded(text: str, width: int) -> list[str]:
    # names such as EC-CMS are not broken
    return wrap(text, width, break_on_hyphens=False)


def _text(section: _Section, width: int) -> Iterator[str]:
    lines = _folded(section.title, width) or [""]
    mark = {1: "=", 2: "-"}.get(section.level, "")
    if mark:
        lines.append(mark * max(map(len, lines)))
        yield "\n".join(lines)
        yield from ("\n".join(_folded(sentence, width)) for sentence in section.before)
    else:
        yield "\n".join(
            [*lines, *(line for sentence in section.before for line in _folded(sentence, width))]
        )
    if section.grid:
        yield from ("\n".join(block) for block in _blocks(section.grid, width))
    if section.after:
        yield "\n".join(line for sentence in section.after for line in _folded(sentence, width))


def _blocks(grid: _Grid, width: int) -> Iterator[list[str]]:
    """Lines of the table, split into blocks that fit the width."""
    columns = [list(column) for column in zip(grid.head, *grid.rows, strict=True)]
    sizes = [_column_width(column[0], column[1:]) for column in columns]
    chosen: list[int] = []
    used = 0
    for j in range(1, len(columns)):
        if chosen and sizes[0] + used + len(_GAP) + sizes[j] > width:
            yield _block(columns, sizes, [0, *chosen])
            chosen, used = [], 0
        chosen.append(j)
        used += len(_GAP) + sizes[j]
    yield _block(columns, sizes, [0, *chosen])


def _column_width(head: str, cells: Sequence[str]) -> int:
    """Width of a column: its widest cell, or the longest word of its head, which may be wrapped."""
    return max(*map(len, [*cells, *head.split()]), min(len(head), _HEAD))


def _block(columns: Sequence[list[str]], sizes: Sequence[int], chosen: Sequence[int]) -> list[str]:
    heads = [_folded(columns[j][0], sizes[j]) for j in chosen]
    height = max(map(len, heads))
    lines = [[*([""] * (height - len(head))), *head] for head in heads]
    rows = [list(row) for row in zip(*lines, strict=True)]
    rows.append(["-" * sizes[j] for j in chosen])
    cells = zip(*(columns[j][1:] for j in chosen), strict=True)
    # a row of further published numbers is empty in the other blocks
    rows += [list(row) for row in cells if any(row)]
    return [
        _GAP.join(cell.ljust(sizes[j]) for cell, j in zip(row, chosen, strict=True)).rstrip()
        for row in rows
    ]


def _markdown(section: _Section) -> Iterator[str]:
    yield f"{'#' * section.level} {_escaped(section.title)}"
    for sentence in section.before:
        yield _escaped(sentence)
    if section.grid:
        head, *rows = (
            "| " + " | ".join(_escaped(cell) for cell in row) + " |"
            for row in (section.grid.head, *section.grid.rows)
        )
        rule = "|" + "|".join(" --- " for _ in section.grid.head) + "|"
        yield "\n".join([head, rule, *rows])
    for sentence in section.after:
        yield _escaped(sentence)


def _escaped(text: str) -> str:
    """Escape markdown characters, because names and messages come from files."""
    for sign in "\\`*_[]<>|#~":
        text = text.replace(sign, f"\\{sign}")
    return text


# ---------------------------------------------------------------- the long form

_NAN = float("nan")
_EMPTY: dict[str, Any] = {
    "data": "",
    "members": 0,
    "missing": 0.0,
    "metric": "",
    "method": "",
    "solver": "",
    "ablation_of": "",
    "what": "",
    "value": _NAN,
    "sd": _NAN,
    "runs": 0,
    "of": 0,
    "setting": "",
    "stopped": "",
    "reference": "",
    "difference": _NAN,
    "t": _NAN,
    "t_p": _NAN,
    "t_holm": _NAN,
    "wilcoxon_p": _NAN,
    "wilcoxon_holm": _NAN,
    "critical_difference": _NAN,
    "table": "",
    "note": "",
}


def _long(summary: Summary) -> Iterator[dict[str, Any]]:
    for cell in summary.cells:
        for line in cell.lines:
            yield from _long_line(cell, line)
    for ranking in summary.rankings:
        for method, rank, without in zip(
            ranking.methods, ranking.ranks, ranking.without, strict=True
        ):
            yield {
                "data": "; ".join(ranking.data),
                "members": ranking.members,
                "missing": ranking.missing,
                "metric": ranking.metric,
                "method": method,
                "what": "mean rank",
                "value": rank,
                "runs": len(ranking.data) - without,
                "of": len(ranking.data),
                "critical_difference": ranking.critical_difference,
                "note": ranking.friedman.note,
            }
    for cost in summary.costs:
        if cost.method in (BASE_AVERAGE, BASE_BEST):
            continue
        for what, value in (("seconds", cost.seconds), ("peak MiB", cost.peak_mib)):
            yield {
                "data": cost.data,
                "members": cost.members,
                "missing": cost.missing,
                "method": cost.method,
                "what": what,
                "value": value,
                "runs": cost.runs,
                "of": cost.of,
                "stopped": _kinds(cost.stopped),
            }


def _long_line(cell: Cell, line: Line) -> Iterable[dict[str, Any]]:
    common = {
        "data": cell.data,
        "members": cell.members,
        "missing": cell.missing,
        "metric": cell.metric,
        "method": line.method,
        "solver": line.solver,
        "ablation_of": line.ablation_of,
    }
    tests = vars(line.comparison) if line.comparison else {}
    for what, score in ((DEFAULT, line.default), (BEST, line.best), (ORACLE, line.oracle)):
        if score is None:
            continue
        row = common | {
            "what": what,
            "value": score.mean,
            "sd": score.sd,
            "runs": score.runs,
            "of": score.of,
            "setting": setting_words(score.setting),
            "stopped": _kinds(score.stopped),
        }
        if what == DEFAULT and line.comparison:
            row |= {name: value for name, value in tests.items() if name in _EMPTY}
            row["reference"] = cell.reference
        yield row
    for number in line.published:
        yield common | {
            "what": PUBLISHED,
            "value": number.mean,
            "sd": number.sd,
            "setting": number.setting,
            "table": f"{PAPERS[number.paper]} {number.table}",
            "note": number.note,
        }
