r"""USENC: the consensus function of ultra-scalable ensemble clustering.

Samples and base clusters are the vertices of a graph; a sample is linked to each base cluster it lies
in. A normalised cut of the graph, solved for the base clusters alone and carried over to the samples
(transfer cut), gives the clusters. This is the second half of U-SENC; the first half generates the members
from features.

Steps, with B the N x k incidence, r the number of samples per microcluster, :math:`R = \mathrm{diag}(r)`,
:math:`D = \mathrm{diag}(B 1)` and :math:`\Delta = \mathrm{diag}(B' r)`
  1. c leading eigenvectors V of :math:`\Delta^{-1/2} B' R D^{-1} B \Delta^{-1/2}`
  2. rows of :math:`D^{-1} B \Delta^{-1/2} V`, scaled to unit length
  3. k-means on them, each microcluster weighted by its number of samples; the best of n_init starts

Exactness. The embedding and the objective of k-means are those of the n samples.

Where paper and program differ. The paper divides each eigenvector by the root of its eigenvalue and does not
mention unit rows. The program does not divide but takes unit rows, as here. The program needs at least c base
clusters; here, with fewer, all vectors of non-zero eigenvalue are taken.

Missing labels. A sample is linked to the base clusters it is known to lie in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.ensemble import Ensemble
from coterie.numerics.spectral import tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class USENC(Method):
    """Transfer cut of the graph of samples and base clusters.

    Linear in N: the method for very many samples.

    Attributes
    ----------
    embedding_ : ndarray, shape (N, p)
        A row of unit length per microcluster, on which k-means runs;
        ``ensemble_.expand(embedding_)`` has a row per sample.

    See Also
    --------
    coterie.LWGP : the same cut with base clusters weighted by reliability.
    coterie.HBGF : the same graph, its base clusters taking part in k-means.

    Notes
    -----
    A ``member_weight`` of 2 is the same as giving that member twice.

    Examples
    --------
    >>> from coterie import USENC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> USENC(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="usenc",
        cost="O(N m^2 + min(k, N)^3), O(N c^2) per round of k-means; O(N m + min(k, N)^2) memory",
        paper="D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai, C.-K. Kwoh. Ultra-scalable spectral "
        "clustering and ensemble clustering. IEEE Transactions on Knowledge and Data "
        "Engineering 32, 2020.",
        scaling="linear",
        random=True,
    )

    n_init: int = 3
    max_iter: int = 100

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        links = ensemble.incidence.multiply(ensemble.weight_of_cluster)
        embedding = tcut_embedding(links, ensemble.weights, self.n_clusters)
        return cut_embedding(self, ensemble, embedding, rng)
