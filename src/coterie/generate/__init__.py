"""Generate many clusterings of features, as an Ensemble."""

from coterie.generate.pools import (
    feature_pool,
    from_estimators,
    kmeans_pool,
    spectral_pool,
    subsample_pool,
)
from coterie.generate.tables import TableEncoder

__all__ = [
    "TableEncoder",
    "feature_pool",
    "from_estimators",
    "kmeans_pool",
    "spectral_pool",
    "subsample_pool",
]
