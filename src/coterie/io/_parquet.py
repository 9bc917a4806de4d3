"""parquet, through pyarrow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from coterie._budget import require
from coterie.io._table import Column, DataError, Table, quoted

ROWS_AT_A_TIME = 2**16


def require_pyarrow(path: Path) -> None:
    """Raise DataError with the remedy where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise DataError(f'{path}: parquet needs pyarrow; run: pip install "coterie[io]"') from None


def read_parquet(path: Path) -> Table:
    """Columns of a parquet file; an index that pandas stored is there if named, but no feature."""
    require_pyarrow(path)
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # one file, opened here: a path would also be taken as part of a partitioned data set
        with path.open("rb") as file:
            found = _within_budget(path, parquet.ParquetFile(file))
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{path} is damaged or cut short: {' '.join(str(error).split())}") from None
    names = found.schema.names
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{path}: column names must differ, but {quoted(doubled)} occur twice")
    main = tuple(name for name in names if not re.fullmatch(r"__index_level_\d+__", name))
    if not main:
        raise DataError(f"{path} has no columns")
    if found.num_rows == 0:
        raise DataError(f"{path} has columns but no rows")
    return Table(path, {name: _values(found.column(name)) for name in names}, main)


def _within_budget(path: Path, file: Any) -> Any:
    """The whole table, refused as soon as it is known to outgrow the memory budget.

    A few bytes can stand for a million equal values: what the file declares is asked for first, and
    what its pages unpack to as they come.
    """
    import pyarrow as pa

    declared = file.metadata
    groups = [declared.row_group(i) for i in range(declared.num_row_groups)]
    # a bit a value is the least that any column takes
    least = max(
        sum(max(group.total_byte_size, 0) for group in groups),
        max(declared.num_rows, 0) * max(declared.num_columns, 0) // 8,
    )
    words, advice = f"Reading {path}", "Keep fewer columns in it, or read it on a larger machine."
    require(least, words, advice)
    batches, held = [], 0
    for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME):
        held += batch.nbytes
        require(held, words, advice)
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=file.schema_arrow)


def write_parquet(file: BinaryIO, columns: Mapping[str, Column]) -> None:
    """Columns as one parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(
        pa.table({name: pa.array(column) for name, column in columns.items()}), file
    )


def _values(column: Any) -> Column:
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_decimal(kind):
        column = column.cast("float64")
    elif types.is_null(kind):
        return np.full(len(column), np.nan)
    elif types.is_boolean(kind) or types.is_integer(kind):
        if column.null_count:
            values = column.to_pylist()
            if types.is_integer(kind) and all(v is None or abs(v) <= 2**53 for v in values):
                return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
            return values
    elif not types.is_floating(kind):
        return list(column.to_pylist())
    return np.asarray(column.to_numpy())
