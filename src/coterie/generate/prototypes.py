"""Prototypes: a random sample of rows that stands for all rows of a large table.

Members label the prototypes only, and every other row takes the labels of the prototype nearest to it. So
every method combines at most as many distinct label rows as there are prototypes, each weighted by its
rows. Each member is fitted on rows of its own, drawn from all of them: what one draw misses, the other
members see. With the same draw for all members, the mistake of the draw would be a mistake of all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.errors import ParameterError
from coterie.core.params import Integer
from coterie.core.text import counted
from coterie.generate.columns import Column
from coterie.generate.plans import MemberPlan, distinct_rows
from coterie.numerics.nearest_points import NearestPoints

PrototypeCount = int | Literal["auto"] | None
# "auto" takes at most MOST prototypes, and FEWEST if the members or the method can take no more
MOST, FEWEST = 20_000, 5_000
# "auto" uses prototypes with more rows than this: a method that the user chose for its N x N matrices would
# need more than a gigabyte for each
MANY_ROWS, MANY_ROWS_OF_PAIRS = 50_000, 12_000
# rows that each member is fitted on
MEMBER_ROWS = 5_000
# members have at most as many clusters as the square root of this number: with more, the clusters of
# MEMBER_ROWS rows would be small, and with fewer, they cannot follow many clusters of irregular shape
SIZING_ROWS = 20_000
# rows from which members and prototypes are drawn; fewer, but still MOST, if the rows are wide
BASE_ROWS = 100_000
BASE_CELLS = 2**26


@dataclass(frozen=True, eq=False)
class Draw:
    """The rows that a fit with prototypes works on.

    Attributes
    ----------
    count : int
        Number of prototypes, at most.
    base : ndarray of int64
        Positions of the rows from which the members draw theirs, ascending.
    sample : ndarray of int64
        Positions among the rows of ``base``, in random order: prototypes are the first of them.
    kept : ndarray of int64
        Positions of the prototypes in the sample, once they are known.
    """

    count: int
    base: NDArray[np.int64]
    sample: NDArray[np.int64]
    kept: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def sample_rows(self) -> NDArray[np.int64]:
        """Positions of the sample among all rows."""
        rows: NDArray[np.int64] = self.base[self.sample]
        return rows

    @classmethod
    def of(
        cls, n_rows: int, width: int, count: int, rng: np.random.Generator, *, larger: bool
    ) -> Draw:
        """Draw from ``n_rows`` rows with ``width`` columns.

        ``larger`` allows a sample of more rows than prototypes, for example to look at their shape.
        """
        size = max(count, min(BASE_ROWS, max(MOST, BASE_CELLS // width)))
        base = np.arange(n_rows)
        if size < n_rows:
            base = np.sort(rng.choice(n_rows, size, replace=False))
        most = max(count, MOST) if larger else count
        return cls(count, base, rng.permutation(len(base))[:most])


def prototype_count(
    given: PrototypeCount, n_rows: int, *, compares_pairs: bool, n_clusters: Any, can_label: bool
) -> int | None:
    """How many prototypes to use at most; None to use all rows.

    Parameters
    ----------
    given : int, "auto" or None
        As given by the user.
    n_rows : int
    compares_pairs : bool
        Whether the user chose a method whose cost is quadratic in the number of distinct label rows.
    n_clusters : int or other
        The number of clusters, if it is given.
    can_label : bool
        Whether the members can label rows that they were not fitted on.
    """
    if given is None:
        return None
    if given == "auto":
        if n_rows <= (MANY_ROWS_OF_PAIRS if compares_pairs else MANY_ROWS):
            return None
        return min(MOST if can_label else FEWEST, n_rows)
    if given > n_rows:
        raise ParameterError(
            f"prototypes is {given:,}, but X has only {counted(n_rows, 'row')}",
            "lower or leave out {prototypes}",
        )
    if Integer(given + 1).admits(n_clusters):
        raise ParameterError(
            f"prototypes is {given:,}, but n_clusters is {n_clusters:,}, and every cluster needs one",
            "raise {prototypes}",
        )
    return int(given)


def count_that_fits(labels: NDArray[np.int64], most: int) -> int:
    """How many of the first prototypes to keep, so that at most ``most`` label rows are distinct.

    Their number is halved until it fits, or FEWEST are left.
    """
    count = len(labels)
    while count > FEWEST and len(distinct_rows(labels[:count])) > most:
        count = max(FEWEST, count // 2)
    return count


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The prototypes of a fit.

    Attributes
    ----------
    rows : array or sparse matrix, shape (p, d)
        Their features. All of them differ.
    labels : ndarray of int64, shape (p, m)
        Their labels by the members.
    n_rows : int
        Number of rows that they stand for.
    """

    rows: Any
    labels: NDArray[np.int64]
    n_rows: int
    search: NearestPoints

    @classmethod
    def of(
        cls, points: Any, labels: NDArray[np.int64], n_rows: int
    ) -> tuple[Prototypes, NDArray[np.int64]]:
        """The prototypes among drawn rows, and their positions there: of equal rows, the first."""
        kept = distinct_rows(points)
        rows = points[kept]
        return cls(rows, labels[kept], n_rows, NearestPoints(rows)), kept

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __str__(self) -> str:
        return f"{counted(len(self), 'prototype')} (random rows) stood for {counted(self.n_rows, 'sample')}."

    def nearest(self, X: Any) -> NDArray[np.int32]:
        """The number of the prototype nearest to each row; the first of several at the same distance."""
        return self.search(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The labels of the nearest prototypes, n x m."""
        labels: NDArray[np.int64] = self.labels[self.nearest(X)]
        return labels


def with_own_rows(
    plans: list[MemberPlan], n_rows: int, size: int, rng: np.random.Generator
) -> list[MemberPlan]:
    """The plans, each with at most ``size`` rows of its own, drawn from those that it may see."""
    drawn = []
    for plan in plans:
        seen = np.arange(n_rows) if plan.rows is None else plan.rows
        if len(seen) > size:
            seen = np.sort(rng.choice(seen, size, replace=False))
            plan = replace(plan, rows=seen)
        drawn.append(plan)
    return drawn


def take_rows(X: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Some rows of a matrix, or of a table that was read into columns."""
    if not isinstance(X, Mapping):
        return X[rows]
    return {name: _part(column, rows) for name, column in X.items()}


def _part(column: Column, rows: NDArray[np.int64] | slice) -> Column:
    numbers, texts = column.numbers, column.texts
    if texts is not None:
        texts = texts[rows] if isinstance(rows, slice) else [texts[i] for i in rows.tolist()]
    return replace(column, numbers=None if numbers is None else numbers[rows], texts=texts)


def shape_of(X: Any) -> tuple[int, int]:
    """Number of rows and columns of a matrix or a table, as far as they can be known without reading it."""
    if isinstance(X, Mapping) and not sparse.issparse(X):
        first = next(iter(X.values()), ())
        return (len(first) if hasattr(first, "__len__") else 0), len(X)
    shape = [*X.shape] if hasattr(X, "shape") else [len(X) if hasattr(X, "__len__") else 0]
    return int(shape[0]) if shape else 0, int(shape[1]) if len(shape) > 1 else 1
