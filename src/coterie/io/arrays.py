"""npy, npz and mat: arrays by name, read as a table of one matrix and the vectors beside it."""

from __future__ import annotations

import io
import math
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import require
from coterie.core.errors import DataError
from coterie.io.mat import Other, read_variables
from coterie.io.table import Column, FileTable, damaged

Purpose = Literal["features", "labels"]

# usual names of the matrix; the first one present is taken
_USUAL: dict[Purpose, tuple[str, ...]] = {
    "features": ("X", "fea", "data", "features"),
    "labels": ("members", "Yi", "labels", "base"),
}
# additional bytes per column, for its name and the array object
BYTES_PER_COLUMN = 400.0
# numpy's own limit
LONGEST_HEADER = 10_000
# what numpy and zipfile raise for damaged files. The header of an array is parsed as Python. A zip may
# need a password (RuntimeError) or use an unknown compression.
UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    OSError,
    EOFError,
    RuntimeError,
    OverflowError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_arrays(path: Path) -> dict[str, Any]:
    """All arrays of an npy, npz or mat file by name.

    Raises DataError for pickles and damage, and MemoryBudgetError for arrays that are too large.
    """
    read = {".npy": _read_npy, ".npz": _read_npz, ".mat": read_variables}[path.suffix.lower()]
    try:
        return read(path)
    except UNREADABLE as error:
        if "pickle" in str(error).lower():
            raise DataError(
                f"{path} holds Python objects (pickles), which are not read; "
                "save it as plain arrays of numbers or text"
            ) from None
        raise damaged(path, error) from None


