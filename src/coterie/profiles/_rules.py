"""A short rule for each cluster, from a shallow decision tree, tested on samples that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from coterie.core.tables import Table
from coterie.core.text import number_text, percent, plain
from coterie.core.types import FloatArray, IntArray
from coterie.profiles._groups import Groups
from coterie.profiles._measures import summary
from coterie.profiles._ranks import RankSums
from coterie.profiles._sentences import LEVEL, LONGEST_NAME
from coterie.profiles._variables import Described, Part, Variables

# longer rules are hard to remember
MAX_CONDITIONS = 3
# a tree looks at this many variables: those that tell the cluster best in the first half
CANDIDATES = 30
# samples of a cluster that each half needs
LEAST_SAMPLES = 2


@dataclass(frozen=True)
class Condition:
    """Values of a column above ``low`` and up to ``high``; for a category, having a level or not."""

    column: Described
    variable: int
    low: float = -np.inf
    high: float = np.inf

    def holds(self, values: FloatArray) -> NDArray[np.bool_]:
        """Whether values meet the condition; missing values do not."""
        return (values > self.low) & (values <= self.high)

    def text(self) -> str:
        """Such as "proline > 755"."""
        name = plain(self.column.name, LONGEST_NAME)
        if self.column.kind == "category":
            level = plain(self.column.levels[self.variable], LONGEST_NAME)
            return f"{name} is {level}" if self.low > 0 else f"{name} is not {level}"
        low, high = (_threshold_text(end, self.column.kind) for end in (self.low, self.high))
        if np.isinf(self.low):
            return f"{name} <= {high}"
        return f"{name} > {low}" if np.isinf(self.high) else f"{low} < {name} <= {high}"


def _threshold_text(value: float, kind: str) -> str:
    if kind == "date" and np.isfinite(value):
        return number_text(value, kind)
    return f"{value:.0f}" if 1000 <= abs(value) < 1e15 and value.is_integer() else f"{value:.15g}"


def find_rules(
    variables: Variables, groups: Groups, seed: int, clusters: IntArray | None = None
) -> Table:
    """One row per cluster: its rule, and how well it does on the samples that were held out.

    There is no rule if these samples do not confirm it.

    ``clusters`` are the numbers of the clusters that get a rule, by default all.
    """
    rng = np.random.default_rng(seed)
    learns = _first_half(groups, rng)
    learning, testing = groups.subset(learns), groups.subset(~learns)
    candidates = _candidates(variables, learning)
    tree_seed = int(rng.integers(2**31 - 1))
    rows: list[dict[str, Any]] = []
    for c in range(groups.n_clusters) if clusters is None else clusters.tolist():
        row = {"cluster": groups.names[c], "rule": None, "recall": np.nan, "others": np.nan}
        row |= {"precision": np.nan, "tested": int(np.diff(testing.starts)[c])}
        rows.append(row)
        enough = min(np.diff(learning.starts)[c], np.diff(testing.starts)[c]) >= LEAST_SAMPLES
        if not enough or groups.n_clusters < 2:
            continue
        chosen = candidates[c]
        rule = _learned_rule(chosen, _values(chosen, learning.rows), learning, c, tree_seed)
        if rule is None:
            continue
        met = _meets(rule, dict(zip(chosen, _values(chosen, testing.rows), strict=True)))
        inside = testing.codes == c
        own = float(testing.weight[met & inside].sum())
        others = float(testing.weight[met & ~inside].sum())
        size, size_of_rest = (float(testing.weight[part].sum()) for part in (inside, ~inside))
        if not _is_better_than_chance(own, others, size, size_of_rest):
            continue
        row["rule"] = " and ".join(condition.text() for condition in rule.values())
        row |= {"recall": own / size, "others": others / size_of_rest}
        row["precision"] = own / (own + others)
    return Table({name: [row[name] for row in rows] for name in rows[0]})


def _is_better_than_chance(own: float, others: float, size: float, size_of_rest: float) -> bool:
    """Whether held-out samples of the cluster meet a rule more often than others: Fisher's test."""
    own, others, size, size_of_rest = (round(n) for n in (own, others, size, size_of_rest))
    p_value = stats.hypergeom.sf(own - 1, size + size_of_rest, size, own + others)
    return bool(p_value < LEVEL)


