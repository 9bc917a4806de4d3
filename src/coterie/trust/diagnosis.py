"""Diagnoses of a partition: of its samples, of the members, and of its clusters.

Each diagnosis is a function of an ensemble and a partition of its samples. Solvers, ConsensusClustering
and Result inherit the same diagnoses as methods from :class:`DiagnosisMixin`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import require
from coterie.core.tables import Table
from coterie.core.text import counted
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import share
from coterie.trust.explanation import Explanation, explanation
from coterie.trust.members import MemberVerdict, member_table
from coterie.trust.parties import TESTED_LINKS, find_parties
from coterie.trust.votes import ClusterVotes

# a member disagrees with a cluster if none of its base clusters has a larger Jaccard index with it
LARGEST_JACCARD = 0.5
# number of disagreeing members that are named; the others are counted
NAMED_MEMBERS = 3


class DiagnosisMixin:
    """The diagnoses as methods, for classes that have a partition and its members.

    A subclass implements ``_diagnosed``.
    """

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        """Votes of the members for the partition, and the influence of each member."""
        raise NotImplementedError

    def soft_labels(self) -> NDArray[np.float64]:
        """Membership of each sample in each cluster; see :func:`coterie.trust.soft_labels`.

        If few samples link groups of members, each row is a mean of the soft label, with the weight
        ``share`` of the verdict, and of a uniform row.
        """
        return _soft_labels(self._diagnosed()[0])

    def diagnose_samples(self) -> Table:
        """Cluster, confidence and rival of each sample; see :func:`coterie.trust.diagnose_samples`."""
        return _sample_table(self._diagnosed()[0])

    def diagnose_members(self) -> Table:
        """Each member beside the consensus and the others; see :func:`coterie.trust.diagnose_members`."""
        return member_table(*self._diagnosed())

    def judge_members(self) -> MemberVerdict:
        """The nearest member, those that stand apart, the supported resolution.

        See :func:`coterie.trust.judge_members`.
        """
        return MemberVerdict.of(self.diagnose_members())

    def diagnose_clusters(self) -> Table:
        """Cohesion and stability of each cluster; see :func:`coterie.trust.diagnose_clusters`."""
        return _cluster_table(self._diagnosed()[0])

    def explain(self, sample: Any) -> Explanation:
        """Why a sample is in its cluster; see :func:`coterie.trust.explain`.

        Parameters
        ----------
        sample : id or int
            Its id where the samples have ids, else its row number, counted from 0.
        """
        return explanation(self._diagnosed()[0], sample)


# ---------------------------------------------------------------------- samples


def soft_labels(ensemble: Ensemble, labels: Any) -> NDArray[np.float64]:
    """Membership of each sample in each cluster, n x c; rows sum to one.

    The vote of a member for a sample is given by the base cluster that it puts the sample in: of the
    other samples of that base cluster, the share that belongs to each cluster of the partition. The
    soft label is the mean vote, weighted by ``member_weight``. A sample that no member puts with
    another one gets a uniform row.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, such as a solver's ``labels_``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import soft_labels
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> soft_labels(ensemble, [0, 0, 1, 1]).round(3).tolist()
    [[0.75, 0.25], [0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]
    """
    return _soft_labels(ClusterVotes.of(ensemble, labels))


def _soft_labels(votes: ClusterVotes) -> NDArray[np.float64]:
    ensemble = votes.ensemble
    require(
        8 * ensemble.n_samples * votes.n_clusters,
        f"Soft labels of {ensemble.n_samples:,} samples in {votes.n_clusters:,} clusters",
        "Use diagnose_samples(), which has each sample's own cluster and the best other one.",
    )
    soft = votes.soft()
    if (
        votes.agreement < 1
        and find_parties(ensemble.without_blank, votes.n_clusters, TESTED_LINKS).any()
    ):
        # members agree inside their party, and do not know how the parties match
        soft = votes.agreement * soft + (1 - votes.agreement) / votes.n_clusters
    return ensemble.expand(soft)


def diagnose_samples(ensemble: Ensemble, labels: Any) -> Table:
    """Cluster of each sample, confidence in it, and the next best cluster.

    The table has one row per sample and these columns:

    - ``sample``: its id, or its row number where the ensemble has no ids.
    - ``cluster``: -1 for a sample that no member labelled.
    - ``confidence``: max(0, 1 - ``rival_support`` / ``support``) times the fourth root of
      ``attachment``. With a single cluster it is 1 for every labelled sample, and carries no
      information.
    - ``rival``: the next best cluster, -1 where there is none.
    - ``support``, ``rival_support``: membership in the sample's own and in the rival cluster.
    - ``attachment``: mean co-association with the other samples of its cluster, times the weight of
      the members that labelled it, divided by the median over all samples, at most 1; 0 for a sample
      that no member puts with its cluster.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, such as a solver's ``labels_``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import diagnose_samples
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> diagnose_samples(ensemble, [0, 0, 1, 1])
    sample  cluster  confidence  rival  support  rival_support  attachment
         0        0      0.6667      1     0.75           0.25           1
         1        0      0.6667      1     0.75           0.25           1
         2        1           0      0      0.5            0.5           1
         3        1           1      0        1              0           1
    """
    return _sample_table(ClusterVotes.of(ensemble, labels))


def _sample_table(votes: ClusterVotes) -> Table:
    ensemble, support = votes.ensemble, votes.support
    ids = ensemble.sample_ids
    return Table(
        {
            "sample": np.arange(ensemble.n_samples) if ids is None else ids,
            "cluster": ensemble.expand(votes.labels),
            "confidence": ensemble.expand(votes.confidence),
            "rival": ensemble.expand(support.rival_cluster),
            "support": ensemble.expand(support.own),
            "rival_support": ensemble.expand(support.rival),
            "attachment": ensemble.expand(votes.attachment),
        }
    )


# ---------------------------------------------------------------------- clusters


def diagnose_clusters(ensemble: Ensemble, labels: Any) -> Table:
    """Size, cohesion and stability of each cluster, and the members that disagree with it.

    The table has one row per cluster and these columns:

    - ``cluster``
    - ``size``: number of samples; the sum of their ``sample_weight`` where the ensemble has weights.
    - ``share``: the size divided by the total.
    - ``confidence``: mean over its samples. With a single cluster it is 1 and carries no information.
    - ``cohesion``: mean co-association of its pairs of samples, NaN for a single sample.
    - ``separation``: mean co-association with samples of other clusters; small is good.
    - ``stability``: mean over members of the largest Jaccard index of one of their clusters with it.
    - ``nearest``: the cluster with the greatest mean co-association with it, -1 where there is only
      one.
    - ``disagreeing``: the members whose largest Jaccard index is at most one half, and how they see the
      cluster: they split it, or merge it with another cluster. The worst come first.

    Where labels are missing, means of co-association run over the (member, pair) combinations in
    which the member labelled both samples, and Jaccard indices over the samples it labelled.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, such as a solver's ``labels_``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import diagnose_clusters
    >>> ensemble = Ensemble.from_labels(
    ...     {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "coarse": [0, 0, 0, 0]})
    >>> table = diagnose_clusters(ensemble, [0, 0, 1, 1])
    >>> table["cohesion"].tolist(), table["separation"].round(3).tolist()
    ([1.0, 1.0], [0.333, 0.333])
    >>> table["stability"].round(3).tolist(), table["disagreeing"].tolist()
    ([0.833, 0.833], ['merged with 1 by coarse', 'merged with 0 by coarse'])
    """
    return _cluster_table(ClusterVotes.of(ensemble, labels))


def _cluster_table(votes: ClusterVotes) -> Table:
    ensemble, c = votes.ensemble, votes.n_clusters
    weights = ensemble.sizes
    weight = votes.sums(weights)
    confidence = votes.sums(weights * votes.confidence)
    together, seen = _pair_sums(votes)
    stability, disagreeing = _stability(votes)
    cohesion = _cohesion(votes, np.diag(together), np.diag(seen))
    np.fill_diagonal(together, 0.0)
    between = share(together, seen)
    np.fill_diagonal(between, -1.0)
    np.fill_diagonal(seen, 0.0)
    return Table(
        {
            "cluster": np.arange(c),
            "size": ensemble.as_counts(weight),
            "share": weight / weights.sum(),
            "confidence": confidence / weight,
            "cohesion": cohesion,
            "separation": share(together.sum(axis=1), seen.sum(axis=1), np.nan),
            "stability": stability,
            "nearest": between.argmax(axis=1) if c > 1 else np.array([-1]),
            "disagreeing": np.array(disagreeing, dtype=np.str_),
        }
    )


def _pair_sums(votes: ClusterVotes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of (member, pair of samples) combinations for each pair of clusters, two c x c arrays.

    The first counts pairs that the member puts together, the second all pairs that it labelled. Pairs of
    a sample with itself are included.
    """
    c, ensemble, labelled = votes.n_clusters, votes.ensemble, votes.labelled
    require(
        32 * c * c,
        f"Comparing {c:,} clusters with each other",
        "Ask for fewer clusters.",
    )
    by_base = ensemble.weight_of_cluster
    together = votes.overlap.T @ sparse.csr_array(votes.overlap.multiply(by_base[:, None]))
    return together.toarray(), labelled.T @ (labelled * ensemble.member_weight[:, None])


def _cohesion(
    votes: ClusterVotes, together: NDArray[np.float64], seen: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean co-association inside each cluster, without the pairs of a sample with itself."""
    ensemble = votes.ensemble
    weights = ensemble.sizes
    # r samples form r (r - 1) ordered pairs; a weight below one forms none
    selves = weights**2 - np.maximum(weights * (weights - 1), 0.0)
    alone = votes.sums(selves * ensemble.observed_weight)
    pairs = seen - alone
    # a cluster without pairs leaves a rounding error
    pairs[pairs <= 1e-12 * seen] = 0.0
    return share(together - alone, pairs, np.nan)


def _stability(votes: ClusterVotes) -> tuple[NDArray[np.float64], list[str]]:
    """Mean over members of the largest Jaccard index with each cluster; how members disagree with it."""
    ensemble, labelled, c = votes.ensemble, votes.labelled, votes.n_clusters
    entries = votes.overlap.tocoo()
    base, cluster = entries.coords
    member = ensemble.member_of_cluster[base]
    union = ensemble.cluster_sizes[base] + labelled[member, cluster] - entries.data
    largest = np.zeros((ensemble.n_members, c))
    np.maximum.at(largest, (member, cluster), entries.data / union)
    # the base cluster of each member that holds most of each cluster
    covers = np.zeros((ensemble.n_members, c))
    np.maximum.at(covers, (member, cluster), entries.data)
    holds = np.full((ensemble.n_members, c), -1)
    most = entries.data >= covers[member, cluster]
    holds[member[most], cluster[most]] = base[most]
    weight = np.where(labelled > 0, ensemble.member_weight[:, None], 0.0)
    stability = share((weight * largest).sum(axis=0), weight.sum(axis=0), np.nan)
    against = (labelled > 0) & (largest <= LARGEST_JACCARD)
    # a member splits a cluster if none of its base clusters holds more than half of it
    splits = covers <= labelled / 2
    return stability, [
        _disagreeing(votes, q, largest[:, q], against[:, q], splits[:, q], holds[:, q])
        for q in range(c)
    ]


def _disagreeing(
    votes: ClusterVotes,
    cluster: int,
    largest: NDArray[np.float64],
    against: NDArray[np.bool_],
    splits: NDArray[np.bool_],
    holds: NDArray[np.int64],
) -> str:
    """How members disagree with a cluster, and which: those that split it, and those that merge it."""
    texts = []
    apart = np.flatnonzero(against & splits)
    if len(apart):
        texts.append(f"split by {_named(votes.ensemble, apart, largest)}")
    together: dict[int, list[int]] = {}
    for j in np.flatnonzero(against & ~splits).tolist():
        row = votes.overlap[[holds[j]]].toarray()[0]
        row[cluster] = 0.0
        together.setdefault(int(row.argmax()) if row.any() else -1, []).append(j)
    for other, members in sorted(together.items(), key=lambda pair: -len(pair[1])):
        by = _named(votes.ensemble, np.array(members), largest)
        texts.append(f"merged with {other if other >= 0 else 'samples of no cluster'} by {by}")
    return "; ".join(texts)


def _named(ensemble: Ensemble, members: NDArray[np.int64], largest: NDArray[np.float64]) -> str:
    """Names of members, the one that disagrees most first; of many, their number and the first names."""
    worst = members[np.argsort(largest[members], kind="stable")]
    names = [ensemble.members[j] for j in worst[:NAMED_MEMBERS].tolist()]
    if len(worst) == ensemble.n_members > 1:
        return f"all {len(worst)} members"
    if len(worst) > len(names):
        return f"{counted(len(worst), 'member')} ({', '.join([*names, '…'])})"
    return ", ".join(names)
