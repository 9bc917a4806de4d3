"""Every method of the catalogue on awkward ensembles, and what must hold of its answer."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping, Sequence
from time import process_time
from typing import Any

import numpy as np

from coterie import LabelError, ParameterError
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.methods import all_methods, find_method
from tests.adversarial.ensembles import LABELS, REFUSED, Case, case_number
from tests.adversarial.outcomes import Tally, Violation, documented_warnings_only

# seconds of the processor for two fits; a thousand members take some methods that long
PATIENCE = 240.0


def attack(name: str, case: Case, **parameters: Any) -> BaseException | None:
    """Fit one case twice and check every promise; the documented exception that it ended in, if any.

    With other parameters than the default ones, the method may refuse them.
    """
    before = fingerprint([case.labels, case.fit])
    began = process_time()
    with documented_warnings_only():
        one = _fitted(name, case, parameters)
        two = _fitted(name, case, parameters)
    if process_time() - began > PATIENCE:
        raise Violation(f"took {process_time() - began:.0f} s")
    if fingerprint([case.labels, case.fit]) != before:
        raise Violation("the input was modified")
    if isinstance(one, BaseException):
        if type(two) is not type(one) or str(two) != str(one):
            raise Violation(f"{one!r} at first, then {two!r}")
        if not (parameters and isinstance(one, ParameterError)):
            _check_refusal(case, one)
        return one
    if case.expected != LABELS:
        raise Violation(f"labels, where {case.expected} was due")
    check_answer(one, case.n_clusters)
    _check_equal(one, two)
    return None


def _fitted(name: str, case: Case, parameters: dict[str, Any]) -> Any:
    solver = find_method(name)(case.n_clusters, random_state=0, **parameters)
    try:
        return solver.fit(case.labels, **case.fit)
    except (LabelError, ParameterError) as error:
        return error


def _check_refusal(case: Case, error: BaseException) -> None:
    if type(error).__name__ != case.expected:
        raise Violation(f"{type(error).__name__}, where {case.expected} was due: {error}")


def check_answer(model: Any, n_clusters: int) -> None:
    """A partition of exactly so many clusters, and nothing that is not a number."""
    ensemble = model.ensemble_
    labels = model.labels_
    if labels.shape != (ensemble.n_samples,) or labels.dtype.kind != "i":
        raise Violation(f"labels_ of shape {labels.shape} and type {labels.dtype}")
    known = ensemble.has_label[ensemble.inverse]
    if (labels[~known] != -1).any() or model.sample_confidence_[~known].any():
        raise Violation("a sample without any label is in a cluster")
    if not np.array_equal(np.unique(labels[known]), np.arange(n_clusters)):
        raise Violation(f"{len(np.unique(labels))} clusters, {n_clusters} asked for")
    if not np.array_equal(labels[known], by_first_appearance(labels[known])):
        raise Violation("labels are not numbered by first appearance")
    if model.n_clusters_ != n_clusters:
        raise Violation(f"n_clusters_ is {model.n_clusters_}")
    pairs = np.unique(np.column_stack([ensemble.inverse, labels]), axis=0)
    if len(pairs) != ensemble.n_microclusters:
        raise Violation("identical samples in different clusters")
    for name, values in vars(model).items():
        if name.endswith("_"):
            _refuse_not_numbers(name, values)
    confidence = model.sample_confidence_
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise Violation("sample_confidence_ leaves [0, 1]")
    influence = model.member_weights_
    if influence.shape != (ensemble.n_members,) or not (influence >= 0).all():
        raise Violation(f"member_weights_ is {influence}")
    if not np.isclose(influence.sum(), 1):
        raise Violation(f"member_weights_ sum to {influence.sum()}")
    soft = model.soft_labels()
    if soft.shape != (ensemble.n_samples, n_clusters) or not np.allclose(soft.sum(axis=1), 1):
        raise Violation("soft_labels() do not sum to one")
    for table in (model.diagnose_members(), model.diagnose_clusters()):
        if len(table) == 0:
            raise Violation("an empty diagnosis")
    str(model.explain(ensemble.sample_ids[0] if ensemble.sample_ids is not None else 0))


def _refuse_not_numbers(name: str, values: Any) -> None:
    if isinstance(values, Mapping):
        for key, value in values.items():
            _refuse_not_numbers(f"{name}[{key!r}]", value)
    elif isinstance(values, list | tuple):
        for i, value in enumerate(values):
            _refuse_not_numbers(f"{name}[{i}]", value)
    elif isinstance(values, float | np.floating) and not np.isfinite(values):
        raise Violation(f"{name} is {values}")
    elif (
        isinstance(values, np.ndarray)
        and values.dtype.kind == "f"
        and not np.isfinite(values).all()
    ):
        raise Violation(f"{name} holds {values[~np.isfinite(values)][0]}")


def _check_equal(one: Any, two: Any) -> None:
    # not the verdict, which costs more than both fits; coterie.testing.check_verdict compares it
    votes = (one.cluster_votes_.confidence, two.cluster_votes_.confidence)
    for name, first, second in (
        ("labels_", one.labels_, two.labels_),
        ("the confidence of the votes", *votes),
        ("member_weights_", one.member_weights_, two.member_weights_),
    ):
        if not np.array_equal(first, second):
            raise Violation(f"{name} differs between two identical calls")


def fingerprint(values: Any) -> bytes:
    """Bytes that change when anything in the values does."""
    return pickle.dumps(copy.deepcopy(values))


def run(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """So many awkward ensembles through every method."""
    for name in names or all_methods():
        tally = Tally(f"ensembles, {name}")
        for number in range(cases):
            case = case_number(seed, number)
            with tally.watch(f"{name}, case {seed}/{number} ({case.shape}, c = {case.n_clusters})"):
                tally.count(attack(name, case))
        for words, labels in REFUSED:
            case = Case(words, labels, expected="LabelError")
            with tally.watch(f"{name}, {words}"):
                tally.count(attack(name, case))
        yield tally
