"""Missing feature values (gaps): every member fills them anew, from rows similar to the row with the gap.

A gap is filled with the value of one of the five most similar rows (donors), drawn for each member. So
members differ where the filled values matter, and the confidence is lower there. On real tables with
values removed, this recovers the partition of the complete table better than medians, draws from the whole
column, or members on complete columns only (see docs/tables.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import nan_euclidean_distances

from coterie.core.random import random_rows

# number of rows from which the value of a gap is drawn
N_DONORS = 5
# number of rows among which donors are searched; with more, donors are hardly nearer
MAX_CANDIDATES = 2_000
# number of distances held in memory at the same time
BLOCK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of a matrix, and values that may fill them.

    Attributes
    ----------
    candidates : ndarray, shape (p, d)
        Rows that may serve as donors, gaps included.
    rows, columns : ndarray, shape (g,)
        Where the gaps are.
    values : ndarray, shape (g, N_DONORS)
        The values of the donors of each gap, the nearest first.
    """

    candidates: NDArray[np.float64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]

    @property
    def any(self) -> bool:
        """Whether there are gaps."""
        return len(self.rows) > 0

    @classmethod
    def of(cls, X: NDArray[np.float64], rng: np.random.Generator) -> Gaps:
        """The gaps of X (NaN), with donors among its own rows."""
        candidates = X[random_rows(len(X), MAX_CANDIDATES, rng)]
        empty = np.flatnonzero(np.isnan(candidates).all(axis=0))
        for column in empty:
            # no candidate has a value in this column, so add rows that have one
            extra = np.flatnonzero(~np.isnan(X[:, column]))[:N_DONORS]
            candidates = np.concatenate([candidates, X[extra]])
        return cls._with_donors(X, candidates)

    @classmethod
    def _with_donors(cls, X: NDArray[np.float64], candidates: NDArray[np.float64]) -> Gaps:
        rows, columns = np.nonzero(np.isnan(X))
        values = np.empty((len(rows), N_DONORS))
        known = ~np.isnan(candidates)
        with_gaps = np.unique(rows)
        step = max(1, BLOCK_CELLS // len(candidates))
        for begin in range(0, len(with_gaps), step):
            block = with_gaps[begin : begin + step]
            distances = nan_euclidean_distances(X[block], candidates)
            # rows that share no known column have no distance and come last
            order = np.argsort(np.nan_to_num(distances, nan=np.inf), axis=1, kind="stable")
            first, last = np.searchsorted(rows, [block[0], block[-1] + 1])
            for gap in range(first, last):
                nearest = order[np.searchsorted(block, rows[gap])]
                donors = nearest[known[nearest, columns[gap]]][:N_DONORS]
                values[gap] = np.resize(candidates[donors, columns[gap]], N_DONORS)
        return cls(candidates, rows, columns, values)

    def filled(self, X: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        """A copy of X in which each gap has the value of one of its donors."""
        drawn = np.random.default_rng(seed).integers(N_DONORS, size=len(self.rows))
        return self._with(X, self.values[np.arange(len(self.rows)), drawn])

    def filled_by_mean(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """A copy of X in which each gap has the mean value of its donors."""
        return self._with(X, self.values.mean(axis=1))

    def of_new(self, X: NDArray[np.float64]) -> Gaps:
        """The gaps of new rows, with donors among the rows of the fit."""
        return self._with_donors(X, self.candidates)

    def _with(self, X: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        complete = X.copy()
        complete[self.rows, self.columns] = values
        return complete
