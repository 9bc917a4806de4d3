"""Clusters that join what most members keep apart.

Members of many small clusters cut every cluster, each in its own way; that they cut it says little.
What tells is that they cut it at the same place. So a cluster is parted where the average-link
dendrogram of its co-association parts it, and each member is asked how alike the two parts are to
it: the cosine of their shares of its base clusters, 0 where no base cluster holds samples of both,
1 where the member mixes them, whatever the sizes of its clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie.ensemble import Ensemble
from coterie.numerics.linkage import weighted_linkage

if TYPE_CHECKING:
    from coterie.trust import ClusterVotes

# a part is no mere fringe
LEAST_PART = 0.15
# parts that are no more alike than this are apart
ALIKE = 0.1
# or that are not much more alike than the cluster and its rival, where members are at odds
ALIKE_BESIDE_RIVAL = 2.0
# but who mostly mixes them does not keep them apart, however it mixes the cluster with its rival
MOST_ALIKE = 0.5
MOST_MEMBERS = 0.75
# distinct rows of a cluster that are looked at, the heaviest; more would part it the same way
ROWS = 600
# clusters that are looked at, the largest
CLUSTERS = 60


@dataclass(frozen=True)
class Merged:
    """A cluster of two parts.

    Attributes
    ----------
    cluster : int
    apart, asked : int
        Members that keep the parts apart, of those that labelled samples of both.
    sizes : tuple of float
        Weight of the parts, the larger first.
    inside : tuple of float
        Mean co-association inside each part.
    between : float
        Mean co-association of samples of one and the other.
    """

    cluster: int
    apart: int
    asked: int
    sizes: tuple[float, float]
    inside: tuple[float, float]
    between: float


def merged_clusters(votes: ClusterVotes, rivals: NDArray[np.int64]) -> list[Merged]:
    """The clusters whose two parts most members keep apart, those most surely so first.

    Parameters
    ----------
    votes : ClusterVotes
    rivals : ndarray, shape (c,)
        The nearest other cluster of each, -1 for none.
    """
    ensemble, labels = votes.ensemble, votes.labels
    weight = ensemble.sizes
    sizes = np.bincount(labels, weights=weight, minlength=votes.n_clusters)
    found = []
    for cluster in np.argsort(-sizes, kind="stable")[:CLUSTERS].tolist():
        rows = np.flatnonzero(labels == cluster)
        rows = rows[np.argsort(-weight[rows], kind="stable")[:ROWS]]
        parts = _parts(ensemble, rows, weight[rows])
        if parts is None:
            continue
        one, other = (np.asarray(ensemble.incidence[part].T @ weight[part]) for part in parts)
        alike = _alike(ensemble, one, other)
        limit = ALIKE
        if rivals[cluster] >= 0:
            own, rival = (votes.overlap[:, [q]].toarray()[:, 0] for q in (cluster, rivals[cluster]))
            beside = _alike(ensemble, own, rival)
            if np.isfinite(beside).any():
                limit = max(limit, ALIKE_BESIDE_RIVAL * float(np.nanmedian(beside)))
                limit = min(limit, MOST_ALIKE)
        asked = np.isfinite(alike)
        apart = asked & (alike <= limit)
        if not asked.any() or apart.sum() < MOST_MEMBERS * asked.sum():
            continue
        # the rows that were looked at stand for all of the cluster
        scale = float(sizes[cluster] / weight[rows].sum())
        found.append(
            Merged(
                cluster=cluster,
                apart=int(apart.sum()),
                asked=int(asked.sum()),
                sizes=(
                    scale * float(weight[parts[0]].sum()),
                    scale * float(weight[parts[1]].sum()),
                ),
                inside=(_together(ensemble, one, one), _together(ensemble, other, other)),
                between=_together(ensemble, one, other),
            )
        )
    return sorted(found, key=lambda merged: (-merged.apart / merged.asked, merged.between))


def _parts(
    ensemble: Ensemble, rows: NDArray[np.int64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """The two sides of the last large merge of a dendrogram, the heavier first."""
    if len(rows) < 2:
        return None
    pairs = weighted_linkage(1.0 - _coassociation(ensemble, rows), weight, "average").pairs
    held = weight.copy()
    last = None
    for step, (low, high) in enumerate(pairs.tolist()):
        if min(held[low], held[high]) >= LEAST_PART * weight.sum():
            last = step
        held[low] += held[high]
    if last is None:
        return None
    before = pairs[:last]
    graph = sparse.coo_array((np.ones(last), (before[:, 0], before[:, 1])), (len(rows), len(rows)))
    group = connected_components(graph, directed=False)[1]
    one, other = (np.flatnonzero(group == group[side]) for side in pairs[last])
    if weight[one].sum() < weight[other].sum():
        one, other = other, one
    return rows[one], rows[other]


def _coassociation(ensemble: Ensemble, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Co-association of a few rows, 0 for two that no member saw both."""
    by_base = ensemble.weight_of_cluster
    inside = sparse.csr_array(ensemble.incidence[rows])
    together = (inside @ sparse.csr_array(inside.multiply(by_base)).T).toarray()
    labelled = (ensemble.labels[rows] >= 0).astype(np.float64)
    seen = (labelled * ensemble.member_weight) @ labelled.T
    shares = np.zeros(together.shape)
    np.divide(together, seen, out=shares, where=seen > 0)
    return shares


def _per_member(ensemble: Ensemble, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.add.reduceat(values, ensemble.cluster_starts)


def _alike(
    ensemble: Ensemble, one: NDArray[np.float64], other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cosine of two groups' weights in each member's base clusters, NaN where it saw one only."""
    lengths = np.sqrt(_per_member(ensemble, one**2) * _per_member(ensemble, other**2))
    alike = np.full(len(lengths), np.nan)
    np.divide(_per_member(ensemble, one * other), lengths, out=alike, where=lengths > 0)
    return alike


def _together(ensemble: Ensemble, one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean co-association of two groups, given their weight in each base cluster."""
    together = _per_member(ensemble, one * other)
    seen = _per_member(ensemble, one) * _per_member(ensemble, other)
    total = float(seen @ ensemble.member_weight)
    return float(together @ ensemble.member_weight) / total if total else 0.0
