"""The systems (9), which are the same in all passes: blocks, order of elimination, factors.

A factor is stored in quads: four columns of L in a row, with one list of the rows below in which any of
them has an entry. The entries of a list are used for four rows at once. That is worth the added zeros
(three quarters of the entries on the pool ls), because single entries take more than twice as long each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from coterie.core.types import FloatArray
from coterie.evidence.enhancement.tiles import Numbers

# with a larger share of its entries, a block is factorised as a dense matrix
SPARSE_SHARE = 0.1
# blocks up to this size are solved together, in batches that fit into cache
SMALL_BLOCK, BATCH_ROWS = 64, 1024


class Factor(NamedTuple):
    """K = L U on ranges of positions, each a connected block or several small ones.

    Attributes
    ----------
    quads : ndarray, shape (n_ranges + 1,)
        First quad of each range. Quad q takes the positions from 4 q on.
    starts : ndarray, shape (n_quads + 1,)
        Where the lists of the quads begin.
    rows : ndarray
        Positions below a quad.
    lower, upper : ndarray, shape (len(rows), 4)
        L in these rows, and the transpose of U, which has the ones on its diagonal.
    lower_corners, upper_corners : ndarray, shape (n_quads, 4, 4)
        The same on the four positions of a quad, below the diagonal.
    inverse_pivots : ndarray, shape (n_quads, 4)
        One over the numbers of D, if K is L D U.
    """

    quads: NDArray[np.int64]
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    lower: Numbers
    upper: Numbers
    lower_corners: Numbers
    upper_corners: Numbers
    inverse_pivots: Numbers


def factorised(
    confident: sparse.csr_array,
    groups: NDArray[np.int32],
    parts: NDArray[np.int32],
    r: FloatArray,
    degrees: FloatArray,
    precision: np.dtype[Any],
) -> tuple[NDArray[np.int64], Factor]:
    """The positions of the microclusters, and the factor of K = diag(t) - 2 H R in that order.

    Groups of a part are next to each other, as are the microclusters of a group.
    """
    sizes = np.bincount(groups)
    # the largest group of a part first
    order = np.lexsort((groups, -sizes[groups], parts))
    positions = np.empty_like(order)
    pieces, quads = [], [0]
    for begin, end in _ranges(sizes, groups[order]):
        rows = order[begin:end]
        system = sparse.csc_array(
            sparse.diags_array(degrees[rows] / r[rows]) - 2.0 * confident[rows][:, rows]
        )
        lone = begin + sizes[groups[rows[0]]] == end
        if lone and system.nnz > SPARSE_SHARE * len(rows) ** 2:
            lower, pivots = _dense_factor(system.toarray())
        else:
            eliminated, lower, pivots = _sparse_factor(system, groups[rows])
            rows = rows[eliminated]
        positions[rows] = 4 * quads[-1] + np.arange(len(rows))
        pieces.append(_in_quads(lower, pivots, r[rows], quads[-1]))
        quads.append(quads[-1] + len(pieces[-1][0]))
    lengths, below, *values = (np.concatenate(piece) for piece in zip(*pieces, strict=True))
    starts = np.cumsum(np.concatenate([[0], lengths]))
    numbers = [value.astype(precision) for value in values]
    return positions, Factor(np.array(quads), starts, below, *numbers)


def _ranges(sizes: NDArray[np.int64], groups: NDArray[np.int32]) -> list[tuple[int, int]]:
    """A range for each large group, and for as many small ones in a row as fit into a batch."""
    ranges: list[tuple[int, int]] = []
    begin, open_ended = 0, False
    while begin < len(groups):
        end = begin + int(sizes[groups[begin]])
        small = end - begin <= SMALL_BLOCK
        if small and open_ended and end - ranges[-1][0] <= BATCH_ROWS:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((begin, end))
        begin, open_ended = end, small
    return ranges


def _sparse_factor(
    system: sparse.csc_array, groups: NDArray[np.int32]
) -> tuple[NDArray[np.int64], sparse.csc_array, FloatArray]:
    """An order of elimination that keeps groups together, L and D."""
    # diagonally dominant after scaling its columns, so pivot on the diagonal only: then rows and columns
    # keep the same order
    factors = splu(
        system,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    eliminated = np.argsort(factors.perm_c)
    # groups have no entries in common, so only the order within a group matters
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    kept = np.argsort(first[group][eliminated], kind="stable")
    lower = sparse.csc_array(factors.L)[:, kept][kept]
    return eliminated[kept], lower, factors.U.diagonal()[kept]


def _dense_factor(system: FloatArray) -> tuple[sparse.csc_array, FloatArray]:
    lower = linalg.cholesky(system, lower=True, overwrite_a=True)
    roots = np.diag(lower).copy()
    lower /= roots
    return sparse.csc_array(lower), roots**2


def _in_quads(
    lower: sparse.csc_array, pivots: FloatArray, r: FloatArray, first: int
) -> tuple[NDArray[Any], ...]:
    """A factor L D L' of R K as lengths of the lists, rows, and the numbers of :class:`Factor`."""
    size = len(pivots)
    n_quads = -(-size // 4)
    entries = lower.tocoo()
    row, column = entries.row.astype(np.int64), entries.col.astype(np.int64)
    # K C = X is R K (R C) / R = X: the last factor takes the scales, so that C comes out
    values = np.stack([entries.data, entries.data * (r[row] / r[column])], axis=1)
    quad = column // 4
    inside = row // 4 == quad
    corners = np.zeros((n_quads, 4, 4, 2))
    corners[quad[inside], row[inside] % 4, column[inside] % 4] = values[inside]
    row, column, quad, values = (part[~inside] for part in (row, column, quad, values))
    lists, position = np.unique(quad * size + row, return_inverse=True)
    listed = np.zeros((len(lists), 4, 2))
    listed[position, column % 4] = values
    inverse_pivots = np.ones((n_quads, 4))
    inverse_pivots.ravel()[:size] = 1.0 / (pivots * r)
    lengths = np.bincount(lists // size, minlength=n_quads)
    rows = (lists % size + 4 * first).astype(np.uint32)
    return (
        lengths, rows, listed[..., 0], listed[..., 1], corners[..., 0], corners[..., 1], inverse_pivots
    )  # fmt: skip
