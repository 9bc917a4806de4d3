"""Probability trajectories against the transcription and the authors' own matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evidence import coassociation, trajectories
from coterie.evidence.trajectories import trajectory_similarity
from tests.naive import ec_cms as naive
from tests.strategies import ensembles


@given(
    ensemble=ensembles(max_samples=14, max_clusters=5),
    n_neighbors=st.integers(1, 6),
    n_steps=st.integers(1, 5),
)
@settings(max_examples=60)
def test_equals_the_transcription(ensemble, n_neighbors, n_steps):
    found = trajectory_similarity(ensemble, n_neighbors=n_neighbors, n_steps=n_steps)
    shares = coassociation(ensemble)
    expected = naive.probability_trajectories(shares, ensemble.weights, n_neighbors, n_steps)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_array_equal(found, found.T)


def test_the_authors_matrix(shared_data):
    folder = shared_data / "golden"
    paths = [folder / "pts_ecoli_matrices.npz", folder / "eccms_ecoli_matrices.npz"]
    if not all(path.exists() for path in paths):
        pytest.skip(f"no reference matrices in {folder}")
    run, members = (dict(np.load(path)) for path in paths)
    ensemble = Ensemble.from_labels(members["base"])
    sample, microcluster = run["mcL"].T
    theirs = np.empty(ensemble.n_samples, dtype=int)
    theirs[sample] = microcluster
    ours = ensemble.inverse
    np.testing.assert_allclose(
        trajectory_similarity(ensemble)[np.ix_(ours, ours)],
        run["PTS"][np.ix_(theirs, theirs)],
        atol=1e-12,
    )


@pytest.mark.parametrize("n_steps", [1, 2])
def test_walkers_on_a_chain_alternate(n_steps):
    labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    ensemble = Ensemble.from_labels(labels)
    d, a, b = ensemble.inverse[[3, 0, 2]]
    similarity = trajectory_similarity(ensemble, n_neighbors=1, n_steps=n_steps)
    assert similarity[a, d] == pytest.approx(1.0)
    assert similarity[a, b] == similarity[b, d] == 0.0


def test_a_microcluster_without_links_is_like_itself_only():
    similarity = trajectory_similarity(Ensemble.from_labels([[0, 0], [0, 1], [1, 2]]))
    alone = [row for row in similarity.tolist() if sum(row) == 1.0]
    assert alone
    np.testing.assert_array_equal(np.diag(similarity), 1.0)


def test_links_that_are_among_the_strongest_of_either_side_are_kept():
    links = np.array(
        [
            [1.0, 0.9, 0.2, 0.1],
            [0.9, 1.0, 0.8, 0.1],
            [0.2, 0.8, 1.0, 0.3],
            [0.1, 0.1, 0.3, 1.0],
        ]
    )
    one = trajectories._strongest_links(links.copy(), 1)
    # the last one's best is not the third's, and stays for the last one's sake
    assert np.argwhere(np.triu(one)).tolist() == [[0, 1], [1, 2], [2, 3]]
    two = trajectories._strongest_links(links.copy(), 2)
    # ties are kept: the last is as near to the second as to the first
    assert (two[~np.eye(4, dtype=bool)] > 0).all()
    np.testing.assert_array_equal(one, np.where(one > 0, links, 0.0))
    np.testing.assert_array_equal(one, one.T)
    assert (trajectories._strongest_links(links.copy(), 9) > 0).sum() == 12


@pytest.mark.parametrize(
    ("n_microclusters", "usual"),
    [(1, 1), (15, 1), (16, 2), (35, 2), (36, 3), (1599, 19), (1600, 20), (10**6, 20)],
)
def test_half_the_square_root_of_neighbours_and_steps_by_default(n_microclusters, usual):
    assert trajectories._by_default(n_microclusters) == usual


def test_the_default_is_taken_for_neighbours_and_steps():
    ensemble = Ensemble.from_labels(np.random.default_rng(3).integers(0, 4, (60, 5)))
    usual = trajectories._by_default(ensemble.n_microclusters)
    assert usual == 3
    np.testing.assert_array_equal(
        trajectory_similarity(ensemble),
        trajectory_similarity(ensemble, n_neighbors=usual, n_steps=usual),
    )


def test_dense_and_sparse_walks_agree(monkeypatch):
    labels = np.random.default_rng(0).integers(0, 5, (80, 6))
    ensemble = Ensemble.from_labels(labels)
    results = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(trajectories, "DENSE_FROM", share)
        results.append(trajectory_similarity(ensemble))
    np.testing.assert_allclose(*results, atol=1e-12)


def test_refuses_with_reasons():
    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [1, 1]])
    with pytest.raises(ParameterError, match="n_neighbors must be a whole number of at least 1"):
        trajectory_similarity(ensemble, n_neighbors=0)
    with pytest.raises(ParameterError, match="n_steps"):
        trajectory_similarity(ensemble, n_steps=1.5)
    with pytest.raises(MemoryBudgetError, match="probability trajectory"):
        trajectory_similarity(ensemble, memory_budget=10)
