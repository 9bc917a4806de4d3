"""The columns of X as variables: a number or date is one, a category is one per level.

Variables are read in blocks, so a sparse matrix is never dense as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.errors import DataError
from coterie.core.params import nearest
from coterie.core.text import counted, listed
from coterie.core.types import FloatArray, IntArray
from coterie.evaluate import nmi
from coterie.generate.column_plans import MAX_LEVELS, ColumnPlan, column_numbers, plan_column
from coterie.generate.columns import Column, is_table, read_columns, require_finite
from coterie.generate.features import refuse_lazy
from coterie.generate.sources import is_lazy
from coterie.profiles._groups import Groups
from coterie.profiles.kernels import scatter

Role = Literal["used", "external", "held out"]
Blocks = Iterator[tuple[list[int], FloatArray]]
# numbers in memory at once: 8 MB, and a few times as much while they are sorted; more would leave the cache
BLOCK_SIZE = 1_000_000
# rows that are transposed at once, for the same reason
CACHED_ROWS = 32


@dataclass(frozen=True)
class Described:
    """A column that is described.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category"}
    role : {"used", "external", "held out"}
        Whether the clusters were made from the column.
    levels : tuple of str
        The values of a category.
    """

    name: str
    kind: str
    role: Role
    levels: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of variables."""
        return len(self.levels) if self.kind == "category" else 1


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that come from one matrix or table, in the order of ``columns``.

    ``values`` is a dense matrix, a sparse one in CSR form with sorted columns, or a list with an array per
    column.
    """

    columns: list[Described]
    values: Any

    def blocks(self, rows: IntArray, wanted: Sequence[int] | None = None) -> Blocks:
        """Some of the wanted columns at a time: their positions, and a row of values per variable."""
        positions = range(len(self.columns)) if wanted is None else wanted
        limit = max(1, BLOCK_SIZE // max(1, len(rows)))
        chosen: list[int] = []
        width = 0
        for j in positions:
            if chosen and width + self.columns[j].width > limit:
                yield chosen, self._stacked(chosen, rows)
                chosen, width = [], 0
            chosen.append(j)
            width += self.columns[j].width
        if chosen:
            yield chosen, self._stacked(chosen, rows)

    def _stacked(self, chosen: list[int], rows: IntArray) -> FloatArray:
        if isinstance(self.values, list):
            parts = [self._variables_of(j, rows) for j in chosen]
            return np.ascontiguousarray(np.concatenate(parts), dtype=np.float64)
        block = np.zeros((len(chosen), len(rows)))
        if sparse.issparse(self.values):
            position = np.full(chosen[-1] - chosen[0] + 1, -1)
            position[np.array(chosen) - chosen[0]] = np.arange(len(chosen))
            X = self.values
            scatter(X.indptr, X.indices, X.data, rows, position, chosen[0], block)
        else:
            # a slice is not copied
            in_a_row = chosen[-1] - chosen[0] == len(chosen) - 1
            columns = slice(chosen[0], chosen[-1] + 1) if in_a_row else chosen
            for begin in range(0, len(rows), CACHED_ROWS):
                some = slice(begin, begin + CACHED_ROWS)
                block[:, some] = self.values[:, columns][rows[some]].T
        self._require_finite(chosen, block)
        return block

    def _variables_of(self, j: int, rows: IntArray) -> FloatArray:
        values: FloatArray = self.values[j][rows]
        if self.columns[j].kind != "category":
            return values[None, :]
        return (values == np.arange(self.columns[j].width)[:, None]).astype(np.float64)

    def _require_finite(self, chosen: list[int], block: FloatArray) -> None:
        # the square of an infinite or a very large number is infinite, that of a missing one is missing
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
        for row in np.flatnonzero(~np.isfinite(squares)).tolist():
            j = chosen[row]
            column = self.values[:, [j]]
            dense = column.toarray() if sparse.issparse(column) else column
            require_finite(self.columns[j].name, dense[:, 0].astype(np.float64))


@dataclass(frozen=True, eq=False)
class Variables:
    """All columns that are described.

    Attributes
    ----------
    parts : tuple of Part
    left_out : dict of str to str
        Columns that are not described, and why.
    """

    parts: tuple[Part, ...]
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Any,
        *,
        external: Any = None,
        used: frozenset[str] | None = None,
        categories: Sequence[str] = (),
        column_names: Sequence[Any] | None = None,
    ) -> Self:
        """The columns of X (see :func:`read_matrix_or_table`) and of a table of external columns.

        ``external`` holds names of columns of X, or is a table of its own. Without it, the columns that
        are not in ``used`` are external.
        """
        beside = external is not None and is_table(external)
        named = set() if external is None or beside else {str(name) for name in _names(external)}
        plans: list[ColumnPlan] = []
        if is_plain_matrix(X):
            if len(categories):
                raise DataError("categories are columns of a table; give X as a data frame")
            columns, values = _matrix_columns(X, column_names)
        else:
            plans = [
                _plan(name, column, name in categories, name in named) for name, column in X.items()
            ]
            columns = [*X]
        for name in [*named, *categories]:
            if name not in columns:
                raise DataError(
                    f"X has no column {name!r}{nearest(name, columns)} (its columns are {listed(columns)})"
                )
        others = read_columns(external) if beside else {}
        _refuse_clustered_by([*named, *others], used)
        # columns of another table may have been computed from those that were clustered by
        unused = set() if used is None or used.isdisjoint(columns) else {*columns} - used
        roles: dict[str, Role] = dict.fromkeys(columns, "used")
        roles |= dict.fromkeys(named | unused, "external")
        left_out = {plan.name: _reason(plan) for plan in plans if not plan.used}
        if is_plain_matrix(X):
            parts = [Part([Described(name, "number", roles[name]) for name in columns], values)]
        else:
            parts = [_table_part(X, plans, roles)]
        if beside:
            if n_rows(others) != n_rows(X):
                raise DataError(
                    f"external has {counted(n_rows(others), 'row')}, but X has {n_rows(X)}; give the "
                    "same samples in the same order"
                )
            if repeated := [name for name in others if name in roles]:
                raise DataError(f"X and external both have a column {repeated[0]!r}; rename one")
            plans = [_plan(name, column, False, True) for name, column in others.items()]
            left_out |= {plan.name: _reason(plan) for plan in plans if not plan.used}
            parts.append(_table_part(others, plans, dict.fromkeys(others, "external")))
        return cls(tuple(parts), left_out)

    @cached_property
    def columns(self) -> list[Described]:
        """The columns of all parts."""
        return [column for part in self.parts for column in part.columns]

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which columns the clusters were made from."""
        return np.array([column.role == "used" for column in self.columns], dtype=bool)

    def values(self, position: int, rows: IntArray) -> FloatArray:
        """Values of one column in some rows; of a category, the position of the level."""
        for part in self.parts:
            if position < len(part.columns):
                if isinstance(part.values, list):
                    listed_values: FloatArray = part.values[position][rows]
                    return listed_values
                return next(part.blocks(rows, [position]))[1][0]
            position -= len(part.columns)
        raise IndexError(position)

    def with_role(self, role: Role, chosen: NDArray[np.bool_]) -> Self:
        """The same columns, some of them in another role."""
        flags = iter(chosen.tolist())
        parts = []
        for part in self.parts:
            columns = [
                replace(column, role=role) if next(flags) else column for column in part.columns
            ]
            parts.append(replace(part, columns=columns))
        return replace(self, parts=tuple(parts))

    def information(self, groups: Groups) -> dict[str, float]:
        """Normalised mutual information of the clusters and each category."""
        return {
            column.name: nmi(values[groups.rows], groups.codes, sample_weight=groups.weight)
            for part in self.parts
            if isinstance(part.values, list)
            for column, values in zip(part.columns, part.values, strict=True)
            if column.kind == "category"
        }


