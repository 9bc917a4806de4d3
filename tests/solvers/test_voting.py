"""Majority voting: renamings against all of them, the rise of agreement, and the corners."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble
from coterie.evaluate import ari, nmi
from coterie.solvers import voting as steps
from coterie.solvers.voting import MajorityVoting
from tests.builders import members_of_sizes
from tests.naive import voting as naive
from tests.strategies import label_matrices

noisy = partial(members_of_sizes, repeats=2)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def by_member(ensemble, names):
    ends = ensemble.cluster_offsets
    return [names[ends[j] : ends[j + 1]] for j in range(ensemble.n_members)]


# ---------------------------------------------------------------- the steps


@pytest.mark.parametrize("cover", [False, True])
@settings(max_examples=60)
@given(labels=label_matrices(max_members=3), data=st.data())
def test_no_renaming_overlaps_more(cover, labels, data):
    ensemble = Ensemble.from_labels(labels)
    c = data.draw(st.integers(1, 3))
    draw = st.lists(
        st.integers(-1, c - 1), min_size=ensemble.n_microclusters, max_size=ensemble.n_microclusters
    )
    z = np.array(data.draw(draw))
    names = by_member(ensemble, steps.rename(ensemble, z, c, cover=cover))
    raw, partition = ensemble.expand(ensemble.labels), ensemble.expand(z)
    for j in range(ensemble.n_members):
        held = sum(
            names[j][raw[i, j]] == partition[i]
            for i in range(len(raw))
            if raw[i, j] >= 0 and partition[i] >= 0
        )
        assert held == naive.best_overlap(raw, j, partition, c, cover)


@given(labels=label_matrices(max_members=4), data=st.data())
def test_votes_are_counted_one_by_one(labels, data):
    ensemble = Ensemble.from_labels(labels)
    k, c = ensemble.n_base_clusters, 3
    names = np.array(data.draw(st.lists(st.integers(-1, c - 1), min_size=k, max_size=k)))
    found = steps.winners(steps.count_votes(ensemble, names, c))
    raw = ensemble.expand(ensemble.labels)
    expected = naive.vote(raw, by_member(ensemble, names), c, np.ones(ensemble.n_members))
    assert np.array_equal(ensemble.expand(found), expected)


def test_the_reference_is_the_member_that_agrees_most():
    labels, _ = noisy(0, sizes=(3, 4, 3))
    model = MajorityVoting(3).fit(labels)
    of_three = [j for j in range(6) if labels[:, j].max() == 2]
    mean = {
        j: np.mean([nmi(labels[:, j], labels[:, i]) for i in range(6) if i != j]) for j in of_three
    }
    assert model.reference_ == f"member_{max(mean, key=mean.get)}"
    # none has two clusters
    assert MajorityVoting(2, random_state=0).fit(labels).reference_ == steps.CONSENSUS


@quiet
@pytest.mark.parametrize("reference", ["member", "consensus"])
@pytest.mark.parametrize("cover", [False, True])
@settings(max_examples=30)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_agreement_rises_until_it_settles(reference, cover, labels, data):
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MajorityVoting(c, reference=reference, cover=cover, random_state=0).fit(labels)
    shares = [record["objective"] for record in model.history_]
    assert (np.diff(shares) > 0).all()
    assert 0 < shares[-1] <= 1
    assert np.array_equal(np.unique(model.labels_), np.arange(c))


# ---------------------------------------------------------------- examples


def test_the_small_example():
    model = MajorityVoting(2).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.objective_ == pytest.approx(17 / 18)
    assert model.converged_ is True


def test_the_small_example_with_a_hole():
    holed = T6.copy()
    holed[2, 1] = -1
    model = MajorityVoting(2).fit(holed)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.objective_ == 1.0


def test_a_single_vote_does_not_warn():
    labels, _ = noisy(1)
    model = MajorityVoting(3, max_iter=1, random_state=0).fit(labels)
    assert model.n_iter_ == 1


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_finds_the_classes(missing):
    labels, truth = noisy(2, n=90, n_members=9, missing=missing)
    assert ari(truth, MajorityVoting(3, random_state=0).fit_predict(labels)) > 0.8


def test_base_clusters_that_meet_no_name_are_merged_in():
    # the reference knows the first two samples only, and nothing links the others to them
    with pytest.warns(ConvergenceWarning, match="arrived at 2 components instead of 1"):
        model = MajorityVoting(1).fit([[0, -1], [0, -1], [-1, 0], [-1, 0]])
    assert model.labels_.tolist() == [0, 0, 0, 0]
    assert model.component_labels_.tolist() == [0, 0, 1, 1]


# ---------------------------------------------------------------- weights, order, corners


@quiet
@settings(max_examples=25)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_weight_is_a_number_of_rows(labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = MajorityVoting(c, random_state=0).fit(labels, sample_weight=repeats)
        two = MajorityVoting(c, random_state=0).fit(np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(one.labels_, repeats), two.labels_)
    assert one.objective_ == pytest.approx(two.objective_)


def test_votes_count_with_the_weight_of_their_member():
    # the first member is the reference of weight 3 and outvotes the others
    labels = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 1, 1], [1, 1, 1]])
    assert MajorityVoting(2).fit_predict(labels).tolist() == [0, 0, 0, 1, 1]
    heavy = MajorityVoting(2).fit(labels, member_weight=[3, 1, 1])
    assert heavy.labels_.tolist() == [0, 0, 1, 1, 1]


def test_shuffling_and_renaming():
    labels, _ = noisy(3, missing=0.2)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    renamed = np.array(["d", "b", "a", "c", "e", None], dtype=object)[labels[samples][:, members]]
    one = MajorityVoting(3).fit(labels)
    two = MajorityVoting(3).fit(renamed)
    assert ari(one.labels_[samples], two.labels_) == 1.0
    assert one.objective_ == two.objective_


@quiet
def test_members_without_a_sample_in_common():
    labels = [[0, -1], [0, -1], [-1, 0], [-1, 0]]
    assert MajorityVoting(2, random_state=0).fit_predict(labels).tolist() == [0, 0, 1, 1]
