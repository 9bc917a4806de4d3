"""What the partitions of a council say, how far they agree, and which of them is elected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie._result import by_first_appearance
from coterie._table import Table
from coterie.council._seats import Vote
from coterie.ensemble import Ensemble
from coterie.ensemble._checks import LARGEST_WEIGHT
from coterie.evaluate import ari

# a partition with a smaller mean NMI with the members than this share of the best has no vote
LEAST_SUPPORT = 0.85
# the default has to make way at once only if it is degenerate
LEAST_DEFAULT_SUPPORT = 0.5
# it is not tried if this share of what it says is confirmed
CONFIRMED = 0.92
# and else unseated if what it says beyond others is confirmed at less than this share of its own rate
LEAST_RATE = 0.91
# by those that say less by this share of it: of small differences the rate is an accident
LEAST_DIFFERENCE = 0.12
# differences below are rounding
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Assembly:
    """Partitions with their weights and agreement.

    Attributes
    ----------
    votes : sequence of Vote
    solver : str
        Whose partitions stand for election.
    default : int or None
        The place of its default; None if that is not in the council, or degenerate.
    weights : ndarray, shape (S,)
        Zero for partitions that are left out; they sum to one.
    between : ndarray, shape (S, S)
        ARI of each two.
    support : ndarray, shape (S,)
        Mean NMI with the members.
    says, confirmed : ndarray, shape (S,)
        Entropy of the partition, and its mutual information with the members, over the finer half
        of these, in nats.
    ensemble : Ensemble
        The microclusters as samples, the partitions that count as members.
    """

    votes: Sequence[Vote]
    solver: str
    default: int | None
    weights: NDArray[np.float64]
    between: NDArray[np.float64]
    support: NDArray[np.float64]
    says: NDArray[np.float64]
    confirmed: NDArray[np.float64]
    ensemble: Ensemble

    @classmethod
    def of(cls, ensemble: Ensemble, votes: Sequence[Vote], solver: str) -> Assembly:
        """Weigh the votes; partitions of ``solver`` stand."""
        samples = ensemble.weights.astype(np.float64)
        # pairs are counted, and nobody pairs with less than one; beside the largest weight that an
        # ensemble takes, what would be less is rounding
        unit = min(1.0, max(samples.min(), samples.max() / LARGEST_WEIGHT))
        samples = np.clip(samples / unit, 1.0, LARGEST_WEIGHT)
        read = [Reading.of(ensemble, vote.labels) for vote in votes]
        support = np.array([reading.support() for reading in read])
        sound = support >= LEAST_SUPPORT * support.max()
        default = None
        for place, vote in enumerate(votes):
            if vote.seat.solver == solver and vote.seat.is_default:
                if support[place] >= LEAST_DEFAULT_SUPPORT * support.max():
                    # who may be the answer has a vote
                    default, sound[place] = place, True
                break
        weights = _shares(votes, sound)
        seated = np.flatnonzero(sound)
        second = Ensemble.from_labels(
            np.column_stack([votes[int(place)].labels for place in seated]),
            sample_weight=samples,
            member_weight=weights[seated],
        )
        says, confirmed = np.array([reading.by_finer_members() for reading in read]).T
        between = _between(votes, samples)
        return cls(votes, solver, default, weights, between, support, says, confirmed, second)

    @property
    def agreement(self) -> NDArray[np.float64]:
        """Weighted mean of the ARI with the others, itself included."""
        return np.asarray(self.between @ self.weights)

    def case_against(self, default: int) -> NDArray[np.float64]:
        """How much too little of what the default says beyond each partition is confirmed, in nats.

        Too little is less than ``LEAST_RATE`` of the rate at which the finer members confirm the
        default as a whole. Negative where they confirm enough.
        """
        beyond = self.says[default] - self.says
        shown = self.confirmed[default] - self.confirmed
        rate = self.confirmed[default] / max(self.says[default], _NOTHING)
        return np.asarray(LEAST_RATE * rate * beyond - shown)

    def electorate(self) -> NDArray[np.float64]:
        """Weights of the partitions that elect: those that unseat the default, or it alone.

        All elect where there is no default to unseat.
        """
        if self.default is None:
            return self.weights
        kept = np.eye(len(self.votes))[self.default]
        says, confirmed = self.says[self.default], self.confirmed[self.default]
        # who says nothing is confirmed in all of it
        if confirmed >= CONFIRMED * says:
            return kept
        case = self.case_against(self.default)
        plain = self.says <= (1.0 - LEAST_DIFFERENCE) * says - _NOTHING
        against = (self.weights > 0) & plain & (case > _NOTHING)
        if not (against & self._stands()).any():
            return kept
        weights = _shares(self.votes, against) * case
        return np.asarray(weights / weights.sum())

    def elect(self) -> int:
        """The place of the solver's partition that agrees most with those that elect."""
        weights = self.electorate()
        stands = self._stands() & (weights > 0)
        if not stands.any():
            stands = weights > 0
        return int(np.argmax(np.where(stands, self.between @ weights, -np.inf)))

    def _stands(self) -> NDArray[np.bool_]:
        return np.array([vote.seat.solver == self.solver for vote in self.votes])

    def member_weights(self) -> NDArray[np.float64]:
        """Influence of the original members: the solvers' own, averaged over the council."""
        own = np.stack([vote.member_weights for vote in self.votes])
        return np.asarray(self.weights @ own)

    def records(self, elected: int | None) -> Iterator[dict[str, Any]]:
        """One record a setting."""
        agreement = self.agreement
        for place, vote in enumerate(self.votes):
            yield {
                "pass": place + 1,
                "setting": str(vote.seat),
                "agreement": float(agreement[place]),
                "elected": place == elected,
                "seconds": vote.seconds,
            }

    def table(self, labels: NDArray[np.int64], electorate: NDArray[np.float64]) -> Table:
        """One row a partition, the most agreeing first."""
        left_out, agreement = self.weights == 0, self.agreement
        order = np.lexsort((-agreement, left_out))
        votes = [self.votes[place] for place in order]
        samples = self.ensemble.sample_weight
        return _table(
            [vote.seat.solver for vote in votes],
            [vote.seat.words for vote in votes],
            self.weights[order],
            np.where(left_out, np.nan, agreement)[order],
            [ari(labels, vote.labels, samples) for vote in votes],
            self.support[order],
            [vote.converged for vote in votes],
            left_out[order],
            electorate[order] > 0,
            [vote.seconds for vote in votes],
        )


