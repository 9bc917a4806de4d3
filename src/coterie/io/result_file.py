"""The file of a result: an npz of plain arrays with a JSON header, checked when it is read.

The archive holds ``header.json`` and one ``.npy`` per array; nothing is pickled. The header names
the format and its version, declares every array (type, shape, bytes) and holds a SHA-256 of the
whole content. A file that was cut short or altered is therefore detected, and no array is unpacked
that is larger than declared.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import require
from coterie.core.errors import DataError, MemoryBudgetError, ResultFileError
from coterie.io.arrays import UNREADABLE, checked_header
from coterie.io.write import RESULT, check_writable, whole_file

FORMAT = "coterie result"
VERSION = 2
HEADER = "header.json"
# room for the names of a million members
LARGEST_HEADER = 256 * 1024**2
# bytes of a parsed header per byte of its text
PARSED = 8
# what Python may raise for a forged record
MISFITS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
MORE_MEMORY = "Read it on a machine with more memory."
ALTERED = "the file was altered or damaged"
# kinds of numpy types that are stored unchanged, except text (U)
PLAIN = "biufmMUS"


# ---------------------------------------------------------------------- a record and its arrays


def pack(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A record of arrays, mappings, lists and plain values as JSON, with its arrays in ``arrays``.

    Text arrays are stored as UTF-8 with the length of each entry, because numpy's own text type
    loses trailing NUL characters and makes every entry as wide as the longest.
    """
    if isinstance(value, np.ndarray):
        return _pack_array(value, name, arrays)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {
            "map": [[str(key), pack(item, f"{name}.{key}", arrays)] for key, item in value.items()]
        }
    if isinstance(value, list | tuple):
        return {"list": [pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name}: {type(value).__name__} cannot be stored in a result file")


def unpack(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """The record that :func:`pack` stored; tuples come back as lists."""
    if isinstance(value, dict):
        if "map" in value:
            return {key: unpack(item, arrays) for key, item in value["map"]}
        if "list" in value:
            return [unpack(item, arrays) for item in value["list"]]
        return _unpack_array(value, arrays)
    return value


def _pack_array(array: NDArray[Any], name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    key = f"{len(arrays):03d}.{_file_name(name)}"
    if array.dtype.kind in PLAIN and array.dtype.kind != "U":
        arrays[key] = array
        return {"array": key}
    kind = "object" if array.dtype.kind == "O" else "text"
    values = array.reshape(-1).tolist()
    # objects other than JSON values are stored as text
    texts = [_as_text(item) if kind == "object" else item for item in values]
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    arrays[key] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    arrays[f"{key}.lengths"] = np.array([len(text) for text in encoded], dtype=np.int64)
    return {kind: key, "shape": list(array.shape), "dtype": array.dtype.str}


def _unpack_array(value: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    if "array" in value:
        return arrays[value["array"]]
    kind = "object" if "object" in value else "text"
    key = value[kind]
    lengths, content = arrays[f"{key}.lengths"], arrays[key].tobytes()
    if (lengths < 0).any() or int(lengths.sum()) != len(content):
        raise ValueError(f"the lengths of the texts of {key} are wrong")
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    texts = [
        content[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip(starts, ends, strict=True)
    ]
    if kind == "text":
        dtype = np.dtype(value["dtype"])
        if dtype.kind != "U":
            raise ValueError(f"{key} is of type {dtype}, not text")
        # the declared width of the type may be larger than any text
        require(len(texts) * dtype.itemsize, f"The texts of {key}", "The file may be damaged.")
        return np.array(texts, dtype=dtype).reshape(value["shape"])
    array = np.empty(len(texts), dtype=object)
    array[:] = [json.loads(text) for text in texts]
    return array.reshape(value["shape"])


def _as_text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return json.dumps(value)
    return json.dumps(str(value))


def _file_name(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)[:60]


# ---------------------------------------------------------------------- writing


def write_result(path: str | PathLike[str], record: dict[str, Any]) -> None:
    """Write a record; the file appears under its name when it is complete."""
    arrays: dict[str, NDArray[Any]] = {}
    content = pack(record, "result", arrays)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "arrays": {
            name: {"dtype": array.dtype.str, "shape": list(array.shape), "bytes": array.nbytes}
            for name, array in arrays.items()
        },
        "content": content,
    }
    header["sha256"] = _digest(header, arrays)
    try:
        check_writable(path, RESULT)
        with whole_file(path) as file:
            _write_archive(file, header, arrays)
    except DataError as error:
        raise ResultFileError(str(error)) from None


def _write_archive(file: BinaryIO, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    # level 1 compresses labels nearly as well as level 9, and is much faster
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        # entries opened by name carry a fixed date: the same result gives the same bytes
        with archive.open(HEADER, "w", force_zip64=True) as member:
            member.write(json.dumps(header).encode())
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _digest(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """SHA-256 of the header without its digest, and of every array in the header's order."""
    digest = hashlib.sha256()
    plain = {name: value for name, value in header.items() if name != "sha256"}
    digest.update(json.dumps(plain, sort_keys=True).encode())
    for array in arrays.values():
        if array.size:
            digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


# ---------------------------------------------------------------------- reading


def read_result(path: str | PathLike[str]) -> dict[str, Any]:
    """Read a record. Raises ResultFileError, whatever is wrong with the file."""
    try:
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            # reading from a pipe would wait forever
            raise ResultFileError("the file is a pipe or a device, not a coterie result")
        with zipfile.ZipFile(path) as archive:
            header = _read_header(archive)
            arrays = _read_arrays(archive, header["arrays"])
        if _digest(header, arrays) != header["sha256"]:
            raise ResultFileError("the content does not match its checksum; " + ALTERED)
        return dict(unpack(header["content"], arrays))
    except (ResultFileError, MemoryBudgetError) as error:
        raise ResultFileError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise ResultFileError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ResultFileError(f"{path} is a directory; name a file") from None
    except OSError as error:
        raise ResultFileError(f"{path} cannot be read: {error.strerror or error}") from None
    except (*UNREADABLE, *MISFITS):
        raise ResultFileError(f"{path}: {_broken(path)}") from None


def _broken(path: str | PathLike[str]) -> str:
    """Why a file cannot be read, from its first bytes."""
    with suppress(OSError):
        with Path(path).open("rb") as file:
            start = file.read(4)
        if not start:
            return "the file is empty, not a coterie result"
        if start[:2] != b"PK":
            return "not a coterie result, which is an npz file written by Result.save"
    return "the file is cut short or damaged; save the result again"


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    if HEADER not in archive.namelist():
        raise ResultFileError(
            f"not a coterie result: the archive has no {HEADER} (read labels and features with "
            "coterie.io)"
        )
    size = archive.getinfo(HEADER).file_size
    if size > LARGEST_HEADER:
        raise ResultFileError("the header is too large; the file is damaged")
    require(PARSED * size, "Reading the header", MORE_MEMORY)
    header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ResultFileError("not a coterie result: the header names another format")
    version = header.get("version")
    if type(version) is not int or version < 1:
        raise ResultFileError("the header has no version; the file is damaged")
    if version > VERSION:
        raise ResultFileError(
            f"the file has format version {version}, and this coterie reads up to version "
            f"{VERSION}; update coterie to open it"
        )
    return header


def _read_arrays(archive: zipfile.ZipFile, declared: dict[str, Any]) -> dict[str, NDArray[Any]]:
    expected = [HEADER, *(f"{name}.npy" for name in declared)]
    entries = archive.namelist()
    if missing := sorted(set(expected) - set(entries)):
        raise ResultFileError(f"the array {missing[0]} is missing; the file is damaged")
    if len(entries) != len(expected):
        other = next((name for name in entries if name not in expected), entries[-1])
        raise ResultFileError(f"{other!r} is not part of a result; " + ALTERED)
    # check all sizes before anything is unpacked
    total = 0
    for name, entry in declared.items():
        stored = archive.getinfo(f"{name}.npy")
        with archive.open(stored) as file:
            shape, dtype, size = checked_header(file, stored.file_size)
        header = {"dtype": dtype.str, "shape": list(shape), "bytes": size}
        if header != entry or dtype.kind not in PLAIN:
            raise ResultFileError(
                f"{name} has another type, shape or size than the header declares; " + ALTERED
            )
        total += size
    require(2 * total, "Reading the arrays", MORE_MEMORY)
    arrays = {}
    for name in declared:
        with archive.open(f"{name}.npy") as file:
            arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
    return arrays
