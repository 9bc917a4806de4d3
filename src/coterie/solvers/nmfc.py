r"""NMFC: consensus by non-negative matrix factorisation.

The co-association A of the n samples is factored by

.. math:: \min_{Q \ge 0,\; S \ge 0,\; Q'Q = I} \| A - Q S Q' \|_F^2

with an n x c matrix Q and a diagonal S. Non-negative orthonormal columns do not overlap, so on convergence
Q is an indicator up to scale, and a sample belongs to its largest entry.

Steps of a pass, both multiplicative
  1. :math:`Q \leftarrow Q \circ \sqrt{(A Q S) / (Q Q' A Q S)}`
  2. :math:`S \leftarrow S \circ \sqrt{(Q' A Q) / (Q' Q S Q' Q)}`
with 1e-8 added to the denominators. Starts: ``n_init`` random ones (uniform Q, diagonal uniform S) and one
from the k-means consensus of the label rows (its indicator plus 0.2, scaled to unit columns, and the diagonal
of Q'AQ). Each ends when the objective changes by less than the share ``tol``; the one of smallest objective
is kept. The updates lower a Lagrangian that includes the constraint Q'Q = I, so the objective usually falls,
but not always.

Exactness. A = B V B' with the incidence B of the base clusters and V the members' weights, and A is never
formed. If Q starts equal on identical samples it stays so, and with multiplicities R every product over
samples has an R in it: A Q becomes B V (B' R Q), Q'AQ becomes Q'R A R Q, Q'Q becomes Q'R Q.

Missing labels are zeros in B: A is the share of agreements among all members, whether or not they saw both
samples. It stays positive semidefinite, and samples with few labels have short rows in Q.

Where programs differ from this: a known program labels by the largest entry of :math:`Q S^{1/2}` and has one
random start of 200 passes. *Weighted* consensus clustering by the same authors (2008) learns weights of
the members as well; this is the plain method.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from coterie.core.params import Integer, parameter
from coterie.core.types import FloatArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.contingency import contingency
from coterie.solvers._label_kmeans import kmeans_partition
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition

# added to denominators
GUARD = 1e-8
# entries of the first Q where the k-means partition has a zero
LIFT = 0.2
# starts of that k-means
STARTS = 5
# objectives that differ by less than this share are equally good, and the first start is kept
TIE = 1e-9


@dataclass(eq=False, repr=False, kw_only=True)
class NMFC(Method):
    """Consensus by symmetric non-negative factorisation of the co-association. Linear in N.

    Parameters
    ----------
    n_init : int, default 10
        Number of random starts, in addition to the one from k-means; the factorisation with the
        smallest error is kept.

    Attributes
    ----------
    memberships_ : ndarray, shape (n, n_clusters)
        Q: non-negative, with nearly orthonormal columns, in the order of the factorisation, not of
        ``labels_``.
    scales_ : ndarray, shape (n_clusters,)
        The diagonal of S.
    objective_ : float
        Squared error of the factorisation, over all pairs of samples.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the same matrix.

    Notes
    -----
    A missing label agrees with no other label.

    Examples
    --------
    >>> from coterie import NMFC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = NMFC(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), round(model.objective_, 2)
    ([0, 0, 0, 1, 1, 1], 0.16)
    """

    about = MethodInfo(
        name="nmfc",
        cost="O(N m c + N c^2) per pass, a few hundred passes per start; O(N (m + c)) memory",
        paper="T. Li, C. Ding, M. I. Jordan. Solving consensus and semi-supervised clustering "
        "problems using nonnegative matrix factorization. IEEE International Conference on "
        "Data Mining, 2007.",
        scaling="linear",
        random=True,
    )

    n_init: int = parameter(10, Integer(0))
    max_iter: int = 500
    tol: float = 1e-6
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        problem = Problem.of(ensemble)
        best: Factors | None = None
        for number in range(self.n_init + 1):
            first = (
                start_from_kmeans(problem, ensemble, self.n_clusters, rng)
                if number == 0
                else start_at_random(problem, self.n_clusters, rng)
            )
            factors = follow(problem, first, self.max_iter, self.tol)
            if best is None or factors.objective < best.objective * (1 - TIE):
                best = factors
        assert best is not None
        self._call_back(best.history)
        components = np.argmax(best.Q, axis=1)
        complete = len(np.unique(components)) == self.n_clusters
        return Partition(
            components,
            converged=best.converged,
            history=best.history,
            advice="Raise tol." if complete else "Raise n_init, or ask for fewer clusters.",
            embedding=best.Q,
            by_sample={"memberships_": best.Q},
            other={"scales_": np.diag(best.S).copy()},
        )


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: incidence B, weights of base clusters, multiplicities r, and ||A||^2."""

    incidence: sparse.csr_array
    value: FloatArray
    weights: FloatArray
    square: float

    @classmethod
    def of(cls, ensemble: Ensemble) -> Self:
        """The problem for an ensemble."""
        member = ensemble.member_weight / ensemble.member_weight.sum()
        value = member[ensemble.member_of_cluster]
        shared = contingency(ensemble)
        return cls(
            incidence=ensemble.incidence,
            value=value,
            weights=ensemble.sizes,
            square=float(value @ (shared.power(2) @ value)),
        )

    @cached_property
    def _transposed(self) -> sparse.csc_array:
        """The incidence, transposed once for all passes."""
        return self.incidence.T

    def times(self, Q: FloatArray) -> FloatArray:
        """The rows of A Q."""
        inside = np.asarray(self._transposed @ (self.weights[:, None] * Q))
        return np.asarray(self.incidence @ (self.value[:, None] * inside))


