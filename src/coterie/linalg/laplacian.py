r"""The rank term of graph-learning consensus methods, without eigenvalue tolerances.

SPCE and TRCE ask that a learned similarity ``S`` (N x N over microclusters, symmetric, non-negative)
has exactly c connected components, that is ``rank(L) = n - c`` for the Laplacian ``L`` of the sample
graph. They relax this to a penalty ``rho tr(F' L F)`` over orthonormal ``F`` and steer ``rho`` by the rank.

On microclusters with multiplicities ``r`` the sample Laplacian restricted to vectors that are constant on
identical samples is

.. math:: L = D - R^{1/2} S R^{1/2}, \qquad D = \mathrm{diag}(S r), \quad R = \mathrm{diag}(r),

and a unit eigenvector x of it stands for the sample-level eigenvector :math:`y_p = x_u / \sqrt{r_u}`.

What is known without an eigensolve is not computed:

- the rank is n minus the number of connected components, which is counted;
- with c components or more, the null space is spanned by the normalised component indicators
  (:func:`component_embedding`);
- with k < c components L is block diagonal over them and one null vector of each block is known, so only
  the c - k smallest non-zero eigenvalues are sought, block by block (:func:`smallest_embedding`).

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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# eigenvalues closer than this, relative to the largest degree, count as one eigenvalue
TIE_TOLERANCE = 1e-10
# up to this order the whole spectrum of a block costs little, and shows every tie
DENSE_ORDER = 300
# eigenpairs sought beyond those wanted: they speed up the iteration and show ties
GUARD = 4
# residual of an eigenpair, relative to the largest degree
RESIDUAL = 1e-12
# products with the inverse before the basis is compressed, and how often it is
KRYLOV_DEPTH = 8
RESTARTS = 6
# beyond so many eigenpairs the direct solver is as fast as the iteration
MOST_ITERATED = 16


@dataclass(frozen=True)
class RankTerm:
    """The penalty ``rho tr(F' L F)`` and the component structure that steers it.

    Attributes
    ----------
    weights : ndarray of shape (N,)
        Multiplicities r of the microclusters.
    n_clusters : int
        The number c of components aimed at.
    penalty : float
        rho, to be used by the next pass.
    embedding : ndarray of shape (N, p)
        Rows of F at sample level: ``y_p = embedding[u]`` for every sample p of microcluster u. p is c except
        at ties (see :func:`smallest_embedding`) and when the first matrix already has more than c components.
    trace : float
        ``tr(F' L F)`` for the matrix last followed; equals half of ``sum_uv r_u r_v |F_u - F_v|^2 S_uv``.
    n_components : int
        Components of the matrix last followed.
    component_labels : ndarray of shape (N,)
        Component of every microcluster, numbered by first appearance.
    """

    weights: FloatArray
    n_clusters: int
    penalty: float
    embedding: FloatArray
    trace: float
    n_components: int
    component_labels: IntArray

    @classmethod
    def start(
        cls, matrix: FloatArray, weights: FloatArray, n_clusters: int, penalty: float = 1.0
    ) -> RankTerm:
        """F and components of the first matrix; rho is taken as given."""
        from coterie.kernels.components import dense_components

        labels, n_components = dense_components(matrix)
        if n_components >= n_clusters:
            # no choice of c among more null vectors is better than another; all of them together
            # say the same about every linked pair: its ends have equal rows
            embedding, trace = component_embedding(labels, weights), 0.0
        else:
            embedding, trace = smallest_embedding(matrix, weights, n_clusters, labels)
        return cls(weights, n_clusters, penalty, embedding, trace, n_components, labels)

    @property
    def satisfied(self) -> bool:
        """Whether the matrix last followed has exactly c components."""
        return self.n_components == self.n_clusters

    def follow(self, matrix: FloatArray) -> RankTerm:
        """F for a new matrix, and rho for the next pass.

        Fewer than c components: new F by eigenvectors, rho doubled. More: F kept, rho halved. Exactly c:
        F from the component indicators, rho kept.
        """
        from coterie.kernels.components import dense_components

        labels, n_components = dense_components(matrix)
        if n_components > self.n_clusters:
            trace = laplacian_trace(matrix, self.weights, self.embedding)
            return replace(
                self,
                penalty=self.penalty / 2,
                trace=trace,
                n_components=n_components,
                component_labels=labels,
            )
        if n_components == self.n_clusters:
            embedding, trace, penalty = component_embedding(labels, self.weights), 0.0, self.penalty
        else:
            embedding, trace = smallest_embedding(
                matrix, self.weights, self.n_clusters, labels, start=self.embedding
            )
            penalty = 2 * self.penalty
        return replace(
            self,
            penalty=penalty,
            embedding=embedding,
            trace=trace,
            n_components=n_components,
            component_labels=labels,
        )


def component_embedding(labels: IntArray, weights: FloatArray) -> FloatArray:
    """Normalised indicators: column a is ``1/sqrt(s_a)`` on component a, which holds s_a samples."""
    sizes = np.bincount(labels, weights=weights)
    embedding = np.zeros((labels.size, sizes.size))
    embedding[np.arange(labels.size), labels] = 1.0 / np.sqrt(sizes[labels])
    return embedding


def laplacian_trace(matrix: FloatArray, weights: FloatArray, embedding: FloatArray) -> float:
    """``tr(F' L F)`` for rows of F at sample level, without forming L."""
    weighted = weights[:, None] * embedding
    degrees = matrix @ weights
    quadratic = np.sum(weighted * (matrix @ weighted))
    return max(float(np.sum(degrees[:, None] * embedding * weighted) - quadratic), 0.0)


def smallest_embedding(
    matrix: FloatArray,
    weights: FloatArray,
    n_vectors: int,
    labels: IntArray,
    start: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Minimiser of ``tr(F' L F)`` for a graph with fewer components than vectors.

    Parameters
    ----------
    matrix, weights : ndarray
        S (symmetric, non-negative) and r.
    n_vectors : int
        How many eigenvectors, more than there are components and at most N.
    labels : ndarray, shape (N,)
        The components of ``matrix``.
    start : ndarray, shape (N, p), optional
        An earlier embedding, from which the iteration starts.

    Returns
    -------
    embedding : ndarray, shape (N, p)
        Rows of F at sample level.
    trace : float
        Sum of the eigenvalues, ``tr(F' L F)``.

    Notes
    -----
    When the last eigenvalue wanted is repeated and only j of its q vectors fit, every choice of j is
    a minimiser, and which one a solver returns depends on the order of the rows. All q are returned
    instead, each scaled by ``sqrt(j/q)``: the mean of the projectors of all choices, which is a
    minimiser over their convex hull and the same for any order. p exceeds ``n_vectors`` by q - j then.
    """
    n_components = int(labels.max()) + 1
    wanted = n_vectors - n_components
    scale = float((matrix @ weights).max())
    if not np.isfinite(scale):
        raise FloatingPointError("eigenvectors of the Laplacian: the matrix is not finite")
    values_by_block, vectors_by_block = [], []
    for component in range(n_components):
        rows = np.flatnonzero(labels == component)
        if rows.size == 1:
            continue
        values, vectors = _block_eigenpairs(
            matrix, weights, rows, wanted, scale, None if start is None else start[rows]
        )
        lifted = np.zeros((labels.size, values.size))
        lifted[rows] = vectors / np.sqrt(weights[rows])[:, None]
        values_by_block.append(values)
        vectors_by_block.append(lifted)
    values = np.concatenate(values_by_block)
    order = np.argsort(values, kind="stable")
    values = values[order]
    shares = _shares(values, wanted, TIE_TOLERANCE * scale)
    vectors = np.concatenate(vectors_by_block, axis=1)[:, order[: shares.size]]
    embedding = np.concatenate(
        [component_embedding(labels, weights), vectors * np.sqrt(shares)], axis=1
    )
    return embedding, max(float(values[: shares.size] @ shares), 0.0)


def _shares(values: FloatArray, wanted: int, slack: float) -> FloatArray:
    """Share of each of the leading sorted eigenpairs: one, except in a tie at the last wanted."""
    last = values[wanted - 1]
    begin = int(np.searchsorted(values, last - slack))
    end = int(np.searchsorted(values, last + slack, side="right"))
    shares = np.ones(end)
    shares[begin:] = (wanted - begin) / (end - begin)
    return shares


def _block_eigenpairs(
    matrix: FloatArray,
    weights: FloatArray,
    rows: IntArray,
    wanted: int,
    scale: float,
    start: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Smallest non-trivial eigenpairs of one component's block, with all that tie with the last.

    The null vector is moved to an eigenvalue above all others: the block becomes positive definite.
    """
    size = rows.size
    root = np.sqrt(weights[rows])
    block = matrix[np.ix_(rows, rows)]
    degrees = block @ weights[rows]
    block *= -root[:, None]
    block *= root
    block[np.diag_indices(size)] += degrees
    null = root / np.linalg.norm(root)
    block += (2.0 * scale * null)[:, None] * null

    if size <= DENSE_ORDER:
        values, vectors = linalg.eigh(block, overwrite_a=True, check_finite=False)
        return values[:-1], vectors[:, :-1]
    count = wanted + GUARD
    while True:
        count = min(count, size - 1)
        found = None
        if count <= MOST_ITERATED:
            found = _inverse_eigenpairs(block, _first_basis(null, count, start), wanted, scale)
        if found is None:
            found = linalg.eigh(block, subset_by_index=[0, count - 1], check_finite=False)
        values, vectors = found
        if count == size - 1 or values[-1] > values[wanted - 1] + TIE_TOLERANCE * scale:
            return values, vectors
        count *= 2


def _first_basis(null: FloatArray, count: int, start: FloatArray | None) -> FloatArray:
    """Orthonormal columns to start from: earlier vectors, then rough ones that leave nothing out."""
    size = null.size
    columns = np.arange(1, count + 1) * np.sqrt(5.0)
    rough = np.modf(np.arange(1, size + 1)[:, None] * columns)[0] - 0.5
    if start is not None:
        rough = np.concatenate([null[:, None] * start, 1e-3 * rough], axis=1)
    rough -= null[:, None] * (null @ rough)
    # columns that say nothing new, such as indicators of this very component, fall behind
    basis, _, _ = linalg.qr(rough, mode="economic", pivoting=True, check_finite=False)
    return np.asarray(basis[:, :count])


def _inverse_eigenpairs(
    block: FloatArray, basis: FloatArray, wanted: int, scale: float
) -> tuple[FloatArray, FloatArray] | None:
    """Smallest eigenpairs of a positive definite block, as many as the basis has columns.

    Block Krylov on the inverse, Rayleigh-Ritz on the block itself, restarted from the Ritz vectors.
    The wanted ones are accurate, the others approximate. None if the iteration does not settle.
    """
    shifted = block.copy()
    # a component that hangs on a thread has an eigenvalue near rounding error
    shifted[np.diag_indices(len(block))] += 1e-13 * scale
    try:
        factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    width = basis.shape[1]
    for _ in range(RESTARTS):
        krylov = [basis]
        for _ in range(KRYLOV_DEPTH):
            step = linalg.cho_solve(factor, krylov[-1], check_finite=False)
            done = np.concatenate(krylov, axis=1)
            # twice is enough for orthogonality to rounding
            for _ in range(2):
                step -= done @ (done.T @ step)
                step, _ = linalg.qr(step, mode="economic", check_finite=False)
            krylov.append(step)
        space = np.concatenate(krylov, axis=1)
        image = block @ space
        values, mix = linalg.eigh(space.T @ image, check_finite=False)
        values, mix = values[:width], mix[:, :width]
        basis = space @ mix
        residual = np.linalg.norm(image @ mix - basis * values, axis=0)
        if residual[:wanted].max() <= RESIDUAL * scale:
            return values, basis
    return None
