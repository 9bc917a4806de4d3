r"""LWGP: locally weighted graph partitioning.

Samples and base clusters are the vertices of a graph; a sample is linked to each base cluster it lies
in, as strongly as that base cluster is reliable (its ECI, see LWEA). A normalised cut of the graph gives
the clusters. Only base clusters need an eigenproblem: their vectors are carried over to the samples
(transfer cut).

Steps, with W the N x k links, r the number of samples per microcluster, :math:`R = \mathrm{diag}(r)`,
:math:`D = \mathrm{diag}(W 1)` and :math:`\Delta = \mathrm{diag}(W' r)`
  1. ECI of the base clusters; W = incidence times ECI
  2. c leading eigenvectors V of :math:`\Delta^{-1/2} W' R D^{-1} W \Delta^{-1/2}`
  3. rows of :math:`D^{-1} W \Delta^{-1/2} V`, scaled to unit length
  4. k-means on them, each microcluster weighted by its number of samples; the best of n_init starts

Exactness. Rows of W are those of the samples and r counts them in step 2 and in k-means: the embedding
and the objective of k-means are those of the n samples.

Where paper and program differ. The paper divides each eigenvector by the root of its eigenvalue and does not
mention unit rows. The program does not divide but takes unit rows, as here. The program fails with fewer than
c base clusters; here all vectors of non-zero eigenvalue are then taken. k-means has local optima and the
program's three random starts often end in different ones, so two runs of the program need not agree; more
starts (``n_init``) make that rarer.

Missing labels. A sample is linked to the base clusters it is known to lie in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coterie.core.params import Real, parameter
from coterie.ensemble import Ensemble
from coterie.evidence.reliability import cluster_reliability, reliable_weights
from coterie.numerics.spectral import tcut_embedding
from coterie.solvers.base import Method, MethodInfo
from coterie.solvers.cutting import cut_embedding
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class LWGP(Method):
    """Locally weighted graph partitioning.

    Cuts the graph of samples and base clusters, its links weighted by reliability. Linear in N.

    Parameters
    ----------
    theta : float, default 0.4
        The larger theta, the milder the penalty on base clusters that the members scatter. The
        authors advise 0.2 to 1.

    Attributes
    ----------
    embedding_ : ndarray, shape (N, p)
        A row of unit length per microcluster, on which k-means runs;
        ``ensemble_.expand(embedding_)`` has a row per sample.
    cluster_reliability_ : ndarray, shape (k,)
        ECI of each base cluster, in the order of ``ensemble_.incidence``.

    See Also
    --------
    coterie.LWEA : the same weights with average link.
    coterie.USENC : the same cut without weights.

    Notes
    -----
    ``member_weights_`` is the mean reliability of a member's base clusters, times the weight the
    user gave it.

    Examples
    --------
    >>> from coterie import LWGP
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> LWGP(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="lwgp",
        cost="O(N m^2 + min(k, N)^3), O(N c^2) per round of k-means; O(N m + min(k, N)^2) memory",
        paper="D. Huang, C.-D. Wang, J.-H. Lai. Locally weighted ensemble clustering. IEEE "
        "Transactions on Cybernetics 48, 2018.",
        scaling="linear",
        random=True,
        grid={"theta": (0.2, 0.4, 0.6, 0.8, 1.0)},
    )

    theta: float = parameter(0.4, Real(0.0, closed_low=False, closed_high=False))
    n_init: int = 3
    max_iter: int = 100

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        reliability = cluster_reliability(ensemble, self.theta)
        links = ensemble.incidence.multiply(reliability * ensemble.weight_of_cluster)
        embedding = tcut_embedding(links, ensemble.weights, self.n_clusters)
        return replace(
            cut_embedding(self, ensemble, embedding, rng),
            member_weights=reliable_weights(ensemble, reliability),
            by_base_cluster={"cluster_reliability_": reliability},
        )
