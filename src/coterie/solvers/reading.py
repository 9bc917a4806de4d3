"""Labels as ``fit`` takes them: read as an Ensemble, with a question if they look like something else."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import LabelError
from coterie.ensemble import Ensemble
from coterie.evidence.contingency import compare_members

# a matrix with so few rows, and that many times more columns, may hold members as rows
FEW_SAMPLES = 50
MANY_TIMES = 10
# columns of decimal numbers are compared if there are enough of them; those of clusterings agree more
MIN_FEATURES = 5
FEATURES_AGREE = 0.1
MAX_COMPARED_ROWS = 1_000
MAX_COMPARED_MEMBERS = 30


def as_ensemble(
    labels: object, sample_weight: ArrayLike | None, member_weight: ArrayLike | None
) -> Ensemble:
    """The labels as an Ensemble, which has its own weights."""
    if isinstance(labels, Ensemble):
        if sample_weight is not None or member_weight is not None:
            raise LabelError(
                "sample_weight and member_weight belong to the Ensemble: "
                "give them to Ensemble.from_labels"
            )
        return labels
    ensemble = Ensemble.from_labels(
        labels,
        sample_weight=sample_weight,
        member_weight=member_weight,
    )
    if isinstance(labels, np.ndarray) or hasattr(labels, "iloc"):
        _question(labels, ensemble)
    return ensemble


def _question(labels: Any, ensemble: Ensemble) -> None:
    """Warn about a matrix or frame that may be features, or hold members as rows."""
    n, m = labels.shape
    question = None
    if 1 < n <= FEW_SAMPLES and m >= MANY_TIMES * n:
        question = (
            f"labels has {n} rows and {m} columns, so it is read as {n} samples with {m} members; if "
            "the members are rows, give labels.T or a list of the rows"
        )
    elif (
        isinstance(labels, np.ndarray)
        and labels.dtype.kind == "f"
        and m >= MIN_FEATURES
        and ensemble.is_complete
    ):
        part = ensemble.subset(np.arange(min(n, MAX_COMPARED_ROWS)))
        few = part.select(np.arange(min(m, MAX_COMPARED_MEMBERS)))
        agreement = compare_members(few).agreement
        mean = (agreement.sum() - np.trace(agreement)) / (len(agreement) * (len(agreement) - 1))
        if mean < FEATURES_AGREE:
            question = (
                "labels holds decimal numbers, and its columns agree as little as features do (mean "
                f"NMI {mean:.2f}); if they are features, use ConsensusClustering"
            )
    if question is not None:
        warnings.warn(question, UserWarning, stacklevel=4)
