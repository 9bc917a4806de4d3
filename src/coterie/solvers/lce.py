r"""LCE: link-based cluster ensemble.

The incidence is 0 for every base cluster that does not hold the sample, however close that base cluster is
to the one that does. The refined matrix RA replaces these zeros by how close the base clusters are.

Steps, with w the Jaccard index of base clusters, r the number of samples per microcluster, and R = diag(r)
  1. likeness of two base clusters of one member by their common neighbours z: connected triples
     (WCT) :math:`\sum_z \min(w_{pz}, w_{qz})`, or triple quality (WTQ) :math:`\sum_z 1 / \sum_t w_{tz}`;
     divided by the largest over all members
  2. :math:`\mathrm{RA}_{ip}` = 1 where i lies in p, else decay times the likeness of p and the base cluster
     of i in the same member
  3. spectral cut of the graph of samples and base clusters with links RA: with
     :math:`D = \mathrm{diag}(\mathrm{RA}\, 1)` and :math:`\Delta = \mathrm{diag}(\mathrm{RA}' r)`, c leading
     singular triplets (U, V) of :math:`R^{1/2} D^{-1/2} \mathrm{RA}\, \Delta^{-1/2}`; a point per
     microcluster, its row of :math:`R^{-1/2} D^{-1/2} U`, and one per base cluster, its row of
     :math:`\Delta^{-1/2} V`, both scaled to unit length
  4. k-means on the N + k points, each microcluster weighted by its number of samples, a base cluster
     once; the best of n_init starts; samples keep their labels

Exactness. Rows of RA are those of the samples, and the cut weights them by r: all is as on the n samples.

Where papers and programs differ. The decay is 0.9 in the 2011 paper and 0.8 in the examples of the authors'
LinkCluE, which has the similarities CTS, SRS and ASRS of samples with linkage but not this cut; they are
``SimilarityConsensus(c, evidence="cts")`` and so on. As in LinkCluE, the largest value is taken over all
members, not within each.

Missing labels. The papers have none. A sample that a member did not label gets the mean of that member's
rows of RA. Programs use links of 0, or of one over the number of base clusters. Such rows differ from every
row of a labelled sample, because RA is full of large values; the clusters would then follow the pattern of
missing labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import GRANTED, Budget, require
from coterie.core.params import Choice, Real, parameter
from coterie.ensemble import Ensemble
from coterie.evidence.base_clusters import likeness_to_base_clusters
from coterie.evidence.links import Links, linked_clusters
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_bipartite_graph
from coterie.solvers.partition import Partition

ADVICE = "Ask for fewer clusters: some groups hold base clusters only."
MEMORY_ADVICE = "Take fewer members, or HBGF, which keeps the links sparse."


@dataclass(eq=False, repr=False, kw_only=True)
class LCE(Method):
    """Link-based cluster ensemble: samples and base clusters are cut together by refined links.

    Linear in N.

    Parameters
    ----------
    links : {"triples", "quality"}, default "triples"
        How common neighbours make base clusters of one member similar: connected triples (WCT), or
        triple quality (WTQ), in which a neighbour linked to everything counts little.
    decay : float, default 0.9
        Entry of RA for the base cluster most closely linked to the sample's own, in (0, 1].

    Attributes
    ----------
    embedding_ : ndarray, shape (N, p)
        A row of unit length per microcluster, on which k-means runs.
    cluster_embedding_ : ndarray, shape (k, p)
        The embedding of the base clusters, in the order of ``ensemble_.incidence``.

    See Also
    --------
    coterie.HBGF : the same cut of the plain incidence.
    coterie.SimilarityConsensus : link-based similarities of samples ("cts", "srs", "asrs").

    Notes
    -----
    A ``member_weight`` counts in the links of samples and in k-means, not in the likeness of base
    clusters.

    Examples
    --------
    >>> from coterie import LCE
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> LCE(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="lce",
        cost="O(k sum k_j^2 + N k min(k, N)) time for k_j base clusters in member j; O(N k + k^2) memory",
        paper="N. Iam-On, T. Boongoen, S. Garrett, C. Price. A link-based approach to the cluster "
        "ensemble problem. IEEE Transactions on Pattern Analysis and Machine Intelligence "
        "33, 2011.",
        scaling="linear",
        random=True,
        grid={"links": ("triples", "quality")},
    )

    links: Links = parameter("triples", Choice(("triples", "quality")))
    decay: float = parameter(0.9, Real(0.0, 1.0, closed_low=False))
    n_init: int = 10
    max_iter: int = 300
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        n, k = ensemble.n_microclusters, ensemble.n_base_clusters
        purpose = f"The refined matrix of N = {n:,} microclusters and k = {k:,} base clusters"
        require(max(32.0 * n, 40.0 * k) * k, purpose, MEMORY_ADVICE, self.memory_budget)
        alike = linked_clusters(ensemble, self.links, memory_budget=GRANTED)
        alike *= self.decay
        np.fill_diagonal(alike, 1.0)
        refined = refined_matrix(ensemble, alike)
        refined *= ensemble.weight_of_cluster
        return cut_bipartite_graph(self, ensemble, refined, rng, ADVICE)


def refined_matrix(ensemble: Ensemble, alike: NDArray[np.float64]) -> NDArray[np.float64]:
    """Step 2: RA, N x k; a member's mean row for the microclusters that it did not label."""
    refined = likeness_to_base_clusters(ensemble, alike)
    if not ensemble.is_complete:
        offsets = ensemble.cluster_offsets
        for j, labels in enumerate(ensemble.labels.T):
            own, seen = slice(offsets[j], offsets[j + 1]), labels >= 0
            mean = np.average(refined[seen, own], axis=0, weights=ensemble.weights[seen])
            refined[~seen, own] = mean
    return refined
