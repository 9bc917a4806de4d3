r"""LWEA and LWGP: base clusters count by how reliable they are.

A base cluster that the other members keep together is worth more than one that they scatter. With
:math:`p_q` the share of base cluster C that falls into cluster q of another member,

.. math::

    H(C) = -\sum_{\text{members}} \sum_q p_q \log_2 p_q, \qquad
    \mathrm{ECI}(C) = \exp(-H(C) / (\theta m)).

LWEA groups the samples by their locally weighted co-association: the mean over members of the ECI of their
common base cluster, 0 where a member separates them. LWGP cuts the graph of samples and base clusters, in
which a sample is linked to each base cluster it lies in with the strength of its ECI. Only base clusters
need an eigenproblem: their vectors are carried over to the samples (transfer cut).

Steps of LWEA
  1. ECI of the k base clusters, from the k x k table of their overlaps
  2. locally weighted co-association of the N microclusters, diagonal 1
  3. average link on one minus that, each microcluster weighted by its number of samples
  4. cut: the last n_clusters - 1 merges are undone
Steps of LWGP, with W the N x k links, r the number of samples per microcluster, :math:`R = \mathrm{diag}(r)`,
:math:`D = \mathrm{diag}(W 1)` and :math:`\Delta = \mathrm{diag}(W' r)`
  1. ECI of the base clusters; W = incidence times ECI
  2. c leading eigenvectors V of :math:`\Delta^{-1/2} W' R D^{-1} W \Delta^{-1/2}`
  3. rows of :math:`D^{-1} W \Delta^{-1/2} V`, scaled to unit length
  4. k-means on them, each microcluster weighted by its number of samples; the best of n_init starts

So LWEA is ``SimilarityConsensus(c, evidence="lwca", partition="average")``, and with ECI = 1 (theta
to infinity) it is EAC.

Exactness. Entropies, co-association values and links are those of the samples. So is every merge of
different microclusters in LWEA, and in LWGP the embedding and the objective of k-means. In LWEA, two samples
with equal labels have a similarity below 1 to each other, so in rare cases a program that works on samples
puts them into different clusters; here they are never separated.

Where paper and program differ. In LWEA, the program sets the diagonal to 1, the paper does not say; nothing
depends on it. Some programs have theta = 10 as default, from the range of another paper; the authors
take 0.4. In LWGP, the paper divides each eigenvector by the root of its eigenvalue and does not
mention unit rows. The program does not divide but takes unit rows, as here. The program fails with fewer than
c base clusters; here all vectors of non-zero eigenvalue are then taken. k-means has local optima and the
program's three random starts often end in different ones, so two runs of the program need not agree; more
starts (``n_init``) make that rarer.

Missing labels. Members that label none of a base cluster's samples are left out of its entropy, which is
scaled up to m members. In LWEA, the mean over members is taken over those that labelled both samples. In
LWGP, a sample is linked to the base clusters it is known to lie in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Real, parameter
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble
from coterie.evidence.reliability import (
    cluster_reliability,
    locally_weighted_coassociation,
    reliable_weights,
)
from coterie.numerics.spectral import tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding, cut_similarity
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class _LocallyWeighted(Method):
    """The part that LWEA and LWGP share.

    Parameters
    ----------
    theta : float, default 0.4
        The larger theta, the milder the penalty on base clusters that the members scatter. The
        authors advise 0.2 to 1.

    Attributes
    ----------
    cluster_reliability_ : ndarray, shape (k,)
        ECI of each base cluster, in the order of ``ensemble_.incidence``.

    Notes
    -----
    ``member_weights_`` is the mean reliability of a member's base clusters, times the weight the
    user gave it.
    """

    about = MethodInfo(
        paper="D. Huang, C.-D. Wang, J.-H. Lai. Locally weighted ensemble clustering. IEEE "
        "Transactions on Cybernetics 48, 2018.",
        grid={"theta": (0.2, 0.4, 0.6, 0.8, 1.0)},
    )

    theta: float = parameter(0.4, Real(0.0, closed_low=False, closed_high=False))


@dataclass(eq=False, repr=False, kw_only=True)
class LWEA(_LocallyWeighted):
    """Locally weighted evidence accumulation.

    Average link on a co-association in which each base cluster counts with its reliability. The
    default.

    Attributes
    ----------
    dendrogram_ : Dendrogram
        The merges of the microclusters.

    See Also
    --------
    coterie.LWGP : the same weights, cut through the base clusters, linear in N.
    coterie.SimilarityConsensus : other similarities and other ways to cut.

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

    about = replace(
        _LocallyWeighted.about,
        name="lwea",
        cost="O(N^2 m) time, 16 bytes per pair of microclusters",
        scaling="quadratic",
    )

    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        reliability = cluster_reliability(ensemble, self.theta)  # 1
        similarity = locally_weighted_coassociation(
            ensemble, reliability=reliability, memory_budget=self.memory_budget
        )  # 2
        cut = cut_similarity(similarity, ensemble.sizes, self.n_clusters)  # 3, 4
        return _with_reliability(cut, ensemble, reliability)


@dataclass(eq=False, repr=False, kw_only=True)
class LWGP(_LocallyWeighted):
    """Locally weighted graph partitioning.

    Cuts the graph of samples and base clusters, its links weighted by reliability. Linear in N.

    Attributes
    ----------
    embedding_ : ndarray, shape (N, p)
        A row of unit length per microcluster, on which k-means runs;
        ``ensemble_.expand(embedding_)`` has a row per sample.

    See Also
    --------
    coterie.LWEA : the same weights with average link.
    coterie.USENC : the same cut without weights.

    Examples
    --------
    >>> from coterie import LWGP
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> LWGP(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = replace(
        _LocallyWeighted.about,
        name="lwgp",
        cost="O(N m^2 + min(k, N)^3), O(N c^2) per round of k-means; O(N m + min(k, N)^2) memory",
        scaling="linear",
        random=True,
    )

    n_init: int = 3
    max_iter: int = 100

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        reliability = cluster_reliability(ensemble, self.theta)
        links = ensemble.incidence.multiply(reliability * ensemble.weight_of_cluster)  # 1
        embedding = tcut_embedding(links, ensemble.weights, self.n_clusters)  # 2, 3
        cut = cut_embedding(self, ensemble, embedding, rng)  # 4
        return _with_reliability(cut, ensemble, reliability)


def _with_reliability(cut: Partition, ensemble: Ensemble, reliability: FloatArray) -> Partition:
    return replace(
        cut,
        member_weights=reliable_weights(ensemble, reliability),
        by_base_cluster={"cluster_reliability_": reliability},
    )
