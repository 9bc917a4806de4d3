"""Labels in partitions: a dask dataframe, a dask array, or parquet files.

A *part* is what a worker gets for one partition: the partition itself, or row groups of a parquet file.
The worker turns it into columns of labels, block by block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import LabelError, ParameterError
from coterie.core.text import absent_column
from coterie.ensemble.columns import Categorical
from coterie.ensemble.compress import DistinctRows
from coterie.ensemble.missing import Missing, MissingValues
from coterie.io.parquet import data_columns
from coterie.scale._table import Column, distinct_rows
from coterie.scale.engine import gather
from coterie.scale.layout import ANY, BLOCK_ROWS, Layout, differing, refuse_absent
from coterie.scale.parquet import (
    ParquetPart,
    arrow_kind,
    footer,
    parquet_columns,
    parquet_files,
    row_groups,
)

# Row groups of a file are joined into parts of about this many rows.
PART_ROWS = 2**21


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
        names = tuple(differing([str(name) for name in columns], "columns"))
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
    schema, _ = footer(files[0])
    chosen = _chosen(data_columns(schema), columns, id, str(files[0]))
    kinds = tuple(arrow_kind(schema.field(name).type) for name in chosen)
    # The same texts mean "missing" as when one process reads the files.
    absent = missing.with_texts_of_files()
    layout = Layout(tuple(chosen), tuple(chosen), kinds, absent, id, only=columns is None)
    most = PART_ROWS if part_cells is None else min(PART_ROWS, part_cells // len(chosen))
    parts: list[ParquetPart] = []
    for file in files:
        schema, metadata = footer(file)
        layout.check_columns(data_columns(schema), str(file))
        for name in chosen:
            layout.check_kind(name, arrow_kind(schema.field(name).type), str(file))
        parts += row_groups(file, metadata, most)
    if not parts:
        raise LabelError(f"no samples: {files[0]} has columns but no rows")
    part_names = tuple(
        part.path
        if part.groups[0] == 0
        else f"{part.path} (row groups {part.groups[0]} to {part.groups[-1]})"
        for part in parts
    )
    return Source(None, tuple(parts), part_names, tuple(part.rows for part in parts), layout)


# ---------------------------------------------------------------------- shared by all kinds


def _columns(
    part: Any, layout: Layout, part_name: str
) -> Iterator[tuple[list[Column], Any | None]]:
    if isinstance(part, ParquetPart):
        return parquet_columns(part, layout, part_name)
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


def _chosen(
    present: Sequence[Any], columns: Sequence[str] | None, id: str | None, where: str
) -> list[Any]:
    """The columns with labels: the named ones, or all but the id."""
    differing([str(name) for name in present], where)
    for name in [*(columns or ()), *([] if id is None else [id])]:
        if name not in present:
            raise LabelError(absent_column(where, str(name), map(str, present)))
    kept = [name for name in (present if columns is None else columns) if name != id]
    if not kept:
        raise LabelError(f"no members: {where} has no column of labels")
    return differing(kept, "columns")


def _further_down(message: str, rows: int) -> str:
    """The message with its row counted from the start of the part."""
    return re.sub(
        r"(', row )(\d+)", lambda match: f"{match[1]}{int(match[2]) + rows}", message, count=1
    )
