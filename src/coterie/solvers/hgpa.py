r"""HGPA: hypergraph partitioning.

Samples are the vertices of a hypergraph, base clusters its hyperedges. The clusters are the parts of a
balanced partition that cuts few hyperedges:

.. math::

    \min_y \sum_p w_p\, [\text{base cluster } p \text{ lies in more than one part}]
    \quad \text{with clusters of about } n / c \text{ samples.}

Steps
  1. hypergraph of the N microclusters: a microcluster of r samples is a vertex of weight r; base
     clusters that hold only one microcluster cannot be cut and are left out
  2. weights of the hyperedges: one, or the number of samples, times the member's weight
  3. partition it into c parts with Mt-KaHyPar (:mod:`coterie.numerics.partitioners`)

On microclusters this is the problem of the n samples, restricted to partitions that keep identical
samples together. Splitting identical samples never lowers the cut; only the balance may require it. A
microcluster above the weight limit of a cluster gets a cluster of its own.

Cost: O(N m c) time and O(N m) memory: no matrix of pairs. Needs mtkahypar (extra ``graph``).

Where paper and programs differ. In the paper all hyperedges weigh the same. The authors' program
ClusterPack weights them by size (``hyperedge_weight="size"``) and calls hMETIS, in which each side of a
bisection may have 45 to 55 % of the weight. hMETIS is closed source, so Mt-KaHyPar is used here. A later
program uses KaHyPar with the connectivity objective (``objective="connectivity"``).

Missing labels. A sample with missing labels lies in fewer hyperedges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from coterie.core.params import Choice, Real, parameter
from coterie.core.random import child_seeds
from coterie.ensemble import Ensemble
from coterie.numerics.partitioners import Objective, hypergraph_cut, partition_hypergraph
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import one_pass
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class HGPA(Method):
    """Balanced partition of the hypergraph of base clusters. Linear in N.

    Parameters
    ----------
    hyperedge_weight : {"unit", "size"}, default "unit"
        "unit" gives every base cluster the same weight, as in the paper; "size" weights it by its
        number of samples, as in the authors' program.
    objective : {"cut", "connectivity"}, default "cut"
        Whether a base cluster that is cut counts once, as in the paper, or once for each part beyond
        the first.
    imbalance : float, default 0.05
        Share by which a cluster may exceed n / n_clusters samples. Identical samples stay together,
        so a cluster of heavy microclusters may exceed this limit.

    Attributes
    ----------
    cut_ : float
        Value of the objective; for "cut", the total weight of the base clusters that are cut.

    See Also
    --------
    coterie.CESHL : learns the hypergraph instead of cutting the given one.

    Notes
    -----
    With "cut", a base cluster that is cut costs the same however it is cut. So members with about
    n_clusters clusters carry little information, and members with more clusters carry more.

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
        cost="O(N m c) time, O(N m) memory",
        paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
        "multiple partitions. Journal of Machine Learning Research 3, 2002.",
        scaling="linear",
        exact=False,
        random=True,
    )

    hyperedge_weight: Literal["unit", "size"] = parameter("unit", Choice(("unit", "size")))
    objective: Objective = parameter("cut", Choice(("cut", "connectivity")))
    imbalance: float = parameter(0.05, Real(0.0))

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        incidence = ensemble.incidence  # 1
        edge_weights = ensemble.weight_of_cluster  # 2
        if self.hyperedge_weight == "size":
            edge_weights = edge_weights * ensemble.cluster_sizes
        labels = partition_hypergraph(  # 3
            incidence,
            ensemble.weights,
            edge_weights,
            self.n_clusters,
            seed=int(child_seeds(rng, 1)[0]),
            objective=self.objective,
            imbalance=self.imbalance,
        )
        cut = hypergraph_cut(incidence, edge_weights, labels, self.objective)
        return Partition(labels, history=one_pass(cut), other={"cut_": cut})
