"""Pictures: arrays in, matplotlib Axes out.

Every function takes ``ax=`` and returns the Axes that it drew on. Without ``ax`` it makes a figure of
its own, apart from pyplot: ``ax.figure.savefig("picture.pdf")`` writes it, and nothing else changes.
"""

from coterie.plot._bars import bars
from coterie.plot._convergence import convergence
from coterie.plot._criteria import criteria
from coterie.plot._curves import curves
from coterie.plot._evidence import evidence
from coterie.plot._k import cdf, delta_area
from coterie.plot._matrices import matrices
from coterie.plot._matrix import matrix
from coterie.plot._members import member_agreement
from coterie.plot._palette import palette
from coterie.plot._ranks import ranks
from coterie.plot._samples import confidence, embedding
from coterie.plot._score_map import score_map
from coterie.plot._tracking import tracking

__all__ = [
    "bars",
    "cdf",
    "confidence",
    "convergence",
    "criteria",
    "curves",
    "delta_area",
    "embedding",
    "evidence",
    "matrices",
    "matrix",
    "member_agreement",
    "palette",
    "ranks",
    "score_map",
    "tracking",
]
