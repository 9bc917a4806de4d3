"""Members: which one is nearest to a partition, which ones stand apart, and which resolution is supported.

Members differ in their number of clusters, and a finer member is not wrong because it is finer. So two
members are compared by the pairs of samples that the finer one puts together: the share that the coarser
one puts together, too, beyond chance. This share is 1 if one member only splits clusters of the other,
and 0 on average if they are independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import ParameterError
from coterie.core.html import paragraph
from coterie.core.params import as_numbers
from coterie.core.tables import Table
from coterie.core.text import counted, listed, plain
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.contingency import compare_members
from coterie.numerics.partitions import Overlaps
from coterie.trust.verdict import MOSTLY_THE_SAME
from coterie.trust.votes import ClusterVotes

# two members are of about the same size if one has at most this many times as many clusters as the other
ABOUT_THE_SIZE = 2.0
# A member stands apart if it shares less than this part of what members of its size share with each other,
# and at least this much less: with few samples, smaller differences are chance.
APART = 0.5
LEAST_GAP = 0.1
# number of members that a sentence names; the others are counted
NAMED_MEMBERS = 3


def diagnose_members(
    ensemble: Ensemble, labels: Any, member_weights: ArrayLike | None = None
) -> Table:
    """Each member beside the consensus and the other members, the nearest to the consensus first.

    Members that are equally near are ordered by name.

    The table has one row per member, ordered by ``ari``, and these columns:

    - ``member``: its name.
    - ``clusters``: its number of clusters.
    - ``labelled``: share of the samples that it labelled.
    - ``weight``: its influence on the consensus; all weights sum to one.
    - ``ari``, ``agreement``: adjusted Rand index and NMI (arithmetic mean) with the consensus, over
      the samples that it labelled.
    - ``shared``: what it has in common with the other members, whatever their sizes (mean). For two
      members: of the pairs of samples that the finer one puts together, the share that the coarser one
      puts together, too, beyond chance. 1 if one only splits the clusters of the other, 0 for
      independent members. NaN if it has a single cluster or only single samples.
    - ``apart``: whether it shares less than half as much as members of about its size do (median),
      and at least 0.1 less. Members of about its size have at most twice or at least half as many
      clusters; with fewer than two of them, all others count. Never true with fewer than three members.
    - ``support``: how well other members keep its borders: the mean share of pairs that another member
      with as many clusters, or up to twice as many, puts together and this one does, too, beyond chance.
      Such members are fine enough to cross its borders, and 1 means that none does. Members that stand
      apart do not count. NaN where there are none. A member with at least 0.9 is supported.
    - ``redundancy``, ``most_like``: its greatest NMI with another member, and that member; NaN and
      None where it shares no sample with any other.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, such as a solver's ``labels_``.
    member_weights : array, shape (m,), optional
        Influence of each member, by default the ensemble's ``member_weight``; scaled to sum to one.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import diagnose_members
    >>> ensemble = Ensemble.from_labels(
    ...     {"odd": [0, 1, 0, 1], "a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [1, 1, 0, 0]})
    >>> table = diagnose_members(ensemble, [0, 0, 1, 1])
    >>> table["member"].tolist(), table["ari"].round(2).tolist()
    (['a', 'b', 'c', 'odd'], [1.0, 1.0, 1.0, -0.5])
    >>> table["apart"].tolist(), table["most_like"].tolist()
    ([False, False, False, True], ['b', 'a', 'a', 'a'])
    """
    votes = ClusterVotes.of(ensemble, labels)
    if member_weights is None:
        return member_table(votes, ensemble.member_weight)
    return member_table(votes, as_numbers("member_weights", member_weights))


def judge_members(ensemble: Ensemble, labels: Any) -> MemberVerdict:
    """Which member is nearest to a partition, which ones stand apart, which resolution is supported.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, such as a solver's ``labels_``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import judge_members
    >>> groups = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> ensemble = Ensemble.from_labels({
    ...     "leiden_0.2": [0, 0, 0, 0, 0, 0, 1, 1, 1],
    ...     "leiden_0.5": groups,
    ...     "leiden_0.6": groups,
    ...     "leiden_0.9": [0, 0, 3, 1, 1, 4, 2, 2, 5],
    ...     "leiden_1.0": [0, 3, 3, 1, 4, 4, 2, 5, 5]})
    >>> print(judge_members(ensemble, groups))
    leiden_0.5 (3 clusters) is nearest to the consensus (ARI 1.00). The supported resolution is 3
    clusters (leiden_0.5, support 1.00). No member stands apart.
    """
    return MemberVerdict.of(diagnose_members(ensemble, labels))


@dataclass(frozen=True)
class MemberVerdict:
    """What to conclude from the table of members.

    Attributes
    ----------
    text : str
        The verdict in words.
    nearest : str or None
        The member with the greatest ARI with the consensus; None if none agrees more than by chance.
    apart : tuple of str
        The members that stand apart, the farthest from the consensus first.
    supported : str or None
        The member whose borders the finer members keep best; the finest of several. None if none
        reaches 0.9, or if all members have the same number of clusters.

    See Also
    --------
    coterie.trust.diagnose_members : the table, with the rules.
    """

    text: str
    nearest: str | None
    apart: tuple[str, ...]
    supported: str | None

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return paragraph(self.text)

    @classmethod
    def of(cls, table: Table) -> MemberVerdict:
        """The verdict from the table that ``diagnose_members`` returns."""
        rows = [*table.rows()]
        # the same digits decide as are printed
        nearest = rows[0] if round(rows[0]["ari"], 2) > 0 else None
        apart = [row["member"] for row in reversed(rows) if row["apart"]]
        parts = [_nearest(nearest)]
        supported = None
        if len({row["clusters"] for row in rows}) > 1:
            supported = _best_supported(rows)
            parts.append(_supported(supported, rows))
        elif len(rows) > 1:
            parts.append(f"All members have {counted(rows[0]['clusters'], 'cluster')}.")
        if len(rows) > 2:
            parts.append(_apart(apart))
        return cls(
            " ".join(parts),
            None if nearest is None else nearest["member"],
            tuple(apart),
            None if supported is None else supported["member"],
        )


def _nearest(row: dict[str, Any] | None) -> str:
    if row is None:
        return "No member agrees with the consensus more than by chance."
    return (
        f"{plain(row['member'])} ({counted(row['clusters'], 'cluster')}) is nearest to the consensus "
        f"(ARI {row['ari']:.2f})."
    )


def _best_supported(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    supported = [row for row in rows if round(row["support"], 2) >= MOSTLY_THE_SAME]
    return max(supported, key=lambda row: (round(row["support"], 2), row["clusters"]), default=None)


def _supported(best: dict[str, Any] | None, rows: list[dict[str, Any]]) -> str:
    if best is not None:
        return (
            f"The supported resolution is {counted(best['clusters'], 'cluster')} "
            f"({plain(best['member'])}, support {best['support']:.2f})."
        )
    tested = [row for row in rows if not np.isnan(row["support"])]
    if not tested:
        return "No two members are near enough in size to tell which resolution is supported."
    best = max(tested, key=lambda row: row["support"])
    return (
        "No resolution is supported: finer members cross the borders of every member (best: "
        f"{plain(best['member'])}, support {best['support']:.2f})."
    )


def _apart(apart: list[str]) -> str:
    if not apart:
        return "No member stands apart."
    names = listed([plain(name) for name in apart], NAMED_MEMBERS)
    one = len(apart) == 1
    return (
        f"{names} {'stands' if one else 'stand'} apart: {'it shares' if one else 'they share'} less "
        f"than half as much with the others as members of {'its' if one else 'their'} size do."
    )


# ---------------------------------------------------------------------- the table


def member_table(votes: ClusterVotes, weight: NDArray[np.float64]) -> Table:
    """The table of :func:`diagnose_members`, from computed votes."""
    ensemble = votes.ensemble
    if weight.shape != (ensemble.n_members,):
        raise ParameterError(
            f"member_weights must hold one number per member ({ensemble.n_members}), but has shape "
            f"{weight.shape}"
        )
    total = weight.sum()
    if not ((weight >= 0).all() and 0 < total < np.inf):
        raise ParameterError(
            f"member_weights must be finite, >= 0 and not all 0: {weight.tolist()}"
        )
    overlaps = Overlaps.of_tables(votes.overlap, ensemble.cluster_offsets)
    ari = overlaps.ari()
    comparison = votes.member_comparison
    redundancy, like = _most_like(comparison.agreement)
    sizes = ensemble.n_clusters_per_member
    shared = shared_by_members(comparison.kept)
    apart = stands_apart(shared, sizes)
    columns = {
        "member": np.array(ensemble.members),
        "clusters": sizes,
        "labelled": ensemble.sizes @ ensemble.observed / ensemble.sizes.sum(),
        "weight": weight / total,
        "ari": ari,
        "agreement": overlaps.nmi(),
        "shared": shared,
        "apart": apart,
        # a member that stands apart crosses the borders of all others
        "support": support_by_finer_members(
            np.where(apart[:, None], np.nan, comparison.kept), sizes
        ),
        "redundancy": redundancy,
        "most_like": np.array(
            [None if j < 0 else ensemble.members[j] for j in like.tolist()], dtype=object
        ),
    }
    # rounded, so that the last digits do not order members that are equally near; those are ordered by
    # name, member 9 before member 10, so that the order of the members does not matter
    lengths = np.array([len(name) for name in ensemble.members])
    distance = -np.nan_to_num(np.round(ari, 12), nan=-2.0)
    nearest_first = np.lexsort((np.array(ensemble.members), lengths, distance))
    return Table({name: values[nearest_first] for name, values in columns.items()})


def shared_by_members(kept: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each member has in common with the others: the mean of the larger of both shares of pairs."""
    # NaN if one of them says nothing about the other
    shared = np.maximum(kept, kept.T)
    np.fill_diagonal(shared, np.nan)
    return _mean_of_rows(shared)


def support_by_finer_members(
    kept: NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How well the members with as many clusters, or up to twice as many, keep each member's borders."""
    times = sizes[None, :] / sizes[:, None]
    witness = (times >= 1) & (times <= ABOUT_THE_SIZE)
    np.fill_diagonal(witness, False)
    return _mean_of_rows(np.where(witness, kept.T, np.nan))


def stands_apart(shared: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each member shares less than half as much as members of about its size do."""
    m = len(shared)
    apart = np.zeros(m, dtype=np.bool_)
    if m < 3:
        return apart
    times = np.maximum(sizes[:, None] / sizes, sizes / sizes[:, None])
    comparable = ~np.isnan(shared)
    for j in np.flatnonzero(comparable).tolist():
        others = comparable & (np.arange(m) != j)
        peers = others & (times[j] <= ABOUT_THE_SIZE)
        if peers.sum() < 2:
            peers = others
        if not peers.any():
            continue
        # the lower median: of two, both must share more
        ordered = np.sort(shared[peers])
        typical = ordered[(len(ordered) - 1) // 2]
        apart[j] = shared[j] < APART * typical and typical - shared[j] >= LEAST_GAP
    return apart


def _mean_of_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the known values of each row, NaN where there are none."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    # sums of sorted values do not depend on the order of the members
    total = np.sort(np.where(known, values, 0.0), axis=1).sum(axis=1)
    return np.divide(total, count, out=np.full(len(values), np.nan), where=count > 0)


def member_agreement(ensemble: Ensemble) -> NDArray[np.float64]:
    """NMI of every pair of members over the samples that both labelled, m x m.

    NaN where two members have no sample in common; the diagonal is 1.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import member_agreement
    >>> member_agreement(Ensemble.from_labels([[0, 5, 0], [0, 5, 1], [1, 7, 0], [1, 7, 1]])).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    require_ensemble(ensemble)
    return compare_members(ensemble).agreement


def _most_like(
    agreement: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Greatest agreement of each member with another, and that member; NaN and -1 if there is none."""
    others = np.where(np.isnan(agreement), -1.0, agreement)
    np.fill_diagonal(others, -1.0)
    like = others.argmax(axis=1)
    greatest = others[np.arange(len(others)), like]
    comparable = greatest >= 0
    return np.where(comparable, greatest, np.nan), np.where(comparable, like, -1)
