"""ConsensusClustering: scikit-learn's own checks, and what users do with it."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie import EAC, LWEA, ConsensusClustering, DataError, ParameterError, Result
from coterie.datasets import load
from coterie.generate import TableEncoder, from_estimators, kmeans_pool
from coterie.solvers import methods
from coterie.solvers.methods import all_methods, find_method, solver_of

BLOBS = load("blobs")


@pytest.fixture(scope="module")
def five_blobs():
    """A model of the blobs, to look at only."""
    return ConsensusClustering(5, random_state=0).fit(BLOBS.X)


@pytest.fixture(scope="module")
def five_blobs_of_five_members():
    """The same with few members."""
    return ConsensusClustering(5, n_members=5, random_state=0).fit(BLOBS.X)


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
    assert model.ensemble_.n_members == 60


def test_same_seed_same_labels_on_any_number_of_jobs():
    one = ConsensusClustering(5, random_state=1, n_jobs=1).fit(BLOBS.X)
    two = ConsensusClustering(5, random_state=1, n_jobs=2).fit(BLOBS.X)
    assert np.array_equal(one.labels_, two.labels_)
    assert one.ensemble_ == two.ensemble_


def test_number_of_clusters_by_lifetime():
    model = ConsensusClustering(None, random_state=0).fit(BLOBS.X)
    assert model.n_clusters_ == 5
    assert type(model.solver_) is EAC


def test_by_default_the_number_of_clusters_is_chosen():
    assert ConsensusClustering().n_clusters == "auto"


def test_the_default_solver_is_lwea_where_the_number_is_known(five_blobs_of_five_members):
    given = five_blobs_of_five_members
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


def test_predict_of_new_rows_agrees_with_their_class(five_blobs):
    new = load("blobs", random_state=9)
    assert adjusted_rand_score(new.y, five_blobs.predict(new.X)) > 0.95


def test_predict_of_a_row_without_values_warns_once():
    table = pd.DataFrame(BLOBS.X)
    model = ConsensusClustering(5, n_members=5, random_state=0).fit(table)
    with pytest.warns(UserWarning, match="2 rows have no value") as caught:
        labels = model.predict(table.head(2) * np.nan)
    assert len(caught) == 1
    assert labels.min() >= 0


@pytest.mark.parametrize("prepare", ["auto", None])
def test_a_lazy_frame_must_be_collected(prepare):
    lazy = pl.DataFrame(BLOBS.X).lazy()
    with pytest.raises(DataError, match=r"polars LazyFrame; call .collect\(\) first"):
        ConsensusClustering(5, prepare=prepare).fit(lazy)


def test_predict_needs_members_that_can():
    spectral = ConsensusClustering(5, generator="spectral", random_state=0).fit(BLOBS.X[::5])
    assert not hasattr(spectral, "predict")
    with pytest.raises(AttributeError) as caught:
        spectral.predict(BLOBS.X)
    assert "cannot label rows that they were not fitted on; use another generator" in str(
        caught.value.__cause__
    )
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


def test_confidence_is_high_inside_and_low_between(five_blobs):
    confidence = five_blobs.sample_confidence_
    assert confidence.shape == (500,)
    assert (confidence >= 0).all()
    assert (confidence <= 1).all()
    assert np.median(confidence) > 0.9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be .* but is 0"),
        ({"n_clusters": 2.5}, "n_clusters must be .* but is 2.5"),
        ({"n_members": -1}, "n_members must be .* but is -1"),
        ({"generator": "kmean"}, "generator must be one of 'auto', 'kmeans'.* but is 'kmean'"),
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


def test_samples_that_every_member_calls_noise_stay_noise():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) * 0.3, rng.normal(size=(60, 2)) * 0.3 + 5])
    X = np.concatenate([X, [[20.0, 20.0], [-20.0, 3.0]]])
    scans = [DBSCAN(eps=eps, min_samples=4) for eps in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)]
    for n_clusters in (2, "auto", None):
        model = ConsensusClustering(n_clusters, generator=scans, random_state=0).fit(X)
        assert model.labels_.tolist() == [0] * 60 + [1] * 60 + [-1] * 2
        assert model.sample_confidence_[120:].tolist() == [0, 0]
        assert "2 samples without a label in any member stay" in model.verdict_.text
        assert model.explain(121).sentence.startswith("Sample 121 is in no cluster")
        assert model.diagnose_clusters()["size"].tolist() == [60, 60]
        result = Result.of(model, X=X)
        assert result.labels.tolist() == model.labels_.tolist()
        assert result.cluster_votes.labels.min() == -1


def test_noise_alone_is_refused():
    with pytest.raises(ValueError, match="without any label"):
        ConsensusClustering(5, generator=[DBSCAN(eps=1e-9), DBSCAN(eps=1e-8)]).fit(BLOBS.X)


def test_many_distinct_label_rows_get_a_default_that_is_linear_in_them(
    monkeypatch, five_blobs_of_five_members
):
    model = five_blobs_of_five_members
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


def test_the_index_of_a_frame_names_the_samples(five_blobs_of_five_members):
    pandas = pytest.importorskip("pandas")
    names = [f"customer_{i}" for i in range(500)]
    frame = pandas.DataFrame(BLOBS.X, columns=["east", "north"], index=names)
    model = ConsensusClustering(5, n_members=5, random_state=0).fit(frame)
    assert model.explain("customer_17").cluster == model.labels_[17]
    assert model.diagnose_samples()["sample"].tolist() == names
    plain = five_blobs_of_five_members
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


# ---------------------------------------------------------------------- tables


def customers(n=90, seed=0):
    """A table of three kinds of customers with an id, text, a date and gaps, and the kinds."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(np.arange(n) % 3)
    age = np.array([25.0, 45.0, 65.0])[kinds] + rng.normal(0, 2, n)
    income = np.array([20_000.0, 60_000.0, 30_000.0])[kinds] + rng.normal(0, 2_000, n)
    table = pandas.DataFrame(
        {
            "customer_id": rng.permutation(n) + 1000,
            "age": age,
            "income": income,
            "plan": np.array(["basic", "pro", "free"])[kinds],
            "joined": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(400 * kinds, unit="D"),
            "note": [f"remark {i}" for i in range(n)],
        }
    )
    return table, kinds


