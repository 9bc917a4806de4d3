"""Locally weighted evidence accumulation on raw samples: the n x n matrix and SciPy's linkage.

SciPy breaks ties by position, so this is a reference where few merge heights tie.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from tests.naive import evidence


def dendrogram(labels, theta):
    """SciPy's average link of one minus the locally weighted co-association."""
    apart = 1 - evidence.locally_weighted(labels, theta)
    np.fill_diagonal(apart, 0.0)
    return linkage(squareform(apart, checks=False), "average")


def partition(labels, n_clusters, theta):
    """Undo the last merges."""
    return cut_tree(dendrogram(labels, theta), n_clusters=n_clusters)[:, 0]
