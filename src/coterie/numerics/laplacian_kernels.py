"""Kernels on a dense similarity: its Laplacian in single precision, a sparse half, its components."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.threads import needs_threads

# side of the square tiles in which an entry and its transpose are read together
TILE = 64


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def _fill(matrix, root, diagonal, out):
    n = len(root)
    for stripe in prange((n + TILE - 1) // TILE):
        top, bottom = stripe * TILE, min((stripe + 1) * TILE, n)
        for left in range(0, bottom, TILE):
            for i in range(top, bottom):
                for j in range(left, min(left + TILE, i + 1)):
                    out[i, j] = -0.5 * root[i] * root[j] * (matrix[i, j] + matrix[j, i])
        for i in range(top, bottom):
            out[i, i] += diagonal[i]


@needs_threads
@njit(cache=True, nogil=True, parallel=True)
def _count(matrix, counts):
    n = matrix.shape[0]
    for stripe in prange((n + TILE - 1) // TILE):
        top, bottom = stripe * TILE, min((stripe + 1) * TILE, n)
        counts[top:bottom] = 0
        for left in range(top, n, TILE):
            for i in range(top, bottom):
                total = 0
                for j in range(max(left, i), min(left + TILE, n)):
                    total += matrix[i, j] + matrix[j, i] != 0.0
                counts[i] += total


@njit(cache=True, nogil=True, parallel=True)
def _gather(matrix, starts, columns, values):
    n = matrix.shape[0]
    for stripe in prange((n + TILE - 1) // TILE):
        top, bottom = stripe * TILE, min((stripe + 1) * TILE, n)
        next_entry = starts[top:bottom].copy()
        for left in range(top, n, TILE):
            for i in range(top, bottom):
                entry = next_entry[i - top]
                for j in range(max(left, i), min(left + TILE, n)):
                    value = matrix[i, j] + matrix[j, i]
                    if value != 0.0:
                        columns[entry] = j
                        values[entry] = 0.25 * value if i == j else 0.5 * value
                        entry += 1
                next_entry[i - top] = entry


def sparse_half(matrix: NDArray[np.float64], most: float) -> sparse.csr_array | None:
    """An upper triangular U with U + U' = (S + S') / 2 for a non-negative S, in compressed rows.

    None if more than a share ``most`` of the entries of the symmetric part are non-zero.

    Examples
    --------
    >>> import numpy as np
    >>> half = sparse_half(np.array([[2.0, 1.0], [0.0, 0.0]]), 0.8)
    >>> half.toarray().tolist(), sparse_half(np.ones((3, 3)), 0.8)
    ([[1.0, 0.5], [0.0, 0.0]], None)
    """
    counts = np.empty(len(matrix), dtype=np.int64)
    _count(matrix, counts)
    starts = np.concatenate([[0], np.cumsum(counts)])
    # every entry off the diagonal counts twice
    if 2 * starts[-1] - np.count_nonzero(matrix.diagonal()) > most * matrix.size:
        return None
    columns = np.empty(starts[-1], dtype=np.int32)
    values = np.empty(starts[-1])
    _gather(matrix, starts, columns, values)
    if starts[-1] <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    return sparse.csr_array((values, columns, starts), shape=matrix.shape)


def lower_laplacian(
    matrix: NDArray[np.float64], root: NDArray[np.float64], diagonal: NDArray[np.float64]
) -> NDArray[np.float32]:
    """diag(d) - R^1/2 (S + S') / 2 R^1/2 on and below the diagonal; entries above it are undefined.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> np.tril(lower_laplacian(S, np.ones(2), np.array([3.0, 4.0]))).tolist()
    [[2.0, 0.0], [-0.5, 3.0]]
    """
    out = np.empty(matrix.shape, dtype=np.float32)
    _fill(matrix, root, diagonal, out)
    return out


# ---------------------------------------------------------------- connected components


@njit(cache=True, nogil=True)
def _root(parent, item):
    while parent[item] != item:
        parent[item] = parent[parent[item]]
        item = parent[item]
    return item


@njit(cache=True, nogil=True)
def _unite(matrix):
    """Union-find, row by row in the order of memory; stops early when one component is left."""
    n = matrix.shape[0]
    parent = np.arange(n)
    count = n
    for u in range(n):
        if count <= 1:
            break
        here = _root(parent, u)
        for v in range(n):
            # most items are united already and point to the root directly
            if matrix[u, v] > 0.0 and parent[v] != here:
                there = _root(parent, v)
                if there != here:
                    low, high = min(here, there), max(here, there)
                    # the lowest item is the root, and comes first below
                    parent[high] = low
                    here = low
                    count -= 1
    label = np.empty(n, dtype=np.int64)
    count = 0
    for u in range(n):
        root = _root(parent, u)
        if root == u:
            label[u] = count
            count += 1
        else:
            label[u] = label[root]
    return label, count


def dense_components(matrix: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """Labels and number of components; an edge is a positive entry in either triangle.

    Components are numbered by their lowest item. For sparse matrices use
    :func:`scipy.sparse.csgraph.connected_components`.
    """
    label, count = _unite(matrix)
    return label, int(count)