def _read_npy(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        _, _, size = checked_header(file, path.stat().st_size)
        _require(size, path)
        file.seek(0)
        array = np.load(file, allow_pickle=False)
    _check_characters(array)
    return {path.stem: array}


def _read_npz(path: Path) -> dict[str, Any]:
    arrays: dict[str, NDArray[Any]] = {}
    # opened here, because numpy leaves a damaged archive open
    with path.open("rb") as file:
        # check all sizes before any array is unpacked
        with zipfile.ZipFile(file) as packed:
            total = 0
            for entry in packed.infolist():
                with packed.open(entry) as start:
                    total += checked_header(start, entry.file_size)[2]
        _require(total, path)
        file.seek(0)
        with np.load(file, allow_pickle=False) as archive:
            for name in archive.files:
                arrays[name] = archive[name]
                _check_characters(arrays[name])
    return arrays


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type from the header of a .npy; raises one of UNREADABLE if it is damaged."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the npy format is not known")
    # numpy would allocate whatever length is claimed, up to four gigabytes
    start = file.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(start, "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"the header claims {length} bytes")
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(io.BytesIO(start + file.read(length)))
    if any(length < 0 for length in shape):
        raise ValueError(f"the array claims the shape {shape}")
    return shape, dtype


def checked_header(file: IO[bytes], stored: int) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type and size in bytes of the array in a .npy of ``stored`` bytes; only reads the header."""
    shape, dtype = npy_header(file)
    if dtype.hasobject:
        raise ValueError("Python objects (pickles)")
    if dtype.itemsize == 0:
        # numpy would still allocate one character per value
        raise ValueError(f"values of no size (type {dtype.str})")
    size = math.prod(shape) * dtype.itemsize
    if size > stored - file.tell():
        raise ValueError(f"the header claims {size} bytes of values, but the file has {stored}")
    return shape, dtype, size


def _check_characters(array: NDArray[Any]) -> None:
    """Refuse text with invalid characters: a .npy stores any four bytes as a character."""
    if array.dtype.kind != "U" or array.size == 0:
        return
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=False)
    if plain.view(np.uint32).max() > sys.maxunicode:
        raise ValueError("text with invalid characters")


def _require(size: int, path: Path) -> None:
    require(
        size,
        f"Reading {path}",
        "Save it with fewer columns, or read it on a machine with more memory.",
    )


def read_array_table(path: Path, purpose: Purpose) -> FileTable:
    """The matrix of an npy, npz or mat file as columns, and the vectors of its length beside it."""
    arrays = read_arrays(path)
    if not arrays:
        raise DataError(f"{path} holds no arrays")
    name = _main_array(path, arrays, purpose)
    value = arrays[name]
    if isinstance(value, np.ndarray) and value.dtype == object:
        matrix = _members_of_cells(path, name, value)
    else:
        matrix = _matrix_of(path, name, value, purpose)
    n = matrix[0].shape[0]
    columns: dict[str, Column] = {f"{name}_{j}": column for j, column in enumerate(matrix)}
    main = tuple(columns)
    for other, array in arrays.items():
        if other != name and other not in columns:
            vector = _vector_of(array)
            if vector is not None and len(vector) == n:
                columns[other] = vector
    return FileTable(path, columns, main)


def _main_array(path: Path, arrays: Mapping[str, Any], purpose: Purpose) -> str:
    for name in _USUAL[purpose]:
        if name in arrays:
            return name
    foreign = {name for usual in _USUAL.values() for name in usual}
    matrices = [
        name
        for name, value in arrays.items()
        if name not in foreign and getattr(value, "ndim", 0) == 2 and 1 not in value.shape
    ]
    if len(arrays) == 1 and not foreign & {*arrays}:
        return next(iter(arrays))
    if len(matrices) == 1:
        return matrices[0]
    holds = ", ".join(f"{name} ({_shown_shape(value)})" for name, value in [*arrays.items()][:8])
    usual = " or ".join(repr(name) for name in _USUAL[purpose])
    other = "labels to combine" if purpose == "features" else "features to cluster"
    raise DataError(
        f"{path}: cannot tell which array holds the {purpose}; the file has {holds}; rename the array "
        f"to {usual}" + (f", or does the file hold {other}?" if foreign & {*arrays} else "")
    )


def _matrix_of(path: Path, name: str, value: Any, purpose: Purpose) -> list[NDArray[Any]]:
    """Columns of an n x d array of numbers or text."""
    if sparse.issparse(value):
        value = _full(f"{path}: the sparse {name!r}", value)
    if not isinstance(value, np.ndarray) or value.ndim == 0 or value.dtype.names is not None:
        raise DataError(f"{path}: {name!r} must be an n x d array, but is {_shown_shape(value)}")
    if value.ndim > 2:
        raise DataError(
            f"{path}: {name!r} must be n x d (a row per sample), but is {_shown_shape(value)}"
        )
    if value.dtype.kind not in ("iufb" if purpose == "features" else "iufbU"):
        raise DataError(f"{path}: {name!r} holds {value.dtype.name} values, not {purpose}")
    if value.shape[0] == 0:
        raise DataError(f"{path}: {name!r} has no rows")
    if value.ndim == 1:
        return [value]
    if value.shape[1] == 0:
        raise DataError(f"{path}: {name!r} has no columns")
    require(
        BYTES_PER_COLUMN * value.shape[1],
        f"{path}: the {value.shape[1]:,} columns of {name!r}",
        "If its columns are the samples, transpose it.",
    )
    return [*value.T]


def _full(name: str, value: Any) -> NDArray[Any]:
    """A sparse matrix as a full one, if the memory budget has room for it."""
    require(
        8.0 * value.shape[0] * value.shape[1],
        f"{name} ({_shown_shape(value)}) as a full matrix",
        "Reduce the number of its columns first.",
    )
    full: NDArray[Any] = value.toarray()
    return full


def _members_of_cells(path: Path, name: str, cells: NDArray[Any]) -> list[NDArray[Any]]:
    """Members of a MATLAB cell array: a label vector each, or a one-hot matrix n x clusters."""
    members = []
    for j, cell in enumerate(cells.ravel()):
        cell_name = f"{path}: cell {j + 1} of {name!r}"
        array = np.asarray(_full(cell_name, cell) if sparse.issparse(cell) else cell)
        if array.ndim != 2 or array.dtype.kind not in "iufb" or array.size == 0:
            raise DataError(
                f"{cell_name} must be labels or a one-hot matrix, but is {array.dtype.name}"
            )
        if 1 in array.shape:
            members.append(array.ravel())
            continue
        if not np.isin(array, (0, 1)).all() or (array.astype(np.int64).sum(axis=1) > 1).any():
            raise DataError(
                f"{cell_name} is {_shown_shape(array)} but not one-hot: every row (a sample) needs a "
                "single 1, in the column of its cluster"
            )
        # a row of zeros is a missing label
        members.append(np.where(array.any(axis=1), array.argmax(axis=1), -1))
    if not members:
        raise DataError(f"{path}: {name!r} is an empty cell array")
    lengths = [len(member) for member in members]
    usual = max(set(lengths), key=lengths.count)
    for j, length in enumerate(lengths):
        if length != usual:
            raise DataError(
                f"{path}: cell {j + 1} of {name!r} has {length} samples, the others have {usual}"
            )
    return members


def _vector_of(value: Any) -> Column | None:
    """The entries of an array of shape (n,), (n, 1) or (1, n) of numbers or text; None for any other."""
    if not isinstance(value, np.ndarray) or value.ndim not in (1, 2):
        return None
    if value.ndim == 2 and 1 not in value.shape:
        return None
    if value.dtype == object:
        texts = [np.asarray(cell).ravel() for cell in value.ravel()]
        if all(text.dtype.kind == "U" and text.size <= 1 for text in texts):
            return [str(text[0]) if text.size else None for text in texts]
        return None
    if value.dtype.kind == "U":
        return [str(text).rstrip() for text in value.ravel()]
    return value.ravel() if value.dtype.kind in "iufb" else None


def _shown_shape(value: Any) -> str:
    if isinstance(value, Other):
        return value.kind
    shape = getattr(value, "shape", None)
    if not shape:
        return type(value).__name__
    size = f"{shape[0]} values" if len(shape) == 1 else " x ".join(str(length) for length in shape)
    return f"cell array {size}" if np.dtype(value.dtype).hasobject else size
