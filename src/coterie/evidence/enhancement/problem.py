"""The problem of EC-CMS on microclusters: evidence, certain pairs, and the blocks they connect.

:mod:`coterie.solvers.ec_cms` describes the problem, its steps and why microclusters are sufficient.
Numbers in parentheses are the paper's equations. All N x N matrices have the precision of the evidence;
sums over pairs are doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.core.budget import GRANTED
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.evidence.enhancement.factors import Factor, factorised
from coterie.evidence.enhancement.tiles import Layout, Numbers
from coterie.evidence.given import chosen_similarity
from coterie.evidence.trajectories import TRAJECTORY_BYTES

Precision = Literal["double", "single"]

# bytes per pair of microclusters while the matrix is learned
BYTES_PER_PAIR: Mapping[Precision, int] = {"double": 40, "single": 26}
# far below the least difference of two shares of members, far above rounding
SHARE_SLACK = 1e-9


@dataclass
class SampleMatrix:
    """An n x n matrix: values of pairs of different samples, and of samples with themselves.

    Attributes
    ----------
    between : ndarray, shape (N, N)
        By microcluster; on the diagonal, two samples of the same one.
    own : ndarray, shape (N,)
        A sample with itself.
    """

    between: Numbers
    own: Numbers

    def norm(self, weights: FloatArray) -> float:
        """Frobenius norm of the n x n matrix."""
        squares = float(weights @ np.einsum("ij,ij,j->i", self.between, self.between, weights))
        squares += float(np.sum(weights * (self.own**2 - np.diag(self.between) ** 2)))
        return float(np.sqrt(max(squares, 0.0)))


@dataclass(frozen=True)
class Problem:
    """Problem (5) on microclusters.

    Attributes
    ----------
    evidence : ndarray, shape (S, TILE ** 2)
        A by pairs of tiles.
    own : ndarray, shape (N,)
        A of a sample with itself.
    pinned : ndarray of bool, shape (S, TILE ** 2)
        Omega by pairs of tiles; a sample with itself is never in it.
    scale : float
        Norm of A.
    weights : ndarray, shape (N,)
        Multiplicities r.
    groups : ndarray, shape (N,)
        Connected block of each microcluster in H.
    layout : Layout
    degrees : ndarray, shape (N,)
        t = 2 H r + 2.
    factor : Factor
    """

    evidence: Numbers
    own: Numbers
    pinned: NDArray[np.bool_]
    scale: float
    weights: FloatArray
    groups: NDArray[np.int32]
    layout: Layout
    degrees: FloatArray
    factor: Factor

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        evidence: str | ArrayLike,
        reliability: FloatArray | None,
        *,
        alpha: float,
        propagate: bool,
        keep_confident: bool,
        precision: Precision,
    ) -> Self:
        """The problem for an ensemble; the caller has checked :func:`bytes_per_pair`.

        ``reliability`` is that of the base clusters, for the evidence "lwca" only.
        """
        shares = coassociation(ensemble, memory_budget=GRANTED)
        confident = confident_pairs(shares, ensemble.weights, alpha)
        del shares
        # no name for the N x N evidence, so that it is freed when the problem has its own copy
        return cls.pose(
            SampleMatrix(
                *chosen_similarity(ensemble, evidence, reliability, memory_budget=GRANTED)
            ),
            confident,
            ensemble.sizes,
            propagate,
            keep_confident,
            precision,
        )

    @classmethod
    def pose(
        cls,
        evidence: SampleMatrix,
        confident: sparse.csr_array,
        weights: FloatArray,
        propagate: bool,
        keep_confident: bool,
        precision: Precision = "double",
    ) -> Self:
        """Step 1, given A and H."""
        _, groups = connected_components(confident, directed=False)
        dtype = np.dtype(precision)
        if propagate:
            joined, joins = confident, groups
        else:
            # K is 2 everywhere
            joined, joins = sparse.csr_array(confident.shape), np.arange(len(weights))
        degrees = 2.0 * (joined @ weights) + 2.0
        parts, linked = _parts(evidence.between, joins)
        positions, factor = factorised(joined, joins, parts, weights, degrees, dtype)
        layout = Layout.of(positions, linked)
        pinned = np.zeros(confident.shape, dtype=np.bool_)
        if keep_confident:
            pinned[confident.nonzero()] = True
        return cls(
            evidence=layout.paired(evidence.between, dtype),
            own=evidence.own.astype(dtype),
            pinned=layout.paired(pinned, pinned.dtype),
            scale=evidence.norm(weights),
            weights=weights,
            groups=groups,
            layout=layout,
            degrees=degrees,
            factor=factor,
        )


def bytes_per_pair(evidence: str | ArrayLike, precision: Precision) -> int:
    """Bytes per pair of microclusters that the problem and its passes take."""
    needed = BYTES_PER_PAIR[precision]
    by_walks = isinstance(evidence, str) and evidence == "pts"
    return max(needed, TRAJECTORY_BYTES) if by_walks else needed


def confident_pairs(shares: FloatArray, weights: NDArray[Any], alpha: float) -> sparse.csr_array:
    """H, (2): the shares of pairs of different samples that reach alpha."""
    certain = (shares >= alpha - SHARE_SLACK) & (shares > 0.0)
    certain[np.diag_indices(len(shares))] &= weights > 1
    rows, columns = np.nonzero(certain)
    return sparse.csr_array((shares[rows, columns], (rows, columns)), shape=shares.shape)


def _parts(
    evidence: Numbers, groups: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Groups with evidence between them are linked: the connected parts, and the linked pairs."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(groups.max() + 1))
    linked = np.logical_or.reduceat((evidence != 0.0)[order], starts, axis=0)
    linked = np.logical_or.reduceat(linked[:, order], starts, axis=1)
    linked |= linked.T
    linked[np.diag_indices(len(linked))] = True
    _, parts = connected_components(linked, directed=False)
    return parts[groups], linked[groups][:, groups]
