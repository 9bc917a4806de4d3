"""Agreement of members against scikit-learn's on the samples that both label."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from coterie import Ensemble
from coterie.evidence.contingency import compare_members


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_equals_nmi_of_repeated_samples(seed, missing):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, (30, 5)).astype(np.int32)
    labels[:, 1] = (labels[:, 0] + 1) % 4
    labels[rng.random(labels.shape) < missing] = -1
    weights = rng.integers(1, 4, 30)
    found = compare_members(Ensemble.from_labels(labels, sample_weight=weights)).agreement
    copies = np.repeat(labels, weights, axis=0)
    for i in range(5):
        for j in range(5):
            both = (copies[:, i] >= 0) & (copies[:, j] >= 0)
            expected = normalized_mutual_info_score(copies[both, i], copies[both, j])
            assert found[i, j] == pytest.approx(expected, abs=1e-12)
    assert found[0, 1] == 1.0


def test_blocks_of_members_change_nothing(monkeypatch):
    labels = np.random.default_rng(9).integers(-1, 4, (40, 7))
    ensemble = Ensemble.from_labels(labels)
    whole = compare_members(ensemble).agreement
    module = sys.modules["coterie.evidence.contingency"]
    monkeypatch.setattr(module, "ENTRIES", 2 * ensemble.incidence.nnz)
    np.testing.assert_array_equal(compare_members(ensemble).agreement, whole)


def test_members_that_share_no_sample_agree_to_no_degree():
    labels = np.array([[0, -1], [1, -1], [-1, 0], [-1, 1]], dtype=np.int32)
    found = compare_members(Ensemble.from_labels(labels)).agreement
    assert np.isnan([found[0, 1], found[1, 0]]).all()
    np.testing.assert_array_equal(np.diag(found), 1.0)


def test_independent_members_agree_by_nothing():
    labels = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=np.int32)
    # a member of one cluster says nothing of any other
    np.testing.assert_array_equal(
        compare_members(Ensemble.from_labels(labels)).agreement, np.eye(3)
    )
