"""Two coordinates for a plot: principal components of features, or spectral coordinates of an incidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import qr, svd
from scipy.sparse.linalg import LinearOperator

from coterie.core.random import fix_signs
from coterie.numerics.eigen import extreme_eigenpairs, leading_eigenpairs

# up to here a dense symmetric eigenproblem is quick; above, Lanczos on products
DENSE = 1000
# more groups than this cannot be told apart on a circle
MOST_GROUPS = 20
# how far a row may be moved from the centre of its group, as a share of half the way to the next group
ROOM = 0.7
# squared singular values below this are rounding
ROUNDING = 1e-10
# number of rows of features that are centred at once
BLOCK = 65536


def principal_plane(X: Any) -> NDArray[np.float32]:
    """The two leading principal components of the rows of X, n x 2.

    Signs are fixed (the largest coefficient of each axis is positive); a single feature leaves the
    second coordinate 0.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d), finite

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numerics.embedding import principal_plane
    >>> principal_plane(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]])).tolist()
    [[-1.5, -0.5], [1.5, -0.5], [-1.5, 0.5], [1.5, 0.5]]
    """
    rows = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    n, d = rows.shape
    mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).reshape(-1)

    def product(axes: NDArray[np.float64]) -> NDArray[np.float64]:
        # X may be float32 or sparse: centre the product, or the block, never a copy of all of X
        if sparse.issparse(rows):
            return np.asarray(rows @ axes) - mean @ axes
        return np.concatenate(
            [(rows[i : i + BLOCK] - mean) @ axes for i in range(0, n, BLOCK)], axis=0
        )

    def transposed(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if sparse.issparse(rows):
            return np.asarray(rows.T @ scores) - np.outer(mean, scores.sum(axis=0))
        total = np.zeros((d, scores.shape[1]))
        for i in range(0, n, BLOCK):
            total += (rows[i : i + BLOCK] - mean).T @ scores[i : i + BLOCK]
        return total

    if d <= DENSE:
        scatter = _scatter(rows, mean)
    else:
        scatter = LinearOperator(
            (d, d),
            matvec=lambda axis: transposed(product(axis.reshape(-1, 1))).reshape(-1),
            dtype=np.float64,
        )
    _, axes = _leading(scatter, 2)
    return _two_columns(product(fix_signs(axes)))


def spectral_plane(
    incidence: sparse.csr_array,
    row_weights: NDArray[np.float64],
    column_weights: NDArray[np.float64],
) -> tuple[NDArray[np.float32], int]:
    """Two spectral coordinates of the rows of an incidence, N x 2, and the number of groups they show.

    With B the incidence weighted by rows and columns and its marginals r and c, the singular
    vectors of diag(r)^-1/2 B diag(c)^-1/2 separate the groups of the bipartite graph of rows and columns.
    The number p of groups is where the singular values drop most. Two coordinates after the trivial one
    separate at most three groups. For more groups, the p vectors are rotated towards the p rows that
    differ most (pivoted QR and the nearest rotation), which turns them into memberships in p groups. The
    groups are then placed on a circle, similar groups side by side, and a row lies between the groups it
    belongs to. Finally each row is moved a little away from the centre of its group, along two
    coordinates computed within the group; otherwise a group that no member splits would be a single dot.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from coterie.numerics.embedding import spectral_plane
    >>> shared = sparse.csr_array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]])
    >>> plane, groups = spectral_plane(shared, np.ones(3), np.ones(4))
    >>> plane.shape
    (3, 2)
    """
    linked = np.diff(incidence.indptr) > 0
    vectors, values, scale = _singular(incidence[linked], row_weights[linked], column_weights)
    n_groups = _groups(values)
    plane = np.zeros((len(linked), 2))
    if n_groups <= 3:
        plain = fix_signs(vectors[:, 1:3] / scale[:, None])
        plane[linked, : plain.shape[1]] = plain
    else:
        member = _memberships(vectors[:, :n_groups])
        plane[linked] = member @ _on_circle(member, scale**2)
        group = np.full(len(linked), -1)
        group[linked] = np.argmax(member, axis=1)
        for number in range(n_groups):
            inside = group == number
            spread = _spread(incidence[inside], row_weights[inside], column_weights)
            plane[inside] += ROOM * np.sin(np.pi / n_groups) * spread
    return plane.astype(np.float32), n_groups


def _singular(
    incidence: sparse.csr_array,
    row_weights: NDArray[np.float64],
    column_weights: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Leading left singular vectors, the squared values, and the roots of the rows' marginals."""
    by_row = np.asarray(incidence @ column_weights) * row_weights
    by_column = np.asarray(incidence.T @ row_weights) * column_weights
    left = row_weights / np.sqrt(by_row)
    right = column_weights / np.sqrt(by_column)
    scaled = sparse.csr_array(incidence.multiply(left[:, None]).multiply(right[None, :]))
    k = scaled.shape[1]
    square: Any
    if k <= DENSE:
        square = (scaled.T @ scaled).toarray()
    else:
        square = LinearOperator(
            (k, k),
            matvec=lambda vector: scaled.T @ (scaled @ vector.reshape(-1)),
            dtype=np.float64,
        )
    values, axes = _leading(square, MOST_GROUPS + 1)
    kept = values > ROUNDING
    values, axes = values[kept], axes[:, kept]
    scale = np.sqrt(by_row / by_row.sum())
    return np.asarray(scaled @ axes) / np.sqrt(values), values, scale


