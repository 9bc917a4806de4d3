r"""Matrices with orthonormal columns: polar factors, leading singular vectors, quadratic minimisers.

The polar factor of B = U S V' is U V'. Among all matrices Q with orthonormal columns (orthonormal rows
where B is wide) it has the largest tr(Q' B), which solves the Procrustes problem.

The quadratic :math:`\mathrm{tr}(X' D X) - 2 \, \mathrm{tr}(X' C)` with a diagonal D, over
:math:`X' X = s^2 I`, has no closed form. With d the largest entry of D,
:math:`\mathrm{tr}(X'(D - dI)X)` is concave and lies below its tangent at the current X, so

.. math:: X \leftarrow s \, \mathrm{polar}(C + (d I - D) X)

never raises it. A step costs O(N c^2), and a fixed point satisfies the first-order conditions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.random import fix_signs
from coterie.core.types import FloatArray
from coterie.numerics.eigen import gram_eigenpairs

# below this ratio of the smallest to the largest eigenvalue of the Gram matrix, half of the digits are lost
SAFE_GRAM = 1e-8
# squared singular values below this, relative to the largest, are rounding errors
NO_SUPPORT = 1e-10
# a step that moves X by less than this, relative to its norm, is the last
NO_STEP = 1e-10
# order up to which a dense eigenproblem takes seconds
DENSE_ORDER = 4500


def polar(matrix: FloatArray) -> FloatArray:
    """The polar factor: orthonormal columns, or rows where the matrix is wide.

    Examples
    --------
    >>> import numpy as np
    >>> polar(np.array([[2.0, 0.0], [0.0, 0.5], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    rows, columns = matrix.shape
    if rows < columns:
        return np.ascontiguousarray(polar(matrix.T).T)
    if rows > 2 * columns:
        return np.asarray(polars(matrix[None], np.array([rows]))[0])
    return _polar_by_svd(matrix)


def polars(matrices: FloatArray, sizes: NDArray[np.int64]) -> FloatArray:
    """The polar factors of several tall matrices, stacked and padded with rows of zeros.

    Parameters
    ----------
    matrices : ndarray, shape (count, rows, columns)
    sizes : ndarray, shape (count,)
        Number of rows of each matrix without the padding, at least the number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> pair = np.array([[[2.0], [0.0]], [[3.0], [4.0]]])
    >>> polars(pair, np.array([1, 2])).round(6).tolist()
    [[[1.0], [0.0]], [[0.6], [0.8]]]
    """
    values, vectors = np.linalg.eigh(matrices.transpose(0, 2, 1) @ matrices)
    safe = values[:, 0] > SAFE_GRAM * values[:, -1]
    roots = np.sqrt(np.where(safe[:, None], values, 1.0))
    factors = matrices @ ((vectors / roots[:, None, :]) @ vectors.transpose(0, 2, 1))
    # a Newton-Schulz step restores the digits lost by squaring the condition number
    gap = 1.5 * np.eye(matrices.shape[2]) - 0.5 * (factors.transpose(0, 2, 1) @ factors)
    factors = factors @ gap
    for j in np.flatnonzero(~safe):
        factors[j, : sizes[j]] = _polar_by_svd(matrices[j, : sizes[j]])
    return np.asarray(factors)


def _polar_by_svd(matrix: FloatArray) -> FloatArray:
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def leading_left_vectors(matrix: Any, count: int) -> FloatArray:
    """Left singular vectors of the ``count`` largest singular values, signs fixed.

    The matrix is dense or sparse and has at least ``count`` rows. If its rank is smaller, the vectors are
    completed by unit vectors of the first rows.

    Examples
    --------
    >>> import numpy as np
    >>> leading_left_vectors(np.array([[2.0, 2.0], [-2.0, 2.0], [2.0, 2.0]]), 1).round(3).tolist()
    [[0.707], [0.0], [0.707]]
    """
    n, k = matrix.shape
    smaller = matrix.T if k <= n else matrix
    squares, vectors = gram_eigenpairs(smaller, count, by_products=min(n, k) > DENSE_ORDER)
    supported = squares > NO_SUPPORT * squares[0]
    vectors = vectors[:, supported]
    if k <= n:
        vectors = np.asarray(matrix @ vectors) / np.sqrt(squares[supported])
    if vectors.shape[1] < count:
        vectors = np.linalg.qr(np.hstack([vectors, np.eye(n, count)]))[0][:, :count]
    return fix_signs(polar(vectors))


def minimise_quadratic(
    start: FloatArray,
    diagonal: FloatArray,
    linear: FloatArray,
    *,
    scale: float = 1.0,
    max_steps: int = 50,
) -> FloatArray:
    """Lower ``tr(X' D X) - 2 tr(X' C)`` over ``X' X = scale^2 I`` from a feasible start.

    Parameters
    ----------
    start : ndarray, shape (N, c)
        A feasible X.
    diagonal : ndarray, shape (N,)
        D.
    linear : ndarray, shape (N, c)
        C.
    scale : float
        s.
    max_steps : int
        Maximum number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> start, pull = np.eye(3)[:, :1], np.array([[0.0], [3.0], [4.0]])
    >>> minimise_quadratic(start, np.ones(3), pull).round(6).ravel().tolist()
    [0.0, 0.6, 0.8]
    """
    slack = (diagonal.max() - diagonal)[:, None]
    norm = scale * np.sqrt(start.shape[1])
    pulled = np.empty_like(start)
    for _ in range(max_steps):
        np.multiply(slack, start, out=pulled)
        pulled += linear
        moved = polar(pulled)
        moved *= scale
        np.subtract(moved, start, out=pulled)
        step = float(np.sqrt(np.vdot(pulled, pulled)))
        start = moved
        if step <= NO_STEP * norm:
            break
    return start


def minimise_quadratics(
    start: FloatArray,
    diagonal: FloatArray,
    linear: FloatArray,
    sizes: NDArray[np.int64],
    *,
    max_steps: int,
) -> FloatArray:
    """Solve several problems of :func:`minimise_quadratic` at once, with scale 1 and non-negative D.

    The problems are stacked in arrays of shape (count, rows, columns), or (count, rows) for D, and
    padded with zeros below the number of rows that ``sizes`` gives.

    Examples
    --------
    >>> import numpy as np
    >>> start, pull = np.eye(3)[None, :, :1], np.array([[[0.0], [3.0], [4.0]]])
    >>> minimiser = minimise_quadratics(start, np.ones((1, 3)), pull, np.array([3]), max_steps=9)
    >>> minimiser.round(6).ravel().tolist()
    [0.0, 0.6, 0.8]
    """
    slack = (diagonal.max(axis=1, keepdims=True) - diagonal)[:, :, None]
    norm = np.sqrt(start.shape[2])
    points = start.copy()
    moving = np.arange(len(start))
    for _ in range(max_steps):
        before = points[moving]
        moved = polars(linear[moving] + slack[moving] * before, sizes[moving])
        steps = np.sqrt(((moved - before) ** 2).sum(axis=(1, 2)))
        points[moving] = moved
        moving = moving[steps > NO_STEP * norm]
        if len(moving) == 0:
            break
    return points
