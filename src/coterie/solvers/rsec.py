r"""RSEC: robust spectral ensemble clustering with low-rank mixtures of the co-association.

Every column of the co-association S is a mixture of all columns plus an error: S = S Z + E. The mixtures Z
should have low rank, few columns should have an error, and the graph of Z should have a good partition H:

.. math::

    \min_{Z, E, H} \; \mathrm{tr}(H' L_Z H) + \lambda_1 \|Z\|_* + \lambda_2 \|E\|_{2,1}
    \quad \text{with} \quad S = S Z + E, \quad H'H = I .

:math:`L_Z = I - D^{-1/2} W D^{-1/2}` is the Laplacian of the affinity W of Z. The problem is solved by an
augmented Lagrangian. J is a copy of Z, Y1 and Y2 are the multipliers of S = S Z + E and Z = J. The penalty mu
starts at 1.5 over the norm of S and grows by a tenth per pass.

Steps of a pass
  1. J: the singular values of :math:`Z + Y_2 / \mu` lowered by :math:`\lambda_1 / \mu`
  2. Z: :math:`(S^2 + I)^{-1} [S^2 + J - S E + (S Y_1 - Y_2 + D^{-1/2} H H' D^{-1/2}) / \mu]`
  3. E: the columns of :math:`S - S Z + Y_1 / \mu` shortened by :math:`\lambda_2 / \mu`
  4. W: decompose :math:`(J + J')/2 + H H' = U \Sigma U'` without singular values below 1e-4 of the largest,
     scale the rows of :math:`U \Sigma^{1/2}` to unit length, take fourth powers of their inner products.
     H: the leading eigenvectors of :math:`D^{-1/2} W D^{-1/2}`
  5. :math:`Y_1 \mathrel{+}= \mu (S - S Z - E)`, :math:`Y_2 \mathrel{+}= \mu (Z - J)`, mu
The passes end when every column of S - S Z - E and of Z - J is shorter than ``tol``.

Labels are found in two ways. RSEC-H runs k-means on the rows of H, scaled to unit length. RSEC-Z is
spectral clustering of (|Z| + |Z'|) / 2.

On microclusters. A matrix K over samples is constant on blocks. It is stored as
:math:`R^{1/2} K R^{1/2}`, with the multiplicities r. Products, singular values and inverses are then those of
the large matrix, a column is :math:`\sqrt{r_u}` times as long as a sample's, and powers are taken of the
values themselves. Nothing is approximated.

In the range of S. Let S = Q s Q' of rank q <= k - m + 1. E and Y1 never leave the range of Q. Outside of it,
step 2 is :math:`Z = J + (G - Y_2) / \mu` with :math:`G = D^{-1/2} H H' D^{-1/2}`, so Y2 becomes G there, for
the next pass. All matrices are kept as q x N coordinates, with a few more rows for the directions outside of
Q in which J and the last two H point. The order of the matrices that are decomposed is the number of these
rows, in step 4 twice the rank of J.

Cost of a pass: O(N q^2 + N^2 (j + c)) for a J of rank j, about 100 passes; 56 bytes per pair of microclusters
and 100 bytes for each of N q.

Where programs differ. Neither the authors' program nor the journal version was available. The steps are
those on which two independent programs and later papers agree. Programs compute W from Z. Here it is computed
from J, which equals Z at the end and always has low rank. One program takes W = (Z + Z')/2 and does not
converge. While J is zero there is no W and no H. Eigenvectors that tie at the last one wanted are all
used, with equal shares.

Missing labels. Two samples share a cluster of a member only if the member labels both. S counts over all
members, so a sample with missing labels has a short column. W depends on directions only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.core.budget import Budget
from coterie.core.params import STRENGTH, parameter
from coterie.core.types import FloatArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import require_dense
from coterie.numerics.eigen import eigenpairs
from coterie.numerics.spectral import leading_embedding, leading_vectors, unit_rows
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.cutting import KMEANS_ADVICE, KMEANS_ROUNDS, cut_embedding
from coterie.solvers.partition import Partition

# the penalty mu: first value times the norm of S, growth per pass, largest value
FIRST_PENALTY = 1.5
GROWTH = 1.1
LARGEST_PENALTY = 1e10
# singular values of the affinity's factor below this share of the largest are left out
MIN_SINGULAR = 1e-4
# shares of a norm below which a direction is a rounding error
NO_RANGE = 1e-10
NO_DIRECTION = 1e-12


@dataclass(eq=False, repr=False, kw_only=True)
class _RSEC(Method):
    """The part that RSEC-H and RSEC-Z share.

    Parameters
    ----------
    lam1 : float, default 0.1
        Weight of the mixtures' nuclear norm, positive: the larger, the lower their rank.
    lam2 : float, default 0.01
        Weight of the errors, positive: the smaller, the more of the evidence may count as error.
    tol : float, default 1e-5
        Passes end when no column of the constraints is violated by more than this length.

    Attributes
    ----------
    rank_ : int
        Rank of the mixtures.
    sample_error_ : ndarray, shape (n,)
        Length of the error of each sample's column, as a share of the length of the column.
    residual_ : float
        How far the constraints are violated: the length of the worst column.
    """

    about = MethodInfo(
        cost="O(N q^2 + N^2 (j + c)) per pass in the range of rank q, 56 bytes per pair",
        paper="Z. Tao, H. Liu, S. Li, Y. Fu. Robust spectral ensemble clustering. ACM "
        "International Conference on Information and Knowledge Management, 2016.",
        scaling="quadratic",
        random=True,
        grid={"lam1": (0.01, 0.1, 0.5, 1.0), "lam2": (0.01, 0.1, 0.5, 1.0)},
    )

    lam1: float = parameter(0.1, STRENGTH)
    lam2: float = parameter(0.01, STRENGTH)
    max_iter: int = 500
    tol: float = 1e-5
    n_init: int = 10
    callback: Callback = None
    memory_budget: Budget = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        n = ensemble.n_microclusters
        share = min(1.0, ensemble.n_base_clusters / n)
        require_dense(ensemble, 56 + 100 * share, "The RSEC problem", self.memory_budget)
        problem = Problem.of(ensemble, self.n_clusters, self.lam1, self.lam2)
        state = start(problem)
        history: list[Pass] = []
        converged = False
        while not converged and len(history) < self.max_iter:
            shrink_singular_values(problem, state)  # 1
            represent(problem, state)  # 2
            shrink_error(problem, state)  # 3
            follow_partition(problem, state)  # 4
            self._add_pass(history, move_multipliers(problem, state))  # 5
            converged = history[-1]["residual"] < self.tol
        rank = state.copy.left.shape[1]
        # without mixtures, the evidence itself is clustered
        similarity, embedding = self._graph(problem, state) if rank else problem.graph_of_evidence()
        cut = cut_embedding(self, ensemble, embedding, rng, max_iter=KMEANS_ROUNDS)
        return replace(
            cut,
            converged=converged and rank > 0,
            history=history,
            advice=self._advice(rank, cut.n_components),
            by_sample={"sample_error_": error_shares(problem, state)},
            by_microcluster={},
            by_pair={"consensus_matrix_": similarity},
            other={"rank_": rank},
        )

    def _graph(self, problem: Problem, state: State) -> tuple[FloatArray, FloatArray]:
        """The similarity that is clustered, and the rows that k-means gets."""
        raise AssertionError("RSECH and RSECZ define _graph")

    def _advice(self, rank: int, n_components: int) -> str:
        if rank == 0:
            warnings.warn(
                f"{type(self).__name__}: lam1 = {self.lam1:g} makes all mixtures zero, so the plain "
                "co-association was clustered. Lower lam1.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return ""
        return KMEANS_ADVICE if n_components != self.n_clusters else f"Raise tol ({self.tol:g})."


class RSECH(_RSEC):
    """Robust spectral ensemble clustering, labels from the learned partition H.

    Writes the co-association as low-rank mixtures of itself, with an error for the samples that do not
    fit, and learns the spectral partition of the mixtures along with them.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        The learned affinity W of microclusters, in [0, 1].

    See Also
    --------
    RSECZ : the same mixtures, labels from Z.
    coterie.DREC : dense instead of low-rank mixtures.

    Notes
    -----
    A sample given twice is the same as one of weight 2. A member that does not label both samples of
    a pair counts as separating them.

    Examples
    --------
    >>> from coterie import RSECH
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = RSECH(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist(), model.converged_
    ([0, 0, 0, 1, 1, 1], True)
    """

    about = replace(_RSEC.about, name="rsec-h")

    def _graph(self, problem: Problem, state: State) -> tuple[FloatArray, FloatArray]:
        assert state.affinity is not None
        return state.affinity, unit_rows(state.vectors / problem.roots[:, None])


class RSECZ(_RSEC):
    """Robust spectral ensemble clustering, labels from the learned mixtures Z.

    The same model as RSECH; at the end the graph of the mixtures is cut by spectral clustering.

    Attributes
    ----------
    consensus_matrix_ : ndarray, shape (N, N)
        The graph that is cut, on microclusters.

    See Also
    --------
    RSECH : the same mixtures, labels from H.

    Notes
    -----
    As for :class:`RSECH`.

    Examples
    --------
    >>> from coterie import RSECZ
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> RSECZ(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = replace(_RSEC.about, name="rsec-z")

    def _graph(self, problem: Problem, state: State) -> tuple[FloatArray, FloatArray]:
        mixtures = np.abs(state.copy.left @ state.copy.right.T)
        similarity = (mixtures + mixtures.T) / (2.0 * np.outer(problem.roots, problem.roots))
        return similarity, leading_embedding(similarity, problem.weights, problem.n_clusters)


@dataclass(frozen=True)
class Problem:
    """Constants of the problem: S = Q s Q' at the scale where products are those of the samples.

    Attributes
    ----------
    basis, across : ndarray, shapes (N, q) and (q, N)
        Q and Q'.
    strengths : ndarray, shape (q, 1)
        s, positive, descending.
    weights, roots : ndarray, shape (N,)
        Multiplicities r and their square roots.
    """

    basis: FloatArray
    across: FloatArray
    strengths: FloatArray
    weights: FloatArray
    roots: FloatArray
    n_clusters: int
    lam1: float
    lam2: float

    @classmethod
    def of(cls, ensemble: Ensemble, n_clusters: int, lam1: float, lam2: float) -> Self:
        """The problem for an ensemble."""
        weights = ensemble.sizes
        roots = np.sqrt(weights)
        value = ensemble.member_weight / ensemble.member_weight.sum()
        per_cluster = np.sqrt(value[ensemble.member_of_cluster])
        factor = ensemble.incidence.toarray() * per_cluster
        factor *= roots[:, None]
        basis, singular, _ = np.linalg.svd(factor, full_matrices=False)
        some = singular**2 > NO_RANGE * singular[0] ** 2
        basis = np.ascontiguousarray(basis[:, some])
        across = np.ascontiguousarray(basis.T)
        strengths = singular[some, None] ** 2
        return cls(basis, across, strengths, weights, roots, n_clusters, lam1, lam2)

    def graph_of_evidence(self) -> tuple[FloatArray, FloatArray]:
        """S itself, on samples, and its spectral embedding."""
        rows = self.basis * np.sqrt(self.strengths.T) / self.roots[:, None]
        similarity = np.maximum(rows @ rows.T, 0.0)
        return similarity, leading_embedding(similarity, self.weights, self.n_clusters)


@dataclass(frozen=True)
class Inside:
    """Coordinates in Q, q x N: Z, E, Y1 and Y2."""

    mixtures: FloatArray
    error: FloatArray
    of_fit: FloatArray
    of_copy: FloatArray


@dataclass(frozen=True)
class Outside:
    """What Z and Y2 are outside of the range of Q: coordinates b x N in orthonormal columns N x b."""

    basis: FloatArray
    mixtures: FloatArray
    of_copy: FloatArray


@dataclass(frozen=True)
class Copy:
    """J = left @ right.T, left orthonormal, and its coordinates inside and outside.

    ``directions`` holds the coordinates of ``left`` outside, b x j, ``norm`` the nuclear norm.
    """

    left: FloatArray
    right: FloatArray
    inside: FloatArray
    outside: FloatArray
    directions: FloatArray
    norm: float


@dataclass
class State:
    """The variables of the iteration.

    ``vectors`` holds H, ``pull`` D^(-1/2) H and ``last_pull`` that of the pass before. They have no
    columns while there is no affinity.
    """

    inside: Inside
    outside: Outside
    copy: Copy
    vectors: FloatArray
    pull: FloatArray
    last_pull: FloatArray
    penalty: float
    affinity: FloatArray | None = None
    roughness: float = 0.0


def start(problem: Problem) -> State:
    """All zero."""
    n, q = problem.basis.shape
    zero, none, no_columns = np.zeros((q, n)), np.zeros((0, n)), np.zeros((n, 0))
    return State(
        inside=Inside(zero, zero, zero, zero),
        outside=Outside(no_columns, none, none),
        copy=Copy(no_columns, no_columns, zero, none, np.zeros((0, 0)), 0.0),
        vectors=no_columns,
        pull=no_columns,
        last_pull=no_columns,
        penalty=FIRST_PENALTY / float(problem.strengths[0, 0]),
    )


def shrink_singular_values(problem: Problem, state: State) -> None:
    """Step 1, by the eigenvectors of M M' for the coordinates M of Z + Y2 / mu."""
    inside, outside = state.inside, state.outside
    q = len(inside.mixtures)
    rows = np.concatenate(
        [
            inside.mixtures + inside.of_copy / state.penalty,
            outside.mixtures + outside.of_copy / state.penalty,
        ]
    )
    squares, left = eigenpairs(rows @ rows.T)
    singular = np.sqrt(np.maximum(squares, 0.0))
    threshold = problem.lam1 / state.penalty
    some = singular > threshold
    left, singular = left[:, some], singular[some]
    right = (1.0 - threshold / singular)[:, None] * (left.T @ rows)
    state.copy = Copy(
        left=problem.basis @ left[:q] + outside.basis @ left[q:],
        right=right.T,
        inside=left[:q] @ right,
        outside=left[q:] @ right,
        directions=left[q:],
        norm=float((singular - threshold).sum()),
    )


def represent(problem: Problem, state: State) -> None:
    """Step 2."""
    state.outside = _represent_outside(problem, state)
    inside, s = state.inside, problem.strengths
    pulled = (problem.across @ state.pull) @ state.pull.T
    mixtures = s * inside.of_fit - inside.of_copy + pulled
    mixtures /= state.penalty
    mixtures += s**2 * problem.across + state.copy.inside - s * inside.error
    mixtures /= 1.0 + s**2
    state.inside = replace(inside, mixtures=mixtures)


def _represent_outside(problem: Problem, state: State) -> Outside:
    """Outside of Q, Z is J + (G - Y2) / mu, and Y2 becomes G: new directions come from H alone."""
    before, pull = state.outside, state.pull
    # J and Y2 lie in the span of these old directions
    used = _orthonormal(
        np.concatenate([state.copy.directions, before.basis.T @ state.last_pull], axis=1), 1.0
    )
    kept = before.basis @ used
    apart = pull
    # orthogonalising twice gives orthogonality up to rounding
    for _ in range(2):
        apart = apart - problem.basis @ (problem.across @ apart)
        apart = apart - kept @ (kept.T @ apart)
    new = _orthonormal(apart, float(np.linalg.norm(pull)))
    basis = np.concatenate([kept, new], axis=1)
    blank = np.zeros((new.shape[1], len(basis)))
    copy = np.concatenate([used.T @ state.copy.outside, blank])
    of_copy = np.concatenate([used.T @ before.of_copy, blank])
    pulled = (basis.T @ pull) @ pull.T
    state.copy = replace(state.copy, outside=copy)
    return Outside(basis, copy + (pulled - of_copy) / state.penalty, pulled)


def _orthonormal(columns: FloatArray, scale: float) -> FloatArray:
    """Orthonormal basis of the span of the columns, without rounding errors relative to ``scale``."""
    if columns.size == 0:
        return columns[:, :0]
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > NO_DIRECTION * scale])


