"""Pictures of one result: a model, Result, Ensemble or arrays in, matplotlib Axes out.

Every picture takes ``ax=`` and returns the Axes it was drawn on. Without ``ax`` it makes a new figure, which
a notebook shows; write it with ``ax.figure.savefig("picture.pdf")``.
"""

from coterie.plot._convergence import convergence
from coterie.plot._k import cdf, criteria, delta_area
from coterie.plot._matrix import matrix, members
from coterie.plot._samples import confidence, embedding
from coterie.plot._tracking import tracking
from coterie.plot.colours import palette

__all__ = [
    "cdf",
    "confidence",
    "convergence",
    "criteria",
    "delta_area",
    "embedding",
    "matrix",
    "members",
    "palette",
    "tracking",
]
