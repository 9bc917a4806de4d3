"""How much the members support each cluster for each microcluster, in time linear in N."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, check_parameters
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.coassociation import share


def cluster_support(
    ensemble: Ensemble, labels: NDArray[np.int64], n_clusters: int
) -> NDArray[np.float64]:
    """Share of agreement of each microcluster with each cluster of a partition, N x c.

    The share is taken over all pairs of a member and a sample of the cluster in which the member
    labelled both samples, weighted by member and sample. For complete labels this is the mean
    co-association with the cluster, without forming the N x N matrix.

    Parameters
    ----------
    ensemble : Ensemble
    labels : ndarray, shape (N,)
        Cluster of each microcluster, 0 .. n_clusters - 1.
    n_clusters : int

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import Ensemble
    >>> from coterie.evidence import cluster_support
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> cluster_support(ensemble, np.array([0, 1, 1]), 2)[0].tolist()
    [1.0, 0.25]
    """
    require_ensemble(ensemble)
    check_parameters("cluster_support", {"n_clusters": n_clusters}, {"n_clusters": Integer(1)})
    n = ensemble.n_microclusters
    labels = np.asarray(labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iu":
        raise ParameterError(
            f"cluster_support: labels must be {n} whole numbers, one per microcluster, "
            f"but is an array of {labels.dtype} of shape {labels.shape}"
        )
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise ParameterError(
            f"cluster_support: labels must lie in 0 .. {n_clusters - 1}, but go from "
            f"{labels.min()} to {labels.max()}"
        )
    chosen = sparse.csr_array((ensemble.sizes, (np.arange(n), labels)), shape=(n, n_clusters))
    inside = (ensemble.incidence.T @ chosen).toarray() * ensemble.weight_of_cluster[:, None]
    observed = ensemble.observed.astype(np.float64)
    seen = observed @ (np.asarray(observed.T @ chosen) * ensemble.member_weight[:, None])
    return share(np.asarray(ensemble.incidence @ inside), seen)
