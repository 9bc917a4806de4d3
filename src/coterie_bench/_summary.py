"""From runs to the numbers that a table shows, each three ways and none better than it is.

- **default**: the setting that the method is run with unless told otherwise;
- **best setting**: the one setting whose mean over all runs of a data set is best, named;
- **oracle**: the best setting of each run. Both of the latter choose by the score that they then
  report, and so use the classes.

A run without a score is counted by what stopped it; a mean over fewer runs than there are
repetitions says so, and is left out where only complete means may enter (ranks, the reference).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Protocol

import numpy as np

from coterie_bench._published import Published, find_tables, look_up
from coterie_bench._records import BASE_AVERAGE, BASE_BEST, RunRecord
from coterie_bench.statistics import (
    Friedman,
    critical_difference,
    friedman,
    mean_ranks,
    paired_tests,
)

ALPHA = 0.05
# a repetition of which nothing is known yet, beside the ways in which a run can end
NOT_RUN, NO_SCORE = "not run", "no score"
_NAN = float("nan")


class MethodLike(Protocol):
    """What a summary reads of a method in a spec."""

    @property
    def name(self) -> str:
        """Name in tables."""

    @property
    def solver(self) -> str:
        """Name in the catalogue."""

    @property
    def default(self) -> Mapping[str, Any]:
        """Parameters that it is run with."""

    @property
    def ablation_of(self) -> str:
        """The method that it is a part of, or empty."""


class SpecLike(Protocol):
    """What a summary reads of a spec."""

    @property
    def title(self) -> str:
        """Heading."""

    @property
    def paper(self) -> str:
        """Which of the five papers, or empty."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Scores to show."""

    @property
    def methods(self) -> Sequence[MethodLike]:
        """Methods in their order."""

    @property
    def published(self) -> tuple[str, ...]:
        """Tables of the papers to print beside ours."""


