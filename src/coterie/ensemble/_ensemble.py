"""The Ensemble: many clusterings of the same samples, compressed to distinct label rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import LabelError, ParameterError
from coterie.core.html import card, facts, folded
from coterie.core.random import RandomState, child_seeds, generator
from coterie.core.tables import Table
from coterie.core.text import counted, percent
from coterie.ensemble._label_rows import LabelRows, read_only
from coterie.ensemble.checks import checked_rows, checked_weights, refuse_blank_members
from coterie.ensemble.compress import (
    DistinctRows,
    canonical_rows,
    distinct_rows_of_columns,
    distinct_rows_of_matrix,
)
from coterie.ensemble.ids import id_vector
from coterie.ensemble.missing import Missing
from coterie.ensemble.read import (
    aligned,
    members_of_labels,
    members_of_tables,
    members_of_vectors,
    with_suffixes,
)

# methods treat a weight as a number of copies; above this total, one copy would be lost to rounding
MAX_COPIES = 2.0**40


class Ensemble(LabelRows):
    """Clusterings of the same samples, compressed without loss.

    Samples with the same labels in every member form one *microcluster*. Every method works on the
    N microclusters with their weights, and the labels are then copied to the samples. Make an ensemble
    with :meth:`from_labels`, :meth:`from_members` or :meth:`from_tables`, not with the constructor.

    Microclusters are sorted by weight, heaviest first, and then by a signature that does not depend on
    any order or name. Base clusters are numbered by first appearance in that order. Therefore
    ``labels`` and ``weights`` stay the same if samples are permuted or labels are renamed. (Rows with
    equal weights and signatures keep their order of appearance.)

    Attributes
    ----------
    labels : ndarray of int32, shape (N, m)
        Labels of each microcluster, 0 .. k_j - 1 in member j, -1 where missing.
    weights : ndarray, shape (N,)
        Number of samples in each microcluster, or the sum of their ``sample_weight``.
    inverse : ndarray of int32, shape (n,)
        Microcluster of each sample.
    members : tuple of str
        Names of the members.
    categories : tuple of ndarray
        Per member, the user's label of each code.
    member_weight : ndarray, shape (m,)
        The user's weight of each member, 1 by default.
    sample_weight : ndarray, shape (n,), or None
        The user's weight of each sample.
    sample_ids : ndarray, shape (n,), or None
        The user's id of each sample.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> Ensemble.from_labels([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
    Ensemble(6 samples, 3 members, 3 microclusters, 6 base clusters, no label missing)
    """

    # ------------------------------------------------------------------ construction

    @classmethod
    def from_labels(
        cls,
        labels: object,
        *,
        names: Sequence[str] | None = None,
        missing: Missing = -1,
        sample_weight: ArrayLike | None = None,
        member_weight: ArrayLike | None = None,
        sample_ids: ArrayLike | None = None,
    ) -> Self:
        """Make an ensemble from a table of labels: one row per sample, one column per member.

        Parameters
        ----------
        labels : array or nested list (n x m), mapping of name to labels, list of vectors, or dataframe
            Integers, text, booleans, whole floats, categoricals; columns may differ in type. A
            named column of text that differs in each of eight or more rows is refused, because it
            looks like an id. In a list of arrays or series, each one is a member. Series are aligned
            by their index, so all of them must have the same ids.
        names : sequence of str, optional
            Names of the members; by default those of the columns, else ``member_0``, ...
        missing : value, collection of values or None, default -1
            Values that mean "no label", in addition to NaN, None and NA. With None, -1 is an
            ordinary label.
        sample_weight, member_weight : array, optional
            Weight of each sample (a sample of weight two counts like the sample given twice) and of
            each member, between 1e-30 and 1e30.
        sample_ids : array, optional
            Ids of the samples, all different, used in outputs; by default the index of a pandas
            frame, unless it only counts the rows, has duplicates or missing values, or has several
            levels.

        Notes
        -----
        A sample without a label in any member, such as one that DBSCAN always calls noise, is kept.
        Methods leave it out, label it -1, and give it confidence 0.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> ensemble = Ensemble.from_labels({"a": ["x", "x", "y"], "b": [1, None, 2]})
        >>> ensemble.members, ensemble.n_microclusters
        (('a', 'b'), 3)

        The index of a pandas frame becomes the sample ids:

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 1, 2]}, index=["ann", "bob", "cy"])
        >>> Ensemble.from_labels(frame).sample_ids.tolist()
        ['ann', 'bob', 'cy']
        """
        labels, ids = aligned(labels)
        return cls._from_read(
            members_of_labels(labels, names, missing),
            sample_weight,
            member_weight,
            ids if sample_ids is None else sample_ids,
        )

    @classmethod
    def from_members(
        cls,
        members: Sequence[object],
        names: Sequence[str] | None = None,
        *,
        missing: Missing = -1,
        sample_weight: ArrayLike | None = None,
        member_weight: ArrayLike | None = None,
        sample_ids: ArrayLike | None = None,
    ) -> Self:
        """Make an ensemble from a list of label vectors, one per member.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> Ensemble.from_members([[0, 0, 1, 1], ["u", "u", "u", "v"]]).n_microclusters
        3
        """
        return cls._from_read(
            members_of_vectors(members, names, missing), sample_weight, member_weight, sample_ids
        )

    @classmethod
    def from_tables(
        cls,
        tables: Sequence[object] | Mapping[str, object],
        id: str,
        label: str | Sequence[str] | None = None,
        *,
        missing: Missing = -1,
        member_weight: ArrayLike | None = None,
    ) -> Self:
        """Make an ensemble from tables that each cover some of the samples, joined by an id.

        Samples are the ids that occur in any table, in order of first appearance. A sample that is
        not in a table has a missing label in the members of that table.

        Parameters
        ----------
        tables : sequence of tables, or mapping of name to table
            A table is a dataframe or a mapping of column name to values.
        id : str
            The column of sample ids, which every table must have. Ids must differ within a table.
        label : str, sequence of str or None
            The columns that hold labels; None takes all columns but the id.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> north = {"customer": ["ann", "bob", "cy"], "cluster": [0, 0, 1]}
        >>> south = {"customer": ["bob", "cy", "dee"], "cluster": ["p", "q", "q"]}
        >>> ensemble = Ensemble.from_tables({"north": north, "south": south}, id="customer")
        >>> ensemble.sample_ids.tolist(), ensemble.members
        (['ann', 'bob', 'cy', 'dee'], ('north.cluster', 'south.cluster'))
        """
        names, columns, ids = members_of_tables(tables, id, label, missing)
        rows = distinct_rows_of_columns(columns)
        return cls._assemble(rows, names, None, checked_weights(member_weight, len(names)), ids)

    # ------------------------------------------------------------------ derived ensembles

    def select(self, members: str | int | Sequence[str | int] | NDArray[Any]) -> Self:
        """The ensemble of some members, given by name, position or mask, in the order given."""
        wanted: list[Any]
        if isinstance(members, str | int | np.integer):
            wanted = [members]
        elif isinstance(members, Iterable) and getattr(members, "ndim", 1) > 0:
            wanted = [*members]
        else:
            raise LabelError(f"select: members must be names, positions or a mask, not {members!r}")
        if wanted and all(isinstance(member, bool | np.bool_) for member in wanted):
            if len(wanted) != self.n_members:
                raise LabelError(
                    f"select: the mask has {len(wanted)} entries for {self.n_members} members"
                )
            wanted = np.flatnonzero(wanted).tolist()
        chosen = [self._position(member) for member in wanted]
        if not chosen:
            raise LabelError("select: members is empty; an ensemble needs at least one")
        if len(set(chosen)) < len(chosen):
            raise LabelError("select: a member is given twice; give it once")
        rows = distinct_rows_of_columns(
            [(np.ascontiguousarray(self.labels[:, j]), self.categories[j]) for j in chosen]
        )
        rows = DistinctRows(rows.codes, rows.inverse[self.inverse], rows.categories)
        names = [self.members[j] for j in chosen]
        return self._assemble(
            rows, names, self.sample_weight, self.member_weight[chosen], self.sample_ids
        )

    def subset(self, rows: ArrayLike | slice) -> Self:
        """The ensemble of some samples, given by positions, mask or slice."""
        kept = np.arange(self.n_samples)[checked_rows(rows, self.n_samples)]
        if kept.size == 0:
            raise LabelError("subset: rows selects no sample; an ensemble needs at least one")
        used, inverse = np.unique(self.inverse[kept], return_inverse=True)
        distinct = DistinctRows(self.labels[used], inverse.astype(np.int32), self.categories)
        return self._assemble(
            distinct,
            self.members,
            None if self.sample_weight is None else self.sample_weight[kept],
            self.member_weight,
            None if self.sample_ids is None else self.sample_ids[kept],
        )

    def concat(self, other: Ensemble) -> Self:
        """The members of both ensembles, which must have the same samples in the same order."""
        require_ensemble(other, "other")
        if other.n_samples != self.n_samples:
            raise LabelError(
                f"concat: this ensemble has {self.n_samples} samples, but other has {other.n_samples}"
            )
        ids = _agreed(
            self.sample_ids,
            other.sample_ids,
            "concat: the sample ids differ; join by id with from_tables instead",
        )
        weight = _agreed(
            self.sample_weight,
            other.sample_weight,
            "concat: the sample weights differ; use the same for both ensembles",
        )
        pairs = distinct_rows_of_columns(
            [(self.inverse, np.empty(0)), (other.inverse, np.empty(0))]
        )
        codes = np.hstack([self.labels[pairs.codes[:, 0]], other.labels[pairs.codes[:, 1]]])
        rows = DistinctRows(codes, pairs.inverse, self.categories + other.categories)
        return self._assemble(
            rows,
            with_suffixes([*self.members, *other.members]),
            weight,
            np.concatenate([self.member_weight, other.member_weight]),
            ids,
        )

    def filled(self, random_state: RandomState = None) -> Self:
        """The ensemble with random labels in place of missing ones.

        Papers use this rule for methods that need all labels: a missing label becomes one of that
        member's own clusters, each with the same probability, whatever its size. (The papers draw
        from the c wanted clusters, which is the same because their members have c clusters each.)
        Labels are drawn for every sample separately. Samples of one microcluster may therefore get
        different labels, and the number of microclusters may grow. When comparing methods, fill once
        and pass the same ensemble to all of them.

        Parameters
        ----------
        random_state : int, Generator or None, default None
            The same seed gives the same labels if samples and members keep their order: the label
            drawn for a sample does not depend on which other labels are missing.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> partial = Ensemble.from_labels([[0, 0], [0, -1], [1, 1], [-1, 1]])
        >>> filled = partial.filled(random_state=0)
        >>> filled.is_complete, filled.n_clusters_per_member.tolist()
        (True, [2, 2])
        """
        seeds = child_seeds(generator(random_state), self.n_members)
        columns = []
        for j, categories in enumerate(self.categories):
            codes = self.labels[:, j][self.inverse]
            absent = codes < 0
            if absent.any():
                drawn = np.random.default_rng(seeds[j]).integers(
                    len(categories), size=self.n_samples, dtype=np.int32
                )
                codes[absent] = drawn[absent]
            columns.append((codes, categories))
        return self._assemble(
            distinct_rows_of_columns(columns),
            self.members,
            self.sample_weight,
            self.member_weight,
            self.sample_ids,
        )

    @cached_property
    def canonical_member_order(self) -> NDArray[np.int64]:
        """Positions of the members in an order that depends only on their partitions.

        Solvers see members in this order, so that permuting members cannot change the last digit
        of any sum. Members with equal signatures keep their order.
        """
        from coterie.ensemble.canonical import signatures

        _, member = signatures(
            self.labels, self.n_clusters_per_member, self.weights, self.member_weight
        )
        return read_only(np.argsort(member, kind="stable"))

    def reorder_members(self, order: NDArray[np.int64]) -> Self:
        """The same ensemble with its members in another order; microclusters are unchanged."""
        return replace(
            self,
            labels=np.ascontiguousarray(self.labels[:, order]),
            members=tuple(self.members[j] for j in order),
            categories=tuple(self.categories[j] for j in order),
            member_weight=self.member_weight[order],
        )

    def with_fewer_copies(self) -> Self:
        """The same ensemble, with weights halved until they add up to at most 2^40.

        Methods work on this ensemble, so that no number overflows even with weights of 1e30 per
        sample. Halving loses no digit.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> ensemble = Ensemble.from_labels([[0], [0], [1]], sample_weight=[2**50, 2**50, 2**50])
        >>> ensemble.with_fewer_copies().weights.tolist() == [2.0**39, 2.0**38]
        True
        """
        excess = self.weights.sum(dtype=np.float64) / MAX_COPIES
        if excess <= 1.0:
            return self
        return replace(self, weights=self.weights * 2.0 ** -np.ceil(np.log2(excess)))

    # ------------------------------------------------------------------ special methods

    def __repr__(self) -> str:
        missing = "no label missing"
        if not self.is_complete:
            missing = f"{percent(self.missing_share)} of labels missing"
        return (
            f"Ensemble({counted(self.n_samples, 'sample')}, {counted(self.n_members, 'member')}, "
            f"{counted(self.n_microclusters, 'microcluster')}, "
            f"{counted(self.n_base_clusters, 'base cluster')}, {missing})"
        )

    def _repr_html_(self) -> str:
        members = Table(
            {
                "member": np.array(self.members),
                "clusters": self.n_clusters_per_member,
                "labelled": self.sizes @ self.observed / self.sizes.sum(),
            }
        )
        return card(
            f"Ensemble of {counted(self.n_members, 'member')} and "
            f"{counted(self.total_count, 'sample')}",
            facts(
                {
                    "distinct label rows": f"{self.n_microclusters:,}",
                    "base clusters": f"{self.n_base_clusters:,}",
                    "labels missing": percent(self.missing_share),
                    "samples have ids": "no" if self.sample_ids is None else "yes",
                }
            ),
            folded("members", members),
        )

    def __eq__(self, other: object) -> bool:
        """Same partitions of the same samples, by members with the same names and weights."""
        if not isinstance(other, Ensemble):
            return NotImplemented
        return self.members == other.members and all(
            np.array_equal(getattr(self, field.name), getattr(other, field.name))
            for field in fields(self)
            if field.name not in ("members", "categories")
        )

    # a hash would have to read all labels, which may be millions, so an ensemble cannot be a key
    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        # unpickling calls the constructor, which makes the arrays read-only
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    # ------------------------------------------------------------------ assembly

    @classmethod
    def _from_read(
        cls,
        read: tuple[list[str], Any],
        sample_weight: ArrayLike | None,
        member_weight: ArrayLike | None,
        sample_ids: ArrayLike | None,
    ) -> Self:
        names, content = read
        if isinstance(content, list):
            rows = distinct_rows_of_columns(content)
        else:
            matrix, missing = content
            rows = distinct_rows_of_matrix(matrix, names, missing)
        n = len(rows.inverse)
        ids = None if sample_ids is None else id_vector(sample_ids, n)
        weight = (
            None if sample_weight is None else checked_weights(sample_weight, n, "sample_weight")
        )
        return cls._assemble(rows, names, weight, checked_weights(member_weight, len(names)), ids)

    @classmethod
    def _assemble(
        cls,
        rows: DistinctRows,
        names: Sequence[str],
        sample_weight: NDArray[Any] | None,
        member_weight: NDArray[Any],
        sample_ids: NDArray[Any] | None,
    ) -> Self:
        refuse_blank_members(rows, names)
        member_weight = member_weight.astype(np.float64)
        canonical = canonical_rows(rows, sample_weight, member_weight)
        ensemble = cls(
            labels=canonical.codes,
            weights=canonical.weights,
            inverse=canonical.inverse,
            members=tuple(names),
            categories=canonical.categories,
            member_weight=member_weight,
            sample_weight=sample_weight,
            sample_ids=sample_ids,
        )
        # fills the cached property, because the signatures are known and do not depend on the row order
        vars(ensemble)["canonical_member_order"] = read_only(
            np.argsort(canonical.member_signatures, kind="stable")
        )
        return ensemble

    def _position(self, member: str | int) -> int:
        if isinstance(member, str):
            if member not in self.members:
                raise LabelError(
                    f"no member {member!r}; the members are {', '.join(self.members[:10])}"
                )
            return self.members.index(member)
        if not isinstance(member, Integral) or not -self.n_members <= member < self.n_members:
            raise LabelError(f"no member {member}; there are {self.n_members}, counted from 0")
        return int(member) % self.n_members


def require_ensemble(given: object, name: str = "ensemble") -> None:
    """Raise ParameterError for anything but an Ensemble, such as raw labels."""
    if not isinstance(given, Ensemble):
        raise ParameterError(
            f"{name} must be an Ensemble, but is {type(given).__name__}; "
            "make one with coterie.Ensemble.from_labels(labels)"
        )


def _agreed(
    one: NDArray[Any] | None, other: NDArray[Any] | None, error: str
) -> NDArray[Any] | None:
    """The ids or weights of the samples of two ensembles; raises LabelError if they differ."""
    if one is None or other is None:
        return other if one is None else one
    if not np.array_equal(one, other):
        raise LabelError(error)
    return one
