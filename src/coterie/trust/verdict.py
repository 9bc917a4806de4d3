"""The verdict on a whole partition: how far a second run would agree, and what speaks against it.

Confidence says how much the members of *one* run agree about a sample. It cannot show a mistake that all
members make. The verdict judges the whole partition. The members are split into two halves several times,
both halves are combined by the same method, and the agreement of the two partitions (ARI) shows how far a
second run would agree. Halves have fewer members than whole runs and differ a little more, so this errs on
the side of caution. With few members it would err too far; see :func:`expected_agreement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.core.html import paragraph
from coterie.core.text import counted, shown_count
from coterie.ensemble import Ensemble
from coterie.numerics.partitions import Overlaps, clusters_by_first_appearance
from coterie.trust.votes import ClusterVotes

Solve = Callable[[Ensemble], NDArray[np.int64]]
# number of splits into halves; the agreement varies, and the mean of ten is steady enough
N_SPLITS = 10
# if this many members or fewer label a sample (on average), sets of all members but one are compared, too
FEW_MEMBERS = 10
# maximum number of distinct label rows to combine the halves on; a sample represents more rows
MAX_ROWS = 1_000
# what the partition is compared with, in words: a second run makes new members; given labels stay the same
SECOND_RUN = "a second run"
OTHER_MEMBERS = "another set of members like these"
# smallest expected agreement for each wording; with a doubt, the factor of the confidence is at most the last
NEARLY_THE_SAME = 0.95
MOSTLY_THE_SAME = 0.9
PARTLY_THE_SAME = 0.5
# a cluster of a single sample, or of less than this share of all samples, is tiny; a partition into one large
# cluster and tiny ones says little
TINY_SHARE = 0.02


@dataclass(frozen=True)
class Verdict:
    """How far a partition can be relied on.

    Attributes
    ----------
    agreement : float
        The ARI that a second run, with other random numbers, is expected to have with this
        partition: 1 is the same partition, 0 is chance. NaN where it cannot be estimated, for example
        with a single member.
    reliable : bool
        Whether a second run would give at least mostly the same partition (0.9), and nothing else
        speaks against it. False if all samples are in one cluster: there is nothing to rely on.
    text : str
        The verdict in words.
    doubts : tuple of str
        What speaks against the partition, one sentence each.
    share : float
        Factor of the confidence of every sample: the agreement, but at most 0.5 if there is a doubt
        whose effect was not measured. 0 if the agreement is negative or unknown.

    Examples
    --------
    >>> from coterie import LWEA
    >>> labels = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    >>> verdict = LWEA(n_clusters=2).fit(labels).verdict_
    >>> verdict.reliable, round(verdict.agreement, 2)
    (True, 1.0)
    >>> print(verdict)
    Another set of members like these would give nearly the same partition (expected agreement 1.00).
    """

    agreement: float
    reliable: bool
    text: str
    doubts: tuple[str, ...] = ()
    share: float = 1.0

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return paragraph(self.text)

    @classmethod
    def of(
        cls,
        agreement: float,
        doubts: Iterable[str | None] = (),
        remarks: Iterable[str] = (),
        *,
        measured: str | None = None,
        other: str = SECOND_RUN,
    ) -> Verdict:
        """The verdict for an agreement, the doubts about a partition, and further remarks.

        Parameters
        ----------
        agreement : float
        doubts : iterable of str or None
            What speaks against the partition; None is skipped.
        remarks : iterable of str
        measured : str, optional
            A doubt whose effect is part of the agreement.
        other : str
            What the partition is compared with: :data:`SECOND_RUN` or :data:`OTHER_MEMBERS`.
        """
        unmeasured = [doubt for doubt in doubts if doubt]
        all_doubts = unmeasured if measured is None else [*unmeasured, measured]
        steady = round(agreement, 2) >= MOSTLY_THE_SAME
        parts = [*all_doubts, _in_words(agreement, other), *remarks]
        if all_doubts or round(agreement, 2) < MOSTLY_THE_SAME:
            parts.insert(0, "Don't rely on this partition.")
        share = _factor(agreement)
        return cls(
            float(agreement),
            bool(steady and not all_doubts),
            " ".join(parts),
            tuple(all_doubts),
            min(share, PARTLY_THE_SAME) if unmeasured else share,
        )

    @classmethod
    def of_one_cluster(cls, reason: str = "") -> Verdict:
        """The verdict if all samples are in one cluster; the reason is a sentence, if it is known."""
        text = "All samples are in one cluster, so there is no partition to rely on."
        return cls(1.0, False, f"{reason} {text}" if reason else text)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Verdict:
        """Read a verdict from a record. Raises ValueError if a value is missing or has a wrong type."""
        agreement, reliable, text = (record.get(name) for name in ("agreement", "reliable", "text"))
        doubts, share = record.get("doubts", ()), record.get("share")
        if agreement is None:
            agreement = float("nan")
        if not (
            isinstance(agreement, int | float)
            and not isinstance(agreement, bool)
            and (np.isnan(agreement) or -1 <= agreement <= 1)
            and isinstance(reliable, bool)
            and isinstance(text, str)
            and isinstance(doubts, list | tuple)
            and all(isinstance(doubt, str) for doubt in doubts)
            and (share is None or (isinstance(share, float) and 0 <= share <= 1))
        ):
            raise ValueError("the verdict is damaged")
        # the first files of format version 2 have no share
        share = _factor(agreement) if share is None else share
        return cls(float(agreement), reliable, text, tuple(doubts), share)


def _factor(agreement: float) -> float:
    """The agreement as a factor: 0 if it is negative or unknown."""
    return 0.0 if np.isnan(agreement) else max(float(agreement), 0.0)


def _in_words(agreement: float, other: str) -> str:
    if np.isnan(agreement):
        return f"Whether {other} would agree is unknown."
    # the same digits decide as are printed
    shown = round(agreement, 2)
    outcome = "another partition"
    for words, least in (
        ("nearly the same partition", NEARLY_THE_SAME),
        ("mostly the same partition", MOSTLY_THE_SAME),
        ("only partly the same partition", PARTLY_THE_SAME),
    ):
        if shown >= least:
            outcome = words
            break
    return f"{other[0].upper()}{other[1:]} would give {outcome} (expected agreement {shown:.2f})."


def expected_agreement(
    ensemble: Ensemble,
    solve: Solve,
    rng: np.random.Generator,
    groups: ArrayLike | None = None,
) -> float:
    """The ARI that two runs are expected to have, from partitions of some of the members.

    Two halves of the members share none, but have only half as many, so they differ more than two runs.
    Two sets of all members but one have nearly as many, but share most of them, so they differ less. If
    few members label a sample, this matters, and the mean of both is taken. Otherwise, halves suffice.

    Parameters
    ----------
    ensemble : Ensemble
    solve : callable
        Maps an ensemble to a label per sample.
    rng : numpy Generator
    groups : array, shape (m,), optional
        The group of each member. A second run has as many members of each group, so both halves get
        half of each.

    Returns
    -------
    float
        NaN with fewer than two members, if two halves never label the same samples, or if the method
        cannot combine half of the members.
    """
    if ensemble.n_members < 2:
        return float("nan")
    # members and groups in an order that does not depend on how they were given
    order = ensemble.canonical_member_order
    named = np.zeros(ensemble.n_members) if groups is None else np.asarray(groups)[order]
    part, kept = _some_rows(ensemble.with_fewer_copies().reorder_members(order), rng)
    named = named[kept]
    group_of = clusters_by_first_appearance(np.unique(named, return_inverse=True)[1])
    few = np.average(part.observed.sum(axis=1), weights=part.sizes) <= FEW_MEMBERS
    of_halves, of_most = [], []
    without: dict[int, NDArray[np.int64]] = {}
    try:
        for _ in range(N_SPLITS):
            drawn = rng.permutation(part.n_members)
            # sorted by group, so that every second member makes a half with half of each group
            split = drawn[np.argsort(group_of[drawn], kind="stable")]
            one, other = (_partition(part, half, solve) for half in (split[::2], split[1::2]))
            of_halves.append(_agreement(one, other, part))
            if few:
                for left_out, rest in ((drawn[0], drawn[1:]), (drawn[-1], drawn[:-1])):
                    if left_out not in without:
                        without[left_out] = _partition(part, rest, solve)
                of_most.append(_agreement(without[drawn[0]], without[drawn[-1]], part))
    except ValueError:
        # the method cannot combine so few members
        return float("nan")
    means = [_mean(of_halves), _mean(of_most)] if few else [_mean(of_halves)]
    return float(np.mean(means))


def _agreement(one: NDArray[np.int64], other: NDArray[np.int64], part: Ensemble) -> float:
    """ARI of two partitions over the samples that are in both; NaN if these are fewer than two."""
    both = (one >= 0) & (other >= 0)
    if both.sum() < 2:
        return float("nan")
    weight = part.sample_counts[both].astype(np.float64)
    overlaps = Overlaps.of_labels(one[both], other[both], weight)
    return float(overlaps.ari()[0])


def _mean(scores: list[float]) -> float:
    known = [score for score in scores if not np.isnan(score)]
    return float(np.mean(known)) if known else float("nan")


def _some_rows(ensemble: Ensemble, rng: np.random.Generator) -> tuple[Ensemble, NDArray[np.bool_]]:
    """The microclusters as weighted samples, some of them if there are many; the members with a label."""
    rows = np.arange(ensemble.n_microclusters)
    if len(rows) > MAX_ROWS:
        share = ensemble.weights / ensemble.weights.sum()
        rows = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False, p=share))
    # a member that labels few samples may label none of those drawn
    kept: NDArray[np.bool_] = np.asarray(ensemble.observed[rows].any(axis=0))
    part = Ensemble.from_labels(
        ensemble.labels[rows][:, kept],
        sample_weight=ensemble.weights[rows],
        member_weight=ensemble.member_weight[kept],
    )
    return part, kept


def _partition(part: Ensemble, members: NDArray[np.int64], solve: Solve) -> NDArray[np.int64]:
    """The partition of the samples by some of the members; -1 for samples that none of them labelled."""
    half = part.select(np.sort(members))
    labels = np.full(part.n_samples, -1)
    labels[half.has_label[half.inverse]] = solve(half.without_blank)
    return labels


def size_doubt(votes: ClusterVotes) -> str | None:
    """The doubt about samples that are clusters of their own, or few samples beside one large cluster."""
    sizes = votes.sums(votes.ensemble.sizes)
    total, largest = float(sizes.sum()), float(sizes.max())
    # a sample of weight two is like two samples, which are not alone
    counts = votes.sums(np.bincount(votes.ensemble.inverse).astype(np.float64))
    alone = (counts == 1) & (sizes <= 1)
    if alone.all():
        return "Every sample is a cluster of its own, so nothing was combined."
    substantial = (sizes >= TINY_SHARE * total) & ~alone
    if len(sizes) > 1 and substantial.sum() == 1 and largest >= total / 2:
        return (
            f"It only sets {shown_count(total - largest)} of {counted(total, 'sample')} apart from the "
            "rest."
        )
    if (single := float(sizes[alone].sum())) > total / 2:
        return f"{shown_count(single)} of {counted(total, 'sample')} are clusters of their own."
    if alone.any():
        few = int(alone.sum())
        return (
            f"{few} of the {len(sizes)} clusters {'has' if few == 1 else 'have'} a single sample."
        )
    return None


def merging_doubt(ensemble: Ensemble, n_clusters: int) -> str | None:
    """The doubt about clusters that join groups of samples which no member joins."""
    labelled = ensemble.without_blank
    graph = sparse.block_array([[None, labelled.incidence], [labelled.incidence.T, None]])
    group_of = connected_components(graph, directed=False)[1][: labelled.n_microclusters]
    sizes = np.bincount(group_of, weights=labelled.sizes)
    # samples that a single member labelled may be alone
    n_groups = int((sizes >= TINY_SHARE * sizes.sum()).sum())
    if n_groups <= n_clusters:
        return None
    return (
        f"The samples form {n_groups} groups that no member joins, so some groups were merged without "
        "evidence."
    )
