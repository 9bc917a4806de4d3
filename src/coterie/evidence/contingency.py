"""How the base clusters of all members overlap."""

from __future__ import annotations

from collections.abc import Iterator

from scipy import sparse

from coterie.core.budget import Budget, require
from coterie.ensemble import Ensemble, require_ensemble

ADVICE = "Take fewer members, or members with fewer clusters."
# bytes per entry of a sparse matrix while it is built and sorted
ENTRY_BYTES = 32.0
# largest number of entries in one block of rows
ENTRIES = 2**24


def contingency(ensemble: Ensemble, *, memory_budget: Budget = None) -> sparse.csr_array:
    """Weight shared by each pair of base clusters, k x k: H' R H.

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
    together = max(1, ENTRIES // max(1, ensemble.incidence.nnz))
    for first in range(0, m, together):
        last = min(first + together, m)
        yield slice(offsets[first], offsets[last]), _of_members(ensemble, first, last)


def _of_members(ensemble: Ensemble, first: int, last: int) -> sparse.csr_array:
    rows = slice(ensemble.cluster_offsets[first], ensemble.cluster_offsets[last])
    incidence = ensemble.incidence
    weighted = sparse.csr_array(incidence.multiply(ensemble.weights[:, None]))
    table = sparse.csr_array(incidence[:, rows].T @ weighted)
    table.sort_indices()
    return table
