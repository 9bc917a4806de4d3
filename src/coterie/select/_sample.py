"""The microclusters that are compared: all, or those of a random sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble
from coterie.evidence.support import cluster_support

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
        given = np.zeros(self.whole.n_microclusters, dtype=np.int64)
        given[self.rows] = labels
        support = cluster_support(self._weighted, given, n_clusters)
        return np.where(self._known, given, support.argmax(axis=1))

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        known = np.zeros(self.whole.n_microclusters, dtype=bool)
        known[self.rows] = True
        return known

    @cached_property
    def _weighted(self) -> Ensemble:
        """All microclusters; those outside the part have weight 0, so they do not influence each other."""
        return replace(self.whole, weights=np.where(self._known, self.whole.weights, 0))
