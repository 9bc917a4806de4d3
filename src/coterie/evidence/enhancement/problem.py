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
from scipy.sparse.linalg import splu

from coterie.core.budget import GRANTED
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.evidence.enhancement.tiles import TILE, Layout, Numbers, Quads, Tiles, Triangle
from coterie.evidence.given import chosen_similarity
from coterie.evidence.trajectories import TRAJECTORY_BYTES

Precision = Literal["double", "single"]

# an inverse is applied to panels of columns of this size, so that no second N x N array is needed
PANEL_BYTES = 1 << 22
# a factor with a larger share of a block's entries is slower than the inverse
SPARSE_SHARE = 0.1
# zeros that may be added to take four columns of a factor together, as a share of their entries
PADDING = 0.3
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

    def norm(self, weights: FloatArray) -> float:
        """Frobenius norm of the n x n matrix."""
        squares = float(weights @ np.einsum("ij,ij,j->i", self.between, self.between, weights))
        squares += float(np.sum(weights * (self.own**2 - np.diag(self.between) ** 2)))
        return float(np.sqrt(max(squares, 0.0)))


@dataclass(frozen=True)
class Inverted:
    """A connected block, and the inverse of K on it.

    Attributes
    ----------
    rows : tuple of int
        Its first position, and the one after its last.
    inverse : ndarray
    """

    rows: tuple[int, int]
    inverse: Numbers

    def solve(self, X: Tiles, r: Numbers) -> float:
        """Overwrite X with C; return the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
        from coterie.evidence.enhancement.kernels import multiply

        most = max(1, PANEL_BYTES // (self.inverse.itemsize * TILE * len(self.inverse)))
        return multiply(self.rows, self.inverse, X.layout.slots, X.first, X.second, r, most)


@dataclass(frozen=True)
class Factorised:
    """Ranges of positions, and L D L' = R K on them.

    Attributes
    ----------
    ranges : ndarray, shape (n_ranges, 2)
        A connected block, or several small ones: first position, and the one after the last.
    lower, upper : tuple of ndarray
        Rows of L and of its transpose without their unit diagonals: starts by position, columns
        within the range, values. Without the columns of L in ``quads``.
    quads : tuple of ndarray
        Four columns of L in a row with entries in nearly the same rows: first position, starts, rows
        within the range, values, and the four by four entries on the diagonal.
    inverse_pivots : ndarray
        One over D, by position.
    """

    ranges: NDArray[np.int64]
    lower: Triangle
    upper: Triangle
    quads: Quads
    inverse_pivots: Numbers

    def solve(self, X: Tiles, r: Numbers) -> float:
        """Overwrite X with C; return the sum of r_i r_j C_ij (X_ij - 2 C_ij)."""
        from coterie.evidence.enhancement.kernels import solve_factorised

        return solve_factorised(
            self.ranges, self.lower, self.upper, self.quads, self.inverse_pivots,
            X.layout.slots, X.first, X.second, r,
        )  # fmt: skip


Block = Inverted | Factorised


@dataclass(frozen=True)
class Problem:
    """Problem (5) on microclusters.

    Attributes
    ----------
    evidence : ndarray, shape (S, TILE, TILE)
        A, of which only one half is stored.
    own : ndarray, shape (N,)
        A of a sample with itself, by position.
    pinned : ndarray of bool, shape (S, TILE, TILE)
        Omega; a sample with itself is never in it.
    scale : float
        Norm of A.
    weights : ndarray, shape (N,)
        Multiplicities r.
    groups : ndarray, shape (N,)
        Connected block of each microcluster in H.
    layout : Layout
    degrees : ndarray, shape (N,)
        t = 2 H r + 2, by position.
    blocks : tuple of Block
    """

    evidence: Numbers
    own: Numbers
    pinned: NDArray[np.bool_]
    scale: float
    weights: FloatArray
    groups: NDArray[np.int32]
    layout: Layout
    degrees: FloatArray
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
        # no name for the N x N evidence, so that it is freed when the problem has its own copy
        return cls.pose(
            SampleMatrix(
                *chosen_similarity(ensemble, evidence, reliability, memory_budget=GRANTED)
            ),
            confident,
            ensemble.sizes,
            propagate,
            keep_confident,
            precision,
        )

    @classmethod
    def pose(
        cls,
        evidence: SampleMatrix,
        confident: sparse.csr_array,
        weights: FloatArray,
        propagate: bool,
        keep_confident: bool,
        precision: Precision = "double",
    ) -> Self:
        """Step 1, given A and H."""
        _, groups = connected_components(confident, directed=False)
        dtype = np.dtype(precision)
        if propagate:
            degrees = 2.0 * (confident @ weights) + 2.0
            parts, linked = _parts(evidence.between, groups)
            order, blocks = _blocks(confident, groups, parts, weights, degrees, dtype)
        else:
            degrees = np.full(len(weights), 2.0)
            lone = sparse.csr_array(confident.shape)
            each = np.arange(len(weights))
            parts, linked = _parts(evidence.between, each)
            order, blocks = _blocks(lone, each, parts, weights, degrees, dtype)
        layout = Layout.of(order, linked)
        pinned = np.zeros(confident.shape, dtype=np.bool_)
        if keep_confident:
            pinned[confident.nonzero()] = True
        return cls(
            evidence=layout.packed(evidence.between, dtype),
            own=evidence.own[order].astype(dtype),
            pinned=layout.packed(pinned, pinned.dtype),
            scale=evidence.norm(weights),
            weights=weights,
            groups=groups,
            layout=layout,
            degrees=degrees[order],
            blocks=tuple(blocks),
        )


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


def _parts(
    evidence: Numbers, groups: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Groups with evidence between them are linked: the connected parts, and the linked pairs."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(groups.max() + 1))
    linked = np.logical_or.reduceat(evidence[order] != 0.0, starts, axis=0)
    linked = np.logical_or.reduceat(linked[:, order], starts, axis=1)
    linked |= linked.T
    linked[np.diag_indices(len(linked))] = True
    _, parts = connected_components(linked, directed=False)
    return parts[groups], linked[groups][:, groups]


def _blocks(
    confident: sparse.csr_array,
    groups: NDArray[np.int32],
    parts: NDArray[np.int32],
    r: FloatArray,
    degrees: FloatArray,
    precision: np.dtype[Any],
) -> tuple[NDArray[np.int64], list[Block]]:
    """The order of the microclusters, and the blocks of K, each in the form that is solved fastest."""
    sizes = np.bincount(groups)
    # parts together, and in each its groups with the largest first
    order = np.lexsort((groups, -sizes[groups], parts))
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    bounds = np.concatenate([[0], cuts, [len(order)]])
    ranges: list[tuple[int, int]] = []
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        small = end - begin <= SMALL_BLOCK
        joins = small and ranges and joinable and end - ranges[-1][0] <= BATCH_ROWS
        if joins:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((begin, end))
        joinable = small
    blocks: list[Block] = []
    factors: list[tuple[tuple[int, int], sparse.csr_array, FloatArray]] = []
    for begin, end in ranges:
        rows = order[begin:end]
        high = sparse.csr_array(confident[rows][:, rows])
        most = SPARSE_SHARE * len(rows) ** 2
        one = groups[rows[0]] == groups[rows[-1]] and len(rows) > SMALL_BLOCK
        if not one or high.nnz <= most:
            eliminated, lower, pivots = _eliminated(high, groups[rows], r[rows], degrees[rows])
            if not one or lower.nnz <= most:
                order[begin:end] = rows[eliminated]
                factors.append(((begin, end), lower, pivots))
                continue
        inverse = _block_inverse(high.toarray(), r[rows], degrees[rows])
        blocks.append(Inverted((begin, end), inverse.astype(precision, copy=False)))
    if factors:
        blocks.append(_factorised(factors, len(order), precision))
    return order, blocks


def _eliminated(
    high: sparse.csr_array, groups: NDArray[np.int32], weights: FloatArray, degrees: FloatArray
) -> tuple[NDArray[np.int64], sparse.csr_array, FloatArray]:
    """An order of elimination that keeps groups together, L without its diagonal, and D.

    L D L' = diag(t / r) - 2 H, which is diagonally dominant after scaling its columns.
    """
    # pivot on the diagonal only, so that rows and columns keep the same order
    factors = splu(
        sparse.csc_array(sparse.diags_array(degrees / weights) - 2.0 * high),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    eliminated = np.argsort(factors.perm_c)
    # groups have no entries in common, so only the order within a group matters
    starts = {group: position for position, group in enumerate(dict.fromkeys(groups.tolist()))}
    by_group = np.argsort([starts[group] for group in groups[eliminated].tolist()], kind="stable")
    lower = sparse.csr_array(sparse.tril(factors.L, -1, format="csr"))[by_group][:, by_group]
    lower.sort_indices()
    return eliminated[by_group], lower, factors.U.diagonal()[by_group]


def _factorised(
    factors: list[tuple[tuple[int, int], sparse.csr_array, FloatArray]],
    size: int,
    precision: np.dtype[Any],
) -> Factorised:
    pivots = np.ones(size)
    singles, heads, lengths = [], [], []
    rows_of_quads = [np.empty(0, dtype=np.uint32)]
    values_of_quads, inner = [np.empty((0, 4))], [np.empty((0, 4, 4))]
    for (begin, end), lower, found in factors:
        pivots[begin:end] = found
        lower = sparse.csc_array(lower)
        single = np.ones(end - begin, dtype=np.bool_)
        for head in _quads(lower):
            four = lower[:, head : head + 4].tocsr()
            rows = np.flatnonzero(np.diff(four.indptr))
            rows = rows[rows >= head + 4]
            single[head : head + 4] = False
            heads.append(begin + head)
            lengths.append(len(rows))
            rows_of_quads.append(rows.astype(np.uint32))
            values_of_quads.append(four[rows].toarray())
            inner.append(four[head : head + 4].toarray()[None])
        singles.append(sparse.csr_array(lower @ sparse.diags_array(single.astype(float))))
    triangles = []
    for turned in (False, True):
        counts = np.zeros(size + 1, dtype=np.int64)
        columns, values = [], []
        for ((begin, end), _, _), lower in zip(factors, singles, strict=True):
            triangle = sparse.csr_array(lower.T) if turned else lower
            triangle.eliminate_zeros()
            counts[begin + 1 : end + 1] = np.diff(triangle.indptr)
            columns.append(triangle.indices.astype(np.uint32))
            values.append(triangle.data.astype(precision))
        triangles.append((np.cumsum(counts), np.concatenate(columns), np.concatenate(values)))
    return Factorised(
        ranges=np.array([begin_end for begin_end, _, _ in factors]),
        lower=triangles[0],
        upper=triangles[1],
        quads=(
            np.array(heads, dtype=np.int64),
            np.cumsum([0, *lengths]),
            np.concatenate(rows_of_quads),
            np.concatenate(values_of_quads).astype(precision),
            np.concatenate(inner).astype(precision),
        ),
        inverse_pivots=(1.0 / pivots).astype(precision),
    )


def _quads(lower: sparse.csc_array) -> list[int]:
    """Where four columns of L in a row have entries in nearly the same rows.

    If the first entry of column j is in row j + 1, then its other entries are in rows in which column
    j + 1 has entries, too.
    """
    counts = np.diff(lower.indptr)
    heads = []
    j = 0
    while j + 4 <= len(counts):
        chained = all(
            counts[k] > 0 and lower.indices[lower.indptr[k]] == k + 1 for k in range(j, j + 3)
        )
        if chained and 4 * counts[j + 3] + 6 <= (1.0 + PADDING) * counts[j : j + 4].sum():
            heads.append(j)
            j += 4
        else:
            j += 1
    return heads


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
