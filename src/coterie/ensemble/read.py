"""Reads every accepted form of labels into columns of codes or one integer matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.errors import LabelError
from coterie.core.text import absent_column, repeated
from coterie.ensemble.columns import Categorical, encode
from coterie.ensemble.ids import (
    JoinedIds,
    checked_ids,
    id_array,
    index_ids,
    kind_of_ids,
    refuse_id_columns,
)
from coterie.ensemble.missing import Missing, MissingValues

Columns = list[tuple[NDArray[np.int32], NDArray[Any]]]
# an integer matrix, which is compressed chunk by chunk, or coded columns for every other input
Content = Columns | tuple[NDArray[Any], MissingValues]


def members_of_labels(
    labels: object, names: Sequence[str] | None, missing: Missing
) -> tuple[list[str], Content]:
    """Names of the members and their content, from any table of labels (rows are samples)."""
    absent = MissingValues.named(missing)
    _refuse_lazy(labels)
    columns = table_columns(labels, "labels")
    if columns is not None:
        member_names, coded = _coded(
            [*columns.values()], [*columns] if names is None else names, absent
        )
        index = "make it the index of the frame, or " if hasattr(labels, "iloc") else ""
        refuse_id_columns(
            {name: categories for name, (_, categories) in zip(member_names, coded, strict=True)},
            len(coded[0][0]),
            f"{index}give it as {{sample_ids}}, or leave it out",
            stacklevel=4,
        )
        return member_names, coded
    if sparse.issparse(labels):
        raise LabelError("labels must be dense: a sparse matrix cannot tell 0 from missing")
    if isinstance(labels, np.ndarray) or hasattr(labels, "__array__"):
        matrix = np.ma.asarray(labels) if np.ma.isMaskedArray(labels) else np.asarray(labels)
        _refuse_shape(matrix)
        member_names = _checked_names(names, matrix.shape[1])
        if matrix.dtype.kind in "iu" and not np.ma.isMaskedArray(matrix):
            return member_names, (matrix, absent)
        return _coded([matrix[:, j] for j in range(matrix.shape[1])], member_names, absent)
    if isinstance(labels, Sequence) and not isinstance(labels, str | bytes):
        rows = _rectangle(labels)
        return _coded([*zip(*rows, strict=True)], names, absent)
    raise LabelError(
        "labels must be an n x m array, nested lists, a mapping of name to labels or a dataframe, "
        f"but is {type(labels).__name__}"
    )


def aligned(labels: object) -> tuple[object, NDArray[Any] | None]:
    """Labels with all series in the same order of samples, and the ids from the index, if it has any.

    A list of arrays or series is a list of members, and becomes a mapping. Series whose index only
    counts the rows keep their order.
    """
    if isinstance(labels, list | tuple) and labels and all(map(_is_vector, labels)):
        named = [
            str(getattr(member, "name", None) or f"member_{j}") for j, member in enumerate(labels)
        ]
        labels = dict(zip(with_suffixes(named), labels, strict=True))
    if not isinstance(labels, Mapping):
        return labels, index_ids(labels)
    ids = {name: index_ids(column) for name, column in labels.items()}
    known = {name: given for name, given in ids.items() if given is not None}
    if not known:
        return labels, None
    first, order = next(iter(known.items()))
    samples = JoinedIds()
    columns = dict(labels)
    for name, given in known.items():
        rows = samples.add(given.tolist(), repr(name))
        if other := 2 * len(samples.ids) - len(order) - len(rows):
            samples.warn(stacklevel=4)
            raise LabelError(
                f"members {first!r} and {name!r} have different samples: {other:,} ids are in only one "
                "of their indexes; join them with Ensemble.from_tables, or reindex them"
            )
        columns[name] = columns[name].iloc[np.argsort(rows)]
    samples.warn(stacklevel=4)
    return columns, order


def _is_vector(member: Any) -> bool:
    return getattr(member, "ndim", None) == 1 or (
        type(member).__name__ == "Series" and hasattr(member, "to_list")
    )


def members_of_vectors(
    members: object, names: Sequence[str] | None, missing: Missing
) -> tuple[list[str], Content]:
    """Names of the members and their content, from a list of label vectors."""
    if isinstance(members, Mapping):
        return members_of_labels(members, names, missing)
    if not isinstance(members, Sequence | np.ndarray) or isinstance(members, str | bytes):
        raise LabelError(
            f"members must be a list of label vectors, but is {type(members).__name__}"
        )
    if isinstance(members, np.ndarray) and members.ndim == 0:
        raise LabelError(f"members must be a list of label vectors, but is {members!r}")
    columns = [_vector(member) for member in members]
    return _coded(columns, names, MissingValues.named(missing))


# ---------------------------------------------------------------------- tables joined by an id


def members_of_tables(
    tables: Sequence[object] | Mapping[str, object],
    id: str,
    label: str | Sequence[str] | None,
    missing: Missing,
) -> tuple[list[str], Columns, NDArray[Any]]:
    """Member names, coded members over all ids, and the ids in order of first appearance."""
    if isinstance(tables, str | bytes) or not isinstance(tables, Sequence | Mapping):
        raise LabelError(f"tables must be a sequence or a mapping of tables, but is {tables!r}")
    # column names are read as text
    id = str(id)
    if isinstance(tables, Mapping):
        named = [(str(name), table) for name, table in tables.items()]
    else:
        named = [(f"table_{i}", table) for i, table in enumerate(tables)]
    if not named:
        raise LabelError("tables is empty; give at least one table")
    absent = MissingValues.named(missing)
    samples = JoinedIds()
    kinds: dict[str, str] = {}
    rows_of_tables: list[NDArray[np.int64]] = []
    members: list[tuple[str, NDArray[np.int64], object]] = []
    for name, table in named:
        columns = table_columns(table, name)
        if columns is None:
            raise LabelError(
                f"{name} must be a dataframe or a mapping of columns, but is {type(table).__name__}"
            )
        rows = samples.add(_table_ids(columns, id, name, kinds), name)
        rows_of_tables.append(rows)
        for column in _label_columns(columns, id, label, name):
            members.append((f"{name}.{column}", rows, columns[column]))
    coded = []
    for member, rows, values in members:
        codes, categories = encode(values, member, absent)
        if len(codes) != len(rows):
            raise LabelError(f"member {member!r} has {len(codes)} labels for {len(rows)} ids")
        if label is None:
            refuse_id_columns(
                {member: categories},
                len(rows),
                "name the columns of labels with {label}",
                stacklevel=4,
            )
        full = np.full(len(samples.ids), -1, dtype=np.int32)
        full[rows] = codes
        coded.append((full, categories))
    samples.warn(stacklevel=4)
    _warn_of_separate_tables([name for name, _ in named], rows_of_tables, len(samples.ids))
    return with_suffixes([member for member, _, _ in members]), coded, id_array(samples.ids)


def with_suffixes(names: Sequence[str]) -> list[str]:
    """Member names, with a suffix where a name is taken.

    Examples
    --------
    >>> from coterie.ensemble.read import with_suffixes
    >>> with_suffixes(["a", "b", "a"])
    ['a', 'b', 'a_2']
    """
    taken: dict[str, None] = {}
    for name in names:
        new, count = name, 2
        while new in taken:
            new, count = f"{name}_{count}", count + 1
        taken[new] = None
    return [*taken]


def _table_ids(columns: dict[str, object], id: str, table: str, kinds: dict[str, str]) -> list[Any]:
    """The ids of one table, which must be of the same kind as the ids of earlier tables."""
    if id not in columns:
        raise LabelError(absent_column(table, id, columns))
    column: Any = columns[id]
    values = column.cells() if isinstance(column, Categorical) else column
    ids = checked_ids(values, f"{table}, column {id!r}")
    if not ids:
        return ids
    kinds[table] = kind_of_ids(ids)
    other = next((name for name, kind in kinds.items() if kind != kinds[table]), None)
    if other is not None:
        raise LabelError(
            f"the ids of {other} and {table} cannot be joined: {id!r} holds {kinds[other]} in the "
            f"first and {kinds[table]} in the second; convert one of them"
        )
    return ids


def _label_columns(
    columns: dict[str, object], id: str, label: str | Sequence[str] | None, table: str
) -> list[str]:
    if label is None:
        wanted = [column for column in columns if column != id]
    else:
        several = isinstance(label, Sequence) and not isinstance(label, str | bytes)
        wanted = [str(name) for name in label] if several else [str(label)]
    for column in wanted:
        if column not in columns:
            raise LabelError(absent_column(table, column, columns))
    if not wanted:
        raise LabelError(f"{table} has no column of labels beside the id {id!r}")
    return wanted


def _warn_of_separate_tables(
    names: Sequence[str], rows_of_tables: Sequence[NDArray[np.int64]], n_samples: int
) -> None:
    """Warn about tables that no chain of shared samples connects to the first table."""
    reached = np.zeros(n_samples, dtype=np.bool_)
    reached[rows_of_tables[0]] = True
    waiting = [*range(1, len(names))]
    while connected := [i for i in waiting if reached[rows_of_tables[i]].any()]:
        for i in connected:
            reached[rows_of_tables[i]] = True
        waiting = [i for i in waiting if i not in connected]
    separate = [names[i] for i in waiting if len(rows_of_tables[i])]
    if separate and len(rows_of_tables[0]):
        warnings.warn(
            f"{', '.join(separate[:5])}{', ...' if len(separate) > 5 else ''} and {names[0]} have no "
            "id in common, directly or through other tables, so nothing shows which of their "
            "clusters belong together. Check that all tables write the ids in the same way",
            UserWarning,
            stacklevel=4,
        )


# ---------------------------------------------------------------------- columns


def table_columns(table: object, name: str) -> dict[str, object] | None:
    """Columns of a mapping or dataframe by name; None for anything else."""
    if isinstance(table, Mapping):
        columns, values = [*table], [_vector(column) for column in table.values()]
    else:
        try:
            frame = nw.from_native(table, eager_only=True, pass_through=True)
            if not isinstance(frame, nw.DataFrame):
                return None
            # by position: a pandas frame may have numbers for column names
            columns, values = frame.columns, [_series_values(s) for s in frame.iter_columns()]
        except DuplicateError:
            # pyarrow has column_names, other libraries have columns
            attribute = "column_names" if hasattr(table, "column_names") else "columns"
            columns, values = [*getattr(table, attribute)], []
    texts = [str(column) for column in columns]
    if twice := repeated(texts):
        raise LabelError(f"{name} has two columns named {twice[0]!r}; names must differ")
    return dict(zip(texts, values, strict=True))


def _vector(values: object) -> object:
    """One label vector; a dataframe's column or an arrow array is unwrapped."""
    if isinstance(values, list | tuple | np.ndarray) and not np.ma.isMaskedArray(values):
        # calling narwhals takes longer than reading a short vector
        return values
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _series_values(series)
    # iterating over an arrow array gives arrow scalars, whose null is not None
    as_list = getattr(values, "to_pylist", None)
    return values if as_list is None else as_list()


