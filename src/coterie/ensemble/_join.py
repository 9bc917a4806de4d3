"""Tables of parties that each know a part of the samples, joined by the samples' ids."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import LabelError
from coterie.ensemble.checks import distinguished
from coterie.ensemble.columns import (
    Categorical,
    Missing,
    MissingValues,
    encode,
    is_hashable,
    is_void,
)
from coterie.ensemble.read import Columns, refuse_ids, table_columns


def join_tables(
    tables: Sequence[object] | Mapping[str, object],
    id: str,
    label: str | Sequence[str] | None,
    missing: Missing,
) -> tuple[list[str], Columns, NDArray[Any]]:
    """Member names, coded members over all ids, and the ids in order of first appearance."""
    if isinstance(tables, str | bytes) or not isinstance(tables, Sequence | Mapping):
        raise LabelError(f"tables must be a sequence or a mapping of tables, but is {tables!r}")
    # as the tables' own names are read
    id = str(id)
    if isinstance(tables, Mapping):
        named = [(str(name), table) for name, table in tables.items()]
    else:
        named = [(f"table_{i}", table) for i, table in enumerate(tables)]
    if not named:
        raise LabelError("no tables to join")
    absent = MissingValues.named(missing)
    position: dict[Any, int] = {}
    kinds: dict[str, str] = {}
    found: list[tuple[str, NDArray[np.int64], object]] = []
    known: list[NDArray[np.int64]] = []
    for name, table in named:
        columns = table_columns(table, name)
        if columns is None:
            raise LabelError(
                f"{name} must be a dataframe or a mapping of columns, but is {type(table).__name__}"
            )
        ids = _ids(columns, id, name, kinds)
        rows = np.array([position.setdefault(key, len(position)) for key in ids], dtype=np.int64)
        known.append(rows)
        for column in _label_columns(columns, id, label, name):
            found.append((f"{name}.{column}", rows, columns[column]))
    coded = []
    for member, rows, values in found:
        codes, categories = encode(values, member, absent)
        if len(codes) != len(rows):
            raise LabelError(f"member {member!r} has {len(codes)} labels for {len(rows)} ids")
        if label is None and len(rows):
            refuse_ids([member], [(codes, categories)], "name the columns of labels with label=")
        full = np.full(len(position), -1, dtype=np.int32)
        full[rows] = codes
        coded.append((full, categories))
    _warn_of_strangers([name for name, _ in named], known, len(position))
    return distinguished([member for member, _, _ in found]), coded, _id_array([*position])


def _warn_of_strangers(
    names: Sequence[str], known: Sequence[NDArray[np.int64]], n_samples: int
) -> None:
    """Warn of tables that no chain of shared samples connects with the first."""
    seen = np.zeros(n_samples, dtype=np.bool_)
    seen[known[0]] = True
    waiting = [*range(1, len(known))]
    while met := [place for place in waiting if seen[known[place]].any()]:
        for place in met:
            seen[known[place]] = True
        waiting = [place for place in waiting if place not in met]
    strangers = [names[place] for place in waiting if len(known[place])]
    if strangers and len(known[0]):
        warnings.warn(
            f"{', '.join(strangers[:5])}{', ...' if len(strangers) > 5 else ''} and {names[0]} have no "
            "id in common, nor has another table with both: nothing tells which of their clusters "
            "belong together. Check that all write the ids alike",
            UserWarning,
            stacklevel=4,
        )


def _ids(columns: dict[str, object], id: str, table: str, kinds: dict[str, str]) -> list[Any]:
    if id not in columns:
        raise LabelError(f"{table} has no column {id!r}; its columns are {', '.join(columns)}")
    column: Any = columns[id]
    ids = [
        value.item() if isinstance(value, np.generic) else value
        for value in (column.cells() if isinstance(column, Categorical) else column)
    ]
    seen: dict[Any, int] = {}
    for row, value in enumerate(ids):
        if is_void(value):
            raise LabelError(f"{table}, row {row}: the id {id!r} is missing")
        if not is_hashable(value):
            raise LabelError(f"{table}, row {row}: the id {value!r} is no name of a sample")
        if value in seen:
            raise LabelError(
                f"{table}: the id {value!r} stands in rows {seen[value]} and {row}; "
                "an id may appear once in a table"
            )
        seen[value] = row
    if not ids:
        return ids
    kind = _kind(ids)
    kinds[table] = kind
    other = next((known for known, its in kinds.items() if its != kind), None)
    if other is not None:
        raise LabelError(
            f"the ids of {other} and {table} cannot be joined: {id!r} holds {kinds[other]} in the "
            f"one and {kind} in the other; convert one of them"
        )
    return ids


def _kind(ids: Sequence[Any]) -> str:
    """What ids are in the words of a message; ids of two kinds never meet."""
    for word, kind in (("text", str), ("bytes", bytes), ("truth values", bool)):
        if any(isinstance(value, kind) for value in ids):
            return word
    return "dates" if any(isinstance(value, date) for value in ids) else "number"


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
            raise LabelError(
                f"{table} has no column {column!r}; its columns are {', '.join(columns)}"
            )
    if not wanted:
        raise LabelError(f"{table} has no column of labels beside the id {id!r}")
    return wanted


def _id_array(ids: list[Any]) -> NDArray[Any]:
    kinds = {type(value) for value in ids}
    # numpy drops zero bytes at the end of a text
    if kinds == {int} or (kinds == {str} and not any(value.endswith("\0") for value in ids)):
        return np.array(ids)
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array
