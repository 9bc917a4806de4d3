"""Agreement of a partition with known classes; every score comes from one contingency table.

Two partitions that are equal up to the names of their clusters score 1, even if both are trivial (a
single cluster, or every sample in its own). scikit-learn has the same convention.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coterie.core.budget import require
from coterie.core.errors import LabelError, ParameterError
from coterie.core.params import Choice, as_numbers, check_parameters
from coterie.ensemble.columns import dense_codes
from coterie.ensemble.missing import is_missing
from coterie.numerics.partitions import Average, Overlaps

AVERAGE = Choice(get_args(Average))


def accuracy(truth: Any, labels: Any, sample_weight: ArrayLike | None = None) -> float:
    """Share of the samples in the class that their cluster is matched with, for the best matching.

    The matching is one-to-one. If the numbers of clusters and classes differ, some remain unmatched.

    Parameters
    ----------
    truth, labels, sample_weight
        As in :func:`scores`.

    Examples
    --------
    >>> from coterie.evaluate import accuracy
    >>> accuracy(["a", "a", "b", "b"], [1, 1, 0, 2])
    0.75
    """
    return _accuracy(contingency_table(truth, labels, sample_weight))


def nmi(
    truth: Any,
    labels: Any,
    average: Average = "arithmetic",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Normalised mutual information: divided by an average of the two entropies, in [0, 1].

    Parameters
    ----------
    truth, labels, sample_weight
        As in :func:`scores`.
    average : {"arithmetic", "max", "min", "geometric"}, default "arithmetic"
        The average of the two entropies to divide by. Papers differ here, so report which one was
        used.

    Examples
    --------
    >>> from coterie.evaluate import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4), round(nmi([0, 0, 1, 1], [0, 0, 1, 2], "max"), 4)
    (0.8, 0.6667)
    """
    check_parameters("nmi", {"average": average}, {"average": AVERAGE})
    table = contingency_table(truth, labels, sample_weight)
    return float(_overlaps(table).nmi(average)[0])


def ari(truth: Any, labels: Any, sample_weight: ArrayLike | None = None) -> float:
    """Adjusted Rand index: agreement about pairs of samples, 0 by chance, 1 for equal partitions.

    Parameters
    ----------
    truth, labels, sample_weight
        As in :func:`scores`.

    Examples
    --------
    >>> from coterie.evaluate import ari
    >>> round(ari([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """
    return float(_overlaps(contingency_table(truth, labels, sample_weight)).ari()[0])


def pairwise_f(truth: Any, labels: Any, sample_weight: ArrayLike | None = None) -> float:
    """Harmonic mean of precision and recall over the pairs of samples that are put together.

    Parameters
    ----------
    truth, labels, sample_weight
        As in :func:`scores`.

    Examples
    --------
    >>> from coterie.evaluate import pairwise_f
    >>> round(pairwise_f([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.6667
    """
    return _pairwise_f(_overlaps(contingency_table(truth, labels, sample_weight)))


def purity(truth: Any, labels: Any, sample_weight: ArrayLike | None = None) -> float:
    """Share of the samples that belong to the most frequent class of their cluster.

    A partition into single samples scores 1, so compare only partitions with the same number of
    clusters.

    Parameters
    ----------
    truth, labels, sample_weight
        As in :func:`scores`.

    Examples
    --------
    >>> from coterie.evaluate import purity
    >>> purity([0, 0, 1, 1], [0, 0, 0, 1])
    0.75
    """
    return _purity(contingency_table(truth, labels, sample_weight))


def scores(truth: Any, labels: Any, sample_weight: ArrayLike | None = None) -> dict[str, float]:
    """All external scores, from one contingency table.

    Parameters
    ----------
    truth, labels : sequence, array or series
        Labels of any hashable type.
    sample_weight : array, optional
        Number of identical samples that each sample represents.

    Examples
    --------
    >>> from coterie.evaluate import scores
    >>> for name, value in scores([0, 0, 1, 1], ["x", "x", "y", "z"]).items():
    ...     print(f"{name} {value:.4f}")
    accuracy 0.7500
    nmi_arithmetic 0.8000
    nmi_max 0.6667
    ari 0.5714
    pairwise_f 0.6667
    purity 1.0000
    """
    table = contingency_table(truth, labels, sample_weight)
    overlaps = _overlaps(table)
    return {
        "accuracy": _accuracy(table),
        "nmi_arithmetic": float(overlaps.nmi("arithmetic")[0]),
        "nmi_max": float(overlaps.nmi("max")[0]),
        "ari": float(overlaps.ari()[0]),
        "pairwise_f": _pairwise_f(overlaps),
        "purity": _purity(table),
    }