@dataclass(frozen=True)
class Score:
    """A mean over runs, and how many there should have been."""

    mean: float
    # nan for a single run
    sd: float
    runs: int
    of: int
    # the setting as JSON; of an oracle, empty
    setting: str = ""
    # runs without a score, by what stopped them
    stopped: Mapping[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """A score in every repetition."""
        return 0 < self.runs == self.of


@dataclass(frozen=True)
class Comparison:
    """A method's default scores against the reference's, run by run, corrected by Holm."""

    pairs: int
    difference: float
    t: float
    t_p: float
    t_holm: float
    wilcoxon_p: float
    wilcoxon_holm: float
    note: str

    @property
    def mark(self) -> str:
        """Signs for better and worse: two where both tests find it, one where one does; ? untested."""
        made = [p for p in (self.t_holm, self.wilcoxon_holm) if not np.isnan(p)]
        if not made:
            return "?"
        return ("+" if self.difference > 0 else "-") * sum(p < ALPHA for p in made)


@dataclass(frozen=True)
class Line:
    """A method in one table."""

    method: str
    solver: str
    ablation_of: str
    default: Score
    # None where the method has a single setting
    best: Score | None
    oracle: Score | None
    # settings tried, and runs in which some of them gave no score: the oracle chose from fewer
    settings: int
    narrowed: int
    comparison: Comparison | None
    published: tuple[Published, ...]

    @property
    def is_base(self) -> bool:
        """The members themselves."""
        return self.method in (BASE_AVERAGE, BASE_BEST)


@dataclass(frozen=True)
class Cell:
    """One table: a data set, a size of ensemble, a share of missing labels, a metric."""

    data: str
    members: int
    missing: float
    metric: str
    repetitions: int
    lines: tuple[Line, ...]
    # the method that the others are compared with, and why it
    reference: str
    reference_reason: str

    @property
    def where(self) -> str:
        """Data and ensembles in words."""
        return _where(self.data, self.members, self.missing)


@dataclass(frozen=True)
class Ranking:
    """Methods by their mean rank over data sets, best first."""

    metric: str
    members: int
    missing: float
    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    # data sets on which the method has no complete default score, and so is last
    without: tuple[int, ...]
    data: tuple[str, ...]
    # data sets not counted because some runs are still to be made
    unfinished: tuple[str, ...]
    critical_difference: float
    friedman: Friedman


@dataclass(frozen=True)
class Cost:
    """Time and memory of a method's default setting on one data set."""

    data: str
    members: int
    missing: float
    method: str
    # median and greatest over the runs that ended well; nan where none did
    seconds: float
    peak_mib: float
    runs: int
    of: int
    stopped: Mapping[str, int]

    @property
    def where(self) -> str:
        """Data and ensembles in words."""
        return _where(self.data, self.members, self.missing)


@dataclass(frozen=True)
class Trouble:
    """Runs of a method that ended badly, over all its settings."""

    data: str
    members: int
    missing: float
    method: str
    status: str
    runs: int
    of: int
    # what the first of them said
    message: str

    @property
    def where(self) -> str:
        """Data and ensembles in words."""
        return _where(self.data, self.members, self.missing)


@dataclass(frozen=True)
class Summary:
    """All that the tables show."""

    title: str
    paper: str
    metrics: tuple[str, ...]
    cells: tuple[Cell, ...]
    rankings: tuple[Ranking, ...]
    costs: tuple[Cost, ...]
    troubles: tuple[Trouble, ...]
    # data sets whose classes are not known
    unlabelled: tuple[str, ...]


def summarise(runs: Iterable[RunRecord], spec: SpecLike) -> Summary:
    """Summarise the runs of an experiment.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from coterie_bench._records import RunRecord, RunKey
    >>> from coterie_bench._summary import summarise
    >>> method = SimpleNamespace(name="eac", solver="eac", default={}, ablation_of="")
    >>> spec = SimpleNamespace(
    ...     title="Two runs", paper="", metrics=("ari",), methods=(method,), published=()
    ... )
    >>> runs = [
    ...     RunRecord(
    ...         RunKey("iris", 20, 0.0, repetition, "eac", "{}"), "eac", True, "", "ok", "",
    ...         {"ari": score}, 3, 3, 150, 60, 0.1, 2.0, True, None,
    ...     )
    ...     for repetition, score in enumerate((0.5, 0.7))
    ... ]
    >>> (cell,) = summarise(runs, spec).cells
    >>> round(cell.lines[0].default.mean, 3), cell.lines[0].default.complete
    (0.6, True)
    """
    by_key = {run.key: run for run in runs}
    groups: dict[_Place, list[RunRecord]] = defaultdict(list)
    for key, run in by_key.items():
        groups[key.data, key.members, key.missing].append(run)
    tables = find_tables(spec.published, spec.paper)
    order = _methods_in_order(spec, by_key.values())
    cells: list[Cell] = []
    costs: list[Cost] = []
    troubles: list[Trouble] = []
    unlabelled: dict[str, None] = {}
    for place in sorted(groups, key=_in_order_of(spec)):
        group = _Group(place, groups[place], _planned(spec))
        costs += [group.cost(method) for method in order if method in group.by_method]
        troubles += [trouble for method in order for trouble in group.troubles(method)]
        if not group.has_classes:
            if group.any_ok:
                unlabelled[place[0]] = None
            continue
        cells += [group.cell(metric, spec, order, tables) for metric in spec.metrics]
    return Summary(
        title=spec.title,
        paper=spec.paper,
        metrics=tuple(spec.metrics),
        cells=tuple(cells),
        rankings=tuple(_rankings(cells, spec)),
        costs=tuple(costs),
        troubles=tuple(troubles),
        unlabelled=tuple(unlabelled),
    )


def setting_words(setting: str) -> str:
    """A setting as people write it: ``alpha=0.8, lam=0.4``."""
    found: dict[str, Any] = json.loads(setting) if setting else {}
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in found.items()
    )


_Place = tuple[str, int, float]


