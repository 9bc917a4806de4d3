"""PTA and PTGP literally: microclusters by sorting rows, powers of the walk, SciPy's linkage.

Labels are an n x m integer array with -1 for missing. Both methods are defined on the distinct
rows, each counting once; how many samples a row has matters to the walk only.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from tests.naive import evidence
from tests.naive.bipartite import incidence, transfer_cut_rows
from tests.naive.ec_cms import probability_trajectories


def similarity(labels, n_neighbors, n_steps):
    """PTS of the distinct rows, the rows themselves, and the row of each sample."""
    rows, inverse, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    found = probability_trajectories(evidence.shares(rows), counts, n_neighbors, n_steps)
    return found, rows, inverse.ravel()


def pta(labels, n_clusters, method, n_neighbors, n_steps):
    """Linkage of the distinct rows on one minus PTS; SciPy takes ties by position."""
    found, _, inverse = similarity(labels, n_neighbors, n_steps)
    apart = 1 - found
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(apart, checks=False), method)
    return cut_tree(merges, n_clusters=n_clusters)[:, 0][inverse], merges[:, 2]


def ptgp_rows(labels, n_clusters, n_neighbors, n_steps):
    """Transfer cut of rows and base clusters linked by their mean PTS: a point per distinct row."""
    found, rows, inverse = similarity(labels, n_neighbors, n_steps)
    held = incidence(rows)
    links = np.array(
        [[found[u, held[:, p] > 0].mean() for p in range(held.shape[1])] for u in range(len(rows))]
    )
    return transfer_cut_rows(links, n_clusters), inverse
