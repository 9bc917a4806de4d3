"""LCE against its literal form on samples, and in the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import ari
from coterie.evidence.links import linked_clusters
from coterie.solvers.bipartite import HBGF
from coterie.solvers.lce import LCE, refined_matrix
from tests.builders import in_literal_order, noisy_members
from tests.naive import bipartite
from tests.naive import links as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=40, n_members=6, n_classes=3, n_labels=4, wrong=0.25, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
every_kind = pytest.mark.parametrize("kind", ["triples", "quality"])


@every_kind
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_literal_embedding_and_partition(kind, seed, missing):
    labels, _ = noisy(seed, missing=missing)
    model = LCE(3, links=kind, decay=0.7, n_init=200, random_state=0).fit(labels)
    literal = naive.lce_rows(labels, 3, kind, 0.7)
    n = len(labels)
    assert model.ensemble_.n_microclusters < n
    ours = np.vstack(
        [
            model.ensemble_.expand(model.embedding_),
            model.cluster_embedding_[in_literal_order(labels, model.ensemble_)],
        ]
    )
    assert np.allclose(ours @ ours.T, literal @ literal.T, atol=1e-8)
    best, expected = bipartite.kmeans(literal, 3, seed)
    assert model.history_[0]["objective"] == pytest.approx(best)
    assert ari(expected[:n], model.component_labels_) == 1.0


@settings(max_examples=40)
@given(
    labels=label_matrices(max_samples=9, max_members=4),
    kind=st.sampled_from(["triples", "quality"]),
)
def test_the_literal_refined_matrix(labels, kind):
    ensemble = Ensemble.from_labels(labels)
    similarity = 0.9 * linked_clusters(ensemble, kind)
    np.fill_diagonal(similarity, 1.0)
    refined = refined_matrix(ensemble, similarity)[ensemble.inverse]
    order = in_literal_order(labels, ensemble)
    np.testing.assert_allclose(refined[:, order], naive.refined(labels, kind, 0.9), atol=1e-12)


def test_the_small_example():
    assert LCE(2, random_state=0).fit_predict(T6).tolist() == [0, 0, 0, 1, 1, 1]
    # by hand, decay 0.8: a's own clusters 1, the other ones 0.8 times 0.5, 1, 0.5
    ensemble = Ensemble.from_labels(T6)
    similarity = 0.8 * linked_clusters(ensemble)
    np.fill_diagonal(similarity, 1.0)
    row = refined_matrix(ensemble, similarity)[ensemble.inverse[0]]
    assert sorted(row.tolist()) == pytest.approx([0.4, 0.4, 0.8, 1.0, 1.0, 1.0])


def test_a_vanishing_decay_is_the_plain_graph():
    labels, _ = noisy(4)
    one = LCE(3, decay=1e-12, random_state=0).fit(labels)
    other = HBGF(3, random_state=0).fit(labels)
    assert np.allclose(one.embedding_ @ one.embedding_.T, other.embedding_ @ other.embedding_.T)
    assert ari(one.labels_, other.labels_) == 1.0


@every_kind
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_finds_what_members_agree_on(kind, missing):
    labels, truth = noisy(6, n_members=14, missing=missing)
    assert ari(truth, LCE(3, links=kind, random_state=0).fit_predict(labels)) > 0.9


@every_kind
@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exactly_as_many_clusters_as_asked(kind, labels, data):
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    model = LCE(c, links=kind, random_state=0).fit(labels)
    assert len(np.unique(model.labels_)) == c
    assert model.n_components_ <= c


@settings(max_examples=15)
@given(labels=label_matrices(min_samples=2), data=st.data())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_repeated_rows_are_weights(labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    weighted = LCE(c, random_state=0).fit(labels, sample_weight=repeats)
    repeated = LCE(c, random_state=0).fit(np.repeat(labels, repeats, axis=0))
    assert ari(np.repeat(weighted.labels_, repeats), repeated.labels_) == 1.0


@every_kind
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_order_and_names_do_not_matter(kind, missing):
    labels, _ = noisy(7, missing=missing)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    names = np.array(["", "d", "c", "b", "a"])
    shuffled = np.where(labels < 0, None, names[labels + 1])[samples][:, members]
    one = LCE(4, links=kind, random_state=0).fit(labels)
    other = LCE(4, links=kind, random_state=0).fit(shuffled)
    assert ari(one.labels_[samples], other.labels_) == 1.0


@settings(max_examples=15)
@given(labels=label_matrices(missing=False))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_member_is_returned(labels):
    one = labels[:, :1]
    assume(len(np.unique(one)) > 1)
    found = LCE(len(np.unique(one)), random_state=0).fit_predict(one)
    assert ari(one[:, 0], found) == 1.0


def test_degenerate_inputs():
    assert LCE(1, random_state=0).fit_predict([[0, 1], [1, 1]]).tolist() == [0, 0]
    assert LCE(1, random_state=0).fit_predict([[3, 4]]).tolist() == [0]
    alone = [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 3, 1], [1, 4, 1], [1, 5, 1]]
    assert LCE(2, random_state=0).fit_predict(alone).tolist() == [0, 0, 0, 1, 1, 1]
    same = [[0] * 4, [0] * 4, [1] * 4, [2] * 4]
    assert LCE(3, random_state=0).fit_predict(same).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(("parameter", "value"), [("links", "chains"), ("decay", 0.0)])
def test_a_parameter_outside_its_domain_is_named(parameter, value):
    with pytest.raises(ParameterError, match=f"LCE: {parameter} must be"):
        LCE(2, **{parameter: value}).fit(T6)


def test_the_budget_is_asked_first():
    with pytest.raises(MemoryBudgetError, match="refined matrix"):
        LCE(2, memory_budget=10).fit(T6)
