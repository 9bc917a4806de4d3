"""Choosing the number of clusters: several criteria, a null model, and a recommendation."""

from coterie.select._select import select_k
from coterie.select._selection import Selection

__all__ = ["Selection", "select_k"]
