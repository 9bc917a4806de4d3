r"""HBGF and USENC: cuts of the bipartite graph of samples and base clusters.

A sample is linked to each base cluster it lies in. HBGF (hybrid bipartite graph formulation) cuts the whole
graph into c parts and samples keep their part; unlike with methods on the co-association, base clusters are
assigned to the parts as well. USENC solves the normalised cut for the base clusters alone and carries it over
to the samples (transfer cut). It is the consensus function of ultra-scalable ensemble clustering, the second
half of U-SENC; the first half generates the members from features.

With B the N x k incidence, r the number of samples per microcluster, :math:`R = \mathrm{diag}(r)`,
:math:`D = \mathrm{diag}(B 1)` and :math:`\Delta = \mathrm{diag}(B' r)`:

Steps of the spectral cut of HBGF
  1. c leading singular triplets (U, V) of :math:`R^{1/2} D^{-1/2} B \Delta^{-1/2}`
  2. a point per microcluster, its row of :math:`R^{-1/2} D^{-1/2} U`, and one per base cluster, its row
     of :math:`\Delta^{-1/2} V`, both scaled to unit length
  3. k-means on the N + k points, a microcluster counting as often as it has samples, a base cluster
     once; the best of n_init starts
  4. samples keep their labels
Steps of the balanced cut of HBGF
  1. a vertex per microcluster, of weight r, and one per base cluster, of weight 1; a link of weight r
     between a microcluster and each base cluster it lies in
  2. METIS cuts it into c parts of about equal weight; samples keep their part
Steps of USENC
  1. c leading eigenvectors V of :math:`\Delta^{-1/2} B' R D^{-1} B \Delta^{-1/2}`
  2. rows of :math:`D^{-1} B \Delta^{-1/2} V`, scaled to unit length
  3. k-means on them, each microcluster weighted by its number of samples; the best of n_init starts

Exactness. The spectral cut of HBGF, and the embedding and the objective of k-means in USENC, are those of the
n samples. So is the balanced cut, except that samples with equal labels always stay together.

Where papers and programs differ. The paper of HBGF proposes both cuts; the widespread program has METIS only.
A part may hold base clusters but no samples; then the clusters of samples are split until there are
n_clusters. The paper of USENC divides each eigenvector by the root of its eigenvalue and does not mention
unit rows. The program does not divide but takes unit rows, as here. The program needs at least c base
clusters; here, with fewer, all vectors of non-zero eigenvalue are taken.

Missing labels. A sample is linked to the base clusters it is known to lie in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from coterie.core.params import Choice, parameter
from coterie.ensemble import Ensemble
from coterie.numerics.spectral import tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_bipartite_graph, cut_embedding, cut_graph
from coterie.solvers.partition import Partition

ADVICE = "Ask for fewer clusters, or set partition to the other cut: some parts hold no samples."


@dataclass(eq=False, repr=False, kw_only=True)
class HBGF(Method):
    """Hybrid bipartite graph: samples and base clusters are cut together. Linear in N.

    Parameters
    ----------
    partition : {"spectral", "metis"}, default "spectral"
        How the graph is cut. "metis" gives parts of about equal weight and needs pymetis (extra
        ``graph``).
    n_init : int, default 10
        For "spectral" only: number of k-means starts; the best is kept.
    max_iter : int, default 300
        For "spectral" only: maximum number of rounds per start.

    Attributes
    ----------
    embedding_ : ndarray, shape (N, p)
        For "spectral" only: a row of unit length per microcluster, on which k-means runs.
    cluster_embedding_ : ndarray, shape (k, p)
        For "spectral" only: the embedding of the base clusters, in the order of
        ``ensemble_.incidence``.

    See Also
    --------
    coterie.USENC : the same graph, k-means on the samples alone.

    Notes
    -----
    A ``member_weight`` of 2 is the same as giving that member twice.

    Examples
    --------
    >>> from coterie import HBGF
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> HBGF(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="hbgf",
        cost="O(N m min(k, N) + min(k, N)^3), O((N + k) c^2) per round; O(N m + min(k, N)^2) memory",
        paper="X. Z. Fern, C. E. Brodley. Solving cluster ensemble problems by bipartite graph "
        "partitioning. International Conference on Machine Learning, 2004.",
        scaling="linear",
        random=True,
    )

    partition: Literal["spectral", "metis"] = parameter("spectral", Choice(("spectral", "metis")))
    n_init: int = 10
    max_iter: int = 300

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        prior = ensemble.weight_of_cluster
        links = sparse.csr_array(ensemble.incidence.multiply(prior))
        if self.partition == "metis":
            weighted = sparse.csr_array(links.multiply(ensemble.sizes[:, None]))
            graph = sparse.block_array([[None, weighted], [weighted.T, None]], format="csr")
            sizes = np.concatenate([ensemble.sizes, prior])
            return cut_graph(ensemble, graph, sizes, self.n_clusters, rng, advice=ADVICE)
        return cut_bipartite_graph(self, ensemble, links, rng, ADVICE)


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
