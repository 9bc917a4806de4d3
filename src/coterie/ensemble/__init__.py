"""Labels, checked and compressed to microclusters without loss."""

from coterie.core.errors import LabelError
from coterie.ensemble._ensemble import Ensemble, require_ensemble

__all__ = ["Ensemble", "LabelError", "require_ensemble"]
