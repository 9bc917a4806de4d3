"""TRCE's rows, pair by pair, where the projection also takes in pairs that no member links."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from coterie.solvers.trce.kernels import GROUP, _project, learn_rows, noise_rows


def projection(target, weights):
    """The a >= 0 nearest to the target, in the weighted norm, with sum_j w_j a_j = 1."""
    least = target.min() - 1.0 / weights.min() - 1.0
    level = brentq(
        lambda t: weights @ np.maximum(target - t, 0) - 1, least, target.max(), xtol=1e-15
    )
    return np.maximum(target - level, 0.0)


@pytest.mark.parametrize("spread", [0.0, 0.05, 1.0, 30.0])
def test_rows_are_those_of_the_equations(spread):
    rng = np.random.default_rng(0)
    n, m, size = 90, 4, 12
    rho, slope = 0.7, 0.9
    base_clusters = rng.integers(0, size, (n, m)) + size * np.arange(m)
    base_clusters[rng.random((n, m)) < 0.2] = -1
    base_clusters[:, 0] = np.arange(n) % size
    weights = rng.integers(1, 4, n).astype(float)
    member_lists = [np.flatnonzero((base_clusters == q).any(axis=1)) for q in range(size * m)]
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in member_lists])])
    sizes = np.array([weights[rows].sum() for rows in member_lists])
    base = (base_clusters, starts, np.concatenate(member_lists), sizes)
    member, scale = rng.uniform(0.5, 2, m), rng.uniform(0.1, 1, n)
    embedding = spread * rng.normal(size=(3, n))
    moving = (member, scale, embedding, rho, slope)
    old = rng.random((n, n))
    graph, divergence, sums = old.copy(), np.empty((n, m)), np.empty((n, 3))
    learn_rows(0, n, base, weights, (np.ones(n), True), moving, graph, divergence, sums)
    noise = np.empty((n, n))
    noise_rows(0, n, base, weights, moving, graph, noise)

    distance = ((embedding[:, :, None] - embedding[:, None, :]) ** 2).sum(axis=0)
    n_beyond = 0
    for i in range(n):
        together = (base_clusters == base_clusters[i]) & (base_clusters[i] >= 0)
        value = np.where(base_clusters[i] >= 0, member / sizes[base_clusters[i]], 0.0)
        evidence = scale[i] * (together * value).sum(axis=1)
        linked = evidence > 0
        mass, penalty = (weights * evidence)[linked], rho * distance[i, linked]
        left, right = (mass - penalty).max() - 1e-9, mass.sum() + 1e-9
        theta = brentq(
            lambda t, m=mass, p=penalty: (m / (p + t)).sum() - 1, left, right, xtol=1e-15
        )
        walk = np.where(linked, evidence / (rho * distance[i] + theta), 0.0)
        links = projection(walk - slope * distance[i], weights)
        np.testing.assert_allclose(graph[i], links, atol=1e-10)
        np.testing.assert_allclose(noise[i], walk - links, atol=1e-10)
        changes = [links - old[i], old[i], walk - links]
        expected = [weights[i] * weights @ change**2 for change in changes]
        np.testing.assert_allclose(sums[i], expected, atol=1e-9)
        n_beyond += int((graph[i, ~linked] > 1e-9).sum())
    assert (n_beyond > 0) == (spread in (0.05, 1.0))


@pytest.mark.parametrize("far", [0.0, 0.01, 5.0])
def test_whole_groups_that_no_member_links_may_be_near(far):
    rng = np.random.default_rng(0)
    n, slope, i = 3 * GROUP + 5, 0.3, 7
    weights = rng.integers(1, 4, n).astype(float)
    linked = np.array([2, i, 40, 41, n - 1])
    walk = np.zeros(n)
    walk[linked] = rng.random(len(linked)) / 50
    distance = far * rng.random(n)
    columns, value, found = np.zeros(n, dtype=np.int32), np.zeros(n), np.empty(n)
    columns[: len(linked)], value[: len(linked)] = linked, walk[linked]
    # the kernel takes the row's own column to be linked and at distance zero
    distance[i] = 0.0
    expected = projection(walk - slope * distance, weights)
    _project(i, len(linked), walk[i], distance, slope, weights, columns, value, np.empty(n), found)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (expected[~np.isin(np.arange(n), linked)] > 0).all() == (far < 1)
