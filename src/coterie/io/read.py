"""From a path to a table, features or labels: the extension names the format, the content is checked."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import DataError
from coterie.io.arrays import Purpose, read_array_table
from coterie.io.parquet import read_parquet
from coterie.io.table import Column, FileTable
from coterie.io.text import read_text

# the first bytes of each kind of file; any other file is text or binary data
_SIGNATURES = (
    (b"PAR1", "a parquet file"),
    (b"\x93NUMPY", "an npy file"),
    (b"PK\x03\x04", "a zip archive (an npz or a spreadsheet)"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
    (b"MATLAB 7.3 MAT-file", "a MATLAB 7.3 (HDF5) file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x1f\x8b", "gzip-compressed"),
    (b"\xd0\xcf\x11\xe0", "an old Excel spreadsheet (.xls)"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)
# extensions that are read, and what such a file must be
_EXPECTED = {
    ".csv": ("text", "UTF-16 text"),
    ".tsv": ("text", "UTF-16 text"),
    ".parquet": ("a parquet file",),
    ".npz": ("a zip archive (an npz or a spreadsheet)", "an empty zip archive"),
    ".npy": ("an npy file",),
    ".mat": ("a MATLAB file",),
}


def read_table(
    path: str | PathLike[str], purpose: Purpose = "features", id: str | None = None
) -> FileTable:
    """Read a file as a table of columns.

    Parameters
    ----------
    path : path
        A csv, tsv, parquet, npz, npy or mat (v5 to v7) file, recognised by its extension. Cells of text
        files may be separated by commas, semicolons, tabs or vertical bars.
    purpose : {"features", "labels"}
        Which array to look for in a file that holds several.
    id : str, optional
        The column of sample ids. In a text file they stay as written, unless all are whole numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from coterie.io import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "customers.csv")
    ...     _ = path.write_text("who;age;city\\nann;31;Bern\\nbob;NA;Rome")
    ...     read_table(path).columns
    {'who': ['ann', 'bob'], 'age': array([31., nan]), 'city': ['Bern', 'Rome']}
    """
    path = Path(path)
    kind = check_kind(path)
    if kind in (".csv", ".tsv"):
        return read_text(path, "," if kind == ".csv" else "\t", () if id is None else (id,))
    if kind == ".parquet":
        return read_parquet(path)
    return read_array_table(path, purpose)


def read_features(
    path: str | PathLike[str],
    columns: Sequence[str] | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
) -> tuple[NDArray[np.float64], list[str], list[Any] | None]:
    """Read features from a file: the matrix n x d, the names of its columns, and the sample ids.

    Parameters
    ----------
    path : path
        csv, tsv or parquet with a column per feature; npy; npz or mat with the matrix under a usual
        name (``X``, ``fea``, ``data``) or as the only one.
    columns : sequence of str, optional
        The features; by default every column but the id.
    id : str, optional
        The column of sample ids; its values must differ.
    drop : sequence of str
        Columns to leave out.

    Raises
    ------
    DataError
        If a column holds text, missing or infinite values, or the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from coterie.io import read_features
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "customers.csv")
    ...     _ = path.write_text("who,age,spent\\nann,31,5.5\\nbob,40,2")
    ...     X, names, ids = read_features(path, id="who")
    >>> X.tolist(), names, ids
    ([[31.0, 5.5], [40.0, 2.0]], ['age', 'spent'], ['ann', 'bob'])
    """
    table = read_table(path, "features", id)
    names = table.chosen(columns, (id, *drop))
    return table.numbers(names), names, None if id is None else table.ids(id)


def read_labels(
    path: str | PathLike[str], id: str | None = None, label: Sequence[str] | None = None
) -> dict[str, Column]:
    """Read labels from a file: a mapping of member to labels, for ``Ensemble.from_labels``.

    Parameters
    ----------
    path : path
        csv, tsv or parquet with a column per member; npy; npz or mat with the members under a usual
        name (``members``, ``Yi``, ``labels``), a cell array of one-hot matrices included.
    id : str, optional
        The column of sample ids. It comes first in the mapping, which is then one of the tables for
        ``Ensemble.from_tables``.
    label : sequence of str, optional
        The columns that hold labels; by default every column but the id.

    Raises
    ------
    DataError
        If a number is not a label, ids repeat, a column looks like an id that was not named, or the
        file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from coterie.io import read_labels
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "members.csv")
    ...     _ = path.write_text("who,one,two\\nann,a,0\\nbob,b,")
    ...     read_labels(path, id="who")
    {'who': ['ann', 'bob'], 'one': ['a', 'b'], 'two': array([ 0., nan])}
    """
    return read_table(path, "labels", id).members(id, label)


def check_kind(path: Path) -> str:
    """The extension of a file, after a check that the content agrees with it."""
    kind = path.suffix.lower()
    if path.is_dir():
        raise DataError(f"{path} is a directory, not a file")
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if not path.is_file():
        # opening a pipe would wait for its writer, and its first bytes cannot be read twice
        raise DataError(f"{path} is a pipe or a device; save the data to a file")
    if kind not in _EXPECTED:
        raise DataError(
            f"{path}: a file {f'with the extension {kind!r}' if kind else 'without extension'} cannot be "
            f"read; use one of {', '.join(_EXPECTED)}"
        )
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    if not head.strip():
        raise DataError(f"{path} is empty")
    content = _content(head)
    if kind == ".mat" and "HDF5" in content:
        raise DataError(
            f"{path} is a MATLAB file of version 7.3 (HDF5), which is not read; "
            "save it again in MATLAB with: save(file, '-v7')"
        )
    if content not in _EXPECTED[kind]:
        raise DataError(f"{path} is not what its extension says: it is {content}, not {kind[1:]}")
    return kind


def _content(head: bytes) -> str:
    for signature, words in _SIGNATURES:
        if head.startswith(signature):
            return words
    return "binary data" if b"\0" in head else "text"
