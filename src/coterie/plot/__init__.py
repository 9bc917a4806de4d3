"""Pictures: arrays in, matplotlib Axes out.

Every function takes ``ax=`` and returns the Axes that it drew on. Without ``ax`` it makes a figure of
its own, apart from pyplot: ``ax.figure.savefig("picture.pdf")`` writes it, and nothing else changes.
"""

from coterie.plot._convergence import convergence
from coterie.plot._criteria import criteria
from coterie.plot._k import cdf, delta_area
from coterie.plot._matrix import matrix
from coterie.plot._members import member_agreement
from coterie.plot._palette import palette
from coterie.plot._samples import confidence, embedding
from coterie.plot._tracking import tracking

__all__ = [
    "cdf",
    "confidence",
    "convergence",
    "criteria",
    "delta_area",
    "embedding",
    "matrix",
    "member_agreement",
    "palette",
    "tracking",
]
