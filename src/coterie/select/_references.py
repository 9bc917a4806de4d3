"""The part of an ensemble that is compared, and references without structure to compare it with.

Three kinds of nothing. Permuted members share no evidence at all. Uniform features in the box of X's
principal axes, clustered in the same way, have the same spread but no clusters. And where only labels
are known, members of the same sizes on a uniform square: k-means cuts a square into compact cells that
agree far more than permuted labels do, and more than cells of any higher dimension.
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

PERMUTED_ROWS = 400
# rows of the uniform square; cells of many points are as stable as those of more
SQUARE_ROWS = 5000
# from so many samples on, numpy draws with replacement only; two draws of one are then rare
MOST_WITHOUT_REPLACEMENT = 10**9


def n_counted(ensemble: Ensemble) -> int:
    """Samples that an ensemble stands for: by weight where weights are counts, else as they are."""
    total = ensemble.total_count
    return total if isinstance(total, int) else ensemble.n_samples


@dataclass(frozen=True)
class Sample:
    """The microclusters that the dendrograms are made of: all, or those of a random part.

    Samples are drawn without replacement, so a microcluster comes in proportion to its samples; the
    draw goes over microclusters in canonical order and does not depend on the order of samples.
    """

    ensemble: Ensemble
    whole: Ensemble
    rows: NDArray[np.int64]
    partial: bool
    size: int

    @classmethod
    def of(cls, whole: Ensemble, rng: np.random.Generator, most_rows: int) -> Sample:
        """All microclusters, or those of ``most_rows`` samples where there are more."""
        n = whole.n_microclusters
        if n <= most_rows:
            return cls(whole, whole, np.arange(n), False, n_counted(whole))
        held = np.bincount(whole.inverse, minlength=n)
        if whole.has_whole_weights:
            held = np.rint(whole.weights).astype(np.int64)
        if held.sum() < MOST_WITHOUT_REPLACEMENT:
            drawn = rng.multivariate_hypergeometric(held, most_rows, method="marginals")
        else:
            drawn = rng.multinomial(most_rows, held / held.sum())
        chosen = np.flatnonzero(drawn)
        kept = np.flatnonzero((whole.labels[chosen] >= 0).any(axis=0))
        weights = drawn[chosen] * (whole.weights[chosen] / held[chosen])
        part = Ensemble.from_labels(
            whole.labels[np.ix_(chosen, kept)],
            names=[whole.members[j] for j in kept],
            sample_weight=drawn[chosen] if whole.sample_weight is None else weights,
            member_weight=whole.member_weight[kept],
            blank_samples="keep",
        )
        rows = np.empty(len(chosen), dtype=np.int64)
        rows[part.inverse] = chosen
        # rows that only the left out members told apart are one microcluster of the part
        rows = rows[: part.n_microclusters]
        return cls(part, whole, rows, True, most_rows)

    def extended(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """A partition of the part, carried to every microcluster by the members' agreement."""
        n_clusters = int(labels.max()) + 1
        given = np.full(self.whole.n_microclusters, -1)
        given[self.rows] = labels
        known = given >= 0
        # weightless outside the part: only its clusters can be joined
        support = cluster_support(_reweighted(self.whole, known), np.maximum(given, 0), n_clusters)
        return np.where(known, given, support.argmax(axis=1))

    def some_labels(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """Labels of a few hundred samples of the part, drawn by weight."""
        ensemble = self.ensemble
        share = ensemble.weights / ensemble.weights.sum()
        count = min(PERMUTED_ROWS, n_counted(self.whole))
        rows = np.sort(rng.choice(len(share), size=count, p=share))
        labels = ensemble.labels[rows]
        return labels[:, (labels >= 0).any(axis=0)]

    def square(self, rng: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Where the labels of a reference are missing, and its members' sizes."""
        whole = self.whole
        count = min(n_counted(whole), SQUARE_ROWS)
        share = whole.weights / whole.weights.sum()
        rows = np.sort(rng.choice(len(share), size=count, p=share))
        missing = whole.labels[rows] < 0
        kept = np.flatnonzero(~missing.all(axis=0))
        order = kept[np.argsort(whole.n_clusters_per_member[kept], kind="stable")]
        return missing[:, order], whole.n_clusters_per_member[order]


def _reweighted(ensemble: Ensemble, known: NDArray[np.bool_]) -> Ensemble:
    return replace(ensemble, weights=np.where(known, ensemble.weights, 0))


def permuted(labels: NDArray[np.int32], rng: np.random.Generator) -> Ensemble:
    """Each member's labels shuffled over the samples by itself: sizes stay, agreement goes."""
    shuffled = np.stack([rng.permutation(labels[:, j]) for j in range(labels.shape[1])], axis=1)
    return Ensemble.from_labels(shuffled, blank_samples="keep")


def on_a_square(
    missing: NDArray[np.bool_], sizes: NDArray[np.int64], seed: int, n_jobs: int | None
) -> Ensemble:
    """k-means members of the given sizes on uniform points, blank where ``missing`` says so."""
    rng = np.random.default_rng(seed)
    points = rng.random((len(missing), 2))
    plans: list[MemberPlan] = []
    for size in sizes:
        plans += kmeans_plans(points, 1, int(min(max(size, 1), len(points))), rng)
    found = fit_members(points, plans, n_jobs=n_jobs).labels
    found[missing] = -1
    return Ensemble.from_labels(found, blank_samples="keep")


def in_the_box(X: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """As many points as X has rows, uniform in the box of X's principal axes."""
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
