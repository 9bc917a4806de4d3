"""Result: everything about one run, without the model, so that it can be saved, reported and explained."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from coterie.core.errors import DataError, ParameterError, ResultFileError
from coterie.core.html import card, folded, paragraph
from coterie.core.packages import versions
from coterie.core.text import counted
from coterie.ensemble import Ensemble
from coterie.ensemble.missing import is_missing
from coterie.generate.columns import is_table
from coterie.generate.tables import table_features
from coterie.io.result_record import (
    COLUMN_KINDS,
    RESULT_KINDS,
    check_kinds,
    check_shape,
    ensemble_of,
)
from coterie.numerics.embedding import principal_plane, spectral_plane
from coterie.profiles import ProfileSummary
from coterie.solvers.base import LabelConsensus
from coterie.trust import ClusterVotes, DiagnosisMixin, Verdict

if TYPE_CHECKING:
    from coterie.consensus import ConsensusClustering
    from coterie.select import Selection

# a learned matrix is kept up to this many microclusters: 32 MB
KEPT_MATRIX = 2000


@dataclass(frozen=True, eq=False, repr=False)
class Result(DiagnosisMixin):
    """The result of a fitted model, with everything that is needed to explain every sample.

    Make one with :meth:`of`. It can be saved and loaded (:meth:`save`, :meth:`load`), reported and
    diagnosed without the model or the features.

    Attributes
    ----------
    method : str
        Name of the method, such as ``"eac"``.
    parameters : dict
        Parameters of the run, as JSON values.
    seed : int or None
        The ``random_state``, if it was a number.
    labels : ndarray of int32, shape (n,)
        Cluster of each sample; -1 for a sample that no member labelled.
    sample_confidence : ndarray, shape (n,)
        From the votes of the members, times ``verdict.share``; see ``sample_confidence_`` of the model.
    member_weights : ndarray, shape (m,)
    n_clusters : int
    converged : bool
    history : list of dict
        One record per pass.
    ensemble : Ensemble
    selection : Selection or None
        How the number of clusters was chosen.
    coordinates : ndarray of float32, shape (n, 2), or None
        Coordinates of the samples for plots.
    coordinates_name : str
        Description of the coordinates, such as ``"PCA of 64 features"``.
    matrix : ndarray, shape (N, N), or None
        The consensus matrix that the solver learned, kept up to N = 2,000.
    matrix_name : str
    truth : ndarray, shape (n,), or None
        Known classes, for comparison.
    input : dict
        Source of the data: rows, columns, sha256 and the facts given to :meth:`of`.
    versions : dict
        Versions of coterie, Python and the numerical packages.
    warnings : list of str
    seconds : float or None
    created : str
        Date and time, UTC.
    verdict : Verdict or None
        How far the whole partition can be relied on.
    columns : list of dict
        What each column of a table is and what was done with it: column, kind, used, missing,
        treatment. Empty if the input was not encoded.
    profile : ProfileSummary or None
        What tells the clusters apart, from the columns of the table. See ``describes_groups``.

    Examples
    --------
    >>> from coterie import EAC
    >>> from coterie.result import Result
    >>> labels = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    >>> result = Result.of(EAC(2).fit(labels))
    >>> result
    Result(eac, 5 samples, 4 members, 2 clusters, mean confidence 0.87)
    >>> result.diagnose_clusters()["size"].tolist()
    [3, 2]
    """

    method: str
    parameters: dict[str, Any]
    seed: int | None
    labels: NDArray[np.int32]
    sample_confidence: NDArray[np.float64]
    member_weights: NDArray[np.float64]
    n_clusters: int
    converged: bool
    history: list[dict[str, Any]]
    ensemble: Ensemble
    selection: Selection | None = None
    coordinates: NDArray[np.float32] | None = None
    coordinates_name: str = ""
    matrix: NDArray[np.float64] | None = None
    matrix_name: str = ""
    truth: NDArray[Any] | None = None
    input: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    seconds: float | None = None
    created: str = ""
    verdict: Verdict | None = None
    columns: list[dict[str, Any]] = field(default_factory=list)
    profile: ProfileSummary | None = None

    def __post_init__(self) -> None:
        n, m = self.ensemble.n_samples, self.ensemble.n_members
        size = self.ensemble.n_microclusters
        check_shape("labels", self.labels, (n,))
        check_shape("sample_confidence", self.sample_confidence, (n,))
        check_shape("member_weights", self.member_weights, (m,))
        check_shape("coordinates", self.coordinates, (n, 2))
        check_shape("matrix", self.matrix, (size, size))
        check_shape("truth", self.truth, (n,))
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @classmethod
    def of(
        cls,
        model: LabelConsensus | ConsensusClustering,
        *,
        X: Any = None,
        selection: Selection | None = None,
        truth: ArrayLike | None = None,
        input: Mapping[str, Any] | None = None,
        seconds: float | None = None,
        warnings: Iterable[str] = (),
    ) -> Self:
        """Make a result from a fitted solver or ConsensusClustering.

        Parameters
        ----------
        model : fitted solver or ConsensusClustering
        X : array, dataframe or sparse matrix, optional
            The features. ``coordinates`` are then their principal components instead of spectral
            coordinates of the members, and the hash in ``input`` is computed from the features. Its
            columns describe the clusters; by default, the table that a ConsensusClustering was fitted
            on does. It may have categories and gaps, for a solver, too.
        selection : Selection, optional
            How k was chosen; by default the model's own ``selection_``, if it has one.
        truth : sequence, optional
            Known classes of the samples.
        input : mapping, optional
            Facts about the source of the data, such as ``{"file": "data.csv", "sha256": ...}``.
        seconds : float, optional
        warnings : iterable of str
        """
        if isinstance(model, type) or not hasattr(model, "get_params"):
            raise ParameterError(
                f"model must be a fitted solver or ConsensusClustering, but is {model!r:.60}"
            )
        check_is_fitted(model, "labels_")
        solver: Any = getattr(model, "solver_", model)
        seed: Any = model.random_state
        ensemble = solver.ensemble_
        encoder = getattr(model, "encoder_", None)
        table = X
        if table is None and model is not solver:
            table = model.fitted_table()
        if X is not None and encoder is not None:
            X = model.features_of(X)
        elif X is not None and model is solver and is_table(X):
            X = table_features(X)
        coordinates, name = _coordinates(ensemble, X)
        # the model's own confidence is lazy for rows in partitions; the ensemble holds the distinct rows
        votes, member_weights = model._diagnosed()
        confidence = ensemble.expand(votes.confidence)
        matrix = getattr(solver, "consensus_matrix_", None)
        if matrix is not None and len(matrix) > KEPT_MATRIX:
            matrix = None
        if selection is None:
            selection = getattr(model, "selection_", None)
        result = cls(
            method=solver.method_name(),
            parameters=_parameters(model, solver),
            seed=int(seed) if isinstance(seed, int | np.integer) else None,
            labels=np.array(solver.labels_, dtype=np.int32),
            sample_confidence=np.array(confidence, dtype=np.float64),
            member_weights=np.array(member_weights, dtype=np.float64),
            n_clusters=int(solver.n_clusters_),
            converged=bool(solver.converged_),
            history=[
                {key: _plain(value) for key, value in record.items()} for record in solver.history_
            ],
            ensemble=ensemble,
            selection=selection,
            coordinates=coordinates,
            coordinates_name=name,
            matrix=None if matrix is None else np.array(matrix, dtype=np.float64),
            matrix_name="" if matrix is None else f"matrix learned by {type(solver).__name__}",
            truth=None if truth is None else _classes(truth),
            input=_input(ensemble, X, input),
            versions=versions(),
            warnings=[str(warning) for warning in warnings],
            seconds=None if seconds is None else float(seconds),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            verdict=model.verdict_,
            columns=[] if encoder is None else [*encoder.summary().rows()],
            profile=None if table is None else _profile(table, model, encoder, selection),
        )
        # the model computed the votes for its confidence
        result.__dict__["cluster_votes"] = votes
        return result

    @property
    def describes_groups(self) -> bool:
        """Whether all samples are in one cluster, and ``profile`` is about groups with weaker evidence."""
        described = 0 if self.profile is None else len(self.profile.clusters)
        return self.n_clusters == 1 and described > 1 and self.selection is not None

    def without_blank(self) -> Self:
        """The result of the samples with a label in some member; ids are row numbers, if there are none."""
        ensemble = self.ensemble.without_blank
        if ensemble is self.ensemble:
            return self
        kept = self.ensemble.has_label[self.ensemble.inverse]
        if ensemble.sample_ids is None:
            ensemble = replace(ensemble, sample_ids=np.flatnonzero(kept))
        rows, selection = self.ensemble.has_label, self.selection
        if selection is not None and selection.labels.shape[1] == len(kept):
            selection = replace(selection, labels=selection.labels[:, kept])
        return replace(
            self,
            labels=self.labels[kept],
            sample_confidence=self.sample_confidence[kept],
            ensemble=ensemble,
            selection=selection,
            coordinates=None if self.coordinates is None else self.coordinates[kept],
            matrix=None if self.matrix is None else self.matrix[np.ix_(rows, rows)],
            truth=None if self.truth is None else self.truth[kept],
        )

    @property
    def mean_confidence(self) -> float:
        """Mean confidence of the samples, which count with their weights."""
        return float(np.average(self.sample_confidence, weights=self.ensemble.sample_weight))

    @cached_property
    def cluster_votes(self) -> ClusterVotes:
        """How the members' clusters spread over the clusters. The diagnoses are computed from it."""
        votes = ClusterVotes.of(self.ensemble, self.labels)
        reliable = self.verdict is None or self.verdict.reliable
        surest = int(np.argmax(votes.confidence))
        of_members = float(votes.confidence[surest])
        if of_members == 0:
            return votes.judged(1.0, reliable)
        # one factor for all samples, which the first files of format version 2 do not hold
        stored = float(self.sample_confidence[np.argmax(self.ensemble.inverse == surest)])
        return votes.judged(stored / of_members, reliable)

    def _diagnosed(self) -> tuple[ClusterVotes, NDArray[np.float64]]:
        return self.cluster_votes, self.member_weights

    # ------------------------------------------------------------------ files

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a file: arrays and a JSON header in one npz, without pickles.

        The file appears under its name only when it is complete; see :meth:`load`.

        Parameters
        ----------
        path : str or path
            The file to write, which must end in ``.npz``; an existing one is replaced.
        """
        from coterie.io.result_file import write_result

        write_result(path, self.to_record())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a file that :meth:`save` wrote.

        Raises ``ResultFileError`` for a file that is cut short, altered, in another format or of a
        newer version; the message says which.
        """
        from coterie.io.result_file import MISFITS, read_result

        record = read_result(path)
        try:
            return cls.from_record(record)
        except MISFITS as error:
            raise ResultFileError(
                f"{path}: the parts of the result do not fit together ({error})"
            ) from None

    def to_record(self) -> dict[str, Any]:
        """The result as arrays, mappings, lists and plain values; see :meth:`from_record`."""
        record = {part.name: getattr(self, part.name) for part in fields(self)}
        record["ensemble"] = {
            part.name: getattr(self.ensemble, part.name) for part in fields(self.ensemble)
        }
        record["selection"] = None if self.selection is None else self.selection.to_record()
        record["verdict"] = None if self.verdict is None else asdict(self.verdict)
        record["profile"] = None if self.profile is None else self.profile.to_record()
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Read a result from a record. Raises ValueError if its values contradict each other."""
        known = {part.name for part in fields(cls)}
        # older results have none of these
        record = {"verdict": None, "columns": [], "profile": None} | dict(record)
        if missing := sorted(known - set(record)):
            raise ValueError(f"{missing[0]} is missing")
        values = {name: record[name] for name in known}
        check_kinds(values, RESULT_KINDS)
        if not all(isinstance(text, str) for text in values["warnings"]):
            raise ValueError("a warning is not text")
        if not all(isinstance(step, dict) for step in values["history"]):
            raise ValueError("a pass of the history is not a mapping")
        for column in values["columns"]:
            if not isinstance(column, dict) or {*COLUMN_KINDS} - {*column}:
                raise ValueError("a column is damaged")
            check_kinds(column, COLUMN_KINDS)
        values["ensemble"] = ensemble = ensemble_of(values["ensemble"])
        if values["selection"] is not None:
            from coterie.select import Selection

            values["selection"] = Selection.from_record(values["selection"])
        if values["verdict"] is not None:
            values["verdict"] = Verdict.from_record(values["verdict"])
        if values["profile"] is not None:
            values["profile"] = ProfileSummary.from_record(values["profile"])
        labels, n_clusters = values["labels"], values["n_clusters"]
        if (
            labels.shape != (ensemble.n_samples,)
            or not 1 <= n_clusters <= ensemble.n_samples
            or not np.array_equal(
                np.unique(labels[ensemble.has_label[ensemble.inverse] | (labels != -1)]),
                np.arange(n_clusters),
            )
        ):
            raise ValueError(f"labels are not {n_clusters} clusters of the samples")
        result = cls(**values)
        confidence, influence = result.sample_confidence, result.member_weights
        if not ((confidence >= 0) & (confidence <= 1)).all():
            raise ValueError("a confidence is not in [0, 1]")
        with np.errstate(over="ignore"):
            total = influence.sum()
        if not ((influence >= 0).all() and 0 < total < np.inf):
            raise ValueError("the members' weights are negative, infinite or all zero")
        return result

    def _repr_html_(self) -> str:
        return card(
            repr(self),
            paragraph("" if self.verdict is None else self.verdict.text),
            self.diagnose_clusters()._repr_html_(),
            folded("members", self.diagnose_members()),
        )

    def __repr__(self) -> str:
        ensemble = self.ensemble
        sizes = {
            "sample": ensemble.total_count,
            "member": ensemble.n_members,
            "cluster": self.n_clusters,
        }
        parts = [self.method]
        parts += [counted(size, noun) for noun, size in sizes.items()]
        # with one cluster, confidence carries no information
        if self.n_clusters > 1:
            parts.append(f"mean confidence {self.mean_confidence:.2f}")
        return f"Result({', '.join(parts)})"


def _profile(
    table: Any, model: Any, encoder: Any, selection: Selection | None
) -> ProfileSummary | None:
    """What tells the clusters apart; the same whatever the seed of the model."""
    categories = [*encoder.category_features_] if encoder is not None and is_table(table) else []
    labels = None
    if model.n_clusters_ == 1 and selection is not None:
        labels = selection.fewest_groups(len(model.labels_))
    return ProfileSummary.of(table, model, categories, np.random.default_rng(0), labels)


def _parameters(model: Any, solver: LabelConsensus) -> dict[str, Any]:
    parameters = dict(solver.get_params(deep=False))
    if model is not solver:
        of_model = model.get_params(deep=False)
        parameters |= {name: value for name, value in of_model.items() if name != "solver"}
    # the seed has its own field; the others do not change the result
    for name in ("random_state", "callback", "n_jobs", "memory_budget"):
        parameters.pop(name, None)
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    """A parameter as a JSON value."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"array of shape {value.shape}"
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, BaseEstimator):
        return " ".join(repr(value).split())
    return getattr(value, "__name__", type(value).__name__)


