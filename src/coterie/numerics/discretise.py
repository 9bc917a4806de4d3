r"""From a continuous embedding to a partition, by the rotation that fits best.

Given rows :math:`h_u` with weights :math:`r_u`, spectral rotation looks for an orthogonal matrix R
and one cluster y_u per row that maximise the alignment

.. math:: \sum_u r_u (h_u R)_{y_u},

which is the same as minimising :math:`\|Y - H R\|^2` over the samples, because the norms of Y and H R
are fixed. Two exact steps alternate, and neither lowers the alignment: y_u becomes the column of the
largest entry of :math:`h_u R`, and R becomes the polar factor of :math:`H' \mathrm{diag}(r) Y`. There
are local maxima, so several rotations are tried and the best result is kept. The columns of each first
rotation are rows of H, chosen greedily to be as far from parallel as possible.

S. X. Yu and J. Shi, "Multiclass spectral clustering", IEEE International Conference on Computer
Vision (2003).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coterie.core.types import FloatArray, IntArray
from coterie.numerics.stiefel import polar

# the rounds stop when the alignment grows by less than this, relative to its value
GAIN = 1e-12


@dataclass(frozen=True)
class Discretisation:
    """A partition of the rows with the rotation it belongs to.

    Attributes
    ----------
    labels : ndarray, shape (N,)
        Cluster of each row, 0 .. c - 1; a cluster may be empty.
    rotation : ndarray, shape (c, c)
        R.
    alignment : float
        The weighted sum of the entries ``(H R)[u, labels[u]]``.
    """

    labels: IntArray
    rotation: FloatArray
    alignment: float


def discretise(
    embedding: FloatArray, weights: FloatArray, rotation: FloatArray, *, max_rounds: int = 100
) -> Discretisation:
    """Start from a given rotation and raise the alignment until it stops growing.

    Examples
    --------
    >>> import numpy as np
    >>> rounded = discretise(np.array([[1.0, 0.0], [0.8, 0.1], [0.0, 1.0]]), np.ones(3), np.eye(2))
    >>> rounded.labels.tolist()
    [0, 0, 1]
    """
    labels, _ = _nearest(embedding, weights, rotation)
    # the first columns need not be orthonormal, so their alignment cannot be compared with later ones
    alignment = -np.inf
    for _ in range(max_rounds):
        rotation = polar(cross_product(embedding, weights, labels, embedding.shape[1]))
        labels, risen = _nearest(embedding, weights, rotation)
        settled = risen - alignment <= GAIN * abs(risen)
        alignment = risen
        if settled:
            break
    return Discretisation(labels, rotation, alignment)


def best_discretisation(
    embedding: FloatArray, weights: FloatArray, rows: IntArray
) -> Discretisation:
    """The best of several discretisations, one started at each of the given rows.

    Where two align equally well, the one started first is kept.

    Examples
    --------
    >>> import numpy as np
    >>> embedding = np.array([[0.6, 0.8], [0.6, 0.8], [-0.8, 0.6]])
    >>> best_discretisation(embedding, np.ones(3), np.array([0, 2])).labels.tolist()
    [0, 0, 1]
    """
    candidates = [
        discretise(embedding, weights, spread_rotation(embedding, int(row))) for row in rows
    ]
    best = max(candidate.alignment for candidate in candidates)
    # alignments that are equal up to rounding tie
    threshold = best - 1e-9 * abs(best)
    return next(candidate for candidate in candidates if candidate.alignment >= threshold)


def spread_rotation(embedding: FloatArray, row: int) -> FloatArray:
    """Columns for a first rotation: the given row, then repeatedly the row least parallel to the ones chosen.

    Rows are scaled to unit length first, because otherwise short rows would count as least parallel.
    Rows of length zero are never chosen. The columns need not be orthonormal: the first round of
    :func:`discretise` replaces them by a rotation.

    Examples
    --------
    >>> import numpy as np
    >>> spread_rotation(np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 3.0]]), 0).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    lengths = np.linalg.norm(embedding, axis=1)
    usable = lengths > 1e-8 * lengths.max()
    units = embedding / np.where(usable, lengths, 1.0)[:, None]
    columns = np.empty((embedding.shape[1], embedding.shape[1]))
    parallel = np.where(usable, 0.0, np.inf)
    for column in range(embedding.shape[1]):
        columns[:, column] = units[row]
        parallel += np.abs(units @ units[row])
        row = int(np.argmin(parallel))
    return columns


def cross_product(
    embedding: FloatArray, weights: FloatArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """``H' diag(r) Y`` for the indicator Y of the labels, shape (columns of H, n_clusters).

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> cross_product(rows, np.array([1.0, 1.0, 2.0]), np.array([0, 0, 1]), 2).tolist()
    [[4.0, 10.0], [6.0, 12.0]]
    """
    n = len(labels)
    indicator = sparse.csr_array((weights, labels, np.arange(n + 1)), shape=(n, n_clusters))
    return np.asarray((indicator.T @ embedding).T)


def _nearest(
    embedding: FloatArray, weights: FloatArray, rotation: FloatArray
) -> tuple[IntArray, float]:
    rotated = embedding @ rotation
    labels = np.argmax(rotated, axis=1)
    return labels, float(weights @ rotated[np.arange(len(labels)), labels])
