"""A profile of bounded size, which a Result keeps and the report shows, whatever the size of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.core.random import child_seeds
from coterie.core.text import number_text
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble.ids import index_ids
from coterie.profiles._groups import Clustering, Groups
from coterie.profiles._measures import Measures, adjusted, measure
from coterie.profiles._profile import left_out_notes, ranked
from coterie.profiles._rules import find_rules, rule_sentence
from coterie.profiles._sentences import cluster_name, cluster_predicates
from coterie.profiles._variables import Described, Variables, n_rows, read_matrix_or_table

# clusters that are kept; of more, the largest
MAX_CLUSTERS = 60
# columns that are kept, and pairs of a kept column and cluster; of more, the most telling
MAX_COLUMNS, MAX_CELLS = 2000, 6000
# bars of a histogram; a column with fewer different values has one per value
BINS = 12
# values that are looked at: of larger tables, samples are drawn, but not fewer than MIN_SAMPLES
MAX_VALUES, MAX_SAMPLES, MIN_SAMPLES = 10_000_000, 20_000, 1_000
# rules are learned and tested on at most this many samples
RULE_SAMPLES = 5_000
# a histogram ends here; values beyond are counted in its first and last bar
ENDS = (0.005, 0.995)
OTHER_LEVELS = "all others"


@dataclass(frozen=True, eq=False)
class ProfileSummary:
    """What tells the clusters apart, at a bounded size.

    Arrays have one row per column of the table (d) and one column per cluster (c), the most telling
    columns first: those that come first for some cluster, then those that come second, and so on.

    Attributes
    ----------
    clusters : ndarray of int, shape (c,)
        The clusters that are kept: all, or the largest.
    sentences : list of str
        What tells each of these clusters from the rest.
    rules : list of str
        A short rule for each; empty if there is none.
    notes : list of str
        What was left out.
    columns : list of dict
        ``column`` (name), ``kind``, ``role``, ``labels`` (names of the bars; empty for a histogram),
        ``ends`` (of a histogram), ``beyond`` (whether values lie beyond each end) and ``levels`` (of a
        category: the levels that ``level`` refers to).
    n_columns : int
        Number of columns that were described.
    n_samples, n_looked_at : int
        Number of samples in clusters, and of those that were looked at.
    difference, low, high : ndarray, shape (d, c)
        As in the table of a :class:`Profile`.
    auc, typical, typical_rest, mean, mean_rest, missing : ndarray, shape (d, c)
    level : ndarray of int, shape (d, c)
        Position in ``levels`` of the level that is described; -1 for numbers.
    own, rest : ndarray, shape (c, b)
        Share of the cluster, and of all other samples, in each bar. The bars of the first column come
        first; a column has one per label, or 12.
    """

    clusters: NDArray[np.int64]
    sentences: list[str]
    rules: list[str]
    notes: list[str]
    columns: list[dict[str, Any]]
    n_columns: int
    n_samples: int
    n_looked_at: int
    difference: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    auc: NDArray[np.float32]
    typical: NDArray[np.float32]
    typical_rest: NDArray[np.float32]
    mean: NDArray[np.float32]
    mean_rest: NDArray[np.float32]
    missing: NDArray[np.float32]
    level: NDArray[np.int32]
    own: NDArray[np.float32]
    rest: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        X: Any,
        clustering: Any,
        categories: Sequence[str],
        rng: np.random.Generator,
        labels: NDArray[Any] | None = None,
    ) -> Self | None:
        """The summary for a Result or fitted model and its table; None if no column can be described.

        Parameters
        ----------
        X : dataframe, mapping, array or sparse matrix, shape (n, d)
        clustering : Result or fitted model
        categories : list of str
            Columns that were treated as categories.
        rng : Generator
        labels : ndarray, shape (n,), optional
            Another partition of the same samples, to describe instead.
        """
        partition = Clustering.of(clustering)
        if labels is not None:
            partition = replace(partition, labels=labels)
        seeds = child_seeds(rng, 4)
        table = read_matrix_or_table(X)
        groups = Groups.of(partition, n_rows(table), index_ids(X), None)
        variables = Variables.of(table, used=partition.used, categories=categories)
        if not variables.columns:
            return None
        n_samples = len(groups.rows)
        width = sum(column.width for column in variables.columns)
        limit = min(MAX_SAMPLES, max(MIN_SAMPLES, MAX_VALUES // width))
        groups = groups.sampled(limit, int(seeds[3]))
        measures = measure(variables, groups, n_bootstrap=200, seeds=seeds)
        varying = np.flatnonzero(measures.varies)
        if not varying.size:
            return None
        notes = [*groups.notes, *left_out_notes(variables, measures)]
        columns = [variables.columns[j] for j in varying]
        measures = measures.take(varying)
        ranking = ranked(measures)
        p_adjusted = adjusted(measures.p_value, variables.used[varying])
        predicates = cluster_predicates(columns, measures, groups, ranking, p_adjusted)
        kept = np.sort(np.argsort(-groups.sizes, kind="stable")[:MAX_CLUSTERS])
        of_rules = groups.sampled(RULE_SAMPLES, int(seeds[3]))
        rules = find_rules(variables, of_rules, int(seeds[2]), kept)
        chosen = _most_telling(measures, ranking)[
            : max(1, min(MAX_COLUMNS, MAX_CELLS // len(kept)))
        ]
        drawn = [
            _drawn(columns[j], variables.values(int(varying[j]), groups.rows), groups, kept, levels)
            for j, levels in zip(chosen, measures.level[np.ix_(chosen, kept)], strict=True)
        ]

        def cells(values: NDArray[Any]) -> NDArray[np.float32]:
            return values[np.ix_(chosen, kept)].astype(np.float32)

        return cls(
            clusters=groups.names[kept].astype(np.int64),
            sentences=[f"{cluster_name(groups.names[c])} {predicates[c]}." for c in kept],
            rules=[rule_sentence(row) if row["rule"] is not None else "" for row in rules.rows()],
            notes=notes,
            columns=[one.record for one in drawn],
            n_columns=len(columns),
            n_samples=n_samples,
            n_looked_at=len(groups.rows),
            **{name: cells(getattr(measures, name)) for name in _CELLS},
            level=np.array([one.level for one in drawn], dtype=np.int32),
            own=np.concatenate([one.own for one in drawn], axis=1),
            rest=np.concatenate([one.rest for one in drawn], axis=1),
        )

    def to_record(self) -> dict[str, Any]:
        """The summary as arrays, lists and plain values."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Read a summary. Raises ValueError if its values contradict each other."""
        if missing := [part.name for part in fields(cls) if part.name not in record]:
            raise ValueError(f"the profile has no {missing[0]}")
        summary = cls(**{part.name: record[part.name] for part in fields(cls)})
        if not summary._is_sound():
            raise ValueError("the profile is damaged")
        return summary

    def _is_sound(self) -> bool:
        """Whether all parts have the types and shapes that belong together."""
        texts, counts = (
            (self.sentences, self.rules, self.notes),
            (self.n_columns, self.n_samples, self.n_looked_at),
        )
        if not (
            all(isinstance(part, list) for part in (*texts, self.columns))
            and all(isinstance(text, str) for part in texts for text in part)
            and all(type(count) is int and count >= 0 for count in counts)
            and all(map(_is_column, self.columns))
        ):
            return False
        d, c = len(self.columns), len(self.sentences)
        bars = (c, sum(map(_n_bars, self.columns)))
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys((*_CELLS, "level"), (d, c))
        shapes |= {"clusters": (c,), "own": bars, "rest": bars}
        for name, shape in shapes.items():
            kind = "i" if name in ("clusters", "level") else "f"
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or (array.shape, array.dtype.kind) != (
                shape,
                kind,
            ):
                return False
        n_levels = np.array([max(1, len(column["levels"])) for column in self.columns])
        return len(self.rules) == c and bool((self.level < n_levels[:, None]).all())


