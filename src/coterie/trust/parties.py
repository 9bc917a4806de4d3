"""Parties: groups of members that label different samples, and how well shared samples link them.

Members of one party label the same samples, so they can be compared. Which cluster of one party
belongs to which cluster of another is only known from the samples that both label. A held-out test
shows how well these *links* do this: a tenth of them is cut at a time, so that each cut link becomes one
sample per party, and the members are combined again. The parts of a cut link are the same sample, so
they should be in the same cluster. With few links, a method may also merge clusters that a party keeps
apart. So each party is combined alone, too, and compared with the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from coterie.core.text import counted, percent
from coterie.ensemble import Ensemble
from coterie.numerics.partitions import Overlaps
from coterie.trust.verdict import Solve

# a party with fewer links for each cluster is weakly linked, which is a doubt
FEW_LINKS = 5
# with fewer links for each cluster, the links are tested; with more, the confidence of the members is as
# accurate as with many links (docs/partial_labels.md)
TESTED_LINKS = 10
# parts of the links that are cut in turn
N_FOLDS = 10
# maximum number of distinct label rows that are combined again; if there are more, rows without a link are
# drawn at random
MAX_ROWS = 1_000


@dataclass(frozen=True, eq=False)
class Links:
    """How well the samples that several parties label link them.

    Attributes
    ----------
    party : ndarray, shape (m,)
        The party of each member.
    count : int or float
        Number of links, counted by weight.
    few : bool
        Whether a party has fewer links to all the others than :data:`FEW_LINKS` per cluster, and fewer
        than half of its samples.
    matched : float
        Share of the cut links whose parts were in the same cluster; NaN without links.
    agreement : float
        The ARI that the partition is expected to have with that of parties which label all samples
        together, as far as it depends on the links.
    """

    party: NDArray[np.int64]
    count: int | float
    few: bool
    matched: float
    agreement: float

    @classmethod
    def of(cls, ensemble: Ensemble, solve: Solve, n_clusters: int) -> Links | None:
        """The links of an ensemble; None if all members belong to one party.

        Parameters
        ----------
        ensemble : Ensemble
        solve : callable
            Maps an ensemble to a label per sample.
        n_clusters : int
            Clusters of the partition.
        """
        party = find_parties(ensemble, n_clusters, TESTED_LINKS)
        if not party.any() or n_clusters == 1:
            return None
        heard = _heard(ensemble, party)
        is_link = heard.sum(axis=1) > 1
        weight = ensemble.sizes
        count = weight[is_link].sum()
        linked = (weight * is_link) @ heard
        few = bool((linked < _enough(weight @ heard, FEW_LINKS * n_clusters)).any())
        rows = _some_rows(weight, is_link)
        labels, weight, heard = ensemble.labels[rows], weight[rows], heard[rows]
        # a member that labels few samples may label none of those drawn
        known = (labels >= 0).any(axis=0)
        drawn = (labels[:, known], weight, heard, party[known], ensemble.member_weight[known])
        matched, kappa = _cut(*drawn, solve)
        kept = _kept(*drawn, solve)
        inside = _pairs_inside(heard, weight)
        return cls(
            party,
            ensemble.as_counts(count).item(),
            few,
            matched,
            inside * kept + (1 - inside) * kappa,
        )

    @property
    def n_parties(self) -> int:
        """Number of parties."""
        return int(self.party.max()) + 1

    @property
    def doubt(self) -> str | None:
        """The doubt about parties that few samples link."""
        if not self.few:
            return None
        who = f"the {self.n_parties} parties (groups of members that label different samples)"
        if not self.count:
            return f"No sample links {who}, so their clusters cannot be matched."
        verb = "links" if self.count == 1 else "link"
        return (
            f"Only {counted(self.count, 'sample')} {verb} {who}: when a link was cut into one "
            f"sample per party, these came into the same cluster in {percent(self.matched)} of the cases."
        )


def find_parties(
    ensemble: Ensemble, n_clusters: int, links_per_cluster: int = FEW_LINKS
) -> NDArray[np.int64]:
    """The party of each member, numbered by first appearance.

    Groups of members are joined if they share ``links_per_cluster`` samples for each cluster, or half
    of the samples of the smaller group. This is repeated until no two groups share that many.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust.parties import find_parties
    >>> labels = [[0, 0, -1]] * 9 + [[1, 1, 0]] + [[-1, -1, 1]] * 9
    >>> find_parties(Ensemble.from_labels(labels), n_clusters=2).tolist()
    [0, 0, 1]
    """
    party = np.arange(ensemble.n_members)
    if ensemble.is_complete:
        return np.zeros_like(party)
    while True:
        heard = _heard(ensemble, party).astype(np.float64)
        shared = heard.T @ (heard * ensemble.sizes[:, None])
        sizes = np.diag(shared)
        enough = _enough(np.minimum(sizes, sizes[:, None]), links_per_cluster * n_clusters)
        n_parties, joined = connected_components(shared >= enough)
        if n_parties == len(shared):
            return party
        party = joined.astype(np.int64)[party]


def _enough(size: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Number of links from which a group of this size is well linked: half of it, but at most ``most``."""
    return np.minimum(size / 2, most)


