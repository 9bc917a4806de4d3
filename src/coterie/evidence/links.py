r"""Similarities by links: samples are alike where their base clusters have neighbours in common.

Iam-On, Boongoen and Garrett, "Refining pairwise similarity matrix for cluster ensemble problem with
cluster relations", Discovery Science (2008); Iam-On, Boongoen, Garrett and Price, "A link-based
approach to the cluster ensemble problem", IEEE Transactions on Pattern Analysis and Machine
Intelligence 33 (2011).

The link w of two different base clusters is their Jaccard index. Base clusters of one member share
no sample, so they are connected only through base clusters of other members.

**Similarity of base clusters of one member** (:func:`linked_clusters`), divided by the largest of all:

- connected triples, :math:`\sum_z \min(w_{pz}, w_{qz})`;
- triple quality, :math:`\sum_z 1 / \sum_t w_{tz}` over the common neighbours z: a neighbour that
  is linked to everything carries little information.

**Similarity of samples.**

- CTS (:func:`connected_triple`): the mean over members of 1 where a pair is together, else of the
  decay times the connected triples of the two base clusters;
- SRS (:func:`simrank`): samples are alike where their base clusters are, base clusters where their
  samples are;
- ASRS (:func:`approximate_simrank`): the mean over all pairs of a base cluster of one sample and a
  base cluster of the other, of a similarity of base clusters that is computed once.

On microclusters. CTS of two samples with equal labels is 1. SRS and ASRS are below 1 for two such
samples, and the diagonal holds that value. A sample has similarity 1 with itself, and the sums over
samples in SRS use this 1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
from scipy import sparse

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Choice, Integer, Real, check_parameters
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.base_clusters import jaccard, mean_over_members, require_base_clusters
from coterie.evidence.coassociation import require_dense

Links = Literal["triples", "quality"]

DECAY = Real(0.0, 1.0, closed_low=False)
LINKS = Choice(("triples", "quality"))
# similarities of base clusters this close to the largest count as equal to it
ROUNDING = 1e-12


def linked_clusters(
    ensemble: Ensemble, links: Links = "triples", *, memory_budget: Budget = None
) -> FloatArray:
    """Similarity of base clusters of one member by common neighbours, k x k, in [0, 1].

    The diagonal is 1, and entries between different members are 0. If no two base clusters of one
    member have a neighbour in common (as when members agree), all entries off the diagonal are 0.

    Parameters
    ----------
    ensemble : Ensemble
    links : {"triples", "quality"}, default "triples"
        How common neighbours count; see the module's docstring.
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.links import linked_clusters
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> similarity = linked_clusters(Ensemble.from_labels(labels))
    >>> [round(float(similarity[p, p + 1]), 6) for p in (0, 2, 4)]
    [0.5, 1.0, 0.5]
    """
    check_parameters("linked_clusters", {"links": links}, {"links": LINKS})
    require_base_clusters(ensemble, 40, "The links of base clusters", memory_budget)
    overlap = jaccard(ensemble, memory_budget=GRANTED)
    similarity = np.zeros_like(overlap)
    degree = overlap.sum(axis=0)
    worth = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    offsets = ensemble.cluster_offsets
    for begin, end in pairwise(offsets):
        own = slice(begin, end)
        if links == "triples":
            similarity[own, own] = _shared_strength(overlap[own])
        else:
            linked = (overlap[own] > 0).astype(np.float64)
            similarity[own, own] = (linked * worth) @ linked.T
    np.fill_diagonal(similarity, 0.0)
    largest = similarity.max(initial=0.0)
    if largest > 0:
        similarity /= largest
    np.fill_diagonal(similarity, 1.0)
    return similarity


def connected_triple(
    ensemble: Ensemble, decay: float = 0.8, *, memory_budget: Budget = None
) -> FloatArray:
    """Connected-triple similarity (CTS) of the microclusters, N x N, diagonal 1.

    The mean over members of 1 where they put a pair together, else of ``decay`` times the connected
    triples of the two base clusters. The mean is over the members that labelled both,
    weighted by ``member_weight``; 0 where no member labelled both.

    Parameters
    ----------
    ensemble : Ensemble
    decay : float, default 0.8
        Similarity of the most closely linked base clusters, in (0, 1].
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import connected_triple
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> connected_triple(Ensemble.from_labels(labels)).round(4).tolist()
    [[1.0, 0.5333, 0.6], [0.5333, 1.0, 0.9333], [0.6, 0.9333, 1.0]]
    """
    require_ensemble(ensemble)
    check_parameters("connected_triple", {"decay": decay}, {"decay": DECAY})
    similarity = linked_clusters(ensemble, memory_budget=memory_budget)
    similarity *= decay
    np.fill_diagonal(similarity, 1.0)
    return mean_over_members(
        ensemble, similarity, "The connected-triple similarity", memory_budget=memory_budget
    )


def simrank(
    ensemble: Ensemble,
    decay: float = 0.8,
    n_rounds: int = 5,
    *,
    memory_budget: Budget = None,
) -> FloatArray:
    """SimRank similarity (SRS) of the microclusters, N x N, by the graph of samples and base clusters.

    The similarities S of samples and C of base clusters start as identity matrices. ``n_rounds - 1``
    times, both are replaced at once::

        S[i, j] = decay * mean of C[p, q] over the labels p of i and q of j
        C[p, q] = decay * mean of S[i, j] over the samples i in p and j in q

    Then both diagonals are set to 1. The first mean is over the labels that the two samples have; each
    label counts with its member's ``member_weight``.

    Parameters
    ----------
    ensemble : Ensemble
    decay : float, default 0.8
        Factor by which a similarity shrinks in each step along the graph, in (0, 1].
    n_rounds : int, default 5
        Number of rounds as LinkCluE counts them: the start is the first.
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Returns
    -------
    ndarray, shape (N, N)
        On the diagonal, the similarity of two samples of one microcluster, below 1.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import simrank
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> simrank(Ensemble.from_labels(labels)).round(4).tolist()
    [[0.4862, 0.0468, 0.1961], [0.0468, 0.5055, 0.3663], [0.1961, 0.3663, 0.3935]]
    """
    require_ensemble(ensemble)
    given = {"decay": decay, "n_rounds": n_rounds}
    check_parameters("simrank", given, {"decay": DECAY, "n_rounds": Integer(2)})
    wide = ensemble.n_base_clusters / ensemble.n_microclusters
    require_dense(ensemble, 24 + 24 * wide + 24 * wide**2, "The SimRank similarity", memory_budget)
    r = ensemble.sizes
    by_label = _label_shares(ensemble)
    inside = sparse.csr_array(ensemble.incidence.multiply(r[:, None]) / ensemble.cluster_sizes)
    samples = np.zeros((len(r), len(r)))
    clusters = np.eye(ensemble.n_base_clusters)
    for to_go in reversed(range(n_rounds - 1)):
        # a sample has similarity 1 with itself, not what it has with others of its microcluster
        # (a weight below one still means a single sample)
        alone = (1.0 - np.diag(samples)) / np.maximum(r, 1.0)
        new_samples = _carried(by_label, clusters)
        new_samples *= decay
        if to_go:
            own = inside.T @ sparse.csr_array(inside.multiply(alone[:, None]))
            clusters = _carried(sparse.csr_array(inside.T), samples)
            clusters += own.toarray()
            clusters *= decay
            np.fill_diagonal(clusters, 1.0)
        samples = new_samples
    return samples


def approximate_simrank(
    ensemble: Ensemble, decay: float = 0.8, *, memory_budget: Budget = None
) -> FloatArray:
    """Approximate SimRank similarity (ASRS) of the microclusters, N x N, computed in one pass.

    Base clusters p and q have the similarity ``sum(w[p, z] * w[q, z]) / (n[p] * n[q])``, summed over all
    base clusters z, where n is the number of neighbours. It is divided by the largest over different base
    clusters; the diagonal is 1. The similarity of two samples is the mean over all pairs of a base cluster
    of one and a base cluster of the other, in which a similarity of 1 counts 1 and any other ``decay``
    times its value. Each label counts with its member's ``member_weight``; missing labels are left out.

    Parameters
    ----------
    ensemble : Ensemble
    decay : float, default 0.8
        In (0, 1].
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Returns
    -------
    ndarray, shape (N, N)
        On the diagonal, the similarity of two samples of one microcluster, below 1.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import approximate_simrank
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> approximate_simrank(Ensemble.from_labels(labels)).round(4).tolist()
    [[0.7926, 0.0878, 0.2999], [0.0878, 0.6806, 0.4641], [0.2999, 0.4641, 0.4348]]
    """
    require_ensemble(ensemble)
    check_parameters("approximate_simrank", {"decay": decay}, {"decay": DECAY})
    wide = ensemble.n_base_clusters / ensemble.n_microclusters
    purpose = "The approximate SimRank similarity"
    require_dense(ensemble, 24 + 24 * wide + 32 * wide**2, purpose, memory_budget)
    overlap = jaccard(ensemble, memory_budget=GRANTED)
    neighbours = np.maximum((overlap > 0).sum(axis=1), 1)
    similarity = overlap @ overlap.T
    similarity /= np.outer(neighbours, neighbours)
    np.fill_diagonal(similarity, 0.0)
    largest = similarity.max(initial=0.0)
    if largest > 0:
        similarity /= largest
    similarity = np.where(similarity >= 1.0 - ROUNDING, 1.0, decay * similarity)
    np.fill_diagonal(similarity, 1.0)
    return _carried(_label_shares(ensemble), similarity)


def _shared_strength(overlap: FloatArray) -> FloatArray:
    """For each pair of rows, the sum over all other base clusters of the smaller of the two links."""
    strength = np.zeros((len(overlap), len(overlap)))
    for p, row in enumerate(overlap[:-1]):
        strength[p, p + 1 :] = np.minimum(row, overlap[p + 1 :]).sum(axis=1)
    return strength + strength.T


def _label_shares(ensemble: Ensemble) -> sparse.csr_array:
    """The incidence with rows that sum to one: labels count in proportion to ``member_weight``."""
    weighted = sparse.csr_array(ensemble.incidence.multiply(ensemble.weight_of_cluster))
    total = weighted.sum(axis=1)
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return sparse.csr_array(weighted.multiply(scale[:, None]))


def _carried(shares: sparse.csr_array, similarity: FloatArray) -> FloatArray:
    """F S F' for a sparse F, symmetric to the last digit."""
    half = np.asarray(shares @ similarity)
    carried = np.asarray(shares @ np.ascontiguousarray(half.T))
    carried += carried.T.copy()
    carried /= 2
    return carried
