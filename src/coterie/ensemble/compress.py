"""Compress n rows of labels to N distinct rows with weights, in a canonical order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble.columns import dense_codes, encode
from coterie.ensemble.missing import MissingValues

# labels per chunk: a few megabytes, so that working copies stay in cache
CHUNK_LABELS = 2**18
LARGEST_CODE = 2**31 - 2


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of codes (-1 missing) in order of first appearance, and each sample's row."""

    codes: NDArray[np.int32]
    inverse: NDArray[np.int32]
    categories: tuple[NDArray[Any], ...]


def distinct_rows_of_matrix(
    matrix: NDArray[Any], names: Sequence[str], missing: MissingValues
) -> DistinctRows:
    """Compress an integer n x m matrix chunk by chunk, without coding all of it at once."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    if any(int(top) - int(bottom) > LARGEST_CODE for bottom, top in zip(low, high, strict=True)):
        columns = [encode(matrix[:, j], names[j], missing) for j in range(matrix.shape[1])]
        return distinct_rows_of_columns(columns)

    smallest, largest = int(low.min()), int(high.max())
    wide = np.int32 if matrix.dtype.itemsize <= 2 or matrix.dtype == np.int32 else np.int64

    def coded(chunk: slice) -> NDArray[np.int32]:
        values = matrix[chunk]
        codes = np.empty(values.shape, dtype=np.int32)
        # the difference fits int32, and is right even if it wraps around in a narrow or unsigned type
        np.subtract(values, low, out=codes, dtype=wide, casting="unsafe")
        for number in missing.numbers:
            if smallest <= number <= largest:
                codes[values == number] = -1
        return codes

    codes, inverse = _distinct(coded, *matrix.shape)
    categories = []
    for j in range(matrix.shape[1]):
        seen = codes[:, j] >= 0
        codes[seen, j], values = dense_codes(codes[seen, j])
        # may wrap around like the subtraction above, so the sum is right for any integer type
        categories.append(values.astype(matrix.dtype) + low[j])
    return DistinctRows(codes, inverse, tuple(categories))


def distinct_rows_of_columns(
    columns: Sequence[tuple[NDArray[np.int32], NDArray[Any]]],
) -> DistinctRows:
    """Compress coded members, given as (codes, categories)."""
    n = len(columns[0][0])

    def coded(chunk: slice) -> NDArray[np.int32]:
        return np.stack([codes[chunk] for codes, _ in columns], axis=1)

    codes, inverse = _distinct(coded, n, len(columns))
    return DistinctRows(codes, inverse, tuple(categories for _, categories in columns))


def _distinct(coded: Any, n: int, m: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    # imported here because importing numba takes half a second
    from coterie.numerics.rows import RowTable

    table = RowTable(m)
    inverse = np.empty(n, dtype=np.int32)
    step = max(1, CHUNK_LABELS // m)
    for begin in range(0, n, step):
        chunk = slice(begin, min(begin + step, n))
        table.add(np.ascontiguousarray(coded(chunk)), inverse[chunk])
    return table.rows(), inverse


@dataclass(frozen=True)
class CanonicalRows:
    """Microclusters by weight, heaviest first, then by signature, then by first appearance.

    Base clusters are numbered by first appearance in that order, so that neither the order of
    samples nor the names of labels matters.
    """

    codes: NDArray[np.int32]
    inverse: NDArray[np.int32]
    weights: NDArray[np.int64] | NDArray[np.float64]
    categories: tuple[NDArray[Any], ...]
    member_signatures: NDArray[np.uint64]


def canonical_rows(
    rows: DistinctRows,
    sample_weight: NDArray[Any] | None,
    member_weight: NDArray[np.float64],
) -> CanonicalRows:
    """Order microclusters and base clusters independently of the order and names in the input."""
    from coterie.ensemble.canonical import renumber, signatures

    weights: NDArray[Any] = np.bincount(
        rows.inverse, weights=sample_weight, minlength=len(rows.codes)
    )
    if sample_weight is not None and sample_weight.dtype.kind in "iu":
        weights = np.rint(weights).astype(np.int64)
    codes = np.ascontiguousarray(rows.codes)
    n_codes = np.array([len(categories) for categories in rows.categories], dtype=np.int64)
    signature, member_signatures = signatures(codes, n_codes, weights, member_weight)
    # as in the signatures: the last digits of a sum of floats depend on the order of samples
    leading = weights if weights.dtype.kind == "i" else weights.astype(np.float32)
    order = np.lexsort((signature, -leading))
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    codes = codes[order]
    old_of = renumber(codes, n_codes)
    categories = tuple(
        values[old[old >= 0]] for values, old in zip(rows.categories, old_of, strict=True)
    )
    return CanonicalRows(codes, rank[rows.inverse], weights[order], categories, member_signatures)
