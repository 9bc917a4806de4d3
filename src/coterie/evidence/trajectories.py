"""Similarity of microclusters by where random walks from them lead.

Huang, Lai and Wang, "Robust ensemble clustering using probability trajectories", IEEE Transactions
on Knowledge and Data Engineering 28 (2016).

Two microclusters that few members put together can still be similar through other microclusters. The
co-association graph is pruned to each microcluster's strongest links, and the similarity of two
microclusters is that of the trajectories of random walks that start from them.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Integer, check_parameters
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.coassociation import coassociation, require_dense

# upper limit in the authors' program, for any number of microclusters
MAX_BY_DEFAULT = 20
# bytes per pair of microclusters
TRAJECTORY_BYTES = 40
# above this share of links a dense product is faster
DENSE_FROM = 0.15

_DOMAINS = {"n_neighbors": Integer(1, optional=True), "n_steps": Integer(1, optional=True)}


def trajectory_similarity(
    ensemble: Ensemble,
    *,
    n_neighbors: int | None = None,
    n_steps: int | None = None,
    memory_budget: Budget = None,
) -> NDArray[np.float64]:
    """Probability trajectory similarity of the microclusters, N x N, diagonal 1.

    1. w: the co-association of different microclusters where it is among the ``n_neighbors``
       largest of either side (ties are kept), else 0.
    2. P: a walker at u steps to v with probability r_v w_uv / sum_t r_t w_ut, where r counts samples.
    3. The trajectory of u is row u of P, P^2, ..., P^T side by side, T being ``n_steps``; the
       similarity is the cosine of two trajectories.

    The inner products G = sum_t P^t (P^t)' follow from G <- P (I + G) P', repeated T times with the
    sparse P: no power of P is formed. A microcluster without links is similar to itself only.

    Parameters
    ----------
    ensemble : Ensemble
    n_neighbors, n_steps : int or None, default None
        None takes half the square root of N, at least 1 and at most 20.
    memory_budget : int, str or None, default None
        Bytes that may be allocated; None takes 60 % of what is available.

    Notes
    -----
    Sizes enter through the walk only: average linkage on this matrix counts each microcluster once
    in the authors' method. There is no resting step, so on a bipartite graph (such as a chain of
    three) the walks of neighbours never meet.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.trajectories import trajectory_similarity
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> trajectory_similarity(Ensemble.from_labels(labels)).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    require_ensemble(ensemble)
    given = {"n_neighbors": n_neighbors, "n_steps": n_steps}
    check_parameters("trajectory_similarity", given, _DOMAINS)
    require_dense(
        ensemble, TRAJECTORY_BYTES, "The probability trajectory similarity", memory_budget
    )
    usual = _by_default(ensemble.n_microclusters)
    links = _strongest_links(coassociation(ensemble, memory_budget=GRANTED), n_neighbors or usual)
    walk = random_walk(links, ensemble.sizes)
    return cosines(trajectory_products(walk, n_steps or usual))


def _by_default(n_microclusters: int) -> int:
    return min(max(isqrt(n_microclusters) // 2, 1), MAX_BY_DEFAULT)


def _strongest_links(share: NDArray[np.float64], n_neighbors: int) -> NDArray[np.float64]:
    """Set entries below the n-th largest of both their row and their column to 0, in place."""
    size = len(share)
    np.fill_diagonal(share, 0.0)
    nth = size - min(n_neighbors, size)
    least = np.partition(share, nth, axis=1)[:, nth]
    # equal ratios of counts are equal as floats, so comparing shares keeps exactly the ties
    share[share < np.minimum(least[:, None], least)] = 0.0
    return share


def random_walk(
    links: NDArray[np.float64], weights: NDArray[np.float64]
) -> sparse.csr_array | NDArray[np.float64]:
    """Transition probabilities along the links, in proportion to link times weight; overwrites ``links``.

    Rows without links are zero.
    """
    links *= weights
    total = links.sum(axis=1, keepdims=True)
    np.divide(links, total, out=links, where=total > 0)
    if np.count_nonzero(links) > DENSE_FROM * links.size:
        return links
    return sparse.csr_array(links)


def trajectory_products(
    walk: sparse.csr_array | NDArray[np.float64], n_steps: int
) -> NDArray[np.float64]:
    """Inner products of the trajectories of ``n_steps`` steps: sum_t P^t (P^t)'."""
    size = walk.shape[0]
    products = np.zeros((size, size))
    diagonal = np.diag_indices(size)
    for _ in range(n_steps):
        products[diagonal] += 1.0
        half = np.asarray(walk @ products)
        products = np.asarray(walk @ np.ascontiguousarray(half.T))
    if not np.isfinite(products).all():
        raise FloatingPointError("the trajectories of the random walk are not finite")
    return products


def cosines(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosines from inner products, diagonal 1; 0 for trajectories of length 0. Overwrites the array."""
    length = np.sqrt(np.diag(products))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    products *= scale[:, None]
    products *= scale
    cosines = np.clip((products + products.T) / 2, 0.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    return np.asarray(cosines)