@dataclass(frozen=True)
class Factors:
    """Q and S at the beginning or the end of a start, and the history in between."""

    Q: FloatArray
    S: FloatArray
    history: tuple[Pass, ...] = ()
    converged: bool = False

    @property
    def objective(self) -> float:
        """The squared error after the last pass."""
        return self.history[-1]["objective"]


def start_at_random(problem: Problem, n_clusters: int, rng: np.random.Generator) -> Factors:
    """Uniform Q and diagonal S, bounded away from zero because no update changes a zero."""
    least = np.finfo(np.float64).tiny
    Q = np.maximum(rng.random((len(problem.weights), n_clusters)), least)
    return Factors(Q, np.diag(np.maximum(rng.random(n_clusters), least)))


def start_from_kmeans(
    problem: Problem, ensemble: Ensemble, n_clusters: int, rng: np.random.Generator
) -> Factors:
    """The indicator of the k-means consensus, lifted off zero and scaled to unit columns."""
    labels = kmeans_partition(ensemble, n_clusters, rng, n_init=STARTS)
    Q = np.full((len(problem.weights), n_clusters), LIFT)
    Q[np.arange(len(Q)), labels] += 1.0
    Q /= np.sqrt(problem.weights @ Q**2)
    inside = (problem.weights[:, None] * Q * problem.times(Q)).sum(axis=0)
    return Factors(Q, np.diag(inside))


def follow(problem: Problem, start: Factors, max_iter: int, tol: float) -> Factors:
    """Passes of both updates until the objective settles."""
    r = problem.weights[:, None]
    Q, S = start.Q, start.S
    AQ = problem.times(Q)
    history: list[Pass] = []
    converged = False
    for number in range(1, max_iter + 1):
        pull = AQ @ S
        Q = Q * np.sqrt(pull / (Q @ ((r * Q).T @ pull) + GUARD))  # 1
        AQ = problem.times(Q)
        inside, gram = (r * Q).T @ AQ, (r * Q).T @ Q
        S = S * np.sqrt(inside / (gram @ S @ gram + GUARD))  # 2
        overlap = gram @ S
        error = problem.square - 2.0 * float((inside * S).sum())
        error = max(error + float((overlap * overlap.T).sum()), 0.0)
        if not np.isfinite(error):
            raise FloatingPointError(
                "NMFC: a multiplicative update gave numbers that are not finite"
            )
        change = abs(history[-1]["objective"] - error) / problem.square if history else 1.0
        history.append({"pass": number, "objective": error, "residual": change})
        # relative changes of an error at the level of rounding are meaningless
        if history[1:] and change * problem.square <= max(tol * error, 1e-12 * problem.square):
            converged = True
            break
    return Factors(Q, S, tuple(history), converged)
