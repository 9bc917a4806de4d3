r"""PTA and PTGP: clusters of microclusters by where random walks from them lead.

Weak links of the co-association are mostly noise, and two samples that few members put together can still
be similar through other samples. So the co-association graph of the microclusters is pruned to the
strongest links, and the similarity of two microclusters is that of the trajectories of random walks that
start from them (probability trajectory similarity, PTS).

Steps of both, in :mod:`coterie.evidence.trajectories`
  1. co-association of the N microclusters; a link is kept where it is among the K strongest of either
     of its ends, ties included
  2. :math:`P_{uv} = r_v w_{uv} / \sum_{t \ne u} r_t w_{ut}`, r being the number of samples
  3. PTS: the cosine of the rows :math:`(P_u, P^2_u, \dots, P^T_u)`
Steps of PTA
  4. average, complete or single link on 1 - PTS, each microcluster counting once
  5. cut: the last n_clusters - 1 merges are undone
Steps of PTGP, a normalised cut of the graph of microclusters and base clusters. Only base clusters need an
eigenproblem: their vectors are carried over to the microclusters (transfer cut). With B the N x k incidence,
:math:`D = \mathrm{diag}(W 1)` and :math:`\Delta = \mathrm{diag}(W' 1)`
  4. the link of a microcluster and a base cluster is the mean PTS with the microclusters in it,
     :math:`W = \mathrm{PTS} \cdot B \,\mathrm{diag}(B' 1)^{-1}`
  5. c leading eigenvectors V of :math:`\Delta^{-1/2} W' D^{-1} W \Delta^{-1/2}`
  6. rows of :math:`D^{-1} W \Delta^{-1/2} V`, scaled to unit length
  7. k-means on them, each microcluster counting once; the best of n_init starts

So PTA is ``SimilarityConsensus(c, evidence="pts", partition=linkage, weighted=False)``, and PTGP is the same
with ``partition="tcut"``.

Exactness. The methods are defined on microclusters (eq. 14 of the paper counts them): their numbers of
samples matter only in the walk. A sample of weight two is the same as the sample given twice, but a program
that does not merge equal rows first computes something else.

Where paper and program differ
  - The paper takes K = T = floor(sqrt(N) / 2), the authors' program never more than 20, as here; another
    program has no such limit.
  - The paper's formula of complete link has a sum instead of the smallest similarity.
  - Walks have no resting step: on a bipartite pruned graph (such as a chain of three microclusters) direct
    neighbours get similarity 0 and second neighbours 1. The methods are defined that way, and only very
    small ensembles are affected.
  - In PTGP, the paper divides each eigenvector by the root of its eigenvalue and does not mention unit
    rows. The program does not divide but takes unit rows, as here.
  - Here a microcluster without links is similar to itself, so it stays linked to its base clusters; the
    program gives it links of 1e-20 to all. If something fails, the program returns one cluster; here an
    error names the step.

Missing labels. The co-association is the share among the members that saw both. A microcluster without
links is similar to itself only. In PTGP a microcluster is linked to all base clusters, also to those of
members that did not label it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Choice, Integer, parameter
from coterie.core.types import FloatArray, Linkage
from coterie.ensemble import Ensemble
from coterie.evidence.base_clusters import links_to_base_clusters
from coterie.evidence.coassociation import require_dense
from coterie.evidence.trajectories import trajectory_similarity
from coterie.numerics.spectral import tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding, cut_similarity
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class _Trajectories(Method):
    """The part that PTA and PTGP share.

    Parameters
    ----------
    n_neighbors : int or None, default None
        K, the number of strongest links kept per microcluster; None takes half the square root of
        N, at least 1 and at most 20.
    n_steps : int or None, default None
        T, the number of steps of a trajectory; None takes the value of n_neighbors.
    """

    about = MethodInfo(
        cost="O(N^2 (m + T K)) time, 40 bytes per pair of microclusters",
        paper="D. Huang, J.-H. Lai, C.-D. Wang. Robust ensemble clustering using probability "
        "trajectories. IEEE Transactions on Knowledge and Data Engineering 28, 2016.",
        scaling="quadratic",
        exact=False,
    )

    n_neighbors: int | None = parameter(None, Integer(1, optional=True))
    n_steps: int | None = parameter(None, Integer(1, optional=True))
    memory_budget: Budget = None

    def _similarity(self, ensemble: Ensemble, budget: Budget) -> FloatArray:
        """Steps 1 to 3."""
        return trajectory_similarity(
            ensemble, n_neighbors=self.n_neighbors, n_steps=self.n_steps, memory_budget=budget
        )


@dataclass(eq=False, repr=False, kw_only=True)
class PTA(_Trajectories):
    """Probability trajectory accumulation.

    Hierarchical clustering of microclusters by where random walks from them lead.

    Parameters
    ----------
    linkage : {"average", "complete", "single"}, default "average"
        How the dissimilarity of two groups follows from that of their microclusters: PTA-AL,
        PTA-CL and PTA-SL.

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

    about = replace(
        _Trajectories.about, name="pta", grid={"linkage": ("average", "complete", "single")}
    )

    linkage: Linkage = parameter("average", Choice(("average", "complete", "single")))

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        similarity = self._similarity(ensemble, self.memory_budget)  # 1 to 3
        once = np.ones(ensemble.n_microclusters)
        return cut_similarity(similarity, once, self.n_clusters, self.linkage)  # 4, 5


@dataclass(eq=False, repr=False, kw_only=True)
class PTGP(_Trajectories):
    """Probability trajectory based graph partitioning.

    Cuts the graph of microclusters and base clusters, linked by where random walks lead.

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

    about = replace(
        _Trajectories.about,
        name="ptgp",
        cost="O(N^2 (m + T K) + N k min(k, N)) time, 40 bytes per pair of microclusters",
        random=True,
    )

    n_init: int = 3
    max_iter: int = 100

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        wide = ensemble.n_base_clusters / ensemble.n_microclusters
        purpose = "The probability trajectory similarity and its links to base clusters"
        require_dense(ensemble, 40 + 24 * wide, purpose, self.memory_budget)
        once = np.ones(ensemble.n_microclusters)
        links = links_to_base_clusters(ensemble, self._similarity(ensemble, GRANTED), once)  # 4
        embedding = tcut_embedding(links, once, self.n_clusters)  # 5, 6
        return cut_embedding(self, ensemble, embedding, rng, weights=once)  # 7
