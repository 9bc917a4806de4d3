"""Who sits in a council: solvers with their settings, and the runs that answer for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import product
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie._budget import Budget
from coterie._estimator import LabelConsensus
from coterie._params import ParameterError, check_parameters
from coterie._result import Run
from coterie.ensemble import Ensemble
from coterie.solvers._catalogue import METHODS, find_method

# the grids that the study of docs/council.md arrived at; other solvers bring their papers' grids
GRIDS: Mapping[str, Any] = {
    # the default, more pairs taken as certain (alpha), and as much smoothing as the paper's grid allows
    # (lam), what finds most first
    "eccms": (
        {"alpha": 0.8, "lam": 0.4},
        {"alpha": 0.75, "lam": 0.01},
        {"alpha": 0.7, "lam": 0.4},
        {"alpha": 0.7, "lam": 0.01},
        {"alpha": 0.75, "lam": 0.4},
        {"alpha": 0.8, "lam": 0.01},
    ),
    "spce": {"theta": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)},
}
# 54 settings, of which EC-CMS runs six: it is looked at on its way, where each tol stops
WIDE: Mapping[str, Any] = {
    "eccms": {
        "alpha": (0.7, 0.75, 0.8),
        "lam": (0.01, 0.4),
        "tol": (0.05, 0.04, 0.03, 0.025, 0.02, 0.0175, 0.015, 0.01),
    },
    "spce": GRIDS["spce"],
}
NAMED: Mapping[str, Mapping[str, Any]] = {"grid": GRIDS, "wide": WIDE}
SOLVERS = ("eccms", "spce")


@dataclass(frozen=True)
class Seat:
    """A solver with a setting."""

    solver: str
    setting: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The setting as people write it."""
        return ", ".join(f"{name}={value}" for name, value in self.setting.items())

    @property
    def is_default(self) -> bool:
        """Whether the setting is what the solver does of itself."""
        usual = _usual(self.solver)
        return _equal(usual, usual | dict(self.setting))

    def __str__(self) -> str:
        return f"{self.solver}({self.words})"


@dataclass(frozen=True, eq=False)
class Vote:
    """The partition that a seat arrived at."""

    seat: Seat
    labels: NDArray[np.int64]
    member_weights: NDArray[np.float64]
    converged: bool
    seconds: float


def seats(solvers: Sequence[str], settings: str | Mapping[str, Any]) -> Iterator[Seat]:
    """Every solver with every setting, solvers in turn.

    The default of each first, then a list in its order and a grid from coarse to fine.
    """
    names = list(dict.fromkeys(find_method(name).name for name in solvers))
    if isinstance(settings, str):
        given = NAMED[settings]
    else:
        own: dict[str, Any] = {}
        for written, grid in settings.items():
            name = find_method(str(written)).name
            if name not in names:
                raise ParameterError(
                    f"Council: settings names {name!r}, which is not among solvers "
                    f"({', '.join(names)})"
                )
            if name in own:
                raise ParameterError(f"Council: settings names {name!r} twice")
            own[name] = grid
        given = {**GRIDS, **own}
    queues = [
        sorted(
            (
                Seat(name, setting)
                for setting in _settings(name, given.get(name, METHODS[name].grid))
            ),
            key=lambda seat: not seat.is_default,
        )
        for name in names
    ]
    for place in range(max(len(queue) for queue in queues)):
        for queue in queues:
            if place < len(queue):
                yield queue[place]


