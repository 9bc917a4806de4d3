"""parquet files, read and written with pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from coterie.core.budget import memory_budget, require
from coterie.core.errors import CoterieError, DataError
from coterie.core.text import quoted, repeated
from coterie.ensemble.missing import is_missing_text
from coterie.io.table import STRING_BYTES, Column, FileTable, damaged

ROWS_AT_A_TIME = 2**16
# most bytes of a value of fixed size, such as a UUID
WIDEST = 1024


def require_pyarrow(path: Path) -> None:
    """Raise DataError that says what to install, if pyarrow is missing."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise DataError(f'{path}: parquet needs pyarrow; run: pip install "coterie[io]"') from None


def read_parquet(path: Path) -> FileTable:
    """Columns of a parquet file. An index that pandas stored is read, but is not one of the main columns."""
    require_pyarrow(path)
    from pyarrow import parquet

    # opened here, because pyarrow would read a path as part of a partitioned data set
    with readable(path), path.open("rb") as file:
        opened = parquet.ParquetFile(file)
        schema = opened.schema_arrow
        names = _checked_names(path, schema)
        # in a dictionary, a text that repeats a million times is stored once
        texts = [field.name for field in schema if _is_text(field.type)]
        file.seek(0)
        opened = parquet.ParquetFile(file, read_dictionary=texts, metadata=opened.metadata)
        columns = _within_budget(path, opened, names)
    main = data_columns(schema)
    if not main:
        raise DataError(f"{path} has no columns")
    if len(columns[main[0]]) == 0:
        raise DataError(f"{path} has columns but no rows")
    return FileTable(path, columns, tuple(main))


@contextmanager
def readable(name: object) -> Iterator[None]:
    """Turn the errors of pyarrow into a DataError that names the file, or the part of it."""
    import pyarrow as pa

    try:
        yield
    except CoterieError:
        raise
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise damaged(name, error) from None


def data_columns(schema: Any) -> list[str]:
    """Names of the columns, without an index that pandas stored."""
    return [name for name in schema.names if not re.fullmatch(r"__index_level_\d+__", name)]


def _checked_names(path: Path, schema: Any) -> list[str]:
    """Names of the columns, after a check that they differ and hold numbers or text."""
    from pyarrow import types

    names: list[str] = schema.names
    if doubled := repeated(names):
        raise DataError(f"{path}: column names must differ; used more than once: {quoted(doubled)}")
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        wide = types.is_fixed_size_binary(kind) and kind.byte_width > WIDEST
        if types.is_nested(kind) or wide:
            raise DataError(
                f"{path}: column {field.name!r} holds {str(kind)[:60]} values, which are neither "
                "numbers nor text; write the file without it"
            )
    return names


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return any(
        test(kind)
        for test in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    )


def _within_budget(path: Path, file: Any, names: Sequence[str]) -> dict[str, Column]:
    """All columns, refused as soon as they exceed the memory budget.

    A few bytes can encode a million equal values. The declared size is checked first, then the size
    of the values while they are read.
    """
    import pyarrow as pa

    declared = file.metadata
    groups = [declared.row_group(i) for i in range(declared.num_row_groups)]
    # every value takes at least one bit
    least = max(
        sum(max(group.total_byte_size, 0) for group in groups),
        max(declared.num_rows, 0) * max(declared.num_columns, 0) // 8,
    )
    purpose = f"Reading {path}"
    advice = "Save it with fewer columns, or read it on a machine with more memory."
    budget = memory_budget()
    require(least, purpose, advice, budget)
    columns: dict[str, list[Any] | _Texts] = {
        field.name: _Texts()
        if pa.types.is_dictionary(field.type) and _is_text(field.type.value_type)
        else []
        for field in file.schema_arrow
    }
    held = 0
    for batch in file.iter_batches(batch_size=ROWS_AT_A_TIME):
        for name, part in zip(names, batch.columns, strict=True):
            column = columns[name]
            if isinstance(column, _Texts):
                held += column.extend(part)
            else:
                held += part.nbytes
                column.append(part)
        require(held, purpose, advice, budget)
    return {
        name: column.values
        if isinstance(column, _Texts)
        else arrow_values(pa.chunked_array(column, type=file.schema_arrow.field(name).type))
        for name, column in columns.items()
    }


class _Texts:
    """A column of text; cells with the same text share one string."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._known: dict[Any, Any] = {}

    def extend(self, part: Any) -> int:
        """Add a part of the column and return the bytes that it takes."""
        numbers = part.indices.fill_null(-1).to_numpy()
        # the dictionary also holds the texts of earlier batches
        used, positions = np.unique(numbers, return_inverse=True)
        held = 8 * len(numbers)
        texts: list[Any] = [None] if len(used) and used[0] < 0 else []
        for text in part.dictionary.take(used[len(texts) :]).to_pylist():
            if text is not None and text not in self._known:
                missing = isinstance(text, str) and is_missing_text(text)
                self._known[text] = None if missing else text
                held += STRING_BYTES + len(text)
            texts.append(self._known.get(text))
        self.values.extend(map(texts.__getitem__, positions.tolist()))
        return held


def arrow_values(column: Any) -> Column:
    """An arrow column as an array of numbers, NaN where missing; anything else as a list."""
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
    return np.asarray(column.to_numpy(zero_copy_only=False))
