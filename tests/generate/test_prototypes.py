"""Prototypes: random rows that stand for all rows in a fit of ConsensusClustering."""

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score

from coterie import ConsensusClustering, ParameterError, Result
from coterie.generate import prototypes
from tests.naive.nearest import nearest_points


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 1500)
    centres = np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9.0]])
    return centres[classes] + rng.normal(size=(1500, 3)), classes


def fitted(X, **settings):
    given = {"n_clusters": 4, "n_members": 8, "prototypes": 200, "random_state": 0}
    return ConsensusClustering(**(given | settings)).fit(X)


def test_rows_take_the_cluster_of_their_nearest_prototype(blobs):
    X, classes = blobs
    model = fitted(X)
    nearest = nearest_points(X, model.prototypes_.rows)
    np.testing.assert_array_equal(model.pool_.nearest, nearest)
    for labels in (model.labels_, model.sample_confidence_):
        assert all(len(set(labels[nearest == q])) == 1 for q in range(len(model.prototypes_)))
    assert adjusted_rand_score(classes, model.labels_) > 0.98
    assert model.ensemble_.n_samples == len(X)
    assert model.ensemble_.n_microclusters <= 200
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_the_verdict_the_model_and_the_result_say_what_was_done(blobs):
    X, _ = blobs
    model = fitted(X)
    said = "200 prototypes (random rows) stood for 1,500 samples."
    assert str(model.prototypes_) == said
    assert said in model.verdict_.text
    assert said in Result.of(model, X=X).verdict.text


def test_the_same_seed_gives_the_same_labels_on_any_number_of_threads(blobs):
    X, _ = blobs
    first = fitted(X)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        second = fitted(X, n_jobs=2)
    finally:
        numba.set_num_threads(threads)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.sample_confidence_, second.sample_confidence_)
    other = fitted(X, random_state=1)
    assert not np.array_equal(other.prototypes_.rows, first.prototypes_.rows)


def test_auto_does_nothing_with_few_rows(blobs):
    X, _ = blobs
    auto, never = fitted(X, prototypes="auto"), fitted(X, prototypes=None)
    assert auto.prototypes_ is None
    assert never.prototypes_ is None
    np.testing.assert_array_equal(auto.labels_, never.labels_)
    np.testing.assert_array_equal(auto.sample_confidence_, never.sample_confidence_)


@pytest.mark.parametrize(
    ("solver", "limit", "count"),
    [(None, "MANY_ROWS", 300), ("lwea", "MANY_ROWS_OF_PAIRS", 300), ("pce", "MANY_ROWS", 600)],
)
def test_auto_decides_by_the_number_of_rows_and_the_method(
    blobs, monkeypatch, solver, limit, count
):
    X, _ = blobs
    monkeypatch.setattr(prototypes, "MOST", 600)
    monkeypatch.setattr("coterie.consensus.prototyping.FEWEST", 300)
    monkeypatch.setattr(prototypes, "FEWEST", 300)
    monkeypatch.setattr(prototypes, limit, 1500)
    # all label rows differ
    settings = {
        "solver": solver,
        "prototypes": "auto",
        "member_clusters": (60, 80),
        "n_members": 12,
    }
    assert fitted(X, **settings).prototypes_ is None
    monkeypatch.setattr(prototypes, limit, 1499)
    assert len(fitted(X, **settings).prototypes_) == count


def test_more_prototypes_are_kept_if_they_have_few_distinct_label_rows():
    labels = np.repeat(np.arange(100), 100)[:, None]
    mixed = np.random.default_rng(0).permutation(labels)
    assert prototypes.count_that_fits(mixed, 100) == 10_000
    assert prototypes.count_that_fits(np.arange(20_000)[:, None], 6_000) == prototypes.FEWEST


@pytest.mark.parametrize("generator", ["kmeans", "subsample", "features", "spectral"])
def test_every_generator_finds_the_clusters(blobs, generator):
    X, classes = blobs
    # any four columns show all clusters
    X = np.concatenate([X, X[:, ::-1]], axis=1)
    model = fitted(X, generator=generator, share=0.7 if generator == "features" else None)
    assert adjusted_rand_score(classes, model.labels_) > 0.95


