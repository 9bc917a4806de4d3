r"""HGPA: hypergraph partitioning.

Strehl and Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple partitions",
Journal of Machine Learning Research 3 (2002).

Samples are the vertices of a hypergraph, base clusters its hyperedges. The clusters are the parts of a
balanced partition that cuts few of them:

.. math::

    \min_y \sum_p w_p\, [\text{base cluster } p \text{ lies in more than one part}]
    \quad \text{with clusters of about } n / c \text{ samples.}

Steps
  1. hypergraph of the N microclusters: a microcluster of r samples is a vertex of weight r; base
     clusters of one microcluster cannot be cut and are left out
  2. weights of the hyperedges: one, or the number of samples, times the member's weight
  3. partition it into c parts with Mt-KaHyPar (:mod:`coterie.numerics.partitioners`)

On microclusters this is the problem of the n samples, restricted to partitions that keep identical
samples together. Splitting identical samples never lowers the cut; only the balance may require it. A
microcluster that is heavier than the limit of a cluster gets a cluster of its own.

Cost: O(N m c) time and O(N m) memory: no matrix of pairs. Needs mtkahypar (extra ``graph``).

Where paper and programs differ. In the paper all hyperedges weigh the same; ClusterPack weighs them by
size (``hyperedge_weight="size"``) and calls hMETIS, which lets each bisection lie between 45 and
55 %. hMETIS is closed, so Mt-KaHyPar is used here. A later port takes KaHyPar with the connectivity
objective (``objective="connectivity"``).

Missing labels. A sample lies in fewer hyperedges.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from coterie.core.params import Choice, Real, parameter
from coterie.core.random import child_seeds
from coterie.ensemble import Ensemble
from coterie.numerics.partitioners import Objective, hypergraph_cut, partition_hypergraph
from coterie.solvers.base import LabelConsensus, MethodInfo
from coterie.solvers.cutting import one_pass
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False)
class HGPA(LabelConsensus):
    """Balanced partition of the hypergraph of base clusters.

    Parameters
    ----------
    hyperedge_weight : {"unit", "size"}, default "unit"
        "unit" counts every base cluster the same, as in the paper; "size" counts it by its samples,
        as in the authors' program.
    objective : {"cut", "connectivity"}, default "cut"
        Whether a base cluster that is cut counts once, as in the paper, or once for each part beyond
        the first.
    imbalance : float, default 0.05
        How far a cluster may exceed n / n_clusters samples. Identical samples stay together, so a
        cluster of heavy microclusters may exceed it by more.

    Attributes
    ----------
    cut_ : float
        The objective: total weight of the base clusters that are cut.

    See Also
    --------
    coterie.CESHL : learns the hypergraph instead of cutting the given one.

    Notes
    -----
    A base cluster that is cut costs the same however it is cut. So members with about n_clusters clusters
    carry little information, and members with more clusters carry more.

    Examples
    --------
    >>> from coterie import HGPA
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = HGPA(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), model.cut_
    ([0, 0, 0, 1, 1, 1], 1.0)
    """

    about = MethodInfo(
        name="hgpa",
        summary="Balanced partition of the samples that cuts few base clusters. Linear in N.",
        cost="O(N m c) time, O(N m) memory",
        paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
        "multiple partitions. Journal of Machine Learning Research 3, 2002.",
        scaling="linear",
        exact=False,
        random=True,
    )

    n_clusters: int
    _: KW_ONLY
    hyperedge_weight: Literal["unit", "size"] = parameter("unit", Choice(("unit", "size")))
    objective: Objective = parameter("cut", Choice(("cut", "connectivity")))
    imbalance: float = parameter(0.05, Real(0.0))
    random_state: Any = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        incidence = ensemble.incidence  # 1
        price = ensemble.weight_of_cluster  # 2
        if self.hyperedge_weight == "size":
            price = price * ensemble.cluster_sizes
        labels = partition_hypergraph(  # 3
            incidence,
            ensemble.weights,
            price,
            self.n_clusters,
            seed=int(child_seeds(rng, 1)[0]),
            objective=self.objective,
            imbalance=self.imbalance,
        )
        cut = hypergraph_cut(incidence, price, labels, self.objective)
        return Partition(labels, history=one_pass(cut), other={"cut_": cut})
