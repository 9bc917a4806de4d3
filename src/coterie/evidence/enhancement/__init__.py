"""Self-enhancement of a similarity matrix: its certain pairs correct the others."""

from coterie.evidence.enhancement.passes import (
    ADVICE,
    DOMAINS,
    enhance,
    minimise,
)
from coterie.evidence.enhancement.problem import Precision, Problem, bytes_per_pair

__all__ = [
    "ADVICE",
    "DOMAINS",
    "Precision",
    "Problem",
    "bytes_per_pair",
    "enhance",
    "minimise",
]
