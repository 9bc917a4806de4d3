r"""Spectral cuts of a bipartite graph (rows and columns of a matrix) and of a similarity.

Rows are microclusters. A row u of weight r_u counts as r_u equal samples, and every function
here gives the same result as for the samples themselves.

**Rows and columns.** With W the non-negative N x k affinity of rows and columns, its degrees
:math:`D = \mathrm{diag}(W 1)` of a sample and :math:`\Delta = \mathrm{diag}(W' r)` of a column, the
normalised cut of the graph whose only edges are W has the singular triplets
:math:`(u, \sigma, v)` of

.. math:: X = R^{1/2} D^{-1/2} W \Delta^{-1/2}, \qquad R = \mathrm{diag}(r),

as its eigenvectors: :math:`R^{-1/2} D^{-1/2} u` on samples, :math:`\Delta^{-1/2} v` on columns. The smaller
of X'X and XX' is decomposed. A *transfer cut* solves the k x k problem and carries v over to the samples by
:math:`D^{-1} W \Delta^{-1/2} v`, which is :math:`\sigma R^{-1/2} D^{-1/2} u`.

**Similarity.** The sample-level :math:`D^{-1/2} S D^{-1/2}`, which is constant on blocks, has the non-zero
eigenvalues of :math:`D^{-1/2} R^{1/2} S R^{1/2} D^{-1/2}` with :math:`D = \mathrm{diag}(S r)`, and a
unit eigenvector x of it corresponds to :math:`x_u / \sqrt{r_u}` on the samples of u.

**Ties.** If the last eigenvalue wanted is repeated and only j of its q vectors fit, it depends on the order
of the rows which ones an eigensolver returns. Therefore all q are returned, each times :math:`\sqrt{j/q}`:
the squared distances between rows are then the mean over all choices. Vectors of eigenvalue zero carry no
information and are left out. So the number of columns may differ from ``n_vectors``.

Z. Li, X.-M. Wu, S.-F. Chang, "Segmentation using superpixels: a bipartite graph partitioning
approach", IEEE Conference on Computer Vision and Pattern Recognition (2012). A. Ng, M. Jordan, Y. Weiss,
"On spectral clustering: analysis and an algorithm", Advances in Neural Information Processing Systems
14 (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.random import fix_signs
from coterie.core.types import FloatArray
from coterie.numerics.eigen import TIE, gram_eigenpairs, largest_eigenpairs, tie_shares

# eigenvalues lie in [-1, 1]; smaller ones count as zero
ZERO = 1e-10
# additional eigenpairs computed, to see ties
GUARD = 2
# up to this order all eigenpairs cost little
WHOLE_ORDER = 300
# above this order a few eigenpairs are computed by Lanczos instead of a factorisation
DENSE_ORDER = 2000
LANCZOS_SHARE = 20


@dataclass(frozen=True)
class BipartiteSpectrum:
    """Leading singular triplets of X, at the scale of samples and columns.

    Attributes
    ----------
    values : ndarray, shape (p,)
        Squared singular values in (0, 1], descending.
    rows : ndarray, shape (N, p)
        The vectors on samples; zero rows where a row has no affinity.
    columns : ndarray, shape (k, p)
        The vectors on columns; zero where a column has no affinity.
    """

    values: FloatArray
    rows: FloatArray
    columns: FloatArray


def bipartite_spectrum(affinity: Any, weights: NDArray[Any], n_vectors: int) -> BipartiteSpectrum:
    """Leading vectors of the bipartite graph of rows and columns.

    Parameters
    ----------
    affinity : ndarray or sparse array, shape (N, k)
        W, non-negative.
    weights : ndarray, shape (N,)
        r.
    n_vectors : int
        Number of vectors; see the module's docstring on ties and zeros.

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1]])
    >>> bipartite_spectrum(W, np.array([2, 1, 3]), 3).values.round(4).tolist()
    [1.0, 0.8727, 0.1273]
    """
    weights = np.asarray(weights, dtype=np.float64)
    matrix = sparse.csr_array(affinity) if sparse.issparse(affinity) else np.asarray(affinity)
    matrix = matrix.astype(np.float64, copy=False)
    by_row = np.asarray(matrix.sum(axis=1)).ravel()
    by_column = np.asarray(matrix.T @ weights)
    if not np.isfinite(by_row).all():
        raise FloatingPointError("spectral cut: the affinities are not finite")
    of_rows = _inverse_root(by_row)
    of_columns = _inverse_root(by_column)
    left_scale = np.sqrt(weights) * of_rows
    scaled: Any
    if sparse.issparse(matrix):
        scaled = sparse.diags_array(left_scale) @ matrix @ sparse.diags_array(of_columns)
        scaled = sparse.csr_array(scaled)
    else:
        scaled = matrix * of_columns
        scaled *= left_scale[:, None]
    n, k = scaled.shape
    if k <= n:
        values, right = _leading_pairs(partial(gram_eigenpairs, scaled.T), k, n_vectors)
        left = np.asarray(scaled @ right) / np.sqrt(values)
    else:
        values, left = _leading_pairs(partial(gram_eigenpairs, scaled), n, n_vectors)
        right = np.asarray(scaled.T @ left) / np.sqrt(values)
    shares = np.sqrt(tie_shares(values, n_vectors, TIE))
    rows = left * (of_rows / np.sqrt(weights))[:, None] * shares
    columns = right * of_columns[:, None] * shares
    # an eigenvector's sign is arbitrary, but the same on both sides
    signed = fix_signs(np.vstack([rows, columns]))
    return BipartiteSpectrum(values, signed[:n], signed[n:])


def tcut_embedding(affinity: Any, weights: NDArray[Any], n_vectors: int) -> FloatArray:
    """The embedding of the transfer cut: rows of unit length, N x p.

    A row without affinity stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> W = np.array([[1, 0, 1, 0, 1, 0], [1, 0, 0, 1, 1, 0], [0, 1, 0, 1, 0, 1]])
    >>> np.abs(tcut_embedding(W, np.array([2, 1, 3]), 2)).round(3).tolist()
    [[0.665, 0.747], [0.902, 0.433], [0.74, 0.673]]
    """
    spectrum = bipartite_spectrum(affinity, weights, n_vectors)
    return unit_rows(spectrum.rows * np.sqrt(spectrum.values))


def leading_embedding(similarity: FloatArray, weights: NDArray[Any], n_vectors: int) -> FloatArray:
    """Rows of unit length from the leading eigenvectors of the normalised similarity, N x p.

    Vectors of eigenvalue zero or less are left out: on samples, vectors that separate identical
    samples have eigenvalue zero. A row without any similarity stays zero.

    Parameters
    ----------
    similarity : ndarray, shape (N, N)
        S, symmetric and non-negative, its diagonal the similarity of identical samples.
    weights : ndarray, shape (N,)
        Number of samples of each row.
    n_vectors : int
        Number of vectors; see the module's docstring on ties.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> rows = leading_embedding(S, np.array([2, 1, 3]), 2)
    >>> np.abs(rows @ rows.T).round(6).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return unit_rows(leading_vectors(similarity, weights, n_vectors))


