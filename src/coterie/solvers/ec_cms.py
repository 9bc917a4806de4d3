r"""EC-CMS: a co-association matrix that enhances itself.

If most members put a pair of samples together, they are nearly always right. If only some members do, they
are often wrong. So the similarity A of the samples (any evidence) is split into a clean matrix C and an
error E. C keeps the values of the high-confidence pairs Omega, and samples that such a pair joins get
similar rows in C. Problem (5):

.. math::

    \min_{C, E} \; \mathrm{tr}(C' \Phi C) + \tfrac{\lambda}{2} \|E\|^2
    \quad \text{with } A = C + E,\; E = 0 \text{ on } \Omega,\; C = C',\; 0 \le C \le 1.

H is the co-association where it is at least alpha, and 0 elsewhere and on the diagonal. Omega are the pairs
with H > 0, and Phi is the Laplacian of H. The problem is convex. Algorithm 1 solves it by the alternating
direction method with both penalties 1. F is a copy of C that satisfies the last two constraints. Y1 and Y2
are the multipliers of A = C + E and C = F.

Steps
  1. evidence A; high-confidence graph H, (2); its connected blocks, and the factors of (9) on each
  2. C, (9): :math:`C = (2 \Phi + 2 I)^{-1} X` with :math:`X = A - E + Y_1 + F - Y_2`, block by block
  3. E, F, Y1 and Y2, (11), (13), (14), the five norms of the stopping rule and the next X, in one
     sweep in place
  4. stop when the relative changes of C, E, F, Y1 and Y2 are all below tol; else back to 2
  5. average link on the symmetric part of C, cut into n_clusters

On microclusters. All pairs of different samples of two microclusters have the same value. A sample with
itself has a value of its own: H has zeros there, A has ones. So N x N values and N own values stand for the
n x n matrix, and every step keeps this form. The inverse of (9) is :math:`K^{-1}` with
:math:`K = \mathrm{diag}(t) - 2 H R` and :math:`t = 2 H r + 2`. Let s be the own values of X minus its
diagonal. Then add s/r to the diagonal of X, multiply by :math:`K^{-1}`, and subtract s/(r t) from the
diagonal; the own values of C are its diagonal plus s/t. In norms a pair counts r_u r_v times, a diagonal
entry r (r - 1) times and an own value r times. Iterates, norms and the number of passes are those of the
n x n algorithm.

Step 3 needs few numbers per pair. By (14), Y1 = lambda E outside of Omega, and E = 0 inside. With
P = C + Y2 from before (13), F is the symmetric part of P, clipped, and Y2 = P - F. So P and Y2 have the same
antisymmetric part, and two numbers for a pair and its mirror image are enough for F and Y2.

Each row of H has few entries, so K is factorised as a sparse matrix, or as a dense one in a block with many.
Two blocks without any evidence between them stay at zero, and are left out.
Cost of a pass: the entries of the factors (about a hundredth of |block|^2) times N for step 2, and N^2 for
step 3; 40 bytes per pair of microclusters, 26 in single precision.

Where paper and program differ
  - The paper prints squared norms in the stopping rule. The program and the published numbers use plain
    norms, as here. Both rules stop before the optimum: at the default tol of 0.01, C is some percent away
    from it. A run to 1e-7 takes some thousand passes and may give other labels.
  - C is not quite symmetric when the program stops, and the program clusters its lower triangle. Here the
    symmetric part is clustered, clipped to [0, 1].
  - Omega is without the diagonal, as in the program. The paper includes it, which changes only the diagonal
    of the optimum.
  - If the rows that H joins are equal already (no high-confidence pair, no propagation, members that
    all agree), A is the optimum and is returned after one pass. The multipliers then go to 0, and their
    relative changes would never get small. For the same reason changes are measured against at least 1e-7
    of the norm of A.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.budget import Budget
from coterie.core.params import parameter
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import require_dense
from coterie.evidence.enhancement import (
    ADVICE,
    DOMAINS,
    Precision,
    Problem,
    bytes_per_pair,
    minimise,
)
from coterie.evidence.reliability import reliability_for, reliable_weights
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.cutting import cut_similarity
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class ECCMS(Method):
    """Ensemble clustering via co-association matrix self-enhancement.

    Cleans a similarity of the samples by what most members agree on, then cuts its average-link
    dendrogram.

    Parameters
    ----------
    alpha : float, default 0.8
        Share of the members that must put a pair together for the pair to be certain. The paper
        advises 0.7 to 0.8; with a larger value fewer pairs are certain.
    lam : float, default 0.4
        Penalty for departing from the evidence. Useful values are 0.01 to 1; from 100 on the evidence
        hardly changes.
    evidence : {"lwca", "ca", "pts"} or array, default "lwca"
        The similarity to be enhanced: locally weighted co-association, plain co-association,
        probability trajectories, or your own matrix with entries in [0, 1]: n x n in the order of
        the samples and equal for samples with equal labels, or N x N in the order of the ensemble's
        microclusters.
    theta : float, default 0.4
        For "lwca" only: the larger, the milder the penalty on base clusters that members scatter.
    propagate : bool, default True
        Whether certain pairs get similar rows. Without it the matrix stays the evidence.
    keep_confident : bool, default True
        Whether certain pairs keep their value.
    tol : float, default 0.01
        Relative change of the five matrices at which passes end. The default is the rule behind
        the published numbers and ends short of the optimum, for which 1e-7 is needed.
    precision : {"double", "single"}, default "double"
        Precision of the matrices while they are learned. "single" takes half of the memory and two
        thirds of the time. Labels are the same unless pairs tie to seven digits.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        The enhanced similarity of samples of two microclusters. On the diagonal: of two samples of
        the same microcluster, or of a sample with itself where a microcluster has only one.
    confident_groups_ : ndarray, shape (n,)
        Group of each sample; certain pairs connect the samples of a group.
    dendrogram_ : Dendrogram
        The merges of the microclusters.
    residual_ : float
        The largest of the five relative changes in the last pass.

    See Also
    --------
    coterie.enhance : the enhancement alone, a similarity matrix in and out.

    Notes
    -----
    ``member_weights_`` is the mean reliability of a member's base clusters with "lwca", else equal.

    Examples
    --------
    >>> from coterie import ECCMS
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = ECCMS(n_clusters=2, alpha=0.6).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.converged_, model.consensus_matrix_.shape
    (True, (3, 3))
    """

    about = MethodInfo(
        name="eccms",
        cost="O(N^2 b) per pass for blocks of b confident microclusters, 40 bytes per pair",
        paper="Y. Jia, S. Tao, R. Wang, Y. Wang. Ensemble clustering via co-association matrix "
        "self-enhancement. IEEE Transactions on Neural Networks and Learning Systems, 2023.",
        scaling="quadratic",
        grid={"alpha": (0.7, 0.75, 0.8, 0.85, 0.9), "lam": (0.01, 0.1, 0.2, 0.4, 1.0)},
    )

    alpha: float = parameter(0.8, DOMAINS["alpha"])
    lam: float = parameter(0.4, DOMAINS["lam"])
    evidence: str | ArrayLike = parameter("lwca", DOMAINS["evidence"])
    theta: float = parameter(0.4, DOMAINS["theta"])
    propagate: bool = parameter(True, DOMAINS["propagate"])
    keep_confident: bool = parameter(True, DOMAINS["keep_confident"])
    tol: float = 1e-2
    max_iter: int = 100
    precision: Precision = parameter("double", DOMAINS["precision"])
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        needed = bytes_per_pair(self.evidence, self.precision)
        require_dense(ensemble, needed, "The matrix that EC-CMS learns", self.memory_budget)
        reliability = reliability_for(ensemble, self.evidence, self.theta)
        problem = Problem.of(
            ensemble,
            self.evidence,
            reliability,
            alpha=self.alpha,
            propagate=self.propagate,
            keep_confident=self.keep_confident,
            precision=self.precision,
        )  # 1
        learned, history, converged = minimise(
            problem, self.lam, self.tol, self.max_iter, self.callback
        )  # 2 to 4
        cut = cut_similarity(learned.copy(), problem.weights, self.n_clusters)  # 5
        return replace(
            cut,
            member_weights=reliable_weights(ensemble, reliability),
            converged=converged,
            history=history,
            advice=ADVICE,
            by_sample={"confident_groups_": problem.groups},
            by_pair={"consensus_matrix_": learned},
        )
