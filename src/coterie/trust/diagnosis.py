"""Diagnoses of a partition: of its samples, of the members, and of its clusters.

Each diagnosis is a function of an ensemble and a partition of its samples. Solvers, ConsensusClustering
and Result inherit the same diagnoses as methods from :class:`DiagnosisMixin`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.budget import require
from coterie.core.params import as_numbers
from coterie.core.tables import Table
from coterie.core.text import counted
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.coassociation import share
from coterie.evidence.contingency import member_agreements
from coterie.numerics.partitions import Overlaps
from coterie.trust.explanation import Explanation, explanation
from coterie.trust.parties import TESTED_LINKS, find_parties
from coterie.trust.votes import ClusterVotes

# an outlier agrees less than the median member by this many scaled median absolute deviations,
# and by at least this much
OUTLIER_DEVIATIONS = 3.0
OUTLIER_GAP = 0.1
# standard deviation of a normal distribution over its median absolute deviation
DEVIATION_SCALE = 1.4826
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

        If few samples link groups of members, the rows are mixed with a uniform row, by the factor
        ``share`` of the verdict.
        """
        return _soft_labels(self._diagnosed()[0])

    def diagnose_samples(self) -> Table:
        """Cluster, confidence and rival of each sample; see :func:`coterie.trust.diagnose_samples`."""
        return _sample_table(self._diagnosed()[0])

    def diagnose_members(self) -> Table:
        """Agreement of each member; see :func:`coterie.trust.diagnose_members`."""
        return _member_table(*self._diagnosed())

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


# ---------------------------------------------------------------------- members


def diagnose_members(
    ensemble: Ensemble, labels: Any, member_weights: ArrayLike | None = None
) -> Table:
    """Agreement of each member with the consensus and with the other members.

    The table has one row per member and these columns:

    - ``member``: its name.
    - ``clusters``: its number of clusters.
    - ``labelled``: share of the samples that it labelled.
    - ``weight``: its influence on the consensus; all weights sum to one.
    - ``agreement``, ``ari``: NMI (arithmetic mean) and adjusted Rand index with the consensus, over
      the samples that it labelled.
    - ``redundancy``, ``most_like``: its greatest NMI with another member, and that member; NaN and
      None where it shares no sample with any other.
    - ``outlier``: whether its agreement is below the median of all members by more than three scaled
      median absolute deviations, and by more than 0.1. Never true with fewer than three members.

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
    ...     {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [1, 1, 0, 0], "odd": [0, 1, 0, 1]})
    >>> table = diagnose_members(ensemble, [0, 0, 1, 1])
    >>> table["agreement"].tolist(), table["outlier"].tolist()
    ([1.0, 1.0, 1.0, 0.0], [False, False, False, True])
    >>> table["most_like"].tolist()
    ['b', 'a', 'a', 'a']
    """
    votes = ClusterVotes.of(ensemble, labels)
    if member_weights is None:
        return _member_table(votes, ensemble.member_weight)
    return _member_table(votes, as_numbers("member_weights", member_weights))


def _member_table(votes: ClusterVotes, weight: NDArray[np.float64]) -> Table:
    ensemble = votes.ensemble
    if weight.shape != (ensemble.n_members,):
        raise ValueError(
            f"member_weights must hold one number per member ({ensemble.n_members}), but has shape "
            f"{weight.shape}"
        )
    total = weight.sum()
    if not ((weight >= 0).all() and 0 < total < np.inf):
        raise ValueError(f"member_weights must be finite, >= 0 and not all 0: {weight.tolist()}")
    overlaps = Overlaps.of_tables(votes.overlap, ensemble.cluster_offsets)
    nmi = overlaps.nmi()
    redundancy, like = _most_like(votes.member_agreement)
    return Table(
        {
            "member": np.array(ensemble.members),
            "clusters": ensemble.n_clusters_per_member,
            "labelled": ensemble.sizes @ ensemble.observed / ensemble.sizes.sum(),
            "weight": weight / total,
            "agreement": nmi,
            "ari": overlaps.ari(),
            "redundancy": redundancy,
            "most_like": [None if j < 0 else ensemble.members[j] for j in like.tolist()],
            "outlier": outliers(nmi),
        }
    )


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
    return member_agreements(ensemble)


def outliers(agreement: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each member agrees with the consensus far less than the others."""
    if len(agreement) < 3:
        return np.zeros(len(agreement), dtype=np.bool_)
    middle = np.median(agreement)
    spread = DEVIATION_SCALE * np.median(np.abs(agreement - middle))
    return middle - agreement > max(OUTLIER_DEVIATIONS * spread, OUTLIER_GAP)


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
    # a part of at most half of the cluster is what makes a split
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
    """Members by name, the one that disagrees most first; of many, how many, too."""
    worst = members[np.argsort(largest[members], kind="stable")]
    names = [ensemble.members[j] for j in worst[:NAMED_MEMBERS].tolist()]
    if len(worst) == ensemble.n_members > 1:
        return f"all {len(worst)} members"
    if len(worst) > len(names):
        return f"{counted(len(worst), 'member')} ({', '.join([*names, '…'])})"
    return ", ".join(names)
