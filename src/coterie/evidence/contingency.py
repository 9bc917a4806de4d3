"""How the base clusters of all members overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from coterie.core.budget import Budget, require
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble, require_ensemble
from coterie.numerics.partitions import Overlaps

ADVICE = "Take fewer members, or members with fewer clusters."
# bytes per entry of a sparse matrix while it is built and sorted
ENTRY_BYTES = 32.0
# largest number of entries in one block of rows
ENTRIES = 2**24


def contingency(ensemble: Ensemble, *, memory_budget: Budget = None) -> sparse.csr_array:
    """Weight shared by each pair of base clusters, k x k: H' diag(r) H for the incidence H and weights r.

    Rows and columns are in the order of ``ensemble.incidence``; the diagonal holds the sizes.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import contingency
    >>> contingency(Ensemble.from_labels([[0, 0], [0, 0], [1, 0]])).toarray().tolist()
    [[2.0, 0.0, 2.0], [0.0, 1.0, 1.0], [2.0, 1.0, 3.0]]
    """
    require_ensemble(ensemble)
    k = ensemble.n_base_clusters
    most = min(k * k, ensemble.incidence.nnz * ensemble.n_members)
    require(ENTRY_BYTES * most, f"The overlaps of k = {k:,} base clusters", ADVICE, memory_budget)
    return _of_members(ensemble, 0, ensemble.n_members)


def contingency_by_members(ensemble: Ensemble) -> Iterator[tuple[slice, sparse.csr_array]]:
    """The rows of :func:`contingency` in blocks of members: the slice of rows, and the rows."""
    m, offsets = ensemble.n_members, ensemble.cluster_offsets
    # each label of a sample meets at most one cluster of a member
    per_block = max(1, ENTRIES // max(1, ensemble.incidence.nnz))
    for first in range(0, m, per_block):
        last = min(first + per_block, m)
        yield slice(offsets[first], offsets[last]), _of_members(ensemble, first, last)


class MemberComparison(NamedTuple):
    """How every two members compare over the samples that both label, m x m each.

    Attributes
    ----------
    agreement : ndarray
        NMI; NaN where two members have no sample in common. The diagonal is 1.
    kept : ndarray
        ``kept[i, j]``: of the pairs of samples that member i puts together, the share that member j
        puts together, too, beyond chance (the adjusted Wallace coefficient). It is 1 if no cluster
        of i crosses a border of j, and 0 on average if i and j are independent. NaN where one of them
        says nothing: i has no pair together, or j has all together.
    """

    agreement: FloatArray
    kept: FloatArray


def compare_members(ensemble: Ensemble) -> MemberComparison:
    """Compare every two members, in O(N m^2) time.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence.contingency import compare_members
    >>> fine, coarse = [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]
    >>> compare_members(Ensemble.from_members([fine, coarse])).kept.round(2).tolist()
    [[1.0, 1.0], [0.29, 1.0]]
    """
    m, k = ensemble.n_members, ensemble.n_base_clusters
    member, width = ensemble.member_of_cluster, int(ensemble.n_clusters_per_member.max())
    agreement, kept = np.empty((2, m, m))
    for rows, table in contingency_by_members(ensemble):
        entries = table.tocoo()
        row, column = (index.astype(np.int64) for index in entries.coords)
        own = member[rows.start + row]
        first, count = int(own[0]), int(own[-1] - own[0]) + 1
        # one table per pair of members, all with as many rows as the widest member has clusters
        in_table = ((own - first) * m + member[column]) * width
        in_table += rows.start + row - ensemble.cluster_starts[own]
        tables = sparse.coo_array((entries.data, (in_table, column)), shape=(count * m * width, k))
        overlaps = Overlaps.of_tables(tables, np.arange(count * m + 1) * width)
        agreement[first : first + count] = overlaps.nmi().reshape(count, m)
        kept[first : first + count] = overlaps.pairs_kept().reshape(count, m)
    # make both triangles equal to the last digit
    agreement = np.triu(agreement, 1)
    agreement += agreement.T
    np.fill_diagonal(agreement, 1.0)
    return MemberComparison(agreement, kept)


def _of_members(ensemble: Ensemble, first: int, last: int) -> sparse.csr_array:
    rows = slice(ensemble.cluster_offsets[first], ensemble.cluster_offsets[last])
    incidence = ensemble.incidence
    weighted = sparse.csr_array(incidence.multiply(ensemble.weights[:, None]))
    table = sparse.csr_array(incidence[:, rows].T @ weighted)
    table.sort_indices()
    return table
