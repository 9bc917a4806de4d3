"""Random clouds that fit the data: every column has a single peak, or is flat.

A cloud has the correlations of the data, and joint tails as heavy as the data's: its columns depend on each
other like those of a normal distribution or of Student's t (a copula). The density of each column is that
of the data, smoothed to a single peak. Categories are the exception and keep their shares: columns with two
values, and columns that indicate the categories of one variable, have lumps even if there are no clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression
from sklearn.covariance import ledoit_wolf_shrinkage

from coterie.core.threads import one_blas_thread
from coterie.core.types import FloatArray

# degrees of freedom of Student's t that are tried; with infinitely many it is a normal distribution
FREEDOM = (1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, np.inf)
# smallest distance between two values, as a share of the range of the column
MIN_GAP = 1e-12


@dataclass(frozen=True)
class Variable:
    """One column, or the columns of one categorical variable, without the other columns.

    Attributes
    ----------
    columns : list of int
    values : ndarray, shape (n,)
        Numbers, or the codes of the categories.
    quantiles : callable
        From probabilities, shape (n,), to values of the columns, shape (n, number of columns).
    criterion : float
        AIC.
    """

    columns: list[int]
    values: FloatArray
    quantiles: Callable[[FloatArray], FloatArray]
    criterion: float


class Cloud:
    """A distribution that was fitted to the data.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        No column is constant.
    filled : ndarray, shape (n, d)
        X with the steps of its columns filled.
    rng : numpy Generator

    Attributes
    ----------
    criterion : float
        AIC, with a normal dependence of the columns. It is defined if there are fewer columns than samples.
    freedom : float
        Degrees of freedom of the joint tails; infinite if they are those of a normal distribution.
    """

    def __init__(self, X: FloatArray, filled: FloatArray, rng: np.random.Generator) -> None:
        self.shape = n, _ = X.shape
        self._variables = [
            _categories(X, filled, columns)
            if _has_two_values(X[:, columns[0]])
            else _number(filled, columns)
            for columns in variables_of(X)
        ]
        scores = _normal_scores(np.stack([v.values for v in self._variables], axis=1), rng)
        with one_blas_thread():
            _, widths, axes = np.linalg.svd(scores, full_matrices=False)
        self._axes = widths[:, None] * axes
        self.freedom = self._nearest_freedom(scores, rng)
        n_correlations = scores.shape[1] * (scores.shape[1] - 1) / 2
        dependence = -0.5 * n * float(np.log(np.maximum(widths, MIN_GAP) ** 2 / n).sum())
        self.criterion = 2 * (n_correlations - dependence)
        self.criterion += sum(variable.criterion for variable in self._variables)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """As many samples as the data have."""
        cloud = np.empty(self.shape)
        probabilities = self._probabilities(self.freedom, rng)
        for column, variable in zip(probabilities.T, self._variables, strict=True):
            cloud[:, variable.columns] = variable.quantiles(column)
        return cloud

    def _probabilities(self, freedom: float, rng: np.random.Generator) -> FloatArray:
        """Uniform columns that depend on each other like the data.

        The samples are the data's normal scores in another orthogonal basis, so that they have the same
        correlations. If the data are normal, all bases are equally probable. So no correlation need be
        estimated, and there may be more columns than samples.
        """
        n = self.shape[0]
        random = rng.standard_normal((n, len(self._axes)))
        with one_blas_thread():
            basis, triangle = np.linalg.qr(random - random.mean(axis=0))
            scores = basis * np.sign(np.diag(triangle)) @ self._axes
        if np.isinf(freedom):
            return np.asarray(special.ndtr(scores))
        scores /= np.sqrt(rng.chisquare(freedom, n) / freedom)[:, None]
        return np.asarray(special.stdtr(freedom, scores))

    def _nearest_freedom(self, scores: FloatArray, rng: np.random.Generator) -> float:
        """The degrees of freedom whose samples have the kurtosis that is nearest to the data's."""
        kurtosis = _kurtosis(scores)
        seed = rng.integers(2**63)

        def error(freedom: float) -> float:
            # the same random numbers every time, so that only the freedom makes a difference
            source = np.random.default_rng(seed)
            drawn = _normal_scores(self._probabilities(freedom, source), source)
            return abs(_kurtosis(drawn) - kurtosis)

        return min(FREEDOM, key=error)