class _Group:
    """The runs on one data set with ensembles of one kind."""

    def __init__(self, place: _Place, runs: list[RunRecord], planned: range) -> None:
        self.place = place
        self.repetitions = sorted({run.key.repetition for run in runs} | set(planned))
        self.by_method: dict[str, list[RunRecord]] = defaultdict(list)
        for run in runs:
            self.by_method[run.key.method].append(run)
        self.any_ok = any(run.status == "ok" for run in runs)
        # with every run failed the classes may be there, and the failures are to be seen
        self.has_classes = any(run.scores for run in runs) or not self.any_ok

    def cell(
        self,
        metric: str,
        spec: SpecLike,
        order: Sequence[str],
        tables: Sequence[tuple[str, str]],
    ) -> Cell:
        data, members, missing = self.place
        by_name = {method.name: method for method in spec.methods}
        lines: dict[str, Line] = {}
        defaults: dict[str, list[float]] = {}
        for name in order:
            runs = self.by_method.get(name, [])
            method = by_name.get(name)
            if not runs and method is None:
                continue
            solver = method.solver if method else ""
            ablation_of = method.ablation_of if method else ""
            by_setting = self._scores(runs, metric)
            setting = _default_setting(runs)
            given = by_setting.get(setting, {})
            defaults[name] = [given.get(repetition, _NAN) for repetition in self.repetitions]
            best, oracle = (None, None)
            if len(by_setting) > 1:
                best, oracle = self._best(runs, by_setting, setting), self._oracle(by_setting)
            lines[name] = Line(
                method=name,
                solver=solver,
                ablation_of=ablation_of,
                default=self._score(runs, given, setting),
                best=best,
                oracle=oracle,
                settings=len(by_setting),
                narrowed=self._narrowed(by_setting),
                comparison=None,
                published=()
                if missing
                else look_up(
                    tables,
                    data=data,
                    metric=metric,
                    members=members,
                    method=name,
                    solver=solver,
                    default=method.default if method else {},
                    ablation=bool(ablation_of),
                ),
            )
        reference, reason = _reference(list(lines.values()), spec)
        if reference:
            lines |= _compared(lines, defaults, reference)
        return Cell(
            data,
            members,
            missing,
            metric,
            len(self.repetitions),
            tuple(lines.values()),
            reference,
            reason,
        )

    def cost(self, method: str) -> Cost:
        runs = [run for run in self.by_method[method] if run.default]
        good = [run for run in runs if run.status == "ok"]
        seconds = [run.seconds for run in good if run.seconds is not None]
        peaks = [run.peak_mib for run in good if run.peak_mib is not None]
        return Cost(
            *self.place,
            method,
            seconds=float(median(seconds)) if seconds else _NAN,
            peak_mib=float(max(peaks)) if peaks else _NAN,
            runs=len(good),
            of=len(self.repetitions),
            stopped=self._stopped(runs, {run.key.repetition for run in good}),
        )

    def troubles(self, method: str) -> Iterable[Trouble]:
        runs = self.by_method.get(method, [])
        bad: dict[str, list[RunRecord]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: (run.key.repetition, run.key.setting)):
            if run.status != "ok":
                bad[run.status].append(run)
        for status, stopped in bad.items():
            message = next((run.message for run in stopped if run.message), "")
            yield Trouble(*self.place, method, status, len(stopped), len(runs), message)

    def _scores(self, runs: Iterable[RunRecord], metric: str) -> dict[str, dict[int, float]]:
        """Scores by setting and repetition; a setting that never gave one is there, empty."""
        found: dict[str, dict[int, float]] = {}
        for run in runs:
            scores = found.setdefault(run.key.setting, {})
            value = run.scores.get(metric, _NAN)
            if run.status == "ok" and np.isfinite(value):
                scores[run.key.repetition] = float(value)
        return found

    def _score(self, runs: Iterable[RunRecord], given: Mapping[int, float], setting: str) -> Score:
        own = [run for run in runs if run.key.setting == setting]
        # always summed in the same order, whichever run was over first
        values = [given[repetition] for repetition in sorted(given)]
        return _mean(values, len(self.repetitions), setting, self._stopped(own, given))

    def _stopped(self, runs: Iterable[RunRecord], scored: Iterable[int]) -> dict[str, int]:
        """What became of the repetitions that have no score, by kind."""
        status: dict[int, str] = {run.key.repetition: run.status for run in runs}
        left = [repetition for repetition in self.repetitions if repetition not in set(scored)]
        kinds = (status.get(repetition, NOT_RUN) for repetition in left)
        return dict(Counter(NO_SCORE if kind == "ok" else kind for kind in kinds))

    def _best(
        self, runs: Sequence[RunRecord], by_setting: Mapping[str, Mapping[int, float]], default: str
    ) -> Score:
        """More runs come before a better mean: a setting that fails on hard runs has easy ones left."""
        scores = [self._score(runs, given, setting) for setting, given in by_setting.items()]
        return max(
            sorted(scores, key=lambda score: (score.setting != default, score.setting)),
            key=lambda score: (score.runs, score.mean if score.runs else -np.inf),
        )

    def _narrowed(self, by_setting: Mapping[str, Mapping[int, float]]) -> int:
        scored = [
            sum(repetition in given for given in by_setting.values())
            for repetition in self.repetitions
        ]
        return sum(0 < count < len(by_setting) for count in scored)

    def _oracle(self, by_setting: Mapping[str, Mapping[int, float]]) -> Score:
        best = [
            max(given[repetition] for given in by_setting.values() if repetition in given)
            for repetition in self.repetitions
            if any(repetition in given for given in by_setting.values())
        ]
        without = len(self.repetitions) - len(best)
        return _mean(best, len(self.repetitions), "", {NO_SCORE: without} if without else {})


