"""Eigenpairs of a symmetric matrix, also where the fast algorithm gives up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

FloatArray = NDArray[np.float64]


def eigenpairs(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, ascending, and orthonormal eigenvectors in columns.

    Divide and conquer, the fastest, fails now and then on matrices with large clusters of eigenvalues
    at zero; QR iteration does not.

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

    Relatively robust representations, which find some pairs for less than all, fail now and then on
    eigenvalues that nearly coincide; then all are found and the others dropped.

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
        # the other way to fail: fewer pairs than were asked for
        if len(values) == count:
            return values, vectors
    except np.linalg.LinAlgError:
        pass
    values, vectors = eigenpairs(matrix)
    return values[wanted], vectors[:, wanted]


def _refuse_not_finite(matrix: FloatArray) -> None:
    if not np.isfinite(matrix).all():
        raise FloatingPointError("eigenvectors: the matrix is not finite")
