"""MATLAB files of version 5 to 7. Every size in the file is checked before it is used.

A file is a list of elements: a tag of eight bytes (type, size), then the content, padded to a
multiple of eight. A variable is an element of type *matrix*, or one *compressed* with zlib around it;
its parts are flags, dimensions, name and numbers, each of them an element. Numbers keep the type
in which they are stored. Cells are read one level deep. Of structures and objects only the names are read.

``scipy.io.loadmat`` is not used because a damaged file can crash the process: with SciPy 1.17.1, 17 of
5,253 damaged files did so (SIGSEGV or SIGBUS), although ``whosmat`` had reported small sizes. One of
them is ``tests/adversarial/cases/mat-sparse-outside``.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import require

HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_INTEGERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 12: "i8", 13: "u8"}
_NUMBERS = _INTEGERS | {7: "f4", 9: "f8"}
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CELL, _CHARACTERS, _SPARSE = 1, 4, 5
_NUMERIC = range(6, 16)
_OPAQUE = 17
_OTHERS = {2: "struct", 3: "object", 16: "function", _OPAQUE: "opaque object"}
# MATLAB's own limit
MAX_DIMENSIONS = 32
# an array that claims more entries means a damaged file
MAX_ENTRIES = 2**48
# bytes that hold the flags, dimensions and name of a variable
_FIRST_PARTS = 4096


class MatError(ValueError):
    """A file that breaks the format."""


@dataclass(frozen=True)
class Other:
    """A variable that is not an array of numbers or text; ``kind`` is MATLAB's word for it."""

    kind: str


