"""The picture of the matrix: equal weights, no block across clusters, means over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import EAC, Ensemble
from coterie.evidence.coassociation import coassociation, mean_coassociation
from coterie.plot.arrange import block_means, pooled_coassociation
from coterie.report import _matrix
from coterie.report._matrix import Blocks
from coterie.report._reading import Reading
from coterie.result import Result


def random_ensemble(n=60, m=5, k=4, missing=0.0, weights=False, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, (n, m))
    truth = rng.integers(0, 3, n)
    labels = np.where(rng.random((n, m)) < 0.6, truth[:, None], labels)
    blank = rng.random((n, m)) < missing
    blank[:, 0] = False
    labels[blank] = -1
    sample_weight = rng.integers(1, 4, n) if weights else None
    return Ensemble.from_labels(labels, sample_weight=sample_weight)


def blocks_of(ensemble, n_clusters=3, limit=_matrix.BLOCKS):
    result = Result.of(EAC(n_clusters).fit(ensemble))
    reading = Reading(result)
    return reading, Blocks.of(reading.result.cluster_votes, limit)


@pytest.mark.parametrize("limit", [7, 20, 300])
@pytest.mark.parametrize("weights", [False, True])
def test_blocks_hold_every_sample_once_and_one_cluster_each(limit, weights):
    ensemble = random_ensemble(weights=weights)
    reading, blocks = blocks_of(ensemble, limit=limit)
    inside = blocks.inside.toarray()
    assert len(inside) == min(limit, int(ensemble.weights.sum()))
    np.testing.assert_allclose(inside.sum(axis=0), ensemble.weights)
    for cluster in range(3):
        rows = blocks.cluster == cluster
        assert (
            inside[np.ix_(rows, reading.result.cluster_votes.labels != cluster)].max(initial=0)
            < 1e-9
        )
        own = inside[rows].sum(axis=1)
        np.testing.assert_allclose(own, own[0])


def test_few_samples_are_drawn_one_by_one():
    ensemble = random_ensemble(n=25)
    _, blocks = blocks_of(ensemble)
    np.testing.assert_allclose(blocks.inside.sum(axis=1), 1.0)


@pytest.mark.parametrize("dendrogram", [True, False])
def test_block_means_are_means_over_pairs_of_samples(monkeypatch, dendrogram):
    if not dendrogram:
        monkeypatch.setattr(_matrix, "DENDROGRAM_ROWS", 2)
    ensemble = random_ensemble(weights=True)
    _, blocks = blocks_of(ensemble, limit=11)
    matrix = coassociation(ensemble)
    inside = blocks.inside.toarray()
    weight = inside.sum(axis=1)
    expected = inside @ matrix @ inside.T / np.outer(weight, weight)
    np.testing.assert_allclose(pooled_coassociation(ensemble, blocks.inside), expected)
    np.testing.assert_allclose(block_means(matrix, blocks.inside), expected)


def test_with_missing_labels_a_mean_runs_over_what_members_saw():
    ensemble = random_ensemble(n=20, missing=0.4)
    groups = np.zeros((2, ensemble.n_microclusters))
    half = ensemble.n_microclusters // 2
    groups[0, :half], groups[1, half:] = ensemble.weights[:half], ensemble.weights[half:]
    together, seen = np.zeros((2, 2)), np.zeros((2, 2))
    for member in ensemble.labels.T:
        for u, one in enumerate(member):
            for v, other in enumerate(member):
                if one >= 0 and other >= 0:
                    pair = np.outer(groups[:, u], groups[:, v])
                    seen += pair
                    together += pair * (one == other)
    from scipy import sparse

    inside = sparse.csr_array(sparse.csr_array(groups) @ ensemble.incidence)
    np.testing.assert_allclose(mean_coassociation(ensemble, inside), together / seen)


def test_more_clusters_than_blocks():
    ensemble = Ensemble.from_labels(np.arange(40)[:, None] * np.ones((1, 3), dtype=int))
    _, blocks = blocks_of(ensemble, n_clusters=40, limit=9)
    assert blocks.inside.shape == (9, 40)
    np.testing.assert_allclose(blocks.inside.sum(axis=1), 40 / 9)
