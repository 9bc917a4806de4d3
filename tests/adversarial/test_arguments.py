"""A value of the wrong kind is refused by an error of coterie's own, wherever it is given."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import (
    KCC,
    LWEA,
    MCLA,
    RCE,
    RSECH,
    SCCBG,
    ConsensusClustering,
    Ensemble,
    LabelError,
    ParameterError,
    evidence,
    generate,
    memory_budget,
    plot,
    select_k,
)
from coterie_bench import pictures
from tests.adversarial import arguments
from tests.adversarial.numerics import noisy

CALLS = {**dict(arguments.of_functions()), **dict(arguments.of_pictures())}


@pytest.mark.parametrize("called", [*CALLS])
def test_every_argument_of_a_function(called):
    _attack(CALLS[called])


@pytest.mark.parametrize("name", ["eac", "lwea", "kcc", "spce", "pta"])
def test_every_parameter_of_a_method(name):
    ((_, call),) = arguments.of_methods([name])
    _attack(call)


def _attack(call):
    for argument in call[1]:
        for value in arguments.OTHERS:
            if not arguments.is_callable_of_another_kind(argument, value):
                arguments.attack(call, argument, value)


@pytest.mark.parametrize("value", [-1, True, 0.5, "7", [1, 2]])
def test_what_is_no_seed(value):
    with pytest.raises(ParameterError, match="random_state must be None, a whole number of at"):
        LWEA(2, random_state=value).fit(arguments.LABELS)
    with pytest.raises(ParameterError, match="random_state must be None, a whole number of at"):
        generate.kmeans_pool(arguments.FEATURES, 2, random_state=value)


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_numbers_beyond_floats_are_out_of_every_domain(value):
    with pytest.raises(ParameterError, match="theta must be a number in"):
        LWEA(2, theta=value).fit(arguments.LABELS)
    with pytest.raises(ParameterError, match="memory_budget must be"):
        memory_budget(value)


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2", 10**6])
def test_what_is_no_number_of_jobs(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must be None or a whole number other than 0"):
        generate.kmeans_pool(arguments.FEATURES, 2, n_jobs=n_jobs)
    with pytest.raises(ParameterError, match="n_jobs must be None or a whole number other than 0"):
        select_k(arguments.ENSEMBLE, [2], n_jobs=n_jobs)


def test_raw_labels_are_no_ensemble():
    with pytest.raises(ParameterError, match=r"ensemble must be an Ensemble, .*from_labels"):
        evidence.coassociation(arguments.LABELS)


def test_labels_of_a_clusterer_are_not_rounded():
    class Halves:
        def get_params(self, deep=True):
            return {}

        def fit_predict(self, X):
            return np.arange(len(X)) / 2

    with pytest.raises(ValueError, match="that are not whole numbers"):
        generate.from_estimators(arguments.FEATURES, [Halves()])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([14], "no row 14; there are 14"),
        ([-15], "no row -15"),
        ([True, False], "the mask has 2 entries for 14 samples"),
        ([0.5], "must be positions"),
        (3, "must be positions"),
    ],
)
def test_rows_that_are_not_there(rows, message):
    with pytest.raises(LabelError, match=message):
        arguments.ENSEMBLE.subset(rows)


def test_labels_that_cannot_be_compared():
    with pytest.raises(LabelError, match="row 0: tuple values cannot be labels"):
        Ensemble.from_members([[(1, [2]), "a"]])


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([float("nan"), 1.0], "sample_ids, row 0: the id is missing"),
        ([[1], [2]], r"sample_ids, row 0: \[1\] is not a valid sample id"),
        ([None, "a"], "sample_ids, row 0: the id is missing"),
    ],
)
def test_values_that_are_not_ids(ids, message):
    given = np.empty(2, dtype=object)
    given[:] = ids
    with pytest.raises(LabelError, match=message):
        Ensemble.from_labels([[0], [1]], sample_ids=given)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.uint8, object])
def test_weights_of_any_number_type(dtype):
    plain = LWEA(2).fit(arguments.LABELS, sample_weight=np.arange(1, 15))
    given = LWEA(2).fit(arguments.LABELS, sample_weight=np.arange(1, 15).astype(dtype))
    np.testing.assert_array_equal(given.labels_, plain.labels_)
    np.testing.assert_array_equal(given.ensemble_.weights, plain.ensemble_.weights)


def test_masked_weights_are_not_read_through_the_mask():
    weights = np.ma.MaskedArray(np.ones(arguments.ROWS), mask=np.arange(arguments.ROWS) == 3)
    with pytest.raises(LabelError, match="sample_weight has masked entries"):
        LWEA(2).fit(arguments.LABELS, sample_weight=weights)


@pytest.mark.parametrize("scale", [1e-300, 1e160, 1e300])
@pytest.mark.parametrize("generator", ["kmeans", "subsample", "features", "spectral"])
def test_features_whose_squares_leave_the_range(generator, scale):
    model = ConsensusClustering(2, n_members=2, generator=generator, random_state=0)
    with pytest.raises(ValueError, match=r"X holds .* rescale (it|X), for example with"):
        model.fit(arguments.FEATURES * scale)


@pytest.mark.parametrize(("fitted", "asked"), [("f8", "f4"), ("f4", "f8"), ("f8", "i8")])
def test_new_rows_of_another_precision(fitted, asked):
    features = np.rint(8 * arguments.FEATURES)
    model = ConsensusClustering(2, n_members=3, random_state=0).fit(features.astype(fitted))
    np.testing.assert_array_equal(model.predict(features.astype(asked)), model.labels_)


def test_similarity_by_links_with_weights_below_one():
    labels = noisy(30, 5, 3, 0, 0.2)
    light = Ensemble.from_labels(labels, sample_weight=np.full(30, 1e-6))
    found = evidence.simrank(light)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("p", [1e3, 1e12, 1e300])
def test_norms_of_any_power(p):
    labels = noisy(30, 5, 4, 0)
    for normalised in (False, True):
        assert KCC(3, utility="U_Lp", p=p, normalised=normalised).fit(labels).n_clusters_ == 3


def test_the_loosest_balance():
    labels = noisy(30, 5, 4, 0)
    weights = np.full(30, 1e12)
    model = MCLA(3, imbalance=1e300, random_state=0).fit(labels, sample_weight=weights)
    assert model.n_clusters_ == 3


@pytest.mark.parametrize(
    ("method", "parameter"),
    [(RCE, "lam1"), (RCE, "lam2"), (RSECH, "lam1"), (RSECH, "lam2"), (SCCBG, "gamma")],
)
def test_terms_beside_which_the_others_are_rounding(method, parameter):
    with pytest.raises(ParameterError, match=rf"{parameter} must be a number in \[.*1e\+12\]"):
        method(2, **{parameter: 1e300}).fit(arguments.LABELS)


def test_ranks_that_nothing_joins():
    ax = pictures.ranks(["a", "b"], [1.0, 1.0], 0.0)
    assert [line for line in ax.lines if line.get_gid() == "group"] == []


def test_more_clusters_than_colours():
    colours = plot.palette(3000)
    assert len(colours) == 3000
    assert colours[120:240] == colours[:120]
