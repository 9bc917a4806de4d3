"""From criteria to a recommendation: whether there is structure, and which k to take.

Two criteria decide, because together they separate structure from compact cells of noise (see the table
in docs/choosing_k.md): whether halves of the members agree (stability), and whether the members' clusters
cut across the partition (crossing). Both are measured as the excess over the null model: 1 is perfect, 0
is like noise. The smaller of the two excesses is the score at k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.core.types import FloatArray, IntArray
from coterie.select.criteria import CRITERIA, Ballot, greatest

Values = Mapping[str, FloatArray]

DECIDING = ("stability", "crossing")
# scores that differ by less than this count as equal, because coarse cuts score slightly higher
EQUAL = 0.2
# bounds of the threshold for structure
MIN_SCORE = 0.35
PERFECT_SCORE = 0.8
# the lower bound with features: the null is closer to the data, and real structure scores higher
MIN_SCORE_OF_FEATURES = 0.4
# the lower bound if all members have the same number of clusters: they may agree on cutting one cloud
SAME_SIZE_SCORE = 0.7
# the threshold is the mean score of the references plus this many standard deviations, within the bounds
DEVIATIONS = 2.5
# with fewer members the halves are too small to distinguish structure from chance
TESTABLE_MEMBERS = 6
# with fewer samples, members often agree on a partition of noise
TESTABLE_SAMPLES = 20


@dataclass(frozen=True)
class Choice:
    """The recommendation, with the votes, scores and reason for it."""

    votes: dict[str, int]
    scores: FloatArray
    threshold: float
    recommended: int
    structure: bool
    reason: str
    disagreement: str | None


def scores(values: Values, null: Values) -> FloatArray:
    """The smaller of the excesses of stability and crossing at each k."""
    excesses = [CRITERIA[name].excess(values[name], null[name]) for name in DECIDING]
    return np.minimum(*excesses)


def threshold(references: Sequence[Values], least: float = MIN_SCORE) -> float:
    """The score that structure must reach, from scoring each reference against the others."""
    highest = [
        greatest(scores(reference, mean_of([*references[:i], *references[i + 1 :]])))
        for i, reference in enumerate(references)
    ]
    finite = [value for value in highest if np.isfinite(value)]
    if not finite:
        return least
    level = float(np.mean(finite) + DEVIATIONS * np.std(finite))
    return float(np.clip(level, least, PERFECT_SCORE))


def mean_of(profiles: Sequence[Values]) -> dict[str, FloatArray]:
    """The mean of each criterion over the profiles that have it, ignoring NaN."""
    means = {}
    for name in profiles[0]:
        stacked = np.stack([profile[name] for profile in profiles if name in profile])
        known = (~np.isnan(stacked)).sum(axis=0)
        total = np.nansum(stacked, axis=0)
        means[name] = np.divide(total, known, out=np.full(len(total), np.nan), where=known > 0)
    return means


def preferences(ks: IntArray, values: Values, null: Values) -> dict[str, int]:
    """The k that each criterion prefers, for criteria that are defined at some k."""
    lifetimes = values.get("lifetime")
    return {
        name: CRITERIA[name].vote(CRITERIA[name], Ballot(ks, measured, null[name], lifetimes))
        for name, measured in values.items()
        if not np.isnan(measured).all()
    }


def choose(
    ks: IntArray,
    values: Values,
    null: Values,
    references: Sequence[Values],
    least: float = MIN_SCORE,
    too_few: str | None = None,
) -> Choice:
    """The recommendation; without stability and crossing it only counts votes."""
    votes = preferences(ks, values, null)
    if too_few is not None or not votes.keys() >= {*DECIDING}:
        return _untested(ks, votes, values.get("lifetime"), too_few)
    score, level = scores(values, null), threshold(references, least)
    top = greatest(score)
    if top < level:
        k = int(ks[np.nanargmax(score)])
        reason = (
            f"There is no stable structure: the best score, at k = {k}, is {top:.2f} (0 is like data "
            f"without structure, 1 is perfect), and {level:.2f} is needed here. Treat the data as one "
            "cluster."
        )
        return Choice(votes, score, level, 1, False, reason, None)
    candidates = ks[np.flatnonzero(score >= max(top - EQUAL, level))].tolist()
    k = _most_votes(candidates, ks, votes, values.get("lifetime"))
    finer = _gap(ks, votes, score, level)
    coarse = None
    if finer is not None and finer > k:
        coarse, k = k, finer
    i = int(np.flatnonzero(ks == k)[0])
    reason = (
        f"At k = {k} the partitions of halves of the members have an ARI of "
        f"{values['stability'][i]:.2f} ({null['stability'][i]:.2f} without structure), and the "
        f"members' clusters cross the partition {100 * values['crossing'][i]:.0f} % as much as by chance "
        f"({100 * null['crossing'][i]:.0f} % without structure)"
        f"; {_compared(candidates, k, coarse)}."
    )
    return Choice(votes, score, level, k, True, reason, _disagreement(votes, k))


def untestable(n_samples: int, n_members: int) -> str | None:
    """The reason why structure cannot be distinguished from chance; None if it can."""
    for name, count, least in (
        ("samples", n_samples, TESTABLE_SAMPLES),
        ("members", n_members, TESTABLE_MEMBERS),
    ):
        if count < least:
            return f"there are only {count} {name}, and at least {least} are needed"
    return None


def _most_votes(
    candidates: list[int], ks: IntArray, votes: Mapping[str, int], lifetimes: FloatArray | None
) -> int:
    """The k with most votes; in a tie the one with the longest lifetime, then the largest."""
    known = np.zeros(len(ks)) if lifetimes is None else np.nan_to_num(lifetimes).round(9)
    lifetime_of = dict(zip(ks.tolist(), known.tolist(), strict=True))
    ballots = list(votes.values())
    return max(candidates, key=lambda k: (ballots.count(k), lifetime_of[k], k))


def _gap(ks: IntArray, votes: Mapping[str, int], score: FloatArray, level: float) -> int | None:
    """The k at which both the spectrum and the dendrogram have their largest gap, if its score suffices.

    If clusters lie in groups, the groups are at least as stable as the clusters. The two gaps show
    the last real split, and seldom coincide by chance.
    """
    k = votes.get("eigengap")
    if k is None or votes.get("lifetime") != k:
        return None
    return k if score[np.flatnonzero(ks == k)[0]] >= level else None


def _compared(candidates: list[int], k: int, coarse: int | None) -> str:
    """How the recommended k compares with the other candidates."""
    if coarse is not None:
        return (
            f"the coarser k = {coarse} is slightly more stable, but the spectrum and the dendrogram "
            f"both have their largest gap at {k}"
        )
    others = [str(other) for other in candidates if other != k]
    if not others:
        return "no other k does as well"
    about = f"{'does' if len(others) == 1 else 'do'} about as well"
    return (
        f"k = {', '.join(others)} {about}, with fewer votes or a shorter lifetime in the dendrogram"
    )


def _disagreement(votes: Mapping[str, int], k: int) -> str | None:
    against = {name: vote for name, vote in votes.items() if vote != k}
    if 2 * len(against) <= len(votes):
        return None
    by_vote: dict[int, list[str]] = {}
    for name, vote in against.items():
        by_vote.setdefault(vote, []).append(CRITERIA[name].words)
    listed = "; ".join(f"{vote} by {', '.join(words)}" for vote, words in sorted(by_vote.items()))
    return (
        f"The criteria disagree: {len(votes) - len(against)} of {len(votes)} prefer k = {k}; "
        f"the others prefer {listed}. Look at the table before you rely on one number."
    )


def _untested(
    ks: IntArray,
    votes: Mapping[str, int],
    lifetimes: FloatArray | None,
    too_few: str | None,
) -> Choice:
    """The recommendation by votes and lifetimes, used if structure cannot be tested."""
    blank = np.full(len(ks), np.nan)
    if not votes:
        reason = (
            "No criterion can be computed for these k, so there is no evidence for any of them."
        )
        return Choice({}, blank, MIN_SCORE, 1, False, reason, None)
    ballots = list(votes.values())
    k = _most_votes(ballots, ks, votes, lifetimes)
    reason = (
        f"k = {k} has {ballots.count(k)} of {len(ballots)} votes. Whether there is structure at all "
        f"could not be tested: {too_few or 'that needs stability and crossing'}."
    )
    return Choice(dict(votes), blank, MIN_SCORE, k, True, reason, _disagreement(votes, k))