def with_gaps(table, share=0.1, seed=1):
    table = table.copy()
    gaps = np.random.default_rng(seed).random((len(table), 2)) < share
    table[["age", "income"]] = table[["age", "income"]].mask(gaps)
    return table


def test_a_table_with_ids_text_and_gaps():
    table, kinds = customers()
    model = ConsensusClustering(3, random_state=0).fit(with_gaps(table))
    assert adjusted_rand_score(kinds, model.labels_) == 1
    used = {plan.name: plan.used for plan in model.encoder_.plans_}
    assert used == {
        "customer_id": False,
        "age": True,
        "income": True,
        "plan": True,
        "joined": True,
        "note": False,
    }
    assert model.verdict_.reliable
    assert model.feature_names_in_.tolist() == [*table.columns]
    assert model.n_features_in_ == 6
    assert np.isfinite(model.features_of(with_gaps(table))).all()


def test_the_encoder_of_the_user_is_cloned_and_used_for_a_mapping():
    table, _ = customers()
    encoder = TableEncoder(columns=["age"])
    model = ConsensusClustering(3, n_members=5, prepare=encoder, random_state=0)
    model.fit({name: table[name].tolist() for name in table})
    assert model.encoder_ is not encoder
    assert not hasattr(encoder, "plans_")
    frame = ConsensusClustering(3, n_members=5, prepare=encoder, random_state=0).fit(table)
    assert np.array_equal(frame.labels_, model.labels_)
    assert frame.features_of(table).shape == (90, 1)


