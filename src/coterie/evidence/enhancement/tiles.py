"""How EC-CMS stores its matrices: tiles, in an order that keeps connected blocks together.

Systems are solved for all rows and some columns at a time, so C and X are stored as panels of TILE columns.
F needs an entry and its mirror image together, so all else is updated in pairs of tiles that mirror each
other. What only these updates need is stored by pair: A, Omega and the symmetric and antisymmetric part of
Y2 need one array, and E needs two, the second of them transposed.

Two connected blocks of certain pairs without any evidence between them stay at zero in all passes.
Pairs of tiles in which only such blocks meet are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# arrays in the precision of the evidence
Numbers = NDArray[Any]

# side of a tile; what is updated for a pair of tiles fits into cache
TILE = 64


@dataclass(frozen=True)
class Layout:
    """Where the entries of N x N matrices are stored.

    Attributes
    ----------
    positions : ndarray, shape (N,)
        Position of each microcluster; those of a connected block are next to each other. Positions
        without a microcluster fill up tiles and blocks.
    slots : ndarray, shape (T, T)
        Where the pair of tiles is stored, for T tiles per row; -1 below the diagonal, and for pairs that
        are left out.
    corners : ndarray, shape (S, 2)
        Row and column of the pair of tiles in each slot.
    """

    positions: NDArray[np.int64]
    slots: NDArray[np.int32]
    corners: NDArray[np.int32]

    @classmethod
    def of(cls, positions: NDArray[np.int64], linked: NDArray[np.bool_]) -> Self:
        """``linked`` says which pairs of microclusters may be other than zero."""
        order = np.argsort(positions)
        tiles = positions[order] // TILE
        starts = np.flatnonzero(np.diff(tiles, prepend=-1))
        by_tile = np.logical_or.reduceat(linked[order], starts, axis=0)
        by_tile = np.logical_or.reduceat(by_tile[:, order], starts, axis=1)
        slots = np.full((tiles[-1] + 1, tiles[-1] + 1), -1, dtype=np.int32)
        slots[np.ix_(tiles[starts], tiles[starts])] = by_tile - 1
        corners = np.argwhere(np.triu(slots == 0)).astype(np.int32)
        slots[:] = -1
        slots[tuple(corners.T)] = np.arange(len(corners))
        return cls(positions, slots, corners)

    @property
    def by_pair(self) -> tuple[int, int]:
        """Shape of an array with a row for each pair of tiles."""
        return len(self.corners), TILE * TILE

    @property
    def by_panel(self) -> tuple[int, int, int]:
        """Shape of an array with a panel for each tile's columns."""
        return len(self.slots), len(self.slots) * TILE, TILE

    def padded(self, values: Numbers, precision: np.dtype[Any]) -> Numbers:
        """Numbers of the microclusters at their positions, and zeros at the other positions."""
        out = np.zeros(len(self.slots) * TILE, dtype=precision)
        out[self.positions] = values
        return out

    def paired(self, matrix: NDArray[Any], precision: np.dtype[Any]) -> NDArray[Any]:
        """A symmetric N x N matrix, by pairs of tiles."""
        out = np.zeros(self.by_pair, dtype=precision)
        for stripe, rows in enumerate(self._microclusters):
            tiles = np.zeros((TILE, len(self.slots) * TILE), dtype=precision)
            at = self.positions[rows] - stripe * TILE
            tiles[at[:, None], self.positions] = matrix[rows]
            kept = np.flatnonzero(self.slots[stripe] >= 0)
            by_tile = tiles.reshape(TILE, -1, TILE).swapaxes(0, 1)[kept]
            out[self.slots[stripe, kept]] = by_tile.reshape(len(kept), -1)
        return out

    def panels_of_pairs(self, pairs: Numbers) -> Numbers:
        """A symmetric matrix in panels, from pairs of tiles."""
        out = np.zeros(self.by_panel, dtype=pairs.dtype)
        for (stripe, panel), tile in zip(self.corners.tolist(), pairs, strict=True):
            square = tile.reshape(TILE, TILE)
            out[panel, stripe * TILE : (stripe + 1) * TILE] = square
            out[stripe, panel * TILE : (panel + 1) * TILE] = square.T
        return out

    def symmetric_part(self, panels: Numbers) -> NDArray[np.float64]:
        """The symmetric part of a matrix in panels, N x N."""
        size = len(self.positions)
        out = np.empty((size, size))
        for stripe, rows in enumerate(self._microclusters):
            at = self.positions[rows]
            # the rows of a tile, and the columns of the same tile
            out[rows] = panels[:, at].swapaxes(0, 1).reshape(len(rows), -1)[:, self.positions]
            out[rows] += panels[stripe][self.positions][:, at - stripe * TILE].T
        out /= 2.0
        return out

    @property
    def _microclusters(self) -> list[NDArray[np.int64]]:
        """The microclusters of each tile, in the order of their positions."""
        order = np.argsort(self.positions)
        tiles = self.positions[order] // TILE
        return np.split(order, np.searchsorted(tiles, np.arange(1, len(self.slots))))
