"""profile: what makes cluster 3 cluster 3."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import DataError, ParameterError
from coterie.core.html import card, folded, listing, paragraph
from coterie.core.params import SEED, Domain, Integer, check_parameters
from coterie.core.random import RandomState, child_seeds, generator
from coterie.core.tables import Table
from coterie.core.text import counted, listed, plain, value_text
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble.ids import id_vector, index_ids
from coterie.profiles._groups import Clustering, Groups
from coterie.profiles._held_out import HeldOutTests, hold_out
from coterie.profiles._measures import Measures, adjusted, measure
from coterie.profiles._rules import find_rules, rule_sentence
from coterie.profiles._sentences import cluster_predicates, cluster_sentences
from coterie.profiles._variables import (
    Described,
    Variables,
    is_plain_matrix,
    n_rows,
    read_matrix_or_table,
)

WIDTH = 80
# columns of each cluster in a notebook
SHOWN_COLUMNS = 3
USED_NOTE = (
    "The clusters were made from these columns, so the columns differ by construction, and their p-values "
    "prove nothing."
)
# columns of the table whose values are medians or shares
_TYPICAL = ("typical", "typical_rest")
OTHER_NAMES_NOTE = (
    "No column has the name of one that the clusters were made from, so all count as used: they may have "
    "been computed from the same data, and then their p-values prove nothing. Name those with other data "
    "as external."
)

_DOMAINS: dict[str, Domain] = {
    "n_bootstrap": Integer(0),
    "random_state": SEED,
}


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What tells each cluster from the rest; made by :func:`profile`.

    Attributes
    ----------
    table : Table
        One row per cluster and column, the most telling column of each cluster first:

        - ``cluster``, ``column``, ``kind`` ("number", "date" or "category")
        - ``role``: "used" if the clusters were made from the column, "external" if not, "held out" if
          the p-value comes from clusters made without it.
        - ``level``: of a category, the level that tells the cluster best from the rest; the values below
          are about this level.
        - ``typical``, ``typical_rest``: median of the cluster and of all other samples; for a level, its
          share. Dates are days since 1970.
        - ``mean``, ``mean_rest``
        - ``difference``: difference of the means, in standard deviations of the column.
        - ``low``, ``high``: 95 % bootstrap interval of the difference; NaN for a single sample.
        - ``auc``: how well this column alone tells the cluster from the rest: the share of pairs (one
          sample of the cluster, one of the rest) in which the first has the larger value. 0.5 is chance;
          below 0.5 the cluster has the smaller values.
        - ``p_value``: Mann-Whitney test of cluster against rest; for a category the chi-squared test
          of all its levels, or Fisher's if levels are rare.
        - ``p_adjusted``: adjusted for the number of tests (Benjamini-Hochberg), columns that were used
          apart from the others.
        - ``missing``: share of the cluster without a value.
        - ``rank``: 1 for the most telling column of the cluster, by the distance of ``auc`` from 0.5.
    columns : Table
        One row per column, over all clusters: ``association`` from 0 to 1 (the correlation ratio of the
        ranks, or Cramér's V), and the p-value of the Kruskal-Wallis or chi-squared test.
    sentences : tuple of str
        One sentence for each cluster. It names up to three columns, and up to two external ones, whose
        interval leaves out 0 and whose adjusted p-value is below 0.05. In a cluster of at most 8
        samples, a column that was clustered by needs no such p-value. A single sample has no interval;
        its value must lie beyond 97.5 % of the others.
    notes : tuple of str
        What was left out, and what the p-values cannot prove.

    Examples
    --------
    >>> import coterie
    >>> table = {
    ...     "age": [23, 25, 31, 28, 26, 30, 22, 29, 61, 58, 66, 70, 63, 59, 64, 68],
    ...     "plan": ["pro", "pro", "basic", "pro"] * 2 + ["basic"] * 8,
    ... }
    >>> print(coterie.profile(table, ["young"] * 8 + ["old"] * 8))
    2 clusters of 16 samples, described by 2 columns
    <BLANKLINE>
    Cluster old (8 of 16 samples, 50 %) has higher age (median 63.5 against 27) and
    more often plan = basic (100 % against 25 %).
    Cluster young (8 of 16 samples, 50 %) has lower age (median 27 against 63.5) and
    more often plan = pro (75 % against 0 %).
    <BLANKLINE>
    The clusters were made from these columns, so the columns differ by
    construction, and their p-values prove nothing.
    """

    table: Table
    columns: Table
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    _variables: Variables
    _groups: Groups
    _n_bootstrap: int
    _seeds: IntArray

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        return self.table.to_pandas()

    @cached_property
    def rules(self) -> Table:
        """A short rule for each cluster, such as "proline > 755 and flavanoids > 2.2".

        The rule is a node of a decision tree with at most three splits, learned on one half of the
        samples. External columns are used only if there are no others. The other half of the samples
        says how good the rule is:

        - ``cluster``, ``rule``: None if there is none: the cluster has less than four samples, or the
          held-out samples of the cluster do not meet the rule more often than others (Fisher's test).
        - ``recall``: share of the cluster that meets the rule.
        - ``others``: share of all other samples that meet it.
        - ``precision``: share of the samples that meet it which are in the cluster.
        - ``tested``: number of samples of the cluster in the half that was held out.

        Computed on first use.
        """
        return find_rules(self._variables, self._groups, int(self._seeds[2]))

    @property
    def rule_sentences(self) -> tuple[str, ...]:
        """The rules in words, with the shares of the held-out samples that meet them."""
        return tuple(rule_sentence(row) for row in self.rules.rows())

    @cached_property
    def annotations(self) -> Table:
        """How the clusters go with external columns, such as known classes; the strongest first.

        The columns of ``columns`` without ``role``; ``nmi`` is the normalised mutual information of the
        clusters and a category.
        """
        external = np.flatnonzero(self.columns["role"] == "external")
        order = external[np.argsort(-self.columns["association"][external], kind="stable")]
        names = [name for name in self.columns.columns if name != "role"]
        values = {name: self.columns[name][order] for name in names}
        shared = self._variables.information(self._groups)
        values["nmi"] = np.array([shared.get(name, np.nan) for name in values["column"]])
        return Table(values)

    def between(self, a: Any, b: Any) -> Table:
        """Why two clusters are apart: their differences, the most telling column first.

        Only the samples of the two clusters are compared. The columns of the table are those of ``table``:
        ``typical`` and ``mean`` are of ``a``, ``typical_b`` and ``mean_b`` of ``b``, and ``auc`` is the
        share of pairs in which the sample of ``a`` has the larger value.

        Parameters
        ----------
        a, b : labels of two clusters

        Examples
        --------
        >>> import coterie
        >>> from sklearn.datasets import load_iris
        >>> iris = load_iris(as_frame=True)
        >>> table = coterie.profile(iris.data, iris.target_names[iris.target]).between(
        ...     "versicolor", "virginica")
        >>> table["column"].tolist()[:2], table["auc"].round(2).tolist()[:2]
        (['petal length (cm)', 'petal width (cm)'], [0.02, 0.02])
        """
        clusters = [self._groups.number_of(a), self._groups.number_of(b)]
        if clusters[0] == clusters[1]:
            raise ParameterError(f"between compares two different clusters, but both are {a!r}")
        groups = self._groups.take(clusters)
        measures = measure(
            self._variables, groups, n_bootstrap=self._n_bootstrap, seeds=self._seeds
        )
        kept = np.flatnonzero(measures.varies)
        columns = [self._variables.columns[j] for j in kept]
        measures = measures.take(kept)
        p_adjusted = adjusted(measures.p_value, self._variables.used[kept])
        table = _cluster_table(columns, measures, groups, ranked(measures), p_adjusted)
        renamed = {"typical_rest": "typical_b", "mean_rest": "mean_b"}
        return Table(
            {
                renamed.get(name, name): table[name][: len(columns)]
                for name in table.columns
                if name not in ("cluster", "size")
            }
        )

    def headline(self) -> str:
        """Number of clusters, samples and columns."""
        groups = self._groups
        return (
            f"{counted(groups.n_clusters, 'cluster')} of {counted(groups.sizes.sum(), 'sample')}, "
            f"described by {counted(len(self.columns), 'column')}"
        )

    def _repr_html_(self) -> str:
        first = self.table["rank"] <= SHOWN_COLUMNS
        shown = {
            name: self.table[name][first] for name in ("cluster", "column", "level", *_TYPICAL)
        }
        kinds = self.table["kind"][first]
        for name in _TYPICAL:
            shown[name] = np.array([*map(value_text, shown[name].tolist(), kinds)], dtype=object)
        shown |= {name: self.table[name][first] for name in ("difference", "low", "high")}
        return card(
            self.headline(),
            listing(self.sentences),
            folded("the most telling columns", Table(shown)),
            *map(paragraph, self.notes),
        )

    def __str__(self) -> str:
        paragraphs = [[self.headline()], self.sentences, self.notes]
        wrapped = [
            "\n".join(line for text in texts for line in _wrapped(text))
            for texts in paragraphs
            if texts
        ]
        return "\n\n".join(wrapped)

    __repr__ = __str__