def test_without_preparation_a_frame_is_its_array():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(BLOBS.X * [1, 3], columns=["east", "north"])
    one = ConsensusClustering(5, n_members=5, prepare=None, random_state=0).fit(frame)
    other = ConsensusClustering(5, n_members=5, random_state=0).fit(frame.to_numpy())
    assert one.ensemble_ == other.ensemble_
    assert not hasattr(one, "encoder_")
    assert np.array_equal(one.features_of(frame), frame.to_numpy())


def test_a_frame_gives_the_partition_of_its_scaled_array():
    pandas = pytest.importorskip("pandas")
    X = BLOBS.X * [1, 1000]
    frame = pandas.DataFrame(X, columns=["east", "north"])
    scaled = StandardScaler().fit_transform(X)
    assert (np.abs(scaled) < 3).all()
    one = ConsensusClustering(5, n_members=5, random_state=0).fit(frame)
    other = ConsensusClustering(5, n_members=5, random_state=0).fit(scaled)
    assert np.array_equal(one.labels_, other.labels_)


@pytest.mark.parametrize(("asked", "as_frame"), [("auto", False), ((2, 5), True)])
def test_a_chosen_k_gives_the_labels_of_the_same_k_given(asked, as_frame):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(BLOBS.X, columns=["east", "north"]) if as_frame else BLOBS.X
    chosen = ConsensusClustering(asked, n_members=20, random_state=3).fit(X)
    given = ConsensusClustering(chosen.n_clusters_, n_members=20, random_state=3).fit(X)
    assert chosen.n_clusters_ == chosen.selection_.recommended == 5
    assert chosen.ensemble_ == given.ensemble_
    assert np.array_equal(chosen.labels_, given.labels_)
    assert np.array_equal(chosen.sample_confidence_, given.sample_confidence_)
    assert chosen.verdict_ == given.verdict_


def test_a_range_limits_the_choice():
    model = ConsensusClustering((4, 5), n_members=10, random_state=0).fit(BLOBS.X)
    assert model.selection_.ks.tolist() == [4, 5]
    assert model.n_clusters_ == 5
    for wrong in ((3, 2), (0, 3), (2,), (2, 3, 4), (2, 2.5)):
        with pytest.raises(ParameterError, match=r"a range \(low, high\)"):
            ConsensusClustering(wrong).fit(BLOBS.X)


def test_a_new_fit_forgets_the_one_before():
    table, _ = customers()
    moons, _ = make_moons(300, noise=0.04, random_state=0)
    model = ConsensusClustering(2, n_members=10, random_state=0)
    model.set_params(n_clusters=3).fit(with_gaps(table))
    model.set_params(n_clusters=2).fit(moons)
    assert not hasattr(model, "encoder_")
    again = clone(model).fit(moons)
    for X in (moons, BLOBS.X):
        fresh = clone(model).fit(X)
        for refitted in (again.fit(X), model.fit(X)):
            assert refitted.ensemble_ == fresh.ensemble_
            assert refitted.verdict_ == fresh.verdict_
            assert np.array_equal(refitted.labels_, fresh.labels_)


def test_members_have_many_clusters_where_these_show_a_border(five_blobs):
    moons, classes = make_moons(400, noise=0.04, random_state=0)
    model = ConsensusClustering(2, random_state=0).fit(moons)
    assert adjusted_rand_score(classes, model.labels_) == 1
    assert min(model.ensemble_.n_clusters_per_member) > 2
    assert {*five_blobs.ensemble_.n_clusters_per_member.tolist()} == {5}


# ---------------------------------------------------------------------- outliers


def two_groups_and_a_failed_sample():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 64)
    X = rng.normal(size=(129, 10))
    X[:128] += 3.0 * groups[:, None]
    X[128] = 500.0
    return X, groups