def test_members_that_cannot_predict_are_fitted_on_the_prototypes(blobs):
    X, classes = blobs
    members = [AgglomerativeClustering(4), DBSCAN(2.5, min_samples=3), KMeans(4, random_state=0)]
    model = fitted(X, generator=members)
    assert {len(member.labels_) for member in model.members_} == {200}
    assert adjusted_rand_score(classes, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_members_see_rows_of_their_own(blobs, monkeypatch):
    X, _ = blobs
    monkeypatch.setattr("coterie.consensus.steps.MEMBER_ROWS", 300)
    plans = fitted(X).pool_.plans
    assert {len(plan.rows) for plan in plans} == {300}
    assert len({plan.rows.tobytes() for plan in plans}) == len(plans)


def test_sparse_and_dense_rows_have_the_same_prototypes(blobs):
    X, _ = blobs
    X = np.where(np.abs(X) < 1, 0.0, X)
    dense, thin = (fitted(matrix, generator="kmeans") for matrix in (X, sparse.csr_array(X)))
    assert sparse.issparse(thin.prototypes_.rows)
    np.testing.assert_array_equal(thin.prototypes_.rows.toarray(), dense.prototypes_.rows)
    np.testing.assert_array_equal(thin.pool_.nearest, dense.pool_.nearest)


def test_single_precision_is_kept(blobs):
    X, classes = blobs
    model = fitted(X.astype(np.float32))
    assert model.prototypes_.rows.dtype == np.float32
    assert adjusted_rand_score(classes, model.labels_) > 0.98


def test_rows_on_disk(blobs, tmp_path):
    X, _ = blobs
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fitted(on_disk).labels_, fitted(X).labels_)


def test_a_table_with_gaps_and_categories(blobs):
    X, classes = blobs
    table = pd.DataFrame(X.copy(), columns=["a", "b", "c"])
    table["kind"] = np.where(classes == 0, "x", "y")
    table.iloc[::10, 1] = np.nan
    model = fitted(table)
    assert adjusted_rand_score(classes, model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    columns = {name: table[name].tolist() for name in table}
    np.testing.assert_array_equal(fitted(columns).labels_, model.labels_)


def test_outliers_are_set_aside(blobs):
    X, classes = blobs
    X = np.concatenate([X, np.full((6, 3), 80.0) + np.eye(6, 3)])
    model = fitted(X, prototypes=1506)
    assert model.set_aside_[-6:].all()
    assert adjusted_rand_score(classes, model.labels_[:-6]) > 0.98
    noise = fitted(X, prototypes=1506, outliers="noise")
    assert (noise.labels_[-6:] == -1).all()
    assert (noise.labels_[:-6] >= 0).all()


def test_equal_rows_share_a_prototype():
    X = np.repeat(np.arange(12.0).reshape(6, 2) ** 2, 50, axis=0)
    model = fitted(X, n_clusters=2, prototypes=100)
    assert len(model.prototypes_) == 6
    assert model.ensemble_.weights.sum() == 300


def test_one_column(blobs):
    X, _ = blobs
    model = fitted(X[:, :1], n_clusters=2)
    assert adjusted_rand_score(X[:, 0] > 4.5, model.labels_) > 0.95


def test_k_is_chosen_from_a_sample(blobs):
    X, classes = blobs
    model = fitted(X, n_clusters="auto", prototypes=400)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(classes, model.labels_) > 0.98


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"prototypes": 2000},
            "prototypes is 2,000, but X has only 1,500 rows; lower or",
        ),
        ({"prototypes": 3}, "prototypes is 3, but n_clusters is 4, and every"),
        ({"prototypes": 1}, "prototypes must be"),
        ({"prototypes": "all"}, "prototypes must be"),
    ],
)
def test_numbers_that_cannot_be(blobs, settings, says):
    with pytest.raises(ParameterError, match=says):
        fitted(blobs[0], **settings)


def test_a_cell_without_a_number_is_named_by_its_row(blobs):
    X = blobs[0].copy()
    X[1400, 2] = np.nan
    with pytest.raises(ValueError, match="first in row 1400"):
        fitted(X)
    table = pd.DataFrame(blobs[0].copy(), columns=["a", "b", "c"])
    table.loc[1400, "c"] = np.inf
    with pytest.raises(
        ValueError, match=r"column 'c' holds 1 infinite value \(first in row 1400\)"
    ):
        fitted(table)


def test_rows_that_are_all_the_same():
    with pytest.raises(ParameterError, match="all rows of X are the same"):
        fitted(np.ones((500, 2)), n_clusters=2)
