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
  (:func:`coterie.numerics.davidson.component_embedding`);
- with k < c components L is block diagonal over them and one null vector of each block is known, so only
  the c - k smallest non-zero eigenvalues are computed (:func:`best_embedding`): block by block if
  the blocks are small, else by iteration (:mod:`coterie.numerics.davidson`).

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

from dataclasses import dataclass, field, replace

import numpy as np

from coterie.core.types import FloatArray, IntArray
from coterie.numerics.davidson import (
    BASIS_WIDTH,
    GUARD,
    ITERATED_SHARE,
    TIE_TOLERANCE,
    Laplacian,
    RoughInverse,
    component_embedding,
    iterated_eigenpairs,
    sparse_half,
)
from coterie.numerics.eigen import extreme_eigenpairs, tie_shares

# up to this order the whole spectrum of a block costs little, and shows every tie
DENSE_ORDER = 300
# a matrix with a smaller share of non-zero entries is multiplied in sparse form
SPARSE_SHARE = 0.2


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
        whole = Laplacian(matrix, np.sqrt(weights), degrees, labels, scale, symmetric, half)
        pairs = iterated_eigenpairs(whole, wanted, start, inverse or RoughInverse())
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
