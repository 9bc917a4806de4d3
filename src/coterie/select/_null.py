"""What the criteria are worth where there is nothing to find.

Three kinds of nothing. Permuted members share no evidence at all. Uniform features in the box of X's
principal axes, clustered in the same way, have the same spread but no clusters. And where only labels
are known, members of the same sizes on a uniform square: k-means cuts a square into compact cells that
agree far more than permuted labels do, and more than cells of any higher dimension.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.threads import one_blas_thread
from coterie.ensemble import Ensemble
from coterie.generate.members import MemberPlan, fit_members, kmeans_plans


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