_CELLS = (
    "difference",
    "low",
    "high",
    "auc",
    "typical",
    "typical_rest",
    "mean",
    "mean_rest",
    "missing",
)
_COLUMN_KINDS: dict[str, type] = {
    "column": str,
    "kind": str,
    "role": str,
    "labels": list,
    "ends": list,
    "beyond": list,
    "levels": list,
}


def _is_column(column: Any) -> bool:
    return (
        isinstance(column, dict)
        and all(isinstance(column.get(name), kind) for name, kind in _COLUMN_KINDS.items())
        and all(isinstance(text, str) for text in (*column["labels"], *column["levels"]))
        and all(isinstance(end, int | float) for end in column["ends"])
        and (bool(column["labels"]) or (len(column["ends"]) == len(column["beyond"]) == 2))
    )


def _n_bars(column: Mapping[str, Any]) -> int:
    return len(column["labels"]) or BINS


def _most_telling(measures: Measures, ranking: IntArray) -> IntArray:
    """The columns: those that are first for some cluster, then second, and so on; the strongest first."""
    rank = np.empty_like(ranking)
    np.put_along_axis(rank, ranking, np.arange(len(ranking))[:, None], axis=0)
    strength = np.abs(np.nan_to_num(measures.auc, nan=0.5) - 0.5).max(axis=1)
    return np.lexsort((-np.round(strength, 12), rank.min(axis=1)))


