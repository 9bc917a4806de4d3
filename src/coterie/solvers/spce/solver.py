r"""SPCE: self-paced clustering ensemble, pairs from easy to hard.

The connectivity matrix :math:`S^{(i)}` of member i is one where i puts a pair together, else zero. SPCE
learns a consensus matrix S that is close to these matrices and has c connected components. Members far from
S count less: member i counts :math:`1 / \alpha_i`, with the dispersion alpha. Pairs on which members disagree
count less too: they have small weights W, which grow with the age lambda of the model. The objective (10) of
the paper, with the rank term as in (14), is

.. math::

    \sum_i \frac{1}{\alpha_i} \|(S - S^{(i)}) \odot W\|^2 - \lambda \|W\|_1 + \gamma \|S\|_0
    + 2 \rho \, \mathrm{tr}(F' L F), \qquad \sum_i \alpha_i = 1.

S lies in [0, 1]; it is one where all members join a pair, and zero where none does. W lies in [0, 1], F is
orthonormal, L is the Laplacian of S, and :math:`\gamma = (\theta m)^2`.

Stages r = 0.9, 0.8, 0.7, 0.6, 0.5
  1. age, (23): :math:`\lambda = 2 m^2 r (1 - r)`. Pairs on which the share r of the members agree then
     have full weight
  2. W, (13): :math:`\min(\lambda / (2B), 1)` with :math:`B = a S^2 - 2 S U + U`, where
     :math:`U = \sum_i S^{(i)} / \alpha_i` and :math:`a = \sum_i 1 / \alpha_i`
Steps of a pass
  3. S, (16) and (17): :math:`C = (U - \rho G / (2 W^2)) / a` with :math:`G_{uv} = |F_u - F_v|^2`, kept
     where it exceeds :math:`\sqrt{\tau} = \sqrt{\gamma / a} / W`, else zero
  4. F and rho, (18) and lines 10 to 16 of Algorithm 1: :class:`coterie.numerics.laplacian.RankTerm`; rho
     doubles while S has fewer than c components and halves while it has more
  5. alpha, (21): :math:`\alpha_i \propto \|(S - S^{(i)}) \odot W\|`
A stage ends when S has c components, from its second pass on, or after its maximum number of passes.

Each of steps 2 to 5 minimises the objective in its own variables. So the objective never rises within a
stage while rho stays the same.

On microclusters all matrices are constant on blocks. S, W and F have one row per microcluster, and a
pair counts r_u r_v times in every sum. U is computed row by row from lists of the microclusters in each
base cluster, so no member's matrix is formed.

Cost of a pass: O(N^2 c) and the pairs that each member joins (with missing labels O(N^2 (m + c))),
and at most one factorisation of an N x N matrix in single precision (none where the components give
F); 24 bytes per pair of microclusters, less if n_clusters is much smaller than N.

Where paper and program differ. The paper repeats a stage until convergence. Here, as in the program, a stage
takes at least two passes and at most 5, or 20 in the last stage. While S has more than c components, F stays
the same, as in the program. The program tests the rank by eigenvalue tolerances and returns as many clusters
as S has components. Here components are counted, and exactly n_clusters clusters are returned. A member equal
to S would divide by zero; here its alpha is at least a millionth of the mean. If C equals the threshold up to
rounding, keeping and cutting the link cost the same; here it is cut.

Missing labels
  - The terms of a pair are averaged over the members that saw both samples: they are scaled by m over the
    number of these members. Otherwise pairs that few members saw would count less and look easier.
  - A member's disagreement is averaged over the pairs that it saw: :math:`\sum_i h_i \alpha_i = 1`, with the
    share h of these pairs.
  - S is fixed at one only if all members saw the pair and join it. If the few that saw it were enough, such
    pairs would chain clusters together.
  - A pair that no member saw has weight zero and no link.
A ``member_weight`` of 2 is the same as giving that member twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import GRANTED, Budget
from coterie.core.params import Choice, Integer, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import bytes_of_coassociation, coassociation, require_dense
from coterie.numerics.laplacian import RankTerm, rank_bytes
from coterie.numerics.row_ranges import over_rows
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition
from coterie.solvers.spce.kernels import cover, learn, weigh

# tenths, because 0.9 - 4 * 0.1 is not 0.5 in floating point
STAGES = (9, 8, 7, 6, 5)
MIN_DISPERSION = 1e-6
# rows per block, so that no second N x N array is needed
ROW_BLOCK = 256


@dataclass(eq=False, repr=False, kw_only=True)
class SPCE(Method):
    """Self-paced clustering ensemble.

    Learns a sparse consensus matrix with one connected component per cluster. Pairs of samples on
    which the members agree lead, disputed ones follow as the model matures.

    Parameters
    ----------
    theta : float, default 0.2
        Links weaker than about this share of the members are cut, in [0, 1). Too large a value leaves
        more components than clusters, a small one leaves all the cutting to the rank term.
    self_paced : True, False or "fixed", default True
        Whether pair weights follow the model; False gives every pair weight one, "fixed" keeps the
        weights of the first stage.
    max_iter : int, default 20
        Maximum number of passes in the last stage.
    max_iter_stage : int, default 5
        Maximum number of passes in each of the four stages before it.
    tol : float, default 1e-6
        The last stage also ends where there are too many components and a pass changes the
        consensus matrix by less than this share: more passes would not join them.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        S on microclusters, in [0, 1]; its components are the clusters.
    pair_weights_ : ndarray, shape (N, N)
        W on microclusters, in (0, 1]: how much each pair counts; 0 where no member saw both.
    sample_easiness_ : ndarray, shape (n,)
        Mean weight of each sample's pairs; samples that the members dispute have small values.
    residual_ : float
        Relative change of the consensus matrix in the last pass.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the plain co-association.

    Notes
    -----
    Records of ``history_`` hold the stage r, the penalty rho and the component count of a pass, and
    the objective before and after it.

    Examples
    --------
    >>> from coterie import SPCE
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = SPCE(n_clusters=2).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.consensus_matrix_.shape, model.n_components_
    ((3, 3), 2)
    """

    about = MethodInfo(
        name="spce",
        cost="O(N^2 (m + c)) per pass, 24 bytes per pair of microclusters",
        paper="P. Zhou, L. Du, X. Liu, Y.-D. Shen, M. Fan, X. Li. Self-paced clustering ensemble. "
        "IEEE Transactions on Neural Networks and Learning Systems 32, 2021.",
        scaling="quadratic",
        grid={"theta": tuple(k / 10 for k in range(10))},
    )

    theta: float = parameter(0.2, Real(0.0, 1.0, closed_high=False))
    self_paced: bool | str = parameter(True, Choice((True, False, "fixed")))
    max_iter: int = parameter(20, Integer(2))
    max_iter_stage: int = parameter(5, Integer(1))
    tol: float = 1e-6
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        beside = rank_bytes(ensemble.n_microclusters, self.n_clusters)
        bytes_per_pair = max(16 + beside, bytes_of_coassociation(ensemble))
        purpose = "The consensus matrix that SPCE learns"
        require_dense(ensemble, bytes_per_pair, purpose, self.memory_budget)
        problem = Problem.of(ensemble, self.n_clusters, self.theta)
        state = start(problem, ensemble)
        # no pass can join parts that no member joins
        n_parts = state.rank.n_components
        history: list[Pass] = []
        for tenth in STAGES:
            grow(problem, state, tenth)  # 1
            if self.self_paced is True or tenth == STAGES[0]:
                weigh_pairs(problem, state, paced=self.self_paced is not False)  # 2
            last = tenth == STAGES[-1]
            for turn in range(self.max_iter if last else self.max_iter_stage):
                before = objective(problem, state)
                learn_consensus(problem, state)  # 3
                state.rank = state.rank.follow(state.consensus)  # 4
                weigh_members(problem, state)  # 5
                self._add_pass(history, record(problem, state, before))
                state.rho = state.rank.penalty
                if turn > 0 and (state.rank.satisfied or (last and self._stuck(state))):
                    break
        rank = state.rank
        rank.release()
        return Partition(
            rank.component_labels,
            member_weights=problem.prior / state.alpha,
            converged=rank.satisfied,
            history=history,
            advice=self._advice(n_parts, rank),
            similarity=state.consensus,
            embedding=rank.embedding,
            by_sample={"sample_easiness_": easiness(problem, state)},
            by_pair={"consensus_matrix_": state.consensus, "pair_weights_": state.pair_weights},
        )

    def _stuck(self, state: State) -> bool:
        return state.rank.n_components > self.n_clusters and state.change < self.tol

    def _advice(self, n_parts: int, rank: RankTerm) -> str:
        if n_parts > self.n_clusters:
            return f"No member links {n_parts} parts of the data: ask for that many clusters."
        if rank.n_components > self.n_clusters:
            return f"Lower theta (now {self.theta:g}), or ask for more clusters."
        return "Raise max_iter or theta."


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: labels, multiplicities, and the weights of the members.

    Attributes
    ----------
    base : tuple of ndarray
        The base cluster of each microcluster in each member (N x m, numbered over all members, -1
        where missing); starts and rows, base cluster q holding the microclusters
        ``rows[starts[q]:starts[q + 1]]``.
    by_member : ndarray, shape (m, N)
        The labels of the microclusters, -1 where missing.
    complete : bool
        Whether none is missing.
    weights : ndarray, shape (N,)
        Multiplicities r.
    prior, coverage : ndarray, shape (m,)
        How often each member counts, and its share h of the pairs seen, one if it saw all of them.
    n_votes : float
        m, counted with the prior.
    """

    base: tuple[IntArray, IntArray, IntArray]
    by_member: NDArray[np.int32]
    complete: bool
    weights: FloatArray
    prior: FloatArray
    coverage: FloatArray
    n_votes: float
    n_clusters: int
    gamma: float

    @property
    def fixed(self) -> tuple[Any, ...]:
        """The constant arguments of every kernel."""
        return self.base, self.by_member, self.weights, self.prior

    @classmethod
    def of(cls, ensemble: Ensemble, n_clusters: int, theta: float) -> Self:
        """The problem for an ensemble."""
        prior = ensemble.member_weight
        n_votes = float(prior.sum())
        weights = ensemble.sizes
        labels, by_cluster = ensemble.labels, ensemble.incidence.tocsc()
        base = (
            ensemble.base_clusters,
            by_cluster.indptr.astype(np.int64),
            by_cluster.indices.astype(np.int32),
        )
        by_member = np.ascontiguousarray(labels.T)
        coverage = np.ones(ensemble.n_members)
        if not ensemble.is_complete:
            covered = np.zeros(labels.shape)
            over_rows(cover, (base, by_member, weights, prior), covered)
            coverage = covered.sum(axis=0)
            coverage *= n_votes / (prior @ coverage)
        return cls(
            base=base,
            by_member=by_member,
            complete=ensemble.is_complete,
            weights=weights,
            prior=prior,
            coverage=coverage,
            n_votes=n_votes,
            n_clusters=n_clusters,
            gamma=(theta * n_votes) ** 2,
        )


