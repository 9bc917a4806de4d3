"""Writing a file: all of it or nothing, under its own name only once it is complete."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from coterie.core.errors import DataError
from coterie.io.parquet import require_pyarrow, write_parquet
from coterie.io.table import Column

WRITABLE = (".csv", ".tsv", ".parquet")
RESULT = (".npz",)
PAGE = (".html", ".htm")
# of a name, in the passing one; a letter can take four bytes, a name has 255 at most
MOST_LETTERS = 40


def check_writable(path: str | PathLike[str]) -> None:
    """Raise DataError if a table could not be written there; nothing is left behind."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in WRITABLE:
        raise DataError(
            f"{path}: cannot write {f'the extension {kind!r}' if kind else 'without an extension'}"
            f"; known are {', '.join(WRITABLE)}"
        )
    if kind == ".parquet":
        require_pyarrow(path)
    check_place(path)


def check_extension(path: str | PathLike[str], known: Sequence[str], name: str = "") -> None:
    """Raise DataError for a file name without one of these extensions; none is added in silence.

    Parameters
    ----------
    path : str or path
    known : sequence of str
        The extensions that fit, the usual one first.
    name : str
        What gave the path, such as an option.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a directory; name a file")
    if path.suffix.lower() not in known:
        raise DataError(
            f"{f'{name} ' if name else ''}{path}: name a file with the extension {known[0]}, such "
            f"as {path.with_suffix(known[0]).name if path.name else f'file{known[0]}'}"
        )


def check_place(path: str | PathLike[str]) -> None:
    """Raise DataError if no file could be written there; nothing is left behind."""
    target = Path(path)
    try:
        if target.is_symlink():
            # where it leads is where the file will be
            target = Path(os.path.realpath(path))
        folder = target.parent
        if target.is_dir():
            raise DataError(f"{path} is a directory; name a file")
        if not folder.exists():
            raise DataError(f"{path} cannot be written: there is no directory {folder}")
        if not folder.is_dir():
            raise DataError(f"{path} cannot be written: {folder} is not a directory")
        _refuse_what_is_no_file(path, target)
        if target.exists() and not os.access(target, os.W_OK):
            raise DataError(f"{path} cannot be written: the file is read-only")
        # rights, quotas and read-only disks in one question
        file, temporary = _beside(target)
        file.close()
        temporary.unlink()
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None


def write_table(path: str | PathLike[str], columns: Mapping[str, Column]) -> None:
    """Write columns as csv, tsv or parquet, by the extension.

    The file appears under its name when it is complete; if anything fails, the file that was there
    before is untouched and nothing else remains.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from coterie.io import write_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     write_table(path, {"customer": ["ann", "bob"], "label": [0, 1]})
    ...     path.read_text().split()
    ['customer,label', 'ann,0', 'bob,1']
    """
    check_writable(path)
    kind = Path(path).suffix.lower()
    with whole_file(path) as file:
        if kind == ".parquet":
            write_parquet(file, columns)
        else:
            _write_text(file, columns, "," if kind == ".csv" else "\t")


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name only when the block ends without an error.

    Raises DataError where the disk refuses; what was there before is then untouched, and nothing
    else remains.
    """
    # through a link, not over it
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        _refuse_what_is_no_file(path, target)
        file, temporary = _nameless(target) or _beside(target)
        with file:
            yield file
            file.flush()
            # on the disk before it has the name: a crash of the system leaves the old file or the new
            os.fsync(file.fileno())
            if temporary is None:
                temporary = _named(file, target)
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def _refuse_what_is_no_file(path: str | PathLike[str], target: Path) -> None:
    """A rename would put a file in the place of a pipe or of a device such as /dev/null."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise DataError(f"{path} cannot be written: it is a pipe or a device; name a file")


def _nameless(path: Path) -> tuple[BinaryIO, None] | None:
    """A new file in the same directory that has no name yet, so that not even a kill leaves it there.

    None where the system or the file system knows no such files.
    """
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        place = os.open(path.parent, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:
        # whatever the reason, the usual way succeeds or says it better
        return None
    return os.fdopen(place, "wb"), None


def _named(file: BinaryIO, path: Path) -> Path:
    """Give a nameless file a passing name, for a link cannot replace what has the right one."""
    # only by a descriptor of the folder does Python's link follow /proc's own link to the file
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        for attempt in count():
            name = passing_name(path, attempt)
            with suppress(FileExistsError):
                os.link(
                    f"/proc/self/fd/{file.fileno()}", name, dst_dir_fd=folder, follow_symlinks=True
                )
                return path.with_name(name)
    finally:
        os.close(folder)
    raise AssertionError


def passing_name(path: Path, attempt: int) -> str:
    """What is on its way to a path is called until it is complete."""
    # cut: with more around it, a name of the greatest length would be too long
    return f".{path.name[:MOST_LETTERS]}.{os.getpid()}-{attempt}.tmp"


def _beside(path: Path) -> tuple[BinaryIO, Path]:
    """A new file in the same directory, where a rename is atomic, with the user's usual rights."""
    for attempt in count():
        temporary = path.with_name(passing_name(path, attempt))
        try:
            return temporary.open("xb"), temporary
        except FileExistsError:
            # left by a process of the same number that was killed
            continue
    raise AssertionError


def _write_text(file: BinaryIO, columns: Mapping[str, Column], delimiter: str) -> None:
    values = [
        column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()
    ]
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*values, strict=True))
    text.detach()
