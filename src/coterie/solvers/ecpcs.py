r"""ECPCS-HC and ECPCS-MC: similarities of base clusters propagated by random walks.

In the co-association, a member that separates two samples counts 0, however close their two base clusters
are. Here base clusters are compared by a random walk among the base clusters of all members. ECPCS-HC gives a
pair that a member separates the similarity of its two base clusters. ECPCS-MC groups the base clusters, and a
sample joins the group that holds it most.

Steps of both, in :mod:`coterie.evidence.propagation`
  1. Jaccard index of the k base clusters, diagonal 0; divided by its row sums it is the walk P
  2. Z: the cosine of the rows :math:`(P_p, P^2_p, \dots, P^t_p)`
Steps of ECPCS-HC
  3. :math:`\mathrm{ECA}_{ij} = \frac1m \sum_{\text{members}} Z_{pq}`, p and q being the base clusters of i
     and j in the member, :math:`Z_{pp} = 1`
  4. average link on 1 - ECA, each microcluster weighted by its number of samples
  5. cut: the last n_clusters - 1 merges are undone
Steps of ECPCS-MC
  3. normalised cut of Z into c groups of base clusters: c leading eigenvectors V of
     :math:`D^{-1/2} (Z + I/2) D^{-1/2}`, :math:`D = \mathrm{diag}(Z 1 + 1)`; columns of
     :math:`D^{-1/2} V` scaled to unit length, then its rows; the rotation that brings them closest to
     indicators (:mod:`coterie.numerics.discretise`), the best of n_init starts
  4. a sample's vote for a group is the share of the group's base clusters that hold it; it joins the
     group with the largest vote, the first one in a tie

So ECPCS-HC is ``SimilarityConsensus(c, evidence="ecpcs", partition="average")``.

Exactness. Sizes and overlaps of base clusters are those of the samples, samples with equal labels have
similarity 1, and votes are counted for each microcluster by itself: everything is as on the n samples.

Where paper and program differ. In ECPCS-HC in nothing that matters: with t = 20 all similarities are close to
1; only their order counts. In ECPCS-MC the paper writes the links of step 3 as entries of the walk but means
Z; the half added to the diagonal comes from the program. The program starts the rotation once, from a row
drawn at random, and two runs of it may differ; here the best of several is kept. The paper settles tied
votes at random. A group that wins no sample leaves fewer than c clusters, also in the program; here
the widest cluster is then split by the votes, with a warning. With two members every link goes from one
member to the other, walkers that start in different members never meet, and Z does not show which base
clusters belong together. Here walkers then rest with probability 1/2 per step, unlike in the paper.

Missing labels. Base clusters hold the samples that were seen. ECA is the mean over the members that saw
both samples, 0 where none did. In ECPCS-MC a sample votes with the labels it has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from coterie.core.budget import Budget
from coterie.core.params import Integer, parameter
from coterie.core.random import fix_signs
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.evidence.propagation import propagated_cluster_similarity, propagated_similarity
from coterie.numerics.discretise import best_discretisation
from coterie.numerics.eigen import extreme_eigenpairs
from coterie.numerics.partitions import by_first_appearance
from coterie.numerics.spectral import unit_rows
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_similarity, one_pass
from coterie.solvers.partition import Partition

# smaller similarities count as zero; SELF_LINK is added to the link of each base cluster with itself
MIN_LINK = 1e-6
SELF_LINK = 0.5
# chance that a walker rests in a step, if there are two members
REST_OF_TWO = 0.5
# votes this close tie
TIE = 1e-12
ADVICE = "Ask for fewer clusters, or raise n_init."


@dataclass(eq=False, repr=False, kw_only=True)
class _ECPCS(Method):
    """The part that ECPCS-HC and ECPCS-MC share.

    Parameters
    ----------
    n_steps : int, default 20
        Number of steps of the random walk among base clusters.
    """

    about = MethodInfo(
        paper="D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh. Enhanced ensemble clustering "
        "via fast propagation of cluster-wise similarities. IEEE Transactions on Systems, "
        "Man, and Cybernetics: Systems 51, 2021.",
    )

    n_steps: int = parameter(20, Integer(1))
    memory_budget: Budget = None


@dataclass(eq=False, repr=False, kw_only=True)
class ECPCSHC(_ECPCS):
    """Propagated cluster-wise similarities with hierarchical clustering of the samples.

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

    about = replace(
        _ECPCS.about,
        name="ecpcs-hc",
        cost="O(t k^3 + N^2 m) time, 24 bytes per pair of microclusters, 40 per pair of base clusters",
        scaling="quadratic",
    )

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        similarity = propagated_similarity(ensemble, self.n_steps, memory_budget=self.memory_budget)
        return cut_similarity(similarity, ensemble.sizes, self.n_clusters)