def _heard(ensemble: Ensemble, party: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each party labels each microcluster, N x parties."""
    return np.stack(
        [ensemble.observed[:, party == p].any(axis=1) for p in range(int(party.max()) + 1)], axis=1
    )


def _some_rows(weight: NDArray[np.float64], is_link: NDArray[np.bool_]) -> NDArray[np.int64]:
    """All microclusters where there are few; else the links, and a sample of the others."""
    if len(weight) <= MAX_ROWS:
        return np.arange(len(weight))
    # the same rows always get the same answer
    rng = np.random.default_rng(0)
    chosen: list[NDArray[np.int64]] = []
    for rows in (np.flatnonzero(is_link), np.flatnonzero(~is_link)):
        room = MAX_ROWS - sum(map(len, chosen))
        if len(rows) > room:
            share = weight[rows] / weight[rows].sum()
            rows = rng.choice(rows, room, replace=False, p=share)
        chosen.append(rows)
    return np.sort(np.concatenate(chosen))


def _cut(
    labels: NDArray[np.int32],
    weight: NDArray[np.float64],
    heard: NDArray[np.bool_],
    party: NDArray[np.int64],
    member_weight: NDArray[np.float64],
    solve: Solve,
) -> tuple[float, float]:
    """Share of the cut links whose parts are in the same cluster, and the same beyond chance."""
    links = np.flatnonzero(heard.sum(axis=1) > 1)
    if not len(links):
        return float("nan"), 0.0
    # a microcluster of weight r is r links, which are cut one by one
    copies = np.maximum(np.rint(weight[links]), 1.0)
    ends = np.cumsum(copies)
    n_folds = int(min(ends[-1], N_FOLDS))
    same = possible = chance = 0.0
    for fold in range(n_folds):
        # copies are dealt to the folds in turn
        before = np.ceil((np.array([ends - copies, ends]) - fold) / n_folds)
        cut = (before[1] - before[0]) / copies * weight[links]
        rest = weight.copy()
        # what is left of a copy is a rounding error
        rest[links] = np.where(cut < weight[links] * (1 - 1e-9), weight[links] - cut, 0.0)
        whole = np.flatnonzero(rest > 0)
        which, by = np.nonzero(heard[links] & (cut > 0)[:, None])
        parts = np.where(party == by[:, None], labels[links[which]], -1)
        part_weight = np.concatenate([rest[whole], cut[which]])
        rows = np.concatenate([labels[whole], parts])
        clusters = solve(
            Ensemble.from_labels(rows, sample_weight=part_weight, member_weight=member_weight)
        )
        shares = np.bincount(clusters, weights=part_weight) / part_weight.sum()
        of_parts = clusters[len(whole) :]
        for link in np.unique(which):
            here = of_parts[which == link]
            pairs = len(here) * (len(here) - 1) / 2
            equal = sum(float(np.sum(here[:i] == value)) for i, value in enumerate(here))
            same += cut[link] * equal / pairs
            possible += cut[link]
            chance += cut[link] * float(shares @ shares)
    matched, chance = same / possible, chance / possible
    if chance >= 1:
        return matched, 0.0
    # counts like one more link that is matched by chance, so that one link cannot prove anything
    kappa = max((matched - chance) / (1 - chance), 0.0) * ends[-1] / (ends[-1] + 1)
    return matched, kappa


def _kept(
    labels: NDArray[np.int32],
    weight: NDArray[np.float64],
    heard: NDArray[np.bool_],
    party: NDArray[np.int64],
    member_weight: NDArray[np.float64],
    solve: Solve,
) -> float:
    """Mean ARI of the partition of each party alone with that of all parties, at least 0."""
    whole = solve(Ensemble.from_labels(labels, sample_weight=weight, member_weight=member_weight))
    scores, sizes = [], []
    for p in range(heard.shape[1]):
        rows, members = heard[:, p], party == p
        if not rows.any():
            # no sample of this party was drawn
            continue
        own = Ensemble.from_labels(
            labels[np.ix_(rows, members)],
            sample_weight=weight[rows],
            member_weight=member_weight[members],
        )
        try:
            alone = solve(own)
        except ValueError:
            # the method cannot combine so few members
            continue
        scores.append(float(Overlaps.of_labels(alone, whole[rows], weight[rows]).ari()[0]))
        sizes.append(float(weight[rows].sum()))
    return max(float(np.average(scores, weights=sizes)), 0.0) if scores else 1.0


def _pairs_inside(heard: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    """Share of the pairs of samples that some party labels both of."""
    known = heard.astype(np.float64)
    return float(weight @ ((known @ known.T) > 0) @ weight / weight.sum() ** 2)
