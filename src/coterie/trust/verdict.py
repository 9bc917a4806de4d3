"""The verdict on a whole partition: how far a second run would agree, and what speaks against it.

Confidence says how much the members of *one* run agree about a sample. It cannot show a mistake that all
members make. The verdict judges the whole partition. The members are split into two halves several times,
both halves are combined by the same method, and the agreement of the two partitions (ARI) shows how far a
second run would agree. Halves have fewer members than whole runs and differ a little more, so this errs on
the side of caution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.text import counted
from coterie.ensemble import Ensemble
from coterie.numerics.partitions import Overlaps

Solve = Callable[[Ensemble], NDArray[np.int64]]
# number of splits into halves; the agreement varies, and the mean of ten is steady enough
N_SPLITS = 10
# maximum number of distinct label rows to combine the halves on; a sample represents more rows
MAX_ROWS = 1_000
# smallest expected agreement for each wording
NEARLY_THE_SAME = 0.95
MOSTLY_THE_SAME = 0.9
PARTLY_THE_SAME = 0.5
# a partition in which at most one cluster has this share of the samples says little
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
        speaks against it.
    text : str
        The verdict in words.
    doubts : tuple of str
        What speaks against the partition, one sentence each.

    Examples
    --------
    >>> from coterie import LWEA
    >>> labels = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    >>> verdict = LWEA(n_clusters=2).fit(labels).verdict_
    >>> verdict.reliable, round(verdict.agreement, 2)
    (True, 1.0)
    >>> print(verdict)
    A second run would give nearly the same partition (expected agreement 1.00).
    """

    agreement: float
    reliable: bool
    text: str
    doubts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def share(self) -> float:
        """The expected agreement as a factor of the confidence: 0 if it is negative or unknown."""
        return 0.0 if np.isnan(self.agreement) else max(self.agreement, 0.0)

    @classmethod
    def of(
        cls,
        agreement: float,
        doubts: Sequence[str] = (),
        remarks: Sequence[str] = (),
        *,
        n_clusters: int = 2,
    ) -> Verdict:
        """The verdict for an agreement, the doubts about a partition, and further remarks."""
        if n_clusters == 1:
            text = "All samples are in one cluster, so there is nothing that could differ."
            return cls(1.0, True, text)
        steady = round(agreement, 2) >= MOSTLY_THE_SAME
        parts = [*doubts, _in_words(agreement), *remarks]
        if doubts or round(agreement, 2) < MOSTLY_THE_SAME:
            parts.insert(0, "Don't rely on this partition.")
        return cls(float(agreement), bool(steady and not doubts), " ".join(parts), tuple(doubts))

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Verdict:
        """Read a verdict from a record. Raises ValueError if a value is missing or has a wrong type."""
        agreement, reliable, text = (record.get(name) for name in ("agreement", "reliable", "text"))
        doubts = record.get("doubts", ())
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
        ):
            raise ValueError("the verdict is damaged")
        return cls(float(agreement), reliable, text, tuple(doubts))


def _in_words(agreement: float) -> str:
    if np.isnan(agreement):
        return "Whether a second run would agree is unknown."
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
    return f"A second run would give {outcome} (expected agreement {shown:.2f})."


def expected_agreement(
    ensemble: Ensemble,
    solve: Solve,
    rng: np.random.Generator,
    n_splits: int = N_SPLITS,
    groups: Sequence[str] | None = None,
) -> float:
    """The ARI that two runs are expected to have, from partitions of two halves of the members.

    Parameters
    ----------
    ensemble : Ensemble
    solve : callable
        Maps an ensemble to a label per sample.
    rng : numpy Generator
    n_splits : int
        Number of times that the members are split.
    groups : sequence of str, optional
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
    order = ensemble.canonical_member_order
    part = _some_rows(ensemble, rng)
    scores = []
    group_of = np.zeros(part.n_members) if groups is None else np.asarray(groups)
    for _ in range(n_splits):
        drawn = order[rng.permutation(part.n_members)]
        # Members of a group are neighbours now, and every second member goes to the other half.
        drawn = drawn[np.argsort(group_of[drawn], kind="stable")]
        try:
            one, other = (_partition(part, half, solve) for half in (drawn[::2], drawn[1::2]))
        except ValueError:
            # the method cannot combine so few members
            return float("nan")
        both = (one >= 0) & (other >= 0)
        if both.sum() > 1:
            weight = np.ones(len(one)) if part.sample_weight is None else part.sample_weight
            overlaps = Overlaps.of_labels(one[both], other[both], weight[both].astype(np.float64))
            scores.append(float(overlaps.ari()[0]))
    return float(np.mean(scores)) if scores else float("nan")


def _some_rows(ensemble: Ensemble, rng: np.random.Generator) -> Ensemble:
    """The microclusters as samples with their weights; a random sample if there are many."""
    rows = np.arange(ensemble.n_microclusters)
    if len(rows) > MAX_ROWS:
        share = ensemble.weights / ensemble.weights.sum()
        rows = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False, p=share))
    return Ensemble.from_labels(
        ensemble.labels[rows],
        sample_weight=ensemble.weights[rows],
        member_weight=ensemble.member_weight,
    )


def _partition(part: Ensemble, members: NDArray[np.int64], solve: Solve) -> NDArray[np.int64]:
    """The partition of the samples by some of the members; -1 for samples that none of them labelled."""
    rows = part.expand(part.labels[:, np.sort(members)])
    labelled = np.flatnonzero((rows >= 0).any(axis=1))
    labels = np.full(part.n_samples, -1)
    if len(labelled):
        weight = None if part.sample_weight is None else part.sample_weight[labelled]
        half = Ensemble.from_labels(
            rows[labelled], sample_weight=weight, member_weight=part.member_weight[np.sort(members)]
        )
        labels[labelled] = solve(half)
    return labels


def size_doubt(sizes: NDArray[Any]) -> str | None:
    """The doubt about a partition that only separates a few samples from one large cluster."""
    total, largest = float(sizes.sum()), float(sizes.max())
    if len(sizes) < 2 or (sizes >= TINY_SHARE * total).sum() > 1:
        return None
    return (
        f"It only sets {counted(total - largest, 'sample')} of {counted(total, 'sample')} apart "
        "from the rest."
    )
