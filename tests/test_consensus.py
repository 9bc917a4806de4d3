"""ConsensusClustering: scikit-learn's own checks, and what users do with it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie import EAC, LWEA, ConsensusClustering, ParameterError
from coterie.datasets import load
from coterie.generate import from_estimators, kmeans_pool
from coterie.solvers import methods
from coterie.solvers.methods import all_methods, find_method, solver_of

BLOBS = load("blobs")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([ConsensusClustering(n_clusters=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("generator", ["kmeans", "subsample", "features", "spectral"])
def test_finds_five_blobs(generator):
    model = ConsensusClustering(n_clusters=5, generator=generator, random_state=0)
    labels = model.fit_predict(BLOBS.X)
    # half of two features is one coordinate, in which some of the blobs overlap
    assert adjusted_rand_score(BLOBS.y, labels) > (0.5 if generator == "features" else 0.95)
    assert len(np.unique(labels)) == 5
    assert model.ensemble_.n_members == 50


def test_same_seed_same_labels_on_any_number_of_jobs():
    one = ConsensusClustering(5, random_state=1, n_jobs=1).fit(BLOBS.X)
    two = ConsensusClustering(5, random_state=1, n_jobs=2).fit(BLOBS.X)
    assert np.array_equal(one.labels_, two.labels_)
    assert one.ensemble_ == two.ensemble_


def test_number_of_clusters_by_lifetime():
    model = ConsensusClustering(random_state=0).fit(BLOBS.X)
    assert model.n_clusters_ == 5
    assert type(model.solver_) is EAC


def test_the_default_solver_is_lwea_where_the_number_is_known():
    given = ConsensusClustering(5, n_members=5, random_state=0).fit(BLOBS.X)
    assert type(given.solver_) is LWEA
    assert np.array_equal(given.labels_, LWEA(5).fit_predict(given.ensemble_))


def test_works_in_a_pipeline_and_clones():
    pipeline = make_pipeline(StandardScaler(), ConsensusClustering(5, random_state=0))
    labels = clone(pipeline).fit_predict(BLOBS.X)
    assert adjusted_rand_score(BLOBS.y, labels) > 0.95
    assert (
        pipeline.set_params(consensusclustering__n_members=5).get_params()[
            "consensusclustering__n_members"
        ]
        == 5
    )


def test_solver_is_cloned_not_changed():
    solver = EAC(linkage="complete")
    model = ConsensusClustering(5, solver=solver, random_state=0).fit(BLOBS.X)
    assert solver.n_clusters is None
    assert not hasattr(solver, "labels_")
    assert (model.solver_.n_clusters, model.solver_.linkage) == (5, "complete")


@pytest.mark.parametrize("generator", ["kmeans", "subsample", "features"])
def test_predict_gives_training_rows_their_own_labels(generator):
    model = ConsensusClustering(5, generator=generator, random_state=0).fit(BLOBS.X)
    assert (model.predict(BLOBS.X) == model.labels_).mean() > 0.99


def test_predict_of_new_rows_agrees_with_their_class():
    new = load("blobs", random_state=9)
    model = ConsensusClustering(5, random_state=0).fit(BLOBS.X)
    assert adjusted_rand_score(new.y, model.predict(new.X)) > 0.95


def test_predict_needs_members_that_can():
    spectral = ConsensusClustering(5, generator="spectral", random_state=0).fit(BLOBS.X[::5])
    assert not hasattr(spectral, "predict")
    mixed = ConsensusClustering(
        5, generator=[KMeans(5, n_init=1, random_state=0), AgglomerativeClustering(5)]
    ).fit(BLOBS.X)
    with pytest.raises(ParameterError, match="these cannot: AgglomerativeClustering_1"):
        mixed.predict(BLOBS.X)


def test_sparse_and_dense_features():
    X = sparse.csr_array(np.abs(BLOBS.X))
    labels = ConsensusClustering(3, n_members=5, random_state=0).fit_predict(X)
    assert len(np.unique(labels)) == 3


def test_dataframe_columns_are_remembered_and_checked():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(BLOBS.X, columns=["east", "north"])
    model = ConsensusClustering(5, n_members=5, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["east", "north"]
    # columns are found by name, in any order
    assert np.array_equal(model.predict(frame[["north", "east"]]), model.labels_)
    with pytest.raises(ValueError, match="lacks the column 'north'"):
        model.predict(frame[["east"]])


def test_confidence_is_high_inside_and_low_between():
    model = ConsensusClustering(5, random_state=0).fit(BLOBS.X)
    assert model.sample_confidence_.shape == (500,)
    assert (model.sample_confidence_ >= 0).all()
    assert (model.sample_confidence_ <= 1).all()
    assert np.median(model.sample_confidence_) > 0.9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be .* but is 0"),
        ({"n_clusters": 2.5}, "n_clusters must be .* but is 2.5"),
        ({"n_members": -1}, "n_members must be .* but is -1"),
        ({"generator": "kmean"}, "generator must be one of 'kmeans'.* but is 'kmean'"),
        ({"solver": KMeans()}, "solver must be .* but is KMeans"),
        ({"solver": "spse"}, "unknown method 'spse'; did you mean 'spce'"),
        ({"n_clusters": 501}, "501"),
    ],
)
def test_parameters_outside_their_domain(settings, words):
    with pytest.raises(ValueError, match=words):
        ConsensusClustering(**settings).fit(BLOBS.X)


def test_nan_names_the_columns():
    X = BLOBS.X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN or infinity .* column 1 \(first in row 3\)"):
        ConsensusClustering(5).fit(X)


def test_samples_that_every_member_calls_noise_are_named():
    with pytest.raises(ValueError, match="without a label in any member: rows"):
        ConsensusClustering(generator=[DBSCAN(eps=0.3)]).fit(BLOBS.X)


def test_many_distinct_label_rows_get_a_default_that_is_linear_in_them(monkeypatch):
    model = ConsensusClustering(5, n_members=5, random_state=0).fit(BLOBS.X)
    monkeypatch.setattr(methods, "MANY_ROWS", model.ensemble_.n_microclusters)
    as_many = ConsensusClustering(5, n_members=5, random_state=0).fit(BLOBS.X)
    monkeypatch.setattr(methods, "MANY_ROWS", model.ensemble_.n_microclusters - 1)
    more = ConsensusClustering(5, n_members=5, random_state=0).fit(BLOBS.X)
    named = ConsensusClustering(5, n_members=5, solver="lwea", random_state=0).fit(BLOBS.X)
    fits = [type(fit.solver_).__name__ for fit in (model, as_many, more, named)]
    assert fits == ["LWEA", "LWEA", "LWGP", "LWEA"]


def test_a_method_goes_by_its_name_in_the_catalogue():
    named = ConsensusClustering(5, n_members=5, solver="lwea", random_state=0).fit(BLOBS.X)
    given = ConsensusClustering(5, n_members=5, solver=find_method("lwea")(5), random_state=0)
    assert type(named.solver_) is type(given.fit(BLOBS.X).solver_)
    assert np.array_equal(named.labels_, given.labels_)
    # clone and set_params see the name, not a solver of this fit
    assert clone(named).solver == "lwea"
    assert all(isinstance(solver_of(name), find_method(name)) for name in all_methods())


def test_an_unknown_method_is_told_before_any_member_is_made():
    made = []
    model = ConsensusClustering(5, solver="spse", callback=lambda *step: made.append(step))
    with pytest.raises(ParameterError, match="unknown method"):
        model.fit(BLOBS.X)
    assert not made


def test_the_index_of_a_frame_names_the_samples():
    pandas = pytest.importorskip("pandas")
    names = [f"customer_{i}" for i in range(500)]
    frame = pandas.DataFrame(BLOBS.X, columns=["east", "north"], index=names)
    model = ConsensusClustering(5, n_members=5, random_state=0).fit(frame)
    assert model.explain("customer_17").cluster == model.labels_[17]
    assert model.diagnose_samples()["sample"].tolist() == names
    plain = ConsensusClustering(5, n_members=5, random_state=0).fit(BLOBS.X)
    assert np.array_equal(plain.labels_, model.labels_)
    assert plain.ensemble_.sample_ids is None
    for pool in (
        kmeans_pool(frame, 2, random_state=0),
        from_estimators(frame, [KMeans(3, n_init=1, random_state=0)]),
    ):
        assert pool.sample_ids.tolist() == names


@pytest.mark.parametrize(
    ("settings", "X", "words"),
    [
        ({"n_clusters": 3}, np.ones((50, 2)), "all rows of X are the same .* constant"),
        ({"n_clusters": "auto"}, np.ones((50, 2)), "all rows of X are the same .* constant"),
        ({}, np.ones((50, 2)), "all rows of X are the same .* constant"),
        (
            {"n_clusters": 8},
            np.repeat(np.eye(3), 20, axis=0),
            "n_clusters is 8, but X has only 3 distinct rows among n_samples=60; ask for fewer",
        ),
        (
            {"n_clusters": 2, "member_clusters": (5, 9)},
            np.repeat(np.eye(3), 20, axis=0),
            r"member_clusters is \(5, 9\), but X has only 3 distinct rows",
        ),
    ],
)
@pytest.mark.parametrize("generator", ["kmeans", "spectral"])
def test_fewer_distinct_rows_than_clusters_in_the_users_words(settings, X, words, generator):
    with pytest.raises(ParameterError, match=words) as caught:
        ConsensusClustering(**settings, generator=generator).fit(X)
    assert str(caught.value).startswith("ConsensusClustering: ")
