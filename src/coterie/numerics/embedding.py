"""Two coordinates for a plot: principal components of features, or spectral coordinates of an incidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import qr, svd

from coterie.core.random import fix_signs
from coterie.numerics.eigen import gram_eigenpairs, largest_eigenpairs

# up to this order a dense symmetric eigenproblem is quick; above, Lanczos on products is used
DENSE = 1000
# more groups than this cannot be distinguished on a circle
MOST_GROUPS = 20
# how far a row may be moved from the centre of its group, as a share of half the way to the next group
ROOM = 0.7
# squared singular values below this are rounding errors
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
    scatter = _Scatter(rows, np.asarray(rows.mean(axis=0, dtype=np.float64)).reshape(-1))
    d = rows.shape[1]
    _, axes = largest_eigenpairs(scatter.form, scatter.times, d, 2, by_products=d > DENSE)
    scores = scatter.scores(fix_signs(axes))
    plane = np.zeros((len(scores), 2), dtype=np.float32)
    plane[:, : scores.shape[1]] = scores
    return plane


@dataclass(frozen=True)
class _Scatter:
    """X' X of centred rows.

    The rows may be sparse or of single precision. Only products or blocks are centred: X is never copied.
    """

    rows: Any
    mean: NDArray[np.float64]

    def scores(self, axes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coordinates of the centred rows on some axes."""
        if sparse.issparse(self.rows):
            return np.asarray(self.rows @ axes) - self.mean @ axes
        return np.concatenate([block @ axes for block in self._blocks()], axis=0)

    def form(self) -> NDArray[np.float64]:
        if sparse.issparse(self.rows):
            square = np.asarray((self.rows.T @ self.rows).toarray())
            return square - self.rows.shape[0] * np.outer(self.mean, self.mean)
        return np.asarray(sum(block.T @ block for block in self._blocks()))

    def times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        if sparse.issparse(self.rows):
            scores = self.scores(vector)
            return np.asarray(self.rows.T @ scores) - self.mean * scores.sum()
        return np.asarray(sum(block.T @ (block @ vector) for block in self._blocks()))

    def _blocks(self) -> Iterator[NDArray[np.float64]]:
        for begin in range(0, len(self.rows), BLOCK):
            yield self.rows[begin : begin + BLOCK] - self.mean


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
    by_products = scaled.shape[1] > DENSE
    values, axes = gram_eigenpairs(scaled.T, MOST_GROUPS + 1, by_products=by_products)
    kept = values > ROUNDING
    values, axes = values[kept], axes[:, kept]
    scale = np.sqrt(by_row / by_row.sum())
    return np.asarray(scaled @ axes) / np.sqrt(values), values, scale


def _groups(values: NDArray[np.float64]) -> int:
    """Number of groups: the values drop most after this many, not counting the drop after the first."""
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