COLUMNS: Mapping[str, type] = {
    "solver": object,
    "setting": object,
    "weight": float,
    "agreement": float,
    "with_result": float,
    "with_members": float,
    "converged": bool,
    "left_out": bool,
    "elects": bool,
    "seconds": float,
}


def _table(*columns: Sequence[Any] | NDArray[Any]) -> Table:
    made = zip(COLUMNS.items(), columns, strict=True)
    return Table({name: np.array(values, dtype=kind) for (name, kind), values in made})


def no_votes() -> Table:
    """The table of a council that had nothing to vote on."""
    return _table(*([] for _ in COLUMNS))


@dataclass(frozen=True, eq=False)
class Reading:
    """A partition beside each member, over the samples that the member labelled; in nats.

    Attributes
    ----------
    says : ndarray, shape (m,)
        Entropy of the partition.
    told : ndarray, shape (m,)
        Entropy of the member.
    shared : ndarray, shape (m,)
        Mutual information of the two.
    member_weight : ndarray, shape (m,)
    """

    says: NDArray[np.float64]
    told: NDArray[np.float64]
    shared: NDArray[np.float64]
    member_weight: NDArray[np.float64]

    @classmethod
    def of(cls, ensemble: Ensemble, labels: NDArray[np.int64]) -> Reading:
        """Read a partition of the microclusters."""
        m, n_clusters = ensemble.n_members, int(labels.max()) + 1
        weights = ensemble.weights.astype(np.float64)
        clusters = sparse.csr_array(
            (weights / weights.sum(), labels, np.arange(len(labels) + 1)),
            shape=(len(labels), n_clusters),
        )
        # the members' contingency tables with the partition, one below the other
        tables = sparse.coo_array(ensemble.incidence.T @ clusters)
        base, cluster = tables.coords
        member = np.repeat(np.arange(m), np.diff(ensemble.cluster_offsets))
        sizes = _sums(tables.data, base, len(member))
        columns = _sums(tables.data, member[base] * n_clusters + cluster, m * n_clusters)
        totals = _sums(sizes, member, m)

        def entropy(parts: NDArray[np.float64], owner: NDArray[np.int64]) -> NDArray[np.float64]:
            there = parts > 0
            share = parts[there] / totals[owner[there]]
            return _sums(-share * np.log(share), owner[there], m)

        says = entropy(columns, np.repeat(np.arange(m), n_clusters))
        told = entropy(sizes, member)
        together = entropy(tables.data, member[base])
        shared = np.maximum(says + told - together, 0.0)
        return cls(says, told, shared, ensemble.member_weight.astype(np.float64))

    def support(self) -> float:
        """Mean NMI with the members."""
        scale = (self.says + self.told) / 2
        # one cluster beside one cluster: the same
        same = scale <= _NOTHING
        nmi = np.where(same, 1.0, self.shared / np.where(same, 1.0, scale))
        return float(np.average(nmi, weights=self.member_weight))

    def by_finer_members(self) -> tuple[float, float]:
        """What the partition says and what of it is shared, over the finer half of the members.

        Coarse members confirm little of anything; that they do not is no argument.
        """
        order = np.argsort(self.told, kind="stable")
        heard = np.cumsum(self.member_weight[order])
        middle = self.told[order][np.searchsorted(heard, heard[-1] * (0.5 + _NOTHING))]
        finer = self.told >= middle - _NOTHING
        says, shared = np.average(
            [self.says[finer], self.shared[finer]], axis=1, weights=self.member_weight[finer]
        )
        return float(says), float(shared)


def _shares(votes: Sequence[Vote], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Every solver the same in all, shared by those of its partitions that are chosen."""
    families = np.array([vote.seat.solver for vote in votes])
    weights = np.zeros(len(votes))
    for family in dict.fromkeys(families[chosen].tolist()):
        own = chosen & (families == family)
        weights[own] = 1.0 / own.sum()
    return weights / max(weights.sum(), 1.0)


def _sums(parts: NDArray[np.float64], owner: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    return np.asarray(np.bincount(owner, parts, minlength=count), dtype=np.float64)


def _between(votes: Sequence[Vote], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """ARI of each two partitions.

    Settings often arrive at the same partition, which is compared once.
    """
    distinct, inverse = np.unique(
        np.stack([by_first_appearance(vote.labels) for vote in votes]),
        axis=0,
        return_inverse=True,
    )
    inverse = np.ravel(inverse)
    between = np.eye(len(distinct))
    for i in range(len(distinct)):
        for j in range(i):
            value = ari(distinct[i], distinct[j], samples)
            between[i, j] = between[j, i] = value
    return np.asarray(between[np.ix_(inverse, inverse)])
