"""Members that are Gaussian mixtures."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import ConsensusClustering
from coterie.generate.members import make_pool
from coterie.generate.mixtures import MAX_COMPONENTS, MAX_ROWS, MixtureClusterer


def stretched(n=300):
    """Two slanted clouds, longer than their distance: k-means cuts across them."""
    rng = np.random.default_rng(0)
    side = np.arange(n) % 2
    along = rng.normal(0, 3, n)
    return np.column_stack([along, 0.8 * along + 6 * side + rng.normal(0, 1, n)]), side


@pytest.mark.parametrize("covariance", ["tied", "full"])
def test_stretched_clusters_are_seen(covariance):
    X, side = stretched()
    for seed in range(5):
        labels = MixtureClusterer(2, covariance, seed).fit_predict(X)
        assert adjusted_rand_score(side, labels) > 0.9


@pytest.mark.parametrize("covariance", ["tied", "full"])
def test_units_and_shifts_do_not_change_the_labels(covariance):
    X, _ = stretched()
    labels = MixtureClusterer(2, covariance, 3).fit_predict(X)
    moved = MixtureClusterer(2, covariance, 3).fit_predict(1024.0 * X + 7.0)
    assert adjusted_rand_score(labels, moved) == 1.0


def test_rows_of_the_fit_keep_their_labels_and_pickles_predict():
    X = np.random.default_rng(0).normal(size=(MAX_ROWS + 500, 3)) + 4.0
    clusterer = MixtureClusterer(3, "full", 0).fit(X)
    assert (clusterer.predict(X) == clusterer.labels_).all()
    assert (pickle.loads(pickle.dumps(clusterer)).predict(X) == clusterer.labels_).all()


def test_wide_tables_are_projected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 500)) + 3.0 * (np.arange(40) % 2)[:, None]
    clusterer = MixtureClusterer(2, "full", 0).fit(X)
    assert clusterer.components_.shape[1] <= min(MAX_COMPONENTS, 39)
    assert adjusted_rand_score(np.arange(40) % 2, clusterer.labels_) == 1.0


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_constant_sample_gives_one_label():
    assert len(np.unique(MixtureClusterer(2, "full", 0).fit(np.ones((10, 3))).labels_)) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_four_of_ten_members_are_kmeans(n_jobs):
    X, _ = stretched()
    pool = make_pool(X, "auto", 50, 2, np.random.default_rng(0), n_jobs, None)
    groups = [plan.group for plan in pool.plans]
    assert [groups.count(shape) for shape in ("kmeans", "tied", "full")] == [20, 15, 15]
    again = make_pool(X, "auto", 50, 2, np.random.default_rng(0), 1, None)
    assert (pool.labels == again.labels).all()


def test_members_with_many_clusters_and_of_sparse_matrices_are_kmeans():
    from scipy import sparse

    X, _ = stretched()
    for features, clusters in ((X, (5, 10)), (sparse.csr_matrix(X), 2)):
        pool = make_pool(features, "auto", 10, clusters, np.random.default_rng(0), 1, None)
        assert {type(member).__name__ for member in pool.members} == {"KMeans"}


def test_the_consensus_follows_both_mixtures_against_kmeans():
    X, side = stretched()
    model = ConsensusClustering(2, random_state=0).fit(X)
    assert adjusted_rand_score(side, model.labels_) > 0.9
    assert (model.predict(X) == model.labels_).all()
    round_only = ConsensusClustering(2, generator="kmeans", member_clusters=2, random_state=0).fit(
        X
    )
    assert adjusted_rand_score(side, round_only.labels_) < 0.5