def leading_vectors(similarity: FloatArray, weights: NDArray[Any], n_vectors: int) -> FloatArray:
    """The vectors of :func:`leading_embedding` before rows are scaled, N x p; orthonormal over the samples.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> weights = np.array([2, 1, 3])
    >>> vectors = leading_vectors(S, weights, 2)
    >>> (vectors.T @ (weights[:, None] * vectors)).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    weights = np.asarray(weights, dtype=np.float64)
    degrees = np.asarray(similarity @ weights)
    if not np.isfinite(degrees).all():
        raise FloatingPointError("spectral clustering: the similarity is not finite")
    scale = _inverse_root(degrees) * np.sqrt(weights)

    def form() -> FloatArray:
        matrix = similarity * scale
        matrix *= scale[:, None]
        return matrix

    def times(vector: FloatArray) -> FloatArray:
        return np.asarray(scale * (similarity @ (scale * vector)))

    pairs = partial(largest_eigenpairs, form, times, len(scale))
    values, vectors = _leading_pairs(pairs, len(scale), n_vectors)
    shares = np.sqrt(tie_shares(values, n_vectors, TIE))
    return fix_signs(vectors / np.sqrt(weights)[:, None] * shares)


def unit_rows(rows: FloatArray) -> FloatArray:
    """Rows scaled to unit length; rows of length zero stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(rows, axis=1)
    # a row that is zero up to rounding has no direction
    some = lengths > 1e-12 * lengths.max(initial=0.0)
    return np.where(some[:, None], rows, 0.0) / np.where(some, lengths, 1.0)[:, None]


def _leading_pairs(
    pairs: Callable[..., tuple[FloatArray, FloatArray]], order: int, wanted: int
) -> tuple[FloatArray, FloatArray]:
    """Largest positive eigenvalues, descending, and their vectors, with all that tie with the last wanted.

    ``pairs(count, by_products=...)`` gives the largest eigenpairs of a matrix of this order.
    """
    count = wanted + GUARD
    while True:
        by_products = order > DENSE_ORDER and LANCZOS_SHARE * count < order
        values, vectors = pairs(order if order <= WHOLE_ORDER else count, by_products=by_products)
        # the last eigenvalue computed shows whether more may tie
        last = values[min(wanted, len(values)) - 1] - TIE
        if len(values) == order or values[-1] <= max(last, ZERO):
            kept = (values > ZERO) & (values > last)
            return values[kept], vectors[:, kept]
        count *= 2


def _inverse_root(degrees: FloatArray) -> FloatArray:
    positive = degrees > 0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, degrees, 1.0)), 0.0)
