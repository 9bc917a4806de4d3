"""The arrays of an Ensemble, and what can be read from them directly."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class LabelRows:
    """Distinct label rows with their weights: sizes, views, and the way back to the samples.

    :class:`coterie.Ensemble` documents the arrays.
    """

    labels: NDArray[np.int32]
    weights: NDArray[np.int64] | NDArray[np.float64]
    inverse: NDArray[np.int32]
    members: tuple[str, ...]
    categories: tuple[NDArray[Any], ...]
    member_weight: NDArray[np.float64]
    sample_weight: NDArray[Any] | None = None
    sample_ids: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            for array in value if field.name == "categories" else (value,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False

    @cached_property
    def n_samples(self) -> int:
        """Number of samples n."""
        return len(self.inverse)

    @cached_property
    def n_members(self) -> int:
        """Number of members m."""
        return self.labels.shape[1]

    @cached_property
    def n_microclusters(self) -> int:
        """Number of distinct label rows N."""
        return self.labels.shape[0]

    @cached_property
    def n_clusters_per_member(self) -> NDArray[np.int64]:
        """Number of clusters k_j of each member."""
        return read_only([len(values) for values in self.categories])

    @cached_property
    def cluster_offsets(self) -> NDArray[np.int64]:
        """First column of each member in :attr:`incidence`, and k at the end."""
        return read_only(np.concatenate([[0], np.cumsum(self.n_clusters_per_member)]))

    @cached_property
    def cluster_starts(self) -> NDArray[np.int64]:
        """First column of each member in :attr:`incidence`."""
        return self.cluster_offsets[:-1]

    @cached_property
    def n_base_clusters(self) -> int:
        """Number of base clusters k, over all members."""
        return int(self.cluster_offsets[-1])

    @cached_property
    def is_complete(self) -> bool:
        """Whether no label is missing."""
        return bool(self.observed.all())

    @property
    def missing_share(self) -> float:
        """Share of the labels that are missing; samples count with their weights."""
        return float(np.average((~self.observed).mean(axis=1), weights=self.weights))

    @cached_property
    def has_equal_members(self) -> bool:
        """Whether all members have the same :attr:`member_weight`."""
        return bool((self.member_weight == self.member_weight[0]).all())

    @cached_property
    def sizes(self) -> NDArray[np.float64]:
        """The :attr:`weights` of the microclusters as floats."""
        return read_only(self.weights.astype(np.float64))

    @cached_property
    def observed(self) -> NDArray[np.bool_]:
        """Whether each member labels each microcluster, N x m."""
        return read_only(self.labels >= 0)

    @cached_property
    def observed_weight(self) -> NDArray[np.float64]:
        """Total weight of the members that label each microcluster."""
        return read_only(self.observed @ self.member_weight)

    @property
    def base_clusters(self) -> NDArray[np.int64]:
        """Base cluster of each label, N x m: its column in :attr:`incidence`, -1 where missing."""
        return np.where(self.observed, self.labels + self.cluster_starts, -1)

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """Microclusters by base clusters, N x k: one where a cluster contains the microcluster."""
        columns = self.base_clusters[self.observed]
        starts = np.concatenate([[0], np.cumsum(self.observed.sum(axis=1))])
        return sparse.csr_array(
            (np.ones(len(columns)), columns, starts),
            shape=(self.n_microclusters, self.n_base_clusters),
        )

    @cached_property
    def member_of_cluster(self) -> NDArray[np.int64]:
        """Member of each base cluster, in the order of :attr:`incidence`."""
        return read_only(np.repeat(np.arange(self.n_members), self.n_clusters_per_member))

    @cached_property
    def weight_of_cluster(self) -> NDArray[np.float64]:
        """The :attr:`member_weight` of each base cluster's member, in the order of :attr:`incidence`."""
        return read_only(self.member_weight[self.member_of_cluster])

    @cached_property
    def cluster_sizes(self) -> NDArray[np.float64]:
        """Total weight of each base cluster, in the order of :attr:`incidence`."""
        return read_only(self.incidence.T @ self.sizes)

    @cached_property
    def has_whole_weights(self) -> bool:
        """Whether the weights are counts, that is, whole numbers; always true without ``sample_weight``."""
        weights = self.weights if self.sample_weight is None else self.sample_weight
        if weights.dtype.kind != "f":
            return True
        # sums of whole floats are exact up to this total
        return bool((weights == np.rint(weights)).all() and weights.sum() <= 2.0**53)

    @property
    def sample_counts(self) -> NDArray[Any]:
        """The number of samples that each sample counts for, shape (n,): its weight, one by default."""
        if self.sample_weight is None:
            return np.ones(self.n_samples, dtype=np.int64)
        return self.as_counts(self.sample_weight.astype(np.float64))

    @cached_property
    def total_count(self) -> int | float:
        """Number of samples, counted by weight."""
        if self.sample_weight is None:
            return self.n_samples
        total = float(self.weights.sum())
        return round(total) if self.has_whole_weights else total

    def as_counts(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Sums of weights as numbers of samples: integers where the weights are counts."""
        return np.rint(sums).astype(np.int64) if self.has_whole_weights else sums

    @cached_property
    def has_label(self) -> NDArray[np.bool_]:
        """Whether any member labels a microcluster, shape (N,)."""
        return read_only(self.observed.any(axis=1))

    def blank_samples(self) -> NDArray[np.int64]:
        """Positions of the samples without a label in any member."""
        if self.has_label.all():
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(~self.has_label[self.inverse])

    def listed_samples(self, samples: NDArray[np.int64]) -> str:
        """The first five of some samples by id or row, in words."""
        shown = samples[:5] if self.sample_ids is None else self.sample_ids[samples[:5]]
        kind = "rows" if self.sample_ids is None else "ids"
        return f"{kind} {', '.join(map(str, shown))}{', ...' if len(samples) > 5 else ''}"

    @cached_property
    def without_blank(self) -> Self:
        """The ensemble of the samples with a label; the other microclusters keep their order.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> ensemble = Ensemble.from_labels([[0, 0], [-1, -1], [1, 1]])
        >>> ensemble.blank_samples().tolist(), ensemble.without_blank.n_samples
        ([1], 2)
        """
        if self.has_label.all():
            return self
        kept = self.has_label[self.inverse]
        number = np.cumsum(self.has_label, dtype=np.int32) - 1
        return replace(
            self,
            labels=self.labels[self.has_label],
            weights=self.weights[self.has_label],
            inverse=number[self.inverse[kept]],
            sample_weight=None if self.sample_weight is None else self.sample_weight[kept],
            sample_ids=None if self.sample_ids is None else self.sample_ids[kept],
        )

    def with_blank(self, values: ArrayLike) -> NDArray[Any]:
        """Values of the microclusters of :attr:`without_blank`, and 0.0, -1 or None for the blank one."""
        array = np.asarray(values)
        fill = {"f": 0.0, "O": None}.get(array.dtype.kind, -1)
        if self.has_label.all():
            return array
        full = np.full((self.n_microclusters, *array.shape[1:]), fill, dtype=array.dtype)
        full[self.has_label] = array
        return full

    def with_blank_pairs(self, values: NDArray[Any]) -> NDArray[Any]:
        """The same for pairs of microclusters: a blank sample has nothing in common with any other."""
        return self.with_blank(self.with_blank(values).T).T

    def expand(self, values: ArrayLike) -> NDArray[Any]:
        """Copy values of the microclusters to their samples: N x ... in, n x ... out.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> ensemble = Ensemble.from_labels([[0, 0], [1, 1], [1, 1]])
        >>> ensemble.expand(["heavy", "light"]).tolist()
        ['light', 'heavy', 'heavy']
        """
        array = np.asarray(values)
        if array.ndim == 0 or len(array) != self.n_microclusters:
            raise ParameterError(
                f"values must have one row per microcluster ({self.n_microclusters}), "
                f"but has shape {array.shape}"
            )
        return array[self.inverse]


def read_only(values: ArrayLike) -> NDArray[Any]:
    """The values as an array that cannot be changed."""
    array = np.asarray(values)
    array.flags.writeable = False
    return array
