"""Extreme numbers: weights, parameters at the edges of their domains, evidence of every connection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coterie.core.params import Choice, Domain, Integer, Real
from coterie.solvers.methods import all_methods, find_method
from tests.adversarial.ensembles import LABEL_ERROR, Case
from tests.adversarial.outcomes import Tally
from tests.adversarial.solvers import attack
from tests.builders import noisy_members

# not of the method itself
_ELSEWHERE = ("n_clusters", "random_state", "callback", "memory_budget", "n_jobs")
# stand for infinity in a domain without an end: where rounding rules, and where squares overflow
FAR, FARTHEST = 1e12, 1e300
# next to zero, as far as numbers go
NEAREST = 1e-300
# no domain of real numbers holds these
NO_NUMBERS = (float("nan"), float("inf"), float("-inf"))


def noisy(
    n: int, m: int, k: int, seed: int, missing: float = 0.0, wrong: float = 0.2
) -> np.ndarray:
    """k true clusters seen by members that label a share of the samples at random."""
    return noisy_members(seed, n, m, k, wrong=wrong, missing=missing)[0]


def nearly_disconnected(n: int = 24) -> np.ndarray:
    """Two halves that meet in one sample of one member."""
    labels = np.repeat([[0, 0, 0], [1, 1, 1]], n // 2, axis=0) * 10
    labels[: n // 2, 1] += np.arange(n // 2) % 3
    labels[n // 2 :, 2] += np.arange(n // 2) % 3
    labels[0, 0] = labels[-1, 0]
    return labels


def fully_connected(n: int = 20) -> np.ndarray:
    """Everything together in every member, but for one sample in the last."""
    labels = np.zeros((n, 5), dtype=int)
    labels[-1, -1] = 1
    return labels


def cases() -> list[Case]:
    """Hard evidence and hard weights, with default parameters."""
    plain = noisy(40, 6, 3, 0)
    distinct = len(np.unique(plain, axis=0))
    spread = 10.0 ** np.linspace(-6, 6, 40)
    found = [
        Case("sample weights over 1e12", plain, {"sample_weight": spread}, 3),
        Case("tiny sample weights", plain, {"sample_weight": np.full(40, 1e-30)}, 3),
        Case("huge sample weights", plain, {"sample_weight": np.full(40, 1e30)}, 3),
        Case("weights out of bounds", plain, {"sample_weight": np.full(40, 1e31)}, 3, LABEL_ERROR),
        Case("huge whole weights", plain, {"sample_weight": np.full(40, 2**40)}, 3),
        Case("member weights over 1e12", plain, {"member_weight": 10.0 ** np.arange(-6, 6, 2)}, 3),
        Case("one member is all", plain, {"member_weight": np.array([1e12, 1, 1, 1, 1, 1])}, 3),
        Case("tiny member weights", plain, {"member_weight": np.full(6, 1e-30)}, 3),
        Case("huge member weights", plain, {"member_weight": np.full(6, 1e30)}, 3),
        Case("nearly disconnected, 2", nearly_disconnected(), {}, 2),
        Case("nearly disconnected, 5", nearly_disconnected(), {}, 5),
        Case("fully connected, 1", fully_connected(), {}, 1),
        Case("fully connected, 2", fully_connected(), {}, 2),
        Case("as many clusters as rows", plain, {}, distinct),
        Case("one fewer than rows", plain, {}, distinct - 1),
        Case("missing nine in ten", noisy(60, 8, 3, 1, 0.9), {}, 3),
        Case("a thousand members", noisy(12, 1000, 3, 2), {}, 3),
        Case("a thousand members, half missing", noisy(12, 1000, 3, 2, 0.5), {}, 3),
    ]
    return found


def edges(domain: Domain, default: Any) -> list[Any]:
    """Values at the edges of a domain."""
    if isinstance(domain, Choice):
        return [option for option in domain.options if option != default]
    if isinstance(domain, Integer):
        top = domain.low + 1 if domain.high is None else domain.high
        found: list[Any] = [domain.low, top]
        return [*found, None] if domain.optional else found
    if not isinstance(domain, Real):
        return []
    low = max(domain.low, -FAR)
    high = min(domain.high, FAR)
    tiny = low + 1e-12 if low == 0 else np.nextafter(low, high)
    found = [low if domain.closed_low and low == domain.low else tiny]
    found.append(high if domain.closed_high or high < domain.high else np.nextafter(high, low))
    # next to an edge that belongs to the domain, where a formula may divide
    found += [tiny, NEAREST if low == 0 else float(np.nextafter(high, low))]
    if domain.high > FARTHEST:
        found.append(FARTHEST)
    return [*map(float, found), None] if domain.optional else [*map(float, found)]


def parameters_at_edges(name: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every parameter of a method at every edge, one at a time."""
    estimator = find_method(name)
    defaults = estimator(2).get_params(deep=False)
    for parameter, domain in estimator.domains().items():
        if parameter in _ELSEWHERE:
            continue
        for value in edges(domain, defaults[parameter]):
            yield {parameter: value}, f"{parameter} = {value!r}"


def run(count: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """All of it for every method; the number of cases is fixed."""
    for name in names or all_methods():
        tally = Tally(f"numbers, {name}")
        for case in cases():
            with tally.watch(f"{name}, {case.shape}"):
                tally.count(attack(name, case))
        for labels, words in ((noisy(36, 7, 3, 3), ""), (noisy(36, 7, 3, 4, 0.2), ", missing")):
            for parameters, said in parameters_at_edges(name):
                with tally.watch(f"{name}, {said}{words}"):
                    tally.count(attack(name, Case(said, labels, {}, 3), **parameters))
        yield tally
