"""Where the rows of a fit are, in memory or elsewhere, and what the fit needs from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble
from coterie.ensemble.ids import index_ids
from coterie.generate.members import Pool


@runtime_checkable
class FeatureSource(Protocol):
    """Features that ``ConsensusClustering.fit`` takes besides arrays, such as rows in Dask.

    :func:`coterie.scale.features_from_dask` makes one.
    """

    def make_pool(self, fit: Callable[..., Pool], rng: np.random.Generator) -> Pool:
        """Call ``fit`` on rows held in memory, and return the pool that labels all rows.

        If these rows are a sample, ``total`` is the number of all rows.
        """

    def ensemble(self, pool: Any) -> Ensemble:
        """The labels of all rows, compressed."""

    def expand(self, pool: Any, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        """Values per sample of the ensemble, copied to all rows."""


@dataclass(frozen=True)
class InMemory:
    """Features in memory: their rows are the samples of the ensemble."""

    X: Any

    def make_pool(self, fit: Callable[..., Pool], rng: np.random.Generator) -> Pool:
        """The pool that ``fit`` makes of all rows."""
        return fit(self.X)

    def ensemble(self, pool: Pool) -> Ensemble:
        """The labels, with the ids of the rows if they have any."""
        ids = index_ids(self.X)
        # a copy would compute the order of its members again
        return pool.ensemble() if ids is None else replace(pool.ensemble(), sample_ids=ids)

    def expand(self, pool: Any, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        """The values, because the samples of the ensemble are the rows."""
        return values


def is_lazy(X: object) -> bool:
    """Whether X is a dask collection."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")
