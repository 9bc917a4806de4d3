"""Damage to bytes and to JSON: what a broken disk, a careless editor or an enemy would do."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

# lengths and counts that break naive readers
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    -(10**30),
    0.5,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "x",
    "../../etc/passwd",
    "\ud800",
    "\0",
    "<U9999999",
    "O",
    [],
    {},
    [[]],
    [None],
    [-1],
    [2**40, 2**40],
    {"map": 1},
    {"map": [[1]]},
    {"list": 1},
    {"array": "none"},
    {"text": "none", "shape": [1], "dtype": "<U1"},
)


def damage(rng: np.random.Generator, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """One to four random changes of the bytes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        _change(rng, data, others)
    return bytes(data)


def _change(rng: np.random.Generator, data: bytearray, others: Sequence[bytes]) -> None:
    size = len(data)
    place = int(rng.integers(0, size + 1))
    length = int(min(size - place, rng.integers(1, 1 + max(1, min(64, size)))))
    kind = int(rng.integers(0, 9))
    if kind == 0 and place < size:
        data[place] ^= 1 << int(rng.integers(0, 8))
    elif kind == 1 and place < size:
        data[place] = int(rng.integers(0, 256))
    elif kind == 2:
        del data[place : place + length]
    elif kind == 3:
        data[place:place] = rng.bytes(length or 1)
    elif kind == 4:
        number = struct.pack("<I", _NUMBERS[int(rng.integers(0, len(_NUMBERS)))])
        width = int(rng.choice([1, 2, 4]))
        data[place : place + width] = number[:width]
    elif kind == 5:
        data[place:place] = data[place : place + length] * int(rng.integers(1, 4))
    elif kind == 6:
        del data[place:]
    elif kind == 7 and others:
        other = others[int(rng.integers(0, len(others)))]
        if other:
            start = int(rng.integers(0, len(other)))
            data[place : place + length] = other[start : start + max(length, 1)]
    else:
        words = (
            b"NaN",
            b"1e999",
            b'"',
            b"'",
            b",",
            b"\n",
            b"\r",
            b"\0",
            b"\xff",
            b"[",
            b"{",
            b"9" * 30,
        )
        data[place:place] = words[int(rng.integers(0, len(words)))]


# cells that are nearly numbers, nearly missing, or nearly text
_CELLS = (
    *(
        "--5",
        "+5",
        "-",
        "5-",
        "1_0",
        "007",
        "-0",
        "0x1f",
        "1e5",
        "1e999",
        "nan",
        "-inf",
        "NA ",
        " 3",
    ),
    *("1152921504606846976", "9223372036854775808", "-9223372036854775808", "9" * 30, "1.", ".5"),
    *(
        "\u0663",
        "\u00b2",
        "\u2212 1",
        '"',
        '""',
        "'",
        "#",
        "=1+1",
        "True",
        "None",
        "\ufeff",
        "\x1a",
    ),
)


def damage_cells(rng: np.random.Generator, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A text table with strange cells in one column, once or in row after row."""
    lines = content.decode().splitlines()
    separator = "\t" if "\t" in lines[0] else ","
    rows = [line.split(separator) for line in lines] * int(rng.integers(1, 4))
    column = int(rng.integers(0, len(rows[0])))
    for _ in range(int(rng.integers(1, 3))):
        cell = _CELLS[int(rng.integers(0, len(_CELLS)))]
        start = int(rng.integers(0, len(rows)))
        stop = len(rows) if rng.integers(0, 2) else start + 1
        for row in rows[start:stop]:
            row[min(column, len(row) - 1)] = cell
    return "\n".join(separator.join(row) for row in rows).encode()


def damage_entry(rng: np.random.Generator, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A zip whose checksums are right, with damage inside one of its entries or among them."""
    entries = unzipped(content)
    names = [*entries]
    name = names[int(rng.integers(0, len(names)))]
    kind = int(rng.integers(0, 8))
    if kind == 0:
        del entries[name]
    elif kind == 1:
        entries[f"{name}x"] = entries.pop(name)
    elif kind == 2:
        entries["another.npy"] = entries[name]
    elif kind == 3 and others:
        entries[name] = others[int(rng.integers(0, len(others)))]
    else:
        # the head of an .npy says type and shape
        head = int(rng.integers(0, 2)) == 0
        data = entries[name]
        entries[name] = damage(rng, data[:128]) + data[128:] if head else damage(rng, data)
    return zipped(entries)


def damage_mat(rng: np.random.Generator, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """A MATLAB file of version 7 with damage inside its compressed variables."""
    found, place = bytearray(content[:128]), 128
    while place + 8 <= len(content):
        kind, size = struct.unpack_from("<II", content, place)
        body = content[place + 8 : place + 8 + size]
        if kind == 15:
            inner = (
                damage(rng, zlib.decompress(body)) if rng.integers(0, 2) else zlib.decompress(body)
            )
            body = zlib.compress(inner)
        found += struct.pack("<II", kind, len(body)) + body
        place += 8 + size
    return bytes(found)


def damage_json(rng: np.random.Generator, value: Any) -> Any:
    """The value with one of its parts, however deep, replaced, removed or repeated."""
    if isinstance(value, dict | list) and value and rng.integers(0, 5):
        parts: list[Any] = [*value] if isinstance(value, dict) else [*range(len(value))]
        key = parts[int(rng.integers(0, len(parts)))]
        changed: Any = dict(value) if isinstance(value, dict) else list(value)
        if not rng.integers(0, 8):
            del changed[key]
        else:
            changed[key] = damage_json(rng, changed[key])
        return changed
    return HOSTILE[int(rng.integers(0, len(HOSTILE)))]


def unzipped(content: bytes) -> dict[str, bytes]:
    """Entries of a zip by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(entries: dict[str, bytes]) -> bytes:
    """A zip of entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def resealed(entries: dict[str, bytes], header: Any) -> bytes:
    """A result file whose checksum fits its header and arrays, whatever they say."""
    from coterie.io.result_file import HEADER, _digest

    if isinstance(header, dict) and isinstance(header.get("arrays"), dict):
        arrays = {}
        for name in header["arrays"]:
            content = io.BytesIO(entries.get(f"{name}.npy", b""))
            try:
                arrays[name] = np.lib.format.read_array(content, allow_pickle=False)
            except ValueError:
                continue
        header = header | {"sha256": _digest(header, arrays)}
    return zipped({HEADER: json.dumps(header).encode()} | entries)
