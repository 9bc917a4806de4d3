"""How well evidence about pairs of samples agrees with the known classes.

A microcluster of weight r represents r samples, of which T_c are of class c. Between microclusters u
and v there are r_u r_v pairs of samples, of which sum_c T_uc T_vc are of one class; inside u there are
r (r - 1) / 2 pairs, of which sum_c T_c (T_c - 1) / 2 are of one class. Pairs are counted in blocks of
rows and never listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import Integer, as_numbers, check_parameters
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evaluate.external import coded
from coterie.evidence.coassociation import coassociation

# rows of the matrix per block, which keeps the working copies small
BLOCK = 512
# number of levels where there are too many members for one level each
LEVELS, MOST = 20, 50
# rounding may put a value that is computed in another order below its level
ROUNDING = 1e-9


@dataclass(frozen=True)
class EvidenceQuality:
    """Pairs of samples by the value that a matrix gives them.

    Level l holds the values from ``values[l]`` up to, but not including, the next one; the last level
    is the value 1 alone.

    Attributes
    ----------
    values : ndarray, shape (L,)
        Where each level begins, from 0 to 1.
    pairs : ndarray, shape (L,)
        Pairs of samples on the level.
    together : ndarray, shape (L,)
        Pairs on the level that are of one class.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie_bench.evidence_quality import EvidenceQuality
    >>> quality = EvidenceQuality(np.array([0, 1.0]), np.array([5.0, 2.0]), np.array([1.0, 2.0]))
    >>> quality.precision_at.tolist(), quality.recall.round(2).tolist()
    ([0.2, 1.0], [1.0, 0.67])
    """

    values: FloatArray
    pairs: FloatArray
    together: FloatArray

    @property
    def share(self) -> FloatArray:
        """Share of all pairs that are on each level."""
        return _ratio(self.pairs, self.pairs.sum())

    @property
    def precision_at(self) -> FloatArray:
        """Share of the pairs on each level that are of one class; NaN on an empty level."""
        return _ratio(self.together, self.pairs)

    @property
    def precision(self) -> FloatArray:
        """Share of the pairs at or above each level that are of one class; NaN without any."""
        return _ratio(_from_above(self.together), _from_above(self.pairs))

    @property
    def recall(self) -> FloatArray:
        """Share of all pairs of one class that are at or above each level; NaN without any."""
        return _ratio(_from_above(self.together), self.together.sum())


def evidence_quality(
    ensemble: Ensemble,
    classes: Any,
    matrix: ArrayLike | None = None,
    *,
    levels: int | None = None,
    memory_budget: Budget = None,
) -> EvidenceQuality:
    """Count the pairs of samples by their co-association, and how many are truly together.

    Parameters
    ----------
    ensemble : Ensemble
    classes : sequence, array or series of n labels
        The known class of each sample.
    matrix : array of shape (N, N), optional
        Evidence between the ensemble's microclusters, symmetric and in [0, 1], such as a solver's
        ``consensus_matrix_``; its diagonal is the value of two samples of one microcluster. By
        default the co-association.
    levels : int, optional
        Number of equal steps from 0 to 1. By default one per member, so that every number of agreeing
        members has its own level; 20 for more than 50 members.
    memory_budget : int, str or None, default None
        Bytes (or text such as "4GB") that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie_bench.evidence_quality import evidence_quality
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> quality = evidence_quality(ensemble, ["a", "a", "b", "b"])
    >>> quality.values.tolist(), quality.pairs.tolist(), quality.together.tolist()
    ([0.0, 0.5, 1.0], [2.0, 3.0, 1.0], [0.0, 1.0, 1.0])
    >>> quality.precision.round(2).tolist(), quality.recall.tolist()
    ([0.33, 0.5, 1.0], [1.0, 1.0, 0.5])
    """
    require_ensemble(ensemble)
    check_parameters("evidence_quality", {"levels": levels}, {"levels": Integer(1, optional=True)})
    codes, n_classes = coded(classes, "classes")
    if len(codes) != ensemble.n_samples:
        raise ValueError(
            f"classes has {len(codes)} labels, but the ensemble has {ensemble.n_samples} samples"
        )
    if levels is None:
        levels = ensemble.n_members if ensemble.n_members <= MOST else LEVELS
    if matrix is None:
        evidence = coassociation(ensemble, memory_budget=memory_budget)
    else:
        evidence = _checked(matrix, ensemble.n_microclusters)
    sample_weight = ensemble.sample_weight
    table = sparse.csr_array(
        sparse.coo_array(
            (
                np.ones(len(codes)) if sample_weight is None else sample_weight.astype(np.float64),
                (ensemble.inverse, codes),
            ),
            shape=(ensemble.n_microclusters, n_classes),
        )
    )
    weights = np.asarray(table.sum(axis=1), dtype=np.float64)
    diagonal = _levels(np.diag(evidence), levels)
    pairs: FloatArray = np.bincount(diagonal, _inside(weights), levels + 1).astype(np.float64)
    of_one_class = np.bincount(
        np.repeat(np.arange(len(weights)), np.diff(table.indptr)),
        _inside(table.data),
        len(weights),
    )
    together: FloatArray = np.bincount(diagonal, of_one_class, levels + 1).astype(np.float64)
    transposed = sparse.csc_array(table.T)
    for begin in range(0, len(weights), BLOCK):
        rows = slice(begin, min(begin + BLOCK, len(weights)))
        # pairs right of the diagonal only, so that each is counted once
        later = slice(begin, len(weights))
        above_diagonal = (
            np.arange(rows.start, len(weights))[None] > np.arange(rows.start, rows.stop)[:, None]
        )
        level = _levels(evidence[rows, later][above_diagonal], levels)
        n_pairs = np.outer(weights[rows], weights[later])[above_diagonal]
        n_same_class = (table[rows] @ transposed[:, later]).toarray()[above_diagonal]
        pairs += np.bincount(level, n_pairs, levels + 1)
        together += np.bincount(level, n_same_class, levels + 1)
    return EvidenceQuality(np.arange(levels + 1) / levels, pairs, together)


def _checked(matrix: ArrayLike, n: int) -> FloatArray:
    values = as_numbers("evidence_quality: matrix", matrix)
    if values.shape != (n, n):
        raise ParameterError(
            f"evidence_quality: matrix must have a row and a column per microcluster ({n} x {n}), "
            f"but has shape {values.shape}"
        )
    # NaN fails both comparisons
    wrong = ~((values >= -ROUNDING) & (values <= 1 + ROUNDING))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ParameterError(
            "evidence_quality: matrix must lie in [0, 1], but entry "
            f"({row}, {column}) is {float(values[row, column])!r}"
        )
    if float(np.abs(values - values.T).max()) > 1e-6:
        raise ParameterError("evidence_quality: matrix must be symmetric, but is not")
    return values


def _levels(values: FloatArray, levels: int) -> NDArray[np.int64]:
    return np.clip(np.floor(values * levels + ROUNDING), 0, levels).astype(np.int64)


def _inside(sizes: FloatArray) -> FloatArray:
    # a size below one gives no pairs rather than a negative number
    return np.maximum(sizes * (sizes - 1) / 2, 0.0)


def _from_above(counts: FloatArray) -> FloatArray:
    return np.cumsum(counts[::-1])[::-1]


def _ratio(part: FloatArray, whole: FloatArray | float) -> FloatArray:
    out = np.full(part.shape, np.nan)
    np.divide(part, whole, out=out, where=np.asarray(whole) > 0)
    return out
