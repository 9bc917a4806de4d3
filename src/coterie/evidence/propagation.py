"""Similarity of base clusters by where random walks among them lead, carried over to samples.

Huang, Wang, Peng, Lai and Kwoh, "Enhanced ensemble clustering via fast propagation of cluster-wise
similarities", IEEE Transactions on Systems, Man, and Cybernetics: Systems 51 (2021).

Base clusters that share samples are linked with the strength of their Jaccard index. Random walks step
from base cluster to base cluster along the links. The similarity of two base clusters is that of the
trajectories that start from them, even if they share no sample. For a member that separates two samples,
their similarity is that of the two base clusters.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Domain, Integer, Real, check_parameters
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.base_clusters import jaccard, mean_over_members, require_base_clusters
from coterie.evidence.trajectories import cosines, random_walk, trajectory_products

_DOMAINS: Mapping[str, Domain] = {
    "n_steps": Integer(1),
    "rest": Real(0.0, 1.0, closed_high=False),
}


def propagated_cluster_similarity(
    ensemble: Ensemble,
    n_steps: int = 20,
    *,
    rest: float = 0.0,
    memory_budget: Budget = None,
) -> NDArray[np.float64]:
    """Similarity Z of the base clusters by trajectories, k x k, in the order of the incidence.

    1. J: the Jaccard index of two base clusters, diagonal 0.
    2. P: a walker at p steps to q with probability J_pq / sum_t J_pt.
    3. The trajectory of p is row p of P, P^2, ..., P^T side by side, T being ``n_steps``; the
       similarity is the cosine of two trajectories.

    A base cluster that overlaps no other has similarity 0 with all, itself included. With two
    members every link goes from one to the other, so walkers that start in different members never
    meet, unless they ``rest``.

    Parameters
    ----------
    ensemble : Ensemble
    n_steps : int, default 20
    rest : float, default 0.0
        Chance that a walker stays where it is at a step, below 1.
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import propagated_cluster_similarity
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> Z = propagated_cluster_similarity(Ensemble.from_labels(labels))
    >>> Z[:2, :4].round(4).tolist()
    [[1.0, 0.6482, 0.9348, 0.6126], [0.6482, 1.0, 0.718, 0.9389]]
    """
    require_ensemble(ensemble)
    given = {"n_steps": n_steps, "rest": rest}
    check_parameters("propagated_cluster_similarity", given, _DOMAINS)
    require_base_clusters(ensemble, 40, "The propagated similarity of base clusters", memory_budget)
    links = jaccard(ensemble, memory_budget=GRANTED)
    strength = links.sum(axis=1)
    alone = strength == 0
    np.fill_diagonal(links, strength * rest / (1.0 - rest))
    walk = random_walk(links, np.ones(len(links)))
    similarity = cosines(trajectory_products(walk, n_steps))
    similarity[alone, alone] = 0.0
    return similarity


def propagated_similarity(
    ensemble: Ensemble, n_steps: int = 20, *, memory_budget: Budget = None
) -> NDArray[np.float64]:
    """Enhanced co-association: the mean over members of Z between two samples' base clusters, N x N.

    A pair that a member puts together counts 1 there, a pair it separates counts
    :func:`propagated_cluster_similarity` of the two base clusters. The mean is over the members that
    saw both, each with its ``member_weight``; a pair that no member saw together gets 0. Samples of
    one microcluster have similarity 1.

    Parameters
    ----------
    ensemble : Ensemble
    n_steps : int, default 20
        Steps of the random walk. With more steps the values approach 1, so use them for ranking only.
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import propagated_similarity
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> propagated_similarity(Ensemble.from_labels(labels)).round(4).tolist()
    [[1.0, 0.6688, 0.7654], [0.6688, 1.0, 0.9034], [0.7654, 0.9034, 1.0]]
    """
    similarity = propagated_cluster_similarity(ensemble, n_steps, memory_budget=memory_budget)
    np.fill_diagonal(similarity, 1.0)
    return mean_over_members(
        ensemble, similarity, "The propagated similarity", memory_budget=memory_budget
    )
