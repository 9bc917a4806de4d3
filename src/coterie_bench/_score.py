"""The scores of a run against the known classes."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble
from coterie.evaluate import nmi, scores
from coterie.numerics.partitions import by_first_appearance

METRICS = (
    "accuracy",
    "nmi_max",
    "nmi_arithmetic",
    "nmi_geometric",
    "ari",
    "pairwise_f",
    "purity",
)


def score(classes: NDArray[Any] | None, labels: NDArray[Any]) -> dict[str, float]:
    """The value of every metric; empty if the classes are unknown."""
    if classes is None:
        return {}
    values = scores(classes, labels)
    values["nmi_geometric"] = nmi(classes, labels, average="geometric")
    return {metric: values[metric] for metric in METRICS}


def score_members(
    ensemble: Ensemble, classes: NDArray[Any] | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Mean and maximum of each metric over the members, each scored on the samples it labelled."""
    if classes is None:
        return {}, {}
    by_member = []
    for j in range(ensemble.n_members):
        codes = ensemble.labels[:, j][ensemble.inverse]
        seen = codes >= 0
        by_member.append(score(classes[seen], codes[seen]))
    columns = {metric: np.array([values[metric] for values in by_member]) for metric in METRICS}
    return (
        {metric: float(values.mean()) for metric, values in columns.items()},
        {metric: float(values.max()) for metric, values in columns.items()},
    )


def digest(labels: NDArray[Any]) -> str:
    """A hash of a partition that does not depend on the names of its clusters."""
    canonical = by_first_appearance(labels).astype("<i8")
    return hashlib.sha256(canonical.tobytes()).hexdigest()[:24]
