"""The passes of EC-CMS on microclusters: the problem, its blocks, and how it is minimised.

Which problem this is, its steps and why microclusters are enough: :mod:`coterie.solvers.ec_cms`. Numbers in
parentheses are the paper's. All N x N matrices are of one precision, that of the evidence; whatever is
summed over pairs is a double.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import SuperLU, splu

from coterie.core.types import FloatArray, Pass
from coterie.evidence.enhancement_kernels import PANEL, solve_factorised, sweep, sweep_own

# of the precision of the evidence
Numbers = NDArray[Any]
# starts of the rows, columns, values
Triangle = tuple[NDArray[np.int32], NDArray[np.int32], Numbers]
Precision = Literal["double", "single"]

# a panel of columns is multiplied by an inverse at a time, so that step 2 needs no second N x N array
PANEL_BYTES = 1 << 22
# a factor with a larger share of a block's entries is slower than the inverse
SPARSE_SHARE = 0.1
# blocks up to this size are solved together, as many as fill a cache
SMALL_BLOCK, BATCH_ROWS = 64, 1024
# what counts as nothing next to the evidence: above what rounding leaves of a zero
NEGLIGIBLE: Mapping[str, float] = {"f8": 1e-7, "f4": 1e-3}


@dataclass
class SampleMatrix:
    """An n x n matrix: values of pairs of different samples, and of samples with themselves.

    Attributes
    ----------
    between : ndarray, shape (N, N)
        By microcluster; on the diagonal, two samples of the same one.
    own : ndarray, shape (N,)
        A sample with itself.
    """

    between: Numbers
    own: Numbers

    @classmethod
    def zeros_like(cls, other: SampleMatrix) -> Self:
        """All zero."""
        return cls(np.zeros_like(other.between), np.zeros_like(other.own))

    def rounded(self, precision: Precision) -> SampleMatrix:
        """In this precision; itself where that changes nothing."""
        return SampleMatrix(
            self.between.astype(precision, copy=False), self.own.astype(precision, copy=False)
        )

    def norm(self, weights: FloatArray) -> float:
        """Frobenius norm of the n x n matrix."""
        squares = float(weights @ np.einsum("ij,ij,j->i", self.between, self.between, weights))
        squares += float(np.sum(weights * (self.own**2 - np.diag(self.between) ** 2)))
        return float(np.sqrt(max(squares, 0.0)))


@dataclass(frozen=True)
class Lone:
    """Microclusters that H connects to no other: K is 2 there."""

    rows: NDArray[np.int64]

    def rounded(self, _: np.dtype[Any]) -> Self:
        """For matrices of this precision."""
        return self

    def solve(self, X: Numbers, weights: Numbers) -> float:
        """C in the place of X; returns the sum of r_i r_j C_ij (X_ij - 2 C_ij), here 0."""
        for row in self.rows.tolist():
            X[row] *= 0.5
        return 0.0


@dataclass(frozen=True)
class Inverted:
    """Microclusters that H connects, and the inverse of K on them."""

    rows: NDArray[np.int64]
    inverse: Numbers

    def rounded(self, precision: np.dtype[Any]) -> Self:
        """For matrices of this precision."""
        return replace(self, inverse=self.inverse.astype(precision, copy=False))

    def solve(self, X: Numbers, weights: Numbers) -> float:
        """C in the place of X; returns the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
        total = 0.0
        width = max(PANEL, PANEL_BYTES // (X.itemsize * len(self.rows)))
        for left in range(0, len(weights), width):
            columns = slice(left, left + width)
            panel = X[self.rows, columns]
            solved = self.inverse @ panel
            X[self.rows, columns] = solved
            panel -= 2.0 * solved
            panel *= solved
            total += float(weights[self.rows] @ (panel @ weights[columns]))
        return total


@dataclass(frozen=True)
class Factorised:
    """Microclusters that H connects, in order of elimination, and L D L' = R K on them.

    Attributes
    ----------
    rows : ndarray
    lower, upper : tuple of ndarray
        Rows of L and of its transpose without their unit diagonals: starts, columns, values.
    inverse_pivots : ndarray
        One over D.
    """

    rows: NDArray[np.int64]
    lower: Triangle
    upper: Triangle
    inverse_pivots: Numbers

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        high: sparse.csr_array,
        weights: FloatArray,
        degrees: FloatArray,
    ) -> Self:
        """The factors of diag(t / r) - 2 H, which is diagonally dominant but for a column scale."""
        return cls._from(rows, _eliminated(high, weights, degrees))

    @classmethod
    def unless_filled(
        cls,
        rows: NDArray[np.int64],
        high: sparse.csr_array,
        weights: FloatArray,
        degrees: FloatArray,
    ) -> Self | None:
        """The same, or None where the factors fill up, before they are copied."""
        found = _eliminated(high, weights, degrees)
        # both factors are counted, each with its diagonal
        if found.nnz - 2 * len(rows) > 2 * SPARSE_SHARE * len(rows) ** 2:
            return None
        return cls._from(rows, found)

    @classmethod
    def _from(cls, rows: NDArray[np.int64], found: SuperLU) -> Self:
        strict = sparse.tril(found.L, -1, format="csr")
        turned = sparse.csr_array(strict.T)
        return cls(
            rows=rows[np.argsort(found.perm_c)],
            lower=(strict.indptr, strict.indices, strict.data),
            upper=(turned.indptr, turned.indices, turned.data),
            inverse_pivots=1.0 / found.U.diagonal(),
        )

    def rounded(self, precision: np.dtype[Any]) -> Self:
        """For matrices of this precision."""

        def triangle(part: Triangle) -> Triangle:
            starts, columns, values = part
            return starts, columns, values.astype(precision, copy=False)

        return replace(
            self,
            lower=triangle(self.lower),
            upper=triangle(self.upper),
            inverse_pivots=self.inverse_pivots.astype(precision, copy=False),
        )

    def solve(self, X: Numbers, weights: Numbers) -> float:
        """C in the place of X; returns the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
        return solve_factorised(X, self.rows, self.lower, self.upper, self.inverse_pivots, weights)


def _eliminated(high: sparse.csr_array, weights: FloatArray, degrees: FloatArray) -> SuperLU:
    # no pivots but on the diagonal, which needs none: rows and columns keep one order
    return splu(
        sparse.csc_array(sparse.diags_array(degrees / weights) - 2.0 * high),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


Block = Lone | Inverted | Factorised


@dataclass(frozen=True)
class Problem:
    """Problem (5) on microclusters.

    Attributes
    ----------
    evidence : SampleMatrix
        A.
    pinned : ndarray of bool, shape (N, N)
        Omega; a sample with itself is never in it.
    weights : ndarray, shape (N,)
        Multiplicities r.
    degrees : ndarray, shape (N,)
        t = 2 H r + 2.
    groups : ndarray, shape (N,)
        Connected block of each microcluster in H.
    blocks : tuple of Block
        All lone microclusters as one, small connected blocks in batches, then each large one.
    """

    evidence: SampleMatrix
    pinned: NDArray[np.bool_]
    weights: FloatArray
    degrees: FloatArray
    groups: NDArray[np.int32]
    blocks: tuple[Block, ...]

    @classmethod
    def pose(
        cls,
        evidence: SampleMatrix,
        confident: sparse.csr_array,
        weights: NDArray[Any],
        propagate: bool,
        keep_confident: bool,
    ) -> Self:
        """Step 1, given A and H."""
        r = weights.astype(np.float64)
        degrees = 2.0 * (confident @ r) + 2.0
        _, groups = connected_components(confident, directed=False)
        if propagate:
            blocks = _blocks(confident, groups, r, degrees)
        else:
            degrees = np.full_like(degrees, 2.0)
            blocks = [Lone(np.arange(len(r)))]
        blocks = [block.rounded(evidence.between.dtype) for block in blocks]
        pinned = np.zeros(confident.shape, dtype=np.bool_)
        if keep_confident:
            pinned[confident.nonzero()] = True
        return cls(evidence, pinned, r, degrees, groups, tuple(blocks))


@dataclass
class State:
    """What moves.

    Attributes
    ----------
    learned, target : SampleMatrix
        C, and the X it is made from in place; then the place of the old C takes the next X.
    error : SampleMatrix
        E outside Omega, Y1 inside.
    shifted : SampleMatrix
        P = C + Y2 of (13), before the update of Y2.
    norms : ndarray, shape (5,)
        Of C, E, F, Y1 and Y2.
    """

    learned: SampleMatrix
    target: SampleMatrix
    error: SampleMatrix
    shifted: SampleMatrix
    norms: FloatArray

    @classmethod
    def at_start(cls, problem: Problem) -> Self:
        """C = E = F = Y2 = 0 and Y1 = A, hence X = 2 A."""
        A, zeros = problem.evidence, SampleMatrix.zeros_like
        target = SampleMatrix(2.0 * A.between, 2.0 * A.own)
        norms = np.array([0.0, 0.0, 0.0, A.norm(problem.weights), 0.0])
        return cls(zeros(A), target, zeros(A), zeros(A), norms)


def minimise(
    problem: Problem,
    lam: float,
    tol: float,
    max_iter: int,
    callback: Callable[[Pass], object] | None,
) -> tuple[FloatArray, tuple[Pass, ...], bool]:
    """Passes until the relative change is below ``tol``, at most ``max_iter``.

    Returns the symmetric part of C, one record per pass, and whether it converged.
    """
    history: list[Pass] = []
    state = State.at_start(problem)
    A = problem.evidence
    least = NEGLIGIBLE[A.between.dtype.str[1:]] * A.norm(problem.weights)
    converged = settled = False
    while not converged and len(history) < max_iter:
        first = not history
        objective, changes = propagate(problem, state), np.zeros(5)  # 2
        # (Phi + I)^-1 A has no smoothness to gain: then A itself has none, and is the optimum
        settled = first and objective <= least**2
        if settled:
            objective = 0.0
        else:
            changes, error = relax(problem, state, lam, least, first)  # 3
            objective += lam / 2.0 * error
        if not np.isfinite(objective + changes.sum()):
            raise FloatingPointError(f"EC-CMS: pass {len(history) + 1} gave non-finite numbers")
        history.append(_record(len(history) + 1, objective, changes))
        if callback is not None:
            callback(history[-1])
        converged = settled or bool(changes.max() < tol)  # 4
    C = A.between if settled else state.learned.between
    # free all but C before the symmetric part is allocated
    del state
    return _symmetric_part(problem, C), tuple(history), converged


def _symmetric_part(problem: Problem, C: Numbers) -> FloatArray:
    learned = C.astype(np.float64)
    learned += C.T
    learned /= 2.0
    np.clip(learned, 0.0, 1.0, out=learned)
    # no pair inside a microcluster of one sample: its diagonal is the sample with itself
    lone = np.flatnonzero(problem.weights <= 1.0)
    learned[lone, lone] = problem.evidence.own[lone]
    return learned


def propagate(problem: Problem, state: State) -> float:
    """Step 2, in the place of X; returns tr(C' Phi C), where 2 Phi C = X - 2 C."""
    r, t, X = problem.weights, problem.degrees, state.target
    diagonal = np.diag_indices(len(r))
    before = X.between[diagonal]
    surplus = X.own - before
    X.between[diagonal] = raised = before + surplus / r
    twice_smoothness = 0.0
    like_matrices = r.astype(X.between.dtype, copy=False)
    for block in problem.blocks:
        twice_smoothness += block.solve(X.between, like_matrices)
    solved_diagonal = X.between[diagonal]
    X.between[diagonal] = after = solved_diagonal - surplus / (r * t)
    own = after + surplus / t
    # the blocks counted r^2 raised diagonals; there are r (r - 1) pairs and r samples
    twice_smoothness += float(
        np.sum(r * (r - 1.0) * after * (before - 2.0 * after) + r * own * (X.own - 2.0 * own))
        - np.sum(r**2 * solved_diagonal * (raised - 2.0 * solved_diagonal))
    )
    X.own = own.astype(X.own.dtype, copy=False)
    state.learned, state.target = X, state.learned
    return max(twice_smoothness / 2.0, 0.0)


def relax(
    problem: Problem, state: State, lam: float, least: float, first: bool
) -> tuple[FloatArray, float]:
    """Step 3; returns the five relative changes and |E|^2."""
    A, C, X, Z, P = problem.evidence, state.learned, state.target, state.error, state.shifted
    precision = A.between.dtype
    r, price = problem.weights.astype(precision, copy=False), precision.type(lam)
    sums = sweep(
        A.between, problem.pinned, r, C.between, X.between, Z.between, P.between, price, first
    ).sum(axis=0)
    sums += sweep_own(A.own, r, C.own, X.own, Z.own, P.own, price, first)
    changes = np.sqrt(sums[:5]) / np.maximum(state.norms, least)
    state.norms = np.sqrt(sums[5:])
    return changes, float(sums[6])


def _record(number: int, objective: float, changes: FloatArray) -> Pass:
    names = ("change_C", "change_E", "change_F", "change_Y1", "change_Y2")
    return {
        "pass": number,
        "objective": objective,
        "residual": float(changes.max()),
        **dict(zip(names, changes.tolist(), strict=True)),
    }


def _blocks(
    confident: sparse.csr_array, groups: NDArray[np.int32], r: FloatArray, degrees: FloatArray
) -> list[Block]:
    """The blocks of K, each in the form in which it is solved fastest."""
    sizes = np.bincount(groups)
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    blocks: list[Block] = [Lone(np.flatnonzero(sizes[groups] == 1))]
    small = [members[group] for group in np.flatnonzero((sizes > 1) & (sizes <= SMALL_BLOCK))]
    rows_before = np.cumsum([0, *(len(rows) for rows in small)])
    for batch in range(int(rows_before[-1]) // BATCH_ROWS + 1):
        chosen = [
            rows
            for rows, before in zip(small, rows_before[:-1], strict=True)
            if before // BATCH_ROWS == batch
        ]
        if chosen:
            rows = np.concatenate(chosen)
            high = sparse.csr_array(confident[rows][:, rows])
            blocks.append(Factorised.of(rows, high, r[rows], degrees[rows]))
    for group in np.flatnonzero(sizes > SMALL_BLOCK):
        rows = members[group]
        blocks.append(
            _large_block(rows, sparse.csr_array(confident[rows][:, rows]), r[rows], degrees[rows])
        )
    return blocks


def _large_block(
    rows: NDArray[np.int64], high: sparse.csr_array, r: FloatArray, degrees: FloatArray
) -> Block:
    if high.nnz <= SPARSE_SHARE * len(rows) ** 2:
        factorised = Factorised.unless_filled(rows, high, r, degrees)
        if factorised is not None:
            return factorised
    return Inverted(rows, _block_inverse(high.toarray(), r, degrees))


def _block_inverse(high: FloatArray, weights: FloatArray, degrees: FloatArray) -> FloatArray:
    """Inverse of K = diag(t) - 2 H R, by the positive definite form that roots of R give it."""
    root = np.sqrt(weights)
    high *= -2.0 * root[:, None]
    high *= root
    high[np.diag_indices(len(root))] += degrees
    factor = linalg.cho_factor(high, lower=True, overwrite_a=True)
    inverse = linalg.cho_solve(factor, np.diag(root), overwrite_b=True)
    inverse /= root[:, None]
    return np.asarray(inverse)
