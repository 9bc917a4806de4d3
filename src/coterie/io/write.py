"""Writing files completely or not at all: a file gets its name only once it is complete."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from os import PathLike
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np

from coterie.core.errors import DataError
from coterie.io.parquet import require_pyarrow
from coterie.io.table import Column

WRITABLE = (".csv", ".tsv", ".parquet")
RESULT = (".npz",)
PAGE = (".html", ".htm")
# characters of the name in a temporary name: a name may take 255 bytes, a character up to four
MAX_CHARACTERS = 40

Made = TypeVar("Made")


def check_writable(
    path: str | PathLike[str], extensions: Sequence[str] | None = WRITABLE, name: str = ""
) -> None:
    """Raise DataError if a file cannot be written to this path; nothing is left behind.

    Parameters
    ----------
    path : str or path
    extensions : sequence of str or None
        The accepted extensions, the usual one first; None accepts any. No extension is added.
    name : str
        The parameter or option that gave the path, for the message.

    Examples
    --------
    >>> from coterie.io import check_writable
    >>> check_writable("labels.xlsx")
    Traceback (most recent call last):
    coterie.core.errors.DataError: labels.xlsx: name a file with the extension .csv or .tsv or .parquet, ...
    """
    target = Path(path)
    try:
        if target.is_symlink():
            target = Path(os.path.realpath(path))
        if target.is_dir():
            raise DataError(f"{path} is a directory; name a file")
        kind = Path(path).suffix.lower()
        if extensions is not None and kind not in extensions:
            raise DataError(
                f"{f'{name} ' if name else ''}{path}: name a file with the extension "
                f"{' or '.join(extensions)}, such as "
                f"{Path(path).stem or 'file'}{extensions[0]}"
            )
        if kind == ".parquet":
            require_pyarrow(target)
        folder = target.parent
        if not folder.exists():
            raise DataError(f"{path} cannot be written: there is no directory {folder}")
        if not folder.is_dir():
            raise DataError(f"{path} cannot be written: {folder} is not a directory")
        _refuse_pipe(path, target)
        if target.exists() and not os.access(target, os.W_OK):
            raise DataError(f"{path} cannot be written: the file is read-only")
        # trying to write covers permissions, quotas and read-only disks
        file, temporary = make_beside(target, _new_file)
        file.close()
        temporary.unlink()
    except OSError as error:
        raise cannot_write(path, error) from None


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
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.table(dict(columns)), file)
        else:
            _write_text(file, columns, "," if kind == ".csv" else "\t")


@contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its name only when the block ends without an error.

    Raises DataError if the file cannot be written. The previous file is then untouched, and nothing
    else remains.
    """
    # write to what a link points to, and keep the link
    target = Path(os.path.realpath(path))
    temporary: Path | None = None
    try:
        _refuse_pipe(path, target)
        file, temporary = _nameless(target) or make_beside(target, _new_file)
        with file:
            yield file
            file.flush()
            # flush to disk before renaming, so that a system crash leaves either the old file or the new one
            os.fsync(file.fileno())
            if temporary is None:
                temporary = _named(file, target)
        temporary.replace(target)
        temporary = None
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def cannot_write(path: object, error: OSError) -> DataError:
    """The error about a path that the system refuses to write to."""
    return DataError(f"{path} cannot be written: {error.strerror or error}")


def _refuse_pipe(path: str | PathLike[str], target: Path) -> None:
    """Refuse a pipe or a device such as /dev/null, because a rename would replace it by a file."""
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise DataError(f"{path} cannot be written: it is a pipe or a device; name a file")


def _nameless(path: Path) -> tuple[BinaryIO, None] | None:
    """A new file in the same directory without a name, so that not even a kill leaves it behind.

    None where the system or the file system does not support such files.
    """
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        descriptor = os.open(path.parent, os.O_WRONLY | os.O_TMPFILE, 0o666)
    except OSError:
        # the usual way then either works or gives a clearer error
        return None
    return os.fdopen(descriptor, "wb"), None


def _named(file: BinaryIO, path: Path) -> Path:
    """Give a nameless file a temporary name: a link, unlike a rename, cannot replace a file."""
    # os.link follows /proc's link to the file only if given a descriptor of the folder
    folder = os.open(path.parent, os.O_RDONLY)

    def link(temporary: Path) -> None:
        source = f"/proc/self/fd/{file.fileno()}"
        os.link(source, temporary.name, dst_dir_fd=folder, follow_symlinks=True)

    try:
        return make_beside(path, link)[1]
    finally:
        os.close(folder)


def make_beside(path: Path, make: Callable[[Path], Made]) -> tuple[Made, Path]:
    """Make a file or directory under a temporary name in the same directory, where a rename is atomic.

    Returns what ``make`` returned, and the temporary path.
    """
    for attempt in count():
        # cut, because the longest possible name would become too long
        name = f".{path.name[:MAX_CHARACTERS]}.{os.getpid()}-{attempt}.tmp"
        temporary = path.with_name(name)
        # a killed process with the same id may have left this name
        with suppress(FileExistsError):
            return make(temporary), temporary
    raise AssertionError


def _new_file(path: Path) -> BinaryIO:
    """A new file with the user's default permissions."""
    return path.open("xb")


def _write_text(file: BinaryIO, columns: Mapping[str, Column], delimiter: str) -> None:
    values = [
        column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()
    ]
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*values, strict=True))
    text.detach()
