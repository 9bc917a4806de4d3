"""select_k: choose the number of clusters, and measure every criterion at each one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import (
    BUDGET,
    CALLBACK,
    JOBS,
    SEED,
    Domain,
    Integer,
    check_parameters,
    nearest,
)
from coterie.core.random import RandomState, child_seeds, generator
from coterie.core.text import counted
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.generate.columns import is_table
from coterie.generate.features import as_features
from coterie.generate.members import Progress, make_pool
from coterie.generate.tables import table_features
from coterie.numerics.partitions import clusters_by_first_appearance
from coterie.select._sample import Sample, n_counted
from coterie.select.choice import Choice, Steps
from coterie.select.criteria import CRITERIA, GRID, Cuts
from coterie.select.feature_structure import choose_from_features, n_feature_steps
from coterie.select.label_structure import choose_from_labels, n_label_steps
from coterie.select.selection import Selection
from coterie.solvers.base import SOLVER, LabelConsensus
from coterie.solvers.methods import configured, solver_of

# numbers of clusters that "auto" compares
DEFAULT_KS = range(2, 11)
# features and labels are looked at up to this number by "auto"
MAX_DEFAULT_K = 30
# maximum number of microclusters in a dendrogram; a random sample represents larger ensembles
MAX_ROWS = 1500
# maximum number of samples on which the members that the criteria describe are fitted
MAX_FITTED = 5_000

_DOMAINS: dict[str, Domain] = {
    "resamples": Integer(2),
    "n_members": Integer(1),
    "solver": SOLVER,
    "callback": CALLBACK,
    "random_state": SEED,
    "n_jobs": JOBS,
    "memory_budget": BUDGET,
}


def select_k(
    ensemble_or_X: Any,
    k: Iterable[int] | int | Literal["auto"] = "auto",
    *,
    groups: Sequence[Any] | None = None,
    solver: LabelConsensus | str | None = None,
    criteria: str | Iterable[str] = "all",
    resamples: int = 20,
    n_members: int = 30,
    callback: Progress | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    memory_budget: Budget = None,
) -> Selection:
    """Choose the number of clusters that the data support, or find that there is no structure.

    From features, the largest number is recommended for which a partition exists in which every two
    clusters are separated by a border with few samples. From labels, a number is supported if latent
    classes explain why the members agree, or if hardly any member's cluster reaches across the partition.
    Both are compared with data without structure (docs/choosing_k.md). The criteria describe the
    partitions at every k.

    Parameters
    ----------
    ensemble_or_X : Ensemble, or array, dataframe or sparse matrix of features (n x d)
        An array is taken as features: convert labels with ``Ensemble.from_labels``. A dataframe is
        encoded and scaled by :class:`coterie.generate.TableEncoder`. From features, k-means members
        are generated for the criteria. They are fitted on at most 5,000 samples and
        label all of them. Their numbers of clusters lie between 2 and twice the largest k, or the
        square root of the number of these samples if that is larger.
    k : "auto", int or iterable of int, default "auto"
        Numbers of clusters to compare, from 1 to the number of samples. Numbers above the number of
        distinct label rows cannot be reached and are left out. "auto" is 2 to 10, and up to 30 if
        the data support more than 10 clusters.
    groups : sequence, optional
        For an ensemble: the group of each member, such as the kind of data that it was made from. What
        each group supports alone is added to ``notes``. Groups may see different clusters; then the
        number of their intersections is recommended.
    solver : solver, name of a method or None, default None
        Makes the partitions in ``labels``, with one fit per k on all samples; crossing and ANMI are
        measured on them. If it does not converge at the recommended k, ``notes`` says so. None cuts
        the average-link dendrogram of the co-association (as EAC does), one dendrogram for all k.
        Partitions of halves are always cut from such dendrograms.
    criteria : "all", name or names, default "all"
        Criteria to measure: stability, crossing, pac, cophenetic, delta_area, eigengap, lifetime,
        anmi. They do not change the recommendation.
    resamples : int, default 20
        Number of halves of the members, drawn in pairs that share no member.
    n_members : int, default 30
        Members to generate from features.
    callback : callable or None
        Called with (steps done, number of steps).
    random_state : int, Generator or None
    n_jobs : int or None
        Number of members and dendrograms computed in parallel, as in joblib. It does not change the
        result.
    memory_budget : int, str or None
        Bytes (or text such as "4GB") that may be allocated.

    Returns
    -------
    Selection

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.select import select_k
    >>> selection = select_k(load("blobs").X, random_state=0)
    >>> selection.recommended, selection.structure
    (5, True)
    """
    given = dict(
        resamples=resamples,
        n_members=n_members,
        solver=solver,
        callback=callback,
        random_state=random_state,
        n_jobs=n_jobs,
        memory_budget=memory_budget,
    )
    check_parameters("select_k", given, _DOMAINS)
    plan = Plan(_criteria(criteria), max(1, resamples // 2), n_jobs, memory_budget)
    solver = None if solver is None else solver_of(solver)
    rng = generator(random_state)
    if isinstance(ensemble_or_X, Ensemble):
        ks = checked_ks(k, n_counted(ensemble_or_X))
        top = MAX_DEFAULT_K if _is_auto(k) else 0
        n_members = ensemble_or_X.n_members
        if groups is not None and len(groups) != n_members:
            raise ParameterError(
                f"select_k: groups has length {len(groups)}, but the ensemble has "
                f"{counted(n_members, 'member')}; give one group per member"
            )
        total = n_label_steps(_n_groups(groups)) + plan.n_steps(n_members)
        steps = Steps(callback, total + (0 if solver is None else len(ks)))
        return select(ensemble_or_X, ks, plan, rng, steps, groups=groups, top=top, solver=solver)
    if groups is not None:
        raise ParameterError("select_k: groups is given with features; it needs an Ensemble")
    X = table_features(ensemble_or_X) if is_table(ensemble_or_X) else as_features(ensemble_or_X)
    # the class takes the second of four seeds; with the same seed both give the same answer
    rng = np.random.default_rng(child_seeds(rng, 4)[1])
    steps = planned(X, k, n_members, plan, callback)
    if solver is not None:
        steps.total += len(checked_ks(k, X.shape[0]))
    choice, ks = choose(X, k, steps)
    member_rng = np.random.default_rng(child_seeds(rng, 1)[0])
    aside = not_fitted(X.shape[0], member_rng)
    top = max(2 * int(ks.max()), int(np.sqrt(min(X.shape[0], MAX_FITTED))))
    members = make_pool(
        X, "kmeans", n_members, (2, top), member_rng, n_jobs, steps.after_member, aside=aside
    ).ensemble()
    return select(members, ks, plan, rng, steps, choice=choice, solver=solver)


def planned(X: Any, k: Any, n_members: int, plan: Plan, callback: Progress | None) -> Steps:
    """The steps of a choice from features: the choice, the members for the criteria, and the criteria."""
    choosing = n_feature_steps(X.shape[0], _ks_tried(X, k))
    return Steps(callback, choosing + n_members + plan.n_steps(n_members))


def choose(X: Any, k: Any, steps: Steps) -> tuple[Choice, IntArray]:
    """The choice from features, and the numbers of clusters to compare.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
    k : "auto", int or iterable of int
        As in :func:`select_k`.
    steps : Steps
    """
    ks = checked_ks(k, X.shape[0])
    wanted = _ks_tried(X, k)
    end = steps.n_done + n_feature_steps(X.shape[0], wanted)
    choice = choose_from_features(X, wanted, steps.take)
    steps.take(end - steps.n_done)
    if choice.recommended > ks.max():
        ks = np.arange(2, choice.recommended + 1)
    return choice, ks


def _ks_tried(X: Any, k: Any) -> IntArray:
    """The numbers of clusters that are chosen from."""
    return np.arange(2, MAX_DEFAULT_K + 1) if _is_auto(k) else checked_ks(k, X.shape[0])


def not_fitted(n: int, rng: np.random.Generator) -> NDArray[np.bool_] | None:
    """Samples that members only label, because there are more than are needed to fit them."""
    if n <= MAX_FITTED:
        return None
    aside = np.ones(n, dtype=bool)
    aside[rng.choice(n, MAX_FITTED, replace=False)] = False
    return aside


@dataclass(frozen=True)
class Curves:
    """The criteria of one ensemble at each k, and the partitions that they were measured on.

    Attributes
    ----------
    criteria : dict of ndarray, shape (K,)
        NaN where a criterion is not defined.
    partitions : ndarray, shape (K, N)
        Cluster of each microcluster.
    cuts : Cuts or None
        The cuts that the criteria were measured on, at the k marked in ``possible``.
    possible : ndarray of bool, shape (K,)
    """

    criteria: dict[str, FloatArray]
    partitions: IntArray
    cuts: Cuts | None
    possible: NDArray[np.bool_]

    def cdf(self) -> FloatArray:
        """Share of the pairs of samples with a consensus index up to each grid value, K x (GRID + 1)."""
        values = np.full((len(self.possible), GRID + 1), np.nan)
        if self.cuts is not None and len(self.cuts.halves):
            values[self.possible] = self.cuts.distributions[0]
        return values


@dataclass(frozen=True)
class Plan:
    """How the criteria are measured."""

    wanted: tuple[str, ...] = tuple(CRITERIA)
    splits: int = 10
    n_jobs: int | None = None
    memory_budget: Budget = None

    def n_steps(self, n_members: int) -> int:
        """Number of dendrograms: of all members, and of each half."""
        return 1 + (2 * self.splits if n_members > 1 else 0)

    def curves(
        self,
        ensemble: Ensemble,
        ks: IntArray,
        rng: np.random.Generator,
        step: Callable[[], None],
        partitions: IntArray | None = None,
    ) -> Curves:
        """The criteria at each k, NaN where k is 1 or exceeds the number of microclusters."""
        order = ensemble.canonical_member_order
        splits = [rng.permutation(len(order)) for _ in range(self.splits)]
        if len(order) == 1 or not any(CRITERIA[name].compares_halves for name in self.wanted):
            splits = []
        possible = (ks >= 2) & (ks <= ensemble.n_microclusters)
        criteria = {name: np.full(len(ks), np.nan) for name in self.wanted}
        labels = np.zeros((len(ks), ensemble.n_microclusters), dtype=np.int64)
        if not possible.any():
            return Curves(criteria, labels, None, possible)
        cuts = Cuts.of(
            ensemble.reorder_members(order),
            ks[possible],
            splits,
            partitions=None if partitions is None else partitions[possible],
            n_jobs=self.n_jobs,
            memory_budget=self.memory_budget,
            step=step,
        )
        labels[possible] = cuts.partitions
        for name, values in criteria.items():
            if splits or not CRITERIA[name].compares_halves:
                values[possible] = CRITERIA[name].measure(cuts)
        return Curves(criteria, labels, cuts, possible)


def select(
    ensemble: Ensemble,
    ks: IntArray,
    plan: Plan,
    rng: np.random.Generator,
    steps: Steps,
    *,
    choice: Choice | None = None,
    groups: Sequence[Any] | None = None,
    top: int = 0,
    solver: LabelConsensus | None = None,
) -> Selection:
    """Compare the numbers of clusters of an ensemble; without a choice, choose from its labels.

    The choice also looks at numbers above ``ks``, up to ``top``, as far as members have so many clusters.
    """
    whole, ensemble = ensemble, ensemble.without_blank
    notes = []
    reachable = ks <= ensemble.n_microclusters
    if not reachable.any():
        raise ParameterError(
            f"select_k: k is {_span(ks)}, but the samples (n_samples={ensemble.n_samples}) have only "
            f"{ensemble.n_microclusters} distinct label rows; ask for fewer clusters or give "
            "members with more clusters"
        )
    if not reachable.all():
        notes.append(
            f"k = {_span(ks[~reachable])} left out: the samples have only "
            f"{ensemble.n_microclusters} distinct label rows."
        )
    ks = ks[reachable]
    if choice is None:
        most = int(ensemble.n_clusters_per_member.max(initial=0))
        more = np.arange(ks.max() + 1, min(top, most, ensemble.n_microclusters) + 1)
        end = steps.n_done + n_label_steps(_n_groups(groups))
        tried = np.concatenate([ks, more])
        choice = choose_from_labels(ensemble, tried, rng, groups=groups, step=steps.take)
        steps.take(end - steps.n_done)
        if choice.recommended > ks.max():
            steps.total += 0 if solver is None else choice.recommended - 1 - len(ks)
            ks = np.arange(2, choice.recommended + 1)
    sample = Sample.of(ensemble, rng, MAX_ROWS)
    partial = sample.ensemble is not ensemble
    if partial:
        drawn = f"{MAX_ROWS:,} of {n_counted(ensemble):,} samples, drawn at random"
        others = "; the others were assigned to the cluster they agree with most"
        notes.append(f"The criteria were computed on {drawn}{'' if solver else others}.")
    solved, complaints = None, {}
    if solver is not None:
        by_k = {int(k): _solved(solver, ensemble, int(k), rng, steps) for k in ks}
        solved = np.stack([labels for labels, _ in by_k.values()])
        complaints = {k: complaint for k, (_, complaint) in by_k.items()}
    given = None if solved is None else solved[:, sample.rows]
    curves = plan.curves(sample.ensemble, ks, rng, steps.take, given)
    partitions = curves.partitions if solved is None else solved
    if solved is None and partial:
        partitions = np.stack([sample.extended(labels) for labels in curves.partitions])
    if complaint := complaints.get(choice.recommended):
        notes.append(complaint)
    if ensemble.n_members == 1:
        absent = [name for name in plan.wanted if CRITERIA[name].compares_halves]
        if absent:
            notes.append(
                f"One member only: {', '.join(absent)} cannot be computed, because they compare "
                "halves of the members."
            )
    return Selection(
        ks=ks,
        criteria=curves.criteria,
        cdf=curves.cdf(),
        cdf_grid=np.linspace(0.0, 1.0, GRID + 1),
        delta_area=curves.criteria.get("delta_area", np.full(len(ks), np.nan)),
        recommended=choice.recommended,
        evidence=dict(choice.evidence),
        p_value=choice.p_value,
        reason=choice.reason,
        labels=np.stack(
            [
                clusters_by_first_appearance(whole.expand(whole.with_blank(labels)))
                for labels in partitions
            ]
        ).astype(np.int32),
        notes=(*choice.notes, *notes),
    )


def _n_groups(groups: Sequence[Any] | None) -> int:
    return 0 if groups is None else len(set(map(str, groups)))


def _is_auto(k: Any) -> bool:
    return isinstance(k, str) and k == "auto"


def checked_ks(k: Any, n_samples: int) -> IntArray:
    """The numbers of clusters to compare, ascending and without repetition."""
    if _is_auto(k):
        k = [value for value in DEFAULT_KS if value <= n_samples] or [1]
    ks = [k] if isinstance(k, Integral) else k
    if isinstance(k, np.ndarray):
        # an array without dimensions holds a single number
        ks = k.ravel().tolist()
    advice = (
        f"give whole numbers from 1 to the number of samples, {n_samples}, such as range(2, 11)"
    )
    if isinstance(ks, str | bytes) or not isinstance(ks, Iterable):
        raise ParameterError(f"select_k: k is {k!r}; {advice}")
    values = list(ks)
    for value in values:
        if not Integer(1, n_samples).admits(value):
            raise ParameterError(f"select_k: k contains {value!r}; {advice}")
    if not values:
        raise ParameterError(f"select_k: k is empty; {advice}")
    return np.unique(np.array(values, dtype=np.int64))


def _criteria(names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        names = tuple(CRITERIA) if names == "all" else (names,)
    if not isinstance(names, Iterable):
        raise ParameterError(f"select_k: criteria must be 'all' or names, but is {names!r}")
    # an array without dimensions holds a single name
    chosen = names.ravel().tolist() if isinstance(names, np.ndarray) else list(names)
    for name in chosen:
        if not isinstance(name, str) or name not in CRITERIA:
            raise ParameterError(
                f"select_k: unknown criterion {name!r}{nearest(name, CRITERIA)} "
                f"(criteria: {', '.join(CRITERIA)})"
            )
    if not chosen:
        raise ParameterError("select_k: criteria is empty; give at least one name, or 'all'")
    return tuple(name for name in CRITERIA if name in chosen)


def _solved(
    solver: LabelConsensus, ensemble: Ensemble, k: int, rng: np.random.Generator, steps: Steps
) -> tuple[IntArray, str | None]:
    """A solver's partition of the microclusters into k clusters, and its convergence warning if any."""
    fresh = configured(solver, k, rng)
    with warnings.catch_warnings(record=True) as caught:
        # these mostly come from an unsuitable k, and matter only if that k is recommended
        warnings.simplefilter("always", ConvergenceWarning)
        fresh.fit(ensemble)
    complaint = None
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            complaint = f"At k = {k} the solver did not converge. {warning.message}"
        else:
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
    steps.take()
    return fresh.cluster_votes_.labels, complaint


def _span(ks: IntArray) -> str:
    if len(ks) == 1:
        return str(ks[0])
    return f"{ks.min()} .. {ks.max()}"