def profile(
    X: Any,
    clustering: Any,
    *,
    external: Any = None,
    sample_weight: ArrayLike | str | None = None,
    sample_ids: ArrayLike | str | None = None,
    held_out: int | Sequence[str] | None = None,
    categories: Sequence[str] = (),
    column_names: Sequence[Any] | None = None,
    n_bootstrap: int = 200,
    random_state: RandomState = 0,
) -> Profile:
    """Describe each cluster by the columns in which it differs from the rest.

    Parameters
    ----------
    X : dataframe, mapping, array or sparse matrix, shape (n, d)
        The columns to describe the clusters by; they need not be those that were clustered by. Values
        may be missing. Ids, free text and constant columns are left out.
    clustering : labels, Result or fitted model
        Samples with the label -1, or without a label, are left out. If the samples and the rows of X have
        ids (those of a Result, or the index of a pandas object), they are matched by id.
    external : list of names, or table, optional
        Columns that the clusters were not made from, such as an outcome: their names in X, or a table
        with the same rows as X. A model or Result that was fitted on a table knows its columns; all others
        in X are then external, and one that was clustered by cannot be. Otherwise all columns of X are
        taken as clustered by.
    sample_weight : array, "confidence" or None, default None
        How much each sample counts. "confidence" takes the confidence of a model or Result, so that
        doubtful samples count less; sizes are not changed by it. A sample of weight 2 counts like two
        samples.
    sample_ids : array or str, optional
        Ids of the rows of X, or the name of the column that holds them.
    held_out : int, list of names or None, default None
        How columns that were clustered by are tested: the model is fitted again without them, and they are
        tested against the new clusters (docs/profiles.md). A number of at least 2 splits the columns
        into as many groups at random and holds out each once; a list of names holds out these. Needs a
        model that was fitted on X, and as many fits as there are groups.
    categories : list of str, default ()
        Columns to treat as categories, whatever they hold.
    column_names : list of str, optional
        Names of the columns, if X is an array or a sparse matrix.
    n_bootstrap : int, default 200
        Number of bootstrap samples for the intervals; 0 leaves them out.
    random_state : int, Generator or None, default 0
        Of the bootstrap, and of the split of the samples for the rules.

    Returns
    -------
    Profile

    Examples
    --------
    >>> import coterie
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True)
    >>> profile = coterie.profile(wine.data, wine.target)
    >>> profile.sentences[0]
    'Cluster 0 (59 of 178 samples, 33 %) has higher proline (median 1,095 against 560), ...'
    >>> profile.table["column"][:3].tolist()
    ['proline', 'flavanoids', 'alcohol']
    >>> profile.rule_sentences[2]
    'flavanoids <= 1.33 and color_intensity > 3.7: 88 % of cluster 2, 0 % of others'
    """
    given = dict(n_bootstrap=n_bootstrap, random_state=random_state)
    check_parameters("profile", given, _DOMAINS)
    partition = Clustering.of(clustering)
    seeds = child_seeds(generator(random_state), 4)
    columns = read_matrix_or_table(X)
    row_ids = _row_ids(X, columns, sample_ids)
    groups = Groups.of(partition, n_rows(columns), row_ids, sample_weight)
    variables = Variables.of(
        columns,
        external=external,
        used=partition.used,
        categories=categories,
        column_names=column_names,
    )
    if not variables.columns:
        raise _nothing_to_describe(variables.left_out)
    measures = measure(variables, groups, n_bootstrap=n_bootstrap, seeds=seeds)
    described, notes, tests = variables, groups.notes, None
    if held_out is not None and groups.n_clusters > 1:
        matrix = columns if is_plain_matrix(columns) else X
        tests = hold_out(matrix, partition, variables, groups, held_out, seeds)
        described = variables.with_role("held out", tests.columns)
        notes = (*notes, tests.note())
    names = {column.name for column in variables.columns}
    other_names = partition.used is not None and partition.used.isdisjoint(names)
    used_note = OTHER_NAMES_NOTE if other_names else USED_NOTE
    result = _assembled(
        described, replace(groups, notes=notes), measures, tests, used_note, n_bootstrap, seeds
    )
    # a pair of clusters is not tested against other clusters
    return replace(result, _variables=variables)


