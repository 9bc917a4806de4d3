"""The test against single clouds, and the measures of separation it uses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import make_blobs, make_circles

from coterie.select import clouds
from coterie.select.candidates import Candidates
from coterie.select.clouds import cloud_p_value, one_peak
from coterie.select.separation import (
    border_ratios,
    depths,
    discriminant_space,
    neighbour_graph,
)


def normal(seed, n=150, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize(
    "X",
    [
        make_blobs(150, centers=3, cluster_std=0.6, random_state=2)[0],
        make_circles(300, noise=0.04, factor=0.4, random_state=0)[0],
        np.concatenate([normal(0, 150, 2) * [4, 0.3], normal(1, 150, 2) * [4, 0.3] + [0, 3]]),
    ],
    ids=["blobs", "rings", "sticks"],
)
def test_structure_is_seen(X):
    assert cloud_p_value(X, np.random.default_rng(0)) < 0.05


@pytest.mark.parametrize(
    "X",
    [
        normal(0),
        normal(2) * [5, 1, 0.2],
        np.random.default_rng(2).random((200, 2)),
        np.random.default_rng(0).standard_t(2, (200, 3)),
        np.random.default_rng(4).exponential(size=(200, 4)),
        normal(5, 40, 100),
    ],
    ids=["normal", "stretched", "uniform", "heavy tails", "skewed", "more columns than rows"],
)
def test_a_single_cloud_is_not_structure(X):
    # by definition of the level, other seeds would fail in one of 25 clouds
    assert cloud_p_value(X, np.random.default_rng(0)) >= 0.05


def test_p_is_uniform_if_the_rows_come_from_one_distribution(monkeypatch):
    # every value is the p-value of exactly one row, whatever the values are
    values = np.random.default_rng(0).standard_normal((50, 8))
    found = [
        clouds._rank_of_first(np.concatenate([values[[i]], np.delete(values, i, axis=0)]))
        for i in range(50)
    ]
    assert np.sort(found) == pytest.approx(np.arange(1, 51) / 50)


def test_too_few_samples_or_no_spread_cannot_be_tested():
    assert np.isnan(cloud_p_value(normal(0, 19), np.random.default_rng(0)))
    assert np.isnan(cloud_p_value(np.ones((50, 3)), np.random.default_rng(0)))


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, st.integers(2, 12), elements=st.integers(0, 20)))
def test_one_peak_rises_then_falls(counts):
    fitted = one_peak(counts)
    steps = np.sign(np.diff(fitted))
    steps = steps[steps != 0]
    # once it falls it does not rise
    assert (np.diff(steps) <= 0).all()
    if (np.diff(np.sign(np.diff(counts))[np.diff(counts) != 0]) <= 0).all():
        np.testing.assert_array_equal(fitted, counts)


def test_the_border_of_two_clusters_is_deep_and_of_two_slices_is_not():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    apart = rng.normal(size=(200, 3))
    apart[:100, 0] -= 6
    assert depths(apart, labels, rng)[0, 1] > 3
    cloud = rng.normal(size=(200, 3))
    assert depths(cloud, (cloud[:, 0] > 0).astype(np.int64), rng)[0, 1] < 0
    # five samples of a cluster are needed in each half
    assert not np.isnan(depths(cloud[:20], labels[90:110], rng)).any()
    assert np.isnan(depths(cloud[:18], labels[91:109], rng)).all()


def test_neighbours_across_a_border_relative_to_a_cut():
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2)) * [4, 1]
    graph = neighbour_graph(X)
    assert (graph.sum(axis=1) == 10).all()
    # a cut in the middle is like the cuts through the halves
    middle = (X[:, 0] > 2).astype(np.int64)
    assert border_ratios(graph, X, middle)[0, 1] == pytest.approx(1, abs=0.4)
    X[:, 0] += 3 * middle
    assert border_ratios(neighbour_graph(X), X, middle)[0, 1] == 0


def test_columns_of_noise_are_left_out_of_the_discriminant_space():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 12)) * np.linspace(4, 3, 12)
    X[:, 0] = rng.normal(size=200) * 0.5 + 8 * labels
    space = discriminant_space(X, labels)
    assert space.shape == (200, 3)
    whole = border_ratios(neighbour_graph(X), X, labels)[0, 1]
    assert border_ratios(neighbour_graph(space), space, labels)[0, 1] < 0.2 * whole


def test_candidates_do_not_depend_on_the_order_of_samples():
    X = make_blobs(80, centers=4, cluster_std=1.5, random_state=0)[0]
    order = np.random.default_rng(0).permutation(80)
    for one, other in zip(Candidates(X, 5).of(4), Candidates(X[order], 5).of(4), strict=True):
        pairs = {*zip(one[order].tolist(), other.tolist(), strict=True)}
        assert len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})
