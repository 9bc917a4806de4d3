"""N x N arrays are refused before they are tried."""

from __future__ import annotations

import sys
import tracemalloc
import warnings

import numpy as np
import pytest

import coterie
from coterie import EAC, ECCMS, SPCE, TRCE, Ensemble, MemoryBudgetError, evidence, memory_budget
from coterie.core import budget
from coterie.core.budget import ENVIRONMENT_VARIABLE, GRANTED
from coterie.evidence import contingency
from coterie.evidence.base_clusters import jaccard, mean_over_members
from coterie.evidence.links import linked_clusters

DENSE = [
    evidence.coassociation,
    evidence.locally_weighted_coassociation,
    evidence.transitions,
]


@pytest.fixture
def thousand():
    return Ensemble.from_labels(np.arange(1000)[:, None])


@pytest.mark.parametrize("function", DENSE, ids=lambda function: function.__name__)
def test_refused_by_argument(thousand, function):
    with pytest.raises(MemoryBudgetError) as error:
        function(thousand, memory_budget="1MB")
    text = str(error.value)
    assert "for N = 1,000 microclusters needs" in text
    assert "the memory budget is 976.6 KiB" in text
    assert "or take a method that is linear in N" in text
    assert f"or the environment variable {ENVIRONMENT_VARIABLE}." in text


@pytest.mark.parametrize(
    ("function", "needs"),
    [
        (evidence.coassociation, "N = 1,000 microclusters needs 15.3 MiB"),
        (evidence.locally_weighted_coassociation, "N = 1,000 microclusters needs 15.3 MiB"),
        (evidence.transitions, "N = 1,000 microclusters needs 7.6 MiB"),
        (evidence.simrank, "N = 1,000 microclusters needs 68.7 MiB"),
        (evidence.approximate_simrank, "N = 1,000 microclusters needs 76.3 MiB"),
        (evidence.trajectory_similarity, "N = 1,000 microclusters needs 38.1 MiB"),
        (evidence.propagated_cluster_similarity, "k = 1,000 base clusters needs 38.1 MiB"),
        (linked_clusters, "k = 1,000 base clusters needs 38.1 MiB"),
        (jaccard, "k = 1,000 base clusters needs 22.9 MiB"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_the_refusal_says_how_much_and_for_what(thousand, function, needs):
    with pytest.raises(MemoryBudgetError, match=f"for {needs}, but"):
        function(thousand, memory_budget=1)


def test_many_base_clusters_are_asked_for_too():
    # five for each microcluster
    ensemble = Ensemble.from_labels(np.stack([np.arange(100)] * 5, axis=1))
    with pytest.raises(MemoryBudgetError, match=r"The mean for N = 100 .* needs 1015\.6 KiB"):
        mean_over_members(ensemble, np.eye(500), "The mean", memory_budget=1)
    with pytest.raises(MemoryBudgetError, match=r"for N = 100 .* needs 7\.1 MiB"):
        evidence.simrank(ensemble, memory_budget=1)
    with pytest.raises(MemoryBudgetError, match=r"for N = 100 .* needs 9\.0 MiB"):
        evidence.approximate_simrank(ensemble, memory_budget=1)


def test_weighted_sums_are_refused_too(thousand):
    with pytest.raises(MemoryBudgetError, match="The weighted co-association"):
        evidence.weighted_coassociation(thousand, [1.0], memory_budget=1000)


@pytest.mark.parametrize("function", DENSE, ids=lambda function: function.__name__)
def test_refused_by_environment(monkeypatch, thousand, function):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "1 MiB")
    with pytest.raises(MemoryBudgetError, match=r"budget is 1\.0 MiB"):
        function(thousand)
    # the argument has the last word
    assert function(thousand, memory_budget="100MB").shape == (1000, 1000)


@pytest.mark.parametrize("members", [2, 12])
@pytest.mark.parametrize(
    "function",
    [
        *DENSE,
        evidence.connected_triple,
        evidence.simrank,
        evidence.approximate_simrank,
        evidence.propagated_cluster_similarity,
        evidence.propagated_similarity,
        evidence.trajectory_similarity,
        jaccard,
        linked_clusters,
    ],
    ids=lambda function: function.__name__,
)
def test_what_is_asked_for_is_about_what_is_used(monkeypatch, function, members):
    # many base clusters a microcluster, and few; some labels missing
    labels = np.random.default_rng(0).integers(-1, 40, (150, members))
    labels[:, 0] = np.arange(150) % (30 if members == 2 else 150)
    ensemble = Ensemble.from_labels(labels)
    asked: list[float] = []
    for module in ("coassociation", "base_clusters"):
        monkeypatch.setattr(
            sys.modules[f"coterie.evidence.{module}"],
            "require",
            lambda needed, *_: asked.append(needed),
        )
    function(ensemble)
    tracemalloc.start()
    function(ensemble)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # what is sparse, or grows with N only, is not asked for
    free = 100_000 + 3 * contingency(ensemble).data.nbytes
    assert 0.4 * max(asked) < peak < 1.1 * max(asked) + free


@pytest.mark.parametrize(
    "function", [evidence.coassociation, evidence.locally_weighted_coassociation]
)
def test_shares_of_what_was_seen_need_three_matrices(function):
    labels = np.arange(1000)[:, None] // [1, 2]
    labels[5, 1] = -1
    ensemble = Ensemble.from_labels(labels, member_weight=[1, 2])
    with pytest.raises(MemoryBudgetError, match=r"needs 23\.8 MiB"):
        function(ensemble, memory_budget=1)


def test_so_does_a_solver(thousand):
    with pytest.raises(
        MemoryBudgetError,
        match=r"The co-association matrix for N = 1,000 microclusters needs 15.3 MiB",
    ):
        EAC(2, memory_budget="1MB").fit(thousand)
    assert issubclass(MemoryBudgetError, MemoryError)


@pytest.mark.parametrize("method", [ECCMS, SPCE, TRCE])
def test_a_method_with_too_many_rows_names_those_that_can(method):
    large = Ensemble.from_labels(np.arange(50_000)[:, None])
    with pytest.raises(MemoryBudgetError) as error:
        method(5, memory_budget="8GB").fit(large)
    text = str(error.value)
    assert "for N = 50,000 microclusters needs" in text
    assert "linear in N, such as PCE or CESHL" in text


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("4GB", 4 * 10**9),
        ("500 MiB", 500 * 2**20),
        ("1.5k", 1500),
        ("123", 123),
        (" 2 tib ", 2 * 2**40),
        (7, 7),
        (1e3, 1000),
    ],
)
def test_budgets_in_words_and_numbers(text, bytes_):
    assert memory_budget(text) == bytes_


