"""From a path to a table, features or labels, by the extension and checked against the content."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import DataError
from coterie.ensemble.ids import differs_in_every_row
from coterie.io.arrays import Purpose, read_mat, read_npy, read_npz
from coterie.io.parquet import read_parquet
from coterie.io.table import Column, Table, ids, labels, numbers
from coterie.io.text import read_text

READABLE = (".csv", ".tsv", ".parquet", ".npz", ".npy", ".mat")

# how a file of each kind begins; what is not listed is told apart as text or binary
_SIGNATURES = (
    (b"PAR1", "a parquet file"),
    (b"\x93NUMPY", "an npy file"),
    (b"PK\x03\x04", "a zip archive (an npz or a spreadsheet)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"MATLAB 7.3 MAT-file", "a MATLAB 7.3 (HDF5) file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet of the old kind"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
_EXPECTED = {
    ".csv": ("text",),
    ".tsv": ("text",),
    ".parquet": ("a parquet file",),
    ".npz": ("a zip archive (an npz or a spreadsheet)", "an empty zip archive"),
    ".npy": ("an npy file",),
    ".mat": ("a MATLAB file",),
}


def read_table(
    path: str | PathLike[str], purpose: Purpose = "features", as_text: Collection[str] = ()
) -> Table:
    """A file as a table of columns.

    Parameters
    ----------
    path : path
        csv, tsv, parquet, npz, npy or mat (v5 to v7), told by the extension.
    purpose : {"features", "labels"}
        Which array to look for in a file that holds several.
    as_text : collection of str
        Columns of a text file whose cells stay as written, unless all are whole numbers: ids.
    """
    path = Path(path)
    kind = check_kind(path)
    if kind == ".csv":
        return read_text(path, ",", as_text)
    if kind == ".tsv":
        return read_text(path, "\t", as_text)
    if kind == ".parquet":
        return read_parquet(path)
    reader = {".npy": read_npy, ".npz": read_npz, ".mat": read_mat}[kind]
    return reader(path, purpose)


def read_features(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
) -> tuple[NDArray[np.float64], list[str], list[Any] | None]:
    """Features from a file: the matrix n x d, the names of its columns, and the samples' ids.

    Parameters
    ----------
    path : path
        csv, tsv or parquet with a column per feature; npy; npz or mat with the matrix under a usual
        name (``X``, ``fea``, ``data``) or as the only one.
    columns : sequence of str, optional
        The features; by default every column but the id.
    id : str, optional
        The column that names the samples; its values must differ.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    DataError
        Text in a column, missing or infinite values, and whatever keeps the file from being read.
    """
    table = read_table(path, "features", () if id is None else (id,))
    return features_of(table, columns, id, drop)


def features_of(
    table: Table, columns: Sequence[str] | None, id: str | None, drop: Sequence[str] = ()
) -> tuple[NDArray[np.float64], list[str], list[Any] | None]:
    """Features of a table that was read; see :func:`read_features`."""
    names = table.chosen(columns, (id, *drop))
    if not names:
        raise DataError(f"{table.path}: no column is left to cluster")
    return numbers(table, names), names, None if id is None else ids(table, id)


def read_labels(
    path: str | PathLike[str], id: str | None = None, label: Sequence[str] | None = None
) -> dict[str, Column]:
    """Labels from a file: a mapping of member to labels, for ``Ensemble.from_labels``.

    Parameters
    ----------
    path : path
        csv, tsv or parquet with a column per member; npy; npz or mat with the members under a usual
        name (``members``, ``Yi``, ``labels``), a cell array of one-hot matrices included.
    id : str, optional
        The column that names the samples. It comes first in the mapping, which is then one of the
        tables for ``Ensemble.from_tables``.
    label : sequence of str, optional
        The columns that hold labels; by default every column but the id.
    """
    table = read_table(path, "labels", () if id is None else (id,))
    return labels_of(table, id, label)


def labels_of(
    table: Table, id: str | None, label: Sequence[str] | None, drop: Sequence[str] = ()
) -> dict[str, Column]:
    """Labels of a table that was read; see :func:`read_labels`."""
    names = table.chosen(label, (id, *drop))
    if not names:
        raise DataError(f"{table.path}: no column of labels is left")
    found: dict[str, Column] = {} if id is None else {id: ids(table, id)}
    found.update({name: labels(table, name) for name in names})
    if label is None:
        _refuse_unnamed_ids(table, names)
    return found


def _refuse_unnamed_ids(table: Table, names: Sequence[str]) -> None:
    for name in names:
        if differs_in_every_row(table.column(name)):
            raise DataError(
                f"{table.path}: column {name!r} holds a different value in every row: it looks like "
                "an id, not a clustering",
                "name it as the id ({id}), or list the columns of labels ({label})",
                {"id": name},
            )


def check_kind(path: Path) -> str:
    """The extension, after a look at whether the file keeps its promise."""
    kind = path.suffix.lower()
    if path.is_dir():
        raise DataError(f"{path} is a directory, not a file")
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if not path.is_file():
        # a pipe would be waited for, and cannot be looked at before it is read
        raise DataError(f"{path} is a pipe or a device; save the data to a file")
    if kind not in READABLE:
        raise DataError(
            f"{path}: cannot read {f'the extension {kind!r}' if kind else 'a file without extension'}"
            f"; known are {', '.join(READABLE)}"
        )
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if not head.strip():
        raise DataError(f"{path} is empty")
    found = _content(head)
    if kind == ".mat" and "HDF5" in found:
        raise DataError(
            f"{path} is a MATLAB file of version 7.3 (HDF5), which is not read; "
            "save it again in MATLAB with: save(file, '-v7')"
        )
    if found not in _EXPECTED[kind]:
        raise DataError(f"{path} is not what its extension says: it is {found}, not {kind[1:]}")
    return kind


def _content(head: bytes) -> str:
    for signature, words in _SIGNATURES:
        if head.startswith(signature):
            return words
    return "binary data" if b"\0" in head else "text"
