"""Compare methods over runs: paired tests, ranks over data sets, and critical differences.

The distributions are SciPy's. If a test is not possible, its result is NaN and a note says why.
Scores that differ by less than 1e-12 count as equal, since such differences come from rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from coterie.core.tables import Table
from coterie.core.types import FloatArray

DECIMALS = 12
# up to this many pairs the distribution of the signed-rank sum is computed exactly
EXACT_PAIRS = 200


def holm(p: ArrayLike) -> FloatArray:
    """p-values corrected for their number by Holm's step-down rule.

    Parameters
    ----------
    p : array of numbers in [0, 1]
        NaN marks a test that was not possible; it stays NaN and does not count.

    Examples
    --------
    >>> from coterie_bench.statistics import holm
    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    corrected = np.full(len(p), np.nan)
    raised = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return corrected


def paired_tests(scores: Mapping[str, ArrayLike], reference: str) -> Table:
    """Compare every method with a reference method, run by run.

    Parameters
    ----------
    scores : mapping of method to scores
        Scores of the same runs in the same order, NaN where a run has none. A pair with a NaN is
        left out; the column ``pairs`` says how many pairs remain.
    reference : str
        The method that the others are compared with.

    Returns
    -------
    Table
        One row per other method. ``difference`` is its mean minus that of the reference; ``t`` and
        ``t_p`` are the paired t-test, ``wilcoxon_p`` the signed-rank test (two-sided; exact up to
        200 pairs, also with ties; pairs without a difference left out), ``t_holm`` and
        ``wilcoxon_holm`` the same corrected for the number of methods. ``note`` says why something
        was not tested.

    Examples
    --------
    >>> from coterie_bench.statistics import paired_tests
    >>> table = paired_tests(
    ...     {"a": [0.70, 0.75, 0.72, 0.78, 0.71], "b": [0.60, 0.66, 0.61, 0.70, 0.62]}, reference="a"
    ... )
    >>> table["method"].tolist(), table["pairs"].tolist()
    (['b'], [5])
    >>> table["difference"].round(3).tolist(), table["wilcoxon_p"].tolist()
    ([-0.094], [0.0625])
    >>> bool(table["t_p"][0] < 0.001)
    True
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    others = [name for name in arrays if name != reference]
    tests = [_paired(arrays[name] - arrays[reference]) for name in others]
    t_p = np.array([test.t_p for test in tests], dtype=np.float64)
    wilcoxon_p = np.array([test.wilcoxon_p for test in tests], dtype=np.float64)
    return Table(
        {
            "method": np.array(others, dtype=object),
            "pairs": np.array([test.pairs for test in tests], dtype=np.int64),
            "difference": np.array([test.difference for test in tests], dtype=np.float64),
            "t": np.array([test.t for test in tests], dtype=np.float64),
            "t_p": t_p,
            "t_holm": holm(t_p),
            "wilcoxon_p": wilcoxon_p,
            "wilcoxon_holm": holm(wilcoxon_p),
            "note": np.array([test.note for test in tests], dtype=object),
        }
    )


def ranks_of(scores: ArrayLike) -> FloatArray:
    """Rank of each method on each data set with a result; 1 is best.

    Parameters
    ----------
    scores : array, shape (data sets, methods)
        Higher is better. Equal scores share the mean of their ranks. NaN marks a method without a
        result, which ranks last. A data set on which no method has a result is left out.
    """
    matrix = np.asarray(scores, dtype=np.float64).round(DECIMALS)
    matrix = matrix[~np.all(np.isnan(matrix), axis=1)]
    ranks = stats.rankdata(np.where(np.isnan(matrix), np.inf, -matrix), axis=1)
    return np.asarray(ranks, dtype=np.float64).reshape(matrix.shape)


def mean_ranks(scores: ArrayLike) -> FloatArray:
    """Rank of each method, averaged over data sets; 1 is best.

    Parameters
    ----------
    scores : array, shape (data sets, methods)
        As :func:`ranks_of` takes them.

    Returns
    -------
    array, shape (methods,)
        NaN if no data set has a result.

    Examples
    --------
    >>> from coterie_bench.statistics import mean_ranks
    >>> mean_ranks([[0.9, 0.8, 0.7], [0.5, 0.5, float("nan")]]).tolist()
    [1.25, 1.75, 3.0]
    """
    ranks = ranks_of(scores)
    if len(ranks) == 0:
        return np.full(ranks.shape[1], np.nan)
    return np.asarray(ranks.mean(axis=0))


def critical_difference(n_methods: int, n_data: int, alpha: float = 0.05) -> float:
    """The least difference of two mean ranks that is significant (Nemenyi).

    Parameters
    ----------
    n_methods, n_data : int
        Methods ranked, and data sets over which the ranks were averaged.
    alpha : float, default=0.05
        Probability of at least one significant difference where there is none.

    Returns
    -------
    float
        NaN with fewer than two methods or two data sets: ranks on one data set cannot be tested.

    Examples
    --------
    >>> from coterie_bench.statistics import critical_difference
    >>> round(critical_difference(n_methods=4, n_data=14), 2)
    1.25
    """
    if n_methods < 2 or n_data < 2:
        return float("nan")
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


@dataclass(frozen=True)
class Friedman:
    """Result of the Friedman test: whether methods rank differently over data sets.

    Attributes
    ----------
    statistic, p : float
        Chi-square over ranks, corrected for ties, and its p-value; NaN if not tested.
    n_data, n_methods : int
        Data sets with a result, and methods.
    note : str
        Why it was not tested, or empty.
    """

    statistic: float
    p: float
    n_data: int
    n_methods: int
    note: str


def friedman(scores: ArrayLike) -> Friedman:
    """Test whether the methods' ranks over data sets differ by more than chance.

    ``scipy.stats.friedmanchisquare`` gives the same numbers but refuses two methods.

    Parameters
    ----------
    scores : array, shape (data sets, methods)
        As :func:`ranks_of` takes them.

    Examples
    --------
    >>> from coterie_bench.statistics import friedman
    >>> test = friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.6, 0.7], [0.9, 0.8, 0.5]])
    >>> test.statistic, round(test.p, 3)
    (6.5, 0.039)
    >>> friedman([[0.9, 0.8, 0.7]]).note
    'no Friedman test: one data set'
    """
    ranks = ranks_of(scores)
    n_data, n_methods = ranks.shape
    note = ""
    if n_methods < 2:
        note = "fewer than two methods"
    elif n_data < 2:
        note = "one data set" if n_data else "no data set has a result"
    elif np.all(ranks == ranks[0, 0]):
        note = "all methods are equal on every data set"
    if note:
        reason = f"no Friedman test: {note}"
        return Friedman(float("nan"), float("nan"), n_data, n_methods, reason)
    centred = ranks - (n_methods + 1) / 2
    # without ties the denominator is n_data * k (k + 1) / 12, the usual constant
    statistic = float(np.sum(centred.sum(axis=0) ** 2) * (n_methods - 1) / np.sum(centred**2))
    p = float(stats.chi2.sf(statistic, n_methods - 1))
    return Friedman(statistic, p, n_data, n_methods, "")


@dataclass(frozen=True)
class _Paired:
    pairs: int
    difference: float
    t: float
    t_p: float
    wilcoxon_p: float
    note: str


def _paired(differences: FloatArray) -> _Paired:
    given = differences[np.isfinite(differences)].round(DECIMALS)
    nan = float("nan")
    if len(given) == 0:
        return _Paired(0, nan, nan, nan, nan, "not tested: no run in common")
    mean = float(given.mean())
    if len(given) == 1:
        return _Paired(1, mean, nan, nan, nan, "not tested: one run")
    if not np.any(given):
        return _Paired(len(given), 0.0, nan, nan, nan, "not tested: equal in every run")
    if np.all(given == given[0]):
        note = "no t-test: the same difference in every run"
        return _Paired(len(given), mean, nan, nan, _signed_rank_p(given), note)
    test = stats.ttest_1samp(given, 0.0)
    return _Paired(
        len(given), mean, float(test.statistic), float(test.pvalue), _signed_rank_p(given), ""
    )


def _signed_rank_p(differences: FloatArray) -> float:
    """Two-sided p-value of the sum of the ranks of the positive differences, zeros left out.

    ``scipy.stats.wilcoxon`` is exact only without ties, and scores of repeated runs tie often.
    """
    nonzero = differences[differences != 0]
    if len(nonzero) > EXACT_PAIRS:
        return float(stats.wilcoxon(nonzero).pvalue)
    # doubled, since ties share half ranks
    ranks = np.rint(2 * stats.rankdata(np.abs(nonzero))).astype(np.int64)
    positive, total = int(ranks[nonzero > 0].sum()), int(ranks.sum())
    # probability of each sum if every sign is a fair coin, one rank after another
    probability = np.zeros(total + 1)
    probability[0] = 1
    for rank in ranks:
        shifted = np.zeros_like(probability)
        shifted[rank:] = probability[:-rank]
        probability = (probability + shifted) / 2
    # the distribution is symmetric: twice the smaller tail
    tail = probability[: min(positive, total - positive) + 1].sum()
    return float(min(2 * tail, 1.0))