class RadialCloud:
    """A distribution whose density falls with the distance from the centre, like that of a ball.

    It ends at the most distant sample, so it does not fit heavy tails.

    Parameters
    ----------
    turned : ndarray, shape (n, d)
        Principal components, n > d. They are scaled to one width, and drawn samples are scaled back.

    Attributes
    ----------
    criterion : float
        AIC, to be compared with that of a :class:`Cloud` of the same components.
    """

    def __init__(self, turned: FloatArray) -> None:
        self._shape = n, d = turned.shape
        self._widths = turned.std(axis=0)
        distances = np.linalg.norm(turned / self._widths, axis=1)
        self._unit = float(np.median(distances))
        # in the volume of the ball up to a sample, a falling density in space is a falling density
        with np.errstate(over="ignore"):
            volumes = np.sort((distances / self._unit) ** d)
        self.criterion = np.inf
        if not np.isfinite(volumes[-1]):
            return
        gaps = np.maximum(np.diff(volumes, prepend=0.0), MIN_GAP)
        heights = isotonic_regression(1 / gaps, weights=gaps, increasing=False).x / n
        first = np.flatnonzero(np.r_[True, np.diff(heights) != 0])
        widths = np.add.reduceat(gaps, first)
        self._quantiles = _interpolated(widths * heights[first], np.r_[0.0, np.cumsum(widths)])
        ball = 0.5 * d * np.log(np.pi) - special.gammaln(d / 2 + 1) + d * np.log(self._unit)
        likelihood = float(np.log(heights).sum() - n * (ball + np.log(self._widths).sum()))
        n_correlations = d * (d - 1) / 2
        self.criterion = 2 * (n_correlations + d + len(first) - likelihood)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """As many samples as the data have."""
        n, d = self._shape
        random = rng.standard_normal((n, d))
        with one_blas_thread():
            # with equal variances in all directions, as the scaled data have
            directions = np.linalg.qr(random - random.mean(axis=0))[0]
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        distances = self._unit * self._quantiles(np.asarray(rng.random(n))) ** (1 / d)
        return np.asarray(directions * distances[:, None] * self._widths)


def variables_of(X: FloatArray) -> list[list[int]]:
    """The columns of each variable.

    Neighbouring columns with two values belong to one categorical variable if every sample has the larger
    value in at most one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.select.cloud_fit import variables_of
    >>> variables_of(np.array([[1, 0, 0, 3], [0, 1, 1, 5], [0, 1, 0, 4]]))
    [[0, 1], [2], [3]]
    """
    variables: list[list[int]] = []
    is_open, used = False, np.zeros(len(X), dtype=bool)
    for j, column in enumerate(X.T):
        two_values = _has_two_values(column)
        larger = column == column.max()
        if is_open and two_values and not (used & larger).any():
            variables[-1].append(j)
            used = used | larger
        else:
            variables.append([j])
            used = larger
        is_open = two_values
    return variables


def _has_two_values(column: NDArray[np.float64]) -> bool:
    return bool(((column == column.min()) | (column == column.max())).all())


def _categories(X: FloatArray, filled: FloatArray, columns: list[int]) -> Variable:
    """A categorical variable with the shares of the data."""
    n = len(X)
    rows, codes, counts = np.unique(X[:, columns], axis=0, return_inverse=True, return_counts=True)
    likelihood = float((counts * np.log(counts / n)).sum())
    # the density of the filled columns, which are the data of a cloud without categories
    for j in columns:
        for value in np.unique(X[:, j]):
            same = filled[X[:, j] == value, j]
            likelihood -= len(same) * np.log(np.ptp(same) or 1.0)
    ordered = rows[np.sort(codes.ravel())]

    def quantiles(probabilities: FloatArray) -> FloatArray:
        # exactly as many samples of each category, so that no column is constant
        drawn = np.empty_like(ordered)
        drawn[np.argsort(probabilities)] = ordered
        return drawn

    criterion = 2 * (len(rows) - 1 - likelihood)
    return Variable(columns, codes.ravel().astype(np.float64), quantiles, criterion)


