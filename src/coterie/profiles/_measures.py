"""How each variable differs between a cluster and the rest, and the tests of these differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from coterie.core.types import FloatArray, IntArray
from coterie.profiles._bootstrap import Centred, Draws, intervals
from coterie.profiles._groups import Groups
from coterie.profiles._ranks import RankSums
from coterie.profiles._variables import Part, Variables
from coterie.profiles.kernels import gather, masses, pack, summarise, unpack

# shares of values that are not 0, up to which the zeros of each cluster are gathered; only the speed changes
GATHERED_SHARES = (0.1, 0.25, 0.6)
# the chi-squared test needs expected counts of this size; below, tables are drawn at random
EXPECTED_COUNT = 5.0
DRAWN_TABLES = (499, 9_500)
ENOUGH_TABLES = 20


@dataclass(frozen=True, eq=False)
class Measures:
    """Arrays with one row per column and one column per cluster.

    Attributes
    ----------
    level : ndarray of int, shape (d, c)
        The level of a category that is described, -1 for numbers.
    typical, typical_rest : ndarray, shape (d, c)
        Median of a number, share of the level of a category.
    mean, mean_rest : ndarray, shape (d, c)
    difference, low, high : ndarray, shape (d, c)
        Mean of the cluster minus mean of the rest, in standard deviations of the column; its bootstrap
        interval.
    auc : ndarray, shape (d, c)
    p_value : ndarray, shape (d, c)
    missing : ndarray, shape (d, c)
        Share of the cluster without a value.
    association : ndarray, shape (d,)
        Square root of the share of the variance of ranks that the clusters explain, or Cramér's V.
    p_any : ndarray, shape (d,)
        Test that some cluster differs.
    varies : ndarray of bool, shape (d,)
        Whether the column has two different values.
    """

    level: IntArray
    typical: FloatArray
    typical_rest: FloatArray
    mean: FloatArray
    mean_rest: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    auc: FloatArray
    p_value: FloatArray
    missing: FloatArray
    association: FloatArray
    p_any: FloatArray
    varies: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """The measures of several blocks of columns, one below the other."""
        names = cls.__dataclass_fields__
        return cls(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )

    def with_tests(
        self, columns: NDArray[np.bool_], p_value: FloatArray, p_any: FloatArray
    ) -> Self:
        """Other p-values for some columns."""
        return replace(
            self,
            p_value=np.where(columns[:, None], p_value, self.p_value),
            p_any=np.where(columns, p_any, self.p_any),
        )

    def take(self, kept: IntArray) -> Self:
        """The measures of some columns."""
        names = type(self).__dataclass_fields__
        return type(self)(**{name: getattr(self, name)[kept] for name in names})


def measure(variables: Variables, groups: Groups, *, n_bootstrap: int, seeds: IntArray) -> Measures:
    """Measure all columns.

    Parameters
    ----------
    variables : Variables
    groups : Groups
    n_bootstrap : int
        Number of bootstrap samples; without any, there are no intervals.
    seeds : ndarray of int, shape (2,)
        Of the bootstrap, and of the tables drawn at random. Every block of columns uses the same seeds,
        so the values of a column do not depend on the other columns.
    """
    draws = Draws(groups, n_bootstrap, int(seeds[0]))
    parts = [
        _measure_block(part, positions, values, draws, seeds[1])
        for part in variables.parts
        for positions, values in part.blocks(groups.rows)
    ]
    return Measures.joined(parts)


def measure_columns(
    part: Part, wanted: list[int], groups: Groups, seeds: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The p-values of some columns of a part: per cluster, and for any difference between clusters."""
    draws = Draws(groups, 0, int(seeds[0]))
    parts = [
        _measure_block(part, positions, values, draws, seeds[1])
        for positions, values in part.blocks(groups.rows, wanted)
    ]
    joined = Measures.joined(parts)
    return joined.p_value, joined.p_any


