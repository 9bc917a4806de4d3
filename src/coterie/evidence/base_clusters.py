"""Similarities of base clusters, and the similarities of microclusters that follow from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import GRANTED, Budget, require
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import require_dense, share_of_seen
from coterie.evidence.contingency import ADVICE, contingency


def require_base_clusters(
    ensemble: Ensemble, bytes_per_pair: float, purpose: str, budget: Budget = None
) -> None:
    """Refuse k x k arrays that would exceed the budget."""
    k = ensemble.n_base_clusters
    require(bytes_per_pair * k * k, f"{purpose} for k = {k:,} base clusters", ADVICE, budget)


def jaccard(ensemble: Ensemble, *, memory_budget: Budget = None) -> NDArray[np.float64]:
    """Samples shared by two base clusters over samples in either, k x k, diagonal 0.

    A member's base clusters contain only the samples that it labelled. Rows and columns are in the order of
    ``ensemble.incidence``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.base_clusters import jaccard
    >>> jaccard(Ensemble.from_labels([[0, 0], [0, 0], [1, 0]])).round(3).tolist()
    [[0.0, 0.0, 0.667], [0.0, 0.0, 0.333], [0.667, 0.333, 0.0]]
    """
    require_base_clusters(ensemble, 24, "The overlaps of base clusters", memory_budget)
    shared = contingency(ensemble, memory_budget=GRANTED).toarray()
    sizes = ensemble.cluster_sizes
    shared /= sizes[:, None] + sizes - shared
    np.fill_diagonal(shared, 0.0)
    return np.asarray(shared)


def likeness_to_base_clusters(
    ensemble: Ensemble, similarity: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Similarity of each base cluster with the one that a microcluster lies in, N x k.

    Only base clusters of the same member are compared. A member's block is zero in the rows of
    microclusters that it did not label.

    Parameters
    ----------
    ensemble : Ensemble
    similarity : ndarray, shape (k, k)

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Ensemble
    >>> from coterie.evidence.base_clusters import likeness_to_base_clusters
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, -1]])
    >>> similarity = np.array([[1.0, 0.3, 0.9], [0.3, 1.0, 0.5], [0.9, 0.5, 1.0]])
    >>> likeness_to_base_clusters(ensemble, similarity).tolist()
    [[1.0, 0.3, 1.0], [0.3, 1.0, 0.0]]
    """
    alike = np.zeros((ensemble.n_microclusters, ensemble.n_base_clusters))
    offsets = ensemble.cluster_offsets
    for j, labels in enumerate(ensemble.labels.T):
        own = slice(offsets[j], offsets[j + 1])
        seen = labels >= 0
        alike[seen, own] = similarity[own, own][labels[seen]]
    return alike


def links_to_base_clusters(
    ensemble: Ensemble, similarity: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean similarity of each microcluster with those in each base cluster, times its weight, N x k.

    ``weights`` say how often each microcluster counts in the mean.
    """
    inside = ensemble.incidence.multiply(weights[:, None]).tocsc()
    links = np.asarray(similarity @ inside) / (ensemble.incidence.T @ weights)
    links *= ensemble.weight_of_cluster
    return links


def mean_over_members(
    ensemble: Ensemble,
    similarity: NDArray[np.float64],
    purpose: str,
    *,
    memory_budget: Budget = None,
) -> NDArray[np.float64]:
    """Mean similarity of the base clusters that hold two microclusters, member by member, N x N.

    The mean is over the members that labelled both, weighted by ``member_weight``; 0 where there are
    none. At most 1, which is also the diagonal.

    Parameters
    ----------
    ensemble : Ensemble
    similarity : ndarray, shape (k, k)
        Symmetric, in [0, 1].
    purpose : str
        Name of the matrix in the error when memory is short.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Ensemble
    >>> from coterie.evidence.base_clusters import mean_over_members
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, -1]])
    >>> similarity = np.array([[1.0, 0.3, 0.9], [0.3, 1.0, 0.5], [0.9, 0.5, 1.0]])
    >>> mean_over_members(ensemble, similarity, "The mean").tolist()
    [[1.0, 0.3], [0.3, 1.0]]
    """
    per_pair = 24 + 16 * ensemble.n_base_clusters / ensemble.n_microclusters
    require_dense(ensemble, per_pair, purpose, memory_budget)
    alike = np.ascontiguousarray(likeness_to_base_clusters(ensemble, similarity).T)
    weighted = sparse.csr_array(ensemble.incidence.multiply(ensemble.weight_of_cluster))
    mean = share_of_seen(ensemble, np.asarray(weighted @ alike))
    np.fill_diagonal(mean, 1.0)
    return np.minimum(mean, 1.0, out=mean)
