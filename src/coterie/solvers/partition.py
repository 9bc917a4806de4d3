"""The record that every solver returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import Pass
from coterie.ensemble import Ensemble


@dataclass(frozen=True)
class Partition:
    """What a solver returns, on microclusters and with members in canonical order.

    The base class carries everything back to the user's samples and members. Put each extra fitted
    attribute (name with its underscore) into the mapping that says what its rows are.

    Attributes
    ----------
    labels : ndarray, shape (N,)
        Cluster of each microcluster; exactly n_clusters distinct integers, or any number of them
        with ``advice``.
    member_weights : ndarray, shape (m,), or None
        Influence of each member, non-negative. The base class scales it to sum to one. None takes
        the weights that the user gave.
    converged : bool
        Whether the method stopped by its own rule.
    history : sequence of mappings
        One record per pass. "objective" and "residual" of the last become fitted attributes.
    advice : str or None
        What the user can do if the method did not converge, or found another number of clusters. The
        base class warns with this advice (not if it is empty) and adjusts the clusters to n_clusters.
    similarity : ndarray, shape (N, N), or None
        The learned matrix, by which surplus clusters are merged.
    embedding : ndarray, shape (N, d), or None
        Points at sample scale, by which clusters are split if there are too few.
    by_sample : mapping
        Fitted attributes with N rows, copied to n samples.
    by_member : mapping
        Fitted attributes with m rows.
    by_base_cluster : mapping
        Fitted attributes with k rows, in the order of ``ensemble.incidence``.
    by_sample_and_member : mapping
        Fitted attributes of shape N x m.
    by_microcluster : mapping
        Fitted attributes with N rows, not copied to the samples.
    by_pair : mapping
        Fitted attributes of shape N x N.
    other : mapping
        Further fitted attributes, kept unchanged: numbers, dendrograms.
    """

    labels: NDArray[np.int64]
    member_weights: NDArray[np.float64] | None = None
    converged: bool = True
    history: Sequence[Pass] = ()
    advice: str | None = None
    similarity: NDArray[np.float64] | None = None
    embedding: NDArray[np.float64] | None = None
    by_sample: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_member: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_base_cluster: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_sample_and_member: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_microcluster: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_pair: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def n_components(self) -> int:
        """Number of clusters that the method found."""
        return len(np.unique(self.labels))

    def check(self, solver: str, ensemble: Ensemble, n_clusters: int | None) -> None:
        """Raise an error that says what the solver should have returned."""
        N, m, k = ensemble.n_microclusters, ensemble.n_members, ensemble.n_base_clusters
        labels = np.asarray(self.labels)
        if labels.shape != (N,) or labels.dtype.kind not in "iu":
            raise ValueError(
                f"{solver}: labels of a Partition must be {N} integers, one per microcluster of "
                f"the ensemble (distinct label row), but have shape {labels.shape} and dtype "
                f"{labels.dtype}"
            )
        exact = n_clusters is None or self.n_components == n_clusters
        if not exact and self.advice is None:
            raise ValueError(
                f"{solver}: labels of a Partition must have exactly n_clusters={n_clusters} "
                f"distinct values, but have {self.n_components}"
            )
        if self.member_weights is not None:
            weights = np.asarray(self.member_weights)
            if weights.shape != (m,) or not (np.isfinite(weights) & (weights >= 0)).all():
                raise ValueError(
                    f"{solver}: member_weights of a Partition must be {m} finite numbers of at "
                    f"least 0, one per member, but are {weights!r}"
                )
            if not weights.sum() > 0:
                raise ValueError(f"{solver}: member_weights of a Partition must not all be 0")
        shapes: dict[str, tuple[int, ...]] = {
            "by_sample": (N,),
            "by_member": (m,),
            "by_base_cluster": (k,),
            "by_sample_and_member": (N, m),
            "by_microcluster": (N,),
            "by_pair": (N, N),
        }
        for mapping, shape in shapes.items():
            for name, values in getattr(self, mapping).items():
                if np.shape(values)[: len(shape)] != shape:
                    raise ValueError(
                        f"{solver}: {name} in {mapping} of a Partition must have shape "
                        f"({', '.join(map(str, shape))}, ...), but has {np.shape(values)}"
                    )
