"""Ids of samples: the one rule for arrays, frames, tables, files and partitions.

An id is any hashable value that is not missing, and no two samples share one. Whole numbers are
integers: 7 and 7.0 are the same id. "7" is another id, and ids of different kinds are never joined.

Tables are joined by a normal form of their ids (:func:`join_key`): text that looks the same is the same id.
Ids that differ in upper and lower case only are not joined, because they may be different samples.

A named column that differs in each of eight or more rows is probably an id, not a clustering. A column of
text like that is always refused. A column of numbers is refused in a file, where the user can name the
label columns, and causes a warning elsewhere.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import CoterieError, LabelError, with_advice
from coterie.core.text import counted
from coterie.ensemble.missing import is_missing

# zero-width space, word joiner, byte order mark and soft hyphen
ZERO_WIDTH = dict.fromkeys([0x200B, 0x2060, 0xFEFF, 0x00AD])
WHOLE_NUMBER = re.compile(r"(-?[0-9]+)\.0+")
# with fewer rows, a clustering may give each sample its own label
MIN_ROWS_OF_IDS = 8
# rows checked before the whole column: a clustering hardly ever differs in each of them
FIRST_ROWS = 100


class SampleIds(list[Any]):
    """Ids that :func:`checked_ids` has accepted, so that they are not checked again."""


def checked_ids(
    values: Iterable[Any],
    name: str,
    row_name: Callable[[int], str] = "row {}".format,
    error: type[CoterieError] = LabelError,
) -> SampleIds:
    """Ids as Python values, whole numbers as integers; missing and repeated ones are refused.

    Parameters
    ----------
    values : iterable
    name : str
        Where the ids come from, for messages: a parameter, or a file and its column.
    row_name : callable
        From the position of a row to its name in messages.
    error : type
        The exception to raise.

    Examples
    --------
    >>> from coterie.ensemble.ids import checked_ids
    >>> checked_ids([7.0, 8.0], "customer")
    [7, 8]
    >>> checked_ids([7, 8, 7], "customer")
    Traceback (most recent call last):
        ...
    coterie.core.errors.LabelError: customer: the id 7 is in row 0 and row 2; ids must differ
    """
    if isinstance(values, SampleIds):
        return values
    ids = [value.item() if isinstance(value, np.generic) else value for value in values]
    ids = [
        int(value) if isinstance(value, float) and value.is_integer() else value for value in ids
    ]
    if {type(value) for value in ids} in ({str}, {int}) and len({*ids}) == len(ids):
        return SampleIds(ids)
    first_row: dict[Any, int] = {}
    for row, value in enumerate(ids):
        if is_missing(value):
            raise error(f"{name}, {row_name(row)}: the id is missing; every sample needs one")
        try:
            first = first_row.setdefault(value, row)
        except TypeError:
            raise error(
                f"{name}, {row_name(row)}: {value!r} is not a valid sample id; use text or a number"
            ) from None
        if first != row:
            raise error(
                f"{name}: the id {value!r} is in {row_name(first)} and {row_name(row)}; "
                "ids must differ"
            )
    return SampleIds(ids)


def join_key(value: Any) -> Any:
    """The form by which an id is joined: text in Unicode's normal form NFC, without invisible characters.

    Zero-width characters and spaces at the ends are dropped, and "7.0" becomes "7".

    Examples
    --------
    >>> from coterie.ensemble.ids import join_key
    >>> [join_key(id) for id in ("ann", " ann", "7.0", "ann\\u200b", 7)]
    ['ann', 'ann', '7', 'ann', 7]
    """
    if not isinstance(value, str):
        return value
    if not value.isascii():
        value = normalize("NFC", value.translate(ZERO_WIDTH))
    value = value.strip()
    if value.endswith(".0") and (number := WHOLE_NUMBER.fullmatch(value)):
        return number[1]
    return value


class JoinedIds:
    """The samples of several tables, each in the order in which its id first appears."""

    def __init__(self) -> None:
        self.ids: list[Any] = []
        self._position: dict[Any, int] = {}
        self._tables: list[NDArray[np.int64]] = []
        self._rewritten: list[tuple[Any, Any]] = []

    def add(self, ids: Sequence[Any], table: str) -> NDArray[np.int64]:
        """The position of each sample of one more table; new samples are appended."""
        before = len(self.ids)
        rows: list[int] = []
        for value in ids:
            row = self._position.setdefault(join_key(value), len(self.ids))
            if row == len(self.ids):
                self.ids.append(value)
            rows.append(row)
        if len({*rows}) < len(rows):
            first: dict[int, Any] = {}
            one, other = next(
                (first[row], value)
                for row, value in zip(rows, ids, strict=True)
                if first.setdefault(row, value) is not value
            )
            raise LabelError(
                f"{table}: the ids {one!r} and {other!r} look the same; write them in the same way if "
                "they are one sample, or in clearly different ways"
            )
        self._rewritten += [
            (self.ids[row], value)
            for row, value in zip(rows, ids, strict=True)
            if row < before and self.ids[row] != value
        ]
        self._tables.append(np.array(rows, dtype=np.int64))
        return self._tables[-1]

    def warn(self, stacklevel: int) -> None:
        """Warn about ids that were joined although they are written differently, or differ only in case."""
        if self._rewritten:
            count = len(self._rewritten)
            warnings.warn(
                f"{counted(count, 'id')} {'differs' if count == 1 else 'differ'} between tables only in "
                "characters that cannot be seen, in the way accents are stored, or as 7 and 7.0 do; "
                f"such ids were joined ({_pairs(self._rewritten)})",
                UserWarning,
                stacklevel=stacklevel,
            )
        if doubtful := self._in_other_case():
            verb = "differs" if len(doubtful) == 1 else "differ"
            warnings.warn(
                f"{counted(len(doubtful), 'id')} of one table {verb} from an id of another only in "
                f"upper and lower case; such ids were not joined ({_pairs(doubtful)}). If they are the "
                "same samples, write them in the same way, for example in lower case",
                UserWarning,
                stacklevel=stacklevel,
            )

    def _in_other_case(self) -> list[tuple[Any, Any]]:
        """Pairs of ids that are the same in lower case and never occur in one table."""
        alike: dict[str, list[int]] = {}
        for key, row in self._position.items():
            if isinstance(key, str):
                alike.setdefault(key.casefold(), []).append(row)
        held = np.zeros((len(self._tables), len(self.ids)), dtype=np.bool_)
        for table, rows in zip(held, self._tables, strict=True):
            table[rows] = True
        pairs = []
        for group in alike.values():
            if len(group) > 1 and held[:, group].sum(axis=1).max() < 2:
                pairs += [(self.ids[group[0]], self.ids[row]) for row in group[1:]]
        return pairs


def _pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    shown = [f"{one!a} and {other!a}" for one, other in pairs[:3]]
    return f"{', '.join(shown)}{', ...' if len(pairs) > 3 else ''}"


def id_vector(given: object, n_samples: int) -> NDArray[Any]:
    """The user's ``sample_ids=`` as a vector, checked."""
    ids = np.array(given)
    if ids.shape != (n_samples,):
        raise LabelError(f"sample_ids must hold {n_samples} ids, but has shape {ids.shape}")
    # integers and text in numpy cannot be missing, and counting distinct values is quick
    if ids.dtype.kind in "OfmM" or len(np.unique(ids)) < n_samples:
        checked_ids(ids.tolist(), "sample_ids")
    return ids


