"""Parquet files, whose row groups are the partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from coterie.core.errors import DataError
from coterie.ensemble.columns import Categorical
from coterie.io.parquet import arrow_values, readable, require_pyarrow
from coterie.scale._table import Column
from coterie.scale.layout import ANY, BLOCK_ROWS, Layout


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a parquet file."""

    path: str
    groups: tuple[int, ...]
    rows: int


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


def footer(path: Path) -> tuple[Any, Any]:
    """Schema and metadata of a file."""
    from pyarrow import parquet

    with readable(path), parquet.ParquetFile(path) as file:
        return file.schema_arrow, file.metadata


def row_groups(file: Path, metadata: Any, least: int) -> Iterator[ParquetPart]:
    """The row groups of a file, joined into parts of at least ``least`` rows."""
    groups: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= least:
            yield ParquetPart(str(file), tuple(groups), rows)
            groups, rows = [], 0
    if rows:
        yield ParquetPart(str(file), tuple(groups), rows)


def arrow_kind(kind: Any) -> str:
    """What a column of this arrow type holds, in the words of :class:`Layout`."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return arrow_kind(kind.value_type)
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
    schema, _ = footer(Path(part.path))
    return schema.empty_table().select([*columns]).to_pandas(ignore_metadata=True)


def parquet_columns(
    part: ParquetPart, layout: Layout, part_name: str
) -> Iterator[tuple[list[Column], Any | None]]:
    """The labels and ids of each block of a part."""
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
