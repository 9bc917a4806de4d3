"""Rows that are not in memory, and what a fit needs from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble
from coterie.generate.members import Pool


@runtime_checkable
class FeatureSource(Protocol):
    """Features that ``ConsensusClustering.fit`` takes besides arrays, such as rows in Dask.

    :func:`coterie.scale.features_from_dask` makes one.
    """

    def make_pool(self, fit: Callable[[Any], Pool], rng: np.random.Generator) -> Pool:
        """Call ``fit`` on rows held in memory, and return the pool that labels all rows."""

    def ensemble(self, pool: Any) -> Ensemble:
        """The labels of all rows, compressed."""

    def expand(self, pool: Any, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        """Values per sample of the ensemble, copied to all rows."""


def is_lazy(X: object) -> bool:
    """Whether X is a dask collection."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")
