r"""Council: no labels, no tuning; the settings vote.

The published methods have hyper-parameters that their papers choose with the true labels. Without
labels no internal score finds the good settings, but one question can be answered: do the members
confirm what one partition says beyond others? So: run several solvers over their settings on one compressed
ensemble, put the first solver's default on trial before the partitions of all, and let those that unseat it
elect another.

Steps
  1. partitions of the N microclusters, one for each solver and setting; the defaults first, then lists
     in their order and grids from coarse to fine, solvers in turn, so that a budget leaves out the finest
  2. left out: partitions that say far less about the members than another of the council does (mean
     NMI with the members below 0.85 of the best): smoothed too far, most samples are in one giant cluster.
     The first solver's default keeps its vote unless it is degenerate (below 0.5 of the best)
  3. weights: every solver has the same in all, shared equally by its settings, so that a solver with
     many settings does not outvote the others
  4. the trial (combine="medoid"). H is the entropy of a partition and I its mean mutual information with
     the finer half of the members, by their own entropy: coarse ones could not confirm fine distinctions.
     The default D is the answer if 92 % of what it says is confirmed, I(D) >= 0.92 H(D). If not, it is
     tried. The case of a partition P against it is

         0.91 I(D) / H(D) (H(D) - H(P))  -  (I(D) - I(P))

     which is positive where D is confirmed in what it says beyond P at less than 91 % of the rate at
     which it is confirmed on the whole: it cuts where the members do not. A partition with a vote that
     says plainly less, H(P) <= 0.88 H(D), and has a case is against D. D is unseated if one of the first
     solver's is; if not, it is the answer
  5. the election: of the first solver's partitions against D the one that agrees most (adjusted Rand
     index over samples) with all that are against it, each weighted by its case, divided by the number of
     its solver's partitions that are against D. If D is degenerate or not among the settings, all that
     have a vote elect with the weights of 3., and those of the first solver stand, or all if it has none

With combine="eac" or another method's name there is no trial: that method combines the partitions as
members with the weights of step 3.

There are two confidences of a sample, both by the rule of :mod:`coterie.trust`: ``sample_confidence_``
from the members, as for any solver, and ``council_confidence_`` from the council's partitions, its
stability over the settings.

Cost: that of its settings, less what they share, over ``n_jobs`` threads; O(S^2 N) for the agreement of
S partitions. Settings of EC-CMS with the same certain pairs and price are one run that is looked at
where each of them stops; all settings of SPCE start from one state.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
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
)
from coterie._random import child_seeds
from coterie._result import Partition, Run, by_first_appearance
from coterie._threads import kernel_threads
from coterie._words import counted
from coterie.council._assembly import Assembly, no_votes
from coterie.council._seats import NAMED, SOLVERS, Seat, Vote, cast, runs_of, seated, seats
from coterie.ensemble import Ensemble
from coterie.solvers._catalogue import find_method
from coterie.trust._votes import ClusterVotes


class Council(LabelConsensus):
    """Many solvers and settings, one partition, no labels.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto" asks :func:`coterie.select_k` for it.
    solvers : sequence of str, default ("eccms", "spce")
        Methods by name. The answer is the first one's default unless the members do not confirm
        what it says, and then another partition of the first; the others vote, and stand only
        where none of the first has a vote.
    settings : "grid", "wide" or mapping, default "grid"
        "grid": the documented settings of each solver. "wide": 54 of EC-CMS and SPCE. A mapping
        gives, for some or all of the solvers, a grid (parameter to values) or a list of settings,
        which are run in its order after the default.
    combine : str, default "medoid"
        "medoid" tries the first solver's default and elects another if it is unseated; the name of
        a method combines the partitions as its members.
    budget : float, str or None, default None
        Seconds after which no further setting is begun, or text such as "60 s" or "12 settings".
        The settings run so far decide, a warning is given, and ``left_out_`` says what was not run.
        One setting is always run.
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
        ARI with the result, mean NMI with the members, converged, whether it was left out, whether
        it was one of those that elected the result, seconds.
    left_out_ : list of str
        Settings that the budget did not allow (the table's column ``left_out`` is of those that were
        run, but have no vote).
    elected_ : str
        The setting whose partition was elected; empty where partitions were combined.
    council_confidence_ : ndarray, shape (n,)
        How far the settings agree on each sample: the confidence that the council's partitions, taken
        as members, give the result (1 where one setting was run). ``sample_confidence_`` is that of
        the members themselves, as for any solver. A sample is sure where both are high.

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
    (12, 3)
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
            lambda value: isinstance(value, Mapping) or (isinstance(value, str) and value in NAMED),
            "'grid', 'wide', or a mapping of methods to grids or lists of settings",
            read=str,
        ),
        "combine": Kind(
            lambda value: isinstance(value, str), "'medoid' or the name of a method", read=str
        ),
        "budget": Kind(
            lambda value: value is None or _read_budget(value) is not None,
            "None, a positive number of seconds, or text such as '12 settings'",
            read=str,
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
        settings: Literal["grid", "wide"] | Mapping[str, Any] = "grid",
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
        limit = Limit.of(self.budget)
        invited = list(seats(self.solvers, self.settings))
        combine = _combiner(self.combine)
        seed, combining, choosing = (int(one) for one in child_seeds(rng, 3))
        n_clusters = self._chosen_k(ensemble, choosing)
        if n_clusters == 1:
            return _one_cluster(ensemble)
        votes = self._votes(ensemble, invited, n_clusters, seed, limit)
        council = Assembly.of(ensemble, votes, find_method(self.solvers[0]).name)
        elected = council.elect() if combine == "medoid" else None
        if elected is not None:
            vote = votes[elected]
            labels, name, converged = vote.labels, str(vote.seat), vote.converged
            electorate = council.electorate()
            if not converged:
                _warn_of_unfinished(name)
        else:
            solver = seated(combine, {}, n_clusters, self.memory_budget, combining)
            labels, name, converged = solver.fit(council.ensemble).labels_, "", solver.converged_
            electorate = council.weights
        labels = by_first_appearance(labels)
        confidence = council.ensemble.expand(ClusterVotes.of(council.ensemble, labels).confidence())
        heard = {str(vote.seat) for vote in votes}
        left_out = [str(seat) for seat in invited if str(seat) not in heard]
        if left_out:
            _warn_of(left_out, limit, len(invited))
        return Partition(
            labels=labels,
            member_weights=council.member_weights(),
            converged=converged,
            history=tuple(council.records(elected)),
            by_sample={"council_confidence_": confidence},
            as_it_is={
                "council_": council.table(labels, electorate),
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
        self,
        ensemble: Ensemble,
        invited: Sequence[Seat],
        n_clusters: int,
        seed: int,
        limit: Limit,
    ) -> list[Vote]:
        """The partitions, in the order of the seats whatever the number of threads."""
        chosen = invited[: limit.settings]
        runs = runs_of(ensemble, chosen, n_clusters, self.memory_budget, seed)
        n_jobs = min(effective_n_jobs(self.n_jobs), len(runs))

        def work(run: Run) -> dict[int, Vote]:
            # the first is always heard
            if run.places[0] and monotonic() > limit.end:
                return {}
            with kernel_threads(n_jobs):
                return cast(run, chosen)

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


def _combiner(combine: str) -> str:
    """What makes one partition of many: "medoid", or a method by its name."""
    if combine.lower() == "medoid":
        return "medoid"
    try:
        name = find_method(combine).name
    except ParameterError as error:
        raise ParameterError(f"Council: combine is 'medoid' or a method; {error}") from None
    if name == "council":
        raise ParameterError("Council: combine='council' is a council in a council; take 'medoid'")
    return name


def _warn_of_unfinished(elected: str) -> None:
    warnings.warn(
        f"Council: {elected} was elected, but did not converge. Give it a larger max_iter in settings.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _one_cluster(ensemble: Ensemble) -> Partition:
    """No structure was found, so that there is nothing to vote on."""
    return Partition(
        labels=np.zeros(ensemble.n_microclusters, dtype=np.int64),
        member_weights=ensemble.member_weight.astype(np.float64),
        as_it_is={"council_": no_votes(), "left_out_": [], "elected_": ""},
        by_sample={"council_confidence_": np.ones(ensemble.n_microclusters)},
    )


# ---------------------------------------------------------------------- the budget


@dataclass(frozen=True)
class Limit:
    """What a budget allows: a moment until which settings are begun, and how many of them."""

    end: float = np.inf
    settings: int | None = None
    words: str = ""

    @classmethod
    def of(cls, budget: float | str | None) -> Limit:
        """The limit of a budget that begins now."""
        seconds, settings = _read_budget(budget) or (None, None)
        if seconds is not None:
            return cls(end=monotonic() + seconds, words=f"{seconds:g} s")
        if settings is not None:
            return cls(settings=settings, words=counted(settings, "setting"))
        return cls()


def _read_budget(budget: object) -> tuple[float | None, int | None] | None:
    """Seconds or settings; None for what is no budget."""
    if not isinstance(budget, str):
        seconds = as_float(budget)
        return (seconds, None) if seconds is not None and seconds > 0 else None
    number, _, unit = (part.strip() for part in budget.strip().partition(" "))
    if unit in ("setting", "settings"):
        count = int(number) if number.isdecimal() and len(number) < 19 else 0
        return (None, count) if count > 0 else None
    if unit in ("", "s", "second", "seconds"):
        try:
            return _read_budget(float(number))
        except ValueError:
            return None
    return None


def _warn_of(left_out: Sequence[str], limit: Limit, invited: int) -> None:
    others = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
    warnings.warn(
        f"Council: the budget ({limit.words}) allowed {invited - len(left_out)} of {invited} settings; "
        f"left out: {', '.join(left_out[:3])}{others}",
        UserWarning,
        stacklevel=4,
    )
