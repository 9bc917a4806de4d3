"""Projection on the simplex by sorting, the textbook way, on the row with its entries repeated."""

from __future__ import annotations

import numpy as np


def project(row, repeats):
    """The nearest point a >= 0 with sum 1 to the row in which entry j stands ``repeats[j]`` times."""
    long = np.repeat(row, repeats)
    descending = np.sort(long)[::-1]
    theta = None
    for count in range(1, len(long) + 1):
        candidate = (descending[:count].sum() - 1) / count
        if descending[count - 1] > candidate:
            theta = candidate
    projected = np.maximum(long - theta, 0.0)
    first = np.concatenate([[0], np.cumsum(repeats)[:-1]])
    return projected[first]
