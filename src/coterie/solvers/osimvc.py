r"""OSIMVC: late fusion of incomplete members straight to a partition (OS-LF-IMVC).

As IMVC, but the consensus is Y C with the indicator Y of a partition and an orthogonal c x c matrix C, so no
k-means follows:

.. math::

    \max \; \mathrm{tr}\big( (Y C)' T \big), \qquad T = \textstyle\sum_p \beta_p H_p W_p + \lambda H_0.

Start: the rows of :math:`H_0`, the c leading eigenvectors of the members' mean kernel, scaled to unit length;
C is the polar factor of the k-means centres of these rows; members turned towards :math:`H_0`, missing rows
zero, equal beta.

Steps of a pass (:mod:`coterie.solvers._late_fusion` defines polar)
  1. :math:`y_i = \arg\max_l (T C')_{il}`
  2. C = polar(Y'T)
  3. :math:`W_p = \mathrm{polar}(H_p' Y C)`
  4. missing rows of :math:`H_p`: polar of those of :math:`Y C W_p'`
  5. :math:`\beta_p` in proportion to :math:`\mathrm{tr}((Y C)' H_p W_p)`, and T from the new values
Stop when a pass raises the objective by less than the share ``tol``. The partition stays close to its start,
so the best of ``n_init`` starts is kept.

Exactness. All steps are row-wise or sums over samples, see :mod:`coterie.solvers._late_fusion`. A
``member_weight`` of 2 is the same as giving that member twice.

Missing labels. The method is made for them: missing rows are filled in step 4.

Where programs differ from this: as for IMVC (kernels, c columns each, :math:`W_p = I` at first). The program
takes for C an orthonormal basis of the space of the centres, which need not be near them. Where a cluster is
empty a polar factor is not unique; here it is taken on the range of the matrix only.

Cost: O(N m c + N c^2 + k c^2) per pass and O(N_p c^2) for each member's N_p missing rows; the start is an
eigenproblem of k base clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.core.params import STRENGTH, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.numerics.discretise import cross_product
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.spectral import unit_rows
from coterie.solvers._late_fusion import (
    Fusion,
    combine,
    follow_consensus,
    record,
    start,
    supported_polar,
)
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition

# maximum number of rounds of the k-means that a start begins with
ROUNDS = 200
# two entries of T C' tie if they differ by less than this share of the largest
TIE = 1e-10


@dataclass(eq=False, repr=False, kw_only=True)
class OSIMVC(Method):
    """Late fusion of incomplete members straight to a partition.

    For partial labels: like IMVC, but learns the partition directly.

    Parameters
    ----------
    lam : float, default 1.0
        How strongly the consensus is pulled towards the leading eigenvectors of the mean kernel.
    n_init : int, default 10
        Number of starts; the one with the largest objective is kept.

    See Also
    --------
    coterie.PCE : fills the gaps with labels.

    Notes
    -----
    ``member_weights_`` are the learned beta times the weights that the user gave the members.

    Examples
    --------
    >>> from coterie import OSIMVC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, -1, 0], [1, 1, 1], [-1, 1, 1], [1, 1, -1]]
    >>> OSIMVC(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="osimvc",
        cost="O(N m c + N c^2) per pass",
        paper="Y. Zhang, X. Liu, S. Wang, J. Liu, S. Dai, E. Zhu. One-stage incomplete multi-view "
        "clustering via late fusion. ACM International Conference on Multimedia, 2021.",
        scaling="linear",
        random=True,
        grid={"lam": tuple(2.0**power for power in range(-15, 16))},
    )

    lam: float = parameter(1.0, Real(0.0, STRENGTH.high))
    n_init: int = 10
    max_iter: int = 100
    tol: float = 1e-4
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        problem = Fusion.of(ensemble, self.n_clusters)
        best: Run | None = None
        tried: list[FloatArray] = []
        for _ in range(self.n_init):
            C = first_rotation(problem, self.n_clusters, rng)
            if any(np.allclose(C, other) for other in tried):
                # the same start gives the same end
                continue
            tried.append(C)
            run = follow(problem, C, self.lam, self.max_iter, self.tol)
            if best is None or run.objective > best.objective * (1 + TIE):
                best = run
        assert best is not None
        self._call_back(best.history)
        complete = len(np.unique(best.labels)) == self.n_clusters
        return Partition(
            best.labels,
            member_weights=problem.prior * best.beta,
            converged=best.converged,
            history=best.history,
            advice="Raise tol." if complete else "Raise n_init or lam.",
            embedding=best.combined,
        )


@dataclass(frozen=True)
class Run:
    """Result of one start."""

    labels: IntArray
    combined: FloatArray
    beta: FloatArray
    history: tuple[Pass, ...]
    converged: bool

    @property
    def objective(self) -> float:
        """After the last pass."""
        return self.history[-1]["objective"]


def first_rotation(problem: Fusion, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """C from one k-means of the unit rows of H_0; rows of zeros for the clusters that are empty."""
    rows = unit_rows(problem.guide)
    clusters = fit_kmeans(rows, n_clusters, problem.weights, rng, n_init=1, max_iter=ROUNDS)
    # number clusters by first appearance, so that equal starts can be recognised
    _, first = np.unique(clusters.labels, return_index=True)
    centres = np.zeros((n_clusters, problem.guide.shape[1]))
    centres[: len(first)] = clusters.centres[np.argsort(first)]
    return supported_polar(centres)


def follow(problem: Fusion, C: FloatArray, lam: float, max_iter: int, tol: float) -> Run:
    """Passes until the objective settles."""
    members = start(problem)
    combined = combine(problem, members, lam)
    history: list[Pass] = []
    converged = False
    labels = np.zeros(len(problem.weights), dtype=np.int64)
    for number in range(1, max_iter + 1):
        labels = nearest(combined @ C.T)  # 1
        C = supported_polar(cross_product(combined, problem.weights, labels, len(C)).T)  # 2
        consensus = C[labels]
        follow_consensus(problem, members, consensus)  # 3 to 5
        combined = combine(problem, members, lam)
        history.append(record(problem, consensus, combined, history))
        if number > 2 and history[-1]["residual"] < tol:
            converged = True
            break
    return Run(labels, combined, members.beta, tuple(history), converged)


def nearest(scores: FloatArray) -> IntArray:
    """Column of the largest entry of each row, the lower one in a tie."""
    slack = TIE * np.abs(scores).max(axis=1, keepdims=True)
    return np.argmax(scores >= scores.max(axis=1, keepdims=True) - slack, axis=1)
