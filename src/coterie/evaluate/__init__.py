"""Scores of a partition, against known classes (external) or the members (internal), and
comparisons of methods over runs."""

from coterie.evaluate.compare import (
    Friedman,
    critical_difference,
    friedman,
    holm,
    mean_ranks,
    paired_tests,
)
from coterie.evaluate.external import (
    Contingency,
    accuracy,
    ari,
    nmi,
    pairwise_f,
    purity,
    scores,
)
from coterie.evaluate.internal import anmi, cophenetic_correlation, pac
from coterie.evaluate.pairs import EvidenceQuality, evidence_quality

__all__ = [
    "Contingency",
    "EvidenceQuality",
    "Friedman",
    "accuracy",
    "anmi",
    "ari",
    "cophenetic_correlation",
    "critical_difference",
    "evidence_quality",
    "friedman",
    "holm",
    "mean_ranks",
    "nmi",
    "pac",
    "paired_tests",
    "pairwise_f",
    "purity",
    "scores",
]