@dataclass
class State:
    """Variables of the iteration: S, W, alpha, lambda, rho and F, and the sums that make up the objective.

    ``rank`` holds the rho of the next pass, ``rho`` that of the current one. ``disagreement`` holds
    |(S - S^(i)) . W|^2 of each member, ``mass`` the sum of W, ``n_links`` the links of S,
    ``change`` the relative change of S in the current pass.
    """

    consensus: FloatArray
    pair_weights: FloatArray
    alpha: FloatArray
    rank: RankTerm
    disagreement: FloatArray
    stage: float = 0.0
    age: float = 0.0
    rho: float = 1.0
    mass: float = 0.0
    n_links: float = 0.0
    change: float = np.inf


def start(problem: Problem, ensemble: Ensemble) -> State:
    """S = co-association, alpha = 1/m, rho = 1, as in Section III-E."""
    consensus = coassociation(ensemble, memory_budget=GRANTED)
    linked = problem.weights @ _sums_over(consensus, problem.weights, linked=True)
    return State(
        consensus=consensus,
        pair_weights=np.empty_like(consensus),
        alpha=np.full(len(problem.prior), 1.0 / problem.n_votes),
        rank=RankTerm.start(consensus, problem.weights, problem.n_clusters),
        disagreement=np.zeros(len(problem.prior)),
        n_links=float(linked),
    )