@dataclass(eq=False, repr=False, kw_only=True)
class ECPCSMC(_ECPCS):
    """Groups of base clusters by propagated cluster-wise similarities. Linear in N.

    Parameters
    ----------
    n_init : int, default 10
        Number of starts of the rotation; the best is kept.

    Attributes
    ----------
    cluster_groups_ : ndarray, shape (k,)
        Group of each base cluster, in the order of ``ensemble_.incidence``.
    cluster_embedding_ : ndarray, shape (k, min(c, k))
        The embedding of the base clusters, in which the groups were found.
    votes_ : ndarray, shape (N, groups)
        Share of each group's base clusters that hold a microcluster;
        ``ensemble_.expand(votes_)`` has a row per sample.

    See Also
    --------
    coterie.ECPCSHC : the same similarity with average link.

    Notes
    -----
    ``history_`` has one pass, whose objective is the mean length of the base clusters' rows along
    their group's axis, at most 1. A ``member_weight`` counts in the votes, not in the walk.

    Examples
    --------
    >>> from coterie import ECPCSMC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = ECPCSMC(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.cluster_groups_.tolist()
    [0, 1, 0, 1, 0, 1]
    """

    about = replace(
        _ECPCS.about,
        name="ecpcs-mc",
        cost="O(N m + t k^3) time, O(N m + k^2) memory",
        scaling="linear",
        random=True,
    )

    n_init: int = 10

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        k = ensemble.n_base_clusters
        similarity = propagated_cluster_similarity(
            ensemble,
            self.n_steps,
            rest=REST_OF_TWO if ensemble.n_members == 2 else 0.0,
            memory_budget=self.memory_budget,
        )
        embedding = cut_rows(similarity, min(self.n_clusters, k))
        starts = rng.choice(k, size=min(self.n_init, k), replace=False)
        discretisation = best_discretisation(embedding, np.ones(k), starts)
        groups = by_first_appearance(discretisation.labels)
        votes = group_votes(ensemble, groups)
        largest = np.argmax(votes >= votes.max(axis=1, keepdims=True) - TIE, axis=1)
        return Partition(
            by_first_appearance(largest),
            history=one_pass(discretisation.alignment / k),
            advice=ADVICE,
            embedding=votes,
            by_base_cluster={"cluster_groups_": groups, "cluster_embedding_": embedding},
            by_microcluster={"votes_": votes},
        )


def cut_rows(similarity: FloatArray, n_vectors: int) -> FloatArray:
    """Step 3: rows of unit length, k x c; base clusters of one group have similar directions."""
    k = len(similarity)
    links = np.where(similarity < MIN_LINK, 0.0, similarity)
    scale = 1.0 / np.sqrt(links.sum(axis=1) + 2 * SELF_LINK)
    links[np.diag_indices(k)] += SELF_LINK
    links *= scale
    links *= scale[:, None]
    _, vectors = extreme_eigenpairs(links, n_vectors)
    rows = fix_signs(vectors[:, ::-1] * scale[:, None])
    return unit_rows(rows / np.linalg.norm(rows, axis=0))


def group_votes(ensemble: Ensemble, groups: IntArray) -> FloatArray:
    """Step 4: share of each group's base clusters that hold a microcluster, N x groups."""
    columns = (np.arange(len(groups)), groups)
    of_group = sparse.csr_array((ensemble.weight_of_cluster, columns))
    held = np.asarray((ensemble.incidence @ of_group).toarray())
    return held / of_group.sum(axis=0)
