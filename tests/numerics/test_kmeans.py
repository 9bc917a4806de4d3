"""k-means: exactly c clusters, weights as repeated points, as good as scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from coterie.numerics import kmeans
from coterie.numerics.kmeans import fit_kmeans


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def objective(points, weights, labels):
    return sum(
        weights[labels == cluster]
        @ (
            (
                points[labels == cluster]
                - np.average(points[labels == cluster], axis=0, weights=weights[labels == cluster])
            )
            ** 2
        ).sum(axis=1)
        for cluster in np.unique(labels)
    )


def clouds(seed: int, n: int = 300, d: int = 4, c: int = 6):
    draws = np.random.default_rng(seed)
    centres = draws.normal(scale=3.0, size=(c, d))
    return centres[draws.integers(0, c, n)] + draws.normal(size=(n, d))


@st.composite
def grid_points(draw):
    """Few distinct points, most of them repeated, with weights."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    rows = st.lists(st.integers(0, 2), min_size=d, max_size=d)
    points = np.array(draw(st.lists(rows, min_size=n, max_size=n)), dtype=np.float64)
    weights = draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))
    return points, np.array(weights, dtype=np.float64)


@given(cloud=grid_points(), c=st.integers(1, 12), shift=st.sampled_from([0.0, 1e3]))
def test_exactly_as_many_clusters_as_distinct_points_allow(cloud, c, shift):
    points, weights = cloud
    points = points + shift
    found = fit_kmeans(points, c, weights, rng(), n_init=2)
    distinct, which = np.unique(points, axis=0, return_inverse=True)
    assert len(np.unique(found.labels)) == min(c, len(distinct)) == len(found.centres)
    # equal points are never separated
    assert len(set(zip(which.ravel(), found.labels, strict=True))) == len(distinct)
    assert found.inertia == pytest.approx(objective(points, weights, found.labels), abs=1e-9)
    for cluster, centre in enumerate(found.centres):
        rows = found.labels == cluster
        assert np.allclose(centre, np.average(points[rows], axis=0, weights=weights[rows]))


@pytest.mark.parametrize("seed", range(5))
def test_as_good_as_scikit_learn(seed):
    points = clouds(seed)
    weights = np.random.default_rng(seed).integers(1, 6, len(points)).astype(float)
    ours = fit_kmeans(points, 6, weights, rng(), n_init=10)
    theirs = KMeans(6, n_init=10, random_state=0, tol=0).fit(points, sample_weight=weights)
    assert ours.converged
    assert ours.inertia <= theirs.inertia_ * 1.001


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repeated_points(seed):
    points = clouds(seed, n=60)
    counts = np.random.default_rng(seed).integers(1, 5, 60)
    weighted = fit_kmeans(points, 5, counts.astype(float), rng(), n_init=20)
    repeated = fit_kmeans(
        np.repeat(points, counts, axis=0), 5, np.ones(counts.sum()), rng(), n_init=20
    )
    assert weighted.inertia == pytest.approx(repeated.inertia)
    # equal points stay equal, and no chance is lost: a draw falls on the same place of the line
    assert np.array_equal(np.repeat(weighted.labels, counts), repeated.labels)


def test_each_point_lies_nearest_to_its_own_centre():
    points = clouds(3)
    found = fit_kmeans(points, 7, np.ones(len(points)), rng(), n_init=1)
    away = ((points[:, None] - found.centres) ** 2).sum(axis=2)
    assert np.array_equal(away.argmin(axis=1), found.labels)


def test_an_emptied_cluster_takes_the_farthest_point():
    points = np.array([[0.0], [0.0], [1.0], [5.0], [5.0]])
    cloud = kmeans._Cloud(points, (points**2).sum(axis=1), np.ones(5), 0.0)
    labels = np.zeros(5, dtype=np.int64)
    centres, squares = kmeans._without_empty(cloud, labels, 3)
    assert labels.tolist() == [0, 0, 2, 1, 1]
    assert centres.ravel().tolist() == [0.0, 5.0, 1.0]
    assert not squares.any()


def test_rounding_makes_no_clusters():
    noise = 1e-13 * np.random.default_rng(0).normal(size=(6, 2))
    points = np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0) + noise
    assert fit_kmeans(points, 4, np.ones(6), rng(), n_init=10).labels.tolist() in (
        [0, 0, 0, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
    )


def test_the_same_draws_give_the_same_labels_and_more_starts_are_no_worse():
    points = clouds(1, c=12)
    ones = np.ones(len(points))
    many = fit_kmeans(points, 12, ones, rng(), n_init=10)
    again = fit_kmeans(points, 12, ones, rng(), n_init=10)
    assert np.array_equal(many.labels, again.labels)
    assert many.inertia <= fit_kmeans(points, 12, ones, rng(), n_init=1).inertia


def test_blocks_of_the_distance_table_change_nothing(monkeypatch):
    points = clouds(2)
    ones = np.ones(len(points))
    whole = fit_kmeans(points, 6, ones, rng(), n_init=3).labels
    monkeypatch.setattr(kmeans, "BLOCK", 60)
    assert np.array_equal(fit_kmeans(points, 6, ones, rng(), n_init=3).labels, whole)


def test_few_rounds_end_with_a_partition_that_says_so():
    points = clouds(4, c=12)
    found = fit_kmeans(points, 12, np.ones(len(points)), rng(), n_init=1, max_iter=1)
    assert not found.converged
    assert len(np.unique(found.labels)) == 12


def test_points_that_are_not_finite_are_refused():
    with pytest.raises(FloatingPointError, match="not finite"):
        fit_kmeans(np.array([[np.nan]]), 1, np.ones(1), rng(), n_init=1)
