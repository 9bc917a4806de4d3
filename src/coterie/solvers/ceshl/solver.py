r"""CESHL: consensus by learning the hypergraph itself.

Samples are the nodes and base clusters the hyperedges of a hypergraph with incidence H. Give each
hyperedge a weight w by how well the other members agree with it, and learn an incidence Y near H
whose hypergraph has exactly c connected components. The objective (equation numbers are the paper's) is (8):

.. math::

    \|(Y - H) W\|^2 + \rho \, \mathrm{tr}(F' L F), \quad 0 \le Y \le 1, \; F'F = I, \qquad
    L = I - D_v^{-1/2} Y W D_e^{-1} Y' D_v^{-1/2},

with node degrees :math:`D_v = \mathrm{diag}(Y w)` and hyperedge degrees :math:`D_e =
\mathrm{diag}(1' Y)`. With rows :math:`a_p = F_p / \sqrt{d_p}` and their means :math:`\bar a_q` over
hyperedge q, :math:`\mathrm{tr}(F'LF) = \sum_{pq} w_q Y_{pq} |a_p - \bar a_q|^2`: a sample stays in
the hyperedges near which it lies.

Steps
  1. quality s of each base cluster, (1): mean co-association of the pairs inside it,
     :math:`s_i = \sum_j |i \cap j|^2 / (m |i|^2)`, from the k x k contingency table C
  2. weights w, (4): :math:`\min w'(I - D^{-1/2} C D^{-1/2}) w + \lambda |w - s|^2` in [0, 1]. The
     matrix is an M-matrix: the unbounded solution is positive, and an active set for the upper
     bound ends at the exact minimiser in a few rounds
  3. Y, (10) with gradient (13): limited memory BFGS in the box, :mod:`coterie.solvers.ceshl.box_lbfgs`
  4. F, (9): :math:`L = I - Z Z'` with :math:`Z = D_v^{-1/2} Y (W D_e^{-1})^{1/2}`, so F holds the top
     left singular vectors of Z, found through its Gram matrix of order min(N, k)
  5. rho doubles while Y has fewer than c components; with more it halves and F stays; stop at c
     components, from the second pass on. A sample that Y left without hyperedges is not a component:
     it counts with the one that has most of the weight of its hyperedges in H

Step 3 never raises (8), and neither does a new F in step 4; a new rho changes it.

On microclusters a row counts r_u times: degrees, means and the inner products of step 3 are weighted
by r, so the iterates are those of the n rows. A ``member_weight`` of 2 is the same as giving that
member twice. Cost: O(N k c) per gradient of (10), memory for the entries of Y that are not zero (a row
has about k / c of them), one eigenproblem of order min(N, k) per pass; no N x N matrix is formed unless
k is larger than N.

Where paper and program differ. The program takes F from the unnormalised Laplacian while its Y-step
uses (5), so that its two steps pursue different objectives; here both use (5), which reaches c
components more often and ends with fewer clusters of one sample. The program counts every sample without
hyperedges as a component; with many samples some lose all of theirs before the clusters separate, and
the iteration would end with one giant cluster and single samples. The square root in the first
denominator of (3) is a misprint. The program tests the rank by eigenvalue tolerances and returns the
components that it has; here components are counted and exactly n_clusters clusters returned. The paper does
not name its quasi-Newton method, and the program runs 20 steps of L-BFGS-B per pass; here steps go on until
``tol`` is met, at most ``inner_iter``.

Guards. The Y-step can drive a node's degree to zero, where (5) divides by it and one node can stall
all others: a degree d below f, which is ``degree_floor`` times the degree in H, counts as
:math:`(f + d^2 / f) / 2` in (5), smoothly and never less than f / 2. An empty hyperedge has mean 0.
When the last eigenvalue wanted is repeated, F F' is the mean over all choices of vectors, so that
the result does not depend on the order of the rows. Slopes and distances from a bound that are zero
up to rounding count as zero, because arbitrary signs would make the method chaotic.

Missing labels. A sample that a member did not label lies in none of its hyperedges, so the member
neither links nor separates it. Quality is the share of agreement among the labelled pairs: the sum of
:math:`|i \cap j|^2` over base clusters j, divided by the sum of :math:`|i \cap \mathrm{seen}_l|^2` over
members l, where :math:`\mathrm{seen}_l` are the samples that l labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy import linalg

from coterie.core.budget import GRANTED, Budget, require
from coterie.core.params import STRENGTH, Choice, Integer, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.contingency import contingency
from coterie.numerics.eigen import extreme_eigenpairs, tie_shares
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.ceshl.box_lbfgs import SparseRows, minimise_in_box
from coterie.solvers.ceshl.kernels import inner_products
from coterie.solvers.ceshl.objective import Fit
from coterie.solvers.cutting import bipartite_components
from coterie.solvers.partition import Partition

EdgeWeights = Literal["propagated", "quality", "uniform"]

# avoids a division by a degree of zero, for any floor
MIN_FLOOR = 1e-9
# approximate accuracy of the weights of hyperedges
WEIGHT_TOLERANCE = 1e-13
# eigenvalues of Z Z', which lie in [0, 1], closer than this count as one
TIE_TOLERANCE = 1e-10
# additional eigenpairs computed, to see ties
GUARD = 4
# the points, gradients and steps of the search, for each entry of Y that is not zero or may move
BYTES_PER_ENTRY = 300
# stop after this many passes in a row without a step: another rho will not help
STALLED = 10


@dataclass(eq=False, repr=False, kw_only=True)
class CESHL(Method):
    """Clustering ensemble by structured hypergraph learning.

    Reads base clusters as hyperedges, weights them by how well the members agree on them, and moves
    samples in and out of them until the hypergraph falls into one part per cluster. Linear in N.

    Parameters
    ----------
    lam : float, default 100.0
        How strongly the weight of a hyperedge follows its own quality rather than the quality of the
        base clusters that it overlaps. Values from 10 to 1000 give similar results.
    edge_weights : {"propagated", "quality", "uniform"}, default "propagated"
        Weights of the hyperedges: quality passed on between overlapping base clusters, each one's
        own quality (``lam`` is not used), or 1 for all.
    rho : float, default 100.0
        Weight of the penalty on the rank in the first pass; it adapts from there.
    degree_floor : float, default 0.5
        A node whose degree falls below this share of its first degree counts as slightly heavier than
        it is, so that the hypergraph does not lose it. 0 follows the paper exactly; large inputs then
        tend to end with clusters of single samples.
    inner_iter : int, default 20
        Maximum number of quasi-Newton steps per pass.
    tol : float, default 1e-6
        The steps of a pass end when one lowers the objective by less than this share.

    Attributes
    ----------
    incidence_ : csr_array, shape (N, k)
        The learned incidence Y of microclusters and base clusters, in the order of
        ``ensemble_.incidence``. Its components are the clusters.
    hyperedge_weights_ : ndarray, shape (k,)
        w, in (0, 1].
    hyperedge_quality_ : ndarray, shape (k,)
        s, in (0, 1].
    residual_ : float
        Relative change of the incidence in the last pass.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the plain co-association.

    Examples
    --------
    >>> from coterie import CESHL
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = CESHL(n_clusters=2).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> model.hyperedge_quality_.round(2).tolist()
    [1.0, 0.85, 1.0, 0.85, 0.75, 1.0]
    """

    about = MethodInfo(
        name="ceshl",
        cost="O(N k c) per quasi-Newton step, O(N (m + k / c)) memory",
        paper="P. Zhou, X. Wang, L. Du, X. Li. Clustering ensemble via structured hypergraph "
        "learning. Information Fusion 78, 171-179, 2022.",
        scaling="linear",
        grid={"lam": tuple(10.0**power for power in range(-3, 4))},
    )

    lam: float = parameter(100.0, STRENGTH)
    edge_weights: EdgeWeights = parameter(
        "propagated", Choice(("propagated", "quality", "uniform"))
    )
    rho: float = parameter(100.0, STRENGTH)
    degree_floor: float = parameter(0.5, Real(0.0, 1.0))
    inner_iter: int = parameter(20, Integer(1))
    max_iter: int = 100
    tol: float = parameter(1e-6, Real(0.0, 1.0, closed_high=False))
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        require_memory(ensemble, self.n_clusters, self.memory_budget)
        quality = edge_quality(ensemble)  # 1
        weights = weigh_edges(ensemble, quality, self.edge_weights, self.lam)  # 2
        problem = Problem.of(ensemble, weights, self)
        state = start(problem, ensemble, self.rho)
        # no member links these parts, and F holds them apart: no pass can join them
        beyond_reach = state.n_components > self.n_clusters
        history: list[Pass] = []
        converged = False
        while len(history) < self.max_iter:
            self._add_pass(history, learn_incidence(problem, state))  # 3
            converged = len(history) > 1 and state.n_components == self.n_clusters
            if converged or beyond_reach or stalled(history):
                break
            follow_components(problem, state)  # 4, 5
        advice = "Raise max_iter or inner_iter, or try another lam between 10 and 1000."
        if beyond_reach:
            advice = f"No member links the {state.n_components} parts: ask for that many clusters."
        return Partition(
            state.component_labels,
            member_weights=np.add.reduceat(
                problem.edge_mass * ensemble.cluster_sizes, ensemble.cluster_starts
            ),
            converged=converged,
            history=history,
            advice=advice,
            embedding=state.embedding,
            other={"incidence_": state.incidence.matrix},
            by_base_cluster={
                "hyperedge_weights_": weights,
                "hyperedge_quality_": quality,
            },
        )

    def _keep(
        self, partition: Partition, labels: IntArray, ensemble: Ensemble, order: IntArray
    ) -> None:
        super()._keep(partition, labels, ensemble, order)
        counts = ensemble.n_clusters_per_member[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        # base clusters in the order of the user's members
        columns = [np.arange(starts[j], starts[j] + counts[j]) for j in np.argsort(order)]
        self.incidence_ = partition.other["incidence_"][:, np.concatenate(columns)]


def require_memory(ensemble: Ensemble, n_clusters: int, budget: Budget) -> None:
    """Raise MemoryBudgetError if the search for Y, or tables of order k, would not fit."""
    n, k = ensemble.n_microclusters, ensemble.n_base_clusters
    # Y spreads over the hyperedges of one cluster, a share 1 / c of all if clusters have equally many;
    # with this bound, no pool that was measured has a node in more of them on average
    per_node = min(k, ensemble.n_members + 2 * k / n_clusters)
    nodes = 8 * n * (5 * n_clusters + 2 * ensemble.n_members)
    require(
        n * per_node * BYTES_PER_ENTRY + nodes + 8 * 4 * k * k,
        f"The hypergraph that CESHL learns, of {n:,} microclusters and {k:,} base clusters,",
        "Take fewer members, or members with fewer clusters.",
        budget,
    )


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: the hypergraph of the members, its weights and the settings.

    Attributes
    ----------
    weights : ndarray, shape (N,)
        Multiplicities r of the nodes.
    edge_weights, multiplicity : ndarray, shape (k,)
        w, and how often each hyperedge's member counts.
    edges : ndarray, shape (N, m)
        The hyperedge in which each member puts each node, numbered over all members, -1 if missing:
        the ones of H.
    member_of : ndarray, shape (k,)
        The member of each hyperedge.
    least_degree : ndarray, shape (N,)
        Smaller degrees are raised by the guard, see the module's docstring.
    """

    settings: CESHL
    weights: FloatArray
    edge_weights: FloatArray
    multiplicity: FloatArray
    edges: IntArray
    member_of: IntArray
    least_degree: FloatArray

    @classmethod
    def of(cls, ensemble: Ensemble, edge_weights: FloatArray, settings: CESHL) -> Self:
        """The problem for an ensemble."""
        multiplicity = ensemble.weight_of_cluster
        floor = max(settings.degree_floor, MIN_FLOOR)
        return cls(
            settings=settings,
            weights=ensemble.sizes,
            edge_weights=edge_weights,
            multiplicity=multiplicity,
            edges=ensemble.base_clusters,
            member_of=ensemble.member_of_cluster,
            least_degree=floor * (ensemble.incidence @ (multiplicity * edge_weights)),
        )

    @property
    def edge_mass(self) -> FloatArray:
        """w times how often each hyperedge counts."""
        return self.multiplicity * self.edge_weights


