"""Errors about the user's input are CoterieErrors, and still the errors that scikit-learn's users expect."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import CoterieError, Ensemble, Table
from coterie.evaluate import anmi, ari, cophenetic_correlation
from coterie.generate import kmeans_pool
from coterie.trust import diagnose_members, soft_labels

ENSEMBLE = Ensemble.from_labels([[0, 0], [0, 1], [1, 1]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ari([0, 1], [0, 1, 1]),
        lambda: ari([0, None], [0, 1]),
        lambda: ari([0, 1], [0, 1], sample_weight=[0.5, 1]),
        lambda: anmi(ENSEMBLE, [0, 1]),
        lambda: cophenetic_correlation(ENSEMBLE, "single"),
        lambda: soft_labels(ENSEMBLE, [0, 1]),
        lambda: soft_labels(ENSEMBLE, [0, 2, 2]),
        lambda: diagnose_members(ENSEMBLE, [0, 0, 1], [1.0]),
        lambda: diagnose_members(ENSEMBLE, [0, 0, 1], [-1.0, 1.0]),
        lambda: ENSEMBLE.expand([1, 2]),
        lambda: kmeans_pool([["a", 1.0], ["b", 2.0]]),
        lambda: kmeans_pool(np.array([[np.nan], [1.0]])),
        lambda: kmeans_pool(np.array([1.0, 2.0])),
        lambda: Table({"a": [1], "b": [1, 2]}),
    ],
)
def test_errors_about_input(call):
    with pytest.raises(CoterieError) as caught:
        call()
    assert isinstance(caught.value, ValueError)
