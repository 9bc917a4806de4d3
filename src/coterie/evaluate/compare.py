"""Methods compared over runs: paired tests, ranks over data sets, and what a difference must exceed.

What cannot be tested is not tested: the number is nan and a note says why. Scores that differ by
less than 1e-12 are equal, since that is rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr, stdtr

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, Real, as_numbers, check_parameters, nearest
from coterie.core.tables import Table

_DECIMALS = 12
# up to here the distribution of the signed-rank sum is computed, ties and all; beyond, it is normal
_EXACT_PAIRS = 200


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """p-values corrected for their number by Holm's step-down rule.

    Parameters
    ----------
    p : array of numbers in [0, 1]
        A nan is a test that was not made: it stays nan and does not count.

    Examples
    --------
    >>> from coterie.evaluate import holm
    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    p = as_numbers("p", p)
    if p.ndim != 1:
        raise ValueError(f"p must be one number a test, has the shape {p.shape}")
    made = np.flatnonzero(~np.isnan(p))
    if np.any((p[made] < 0) | (p[made] > 1)):
        raise ValueError(
            f"p must lie in [0, 1], but goes from {p[made].min():g} to {p[made].max():g}"
        )
    order = made[np.argsort(p[made], kind="stable")]
    corrected = np.full(len(p), np.nan)
    raised = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1)
    return corrected


