"""Columns with few different values, such as yes/no or marks from 1 to 5, as if they were continuous."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def fill_steps(
    X: NDArray[np.float64], rng: np.random.Generator, limit: float = np.inf
) -> NDArray[np.float64]:
    """Spread equal values at random, up to half the way to the next smaller and the next larger value.

    The space between two values of a column is a property of the scale, not of the samples, but a method
    that looks at density would take it for a border between two clusters. A column stays as it is if the
    number of its different values is more than half the number of rows.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    rng : numpy Generator
    limit : float
        The longest move of a value, in standard deviations of its column. In a column that is nearly
        constant the steps are wide, and without a limit the moves would hide all other columns.

    Returns
    -------
    ndarray, shape (n, d)

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.generate.steps import fill_steps
    >>> filled = fill_steps(np.array([[0.0], [0.0], [1.0], [1.0]]), np.random.default_rng(0))
    >>> bool((filled[:2] < 0.5).all() and (filled[2:] > 0.5).all())
    True
    """
    filled = np.array(X, dtype=np.float64)
    n_values = (np.diff(np.sort(filled, axis=0), axis=0) > 0).sum(axis=0) + 1
    for j in np.flatnonzero((n_values > 1) & (2 * n_values <= len(filled))):
        values, codes = np.unique(filled[:, j], return_inverse=True)
        half = np.diff(values) / 2
        below, above = np.r_[half[0], half], np.r_[half, half[-1]]
        moved = rng.uniform(-below[codes], above[codes])
        farthest = limit * filled[:, j].std()
        filled[:, j] += moved * min(1.0, farthest / np.abs(moved).max())
    return filled
