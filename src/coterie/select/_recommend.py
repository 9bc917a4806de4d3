"""From criteria to a recommendation: what each prefers, whether there is structure, and which k.

Two criteria decide, because together they separate structure from compact cells of noise (the docs
carry the table): halves of the members agree (stability), and members' clusters do not cut across the
partition (crossing). Both are taken in excess of the null model, 1 for perfect and 0 for no better than
noise, and the smaller of the two is the score at k.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.core.types import FloatArray, IntArray
from coterie.select.criteria import CRITERIA, Ballot, greatest

Values = Mapping[str, FloatArray]

DECIDING = ("stability", "crossing")
# scores nearer than this are equal: coarse cuts of clusters in groups are a little steadier
EQUAL = 0.2
# below the first no structure is claimed; a score above the second is structure for any null
LEAST_SCORE = 0.35
PERFECT_SCORE = 0.8
# the box of the features is a null nearer to the data, and real structure scores higher against it
LEAST_SCORE_OF_FEATURES = 0.4
# members of one size can agree because the cloud has one best cut into so many, clusters or not
SAME_SIZE_SCORE = 0.7
# standard deviations of the references' own scores that the score must exceed their mean by
DEVIATIONS = 2.5
# halves of fewer members than this are too small to tell structure from chance
TESTABLE = 6
# of fewer samples even noise often has a cut that all members find
TESTABLE_SAMPLES = 20


@dataclass(frozen=True)
class Choice:
    """The recommendation and what led to it."""

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


def threshold(references: Sequence[Values], least: float = LEAST_SCORE) -> float:
    """The score that structure must exceed: each reference is scored against the others."""
    highest = []
    for i, one in enumerate(references):
        if not set(DECIDING).issubset(one):
            continue
        others = [reference for j, reference in enumerate(references) if j != i]
        if others:
            highest.append(greatest(scores(one, mean_of(others))))
    finite = [value for value in highest if np.isfinite(value)]
    if not finite:
        return least
    level = float(np.mean(finite) + DEVIATIONS * np.std(finite))
    return float(np.clip(level, least, PERFECT_SCORE))


def mean_of(profiles: Sequence[Values]) -> dict[str, FloatArray]:
    """The mean of each criterion over the profiles that have it, NaN only where all are."""
    means = {}
    for name in profiles[0]:
        stacked = np.stack([profile[name] for profile in profiles if name in profile])
        known = (~np.isnan(stacked)).sum(axis=0)
        total = np.nansum(stacked, axis=0)
        means[name] = np.divide(total, known, out=np.full(len(total), np.nan), where=known > 0)
    return means


def preferences(ks: IntArray, values: Values, null: Values) -> dict[str, int]:
    """The k that each criterion prefers, where it is defined for some k."""
    lifetimes = values.get("lifetime")
    return {
        name: CRITERIA[name].vote(CRITERIA[name], Ballot(ks, measured, null.get(name), lifetimes))
        for name, measured in values.items()
        if not np.isnan(measured).all()
    }


def choose(
    ks: IntArray,
    values: Values,
    null: Values,
    references: Sequence[Values],
    least: float = LEAST_SCORE,
    too_few: str | None = None,
) -> Choice:
    """The recommendation for criteria that include stability and crossing, or for what there is."""
    votes = preferences(ks, values, null)
    if too_few is not None or "stability" not in votes or "crossing" not in votes:
        return _untested(ks, votes, values.get("lifetime"), too_few)
    score, level = scores(values, null), threshold(references, least)
    top = greatest(score)
    if top < level:
        k = int(ks[np.nanargmax(score)])
        reason = (
            f"There is no stable structure: the best score, at k = {k}, is {top:.2f} (0 is how members "
            f"agree on structureless data, 1 is perfect), and {level:.2f} is needed here. Read it as "
            "one cluster."
        )
        return Choice(votes, score, level, 1, False, reason, None)
    candidates = ks[np.flatnonzero(score >= max(top - EQUAL, level))].tolist()
    ballots = {k: sum(vote == k for vote in votes.values()) for k in candidates}
    lives = dict(zip(ks.tolist(), values.get("lifetime", np.zeros(len(ks))).tolist(), strict=True))
    k = max(candidates, key=lambda other: (ballots[other], round(lives[other], 9), other))
    finer = _gap(ks, votes, score, level)
    coarse = None
    if finer is not None and finer > k:
        coarse, k = k, finer
    i = int(np.flatnonzero(ks == k)[0])
    reason = (
        f"At k = {k} halves of the members agree to {values['stability'][i]:.2f} (ARI; "
        f"{null['stability'][i]:.2f} without structure) and their clusters cross it by "
        f"{100 * values['crossing'][i]:.0f} % of chance ({100 * null['crossing'][i]:.0f} %)"
        + (_company(candidates, k) if coarse is None else _coarser(coarse, k))
        + "."
    )
    return Choice(votes, score, level, k, True, reason, _disagreement(votes, k))


def untestable(n_samples: int, n_members: int) -> str | None:
    """What there is too little of to tell structure from chance, in words, or None."""
    for name, count, least in (
        ("samples", n_samples, TESTABLE_SAMPLES),
        ("members", n_members, TESTABLE),
    ):
        if count < least:
            return f"there are only {count} {name}, and at least {least} are needed"
    return None


def _gap(ks: IntArray, votes: Mapping[str, int], score: FloatArray, level: float) -> int | None:
    """The k where both the spectrum and the dendrogram have their gap, if it holds up by itself.

    A coarse cut of clusters that lie in groups is as stable as the clusters, or more so; the two
    gaps tell where the last real split is, and seldom fall together by chance.
    """
    k = votes.get("eigengap")
    if k is None or votes.get("lifetime") != k:
        return None
    return k if score[np.flatnonzero(ks == k)[0]] >= level else None


def _coarser(coarse: int, k: int) -> str:
    return (
        f"; the coarser k = {coarse} is a little steadier, but the spectrum and the dendrogram both "
        f"have their gap at {k}"
    )


def _company(candidates: list[int], k: int) -> str:
    others = [str(other) for other in candidates if other != k]
    if not others:
        return "; no other k does as well"
    verb = "does" if len(others) == 1 else "do"
    return (
        f"; k = {', '.join(others)} {verb} about as well, with fewer votes or a shorter life in "
        "the dendrogram"
    )


def _disagreement(votes: Mapping[str, int], k: int) -> str | None:
    against = {name: vote for name, vote in votes.items() if vote != k}
    if 2 * len(against) <= len(votes):
        return None
    by_vote: dict[int, list[str]] = {}
    for name, vote in against.items():
        by_vote.setdefault(vote, []).append(CRITERIA[name].words)
    listed = "; ".join(f"{vote} by {', '.join(names)}" for vote, names in sorted(by_vote.items()))
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
    """Without stability or crossing nothing can be tested; votes and lifetimes are all there is."""
    blank = np.full(len(ks), np.nan)
    if not votes:
        reason = "No criterion can be computed for the k asked for, so nothing speaks for any."
        return Choice({}, blank, LEAST_SCORE, 1, False, reason, None)
    ballots = list(votes.values())
    lives = np.zeros(len(ks)) if lifetimes is None else np.nan_to_num(lifetimes)
    live = dict(zip(ks.tolist(), lives.tolist(), strict=True))
    k = max(ballots, key=lambda vote: (ballots.count(vote), live.get(vote, 0.0), vote))
    reason = (
        f"k = {k} has {ballots.count(k)} of {len(ballots)} votes. Whether there is structure at all "
        f"could not be tested: {too_few or 'that needs stability and crossing'}."
    )
    return Choice(dict(votes), blank, LEAST_SCORE, k, True, reason, _disagreement(votes, k))