def shrink_error(problem: Problem, state: State) -> None:
    """Step 3."""
    inside = state.inside
    error = problem.strengths * (problem.across - inside.mixtures)
    error += inside.of_fit / state.penalty
    lengths = np.linalg.norm(error, axis=0)
    threshold = problem.lam2 / state.penalty * problem.roots
    error *= np.where(lengths > threshold, 1.0 - threshold / np.maximum(lengths, threshold), 0.0)
    state.inside = replace(inside, error=error)


def follow_partition(problem: Problem, state: State) -> None:
    """Step 4; nothing while J has no rank."""
    copy, roots = state.copy, problem.roots
    state.last_pull = state.pull
    if copy.left.shape[1] == 0:
        state.affinity, state.roughness = None, 0.0
        state.vectors = state.pull = state.vectors[:, :0]
        return
    basis, _ = np.linalg.qr(np.concatenate([copy.left, copy.right, state.vectors], axis=1))
    left, right, vectors = (basis.T @ factor for factor in (copy.left, copy.right, state.vectors))
    symmetric = left @ right.T
    symmetric = (symmetric + symmetric.T) / 2 + vectors @ vectors.T
    values, turned = eigenpairs(symmetric)
    sizes = np.abs(values)
    some = sizes > MIN_SINGULAR * sizes.max()
    rows = basis @ (turned[:, some] * np.sqrt(sizes[some]))
    units = unit_rows(rows / roots[:, None])
    affinity = units @ units.T
    affinity *= affinity
    affinity *= affinity
    degrees = affinity @ problem.weights
    on_samples = leading_vectors(affinity, problem.weights, problem.n_clusters)
    state.affinity = affinity
    state.vectors = roots[:, None] * on_samples
    # a row that is zero has no degree, no vector and no pull
    state.pull = state.vectors / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
    joined = roots[:, None] * state.pull
    state.roughness = float((state.vectors**2).sum() - (joined * (affinity @ joined)).sum())


