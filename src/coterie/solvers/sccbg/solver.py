r"""SCCBG: self-paced consensus clustering with bipartite graph.

Learns a bipartite graph S of n samples and k base clusters, close to the incidence B, that has exactly c
connected parts. With :math:`C = B'B`, the sizes of the overlaps of base clusters,

.. math::

    \min_{S, W, F} \; \| W \circ (S - B) \|_F^2 - \lambda \|W\|_1
    + \gamma \sum_i \sum_{pq} C_{pq} (S_{ip} - S_{iq})^2 W_{ip} W_{iq} + \rho \, \mathrm{tr}(F' L_S F)

over S and W in [0, 1] and F'F = I, with :math:`L_S` the normalised Laplacian of the bipartite graph. A sample
is pulled towards base clusters that overlap with its own. Entries that fit badly get a small weight until
the age :math:`\lambda` has grown.

Start: S = B, W = 0, lambda = 1/2, rho = 1, F from B.

Steps of a pass
  1. W, row by row: :math:`\min w' (\mathrm{diag}((s - b)^2) + \gamma C \circ D) w - \lambda 1'w` with
     :math:`D_{pq} = (s_p - s_q)^2`, a program that need not be convex; coordinates in turn, from the
     current w. Skipped once all entries of W are one.
  2. S, row by row: :math:`\min s' (\mathrm{diag}(w^2) + 2 \gamma (\mathrm{diag}(E 1) - E)) s
     - 2 (w^2 \circ b)'s + \rho h's` with :math:`E = C \circ w w'` and
     :math:`h_p = \|U_i / \sqrt{d_i} - V_p / \sqrt{d_p}\|^2`; convex. Entries below 1e-4 become 0.
  3. F = (U, V): leading singular vectors of the degree-normalised S, times :math:`\sqrt{1/2}`
  4. fewer parts than c: rho doubles; more: rho halves; exactly c: stop. lambda doubles.

Exactness. Rows are independent given C, the column sums and V. With multiplicities R, C is B'RB, the column
sums are r'S, and the singular vectors are those of :math:`R^{1/2} D^{-1/2} S \Delta^{-1/2}`: a microcluster
of weight r gives the same result as r samples. A ``member_weight`` of 2 counts a base cluster's terms twice.

Missing labels. A zero of B in a member that did not label the sample carries no information: such entries
are left out of the first term, and S is free there.

Where paper and program differ, and what is done here
  - The paper mentions the smallest singular values; the program takes the largest, which is correct. Its
    factor 1/2 in h comes from the scale of F.
  - The program compares sums of eigenvalues with c up to 1e-7; here parts are counted. All singular
    vectors that tie with the c-th are taken, with equal shares that make c in total.
  - The program solves the row programs by a general solver. Step 1 has many local minima: which one is found
    depends on the solver. Here coordinates go in turn, and all base clusters are in canonical order.
  - The program returns whatever parts there are after 20 passes; here they are merged or split to c.

Cost: O(N q) per sweep of all row programs for q pairs of base clusters that overlap, some tens of sweeps
per pass; O(N k) memory. No N x k x k array is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from coterie.core.budget import Budget, require
from coterie.core.params import STRENGTH, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.contingency import contingency
from coterie.numerics.row_ranges import over_rows
from coterie.numerics.spectral import BipartiteSpectrum, bipartite_spectrum
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.cutting import bipartite_components
from coterie.solvers.partition import Partition
from coterie.solvers.sccbg.kernels import RowPrograms, learn_rows, pace_rows, row_costs

FIRST_AGE, FIRST_PENALTY = 0.5, 1.0
# entries of S below this become 0
MIN_ENTRY = 1e-4
# a row program is solved when a sweep moves no coordinate by more than this; maximum number of sweeps
ROW_TOL, ROW_SWEEPS = 1e-9, 1000
# squared distance, relative to squared lengths, below which two points of the embedding count as equal
SAME_POINT = 1e-12
# dense arrays of N x k that are alive at once
TABLES = 7


@dataclass(eq=False, repr=False, kw_only=True)
class SCCBG(Method):
    """Self-paced consensus clustering with bipartite graph.

    Learns a graph of samples and base clusters with one connected part per cluster. Entries that fit
    well count from the start, others only later.

    Parameters
    ----------
    gamma : float or None, default None
        How strongly a sample is pulled towards base clusters that overlap with its own. It is
        multiplied by the sizes of overlaps, so a good value depends on the number of samples. None
        takes 1 / (2 n m), for which this term never outweighs the fit to the members.

    Attributes
    ----------
    gamma_ : float
        The value of gamma that was used.
    bipartite_graph_ : ndarray, shape (k, N)
        S transposed: affinity of base clusters and microclusters, in [0, 1], in the order of
        ``ensemble_.incidence``.
    residual_ : float
        Relative change of S in the last pass.

    See Also
    --------
    coterie.CESHL : learns the hypergraph of base clusters, without self-pacing.

    Notes
    -----
    Where a member did not label a sample, its entries of S are free.

    Examples
    --------
    >>> from coterie import SCCBG
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = SCCBG(n_clusters=2).fit(labels)
    >>> model.labels_.tolist(), model.n_components_
    ([0, 0, 0, 1, 1, 1], 2)
    """

    about = MethodInfo(
        name="sccbg",
        cost="O(N q) per sweep for q overlapping pairs of base clusters, O(N k) memory",
        paper="P. Zhou, L. Du, X. Li. Self-paced consensus clustering with bipartite graph. "
        "International Joint Conference on Artificial Intelligence, 2020.",
        scaling="linear",
        grid={"gamma": tuple(10.0**power for power in range(-5, 1))},
    )

    gamma: float | None = parameter(None, Real(0.0, STRENGTH.high, optional=True))
    max_iter: int = 20
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        cells = ensemble.n_microclusters * ensemble.n_base_clusters
        require(
            8.0 * TABLES * cells,
            f"The bipartite graph that SCCBG learns ({ensemble.n_microclusters} distinct rows by "
            f"{ensemble.n_base_clusters} base clusters)",
            "Give fewer members, or members with fewer clusters.",
            self.memory_budget,
        )
        gamma = self.gamma
        if gamma is None:
            # 2 gamma C 1 is then a base cluster's share of the samples, below the weight of the fit
            gamma = 0.5 / float(ensemble.weights.sum() * ensemble.member_weight.sum())
        problem = Problem.of(ensemble, self.n_clusters, gamma, self.memory_budget)
        state = start(problem)
        history: list[Pass] = []
        for _ in range(self.max_iter):
            weigh_entries(problem, state)  # 1
            learn_graph(problem, state)  # 2
            objective = total_cost(problem, state)
            embed(problem, state)  # 3
            self._add_pass(history, record(state, objective))
            if state.n_components == self.n_clusters:
                break
            state.penalty *= 2.0 if state.n_components < self.n_clusters else 0.5  # 4
            state.age *= 2.0
        return Partition(
            state.components,
            converged=state.n_components == self.n_clusters,
            history=history,
            advice=f"Try another gamma (now {gamma:g}), or raise max_iter.",
            embedding=state.spectrum.rows,
            by_base_cluster={"bipartite_graph_": np.ascontiguousarray(state.graph.T)},
            other={"gamma_": gamma},
        )


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: the row programs, B among them, the multiplicities r, and c."""

    programs: RowPrograms
    weights: FloatArray
    n_clusters: int

    @classmethod
    def of(cls, ensemble: Ensemble, n_clusters: int, gamma: float, memory_budget: Budget) -> Self:
        """The problem for an ensemble."""
        value = ensemble.weight_of_cluster
        overlaps = contingency(ensemble, memory_budget=memory_budget).tocoo()
        rows, columns = overlaps.coords
        apart = rows != columns
        data = gamma * overlaps.data * value[rows] * value[columns]
        links = sparse.csr_array((data[apart], (rows[apart], columns[apart])), shape=overlaps.shape)
        links.sort_indices()
        observed = ensemble.observed.astype(np.float64)
        programs = RowPrograms(
            starts=links.indptr,
            ends=links.indices,
            links=links.data,
            seen=observed[:, ensemble.member_of_cluster],
            target=np.asarray(ensemble.incidence.toarray()),
            value=value,
        )
        return cls(programs, ensemble.sizes, n_clusters)


