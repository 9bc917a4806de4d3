"""Two coordinates for a picture: PCA equals scikit-learn's, spectral groups lie apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA

from coterie import Ensemble
from coterie.numerics.embedding import principal_plane, spectral_plane


def features(n: int = 80, d: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) * np.arange(1, d + 1) + 100


@pytest.mark.parametrize("dense", [1000, 1])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32])
def test_principal_plane_is_pca(monkeypatch, dense, kind):
    monkeypatch.setattr("coterie.numerics.embedding.DENSE", dense)
    monkeypatch.setattr("coterie.numerics.embedding.BLOCK", 32)
    X = features()
    found = principal_plane(kind(X))
    expected = PCA(2).fit_transform(X)
    for axis in range(2):
        assert np.allclose(np.abs(found[:, axis]), np.abs(expected[:, axis]), atol=1e-3)


def test_signs_are_fixed_and_rows_in_any_order():
    X = features()
    order = np.random.default_rng(1).permutation(len(X))
    assert np.allclose(principal_plane(X)[order], principal_plane(X[order]), atol=1e-4)


def test_few_features():
    one = principal_plane(np.array([[1.0], [2.0], [6.0]]))
    assert one.tolist() == [[-2, 0], [-1, 0], [3, 0]]
    assert not principal_plane(np.ones((4, 3))).any()


def plane_of(labels) -> tuple[np.ndarray, int]:
    ensemble = Ensemble.from_labels(labels)
    votes = np.repeat(ensemble.member_weight, ensemble.n_clusters_per_member)
    plane, groups = spectral_plane(ensemble.incidence, ensemble.weights.astype(float), votes)
    return ensemble.expand(plane), groups


@pytest.mark.parametrize("n_groups", [2, 3, 5, 8])
def test_groups_that_members_agree_on_lie_apart(n_groups):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(n_groups), 20)
    flip = rng.random((len(truth), 12)) < 0.06
    labels = np.where(flip, rng.integers(0, n_groups, flip.shape), truth[:, None])
    plane, groups = plane_of(labels)
    assert groups == n_groups
    centres = np.stack([np.median(plane[truth == q], axis=0) for q in range(n_groups)])
    apart = squareform(pdist(centres)) + 10 * np.eye(n_groups)
    spread = max(
        np.median(np.linalg.norm(plane[truth == q] - centres[q], axis=1)) for q in range(n_groups)
    )
    assert apart.min() > 3 * spread


def test_unconnected_groups_lie_on_a_circle():
    plane, groups = plane_of([[q, q] for q in range(5) for _ in range(3)])
    assert groups == 5
    assert np.allclose(np.linalg.norm(plane, axis=1), 1, atol=1e-6)
    assert len(np.unique(plane.round(5), axis=0)) == 5


def test_rows_of_a_group_that_all_keep_together_are_told_apart():
    # three of seven members cut each of five groups in two, every one at another place
    labels = [
        [q, q, q, q, *(2 * q + (i > cut) for cut in (1, 3, 5))] for q in range(5) for i in range(8)
    ]
    plane, groups = plane_of(labels)
    assert groups == 5
    assert len(np.unique(plane.round(4), axis=0)) == 5 * 4
    of_group = plane.reshape(5, 8, 2)
    centres = of_group.mean(axis=1)
    reach = np.linalg.norm(of_group - centres[:, None], axis=2).max()
    assert pdist(centres).min() > 1.4 * reach


def test_trivial_ensembles_have_coordinates():
    for labels in ([[0]], [[0], [0]], [[0, 0], [0, 1]], [[0], [1]], [[0, 0], [1, 1], [-1, -1]]):
        plane, _ = plane_of(labels)
        assert plane.shape == (len(labels), 2)
        assert np.isfinite(plane).all()
