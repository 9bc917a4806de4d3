"""Labels in, checked and compressed to microclusters without loss."""

from coterie.ensemble._columns import LabelError
from coterie.ensemble._ensemble import Ensemble

__all__ = ["Ensemble", "LabelError"]
