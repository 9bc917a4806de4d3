"""Eigenpairs of a symmetric matrix, with a slower algorithm where the fast one fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from coterie.core.types import FloatArray

Times = Callable[[FloatArray], FloatArray]

# eigenvalues closer than this, relative to the largest, count as one repeated eigenvalue
TIE = 1e-9
# fractional part of the golden ratio: its multiples modulo 1 make start vectors that favour no coordinate
GOLDEN = 0.6180339887498949


def eigenpairs(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, ascending, and orthonormal eigenvectors in columns.

    The fastest algorithm, divide and conquer, sometimes fails on matrices with many eigenvalues near
    zero. Then QR iteration is used.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(6).tolist(), np.abs(vectors).round(3).tolist()
    ([1.0, 3.0], [[0.707, 0.707], [0.707, 0.707]])
    """
    _refuse_not_finite(matrix)
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        values, vectors = linalg.eigh(matrix, driver="ev", check_finite=False)
    return values, vectors


def extreme_eigenpairs(
    matrix: FloatArray, count: int, *, largest: bool = True
) -> tuple[FloatArray, FloatArray]:
    """The ``count`` largest (or smallest) eigenvalues, ascending, and their eigenvectors in columns.

    LAPACK computes a subset of the pairs by relatively robust representations, which sometimes fail on
    eigenvalues that nearly coincide. Then all pairs are computed and the others dropped.

    Examples
    --------
    >>> import numpy as np
    >>> values, vectors = extreme_eigenpairs(np.diag([3.0, 1.0, 2.0]), 2)
    >>> values.round(6).tolist(), np.abs(vectors).round(6).tolist()
    ([2.0, 3.0], [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    """
    _refuse_not_finite(matrix)
    order = len(matrix)
    first = order - count if largest else 0
    wanted = slice(first, first + count)
    try:
        values, vectors = linalg.eigh(
            matrix, subset_by_index=[first, first + count - 1], check_finite=False
        )
        # LAPACK can also fail by returning fewer pairs than requested
        if len(values) == count:
            return values, vectors
    except np.linalg.LinAlgError:
        pass
    values, vectors = eigenpairs(matrix)
    return values[wanted], vectors[:, wanted]


def largest_eigenpairs(
    form: Callable[[], FloatArray], times: Times, order: int, count: int, *, by_products: bool
) -> tuple[FloatArray, FloatArray]:
    """The ``count`` largest eigenvalues, descending, and their vectors; fewer if the order is smaller.

    ``by_products`` asks for :func:`leading_eigenpairs`, for which ``times`` multiplies the matrix
    with a vector. Otherwise, or if that does not converge, the matrix that ``form`` makes is used.
    """
    if by_products:
        pairs = leading_eigenpairs(times, order, min(count, order - 1))
        if pairs is not None:
            return pairs
    values, vectors = extreme_eigenpairs(form(), min(count, order))
    return values[::-1], vectors[:, ::-1]


def gram_eigenpairs(factor: Any, count: int, *, by_products: bool) -> tuple[FloatArray, FloatArray]:
    """The :func:`largest_eigenpairs` of A A' for a dense or sparse A.

    Examples
    --------
    >>> import numpy as np
    >>> gram_eigenpairs(np.array([[3.0], [4.0]]), 1, by_products=False)[0].round(6).tolist()
    [25.0]
    """

    def form() -> FloatArray:
        product = factor @ factor.T
        return np.asarray(product.toarray() if sparse.issparse(product) else product)

    def times(vector: FloatArray) -> FloatArray:
        return np.asarray(factor @ (factor.T @ vector))

    return largest_eigenpairs(form, times, factor.shape[0], count, by_products=by_products)


def leading_eigenpairs(
    times: Times, order: int, count: int
) -> tuple[FloatArray, FloatArray] | None:
    """The ``count`` largest eigenvalues, descending, and their vectors, by products with the matrix.

    From one start vector, Lanczos finds one vector of a repeated eigenvalue; it finds the others only by
    rounding. For a graph of six parts it may find five. So Lanczos is repeated on the space orthogonal to
    the known vectors, until no larger eigenvalue is left there. Negative eigenvalues must be at most twice
    as large as the positive ones, in absolute value. Returns None if Lanczos does not converge.

    Examples
    --------
    >>> import numpy as np
    >>> values, _ = leading_eigenpairs(lambda x: np.arange(50) // 10 * x, 50, 3)
    >>> values.round(6).tolist()
    [4.0, 4.0, 4.0]
    """
    pairs = _lanczos(times, order, count, 1)
    while pairs is not None:
        values, vectors = pairs
        below = 2.0 * max(abs(values[0]), abs(values[-1]))

        def rest(vector: FloatArray, known: FloatArray = vectors, low: float = below) -> FloatArray:
            part = known @ (known.T @ vector)
            image = times(vector - part)
            return image - known @ (known.T @ image) - low * part

        more = _lanczos(rest, order, count, 2)
        if more is None:
            return None
        if more[0][0] <= values[-1] + TIE * abs(values[0]):
            return values, vectors
        basis, _ = np.linalg.qr(np.hstack([vectors, more[1]]))
        image = np.column_stack([times(column) for column in basis.T])
        all_values, turns = np.linalg.eigh(basis.T @ image)
        pairs = all_values[::-1][:count], basis @ turns[:, ::-1][:, :count]
    return None


def tie_shares(values: FloatArray, wanted: int, slack: float) -> FloatArray:
    """Share with which each sorted eigenpair counts: one, less in a tie at the last wanted, zero after it.

    Examples
    --------
    >>> import numpy as np
    >>> tie_shares(np.array([3.0, 2.0, 2.0, 1.0]), 2, 1e-9).tolist()
    [1.0, 0.5, 0.5, 0.0]
    """
    shares = np.ones(len(values))
    if len(values) > wanted:
        tied = np.abs(values - values[wanted - 1]) <= slack
        begin = int(np.argmax(tied))
        shares[begin:] = tied[begin:] * (wanted - begin) / tied.sum()
    return shares


def _lanczos(
    times: Times, order: int, count: int, start: int
) -> tuple[FloatArray, FloatArray] | None:
    first = 1.0 + np.modf(np.arange(start, order + start) * GOLDEN * start)[0]
    operator = LinearOperator(
        (order, order), matvec=lambda vector: times(vector.reshape(-1)), dtype=np.float64
    )
    try:
        values, vectors = eigsh(operator, k=count, which="LA", v0=first)
    except ArpackError:
        # no convergence, or no shifts to apply, as with many equal eigenvalues
        return None
    descending = np.argsort(values)[::-1]
    return values[descending], vectors[:, descending]


def _refuse_not_finite(matrix: FloatArray) -> None:
    if not np.isfinite(matrix).all():
        raise FloatingPointError("eigenvectors: the matrix is not finite")