def is_plain_matrix(X: Any) -> bool:
    """Whether X is a matrix of numbers; anything else is read as a table."""
    return sparse.issparse(X) or (
        isinstance(X, np.ndarray) and not np.ma.isMaskedArray(X) and X.dtype.kind in "biuf"
    )


def read_matrix_or_table(X: Any) -> Any:
    """A matrix of numbers as it is; anything else as columns by name."""
    if type(X).__module__.partition(".")[0] == "anndata":
        raise DataError(
            "X is an AnnData object; give adata.to_df(), or adata.X with column_names=adata.var_names"
        )
    refuse_lazy(X)
    if is_lazy(X):
        raise DataError(
            "X is a dask collection; call .compute() first, or take a sample of its rows"
        )
    if is_table(X):
        return read_columns(X)
    matrix = X if sparse.issparse(X) or np.ma.isMaskedArray(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise DataError(
            f"X must be a table or a matrix, but has {counted(matrix.ndim, 'dimension')}; of a single "
            "column, give a mapping such as {'age': values}"
        )
    if is_plain_matrix(matrix):
        return matrix
    # text among numbers: each column may be a number or a category
    return read_columns({f"x{j}": matrix[:, j] for j in range(matrix.shape[1])})


def n_rows(X: Any) -> int:
    """Number of rows of a matrix, or of columns by name."""
    return int(X.shape[0]) if is_plain_matrix(X) else len(next(iter(X.values()), ()))


def _names(external: Any) -> Iterable[Any]:
    return [external] if isinstance(external, str) else external


def _refuse_clustered_by(names: Iterable[str], used: frozenset[str] | None) -> None:
    if wrong := [name for name in names if name in (used or ())]:
        raise DataError(
            f"{wrong[0]!r} cannot be external, because the clusters were made from it; to test this "
            "column, cluster again without it"
        )


def _matrix_columns(X: Any, column_names: Sequence[Any] | None) -> tuple[list[str], Any]:
    n_columns = X.shape[1]
    if column_names is None:
        names = [f"x{j}" for j in range(n_columns)]
    else:
        names = [str(name) for name in column_names]
        if len(names) != n_columns:
            raise DataError(f"column_names has {len(names)} names, but X has {n_columns} columns")
        if len({*names}) < n_columns:
            raise DataError("column_names must differ")
    if not sparse.issparse(X):
        return names, X
    matrix = sparse.csr_array(X)
    if not matrix.has_canonical_format:
        # the user's own matrix stays as it is
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return names, matrix


def _plan(name: str, column: Column, is_category: bool, requested: bool) -> ColumnPlan:
    plan = plan_column(name, column, is_category, requested)
    few = column.numbers is not None or column.distinct <= MAX_LEVELS
    if plan.kind == "empty" and column.distinct > 1 and few:
        # the values that are there can be described, although too few to cluster by
        return plan_column(name, column, is_category, True)
    return plan


def _reason(plan: ColumnPlan) -> str:
    if plan.kind == "empty":
        return "empty"
    return {"id": "ids", "text": "free text", "constant": "constant"}[plan.kind]


def _table_part(
    table: dict[str, Column], plans: Sequence[ColumnPlan], roles: Mapping[str, Role]
) -> Part:
    described = [plan for plan in plans if plan.used]
    values: list[NDArray[np.float64]] = [
        column_numbers(table[plan.name], plan) for plan in described
    ]
    columns = [Described(plan.name, plan.kind, roles[plan.name], plan.levels) for plan in described]
    return Part(columns, values)
