"""Rows in Dask: members, compression and expansion where the rows are, the Ensemble at home.

Needs ``pip install "coterie[dask]"``.
"""

from importlib.util import find_spec

if find_spec("dask") is None or find_spec("distributed") is None:
    raise ImportError('coterie.scale needs dask and distributed; run: pip install "coterie[dask]"')

from coterie.scale._engine import (
    SchedulerError,
    WorkersLostError,
    connect,
    dashboard_address,
    local_cluster,
)
from coterie.scale._ensemble import ensemble_from_dask
from coterie.scale._expand import expand_to_dask, labels_to_parquet
from coterie.scale._fit import fit_dask
from coterie.scale._pool import DaskPool, kmeans_pool_dask

__all__ = [
    "DaskPool",
    "SchedulerError",
    "WorkersLostError",
    "connect",
    "dashboard_address",
    "ensemble_from_dask",
    "expand_to_dask",
    "fit_dask",
    "kmeans_pool_dask",
    "labels_to_parquet",
    "local_cluster",
]
