r"""TRCE: consensus by graph learning that is robust at three levels.

Member k is a random walk :math:`A^{(k)}`: from a sample to a random one of its own cluster. Learn a
walk A with c connected components that explains all of them up to a noise E whose rows sum to zero.
Members far from the others count less (weights alpha), so do samples on which members disagree
(weights w), and links that few members have end up in E. With B = A + E the objective (4) of the paper is

.. math::

    \sum_k \alpha_k \sum_i w_i^2 \, \mathrm{KL}(A^{(k)}_i \,\|\, B_i) + \lambda \|E\|^2
    - \gamma \|w\|_1 + 2 \rho \, \mathrm{tr}(F' L F), \qquad \sum_k 1 / \alpha_k = 1,

over row-stochastic A and B, 0 <= w <= 1 and orthonormal F, where L is the Laplacian of (A + A')/2.

Steps of a pass
  1. w, (6): :math:`w_i = \min(\gamma / (2 b_i), 1)` with the difficulty
     :math:`b_i = \sum_k \alpha_k \mathrm{KL}(A^{(k)}_i \| B_i)`
  2. B, (7) and (10): :math:`B_{ij} = H_{ij} / (\rho G_{ij} + \theta_i)` with
     :math:`H_{ij} = w_i^2 \sum_k \alpha_k A^{(k)}_{ij}` and :math:`G_{ij} = |F_i - F_j|^2`; theta
     makes the row sum to one, found by Newton steps on the reciprocal of the sum
  3. A and E, (11): rows of :math:`B - \rho G / (2 \lambda)` projected on the simplex; E = B - A
  4. F and rho, (12): :class:`coterie.numerics.laplacian.RankTerm`; rho doubles while A has fewer
     than c components and halves while it has more
  5. alpha, (16): :math:`\alpha_k \propto 1 / \sqrt{o_k}` with
     :math:`o_k = \sum_i w_i^2 \mathrm{KL}(A^{(k)}_i \| B_i)`
  6. the age gamma grows by a tenth; stop at c components, from the second pass on

Steps 1, 3, 5 and a new F each minimise (4) in their own variables. Step 2 minimises over B with E held
and, as in the paper, ignores that A = B - E must not be negative; step 3 restores this. A pass as a
whole need not lower (4), and gamma and rho change it anyway.

On microclusters a column counts r_j times, in the sums of step 2 and in the simplex of step 3. A
row of member k is constant on its cluster of s samples, so KL is
:math:`-\log s - \tfrac{1}{s} \sum_j r_j \log B_{ij}` over it: no member's matrix is formed.

Cost of a pass: O(N^2 c), the pairs that each member joins, and at most one factorisation of an N x N
matrix in single precision (none where the components give F); 20 bytes per pair of microclusters,
for A and E at the end. During the passes E is not kept, and B is computed row by row.

Where paper and program differ. In (8) and (11) of the paper the coefficient must be lambda, not the age;
below (13), o_k must divide by A + E. The program takes b from the last member alone, so that its answer
depends on the order of the members; here b is the sum of (5). The paper starts the age at 1, whatever the
scale; here as in the program it starts at twice the difficulty of the easiest tenth of the samples.
The program tests the rank by eigenvalue tolerances and returns the components it has after ten
passes; here components are counted and exactly n_clusters clusters returned. Without member level the
paper sets alpha = 1, which breaks its constraint; here alpha keeps its equal start.

Missing labels. A member gives no evidence about a sample it did not label. A sample's evidence is averaged
over the members that saw it (H_i and b_i times m / m_i), a member's disagreement over the samples
it saw (sum_k q_k / alpha_k = 1 with the share q_k of samples). A ``member_weight`` of 2 is the same
as giving that member twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Choice, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import require_dense, transitions
from coterie.numerics.laplacian import RankTerm, rank_bytes
from coterie.numerics.row_ranges import over_rows
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition
from coterie.solvers.trce.kernels import learn_rows, member_divergences, noise_rows

AGE_GROWTH = 1.1
# a divergence this small, in nats, is a rounding error: the sample or the member agrees
NO_DIVERGENCE = 1e-12


@dataclass(eq=False, repr=False, kw_only=True)
class TRCE(Method):
    """Tri-level robust clustering ensemble.

    Learns a sparse graph with one connected component per cluster, while giving less weight to
    members and samples that do not fit and setting aside links that look like noise.

    Parameters
    ----------
    lam : float, default 10.0
        Penalty on noise; useful values are 0.01 to 10. With a small value much counts as noise and the
        graph splits within a few passes, which can go wrong on large inputs. With a large value it
        splits slowly.
    member_level : bool, default True
        Whether members get weights of their own; if False, all count the same.
    instance_level : bool, default True
        Whether hard samples count less at first; if False, all samples count fully.
    graph_level : bool, default True
        Whether noise is set apart from the graph. Without it the graph is dense and its clusters
        come from splitting it by its embedding.
    tol : float or None, default None
        None stops at the first pass, from the second on, whose graph has n_clusters components.
        A number asks in addition that the graph's relative change in that pass is not larger.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        The graph A on microclusters, a walk between single samples: ``A @ ensemble_.weights`` is 1.
        Its components, direction ignored, are the clusters.
    noise_ : ndarray, shape (N, N)
        E; ``consensus_matrix_ + noise_`` is the walk that explains the members.
    instance_weights_ : ndarray, shape (n,)
        w, in (0, 1]: how much each sample counts; hard ones have small weights.
    residual_ : float
        Relative change of the graph in the last pass.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the plain co-association.

    Examples
    --------
    >>> from coterie import TRCE
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = TRCE(n_clusters=2).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.instance_weights_.round(2).tolist()
    [1.0, 1.0, 0.29, 1.0, 1.0, 1.0]
    """

    about = MethodInfo(
        name="trce",
        cost="O(N^2 (m + c)) per pass, 20 bytes per pair of microclusters",
        paper="P. Zhou, L. Du, Y.-D. Shen, X. Li. Tri-level robust clustering ensemble with "
        "multiple graph learning. AAAI Conference on Artificial Intelligence, 2021.",
        scaling="quadratic",
        grid={"lam": tuple(10.0**power for power in range(-5, 6))},
    )

    lam: float = parameter(10.0, Real(0.0, closed_low=False, closed_high=False))
    member_level: bool = parameter(True, Choice((True, False)))
    instance_level: bool = parameter(True, Choice((True, False)))
    graph_level: bool = parameter(True, Choice((True, False)))
    max_iter: int = 30
    tol: float | None = parameter(None, Real(0.0, optional=True))
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        beside = rank_bytes(ensemble.n_microclusters, self.n_clusters)
        # A and E at the end, A and what F needs before; measured with the working memory of the factor: 16
        # to 21 bytes (benchmarks/bounds.py, benchmarks/many_rows.py)
        bytes_per_pair = 8 + max(beside, 12)
        require_dense(ensemble, bytes_per_pair, "The graph that TRCE learns", self.memory_budget)
        problem = Problem.of(ensemble, self)
        state = start(problem, ensemble)
        # if no member links more than c parts to each other, F keeps them apart in every pass
        beyond_reach = state.rank.n_components > self.n_clusters
        history: list[Pass] = []
        converged = False
        while len(history) < self.max_iter and not converged:
            weigh_instances(problem, state)  # 1
            learn_graph(problem, state)  # 2, 3
            state.rank = state.rank.follow(state.graph)  # 4
            weigh_members(problem, state)  # 5
            self._add_pass(history, record(problem, state))
            settled = self.tol is None or state.change <= self.tol
            converged = len(history) > 1 and state.rank.satisfied and settled
            if beyond_reach and len(history) > 1:
                break
            state.age *= AGE_GROWTH  # 6
        rank = state.rank
        rank.release()
        return Partition(
            rank.component_labels,
            member_weights=problem.prior * state.alpha,
            converged=converged,
            history=history,
            advice=self._advice(rank, beyond_reach),
            similarity=state.graph,
            embedding=rank.embedding,
            by_sample={"instance_weights_": state.instance_weights},
            by_pair={"consensus_matrix_": state.graph, "noise_": noise(problem, state)},
        )

    def _advice(self, rank: RankTerm, beyond_reach: bool) -> str:
        if beyond_reach:
            return f"No member links the {rank.n_components} parts: ask for that many clusters."
        if rank.satisfied:
            return "Raise tol."
        if not self.graph_level:
            return "Without graph_level the graph stays dense, so this is to be expected."
        return "Raise max_iter, or try another lam between 0.01 and 10."


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: the members as lists of microclusters by base cluster, weights and settings.

    Attributes
    ----------
    weights : ndarray, shape (N,)
        Multiplicities r.
    base : tuple of ndarray
        The base cluster of each microcluster in each member (N x m, numbered over all members, -1
        where missing); starts and rows, base cluster q holding the microclusters
        ``rows[starts[q]:starts[q + 1]]``; and the samples in each base cluster.
    prior, shares : ndarray, shape (m,)
        How often each member counts, and the share q of the samples that it saw.
    coverage : ndarray, shape (N,)
        m / m_i, all members over those that saw the sample.
    """

    settings: TRCE
    weights: FloatArray
    base: tuple[IntArray, IntArray, IntArray, FloatArray]
    prior: FloatArray
    shares: FloatArray
    coverage: FloatArray

    @classmethod
    def of(cls, ensemble: Ensemble, settings: TRCE) -> Self:
        """The problem for an ensemble."""
        seen = ensemble.observed
        weights = ensemble.sizes
        prior = ensemble.member_weight
        by_cluster = ensemble.incidence.tocsc()
        return cls(
            settings=settings,
            weights=weights,
            base=(
                ensemble.base_clusters,
                by_cluster.indptr.astype(np.int64),
                by_cluster.indices.astype(np.int64),
                ensemble.cluster_sizes,
            ),
            prior=prior,
            shares=(weights[:, None] * seen).sum(axis=0) / weights.sum(),
            coverage=prior.sum() / (prior * seen).sum(axis=1),
        )