def _number(filled: FloatArray, columns: list[int]) -> Variable:
    """A column with a density that has a single peak, or is flat if that is likelier by AIC."""
    values = filled[:, columns[0]]
    ordered = np.sort(values)
    n, length = len(ordered), ordered[-1] - ordered[0]
    widths, heights = one_peak(ordered)
    shares = widths * heights
    borders = ordered[0] + np.r_[0.0, np.cumsum(widths)]
    cells = np.searchsorted(borders[1:-1], ordered)
    # the peak of a flat histogram would be chance
    flat = 2 * (1 + n * np.log(length))
    peaked = 2 * (len(np.unique(heights)) - float(np.log(heights[cells]).sum()))
    if flat <= peaked:
        shares, borders = np.ones(1), ordered[[0, -1]]
    smooth = _interpolated(shares, borders)

    def quantiles(probabilities: FloatArray) -> FloatArray:
        return smooth(probabilities)[:, None]

    return Variable(columns, values, quantiles, min(flat, peaked))


def _interpolated(shares: FloatArray, borders: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """The quantiles of a histogram, interpolated smoothly between its borders."""
    steps = np.r_[True, shares > 0]
    smooth = PchipInterpolator(np.cumsum(np.r_[0.0, shares])[steps], borders[steps])
    return lambda probabilities: np.asarray(smooth(probabilities))


def one_peak(ordered: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The likeliest density that rises up to one interval, is flat there, and falls after it.

    It is flat where the samples are densest, over as many of them as a kernel estimate averages over.

    Parameters
    ----------
    ordered : ndarray, shape (n,)
        Ascending, and not all equal.

    Returns
    -------
    widths, heights : ndarray, shape (n_bins,)
        A histogram.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.select.cloud_fit import one_peak
    >>> widths, heights = one_peak(np.array([0.0, 3.0, 4.0, 4.5, 5.0, 5.5, 7.5]))
    >>> widths.tolist(), heights.round(2).tolist()
    ([3.0, 2.5, 2.0], [0.06, 0.27, 0.08])
    """
    n = len(ordered)
    count = min(int(n**0.8), n - 1)
    start = int(np.argmin(ordered[count:] - ordered[:-count]))
    gaps = np.maximum(np.diff(ordered), MIN_GAP * (ordered[-1] - ordered[0]))
    before, inside, after = np.split(gaps, [start, start + count])
    rising = isotonic_regression(1 / before, weights=before).x
    falling = isotonic_regression(1 / after, weights=after, increasing=False).x
    peak = count / inside.sum()
    heights = np.minimum(np.r_[rising, peak, falling], peak)
    widths = np.r_[before, inside.sum(), after]
    # neighbouring bins of one height are one bin
    first = np.flatnonzero(np.r_[True, np.diff(heights) != 0])
    widths, heights = np.add.reduceat(widths, first), heights[first]
    return widths, heights / (widths @ heights)


def _normal_scores(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Normal quantiles of the ranks of each column; equal values are ranked at random."""
    n = len(X)
    order = np.lexsort((rng.random(X.shape), X), axis=0)
    scores = np.empty(X.shape)
    np.put_along_axis(scores, order, special.ndtri((np.arange(n) + 0.5) / n)[:, None], axis=0)
    return scores


def _kurtosis(scores: FloatArray) -> float:
    """How much the distances of the samples from the centre vary, in the metric of a shrunk covariance."""
    with one_blas_thread():
        basis, widths, _ = np.linalg.svd(scores, full_matrices=False)
    shrinkage = ledoit_wolf_shrinkage(scores, assume_centered=True)
    shrunk = (1 - shrinkage) * widths**2 + shrinkage * (widths**2).sum() / scores.shape[1]
    squares = basis**2 @ (widths**2 / shrunk)
    return float((squares**2).mean() / squares.mean() ** 2)
