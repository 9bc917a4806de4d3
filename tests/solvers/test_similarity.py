"""Any similarity times any cut: the named methods, the literal forms on samples, own matrices."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from coterie import EAC, ECCMS, Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import ari
from coterie.evidence import coassociation
from coterie.solvers.locally_weighted import LWEA
from coterie.solvers.similarity import EVIDENCE, LINKAGES, SimilarityConsensus
from tests.builders import noisy_members
from tests.naive import bipartite as naive
from tests.naive import evidence

noisy = partial(noisy_members, n=80, n_members=9, n_classes=4, n_labels=5, wrong=0.3, repeats=1)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
POOLS = ["ecoli", "aggregation", "umist", "spf"]


def literal(name, labels):
    """Similarity of samples by samples, one on the diagonal."""
    if name == "ca":
        matrix = evidence.shares(labels)
    else:
        inside = naive.incidence(labels)
        together = inside @ np.diag(evidence.reliability(labels, 0.4)) @ inside.T
        seen = evidence.observed(labels)
        matrix = np.divide(together, seen, out=np.zeros(seen.shape), where=seen > 0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def products(rows):
    return rows @ rows.T


# ---------------------------------------------------------------- methods by their two halves


@pytest.mark.parametrize("link", LINKAGES)
def test_evidence_accumulation(link):
    labels, _ = noisy(0, missing=0.1)
    ours = SimilarityConsensus(5, partition=link).fit(labels)
    other = EAC(5, linkage=link).fit(labels)
    assert np.array_equal(ours.labels_, other.labels_)
    assert np.array_equal(ours.dendrogram_.heights, other.dendrogram_.heights)


def test_locally_weighted_evidence_accumulation():
    labels, _ = noisy(1, missing=0.1)
    ours = SimilarityConsensus(5, evidence="lwca", theta=0.3).fit(labels)
    other = LWEA(5, theta=0.3).fit(labels)
    assert np.array_equal(ours.labels_, other.labels_)
    assert np.array_equal(ours.dendrogram_.heights, other.dendrogram_.heights)
    assert np.array_equal(ours.member_weights_, other.member_weights_)


def test_self_enhancement():
    labels, _ = noisy(2)
    ours = SimilarityConsensus(5, evidence="enhanced").fit(labels)
    other = ECCMS(5).fit(labels)
    assert np.array_equal(ours.labels_, other.labels_)
    assert np.array_equal(ours.consensus_matrix_, other.consensus_matrix_)


@pytest.mark.parametrize("pool", POOLS)
def test_the_authors_labels(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        kept = {name: file[name] for name in file.files}
    c = len(np.unique(kept["y"]))
    halves = {
        "lwea": {"evidence": "lwca"},
        "pta_al": {"evidence": "pts", "weighted": False},
        "pta_cl": {"evidence": "pts", "partition": "complete", "weighted": False},
        "pta_sl": {"evidence": "pts", "partition": "single", "weighted": False},
        "ecpcs_hc": {"evidence": "ecpcs"},
    }
    for name, setting in halves.items():
        model = SimilarityConsensus(c, **setting)
        for labels, theirs in zip(kept["base"], kept[name], strict=True):
            assert ari(theirs, model.fit_predict(labels)) == 1.0, name


@pytest.mark.parametrize("pool", POOLS)
def test_the_authors_labels_of_ptgp_are_a_resting_point(shared_data, pool):
    with np.load(shared_data / "golden" / f"pool_{pool}.npz") as file:
        base, truth, golden = file["base"], file["y"], file["ptgp"]
    for labels, theirs in zip(base, golden, strict=True):
        model = SimilarityConsensus(
            len(np.unique(truth)), evidence="pts", partition="tcut", weighted=False, random_state=0
        ).fit(labels)
        # each microcluster counts once
        _, first = np.unique(model.ensemble_.inverse, return_index=True)
        rows = model.embedding_
        assert np.array_equal(naive.lloyd(rows, theirs[first]), theirs[first])
        ours = naive.sum_of_squares(rows, model.labels_[first])
        assert ours <= naive.sum_of_squares(rows, theirs[first]) * (1 + 1e-9)


# ---------------------------------------------------------------- the literal cuts


@pytest.mark.parametrize("name", ["ca", "lwca"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_spectral_is_that_of_the_samples(name, missing):
    labels, _ = noisy(3, missing=missing)
    model = SimilarityConsensus(
        4, evidence=name, partition="spectral", n_init=30, random_state=0
    ).fit(labels)
    rows = naive.spectral_rows(literal(name, labels), 4)
    assert np.allclose(
        products(model.ensemble_.expand(model.embedding_)), products(rows), atol=1e-8
    )
    best, expected = naive.kmeans(rows, 4, 0)
    assert model.history_[0]["objective"] == pytest.approx(best)
    assert ari(expected, model.labels_) == 1.0


@pytest.mark.parametrize("name", ["ca", "lwca"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_tcut_is_that_of_the_samples(name, missing):
    labels, _ = noisy(4, missing=missing)
    model = SimilarityConsensus(4, evidence=name, partition="tcut", random_state=0).fit(labels)
    inside = naive.incidence(labels)
    links = literal(name, labels) @ inside / inside.sum(axis=0)
    rows = naive.transfer_cut_rows(links, 4)
    assert np.allclose(
        products(model.ensemble_.expand(model.embedding_)), products(rows), atol=1e-8
    )


def test_balanced_parts_of_the_small_example():
    model = SimilarityConsensus(2, partition="metis", random_state=0).fit(T6)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1, 1]
    assert model.history_[0]["objective"] == pytest.approx(1.0)


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("cut", [*LINKAGES, "spectral", "tcut", "metis"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_pair_of_halves(name, cut):
    labels, truth = noisy(5, missing=0.1)
    model = SimilarityConsensus(4, evidence=name, partition=cut, random_state=0).fit(labels)
    assert np.array_equal(np.unique(model.labels_), np.arange(4))
    matrix = model.consensus_matrix_
    assert np.allclose(matrix, matrix.T)
    assert matrix.min() >= 0
    assert matrix.max() <= 1 + 1e-12
    if cut != "single":
        assert ari(truth, model.labels_) > 0.6


# ---------------------------------------------------------------- matrices of one's own


@pytest.mark.parametrize("cut", ["average", "spectral", "tcut"])
def test_a_matrix_of_samples_or_microclusters_or_a_function(cut):
    labels, _ = noisy(6)
    ensemble = Ensemble.from_labels(labels)
    named = SimilarityConsensus(4, partition=cut, random_state=0).fit_predict(labels)
    for own in (literal("ca", labels), coassociation(ensemble), coassociation):
        model = SimilarityConsensus(4, evidence=own, partition=cut, random_state=0)
        assert np.array_equal(model.fit_predict(ensemble), named)


def test_a_function_gives_rows_of_microclusters_also_where_none_repeat():
    # here N = n, and the order of microclusters is not that of the samples
    labels = np.unique(noisy(7)[0], axis=0)[::-1]
    assert Ensemble.from_labels(labels).n_microclusters == len(labels)
    named = SimilarityConsensus(5).fit_predict(labels)
    assert np.array_equal(SimilarityConsensus(5, evidence=coassociation).fit_predict(labels), named)
    own = literal("ca", labels)
    assert np.array_equal(SimilarityConsensus(5, evidence=own).fit_predict(labels), named)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"evidence": "jaccard"}, r"evidence must be one of 'ca', .* or a function of an Ensemble"),
        ({"evidence": np.eye(4)}, "evidence must be 6 x 6 .samples. or 3 x 3 .microclusters."),
        ({"evidence": lambda _: np.eye(6)}, "must give an 3 x 3 matrix.* but gave 6 x 6"),
        ({"evidence": lambda _: 2 * np.eye(3)}, r"must lie in \[0, 1\]"),
        ({"partition": "ward"}, "partition must be one of 'average'"),
        ({"decay": 0.0}, r"decay must be a number in \(0, 1\]"),
        ({"weighted": 1}, "weighted must be one of True, False"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(ParameterError, match=message):
        SimilarityConsensus(2, **parameters).fit(T6)


def test_memory_is_asked_for_first():
    with pytest.raises(MemoryBudgetError, match="similarity and its cut for N = 3"):
        SimilarityConsensus(2, memory_budget=100).fit(T6)
