"""New label rows matched with the microclusters they agree with most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.numerics.compiled import kernel
from coterie.numerics.row_ranges import over_rows


@kernel()
def _vote(begin, end, new, labels, member_weight, weights, clusters, n_clusters, out):
    n, m = labels.shape
    for i in range(begin, end):
        best = -1.0
        votes = np.zeros(n_clusters)
        for u in range(n):
            agreed, seen = 0.0, 0.0
            for j in range(m):
                if labels[u, j] >= 0 and new[i, j] >= 0:
                    seen += member_weight[j]
                    if labels[u, j] == new[i, j]:
                        agreed += member_weight[j]
            share = agreed / seen if seen > 0 else 0.0
            if share > best:
                best = share
                votes[:] = 0.0
            if share == best:
                # a comparison over more members counts more
                votes[clusters[u]] += weights[u] * seen
        out[i] = np.argmax(votes) if votes.any() else -1


def nearest_clusters(
    new: NDArray[np.int32],
    labels: NDArray[np.int32],
    member_weight: NDArray[np.float64],
    weights: NDArray[np.float64],
    clusters: NDArray[np.int64],
) -> NDArray[np.int64]:
    """For each new row, the cluster of the microclusters that share most labels with it.

    The share is taken over the members that labelled both rows (-1: not labelled). If several
    microclusters have the largest share, each votes for its cluster with its number of samples times
    the weight of the members compared. The lower cluster wins a tie. A row that shares no member with any
    microcluster gets -1.
    """
    out = np.empty(len(new), dtype=np.int64)
    n_clusters = int(clusters.max()) + 1
    over_rows(_vote, new, labels, member_weight, weights, clusters, n_clusters, out)
    return out