@dataclass
class State:
    """Variables of the iteration: Y, F (rows at sample scale), rho and the components of Y."""

    incidence: SparseRows
    embedding: FloatArray
    rho: float
    component_labels: IntArray

    @property
    def n_components(self) -> int:
        """Number of components of Y."""
        return int(self.component_labels.max()) + 1


def start(problem: Problem, ensemble: Ensemble, rho: float) -> State:
    """Y = H and its F; where H has c parts or more, all of their indicators."""
    incidence = SparseRows.of(ensemble.incidence)
    labels = bipartite_components(incidence.matrix)
    if labels.max() + 1 >= problem.settings.n_clusters:
        embedding = part_embedding(problem, incidence, labels)
    else:
        embedding = spectral_embedding(problem, incidence)
    return State(incidence, embedding, rho, labels)


def edge_quality(ensemble: Ensemble) -> FloatArray:
    """Step 1: agreements over observations among the pairs inside each base cluster, (1)."""
    multiplicity = ensemble.weight_of_cluster
    seen = ensemble.observed.astype(np.float64) * ensemble.weights[:, None]
    together = contingency(ensemble, memory_budget=GRANTED).power(2) @ multiplicity
    observed = (ensemble.incidence.T @ seen) ** 2 @ ensemble.member_weight
    return np.asarray(together / observed)


