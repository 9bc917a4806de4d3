"""Gaps between clusters: moons and rings have one that members with few clusters cut across."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_circles, make_moons

from coterie import Ensemble
from coterie.generate.members import make_pool
from coterie.select import resolution
from coterie.select.resolution import many_clusters, pairs_apart, shows_border
from tests.builders import noisy_members


def gap_in(X, n_clusters, seed=0):
    rng = np.random.default_rng(seed)
    coarse = make_pool(X, "kmeans", 20, n_clusters, rng, None, None).ensemble()
    return shows_border(X, coarse, n_clusters, np.random.default_rng(seed), None)


@pytest.mark.parametrize("seed", range(3))
def test_shapes_show_a_border(seed):
    moons, _ = make_moons(400, noise=0.05, random_state=seed)
    rings, _ = make_circles(400, noise=0.04, factor=0.4, random_state=seed)
    assert gap_in(moons, 2, seed)
    assert gap_in(rings, 2, seed)


@pytest.mark.parametrize("seed", range(3))
def test_blobs_and_noise_show_none(seed):
    # between blobs there is a border, but members with as many clusters respect it
    blobs, _ = make_blobs(400, centers=4, cluster_std=0.5, random_state=seed)
    assert not gap_in(blobs, 4, seed)
    rng = np.random.default_rng(seed)
    for noise in (rng.normal(size=(300, 2)), rng.random((300, 5)), rng.normal(size=(300, 20))):
        assert not gap_in(noise, 3, seed)


def test_few_rows_and_one_cluster_show_none():
    X = np.random.default_rng(0).normal(size=(6, 2))
    assert not gap_in(X, 3)
    assert not gap_in(X, 1)


def test_many_rows_are_sampled(monkeypatch):
    moons, _ = make_moons(900, noise=0.05, random_state=0)
    sizes = []

    def counting(X, *arguments):
        sizes.append(len(X))
        return make_pool(X, *arguments)

    coarse = make_pool(moons, "kmeans", 20, 2, np.random.default_rng(0), None, None).ensemble()
    monkeypatch.setattr(resolution, "MAX_ROWS", 400)
    monkeypatch.setattr(resolution, "make_pool", counting)
    assert shows_border(moons, coarse, 2, np.random.default_rng(0), None)
    assert sizes == [400] * 4


@pytest.mark.parametrize(
    ("pools", "answer"),
    [([True] * 4, True), ([False] * 2, False), ([True, True, False], None), ([False, True], None)],
)
def test_pools_that_disagree_give_no_answer(monkeypatch, pools, answer):
    asked = iter(pools)
    monkeypatch.setattr(resolution, "_pool_shows_border", lambda *arguments: next(asked))
    X = np.random.default_rng(0).normal(size=(60, 2))
    assert gap_in(X, 2) is answer


@given(st.integers(1, 50), st.integers(2, 10**6))
def test_members_with_many_clusters_have_at_least_twice_as_many(n_clusters, n):
    low, high = many_clusters(n_clusters, n)
    assert 2 * n_clusters <= low <= high
    assert high == max(2 * n_clusters, int(np.sqrt(n)))


# ---------------------------------------------------------------------- crossing


@given(st.integers(0, 1000))
def test_nested_members_never_cross(seed):
    rng = np.random.default_rng(seed)
    fine = rng.integers(8, size=(60, 5))
    fine[:8] = np.arange(8)[:, None]
    # clusters of the partition are unions of clusters of every member only if it is coarse
    partition = rng.integers(2, size=60)
    members = Ensemble.from_labels(2 * fine + partition[:, None])
    assert pairs_apart(members, partition) == pytest.approx(0, abs=1e-12)


def test_independent_members_cross_as_often_as_chance():
    rng = np.random.default_rng(0)
    members = Ensemble.from_labels(rng.integers(4, size=(20_000, 5)))
    partition = rng.integers(3, size=members.n_microclusters)[members.inverse]
    assert pairs_apart(members, partition) == pytest.approx(1, abs=0.05)
    assert pairs_apart(members, np.zeros(20_000, dtype=int)) == 0


@given(st.integers(0, 1000))
def test_crossing_by_its_definition(seed):
    labels, _ = noisy_members(seed, n=30, n_members=4, wrong=0.4, repeats=2)
    ensemble = Ensemble.from_labels(labels)
    partition = np.random.default_rng(seed).integers(3, size=ensemble.n_microclusters)
    partition = partition[ensemble.inverse]
    apart = partition[:, None] != partition
    # two samples of a member's cluster, drawn with replacement
    within = [
        np.mean([apart[i, labels[:, j] == labels[i, j]].mean() for i in range(len(labels))])
        for j in range(labels.shape[1])
    ]
    expected = np.mean(within) / apart.mean() if apart.any() else 0.0
    assert pairs_apart(ensemble, partition) == pytest.approx(expected)
    names = np.array([7, 3, 5])[partition]
    assert pairs_apart(ensemble, names) == pytest.approx(expected)


def test_weights_count_as_repeated_samples():
    labels, _ = noisy_members(0, n=30, n_members=4, wrong=0.4)
    counts = np.random.default_rng(0).integers(1, 5, size=30)
    weighted = Ensemble.from_labels(labels, sample_weight=counts)
    repeated = Ensemble.from_labels(np.repeat(labels, counts, axis=0))
    partition = np.random.default_rng(1).integers(3, size=weighted.n_microclusters)
    partition = partition[weighted.inverse]
    assert pairs_apart(weighted, partition) == pytest.approx(
        pairs_apart(repeated, np.repeat(partition, counts))
    )
