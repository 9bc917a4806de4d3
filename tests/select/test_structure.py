"""Doubts about a partition of features: a single cloud, or a few columns that decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from coterie.select import structure
from coterie.select.structure import (
    category_doubt,
    cloud_doubt,
    column_doubt,
    deciding_columns,
)


def doubt(X, n_clusters, seed=0):
    dense = X.toarray() if sparse.issparse(X) else X
    labels = KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(dense).astype(np.int64)
    return cloud_doubt(X, labels, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_clusters", [2, 4])
def test_slices_of_a_cloud_are_doubted(seed, n_clusters):
    rng = np.random.default_rng(seed)
    round_cloud = rng.normal(size=(300, 4))
    assert "may be slices of a continuum" in doubt(round_cloud, n_clusters, seed)
    stretched = round_cloud * [30, 1, 1, 1]
    turned = stretched @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    for X in (stretched, turned, turned + 1e4):
        assert doubt(X, n_clusters, seed) is not None


@pytest.mark.parametrize("seed", range(3))
def test_blobs_are_not(seed):
    X, labels = make_blobs(300, centers=4, n_features=3, random_state=seed)
    assert cloud_doubt(X, labels, np.random.default_rng(seed)) is None
    assert doubt(X, 4, seed) is None
    # a partition that ignores the blobs is
    shuffled = np.random.default_rng(seed).permutation(labels)
    assert cloud_doubt(X, shuffled, np.random.default_rng(seed)) is not None


def test_neither_units_nor_names_nor_storage_matter():
    X, labels = make_blobs(200, centers=3, n_features=3, random_state=0)
    cloud = np.random.default_rng(0).normal(size=(200, 3))
    for features, given_labels in (
        (X, labels),
        (cloud, KMeans(3, random_state=0).fit_predict(cloud)),
    ):
        expected = cloud_doubt(features, given_labels, np.random.default_rng(0))
        for other in (1000 * features, features - 50, sparse.csr_array(features)):
            assert cloud_doubt(other, given_labels, np.random.default_rng(0)) == expected
        names = np.array([9, 4, 7])[given_labels]
        assert cloud_doubt(features, names, np.random.default_rng(0)) == expected


def test_what_cannot_be_compared_is_not_doubted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    assert cloud_doubt(X, np.zeros(20, dtype=int), rng) is None
    assert cloud_doubt(X, np.arange(20), rng) is None
    assert cloud_doubt(np.ones((20, 2)), np.arange(20) % 2, rng) is None


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(structure, "MAX_ROWS", 100)
    X, labels = make_blobs(2000, centers=3, cluster_std=0.5, random_state=0)
    assert cloud_doubt(X, labels, np.random.default_rng(0)) is None
    cloud = np.random.default_rng(0).normal(size=(2000, 3))
    assert doubt(cloud, 3) is not None


NOISE = {
    "uniform": lambda rng, d: rng.random((300, d)),
    "normal": lambda rng, d: rng.normal(size=(300, d)),
    "exponential": lambda rng, d: rng.exponential(size=(300, d)),
    "lognormal": lambda rng, d: rng.lognormal(size=(300, d)),
    "heavy tails": lambda rng, d: rng.standard_t(3, size=(300, d)),
    "yes and no": lambda rng, d: (rng.random((300, d)) < 0.4).astype(float),
    "marks": lambda rng, d: rng.integers(1, 6, (300, d)).astype(float),
}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_of_any_kind_is_doubted(kind):
    rng = np.random.default_rng(1)
    cases = [(d, k) for d in (3, 8, 30) for k in (2, 3, 5)]
    doubted = []
    for d, k in cases:
        X = NOISE[kind](rng, d)
        doubted.append(doubt((X - X.mean(axis=0)) / X.std(axis=0), k) is not None)
    # the doubt is a test with an error of a few per cent
    assert sum(doubted) >= len(cases) - 1


def test_pieces_of_an_arc_are_doubted():
    passed = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0, 3, 500)
        arc = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.03 * rng.normal(size=(500, 2))
        passed += sum(doubt(arc, k, seed) is None for k in (2, 3, 4))
    # of 18; without halves of the clusters it would be most of them at k = 2
    assert passed <= 5


@pytest.mark.parametrize("sizes", [(500, 50, 20), (1000, 100, 100), (500, 20), (30, 30, 30)])
def test_clear_clusters_of_any_size_are_not_doubted(sizes):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(len(sizes)), sizes)
        X = np.array([[0, 0], [8, 0], [0, 8]])[labels] + rng.normal(size=(len(labels), 2))
        assert cloud_doubt(X, labels, rng) is None


def test_clusters_that_are_the_values_of_one_category_are_doubted():
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    one_hot = np.eye(3)[labels]
    categories = {"city": np.arange(2, 5)}
    noise = np.hstack([rng.normal(size=(300, 2)), one_hot])
    expected = "Only the column 'city' separates the clusters."
    assert category_doubt(noise, labels, categories, rng) == expected
    assert category_doubt(one_hot, labels, {"city": np.arange(3)}, rng) == expected
    # the numbers show the same clusters
    clear = np.hstack([np.array([[0, 0], [8, 0], [0, 8]])[labels] + noise[:, :2], one_hot])
    assert category_doubt(clear, labels, categories, rng) is None
    # the clusters are other ones
    assert category_doubt(noise, rng.permutation(labels), categories, rng) is None


def test_separation_grows_with_the_distance_and_with_the_number_of_samples():
    def measured(n, distance):
        rng = np.random.default_rng(0)
        labels = np.arange(n) % 2
        X = rng.normal(size=(n, 4))
        X[:, 0] += distance * labels
        return structure.separation(X, labels, rng)

    assert measured(200, 0) < 0 < measured(200, 4) < measured(200, 6) < measured(800, 6)


def test_clusters_of_few_samples_in_many_columns_are_separated():
    # the centres of halves are known from ten samples each
    labels = np.repeat([0, 1], [20, 18])
    values = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(38, 60))
        X[:, :20] += 1.2 * labels[:, None]
        values.append(structure.separation(X, labels, rng))
    assert min(values) > 1.0


def test_separation_of_two_far_points_can_be_counted():
    # all samples lie at the two centres: (n/4 - 0) / sqrt(n/4) for each half, and sqrt(2) for two halves
    labels = np.repeat([0, 1], 50)
    X = np.stack([10.0 * labels, np.zeros(100)], axis=1)
    value = structure.separation(X, labels, np.random.default_rng(0))
    assert value == pytest.approx(np.sqrt(2) * np.sqrt(25))


def test_a_cluster_counts_with_its_nearest_neighbour():
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 3
    # the first two touch, the third is far away
    X = rng.normal(size=(600, 2)) + np.array([[0, 0], [1, 0], [30, 0]])[labels]
    touching = structure.separation(X[labels < 2], labels[labels < 2], rng)
    together = structure.separation(X, (labels == 2).astype(int), rng)
    assert touching < structure.separation(X, labels, rng) < together


def test_separation_is_unknown_without_two_large_clusters():
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.r_[np.zeros(22, dtype=int), np.full(8, 1)]
    assert np.isnan(structure.separation(X, labels, np.random.default_rng(0)))


# ---------------------------------------------------------------------- columns


def test_a_wild_column_decides_alone():
    X = np.random.default_rng(0).normal(size=(50, 4)) * [1, 1, 1000, 1]
    columns, share = deciding_columns(X)
    assert columns.tolist() == [2]
    assert share == pytest.approx(X.var(axis=0)[2] / X.var(axis=0).sum())
    assert column_doubt(X, None).startswith(
        "1 column of 4 (2) makes up 99.9% of the squared distances"
    )
    assert "('income')" in column_doubt(X, ["a", "b", "income", "d"])


def test_a_tenth_of_the_columns_may_decide_together():
    X = np.random.default_rng(0).normal(size=(200, 30))
    X[:, [3, 8, 20]] *= [[1000, 800, 900]]
    assert sorted(deciding_columns(X)[0]) == [3, 8, 20]
    assert deciding_columns(X)[0].tolist() == np.argsort(-X.var(axis=0))[:3].tolist()
    assert column_doubt(X, None).startswith("3 columns of 30 (")
    X[:, 5] *= 950
    assert column_doubt(X, None) is None


@pytest.mark.parametrize(
    "X",
    [
        np.random.default_rng(0).normal(size=(50, 4)),
        # with two columns, one of them usually makes up most
        np.random.default_rng(0).normal(size=(50, 2)) * [1, 1000],
        np.ones((50, 4)),
        sparse.csr_array(np.diag([1.0, 2.0, 1000.0, 3.0])),
    ],
)
def test_no_column_decides(X):
    assert len(deciding_columns(X)[0]) == 0
    assert column_doubt(X, None) is None


@given(st.integers(0, 1000), st.permutations(range(5)))
def test_permuted_columns_are_found_at_their_place(seed, order):
    X = np.random.default_rng(seed).normal(size=(20, 5)) * [1, 1, 1, 1, 500]
    (column,), share = deciding_columns(X[:, order])
    assert order[column] == 4
    assert share == pytest.approx(deciding_columns(X)[1])