def contingency_table(
    truth: Any, labels: Any, sample_weight: ArrayLike | None = None
) -> sparse.csr_array:
    """Weight of the samples in each class and cluster; zeros are not stored.

    Labels may be of any hashable type, and -1 is a label like any other. A class or cluster without
    weight has no row or column.

    Examples
    --------
    >>> from coterie.evaluate.external import contingency_table
    >>> contingency_table(["a", "a", "b"], [1, 2, 2]).toarray().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    rows, n_classes = coded(truth, "truth")
    columns, n_clusters = coded(labels, "labels")
    if len(rows) != len(columns):
        raise LabelError(
            f"truth has {len(rows)} labels, but labels has {len(columns)}; "
            "both must label the same samples"
        )
    if len(rows) == 0:
        raise LabelError("truth and labels are empty: there is nothing to score")
    weight = _multiplicities(sample_weight, len(rows))
    table = sparse.csr_array((weight, (rows, columns)), shape=(n_classes, n_clusters))
    table.eliminate_zeros()
    return table[np.diff(table.indptr) > 0][:, np.unique(table.indices)]


def _overlaps(table: sparse.csr_array) -> Overlaps:
    return Overlaps.of_tables(table, (0, table.shape[0]))


def _accuracy(contingency: sparse.csr_array) -> float:
    classes, clusters = contingency.shape
    require(
        8 * classes * clusters,
        f"Matching {clusters:,} clusters with {classes:,} classes",
        "Use ari or nmi, which need no table of all classes by all clusters.",
    )
    table = contingency.toarray()
    matched = linear_sum_assignment(table, maximize=True)
    return float(table[matched].sum() / contingency.sum())


def _purity(table: sparse.csr_array) -> float:
    return float(table.max(axis=0).sum() / table.sum())


def _pairwise_f(overlaps: Overlaps) -> float:
    both, classes, clusters, _ = (float(pairs[0]) for pairs in overlaps.pairs())
    return 1.0 if classes + clusters == 0 else 2 * both / (classes + clusters)


def coded(labels: Any, name: str) -> tuple[NDArray[np.int32], int]:
    """Labels as codes 0 .. k - 1, and k."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise LabelError(f"{name} must be a sequence of labels, but is {labels!r}")
    if hasattr(labels, "__array__"):
        vector = np.asarray(labels)
        if vector.ndim != 1:
            raise LabelError(f"{name} must hold one label per sample, but has shape {vector.shape}")
        if vector.dtype.kind in "iu" and vector.dtype != np.uint64:
            codes, values = dense_codes(vector.astype(np.int64))
            return codes, len(values)
        labels = vector.tolist()
    known: dict[Any, int] = {}
    codes = np.empty(len(labels := [*labels]), dtype=np.int32)
    for row, label in enumerate(labels):
        if is_missing(label):
            raise LabelError(f"{name} has no label in row {row}; leave out such samples first")
        try:
            codes[row] = known.setdefault(label, len(known))
        except TypeError:
            raise LabelError(
                f"{name}, row {row}: {type(label).__name__} values cannot be labels"
            ) from None
    return codes, len(known)


def _multiplicities(given: ArrayLike | None, length: int) -> NDArray[np.float64]:
    if given is None:
        return np.ones(length)
    weight = as_numbers("sample_weight", given)
    if weight.shape != (length,):
        raise ParameterError(
            f"sample_weight must hold {length} numbers, but has shape {weight.shape}"
        )
    wrong = ~(np.isfinite(weight) & ((weight == 0) | (weight >= 1)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ParameterError(
            f"sample_weight counts identical samples, so it must be at least 1, or 0 to leave a "
            f"sample out, but entry {row} is {weight[row].item()!r}"
        )
    if not weight.any():
        raise ParameterError("sample_weight is zero everywhere: there is nothing to score")
    return weight
