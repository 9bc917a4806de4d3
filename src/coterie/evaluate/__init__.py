"""Scores of a partition, against known classes (external) or against the members (internal)."""

from coterie.evaluate.external import (
    accuracy,
    ari,
    nmi,
    pairwise_f,
    purity,
    scores,
)
from coterie.evaluate.internal import anmi, cophenetic_correlation, pac

__all__ = [
    "accuracy",
    "anmi",
    "ari",
    "cophenetic_correlation",
    "nmi",
    "pac",
    "pairwise_f",
    "purity",
    "scores",
]