def weigh_edges(
    ensemble: Ensemble, quality: FloatArray, edge_weights: EdgeWeights, lam: float
) -> FloatArray:
    """Step 2: the exact minimiser of (4), or the simpler weights of the ablations.

    All copies of a base cluster have the same w, so a multiplicity enters as a column scale.
    """
    if edge_weights == "uniform":
        return np.ones_like(quality)
    if edge_weights == "quality":
        return quality
    root = np.sqrt(ensemble.weight_of_cluster)
    table = contingency(ensemble, memory_budget=GRANTED).toarray() * root[:, None] * root
    scale = np.sqrt(table @ root * (1.0 / root))
    system = -table / scale[:, None] / scale
    system[np.diag_indices_from(system)] += 1.0 + lam
    target = lam * root * quality
    full = np.zeros(quality.size, dtype=bool)
    while True:
        weights = np.ones_like(quality)
        scaled = root.copy()
        right = target[~full] - system[np.ix_(~full, full)] @ scaled[full]
        scaled[~full] = linalg.solve(system[np.ix_(~full, ~full)], right, assume_a="pos")
        weights[~full] = scaled[~full] / root[~full]
        # a weight stays at 1 if the objective would push it higher; the slack keeps ties from alternating
        pushed = target - system @ scaled > -WEIGHT_TOLERANCE * (1.0 + lam) * root
        beyond = np.where(full, pushed, weights > 1.0 + WEIGHT_TOLERANCE)
        if np.array_equal(beyond, full):
            break
        full = beyond
    if not np.isfinite(weights).all():
        raise FloatingPointError("CESHL: weights of the hyperedges (4) are not finite")
    return np.minimum(weights, 1.0)