@dataclass
class State:
    """Variables of the iteration: A, members' divergences from B (times coverage), w, alpha, gamma, F.

    ``rank`` holds the rho of the next pass, ``rho`` that of the current one; ``change`` is the
    relative change of A in the current pass, ``noise`` the squared norm of E, ``learned_from`` the
    arguments from which the rows of B can be computed again.
    """

    graph: FloatArray
    divergence: FloatArray
    instance_weights: FloatArray
    alpha: FloatArray
    age: float
    rank: RankTerm
    rho: float = 1.0
    change: float = np.inf
    noise: float = 0.0
    learned_from: tuple[Any, ...] = ()


def start(problem: Problem, ensemble: Ensemble) -> State:
    """A = B = mean of the members' walks, equal member weights, full sample weights, rho = 1."""
    n, m = problem.base[0].shape
    alpha = np.full(m, float(np.sum(problem.prior * problem.shares)))
    graph = transitions(ensemble, memory_budget=GRANTED)
    state = State(
        graph=graph,
        divergence=np.empty((n, m)),
        instance_weights=np.ones(n),
        alpha=alpha,
        age=0.0,
        rank=RankTerm.start(graph, problem.weights, problem.settings.n_clusters, symmetric=False),
    )
    over_rows(
        member_divergences,
        problem.base,
        problem.weights,
        problem.coverage,
        graph,
        state.divergence,
    )
    refuse_divergence(state)
    state.age = first_age(difficulties(problem, state), problem)
    return state


