"""How many distinct label rows there are, told from a few kilobytes before any table is merged.

HyperLogLog (Flajolet, Fusy, Gandouet and Meunier, 2007): the first bits of a row's hash choose a
register, which keeps the longest run of zeros seen at the start of the others. Sketches of partitions
merge by maximum, so that neither order nor number of the partitions matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.scale._table import LabelTable, is_plain_integer

# 4,096 registers: 4 KiB, and an estimate good to 1.6 %
BITS = 12
REGISTERS = 2**BITS
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Sketch:
    """What a partition says of its distinct rows.

    Attributes
    ----------
    registers : ndarray of uint8
    rows : int
        Rows of the partition, repeated ones included.
    labels : ndarray of int64, shape (m,)
        Distinct labels of each member, added up over partitions.
    """

    registers: NDArray[np.uint8]
    rows: int
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, table: LabelTable) -> Self:
        """Of the distinct rows of a partition."""
        hashes = row_hashes(table)
        register = (hashes >> np.uint64(64 - BITS)).astype(np.int64)
        # the ones below stop the count where the remaining bits end
        rest = (hashes << np.uint64(BITS)) | np.uint64(REGISTERS - 1)
        registers = np.zeros(REGISTERS, dtype=np.uint8)
        np.maximum.at(registers, register, _leading_zeros(rest) + np.uint8(1))
        labels = np.array([len(values) for values in table.categories], dtype=np.int64)
        return cls(registers, table.n_rows, labels)

    def merge(self, other: Sketch) -> Sketch:
        """Of the rows of both."""
        return Sketch(
            np.maximum(self.registers, other.registers),
            self.rows + other.rows,
            self.labels + other.labels,
        )

    def estimate(self) -> float:
        """Distinct rows, about."""
        harmonic = float(np.exp2(-self.registers.astype(np.float64)).sum())
        raw = 0.7213 / (1.0 + 1.079 / REGISTERS) * REGISTERS**2 / harmonic
        empty = int((self.registers == 0).sum())
        if raw <= 2.5 * REGISTERS and empty:
            return REGISTERS * float(np.log(REGISTERS / empty))
        return raw


def row_hashes(table: LabelTable) -> NDArray[np.uint64]:
    """One hash per distinct row, of the labels themselves: codes differ between partitions."""
    hashes = np.full(len(table.codes), GOLDEN, dtype=np.uint64)
    for j, categories in enumerate(table.categories):
        # a missing label has the code -1 and finds the hash at the end
        of_label = np.append(_label_hashes(categories), np.uint64(1))
        hashes = mix_bits(hashes * GOLDEN ^ of_label[table.codes[:, j]])
    return hashes


def _label_hashes(categories: NDArray[Any]) -> NDArray[np.uint64]:
    if is_plain_integer(categories):
        return mix_bits(categories.astype(np.int64).view(np.uint64) + GOLDEN)
    return np.array([_label_hash(value) for value in categories.tolist()], dtype=np.uint64)


def _label_hash(value: object) -> int:
    if type(value) is int and -(2**63) <= value < 2**63:
        return int(_label_hashes(np.array([value]))[0])
    # Python's own hash of a text differs from process to process
    text = f"{type(value).__name__} {value!r}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mix_bits(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The last steps of splitmix64: every bit of x changes about half of the bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _leading_zeros(values: NDArray[np.uint64]) -> NDArray[np.uint8]:
    count = np.zeros(values.shape, dtype=np.uint8)
    for step in (32, 16, 8, 4, 2, 1):
        empty = values < np.uint64(1) << np.uint64(64 - step)
        count[empty] += np.uint8(step)
        values = np.where(empty, values << np.uint64(step), values)
    return count
