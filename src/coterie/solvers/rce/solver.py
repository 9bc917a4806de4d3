r"""RCE: robust clustering ensemble, a low-rank consensus of cleaned members.

Member i says of every pair whether it belongs together, :math:`A^{(i)}_{pq}` in {0, 1}. A few of these
answers are wrong, so sparse errors :math:`E^{(i)}` are subtracted. The consensus X, the probability that a
pair belongs together, should be near all cleaned members and have low rank:

.. math::

    \min_{X, E} \; \sum_i \sum_{pq} \mathrm{KL}(X_{pq} \,\|\, A^{(i)}_{pq} - E^{(i)}_{pq})
    + \lambda_1 \sum_i \|E^{(i)}\|_1 + \lambda_2 \|X\|_*

with X and A - E in [0, 1], E symmetric, KL the divergence of two coin tosses. The nuclear norm is handled by
:math:`T = (X X' + \mu I)^{-1/2}`, :math:`\mu = 10^{-3}`, held fixed for a pass.

Steps of a pass
  1. E in closed form: what is subtracted from a one is
     :math:`e(s) = (1 + \lambda_1 - \sqrt{(1 - \lambda_1)^2 + 2 \lambda_1 s}) / (2 \lambda_1)` for
     :math:`s = X_{pq} + X_{qp}`, and what is added to a zero is :math:`e(2 - s)`
  2. X by multiplicative steps. With :math:`C = \sum_i \log \frac{1 - A^{(i)} + E^{(i)}}{A^{(i)} - E^{(i)}}`
     and :math:`\lambda_2 T`, both split into positive and negative parts :math:`C^\pm, D^\pm`, x
     becomes the positive root of :math:`g x^2 + b x - h`, where
     :math:`g = 2m/x + 2m/(1 - x) + (C^+ + 2 D^+ X)/x`, :math:`b = m \log \frac{x}{1 - x} - 2m/(1 - x)` and
     :math:`h = (C^- + 2 D^- X) x`. An entry that is 0 or 1 does not change
  3. T, from the eigenvectors of X X'
Then the leading eigenvectors of the normalised (X + X')/2, rows of unit length, and the partition by the
rotation that fits best (:mod:`coterie.numerics.discretise`). X starts as the co-association and T as zero.

No member's matrix is formed. An answer is 0 or 1, so a pair has two errors, not m, and
:math:`C = K \log \frac{e(s)}{1 - e(s)} + (m - K) \log \frac{1 - e(2 - s)}{e(2 - s)}` with the number K of
members that join it: neither memory nor time depends on m.

On microclusters. X is constant on blocks; T is constant on blocks except on its diagonal. With
:math:`M = R^{-1/2} (\hat X \hat X' + \mu I)^{-1/2} R^{-1/2}`, :math:`\hat X = R^{1/2} X R^{1/2}` and the
multiplicities r, T is :math:`M_{ab}` between two microclusters, and within one it is
:math:`M_{aa} - \mu^{-1/2} / r_a` off the diagonal and :math:`M_{aa} + \mu^{-1/2} (1 - 1 / r_a)` on it. Its
parts are split entry by entry, then summed over each block, so every step is that of the n samples.

Cost of a pass: O(N^3): an eigendecomposition and two N x N products per multiplicative step; 104 bytes
per pair of microclusters, 112 with missing labels.

Where paper and program differ. The formulas are the same. The program always takes 20 passes of 20 steps.
Here the steps of a pass end when a step changes every entry by at most a tenth of ``tol``, and the passes
end when a pass changes every entry by less than ``tol``; ``tol=0`` takes all, as the program. The program
draws one random start of the rotation, and its scores are means over ten draws; here the best of ``n_init``
is kept. The paper chooses both parameters among 81 settings by the true labels, and scores failures as zero.

Missing labels. A pair's terms run over the members that saw both samples: m and K are counted pair by pair. A
pair that no member saw has X = 0. Samples with the same labels have X = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import STRENGTH, Integer, Real, parameter
from coterie.core.types import FloatArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import require_dense, share, weighted_coassociation
from coterie.numerics.discretise import best_discretisation
from coterie.numerics.eigen import eigenpairs
from coterie.numerics.spectral import leading_embedding
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition
from coterie.solvers.rce.kernels import approach, clean

# mu, keeps the inverse root of X X' finite
SMOOTHING = 1e-3
# tolerance of the steps of a pass, as a share of the tolerance of passes
INNER = 0.1


@dataclass(eq=False, repr=False, kw_only=True)
class RCE(Method):
    """Robust clustering ensemble by Kullback-Leibler divergence.

    Learns the probability that two samples belong together: a matrix of low rank that is close to the
    members after sparse errors are removed. Spectral clustering of that matrix follows.

    Parameters
    ----------
    lam1 : float, default 100.0
        Weight of the errors, positive: the smaller, the more answers may count as errors.
    lam2 : float, default 1.0
        Weight of the nuclear norm, not negative: the larger, the lower the rank of the consensus.
    max_iter_inner : int, default 20
        Maximum number of multiplicative steps per pass.
    tol : float, default 0.01
        The largest change of an entry that ends the passes; 0 takes all of them, as the authors do.
    n_init : int, default 10
        Number of starts of the rotation that gives the clusters.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        X on microclusters, symmetric, in [0, 1].
    objective_ : float
        The objective at X and the best errors for it, after the last pass.
    residual_ : float
        The largest change of an entry of X in the last pass.

    See Also
    --------
    coterie.SPCE : weighs pairs instead of cleaning them.

    Notes
    -----
    The authors stop after a fixed number of passes, so ``converged_`` is always true; ``residual_``
    says how much X still changed. A sample weight of 2 is the same as giving that sample twice, a
    ``member_weight`` of 2 the same as giving that member twice. The evidence on a pair comes from the
    members that saw both samples.

    Examples
    --------
    >>> from coterie import RCE
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = RCE(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), model.converged_
    ([0, 0, 0, 1, 1, 1], True)
    """

    about = MethodInfo(
        name="rce",
        cost="O(N^3) per pass whatever the number of members, 104 bytes per pair of microclusters",
        paper="P. Zhou, L. Du, H. Wang, L. Shi, Y.-D. Shen. Learning a robust consensus matrix "
        "for clustering ensemble via Kullback-Leibler divergence minimization. IJCAI, 2015.",
        scaling="quadratic",
        random=True,
        grid={
            "lam1": tuple(10.0**power for power in range(-4, 5)),
            "lam2": tuple(10.0**power for power in range(-4, 5)),
        },
    )

    lam1: float = parameter(100.0, STRENGTH)
    lam2: float = parameter(1.0, Real(0.0, STRENGTH.high))
    max_iter: int = 20
    max_iter_inner: int = parameter(20, Integer(1))
    tol: float = 0.01
    n_init: int = 10
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        per_pair = 104 if ensemble.is_complete else 112
        require_dense(
            ensemble, per_pair, "The consensus matrix that RCE learns", self.memory_budget
        )
        problem = Problem.of(ensemble, self.lam1, self.lam2)
        state = start(problem)
        clean_members(problem, state)  # 1
        history: list[Pass] = []
        settled = False
        while not settled and len(history) < self.max_iter:
            before = state.consensus.copy()
            n_steps = approach_members(state, problem, self.max_iter_inner, INNER * self.tol)  # 2
            follow_rank(problem, state)  # 3
            clean_members(problem, state)  # 1, of the next pass
            np.subtract(state.consensus, before, out=before)
            change = float(np.abs(before, out=before).max())
            self._add_pass(history, record(problem, state, change, n_steps))
            # the first pass has no rank term yet
            settled = len(history) > 1 and change < self.tol
        consensus = (state.consensus + state.consensus.T) / 2
        embedding = leading_embedding(consensus, problem.weights, self.n_clusters)
        rows = np.sort(rng.permutation(len(embedding))[: self.n_init])
        return Partition(
            best_discretisation(embedding, problem.weights, rows).labels,
            history=history,
            advice="Lower lam2, or ask for fewer clusters.",
            similarity=consensus,
            embedding=embedding,
            by_pair={"consensus_matrix_": consensus},
        )


@dataclass(frozen=True)
class Problem:
    """The constants of the problem.

    Attributes
    ----------
    joined : ndarray, shape (N, N)
        K, members that join each pair, counted with their weights.
    seen : ndarray, shape (N, N) or (1, 1)
        m, members that saw both; one number where all saw all.
    weights, roots : ndarray, shape (N,)
        Multiplicities r and their square roots.
    """

    joined: FloatArray
    seen: FloatArray
    weights: FloatArray
    roots: FloatArray
    lam1: float
    lam2: float

    @classmethod
    def of(cls, ensemble: Ensemble, lam1: float, lam2: float) -> Self:
        """The problem for an ensemble."""
        votes = ensemble.member_weight
        joined = weighted_coassociation(ensemble, votes, memory_budget=GRANTED)
        seen = np.full((1, 1), votes.sum())
        if not ensemble.is_complete:
            observed = ensemble.observed.astype(np.float64)
            seen = (observed * votes) @ observed.T
        weights = ensemble.sizes
        return cls(joined, seen, weights, np.sqrt(weights), lam1, lam2)


@dataclass
class State:
    """The variables of the iteration.

    ``pull`` holds C for the cleaned members, ``away`` and ``towards`` the parts D+ and D- summed over blocks
    (None while T is zero), ``divergence`` the first two terms of the objective and ``nuclear`` the norm.
    """

    consensus: FloatArray
    pull: FloatArray
    away: FloatArray | None = None
    towards: FloatArray | None = None
    divergence: float = 0.0
    nuclear: float = 0.0


def start(problem: Problem) -> State:
    """X = co-association, T = 0."""
    consensus = share(problem.joined, problem.seen)
    np.fill_diagonal(consensus, 1.0)
    return State(consensus, np.empty_like(consensus))


def clean_members(problem: Problem, state: State) -> None:
    """Step 1."""
    both = state.consensus + state.consensus.T
    sums = np.empty(len(both))
    clean(
        state.consensus,
        both,
        problem.joined,
        problem.seen,
        problem.lam1,
        problem.weights,
        state.pull,
        sums,
    )
    state.divergence = float(sums.sum())
    if not np.isfinite(state.divergence):
        raise FloatingPointError("RCE: the errors of step 1 are not finite")


def approach_members(state: State, problem: Problem, max_steps: int, tol: float) -> int:
    """Step 2; returns the number of multiplicative steps taken."""
    consensus = state.consensus
    nothing = np.broadcast_to(0.0, consensus.shape)
    towards = away = nothing
    for step in range(1, max_steps + 1):
        if state.towards is not None and state.away is not None:
            towards, away = state.towards @ consensus, state.away @ consensus
        change = approach(consensus, state.pull, towards, away, problem.seen)
        if change <= tol:
            return step
    return max_steps


def follow_rank(problem: Problem, state: State) -> None:
    """Step 3, with T split into its parts entry by entry and summed over the blocks."""
    weights, roots = problem.weights, problem.roots
    hat = state.consensus * roots
    hat *= roots[:, None]
    squares, vectors = eigenpairs(hat @ hat.T)
    squares = np.maximum(squares, 0.0)
    state.nuclear = float(np.sqrt(squares).sum())
    if problem.lam2 == 0:
        return
    scaled = vectors * (squares + SMOOTHING) ** -0.25
    scaled /= roots[:, None]
    term = problem.lam2 * (scaled @ scaled.T)
    own = np.diag(term).copy()
    alone = problem.lam2 / np.sqrt(SMOOTHING)
    # a weight below one means a single sample
    copies = np.maximum(weights, 1.0)
    off, on = own - alone / copies, own + alone * (1.0 - 1.0 / copies)
    state.away = np.maximum(term, 0.0) * weights
    state.towards = np.maximum(-term, 0.0) * weights
    others = copies - 1.0
    np.fill_diagonal(state.away, others * np.maximum(off, 0.0) + np.maximum(on, 0.0))
    np.fill_diagonal(state.towards, others * np.maximum(-off, 0.0) + np.maximum(-on, 0.0))


def record(problem: Problem, state: State, change: float, n_steps: int) -> Pass:
    """The record of a pass for the history."""
    return {
        "objective": state.divergence + problem.lam2 * state.nuclear,
        "residual": change,
        "steps": n_steps,
    }
