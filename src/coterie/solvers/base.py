"""The base of every solver: validate, compress, solve on microclusters, carry back to samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, is_dataclass, replace
from inspect import signature
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from coterie.core.errors import MemoryBudgetError, ParameterError
from coterie.core.estimators import BaseEstimator, ClusterMixin
from coterie.core.params import (
    BUDGET,
    CALLBACK,
    SEED,
    Domain,
    Integer,
    Kind,
    Real,
    check_parameters,
    declared_domains,
    shown,
)
from coterie.core.random import generator
from coterie.core.text import counted
from coterie.core.threads import one_blas_thread
from coterie.core.types import Pass
from coterie.ensemble import Ensemble
from coterie.numerics.partitions import clusters_by_first_appearance
from coterie.solvers._docstrings import SHARED_PARAMETERS, completed, opening
from coterie.solvers.approximation import APPROXIMATE, ROWS, Approximate, Approximation
from coterie.solvers.cutting import finish_partition
from coterie.solvers.partition import Partition
from coterie.solvers.reading import as_ensemble
from coterie.trust import ClusterVotes, DiagnosisMixin, Verdict
from coterie.trust.parties import Links
from coterie.trust.verdict import OTHER_MEMBERS, expected_agreement, merging_doubt, size_doubt

# the type of the parameter ``callback``
Callback = Callable[[Pass], object] | None

# allowed values of parameters that many methods share, unless a method declares its own domain
SHARED_DOMAINS: Mapping[str, Domain] = {
    "n_clusters": Integer(1),
    "n_init": Integer(1),
    "max_iter": Integer(1),
    "tol": Real(0.0),
    "callback": CALLBACK,
    "memory_budget": BUDGET,
    "approximate": APPROXIMATE,
    "random_state": SEED,
}


@dataclass(frozen=True)
class MethodInfo:
    """Facts about a method, stated once on its class as ``about``.

    Attributes
    ----------
    name : str
        Name in results, reports and on the command line; empty takes the name of the class.
    summary : str
        What the method does, in one to three sentences; empty takes the opening of the class docstring.
    cost : str
        Time and memory, with N distinct label rows, m members, k base clusters and c clusters.
    paper : str
        The paper to cite.
    scaling : {"linear", "quadratic"} or None
        How time and memory grow with N.
    missing : bool
        Whether the method takes missing labels.
    weights : bool
        Whether a sample of weight two counts like the sample given twice.
    exact : bool
        Whether distinct label rows with weights give the same partition as all samples.
    random : bool
        Whether the result depends on ``random_state``.
    grid : mapping
        The parameter values that the paper tries.
    """

    name: str = ""
    summary: str = ""
    cost: str = ""
    paper: str = ""
    scaling: Literal["linear", "quadratic"] | None = None
    missing: bool = True
    weights: bool = True
    exact: bool = True
    random: bool = False
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


class LabelConsensus(DiagnosisMixin, ClusterMixin, BaseEstimator):
    """Base class of every method that turns a label matrix into one partition.

    A method is a subclass with parameters (``n_clusters`` and ``random_state`` among them) and a
    method ``_solve(ensemble, rng)`` that returns a :class:`Partition`. The parameters are the fields
    of a dataclass, which may declare their allowed values, or the arguments of a constructor that
    stores them. A method may describe itself with ``about``, a :class:`MethodInfo`. Validation, fitted
    attributes, confidence and diagnoses come from this class.

    ``_solve`` works on an :class:`Ensemble` whose microclusters (distinct label rows) and members are
    in canonical order. The order of samples and members and the names of labels therefore cannot
    influence the result.

    Attributes
    ----------
    labels_ : ndarray, shape (n,)
        Cluster of each sample, numbered 0 .. c - 1 by first appearance; -1 for a sample that no
        member labelled.
    n_clusters_ : int
        Number of clusters.
    sample_confidence_ : ndarray, shape (n,)
        One minus the ratio of the membership in the next best cluster to the membership in the
        sample's own cluster. Lower where members put the sample with its cluster less often than
        usual. In [0, 1]; 0 for a sample that no member puts with another one. With a single cluster
        it is 1 and carries no information. It is multiplied by ``verdict_.share``: the agreement that
        another set of members like these is expected to have, but at most 0.5 if there is a doubt. For a
        single member this agreement is unknown, and the confidence is 0. Computed at the first use.
    cluster_votes_ : ClusterVotes
        How the members' clusters spread over the clusters. The diagnoses are computed from it.
    member_weights_ : ndarray, shape (m,)
        Influence of each member, summing to one.
    converged_ : bool
        Whether the method stopped by its own rule.
    n_iter_ : int
        Number of passes.
    history_ : list of dict
        One record per pass.
    objective_ : float
        The objective after the last pass.
    residual_ : float
        Change in the last pass, as each method measures it.
    n_components_ : int
        Number of clusters that the method found, before they were adjusted to exactly n_clusters.
    component_labels_ : ndarray, shape (n,)
        Cluster of each sample before this adjustment.
    ensemble_ : Ensemble
        The members, compressed to their distinct label rows.
    approximation_ : Approximation or None
        With ``approximate``, how many rows were grouped and how far; None if all were solved exactly.
        Attributes with one row per microcluster or base cluster are those of its ``ensemble``.

    Notes
    -----
    For the methods of the library, the docstring of the module gives steps, equations, the treatment
    of missing labels, and differences between the paper and published programs.

    Examples
    --------
    A method that returns the member with n_clusters clusters that agrees best with all members:

    >>> import numpy as np
    >>> from coterie import LabelConsensus, Partition
    >>> from coterie.evaluate import ari
    >>> class BestMember(LabelConsensus):
    ...     def __init__(self, n_clusters, *, random_state=None):
    ...         self.n_clusters = n_clusters
    ...         self.random_state = random_state
    ...
    ...     def _solve(self, ensemble, rng):
    ...         members = ensemble.expand(ensemble.labels).T
    ...         candidates = np.flatnonzero(ensemble.n_clusters_per_member == self.n_clusters)
    ...         agreement = [sum(ari(members[j], other) for other in members) for j in candidates]
    ...         return Partition(ensemble.labels[:, candidates[np.argmax(agreement)]])
    >>> BestMember(2).fit_predict([[0, 0, 0], [0, 0, 0], [0, 1, 1], [1, 1, 1]]).tolist()
    [0, 0, 1, 1]
    """

    about: ClassVar[MethodInfo] = MethodInfo()

    n_clusters: int | None
    random_state: Any
    n_clusters_: int
    cluster_votes_: ClusterVotes
    approximation_: Approximation | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("about")
        if own and own.name and not own.summary:
            cls.about = replace(own, summary=opening(cls))
        if vars(cls).get("__doc__"):
            base = next(base for base in cls.__mro__[1:] if issubclass(base, LabelConsensus))
            random = cls.about.random or not cls.about.name
            cls.__doc__ = completed(cls, base, SHARED_PARAMETERS, random=random)

    @classmethod
    def method_name(cls) -> str:
        """Name of the method in results and reports."""
        # a subclass without its own ``about`` is not the method it inherits from
        own = vars(cls).get("about")
        return own.name if own and own.name else cls.__name__

    @classmethod
    def domains(cls) -> dict[str, Domain]:
        """The values that each parameter of the constructor may take, where they are known."""
        known = dict(SHARED_DOMAINS)
        if is_dataclass(cls):
            known |= declared_domains(cls)
        return {name: known[name] for name in signature(cls).parameters if name in known}

    def fit(
        self,
        labels: object,
        y: object = None,
        *,
        sample_weight: ArrayLike | None = None,
        member_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the partition that the members support.

        Parameters
        ----------
        labels : Ensemble, or anything that ``Ensemble.from_labels`` takes
            One row per sample, one column per member. The index of a pandas frame names the samples.
        y : None
            Ignored. Present for API consistency.
        sample_weight, member_weight : array, optional
            Weights of samples and members. Only with raw labels: an Ensemble has its own.
        """
        check_parameters(type(self).__name__, self.get_params(deep=False), self.domains())
        ensemble = as_ensemble(labels, sample_weight, member_weight)
        approximate: Approximate = getattr(self, "approximate", None)
        approximation, least = None, self.n_clusters or 1
        if approximate is not None and approximate != "auto":
            approximation = Approximation.of(ensemble, approximate, least)
        solved = ensemble if approximation is None else approximation.ensemble
        try:
            partition, labels, order = self._exactly(solved)
        except MemoryBudgetError as error:
            if approximate == "auto":
                approximation = Approximation.of(ensemble, max(ROWS, least), least)
            if approximate != "auto" or approximation is None:
                raise self._with_advice(error) from error
            solved = approximation.ensemble
            partition, labels, order = self._exactly(solved)
        self._warn_if_unfinished(partition)
        if approximation is not None and self.n_clusters is not None:
            approximation, labels = approximation.without_crumbs(labels, order)
        self._keep(partition, labels, solved, order)
        self.approximation_ = approximation
        if approximation is not None:
            self._count_votes(ensemble)
        return self

    def fit_predict(self, labels: object, y: object = None, **fit_parameters: Any) -> Any:
        """Fit and return ``labels_``. Takes the parameters of :meth:`fit`."""
        return self.fit(labels, y, **fit_parameters).labels_

    def partition_of(self, ensemble: Ensemble) -> NDArray[np.int64]:
        """Labels that this method gives to other members, with as many clusters as in the fit.

        Parameters
        ----------
        ensemble : Ensemble
            With fewer distinct label rows than clusters, each row is a cluster.
        """
        check_is_fitted(self, "labels_")
        most = ensemble.without_blank.n_microclusters
        other = clone(self).set_params(n_clusters=min(self.n_clusters_, most))
        if "callback" in other.get_params(deep=False):
            other.set_params(callback=None)
        with warnings.catch_warnings():
            # the user has seen the warnings of the fit
            warnings.simplefilter("ignore")
            labels: NDArray[np.int64] = other.fit(ensemble).labels_
        return labels

    @property
    def verdict_(self) -> Verdict:
        """How far the whole partition can be relied on; computed at the first use."""
        check_is_fitted(self, "labels_")
        if "_verdict" not in vars(self):
            self._verdict = (
                Verdict.of_one_cluster() if self.n_clusters_ == 1 else self._judge_partition()
            )
        return self._verdict

    def _judge_partition(self) -> Verdict:
        ensemble, votes = self.ensemble_, self.cluster_votes_
        links = Links.of(ensemble.without_blank, self.partition_of, self.n_clusters_)
        party = np.zeros(ensemble.n_members) if links is None else links.party
        agreement = float("nan")
        # a half in which a party is missing says nothing about the whole
        if np.unique(party, return_counts=True)[1].min() > 1:
            # the same members always get the same verdict
            rng = np.random.default_rng(0)
            agreement = expected_agreement(ensemble, self.partition_of, rng, groups=party)
        if links is not None:
            agreement = float(np.fmin(agreement, links.agreement))
        sizes = votes.sums(ensemble.sizes)
        doubt, remarks = size_doubt(votes), votes.remarks()
        if doubt and sizes.max() > sizes.sum() / 2:
            apart = (self.labels_ >= 0) & (self.labels_ != np.argmax(sizes))
            remarks.append(f"Look at {ensemble.listed_samples(np.flatnonzero(apart))}.")
        # parties that share no sample are a matter of links
        merged = None if links is not None else merging_doubt(ensemble, self.n_clusters_)
        return Verdict.of(
            agreement,
            [doubt, merged],
            remarks,
            measured=None if links is None else links.doubt,
            other=OTHER_MEMBERS,
        )

    @property
    def sample_confidence_(self) -> NDArray[np.float64]:
        """Confidence of each sample, from the votes of the members and the verdict on the whole.

        The confidence of :func:`coterie.trust.diagnose_samples`, multiplied by ``verdict_.share``.
        """
        return self.ensemble_.expand(self._diagnosed()[0].confidence)

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        """Find the partition of the microclusters. Every method must define this.

        Parameters
        ----------
        ensemble : Ensemble
            N microclusters with ``weights``, m members with ``member_weight``, in canonical order.
        rng : numpy.random.Generator
            The only source of random numbers, made from ``random_state``.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define _solve(self, ensemble, rng) and return a "
            "coterie.Partition with one label per microcluster"
        )

    def _check_n_clusters(self, ensemble: Ensemble) -> None:
        name = type(self).__name__
        if self.n_clusters is not None and self.n_clusters > ensemble.n_microclusters:
            raise ParameterError(
                f"{name}: n_clusters is {self.n_clusters}, but the samples "
                f"(n_samples={ensemble.n_samples}) have only {ensemble.n_microclusters} distinct "
                "label rows; ask for fewer clusters or give members with more clusters"
            )

    def _add_pass(self, history: list[Pass], record: Pass) -> None:
        """Number a record, add it to the history, and hand it to the user's callback."""
        history.append({"pass": len(history) + 1, **record})
        self._call_back(history[-1:])

    def _call_back(self, passes: Iterable[Pass]) -> None:
        """Hand records of ``history_`` to the user's callback, if there is one."""
        if self.callback is not None:
            for record in passes:
                self.callback(record)

    def _adjusted(self, partition: Partition, ensemble: Ensemble) -> NDArray[np.int64]:
        """The labels, merged or split to exactly n_clusters clusters."""
        if self.n_clusters is None or partition.n_components == self.n_clusters:
            return partition.labels
        return finish_partition(
            ensemble,
            partition.labels,
            self.n_clusters,
            similarity=partition.similarity,
            embedding=partition.embedding,
        )

    def _warn_if_unfinished(self, partition: Partition) -> None:
        """One warning that says what happened and what to do, where the method gives advice."""
        if not partition.advice:
            return
        count, wanted = partition.n_components, self.n_clusters
        if wanted is not None and count != wanted:
            how = "merged" if count > wanted else "split"
            message = (
                f"arrived at {counted(count, 'component')} instead of "
                f"{counted(wanted, 'cluster')}; {how} into {wanted}. {partition.advice}"
            )
        elif not partition.converged:
            message = f"did not converge. {partition.advice}"
            if hasattr(self, "max_iter"):
                advice = partition.advice[0].lower() + partition.advice[1:]
                message = f"did not converge in {self.max_iter} passes. Raise max_iter, or {advice}"
        else:
            return
        warnings.warn(f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=3)

    def _keep(
        self,
        partition: Partition,
        labels: NDArray[np.int64],
        ensemble: Ensemble,
        order: NDArray[np.int64],
    ) -> None:
        """Set the fitted attributes, with the samples and members in the user's order."""
        back = np.argsort(order)
        weights = partition.member_weights
        if weights is None:
            weights = ensemble.member_weight[order]
        for attribute in ("_verdict", "_judged_votes"):
            vars(self).pop(attribute, None)
        of_samples = ensemble.expand(ensemble.with_blank(labels))
        self.labels_ = clusters_by_first_appearance(of_samples)
        self._count_votes(ensemble)
        self.n_clusters_ = self.cluster_votes_.n_clusters
        self.member_weights_ = weights[back] / weights.sum()
        self.converged_ = partition.converged
        self.history_ = [dict(record) for record in partition.history]
        self.n_iter_ = len(self.history_)
        last = self.history_[-1] if self.history_ else {}
        for name in last.keys() & {"objective", "residual"}:
            setattr(self, f"{name}_", last[name])
        self.n_components_ = partition.n_components
        self.component_labels_ = ensemble.expand(ensemble.with_blank(partition.labels))
        # scikit-learn's name for the number of columns
        self.n_features_in_ = ensemble.n_members
        for name, values in partition.by_sample.items():
            setattr(self, name, ensemble.expand(ensemble.with_blank(values)))
        for name, values in partition.by_member.items():
            setattr(self, name, values[back])
        for name, values in partition.by_sample_and_member.items():
            setattr(self, name, ensemble.expand(ensemble.with_blank(values))[:, back])
        for name, values in partition.by_microcluster.items():
            setattr(self, name, ensemble.with_blank(values))
        for name, values in partition.by_pair.items():
            setattr(self, name, ensemble.with_blank_pairs(values))
        for name, values in partition.by_base_cluster.items():
            starts = np.concatenate([[0], np.cumsum(ensemble.n_clusters_per_member[order])])
            blocks = [values[starts[j] : starts[j + 1]] for j in back]
            setattr(self, name, np.concatenate(blocks))
        for name, value in partition.other.items():
            setattr(self, name, value)

    def _count_votes(self, ensemble: Ensemble) -> None:
        """Keep the ensemble, and how its members vote on the clusters."""
        renumbered = np.empty(ensemble.n_microclusters, dtype=np.int64)
        renumbered[ensemble.inverse] = self.labels_
        self.ensemble_ = ensemble
        self.cluster_votes_ = ClusterVotes.of_microclusters(ensemble, renumbered)

    def _exactly(
        self, ensemble: Ensemble
    ) -> tuple[Partition, NDArray[np.int64], NDArray[np.int64]]:
        """The partition of an ensemble, its labels with exactly ``n_clusters``, and the order of members."""
        # no member says where a sample without any label belongs, so it takes no part
        labelled = ensemble.without_blank
        self._check_n_clusters(labelled)
        order = labelled.canonical_member_order
        canonical = labelled.reorder_members(order).with_fewer_copies()
        # the last digits of a BLAS product depend on the number of threads, and can change labels
        with one_blas_thread():
            partition = self._solve(canonical, generator(self.random_state))
            if not isinstance(partition, Partition):
                raise TypeError(
                    f"{type(self).__name__}._solve must return a coterie.Partition, for example "
                    f"Partition(labels), but returned {shown(partition)}"
                )
            partition.check(type(self).__name__, labelled, self.n_clusters)
            return partition, self._adjusted(partition, canonical), order

    def _with_advice(self, error: MemoryBudgetError) -> MemoryBudgetError:
        """The error, with the advice to group rows where that helps."""
        if self.about.scaling == "linear" or getattr(self, "approximate", "auto") is not None:
            return error
        advice = "or group similar label rows with {approximate}"
        return MemoryBudgetError(str(error).rstrip("."), advice, {"approximate": "auto"})

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        check_is_fitted(self, "labels_")
        if "_judged_votes" not in vars(self):
            verdict = self.verdict_
            self._judged_votes = self.cluster_votes_.judged(verdict.share, verdict.reliable)
        return self._judged_votes, self.member_weights_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False)
class Method(LabelConsensus):
    """The parameters that all methods of the library begin with."""

    n_clusters: int
    _: KW_ONLY
    approximate: Approximate = None
    random_state: Any = None


SOLVER = Kind(
    lambda value: value is None or isinstance(value, LabelConsensus | str),
    "None, the name of a method such as 'spce', or a solver such as coterie.EAC()",
)
