"""Members: how each agrees with the consensus and with the others, and which one stands apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.params import as_numbers
from coterie.core.tables import Table
from coterie.ensemble import Ensemble, require_ensemble
from coterie.trust.votes import ClusterVotes

# a member is an outlier this many scaled median deviations below the median, and by this much
DEVIATIONS = 3.0
LEAST_GAP = 0.1
# the median absolute deviation of a normal distribution is its standard deviation over this
SCALE = 1.4826


def members(ensemble: Ensemble, labels: Any, member_weights: ArrayLike | None = None) -> Table:
    """One row a member: how it agrees with the consensus and with the other members.

    Columns: ``member``; ``clusters``; ``labelled`` (share of the samples); ``weight`` in the
    consensus; ``agreement`` and ``ari`` with the consensus over the samples that it labelled (NMI
    with arithmetic mean, and the adjusted Rand index); ``redundancy`` (greatest agreement with
    another member, NaN if there is none) and ``most_like`` (that member); ``outlier``: its
    agreement lies more than three scaled median absolute deviations and more than 0.1 below the
    median of all members. Of one or two members none is an outlier.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
    member_weights : array, shape (m,), optional
        Their influence, by default the ensemble's ``member_weight``; scaled to sum to one.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import members
    >>> ensemble = Ensemble.from_labels(
    ...     {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [1, 1, 0, 0], "odd": [0, 1, 0, 1]})
    >>> table = members(ensemble, [0, 0, 1, 1])
    >>> table["agreement"].tolist(), table["outlier"].tolist()
    ([1.0, 1.0, 1.0, 0.0], [False, False, False, True])
    >>> table["most_like"].tolist()
    ['b', 'a', 'a', 'a']
    """
    require_ensemble(ensemble)
    return members_of(ClusterVotes.of(ensemble, labels), member_weights)


def members_of(votes: ClusterVotes, member_weights: ArrayLike | None) -> Table:
    """The table from votes that are there already."""
    ensemble = votes.ensemble
    weight = ensemble.member_weight
    if member_weights is not None:
        weight = as_numbers("member_weights", member_weights)
    if weight.shape != (ensemble.n_members,):
        raise ValueError(
            f"member_weights must hold {ensemble.n_members} numbers, but has shape {weight.shape}"
        )
    total = weight.sum()
    if not ((weight >= 0).all() and 0 < total < np.inf):
        raise ValueError(f"member_weights must be positive and finite, but is {weight.tolist()}")
    observed = ensemble.observed
    row_weights = ensemble.sizes
    information, rand = _with_consensus(votes)
    redundancy, like = _most_like(member_agreement(ensemble))
    return Table(
        {
            "member": np.array(ensemble.members),
            "clusters": ensemble.n_clusters_per_member,
            "labelled": row_weights @ observed / row_weights.sum(),
            "weight": weight / total,
            "agreement": information,
            "ari": rand,
            "redundancy": redundancy,
            "most_like": [None if j < 0 else ensemble.members[j] for j in like.tolist()],
            "outlier": outliers(information),
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
    from coterie.numerics.agreement import member_agreements

    return member_agreements(ensemble.labels, ensemble.sizes)


def outliers(agreement: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Members that agree with the consensus far less than the others do."""
    if len(agreement) < 3:
        return np.zeros(len(agreement), dtype=np.bool_)
    middle = np.median(agreement)
    spread = SCALE * np.median(np.abs(agreement - middle))
    return middle - agreement > max(DEVIATIONS * spread, LEAST_GAP)


def _most_like(
    agreement: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    others = np.where(np.isnan(agreement), -1.0, agreement)
    np.fill_diagonal(others, -1.0)
    like = others.argmax(axis=1)
    greatest = others[np.arange(len(others)), like]
    found = greatest >= 0
    return np.where(found, greatest, np.nan), np.where(found, like, -1)


def _with_consensus(votes: ClusterVotes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """NMI and ARI of each member with the partition, over what it labelled."""
    ensemble, overlap = votes.ensemble, votes.overlap
    m = ensemble.n_members
    member_of = ensemble.member_of_cluster
    entries = overlap.tocoo()
    base, cluster = entries.coords
    member = member_of[base].astype(np.int64)
    # the clusters' weights as far as each member saw them: one code per (member, cluster)
    code = member * votes.n_clusters + cluster
    distinct, place = np.unique(code, return_inverse=True)
    seen = np.bincount(place, weights=entries.data).astype(np.float64)
    seen_by = distinct // votes.n_clusters
    total = np.bincount(member, weights=entries.data, minlength=m).astype(np.float64)

    def sums(terms: NDArray[np.float64], of: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.bincount(of, weights=terms, minlength=m).astype(np.float64)

    def entropy(sizes: NDArray[np.float64], of: NDArray[np.int64]) -> NDArray[np.float64]:
        share = sizes / total[of]
        return sums(-share * np.log(share), of)

    ratio = entries.data * total[member] / (ensemble.cluster_sizes[base] * seen[place])
    information = sums(entries.data / total[member] * np.log(ratio), member)
    mean_entropy = (entropy(ensemble.cluster_sizes, member_of) + entropy(seen, seen_by)) / 2
    same = (np.bincount(member, minlength=m) == ensemble.n_clusters_per_member) & (
        np.bincount(member, minlength=m) == np.bincount(seen_by, minlength=m)
    )
    nmi = np.zeros(m)
    np.divide(information, mean_entropy, out=nmi, where=information > np.finfo(float).eps)
    nmi = np.where(same, 1.0, np.minimum(nmi, 1.0))

    def pairs(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        return sizes * (sizes - 1) / 2

    both = sums(pairs(entries.data), member)
    within = sums(pairs(ensemble.cluster_sizes), member_of)
    across = sums(pairs(seen), seen_by)
    everything = pairs(total)
    expected = np.divide(within * across, everything, out=np.zeros(m), where=everything > 0)
    top, bottom = both - expected, (within + across) / 2 - expected
    rand = np.ones(m)
    np.divide(top, bottom, out=rand, where=~same & (bottom != 0))
    return nmi, rand
