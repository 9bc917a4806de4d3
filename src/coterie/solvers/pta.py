r"""PTA: probability trajectory accumulation.

Weak links of the co-association are mostly noise, and two samples that few members put together can still
be similar through other samples. So the co-association graph of the microclusters is pruned to the
strongest links, and the similarity of two microclusters is that of the trajectories of random walks that
start from them (probability trajectory similarity, PTS).

Steps
  1. co-association of the N microclusters; a link is kept where it is among the K strongest of either
     of its ends, ties included
  2. :math:`P_{uv} = r_v w_{uv} / \sum_{t \ne u} r_t w_{ut}`, r being the number of samples
  3. PTS: the cosine of the rows :math:`(P_u, P^2_u, \dots, P^T_u)`
  4. average, complete or single link on 1 - PTS, each microcluster counting once
  5. cut: the last n_clusters - 1 merges are undone

So PTA is ``SimilarityConsensus(c, evidence="pts", partition=linkage, weighted=False)``.

Exactness. The method is defined on microclusters (eq. 14 of the paper counts them): their numbers of samples
matter only in the walk. A sample of weight two is the same as the sample given twice, but a program that
does not merge equal rows first computes something else.

Where paper and program differ. The paper takes K = T = floor(sqrt(N) / 2), the authors' program never
more than 20, as here; another program has no such limit. The paper's formula of complete link has a sum
instead of the smallest similarity. Walks have no resting step: on a bipartite pruned graph (such as a
chain of three microclusters) direct neighbours get similarity 0 and second neighbours 1. The method is
defined that way, and only very small ensembles are affected.

Missing labels. The co-association is the share among the members that saw both. A microcluster without
links is similar to itself only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Choice, Integer, parameter
from coterie.core.types import Linkage
from coterie.ensemble import Ensemble
from coterie.evidence.trajectories import trajectory_similarity
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_similarity
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class PTA(Method):
    """Probability trajectory accumulation.

    Hierarchical clustering of microclusters by where random walks from them lead.

    Parameters
    ----------
    linkage : {"average", "complete", "single"}, default "average"
        How the dissimilarity of two groups follows from that of their microclusters: PTA-AL,
        PTA-CL and PTA-SL.
    n_neighbors : int or None, default None
        K, the number of strongest links kept per microcluster; None takes half the square root of
        N, at least 1 and at most 20.
    n_steps : int or None, default None
        T, the number of steps of a trajectory; None takes the value of n_neighbors.

    Attributes
    ----------
    dendrogram_ : Dendrogram
        The merges of the microclusters, each of size one.

    See Also
    --------
    coterie.PTGP : the same similarity, cut through the base clusters.
    coterie.SimilarityConsensus : other similarities and other ways to cut.

    Notes
    -----
    The similarity itself is :func:`coterie.evidence.trajectory_similarity`.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import PTA
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 30)
    >>> labels = np.where(rng.random((60, 9)) < 0.2, 1 - truth[:, None], truth[:, None])
    >>> np.bincount(PTA(n_clusters=2).fit_predict(labels)).tolist()
    [30, 30]
    """

    about = MethodInfo(
        name="pta",
        cost="O(N^2 (m + T K)) time, 40 bytes per pair of microclusters",
        paper="D. Huang, J.-H. Lai, C.-D. Wang. Robust ensemble clustering using probability "
        "trajectories. IEEE Transactions on Knowledge and Data Engineering 28, 2016.",
        scaling="quadratic",
        exact=False,
        grid={"linkage": ("average", "complete", "single")},
    )

    linkage: Linkage = parameter("average", Choice(("average", "complete", "single")))
    n_neighbors: int | None = parameter(None, Integer(1, optional=True))
    n_steps: int | None = parameter(None, Integer(1, optional=True))
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        similarity = trajectory_similarity(
            ensemble,
            n_neighbors=self.n_neighbors,
            n_steps=self.n_steps,
            memory_budget=self.memory_budget,
        )
        once = np.ones(ensemble.n_microclusters)
        return cut_similarity(similarity, once, self.n_clusters, self.linkage)