@dataclass
class State:
    """Variables of the iteration: S, W, F, lambda, rho, and the parts of the graph."""

    graph: FloatArray
    pace: FloatArray
    spectrum: BipartiteSpectrum
    components: IntArray
    age: float = FIRST_AGE
    penalty: float = FIRST_PENALTY
    change: float = np.inf

    @property
    def n_components(self) -> int:
        """Number of parts of the graph."""
        return int(self.components.max()) + 1


def start(problem: Problem) -> State:
    """S = B, W = 0."""
    target = problem.programs.target
    return State(
        graph=target.copy(),
        pace=np.zeros_like(target),
        spectrum=spectrum_of(problem, target),
        components=bipartite_components(target),
    )


def weigh_entries(problem: Problem, state: State) -> None:
    """Step 1."""
    if not (state.pace >= 1.0).all():
        over_rows(
            pace_rows, problem.programs, state.age, state.graph, ROW_TOL, ROW_SWEEPS, state.pace
        )


def learn_graph(problem: Problem, state: State) -> None:
    """Step 2."""
    before = state.graph.copy()
    over_rows(
        learn_rows, problem.programs, pull_of(state), state.pace, ROW_TOL, ROW_SWEEPS, state.graph
    )
    state.graph[state.graph < MIN_ENTRY] = 0.0
    scale = float(problem.weights @ (before**2).sum(axis=1))
    moved = float(problem.weights @ ((state.graph - before) ** 2).sum(axis=1))
    state.change = np.sqrt(moved / scale) if scale > 0 else 0.0
    if not np.isfinite(state.change):
        raise FloatingPointError("SCCBG: the graph of step 2 is not finite")


