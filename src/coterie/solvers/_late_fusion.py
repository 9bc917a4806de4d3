r"""Late fusion of partial members: turn each towards a consensus, fill its missing rows, weigh it.

Member p is the matrix :math:`H_p` of n rows and k_p columns: the indicator of its clusters with columns of
unit length on the samples it labelled, unknown rows on the others. For a consensus G (n x c), the maximisers
of :math:`\mathrm{tr}(G' \sum_p \beta_p H_p W_p)` have closed forms, with polar(M) = U V' for M = U S V':

- turning: :math:`W_p = \mathrm{polar}(H_p' G)`, of k_p x c
- filling: the unknown rows are :math:`\mathrm{polar}(G W_p')` on those rows
- weighing: :math:`\beta_p = f_p / \|f\|` with :math:`f_p = \max(\mathrm{tr}(G' H_p W_p), 0)`

On microclusters with multiplicities R the polar factor of a matrix with repeated rows is
:math:`R^{-1/2} \mathrm{polar}(R^{1/2} M)`, and every product over samples contains R. If a matrix does
not have full rank, its polar factor is computed on its range only, because any completion would treat
identical samples differently.

Members need not have c clusters. With k_p < c the rows of :math:`W_p` are orthonormal, which is what zero
columns in :math:`H_p` would give; with k_p > c its columns are, and the filled rows are
:math:`\mathrm{polar}(G) W_p'`. No n x k_p matrix is formed: known rows are gathered by label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.numerics.stiefel import leading_left_vectors

# singular values below this share of the largest are rounding errors
NO_SUPPORT = 1e-10
# the same for squared singular values: accurate above the first share, zero below the second
SAFE_GRAM, ROUNDING = 1e-8, 1e-14


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
