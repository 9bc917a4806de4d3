"""Reliability of base clusters from their entropy over the ensemble, and evidence weighted by it.

Huang, Wang and Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics, 2018.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import Budget
from coterie.core.params import Real, check_parameters
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.coassociation import bytes_of_shares, require_dense, share_of_seen
from coterie.evidence.contingency import contingency_by_members

THETA = Real(0, closed_low=False)
# lower bound: far below the values for any published theta, but the product of two is still positive
FAINTEST = 1e-100


def cluster_reliability(ensemble: Ensemble, theta: float = 0.4) -> NDArray[np.float64]:
    """Ensemble-driven cluster index of each base cluster, in (0, 1].

    ECI = exp(-H / (theta m)), with H the entropy in bits of how the members scatter the cluster.
    Members that label none of the cluster's samples are left out, and H is scaled up to m members.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import cluster_reliability
    >>> cluster_reliability(Ensemble.from_labels([[0, 0], [0, 0], [1, 1], [1, 0]])).round(3)
    array([1.   , 0.287, 0.317, 1.   ])
    """
    require_ensemble(ensemble)
    check_parameters("cluster_reliability", {"theta": theta}, {"theta": THETA})
    m, k = ensemble.n_members, ensemble.n_base_clusters
    member_of = ensemble.member_of_cluster
    by_member = sparse.csr_array((np.ones(k), (np.arange(k), member_of)), shape=(k, m))
    entropy = np.empty(k)
    for rows, table in contingency_by_members(ensemble):
        seen = np.asarray((table @ by_member).toarray())
        overlaps = table.tocoo()
        cluster, other = overlaps.coords
        ratio = overlaps.data / seen[cluster, member_of[other]]
        bits = np.bincount(cluster, weights=-ratio * np.log2(ratio), minlength=len(seen))
        entropy[rows] = np.maximum(bits, 0.0) * m / (seen > 0).sum(axis=1)
    # a tiny theta must not make the reliability exactly zero
    with np.errstate(over="ignore", under="ignore"):
        return np.maximum(np.exp(-entropy / (theta * m)), FAINTEST)


def reliability_for(
    ensemble: Ensemble, evidence: object, theta: float
) -> NDArray[np.float64] | None:
    """Reliability of the base clusters if ``evidence`` is "lwca", else None."""
    if not isinstance(evidence, str) or evidence != "lwca":
        return None
    return cluster_reliability(ensemble, theta)


def locally_weighted_coassociation(
    ensemble: Ensemble,
    theta: float = 0.4,
    *,
    reliability: NDArray[np.float64] | None = None,
    memory_budget: Budget = None,
) -> NDArray[np.float64]:
    """Co-association in which each base cluster counts with its reliability, N x N, diagonal 1.

    With missing labels the sum is divided by the members that saw both, as in
    :func:`coterie.evidence.coassociation`.

    Parameters
    ----------
    ensemble : Ensemble
    theta : float, default 0.4
        As in :func:`cluster_reliability`.
    reliability : ndarray, shape (k,), optional
        Reliability of each base cluster, where it is known already; ``theta`` is then ignored.
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import locally_weighted_coassociation
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> locally_weighted_coassociation(Ensemble.from_labels(labels)).round(4)[2].tolist()
    [0.0862, 0.3101, 1.0]
    """
    require_ensemble(ensemble)
    from coterie.numerics.pairs import weighted_agreements

    per_pair = bytes_of_shares(ensemble)
    require_dense(ensemble, per_pair, "The locally weighted co-association matrix", memory_budget)
    if reliability is None:
        reliability = cluster_reliability(ensemble, theta)
    values = reliability * ensemble.weight_of_cluster
    together = weighted_agreements(ensemble.labels, values, ensemble.cluster_starts)
    shares = share_of_seen(ensemble, together)
    np.fill_diagonal(shares, 1.0)
    return shares


def reliable_weights(
    ensemble: Ensemble, reliability: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Weight of each member times the mean reliability of the base clusters that hold its samples.

    The weights themselves if the reliability is None.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.reliability import cluster_reliability, reliable_weights
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 1], [1, 0]])
    >>> reliable_weights(ensemble, cluster_reliability(ensemble)).round(3)
    array([0.643, 0.488])
    """
    if reliability is None:
        return ensemble.member_weight
    sizes, member = ensemble.cluster_sizes, ensemble.member_of_cluster
    total = np.bincount(member, weights=sizes * reliability)
    return np.asarray(ensemble.member_weight * (total / np.bincount(member, weights=sizes)))


def mean_reliability(ensemble: Ensemble, reliability: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean reliability of the base clusters that each microcluster lies in, weighted by member.

    It is the locally weighted co-association of two samples of one microcluster.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.reliability import cluster_reliability, mean_reliability
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 1], [1, 0]])
    >>> mean_reliability(ensemble, cluster_reliability(ensemble)).round(3)
    array([0.659, 0.643, 0.302])
    """
    values = ensemble.weight_of_cluster * reliability
    return np.asarray(ensemble.incidence @ values / ensemble.observed_weight)