@pytest.mark.filterwarnings("ignore:.*distances between samples")
def test_a_failed_sample_is_set_aside():
    X, groups = two_groups_and_a_failed_sample()
    model = ConsensusClustering(2, random_state=0).fit(X)
    assert np.flatnonzero(model.set_aside_).tolist() == [128]
    assert adjusted_rand_score(groups, model.labels_[:128]) == 1
    assert len(model.labels_) == 129
    assert "1 outlier was set aside" in model.verdict_.text
    assert np.array_equal(model.predict(X), model.labels_)
    # one sample alone is a cluster if the user wants it
    kept = ConsensusClustering(2, min_cluster_size=None, random_state=0).fit(X)
    assert not kept.set_aside_.any()
    assert np.bincount(kept.labels_).min() == 1
    assert not kept.verdict_.reliable
    assert np.array_equal(
        ConsensusClustering(2, min_cluster_size=1, random_state=0).fit_predict(X), kept.labels_
    )


@pytest.mark.filterwarnings("ignore:.*distances between samples")
def test_outliers_are_noise_on_request():
    X, groups = two_groups_and_a_failed_sample()
    model = ConsensusClustering(2, outliers="noise", random_state=0).fit(X)
    assert np.flatnonzero(model.labels_ == -1).tolist() == [128]
    assert model.sample_confidence_[128] == 0
    assert adjusted_rand_score(groups, model.labels_[:128]) == 1
    assert "1 outlier was set aside while the members were made, without a cluster (-1)." in str(
        model.verdict_
    )
    assert np.array_equal(model.predict(X)[:128], model.labels_[:128])
    assert model.predict(X)[128] in (0, 1)
    result = Result.of(model, X=X)
    assert result.labels[128] == -1
    assert result.explain(128).cluster == -1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            {"n_clusters": 2, "generator": "spectral"},
            "members that can label .* another generator=",
        ),
        ({"n_clusters": None}, "a number of clusters; set n_clusters=, or leave out outliers="),
    ],
)
def test_noise_needs_members_that_can_be_made_without_outliers(settings, says):
    model = ConsensusClustering(**settings, n_members=3, outliers="noise", random_state=0)
    with pytest.raises(ParameterError, match=f"labelling outliers as noise needs {says}"):
        model.fit(BLOBS.X[:60])


def test_nothing_is_set_aside_from_groups_of_some_size():
    model = ConsensusClustering(5, n_members=10, random_state=0).fit(BLOBS.X)
    assert not model.set_aside_.any()
    # too many would have to be set aside
    none = ConsensusClustering(5, n_members=10, min_cluster_size=400, random_state=0)
    with pytest.warns(UserWarning, match="so smaller clusters are kept; lower min_cluster_size"):
        none.fit(BLOBS.X)
    assert not none.set_aside_.any()
    assert np.array_equal(none.labels_, model.labels_)


# ---------------------------------------------------------------------- members and predictions


def test_a_whole_number_of_numpy_is_a_number_of_clusters():
    python = ConsensusClustering(5, n_members=10, random_state=0).fit(BLOBS.X)
    numpy = ConsensusClustering(np.int64(5), n_members=10, random_state=0).fit(BLOBS.X)
    assert numpy.pool_.member_names == python.pool_.member_names
    assert np.array_equal(numpy.labels_, python.labels_)


@pytest.mark.parametrize("generator", ["subsample", "features"])
def test_share_and_clusterer_reach_the_members(generator):
    rng = np.random.default_rng(0)
    axes = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    directions = np.repeat(axes, 40, axis=0) + 0.1 * rng.normal(size=(80, 4))
    # groups by direction, not by length
    X = directions * rng.uniform(1, 100, size=(80, 1))
    cosine = AgglomerativeClustering(metric="cosine", linkage="average")
    model = ConsensusClustering(
        2, generator=generator, share=0.75, clusterer=cosine, n_members=20, random_state=0
    ).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 40), model.labels_) > 0.9
    plans = model.pool_.plans
    assert all(isinstance(plan.estimator, AgglomerativeClustering) for plan in plans)
    sizes = {len(plan.rows if generator == "subsample" else plan.columns) for plan in plans}
    assert sizes == ({60} if generator == "subsample" else {3})
    assert clone(model).share == 0.75
    repeated = clone(model).fit(X)
    assert np.array_equal(repeated.labels_, model.labels_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0.5}, "share is only used with generator='subsample' or 'features'"),
        ({"clusterer": KMeans()}, "clusterer is only used with generator="),
        ({"generator": "subsample", "share": 0.0}, r"share must be a number in \(0, 1\] or None"),
        ({"generator": "subsample", "clusterer": KMeans}, "clusterer must be None or a"),
    ],
)
def test_share_and_clusterer_of_another_kind_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        ConsensusClustering(3, **settings).fit(BLOBS.X)


