r"""IMVC: late fusion of incomplete members by an orthogonal consensus (EE-R-IMVC).

With :math:`H_p` the column-normalised indicator of member p, its missing rows unknown,

.. math::

    \max \; \mathrm{tr}\Big( H' \big( \textstyle\sum_p \beta_p H_p W_p + \lambda H_0 \big) \Big)

over H'H = I, rotations :math:`W_p`, missing rows of :math:`H_p` with orthonormal columns, and
:math:`\beta \ge 0` of length one. :math:`H_0` are the c leading eigenvectors of the members' mean kernel
:math:`\sum_p H_p H_p'` with zeros for what is missing.

Start: missing rows zero, equal beta, each member turned towards :math:`H_0`.

Steps of a pass, each the exact maximum over its variables (:mod:`coterie.solvers._late_fusion` defines polar)
  1. H = polar of the weighted sum
  2. :math:`W_p = \mathrm{polar}(H_p' H)`
  3. missing rows of :math:`H_p`: polar of those of :math:`H W_p'`
  4. :math:`\beta_p` in proportion to :math:`\mathrm{tr}(H' H_p W_p)`
Stop when a pass raises the objective by less than the share ``tol``. Then k-means on the unit rows of H.

Exactness. All steps are row-wise or sums over samples, see :mod:`coterie.solvers._late_fusion`. A
``member_weight`` of 2 is the same as giving that member twice.

Missing labels. The method is made for them: missing rows are filled in step 3.

Where programs differ from this: the authors' program takes kernels, uses their eigenvectors as :math:`H_p`,
centres them, needs c columns in each, and starts with :math:`W_p = I`. Column-normalised indicators are the
eigenvectors of a label kernel up to a rotation, so a start from I would depend on the names of the labels.
Indicators are not centred here, because that would leave c - 1 dimensions. Members may have any number of
clusters.

Cost: O(N m c + N c^2 + k c^2) per pass and O(N_p c^2) for each member's N_p missing rows; the start is an
eigenproblem of k base clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.core.params import STRENGTH, Real, parameter
from coterie.core.types import Pass
from coterie.ensemble import Ensemble
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.spectral import unit_rows
from coterie.solvers._late_fusion import Fusion, combine, follow_consensus, record, start
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition


@dataclass(eq=False, repr=False, kw_only=True)
class IMVC(Method):
    """Late fusion of incomplete members by an orthogonal consensus.

    For partial labels: rotates members to a common embedding and fills in their missing rows.

    Parameters
    ----------
    lam : float, default 1.0
        How strongly the consensus is pulled towards the leading eigenvectors of the mean kernel.

    Attributes
    ----------
    embedding_ : ndarray, shape (n, n_clusters)
        H, with orthonormal columns.

    See Also
    --------
    coterie.PCE : fills the gaps with labels.

    Notes
    -----
    ``member_weights_`` are the learned beta times the weights that the user gave the members.

    Examples
    --------
    >>> from coterie import IMVC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, -1, 0], [1, 1, 1], [-1, 1, 1], [1, 1, -1]]
    >>> IMVC(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="imvc",
        cost="O(N m c + N c^2) per pass",
        paper="X. Liu, M. Li, C. Tang, J. Xia, J. Xiong, L. Liu, M. Kloft, E. Zhu. Efficient and "
        "effective regularized incomplete multi-view clustering. IEEE Transactions on "
        "Pattern Analysis and Machine Intelligence 43, 2021.",
        scaling="linear",
        random=True,
        grid={"lam": tuple(2.0**power for power in range(-15, 16, 3))},
    )

    lam: float = parameter(1.0, Real(0.0, STRENGTH.high))
    n_init: int = 20
    max_iter: int = 100
    tol: float = 1e-4
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        problem = Fusion.of(ensemble, self.n_clusters)
        members = start(problem)
        H = problem.guide
        combined = combine(problem, members, self.lam)
        history: list[Pass] = []
        converged = False
        for number in range(1, self.max_iter + 1):
            H = problem.polar(combined)  # 1
            follow_consensus(problem, members, H)  # 2 to 4
            combined = combine(problem, members, self.lam)
            self._add_pass(history, record(problem, H, combined, history))
            if number > 2 and history[-1]["residual"] < self.tol:
                converged = True
                break
        components = fit_kmeans(
            unit_rows(H), self.n_clusters, problem.weights, rng, n_init=self.n_init
        ).labels
        complete = len(np.unique(components)) == self.n_clusters
        return Partition(
            components,
            member_weights=problem.prior * members.beta,
            converged=converged,
            history=history,
            advice="Raise tol." if complete else "Ask for fewer clusters.",
            embedding=H,
            by_sample={"embedding_": H},
        )