def refuse_divergence(state: State) -> None:
    """Raise FloatingPointError if B is not finite, or is zero on a link of a member."""
    if not np.isfinite(state.divergence).all():
        raise FloatingPointError(
            f"TRCE, step 2 (rows of B): non-finite numbers at rho = {state.rho:g}; lower max_iter "
            "or raise lam"
        )


def difficulties(problem: Problem, state: State) -> FloatArray:
    """The difficulty b of each microcluster, (5)."""
    return np.asarray((state.divergence * (problem.prior * state.alpha)).sum(axis=1))


def first_age(difficulty: FloatArray, problem: Problem) -> float:
    """Twice the difficulty that a tenth of the samples do not exceed.

    Where that tenth agrees fully, the smallest positive difficulty is taken instead: an age of 0
    would leave every other sample without weight.
    """
    order = np.argsort(difficulty, kind="stable")
    reached = np.cumsum(problem.weights[order])
    tenth = reached[-1] / 10
    value = difficulty[order[np.searchsorted(reached, np.floor(tenth) if tenth >= 1 else tenth)]]
    negligible = NO_DIVERGENCE * np.sum(problem.prior) ** 2
    if value <= negligible:
        value = difficulty[difficulty > negligible].min(initial=np.inf)
    return float(2.0 * value) if np.isfinite(value) else 1.0