def _groups(values: NDArray[np.float64]) -> int:
    """Number of groups, at least two: the values drop most after this many."""
    if len(values) <= 2:
        return len(values)
    if len(values) <= MOST_GROUPS:
        # all values are known, so the last drop is the one to zero
        values = np.append(values, 0.0)
    return 2 + int(np.argmax(values[1:-1] - values[2:]))


def _memberships(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of each row in each group; there are as many groups as vectors."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    p = unit.shape[1]
    _, pivots = qr(vectors.T, mode="r", pivoting=True)
    outer, _, inner = svd(unit[pivots[:p]].T)
    member = np.abs(unit @ (outer @ inner))
    return np.asarray(member / member.sum(axis=1, keepdims=True))


def _on_circle(member: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Position of each group on a circle, similar groups side by side."""
    p = member.shape[1]
    alike = member.T @ (member * weights[:, None])
    order = [int(np.argmax(weights @ member))]
    while len(order) < p:
        left = [group for group in range(p) if group not in order]
        order.append(max(left, key=lambda group: alike[order[-1], group]))
    angle = np.empty(p)
    angle[order] = 2 * np.pi * np.arange(p) / p
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _spread(
    incidence: sparse.csr_array,
    row_weights: NDArray[np.float64],
    column_weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Offsets of the rows of one group from its centre, N x 2, inside the unit circle."""
    out = np.zeros((len(row_weights), 2))
    used = np.asarray(incidence.sum(axis=0)) > 0
    if len(row_weights) < 2:
        return out
    vectors, _, scale = _singular(incidence[:, used], row_weights, column_weights[used])
    plain = fix_signs(vectors[:, 1:3] / scale[:, None])
    out[:, : plain.shape[1]] = plain
    length = np.linalg.norm(out, axis=1, keepdims=True)
    # keeps every row inside the unit circle; most rows have a length of a few at most
    return out / (length + 1.0)


def _leading(matrix: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The greatest eigenvalues of a symmetric matrix or operator, descending, with their vectors."""
    size = matrix.shape[0]
    count = min(count, size)
    if not isinstance(matrix, np.ndarray):
        pairs = leading_eigenpairs(matrix.matvec, size, min(count, size - 1))
        if pairs is not None:
            return pairs
        matrix = matrix @ np.eye(size)
    values, vectors = extreme_eigenpairs(matrix, count)
    return values[::-1], vectors[:, ::-1]


def _scatter(rows: Any, mean: NDArray[np.float64]) -> NDArray[np.float64]:
    n, d = rows.shape
    if sparse.issparse(rows):
        return np.asarray((rows.T @ rows).toarray()) - n * np.outer(mean, mean)
    total = np.zeros((d, d))
    for i in range(0, n, BLOCK):
        centred = rows[i : i + BLOCK] - mean
        total += centred.T @ centred
    return total


def _two_columns(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    out = np.zeros((len(scores), 2), dtype=np.float32)
    out[:, : scores.shape[1]] = scores
    return out
