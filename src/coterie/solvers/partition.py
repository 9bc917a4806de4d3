"""The same record from every solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.types import Pass


@dataclass(frozen=True)
class Partition:
    """What a solver arrived at, on microclusters and with members in canonical order.

    The base class carries everything back to the user's samples and members: give each extra
    fitted attribute (name with its underscore) in the mapping that says what it is indexed by.

    Attributes
    ----------
    labels : ndarray, shape (N,)
        Cluster of each microcluster; exactly n_clusters distinct values.
    member_weights : ndarray, shape (m,)
        Influence of each member, non-negative; the base class scales it to sum to one.
    converged : bool
        Whether the method stopped by its own rule.
    history : tuple of mappings
        One record a pass.
    by_sample : mapping
        Fitted attributes with N rows, copied to n samples.
    by_member : mapping
        Fitted attributes with m rows.
    by_base_cluster : mapping
        Fitted attributes with k rows, in the order of ``ensemble.incidence``.
    by_sample_and_member : mapping
        Fitted attributes of shape N x m.
    as_it_is : mapping
        Scalars and compressed N x N matrices, left alone.
    """

    labels: NDArray[np.int64]
    member_weights: NDArray[np.float64]
    converged: bool = True
    history: tuple[Pass, ...] = ()
    by_sample: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_member: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_base_cluster: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    by_sample_and_member: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    as_it_is: Mapping[str, Any] = field(default_factory=dict)


def by_first_appearance(labels: NDArray[Any]) -> NDArray[np.int64]:
    """Labels renumbered 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
