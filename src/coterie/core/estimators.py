"""scikit-learn's base classes, with what type checkers must know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["BaseEstimator", "ClusterMixin", "TransformerMixin"]

if TYPE_CHECKING:
    # scikit-learn has no types, and mypy does not check the fields of a dataclass whose base class
    # it does not know: LWEA() would pass without n_clusters
    class BaseEstimator:
        """What type checkers know of scikit-learn's class: any parameters and attributes."""

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClusterMixin:
        """Adds nothing that type checkers need."""

    class TransformerMixin:
        """Adds nothing that type checkers need."""
else:
    from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
