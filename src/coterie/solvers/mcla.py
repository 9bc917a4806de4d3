r"""MCLA: meta-clustering.

Base clusters of different members that hold much the same samples describe one cluster. They are
grouped into c meta-clusters, and every sample goes where most of its base clusters are.

Steps
  1. Jaccard likeness of the k base clusters, :math:`J_{pq} = |C_p \cap C_q| / |C_p \cup C_q|`, zero
     within a member
  2. meta-clusters: balanced partition of that graph into c parts, a base cluster weighing
     :math:`|C_p|`, with METIS (:mod:`coterie.numerics.partitioners`)
  3. association of a sample with a meta-cluster: the share of the meta-cluster's base clusters that
     hold the sample; the label is the meta-cluster of greatest association

Exactness. Sizes and overlaps are sums over samples and step 3 is by row, so microclusters with their
weights give exactly the same result as the n samples.

Cost: O(N m^2 + k^2) time, O(N (m + c) + k^2) memory: linear in N. Needs pymetis (extra ``graph``).

Where paper and programs differ. A meta-cluster may be the first choice of no sample; the paper then
returns fewer clusters. Here these clusters are kept as ``component_labels_``, and the widest are
split until there are n_clusters. The authors' program ClusterPack breaks ties of the association by small
random numbers; here they go to the meta-cluster of greater total association. A later program leaves out the
weights of the base clusters and sums instead of averaging, which favours meta-clusters of many base clusters.

Missing labels. A base cluster holds only samples that its member labelled; a sample is assigned by the
members that labelled it. A ``member_weight`` of w counts a member's base clusters w times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.params import Real, parameter
from coterie.core.random import child_seeds
from coterie.ensemble import Ensemble
from coterie.evidence.contingency import contingency
from coterie.numerics.partitioners import graph_cut, partition_graph
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import one_pass
from coterie.solvers.partition import Partition

# associations that differ by less are equal: shares of up to a few thousand members differ by more
TIE = 1e-9
ADVICE = (
    "A meta-cluster was the first choice of no sample: give members whose clusters differ less in "
    "number and size, or raise imbalance."
)


@dataclass(eq=False, repr=False, kw_only=True)
class MCLA(Method):
    """Groups similar base clusters, and puts each sample into the group that holds it most often.

    Linear in N.

    Parameters
    ----------
    imbalance : float, default 0.05
        Fraction by which the total size of a meta-cluster's base clusters may exceed its fair share.

    Attributes
    ----------
    cut_ : float
        Likeness between base clusters of different meta-clusters, summed over pairs.
    meta_clusters_ : ndarray, shape (k,)
        Meta-cluster of each base cluster, in the order of ``ensemble_.incidence``.
    association_ : ndarray, shape (n, c)
        Association of each sample with each meta-cluster, in [0, 1]. Fewer columns where there are
        fewer base clusters than clusters.

    See Also
    --------
    coterie.EAC : groups samples instead of base clusters.

    Notes
    -----
    The cheapest of the three methods of the paper, because it does not compare pairs of samples. It
    expects members whose clusters can be matched, so members should have similar numbers of clusters.

    Examples
    --------
    >>> from coterie import MCLA
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = MCLA(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), model.association_[2].round(3).tolist()
    ([0, 0, 0, 1, 1, 1], [0.333, 0.667])
    """

    about = MethodInfo(
        name="mcla",
        cost="O(N m^2 + k^2) time, O(N (m + c) + k^2) memory",
        paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
        "multiple partitions. Journal of Machine Learning Research 3, 2002.",
        scaling="linear",
        random=True,
    )

    imbalance: float = parameter(0.05, Real(0.0))

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        votes = ensemble.weight_of_cluster
        graph = likeness_graph(ensemble, votes)  # 1
        parts = partition_graph(  # 2
            graph,
            votes * ensemble.cluster_sizes,
            min(self.n_clusters, ensemble.n_base_clusters),
            seed=int(child_seeds(rng, 1)[0]),
            imbalance=self.imbalance,
        )
        meta = by_first_appearance(parts)
        association = associate(ensemble, votes, meta)  # 3
        chosen = first_choice(association, ensemble.weights)
        cut = graph_cut(graph, meta)
        return Partition(
            chosen,
            converged=len(np.unique(chosen)) == self.n_clusters,
            history=one_pass(cut),
            advice=ADVICE,
            embedding=association,
            by_sample={"association_": association},
            by_base_cluster={"meta_clusters_": meta},
            other={"cut_": cut},
        )


def likeness_graph(ensemble: Ensemble, votes: NDArray[np.float64]) -> sparse.csr_array:
    """Step 1: Jaccard likeness of base clusters of different members, times both their votes."""
    shared = sparse.coo_array(contingency(ensemble))
    member = ensemble.member_of_cluster
    apart = member[shared.row] != member[shared.col]
    row, col, both = shared.row[apart], shared.col[apart], shared.data[apart]
    sizes = ensemble.cluster_sizes
    likeness = votes[row] * votes[col] * both / (sizes[row] + sizes[col] - both)
    return sparse.csr_array((likeness, (row, col)), shape=shared.shape)


def associate(
    ensemble: Ensemble, votes: NDArray[np.float64], meta: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Step 3: mean of the base clusters' indicators over each meta-cluster, N x c."""
    share = votes / np.bincount(meta, weights=votes)[meta]
    groups = sparse.csr_array((share, (np.arange(len(meta)), meta)))
    return np.asarray((ensemble.incidence @ groups).toarray())


def first_choice(association: NDArray[np.float64], weights: NDArray[Any]) -> NDArray[np.int64]:
    """The meta-cluster of greatest association, ties to the one of greater total association."""
    order = np.argsort(-(weights @ association), kind="stable")
    ranked = association[:, order]
    tied = ranked >= ranked.max(axis=1, keepdims=True) - TIE
    return np.asarray(order[np.argmax(tied, axis=1)])
