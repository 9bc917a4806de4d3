"""The test against single clouds, and the measures of separation it uses."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

from coterie.select import clouds
from coterie.select.candidates import Candidates
from coterie.select.cloud_fit import Cloud, one_peak, variables_of
from coterie.select.clouds import cloud_p_value
from coterie.select.separation import (
    border_ratios,
    depths,
    discriminant_space,
    neighbour_graph,
)


def normal(seed, n=150, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


def one_hot(codes):
    return np.concatenate([np.eye(codes.max() + 1)[column] for column in codes.T], axis=1)


@pytest.mark.parametrize(
    "X",
    [
        make_blobs(150, centers=3, cluster_std=0.6, random_state=2)[0],
        make_circles(300, noise=0.04, factor=0.4, random_state=0)[0],
        np.concatenate([normal(0, 150, 2) * [4, 0.3], normal(1, 150, 2) * [4, 0.3] + [0, 3]]),
        # 96 % of the variance lies along the sticks
        np.concatenate([normal(i, 150, 2) * [20, 1] + [0, 7 * i] for i in range(2)]),
        np.concatenate([normal(0, 100, 1), normal(1, 100, 1) + 6]),
        one_hot(np.where(normal(0, 150, 10) < 1, np.repeat([0, 1, 2], 50)[:, None], 3)),
    ],
    ids=["blobs", "rings", "sticks", "long sticks", "one column with two peaks", "categories"],
)
def test_structure_is_seen(X):
    assert cloud_p_value(X, np.random.default_rng(0)) < 0.05


@pytest.mark.parametrize(
    "X",
    [
        normal(0),
        normal(2) * [5, 1, 0.2],
        np.random.default_rng(3).random((200, 2)),
        np.random.default_rng(0).standard_t(2, (200, 3)),
        np.random.default_rng(4).exponential(size=(200, 4)),
        normal(5, 40, 100),
        one_hot(np.random.default_rng(0).integers(4, size=(200, 6))),
        (np.random.default_rng(1).random((200, 8)) < 0.1).astype(float),
        np.random.default_rng(2).integers(5, size=(200, 4)).astype(float),
    ],
    ids=[
        "normal",
        "stretched",
        "uniform",
        "heavy tails",
        "skewed",
        "more columns than rows",
        "categories",
        "rare attributes",
        "whole numbers",
    ],
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


def test_one_sample_that_differs_can_be_tested():
    assert 0 < cloud_p_value(np.eye(30)[:, :1], np.random.default_rng(0)) <= 1


def test_too_few_samples_or_no_spread_cannot_be_tested():
    assert np.isnan(cloud_p_value(normal(0, 19), np.random.default_rng(0)))
    assert np.isnan(cloud_p_value(np.ones((50, 3)), np.random.default_rng(0)))


def test_neighbouring_columns_of_one_category_are_one_variable():
    rng = np.random.default_rng(0)
    columns = one_hot(rng.integers(3, size=(60, 2)))
    # also if a category was left out, or the columns were standardised
    columns = (columns[:, :5] - columns[:, :5].mean(axis=0)) / columns[:, :5].std(axis=0)
    numbers = rng.normal(size=(60, 2))
    attributes = (rng.random((60, 2)) < 0.5).astype(float)
    X = np.concatenate([numbers, columns, attributes], axis=1)
    assert variables_of(X) == [[0], [1], [2, 3, 4], [5, 6], [7], [8]]


def test_a_drawn_cloud_keeps_categories_and_correlations():
    rng = np.random.default_rng(0)
    numbers = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=300)
    X = np.concatenate([numbers, one_hot(rng.choice(3, p=[0.6, 0.3, 0.1], size=(300, 1)))], axis=1)
    drawn = Cloud(X, X, rng).draw(rng)
    assert (drawn[:, 2:].sum(axis=1) == 1).all()
    np.testing.assert_array_equal(drawn[:, 2:].sum(axis=0), X[:, 2:].sum(axis=0))
    np.testing.assert_allclose(np.corrcoef(drawn[:, :2].T), np.corrcoef(numbers.T), atol=0.05)


def test_a_drawn_cloud_has_joint_tails_like_the_data():
    rng = np.random.default_rng(0)
    alone = rng.standard_t(2, (400, 4))
    together = rng.normal(size=(400, 4)) / np.sqrt(rng.chisquare(2, (400, 1)) / 2)

    def joint_extremes(X):
        """In how many columns a sample is extreme that is extreme in one."""
        extreme = np.abs(X) > np.quantile(np.abs(X), 0.95, axis=0)
        return extreme.sum(axis=1)[extreme.any(axis=1)].mean()

    for X in (alone, together):
        cloud = Cloud(X, X, rng)
        drawn = np.mean([joint_extremes(cloud.draw(rng)) for _ in range(10)])
        assert drawn == pytest.approx(joint_extremes(X), abs=0.2)
    assert joint_extremes(together) > joint_extremes(alone) + 0.5


def test_normal_clouds_with_more_columns_than_samples_are_as_round_as_the_data():
    # clouds drawn from estimated variances would be longer in some directions
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300))
    drawn = Cloud(X, X, rng).draw(rng)
    first, second = (np.linalg.svd(part - part.mean(axis=0))[1][:59] for part in (X, drawn))
    np.testing.assert_allclose(second / second.mean(), first / first.mean(), rtol=0.08)


def test_two_peaks_are_joined():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 1)), rng.normal(size=(200, 1)) + 8])
    drawn = Cloud(X, X, rng).draw(rng)
    # hardly any of the samples lie in the valley, but many values of the cloud do
    assert ((X > 2.5) & (X < 5.5)).mean() < 0.02
    assert ((drawn > 2.5) & (drawn < 5.5)).mean() > 0.1


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, st.integers(2, 60), elements=st.integers(0, 20)))
def test_one_peak_rises_then_falls(values):
    assume(np.ptp(values) > 0)
    widths, heights = one_peak(np.sort(values))
    assert widths.sum() == pytest.approx(np.ptp(values))
    assert widths @ heights == pytest.approx(1)
    # once it falls it does not rise
    steps = np.sign(np.diff(heights))
    assert (np.diff(steps[steps != 0]) <= 0).all()


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


@pytest.mark.parametrize("k", [2, 3, 4])
def test_clusters_side_by_side_are_found_whatever_their_length(k):
    rng = np.random.default_rng(k)
    y = np.repeat(np.arange(k), 60)
    X = rng.normal(size=(60 * k, 4)) * [30, 8, 1, 1]
    X[:, 2] += 8 * y
    found = Candidates(X, 5).side_by_side(k)
    assert adjusted_rand_score(y, found) > 0.95
    # a linear map changes lengths and angles, but not what lies side by side
    mapped = X @ rng.normal(size=(4, 4)) + rng.normal(size=4)
    assert adjusted_rand_score(found, Candidates(mapped, 5).side_by_side(k)) == 1


def test_clusters_side_by_side_in_one_column_and_in_dependent_ones():
    column = np.repeat([0.0, 1.0, 5.0], 20)[:, None] + normal(0, 60, 1) * 0.05
    for X in (column, np.hstack([column, 2 * column])):
        assert np.bincount(Candidates(X, 3).side_by_side(3)).tolist() == [20, 20, 20]


def test_candidates_do_not_depend_on_the_order_of_samples():
    X = make_blobs(80, centers=4, cluster_std=1.5, random_state=0)[0]
    order = np.random.default_rng(0).permutation(80)
    for one, other in zip(Candidates(X, 5).of(4), Candidates(X[order], 5).of(4), strict=True):
        pairs = {*zip(one[order].tolist(), other.tolist(), strict=True)}
        assert len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})