def grow(problem: Problem, state: State, tenth: int) -> None:
    """Step 1, eq. (23)."""
    state.stage = tenth / 10.0
    state.age = 2.0 * problem.n_votes**2 * state.stage * (1.0 - state.stage)


def weigh_pairs(problem: Problem, state: State, paced: bool) -> None:
    """Step 2, eq. (13); without pace every pair that a member saw weighs one."""
    mass = np.zeros(len(problem.weights))
    disagreement = np.zeros(problem.by_member.T.shape)
    age = state.age if paced else np.inf
    moving = (problem.prior / state.alpha, age, state.consensus, state.pair_weights)
    over_rows(weigh, problem.fixed, problem.complete, moving, disagreement, mass)
    state.mass = float(mass.sum())
    state.disagreement = disagreement.sum(axis=0)


def learn_consensus(problem: Problem, state: State) -> None:
    """Step 3, eq. (16) and (17)."""
    sums = np.zeros((len(problem.weights), 3))
    disagreement = np.zeros(problem.by_member.T.shape)
    penalties = (state.rho, problem.gamma)
    embedding = np.ascontiguousarray(state.rank.embedding)
    moving = (
        problem.prior / state.alpha,
        penalties,
        embedding,
        state.pair_weights,
        state.consensus,
    )
    over_rows(learn, problem.fixed, problem.complete, moving, disagreement, sums, falling=True)
    changed, total, linked = sums.sum(axis=0)
    state.change = float(np.sqrt(changed / total))
    state.n_links = float(linked)
    state.disagreement = disagreement.sum(axis=0)
    if not np.isfinite(state.change) or not np.isfinite(state.disagreement).all():
        raise FloatingPointError("SPCE: the consensus step (17) gave numbers that are not finite")


