"""For each pair of microclusters: how many members put both together, and how many label both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.numerics.compiled import kernel
from coterie.numerics.row_ranges import over_rows


@kernel()
def _agreements(begin, end, members, out):
    m, n = members.shape
    for u in range(begin, end):
        # the narrowest integer type, so that one vector instruction compares more labels
        row = np.zeros(n, dtype=members.dtype)
        for j in range(m):
            label = members[j, u]
            if label >= 0:
                labels = members[j]
                for v in range(n):
                    row[v] += labels[v] == label
        # not out[u] = row: numba compiles that, with its check of the shapes, for a second
        for v in range(n):
            out[u, v] = row[v]


@kernel()
def _weighted_agreements(begin, end, members, values, starts, begins, rows, out):
    """``rows[begins[q] : begins[q + 1]]`` are the microclusters of base cluster q."""
    m = len(members)
    for u in range(begin, end):
        row = out[u]
        for j in range(m):
            label = members[j, u]
            if label >= 0:
                q = starts[j] + label
                for p in range(begins[q], begins[q + 1]):
                    row[rows[p]] += values[q]


def agreement_counts(labels: NDArray[np.int32]) -> NDArray[Any]:
    """Number of members that give both the same label, N x N."""
    n, m = labels.shape
    out = np.empty((n, n), dtype=np.int16 if m <= np.iinfo(np.int16).max else np.int32)
    narrow = np.min_scalar_type(-max(m, int(labels.max(initial=0))) - 1)
    over_rows(_agreements, _by_member(labels).astype(narrow), out)
    return out


def observation_counts(labels: NDArray[np.int32]) -> NDArray[Any]:
    """Number of members that label both, N x N."""
    return agreement_counts(_seen(labels))


def weighted_agreements(
    labels: NDArray[np.int32], values: NDArray[np.float64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Sum of the values of the base clusters that hold both, N x N; ``values`` has one per base cluster."""
    out = np.zeros((len(labels), len(labels)))
    members = _by_member(labels)
    member, row = np.nonzero(members >= 0)
    cluster = starts[member] + members[member, row]
    held = sparse.csr_array((np.ones(len(row)), (cluster, row)), shape=(len(values), len(labels)))
    over_rows(_weighted_agreements, members, values, starts, held.indptr, held.indices, out)
    return out


def weighted_observations(
    labels: NDArray[np.int32], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum of the values of the members that label both, N x N; ``values`` has one per member."""
    return weighted_agreements(_seen(labels), values, np.arange(len(values)))


def _seen(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The labels if each member put everything it labels into one cluster."""
    return np.minimum(labels, 0)


def _by_member(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    # the labels of a member are contiguous, because the inner loops run over samples
    return np.ascontiguousarray(labels.T)
