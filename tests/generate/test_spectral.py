"""Spectral members: eigenvectors of Gaussian kernels, shared by the members of one bandwidth."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from coterie.generate import spectral_pool
from coterie.generate.plans import BANDWIDTHS, spectral_plans
from coterie.generate.spectral import gaussian_eigenvectors

X, CLASSES = make_blobs(90, 3, centers=3, random_state=0)


@pytest.mark.parametrize("factor", BANDWIDTHS)
def test_columns_are_leading_eigenvectors(factor):
    distances = euclidean_distances(X)
    sigma = factor * distances.sum() / (90 * 89)
    kernel = np.exp(-(distances**2) / (2 * sigma**2))
    degrees = kernel.sum(axis=1)
    normalised = kernel / np.sqrt(np.outer(degrees, degrees))
    (vectors,) = gaussian_eigenvectors(X, [factor], [4])
    values = np.linalg.eigvalsh(normalised)[::-1][:4]
    assert np.allclose(normalised @ vectors, vectors * values, atol=1e-7)
    assert np.allclose(vectors.T @ vectors, np.eye(4), atol=1e-7)


def test_members_with_the_same_bandwidth_share_their_eigenvectors():
    vectors, plans = spectral_plans(X, 20, (2, 6), np.random.default_rng(0))
    counts = [plan.estimator.n_clusters for plan in plans]
    assert [len(plan.columns) for plan in plans] == counts
    assert vectors.shape[1] == sum(max(counts[b::9]) for b in range(9))
    assert all(plan.columns[0] == plans[j % 9].columns[0] for j, plan in enumerate(plans))


def test_fewer_members_than_bandwidths():
    assert spectral_pool(X, 2, 3, random_state=0).n_members == 2


def test_clusters_of_many_samples():
    many = np.concatenate([X + 20 * i for i in range(7)])
    pool = spectral_pool(many, 9, 7, random_state=0)
    labels = pool.expand(pool.labels)
    assert len(labels) == 630
    assert max(adjusted_rand_score(np.repeat(np.arange(7), 90), member) for member in labels.T) == 1
