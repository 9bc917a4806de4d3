r"""KC: k-means on the co-association matrix.

Each sample is described by its co-association with every sample, a row of the n x n matrix A, and
ordinary k-means groups these rows. Used as a reference in much of the literature.

.. math:: \min_y \sum_i \|A_{i:} - \mu_{y_i}\|^2

Steps
  1. features with the same distances as the rows of A
  2. k-means, each microcluster weighted by its number of samples; the best of n_init starts

With complete labels A = B P B' / p, where B is the incidence, the diagonal of P holds the member weights of
the base clusters, and p is the sum of member weights. With R the diagonal matrix of samples per microcluster
and the pivoted Cholesky factorisation :math:`P B' R B P = L L'`,

.. math:: \|A_{i:} - A_{j:}\|^2 = (b_i - b_j)' P B' R B P (b_i - b_j) / p^2 = \|(b_i - b_j)' L\|^2 / p^2,

so the rows of B L / p, with at most k - m + 1 entries, replace the rows of A. If N <= k, or labels are
missing, the features are the columns of A times the root of their weight, with N entries per row.

Exactness. The distances and the objective of k-means are those of the n samples.

Cost: O(N m k + k^3) for the features, O(N min(k, N) c) per round of k-means; memory 16 (N + k) k bytes, or
32 N^2 where labels are missing or N <= k.

Where papers differ. No paper says how k-means was started; ten starts of k-means++ are a choice made here.

Missing labels. The co-association of a pair is the share among the members that saw both, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from coterie.core.budget import GRANTED, Budget, require
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import ADVICE, coassociation, require_dense
from coterie.evidence.contingency import contingency
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class KC(Method):
    """k-means on the rows of the co-association matrix, usually without forming it.

    Attributes
    ----------
    objective_ : float
        Sum over samples of the squared distance between their row and their cluster's mean row.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the same matrix.

    Notes
    -----
    A ``member_weight`` of 2 is the same as giving that member twice.

    Examples
    --------
    >>> from coterie import KC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = KC(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), round(model.objective_, 4)
    ([0, 0, 0, 1, 1, 1], 0.4444)
    """

    about = MethodInfo(
        name="kc",
        cost="O(N m k + k^3) time and O(N k c) per round; 32 bytes per pair with missing labels",
        paper="T. Li, C. Ding. Weighted consensus clustering. SIAM International Conference on "
        "Data Mining, 2008.",
        scaling="linear",
        random=True,
    )

    n_init: int = 10
    max_iter: int = 300
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        features = row_features(ensemble, self.memory_budget)
        # the features are too large to be kept
        return replace(cut_embedding(self, ensemble, features, rng), by_microcluster={})


def row_features(ensemble: Ensemble, memory_budget: Budget = None) -> NDArray[np.float64]:
    """Step 1: a row per microcluster, with the same distances as the samples' rows of A."""
    n, k = ensemble.n_microclusters, ensemble.n_base_clusters
    if n <= k or not ensemble.is_complete:
        # k-means works on a centred copy
        require_dense(ensemble, 32, "The co-association matrix and its k-means", memory_budget)
        shares = coassociation(ensemble, memory_budget=GRANTED)
        shares *= np.sqrt(ensemble.weights)
        return shares
    purpose = f"The features of N = {n:,} microclusters by k = {k:,} base clusters"
    require(16.0 * (n + k) * k, purpose, ADVICE, memory_budget)
    prior = ensemble.weight_of_cluster
    table = contingency(ensemble, memory_budget=GRANTED).toarray() * prior
    table *= prior[:, None]
    lower, order, rank, _ = lapack.dpstrf(table, lower=1, overwrite_a=1)
    root = np.zeros((k, rank))
    root[order - 1] = np.tril(lower)[:, :rank]
    return np.asarray(ensemble.incidence @ root) / ensemble.member_weight.sum()
