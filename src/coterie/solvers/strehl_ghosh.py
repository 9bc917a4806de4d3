r"""CSPA, HGPA and MCLA: consensus by balanced partitions of graphs.

CSPA. Samples are the vertices of a graph. The weight of an edge is the co-association :math:`A_{ij}` of its
two samples: the share of members that put them together. The clusters are the parts of a balanced partition
with a small cut:

.. math::

    \min_y \sum_{i < j,\; y_i \neq y_j} A_{ij} \quad \text{with clusters of about } n / c \text{ samples.}

Steps of CSPA
  1. co-association of the N microclusters
  2. contract the graph: a microcluster of r samples is a vertex of weight r, the edge between u and v
     weighs :math:`r_u r_v A_{uv}`
  3. partition it into c parts with METIS (:mod:`coterie.numerics.partitioners`)

HGPA. Samples are the vertices of a hypergraph, base clusters its hyperedges. The clusters are the parts of a
balanced partition that cuts few hyperedges:

.. math::

    \min_y \sum_p w_p\, [\text{base cluster } p \text{ lies in more than one part}]
    \quad \text{with clusters of about } n / c \text{ samples.}

Steps of HGPA
  1. hypergraph of the N microclusters: a microcluster of r samples is a vertex of weight r; base
     clusters that hold only one microcluster cannot be cut and are left out
  2. weights of the hyperedges: one, or the number of samples, times the member's weight
  3. partition it into c parts with Mt-KaHyPar (:mod:`coterie.numerics.hypergraphs`)

MCLA. Base clusters of different members that hold much the same samples describe one cluster. They are
grouped into c meta-clusters, and every sample goes where most of its base clusters are.

Steps of MCLA
  1. Jaccard likeness of the k base clusters, :math:`J_{pq} = |C_p \cap C_q| / |C_p \cup C_q|`, zero
     within a member
  2. meta-clusters: balanced partition of that graph into c parts, a base cluster weighing
     :math:`|C_p|`, with METIS
  3. association of a sample with a meta-cluster: the share of the meta-cluster's base clusters that
     hold the sample; the label is the meta-cluster of greatest association

On microclusters CSPA and HGPA solve the problem of the n samples, restricted to partitions that keep
identical samples together. Splitting identical samples never lowers the cut, but the balance may require it,
so the two problems differ. A microcluster above the weight limit of a cluster gets a cluster of its own. In
MCLA, sizes and overlaps are sums over samples and step 3 is by row, so microclusters with their weights give
exactly the same result as the n samples.

METIS needs pymetis and Mt-KaHyPar needs mtkahypar (extra ``graph``).

Where paper and programs differ
  - CSPA. The authors' program ClusterPack calls METIS 4 (recursive bisection, weights scaled to a sum of
    1e8, no vertex weights, because it works on samples). Here METIS 5 is called through pymetis, on
    microclusters. What some packages call CSPA, linkage on one minus the co-association, is EAC.
  - HGPA. In the paper all hyperedges weigh the same. ClusterPack weights them by size
    (``hyperedge_weight="size"``) and calls hMETIS, in which each side of a bisection may have 45 to 55 % of
    the weight. hMETIS is closed source, so Mt-KaHyPar is used here. A later program uses KaHyPar with the
    connectivity objective (``objective="connectivity"``).
  - MCLA. A meta-cluster may be the first choice of no sample; the paper then returns fewer clusters. Here
    these clusters are kept as ``component_labels_``, and the widest are split until there are n_clusters.
    ClusterPack breaks ties of the association by small random numbers; here they go to the meta-cluster of
    greater total association. A later program leaves out the weights of the base clusters and sums instead
    of averaging, which favours meta-clusters of many base clusters.

Missing labels. In CSPA, the share is taken among the members that saw both samples. In HGPA, a sample with
missing labels lies in fewer hyperedges. In MCLA, a base cluster holds only samples that its member labelled,
and a sample is assigned by the members that labelled it; a ``member_weight`` of w counts a member's base
clusters w times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import Budget
from coterie.core.params import Choice, Real, parameter
from coterie.core.random import child_seeds
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation, require_dense
from coterie.evidence.contingency import contingency
from coterie.numerics.hypergraphs import Objective, hypergraph_cut, partition_hypergraph
from coterie.numerics.partitioners import graph_cut, partition_graph
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_graph, one_pass
from coterie.solvers.partition import Partition

# associations that differ by less are equal: shares of up to a few thousand members differ by more
TIE = 1e-9
ADVICE = (
    "A meta-cluster was the first choice of no sample: give members whose clusters differ less in "
    "number and size, or raise imbalance."
)


@dataclass(eq=False, repr=False, kw_only=True)
class _StrehlGhosh(Method):
    """The part that CSPA, HGPA and MCLA share.

    Parameters
    ----------
    imbalance : float, default 0.05
        Share by which a cluster may exceed n / n_clusters samples. Identical samples stay together,
        so a cluster of heavy microclusters may exceed this limit.
    """

    about = MethodInfo(
        paper="A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining "
        "multiple partitions. Journal of Machine Learning Research 3, 2002.",
        random=True,
    )

    imbalance: float = parameter(0.05, Real(0.0))


@dataclass(eq=False, repr=False, kw_only=True)
class CSPA(_StrehlGhosh):
    """Balanced partition of the co-association graph.

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

    about = replace(
        _StrehlGhosh.about,
        name="cspa",
        cost="O(N^2 m) time, 48 bytes per pair of microclusters",
        scaling="quadratic",
        exact=False,
    )

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


@dataclass(eq=False, repr=False, kw_only=True)
class HGPA(_StrehlGhosh):
    """Balanced partition of the hypergraph of base clusters. Linear in N.

    Parameters
    ----------
    hyperedge_weight : {"unit", "size"}, default "unit"
        "unit" gives every base cluster the same weight, as in the paper; "size" weights it by its
        number of samples, as in the authors' program.
    objective : {"cut", "connectivity"}, default "cut"
        Whether a base cluster that is cut counts once, as in the paper, or once for each part beyond
        the first.

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

    about = replace(
        _StrehlGhosh.about,
        name="hgpa",
        cost="O(N m c) time, O(N m) memory",
        scaling="linear",
        exact=False,
    )

    hyperedge_weight: Literal["unit", "size"] = parameter("unit", Choice(("unit", "size")))
    objective: Objective = parameter("cut", Choice(("cut", "connectivity")))

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


@dataclass(eq=False, repr=False, kw_only=True)
class MCLA(_StrehlGhosh):
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

    about = replace(
        _StrehlGhosh.about,
        name="mcla",
        cost="O(N m^2 + k^2) time, O(N (m + c) + k^2) memory",
        scaling="linear",
    )

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
