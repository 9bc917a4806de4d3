"""Rows in Dask: workers make member labels, compress them and expand the answer.

Only the distinct label rows come to this process, as an Ensemble. Needs
``pip install "coterie[dask]"``. Names are imported on first use, so that ``import coterie.scale`` works
without Dask.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "DaskFeatures": "coterie.scale.features",
    "DaskPool": "coterie.scale.features",
    "SchedulerError": "coterie.core.errors",
    "WorkersLostError": "coterie.core.errors",
    "connect": "coterie.scale.engine",
    "dashboard_address": "coterie.scale.engine",
    "ensemble_from_dask": "coterie.scale._ensemble",
    "expand_to_dask": "coterie.scale._expand",
    "features_from_dask": "coterie.scale.features",
    "kmeans_pool_dask": "coterie.scale.features",
    "labels_to_parquet": "coterie.scale._expand",
    "local_cluster": "coterie.scale.engine",
    "predict_dask": "coterie.scale.features",
}

__all__ = [*sorted(_HOME)]

if TYPE_CHECKING:
    from coterie.core.errors import SchedulerError as SchedulerError
    from coterie.core.errors import WorkersLostError as WorkersLostError
    from coterie.scale._ensemble import ensemble_from_dask as ensemble_from_dask
    from coterie.scale._expand import expand_to_dask as expand_to_dask
    from coterie.scale._expand import labels_to_parquet as labels_to_parquet
    from coterie.scale.engine import connect as connect
    from coterie.scale.engine import dashboard_address as dashboard_address
    from coterie.scale.engine import local_cluster as local_cluster
    from coterie.scale.features import DaskFeatures as DaskFeatures
    from coterie.scale.features import DaskPool as DaskPool
    from coterie.scale.features import features_from_dask as features_from_dask
    from coterie.scale.features import kmeans_pool_dask as kmeans_pool_dask
    from coterie.scale.features import predict_dask as predict_dask


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'coterie.scale' has no attribute {name!r}")
    if any(importlib.util.find_spec(package) is None for package in ("dask", "distributed")):
        raise ImportError(
            'coterie.scale needs dask and distributed; run: pip install "coterie[dask]"'
        )
    return getattr(import_module(_HOME[name]), name)