def _series_values(series: nw.Series[Any]) -> object:
    """A dataframe column as codes or an array, or as a list if an array would change its values."""
    if (categorical := Categorical.of(series.to_native())) is not None:
        return categorical
    whole = series.dtype.is_integer() or series.dtype == nw.Boolean
    if series.dtype.is_float() or (whole and series.null_count() == 0):
        return series.to_numpy()
    return series.to_list()


def _coded(
    columns: Sequence[object], names: Sequence[str] | None, missing: MissingValues
) -> tuple[list[str], Columns]:
    member_names = _checked_names(names, len(columns))
    coded = [
        encode(column, name, missing) for column, name in zip(columns, member_names, strict=True)
    ]
    lengths = [len(codes) for codes, _ in coded]
    if len(set(lengths)) > 1:
        usual = max(lengths, key=lengths.count)
        odd = next(j for j, length in enumerate(lengths) if length != usual)
        raise LabelError(
            f"member {member_names[odd]!r} has {lengths[odd]} labels, but the others have {usual}; "
            "every member needs one label (or a missing one) per sample"
        )
    if lengths[0] == 0:
        raise LabelError("no samples: the members are empty")
    return member_names, coded


def _checked_names(names: Sequence[str] | None, count: int) -> list[str]:
    if count == 0:
        raise LabelError("no members: an ensemble needs at least one clustering")
    if names is None:
        return [f"member_{j}" for j in range(count)]
    if (
        isinstance(names, str | bytes)
        or not isinstance(names, Iterable)
        or getattr(names, "ndim", 1) == 0
    ):
        raise LabelError(f"names must be a sequence of names, one per member, but is {names!r}")
    member_names = [str(name) for name in names]
    if len(member_names) != count:
        raise LabelError(
            f"names must hold {count} names, one per member, but holds {len(member_names)}"
        )
    if len(set(member_names)) < count:
        raise LabelError(f"two members are named {repeated(member_names)[0]!r}; names must differ")
    return member_names


