"""Methods of consensus clustering, one file each."""

from coterie.solvers.eac import EAC

__all__ = ["EAC"]
