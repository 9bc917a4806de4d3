"""Labels in partitions: a dask dataframe, a dask array, or parquet files.

A *part* is what a worker gets for one partition: the partition itself, or row groups of a parquet file.
The worker turns it into columns of labels, block by block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import DataError, LabelError, ParameterError
from coterie.core.text import absent_column, listed, repeated
from coterie.ensemble.columns import Categorical
from coterie.ensemble.compress import DistinctRows
from coterie.ensemble.missing import Missing, MissingValues
from coterie.io.parquet import arrow_values, data_columns, readable, require_pyarrow
from coterie.scale._table import Column, distinct_rows
from coterie.scale.engine import gather

# Rows that a worker reads, codes and compresses together.
BLOCK_ROWS = 2**18
# Row groups of a file are joined into parts of about this many rows.
PART_ROWS = 2**21
# Kind of a column that is compatible with every other kind.
ANY = "any"


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a parquet file."""

    path: str
    groups: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class Layout:
    """The columns that every partition must hold.

    Attributes
    ----------
    columns : tuple
        The columns with labels: their names in the partitions, or positions in an array.
    names : tuple of str
        Names of the members.
    kinds : tuple of str
        What each column holds: "numbers", "text", "truth values", or "any".
    missing : MissingValues
    id : str or None
        A column that names the rows.
    only : bool
        Whether any other column is an error.
    """

    columns: tuple[Any, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    missing: MissingValues
    id: Any = None
    only: bool = False

    def wanted(self) -> list[Any]:
        """The columns to read."""
        return [*self.columns, *([] if self.id is None else [self.id])]

    def check_kind(self, column: Any, kind: str, part_name: str) -> None:
        """Raise LabelError if a column of a partition holds another kind of labels."""
        expected = self.kinds[self.columns.index(column)]
        if ANY not in (kind, expected) and kind != expected:
            raise LabelError(
                f"{part_name} holds {kind} in column {str(column)!r}, but the others hold {expected}; "
                "every partition needs the same kind of labels"
            )

    def check_columns(self, present: Sequence[Any], part_name: str) -> None:
        """Raise LabelError if a partition lacks a column, repeats one, or has others if ``only``."""
        refuse_absent(self.wanted(), present, part_name)
        _differing([*present], part_name)
        extra = [name for name in present if name not in self.wanted()]
        if self.only and extra:
            raise LabelError(
                f"{part_name} has a column {extra[0]!r}, which the others do not have",
                "give every partition the same columns, or name those to be read with {columns}",
            )


@dataclass(frozen=True)
class Source:
    """Labels as a list of parts.

    Attributes
    ----------
    collection : dask dataframe, dask array or None
        The labels, reduced to the columns to read. None for files.
    parts : tuple
        Delayed partitions, or ParquetPart.
    part_names : tuple of str
        Name of each part in messages.
    rows : tuple of int or None
        Rows of each part, if they are known.
    layout : Layout
    whole : dask dataframe or None
        The dataframe with all its columns, if only some are read.
    """

    collection: Any
    parts: tuple[Any, ...]
    part_names: tuple[str, ...]
    rows: tuple[int, ...] | None
    layout: Layout
    whole: Any = None

    @property
    def named_parts(self) -> list[tuple[Any, str]]:
        """Each part with its name."""
        return [*zip(self.parts, self.part_names, strict=True)]

    def blame(self, client: Any) -> None:
        """Raise LabelError naming the first partition of a dataframe that lacks a column."""
        if self.whole is None:
            return
        columns = gather([part.columns for part in self.whole.to_delayed()], client)
        for part_name, present in zip(self.part_names, columns, strict=True):
            refuse_absent(self.layout.wanted(), [*present], part_name)


def open_labels(
    labels: Any,
    columns: Sequence[str] | None,
    id: str | None,
    missing: Missing,
    part_cells: int | None = None,
    *,
    name: str = "labels",
) -> Source:
    """Open labels of any supported kind without reading them; errors call them ``name``.

    Row groups of parquet files are joined into parts of about PART_ROWS rows, or of about
    ``part_cells`` values if that is less.
    """
    absent = MissingValues.named(missing)
    if is_frame(labels):
        return _open_frame(labels, columns, id, absent, name)
    if is_array(labels):
        return _open_array(labels, columns, id, absent)
    if isinstance(labels, str | PathLike) or (
        isinstance(labels, Sequence) and labels and isinstance(labels[0], str | PathLike)
    ):
        return _open_parquet(labels, columns, id, absent, part_cells)
    error, in_memory = (
        (LabelError, "for labels in memory use Ensemble.from_labels")
        if name == "labels"
        else (ParameterError, "features in memory need no dask")
    )
    raise error(
        f"{name} must be a dask dataframe, a dask array or the path of parquet files, but is "
        f"{type(labels).__name__}; {in_memory}"
    )


def is_frame(collection: object) -> bool:
    """Whether it is a dask dataframe."""
    # A Delayed has every public attribute, and a Bag has map_partitions: neither has _meta.
    return hasattr(collection, "_meta") and hasattr(collection, "map_partitions")


def is_array(collection: object) -> bool:
    """Whether it is a dask array."""
    return hasattr(collection, "_meta") and hasattr(collection, "map_blocks")


def read_blocks(
    part: Any, layout: Layout, part_name: str
) -> Iterator[tuple[int, DistinctRows, dict[str, Any]]]:
    """First row, distinct label rows and ids of each block of a part."""
    begin = 0
    for columns, ids in _columns(part, layout, part_name):
        rows = len(columns[0])
        if rows == 0:
            continue
        try:
            block = distinct_rows(columns, layout.names, layout.missing)
        except LabelError as error:
            raise LabelError(f"{part_name}: {_further_down(str(error), begin)}") from None
        yield begin, block, {} if ids is None else {str(layout.id): ids}
        begin += rows


# ---------------------------------------------------------------------- dataframes


def _open_frame(
    frame: Any, columns: Sequence[str] | None, id: str | None, missing: MissingValues, name: str
) -> Source:
    if getattr(frame, "ndim", 2) == 1:
        frame = frame.to_frame()
    chosen = _chosen([*frame.columns], columns, id, name)
    kinds = tuple(_frame_kind(frame.dtypes[column]) for column in chosen)
    names = tuple(str(column) for column in chosen)
    layout = Layout(tuple(chosen), names, kinds, missing, id, only=columns is None)
    # Dask then need not read the other columns.
    some = len(layout.wanted()) < len(frame.columns)
    collection = frame[layout.wanted()] if some else frame
    parts = tuple(collection.to_delayed())
    return Source(collection, parts, _numbered(parts), None, layout, frame if some else None)


def _frame_kind(dtype: Any) -> str:
    kind = getattr(dtype, "kind", "O")
    if str(dtype).startswith("string"):
        return "text"
    if str(dtype) == "category":
        return ANY
    return {"i": "numbers", "u": "numbers", "f": "numbers", "b": "truth values"}.get(kind, ANY)


def _series_kind(series: Any) -> str:
    """What a column holds. Objects are inspected one by one."""
    from pandas.api.types import infer_dtype

    if series.dtype != object:
        return _frame_kind(series.dtype)
    kinds = {"string": "text", "boolean": "truth values", "integer": "numbers"}
    return kinds.get(infer_dtype(series, skipna=True), ANY)


def _frame_columns(
    frame: Any, layout: Layout, part_name: str
) -> Iterator[tuple[list[Column], Any | None]]:
    if frame.ndim == 1:
        frame = frame.to_frame()
    layout.check_columns([*frame.columns], part_name)
    for column, kind in zip(layout.columns, layout.kinds, strict=True):
        if kind != ANY and frame[column].notna().any():
            layout.check_kind(column, _series_kind(frame[column]), part_name)
    for begin in range(0, max(len(frame), 1), BLOCK_ROWS):
        block = frame.iloc[begin : begin + BLOCK_ROWS]
        ids = None if layout.id is None else block[layout.id]
        yield [_series_column(block[column]) for column in layout.columns], ids


def _series_column(series: Any) -> Column:
    """A pandas column as numbers or codes, or as a list if those would lose its values."""
    if (categorical := Categorical.of(series)) is not None:
        return categorical
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufb":
        return np.asarray(series.to_numpy())
    # Among objects, pandas treats 1 and True as equal; the ensemble distinguishes them.
    if _series_kind(series) == ANY:
        return list(series.tolist())
    codes, values = series.factorize()
    return Categorical(codes, values.to_numpy())


# ---------------------------------------------------------------------- arrays


def _open_array(
    array: Any, columns: Sequence[str] | None, id: str | None, missing: MissingValues
) -> Source:
    if id is not None:
        raise LabelError("id names a column, but a dask array has no names; use a dask dataframe")
    if array.ndim != 2:
        raise LabelError(
            f"labels must be n x m (rows are samples), but has {array.ndim} dimension"
            f"{'' if array.ndim == 1 else 's'}"
        )
    n_members = array.shape[1]
    if np.isnan(n_members) or n_members == 0:
        raise LabelError(f"labels must have a known number of members, but has shape {array.shape}")
    if array.dtype.kind == "c":
        raise LabelError("Complex data not supported: labels are whole numbers or names")
    names = tuple(f"member_{j}" for j in range(n_members))
    if columns is not None:
        if len(columns) != n_members:
            raise LabelError(
                f"columns names the members of a dask array: it needs {n_members} names, "
                f"but has {len(columns)}"
            )
        names = tuple(_differing([str(name) for name in columns], "columns"))
    # A part needs all members of its rows.
    array = array.rechunk({1: -1})
    parts = tuple(array.to_delayed().ravel())
    rows = None if np.isnan(array.shape[0]) else tuple(int(size) for size in array.chunks[0])
    layout = Layout(tuple(range(n_members)), names, (ANY,) * n_members, missing)
    return Source(array, parts, _numbered(parts), rows, layout)


def _array_columns(
    array: NDArray[Any], layout: Layout, part_name: str
) -> Iterator[tuple[list[Column], Any | None]]:
    if array.ndim != 2 or array.shape[1] != len(layout.columns):
        raise LabelError(
            f"{part_name} has shape {array.shape}, but there are {len(layout.columns)} members; every "
            "partition needs the same columns"
        )
    for begin in range(0, max(len(array), 1), BLOCK_ROWS):
        block = array[begin : begin + BLOCK_ROWS]
        yield [block[:, j] for j in layout.columns], None


# ---------------------------------------------------------------------- parquet files


def _open_parquet(
    paths: Any,
    columns: Sequence[str] | None,
    id: str | None,
    missing: MissingValues,
    part_cells: int | None,
) -> Source:
    files = parquet_files(paths)
    schema, _ = _footer(files[0])
    chosen = _chosen(data_columns(schema), columns, id, str(files[0]))
    kinds = tuple(_arrow_kind(schema.field(name).type) for name in chosen)
    # The same texts mean "missing" as when one process reads the files.
    absent = missing.with_texts_of_files()
    layout = Layout(tuple(chosen), tuple(chosen), kinds, absent, id, only=columns is None)
    most = PART_ROWS if part_cells is None else min(PART_ROWS, part_cells // len(chosen))
    parts: list[ParquetPart] = []
    for file in files:
        schema, metadata = _footer(file)
        layout.check_columns(data_columns(schema), str(file))
        for name in chosen:
            layout.check_kind(name, _arrow_kind(schema.field(name).type), str(file))
        parts += _parts(file, metadata, most)
    if not parts:
        raise LabelError(f"no samples: {files[0]} has columns but no rows")
    part_names = tuple(
        part.path
        if part.groups[0] == 0
        else f"{part.path} (row groups {part.groups[0]} to {part.groups[-1]})"
        for part in parts
    )
    return Source(None, tuple(parts), part_names, tuple(part.rows for part in parts), layout)


def parquet_files(paths: Any) -> list[Path]:
    """The files of a path, a directory, a pattern or a list of these, in natural order.

    Files whose names begin with a dot or an underscore are ignored.
    """
    from dask.utils import natural_sort_key

    files: list[Path] = []
    for given in [paths] if isinstance(paths, str | PathLike) else paths:
        path = Path(given)
        if path.is_dir():
            matches = [
                file
                for file in path.rglob("*.parquet")
                if not any(part[0] in "._" for part in file.relative_to(path).parts)
            ]
        elif path.is_file():
            matches = [path]
        elif has_magic(fspath(given)):
            matches = [Path(name) for name in glob(fspath(given), recursive=True)]
            matches = [file for file in matches if file.is_file() and file.name[0] not in "._"]
        else:
            raise DataError(f"{path}: no such file or directory")
        if not matches:
            raise DataError(f"{path}: there is no parquet file")
        files += sorted(matches, key=lambda file: natural_sort_key(str(file)))
    require_pyarrow(files[0])
    return files


def _footer(path: Path) -> tuple[Any, Any]:
    """Schema and metadata of a file."""
    from pyarrow import parquet

    with readable(path), parquet.ParquetFile(path) as file:
        return file.schema_arrow, file.metadata


def _parts(file: Path, metadata: Any, most: int) -> Iterator[ParquetPart]:
    groups: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= most:
            yield ParquetPart(str(file), tuple(groups), rows)
            groups, rows = [], 0
    if rows:
        yield ParquetPart(str(file), tuple(groups), rows)


def _arrow_kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _arrow_kind(kind.value_type)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_boolean(kind):
        return "truth values"
    if types.is_null(kind):
        return ANY
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    return str(kind)


def read_frame(part: ParquetPart, columns: Sequence[str]) -> Any:
    """Some columns of a part as a pandas dataframe, without an index that pandas stored."""
    from pyarrow import parquet

    with readable(part.path), parquet.ParquetFile(part.path) as file:
        table = file.read_row_groups([*part.groups], columns=[*columns])
    return table.to_pandas(ignore_metadata=True)


def empty_frame(part: ParquetPart, columns: Sequence[str]) -> Any:
    """The result of :func:`read_frame` without rows."""
    schema, _ = _footer(Path(part.path))
    return schema.empty_table().select([*columns]).to_pandas(ignore_metadata=True)


def _parquet_columns(
    part: ParquetPart, layout: Layout, part_name: str
) -> Iterator[tuple[list[Column], Any | None]]:
    from pyarrow import parquet

    # The file stores repeated text as codes and a dictionary, which is read unchanged.
    text = [name for name, kind in zip(layout.columns, layout.kinds, strict=True) if kind == "text"]
    with readable(part_name), parquet.ParquetFile(part.path, read_dictionary=text) as file:
        batches = file.iter_batches(BLOCK_ROWS, row_groups=[*part.groups], columns=layout.wanted())
        for batch in batches:
            ids = None if layout.id is None else batch.column(layout.id)
            yield [_arrow_column(batch.column(name)) for name in layout.columns], ids


def _arrow_column(column: Any) -> Column:
    """An arrow array as numbers or codes, or as a list if those would lose its values."""
    import pyarrow as pa
    from pyarrow import types

    if column.null_count and (types.is_integer(column.type) or types.is_boolean(column.type)):
        column = column.dictionary_encode()
    if not types.is_dictionary(column.type):
        return arrow_values(column)
    codes = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = arrow_values(column.dictionary)
    if isinstance(values, list):
        values = np.array(values, dtype=object)
    return Categorical(codes, values)


# ---------------------------------------------------------------------- shared by all kinds


def _columns(
    part: Any, layout: Layout, part_name: str
) -> Iterator[tuple[list[Column], Any | None]]:
    if isinstance(part, ParquetPart):
        return _parquet_columns(part, layout, part_name)
    if hasattr(part, "iloc"):
        return _frame_columns(part, layout, part_name)
    return _array_columns(
        np.ma.asarray(part) if np.ma.isMA(part) else np.asarray(part), layout, part_name
    )


def _numbered(parts: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"partition {i}" for i in range(len(parts)))


def per_row(
    source: Source,
    function: Callable[[Any, Any, str], NDArray[Any]],
    model: Any,
    empty: NDArray[Any],
    names: str | list[str],
    id: str | None = None,
) -> Any:
    """What ``function(part, model, part_name)`` computes for all rows, lazily, in their partitions.

    A dask series or dataframe, with these names and the id, if the source is a dataframe; else a dask
    array. ``empty`` is the result for no rows.
    """
    from dask import delayed

    # A separate task, so that the graph holds the model once, not once per partition.
    model = delayed(model, traverse=False)
    frame = source.collection
    if is_frame(frame):
        meta = _as_pandas(empty, frame._meta, names, id)
        return frame.map_partitions(_frame_per_row, function, model, names, id, meta=meta)
    blocks = [delayed(function)(part, model, part_name) for part, part_name in source.named_parts]
    return as_array(blocks, source.rows, empty)


def _frame_per_row(
    frame: Any, function: Callable[..., NDArray[Any]], model: Any, names: str | list[str], id: Any
) -> Any:
    return _as_pandas(function(frame, model, "a partition"), frame, names, id)


def _as_pandas(values: NDArray[Any], frame: Any, names: str | list[str], id: Any) -> Any:
    import pandas as pd

    if isinstance(names, str):
        return pd.Series(values, index=frame.index, name=names)
    table = pd.DataFrame(values, index=frame.index, columns=names)
    if id is not None:
        table.insert(0, id, frame[id])
    return table


def as_array(blocks: Sequence[Any], sizes: Sequence[int] | None, empty: NDArray[Any]) -> Any:
    """Delayed blocks as one dask array.

    ``sizes`` are the rows of the blocks, None if unknown; ``empty`` is a block without rows.
    """
    import dask.array as da

    rows = sizes or (float("nan"),) * len(blocks)
    arrays = [
        da.from_delayed(block, (size, *empty.shape[1:]), meta=empty)
        for block, size in zip(blocks, rows, strict=True)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)


def refuse_absent(wanted: Sequence[Any], present: Sequence[Any], part_name: str) -> None:
    """Raise LabelError if a partition lacks a column."""
    for column in wanted:
        if column not in present:
            raise LabelError(
                f"{part_name} has no column {column!r} (its columns are {listed(map(str, present))}); "
                "every partition needs the same columns"
            )


def _chosen(
    present: Sequence[Any], columns: Sequence[str] | None, id: str | None, where: str
) -> list[Any]:
    """The columns with labels: the named ones, or all but the id."""
    _differing([str(name) for name in present], where)
    for name in [*(columns or ()), *([] if id is None else [id])]:
        if name not in present:
            raise LabelError(absent_column(where, str(name), map(str, present)))
    kept = [name for name in (present if columns is None else columns) if name != id]
    if not kept:
        raise LabelError(f"no members: {where} has no column of labels")
    return _differing(kept, "columns")


def _differing(names: list[Any], where: str) -> list[Any]:
    if twice := repeated(names):
        raise LabelError(f"{where} has two columns named {twice[0]!r}; names must differ")
    return names


def _further_down(message: str, rows: int) -> str:
    """The message with its row counted from the start of the part."""
    return re.sub(
        r"(', row )(\d+)", lambda match: f"{match[1]}{int(match[2]) + rows}", message, count=1
    )
