r"""PCE: completes partial members and combines them, in time linear in the number of samples.

Member i with indicator :math:`Y^{(i)}` (n x k_i, its gaps to be filled) is turned by
:math:`R^{(i)}` into an embedding; a weighted mean of these is fitted by a consensus embedding H, which a
rotation R in turn brings close to the indicator Y of a partition. The objective (4) of the paper is

.. math::

    \sum_p v_p^2 \Big\| H_p - \sum_i \alpha_i (Y^{(i)} R^{(i)})_p \Big\|^2 - \lambda \|v\|_1
    + \gamma \|Y - H R\|^2

over H with orthogonal columns, orthogonal R and :math:`R^{(i)}`, member weights alpha on the simplex,
reliabilities v in [0, 1] and the missing rows of the :math:`Y^{(i)}`.

Start: the c leading eigenvectors of the evidence, from the singular vectors of the N x k incidence of
the base clusters; gaps filled with the prediction of those eigenvectors, and both steps repeated
(:mod:`coterie.solvers.pce.completion`); each member rotated to fit H; Y and R from the best of ``n_starts``
discretisations; alpha the user's member weights; lambda the first decile of :math:`2 \|A_p\|^2`, with A the
residual above.

Steps of a pass
  1. v, (6): :math:`v_p = \min(\lambda / (2 \|A_p\|^2), 1)`
  2. H, (7): the quadratic :math:`\mathrm{tr}(H' D H) - 2 \mathrm{tr}(H' C)` with diagonal
     :math:`D = V^2 + \gamma I`, lowered by polar factors (:mod:`coterie.numerics.stiefel`)
  3. missing labels, (11): the base cluster whose row of :math:`R^{(i)}` is nearest to the target row
  4. alpha, (12): a convex quadratic program on the simplex (:mod:`coterie.solvers.pce.simplex_qp`)
  5. :math:`R^{(i)}`, (13): Procrustes towards the target
  6. R, (14), and Y, (15), in turn until they settle, from the current R
     (:mod:`coterie.numerics.discretise`)
  7. the age lambda grows by a tenth in the first ten passes

No step raises the objective, and neither does a growing lambda. The passes stop when a pass lowers it
by less than ``tol`` per sample.

All members at once. Steps 3 and 5 need the other members' embeddings. One member after the other
would make the answer depend on their order; all at once with the paper's targets may raise the
objective. With :math:`Z^{(i)} = Y^{(i)} R^{(i)}` and the residual A before the step, convexity gives
:math:`\|H - \sum_i \alpha_i Z^{(i)}_{new}\|^2 \le \sum_i \alpha_i \|A + Z^{(i)} - Z^{(i)}_{new}\|^2`,
equal where nothing moves, so the target :math:`A + Z^{(i)}` for every member at once is safe.

On microclusters a row counts r_u times in all sums, and the columns of :math:`\sqrt{r} H` are
orthogonal. The indicators of all members are one sparse matrix.

Cost of a pass: O(N m (c + m) c + N c^2 s) for s polar steps. The start takes O(N k min(N, k)), eleven
times as much with missing labels (with more than 20 million cells N k, it uses sparse products only).

Where paper and program differ from this
  - The paper requires H'H = I. Then a row of H is about sqrt(c/n) long, but rows of Y and of the
    members' embeddings have length 1. Fitting the mean to such a short target turns the members
    against each other, and gaps are filled in contradiction to the other members. Here H'H = (n/c) I,
    and all rows have about the same length; ``scale="paper"`` uses H'H = I.
  - The paper starts from unaligned members and empty gaps; the program from eigenvectors as here,
    but of the partial members, where two samples that were never seen together count as apart.
  - Paper and program need members of exactly c clusters. Here, with k_i < c the rows of R^(i) are
    orthonormal (empty clusters are never imputed), with k_i > c its columns, and then the lengths of
    its rows enter steps 3 and 5. The co-association, the sum of :math:`Y^{(i)} Y^{(i)\prime}`, is
    then dominated by members with few large clusters; here the evidence is the sum of the projections
    :math:`Y^{(i)} (Y^{(i)\prime} Y^{(i)})^{-1} Y^{(i)\prime}`, in which every cluster counts once.
  - The program runs 20 passes, member by member, and discretises anew from a random row in each. It
    weighs the imputation by alpha, which is left out here as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from coterie.core.params import STRENGTH, Choice, Integer, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.numerics.discretise import Discretisation, best_discretisation, discretise
from coterie.numerics.stiefel import minimise_quadratic, minimise_quadratics, polar
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition
from coterie.solvers.pce.completion import complete, finite, in_own_names
from coterie.solvers.pce.simplex_qp import simplex_qp

AGE_GROWTH, AGE_PASSES = 1.1, 10
# rows have about unit length, so a squared residual of half this value counts as agreement
MIN_AGE = 1e-3
# steps per pass towards the best R^(i) with orthonormal columns; the next pass continues from there
TURNS = 10
# rows per block where a product over all members is formed
BLOCK = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class PCE(Method):
    """Partial clustering ensemble: fills missing labels while it combines the members. Linear in N.

    Parameters
    ----------
    gamma : float, default 1.0
        How strongly the embedding is pulled towards a partition. Stable from 0.1 to 10,000.
    rotation : bool, default True
        Whether the partition is learned together with the embedding; if False, it is read off at
        the end.
    self_paced : bool, default True
        Whether samples that fit badly count less, most of all in the first passes; if False, all
        count fully.
    diversity : bool, default True
        Whether members are fitted by their weighted mean, so that one that repeats others counts
        less; if False, each member is compared with the consensus separately.
    impute : {"joint", "random"}, default "joint"
        Whether missing labels are learned or drawn at random once.
    evidence : {"auto", "coassociation", "projections"}, default "auto"
        The matrix of the first embedding: how often two samples share a base cluster, or the same with
        each base cluster divided by its size. "auto" takes the former if every member has n_clusters
        clusters, as in the paper, and the latter otherwise.
    scale : {"matched", "paper"}, default "matched"
        Length of the embedding's rows: that of the members' rows, or the paper's.
    n_starts : int, default 20
        Number of discretisations tried at the start.
    tol : float, default 1e-4
        Stops when a pass lowers the objective by less than this per sample, after the ten passes in
        which the age grows.
    random_state : int, Generator or None, default None
        Seed of the discretisations and of the random labels of ``impute="random"``.

    Attributes
    ----------
    completed_labels_ : ndarray, shape (n, m)
        The members' original labels, with every gap filled.
    sample_reliability_ : ndarray, shape (n,)
        v, in (0, 1]: how well the members' mean fits the consensus at this sample.
    residual_ : float
        Decrease of the objective in the last pass, per sample.

    See Also
    --------
    coterie.EAC : takes a pair's share among the members that saw both.

    Notes
    -----
    A ``member_weight`` weighs the members at the start; afterwards their weights are learned.

    Examples
    --------
    >>> from coterie import PCE
    >>> labels = [["a", "x", 1], ["a", None, 1], ["a", "x", None], ["b", "y", 2], [None, "y", 2]]
    >>> model = PCE(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1]
    >>> model.completed_labels_.tolist()
    [['a', 'x', 1], ['a', 'x', 1], ['a', 'x', 1], ['b', 'y', 2], ['b', 'y', 2]]
    """

    about = MethodInfo(
        name="pce",
        cost="O(N m (c + m) c) per pass",
        paper="P. Zhou, L. Du, X. Liu, Z. Ling, X. Ji, X. Li, Y.-D. Shen. Partial clustering "
        "ensemble. IEEE Transactions on Knowledge and Data Engineering, 2023.",
        scaling="linear",
        random=True,
        grid={"gamma": tuple(10.0**power for power in range(-3, 4))},
    )

    gamma: float = parameter(1.0, STRENGTH)
    rotation: bool = parameter(True, Choice((True, False)))
    self_paced: bool = parameter(True, Choice((True, False)))
    diversity: bool = parameter(True, Choice((True, False)))
    impute: str = parameter("joint", Choice(("joint", "random")))
    evidence: str = parameter("auto", Choice(("auto", "coassociation", "projections")))
    scale: str = parameter("matched", Choice(("matched", "paper")))
    n_starts: int = parameter(20, Integer(1))
    max_iter: int = 100
    tol: float = 1e-4
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        problem = Problem.of(ensemble, self, rng)
        state = start(problem)
        history: list[Pass] = []
        converged = False
        while len(history) < self.max_iter and not converged:
            weigh_samples(problem, state)  # 1
            fit_embedding(problem, state)  # 2
            impute_labels(problem, state)  # 3
            weigh_members(problem, state)  # 4
            align_members(problem, state)  # 5
            rotate(problem, state)  # 6
            self._add_pass(history, record(problem, state))
            if len(history) <= AGE_PASSES:
                state.age *= AGE_GROWTH  # 7
            else:
                converged = history[-1]["residual"] <= self.tol
        components = partition_of(problem, state)
        advice = "Raise tol."
        if len(np.unique(components)) < self.n_clusters:
            advice = "Ask for fewer clusters: the members do not support that many."
        return Partition(
            components,
            member_weights=state.alpha,
            converged=converged,
            history=history,
            advice=advice,
            embedding=state.embedding,
            by_sample={"sample_reliability_": state.reliability},
            by_sample_and_member={"completed_labels_": in_own_names(ensemble, state.labels)},
        )


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: the partial members, the weights and the settings.

    Attributes
    ----------
    labels : ndarray of int64, shape (N, m)
        Labels of the members, -1 where missing. With ``impute="random"`` no label is missing.
    gaps : tuple of ndarray
        Per member, the microclusters it did not see.
    sizes : ndarray, shape (m,)
        Base clusters k_i of each member.
    weights, prior : ndarray, shapes (N,) and (m,)
        Multiplicities r, and the user's weights of the members.
    first_rows : ndarray
        Where the discretisations start.
    length : float
        s of H'H = s^2 I.
    projections : bool
        Whether each base cluster is divided by its size in the evidence.
    """

    settings: PCE
    labels: IntArray
    gaps: tuple[IntArray, ...]
    sizes: IntArray
    weights: FloatArray
    prior: FloatArray
    first_rows: IntArray
    length: float
    projections: bool

    @classmethod
    def of(cls, ensemble: Ensemble, settings: PCE, rng: np.random.Generator) -> Self:
        """The problem for an ensemble."""
        labels = ensemble.labels.astype(np.int64)
        weights = ensemble.sizes
        seen = np.flatnonzero((labels >= 0).any(axis=1))
        first_rows = rng.choice(
            seen,
            size=min(settings.n_starts, len(seen)),
            replace=False,
            p=weights[seen] / weights[seen].sum(),
        )
        sizes = ensemble.n_clusters_per_member
        if settings.impute == "random":
            for column, size in zip(labels.T, sizes, strict=True):
                gap = column < 0
                column[gap] = rng.integers(size, size=int(gap.sum()))
        matched = settings.scale == "matched"
        return cls(
            settings=settings,
            labels=labels,
            gaps=tuple(np.flatnonzero(column < 0) for column in labels.T),
            sizes=sizes,
            weights=weights,
            prior=ensemble.member_weight / ensemble.member_weight.sum(),
            first_rows=first_rows,
            length=float(np.sqrt(weights.sum() / settings.n_clusters)) if matched else 1.0,
            projections=settings.evidence == "projections"
            or (settings.evidence == "auto" and bool((sizes != settings.n_clusters).any())),
        )


