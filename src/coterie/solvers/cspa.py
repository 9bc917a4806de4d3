r"""CSPA: cluster-based similarity partitioning.

Samples are the vertices of a graph. The weight of an edge is the co-association :math:`A_{ij}` of its two
samples: the share of members that put them together. The clusters are the parts of a balanced partition
with a small cut:

.. math::

    \min_y \sum_{i < j,\; y_i \neq y_j} A_{ij} \quad \text{with clusters of about } n / c \text{ samples.}

Steps
  1. co-association of the N microclusters
  2. contract the graph: a microcluster of r samples is a vertex of weight r, the edge between u and v
     weighs :math:`r_u r_v A_{uv}`
  3. partition it into c parts with METIS (:mod:`coterie.numerics.partitioners`)

On microclusters this is the problem of the n samples, restricted to partitions that keep identical
samples together. Splitting identical samples never lowers the cut, but the balance may require it, so the
two problems differ. A microcluster above the weight limit of a cluster gets a cluster of its own.

Cost: O(N^2 m) time and 48 bytes per pair of microclusters. Needs pymetis (extra ``graph``).

Where paper and programs differ. The authors' program ClusterPack calls METIS 4 (recursive bisection, weights
scaled to a sum of 1e8, no vertex weights, because it works on samples). Here METIS 5 is called through
pymetis, on microclusters. What some packages call CSPA, linkage on one minus the co-association, is EAC.

Missing labels. The share is taken among the members that saw both samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Real, parameter
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation, require_dense
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_graph
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class CSPA(Method):
    """Balanced partition of the co-association graph.

    Parameters
    ----------
    imbalance : float, default 0.05
        Share by which a cluster may exceed n / n_clusters samples. Identical samples stay together,
        so a cluster of heavy microclusters may exceed this limit.

    Attributes
    ----------
    cut_ : float
        Co-association between samples of different clusters, summed over pairs.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the same co-association, without balance.

    Notes
    -----
    Clusters have about equal size by construction: a poor choice if the true sizes differ much.

    Examples
    --------
    >>> from coterie import CSPA
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = CSPA(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), round(model.cut_, 6)
    ([0, 0, 0, 1, 1, 1], 1.0)
    """

    about = MethodInfo(
        name="cspa",
        cost="O(N^2 m) time, 48 bytes per pair of microclusters",
        paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
        "multiple partitions. Journal of Machine Learning Research 3, 2002.",
        scaling="quadratic",
        exact=False,
        random=True,
    )

    imbalance: float = parameter(0.05, Real(0.0))
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        require_dense(ensemble, 48, "The co-association graph", self.memory_budget)
        weights = ensemble.sizes
        graph = coassociation(ensemble, memory_budget=self.memory_budget)  # 1
        graph *= weights  # 2
        graph *= weights[:, None]
        cut = cut_graph(
            ensemble, graph, weights, self.n_clusters, rng, imbalance=self.imbalance
        )  # 3
        return replace(cut, other={"cut_": cut.history[0]["objective"]})
