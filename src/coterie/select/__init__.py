"""Choosing the number of clusters: several criteria, a null model, and a recommendation."""

from coterie.select.compare import select_k
from coterie.select.selection import Selection

__all__ = ["Selection", "select_k"]
