"""What a user may hand over as labels, read into columns of codes or one integer matrix."""

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
from coterie.ensemble.columns import Categorical, Missing, MissingValues, encode

Columns = list[tuple[NDArray[np.int32], NDArray[Any]]]
# a numeric matrix is compressed chunk by chunk; everything else arrives as coded columns
Content = Columns | tuple[NDArray[Any], MissingValues]
# of fewer samples a clustering may well give each its own label
FEWEST_IDS = 8


def read_labels(
    labels: object, names: Sequence[str] | None, missing: Missing
) -> tuple[list[str], Content]:
    """Names of the members and their content, from any table of labels (rows are samples)."""
    absent = MissingValues.named(missing)
    _refuse_lazy(labels)
    columns = table_columns(labels, "labels")
    if columns is not None:
        found, coded = _coded([*columns.values()], [*columns] if names is None else names, absent)
        refuse_ids(found, coded, "make it the index of the frame or give it as sample_ids=")
        return found, coded
    if sparse.issparse(labels):
        raise LabelError("labels must be dense: a sparse matrix cannot tell 0 from missing")
    if isinstance(labels, np.ndarray) or hasattr(labels, "__array__"):
        matrix = np.ma.asarray(labels) if np.ma.isMaskedArray(labels) else np.asarray(labels)
        _refuse_shape(matrix)
        found = _named(names, matrix.shape[1])
        if matrix.dtype.kind in "iu" and not np.ma.isMaskedArray(matrix):
            return found, (matrix, absent)
        return _coded([matrix[:, j] for j in range(matrix.shape[1])], found, absent)
    if isinstance(labels, Sequence) and not isinstance(labels, str | bytes):
        rows = _rectangle(labels)
        return _coded([*zip(*rows, strict=True)], names, absent)
    raise LabelError(
        "labels must be an n x m array, nested lists, a mapping of name to labels or a dataframe, "
        f"but is {type(labels).__name__}"
    )


def read_members(
    members: object, names: Sequence[str] | None, missing: Missing
) -> tuple[list[str], Content]:
    """Names of the members and their content, from a list of label vectors."""
    if isinstance(members, Mapping):
        return read_labels(members, names, missing)
    if not isinstance(members, Sequence | np.ndarray) or isinstance(members, str | bytes):
        raise LabelError(
            f"members must be a list of label vectors, but is {type(members).__name__}"
        )
    if isinstance(members, np.ndarray) and members.ndim == 0:
        raise LabelError(f"members must be a list of label vectors, but is {members!r}")
    columns = [_vector(member) for member in members]
    return _coded(columns, names, MissingValues.named(missing))


def table_columns(table: object, name: str) -> dict[str, object] | None:
    """Columns of a mapping or dataframe by their names; None where it is neither."""
    if isinstance(table, Mapping):
        names, values = [*table], [_vector(column) for column in table.values()]
    else:
        try:
            frame = nw.from_native(table, eager_only=True, pass_through=True)
            if not isinstance(frame, nw.DataFrame):
                return None
            # by position: a pandas frame may have numbers for column names
            names, values = frame.columns, [_series_values(s) for s in frame.iter_columns()]
        except DuplicateError:
            # arrow's own word for it; the others say columns
            where = "column_names" if hasattr(table, "column_names") else "columns"
            names, values = [*getattr(table, where)], []
    columns = [str(column) for column in names]
    if (twice := _repeated(columns)) is not None:
        raise LabelError(f"{name} has two columns named {twice!r}; names must differ")
    return dict(zip(columns, values, strict=True))


def index_ids(table: object) -> NDArray[Any] | None:
    """The samples' names that a pandas frame has in its index, where it names each of them once.

    An index that only counts from 0 says no more than the row numbers do. Whole numbers stay what
    they are; every other kind of name becomes text.
    """
    index: Any = getattr(table, "index", None)
    if not hasattr(table, "iloc") or not hasattr(index, "is_unique"):
        return None
    if getattr(index, "nlevels", 1) > 1 or not index.is_unique or index.hasnans:
        return None
    values = np.asarray(index)
    if values.dtype.kind in "iu":
        return None if np.array_equal(values, np.arange(len(values))) else values.copy()
    names = np.array([str(value) for value in index])
    return names if len(np.unique(names)) == len(names) else None


