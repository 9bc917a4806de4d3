"""EAC: evidence accumulation clustering.

The co-association of two samples is the share of members that put them together, among those that
labelled both. One minus that share is the dissimilarity of a hierarchical clustering into n_clusters.

Steps
  1. dissimilarity 1 - co-association of the N microclusters
  2. average, complete or single link, each microcluster weighted by its number of samples
  3. cut: exactly n_clusters by undoing the last merges, or the partition that lives longest between
     two merges (the lifetime criterion) where n_clusters is None

Exactness. Samples of one microcluster have dissimilarity 0 and the linkages are reducible (no merge brings
a third cluster closer), so the dendrogram of the n samples is that of the microclusters with their weights.
Co-association values often tie. Ties go to the pair of lowest index, and microclusters are numbered from
the heaviest down (see :class:`coterie.Ensemble`), so the result does not depend on the order of the samples.
An n x n linkage that breaks ties by position can give another result for another order of the same rows.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Choice, Integer, parameter
from coterie.core.text import counted
from coterie.core.types import Linkage
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.solvers.approximation import Approximate
from coterie.solvers.base import LabelConsensus, MethodInfo
from coterie.solvers.cutting import cut_similarity
from coterie.solvers.partition import Partition

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram


# with fewer samples, a number of clusters above that of every member is common
ENOUGH_SAMPLES = 200


@dataclass(eq=False, repr=False)
class EAC(LabelConsensus):
    """Evidence accumulation: hierarchical clustering of the co-association.

    Finds the number of clusters itself, and is the default if no number is given.

    Parameters
    ----------
    n_clusters : int or None, default None
        Number of clusters; None takes the partition with the longest lifetime.
    linkage : {"average", "complete", "single"}, default "average"
        How the dissimilarity of two groups follows from that of their samples.

    Attributes
    ----------
    dendrogram_ : Dendrogram
        The merges of the microclusters.

    See Also
    --------
    coterie.ConsensusClustering : from features to labels.

    Examples
    --------
    >>> from coterie import EAC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> EAC(n_clusters=2).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="eac",
        cost="O(N^2 m) time, 10 bytes per pair of microclusters",
        paper="A. Fred, A. K. Jain. Combining multiple clusterings using evidence "
        "accumulation. IEEE TPAMI 27, 2005.",
        scaling="quadratic",
    )

    n_clusters: int | None = parameter(None, Integer(1, optional=True))
    _: KW_ONLY
    linkage: Linkage = parameter("average", Choice(("average", "complete", "single")))
    memory_budget: Budget = None
    approximate: Approximate = None
    random_state: Any = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        similarity = coassociation(ensemble, memory_budget=self.memory_budget)  # 1
        n_clusters = self.n_clusters or _longest_lived
        cut = cut_similarity(similarity, ensemble.sizes, n_clusters, self.linkage)  # 2, 3
        most = int(ensemble.n_clusters_per_member.max())
        enough = ensemble.n_samples >= ENOUGH_SAMPLES
        if self.n_clusters is None and enough and cut.n_components > most:
            warnings.warn(
                f"EAC chose {counted(cut.n_components, 'cluster')}, more than any member has (at most "
                f"{most}): the members hardly agree; give n_clusters, or choose it with "
                "coterie.select_k, which may find that there is no structure",
                UserWarning,
                stacklevel=3,
            )
        return cut


def _longest_lived(dendrogram: Dendrogram) -> int:
    """The number of clusters of longest lifetime, the smaller one where lifetimes tie.

    One cluster, and every sample alone, are not candidates.
    """
    lifetimes = dendrogram.lifetimes()
    all_samples_distinct = dendrogram.sizes.sum() <= len(dendrogram.sizes)
    if all_samples_distinct:
        lifetimes = lifetimes[:-1]
    if len(lifetimes) == 0:
        return len(dendrogram.sizes)
    return int(np.argmax(np.round(lifetimes, 9))) + 2