def _settings(name: str, grid: Any) -> list[dict[str, Any]]:
    if name == "council":
        raise ParameterError("Council: a council cannot sit in a council")
    if isinstance(grid, Mapping):
        for parameter, values in grid.items():
            row = isinstance(values, Sequence) or np.shape(values) != ()
            if isinstance(values, str) or not row:
                raise ParameterError(
                    f"Council: settings[{name!r}][{parameter!r}] must be a list of values, but is "
                    f"{values!r}"
                )
        found = _combinations(grid)
    elif isinstance(grid, Sequence) and all(isinstance(one, Mapping) for one in grid):
        found = [dict(one) for one in grid]
    else:
        raise ParameterError(
            f"Council: settings[{name!r}] must be a grid (parameter to values) or a list of "
            f"settings, but is {grid!r}"
        )
    domains = METHODS[name].load()._domains
    for setting in found:
        for parameter, value in setting.items():
            if parameter not in domains:
                raise ParameterError(f"Council: {name} has no parameter {parameter!r}")
            if parameter in ("n_clusters", "random_state"):
                raise ParameterError(
                    f"Council: settings[{name!r}] sets {parameter}, which is the council's own; "
                    f"give it as Council({parameter}=...)"
                )
            check_parameters(
                f"Council: {name}", {parameter: value}, {parameter: domains[parameter]}
            )
    if not found:
        raise ParameterError(f"Council: settings[{name!r}] is empty")
    return _distinct(name, found)


def _distinct(name: str, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One of those that set the same, however much of it they spell out."""
    usual = _usual(name)
    kept: list[dict[str, Any]] = []
    whole: list[dict[str, Any]] = []
    for setting in settings:
        meant = usual | setting
        if not any(_equal(meant, other) for other in whole):
            whole.append(meant)
            kept.append(setting)
    return kept


def _usual(name: str) -> dict[str, Any]:
    """What a solver does of itself, by parameter."""
    parameters = signature(METHODS[name].load()).parameters
    return {parameter: one.default for parameter, one in parameters.items()}


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(one[name] is other[name] or np.array_equal(one[name], other[name]) for name in one)


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All of a grid; any beginning covers the range of each parameter."""
    ways = [list(enumerate(_coarse_to_fine(values))) for values in grid.values()]
    found = sorted(product(*ways), key=lambda one: sum(rank for rank, _ in one))
    return [dict(zip(grid, (value for _, value in one), strict=True)) for one in found]


def _coarse_to_fine(values: Sequence[Any]) -> list[Any]:
    """The middle, then the middles of the halves, and so on."""
    order: list[int] = []
    spans = [(0, len(values))]
    while spans:
        low, high = spans.pop(0)
        if low < high:
            middle = (low + high) // 2
            order.append(middle)
            spans += [(low, middle), (middle + 1, high)]
    return [values[place] for place in order]


def runs_of(
    ensemble: Ensemble,
    chosen: Sequence[Seat],
    n_clusters: int,
    memory_budget: Budget,
    seed: int,
) -> list[Run]:
    """What there is to compute, in the order of the seats; some runs answer several."""
    runs = []
    for name in dict.fromkeys(seat.solver for seat in chosen):
        places = [place for place, seat in enumerate(chosen) if seat.solver == name]
        solvers = [
            seated(name, chosen[place].setting, n_clusters, memory_budget, seed) for place in places
        ]
        for run in type(solvers[0])._runs(solvers, ensemble, seed):
            runs.append(Run(tuple(places[one] for one in run.places), run.solve))
    return sorted(runs, key=lambda run: run.places)


def cast(run: Run, chosen: Sequence[Seat]) -> dict[int, Vote]:
    """The votes of a run's seats, each with its part of the time."""
    start = monotonic()
    partitions = run.solve()
    seconds = (monotonic() - start) / len(partitions)
    return {
        place: Vote(
            chosen[place],
            partition.labels,
            partition.member_weights / partition.member_weights.sum(),
            partition.converged,
            seconds,
        )
        for place, partition in zip(run.places, partitions, strict=True)
    }


def seated(
    name: str, setting: Mapping[str, Any], n_clusters: int, memory_budget: Budget, seed: int
) -> LabelConsensus:
    """The solver of a seat."""
    make: Any = METHODS[name].load()
    solver: LabelConsensus = make(n_clusters, **setting, random_state=seed)
    if "memory_budget" in solver.get_params(deep=False):
        solver.set_params(memory_budget=memory_budget)
    return solver