def embed(problem: Problem, state: State) -> None:
    """Step 3, and the parts of the graph."""
    state.components = bipartite_components(state.graph)
    state.spectrum = spectrum_of(problem, state.graph)


def spectrum_of(problem: Problem, graph: FloatArray) -> BipartiteSpectrum:
    """The leading vectors, with base clusters weighted by their value; none for an empty graph."""
    if not graph.any():
        n, k = graph.shape
        return BipartiteSpectrum(np.empty(0), np.empty((n, 0)), np.empty((k, 0)))
    return bipartite_spectrum(graph * problem.programs.value, problem.weights, problem.n_clusters)


def pull_of(state: State) -> FloatArray:
    """rho h, N x k, including the factor 1/2 from the scale of F."""
    rows, columns = state.spectrum.rows, state.spectrum.columns
    sizes = (rows**2).sum(axis=1)[:, None] + (columns**2).sum(axis=1)
    apart = sizes - 2.0 * rows @ columns.T
    # set rounding errors to zero: an entry without weight would follow them
    apart[apart <= SAME_POINT * sizes] = 0.0
    return np.asarray(0.5 * state.penalty * apart)


def total_cost(problem: Problem, state: State) -> float:
    """The objective for the current age, penalty and F, over all samples."""
    costs = np.empty(len(problem.weights))
    programs, pull = problem.programs, pull_of(state)
    over_rows(row_costs, programs, state.age, pull, state.pace, state.graph, costs)
    return float(problem.weights @ costs)


def record(state: State, objective: float) -> Pass:
    """The record of a pass for the history."""
    return {
        "objective": objective,
        "residual": state.change,
        "age": state.age,
        "penalty": state.penalty,
        "least_weight": float(state.pace.min()),
        "n_components": state.n_components,
    }
