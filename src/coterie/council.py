r"""Council: no labels, no tuning; the settings vote.

The published methods have hyper-parameters that their papers choose with the true labels. Without
labels no internal score finds the good settings, but the partitions that many settings give agree where
they are right more than where they are wrong. So: run several solvers over their settings on one
compressed ensemble, take the partitions as votes, and let them elect one.

Steps
  1. partitions of the N microclusters, one for each solver and setting; the defaults first, then from
     coarse to fine, solvers in turn, so that a budget leaves out the finest
  2. left out: partitions that say far less about the members than another of the council does (mean
     NMI with the members): smoothed too far, most samples are in one giant cluster
  3. agreement of each two partitions: the adjusted Rand index over samples, A_ij
  4. weights: every solver has the same in all, shared equally by its settings, so that a solver with
     many settings does not outvote the others
  5. combine="medoid": of the first solver's partitions the one with the greatest weighted agreement with
     all; the other solvers vote but do not stand. combine="eac" or another method's name: that method
     on the partitions as members with these weights

There are two confidences of a sample, both by the rule of :mod:`coterie.trust`: ``sample_confidence_``
from the members, as for any solver, and ``council_confidence_`` from the council's partitions, its
stability over the settings.

Cost: that of its settings, less what they share, over ``n_jobs`` threads; O(S^2 N) for the agreement of
S partitions. Settings of EC-CMS with the same certain pairs and price are one run that is looked at
where each of them stops; all settings of SPCE start from one state.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import monotonic
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from coterie._budget import Budget
from coterie._estimator import LabelConsensus
from coterie._params import (
    BUDGET,
    CALLBACK,
    JOBS,
    SEED,
    Domain,
    Integer,
    Kind,
    ParameterError,
    as_float,
    check_parameters,
)
from coterie._random import child_seeds
from coterie._result import Partition, Run, by_first_appearance
from coterie._table import Table
from coterie._threads import kernel_threads
from coterie.ensemble import Ensemble
from coterie.ensemble._checks import LARGEST_WEIGHT
from coterie.evaluate import anmi, ari
from coterie.solvers._catalogue import METHODS, find_method
from coterie.trust._votes import ClusterVotes

# the grids that the study of docs/council.md arrived at; other solvers bring their papers' grids
GRIDS: Mapping[str, Any] = {
    # the default, which is in the middle and so comes first, and three that smooth more
    "eccms": (
        {"alpha": 0.7, "lam": 0.1},
        {"alpha": 0.75, "lam": 0.1},
        {"alpha": 0.8, "lam": 0.4},
        {"alpha": 0.8, "lam": 0.1},
    ),
    "spce": {"theta": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)},
}
SOLVERS = ("eccms", "spce")
# a partition with a smaller mean NMI with the members than this share of the best is left out
LEAST_SUPPORT = 0.9


@dataclass(frozen=True)
class Seat:
    """A solver with a setting."""

    solver: str
    setting: Mapping[str, Any]

    @property
    def words(self) -> str:
        """The setting as people write it."""
        return ", ".join(f"{name}={value}" for name, value in self.setting.items())

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


class Council(LabelConsensus):
    """Many solvers and settings, one partition, no labels.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" asks :func:`coterie.select_k` for it.
    solvers : sequence of str, default ("eccms", "spce")
        Methods by name. A partition of the first is elected (if any of them keeps its vote); the
        others only vote.
    settings : "grid" or mapping, default "grid"
        "grid": the documented settings of each solver. A mapping gives, for some or all of the
        solvers, a grid (parameter to values) or a list of settings.
    combine : str, default "medoid"
        "medoid" elects the partition that agrees most with the council; the name of a method
        combines the partitions as its members.
    budget : float, str or None, default None
        Seconds after which no further setting is begun, or text such as "12 settings". The best
        so far is returned, and ``left_out_`` says what was not run.
    n_jobs : int or None, default None
        Settings at a time, as in joblib; it does not change the result.
    callback : callable, optional
        Called with a record after each setting.
    memory_budget : int, str or None, default None
        Bytes (or text such as "4GB") that each setting may allocate.
    random_state : int, Generator or None, default None

    Attributes
    ----------
    council_ : Table
        One row a partition: solver, setting, weight, agreement with the council (weighted mean ARI),
        ARI with the result, mean NMI with the members, converged, whether it was left out, seconds.
    left_out_ : list of str
        Settings that the budget did not allow.
    elected_ : str
        The setting whose partition was elected; empty where partitions were combined.
    council_confidence_ : ndarray, shape (n,)
        How far the settings agree on each sample: the confidence that the council's partitions, taken
        as members, give the result. ``sample_confidence_`` is that of the members themselves, as for
        any solver. A sample is sure where both are high.

    See Also
    --------
    coterie.ECCMS, coterie.SPCE : one solver, one setting.

    Notes
    -----
    What was tried and what it is worth is in the docs (council).

    Examples
    --------
    >>> from coterie import Council
    >>> from coterie.datasets import load
    >>> from coterie.generate import kmeans_pool
    >>> pool = kmeans_pool(load("iris").X, 10, random_state=0)
    >>> model = Council(n_clusters=3).fit(pool)
    >>> len(model.council_), model.n_clusters_
    (10, 3)
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": Kind(
            lambda value: Integer(1).admits(value) or (isinstance(value, str) and value == "auto"),
            "a whole number of at least 1, or 'auto'",
            read=lambda text: text if text == "auto" else int(text),
        ),
        "solvers": Kind(
            lambda value: (
                not isinstance(value, str)
                and isinstance(value, Sequence)
                and len(value) > 0
                and all(isinstance(name, str) for name in value)
            ),
            "a sequence of names of methods, such as ('eccms', 'spce')",
            read=lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
        ),
        "settings": Kind(
            lambda value: (
                isinstance(value, Mapping) or (isinstance(value, str) and value == "grid")
            ),
            "'grid', or a mapping of methods to grids or lists of settings",
            read=str,
        ),
        "combine": Kind(
            lambda value: isinstance(value, str), "'medoid' or the name of a method", read=str
        ),
        "budget": Kind(
            lambda value: value is None or _read_budget(value) is not None,
            "None, a positive number of seconds, or text such as '12 settings'",
            read=lambda text: text if "setting" in text else float(text),
        ),
        "n_jobs": JOBS,
        "callback": CALLBACK,
        "memory_budget": BUDGET,
        "random_state": SEED,
    }

    n_clusters: Any

    def __init__(
        self,
        n_clusters: int | Literal["auto"],
        *,
        solvers: Sequence[str] = SOLVERS,
        settings: Literal["grid"] | Mapping[str, Any] = "grid",
        combine: str = "medoid",
        budget: float | str | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        memory_budget: Budget = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.solvers = solvers
        self.settings = settings
        self.combine = combine
        self.budget = budget
        self.n_jobs = n_jobs
        self.callback = callback
        self.memory_budget = memory_budget
        self.random_state = random_state

    def _check_n_clusters(self, ensemble: Ensemble) -> None:
        if self.n_clusters != "auto":
            super()._check_n_clusters(ensemble)

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        invited = list(seats(self.solvers, self.settings))
        if self.combine != "medoid":
            find_method(self.combine)
        seed, combining, choosing = (int(one) for one in child_seeds(rng, 3))
        n_clusters = self._chosen_k(ensemble, choosing)
        if n_clusters == 1:
            return _one_cluster(ensemble, invited)
        votes = self._votes(ensemble, invited, n_clusters, seed)
        council = Assembly.of(ensemble, votes)
        if self.combine == "medoid":
            elected = council.elect(find_method(self.solvers[0]).name)
            labels, name = votes[elected].labels, str(votes[elected].seat)
        else:
            solver = _solver(self.combine, {}, n_clusters, self.memory_budget, combining)
            labels, name = solver.fit(council.ensemble).labels_, ""
        labels = by_first_appearance(labels)
        confidence = council.ensemble.expand(ClusterVotes.of(council.ensemble, labels).confidence())
        heard = {str(vote.seat) for vote in votes}
        left_out = [str(seat) for seat in invited if str(seat) not in heard]
        if left_out:
            warnings.warn(
                f"Council: the budget ({self.budget}) allowed {len(votes)} of {len(invited)} "
                "settings; left_out_ names the others",
                UserWarning,
                stacklevel=4,
            )
        return Partition(
            labels=labels,
            member_weights=council.member_weights(),
            converged=all(vote.converged for vote in votes),
            history=tuple(council.records()),
            by_sample={"council_confidence_": confidence},
            as_it_is={
                "council_": council.table(labels),
                "left_out_": left_out,
                "elected_": name,
            },
        )

    def _chosen_k(self, ensemble: Ensemble, seed: int) -> int:
        if self.n_clusters != "auto":
            return int(self.n_clusters)
        from coterie.select import select_k

        selection = select_k(ensemble, random_state=seed, memory_budget=self.memory_budget)
        return int(selection.recommended)

    def _votes(
        self, ensemble: Ensemble, invited: Sequence[Seat], n_clusters: int, seed: int
    ) -> list[Vote]:
        """The partitions, in the order of the seats whatever the number of threads."""
        limit = _read_budget(self.budget) if self.budget is not None else Limit()
        assert limit is not None
        end = monotonic() + limit.seconds
        chosen = invited[: limit.settings]

        runs = _runs(ensemble, chosen, n_clusters, self.memory_budget, seed)
        n_jobs = min(effective_n_jobs(self.n_jobs), len(runs))

        def work(run: Run) -> dict[int, Vote]:
            # the first is always heard
            if run.places[0] and monotonic() > end:
                return {}
            with kernel_threads(n_jobs):
                return _cast(run, chosen)

        votes: dict[int, Vote] = {}
        jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        with warnings.catch_warnings():
            # the table says which settings did not converge
            warnings.simplefilter("ignore", ConvergenceWarning)
            for found in jobs(delayed(work)(run) for run in runs):
                for place, vote in found.items():
                    votes[place] = vote
                    if self.callback is not None:
                        self.callback(
                            {
                                "pass": len(votes),
                                "of": len(chosen),
                                "setting": str(vote.seat),
                                "seconds": vote.seconds,
                            }
                        )
        return [votes[place] for place in sorted(votes)]


# ---------------------------------------------------------------------- 1. seats and votes


def seats(solvers: Sequence[str], settings: str | Mapping[str, Any]) -> Iterator[Seat]:
    """Every solver with every setting: defaults first, then coarse to fine, solvers in turn."""
    names = list(dict.fromkeys(find_method(name).name for name in solvers))
    given: Mapping[str, Any] = {} if isinstance(settings, str) else settings
    for name in given:
        if name not in names:
            raise ParameterError(
                f"Council: settings names {name!r}, which is not among solvers ({', '.join(names)})"
            )
    queues = [_coarse_to_fine(_settings(name, given.get(name))) for name in names]
    for place in range(max(len(queue) for queue in queues)):
        for name, queue in zip(names, queues, strict=True):
            if place < len(queue):
                yield Seat(name, queue[place])


def _settings(name: str, given: Any) -> list[dict[str, Any]]:
    if name == "council":
        raise ParameterError("Council: a council cannot sit in a council")
    grid = GRIDS.get(name, METHODS[name].grid) if given is None else given
    if isinstance(grid, Mapping):
        for parameter, values in grid.items():
            row = isinstance(values, Sequence) or np.shape(values) != ()
            if isinstance(values, str) or not row:
                raise ParameterError(
                    f"Council: settings[{name!r}][{parameter!r}] must be a list of values, but is "
                    f"{values!r}"
                )
        found = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
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
    return list({json.dumps(one, sort_keys=True, default=str): one for one in found}.values())


def _coarse_to_fine(settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The middle, then the middles of the halves, and so on: any beginning covers the range."""
    order: list[int] = []
    spans = [(0, len(settings))]
    while spans:
        low, high = spans.pop(0)
        if low < high:
            middle = (low + high) // 2
            order.append(middle)
            spans += [(low, middle), (middle + 1, high)]
    return [settings[place] for place in order]


def _runs(
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
            _solver(name, chosen[place].setting, n_clusters, memory_budget, seed)
            for place in places
        ]
        for run in type(solvers[0])._runs(solvers, ensemble, seed):
            runs.append(Run(tuple(places[one] for one in run.places), run.solve))
    return sorted(runs, key=lambda run: run.places)


def _cast(run: Run, chosen: Sequence[Seat]) -> dict[int, Vote]:
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


def _solver(
    name: str, setting: Mapping[str, Any], n_clusters: int, memory_budget: Budget, seed: int
) -> LabelConsensus:
    make: Any = METHODS[name].load()
    solver: LabelConsensus = make(n_clusters, **setting, random_state=seed)
    if "memory_budget" in solver.get_params(deep=False):
        solver.set_params(memory_budget=memory_budget)
    return solver


# ---------------------------------------------------------------------- 2. to 4. the assembly


@dataclass(frozen=True, eq=False)
class Assembly:
    """Partitions with their weights and agreement.

    Attributes
    ----------
    votes : sequence of Vote
    weights : ndarray, shape (S,)
        Zero for partitions that are left out; they sum to one.
    agreement : ndarray, shape (S,)
        Weighted mean of the ARI with the others.
    support : ndarray, shape (S,)
        Mean NMI with the members.
    ensemble : Ensemble
        The microclusters as samples, the partitions that count as members.
    """

    votes: Sequence[Vote]
    weights: NDArray[np.float64]
    agreement: NDArray[np.float64]
    support: NDArray[np.float64]
    ensemble: Ensemble

    @classmethod
    def of(cls, ensemble: Ensemble, votes: Sequence[Vote]) -> Assembly:
        """Weigh the votes."""
        samples = ensemble.weights.astype(np.float64)
        # pairs are counted, and nobody pairs with less than one; beside the largest weight that an
        # ensemble takes, what would be less is rounding
        unit = min(1.0, max(samples.min(), samples.max() / LARGEST_WEIGHT))
        samples = np.clip(samples / unit, 1.0, LARGEST_WEIGHT)
        support = np.array([anmi(ensemble, ensemble.expand(vote.labels)) for vote in votes])
        sound = support >= LEAST_SUPPORT * support.max()
        families = np.array([vote.seat.solver for vote in votes])
        weights = np.zeros(len(votes))
        for family in dict.fromkeys(families[sound].tolist()):
            own = sound & (families == family)
            weights[own] = 1.0 / own.sum()
        weights /= weights.sum()
        agreement = _agreement(votes, samples, weights)
        seated = np.flatnonzero(sound)
        second = Ensemble.from_labels(
            np.column_stack([votes[int(place)].labels for place in seated]),
            sample_weight=samples,
            member_weight=weights[seated],
        )
        return cls(votes, weights, agreement, support, second)

    def elect(self, standing: str) -> int:
        """The place of the partition of this solver that agrees most; of all, if it has no vote."""
        # what was left out cannot be elected
        votes = self.weights > 0
        stands = votes & np.array([vote.seat.solver == standing for vote in self.votes])
        return int(np.argmax(np.where(stands if stands.any() else votes, self.agreement, -np.inf)))

    def member_weights(self) -> NDArray[np.float64]:
        """Influence of the original members: the solvers' own, averaged over the council."""
        own = np.stack([vote.member_weights for vote in self.votes])
        return np.asarray(self.weights @ own)

    def records(self) -> Iterator[dict[str, Any]]:
        """One record a setting."""
        for place, vote in enumerate(self.votes):
            yield {
                "pass": place + 1,
                "setting": str(vote.seat),
                "agreement": float(self.agreement[place]),
                "seconds": vote.seconds,
            }

    def table(self, labels: NDArray[np.int64]) -> Table:
        """One row a partition, the most agreeing first."""
        left_out = self.weights == 0
        order = np.lexsort((-self.agreement, left_out))
        votes = [self.votes[place] for place in order]
        samples = self.ensemble.sample_weight
        return Table(
            {
                "solver": np.array([vote.seat.solver for vote in votes], dtype=object),
                "setting": np.array([vote.seat.words for vote in votes], dtype=object),
                "weight": self.weights[order],
                "agreement": np.where(left_out, np.nan, self.agreement)[order],
                "with_result": np.array([ari(labels, vote.labels, samples) for vote in votes]),
                "with_members": self.support[order],
                "converged": np.array([vote.converged for vote in votes]),
                "left_out": left_out[order],
                "seconds": np.array([vote.seconds for vote in votes]),
            }
        )


def _agreement(
    votes: Sequence[Vote], samples: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean of the ARI of each partition with all, itself included.

    Settings often arrive at the same partition, which is compared once.
    """
    distinct, inverse = np.unique(
        np.stack([by_first_appearance(vote.labels) for vote in votes]),
        axis=0,
        return_inverse=True,
    )
    inverse = np.ravel(inverse)
    between = np.eye(len(distinct))
    for i in range(len(distinct)):
        for j in range(i):
            value = ari(distinct[i], distinct[j], samples)
            between[i, j] = between[j, i] = value
    return np.asarray(between[np.ix_(inverse, inverse)] @ weights)


def _one_cluster(ensemble: Ensemble, invited: Sequence[Seat]) -> Partition:
    """No structure was found, so that there is nothing to vote on."""
    nothing = np.zeros(0)
    return Partition(
        labels=np.zeros(ensemble.n_microclusters, dtype=np.int64),
        member_weights=ensemble.member_weight.astype(np.float64),
        as_it_is={
            "council_": Table({"solver": nothing, "setting": nothing, "weight": nothing}),
            "left_out_": [str(seat) for seat in invited],
            "elected_": "",
        },
        by_sample={"council_confidence_": np.ones(ensemble.n_microclusters)},
    )


# ---------------------------------------------------------------------- the budget


@dataclass(frozen=True)
class Limit:
    """What a budget allows."""

    seconds: float = np.inf
    settings: int | None = None


def _read_budget(budget: object) -> Limit | None:
    """The limit that a budget stands for, None where it stands for none."""
    if isinstance(budget, str):
        number, _, unit = budget.strip().partition(" ")
        if unit.strip() in ("setting", "settings"):
            count = int(number) if number.isdecimal() and len(number) < 19 else 0
            return Limit(settings=count) if count > 0 else None
        if unit.strip() in ("s", "seconds"):
            try:
                return _read_budget(float(number))
            except ValueError:
                return None
        return None
    seconds = as_float(budget)
    return Limit(seconds=seconds) if seconds is not None and seconds > 0 else None