@dataclass
class State:
    """Variables of the iteration: H, completed labels, R^(i), alpha, v, lambda, and Y with R.

    ``objective`` is the value of the objective after the previous pass.
    """

    embedding: FloatArray
    labels: IntArray
    rotations: list[FloatArray]
    alpha: FloatArray
    reliability: FloatArray
    age: float
    partition: Discretisation
    objective: float = np.inf


def start(problem: Problem) -> State:
    """Eigenvectors of the completed evidence, members aligned to them, the best rotation."""
    directions, labels = complete(problem)
    embedding = problem.length * directions / np.sqrt(problem.weights)[:, None]
    state = State(
        embedding=embedding,
        labels=labels,
        rotations=[],
        alpha=problem.prior.copy(),
        reliability=np.ones(len(labels)),
        age=np.inf,
        partition=best_discretisation(embedding, problem.weights, problem.first_rows),
    )
    pulls, inertia = _sums_by_cluster(problem, state, problem.weights, embedding)
    ends = np.cumsum(problem.sizes)[:-1]
    nearest = np.concatenate([polar(pull) for pull in np.split(pulls, ends)])
    state.rotations = _turn(problem, nearest, pulls, inertia)
    state.age = max(_first_decile(2.0 * mismatch(problem, state), problem.weights), MIN_AGE)
    state.objective = objective(problem, state)
    return state


