"""EAC against its literal form on samples, against SciPy, and in the corners."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.base import clone

from coterie import EAC, LWEA, Ensemble, LabelError, ParameterError
from coterie.datasets import load
from coterie.evaluate import ari
from coterie.trust import diagnose_samples
from tests.builders import noisy_members
from tests.naive import eac as naive
from tests.naive import evidence, trust
from tests.naive.rows import same_partition
from tests.strategies import label_matrices

LINKAGES = ["average", "complete", "single"]
POOLS = ["ecoli", "aggregation", "umist", "spf", "ls", "isolet", "kdd99_10p"]
T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def drawn(shared_data, pool, seed, n_members=12, at_most=1500):
    """Some members of a pool, on some of its samples where there are many."""
    with np.load(shared_data / "pools" / f"{pool}.npz") as file:
        members, classes = file["members"], file["gt"].ravel()
    rng = np.random.default_rng(seed)
    columns = rng.choice(members.shape[1], n_members, replace=False)
    rows = np.arange(len(members))
    if len(rows) > 2000:
        rows = np.sort(rng.choice(rows, at_most, replace=False))
    return members[np.ix_(rows, columns)].astype(np.int64), len(np.unique(classes))


def assert_literal(labels, n_clusters, link):
    ensemble = Ensemble.from_labels(labels)
    c = min(n_clusters, ensemble.n_microclusters)
    found = EAC(c, linkage=link).fit(ensemble).labels_
    expected = naive.literal(labels, c, ensemble.inverse, link)
    assert ari(expected, found) == 1.0
    assert len(np.unique(found)) == c


# ---------------------------------------------------------------- equal to the literal method


@pytest.mark.parametrize("link", ["average", "complete"])
@pytest.mark.parametrize("pool", POOLS)
def test_pools_give_the_literal_partition(shared_data, pool, link):
    labels, c = drawn(shared_data, pool, seed=0)
    assert_literal(labels, c, link)


@pytest.mark.parametrize("pool", ["ecoli", "aggregation", "umist"])
def test_other_draws_and_numbers_of_clusters(shared_data, pool):
    for seed, c in ((1, 2), (2, 5), (3, 30)):
        labels, _ = drawn(shared_data, pool, seed, n_members=4 + seed)
        assert_literal(labels, c, "average")


@pytest.mark.parametrize("pool", ["ecoli", "umist"])
def test_pools_with_missing_labels(shared_data, pool):
    labels, c = drawn(shared_data, pool, seed=4, n_members=8)
    holes = np.random.default_rng(4).random(labels.shape) < 0.2
    holes[holes.all(axis=1), 0] = False
    labels[holes] = -1
    assert_literal(labels, c, "average")
    assert_literal(labels, c, "complete")


@pytest.mark.parametrize("link", LINKAGES)
@given(labels=label_matrices(max_samples=10), data=st.data())
def test_ties_duplicates_and_missing_labels(link, labels, data):
    ensemble = Ensemble.from_labels(labels)
    c = data.draw(st.integers(1, ensemble.n_microclusters))
    model = EAC(c, linkage=link).fit(ensemble)
    assert same_partition(model.labels_, naive.exact(labels, c, ensemble.inverse, link))
    assert np.unique(model.labels_).tolist() == list(range(c))


# complete link is left out: all pairs that never meet tie at height 1, and SciPy goes by position
@pytest.mark.parametrize("link", ["average", "single"])
@pytest.mark.parametrize("seed", range(4))
def test_against_scipy_where_no_tie_matters(link, seed):
    # weights without common measure leave no two different sums of them equal
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 150)
    labels = np.where(rng.random((150, 9)) < 0.3, rng.integers(0, 4, (150, 9)), truth[:, None])
    weight = rng.random(9) + 0.5
    model = EAC(4, linkage=link).fit(labels, member_weight=weight)
    assert model.ensemble_.n_microclusters < 150
    apart = 1 - evidence.shares(labels, weight)
    reference = linkage(squareform(apart, checks=False), link)
    for c in (2, 4, 9):
        expected = cut_tree(reference, n_clusters=c)[:, 0]
        found = EAC(c, linkage=link).fit_predict(model.ensemble_)
        assert ari(expected, found) == 1.0
    top = model.dendrogram_.heights
    assert np.allclose(reference[-len(top) :, 2], top)


# ---------------------------------------------------------------- small examples


@pytest.mark.parametrize("link", LINKAGES)
def test_the_small_example(link):
    model = EAC(2, linkage=link).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    if link == "average":
        assert np.allclose(model.dendrogram_.heights, [1 / 3, 8 / 9])


def test_the_small_example_with_a_hole():
    holed = T6.copy()
    holed[2, 1] = -1
    model = EAC(2).fit(holed)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert np.allclose(model.dendrogram_.heights, [0, 1])


def test_fitted_attributes_of_the_small_example():
    model = EAC(2).fit(T6)
    assert model.n_clusters_ == 2
    assert model.converged_ is True
    assert model.n_iter_ == len(model.history_) == 1
    assert model.history_[0]["objective"] == pytest.approx(1 / 3)
    assert np.allclose(model.member_weights_, 1 / 3)
    assert model.n_features_in_ == 3
    assert model.ensemble_ == Ensemble.from_labels(T6)
    # the lone sample: membership 2/3 in its cluster, 1/3 in the other; mean co-association 2/3 with
    # the others of its cluster, where 5/6 is the median
    lone = 1 / 2 * (4 / 5) ** 0.25
    of_votes = np.array([1, 1, lone, 7 / 8, 7 / 8, 7 / 8])
    assert np.allclose(model.sample_confidence_, of_votes * model.verdict_.share)
    assert model.verdict_.share > 0


def test_confidence_is_own_membership_against_the_next_best_less_where_loosely_attached():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, (60, 7))
    labels[:, 0] = rng.integers(0, 4, 60)
    model = EAC(5).fit(labels)
    soft = trust.soft_labels(labels, model.labels_, 5, np.ones(7))
    assert np.allclose(model.soft_labels(), soft)
    expected = trust.confidence(labels, model.labels_, soft, np.ones(7))
    of_votes = diagnose_samples(model.ensemble_, model.labels_)["confidence"]
    assert np.allclose(of_votes, expected, atol=1e-12)


def test_member_weights_are_those_of_the_ensemble_in_the_users_order():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (40, 6))
    weight = np.array([1, 2, 3, 4, 5, 6.0])
    model = EAC(3).fit(labels, member_weight=weight)
    assert np.allclose(model.member_weights_, weight / 21)
    assert model.ensemble_.member_weight.tolist() == weight.tolist()


# ---------------------------------------------------------------- number of clusters


@given(labels=label_matrices(min_samples=2))
def test_the_lifetime_criterion(labels):
    model = EAC().fit(labels)
    n, top = len(labels), model.ensemble_.n_microclusters
    heights = [0.0] * (n - top) + model.dendrogram_.heights.tolist()
    # the solution of k clusters lives from merge n - k to the next, height 0 standing before the first
    ends = [0.0, *heights]
    lives = {k: ends[n - k + 1] - ends[n - k] for k in range(2, min(top, n - 1) + 1)}
    if lives:
        longest = max(lives.values())
        expected = min(k for k, life in lives.items() if life > longest - 1e-9)
    else:
        expected = top
    assert model.n_clusters_ == expected


def test_the_lifetime_criterion_finds_clear_groups():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 12)
    labels = np.where(rng.random((60, 15)) < 0.05, rng.integers(0, 5, (60, 15)), truth[:, None])
    assert same_partition(EAC().fit_predict(labels), truth)


@pytest.mark.parametrize("link", LINKAGES)
def test_the_ends_of_the_range(link):
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 3, (50, 3))
    ensemble = Ensemble.from_labels(labels)
    assert set(EAC(1, linkage=link).fit_predict(ensemble)) == {0}
    every = EAC(ensemble.n_microclusters, linkage=link).fit_predict(ensemble)
    assert same_partition(every, ensemble.inverse)


def test_more_clusters_than_distinct_rows():
    with pytest.raises(
        ParameterError,
        match=r"EAC: n_clusters is 4, but the samples \(n_samples=6\) have only 3 distinct label rows; ask",
    ):
        EAC(4).fit(T6)


@pytest.mark.parametrize("n_clusters", [0, -1, 2.0, "2", True])
def test_numbers_of_clusters_that_are_none(n_clusters):
    with pytest.raises(
        ParameterError, match="EAC: n_clusters must be a whole number of at least 1"
    ):
        EAC(n_clusters).fit(T6)


def test_unknown_linkage():
    with pytest.raises(ParameterError, match="linkage must be one of 'average', 'complete', 'sin"):
        EAC(2, linkage="ward").fit(T6)


# ---------------------------------------------------------------- degenerate ensembles


@pytest.mark.parametrize("link", LINKAGES)
@pytest.mark.parametrize("c", [2, None])
def test_members_that_agree_are_returned(link, c):
    truth = np.array([1, 1, 0, 0, 1])
    assert EAC(c, linkage=link).fit_predict(np.stack([truth] * 4, axis=1)).tolist() == [
        0,
        0,
        1,
        1,
        0,
    ]


def test_one_member_with_one_cluster():
    model = EAC().fit([[7], [7]])
    assert model.labels_.tolist() == [0, 0]
    assert model.sample_confidence_.tolist() == [1, 1]


def test_one_sample():
    assert EAC().fit_predict([[0, 1]]).tolist() == [0]


def test_a_member_that_says_nothing_or_all():
    labels = np.column_stack([T6, np.zeros(6, int), np.arange(6)])
    assert EAC(2).fit_predict(labels).tolist() == [0, 0, 0, 1, 1, 1]


def test_samples_that_nobody_saw_together():
    labels = [[0, -1], [0, -1], [-1, 0], [-1, 0]]
    assert EAC(2).fit_predict(labels).tolist() == [0, 0, 1, 1]


# ---------------------------------------------------------------- the estimator


def test_an_ensemble_and_its_labels_are_the_same_input():
    assert EAC(2).fit_predict(T6).tolist() == EAC(2).fit_predict(Ensemble.from_labels(T6)).tolist()


def test_weights_belong_to_an_ensemble():
    with pytest.raises(LabelError, match="sample_weight and member_weight belong to the Ensemble"):
        EAC(2).fit(Ensemble.from_labels(T6), sample_weight=np.ones(6))


def test_fit_takes_weights_with_raw_labels():
    weighted = EAC(2).fit(T6, sample_weight=[1, 1, 1, 5, 5, 5])
    assert weighted.ensemble_.weights.tolist() == [15, 2, 1]


def test_cloning_and_pickling():
    model = EAC(2, linkage="single", memory_budget="1GB")
    assert clone(model).get_params() == model.get_params()
    fitted = model.fit(T6)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.labels_.tolist() == fitted.labels_.tolist()
    assert again.ensemble_ == fitted.ensemble_


def test_labels_are_numbered_by_first_appearance():
    rng = np.random.default_rng(3)
    found = EAC(6).fit_predict(rng.integers(0, 4, (80, 5)))
    _, first = np.unique(found, return_index=True)
    assert (np.diff(first) > 0).all()


def test_more_clusters_than_any_member_has_are_a_warning():
    # members that only agree by chance, as runs on noise do
    noise = np.random.default_rng(0).integers(12, size=(700, 36))
    with pytest.warns(
        UserWarning, match=r"EAC chose (\d+) clusters, more than any member has"
    ) as seen:
        found = EAC().fit(noise)
    assert len(seen) == 1
    assert found.n_clusters_ > 12
    assert f"EAC chose {found.n_clusters_} clusters" in str(seen[0].message)
    assert not found.verdict_.reliable
    # no word where the number is given, or the members agree
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EAC(12).fit(noise)
        EAC().fit(np.repeat(np.arange(60)[:, None] % 3, 5, axis=1))


def test_features_given_as_labels_are_a_question():
    digits = load("digits").X[:400].astype(float)
    with pytest.warns(UserWarning, match="if they are features, use ConsensusClustering"):
        LWEA(10).fit(digits)
    # clusterings with whole floats as labels are not questioned
    labels, _ = noisy_members(0, n=90, n_members=8, wrong=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LWEA(3).fit(labels.astype(float))
