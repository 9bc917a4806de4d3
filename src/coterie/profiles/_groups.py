"""Which sample is in which cluster: read from labels, a Result or a model, and matched with the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from coterie.core.errors import DataError, ParameterError
from coterie.core.text import counted
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble.checks import checked_weights
from coterie.ensemble.columns import Categorical, encode
from coterie.ensemble.ids import checked_ids, index_ids, join_key
from coterie.ensemble.missing import MissingValues
from coterie.generate.sources import is_lazy


@dataclass(frozen=True, eq=False)
class Clustering:
    """A partition of samples, and what is known about it.

    Attributes
    ----------
    labels : array, shape (n,)
    ids : ndarray or None
        Ids of the samples.
    weight : ndarray or None
        How often each sample counts.
    confidence : ndarray or None
    used : frozenset of str or None
        Names of the columns that were clustered by, if they are known.
    model : fitted clusterer or None
    """

    labels: Any
    ids: NDArray[Any] | None = None
    weight: NDArray[Any] | None = None
    confidence: FloatArray | None = None
    used: frozenset[str] | None = None
    model: Any = None

    @classmethod
    def of(cls, given: Any) -> Self:
        """From labels, a Result, or a fitted clusterer."""
        if hasattr(given, "get_params") and not isinstance(given, type):
            check_is_fitted(given, "labels_")
            if is_lazy(given.labels_):
                raise ParameterError(
                    "the model was fitted on rows in partitions; describe a sample of them: "
                    "coterie.profile(rows, model.predict(rows))"
                )
            ensemble = getattr(given, "ensemble_", None)
            return cls(
                labels=np.asarray(given.labels_),
                ids=getattr(ensemble, "sample_ids", None),
                weight=getattr(ensemble, "sample_weight", None),
                confidence=getattr(given, "sample_confidence_", None),
                used=_columns_of_model(given),
                model=given,
            )
        if hasattr(given, "sample_confidence") and hasattr(given, "ensemble"):
            used = [column["column"] for column in given.columns if column["used"]]
            return cls(
                labels=given.labels,
                ids=given.ensemble.sample_ids,
                weight=given.ensemble.sample_weight,
                confidence=given.sample_confidence,
                used=frozenset(used) if used else None,
            )
        categorical = Categorical.of(given)
        return cls(labels=given if categorical is None else categorical, ids=index_ids(given))


def _columns_of_model(model: Any) -> frozenset[str] | None:
    encoder = getattr(model, "encoder_", None)
    if encoder is not None:
        return frozenset(plan.name for plan in encoder.plans_ if plan.used)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else frozenset(str(name) for name in names)


@dataclass(frozen=True, eq=False)
class Groups:
    """Samples in the order of their clusters.

    Attributes
    ----------
    names : ndarray, shape (c,)
        The label of each cluster, sorted.
    sizes : ndarray, shape (c,)
        Number of samples of each cluster, or the sum of their weights.
    rows : ndarray of int, shape (n,)
        Row of each sample in the table, cluster by cluster.
    starts : ndarray of int, shape (c + 1,)
        Where the samples of each cluster begin.
    weight : ndarray, shape (n,)
        How much each sample counts in statistics.
    notes : tuple of str
        Samples and rows that were left out.
    """

    names: NDArray[Any]
    sizes: NDArray[Any]
    rows: IntArray
    starts: IntArray
    weight: FloatArray
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, clustering: Clustering, n_rows: int, row_ids: NDArray[Any] | None, sample_weight: Any
    ) -> Self:
        """The clusters of the rows of a table; rows and samples are matched by id if both have ids."""
        codes, names = encode(clustering.labels, "labels", MissingValues.named(-1))
        order = _sorted_names(names)
        names = names[order]
        codes = np.append(np.argsort(order), -1)[codes].astype(np.int64)
        rows, left_out = _matched_rows(clustering.ids, len(codes), row_ids, n_rows)
        notes = []
        if left_out:
            notes.append(f"{counted(left_out, 'row')} of the table without a sample left out.")
        count, weight = _weights(clustering, len(codes), sample_weight)
        labelled = codes >= 0
        if not labelled.any():
            raise DataError("no sample has a cluster: every label is missing or -1")
        if not labelled.all():
            notes.append(f"{counted(int((~labelled).sum()), 'sample')} without a cluster left out.")
        sizes = np.bincount(codes[labelled], weights=count[labelled], minlength=len(names))
        if np.issubdtype(count.dtype, np.integer):
            sizes = np.rint(sizes).astype(np.int64)
        kept = np.flatnonzero(labelled & (weight > 0))
        kept = kept[np.argsort(codes[kept], kind="stable")]
        starts = np.searchsorted(codes[kept], np.arange(len(names) + 1))
        return cls(names, sizes, rows[kept], starts, weight[kept], tuple(notes))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.names)

    @property
    def codes(self) -> IntArray:
        """Cluster of each sample, by number."""
        return np.repeat(np.arange(self.n_clusters), np.diff(self.starts))

    @property
    def counts_whole_samples(self) -> bool:
        """Whether every sample counts once."""
        return bool((self.weight == 1).all())

    def number_of(self, cluster: Any) -> int:
        """The number of a cluster, from its label."""
        matches = [c for c, name in enumerate(self.names.tolist()) if name == cluster]
        if not matches:
            raise ParameterError(
                f"there is no cluster {cluster!r}; the clusters are "
                + ", ".join(str(name) for name in self.names[:20])
            )
        return matches[0]

    def take(self, clusters: list[int]) -> Self:
        """Only these clusters, in this order."""
        parts = [np.arange(self.starts[c], self.starts[c + 1]) for c in clusters]
        positions = np.concatenate(parts)
        return replace(
            self,
            names=self.names[clusters],
            sizes=self.sizes[clusters],
            rows=self.rows[positions],
            starts=np.cumsum([0, *map(len, parts)]),
            weight=self.weight[positions],
        )

    def subset(self, chosen: NDArray[np.bool_]) -> Self:
        """Only these samples; a cluster may become empty."""
        codes = self.codes[chosen]
        return replace(
            self,
            rows=self.rows[chosen],
            starts=np.searchsorted(codes, np.arange(self.n_clusters + 1)),
            weight=self.weight[chosen],
        )

    def sampled(self, limit: int, seed: int) -> Self:
        """About ``limit`` samples, each cluster in proportion and with at least one; sizes stay true."""
        n = len(self.rows)
        if n <= limit:
            return self
        rng = np.random.default_rng(seed)
        chosen = np.zeros(n, dtype=bool)
        for begin, end in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            count = -(-(end - begin) * limit // n)
            chosen[begin + rng.permutation(end - begin)[:count]] = True
        return self.subset(chosen)

    def relabelled(self, codes: IntArray, n_clusters: int) -> Self:
        """The same samples in other clusters: ``codes`` holds the new cluster of each, in this order."""
        order = np.argsort(codes, kind="stable")
        return replace(
            self,
            names=np.arange(n_clusters),
            sizes=np.bincount(codes, weights=self.weight, minlength=n_clusters),
            rows=self.rows[order],
            starts=np.searchsorted(codes[order], np.arange(n_clusters + 1)),
            weight=self.weight[order],
        )


def _sorted_names(names: NDArray[Any]) -> IntArray:
    def key(position: int) -> tuple[str, Any]:
        value = names[position]
        kind = "number" if isinstance(value, int | float | np.number) else type(value).__name__
        return kind, value if isinstance(value, int | float | str | np.number) else str(value)

    return np.array(sorted(range(len(names)), key=key), dtype=np.int64)


def _weights(
    clustering: Clustering, n_samples: int, sample_weight: Any
) -> tuple[NDArray[Any], FloatArray]:
    """How often each sample counts in sizes, and how much it counts in statistics."""
    count = clustering.weight
    if count is None:
        count = np.ones(n_samples, dtype=np.int64)
    if sample_weight is None:
        return count, count.astype(np.float64)
    if isinstance(sample_weight, str):
        if sample_weight != "confidence":
            raise ParameterError(
                f"sample_weight must be None, 'confidence' or one number per sample, but is "
                f"{sample_weight!r}"
            )
        if clustering.confidence is None:
            raise ParameterError(
                "sample_weight is 'confidence', but labels alone have no confidence; give a fitted "
                "model or a Result"
            )
        return count, count * np.asarray(clustering.confidence, dtype=np.float64)
    given = checked_weights(sample_weight, n_samples, "sample_weight")
    return given, given.astype(np.float64)


def _matched_rows(
    ids: NDArray[Any] | None, n_samples: int, row_ids: NDArray[Any] | None, n_rows: int
) -> tuple[IntArray, int]:
    """The row of each sample, and the number of rows that belong to no sample."""
    if ids is None or row_ids is None:
        if n_samples != n_rows:
            raise DataError(
                f"X has {counted(n_rows, 'row')}, but the clustering has {counted(n_samples, 'sample')}",
                "give the same samples in the same order, or the ids of the rows with {sample_ids}"
                if ids is not None
                else "give the same samples in the same order",
            )
        return np.arange(n_samples), 0
    row_of = {join_key(value): row for row, value in enumerate(_plain_ids(row_ids))}
    keys = [join_key(value) for value in _plain_ids(ids)]
    absent = [key for key in keys if key not in row_of]
    if len(absent) == n_samples:
        raise DataError(
            f"no sample of the clustering has a row in X: the ids of the rows are such as "
            f"{_plain_ids(row_ids[:1])[0]!r}, those of the samples such as {_plain_ids(ids[:1])[0]!r}"
        )
    if absent:
        raise DataError(
            f"X has no row for {counted(len(absent), 'sample')} of the clustering (first: "
            f"{absent[0]!r}); give the rows of all samples"
        )
    return np.array([row_of[key] for key in keys], dtype=np.int64), n_rows - n_samples


def _plain_ids(ids: NDArray[Any]) -> list[Any]:
    return checked_ids(ids.tolist(), "sample_ids", error=DataError)