@pytest.mark.parametrize("budget", ["much", "4 XB", "", "-1", 0, -5, True])
def test_budgets_that_are_none(budget):
    with pytest.raises(ValueError, match="memory_budget must be"):
        memory_budget(budget)


def test_a_bad_environment_variable_is_named(monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "plenty")
    with pytest.raises(
        ValueError, match=f"environment variable {ENVIRONMENT_VARIABLE} must be a number of bytes"
    ):
        memory_budget()


def test_the_default_is_a_share_of_what_is_there(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
    assert memory_budget() > 10**6


def test_a_granted_budget_is_not_asked_again(thousand, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "1MB")
    with pytest.raises(MemoryBudgetError):
        evidence.transitions(thousand)
    assert evidence.transitions(thousand, memory_budget=GRANTED).shape == (1000, 1000)
    with pytest.raises(ValueError, match="has no size"):
        memory_budget(GRANTED)


@pytest.mark.parametrize("name", ["EAC", "LWEA", "LCE", "PTA", "PTGP", "KC", "RCE", "SPCE", "TRCE"])
def test_a_solver_asks_for_memory_once(name, monkeypatch):
    asked = []
    ask = budget.memory_budget
    monkeypatch.setattr(budget, "memory_budget", lambda size: asked.append(size) or ask(size))
    labels = np.random.default_rng(0).integers(0, 3, (40, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(coterie, name)(3).set_params(random_state=0, memory_budget="1GB").fit(labels)
    assert asked == ["1GB"]