def rule_sentence(row: Mapping[str, Any]) -> str:
    """A rule with the shares of the held-out samples that meet it."""
    name = f"cluster {plain(row['cluster'], LONGEST_NAME)}"
    if row["rule"] is None:
        return f"no rule for {name}"
    recall, others = percent(row["recall"]), percent(row["others"])
    return f"{row['rule']}: {recall} of {name}, {others} of others"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A variable: a column of a part, and the level if it is a category."""

    part: Part
    position: int
    level: int

    @property
    def column(self) -> Described:
        """The column."""
        return self.part.columns[self.position]


Rule = dict[Candidate, Condition]


def _first_half(groups: Groups, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Half of the samples of each cluster, and one more if their number is odd."""
    learns = np.zeros(len(groups.rows), dtype=bool)
    for begin, end in zip(groups.starts[:-1], groups.starts[1:], strict=True):
        learns[begin + rng.permutation(end - begin)[: (end - begin + 1) // 2]] = True
    return learns


def _candidates(variables: Variables, groups: Groups) -> list[list[Candidate]]:
    """The variables that tell each cluster best, by the distance of their AUC from 0.5."""
    strengths, all_candidates = [], []
    only_external = not variables.used.any()
    for part in variables.parts:
        wanted = [j for j, c in enumerate(part.columns) if c.role == "used" or only_external]
        for positions, values in part.blocks(groups.rows, wanted):
            of_clusters, (ties, _) = summary(values, groups)
            auc = RankSums(of_clusters[0], of_clusters[1], ties).auc()
            strengths.append(np.round(np.abs(np.nan_to_num(auc, nan=0.5) - 0.5), 12))
            all_candidates += [
                Candidate(part, j, level)
                for j in positions
                for level in range(part.columns[j].width)
            ]
    order = np.argsort(-np.concatenate(strengths), axis=0, kind="stable")[:CANDIDATES]
    return [[all_candidates[v] for v in order[:, c].tolist()] for c in range(groups.n_clusters)]


def _values(candidates: list[Candidate], rows: IntArray) -> list[FloatArray]:
    """The values of each candidate."""
    return [
        next(candidate.part.blocks(rows, [candidate.position]))[1][candidate.level]
        for candidate in candidates
    ]


def _learned_rule(
    candidates: list[Candidate], values: list[FloatArray], groups: Groups, c: int, seed: int
) -> Rule | None:
    """The node of a tree that matches the cluster best, by the F score, as conditions."""
    inside = groups.codes == c
    by_candidate = {
        candidate: column
        for candidate, column in zip(candidates, values, strict=True)
        if len(_ranked(column)[0]) > 1
    }
    if not by_candidate:
        return None
    candidates = [*by_candidate]
    # a tree splits ranks where it would split values, and ranks keep all digits as 32-bit floats
    levels, ranks = zip(*map(_ranked, by_candidate.values()), strict=True)
    tree = DecisionTreeClassifier(
        max_depth=MAX_CONDITIONS, class_weight="balanced", random_state=seed
    )
    tree.fit(np.column_stack(ranks), inside, sample_weight=groups.weight)

    def score(rule: Rule) -> tuple[float, int]:
        met = _meets(rule, by_candidate)
        # of equal scores, the shorter rule; equal scores may differ in their last digits
        return round(_f_score(met, inside, groups.weight), 12), -len(rule)

    rules = [_rule_of(path, candidates, levels) for path in _paths(tree.tree_)]
    if not rules:
        return None
    best = max(rules, key=score)
    while len(best) > 1:
        shorter = max((_without(best, candidate) for candidate in best), key=score)
        if score(shorter) < score(best):
            break
        best = shorter
    return best


def _without(rule: Rule, candidate: Candidate) -> Rule:
    return {other: condition for other, condition in rule.items() if other is not candidate}


def _ranked(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The different values, and the position of each value among them (NaN if missing)."""
    different = np.unique(values[~np.isnan(values)])
    return different, np.where(
        np.isnan(values), np.nan, np.searchsorted(different, values).astype(np.float64)
    )


Step = tuple[int, float, bool]


def _paths(tree: Any) -> Iterator[list[Step]]:
    """Every node but the root: the splits that lead to it, as (variable, threshold, above)."""
    waiting: list[tuple[int, list[Step]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        if path:
            yield path
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            continue
        split = int(tree.feature[node]), float(tree.threshold[node])
        waiting += [(left, [*path, (*split, False)]), (right, [*path, (*split, True)])]


def _rule_of(path: list[Step], candidates: list[Candidate], levels: tuple[FloatArray, ...]) -> Rule:
    """The conditions of a path; splits of the same variable become one condition."""
    bounds: dict[int, tuple[float, float]] = {}
    for variable, threshold, above in path:
        low, high = bounds.get(variable, (-np.inf, np.inf))
        value = _short_number(levels[variable], threshold)
        bounds[variable] = (max(low, value), high) if above else (low, min(high, value))
    return {
        candidates[v]: Condition(candidates[v].column, candidates[v].level, low, high)
        for v, (low, high) in bounds.items()
    }


def _short_number(different: FloatArray, threshold: float) -> float:
    """A number with few digits between the values at the ranks below and above a threshold."""
    rank = int(np.clip(np.floor(threshold), 0, max(0, len(different) - 2)))
    below = float(different[rank])
    above = float(different[rank + 1]) if len(different) > 1 else np.inf
    middle = below + (above - below) / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if below <= short < above:
            return short
    return below


def _meets(rule: Rule, values: dict[Candidate, FloatArray]) -> NDArray[np.bool_]:
    return np.logical_and.reduce(
        [condition.holds(values[candidate]) for candidate, condition in rule.items()]
    )


def _f_score(met: NDArray[np.bool_], inside: NDArray[np.bool_], weight: FloatArray) -> float:
    """Harmonic mean of precision and recall."""
    right = float(weight[met & inside].sum())
    return 2 * right / float(weight[met].sum() + weight[inside].sum())
