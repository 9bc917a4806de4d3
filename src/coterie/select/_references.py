"""The microclusters that are compared, and references without structure to compare them with.

References are of three kinds. Permuted members share no evidence at all. Uniform features in the
box of X's principal axes, clustered in the same way, have the same spread but no clusters. If only
labels are known, members with the same numbers of clusters are made on a uniform square: k-means cuts it
into compact cells, which agree far more than permuted labels and more than cells in any higher dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.threads import one_blas_thread
from coterie.ensemble import Ensemble
from coterie.evidence.support import cluster_support
from coterie.generate.members import MemberPlan, fit_members, kmeans_plans

# samples whose labels are permuted
PERMUTED_ROWS = 400
# points of the uniform square; more points do not make the cells more stable
SQUARE_ROWS = 5000
# above this many samples numpy cannot draw without replacement; repeated draws are rare there
MAX_WITHOUT_REPLACEMENT = 10**9


def n_counted(ensemble: Ensemble) -> int:
    """Number of samples; the sum of the weights if all of them are whole numbers."""
    total = ensemble.total_count
    return total if isinstance(total, int) else ensemble.n_samples


@dataclass(frozen=True)
class Sample:
    """The microclusters that the dendrograms are made of: all, or those of a random sample.

    Samples are drawn without replacement, so large microclusters are drawn more often. Microclusters
    are drawn in canonical order, so the draw does not depend on the order of the samples.
    """

    ensemble: Ensemble
    whole: Ensemble
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, whole: Ensemble, rng: np.random.Generator, most_rows: int) -> Sample:
        """All microclusters, or those of ``most_rows`` random samples if there are more."""
        n = whole.n_microclusters
        if n <= most_rows:
            return cls(whole, whole, np.arange(n))
        counts = np.bincount(whole.inverse, minlength=n)
        if whole.has_whole_weights:
            counts = np.rint(whole.weights).astype(np.int64)
        if counts.sum() < MAX_WITHOUT_REPLACEMENT:
            drawn = rng.multivariate_hypergeometric(counts, most_rows, method="marginals")
        else:
            drawn = rng.multinomial(most_rows, counts / counts.sum())
        chosen = np.flatnonzero(drawn)
        kept = np.flatnonzero((whole.labels[chosen] >= 0).any(axis=0))
        weights = drawn[chosen] * (whole.weights[chosen] / counts[chosen])
        part = Ensemble.from_labels(
            whole.labels[np.ix_(chosen, kept)],
            names=[whole.members[j] for j in kept],
            sample_weight=drawn[chosen] if whole.sample_weight is None else weights,
            member_weight=whole.member_weight[kept],
        )
        rows = np.empty(len(chosen), dtype=np.int64)
        rows[part.inverse] = chosen
        # rows that differ only in members left out are one microcluster of the part
        return cls(part, whole, rows[: part.n_microclusters])

    def extended(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """A partition of ``ensemble``, extended to the other microclusters by the members' votes."""
        n_clusters = int(labels.max()) + 1
        given = np.full(self.whole.n_microclusters, -1)
        given[self.rows] = labels
        known = given >= 0
        # microclusters outside the part have weight 0, so they do not influence each other
        part = replace(self.whole, weights=np.where(known, self.whole.weights, 0))
        support = cluster_support(part, np.maximum(given, 0), n_clusters)
        return np.where(known, given, support.argmax(axis=1))

    def some_labels(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """Labels of a few hundred samples of ``ensemble``, drawn by weight."""
        count = min(PERMUTED_ROWS, n_counted(self.whole))
        labels = self.ensemble.labels[_drawn_by_weight(self.ensemble, count, rng)]
        return labels[:, (labels >= 0).any(axis=0)]

    def square(self, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Where the labels of a reference are missing, and the numbers of clusters of its members."""
        whole = self.whole
        count = min(n_counted(whole), SQUARE_ROWS)
        missing = whole.labels[_drawn_by_weight(whole, count, rng)] < 0
        kept = np.flatnonzero(~missing.all(axis=0))
        order = kept[np.argsort(whole.n_clusters_per_member[kept], kind="stable")]
        return missing[:, order], whole.n_clusters_per_member[order]


def _drawn_by_weight(ensemble: Ensemble, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    share = ensemble.weights / ensemble.weights.sum()
    return np.sort(rng.choice(len(share), size=count, p=share))


def permuted(labels: NDArray[np.int32], rng: np.random.Generator) -> Ensemble:
    """Each member's labels shuffled independently: cluster sizes stay, agreement disappears."""
    shuffled = np.stack([rng.permutation(labels[:, j]) for j in range(labels.shape[1])], axis=1)
    return Ensemble.from_labels(shuffled)


def on_a_square(
    missing: NDArray[np.bool_], sizes: NDArray[np.int64], seed: int, n_jobs: int | None
) -> Ensemble:
    """k-means members with ``sizes`` clusters on uniform points, without labels where ``missing``."""
    rng = np.random.default_rng(seed)
    points = rng.random((len(missing), 2))
    plans: list[MemberPlan] = []
    for size in sizes:
        plans += kmeans_plans(points, 1, int(min(max(size, 1), len(points))), rng)
    labels = fit_members(points, plans, n_jobs=n_jobs).labels
    labels[missing] = -1
    return Ensemble.from_labels(labels)


def in_the_box(X: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniform points in the box of X's principal axes, as many as X has rows."""
    dense = np.asarray(X, dtype=np.float64)
    centre = dense.mean(axis=0)
    n, d = dense.shape
    with one_blas_thread():
        if d <= n:
            axes = np.linalg.eigh((dense - centre).T @ (dense - centre))[1].T
        else:
            axes = np.linalg.svd(dense - centre, full_matrices=False)[2]
        scores = (dense - centre) @ axes.T
        low, high = scores.min(axis=0), scores.max(axis=0)
        return np.asarray(rng.uniform(low, high, size=scores.shape) @ axes + centre)
