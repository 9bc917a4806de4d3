"""Reliability of base clusters and the co-association weighted by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Ensemble, ParameterError
from coterie.evidence import cluster_reliability, locally_weighted_coassociation
from tests.naive import evidence as naive
from tests.strategies import label_matrices

THETAS = st.sampled_from([0.1, 0.4, 2.0])


@given(labels=label_matrices(), theta=THETAS)
def test_reliability(labels, theta):
    ensemble = Ensemble.from_labels(labels)
    found = cluster_reliability(ensemble, theta)
    place = [
        int(ensemble.cluster_offsets[j] + ensemble.categories[j].tolist().index(label))
        for j, label, _ in naive.base_clusters(labels)
    ]
    assert np.allclose(found[place], naive.reliability(labels, theta), rtol=1e-12)
    assert ((found > 0) & (found <= 1)).all()


@given(labels=label_matrices(), theta=THETAS)
def test_locally_weighted(labels, theta):
    ensemble = Ensemble.from_labels(labels)
    found = locally_weighted_coassociation(ensemble, theta)
    samples = found[np.ix_(ensemble.inverse, ensemble.inverse)]
    assert np.allclose(samples, naive.locally_weighted(labels, theta), rtol=1e-12)


def test_against_the_reference_matrices(shared_data):
    with np.load(shared_data / "golden" / "eccms_ecoli_matrices.npz") as file:
        reference = {name: file[name] for name in file.files}
    with np.load(shared_data / "golden" / "pool_ecoli.npz") as file:
        base = file["base"]
    matches = 0
    for labels in base.reshape(-1, *base.shape[-2:]):
        ensemble = Ensemble.from_labels(labels)
        found = locally_weighted_coassociation(ensemble, 0.4)
        samples = found[np.ix_(ensemble.inverse, ensemble.inverse)]
        # the reference keeps the mean reliability between identical samples
        same = ensemble.inverse[:, None] == ensemble.inverse[None, :]
        matches += np.allclose(samples[~same], reference["LWCA"][~same], atol=1e-12)
    assert matches == 1


@pytest.mark.parametrize("theta", [0, -1, "x"])
def test_theta_must_be_positive(theta):
    with pytest.raises(ParameterError, match=r"theta must be a number in \(0, inf\), but is"):
        cluster_reliability(Ensemble.from_labels([[0], [1]]), theta)