def weigh_samples(problem: Problem, state: State) -> None:
    """Step 1, (6): the better a sample fits, the more it counts."""
    if not problem.settings.self_paced:
        return
    residual = 2.0 * mismatch(problem, state)
    reliability = np.ones(len(residual))
    np.divide(state.age, residual, out=reliability, where=residual > state.age)
    state.reliability = finite(reliability, "weighing the samples")


def fit_embedding(problem: Problem, state: State) -> None:
    """Step 2, (7): H towards the members' mean and the rotated partition."""
    trust = state.reliability**2
    gamma = problem.settings.gamma if problem.settings.rotation else 0.0
    linear = trust[:, None] * members_mean(problem, state)
    linear += gamma * state.partition.rotation.T[state.partition.labels]
    root = np.sqrt(problem.weights)[:, None]
    moved = minimise_quadratic(
        root * state.embedding, trust + gamma, root * linear, scale=problem.length
    )
    state.embedding = finite(moved / root, "fitting the embedding")


def impute_labels(problem: Problem, state: State) -> None:
    """Step 3, (11): each gap gets the base cluster nearest to its target."""
    if not any(len(rows) for rows in problem.gaps):
        return
    residual = state.embedding - members_mean(problem, state)
    for member, rows in enumerate(problem.gaps):
        if len(rows) == 0:
            continue
        rotation = state.rotations[member]
        target, price = state.embedding[rows], float(state.alpha[member])
        if problem.settings.diversity:
            target, price = residual[rows] + rotation[state.labels[rows, member]], 1.0
        nearness = target @ rotation.T - 0.5 * price * (rotation**2).sum(axis=1)
        state.labels[rows, member] = np.argmax(finite(nearness, "imputing labels"), axis=1)


