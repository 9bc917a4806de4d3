"""The columns that every partition must hold, and the rows that are read together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coterie.core.errors import LabelError
from coterie.core.text import listed, repeated
from coterie.ensemble.missing import MissingValues

# Rows that a worker reads, codes and compresses together.
BLOCK_ROWS = 2**18
# Kind of a column that is compatible with every other kind.
ANY = "any"


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
        differing([*present], part_name)
        extra = [name for name in present if name not in self.wanted()]
        if self.only and extra:
            raise LabelError(
                f"{part_name} has a column {extra[0]!r}, which the others do not have",
                "give every partition the same columns, or name those to be read with {columns}",
            )


def refuse_absent(wanted: Sequence[Any], present: Sequence[Any], part_name: str) -> None:
    """Raise LabelError if a partition lacks a column."""
    for column in wanted:
        if column not in present:
            raise LabelError(
                f"{part_name} has no column {column!r} (its columns are {listed(map(str, present))}); "
                "every partition needs the same columns"
            )


def differing(names: list[Any], where: str) -> list[Any]:
    """The names. Raises LabelError if two of them are equal."""
    if twice := repeated(names):
        raise LabelError(f"{where} has two columns named {twice[0]!r}; names must differ")
    return names
