"""Summarise runs into the numbers of the tables. Each score is given in three ways:

- **default**: the score of the method's default setting;
- **best setting**: the score of the single setting with the best mean over all runs of a data set;
- **oracle**: the score of the best setting of each run.

The last two choose the setting by the score that they report, so they use the known classes.

Runs without a score are counted by the reason. A mean over fewer runs than repetitions is marked as
incomplete. Ranks and the choice of the reference use complete means only.
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
# reasons for a missing score, in addition to the status of a run
NOT_RUN, NO_SCORE = "not run", "no score"
_NAN = float("nan")


class MethodLike(Protocol):
    """The attributes of a method in a spec that a summary reads."""

    @property
    def name(self) -> str:
        """Name in tables."""

    @property
    def solver(self) -> str:
        """Name in coterie."""

    @property
    def default(self) -> Mapping[str, Any]:
        """Parameters of the default setting."""

    @property
    def ablation_of(self) -> str:
        """The method of which this is an ablation, or empty."""


class SpecLike(Protocol):
    """The attributes of a spec that a summary reads."""

    @property
    def title(self) -> str:
        """Heading."""

    @property
    def paper(self) -> str:
        """One of the five papers, or empty."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Scores to show."""

    @property
    def methods(self) -> Sequence[MethodLike]:
        """Methods in the order of the spec."""

    @property
    def published(self) -> tuple[str, ...]:
        """Tables of the papers whose numbers are shown beside ours."""


@dataclass(frozen=True)
class Score:
    """A mean over ``runs`` scores of ``of`` repetitions."""

    mean: float
    # NaN for a single run
    sd: float
    runs: int
    of: int
    # the setting as JSON; empty for an oracle
    setting: str = ""
    # number of runs without a score, by reason
    stopped: Mapping[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every repetition has a score."""
        return 0 < self.runs == self.of


@dataclass(frozen=True)
class Comparison:
    """Paired tests of a method against the reference, both at their defaults, with Holm's correction."""

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
        """One + (better) or - (worse) per significant test; ? if neither test was possible."""
        p_values = [p for p in (self.t_holm, self.wilcoxon_holm) if not np.isnan(p)]
        if not p_values:
            return "?"
        return ("+" if self.difference > 0 else "-") * sum(p < ALPHA for p in p_values)


@dataclass(frozen=True)
class Line:
    """One method in one table."""

    method: str
    solver: str
    ablation_of: str
    default: Score
    # None if the method has a single setting
    best: Score | None
    oracle: Score | None
    # number of settings, and of repetitions in which only some of the settings have a score
    settings: int
    narrowed: int
    comparison: Comparison | None
    published: tuple[Published, ...]

    @property
    def is_base(self) -> bool:
        """Whether this is a score of the members instead of a method."""
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
    # the method that the others are compared with, and why it was chosen
    reference: str
    reference_reason: str

    @property
    def where(self) -> str:
        """Data set, number of members and share of missing labels as text."""
        return _where(self.data, self.members, self.missing)


@dataclass(frozen=True)
class Ranking:
    """Methods by their mean rank over data sets, best first."""

    metric: str
    members: int
    missing: float
    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    # number of data sets on which the method ranks last because its default score is incomplete
    without: tuple[int, ...]
    data: tuple[str, ...]
    # data sets left out because some runs are not done yet
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
    # median time and maximum memory over the successful runs; NaN if there are none
    seconds: float
    peak_mib: float
    runs: int
    of: int
    stopped: Mapping[str, int]

    @property
    def where(self) -> str:
        """Data set, number of members and share of missing labels as text."""
        return _where(self.data, self.members, self.missing)


@dataclass(frozen=True)
class Trouble:
    """Unsuccessful runs of a method with one status, over all its settings."""

    data: str
    members: int
    missing: float
    method: str
    status: str
    runs: int
    of: int
    # message of the first such run that has one
    message: str

    @property
    def where(self) -> str:
        """Data set, number of members and share of missing labels as text."""
        return _where(self.data, self.members, self.missing)


@dataclass(frozen=True)
class Summary:
    """All numbers of the tables."""

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
    groups: dict[_EnsembleKind, list[RunRecord]] = defaultdict(list)
    for key, run in by_key.items():
        groups[key.data, key.members, key.missing].append(run)
    tables = find_tables(spec.published, spec.paper)
    order = _methods_in_order(spec, by_key.values())
    cells: list[Cell] = []
    costs: list[Cost] = []
    troubles: list[Trouble] = []
    unlabelled: dict[str, None] = {}
    for kind in sorted(groups, key=_in_order_of(spec)):
        group = _Group(kind, groups[kind], _planned(spec))
        costs += [group.cost(method) for method in order if method in group.by_method]
        troubles += [trouble for method in order for trouble in group.troubles(method)]
        if not group.has_classes:
            if group.any_ok:
                unlabelled[kind[0]] = None
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
    """A setting as readable text: ``alpha=0.8, lam=0.4``."""
    parameters: dict[str, Any] = json.loads(setting) if setting else {}
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parameters.items()
    )


# data set, number of members, share of missing labels
_EnsembleKind = tuple[str, int, float]