# ---------------------------------------------------------------------- bars


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A column with its bars: its record, the described level of each cluster, and the shares."""

    record: dict[str, Any]
    level: IntArray
    own: NDArray[np.float32]
    rest: NDArray[np.float32]


def _drawn(
    column: Described, values: FloatArray, groups: Groups, kept: IntArray, level: IntArray
) -> _Drawn:
    """The bars of a column, from the values of the samples in the order of the groups."""
    record: dict[str, Any] = {"column": column.name, "kind": column.kind, "role": column.role}
    record |= {"labels": [], "ends": [], "beyond": [], "levels": []}
    present = ~np.isnan(values)
    codes, weight, values = groups.codes[present], groups.weight[present], values[present]
    if column.kind == "category":
        described = np.unique(level)
        frequent = np.argsort(
            -np.bincount(values.astype(np.int64), weight, column.width), kind="stable"
        )
        drawn = _drawn_levels(described, frequent)
        record["labels"] = [column.levels[j] for j in drawn]
        record["levels"] = [column.levels[j] for j in described]
        bar_of = np.full(column.width, len(drawn))
        bar_of[drawn] = np.arange(len(drawn))
        if len(drawn) < column.width:
            record["labels"].append(OTHER_LEVELS)
        bars = bar_of[values.astype(np.int64)]
        level = np.searchsorted(described, level)
    else:
        different = np.unique(values)
        if len(different) <= BINS:
            record["labels"] = [number_text(value, column.kind) for value in different.tolist()]
            bars = np.searchsorted(different, values)
        else:
            low, high = _ends(values)
            record["ends"] = [low, high]
            record["beyond"] = [bool(different[0] < low), bool(different[-1] > high)]
            bars = np.clip(((values - low) / (high - low) * BINS).astype(np.int64), 0, BINS - 1)
    n_bars = _n_bars(record)
    counts = np.zeros((groups.n_clusters, n_bars))
    np.add.at(counts, (codes, bars), weight)
    return _Drawn(record, level, *_shares(counts, kept))


def _drawn_levels(described: IntArray, frequent: IntArray) -> IntArray:
    """Levels with a bar of their own, the most frequent first: described ones before others."""
    if len(frequent) <= BINS:
        return frequent
    first = frequent[np.isin(frequent, described)]
    others = frequent[~np.isin(frequent, described)]
    chosen = np.concatenate([first, others])[: BINS - 1]
    return frequent[np.isin(frequent, chosen)]


def _ends(values: FloatArray) -> tuple[float, float]:
    """Where a histogram begins and ends: extreme values would squeeze all others into one bar."""
    low, high = np.quantile(values, ENDS).tolist()
    return (low, high) if low < high else (float(values.min()), float(values.max()))


def _shares(counts: FloatArray, kept: IntArray) -> list[NDArray[np.float32]]:
    """Share of each kept cluster, and of all samples outside it, in each bar."""
    shares = []
    for part in (counts, counts.sum(axis=0) - counts):
        total = part.sum(axis=1, keepdims=True)
        share = np.divide(part, total, out=np.zeros_like(part), where=total > 0)
        shares.append(share[kept].astype(np.float32))
    return shares
