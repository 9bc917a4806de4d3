r"""Any similarity of the samples, cut in any way.

Many methods compute a similarity from the members and then cut it in a general way. This table gives the
two parts of each:

=================  ========================  =============================
method             ``evidence``              ``partition``
=================  ========================  =============================
EAC                "ca"                      "average" ("complete", "single")
LWEA               "lwca"                    "average"
PTA                "pts"                     "average" ("complete", "single"), ``weighted=False``
PTGP               "pts"                     "tcut", ``weighted=False``
ECPCS-HC           "ecpcs"                   "average"
CTS, SRS, ASRS     "cts", "srs", "asrs"      "average" ("complete", "single")
EC-CMS             "enhanced"                "average"
CSPA               "ca"                      "metis"
=================  ========================  =============================

Steps
  1. the similarity S of the N microclusters
  2. cut it: by linkage on 1 - S; by k-means in the leading eigenvectors of
     :math:`D^{-1/2} S D^{-1/2}`, rows of unit length ("spectral"); by a transfer cut of the graph of
     microclusters and base clusters, a link being the mean similarity with the samples of the base
     cluster ("tcut"); or into balanced parts of the graph of similarities ("metis")

On microclusters. The diagonal of S holds the similarity of two samples of one microcluster. A sample has
similarity 1 with itself (or the value in a given n x n matrix). With r samples in a microcluster, sums
over samples are sums over microclusters with weights r if the diagonal is
:math:`S_{uu} + (1 - S_{uu}) / r_u`. So each cut is that of the n samples, except that samples with equal
labels are never separated.

Cost: that of the similarity, at least O(N^2 m); then O(N^2) for linkage, O(N^2 c) a few dozen times for
"spectral", O(N^2 m + N k min(k, N)) for "tcut". 24 bytes per pair of microclusters, 72 for "metis".

Missing labels. Each similarity has its own rule; shares are taken among the members that labelled both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import Choice, Integer, Real, is_matrix, parameter
from coterie.core.types import FloatArray, Linkage
from coterie.ensemble import Ensemble
from coterie.evidence.base_clusters import links_to_base_clusters
from coterie.evidence.coassociation import require_dense
from coterie.evidence.enhancement import enhance
from coterie.evidence.given import checked_similarity, chosen_similarity
from coterie.evidence.links import approximate_simrank, connected_triple, simrank
from coterie.evidence.propagation import propagated_similarity
from coterie.evidence.reliability import reliability_for, reliable_weights
from coterie.numerics.spectral import leading_embedding, tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding, cut_graph, cut_similarity
from coterie.solvers.partition import Partition

Evidence = str | ArrayLike | Callable[[Ensemble], ArrayLike]

BY_LINKS = {"cts": connected_triple, "srs": simrank, "asrs": approximate_simrank}
EVIDENCE = ("ca", "lwca", "pts", "ecpcs", *BY_LINKS, "enhanced")
LINKAGES = ("average", "complete", "single")
ADVICE = "Ask for fewer clusters, or set partition to another cut."


@dataclass(eq=False, repr=False, kw_only=True)
class SimilarityConsensus(Method):
    """Any similarity of the samples, cut in any way.

    Parameters
    ----------
    evidence : str, array or callable, default "ca"
        The similarity. By name: co-association "ca", locally weighted "lwca", probability
        trajectories "pts", propagated similarity of base clusters "ecpcs", connected triples "cts",
        SimRank "srs", its approximation "asrs", the co-association enhanced by its own certain
        pairs "enhanced". Or a matrix with entries in [0, 1]: n x n in the order of the samples and
        equal for samples with equal labels, or N x N in the order of the ensemble's microclusters.
        Or a function of an Ensemble that returns the N x N matrix, as the functions of
        ``coterie.evidence`` do.
    partition : {"average", "complete", "single", "spectral", "tcut", "metis"}, default "average"
        How it is cut. "metis" gives clusters of about equal size and needs pymetis (extra
        ``graph``).
    theta : float, default 0.4
        For "lwca" and "enhanced": the larger, the milder the penalty on scattered base clusters.
    n_steps : int or None, default None
        For "pts" and "ecpcs": number of steps of the random walks; None takes the default of each.
    decay : float, default 0.8
        For "cts", "srs" and "asrs": what a link counts, where being together counts 1; in (0, 1].
    weighted : bool, default True
        Whether a microcluster counts as often as it has samples when the similarity is cut. False
        counts each once, whatever its number of samples, as PTA and PTGP do.
    n_init : int, default 10
        For "spectral" and "tcut": number of k-means starts; the best is kept.
    max_iter : int, default 300
        For "spectral" and "tcut": maximum number of rounds per start.
    random_state : int, numpy Generator or None, default None
        Seed of the k-means starts or of METIS; linkage is deterministic.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        The similarity of samples of two microclusters; on the diagonal, of two samples of one.
    dendrogram_ : Dendrogram
        For linkage only: the merges of the microclusters.
    embedding_ : ndarray, shape (N, p)
        For "spectral" and "tcut" only: a row of unit length per microcluster, on which k-means
        runs.

    See Also
    --------
    coterie.EAC : also finds the number of clusters.
    coterie.ECCMS : all settings of "enhanced".

    Notes
    -----
    ``member_weights_`` is the mean reliability of a member's base clusters with "lwca", else the
    user's. A function given as ``evidence`` sees the ensemble with its members in canonical order
    and must not depend on their order.

    Examples
    --------
    >>> from coterie import SimilarityConsensus
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> SimilarityConsensus(2, evidence="lwca", partition="spectral").fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]

    Your own similarity, here one in which weak links count less:

    >>> from coterie.evidence import coassociation
    >>> def squared(ensemble):
    ...     return coassociation(ensemble) ** 2
    >>> SimilarityConsensus(2, evidence=squared).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="similarity",
        cost="that of the similarity, O(N^2) to O(N^2 c) for the cut; 24 bytes per pair, 72 for metis",
        paper="None of its own: evidence and partition come from the papers of other methods.",
        scaling="quadratic",
        random=True,
    )

    evidence: Evidence = parameter(
        "ca",
        Choice(
            EVIDENCE,
            also=lambda value: callable(value) or is_matrix(value),
            also_words="a symmetric matrix, or a function of an Ensemble that makes one",
        ),
    )
    partition: str = parameter("average", Choice((*LINKAGES, "spectral", "tcut", "metis")))
    theta: float = parameter(0.4, Real(0.0, closed_low=False, closed_high=False))
    n_steps: int | None = parameter(None, Integer(1, optional=True))
    decay: float = parameter(0.8, Real(0.0, 1.0, closed_low=False))
    weighted: bool = parameter(True, Choice((True, False)))
    n_init: int = 10
    max_iter: int = 300
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        require_dense(
            ensemble,
            _bytes_per_pair(ensemble, self.partition),
            "The similarity and its cut",
            self.memory_budget,
        )
        reliability = reliability_for(ensemble, self.evidence, self.theta)
        between, own = self._similarity(ensemble, reliability)
        weights = ensemble.sizes
        if not self.weighted:
            weights = np.ones_like(weights)
        if self.partition in LINKAGES:
            linkage = cast("Linkage", self.partition)
            cut = cut_similarity(between.copy(), weights, self.n_clusters, linkage)
        elif self.partition == "metis":
            links = between * weights
            links *= weights[:, None]
            np.fill_diagonal(links, 0.0)
            cut = cut_graph(ensemble, links, weights, self.n_clusters, rng, advice=ADVICE)
        else:
            similarity = _with_own(between, own, weights)
            if self.partition == "spectral":
                embedding = leading_embedding(similarity, weights, self.n_clusters)
            else:
                links = links_to_base_clusters(ensemble, similarity, weights)
                embedding = tcut_embedding(links, weights, self.n_clusters)
            cut = cut_embedding(self, ensemble, embedding, rng, weights=weights, advice=ADVICE)
        return replace(
            cut,
            member_weights=reliable_weights(ensemble, reliability),
            by_pair={"consensus_matrix_": between},
        )

    def _similarity(
        self, ensemble: Ensemble, reliability: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Step 1: the similarity between samples, and that of a sample with itself."""
        budget = self.memory_budget
        name = self.evidence if isinstance(self.evidence, str) else ""
        if callable(self.evidence):
            similarity = _made_by(self.evidence, ensemble)
        elif name in BY_LINKS:
            similarity = BY_LINKS[name](ensemble, decay=self.decay, memory_budget=budget)
        elif name == "ecpcs":
            similarity = propagated_similarity(ensemble, self.n_steps or 20, memory_budget=budget)
        elif name == "enhanced":
            similarity = enhance(ensemble, theta=self.theta, memory_budget=budget)
        else:
            return chosen_similarity(
                ensemble, self.evidence, reliability, n_steps=self.n_steps, memory_budget=budget
            )
        return similarity, np.ones(len(similarity))


def _bytes_per_pair(ensemble: Ensemble, partition: str) -> float:
    if partition == "metis":
        return 72
    # the similarity and two working copies; "tcut" also has N x k links to base clusters
    wide = ensemble.n_base_clusters / ensemble.n_microclusters if partition == "tcut" else 0
    return 24 * (1 + wide)


def _made_by(function: Callable[[Ensemble], ArrayLike], ensemble: Ensemble) -> FloatArray:
    similarity = checked_similarity(function(ensemble), "evidence")
    n = ensemble.n_microclusters
    if len(similarity) != n:
        raise ParameterError(
            f"evidence must give an {n} x {n} matrix, a row per microcluster of the ensemble, "
            f"but gave {len(similarity)} x {len(similarity)}"
        )
    return similarity


def _with_own(between: FloatArray, own: FloatArray, weights: FloatArray) -> FloatArray:
    """The similarity whose weighted sums are sums over samples; the given array if it need not change."""
    diagonal = np.diag(between)
    spread = diagonal + (own - diagonal) / weights
    if np.array_equal(spread, diagonal):
        return between
    similarity = between.copy()
    np.fill_diagonal(similarity, spread)
    return similarity