def weigh_members(problem: Problem, state: State) -> None:
    """Step 4, (12): alpha minimises the residual of the weighted mean."""
    trust = problem.weights * state.reliability**2
    m, c = len(state.alpha), problem.settings.n_clusters
    gram, linear = np.zeros((m, m)), np.zeros(m)
    codes, points = _codes(problem, state), np.concatenate(state.rotations)
    for begin in range(0, len(trust), BLOCK):
        rows = slice(begin, begin + BLOCK)
        embedded = points[codes[rows].T].reshape(m, -1)
        trusted = np.repeat(trust[rows], c)
        linear += embedded @ (trusted * state.embedding[rows].ravel())
        gram += (embedded * trusted) @ embedded.T
    if not problem.settings.diversity:
        gram = np.diag(np.diag(gram))
    finite(gram, "weighing the members")
    state.alpha = simplex_qp(gram, linear)


def align_members(problem: Problem, state: State) -> None:
    """Step 5, (13): each R^(i) turns its member towards the target."""
    trust = problem.weights * state.reliability**2
    target = state.embedding
    if problem.settings.diversity:
        target = state.embedding - members_mean(problem, state)
    rotations = np.concatenate(state.rotations)
    pulls, inertia = _sums_by_cluster(problem, state, trust, target)
    if problem.settings.diversity:
        # the rest of the target is the point of the row's own base cluster
        pulls += inertia[:, None] * rotations
    else:
        inertia *= np.repeat(state.alpha, problem.sizes)
    state.rotations = _turn(problem, rotations, finite(pulls, "aligning members"), inertia)


def rotate(problem: Problem, state: State) -> None:
    """Step 6, (14) and (15): the partition nearest to the embedding, from the current rotation."""
    if problem.settings.rotation:
        state.partition = discretise(state.embedding, problem.weights, state.partition.rotation)


def partition_of(problem: Problem, state: State) -> IntArray:
    """The partition learned, or read off the embedding where it was not learned."""
    if problem.settings.rotation:
        return state.partition.labels
    return best_discretisation(state.embedding, problem.weights, problem.first_rows).labels