def weigh_instances(problem: Problem, state: State) -> None:
    """Step 1, (6)."""
    if not problem.settings.instance_level:
        return
    difficulty = difficulties(problem, state)
    state.instance_weights = state.age / np.maximum(2.0 * difficulty, state.age)


def learn_graph(problem: Problem, state: State) -> None:
    """Steps 2 and 3, (10) and (11): row by row B, then A, which overwrites the old one."""
    state.rho = state.rank.penalty
    state.learned_from = (
        problem.prior * state.alpha,
        state.instance_weights**2 * problem.coverage,
        np.ascontiguousarray(state.rank.embedding.T),
        state.rho,
        state.rho / (2.0 * problem.settings.lam),
    )
    sums = np.empty((len(problem.weights), 3))
    over_rows(
        learn_rows,
        problem.base,
        problem.weights,
        (problem.coverage, problem.settings.graph_level),
        state.learned_from,
        state.graph,
        state.divergence,
        sums,
    )
    refuse_divergence(state)
    change, before, state.noise = (float(total) for total in sums.sum(axis=0))
    state.change = float(np.sqrt(change / before))


def noise(problem: Problem, state: State) -> FloatArray:
    """E of the last pass."""
    if not problem.settings.graph_level:
        return np.zeros_like(state.graph)
    out = np.empty_like(state.graph)
    over_rows(noise_rows, problem.base, problem.weights, state.learned_from, state.graph, out)
    return out


def weigh_members(problem: Problem, state: State) -> None:
    """Step 5, (16), with sum_k q_k / alpha_k = 1."""
    if not problem.settings.member_level:
        return
    influence = problem.weights * state.instance_weights**2
    disagreement = (influence[:, None] * state.divergence).sum(axis=0) / problem.shares
    # a member that agrees fully would take all the weight
    floor = NO_DIVERGENCE * np.sum(influence * problem.coverage)
    root = np.sqrt(np.maximum(disagreement, floor))
    state.alpha = np.sum(problem.prior * problem.shares * root) / root


def record(problem: Problem, state: State) -> Pass:
    """The record of a pass for the history."""
    return {
        "objective": objective(problem, state),
        "residual": state.change,
        "n_components": state.rank.n_components,
        "rho": state.rho,
        "age": state.age,
    }


def objective(problem: Problem, state: State) -> float:
    """(4) at the current point."""
    weights, w = problem.weights, state.instance_weights
    fit = np.sum(weights * w**2 * difficulties(problem, state))
    paced = state.age * np.sum(weights * w)
    return float(
        fit + problem.settings.lam * state.noise - paced + 2.0 * state.rho * state.rank.trace
    )