def weigh_members(problem: Problem, state: State) -> None:
    """Step 5, eq. (21)."""
    dispersion = np.sqrt(state.disagreement / problem.coverage)
    mean = dispersion.mean()
    dispersion = (
        np.maximum(dispersion, MIN_DISPERSION * mean) if mean > 0 else np.ones_like(dispersion)
    )
    state.alpha = dispersion / (problem.prior * problem.coverage @ dispersion)


def objective(problem: Problem, state: State) -> float:
    """Eq. (10) for the current age and rho, the rank term as in (14)."""
    fit = problem.prior / state.alpha @ state.disagreement
    sparsity = problem.gamma * state.n_links
    return float(fit - state.age * state.mass + sparsity + 2.0 * state.rho * state.rank.trace)


def record(problem: Problem, state: State, before: float) -> Pass:
    """The record of a pass for the history."""
    return {
        "objective": objective(problem, state),
        "objective_before": before,
        "residual": state.change,
        "stage": state.stage,
        "penalty": state.rho,
        "n_components": state.rank.n_components,
    }


def easiness(problem: Problem, state: State) -> FloatArray:
    """Mean weight of the pairs of each microcluster's samples that a member saw."""
    seen = _sums_over(state.pair_weights, problem.weights, linked=True)
    return _sums_over(state.pair_weights, problem.weights, linked=False) / seen


def _sums_over(matrix: FloatArray, weights: FloatArray, *, linked: bool) -> FloatArray:
    """Weighted row sums of the entries, or of the positive ones as 1, without a second N x N array."""
    blocks = [matrix[begin : begin + ROW_BLOCK] for begin in range(0, len(matrix), ROW_BLOCK)]
    return np.concatenate([(block > 0 if linked else block) @ weights for block in blocks])
