"""Awkward ensembles through every method: the promises of tests/adversarial/solvers.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from coterie import EAC, LabelError
from coterie.solvers.methods import all_methods
from tests.adversarial import solvers
from tests.adversarial.ensembles import (
    REFUSED,
    SHAPES,
    Case,
    FromGenerator,
    awkward_case,
    awkward_cases,
    case_number,
)
from tests.adversarial.outcomes import Tally, Violation, documented_warnings_only

# minutes for hundreds of clusters of hundreds of rows: left to the long run
SLOW = {"all_of_uint8"}


@pytest.mark.parametrize("name", sorted(all_methods()))
@settings(max_examples=6)
@given(case=awkward_cases().filter(lambda case: case.shape not in SLOW))
def test_any_shape_through_any_method(name, case):
    solvers.attack(name, case)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_every_shape_is_what_it_says(shape):
    case = awkward_case(FromGenerator(np.random.default_rng(0)), shape)
    assert solvers.attack("eac", case) is None or case.expected != "labels"


@pytest.mark.parametrize(("words", "labels"), REFUSED)
def test_no_label_matrix_at_all(words, labels):
    error = solvers.attack("eac", Case(words, labels, expected="LabelError"))
    assert isinstance(error, LabelError)


def test_a_number_gives_the_same_case_again():
    one, two = case_number(3, 40), case_number(3, 40)
    assert solvers.fingerprint([one.labels, one.fit]) == solvers.fingerprint([two.labels, two.fit])


def broken_model(labels):
    """A fitted model whose labels break a promise."""
    model = EAC(2).fit([[0], [0], [1], [1]])
    model.labels_ = np.array(labels)
    return model


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0, 0, 0, 0], "1 clusters, 2 asked for"),
        ([1, 1, 0, 0], "first appearance"),
        ([0, 1, 1, 1], "identical samples"),
        ([0, 0, 1], "shape"),
    ],
)
def test_a_broken_promise_is_seen(labels, says):
    with pytest.raises(Violation, match=says):
        solvers.check_answer(broken_model(labels), 2)


def test_not_a_number_is_seen():
    model = broken_model([0, 0, 1, 1])
    model.history_ = [{"objective": float("nan")}]
    with pytest.raises(Violation, match="history_"):
        solvers.check_answer(model, 2)


def test_a_strange_warning_is_seen():
    import warnings

    with pytest.raises(Violation, match="RuntimeWarning"), documented_warnings_only():
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)


def test_what_escapes_is_counted():
    tally = Tally("a group")
    with tally.watch("a case"):
        raise ZeroDivisionError("nothing")
    assert tally.lines() == [
        "a group: 0 cases; no exceptions; violations: 1",
        "  VIOLATION a case: ZeroDivisionError: nothing",
    ]
