"""What the members say about new rows: which clusters of the known rows have the same labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble


def clusters_of_rows(
    ensemble: Ensemble, cluster_of: NDArray[np.int64], labels: NDArray[Any]
) -> NDArray[np.int64]:
    """Clusters of new rows: those of the microclusters that share most labels with them.

    Parameters
    ----------
    ensemble : Ensemble
        The members' labels of the known rows.
    cluster_of : array of int, shape (N,)
        Cluster of each microcluster.
    labels : array, shape (n, m)
        The labels that the members give to the new rows, numbered as the members do.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Ensemble
    >>> ensemble = Ensemble.from_labels([[0, 5], [0, 5], [1, 7]])
    >>> clusters_of_rows(ensemble, np.array([0, 1]), np.array([[1, 7], [0, 9]])).tolist()
    [1, 0]
    """
    from coterie.numerics.nearest import nearest_clusters

    columns = [_codes(labels[:, j], known) for j, known in enumerate(ensemble.categories)]
    cluster_of, ensemble = cluster_of[ensemble.has_label], ensemble.without_blank
    # Rows with the same labels are looked up once.
    rows, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    clusters = nearest_clusters(
        rows, ensemble.labels, ensemble.member_weight, ensemble.sizes, cluster_of
    )
    return clusters[inverse.reshape(-1)]


def _codes(labels: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int32]:
    """A member's labels of new rows as codes of the ensemble, -1 for an unknown label."""
    order = np.argsort(known)
    rank = np.minimum(np.searchsorted(known, labels, sorter=order), len(known) - 1)
    codes = order[rank]
    return np.where(known[codes] == labels, codes, -1).astype(np.int32)
