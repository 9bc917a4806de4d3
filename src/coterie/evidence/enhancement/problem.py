"""The problem of EC-CMS on microclusters: evidence, certain pairs, and the blocks they connect.

:mod:`coterie.solvers.ec_cms` describes the problem, its steps and why microclusters are sufficient.
Numbers in parentheses are the paper's equations. All N x N matrices have the precision of the evidence;
sums over pairs are doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import SuperLU, splu

from coterie.core.budget import GRANTED
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.evidence.given import chosen_similarity
from coterie.evidence.trajectories import TRAJECTORY_BYTES

# arrays in the precision of the evidence
Numbers = NDArray[Any]
# starts of the rows, columns, values
Triangle = tuple[NDArray[np.int32], NDArray[np.int32], Numbers]
Precision = Literal["double", "single"]

# an inverse is applied to panels of columns of this size, so that no second N x N array is needed
PANEL_BYTES = 1 << 22
# a factor with a larger share of a block's entries is slower than the inverse
SPARSE_SHARE = 0.1
# blocks up to this size are solved together, in batches that fit into cache
SMALL_BLOCK, BATCH_ROWS = 64, 1024
# bytes per pair of microclusters while the matrix is learned
BYTES_PER_PAIR: Mapping[Precision, int] = {"double": 48, "single": 26}
# far below the least difference of two shares of members, far above rounding
SHARE_SLACK = 1e-9


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
        """The same matrix in this precision."""
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

    def solve(self, X: Numbers, weights: Numbers) -> float:
        """Overwrite X with C; return the sum of r_i r_j C_ij (X_ij - 2 C_ij), here 0."""
        for row in self.rows.tolist():
            X[row] *= 0.5
        return 0.0


@dataclass(frozen=True)
class Inverted:
    """Microclusters that H connects, and the inverse of K on them."""

    rows: NDArray[np.int64]
    inverse: Numbers

    def solve(self, X: Numbers, weights: Numbers) -> float:
        """Overwrite X with C; return the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
        from coterie.evidence.enhancement.kernels import PANEL

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
    def of(cls, rows: NDArray[np.int64], factors: SuperLU, precision: np.dtype[Any]) -> Self:
        """From the factors of diag(t / r) - 2 H."""
        strict = sparse.tril(factors.L, -1, format="csr").astype(precision)
        turned = sparse.csr_array(strict.T)
        return cls(
            rows=rows[np.argsort(factors.perm_c)],
            lower=(strict.indptr, strict.indices, strict.data),
            upper=(turned.indptr, turned.indices, turned.data),
            inverse_pivots=(1.0 / factors.U.diagonal()).astype(precision),
        )

    def solve(self, X: Numbers, weights: Numbers) -> float:
        """Overwrite X with C; return the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
        from coterie.evidence.enhancement.kernels import solve_factorised

        return solve_factorised(X, self.rows, self.lower, self.upper, self.inverse_pivots, weights)


def _eliminated(high: sparse.csr_array, weights: FloatArray, degrees: FloatArray) -> SuperLU:
    """The factors of diag(t / r) - 2 H, which is diagonally dominant after scaling its columns."""
    # pivot on the diagonal only, so that rows and columns keep the same order
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
    def of(
        cls,
        ensemble: Ensemble,
        evidence: str | ArrayLike,
        reliability: FloatArray | None,
        *,
        alpha: float,
        propagate: bool,
        keep_confident: bool,
        precision: Precision,
    ) -> Self:
        """The problem for an ensemble; the caller has checked :func:`bytes_per_pair`.

        ``reliability`` is that of the base clusters, for the evidence "lwca" only.
        """
        shares = coassociation(ensemble, memory_budget=GRANTED)
        confident = confident_pairs(shares, ensemble.weights, alpha)
        del shares
        between, own = chosen_similarity(ensemble, evidence, reliability, memory_budget=GRANTED)
        similarity = SampleMatrix(between, own).rounded(precision)
        return cls.pose(similarity, confident, ensemble.sizes, propagate, keep_confident)

    @classmethod
    def pose(
        cls,
        evidence: SampleMatrix,
        confident: sparse.csr_array,
        weights: FloatArray,
        propagate: bool,
        keep_confident: bool,
    ) -> Self:
        """Step 1, given A and H."""
        degrees = 2.0 * (confident @ weights) + 2.0
        _, groups = connected_components(confident, directed=False)
        if propagate:
            blocks = _blocks(confident, groups, weights, degrees, evidence.between.dtype)
        else:
            degrees = np.full_like(degrees, 2.0)
            blocks = [Lone(np.arange(len(weights)))]
        pinned = np.zeros(confident.shape, dtype=np.bool_)
        if keep_confident:
            pinned[confident.nonzero()] = True
        return cls(evidence, pinned, weights, degrees, groups, tuple(blocks))


def bytes_per_pair(evidence: str | ArrayLike, precision: Precision) -> int:
    """Bytes per pair of microclusters that the problem and its passes take."""
    needed = BYTES_PER_PAIR[precision]
    by_walks = isinstance(evidence, str) and evidence == "pts"
    return max(needed, TRAJECTORY_BYTES) if by_walks else needed


def confident_pairs(shares: FloatArray, weights: NDArray[Any], alpha: float) -> sparse.csr_array:
    """H, (2): the shares of pairs of different samples that reach alpha."""
    certain = (shares >= alpha - SHARE_SLACK) & (shares > 0.0)
    certain[np.diag_indices(len(shares))] &= weights > 1
    rows, columns = np.nonzero(certain)
    return sparse.csr_array((shares[rows, columns], (rows, columns)), shape=shares.shape)


def _blocks(
    confident: sparse.csr_array,
    groups: NDArray[np.int32],
    r: FloatArray,
    degrees: FloatArray,
    precision: np.dtype[Any],
) -> list[Block]:
    """The blocks of K, each in the form in which it is solved fastest."""
    sizes = np.bincount(groups)
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    blocks: list[Block] = [Lone(np.flatnonzero(sizes[groups] == 1))]
    small = [members[group] for group in np.flatnonzero((sizes > 1) & (sizes <= SMALL_BLOCK))]
    rows_before = np.cumsum([0, *(len(rows) for rows in small)])
    for batch in range(int(rows_before[-1]) // BATCH_ROWS + 1):
        chosen = np.flatnonzero(rows_before[:-1] // BATCH_ROWS == batch)
        if len(chosen):
            rows = np.concatenate([small[i] for i in chosen])
            high = sparse.csr_array(confident[rows][:, rows])
            factors = _eliminated(high, r[rows], degrees[rows])
            blocks.append(Factorised.of(rows, factors, precision))
    for group in np.flatnonzero(sizes > SMALL_BLOCK):
        rows = members[group]
        high = sparse.csr_array(confident[rows][:, rows])
        blocks.append(_large_block(rows, high, r[rows], degrees[rows], precision))
    return blocks


def _large_block(
    rows: NDArray[np.int64],
    high: sparse.csr_array,
    r: FloatArray,
    degrees: FloatArray,
    precision: np.dtype[Any],
) -> Block:
    most = SPARSE_SHARE * len(rows) ** 2
    if high.nnz <= most:
        factors = _eliminated(high, r, degrees)
        # both factors are counted, each with its diagonal
        if factors.nnz - 2 * len(rows) <= 2 * most:
            return Factorised.of(rows, factors, precision)
    inverse = _block_inverse(high.toarray(), r, degrees)
    return Inverted(rows, inverse.astype(precision, copy=False))


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