def _wrapped(text: str) -> list[str]:
    """Lines that fit, without a line break before a per cent sign."""
    lines = textwrap.wrap(text.replace(" %", "\xa0%"), WIDTH)
    return [line.replace("\xa0%", " %") for line in lines]


def _row_ids(X: Any, columns: Any, sample_ids: ArrayLike | str | None) -> Any:
    if sample_ids is None:
        return index_ids(X)
    if not isinstance(sample_ids, str):
        return id_vector(sample_ids, n_rows(columns))
    if is_plain_matrix(columns) or sample_ids not in columns:
        raise ParameterError(f"sample_ids is {sample_ids!r}, but X has no such column")
    column = columns[sample_ids]
    ids = column.numbers if column.texts is None else column.texts
    return id_vector(np.array(ids), len(column))


def _assembled(
    variables: Variables,
    groups: Groups,
    measures: Measures,
    tests: HeldOutTests | None,
    used_note: str,
    n_bootstrap: int,
    seeds: IntArray,
) -> Profile:
    """The profile, without columns that do not vary."""
    kept = np.flatnonzero(measures.varies)
    if not kept.size:
        raise _nothing_to_describe(_left_out(variables, measures))
    notes = [*groups.notes, *left_out_notes(variables, measures)]
    columns = [variables.columns[j] for j in kept]
    measures = measures.take(kept)
    used, ranking = variables.used[kept], ranked(measures)
    # sentences are about these clusters, not about those that held-out columns are tested against
    clustered_by = np.array([column.role != "external" for column in columns])
    predicates = cluster_predicates(
        columns, measures, groups, ranking, adjusted(measures.p_value, clustered_by)
    )
    if tests is not None:
        chosen = tests.columns[kept]
        measures = measures.with_tests(chosen, tests.p_value[kept], tests.p_any[kept])
    p_adjusted = adjusted(measures.p_value, used)
    if used.any() and groups.n_clusters > 1:
        notes.append(used_note)
    return Profile(
        table=_cluster_table(columns, measures, groups, ranking, p_adjusted),
        columns=_column_table(columns, measures, used),
        sentences=tuple(cluster_sentences(groups, predicates)),
        notes=tuple(notes),
        _variables=variables,
        _groups=groups,
        _n_bootstrap=n_bootstrap,
        _seeds=seeds,
    )


