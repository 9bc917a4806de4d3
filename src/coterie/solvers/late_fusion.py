r"""IMVC and OSIMVC: late fusion of incomplete members.

Member p is the matrix :math:`H_p` of n rows and k_p columns: the indicator of its clusters with columns of
unit length on the samples it labelled, unknown rows on the others. Both methods maximise

.. math:: \mathrm{tr}(G' T), \qquad T = \textstyle\sum_p \beta_p H_p W_p + \lambda H_0

over a consensus G (n x c), rotations :math:`W_p`, missing rows of :math:`H_p` with orthonormal columns, and
:math:`\beta \ge 0` of length one. :math:`H_0` are the c leading eigenvectors of the members' mean kernel
:math:`\sum_p H_p H_p'` with zeros for what is missing. IMVC (EE-R-IMVC in the paper) looks for a G with
orthonormal columns, OSIMVC (OS-LF-IMVC) for G = Y C with the indicator Y of a partition and an orthogonal
c x c matrix C, so no k-means follows.

Start: missing rows zero, equal beta, each member turned towards :math:`H_0`. OSIMVC: C is the polar factor of
the k-means centres of the rows of :math:`H_0`, scaled to unit length.

Steps of a pass, each the exact maximum over its variables; polar(M) = U V' for M = U S V'
  1. IMVC: G = polar(T). OSIMVC: :math:`y_i = \arg\max_l (T C')_{il}`, then C = polar(Y'T)
  2. :math:`W_p = \mathrm{polar}(H_p' G)`, of k_p x c
  3. missing rows of :math:`H_p`: polar of those of :math:`G W_p'`
  4. :math:`\beta_p = f_p / \|f\|` with :math:`f_p = \max(\mathrm{tr}(G' H_p W_p), 0)`; T from the new values
Stop when a pass raises the objective by less than the share ``tol``. IMVC: k-means on the unit rows of G.
OSIMVC: the partition stays close to its start, so the best of ``n_init`` starts is kept.

Exactness. On microclusters with multiplicities R the polar factor of a matrix with repeated rows is
:math:`R^{-1/2} \mathrm{polar}(R^{1/2} M)`, and every product over samples contains R. If a matrix does
not have full rank, as where a cluster is empty, its polar factor is computed on its range only, because any
completion would treat identical samples differently. A ``member_weight`` of 2 is the same as giving that
member twice.

Members need not have c clusters. With k_p < c the rows of :math:`W_p` are orthonormal, which is what zero
columns in :math:`H_p` would give; with k_p > c its columns are, and the filled rows are
:math:`\mathrm{polar}(G) W_p'`. No n x k_p matrix is formed: known rows are gathered by label.

Missing labels. The methods are made for them: missing rows are filled in step 3.

Where programs differ from this: the authors' programs take kernels, use their eigenvectors as :math:`H_p`,
centre them, need c columns in each, and start with :math:`W_p = I`. Column-normalised indicators are the
eigenvectors of a label kernel up to a rotation, so a start from I would depend on the names of the labels.
Indicators are not centred here, because that would leave c - 1 dimensions. The program of OSIMVC takes for C
an orthonormal basis of the space of the centres, which need not be near them.

Cost: O(N m c + N c^2 + k c^2) per pass and O(N_p c^2) for each member's N_p missing rows; the start is an
eigenproblem of k base clusters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import sparse

from coterie.core.params import STRENGTH, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.numerics.discretise import cross_product
from coterie.numerics.kmeans import fit_kmeans
from coterie.numerics.spectral import unit_rows
from coterie.numerics.stiefel import leading_left_vectors
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition

# singular values below this share of the largest are rounding errors
NO_SUPPORT = 1e-10
# the same for squared singular values: accurate above the first share, zero below the second
SAFE_GRAM, ROUNDING = 1e-8, 1e-14
# maximum number of rounds of the k-means that a start of OSIMVC begins with
ROUNDS = 200
# two entries of T C' tie if they differ by less than this share of the largest
TIE = 1e-10


@dataclass(eq=False, repr=False, kw_only=True)
class _LateFusion(Method):
    """The part that IMVC and OSIMVC share.

    Parameters
    ----------
    lam : float, default 1.0
        How strongly the consensus is pulled towards the leading eigenvectors of the mean kernel.

    Notes
    -----
    ``member_weights_`` are the learned beta times the weights that the user gave the members.
    """

    about = MethodInfo(cost="O(N m c + N c^2) per pass", scaling="linear", random=True)

    lam: float = parameter(1.0, Real(0.0, STRENGTH.high))
    max_iter: int = 100
    tol: float = 1e-4
    callback: Callback = None


@dataclass(eq=False, repr=False, kw_only=True)
class IMVC(_LateFusion):
    """Late fusion of incomplete members by an orthogonal consensus.

    For partial labels: rotates members to a common embedding and fills in their missing rows.

    Attributes
    ----------
    embedding_ : ndarray, shape (n, n_clusters)
        G, with orthonormal columns.

    See Also
    --------
    coterie.PCE : fills the gaps with labels.

    Examples
    --------
    >>> from coterie import IMVC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, -1, 0], [1, 1, 1], [-1, 1, 1], [1, 1, -1]]
    >>> IMVC(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = replace(
        _LateFusion.about,
        name="imvc",
        paper="X. Liu, M. Li, C. Tang, J. Xia, J. Xiong, L. Liu, M. Kloft, E. Zhu. Efficient and "
        "effective regularized incomplete multi-view clustering. IEEE Transactions on "
        "Pattern Analysis and Machine Intelligence 43, 2021.",
        grid={"lam": tuple(2.0**power for power in range(-15, 16, 3))},
    )

    n_init: int = 20

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        problem = Fusion.of(ensemble, self.n_clusters)
        members = start(problem)
        G = problem.guide
        combined = combine(problem, members, self.lam)
        history: list[Pass] = []
        converged = False
        for number in range(1, self.max_iter + 1):
            G = problem.polar(combined)  # 1
            follow_consensus(problem, members, G)  # 2 to 4
            combined = combine(problem, members, self.lam)
            self._add_pass(history, record(problem, G, combined, history))
            if number > 2 and history[-1]["residual"] < self.tol:
                converged = True
                break
        components = fit_kmeans(
            unit_rows(G), self.n_clusters, problem.weights, rng, n_init=self.n_init
        ).labels
        complete = len(np.unique(components)) == self.n_clusters
        return Partition(
            components,
            member_weights=problem.prior * members.beta,
            converged=converged,
            history=history,
            advice="Raise tol." if complete else "Ask for fewer clusters.",
            embedding=G,
            by_sample={"embedding_": G},
        )


@dataclass(eq=False, repr=False, kw_only=True)
class OSIMVC(_LateFusion):
    """Late fusion of incomplete members straight to a partition.

    For partial labels: like IMVC, but learns the partition directly.

    Parameters
    ----------
    n_init : int, default 10
        Number of starts; the one with the largest objective is kept.

    See Also
    --------
    coterie.PCE : fills the gaps with labels.

    Examples
    --------
    >>> from coterie import OSIMVC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, -1, 0], [1, 1, 1], [-1, 1, 1], [1, 1, -1]]
    >>> OSIMVC(n_clusters=2, random_state=0).fit_predict(labels).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = replace(
        _LateFusion.about,
        name="osimvc",
        paper="Y. Zhang, X. Liu, S. Wang, J. Liu, S. Dai, E. Zhu. One-stage incomplete multi-view "
        "clustering via late fusion. ACM International Conference on Multimedia, 2021.",
        grid={"lam": tuple(2.0**power for power in range(-15, 16))},
    )

    n_init: int = 10

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        problem = Fusion.of(ensemble, self.n_clusters)
        best: Run | None = None
        tried: list[FloatArray] = []
        for _ in range(self.n_init):
            C = first_rotation(problem, self.n_clusters, rng)
            if any(np.allclose(C, other) for other in tried):
                # the same start gives the same end
                continue
            tried.append(C)
            run = follow(problem, C, self.lam, self.max_iter, self.tol)
            if best is None or run.objective > best.objective * (1 + TIE):
                best = run
        assert best is not None
        self._call_back(best.history)
        complete = len(np.unique(best.labels)) == self.n_clusters
        return Partition(
            best.labels,
            member_weights=problem.prior * best.beta,
            converged=best.converged,
            history=best.history,
            advice="Raise tol." if complete else "Raise n_init or lam.",
            embedding=best.combined,
        )


@dataclass(frozen=True)
class Fusion:
    """The constants of the problem.

    Attributes
    ----------
    known : sparse array, shape (N, k)
        The known rows of all H_p, side by side.
    missing : tuple of ndarray
        Microclusters that each member did not label.
    weights : ndarray, shape (N,)
        Multiplicities r.
    ends : ndarray, shape (m - 1,)
        Where the base clusters of one member end and those of the next begin.
    prior : ndarray, shape (m,)
        How often each member counts.
    guide : ndarray, shape (N, c)
        H0: leading eigenvectors of the members' mean kernel, missing rows zero, R-orthonormal.
    """

    known: sparse.csr_array
    missing: tuple[IntArray, ...]
    weights: FloatArray
    ends: IntArray
    prior: FloatArray
    guide: FloatArray

    @classmethod
    def of(cls, ensemble: Ensemble, n_clusters: int) -> Self:
        """The problem for an ensemble."""
        weights = ensemble.sizes
        prior = ensemble.member_weight
        unit = sparse.diags_array(1.0 / np.sqrt(ensemble.cluster_sizes))
        known = sparse.csr_array(ensemble.incidence @ unit)
        root = np.sqrt(weights)
        value = np.sqrt(ensemble.weight_of_cluster)
        scaled = sparse.diags_array(root) @ known @ sparse.diags_array(value)
        guide = leading_left_vectors(sparse.csr_array(scaled), n_clusters) / root[:, None]
        return cls(
            known=known,
            missing=tuple(np.flatnonzero(column < 0) for column in ensemble.labels.T),
            weights=weights,
            ends=ensemble.cluster_starts[1:],
            prior=prior,
            guide=guide,
        )

    def polar(self, matrix: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """The polar factor of rows of microclusters, on the range of the matrix."""
        root = np.sqrt(self.weights if rows is None else self.weights[rows])[:, None]
        return supported_polar(root * matrix) / root


@dataclass
class Members:
    """Variables of the iteration: rotations W_p, weights beta, and filled rows.

    Filled rows are kept as a product X Z', and are None at first.
    """

    turns: list[FloatArray]
    beta: FloatArray
    filled: list[tuple[FloatArray, FloatArray] | None]


def start(problem: Fusion) -> Members:
    """Members turned towards the guide, equal weights, missing rows zero."""
    m = len(problem.prior)
    members = Members([], np.full(m, problem.prior.sum() ** -0.5), [None] * m)
    turn(problem, members, problem.guide)
    return members


def cross_products(problem: Fusion, members: Members, consensus: FloatArray) -> list[FloatArray]:
    """H_p' G of every member, k_p x c."""
    weighted = problem.weights[:, None] * consensus
    products = np.split(np.asarray(problem.known.T @ weighted), problem.ends)
    for p, filled in enumerate(members.filled):
        if filled is not None:
            X, Z = filled
            products[p] = products[p] + Z @ (X.T @ weighted[problem.missing[p]])
    return products


def follow_consensus(problem: Fusion, members: Members, consensus: FloatArray) -> None:
    """Turn, fill and weigh the members for a new consensus."""
    turn(problem, members, consensus)
    fill(problem, members, consensus)
    weigh(problem, members, consensus)


def turn(problem: Fusion, members: Members, consensus: FloatArray) -> None:
    """Rotations towards a consensus."""
    members.turns = [
        supported_polar(product) for product in cross_products(problem, members, consensus)
    ]


def fill(problem: Fusion, members: Members, consensus: FloatArray) -> None:
    """Missing rows from a consensus."""
    for p, (rows, W) in enumerate(zip(problem.missing, members.turns, strict=True)):
        if rows.size == 0:
            continue
        if W.shape[0] >= W.shape[1] and _full_rank(W):
            members.filled[p] = (problem.polar(consensus[rows], rows), W)
        else:
            members.filled[p] = (problem.polar(consensus[rows] @ W.T, rows), np.eye(len(W)))


def weigh(problem: Fusion, members: Members, consensus: FloatArray) -> None:
    """Weights from how well each turned member fits; equal where none does."""
    products = cross_products(problem, members, consensus)
    traces = [(product * W).sum() for product, W in zip(products, members.turns, strict=True)]
    fits = np.maximum(np.array(traces), 0.0)
    length = np.sqrt(problem.prior @ fits**2)
    equal = np.full_like(fits, problem.prior.sum() ** -0.5)
    members.beta = fits / length if length > 0 else equal


def combine(problem: Fusion, members: Members, lam: float) -> FloatArray:
    """T: the weighted sum of the turned members and lam H0, N x c."""
    share = problem.prior * members.beta
    stacked = np.concatenate([b * W for b, W in zip(share, members.turns, strict=True)])
    total = np.asarray(problem.known @ stacked) + lam * problem.guide
    for p, filled in enumerate(members.filled):
        if filled is not None:
            X, Z = filled
            total[problem.missing[p]] += share[p] * (X @ (Z.T @ members.turns[p]))
    return total


def record(
    problem: Fusion, consensus: FloatArray, combined: FloatArray, history: list[Pass]
) -> Pass:
    """The entry of a pass in the history, with the objective tr(G' T)."""
    objective = float((problem.weights[:, None] * consensus * combined).sum())
    before = history[-1]["objective"] if history else 0.0
    change = abs(objective - before) / abs(objective) if objective else 0.0
    return {"pass": len(history) + 1, "objective": objective, "residual": change}


def supported_polar(matrix: FloatArray) -> FloatArray:
    """U V' over the singular values that are not rounding errors; zero for a zero matrix."""
    if not np.isfinite(matrix).all():
        raise FloatingPointError("late fusion: the members or their consensus are not finite")
    rows, columns = matrix.shape
    if rows > 2 * columns:
        squares, vectors = np.linalg.eigh(matrix.T @ matrix)
        top = squares[-1]
        held = squares > SAFE_GRAM * top
        # squaring loses half of the digits: values between the two limits may or may not be zero
        if not ((squares > ROUNDING * top) & ~held).any():
            frame = vectors[:, held]
            factor = matrix @ ((frame / np.sqrt(squares[held])) @ frame.T)
            # a Newton-Schulz step restores the digits lost by squaring the condition number
            return factor @ (1.5 * np.eye(columns) - 0.5 * (factor.T @ factor))
    U, values, Vt = np.linalg.svd(matrix, full_matrices=False)
    held = values > NO_SUPPORT * values.max(initial=0.0)
    return np.asarray(U[:, held] @ Vt[held])


def _full_rank(W: FloatArray) -> bool:
    """Whether all columns are orthonormal; False if the product that W comes from was rank deficient."""
    return bool(abs((W**2).sum() - W.shape[1]) < 0.5)


# ---------------------------------------------------------------- OSIMVC


@dataclass(frozen=True)
class Run:
    """Result of one start."""

    labels: IntArray
    combined: FloatArray
    beta: FloatArray
    history: tuple[Pass, ...]
    converged: bool

    @property
    def objective(self) -> float:
        """After the last pass."""
        return self.history[-1]["objective"]


def first_rotation(problem: Fusion, n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """C from one k-means of the unit rows of H_0; rows of zeros for the clusters that are empty."""
    rows = unit_rows(problem.guide)
    clusters = fit_kmeans(rows, n_clusters, problem.weights, rng, n_init=1, max_iter=ROUNDS)
    # number clusters by first appearance, so that equal starts can be recognised
    _, first = np.unique(clusters.labels, return_index=True)
    centres = np.zeros((n_clusters, problem.guide.shape[1]))
    centres[: len(first)] = clusters.centres[np.argsort(first)]
    return supported_polar(centres)


def follow(problem: Fusion, C: FloatArray, lam: float, max_iter: int, tol: float) -> Run:
    """Passes until the objective settles."""
    members = start(problem)
    combined = combine(problem, members, lam)
    history: list[Pass] = []
    converged = False
    labels = np.zeros(len(problem.weights), dtype=np.int64)
    for number in range(1, max_iter + 1):
        labels = nearest(combined @ C.T)  # 1
        C = supported_polar(cross_product(combined, problem.weights, labels, len(C)).T)  # 1
        consensus = C[labels]
        follow_consensus(problem, members, consensus)  # 2 to 4
        combined = combine(problem, members, lam)
        history.append(record(problem, consensus, combined, history))
        if number > 2 and history[-1]["residual"] < tol:
            converged = True
            break
    return Run(labels, combined, members.beta, tuple(history), converged)


def nearest(scores: FloatArray) -> IntArray:
    """Column of the largest entry of each row, the lower one in a tie."""
    slack = TIE * np.abs(scores).max(axis=1, keepdims=True)
    return np.argmax(scores >= scores.max(axis=1, keepdims=True) - slack, axis=1)
