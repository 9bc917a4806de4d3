"""The nearest point to each row, one distance at a time."""

import numpy as np


def nearest_points(X, points):
    """The number of the nearest point to each row; the first of several at the same distance."""
    found = []
    for x in np.asarray(X, dtype=np.float64):
        best, least = 0, np.inf
        for q, point in enumerate(np.asarray(points, dtype=np.float64)):
            square = float(np.sum((x - point) ** 2))
            if square < least:
                best, least = q, square
        found.append(best)
    return np.array(found)
