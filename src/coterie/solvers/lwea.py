r"""LWEA: locally weighted evidence accumulation.

A base cluster that the other members keep together is worth more than one that they scatter. With
:math:`p_q` the share of base cluster C that falls into cluster q of another member,

.. math::

    H(C) = -\sum_{\text{members}} \sum_q p_q \log_2 p_q, \qquad
    \mathrm{ECI}(C) = \exp(-H(C) / (\theta m)),

and the locally weighted co-association of two samples is the mean over members of the ECI of their
common base cluster, 0 where a member separates them.

Steps
  1. ECI of the k base clusters, from the k x k table of their overlaps
  2. locally weighted co-association of the N microclusters, diagonal 1
  3. average link on one minus that, each microcluster weighted by its number of samples
  4. cut: the last n_clusters - 1 merges are undone

So LWEA is ``SimilarityConsensus(c, evidence="lwca", partition="average")``, and with ECI = 1 (theta
to infinity) it is EAC.

Exactness. Entropies and co-association values are those of the samples, and so is every merge of
different microclusters. Two samples with equal labels have a similarity below 1 to each other, so in rare
cases a program that works on samples puts them into different clusters; here they are never separated.

Where paper and program differ. The program sets the diagonal to 1, the paper does not say; nothing
depends on it. Some programs have theta = 10 as default, from the range of another paper; the authors
take 0.4.

Missing labels. Members that label none of a base cluster's samples are left out of its entropy, which is
scaled up to m members. The mean over members is taken over those that labelled both samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Real, parameter
from coterie.ensemble import Ensemble
from coterie.evidence.reliability import (
    cluster_reliability,
    locally_weighted_coassociation,
    reliable_weights,
)
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_similarity
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class LWEA(Method):
    """Locally weighted evidence accumulation.

    Average link on a co-association in which each base cluster counts with its reliability. The
    default.

    Parameters
    ----------
    theta : float, default 0.4
        The larger theta, the milder the penalty on base clusters that the members scatter. The
        authors advise 0.2 to 1.

    Attributes
    ----------
    cluster_reliability_ : ndarray, shape (k,)
        ECI of each base cluster, in the order of ``ensemble_.incidence``.
    dendrogram_ : Dendrogram
        The merges of the microclusters.

    See Also
    --------
    coterie.LWGP : the same weights, cut through the base clusters, linear in N.
    coterie.SimilarityConsensus : other similarities and other ways to cut.

    Notes
    -----
    ``member_weights_`` is the mean reliability of a member's base clusters, times the weight the
    user gave it.

    Examples
    --------
    >>> from coterie import LWEA
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = LWEA(n_clusters=2).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.cluster_reliability_.round(3).tolist()
    [1.0, 0.465, 0.259, 1.0, 1.0, 0.465]
    """

    about = MethodInfo(
        name="lwea",
        cost="O(N^2 m) time, 16 bytes per pair of microclusters",
        paper="D. Huang, C.-D. Wang, J.-H. Lai. Locally weighted ensemble clustering. IEEE "
        "Transactions on Cybernetics 48, 2018.",
        scaling="quadratic",
        grid={"theta": (0.2, 0.4, 0.6, 0.8, 1.0)},
    )

    theta: float = parameter(0.4, Real(0.0, closed_low=False, closed_high=False))
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        reliability = cluster_reliability(ensemble, self.theta)  # 1
        similarity = locally_weighted_coassociation(
            ensemble, reliability=reliability, memory_budget=self.memory_budget
        )  # 2
        return replace(
            cut_similarity(similarity, ensemble.sizes, self.n_clusters),  # 3, 4
            member_weights=reliable_weights(ensemble, reliability),
            by_base_cluster={"cluster_reliability_": reliability},
        )
