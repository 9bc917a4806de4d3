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
from coterie.core.types import FloatArray
from coterie.numerics.eigen import largest_eigenpairs
from coterie.numerics.spectral import BipartiteSpectrum, bipartite_spectrum

# up to this order a dense symmetric eigenproblem is quick; above, Lanczos on products is used
DENSE = 1000
# more groups than this cannot be distinguished on a circle
MAX_GROUPS = 20
# how far a row may be moved from the centre of its group, as a share of half the way to the next group
ROOM = 0.7
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
    mean: FloatArray

    def scores(self, axes: FloatArray) -> FloatArray:
        """Coordinates of the centred rows on some axes."""
        if sparse.issparse(self.rows):
            return np.asarray(self.rows @ axes) - self.mean @ axes
        return np.concatenate([block @ axes for block in self._blocks()], axis=0)

    def form(self) -> FloatArray:
        if sparse.issparse(self.rows):
            square = np.asarray((self.rows.T @ self.rows).toarray())
            return square - self.rows.shape[0] * np.outer(self.mean, self.mean)
        return np.asarray(sum(block.T @ block for block in self._blocks()))

    def times(self, vector: FloatArray) -> FloatArray:
        if sparse.issparse(self.rows):
            scores = self.scores(vector)
            return np.asarray(self.rows.T @ scores) - self.mean * scores.sum()
        return np.asarray(sum(block.T @ (block @ vector) for block in self._blocks()))

    def _blocks(self) -> Iterator[FloatArray]:
        for begin in range(0, len(self.rows), BLOCK):
            yield self.rows[begin : begin + BLOCK] - self.mean


def spectral_plane(
    incidence: sparse.csr_array, row_weights: FloatArray, column_weights: FloatArray
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
    spectrum, share = _spectrum(incidence, row_weights, column_weights)
    n_groups = _groups(spectrum.values)
    if n_groups <= 3:
        return _two_coordinates(spectrum).astype(np.float32), n_groups
    linked = share > 0
    member = _memberships(spectrum.rows[linked, :n_groups] * np.sqrt(share[linked, None]))
    plane = np.zeros((len(linked), 2))
    plane[linked] = member @ _on_circle(member, share[linked])
    group = np.full(len(linked), -1)
    group[linked] = np.argmax(member, axis=1)
    for number in range(n_groups):
        inside = group == number
        spread = _spread(incidence[inside], row_weights[inside], column_weights)
        plane[inside] += ROOM * np.sin(np.pi / n_groups) * spread
    return plane.astype(np.float32), n_groups


def _spectrum(
    incidence: sparse.csr_array, row_weights: FloatArray, column_weights: FloatArray
) -> tuple[BipartiteSpectrum, FloatArray]:
    """Leading vectors of the rows and columns, and the share of each row in all links."""
    links = sparse.csr_array(incidence.multiply(column_weights))
    by_row = np.asarray(links.sum(axis=1)) * row_weights
    total = by_row.sum()
    return bipartite_spectrum(links, row_weights / total, MAX_GROUPS + 1), by_row / total


def _two_coordinates(spectrum: BipartiteSpectrum) -> FloatArray:
    """The coordinates of the rows after the trivial one; 0 where there are fewer than two."""
    plane = np.zeros((len(spectrum.rows), 2))
    vectors = fix_signs(spectrum.rows[:, 1:3])
    plane[:, : vectors.shape[1]] = vectors
    return plane


def _groups(values: FloatArray) -> int:
    """Number of groups, at least two: the values drop most after this many."""
    if len(values) <= 2:
        return len(values)
    if len(values) <= MAX_GROUPS:
        # all values are known, so the last drop is the one to zero
        values = np.append(values, 0.0)
    return 2 + int(np.argmax(values[1:-1] - values[2:]))


def _memberships(vectors: FloatArray) -> FloatArray:
    """Share of each row in each group; there are as many groups as vectors."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    p = unit.shape[1]
    _, pivots = qr(vectors.T, mode="r", pivoting=True)
    outer, _, inner = svd(unit[pivots[:p]].T)
    member = np.abs(unit @ (outer @ inner))
    return np.asarray(member / member.sum(axis=1, keepdims=True))


def _on_circle(member: FloatArray, weights: FloatArray) -> FloatArray:
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
    incidence: sparse.csr_array, row_weights: FloatArray, column_weights: FloatArray
) -> FloatArray:
    """Offsets of the rows of one group from its centre, N x 2, inside the unit circle."""
    if len(row_weights) < 2:
        return np.zeros((len(row_weights), 2))
    offsets = _two_coordinates(_spectrum(incidence, row_weights, column_weights)[0])
    # keeps every row inside the unit circle; most rows have a length of a few at most
    return offsets / (np.linalg.norm(offsets, axis=1, keepdims=True) + 1.0)
