"""KCC against its literal form on samples, its utilities, and in the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble, ParameterError
from coterie.evaluate import ari, nmi
from coterie.solvers._label_kmeans import centres_at, centres_of, follow
from coterie.solvers.kcc import KCC, cost_table
from tests.builders import canonical, members_of_sizes
from tests.cases import degenerate
from tests.naive import kcc as naive
from tests.strategies import label_matrices

noisy = partial(members_of_sizes, repeats=2)

UTILITIES = ["U_c", "U_H", "U_cos", "U_Lp"]
T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


# ---------------------------------------------------------------- equal to the literal method


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("normalised", [False, True])
def test_the_literal_method_from_the_same_centres(utility, missing, normalised):
    ensemble = canonical(noisy(0, n=20, missing=missing)[0])
    raw = ensemble.expand(ensemble.labels).astype(np.int64)
    weights = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 1.0])
    if normalised:
        weights = naive.member_weights(raw, weights, utility)
    compared = 0
    for seed in range(4):
        drawn = np.random.default_rng(seed).choice(ensemble.n_microclusters, 3, replace=False)
        samples = [int(np.flatnonzero(ensemble.inverse == row)[0]) for row in drawn]
        try:
            expected, objectives = naive.kcc(raw, samples, 3, weights, utility)
        except ValueError:
            continue
        found = follow(
            ensemble,
            cost_table(utility, weights, 5.0),
            centres_at(ensemble, drawn),
            max_iter=100,
            tol=1e-5,
        )
        assert np.allclose(found.objectives, objectives, rtol=1e-9)
        assert np.array_equal(ensemble.expand(found.labels), expected)
        compared += 1
    assert compared >= 2


def test_normalised_weights_are_those_of_the_literal_method():
    labels, _ = noisy(1, missing=0.2)
    for utility in UTILITIES:
        model = KCC(3, utility=utility, normalised=True, random_state=0).fit(labels)
        expected = naive.member_weights(labels, np.ones(6), utility)
        assert np.allclose(model.member_weights_, expected / expected.sum())


def test_u_c_is_k_means_on_indicator_vectors():
    labels, _ = noisy(2)
    indicators = np.hstack([np.eye(column.max() + 1)[column] for column in labels.T])
    reference = KMeans(3, n_init=50, random_state=0).fit(indicators)
    model = KCC(3, utility="U_c", n_init=50, tol=0.0, random_state=0).fit(labels)
    assert model.objective_ == pytest.approx(reference.inertia_)
    assert ari(reference.labels_, model.labels_) == 1.0


# ---------------------------------------------------------------- objective and utility


@pytest.mark.parametrize("utility", UTILITIES)
@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_no_round_raises_the_objective_and_no_cluster_is_empty(utility, labels, data):
    ensemble = canonical(labels)
    c = data.draw(st.integers(1, ensemble.n_microclusters))
    drawn = np.random.default_rng(data.draw(st.integers(0, 99))).choice(
        ensemble.n_microclusters, c, replace=False
    )
    costs = cost_table(utility, np.ones(ensemble.n_members), 5.0)
    found = follow(ensemble, costs, centres_at(ensemble, drawn), max_iter=100, tol=0.0)
    assert (np.diff(found.objectives) <= 0).all()
    assert np.array_equal(np.unique(found.labels), np.arange(c))
    assert found.converged


@pytest.mark.parametrize("utility", ["U_c", "U_cos", "U_Lp"])
def test_the_utility_is_what_the_objective_leaves(utility):
    labels, _ = noisy(3)
    model = KCC(3, utility=utility, random_state=0).fit(labels)
    middle = naive.centres(labels, model.labels_, 3)
    sizes = np.bincount(model.labels_)
    value = [
        sum(
            s / len(labels) * naive.phi(centre[j], utility)
            for s, centre in zip(sizes, middle, strict=True)
        )
        for j in range(6)
    ]
    own = [
        naive.phi(naive.shares(labels, j, range(len(labels)), labels[:, j].max() + 1), utility)
        for j in range(6)
    ]
    assert np.allclose(model.member_utilities_, np.subtract(value, own))
    # distances sum to n (m - mean phi) for all three
    assert model.objective_ == pytest.approx(len(labels) * (6 - np.sum(value)))
    assert model.utility_ == pytest.approx(model.member_utilities_.sum())


def test_u_h_is_mutual_information():
    labels, _ = noisy(4)
    model = KCC(3, utility="U_H", random_state=0).fit(labels)
    for j in range(6):
        column = labels[:, j]
        joint = np.zeros((3, column.max() + 1))
        np.add.at(joint, (model.labels_, column), 1 / len(column))
        rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
        held = joint > 0
        information = (joint[held] * np.log2(joint[held] / (rows * columns)[held])).sum()
        assert model.member_utilities_[j] == pytest.approx(information)


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_small_example(utility):
    model = KCC(2, utility=utility, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    if utility == "U_c":
        assert model.objective_ == pytest.approx(4 / 3)
        split = Ensemble.from_labels(T6)
        costs = cost_table("U_c", np.ones(3), 5.0)
        other = Ensemble.from_labels(T6)
        apart = np.where(other.labels[:, 1] == other.labels[other.inverse[0], 1], 0, 1)
        table = split.incidence @ costs(split, centres_of(split, apart, 2))
        assert split.weights @ table[np.arange(3), apart] == pytest.approx(3.0)


def test_a_norm_of_two_is_the_cosine():
    labels, _ = noisy(5)
    one = KCC(3, utility="U_cos", random_state=0).fit(labels)
    two = KCC(3, utility="U_Lp", p=2.0, random_state=0).fit(labels)
    assert one.objective_ == pytest.approx(two.objective_)
    assert np.array_equal(one.labels_, two.labels_)


# ---------------------------------------------------------------- weights, holes, order


@pytest.mark.parametrize("utility", UTILITIES)
@settings(max_examples=10)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_weight_is_a_number_of_rows(utility, labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    one = KCC(c, utility=utility, random_state=0).fit(labels, sample_weight=repeats)
    two = KCC(c, utility=utility, random_state=0).fit(np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(one.labels_, repeats), two.labels_)
    assert one.objective_ == pytest.approx(two.objective_, abs=1e-9)


def test_a_member_weight_of_two_is_the_member_twice():
    labels, _ = noisy(6)
    rows = Ensemble.from_labels(labels)
    twice = Ensemble.from_labels(labels[:, [0, 1, 2, 3, 4, 5, 5]])
    drawn = np.arange(3)
    for utility in UTILITIES:
        one = follow(
            rows,
            cost_table(utility, np.array([1, 1, 1, 1, 1, 2.0]), 5.0),
            centres_at(rows, drawn),
            max_iter=100,
            tol=0.0,
        )
        two = follow(
            twice,
            cost_table(utility, np.ones(7), 5.0),
            centres_at(twice, drawn),
            max_iter=100,
            tol=0.0,
        )
        assert one.objective == pytest.approx(two.objective)


@pytest.mark.parametrize("utility", UTILITIES)
def test_shuffling_and_renaming(utility):
    labels, _ = noisy(7, missing=0.2)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    renamed = np.array(["d", "b", "a", "c", "e", None], dtype=object)[labels[samples][:, members]]
    one = KCC(3, utility=utility, random_state=0).fit(labels)
    two = KCC(3, utility=utility, random_state=0).fit(renamed)
    assert ari(one.labels_[samples], two.labels_) == 1.0
    assert np.array_equal(one.member_utilities_[members], two.member_utilities_)


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("utility", UTILITIES)
def test_finds_the_classes(utility, missing):
    labels, truth = noisy(8, n=90, n_members=9, missing=missing)
    found = KCC(3, utility=utility, random_state=0).fit_predict(labels)
    assert nmi(truth, found) > 0.7


# ---------------------------------------------------------------- corners


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("normalised", [False, True])
@degenerate
def test_degenerate_inputs(utility, normalised, labels, n_clusters, expected):
    model = KCC(n_clusters, utility=utility, normalised=normalised, random_state=0)
    assert model.fit_predict(labels).tolist() == expected


@pytest.mark.parametrize("utility", UTILITIES)
def test_members_without_a_sample_in_common(utility):
    labels = [[0, -1], [0, -1], [-1, 0], [-1, 0]]
    assert KCC(2, utility=utility, random_state=0).fit_predict(labels).tolist() == [0, 0, 1, 1]


def test_too_few_rounds_warn_once_and_the_callback_sees_every_round():
    labels, _ = noisy(9)
    seen = []
    with pytest.warns(ConvergenceWarning, match="KCC did not converge in 1 passes"):
        KCC(3, max_iter=1, utility="U_c", random_state=0, callback=seen.append).fit(labels)
    assert [record["pass"] for record in seen] == [1]


def test_parameters_outside_their_domains():
    with pytest.raises(ParameterError, match="KCC: utility must be one of 'U_H', 'U_c'"):
        KCC(2, utility="NMI").fit(T6)
    with pytest.raises(ParameterError, match=r"KCC: p must be a number in \(1, inf\)"):
        KCC(2, p=1.0).fit(T6)
