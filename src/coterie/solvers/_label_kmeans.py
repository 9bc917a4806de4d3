r"""k-means on label rows: a cluster's centre says how often each label occurs among its samples.

For a cluster l and a member j let :math:`p_l^j(q)` be the share of label q among the samples of l that
j labelled. The distance of a sample from the centre is a sum over the members that labelled it,

.. math:: \sum_j w_j \, d(y_j, p_l^j),

and for every d used here, these shares are the best centre of any set of samples. So neither the
assignment nor the new centres of a round can raise the sum of all distances.

A microcluster of weight r counts r times. Products with the sparse incidence N x k do all the work:
O(N m c) per round, O(N (m + c) + k c) memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble

# added to the shares, so that the logarithm of a label that never occurs in a cluster is finite
EPSILON = 2.0**-52
# two distances tie if they differ by less than this share of the largest; the lower cluster wins
TIE = 1e-10
# maximum number of rounds and tolerance of a k-means that another method starts from
ROUNDS, DROP = 100, 1e-6


# maps the centres (k x c) to the cost of each label in each cluster (k x c)
Costs = Callable[[Ensemble, FloatArray], FloatArray]


def shares_of_labels(ensemble: Ensemble) -> FloatArray:
    """Share of each base cluster among the samples that its member labelled, shape (k,)."""
    sizes = ensemble.cluster_sizes
    return np.asarray(sizes / by_member(ensemble, sizes)[ensemble.member_of_cluster])


def by_member(ensemble: Ensemble, values: FloatArray) -> FloatArray:
    """Sums over the base clusters of each member, m x ..."""
    return np.asarray(np.add.reduceat(values, ensemble.cluster_starts, axis=0))


def centres_of(ensemble: Ensemble, labels: IntArray, n_clusters: int) -> FloatArray:
    """Shares p of each cluster, k x c.

    If a member labelled no sample of a cluster, its shares among all samples are used.
    """
    n = len(labels)
    chosen = sparse.csr_array((ensemble.sizes, labels, np.arange(n + 1)), shape=(n, n_clusters))
    counts = np.asarray((ensemble.incidence.T @ chosen).toarray())
    seen = by_member(ensemble, counts)[ensemble.member_of_cluster]
    unseen = np.broadcast_to(shares_of_labels(ensemble)[:, None], counts.shape)
    return np.where(seen > 0, counts / np.where(seen > 0, seen, 1.0), unseen)


def centres_at(ensemble: Ensemble, rows: IntArray) -> FloatArray:
    """The centres of clusters that hold one microcluster each, k x len(rows)."""
    labels = np.full(ensemble.n_microclusters, len(rows))
    labels[rows] = np.arange(len(rows))
    # all other microclusters go to an extra cluster, which is dropped
    return centres_of(ensemble, labels, len(rows) + 1)[:, : len(rows)]


@dataclass(frozen=True)
class LabelKMeans:
    """Result of one start: labels without an empty cluster, and the objective of each round."""

    labels: IntArray
    objectives: tuple[float, ...]
    converged: bool

    @property
    def objective(self) -> float:
        """The sum of all distances."""
        return self.objectives[-1]


def squared_costs(member_weight: FloatArray) -> Costs:
    """The squared Euclidean distance of the members' indicator vectors."""

    def costs(ensemble: Ensemble, centres: FloatArray) -> FloatArray:
        member = ensemble.member_of_cluster
        squares = by_member(ensemble, centres**2)[member]
        return member_weight[member][:, None] * (1.0 + squares - 2.0 * centres)

    return costs


def kmeans_partition(
    ensemble: Ensemble, n_clusters: int, rng: np.random.Generator, *, n_init: int
) -> IntArray:
    """Labels by the squared distance, for methods that need a partition to start from."""
    costs = squared_costs(ensemble.member_weight)
    best = label_kmeans(ensemble, costs, n_clusters, rng, n_init=n_init, max_iter=ROUNDS, tol=DROP)
    return best.labels


def label_kmeans(
    ensemble: Ensemble,
    costs: Costs,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    tol: float,
) -> LabelKMeans:
    """The best of several starts from the rows of random samples; the first of them in a tie."""
    best: LabelKMeans | None = None
    chance = ensemble.sizes / ensemble.sizes.sum()
    for _ in range(n_init):
        drawn = rng.choice(len(chance), size=n_clusters, replace=False, p=chance)
        centres = centres_at(ensemble, drawn)
        run = follow(ensemble, costs, centres, max_iter=max_iter, tol=tol)
        if best is None or run.objective < best.objective * (1 - TIE):
            best = run
    assert best is not None
    return best


def follow(
    ensemble: Ensemble, costs: Costs, centres: FloatArray, *, max_iter: int, tol: float
) -> LabelKMeans:
    """Rounds of assignment and new centres, until one lowers the objective by less than ``tol``."""
    n_clusters = centres.shape[1]
    distances = np.asarray(ensemble.incidence @ costs(ensemble, centres))
    labels: IntArray | None = None
    objectives: list[float] = []
    converged = False
    for _ in range(max_iter):
        moved = _without_empty(_nearest(distances), distances, n_clusters)
        same = labels is not None and np.array_equal(moved, labels)
        centres = centres_of(ensemble, moved, n_clusters)
        distances = np.asarray(ensemble.incidence @ costs(ensemble, centres))
        objective = float(ensemble.sizes @ distances[np.arange(len(moved)), moved])
        if not np.isfinite(objective):
            raise FloatingPointError("k-means of label rows: the distances are not finite")
        # rounding may raise the objective in its last digit; the previous labels are then as good
        risen = bool(objectives) and objective > objectives[-1]
        if labels is None or not risen:
            labels = moved
            objectives.append(objective)
        small = len(objectives) > 1 and objectives[-2] - objective <= tol * objectives[-2]
        if same or risen or small:
            converged = True
            break
    assert labels is not None
    return LabelKMeans(labels, tuple(objectives), converged)


def _nearest(distances: FloatArray) -> IntArray:
    slack = TIE * max(float(np.abs(distances).max()), 1.0)
    return np.argmax(distances <= distances.min(axis=1, keepdims=True) + slack, axis=1)


def _without_empty(labels: IntArray, distances: FloatArray, n_clusters: int) -> IntArray:
    """Give each empty cluster the row farthest from its centre, from a cluster with at least two rows."""
    count = np.bincount(labels, minlength=n_clusters)
    own = distances[np.arange(len(labels)), labels]
    for empty in np.flatnonzero(count == 0):
        farthest = int(np.argmax(np.where(count[labels] > 1, own, -np.inf)))
        count[labels[farthest]] -= 1
        labels[farthest] = empty
        count[empty] = 1
    return labels
