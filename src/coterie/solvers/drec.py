r"""DREC: dense representation ensemble clustering, microclusters as mixtures of each other.

Every microcluster is written as a mixture of all of them. With :math:`x_u` the indicator of the base
clusters that microcluster u lies in, and X the k x N matrix of these columns, the mixtures Z solve

.. math:: \min_Z \; \|X - X Z\|_{2,1} + \lambda \|Z\|_F^2 .

The norm sums the lengths of the columns, not their squares, so a microcluster that fits nowhere
may stay unexplained. With a ridge penalty every microcluster has a share in every mixture: Z is dense.

Steps
  1. weights d = 1; then ``max_iter`` rounds of
     :math:`z_u = (X'X + \lambda / d_u I)^{-1} X' x_u` and
     :math:`d_u = 1 / (2 \sqrt{\|x_u - X z_u\|^2 + 10^{-10}})`
  2. :math:`Z = U \Sigma V'` without singular values below 1e-4 of the largest; the rows of
     :math:`U \Sigma^{1/2}`, scaled to unit length, have inner products whose fourth powers are the affinity
  3. leading eigenvectors of the normalised affinity, unit rows, k-means

No N x N system is solved. With the thin decomposition X = P S V' of rank q <= k - m + 1 a column is
:math:`z_u = V c_u`, where :math:`c_u = s^2 / (s^2 + \lambda / d_u)` times row u of V, entry by entry; its
residual has the length :math:`|s (c_u - v_u)|`; and U = V U_c where U_c are the left singular vectors of
the q x N matrix of the c_u. Rounds cost O(N q) each. Each is a minimisation of a majorant, so the
objective never rises (with the length taken as :math:`\sqrt{\cdot + 10^{-10}}`).

Microclusters count once each, however many samples they have: the method is defined that way. Giving a
sample twice, or a ``sample_weight``, changes only the order in which equal choices are tried. A
``member_weight`` of 2 is the same as giving that member twice.

Cost: O(N k q) for the decomposition of X, O(N^2 q) for the affinity, O(N^3) for its eigenvectors up to
N = 2,000 and O(N^2) per Lanczos step above; 32 bytes per pair of microclusters.

Where paper and program differ. A program that follows the paper always takes five rounds; so does this one by
default. A comment in it penalises the norm of Z, but its update solves for the squared norm, as here.
Its lambda is 100; here it is 10, which was at least as good as 100 on each of six public ensembles. Below 1
every microcluster explains itself and the affinity approaches the identity.

Missing labels. A member that has no label for a sample adds nothing to the sample's column x_u. Its
direction, not its length, decides in step 2, so a sample with gaps is placed by the labels that it has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from coterie.core.budget import Budget
from coterie.core.params import Real, parameter
from coterie.core.types import FloatArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import require_dense
from coterie.numerics.spectral import leading_embedding, unit_rows
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.cutting import KMEANS_ROUNDS, cut_embedding
from coterie.solvers.partition import Partition

# keeps the weight of a perfectly explained column finite
SMOOTHING = 1e-10
# singular values of Z below this share of the largest are left out
MIN_SINGULAR = 1e-4
# singular values of X below this share of the largest are rounding errors
ROUNDING = 1e-12


@dataclass(eq=False, repr=False, kw_only=True)
class DREC(Method):
    """Dense representation ensemble clustering.

    Writes every microcluster as a mixture of all of them, compares the mixtures by their direction, and
    cuts the resulting graph. Samples that resemble no others may stay unexplained.

    Parameters
    ----------
    lam : float, default 10.0
        Weight of the ridge penalty, positive: the larger, the more similar all mixtures are.
    max_iter : int, default 5
        Rounds of reweighting.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        The affinity of microclusters, in [0, 1].
    sample_residual_ : ndarray, shape (n,)
        Length of the unexplained part of each sample's column of X, relative to the column's length.
        It is large for samples that resemble no others.

    See Also
    --------
    coterie.RSECH : low-rank instead of dense mixtures, learned together with the partition.

    Notes
    -----
    Microclusters count once each: sample weights and repeated samples do not change the affinity.
    A member without a label for a sample adds nothing to that sample.

    Examples
    --------
    >>> from coterie import DREC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = DREC(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.consensus_matrix_.shape
    (3, 3)
    """

    about = MethodInfo(
        name="drec",
        cost="O(N k q + N^2 q) for incidence of rank q, 32 bytes per pair of microclusters",
        paper="J. Zhou, H. Zheng, L. Pan. Ensemble clustering based on dense representation. "
        "Neurocomputing 357, 2019.",
        scaling="quadratic",
        weights=False,
        exact=False,
        random=True,
        grid={"lam": (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)},
    )

    lam: float = parameter(10.0, Real(0.0, closed_low=False))
    max_iter: int = 5
    n_init: int = 100
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        require_dense(ensemble, 32, "The affinity that DREC learns", self.memory_budget)
        once = np.ones(ensemble.n_microclusters)
        problem = Problem.of(ensemble, self.lam)
        mixture = Mixture.start(problem)
        history: list[Pass] = []
        for _ in range(self.max_iter):
            mixture = mixture.again(problem)  # 1
            self._add_pass(history, mixture.record(problem))
        affinity = mixture_affinity(problem, mixture)  # 2
        embedding = leading_embedding(affinity, once, self.n_clusters)  # 3
        return replace(
            cut_embedding(self, ensemble, embedding, rng, max_iter=KMEANS_ROUNDS, weights=once),
            converged=True,
            history=history,
            by_sample={"sample_residual_": mixture.residual / problem.lengths},
            by_microcluster={},
            by_pair={"consensus_matrix_": affinity},
        )


@dataclass(frozen=True)
class Problem:
    """X in its thin decomposition.

    Attributes
    ----------
    rows : ndarray, shape (N, q)
        V.
    squares : ndarray, shape (q,)
        Squared singular values s^2 of X, descending.
    lengths : ndarray, shape (N,)
        Lengths of the columns of X.
    lam : float
    """

    rows: FloatArray
    squares: FloatArray
    lengths: FloatArray
    lam: float

    @classmethod
    def of(cls, ensemble: Ensemble, lam: float) -> Self:
        """The problem for an ensemble."""
        share = np.sqrt(ensemble.weight_of_cluster)
        rows, singular, _ = np.linalg.svd(ensemble.incidence.toarray() * share, full_matrices=False)
        some = singular > ROUNDING * singular[0]
        rows, squares = rows[:, some], singular[some] ** 2
        return cls(rows, squares, np.sqrt(rows**2 @ squares), lam)


@dataclass(frozen=True)
class Mixture:
    """The coefficients of Z = V C, one row per microcluster, and the length of the residuals.

    ``damping`` holds lambda / d of the next round.
    """

    coefficients: FloatArray
    residual: FloatArray
    damping: FloatArray

    @classmethod
    def start(cls, problem: Problem) -> Self:
        """Z = 0 and d = 1."""
        n = len(problem.lengths)
        return cls(np.zeros_like(problem.rows), problem.lengths, np.full(n, problem.lam))

    def again(self, problem: Problem) -> Mixture:
        """Step 1: one round."""
        kept = problem.squares / (problem.squares + self.damping[:, None])
        residual = np.sqrt((1.0 - kept) ** 2 * problem.rows**2 @ problem.squares)
        damping = 2.0 * problem.lam * np.sqrt(residual**2 + SMOOTHING)
        return Mixture(kept * problem.rows, residual, damping)

    def record(self, problem: Problem) -> Pass:
        """The record of a round for the history."""
        unexplained = float(np.sqrt(self.residual**2 + SMOOTHING).sum())
        size = float((self.coefficients**2).sum())
        return {
            "objective": unexplained + problem.lam * size,
            "residual": unexplained / float(problem.lengths.sum()),
        }


def mixture_affinity(problem: Problem, mixture: Mixture) -> FloatArray:
    """Step 2: fourth powers of the cosines between the rows of U Sigma^(1/2)."""
    _, singular, right = np.linalg.svd(mixture.coefficients, full_matrices=False)
    kept = singular > MIN_SINGULAR * singular[0]
    units = unit_rows(problem.rows @ (right[kept].T * np.sqrt(singular[kept])))
    affinity = units @ units.T
    affinity *= affinity
    affinity *= affinity
    return affinity
