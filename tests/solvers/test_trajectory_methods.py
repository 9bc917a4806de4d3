"""PTA and PTGP against their literal forms, the authors' runs, and in the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import ari
from coterie.evidence import trajectory_similarity
from coterie.solvers.similarity import SimilarityConsensus
from coterie.solvers.trajectories import PTA, PTGP
from tests.builders import noisy_members
from tests.naive import bipartite
from tests.naive import trajectories as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n=80, n_members=8, n_classes=4, n_labels=5, wrong=0.25, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
LINKAGES = {"average": "pta_al", "complete": "pta_cl", "single": "pta_sl"}
POOLS = ["ecoli", "aggregation", "umist", "spf"]
both = pytest.mark.parametrize("method", [PTA, PTGP])


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_literal_dendrogram(linkage, seed, missing):
    labels, _ = noisy(seed, missing=missing)
    compared = False
    for c, K, T in ((4, 4, 4), (3, 7, 2)):
        model = PTA(c, linkage=linkage, n_neighbors=K, n_steps=T).fit(labels)
        assert model.ensemble_.n_microclusters < len(labels)
        expected, heights = naive.pta(labels, c, linkage, K, T)
        assert np.allclose(model.dendrogram_.heights, heights, atol=1e-10)
        # groups that no walk connects tie at 1, and SciPy takes them by position
        if heights[-c] < heights[1 - c] - 1e-9:
            assert ari(expected, model.labels_) == 1.0
            compared = True
    assert compared


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_literal_embedding_and_partition(seed, missing):
    labels, _ = noisy(seed, missing=missing)
    model = PTGP(4, n_neighbors=5, n_steps=3, n_init=30, random_state=0).fit(labels)
    literal, inverse = naive.ptgp_rows(labels, 4, 5, 3)
    ours = model.ensemble_.expand(model.embedding_)
    assert np.allclose(ours @ ours.T, (literal @ literal.T)[np.ix_(inverse, inverse)], atol=1e-8)
    best, expected = bipartite.kmeans(literal, 4, seed)
    assert model.history_[0]["objective"] == pytest.approx(best)
    assert ari(expected[inverse], model.component_labels_) == 1.0


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_authors_labels(shared_data, pool, linkage):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file[LINKAGES[linkage]]
    for labels, theirs in zip(base, golden, strict=True):
        ours = PTA(len(np.unique(truth)), linkage=linkage).fit_predict(labels)
        assert ari(theirs, ours) == 1.0


@pytest.mark.parametrize("pool", POOLS)
def test_the_authors_labels_of_ptgp_are_a_resting_point(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file["ptgp"]
    for labels, theirs in zip(base, golden, strict=True):
        model = PTGP(len(np.unique(truth)), n_init=20, random_state=0).fit(labels)
        # a row per microcluster, as k-means sees them in their program and here
        first = np.unique(model.ensemble_.inverse, return_index=True)[1]
        rows = model.embedding_
        assert np.array_equal(bipartite.lloyd(rows, theirs[first]), theirs[first])
        ours = bipartite.sum_of_squares(rows, model.labels_[first])
        assert ours <= bipartite.sum_of_squares(rows, theirs[first]) * (1 + 1e-9)


def test_the_small_example_alternates():
    # a chain of three: the walks of its ends coincide, that of the middle never meets them
    for n_steps in (1, 2):
        found = PTA(2, n_neighbors=1, n_steps=n_steps).fit(T6)
        assert found.labels_.tolist() == [0, 0, 1, 0, 0, 0]
        assert np.allclose(found.dendrogram_.heights, [0.0, 1.0])
    assert PTGP(2, random_state=0).fit_predict(T6).tolist() == [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("linkage", LINKAGES)
def test_pta_is_a_similarity_and_a_linkage(linkage):
    labels, _ = noisy(3)
    same = SimilarityConsensus(4, evidence="pts", partition=linkage, weighted=False)
    assert np.array_equal(PTA(4, linkage=linkage).fit_predict(labels), same.fit_predict(labels))


def test_ptgp_is_a_similarity_and_a_transfer_cut():
    labels, _ = noisy(3, missing=0.1)
    settings_ = {"n_init": 5, "max_iter": 50, "random_state": 0}
    same = SimilarityConsensus(4, evidence="pts", partition="tcut", weighted=False, **settings_)
    assert np.array_equal(PTGP(4, **settings_).fit_predict(labels), same.fit_predict(labels))


def test_sizes_enter_through_the_walk_only():
    labels, _ = noisy(4)
    light = Ensemble.from_labels(np.unique(labels, axis=0))
    repeats = np.random.default_rng(0).integers(1, 9, light.n_samples)
    heavy = Ensemble.from_labels(np.unique(labels, axis=0), sample_weight=repeats)
    assert not np.allclose(
        trajectory_similarity(light)[np.ix_(light.inverse, light.inverse)],
        trajectory_similarity(heavy)[np.ix_(heavy.inverse, heavy.inverse)],
    )
    np.testing.assert_array_equal(PTA(4).fit(heavy).dendrogram_.sizes, 1.0)


@both
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_finds_what_members_agree_on(method, missing):
    labels, truth = noisy(6, n_members=14, missing=missing)
    assert ari(truth, method(4, random_state=0).fit_predict(labels)) > 0.9


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
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_order_and_names_do_not_matter(method, missing):
    labels, _ = noisy(7, missing=missing)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    names = np.array(["", "e", "d", "c", "b", "a"])
    shuffled = np.where(labels < 0, None, names[labels + 1])[samples][:, members]
    one = method(5, random_state=0).fit(labels)
    other = method(5, random_state=0).fit(shuffled)
    assert ari(one.labels_[samples], other.labels_) == 1.0


@both
@settings(max_examples=15)
@given(labels=label_matrices(missing=False))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_member_is_returned(method, labels):
    one = labels[:, :1]
    assume(len(np.unique(one)) > 1)
    found = method(len(np.unique(one)), random_state=0).fit_predict(one)
    assert ari(one[:, 0], found) == 1.0


@both
def test_degenerate_inputs(method):
    assert method(1, random_state=0).fit_predict([[0, 1], [1, 1]]).tolist() == [0, 0]
    assert method(1, random_state=0).fit_predict([[3, 4]]).tolist() == [0]
    assert method(2, random_state=0).fit_predict([[0, 0], [0, 0], [0, 1]]).tolist() == [0, 0, 1]
    alone = [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 3, 1], [1, 4, 1], [1, 5, 1]]
    assert method(2, random_state=0).fit_predict(alone).tolist() == [0, 0, 0, 1, 1, 1]


@both
def test_refuses_with_reasons(method):
    with pytest.raises(ParameterError, match=rf"{method.__name__}: n_neighbors must be"):
        method(2, n_neighbors=0).fit(T6)
    with pytest.raises(ParameterError, match="n_steps must be"):
        method(2, n_steps=0).fit(T6)
    with pytest.raises(MemoryBudgetError, match="probability trajectory"):
        method(2, memory_budget=10).fit(T6)
    with pytest.raises(ParameterError, match="linkage must be one of"):
        PTA(2, linkage="ward").fit(T6)