class _Group:
    """The runs on one data set with ensembles of one kind."""

    def __init__(self, kind: _EnsembleKind, runs: list[RunRecord], planned: range) -> None:
        self.kind = kind
        self.repetitions = sorted({run.key.repetition for run in runs} | set(planned))
        self.by_method: dict[str, list[RunRecord]] = defaultdict(list)
        for run in runs:
            self.by_method[run.key.method].append(run)
        self.any_ok = any(run.status == "ok" for run in runs)
        # if all runs failed, the classes are uncertain, and the failures should still be shown
        self.has_classes = any(run.scores for run in runs) or not self.any_ok

    def cell(
        self,
        metric: str,
        spec: SpecLike,
        order: Sequence[str],
        tables: Sequence[tuple[str, str]],
    ) -> Cell:
        data, members, missing = self.kind
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
            scores = by_setting.get(setting, {})
            defaults[name] = [scores.get(repetition, _NAN) for repetition in self.repetitions]
            best, oracle = (None, None)
            if len(by_setting) > 1:
                best, oracle = self._best(runs, by_setting, setting), self._oracle(by_setting)
            lines[name] = Line(
                method=name,
                solver=solver,
                ablation_of=ablation_of,
                default=self._score(runs, scores, setting),
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
        successful = [run for run in runs if run.status == "ok"]
        seconds = [run.seconds for run in successful if run.seconds is not None]
        peaks = [run.peak_mib for run in successful if run.peak_mib is not None]
        return Cost(
            *self.kind,
            method,
            seconds=float(median(seconds)) if seconds else _NAN,
            peak_mib=float(max(peaks)) if peaks else _NAN,
            runs=len(successful),
            of=len(self.repetitions),
            stopped=self._stopped(runs, {run.key.repetition for run in successful}),
        )

    def troubles(self, method: str) -> Iterable[Trouble]:
        runs = self.by_method.get(method, [])
        by_status: dict[str, list[RunRecord]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: (run.key.repetition, run.key.setting)):
            if run.status != "ok":
                by_status[run.status].append(run)
        for status, stopped in by_status.items():
            message = next((run.message for run in stopped if run.message), "")
            yield Trouble(*self.kind, method, status, len(stopped), len(runs), message)

    def _scores(self, runs: Iterable[RunRecord], metric: str) -> dict[str, dict[int, float]]:
        """Scores by setting and repetition; a setting without any score has an empty entry."""
        by_setting: dict[str, dict[int, float]] = {}
        for run in runs:
            scores = by_setting.setdefault(run.key.setting, {})
            value = run.scores.get(metric, _NAN)
            if run.status == "ok" and np.isfinite(value):
                scores[run.key.repetition] = float(value)
        return by_setting

    def _score(self, runs: Iterable[RunRecord], scores: Mapping[int, float], setting: str) -> Score:
        of_setting = [run for run in runs if run.key.setting == setting]
        # sorted, so that the sum does not depend on the order in which runs finished
        values = [scores[repetition] for repetition in sorted(scores)]
        return _mean(values, len(self.repetitions), setting, self._stopped(of_setting, scores))

    def _stopped(self, runs: Iterable[RunRecord], scored: Iterable[int]) -> dict[str, int]:
        """Number of repetitions without a score, by reason."""
        status: dict[int, str] = {run.key.repetition: run.status for run in runs}
        without = [repetition for repetition in self.repetitions if repetition not in set(scored)]
        reasons = (status.get(repetition, NOT_RUN) for repetition in without)
        return dict(Counter(NO_SCORE if reason == "ok" else reason for reason in reasons))

    def _best(
        self, runs: Sequence[RunRecord], by_setting: Mapping[str, Mapping[int, float]], default: str
    ) -> Score:
        """The best setting: most runs first, then the best mean.

        A setting that fails on difficult runs has a mean over the easy ones only.
        """
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


def _in_order_of(spec: SpecLike) -> Callable[[_EnsembleKind], tuple[int, str, int, float]]:
    """Sort key: data sets in the order of the spec, then increasing members and missing shares."""
    listed = [source.name for source in getattr(spec, "data", ())]

    def order(kind: _EnsembleKind) -> tuple[int, str, int, float]:
        data = kind[0]
        return (listed.index(data) if data in listed else len(listed), *kind)

    return order


def _planned(spec: SpecLike) -> range:
    """The repetitions of a complete experiment; empty if they depend on the data (groups)."""
    protocol = getattr(spec, "protocol", None)
    return range(protocol.repetitions if protocol is not None and protocol.kind == "draw" else 0)


def _methods_in_order(spec: SpecLike, runs: Iterable[RunRecord]) -> list[str]:
    """The members, the methods of the spec, then other methods that have runs."""
    with_runs = dict.fromkeys(run.key.method for run in runs)
    base = [name for name in (BASE_AVERAGE, BASE_BEST) if name in with_runs]
    in_spec = [method.name for method in spec.methods]
    return list(dict.fromkeys([*base, *in_spec, *sorted(with_runs)]))


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
    """Rank the methods (without ablations) over the data sets, per metric and kind of ensemble."""
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