def paired_tests(scores: Mapping[str, ArrayLike], reference: str) -> Table:
    """Every method against one of them, run by run.

    Parameters
    ----------
    scores : mapping of method to scores
        The scores of the same runs in the same order; nan where a run gave none. A pair with a nan
        is left out, and the column ``pairs`` says how many were compared.
    reference : str
        The method that the others are compared with.

    Returns
    -------
    Table
        One row for each other method. ``difference`` is its mean less the reference's; ``t`` and
        ``t_p`` are the paired t-test, ``wilcoxon_p`` the signed-rank test (two-sided; exact up to
        200 pairs, pairs without a difference left out), ``t_holm`` and ``wilcoxon_holm`` the
        same corrected for the number of methods. ``note`` says why something was not tested.

    Examples
    --------
    >>> from coterie.evaluate import paired_tests
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
    if not isinstance(scores, Mapping):
        raise ParameterError(
            f"scores must map each method to its scores, but is {type(scores).__name__}"
        )
    arrays = {name: as_numbers(f"scores of {name!r}", values) for name, values in scores.items()}
    if not isinstance(reference, str) or reference not in arrays:
        raise ValueError(
            f"reference {reference!r} has no scores{nearest(reference, arrays)} "
            f"(there are: {', '.join(map(str, arrays))})"
        )
    runs = arrays[reference].shape
    for name, values in arrays.items():
        if values.ndim != 1 or values.shape != runs:
            raise ValueError(
                f"scores of {name!r} have the shape {values.shape}, those of the reference "
                f"{reference!r} {runs}; give one score a run, of the same runs"
            )
    others = [name for name in arrays if name != reference]
    tests = [_paired(arrays[name] - arrays[reference]) for name in others]
    return Table(
        {
            "method": np.array(others, dtype=object),
            "pairs": np.array([test.pairs for test in tests], dtype=np.int64),
            "difference": _floats([test.difference for test in tests]),
            "t": _floats([test.t for test in tests]),
            "t_p": _floats([test.t_p for test in tests]),
            "t_holm": holm([test.t_p for test in tests]),
            "wilcoxon_p": _floats([test.wilcoxon_p for test in tests]),
            "wilcoxon_holm": holm([test.wilcoxon_p for test in tests]),
            "note": np.array([test.note for test in tests], dtype=object),
        }
    )


def mean_ranks(scores: ArrayLike) -> NDArray[np.float64]:
    """Rank of each method, averaged over data sets; 1 is best.

    Parameters
    ----------
    scores : array, shape (data sets, methods)
        Higher is better. Equal scores share the mean of their ranks. A nan is a method that gave
        no result there: it ranks last. A data set on which no method gave one is left out.

    Returns
    -------
    array, shape (methods,)
        nan if no data set remains.

    Examples
    --------
    >>> from coterie.evaluate import mean_ranks
    >>> mean_ranks([[0.9, 0.8, 0.7], [0.5, 0.5, float("nan")]]).tolist()
    [1.25, 1.75, 3.0]
    """
    ranks = _ranks(scores)
    if len(ranks) == 0:
        return np.full(ranks.shape[1], np.nan)
    return np.asarray(ranks.mean(axis=0))


def critical_difference(n_methods: int, n_data: int, alpha: float = 0.05) -> float:
    """By how much two mean ranks must differ to be told apart (Nemenyi).

    Parameters
    ----------
    n_methods, n_data : int
        Methods ranked, and data sets over which the ranks were averaged.
    alpha : float, default=0.05
        Chance of seeing any difference where there is none.

    Returns
    -------
    float
        nan with fewer than two methods or two data sets: ranks of one data set cannot be tested.

    Examples
    --------
    >>> from coterie.evaluate import critical_difference
    >>> round(critical_difference(n_methods=4, n_data=14), 2)
    1.25
    """
    check_parameters(
        "critical_difference",
        {"n_methods": n_methods, "n_data": n_data, "alpha": alpha},
        {"n_methods": Integer(0), "n_data": Integer(0), "alpha": Real(0, 1, False, False)},
    )
    if n_methods < 2 or n_data < 2:
        return float("nan")
    # as slow to import as all the rest of the package
    from scipy.stats import studentized_range

    q = studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


@dataclass(frozen=True)
class Friedman:
    """Whether any of several methods ranks differently over data sets.

    Attributes
    ----------
    statistic, p : float
        Chi-square over ranks, corrected for ties, and its p-value; nan if not tested.
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

    Parameters
    ----------
    scores : array, shape (data sets, methods)
        As :func:`mean_ranks` takes them.

    Examples
    --------
    >>> from coterie.evaluate import friedman
    >>> test = friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.6, 0.7], [0.9, 0.8, 0.5]])
    >>> test.statistic, round(test.p, 3)
    (6.5, 0.039)
    >>> friedman([[0.9, 0.8, 0.7]]).note
    'not tested: one data set'
    """
    ranks = _ranks(scores)
    n_data, n_methods = ranks.shape
    note = ""
    if n_methods < 2:
        note = "not tested: fewer than two methods"
    elif n_data < 2:
        note = "not tested: one data set" if n_data else "not tested: no data set has a result"
    elif np.all(ranks == ranks[0, 0]):
        note = "not tested: all methods are equal on every data set"
    if note:
        return Friedman(float("nan"), float("nan"), n_data, n_methods, note)
    away = ranks - (n_methods + 1) / 2
    # without ties the denominator is n_data * k (k + 1) / 12, the usual constant
    statistic = float(np.sum(away.sum(axis=0) ** 2) * (n_methods - 1) / np.sum(away**2))
    return Friedman(statistic, float(chdtrc(n_methods - 1, statistic)), n_data, n_methods, "")


@dataclass(frozen=True)
class _Paired:
    pairs: int
    difference: float
    t: float
    t_p: float
    wilcoxon_p: float
    note: str


def _paired(differences: NDArray[np.float64]) -> _Paired:
    given = differences[np.isfinite(differences)].round(_DECIMALS)
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
    t = float(mean / (given.std(ddof=1) / np.sqrt(len(given))))
    t_p = float(2 * stdtr(len(given) - 1, -abs(t)))
    return _Paired(len(given), mean, t, t_p, _signed_rank_p(given), "")


def _signed_rank_p(differences: NDArray[np.float64]) -> float:
    """Two-sided p of the sum of the ranks of the positive differences, zeros left out."""
    nonzero = differences[differences != 0]
    # doubled, since ties share half ranks
    ranks = np.rint(2 * _average_ranks(np.abs(nonzero))).astype(np.int64)
    above = int(ranks[nonzero > 0].sum())
    total = int(ranks.sum())
    if len(ranks) > _EXACT_PAIRS:
        z = (above - total / 2) / np.sqrt(np.sum(ranks.astype(np.float64) ** 2) / 4)
        return float(2 * ndtr(-abs(z)))
    # chance of each sum when every sign is a fair coin, one rank after another
    chance = np.zeros(total + 1)
    chance[0] = 1
    for rank in ranks:
        shifted = np.zeros_like(chance)
        shifted[rank:] = chance[:-rank]
        chance = (chance + shifted) / 2
    # the distribution is symmetric: the smaller tail, twice
    tail = chance[: min(above, total - above) + 1].sum()
    return float(min(2 * tail, 1.0))


def _ranks(scores: ArrayLike) -> NDArray[np.float64]:
    matrix = as_numbers("scores", scores)
    if matrix.ndim != 2:
        raise ValueError(f"scores must be data sets x methods, have the shape {matrix.shape}")
    matrix = matrix[~np.all(np.isnan(matrix), axis=1)].round(_DECIMALS)
    last = np.where(np.isnan(matrix), -np.inf, matrix)
    return np.array([_average_ranks(-row) for row in last]).reshape(last.shape)


def _average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 1 for the smallest; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse], dtype=np.float64)


def _floats(values: list[float]) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)