def _nothing_to_describe(left_out: dict[str, str]) -> DataError:
    if not left_out:
        return DataError("X has no columns")
    reasons = [f"{name!r} ({reason})" for name, reason in left_out.items()]
    return DataError(f"X has no column to describe the clusters by: {listed(reasons, 5)}")


def ranked(measures: Measures) -> IntArray:
    """Positions of the columns, the most telling one of each cluster first, shape (d, c)."""
    # equal values may differ in their last digits
    strength = np.round(np.abs(np.nan_to_num(measures.auc, nan=0.5) - 0.5), 12)
    size = np.round(np.abs(np.nan_to_num(measures.difference)), 12)
    return np.lexsort((-size, -strength), axis=0)


def _cluster_table(
    columns: list[Described],
    measures: Measures,
    groups: Groups,
    ranking: IntArray,
    p_adjusted: FloatArray,
) -> Table:
    order = ranking.T.ravel()
    cluster = np.repeat(np.arange(groups.n_clusters), len(columns))

    described = [columns[j] for j in order.tolist()]

    def of_both(values: NDArray[Any]) -> NDArray[Any]:
        return values[order, cluster]

    def measured(*names: str) -> dict[str, NDArray[Any]]:
        return {name: of_both(getattr(measures, name)) for name in names}

    levels = of_both(measures.level).tolist()
    return Table(
        {
            "cluster": groups.names[cluster],
            "size": groups.sizes[cluster],
            "column": np.array([column.name for column in described], dtype=object),
            "kind": np.array([column.kind for column in described], dtype=object),
            "role": np.array([column.role for column in described], dtype=object),
            "level": [
                column.levels[level] if level >= 0 else None
                for column, level in zip(described, levels, strict=True)
            ],
            **measured("typical", "typical_rest", "mean", "mean_rest"),
            **measured("difference", "low", "high", "auc", "p_value"),
            "p_adjusted": of_both(p_adjusted),
            "missing": of_both(measures.missing),
            "rank": np.tile(np.arange(1, len(columns) + 1), groups.n_clusters),
        }
    )


def _column_table(columns: list[Described], measures: Measures, used: NDArray[np.bool_]) -> Table:
    return Table(
        {
            "column": np.array([column.name for column in columns], dtype=object),
            "kind": np.array([column.kind for column in columns], dtype=object),
            "role": np.array([column.role for column in columns], dtype=object),
            "association": measures.association,
            "p_value": measures.p_any,
            "p_adjusted": adjusted(measures.p_any, used),
        }
    )


def _left_out(variables: Variables, measures: Measures) -> dict[str, str]:
    """Columns that are not described, and why."""
    left_out, columns = dict(variables.left_out), variables.columns
    for j in np.flatnonzero(~measures.varies).tolist():
        left_out[columns[j].name] = "empty" if (measures.missing[j] == 1).all() else "constant"
    return left_out


def left_out_notes(variables: Variables, measures: Measures) -> list[str]:
    """The columns that are not described, in one sentence; none if all are."""
    reasons: dict[str, list[str]] = {}
    for name, reason in _left_out(variables, measures).items():
        reasons.setdefault(reason, []).append(plain(name, 40))
    parts = [f"{listed(names, 5)} ({reason})" for reason, names in reasons.items()]
    return [f"Columns left out: {'; '.join(parts)}."] if parts else []
