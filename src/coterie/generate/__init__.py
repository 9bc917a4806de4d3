"""Generate many clusterings of features, as an Ensemble."""

from coterie.generate.pools import (
    feature_pool,
    from_estimators,
    kmeans_pool,
    spectral_pool,
    subsample_pool,
)

__all__ = ["feature_pool", "from_estimators", "kmeans_pool", "spectral_pool", "subsample_pool"]