def learn_incidence(problem: Problem, state: State) -> dict[str, float]:
    """Step 3: Y from (10), starting at the current one; returns the record of the pass."""
    solution = minimise_in_box(
        Fit(problem, state.embedding, state.rho),
        state.incidence,
        row_weights=problem.weights,
        column_weights=problem.multiplicity,
        # the exact step for the loss alone where the weight is largest
        first_step=0.5 / problem.edge_weights.max() ** 2,
        max_iter=problem.settings.inner_iter,
        tol=problem.settings.tol,
    )
    new = solution.point.matrix
    before, after = (
        float(problem.weights @ (values.power(2) @ problem.multiplicity))
        for values in (state.incidence.matrix, new - state.incidence.matrix)
    )
    state.incidence = solution.point
    state.component_labels = components(problem, solution.point)
    return {
        "objective": solution.value,
        "residual": float(np.sqrt(after / before)),
        "rho": state.rho,
        "n_components": state.n_components,
        "steps": solution.n_iter,
    }


def components(problem: Problem, incidence: SparseRows) -> IntArray:
    """Component of each node. A node that Y left without hyperedges is not one of its own.

    It goes where most of the weight of its first hyperedges is, and is alone only if all of them are
    empty.
    """
    labels = bipartite_components(incidence.matrix)
    counts = np.diff(incidence.starts)
    outside = np.flatnonzero(counts == 0)
    if outside.size == 0:
        return labels
    holder = np.full(incidence.width, -1)
    holder[incidence.columns] = np.repeat(labels, counts)
    for u in outside:
        edges = problem.edges[u][problem.edges[u] >= 0]
        edges = edges[holder[edges] >= 0]
        if edges.size:
            labels[u] = np.bincount(holder[edges], weights=problem.edge_mass[edges]).argmax()
    return by_first_appearance(labels)


