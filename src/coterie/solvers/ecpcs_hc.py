r"""ECPCS-HC: propagated similarities of base clusters, carried over to samples, with average link.

In the co-association, a member that separates two samples counts 0, however close their two base clusters
are. Here base clusters are compared by a random walk among the base clusters of all members, and a pair
that a member separates gets the similarity of its two base clusters.

Steps
  1. Jaccard index of the k base clusters, diagonal 0; divided by its row sums it is the walk P
  2. Z: the cosine of the rows :math:`(P_p, P^2_p, \dots, P^t_p)`, diagonal 1
  3. :math:`\mathrm{ECA}_{ij} = \frac1m \sum_{\text{members}} Z_{pq}`, p and q being the base clusters of i
     and j in the member
  4. average link on 1 - ECA, each microcluster weighted by its number of samples
  5. cut: the last n_clusters - 1 merges are undone

So ECPCS-HC is ``SimilarityConsensus(c, evidence="ecpcs", partition="average")``.

Exactness. Samples with equal labels have similarity 1, so the dendrogram of the n samples is that of the
microclusters with their weights.

Paper and program do not differ in anything that matters. With t = 20 all similarities are close to 1; only
their order counts.

Missing labels. Base clusters hold the samples that were seen; ECA is the mean over the members that saw
both, 0 where none did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Integer, parameter
from coterie.ensemble import Ensemble
from coterie.evidence.propagation import propagated_similarity
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_similarity
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class ECPCSHC(Method):
    """Propagated cluster-wise similarities with hierarchical clustering of the samples.

    Parameters
    ----------
    n_steps : int, default 20
        Number of steps of the random walk among base clusters.

    Attributes
    ----------
    dendrogram_ : Dendrogram
        The merges of the microclusters.

    See Also
    --------
    coterie.ECPCSMC : groups the base clusters instead, linear in N.
    coterie.SimilarityConsensus : other similarities and other ways to cut.

    Notes
    -----
    The similarity itself is :func:`coterie.evidence.propagated_similarity`. A ``member_weight``
    counts in its mean over members, not in the walk.

    Examples
    --------
    >>> from coterie import ECPCSHC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> ECPCSHC(n_clusters=2).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="ecpcs-hc",
        cost="O(t k^3 + N^2 m) time, 24 bytes per pair of microclusters, 40 per pair of base clusters",
        paper="D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh. Enhanced ensemble clustering "
        "via fast propagation of cluster-wise similarities. IEEE Transactions on Systems, "
        "Man, and Cybernetics: Systems 51, 2021.",
        scaling="quadratic",
    )

    n_steps: int = parameter(20, Integer(1))
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        similarity = propagated_similarity(ensemble, self.n_steps, memory_budget=self.memory_budget)
        return cut_similarity(similarity, ensemble.sizes, self.n_clusters)