def id_array(ids: Sequence[Any]) -> NDArray[Any]:
    """Ids as an array of whole numbers, of text, or else of objects."""
    kinds = {type(value) for value in ids}
    # numpy drops zero bytes at the end of a text
    if kinds == {int} or (kinds == {str} and not any(value.endswith("\0") for value in ids)):
        return np.array(ids)
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def index_ids(table: object) -> NDArray[Any] | None:
    """The index of a pandas frame as ids, or None where it cannot serve as ids.

    An index that counts from 0 adds nothing to the row numbers and gives None. Whole numbers stay
    integers; every other kind of id becomes text.
    """
    index: Any = getattr(table, "index", None)
    if not hasattr(table, "iloc") or not hasattr(index, "is_unique"):
        return None
    if getattr(index, "nlevels", 1) > 1 or not index.is_unique or index.hasnans:
        return None
    values = np.asarray(index)
    if values.dtype.kind in "iu":
        return None if np.array_equal(values, np.arange(len(values))) else values.copy()
    texts = np.array([str(value) for value in index])
    # values of different types may have the same text
    ambiguous = index.inferred_type != "string" and len(np.unique(texts)) < len(texts)
    return None if ambiguous else texts


def kind_of_ids(ids: Sequence[Any]) -> str:
    """The kind of the ids, for messages."""
    for kind, types in (("text", str), ("bytes", bytes), ("truth values", bool), ("dates", date)):
        if any(isinstance(value, types) for value in ids):
            return kind
    return "numbers"


def differs_in_every_row(values: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether a column has a different value in every row, and enough rows to be ids."""
    if len(values) < MIN_ROWS_OF_IDS or len({*islice(values, FIRST_ROWS)}) < min(
        len(values), FIRST_ROWS
    ):
        return False
    distinct = np.unique(values) if isinstance(values, np.ndarray) else {*values}
    return len(distinct) == len(values)


def refuse_id_columns(
    categories: Mapping[str, NDArray[Any]], n_rows: int, advice: str, stacklevel: int
) -> None:
    """Refuse columns whose text differs in every row, and warn once about such numbers.

    Parameters
    ----------
    categories : mapping of column to ndarray
        The different values of each column.
    n_rows : int
    advice : str
        What to do if a column is an id, with parameters in braces (see CoterieError).
    stacklevel : int
        As in :func:`warnings.warn`.
    """
    if n_rows < MIN_ROWS_OF_IDS:
        return
    suspects = []
    for name, values in categories.items():
        if len(values) < n_rows:
            continue
        if values.dtype.kind in "OUS" and any(
            isinstance(value, str | bytes) for value in values.tolist()
        ):
            raise LabelError(
                f"column {name!r} holds a different text in each of the {n_rows:,} rows: it looks "
                "like an id, not a clustering",
                advice,
            )
        suspects.append(repr(name))
    if suspects:
        several = len(suspects) > 1
        warning = with_advice(
            f"column{'s' if several else ''} {', '.join(suspects[:5])}"
            f"{', ...' if len(suspects) > 5 else ''} hold{'' if several else 's'} a different number "
            f"in each of the {n_rows:,} rows, as ids do; such a member carries no evidence",
            f"if it is an id, {advice}",
            {},
        )
        warnings.warn(warning, UserWarning, stacklevel=stacklevel)