def follow_components(problem: Problem, state: State) -> None:
    """Steps 4 and 5: F and rho for the next pass."""
    if state.n_components > problem.settings.n_clusters:
        state.rho /= 2
        return
    if state.n_components < problem.settings.n_clusters:
        state.rho *= 2
    state.embedding = spectral_embedding(problem, state.incidence)


def stalled(history: list[Pass]) -> bool:
    """Whether Y has not moved for many passes, for any rho."""
    return len(history) >= STALLED and not any(record["steps"] for record in history[-STALLED:])


def part_embedding(problem: Problem, incidence: SparseRows, labels: IntArray) -> FloatArray:
    """The null vectors of L, one per component: roots of the degrees, of unit length over samples."""
    degrees = guarded_degrees(problem, incidence)
    sizes = np.bincount(labels, weights=problem.weights * degrees)
    embedding = np.zeros((labels.size, sizes.size))
    embedding[np.arange(labels.size), labels] = np.sqrt(degrees / sizes[labels])
    return embedding


def spectral_embedding(problem: Problem, incidence: SparseRows) -> FloatArray:
    """Step 4: the c smallest eigenvectors of L, (9), with rows at sample scale."""
    mass = problem.edge_mass
    degrees = guarded_degrees(problem, incidence)
    factor = incidence.matrix.copy()
    volumes = problem.weights @ factor
    edge_scale = np.sqrt(np.divide(mass, volumes, out=np.zeros_like(mass), where=volumes > 0))
    factor.data *= np.repeat(np.sqrt(problem.weights / degrees), np.diff(factor.indptr))
    factor.data *= edge_scale[factor.indices]
    n, k = factor.shape
    if k <= n:
        gram = inner_products(incidence.starts, incidence.columns, factor.data, k)
    else:
        gram = (factor @ factor.T).toarray()
    if not np.isfinite(gram).all():
        raise FloatingPointError("CESHL: the Laplacian (5) is not finite")
    values, vectors = _largest_eigenpairs(gram, problem.settings.n_clusters)
    shares = tie_shares(values, problem.settings.n_clusters, TIE_TOLERANCE)
    # vectors orthogonal to all hyperedges have eigenvalue 0 and no effect
    kept = np.flatnonzero((shares > 0) & (values > TIE_TOLERANCE))
    vectors = vectors[:, kept] * np.sqrt(shares[kept])
    if k <= n:
        vectors = (factor @ vectors) / np.sqrt(values[kept])
    return np.asarray(vectors / np.sqrt(problem.weights)[:, None])


def guarded_degrees(problem: Problem, incidence: SparseRows) -> FloatArray:
    """Node degrees as they count in denominators."""
    degrees, least = incidence.matrix @ problem.edge_mass, problem.least_degree
    return np.where(degrees >= least, degrees, (least + degrees**2 / least) / 2)


def _largest_eigenpairs(gram: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray]:
    """At least the ``wanted`` largest eigenpairs, and all that tie with the last; largest first."""
    order = len(gram)
    count = min(wanted + GUARD, order)
    while True:
        values, vectors = extreme_eigenpairs(gram, count)
        values, vectors = values[::-1], vectors[:, ::-1]
        if count == order or values[-1] < values[wanted - 1] - TIE_TOLERANCE:
            return values, vectors
        count = min(2 * count, order)