def test_clusterers_without_a_seed_get_one():
    clusterers = [KMeans(k, n_init=1) for k in (4, 5, 6, 5, 5)]
    one, two, other = (
        ConsensusClustering(5, generator=clusterers, random_state=seed).fit(BLOBS.X)
        for seed in (0, 0, 1)
    )
    assert one.ensemble_ == two.ensemble_
    assert one.ensemble_ != other.ensemble_
    assert all(clusterer.random_state is None for clusterer in clusterers)
    # equal clusterers are different members
    assert one.pool_.plans[1].estimator.random_state != one.pool_.plans[3].estimator.random_state


def test_predictions_of_a_frame():
    table, kinds = customers()
    model = ConsensusClustering(3, random_state=0).fit(table)
    assert np.array_equal(model.predict(table), model.labels_)
    # neither the order nor columns that are not used matter
    turned = table[[*reversed(table.columns)]].drop(columns=["note", "customer_id"])
    assert np.array_equal(model.predict(turned), model.labels_)
    one_by_one = [model.predict(table.iloc[[i]])[0] for i in range(len(table))]
    assert np.array_equal(one_by_one, model.labels_)
    incomplete = with_gaps(table, share=0.3)
    assert adjusted_rand_score(kinds, model.predict(incomplete)) == 1
    new, new_kinds = customers(seed=5)
    assert adjusted_rand_score(new_kinds, model.predict(new)) == 1


def test_a_model_of_a_frame_pickles():
    table, _ = customers()
    table = with_gaps(table)
    model = ConsensusClustering(3, n_members=10, random_state=0).fit(table)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(table), model.predict(table))
    assert again.verdict_ == model.verdict_
    assert np.array_equal(again.features_of(table), model.features_of(table))


def test_every_member_fills_the_gaps_anew():
    table, _ = customers()
    table = with_gaps(table, share=0.4)
    one, two, other = (
        ConsensusClustering(3, n_members=10, random_state=seed).fit(table) for seed in (0, 0, 1)
    )
    assert len({plan.fill for plan in one.pool_.plans}) == 10
    assert one.ensemble_ == two.ensemble_
    assert {plan.fill for plan in one.pool_.plans} != {plan.fill for plan in other.pool_.plans}


# ---------------------------------------------------------------------- the verdict


def test_the_verdict_on_noise_and_on_blobs(five_blobs):
    noise = np.random.default_rng(0).normal(size=(200, 6))
    on_noise = ConsensusClustering(4, random_state=0).fit(noise).verdict_
    assert not on_noise.reliable
    assert on_noise.text.startswith("Don't rely on this partition")
    on_blobs = five_blobs.verdict_
    assert on_blobs.reliable
    assert not on_blobs.doubts
    assert on_noise.agreement < on_blobs.agreement


def test_confidence_falls_with_the_agreement():
    noise = np.random.default_rng(0).normal(size=(200, 6))
    model = ConsensusClustering(4, n_members=10, random_state=0).fit(noise)
    verdict = model.verdict_
    assert verdict.agreement < 0.9
    # a doubt counts like an agreement of one half
    assert verdict.doubts
    assert verdict.share == min(verdict.agreement, 0.5)
    of_votes = model.ensemble_.expand(model.solver_.cluster_votes_.confidence)
    assert np.allclose(model.sample_confidence_, of_votes * verdict.share)
    assert np.array_equal(Result.of(model).sample_confidence, model.sample_confidence_)


