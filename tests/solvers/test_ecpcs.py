"""ECPCS-HC and ECPCS-MC against their literal forms, the authors' runs, and in the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import EAC, Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import ari
from coterie.numerics.linkage import weighted_linkage
from coterie.solvers.ecpcs import ECPCSHC, ECPCSMC, group_votes
from coterie.solvers.similarity import SimilarityConsensus
from tests.builders import in_literal_order, noisy_members
from tests.naive import ecpcs as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=40, n_members=7, n_classes=3, n_labels=4, wrong=0.25, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
POOLS = ["ecoli", "aggregation", "umist", "spf"]
both = pytest.mark.parametrize("method", [ECPCSHC, ECPCSMC])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_steps", [2, 20])
def test_the_literal_partition(seed, missing, n_steps):
    labels, _ = noisy(seed, missing=missing)
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters < len(labels)
    # partial rows tie at 0 without being alike in turn: one order of ties for both
    order = np.argsort(ensemble.inverse, kind="stable")
    apart = 1 - naive.similarity(labels[order], n_steps)
    raw = weighted_linkage(apart, np.ones(len(order)), "average")
    for c in (3, 6):
        model = ECPCSHC(c, n_steps=n_steps).fit(labels)
        assert ari(raw.cut(c), model.labels_[order]) == 1.0
        if not missing:
            assert ari(naive.hierarchical(labels, c, n_steps), model.labels_) == 1.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_literal_groups_and_votes(seed, missing):
    labels, _ = noisy(seed, missing=missing)
    model = ECPCSMC(3, n_init=1000, random_state=0).fit(labels)
    order = in_literal_order(labels, model.ensemble_)
    rows = naive.embedding(naive.cluster_similarity(labels, 20), 3)
    ours = model.cluster_embedding_[order]
    assert np.allclose(ours @ ours.T, rows @ rows.T, atol=1e-8)
    # started at every base cluster, the best is the best of the literal ones
    found = [naive.rotate(rows, first) for first in range(len(rows))]
    best = max(reached for _, reached in found)
    assert model.history_[0]["objective"] == pytest.approx(best / len(rows))
    groups = model.cluster_groups_[order]
    assert any(ari(other, groups) == 1.0 for other, reached in found if reached > best * (1 - 1e-9))
    votes = naive.votes(labels, groups, 3)
    assert np.allclose(model.ensemble_.expand(model.votes_), votes)
    assert ari(votes.argmax(axis=1), model.component_labels_) == 1.0


@pytest.mark.parametrize("pool", POOLS)
def test_the_authors_labels(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file["ecpcs_hc"]
    for labels, theirs in zip(base, golden, strict=True):
        assert ari(theirs, ECPCSHC(len(np.unique(truth))).fit_predict(labels)) == 1.0


@pytest.mark.parametrize("pool", ["ecoli", "aggregation", "umist"])
def test_the_authors_labels_of_mc_are_those_of_some_start(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file["ecpcs_mc"]
    c = len(np.unique(truth))
    for labels, theirs in zip(base, golden, strict=True):
        model = ECPCSMC(c, random_state=0).fit(labels)
        # the program starts at one row drawn at random: some row leads to its labels
        assert any(
            ari(theirs, _started_at(model, first, c)) == 1.0
            for first in range(len(model.cluster_embedding_))
        )


def _started_at(model, first, c):
    groups, _ = naive.rotate(model.cluster_embedding_, first, rounds=20)
    held = model.ensemble_.incidence @ np.eye(c)[groups]
    votes = held / np.maximum(np.bincount(groups, minlength=c), 1)
    return model.ensemble_.expand(votes.argmax(axis=1))


def test_the_small_example():
    model = ECPCSHC(2).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    # average of (b, d) and (a, d), a having two samples
    upper = 1 - (0.7654 + 2 * 0.6688) / 3
    assert model.dendrogram_.heights == pytest.approx([1 - 0.9034, upper], abs=1e-4)
    model = ECPCSMC(2, random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert sorted(model.ensemble_.expand(model.votes_)[2]) == pytest.approx([1 / 3, 2 / 3])


def test_hc_is_a_similarity_and_a_linkage():
    labels, _ = noisy(3, missing=0.1)
    same = SimilarityConsensus(3, evidence="ecpcs", partition="average")
    assert np.array_equal(ECPCSHC(3).fit_predict(labels), same.fit_predict(labels))


def test_a_group_that_wins_nobody_is_made_up_for():
    # two groups of base clusters, and a third that holds a member's single-sample clusters only
    labels = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 2], [1, 1, 3]])
    with pytest.warns(ConvergenceWarning, match="ECPCSMC arrived at 2 components instead of 4"):
        model = ECPCSMC(4, random_state=0).fit(labels)
    assert model.n_components_ == 2
    assert model.n_clusters_ == 4


def test_member_weights_count_in_the_votes():
    labels = np.array([[0, 0], [0, 1], [1, 1]])
    ensemble = Ensemble.from_labels(labels, member_weight=[3.0, 1.0])
    first = ensemble.labels[ensemble.inverse[0]] + ensemble.cluster_offsets[:-1]
    groups = np.ones(4, dtype=int)
    groups[first] = 0
    votes = group_votes(ensemble, groups)[ensemble.inverse]
    assert votes.tolist() == [[1.0, 0.0], [0.75, 0.25], [0.0, 1.0]]


@both
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_finds_what_members_agree_on(method, missing):
    labels, truth = noisy(6, n_members=14, missing=missing)
    assert ari(truth, method(3, random_state=0).fit_predict(labels)) > 0.9


@both
@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exactly_as_many_clusters_as_asked(method, labels, data):
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    model = method(c, random_state=0).fit(labels)
    assert len(np.unique(model.labels_)) == c
    assert model.n_components_ <= c


@both
@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_repeated_rows_are_weights(method, labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    weighted = method(c, random_state=0).fit(labels, sample_weight=repeats)
    repeated = method(c, random_state=0).fit(np.repeat(labels, repeats, axis=0))
    assert ari(np.repeat(weighted.labels_, repeats), repeated.labels_) == 1.0


@both
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_order_and_names_do_not_matter(method, missing):
    labels, _ = noisy(7, missing=missing)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    names = np.array(["", "d", "c", "b", "a"])
    shuffled = np.where(labels < 0, None, names[labels + 1])[samples][:, members]
    one = method(4, random_state=0).fit(labels)
    other = method(4, random_state=0).fit(shuffled)
    assert ari(one.labels_[samples], other.labels_) == 1.0


@both
@settings(max_examples=15)
@given(labels=label_matrices(missing=False))
def test_one_member_is_returned(method, labels):
    one = labels[:, :1]
    assume(len(np.unique(one)) > 1)
    found = method(len(np.unique(one)), random_state=0).fit_predict(one)
    assert ari(one[:, 0], found) == 1.0


def test_one_member_leaves_nothing_to_propagate():
    labels = np.array([[0], [0], [1], [2], [2], [2]])
    heights = ECPCSHC(2).fit(labels).dendrogram_.heights
    assert np.array_equal(heights, EAC(2).fit(labels).dendrogram_.heights)


def test_two_members():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    labels = np.column_stack([np.where(rng.random(60) < 0.1, rng.integers(0, 3, 60), truth)] * 2)
    labels[::15, 1] = rng.integers(0, 3, 4)
    model = ECPCSMC(3, random_state=0).fit(labels)
    assert ari(truth, model.labels_) > 0.7
    # each group holds a base cluster of either member
    assert sorted(model.cluster_groups_[:3]) == sorted(model.cluster_groups_[3:]) == [0, 1, 2]


@both
def test_degenerate_inputs(method):
    assert method(1, random_state=0).fit_predict([[0, 1], [1, 1]]).tolist() == [0, 0]
    assert method(1, random_state=0).fit_predict([[3, 4]]).tolist() == [0]
    alone = [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 3, 1], [1, 4, 1], [1, 5, 1]]
    assert method(2, random_state=0).fit_predict(alone).tolist() == [0, 0, 0, 1, 1, 1]
    same = [[0] * 4, [0] * 4, [1] * 4, [2] * 4]
    assert method(3, random_state=0).fit_predict(same).tolist() == [0, 0, 1, 2]


@both
def test_refuses_with_reasons(method):
    with pytest.raises(ParameterError, match=rf"{method.__name__}: n_steps must be"):
        method(2, n_steps=0).fit(T6)
    with pytest.raises(MemoryBudgetError, match="base clusters"):
        method(2, memory_budget=10).fit(T6)