def record(problem: Problem, state: State) -> Pass:
    """The record of a pass for the history."""
    value = objective(problem, state)
    residual = float((state.objective - value) / problem.weights.sum())
    state.objective = value
    return {
        "objective": value,
        "residual": residual,
        "age": state.age,
        "fully_reliable": float(
            problem.weights @ (state.reliability == 1.0) / problem.weights.sum()
        ),
    }


def objective(problem: Problem, state: State) -> float:
    """The objective (4), without its last term where the rotation is left out."""
    v, weights = state.reliability, problem.weights
    value = float(weights @ (v**2 * mismatch(problem, state)))
    if problem.settings.self_paced:
        value -= state.age * float(weights @ v)
    if problem.settings.rotation:
        squares = weights.sum() + problem.settings.n_clusters * problem.length**2
        value += problem.settings.gamma * (squares - 2.0 * state.partition.alignment)
    return float(finite(np.array(value), "evaluating the objective"))


def mismatch(problem: Problem, state: State) -> FloatArray:
    """Squared residual of each row; without ``diversity`` each member is compared with H separately."""
    mean = members_mean(problem, state)
    if problem.settings.diversity:
        return np.asarray(((state.embedding - mean) ** 2).sum(axis=1))
    apart = (state.embedding * (state.embedding - 2.0 * mean)).sum(axis=1)
    for member, rotation in enumerate(state.rotations):
        squares = state.alpha[member] ** 2 * (rotation**2).sum(axis=1)
        apart += squares[state.labels[:, member]]
    return np.asarray(apart)


def members_mean(problem: Problem, state: State) -> FloatArray:
    """sum_i alpha_i Y^(i) R^(i)."""
    points = np.concatenate(
        [weight * rotation for weight, rotation in zip(state.alpha, state.rotations, strict=True)]
    )
    return np.asarray(_indicators(problem, state) @ points)


def _codes(problem: Problem, state: State) -> IntArray:
    """The completed labels, numbered over all members."""
    return state.labels + (np.cumsum(problem.sizes) - problem.sizes)


def _indicators(problem: Problem, state: State) -> sparse.csr_array:
    """The indicators of the completed labels of all members, side by side."""
    n, m = state.labels.shape
    codes = _codes(problem, state).ravel()
    ends = np.arange(0, n * m + 1, m)
    return sparse.csr_array((np.ones(n * m), codes, ends), shape=(n, problem.sizes.sum()))


def _sums_by_cluster(
    problem: Problem, state: State, weights: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """For each base cluster the weighted sum of the values of its rows, and their weight."""
    by_cluster = _indicators(problem, state).T
    return np.asarray(by_cluster @ (weights[:, None] * values)), np.asarray(by_cluster @ weights)


def _turn(
    problem: Problem, rotations: FloatArray, pulls: FloatArray, inertia: FloatArray
) -> list[FloatArray]:
    """Minimise tr(R' diag(inertia) R) - 2 tr(R' pull) over R with orthonormal rows or columns.

    The rows of all arguments are base clusters, member after member.
    """
    sizes, n_clusters = problem.sizes, problem.settings.n_clusters
    first = np.cumsum(sizes) - sizes
    # with orthonormal rows the quadratic part is constant: Theorem 3
    turned = {
        member: polar(pulls[first[member] : first[member] + sizes[member]])
        for member in np.flatnonzero(sizes <= n_clusters).tolist()
    }
    # members with similar numbers of clusters together, padded with zeros to the same power of two
    lengths = np.array([1 << (int(size) - 1).bit_length() for size in sizes])
    for length in np.unique(lengths[sizes > n_clusters]):
        group = np.flatnonzero((lengths == length) & (sizes > n_clusters))
        inside = np.arange(length) < sizes[group, None]
        rows = (first[group, None] + np.arange(length))[inside]
        start, linear = np.zeros((2, len(group), length, n_clusters))
        diagonal = np.zeros((len(group), length))
        start[inside], linear[inside] = rotations[rows], pulls[rows]
        diagonal[inside] = inertia[rows]
        turned_group = minimise_quadratics(start, diagonal, linear, sizes[group], max_steps=TURNS)
        for member, rotation in zip(group.tolist(), turned_group, strict=True):
            turned[member] = rotation[: sizes[member]].copy()
    return [turned[member] for member in range(len(sizes))]


def _first_decile(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) >= 0.1 * weights.sum()
    return float(values[order][np.argmax(reached)])