def move_multipliers(problem: Problem, state: State) -> Pass:
    """Step 5, and the pass's entry in the history."""
    inside, outside, copy = state.inside, state.outside, state.copy
    unfit = problem.strengths * (problem.across - inside.mixtures) - inside.error
    apart = inside.mixtures - copy.inside
    state.inside = replace(
        inside,
        of_fit=inside.of_fit + state.penalty * unfit,
        of_copy=inside.of_copy + state.penalty * apart,
    )
    lengths = np.sqrt((apart**2).sum(axis=0) + ((outside.mixtures - copy.outside) ** 2).sum(axis=0))
    residual = max(
        float((np.linalg.norm(unfit, axis=0) / problem.roots).max()),
        float((lengths / problem.roots).max()),
    )
    if not np.isfinite(residual):
        raise FloatingPointError("RSEC: the mixtures of step 2 are not finite")
    errors = float(problem.roots @ np.linalg.norm(inside.error, axis=0))
    penalty = state.penalty
    state.penalty = min(GROWTH * penalty, LARGEST_PENALTY)
    return {
        "objective": state.roughness + problem.lam1 * copy.norm + problem.lam2 * errors,
        "residual": residual,
        "penalty": penalty,
        "rank": copy.left.shape[1],
    }


def error_shares(problem: Problem, state: State) -> FloatArray:
    """Length of each microcluster's column of E over that of its column of S."""
    lengths = np.linalg.norm(problem.strengths * problem.across, axis=0)
    errors = np.linalg.norm(state.inside.error, axis=0)
    # samples without any similarity have a zero column and no error
    return np.divide(errors, lengths, out=np.zeros_like(errors), where=lengths > 0)