def _classes(truth: Any) -> NDArray[Any]:
    """A copy of the known classes, with None where one is masked or missing."""
    if np.ma.isMaskedArray(truth):
        classes = truth.data.astype(object)
        classes[np.ma.getmaskarray(truth)] = None
    else:
        classes = np.array(truth)
    if classes.dtype.kind == "O":
        for index, value in np.ndenumerate(classes):
            if is_missing(value):
                classes[index] = None
    return np.asarray(classes)


def _coordinates(ensemble: Ensemble, X: Any) -> tuple[NDArray[np.float32], str]:
    if X is not None:
        features = X if sparse.issparse(X) else np.asarray(X)
        if features.ndim != 2 or features.shape[0] != ensemble.n_samples:
            raise DataError(
                f"X must hold the features of the {ensemble.n_samples} samples, "
                f"but has shape {features.shape}"
            )
        return principal_plane(features), f"PCA of {counted(features.shape[1], 'feature')}"
    plane, groups = spectral_plane(ensemble.incidence, ensemble.sizes, ensemble.weight_of_cluster)
    name = f"spectral coordinates of {counted(ensemble.n_members, 'member')}"
    # two axes have no room for more than three groups
    name += f", {groups} groups around a circle, each with its own spread" if groups > 3 else ""
    return ensemble.expand(plane), name


def _input(ensemble: Ensemble, X: Any, given: Mapping[str, Any] | None) -> dict[str, Any]:
    known = {str(name): _plain(value) for name, value in (given or {}).items()}
    known.setdefault("rows", ensemble.n_samples)
    known.setdefault("columns", ensemble.n_members if X is None else int(X.shape[1]))
    if "sha256" not in known:
        known["sha256"] = _hash(ensemble, X)
        known["sha256_of"] = "labels" if X is None else "features"
    return known


def _hash(ensemble: Ensemble, X: Any) -> str:
    """Hash of the features, or of the compressed labels if there are no features."""
    parts: list[Any]
    if X is None:
        parts = [ensemble.labels, ensemble.inverse]
        # weights are part of the data
        parts += [] if ensemble.sample_weight is None else [ensemble.sample_weight]
    elif sparse.issparse(X):
        rows = sparse.csr_array(X)
        parts = [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
    else:
        parts = [np.asarray(X)]
    digest = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