def test_no_structure_is_not_called_a_reliable_partition():
    noise = np.random.default_rng(0).uniform(size=(200, 3))
    with pytest.warns(UserWarning, match="no structure"):
        model = ConsensusClustering((2, 4), random_state=0).fit(noise)
    assert model.n_clusters_ == 1
    assert not model.verdict_.reliable
    assert str(model.verdict_) == (
        "No separate clusters were found. All samples are in one cluster, so there is no partition to "
        "rely on."
    )
    asked = ConsensusClustering(1, n_members=5, random_state=0).fit(noise).verdict_
    assert not asked.reliable
    assert "structure" not in asked.text


def test_of_one_member_nothing_is_known():
    model = ConsensusClustering(3, n_members=1, random_state=0).fit(BLOBS.X)
    assert np.isnan(model.verdict_.agreement)
    assert not model.verdict_.reliable
    assert not model.sample_confidence_.any()


def test_a_doubt_does_not_contradict_the_choice_of_the_number(monkeypatch):
    X = load("blobs").X
    doubt = "The clusters are not better separated than those of a single cloud."
    monkeypatch.setattr("coterie.consensus.steps.cloud_doubt", lambda *given: doubt)
    chosen = ConsensusClustering(n_members=10, random_state=0).fit(X)
    assert "borders" in chosen.selection_.evidence[5]
    assert "The choice of their number found 5 separated clusters, but" in str(chosen.verdict_)
    given = ConsensusClustering(5, n_members=10, random_state=0).fit(X)
    assert doubt in str(given.verdict_)


def test_a_wild_column_is_doubted_in_an_array_and_scaled_in_a_frame():
    pandas = pytest.importorskip("pandas")
    wild = np.column_stack([BLOBS.X, np.random.default_rng(0).normal(0, 1e4, 500)])
    with pytest.warns(
        UserWarning, match=r"1 column of 3 \(2\) makes up 99.9% .* Scale the columns"
    ):
        model = ConsensusClustering(5, n_members=5, random_state=0).fit(wild)
    assert not model.verdict_.reliable
    assert "1 column of 3 (2) makes up 99.9%" in model.verdict_.text
    assert model.sample_confidence_.max() <= 0.5
    assert "sure" not in model.explain(0).sentence
    frame = pandas.DataFrame(wild, columns=["east", "north", "noise"])
    assert not any(
        "column" in doubt
        for doubt in ConsensusClustering(5, n_members=5, random_state=0).fit(frame).verdict_.doubts
    )


@pytest.mark.parametrize(
    "settings",
    [{"prepare": "yes"}, {"min_cluster_size": 0}, {"min_cluster_size": 2.5}, {"prepare": KMeans()}],
)
def test_what_is_no_preparation_or_size(settings):
    (name,) = settings
    with pytest.raises(ParameterError, match=f"{name} must be"):
        ConsensusClustering(3, **settings).fit(BLOBS.X)


def test_every_diagnosis_and_a_stored_result_have_the_same_confidence(tmp_path):
    noise = np.random.default_rng(0).normal(size=(120, 4))
    model = ConsensusClustering(3, n_members=10, random_state=0).fit(noise)
    assert 0 < model.verdict_.agreement < 0.99
    confidence = model.sample_confidence_
    result = Result.of(model)
    result.save(tmp_path / "r.npz")
    for one in (model, result, Result.load(tmp_path / "r.npz")):
        assert np.allclose(one.diagnose_samples()["confidence"], confidence, rtol=1e-12)
        assert one.explain(7).confidence == pytest.approx(confidence[7], rel=1e-12)
        means = np.bincount(model.labels_, weights=confidence) / np.bincount(model.labels_)
        assert np.allclose(one.diagnose_clusters()["confidence"], means, rtol=1e-12)
        # the members are to blame for loose attachment only, not for the agreement
        assert ("lowers the confidence" in one.explain(7).sentence) == (
            "lowers the confidence" in model.solver_.explain(7).sentence
        )