def _measure_block(
    part: Part,
    positions: list[int],
    values: FloatArray,
    draws: Draws,
    seed: int,
) -> Measures:
    groups = draws.groups
    of_clusters, of_variables = summary(values, groups)
    present, rank_sum, median, median_rest = of_clusters
    ties, distinct = of_variables
    ranks = RankSums(present, rank_sum, ties)
    centred = Centred.of(values, groups)
    mean, mean_rest = centred.means(present)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(centred.squares / present.sum(axis=1))
        difference = (mean - mean_rest) / deviation[:, None]
    difference[distinct < 2] = np.nan
    auc, p_value = ranks.auc(), ranks.p_values()
    if groups.counts_whole_samples:
        exact = ranks.exact_p_values()
        p_value = np.where(np.isnan(exact), p_value, exact)
    low, high = intervals(centred, draws) / np.where(deviation > 0, deviation, np.nan)[:, None]
    whole = np.add.reduceat(np.append(groups.weight, 0.0), groups.starts[:-1])
    whole[np.diff(groups.starts) == 0] = 0.0
    with np.errstate(invalid="ignore"):
        missing = 1 - present / whole
    association, p_any = ranks.association(), ranks.p_any()

    described = [part.columns[j] for j in positions]
    first = np.cumsum([0, *(column.width for column in described)])
    shown = np.repeat(first[:-1, None], groups.n_clusters, axis=1)
    level = np.full(shown.shape, -1)
    typical, typical_rest = median, median_rest
    varies = distinct[first[:-1]] > 1
    rows = first[:-1]
    p_cluster, association, p_any = p_value[rows], association[rows], p_any[rows]
    is_category = np.array([column.kind == "category" for column in described])
    whole_counts = bool((groups.weight == np.rint(groups.weight)).all())
    for j in np.flatnonzero(is_category).tolist():
        span = slice(first[j], first[j + 1])
        level[j] = _telling_levels(auc[span], difference[span])
        shown[j] += level[j]
        observed = (present[span] * np.nan_to_num(mean[span])).T
        observed = observed[:, observed.sum(axis=0) > 0]
        varies[j] = observed.shape[1] > 1
        rng = np.random.default_rng(seed)
        p_cluster[j] = _independence_by_cluster(observed, whole_counts, rng)
        association[j], p_any[j] = _independence(observed, whole_counts, rng)
    typical = np.where(is_category[:, None], _pick(mean, shown), _pick(median, shown))
    typical_rest = np.where(
        is_category[:, None], _pick(mean_rest, shown), _pick(median_rest, shown)
    )
    return Measures(
        level,
        typical,
        typical_rest,
        _pick(mean, shown),
        _pick(mean_rest, shown),
        _pick(difference, shown),
        _pick(low, shown),
        _pick(high, shown),
        _pick(auc, shown),
        p_cluster,
        _pick(missing, shown),
        association,
        p_any,
        varies,
    )


