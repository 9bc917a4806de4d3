"""Pools: right shapes, right numbers of clusters, the same result on any number of jobs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.datasets import load
from coterie.generate import (
    feature_pool,
    from_estimators,
    kmeans_pool,
    spectral_pool,
    subsample_pool,
)

IRIS = load("iris").X
POOLS = [kmeans_pool, subsample_pool, feature_pool, spectral_pool]


@pytest.mark.parametrize("pool", POOLS)
def test_a_seed_gives_the_same_ensemble_on_any_number_of_jobs(pool):
    one = pool(IRIS, 6, random_state=3, n_jobs=1)
    two = pool(IRIS, 6, random_state=3, n_jobs=2)
    assert isinstance(one, Ensemble)
    assert one == two
    assert one != pool(IRIS, 6, random_state=4)


@pytest.mark.parametrize("pool", POOLS)
def test_fixed_number_of_clusters(pool):
    ensemble = pool(IRIS, 4, n_clusters=3, random_state=0)
    assert ensemble.n_clusters_per_member.tolist() == [3] * 4


def test_sqrt_draws_between_two_and_the_root_of_n():
    counts = kmeans_pool(IRIS, 60, random_state=0).n_clusters_per_member
    assert counts.min() == 2
    assert counts.max() == 12


def test_bounds_are_both_included():
    counts = kmeans_pool(IRIS, 40, n_clusters=(4, 6), random_state=0).n_clusters_per_member
    assert set(counts.tolist()) == {4, 5, 6}


def test_generator_object_and_integer_seed_agree():
    seeded = kmeans_pool(IRIS, 3, random_state=np.random.default_rng(5))
    assert seeded == kmeans_pool(IRIS, 3, random_state=5)


def test_sparse_features_give_the_labels_of_dense_ones():
    X = np.where(np.abs(load("digits").X) > 8, load("digits").X, 0.0)[:300]
    dense = kmeans_pool(X, 3, n_clusters=5, random_state=0)
    thin = kmeans_pool(sparse.csr_matrix(X), 3, n_clusters=5, random_state=0)
    assert np.array_equal(dense.n_clusters_per_member, thin.n_clusters_per_member)
    assert thin.n_samples == 300


def test_subsample_shows_each_member_its_share_and_every_sample_somewhere():
    ensemble = subsample_pool(IRIS, 3, n_clusters=3, share=0.3, random_state=0)
    seen = ensemble.expand(ensemble.labels) >= 0
    assert seen.any(axis=1).all()
    assert (seen.sum(axis=0) >= 45).all()
    assert not ensemble.is_complete


def test_any_clusterer_with_a_number_of_clusters():
    ensemble = feature_pool(IRIS, 3, n_clusters=4, clusterer=AgglomerativeClustering())
    assert ensemble.n_clusters_per_member.tolist() == [4, 4, 4]


def test_noise_of_a_density_clusterer_is_missing():
    models = [DBSCAN(eps=0.5), KMeans(3, n_init=1, random_state=0)]
    ensemble = from_estimators(IRIS, models, names=["density", "means"])
    assert ensemble.members == ("density", "means")
    noise = DBSCAN(eps=0.5).fit_predict(IRIS) == -1
    assert np.array_equal(ensemble.expand(ensemble.labels)[:, 0] < 0, noise)


def test_members_never_have_more_clusters_than_distinct_rows():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]], 20, axis=0)
    assert kmeans_pool(X, 10, random_state=0).n_clusters_per_member.max() <= 3


def test_progress_is_reported_once_a_member():
    seen = []
    kmeans_pool(IRIS, 4, random_state=0, callback=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_errors_name_what_is_wrong():
    X = IRIS.copy()
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity in 1 cell, in column 2 .*row 7"):
        kmeans_pool(X, 3)
    with pytest.raises(ParameterError, match=r"n_clusters .* is 'cube'"):
        kmeans_pool(IRIS, 3, n_clusters="cube")
    with pytest.raises(ParameterError, match=r"only 147|only 149"):
        kmeans_pool(IRIS, 3, n_clusters=150)
    with pytest.raises(ParameterError, match=r"share must be .* but is 1.5"):
        subsample_pool(IRIS, 3, share=1.5)
    with pytest.raises(ParameterError, match=r"n_members must be"):
        kmeans_pool(IRIS, 0)
    with pytest.raises(ParameterError, match=r"no parameter n_clusters"):
        feature_pool(IRIS, 2, clusterer=DBSCAN())
    with pytest.raises(ParameterError, match=r"estimators\[0\] .* no fit_predict"):
        from_estimators(IRIS, [object()])
    with pytest.raises(MemoryBudgetError, match=r"n = 150 samples needs"):
        spectral_pool(IRIS, memory_budget=1000)
    with pytest.raises(ValueError, match=r"n_samples=1"):
        kmeans_pool(IRIS[:1], 3)


def test_nan_in_a_dataframe_names_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(IRIS.copy(), columns=["a", "b", "c", "d"])
    frame.loc[3, "b"] = np.nan
    frame.loc[4, "d"] = np.inf
    with pytest.raises(ValueError, match=r"in columns 'b', 'd' \(first in row 3\)"):
        kmeans_pool(frame, 3)
