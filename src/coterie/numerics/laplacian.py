r"""The rank term of graph-learning consensus methods, without eigenvalue tolerances.

SPCE and TRCE ask that a learned similarity ``S`` (N x N over microclusters, symmetric, non-negative)
has exactly c connected components, that is ``rank(L) = n - c`` for the Laplacian ``L`` of the sample
graph. They relax this to a penalty ``rho tr(F' L F)`` over orthonormal ``F`` and steer ``rho`` by the rank.

On microclusters with multiplicities ``r`` the sample Laplacian restricted to vectors that are constant on
identical samples is

.. math:: L = D - R^{1/2} S R^{1/2}, \qquad D = \mathrm{diag}(S r), \quad R = \mathrm{diag}(r),

and a unit eigenvector x of it corresponds to the sample-level eigenvector :math:`y_p = x_u / \sqrt{r_u}`.

An eigenproblem is solved only for what is not known otherwise:

- the rank is n minus the number of connected components, which is counted;
- with c components or more, the null space is spanned by the normalised component indicators
  (:func:`component_embedding`);
- with k < c components L is block diagonal over them and one null vector of each block is known, so only
  the c - k smallest non-zero eigenvalues are computed (:func:`best_embedding`): block by block if
  the blocks are small, else by an iteration that needs products with S and an approximate inverse. A
  Cholesky factor in single precision is accurate enough, and the factor of one pass can usually be reused
  in the next.

With ``symmetric=False`` S need not be symmetric. Its symmetric part is used, without forming it.

One pass of a solver is then ``rank = rank.follow(S)``:

>>> import numpy as np
>>> S = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.0], [0.1, 0.0, 1.0]])
>>> rank = RankTerm.start(S, weights=np.ones(3), n_clusters=2)
>>> rank.n_components, rank.penalty
(1, 1.0)
>>> S[0, 2] = S[2, 0] = 0.0
>>> rank = rank.follow(S)
>>> rank.n_components, rank.penalty, rank.trace
(2, 1.0, 0.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import blas, lapack

from coterie.core.types import FloatArray, IntArray
from coterie.numerics.eigen import extreme_eigenpairs, tie_shares

# eigenvalues closer than this, relative to the largest degree, count as one eigenvalue
TIE_TOLERANCE = 1e-10
# up to this order the whole spectrum of a block costs little, and shows every tie
DENSE_ORDER = 300
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
# a matrix with a smaller share of non-zero entries is multiplied in sparse form
SPARSE_SHARE = 0.2
# rows of the symmetric part that are computed at once, which keeps working copies small
STRIPE = 256
# the basis is compressed once it has this many columns per computed eigenpair
BASIS_WIDTH = 8
# with more eigenpairs than this share of the order, the direct solver is as fast
ITERATED_SHARE = 1 / 40


@dataclass(frozen=True)
class RankTerm:
    """The penalty ``rho tr(F' L F)`` and the component structure that steers it.

    Attributes
    ----------
    weights : ndarray of shape (N,)
        Multiplicities r of the microclusters.
    n_clusters : int
        The target number c of components.
    penalty : float
        rho, to be used by the next pass.
    embedding : ndarray of shape (N, p)
        Rows of F at sample level: ``y_p = embedding[u]`` for every sample p of microcluster u. p is c except
        at ties (see :func:`best_embedding`) and when the first matrix already has more than c components.
    trace : float
        ``tr(F' L F)`` for the matrix last followed; equals half of ``sum_uv r_u r_v |F_u - F_v|^2 S_uv``.
    n_components : int
        Components of the matrix last followed.
    component_labels : ndarray of shape (N,)
        Component of every microcluster, numbered by first appearance.
    symmetric : bool
        Whether the matrices are symmetric; if not, their symmetric parts are used.
    inverse : RoughInverse
        A factor that the next pass can reuse. It saves time and does not change the result.
    """

    weights: FloatArray
    n_clusters: int
    penalty: float
    embedding: FloatArray
    trace: float
    n_components: int
    component_labels: IntArray
    symmetric: bool
    inverse: RoughInverse = field(repr=False, compare=False)

    @classmethod
    def start(
        cls,
        matrix: FloatArray,
        weights: FloatArray,
        n_clusters: int,
        *,
        symmetric: bool = True,
    ) -> RankTerm:
        """F and components of the first matrix; rho is 1."""
        from coterie.numerics.laplacian_kernels import dense_components

        labels, n_components = dense_components(matrix)
        inverse = RoughInverse()
        embedding, trace = best_embedding(
            matrix, weights, n_clusters, labels, inverse=inverse, symmetric=symmetric
        )
        return cls(
            weights, n_clusters, 1.0, embedding, trace, n_components, labels, symmetric, inverse
        )

    @property
    def satisfied(self) -> bool:
        """Whether the matrix last followed has exactly c components."""
        return self.n_components == self.n_clusters

    def release(self) -> None:
        """Free the memory that only a further pass would need."""
        self.inverse.factor = None

    def follow(self, matrix: FloatArray) -> RankTerm:
        """F for a new matrix, and rho for the next pass.

        Fewer than c components: new F by eigenvectors, rho doubled. More: F kept, rho halved. Exactly c:
        F from the component indicators, rho kept.
        """
        from coterie.numerics.laplacian_kernels import dense_components

        labels, n_components = dense_components(matrix)
        if n_components > self.n_clusters:
            penalty, embedding = self.penalty / 2, self.embedding
            trace = laplacian_trace(matrix, self.weights, embedding, symmetric=self.symmetric)
        else:
            penalty = self.penalty if n_components == self.n_clusters else 2 * self.penalty
            embedding, trace = best_embedding(
                matrix,
                self.weights,
                self.n_clusters,
                labels,
                start=self.embedding,
                inverse=self.inverse,
                symmetric=self.symmetric,
            )
        return replace(
            self,
            penalty=penalty,
            embedding=embedding,
            trace=trace,
            n_components=n_components,
            component_labels=labels,
        )


def rank_bytes(order: int, n_clusters: int) -> float:
    """Bytes that a rank term needs per pair of microclusters, in addition to the matrix.

    The iteration holds a factor in single precision, half of the sparse matrix, and the basis with its
    products. If many eigenvectors are wanted, the direct solver holds three square matrices instead.

    Examples
    --------
    >>> rank_bytes(10_000, 10), rank_bytes(1_000, 50)
    (5.4688, 24.0)
    """
    count = n_clusters + GUARD
    if count > ITERATED_SHARE * order:
        return 24.0
    return 4.0 + 6.0 * SPARSE_SHARE + 24.0 * BASIS_WIDTH * count / order


def component_embedding(labels: IntArray, weights: FloatArray) -> FloatArray:
    """Normalised indicators: column a is ``1/sqrt(s_a)`` on component a, which holds s_a samples."""
    sizes = np.bincount(labels, weights=weights)
    embedding = np.zeros((labels.size, sizes.size))
    embedding[np.arange(labels.size), labels] = 1.0 / np.sqrt(sizes[labels])
    return embedding


def laplacian_trace(
    matrix: FloatArray, weights: FloatArray, embedding: FloatArray, *, symmetric: bool = True
) -> float:
    """``tr(F' L F)`` for rows of F at sample level, without forming L."""
    weighted = weights[:, None] * embedding
    degrees = _degrees(matrix, weights, symmetric)
    quadratic = np.sum(weighted * (matrix @ weighted))
    return max(float(np.sum(degrees[:, None] * embedding * weighted) - quadratic), 0.0)


def best_embedding(
    matrix: FloatArray,
    weights: FloatArray,
    n_vectors: int,
    labels: IntArray,
    start: FloatArray | None = None,
    inverse: RoughInverse | None = None,
    *,
    symmetric: bool = True,
) -> tuple[FloatArray, float]:
    """Minimiser of ``tr(F' L F)``: component indicators, then eigenvectors if there are too few.

    Parameters
    ----------
    matrix, weights : ndarray
        S (non-negative) and r.
    n_vectors : int
        Number of columns of F, at most N.
    labels : ndarray, shape (N,)
        The components of ``matrix``.
    start : ndarray, shape (N, p), optional
        An earlier embedding, from which the iteration starts.
    inverse : RoughInverse, optional
        The factor of an earlier call, to be reused.
    symmetric : bool
        Whether S is symmetric; if not, its symmetric part is used.

    Returns
    -------
    embedding : ndarray, shape (N, p)
        Rows of F at sample level.
    trace : float
        Sum of the eigenvalues, ``tr(F' L F)``.

    Notes
    -----
    With more than ``n_vectors`` components, no choice among their indicators is better than another,
    so all are kept. Linked microclusters have equal rows either way.

    If the last eigenvalue wanted is repeated and only j of its q vectors fit, every choice of j vectors
    is a minimiser, and which one an eigensolver makes depends on the order of the rows. Therefore all q
    are returned, each scaled by ``sqrt(j/q)``. This is the mean of the projectors of all choices: a
    minimiser over their convex hull, independent of the order. p is then ``n_vectors + q - j``.
    """
    indicators = component_embedding(labels, weights)
    wanted = n_vectors - indicators.shape[1]
    if wanted <= 0:
        return indicators, 0.0
    degrees = _degrees(matrix, weights, symmetric)
    scale = float(degrees.max())
    if not np.isfinite(scale):
        raise FloatingPointError("eigenvectors of the Laplacian: the matrix is not finite")
    pairs = None
    if np.bincount(labels).max() > DENSE_ORDER:
        half = sparse_half(matrix, SPARSE_SHARE)
        whole = _Laplacian(matrix, np.sqrt(weights), degrees, labels, scale, symmetric, half)
        pairs = _iterated_eigenpairs(whole, wanted, start, inverse or RoughInverse())
    values, vectors = pairs or _blockwise_eigenpairs(matrix, weights, labels, wanted, scale)
    shares = np.trim_zeros(tie_shares(values, wanted, TIE_TOLERANCE * scale))
    vectors = vectors[:, : shares.size] / np.sqrt(weights)[:, None]
    embedding = np.concatenate([indicators, vectors * np.sqrt(shares)], axis=1)
    return embedding, max(float(values[: shares.size] @ shares), 0.0)


def _degrees(matrix: FloatArray, weights: FloatArray, symmetric: bool) -> FloatArray:
    degrees = matrix @ weights
    return np.asarray(degrees if symmetric else (degrees + weights @ matrix) / 2)


def _blockwise_eigenpairs(
    matrix: FloatArray, weights: FloatArray, labels: IntArray, wanted: int, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Smallest non-trivial eigenpairs of all blocks, sorted, by the direct solver."""
    values_by_block, vectors_by_block = [], []
    for component in range(int(labels.max()) + 1):
        rows = np.flatnonzero(labels == component)
        if rows.size == 1:
            continue
        values, vectors = _block_eigenpairs(matrix, weights, rows, wanted, scale)
        lifted = np.zeros((labels.size, values.size))
        lifted[rows] = vectors
        values_by_block.append(values)
        vectors_by_block.append(lifted)
    values = np.concatenate(values_by_block)
    order = np.argsort(values, kind="stable")
    return values[order], np.concatenate(vectors_by_block, axis=1)[:, order]


def _block_eigenpairs(
    matrix: FloatArray, weights: FloatArray, rows: IntArray, wanted: int, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Smallest non-trivial eigenpairs of one component's block, with all that tie with the last.

    The null vector is moved to an eigenvalue above all others: the block becomes positive definite.
    """
    size = rows.size
    root = np.sqrt(weights[rows])
    block = matrix[np.ix_(rows, rows)]
    block = (block + block.T) / 2
    degrees = block @ weights[rows]
    block *= -root[:, None]
    block *= root
    block[np.diag_indices(size)] += degrees
    null = root / np.linalg.norm(root)
    block += (2.0 * scale * null)[:, None] * null

    if size <= DENSE_ORDER:
        values, vectors = extreme_eigenpairs(block, size)
        return values[:-1], vectors[:, :-1]
    count = wanted + GUARD
    while True:
        count = min(count, size - 1)
        values, vectors = extreme_eigenpairs(block, count, largest=False)
        if count == size - 1 or values[-1] > values[wanted - 1] + TIE_TOLERANCE * scale:
            return values, vectors
        count *= 2


@dataclass(frozen=True)
class _Laplacian:
    """The Laplacian L as a linear operator.

    ``nulls`` are its orthonormal null vectors. ``half`` plus its transpose is the symmetric part of the
    matrix; None if that is not sparse.
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
        return component_embedding(self.labels, self.root**2) * self.root[:, None]

    def times(self, vectors: FloatArray) -> FloatArray:
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

    def renew(self, laplacian: _Laplacian) -> bool:
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


def _iterated_eigenpairs(
    laplacian: _Laplacian, wanted: int, start: FloatArray | None, inverse: RoughInverse
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
    laplacian: _Laplacian, count: int, wanted: int, start: FloatArray | None, inverse: RoughInverse
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
    laplacian: _Laplacian, nulls: FloatArray, count: int, start: FloatArray | None
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
