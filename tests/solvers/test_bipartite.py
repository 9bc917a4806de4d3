"""LWGP, USENC and HBGF against their literal forms on samples."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coterie import Ensemble, ParameterError
from coterie.evaluate import ari
from coterie.solvers.bipartite import HBGF, USENC
from coterie.solvers.locally_weighted import LWGP
from tests.builders import noisy_members
from tests.naive import bipartite as naive
from tests.naive import evidence
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=90, n_members=8, n_classes=3, n_labels=5, wrong=0.25, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
METHODS = [LWGP, USENC, HBGF]
every_method = pytest.mark.parametrize("method", METHODS)


def literal_rows(method, labels, c):
    """Points of k-means, samples first."""
    if method is LWGP:
        return naive.lwgp_rows(labels, c, 0.4)
    if method is USENC:
        return naive.transfer_cut_rows(naive.incidence(labels), c)
    return naive.hbgf_rows(labels, c)


def sample_rows(model):
    return model.ensemble_.expand(model.embedding_)


def all_rows(model):
    rows = sample_rows(model)
    return np.vstack([rows, model.cluster_embedding_]) if isinstance(model, HBGF) else rows


def products(rows):
    return rows @ rows.T


@every_method
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_literal_embedding_and_partition(method, seed, missing):
    labels, _ = noisy(seed, missing=missing)
    model = method(4, n_init=30, random_state=0).fit(labels)
    literal = literal_rows(method, labels, 4)
    n = len(labels)
    assert model.ensemble_.n_microclusters < n
    assert np.allclose(products(sample_rows(model)), products(literal[:n]), atol=1e-8)
    best, expected = naive.kmeans(literal, 4, seed)
    assert model.history_[0]["objective"] == pytest.approx(best)
    assert ari(expected[:n], model.component_labels_) == 1.0


def test_base_clusters_lie_where_the_literal_ones_do():
    labels, _ = noisy(5)
    model = HBGF(3, random_state=0).fit(labels)
    ours, literal = all_rows(model), naive.hbgf_rows(labels, 3)
    # the literal base clusters come by label, ours by first appearance from the heaviest row down
    n = len(labels)
    order = [
        n
        + int(model.ensemble_.cluster_offsets[j])
        + model.ensemble_.categories[j].tolist().index(q)
        for j, q, _ in evidence.base_clusters(labels)
    ]
    turned = ours[[*range(n), *order]]
    assert np.allclose(products(turned), products(literal), atol=1e-8)


def test_the_small_example():
    model = LWGP(2, random_state=0).fit(T6)
    assert np.abs(sample_rows(model)[[0, 2, 3]]).round(3).tolist() == [
        [0.635, 0.773],
        [0.783, 0.622],
        [0.768, 0.64],
    ]
    rows = sample_rows(USENC(2, random_state=0).fit(T6))
    assert np.abs(rows[[0, 2, 3]]).round(3).tolist() == [
        [0.665, 0.747],
        [0.902, 0.433],
        [0.74, 0.673],
    ]
    for method in METHODS:
        assert method(2, random_state=0).fit_predict(T6).tolist() == [0, 0, 0, 1, 1, 1]
    assert HBGF(2, partition="metis", random_state=0).fit_predict(T6).tolist() == [0, 0, 0, 1, 1, 1]


@every_method
def test_a_member_weight_of_two_is_the_member_twice(method):
    labels, _ = noisy(1)
    if method is LWGP:
        # the reliability of base clusters is not weighted, so it must not change: every member twice
        weight, twice = np.full(8, 2.0), np.hstack([labels, labels])
    else:
        weight, twice = np.array([2.0, 1, 1, 1, 1, 1, 1, 1]), np.hstack([labels, labels[:, :1]])
    one = method(3, random_state=0).fit(labels, member_weight=weight)
    other = method(3, random_state=0).fit(twice)
    assert np.allclose(products(sample_rows(one)), products(sample_rows(other)), atol=1e-8)
    assert one.history_[0]["objective"] == pytest.approx(other.history_[0]["objective"])
    assert ari(one.labels_, other.labels_) == 1.0


@every_method
@given(labels=label_matrices(min_samples=2), data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exactly_as_many_clusters_as_asked(method, labels, data):
    n_rows = len(np.unique(labels, axis=0))
    c = data.draw(st.integers(1, n_rows))
    model = method(c, random_state=0).fit(labels)
    assert model.n_clusters_ == c == len(np.unique(model.labels_))
    assert model.n_components_ <= c
    assert np.isfinite(all_rows(model)).all()


@every_method
@given(labels=label_matrices(missing=False), data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_member_is_returned(method, labels, data):
    member = labels[:, :1]
    assume(len(np.unique(member)) > 0)
    found = method(len(np.unique(member)), random_state=0).fit_predict(np.hstack([member] * 3))
    assert ari(member[:, 0], found) == 1.0


@every_method
# among so many parts some hold base clusters only
@pytest.mark.filterwarnings("ignore:HBGF arrived at:sklearn.exceptions.ConvergenceWarning")
def test_more_clusters_than_base_clusters(method):
    labels, _ = noisy(2, n=150, n_members=3, n_classes=2)
    model = method(20, random_state=0).fit(labels)
    assert model.ensemble_.n_base_clusters < 20 <= model.ensemble_.n_microclusters
    assert model.n_clusters_ == 20


@every_method
def test_reliable_noise_and_quality(method):
    labels, truth = noisy(3, n=300, n_members=15)
    assert ari(truth, method(3, random_state=0).fit_predict(labels)) > 0.95


def test_balanced_parts_are_balanced():
    labels, truth = noisy(4, n=300, n_members=15)
    model = HBGF(3, partition="metis", random_state=0).fit(labels)
    assert ari(truth, model.labels_) > 0.9
    assert np.bincount(model.labels_).max() < 1.2 * len(truth) / 3


def test_reliability_of_base_clusters_in_the_users_order():
    labels, _ = noisy(6)
    model = LWGP(3, random_state=0).fit(labels)
    ensemble = Ensemble.from_labels(labels)
    for (j, q, _), value in zip(
        evidence.base_clusters(labels), evidence.reliability(labels, 0.4), strict=True
    ):
        place = ensemble.cluster_offsets[j] + ensemble.categories[j].tolist().index(q)
        assert model.cluster_reliability_[place] == pytest.approx(value)
    assert model.member_weights_.sum() == pytest.approx(1)
    assert np.ptp(model.member_weights_) > 0
    assert (model.member_weights_ > 0).all()


def test_theta_without_bound_makes_lwgp_usenc():
    labels, _ = noisy(7)
    one, other = LWGP(3, theta=1e12, random_state=0), USENC(3, random_state=0)
    assert np.array_equal(one.fit_predict(labels), other.fit_predict(labels))


@pytest.mark.parametrize("pool", ["ecoli", "aggregation", "umist", "spf"])
def test_the_authors_labels_of_lwgp_are_a_resting_point(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file["lwgp"]
    for labels, theirs in zip(base, golden, strict=True):
        model = LWGP(len(np.unique(truth)), random_state=0).fit(labels)
        rows = sample_rows(model)
        # k-means in our embedding, started from their labels, stays; ours is never the worse optimum
        assert np.array_equal(naive.lloyd(rows, theirs), theirs)
        ours = naive.sum_of_squares(rows, model.labels_)
        assert ours <= naive.sum_of_squares(rows, theirs) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("method", "parameter", "value"),
    [
        (LWGP, "theta", 0),
        (LWGP, "n_init", 0),
        (USENC, "max_iter", 0),
        (HBGF, "partition", "hmetis"),
    ],
)
def test_a_parameter_outside_its_domain_is_named(method, parameter, value):
    with pytest.raises(ParameterError, match=rf"{method.__name__}: {parameter} must be"):
        method(2, **{parameter: value}).fit(T6)