def summary(values: FloatArray, groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Statistics of variables and clusters; see :func:`coterie.profiles.kernels.summarise`."""
    if not groups.counts_whole_samples:
        order = np.argsort(values, axis=1)
        ascending = np.take_along_axis(values, order, axis=1)
        return summarise(ascending, groups.codes[order], groups.weight[order], groups.n_clusters)
    # variables with about as many zeros are gathered together, because rows have one length
    n, nonzero = values.shape[1], np.count_nonzero(values, axis=1)
    level = np.searchsorted([n * share for share in GATHERED_SHARES], nonzero)
    of_clusters = np.empty((4, len(values), groups.n_clusters))
    of_variables = np.empty((2, len(values)))
    for some in np.unique(level).tolist():
        rows = np.flatnonzero(level == some)
        part = values if len(rows) == len(values) else values[rows]
        gathered = some < len(GATHERED_SHARES)
        width = int(nonzero[rows].max()) + groups.n_clusters + 1 if gathered else None
        of_clusters[:, rows], of_variables[:, rows] = _summary_of_samples(part, groups, width)
    return of_clusters, of_variables


def _summary_of_samples(
    values: FloatArray, groups: Groups, width: int | None
) -> tuple[FloatArray, FloatArray]:
    """Statistics where every sample counts once; zeros are gathered if a width is given."""
    codes, n_zeros = groups.codes[None, :], None
    if width is not None:
        # a zero that stands for others counts like a sample with their number as its weight
        values, codes, n_zeros = gather(values, groups.starts, width)
    # Sorting whole numbers with the cluster in their last bits is several times faster than sorting
    # positions. Values that differ in these bits only are sorted again.
    n_bits = max(1, (groups.n_clusters - 1).bit_length())
    ascending = np.sort(values, axis=1)
    clusters = pack(values, codes, n_bits)
    clusters.sort(axis=1)
    for row in np.flatnonzero(unpack(clusters, ascending, n_bits)).tolist():
        clusters[row] = codes[row % len(codes)][np.argsort(values[row])]
    mass = groups.weight[None, :] if n_zeros is None else masses(ascending, clusters, n_zeros)
    return summarise(ascending, clusters, mass, groups.n_clusters)


def _pick(values: FloatArray, shown: IntArray) -> FloatArray:
    """The values of the variable that is shown for each column and cluster."""
    return values[shown, np.arange(values.shape[1])]


def _telling_levels(auc: FloatArray, difference: FloatArray) -> IntArray:
    """The level that tells each cluster best from the rest; if two do, one that is more frequent in it."""
    strength = np.round(np.abs(np.nan_to_num(auc, nan=0.5) - 0.5), 12)
    return np.lexsort((difference > 0, strength), axis=0)[-1]


# ---------------------------------------------------------------------- categories


def _chi_squared(observed: FloatArray) -> FloatArray:
    """The statistic of cluster against rest, for each row of a table of counts (or of many tables)."""
    total = observed.sum(axis=(-2, -1), keepdims=True)
    of_levels = observed.sum(axis=-2, keepdims=True)
    expected = observed.sum(axis=-1, keepdims=True) * of_levels / total
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = (observed - expected) ** 2 * (1 / expected + 1 / (of_levels - expected))
    return np.asarray(np.where(np.isfinite(terms), terms, 0.0).sum(axis=-1))


def _independence_by_cluster(
    observed: FloatArray, whole_counts: bool, rng: np.random.Generator
) -> FloatArray:
    """Test of each cluster against the rest, from counts per cluster and level."""
    n_clusters, n_levels = observed.shape
    of_levels = observed.sum(axis=0)
    statistic = _chi_squared(observed) if n_levels else np.zeros(n_clusters)
    p_values = np.full(n_clusters, np.nan)
    for c in range(n_clusters):
        own = observed[c].sum()
        rest = of_levels.sum() - own
        if n_levels < 2 or own == 0 or rest == 0:
            continue
        smallest = min(own, rest) * of_levels.min() / of_levels.sum()
        if smallest >= EXPECTED_COUNT or not whole_counts:
            p_values[c] = stats.chi2.sf(statistic[c], n_levels - 1)
            continue
        table = np.rint([observed[c], of_levels - observed[c]]).astype(np.int64)
        p_values[c] = _p_of_rare_levels(table, rng)
    return p_values


def _p_of_rare_levels(table: IntArray, rng: np.random.Generator) -> float:
    """Test of independence where expected counts are small: Fisher's, or with tables drawn at random."""
    if table.shape == (2, 2):
        return float(stats.fisher_exact(table).pvalue)
    tables = stats.random_table(table.sum(axis=1), table.sum(axis=0))
    expected = table.sum(axis=1)[:, None] * table.sum(axis=0) / table.sum()

    def distance(drawn: NDArray[Any]) -> Any:
        return ((drawn - expected) ** 2 / expected).sum(axis=(-2, -1))

    # equal statistics may differ in their last digits
    limit = distance(table) * (1 - 1e-9)
    n_drawn = as_far = 0
    for n_tables in DRAWN_TABLES:
        drawn = tables.rvs(n_tables, random_state=rng)
        n_drawn += n_tables
        as_far += int((distance(drawn) >= limit).sum())
        if as_far >= ENOUGH_TABLES:
            # more tables would not make a large p-value small
            break
    return (1 + as_far) / (1 + n_drawn)


def _independence(
    observed: FloatArray, whole_counts: bool, rng: np.random.Generator
) -> tuple[float, float]:
    """Cramér's V of clusters and levels, and the p-value of their independence."""
    observed = observed[observed.sum(axis=1) > 0]
    if min(observed.shape) < 2:
        return np.nan, np.nan
    test = stats.chi2_contingency(observed, correction=False)
    strength = np.sqrt(test.statistic / (observed.sum() * (min(observed.shape) - 1)))
    p_value = float(test.pvalue)
    if test.expected_freq.min() < EXPECTED_COUNT and whole_counts:
        p_value = _p_of_rare_levels(np.rint(observed).astype(np.int64), rng)
    return float(min(strength, 1.0)), p_value


# ---------------------------------------------------------------------- multiplicity


def adjusted(p_values: FloatArray, family: NDArray[np.bool_]) -> FloatArray:
    """Benjamini-Hochberg within the family and within the others; NaN stays NaN.

    Parameters
    ----------
    p_values : ndarray, shape (d,) or (d, c)
    family : ndarray of bool, shape (d,)
        Columns whose tests are adjusted together, apart from the others.
    """
    p_adjusted = np.full(p_values.shape, np.nan)
    for members in (family, ~family):
        tested = members.reshape(-1, *[1] * (p_values.ndim - 1)) & ~np.isnan(p_values)
        if tested.any():
            p_adjusted[tested] = stats.false_discovery_control(p_values[tested])
    return p_adjusted
