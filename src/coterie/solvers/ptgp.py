r"""PTGP: probability trajectory based graph partitioning.

Microclusters and base clusters are the vertices of a graph. The link of a microcluster and a base cluster
is the mean similarity with the microclusters in it (by probability trajectories, PTS, see
PTA). A normalised cut of the graph gives the clusters. Only base clusters need an eigenproblem: their
vectors are carried over to the microclusters (transfer cut).

Steps, with B the N x k incidence, :math:`D = \mathrm{diag}(W 1)`, :math:`\Delta = \mathrm{diag}(W' 1)`
  1. PTS of the microclusters
  2. :math:`W = \mathrm{PTS} \cdot B \,\mathrm{diag}(B' 1)^{-1}`
  3. c leading eigenvectors V of :math:`\Delta^{-1/2} W' D^{-1} W \Delta^{-1/2}`
  4. rows of :math:`D^{-1} W \Delta^{-1/2} V`, scaled to unit length
  5. k-means on them, each microcluster counting once; the best of n_init starts

So PTGP is ``SimilarityConsensus(c, evidence="pts", partition="tcut", weighted=False)``.

Exactness. The method is defined on microclusters: their numbers of samples matter only in the walk of PTS.
A sample of weight two is the same as the sample given twice, but a program that does not merge equal rows
first computes something else.

Where paper and program differ. As for PTA: the program's K and T are at most 20. The paper divides each
eigenvector by the root of its eigenvalue and does not mention unit rows. The program does not divide but
takes unit rows, as here. Here a microcluster without links is similar to itself, so it stays linked to
its base clusters; the program gives it links of 1e-20 to all. If something fails, the program returns one
cluster; here an error names the step.

Missing labels. The co-association is the share among the members that saw both; a microcluster is linked
to all base clusters, also to those of members that did not label it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Integer, parameter
from coterie.ensemble import Ensemble
from coterie.evidence.base_clusters import links_to_base_clusters
from coterie.evidence.coassociation import require_dense
from coterie.evidence.trajectories import trajectory_similarity
from coterie.numerics.spectral import tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class PTGP(Method):
    """Probability trajectory based graph partitioning.

    Cuts the graph of microclusters and base clusters, linked by where random walks lead.

    Parameters
    ----------
    n_neighbors : int or None, default None
        K, the number of strongest links kept per microcluster; None takes half the square root of
        N, at least 1 and at most 20.
    n_steps : int or None, default None
        T, the number of steps of a trajectory; None takes the value of n_neighbors.

    Attributes
    ----------
    embedding_ : ndarray, shape (N, p)
        A row of unit length per microcluster, on which k-means runs.

    See Also
    --------
    coterie.PTA : the same similarity with linkage.
    coterie.LWGP : a transfer cut that is linear in N.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import PTGP
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 30)
    >>> labels = np.where(rng.random((60, 9)) < 0.2, 1 - truth[:, None], truth[:, None])
    >>> np.bincount(PTGP(n_clusters=2, random_state=0).fit_predict(labels)).tolist()
    [30, 30]
    """

    about = MethodInfo(
        name="ptgp",
        cost="O(N^2 (m + T K) + N k min(k, N)) time, 40 bytes per pair of microclusters",
        paper="D. Huang, J.-H. Lai, C.-D. Wang. Robust ensemble clustering using probability "
        "trajectories. IEEE Transactions on Knowledge and Data Engineering 28, 2016.",
        scaling="quadratic",
        exact=False,
        random=True,
    )

    n_neighbors: int | None = parameter(None, Integer(1, optional=True))
    n_steps: int | None = parameter(None, Integer(1, optional=True))
    n_init: int = 3
    max_iter: int = 100
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        wide = ensemble.n_base_clusters / ensemble.n_microclusters
        purpose = "The probability trajectory similarity and its links to base clusters"
        require_dense(ensemble, 40 + 24 * wide, purpose, self.memory_budget)
        similarity = trajectory_similarity(
            ensemble,
            n_neighbors=self.n_neighbors,
            n_steps=self.n_steps,
            memory_budget=GRANTED,
        )
        once = np.ones(ensemble.n_microclusters)
        links = links_to_base_clusters(ensemble, similarity, once)
        embedding = tcut_embedding(links, once, self.n_clusters)
        return cut_embedding(self, ensemble, embedding, rng, weights=once)