def read_variables(path: Path) -> dict[str, Any]:
    """Variables by name: arrays, sparse arrays, object arrays for cells, ``Other`` for the rest.

    Raises MatError for a damaged file, and MemoryBudgetError before it unpacks data that do not fit.
    """
    reader = _Reader(path)
    values: dict[str, Any] = {}
    for content in reader.variables():
        variable = reader.variable(content)
        # MATLAB stores the workspace of functions without a name
        if not variable.name:
            continue
        if variable.name in values:
            raise MatError(f"two variables are named {variable.name!r}")
        values[variable.name] = reader.value(variable, nested=False)
    return values


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes by name; no data are unpacked."""
    reader = _Reader(path)
    variables = (reader.variable(content) for content in reader.variables(_FIRST_PARTS))
    return {variable.name: variable.shape for variable in variables if variable.name}


@dataclass(frozen=True)
class _Variable:
    kind: int
    is_complex: bool
    is_logical: bool
    shape: tuple[int, ...]
    name: str
    # the bytes after the name
    rest: memoryview

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class _Reader:
    """The bytes of a file, and the memory claimed for them so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._claimed = 0
        self._claim(path.stat().st_size)
        self._content = memoryview(path.read_bytes())
        if len(self._content) < HEADER:
            raise MatError("the header is cut short")
        mark = bytes(self._content[126:128])
        if mark not in (b"IM", b"MI"):
            raise MatError("the header does not name the byte order")
        self._order = "<" if mark == b"IM" else ">"
        (version,) = struct.unpack_from(f"{self._order}H", self._content, 124)
        if version >> 8 != 1:
            raise MatError(f"version {version >> 8} of the format is not known")

    def _claim(self, size: int) -> None:
        """Ask the memory budget for more bytes."""
        self._claimed += size
        require(self._claimed, f"Reading {self._path}", "Read it on a machine with more memory.")

    # ------------------------------------------------------------------ elements

    def variables(self, most: int | None = None) -> Iterator[memoryview]:
        """The content of every variable, or at most its first ``most`` bytes."""
        start = HEADER
        while start < len(self._content):
            kind, part, after = self._element(self._content, start)
            if kind == _COMPRESSED:
                # only compressed elements are not padded
                after = start + 8 + len(part)
                part = self._unpacked(part, most)
            elif kind != _MATRIX:
                raise MatError(f"an element of type {kind} where a variable should be")
            yield part if most is None else part[:most]
            start = after

    def _element(self, content: memoryview, start: int) -> tuple[int, memoryview, int]:
        """Type and content of the element that starts here, and the start of the next."""
        if start + 8 > len(content):
            raise MatError("an element is cut short")
        kind, size = struct.unpack_from(f"{self._order}II", content, start)
        if kind >> 16:
            # small: size, type and content share the eight bytes
            kind, size = kind & 0xFFFF, kind >> 16
            if size > 4:
                raise MatError("a small element is too large")
            return kind, content[start + 4 : start + 4 + size], start + 8
        start += 8
        if size > len(content) - start:
            raise MatError("an element is cut short")
        return kind, content[start : start + size], start + size + (-size) % 8

    def _unpacked(self, packed: memoryview, most: int | None) -> memoryview:
        stream = zlib.decompressobj()
        try:
            tag = stream.decompress(packed, 8)
            if len(tag) < 8:
                raise MatError("a compressed variable is cut short")
            kind, size = struct.unpack(f"{self._order}II", tag)
            if kind != _MATRIX:
                raise MatError(f"an element of type {kind} where a variable should be")
            wanted = size if most is None else min(size, most)
            self._claim(wanted)
            content = stream.decompress(stream.unconsumed_tail, wanted) if wanted else b""
            if len(content) < wanted:
                raise MatError("a compressed variable is cut short")
            if most is None and (stream.decompress(stream.unconsumed_tail, 1) or not stream.eof):
                raise MatError("a compressed variable does not end where it should")
        except zlib.error as error:
            raise MatError(str(error)) from None
        return memoryview(content)

    def _numbers(self, content: memoryview, start: int) -> tuple[NDArray[Any], int]:
        kind, part, after = self._element(content, start)
        if kind not in _NUMBERS:
            raise MatError(f"an element of type {kind} where numbers should be")
        dtype = np.dtype(f"{self._order}{_NUMBERS[kind]}")
        if len(part) % dtype.itemsize:
            raise MatError("the last number is cut short")
        return np.frombuffer(part, dtype=dtype), after

    # ------------------------------------------------------------------ variables

    def variable(self, content: memoryview) -> _Variable:
        """Flags, dimensions and name."""
        # MATLAB writes an empty cell as nothing at all
        if len(content) == 0:
            return _Variable(_NUMERIC[0], False, False, (0, 0), "", content)
        flags, after = self._numbers(content, 0)
        if len(flags) != 2 or flags.dtype.kind != "u":
            raise MatError("the flags of a variable are damaged")
        kind = int(flags[0]) & 0xFF
        shape: NDArray[Any] = np.ones(2, dtype=np.int64)
        # opaque objects have no dimensions
        if kind != _OPAQUE:
            shape, after = self._numbers(content, after)
        # some programs write unsigned dimensions
        shape = shape.astype(np.int64) if shape.dtype.kind in "iu" else shape[:0]
        # an empty array may claim any length in its other dimensions, more than numpy can count
        if (
            not 2 <= len(shape) <= MAX_DIMENSIONS
            or (shape < 0).any()
            or math.prod(max(1, length) for length in shape.tolist()) > MAX_ENTRIES
        ):
            raise MatError("the dimensions of a variable are damaged")
        _, name, after = self._element(content, after)
        return _Variable(
            kind=kind,
            is_complex=bool(int(flags[0]) & 0x800),
            is_logical=bool(int(flags[0]) & 0x200),
            shape=tuple(shape.tolist()),
            name=bytes(name).decode("latin-1"),
            rest=content[after:],
        )

    def value(self, variable: _Variable, nested: bool) -> Any:
        """The array of a variable."""
        if variable.kind in _NUMERIC:
            return self._array(variable)
        if variable.kind == _CHARACTERS:
            return self._characters(variable)
        if variable.kind == _SPARSE:
            return self._sparse(variable)
        if variable.kind == _CELL:
            return Other("cell array") if nested else self._cells(variable)
        if variable.kind in _OTHERS:
            return Other(_OTHERS[variable.kind])
        raise MatError(f"a variable of the unknown class {variable.kind}")

    def _array(self, variable: _Variable) -> NDArray[Any]:
        if len(variable.rest) == 0 and variable.size == 0:
            return np.empty(variable.shape)
        values = self._values(variable, 0)
        if len(values) != variable.size:
            raise MatError(f"{len(values)} numbers for an array of {variable.size}")
        return values.reshape(variable.shape, order="F")

    def _values(self, variable: _Variable, start: int) -> NDArray[Any]:
        """Numbers in the byte order of this machine, copied out of the file's bytes."""
        values, after = self._numbers(variable.rest, start)
        if variable.is_complex:
            imaginary, _ = self._numbers(variable.rest, after)
            if len(imaginary) != len(values):
                raise MatError("a complex array has parts of different lengths")
            values = values + 1j * imaginary
        return values.astype(values.dtype.newbyteorder("="))

    def _characters(self, variable: _Variable) -> NDArray[Any]:
        """One text per row."""
        kind, part, _ = self._element(variable.rest, 0)
        if kind not in _TEXTS:
            raise MatError(f"an element of type {kind} where text should be")
        coding = _TEXTS[kind]
        if coding in ("utf-16", "utf-32"):
            coding += "-le" if self._order == "<" else "-be"
        text = bytes(part).decode(coding, "replace")
        rows = math.prod(variable.shape[:-1])
        if variable.size == 0:
            return np.empty(0, dtype="<U1")
        if rows == 1:
            return np.array([text])
        if len(text) != variable.size:
            raise MatError(f"{len(text)} characters for a text of {variable.size}")
        # stored column by column
        return np.array([text[row::rows] for row in range(rows)])

    def _sparse(self, variable: _Variable) -> sparse.csc_array:
        if len(variable.shape) != 2:
            raise MatError("a sparse matrix without two dimensions")
        rows, after = self._numbers(variable.rest, 0)
        starts, after = self._numbers(variable.rest, after)
        if variable.is_logical:
            # MATLAB declares logical values as doubles, but stores one byte each
            _, part, _ = self._element(variable.rest, after)
            values: NDArray[Any] = np.frombuffer(part, dtype=np.uint8) != 0
        else:
            values = self._values(variable, after)
        height, width = variable.shape
        if rows.dtype.kind != "i" or starts.dtype.kind != "i" or len(starts) != width + 1:
            raise MatError("the indices of a sparse matrix are damaged")
        starts = starts.astype(np.int64)
        stored = int(starts[-1])
        if starts[0] != 0 or (np.diff(starts) < 0).any() or stored > min(len(rows), len(values)):
            raise MatError("the indices of a sparse matrix are damaged")
        rows = rows[:stored].astype(np.int64)
        if ((rows < 0) | (rows >= height)).any():
            raise MatError("a sparse matrix has an entry outside its shape")
        return sparse.csc_array((values[:stored], rows, starts), shape=variable.shape)

    def _cells(self, variable: _Variable) -> NDArray[Any]:
        # each cell takes eight bytes at least
        if 8 * variable.size > len(variable.rest):
            raise MatError(f"{variable.size} cells in {len(variable.rest)} bytes")
        cells = np.empty(variable.size, dtype=object)
        start = 0
        for i in range(variable.size):
            kind, part, start = self._element(variable.rest, start)
            if kind != _MATRIX:
                raise MatError(f"an element of type {kind} where a cell should be")
            cells[i] = self.value(self.variable(part), nested=True)
        return cells.reshape(variable.shape, order="F")