# ---------------------------------------------------------------------- refused inputs


def _refuse_lazy(labels: object) -> None:
    """Refuse AnnData, and dask collections, which would be loaded into memory completely."""
    library = type(labels).__module__.partition(".")[0]
    if library == "anndata":
        raise LabelError(
            "labels is an AnnData object; use coterie.anndata.combine(adata), or give the columns of "
            "labels, such as adata.obs[['leiden_1', 'leiden_2']]"
        )
    if library in ("dask", "dask_expr"):
        raise LabelError(
            f"labels is a {library} collection, and reading it here would load all of it; "
            "make the ensemble with coterie.scale.ensemble_from_dask(labels) instead"
        )


def _refuse_shape(matrix: NDArray[Any]) -> None:
    if matrix.ndim != 2:
        raise LabelError(
            f"labels must be n x m (rows are samples), but has shape {matrix.shape}; "
            "for a list of label vectors use Ensemble.from_members"
        )
    if matrix.shape[1] == 0:
        raise LabelError(f"no members: labels has shape {matrix.shape}")
    if matrix.shape[0] == 0:
        raise LabelError(f"no samples: labels has shape {matrix.shape}")


def _rectangle(rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
    if len(rows) == 0:
        raise LabelError("no samples: labels is empty")
    for i, row in enumerate(rows):
        if isinstance(row, str | bytes) or not isinstance(row, Sequence | np.ndarray):
            raise LabelError(
                f"labels must be n x m (one row per sample), but row {i} is {row!r}; "
                "for one label vector use Ensemble.from_members([labels])"
            )
        if len(row) != len(rows[0]):
            raise LabelError(f"row {i} has {len(row)} labels, but row 0 has {len(rows[0])}")
    if len(rows[0]) == 0:
        raise LabelError("no members: the rows of labels are empty")
    return rows
