"""How EC-CMS stores its matrices: pairs of square tiles, in an order that keeps blocks together.

C, E, F and the multipliers need an entry and its mirror image together. So both are stored at the same
place of two arrays: entry (i, j) with i in an earlier tile than j in the first, and entry (j, i) in the
second. A symmetric matrix needs only the first. On a diagonal tile the first array is complete.

Two connected blocks of certain pairs without any evidence between them stay at zero in all passes.
Pairs of tiles that only such blocks meet in are not stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# arrays in the precision of the evidence
Numbers = NDArray[Any]
# side of a tile; the ten arrays of a pair of tiles fit into cache together
TILE = 64


@dataclass(frozen=True)
class Layout:
    """Where the entries of N x N matrices are stored.

    Attributes
    ----------
    order : ndarray, shape (N,)
        Microcluster at each position; those of a connected block are next to each other.
    slots : ndarray, shape (T, T)
        Where the pair of tiles is stored, for T tiles per row; -1 below the diagonal, and if there is
        nothing to store.
    corners : ndarray, shape (S, 2)
        Row and column of the pair of tiles in each slot.
    """

    order: NDArray[np.int64]
    slots: NDArray[np.int32]
    corners: NDArray[np.int32]

    @classmethod
    def of(cls, order: NDArray[np.int64], linked: NDArray[np.bool_]) -> Self:
        """``linked`` says which pairs of microclusters may be other than zero."""
        tops = np.arange(0, len(order), TILE)
        by_tile = np.logical_or.reduceat(linked[order], tops, axis=0)
        by_tile = np.logical_or.reduceat(by_tile[:, order], tops, axis=1)
        corners = np.argwhere(np.triu(by_tile)).astype(np.int32)
        slots = np.full(by_tile.shape, -1, dtype=np.int32)
        slots[tuple(corners.T)] = np.arange(len(corners))
        return cls(order, slots, corners)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of an array that stores half of a matrix."""
        return len(self.corners), TILE, TILE

    @property
    def diagonal(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Indices of the diagonal of a matrix."""
        tile, within = np.divmod(np.arange(len(self.order)), TILE)
        return self.slots[tile, tile], within, within

    def by_position(self, values: Numbers, fill: float) -> Numbers:
        """Numbers of the microclusters at their positions, padded to whole tiles."""
        padded = np.full(len(self.slots) * TILE, fill, dtype=values.dtype)
        padded[: len(values)] = values[self.order]
        return padded

    def packed(self, matrix: NDArray[Any], precision: np.dtype[Any]) -> NDArray[Any]:
        """Half of a symmetric N x N matrix."""
        out = np.zeros(self.shape, dtype=precision)
        size, n_tiles = len(self.order), len(self.slots)
        for stripe in range(n_tiles):
            rows = self.order[stripe * TILE : (stripe + 1) * TILE]
            padded = np.zeros((TILE, n_tiles * TILE), dtype=matrix.dtype)
            padded[: len(rows), :size] = matrix[rows][:, self.order]
            tiles = padded.reshape(TILE, n_tiles, TILE).swapaxes(0, 1)
            kept = np.flatnonzero(self.slots[stripe] >= 0)
            out[self.slots[stripe, kept]] = tiles[kept]
        return out

    def symmetric(self, first: Numbers, second: Numbers) -> NDArray[np.float64]:
        """The symmetric part of a matrix, N x N."""
        size, n_tiles = len(self.order), len(self.slots)
        out = np.empty((size, size))
        by_position = np.zeros((TILE, n_tiles, TILE))
        for stripe in range(n_tiles):
            rows = self.order[stripe * TILE : (stripe + 1) * TILE]
            by_position[:] = 0.0
            for panel in range(stripe, n_tiles):
                slot = self.slots[stripe, panel]
                if slot >= 0:
                    mirror = first[slot].T if panel == stripe else second[slot]
                    np.add(first[slot], mirror, out=by_position[:, panel], dtype=np.float64)
            by_position /= 2.0
            others = self.order[stripe * TILE :]
            part = by_position[:, stripe:].reshape(TILE, -1)[: len(rows), : len(others)]
            out[rows[:, None], others] = part
            out[others[:, None], rows] = part.T
        return out


@dataclass
class Tiles:
    """An n x n matrix: values of pairs of different samples, and of samples with themselves.

    Attributes
    ----------
    layout : Layout
    first, second : ndarray, shape (S, TILE, TILE)
        Of two microclusters, in two halves; on the diagonal, of two samples of the same one.
    own : ndarray, shape (N,)
        Of a sample with itself, by position.
    """

    layout: Layout
    first: Numbers
    second: Numbers
    own: Numbers

    @classmethod
    def zeros(cls, layout: Layout, precision: np.dtype[Any]) -> Self:
        """All zero."""
        own = np.zeros(len(layout.order), precision)
        return cls(layout, np.zeros(layout.shape, precision), np.zeros(layout.shape, precision), own)
