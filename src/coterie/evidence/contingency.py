"""How the base clusters of all members overlap."""

from __future__ import annotations

from scipy import sparse

from coterie.ensemble import Ensemble, require_ensemble


def contingency(ensemble: Ensemble) -> sparse.csr_array:
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
    incidence = ensemble.incidence
    weighted = sparse.csr_array(incidence.multiply(ensemble.weights[:, None]))
    table = sparse.csr_array(incidence.T @ weighted)
    table.sort_indices()
    return table
