"""Transition probabilities of a walk that picks a member, then a sample of the same cluster in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import Budget
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evidence.coassociation import require_dense


def transitions(ensemble: Ensemble, *, memory_budget: Budget = None) -> NDArray[np.float64]:
    """Mean over members of the connectivity divided by cluster size, N x N between single samples.

    Entry (u, v) is the chance to step from a sample of u to one given sample of v; cluster sizes
    count samples, so the rows sum to one with the weights: ``T @ ensemble.weights == 1``. Only the
    members that label a sample are picked for it, in proportion to their ``member_weight``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import transitions
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 0]])
    >>> transitions(ensemble).round(3).tolist()
    [[0.417, 0.167], [0.167, 0.667]]
    >>> (transitions(ensemble) @ ensemble.weights).round(12).tolist()
    [1.0, 1.0]
    """
    require_ensemble(ensemble)
    from coterie.numerics.pairs import weighted_agreements

    require_dense(ensemble, 8, "The transition matrix", memory_budget)
    values = ensemble.weight_of_cluster / ensemble.cluster_sizes
    steps = weighted_agreements(ensemble.labels, values, ensemble.cluster_starts)
    steps /= ensemble.observed_weight[:, None]
    return steps
