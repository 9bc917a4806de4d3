"""Choosing the number of clusters: a recommendation, the evidence for it, and criteria at every number."""

from coterie.select.compare import select_k
from coterie.select.selection import Selection

__all__ = ["Selection", "select_k"]