def refuse_ids(names: Sequence[str], columns: Columns, advice: str) -> None:
    """Refuse named columns of text that differ in every row; warn once of such numbers.

    That is an id that nobody named, hardly a clustering.
    """
    n = len(columns[0][0])
    if n < FEWEST_IDS:
        return
    suspects = []
    for name, (_, categories) in zip(names, columns, strict=True):
        if len(categories) < n:
            continue
        if categories.dtype.kind in "OUS" and any(
            isinstance(value, str | bytes) for value in categories.tolist()
        ):
            raise LabelError(
                f"column {name!r} holds another text in each of the {n} rows: that is an id, not a "
                f"clustering; {advice}, or leave it out"
            )
        suspects.append(repr(name))
    if suspects:
        several = len(suspects) > 1
        warnings.warn(
            f"column{'s' if several else ''} {', '.join(suspects[:5])}"
            f"{', ...' if len(suspects) > 5 else ''} hold{'' if several else 's'} another number in "
            f"each of the {n} rows, as ids do: as a member that says nothing; if it is an id, "
            f"{advice}",
            UserWarning,
            stacklevel=4,
        )


def _vector(values: object) -> object:
    """One label vector, out of a dataframe's column or an arrow array where it is one."""
    if type(values) in (list, tuple, np.ndarray):
        # asking narwhals takes longer than a short vector takes to read
        return values
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _series_values(series)
    # a bare arrow array iterates over its own scalars, whose null is not None
    as_list = getattr(values, "to_pylist", None)
    return values if as_list is None else as_list()


def _series_values(series: nw.Series[Any]) -> object:
    """A dataframe column as an array or codes, or as a list where these would lose its values."""
    if (categorical := Categorical.of(series.to_native())) is not None:
        return categorical
    whole = series.dtype.is_integer() or series.dtype == nw.Boolean
    if series.dtype.is_float() or (whole and series.null_count() == 0):
        return series.to_numpy()
    return series.to_list()


def _coded(
    columns: Sequence[object], names: Sequence[str] | None, missing: MissingValues
) -> tuple[list[str], Columns]:
    found = _named(names, len(columns))
    coded = [encode(column, name, missing) for column, name in zip(columns, found, strict=True)]
    lengths = [len(codes) for codes, _ in coded]
    if len(set(lengths)) > 1:
        usual = max(lengths, key=lengths.count)
        odd = next(j for j, length in enumerate(lengths) if length != usual)
        raise LabelError(
            f"member {found[odd]!r} has {lengths[odd]} labels, but the others have {usual}; "
            "every member needs one label (or a missing one) per sample"
        )
    if lengths[0] == 0:
        raise LabelError("no samples: the members are empty")
    return found, coded


def _named(names: Sequence[str] | None, count: int) -> list[str]:
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
    found = [str(name) for name in names]
    if len(found) != count:
        raise LabelError(f"names must hold {count} names, one per member, but holds {len(found)}")
    if (twice := _repeated(found)) is not None:
        raise LabelError(f"two members are named {twice!r}; names must differ")
    return found


def _repeated(names: Sequence[str]) -> str | None:
    """The first name that was there before, if there is one."""
    known: set[str] = set()
    for name in names:
        if name in known:
            return name
        known.add(name)
    return None


def _refuse_lazy(labels: object) -> None:
    """Refuse a dask collection, which would load all of itself here."""
    if type(labels).__module__.partition(".")[0] in ("dask", "dask_expr"):
        raise LabelError(
            f"labels is a {type(labels).__module__.partition('.')[0]} collection, all of which would be "
            "loaded here; compress it where it is with coterie.scale.ensemble_from_dask(labels), and "
            "give what that returns"
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
                f"labels must be n x m (a row per sample), but row {i} is {row!r}; "
                "for one label vector use Ensemble.from_members([labels])"
            )
        if len(row) != len(rows[0]):
            raise LabelError(f"row {i} has {len(row)} labels, but row 0 has {len(rows[0])}")
    if len(rows[0]) == 0:
        raise LabelError("no members: the rows of labels are empty")
    return rows