def _mean(values: list[float], of: int, setting: str, stopped: Mapping[str, int]) -> Score:
    return Score(
        mean=float(np.mean(values)) if values else _NAN,
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else _NAN,
        runs=len(values),
        of=of,
        setting=setting,
        stopped=stopped,
    )


def _default_setting(runs: Iterable[RunRecord]) -> str:
    return next((run.key.setting for run in runs if run.default), "")


def _in_order_of(spec: SpecLike) -> Callable[[_Place], tuple[int, str, int, float]]:
    """Data sets as the spec lists them; then sizes and shares from small to large."""
    listed = [source.name for source in getattr(spec, "data", ())]

    def order(place: _Place) -> tuple[int, str, int, float]:
        data = place[0]
        return (listed.index(data) if data in listed else len(listed), *place)

    return order


def _planned(spec: SpecLike) -> range:
    """Repetitions that will be there once all is run, where the spec alone can tell."""
    protocol = getattr(spec, "protocol", None)
    return range(protocol.repetitions if protocol is not None and protocol.kind == "draw" else 0)


def _methods_in_order(spec: SpecLike, runs: Iterable[RunRecord]) -> list[str]:
    """The members, the methods of the spec, then any that the spec no longer names."""
    there = dict.fromkeys(run.key.method for run in runs)
    base = [name for name in (BASE_AVERAGE, BASE_BEST) if name in there]
    named = [method.name for method in spec.methods]
    return list(dict.fromkeys([*base, *named, *sorted(there)]))


def _reference(lines: Sequence[Line], spec: SpecLike) -> tuple[str, str]:
    whole = [line for line in lines if not line.is_base and not line.ablation_of]
    for line in whole:
        if spec.paper and line.solver == spec.paper and line.default.runs:
            return line.method, "the paper's method"
    complete = [line for line in whole if line.default.complete]
    if not complete:
        return "", ""
    return max(complete, key=lambda line: line.default.mean).method, "the best mean"


def _compared(
    lines: Mapping[str, Line], defaults: Mapping[str, list[float]], reference: str
) -> dict[str, Line]:
    scores = {name: defaults[name] for name, line in lines.items() if not line.is_base}
    tests = paired_tests(scores, reference)
    return {
        row["method"]: _with(
            lines[row["method"]],
            Comparison(**{name: value for name, value in row.items() if name != "method"}),
        )
        for row in tests.rows()
    }


def _with(line: Line, comparison: Comparison) -> Line:
    return Line(**{**vars(line), "comparison": comparison})


def _rankings(cells: Sequence[Cell], spec: SpecLike) -> Iterable[Ranking]:
    """For each metric and kind of ensemble, the methods (not their parts) over the data sets."""
    kinds = sorted({(cell.members, cell.missing) for cell in cells})
    methods = [method.name for method in spec.methods if not method.ablation_of]
    for metric in spec.metrics:
        for members, missing in kinds:
            own = [
                cell
                for cell in cells
                if (cell.metric, cell.members, cell.missing) == (metric, members, missing)
            ]
            lines = {cell.data: {line.method: line.default for line in cell.lines} for cell in own}
            unfinished = [
                data
                for data, by_method in lines.items()
                if any(NOT_RUN in by_method[name].stopped for name in methods)
            ]
            data = [name for name in lines if name not in unfinished]
            if not data or len(methods) < 2:
                continue
            matrix = np.array(
                [
                    [
                        lines[name][method].mean if lines[name][method].complete else np.nan
                        for method in methods
                    ]
                    for name in data
                ]
            )
            ranks = mean_ranks(matrix)
            test = friedman(matrix)
            best_first = np.argsort(ranks, kind="stable")
            yield Ranking(
                metric=metric,
                members=members,
                missing=missing,
                methods=tuple(methods[i] for i in best_first),
                ranks=tuple(float(ranks[i]) for i in best_first),
                without=tuple(int(np.isnan(matrix[:, i]).sum()) for i in best_first),
                data=tuple(data),
                unfinished=tuple(unfinished),
                critical_difference=critical_difference(len(methods), test.n_data, ALPHA),
                friedman=test,
            )


def _where(data: str, members: int, missing: float) -> str:
    return f"{data}, {members} members" + (f", {missing:.0%} missing" if missing else "")
