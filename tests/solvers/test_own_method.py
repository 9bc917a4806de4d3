"""A method outside the library: docs/own_method.md followed literally, and what is refused."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone

from coterie import EAC, ConsensusClustering, LabelConsensus, Partition, Result, select_k
from coterie.core.params import Integer, parameter
from coterie.evaluate import ari
from coterie.testing import check_solver, noisy_copies

PAGE = Path(__file__).parents[2] / "docs" / "own_method.md"
LABELS = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 2]]


def test_the_page_followed_literally(tmp_path, monkeypatch):
    method, use, test = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    (tmp_path / "farthest_first.py").write_text(method, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        FarthestFirst = importlib.import_module("farthest_first").FarthestFirst
        names = {}
        exec(use, names)
        exec(test, names)
        names["test_farthest_first"]()
        model, iris = names["model"], names["iris"]
        assert ari(iris.y, model.labels_) > 0.5
        assert len(model.diagnose_members()["member"]) == model.ensemble_.n_members
        assert Result.of(model).method == "farthest-first"
        assert "FARTHEST-FIRST" in (tmp_path / "report.html").read_text(encoding="utf-8")
        own = FarthestFirst(3).fit(noisy_copies(0))
        assert own.centre_distance_.shape == (90,)
        assert Result.of(own).parameters["power"] == 1.0
        assert (
            select_k(
                noisy_copies(0), range(2, 5), solver=FarthestFirst(), random_state=0
            ).recommended
            == 3
        )
        with pytest.raises(ValueError, match=r"power must be a number in \(0, inf\)"):
            FarthestFirst(3, power=0.0).fit(noisy_copies(0))
        with pytest.raises(ValueError, match="n_clusters must be a whole number of at least 1"):
            FarthestFirst().fit(noisy_copies(0))
    finally:
        sys.modules.pop("farthest_first", None)


class Minimal(LabelConsensus):
    """Returns what it is told to; says nothing about itself."""

    def __init__(self, n_clusters=None, *, answer=None, random_state=None):
        self.n_clusters = n_clusters
        self.answer = answer
        self.random_state = random_state

    def _solve(self, ensemble, rng):
        return self.answer


def test_a_method_that_says_nothing_about_itself():
    model = Minimal(2, answer=Partition(np.array([0, 1, 0, 1]))).fit(LABELS)
    assert np.allclose(model.member_weights_, [0.5, 0.5])
    assert Result.of(model).method == "Minimal"
    assert list(Minimal.domains()) == ["n_clusters", "random_state"]


def test_a_subclass_has_its_own_name_and_inherits_domains():
    class Closest(EAC):
        pass

    assert Closest.method_name() == "Closest"
    assert Closest.domains() == EAC.domains()
    assert ConsensusClustering(3, solver=Closest()).solver.method_name() == "Closest"


def test_a_subclass_with_a_constructor_of_its_own_keeps_the_domains_of_its_parameters():
    class AverageLink(EAC):
        def __init__(self, n_clusters=None, *, strictness=1, random_state=None):
            super().__init__(n_clusters, random_state=random_state)
            self.strictness = strictness

    assert list(AverageLink.domains()) == ["n_clusters", "random_state"]
    assert AverageLink.domains()["n_clusters"].admits(None)
    assert AverageLink(2).fit(LABELS).n_clusters_ == 2


def test_a_field_may_be_added_to_a_method():
    @dataclass(eq=False, repr=False)
    class Stricter(EAC):
        seen: ClassVar[int] = 0
        strictness: int = parameter(1, Integer(0, 3))

    assert [*Stricter.domains()] == [*signature(Stricter).parameters]
    assert {**Stricter.domains()} == {**EAC.domains(), "strictness": Integer(0, 3)}
    assert clone(Stricter(2, strictness=2)).get_params() == Stricter(2, strictness=2).get_params()
    assert repr(Stricter(2, strictness=2)) == "Stricter(n_clusters=2, strictness=2)"
    with pytest.raises(ValueError, match="strictness must be a whole number of at least 0"):
        Stricter(2, strictness=4).fit(LABELS)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (np.zeros(4, int), TypeError, r"_solve must return a coterie\.Partition, for example"),
        (None, TypeError, r"_solve must return a coterie\.Partition.* but returned None"),
        (Partition([0, 1, 0, 1, 1]), ValueError, r"must be 4 integers.* have shape \(5,\)"),
        (Partition([0.0, 1.0, 0.0, 1.0]), ValueError, r"must be 4 integers.* dtype float64"),
        (Partition([[0, 1], [0, 1]]), ValueError, r"must be 4 integers.* have shape \(2, 2\)"),
        (Partition([0, 0, 0, 0]), ValueError, r"exactly n_clusters=2 distinct values, but have 1"),
        (Partition([0, 1, 1, 2]), ValueError, r"exactly n_clusters=2 distinct values, but have 3"),
        (Partition([0, 0, 1, 1], [1.0]), ValueError, "member_weights .* must be 2 finite numbers"),
        (Partition([0, 0, 1, 1], [1, -1]), ValueError, "member_weights .* must be 2 finite"),
        (Partition([0, 0, 1, 1], [0, 0]), ValueError, "member_weights .* must not all be 0"),
        (
            Partition([0, 0, 1, 1], by_sample={"odd_": np.zeros(3)}),
            ValueError,
            r"odd_ in by_sample of a Partition must have shape \(4, \.\.\.\), but has \(3,\)",
        ),
    ],
)
def test_nonsense_is_refused_with_what_to_return(answer, error, words):
    with pytest.raises(error, match=words):
        Minimal(2, answer=answer).fit(LABELS)


def test_a_method_without_solve():
    class Unfinished(LabelConsensus):
        def __init__(self, n_clusters=None, *, random_state=None):
            self.n_clusters = n_clusters
            self.random_state = random_state

    with pytest.raises(NotImplementedError, match=r"Unfinished must define _solve\(self, ensemble"):
        Unfinished(2).fit(LABELS)


class BySampleCount(Minimal):
    """Breaks an equation: counts samples without their weights."""

    def _solve(self, ensemble, rng):
        n = ensemble.n_microclusters
        turn = ensemble.n_samples if n > 3 else 0
        return Partition(np.minimum((np.arange(n) + turn) % n, self.n_clusters - 1))


class Unseeded(Minimal):
    """Breaks an equation: random numbers that the seed does not settle."""

    drawn = np.random.default_rng(0)

    def _solve(self, ensemble, rng):
        labels = np.arange(ensemble.n_microclusters) % self.n_clusters
        if ensemble.n_microclusters > 3:
            labels = self.drawn.permutation(labels)
        return Partition(labels)


class RestlessVerdict(EAC):
    """Breaks an equation: other members get labels that the seed does not settle."""

    drawn = np.random.default_rng(0)

    def partition_of(self, ensemble):
        return self.drawn.integers(2, size=ensemble.n_samples)


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        (BySampleCount(), "weight w and the sample given w times"),
        (Unseeded(), "number of threads|seed"),
        (RestlessVerdict(), "sample_confidence_"),
    ],
)
def test_check_solver_finds_what_is_broken(solver, words):
    with pytest.raises(AssertionError, match=words):
        check_solver(solver)
