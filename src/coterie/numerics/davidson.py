"""The smallest eigenpairs of a large Laplacian by Davidson's method.

The iteration needs products with the Laplacian and an approximate inverse. A Cholesky factor in single
precision is accurate enough, and the factor of one pass can usually be reused in the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import blas, lapack

from coterie.core.types import FloatArray, IntArray

# eigenvalues closer than this, relative to the largest degree, count as one eigenvalue
TIE_TOLERANCE = 1e-10
# additional eigenpairs computed: they speed up the iteration and show ties
GUARD = 4
# accepted residual of a wanted eigenpair, and of the first additional one (enough to see a tie);
# both relative to the largest degree
RESIDUAL, GUARD_RESIDUAL = 1e-12, 1e-6
# added to the diagonal before factorising in single precision, relative to the largest degree
SHIFT = 1e-6
# usual number of steps with a new factor, matrix order per step that making a factor costs, steps after
# which an old factor is judged, and maximum number of steps with a new one
USUAL_STEPS, ORDER_PER_STEP, TRIAL_STEPS, MAX_STEPS = 8, 200, 3, 60
# rows of the symmetric part that are computed at once, which keeps working copies small
STRIPE = 256
# the basis is compressed once it has this many columns per computed eigenpair
BASIS_WIDTH = 8
# with more eigenpairs than this share of the order, the direct solver is as fast
ITERATED_SHARE = 1 / 40


def component_embedding(labels: IntArray, weights: FloatArray) -> FloatArray:
    """Normalised indicators: column a is ``1/sqrt(s_a)`` on component a, which holds s_a samples."""
    sizes = np.bincount(labels, weights=weights)
    embedding = np.zeros((labels.size, sizes.size))
    embedding[np.arange(labels.size), labels] = 1.0 / np.sqrt(sizes[labels])
    return embedding


@dataclass(frozen=True)
class Laplacian:
    """The Laplacian L as a linear operator.

    ``half`` plus its transpose is the symmetric part of the matrix; None if that is not sparse.
    """

    matrix: FloatArray
    root: FloatArray
    degrees: FloatArray
    labels: IntArray
    scale: float
    symmetric: bool
    half: sparse.csr_array | None

    @property
    def nulls(self) -> FloatArray:
        """The orthonormal null vectors."""
        return component_embedding(self.labels, self.root**2) * self.root[:, None]

    def times(self, vectors: FloatArray) -> FloatArray:
        """Product of L with the given vectors."""
        scaled = self.root[:, None] * vectors
        if self.half is not None:
            product = self.half @ scaled
            product += self.half.T @ scaled
        else:
            product = self.matrix @ scaled
            if not self.symmetric:
                product += self.matrix.T @ scaled
                product /= 2.0
        return self.degrees[:, None] * vectors - self.root[:, None] * product


class RoughInverse:
    """Approximate inverse of a Laplacian outside its null space: a factor, possibly of an earlier pass."""

    def __init__(self) -> None:
        self.factor: NDArray[np.float32] | None = None

    def renew(self, laplacian: Laplacian) -> bool:
        """Factorise; returns whether that was possible."""
        # drop the old one first, so that the two are never in memory together
        self.factor = None
        diagonal = laplacian.degrees + SHIFT * laplacian.scale
        block = lower_laplacian(laplacian.matrix, laplacian.root, diagonal).T
        # null vectors are moved to the other end of the spectrum
        nulls = (laplacian.nulls * np.sqrt(laplacian.scale)).astype(np.float32)
        block = blas.ssyrk(1.0, nulls, beta=1.0, c=block, lower=0, overwrite_c=1)
        factor, failure = lapack.spotrf(block, lower=0, overwrite_a=1, clean=0)
        if failure == 0:
            self.factor = factor
        return failure == 0

    def times(self, vectors: FloatArray) -> FloatArray:
        """Product of the approximate inverse with the given vectors."""
        solved, _ = lapack.spotrs(self.factor, vectors.astype(np.float32, order="F"), lower=0)
        return np.asarray(solved, dtype=np.float64)


def iterated_eigenpairs(
    laplacian: Laplacian, wanted: int, start: FloatArray | None, inverse: RoughInverse
) -> tuple[FloatArray, FloatArray] | None:
    """Smallest non-trivial eigenpairs, with all that tie with the last; None: use the direct solver."""
    count = wanted + GUARD
    while count <= ITERATED_SHARE * laplacian.root.size:
        pairs = _davidson(laplacian, count, wanted, start, inverse)
        if pairs is None:
            return None
        values, vectors = pairs
        if values[-1] > values[wanted - 1] + TIE_TOLERANCE * laplacian.scale:
            return pairs
        start = vectors / laplacian.root[:, None]
        count *= 2
    return None


def _davidson(
    laplacian: Laplacian, count: int, wanted: int, start: FloatArray | None, inverse: RoughInverse
) -> tuple[FloatArray, FloatArray] | None:
    """The ``count`` smallest eigenpairs outside the null space; only the first ``wanted`` are accurate.

    Each step adds the approximate inverse times the residuals to a basis; Rayleigh-Ritz finds the best
    vectors in it. With an exact inverse this is block inverse iteration in a Krylov space. With an
    approximate one it takes a few more steps and is as accurate. Returns None if it does not converge.
    """
    nulls, scale = laplacian.nulls, laplacian.scale
    # room for the widest basis, so that widening it copies nothing
    whole = np.empty((2, BASIS_WIDTH * count, laplacian.root.size))
    basis, image = whole[0, :count].T, whole[1, :count].T
    basis[:] = _first_basis(laplacian, nulls, count, start)
    image[:] = laplacian.times(basis)
    fresh = inverse.factor is None
    if fresh and not inverse.renew(laplacian):
        return None
    progress: list[float] = []
    while True:
        table = basis.T @ image
        values, mix = linalg.eigh((table + table.T) / 2, check_finite=False)
        values, best = values[:count], mix[:, :count]
        vectors = basis @ best
        residuals = image @ best - vectors * values
        errors = np.linalg.norm(residuals, axis=0)
        if errors[:wanted].max() <= RESIDUAL * scale and errors[wanted] <= GUARD_RESIDUAL * scale:
            return values, vectors
        progress.append(float(np.log(errors[:wanted].max() / (RESIDUAL * scale))))
        if not fresh and _too_slow(progress, laplacian.root.size):
            fresh = True
            progress.clear()
            if not inverse.renew(laplacian):
                return None
        if len(progress) > MAX_STEPS or not np.isfinite(errors).all():
            return None
        width = basis.shape[1]
        if width + count > BASIS_WIDTH * count:
            width = 2 * count
            for part in (basis, image):
                part[:, :width] = part @ mix[:, :width]
            basis, image = whole[0, :width].T, whole[1, :width].T
        # residuals at the level of rounding would only add noise to the basis
        step = inverse.times(residuals[:, errors > 0.1 * RESIDUAL * scale])
        step -= nulls @ (nulls.T @ step)
        # orthogonalising twice gives orthogonality up to rounding
        for _ in range(2):
            step -= basis @ (basis.T @ step)
            step, _ = linalg.qr(step, mode="economic", check_finite=False)
        wider = width + step.shape[1]
        basis, image = whole[0, :wider].T, whole[1, :wider].T
        basis[:, width:] = step
        image[:, width:] = laplacian.times(step)


def _too_slow(progress: list[float], order: int) -> bool:
    """Whether a new factor would settle earlier than the old one at its present pace."""
    if len(progress) <= TRIAL_STEPS:
        return False
    pace = (progress[-1 - TRIAL_STEPS] - progress[-1]) / TRIAL_STEPS
    return bool(progress[-1] > pace * (USUAL_STEPS + order / ORDER_PER_STEP))


def _first_basis(
    laplacian: Laplacian, nulls: FloatArray, count: int, start: FloatArray | None
) -> FloatArray:
    """Orthonormal columns to start from: earlier vectors, then quasi-random ones."""
    size = laplacian.root.size
    columns = np.arange(1, count + 1) * np.sqrt(5.0)
    rough = np.modf(np.arange(1, size + 1)[:, None] * columns)[0] - 0.5
    if start is not None:
        rough = np.concatenate(
            [laplacian.root[:, None] * start, 1e-3 / np.sqrt(size) * rough], axis=1
        )
    rough -= nulls @ (nulls.T @ rough)
    # pivoting puts linearly dependent columns, such as component indicators, last
    basis, _, _ = linalg.qr(rough, mode="economic", pivoting=True, check_finite=False)
    return np.asarray(basis[:, :count])


# ---------------------------------------------------------------- the symmetric part of a dense matrix


def sparse_half(matrix: FloatArray, most: float) -> sparse.csr_array | None:
    """An upper triangular U with U + U' = (S + S') / 2 for a non-negative S, in compressed rows.

    None if more than a share ``most`` of the entries of the symmetric part are non-zero.

    Examples
    --------
    >>> import numpy as np
    >>> half = sparse_half(np.array([[2.0, 1.0], [0.0, 0.0]]), 0.8)
    >>> half.toarray().tolist(), sparse_half(np.ones((3, 3)), 0.8)
    ([[1.0, 0.5], [0.0, 0.0]], None)
    """
    values, columns, counts = [], [], [np.zeros(1, dtype=np.int64)]
    room = most * matrix.size
    for rows, stripe in _stripes(matrix):
        half = np.triu(stripe) / 2
        np.fill_diagonal(half, half.diagonal() / 2)
        row, column = np.nonzero(half)
        # every entry off the diagonal counts twice
        room -= 2 * len(row) - np.count_nonzero(half.diagonal())
        if room < 0:
            return None
        values.append(half[row, column])
        columns.append((column + rows.start).astype(np.int32))
        counts.append(np.bincount(row, minlength=len(half)))
    starts = np.cumsum(np.concatenate(counts))
    if starts[-1] <= np.iinfo(np.int32).max:
        starts = starts.astype(np.int32)
    return sparse.csr_array(
        (np.concatenate(values), np.concatenate(columns), starts), shape=matrix.shape
    )


def lower_laplacian(
    matrix: FloatArray, root: FloatArray, diagonal: FloatArray
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
    for rows, stripe in _stripes(matrix):
        stripe *= -0.5 * root[rows, None] * root[rows.start :]
        out[rows.start :, rows] = stripe.T
    out[np.diag_indices(len(out))] += diagonal
    return out


def _stripes(matrix: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
    """Blocks of rows, each with S + S' in these rows from the diagonal on."""
    for top in range(0, len(matrix), STRIPE):
        rows = slice(top, top + STRIPE)
        yield rows, matrix[rows, top:] + matrix[top:, rows].T
