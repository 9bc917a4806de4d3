"""A test of whether features are a single cloud.

The separation of their clusters is compared with that of clusters of random clouds which fit the data: they
have the same number of samples and the same variances. Three kinds of clouds are fitted, and the one with the
best likelihood (by Akaike's criterion) is drawn from: elliptical contours with tails as heavy as the data's
(Student's t, or normal), independent principal components, and independent columns. Each component or column
has the histogram of the data, smoothed to a single peak or flat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.optimize import isotonic_regression
from sklearn.covariance import ledoit_wolf_shrinkage

from coterie.core.threads import one_blas_thread
from coterie.core.types import FloatArray
from coterie.select.candidates import Candidates
from coterie.select.separation import border_ratios, least_size, separation

# maximum number of samples in a cloud
MAX_ROWS = 600
# number of clouds; the two most unusual of 50 are below the level
N_CLOUDS = 49
# numbers of clusters at which clouds are compared: round clusters, and clusters of any shape
ROUND_KS = (2, 3, 4, 6, 8)
ANY_SHAPE_KS = (2, 3, 4)
# samples that each cluster needs on average
MIN_SAMPLES = 10
# degrees of freedom of Student's t that are tried, and steps of its fit
FREEDOM = (1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, np.inf)
EM_STEPS = 20

Draw = Callable[[np.random.Generator], FloatArray]


def cloud_p_value(X: FloatArray, rng: np.random.Generator) -> float:
    """The probability that clusters of a single cloud are separated as well as those of X.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Features, with at most as many columns as they have important principal components.
    rng : numpy Generator

    Returns
    -------
    float
        NaN if there are too few samples for two clusters.
    """
    rows = np.arange(len(X))
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.choice(len(rows), MAX_ROWS, replace=False))
    sample = X[rows] - X[rows].mean(axis=0)
    components = _principal(sample)
    if len(sample) < 2 * MIN_SAMPLES or components.shape[1] == 0:
        return float("nan")
    clouds = [_elliptical_cloud(components), _independent_cloud(components)]
    if components.shape[1] == sample.shape[1]:
        clouds.append(_independent_cloud(sample))
    draw = min(clouds, key=lambda cloud: cloud.criterion).draw
    values = [_separations(components, rng)]
    values += [_separations(_principal(draw(rng)), rng) for _ in range(N_CLOUDS)]
    return _rank_of_first(np.array(values))


@dataclass(frozen=True)
class Cloud:
    """A distribution that was fitted to the data: its AIC, and a function that draws as many samples."""

    criterion: float
    draw: Draw


def _rank_of_first(values: FloatArray) -> float:
    """The share of rows that are at least as unusual as the first row.

    A row is unusual if one of its values is unusually large, or all of them on average. Every row is
    treated alike, so the share is uniform if all rows come from one distribution.
    """
    scaled = _standardised(values)
    unusual = _standardised(np.stack([scaled.max(axis=1), scaled.mean(axis=1)], axis=1)).max(axis=1)
    return float(np.mean(unusual >= unusual[0]))


def _standardised(values: FloatArray) -> FloatArray:
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _separations(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """How well partitions of X into few clusters are separated; larger is better."""
    round_ks = [k for k in ROUND_KS if k * MIN_SAMPLES <= len(X)]
    any_shape_ks = [k for k in ANY_SHAPE_KS if k * MIN_SAMPLES <= len(X)]
    candidates = Candidates(X, max(any_shape_ks))
    values = []
    # parallel clusters that are long are round only if all directions are equally wide
    equally_wide = Candidates(X / X.std(axis=0), max(any_shape_ks))
    partitions = [candidates.kmeans(k) for k in round_ks]
    partitions += [equally_wide.kmeans(k) for k in any_shape_ks]
    for labels in partitions:
        value = separation(X, labels, rng, n_splits=1)
        # without two clusters of enough samples there is no border
        values.append(-1.0 if np.isnan(value) else value)
    for k in any_shape_ks:
        labels = candidates.spectral(k)
        large = np.flatnonzero(np.bincount(labels) >= least_size(len(X)))
        ratios = border_ratios(candidates.graph, X, labels)[np.ix_(large, large)]
        np.fill_diagonal(ratios, 0.0)
        # outliers have no neighbours across, either
        widest = ratios.max(axis=1) if len(large) > 1 else np.ones(1)
        values.append(-float(np.log(widest + 0.05).mean()))
    return np.array(values)


def _principal(X: FloatArray) -> FloatArray:
    """X along its principal components that have any variance."""
    centred = X - X.mean(axis=0)
    with one_blas_thread():
        _, widths, axes = np.linalg.svd(centred, full_matrices=False)
        kept = widths > 1e-9 * widths[0] if widths[0] > 0 else np.zeros(len(widths), dtype=bool)
        return np.asarray(centred @ axes[kept].T)


def _independent_cloud(X: FloatArray) -> Cloud:
    """Independent columns with the histograms of those of X, flat or smoothed to a single peak."""
    n, d = X.shape
    n_bins = int(np.clip(np.sqrt(n), 5, 25))
    shares, edges = [], []
    criterion = 0.0
    for column in X.T:
        counts, borders = np.histogram(column, bins=n_bins)
        # the peak of a flat histogram would be chance
        fits = []
        for smooth in (np.ones(n_bins), one_peak(counts.astype(np.float64))):
            share = smooth / smooth.sum()
            likely = counts * np.log(np.maximum(share, 1e-12) / np.diff(borders))
            fits.append((2 * len(np.unique(smooth)) - 2 * float(likely.sum()), share))
        best, share = min(fits, key=lambda fit: fit[0])
        criterion += best
        shares.append(share)
        edges.append(borders)
    spread = X.std(axis=0)

    def draw(rng: np.random.Generator) -> FloatArray:
        cloud = np.empty((n, d))
        for j in range(d):
            bins = rng.choice(n_bins, n, p=shares[j])
            cloud[:, j] = rng.uniform(edges[j][bins], edges[j][bins + 1])
        return np.asarray(cloud / cloud.std(axis=0) * spread)

    return Cloud(criterion, draw)


def one_peak(counts: FloatArray) -> FloatArray:
    """The counts nearest by least squares that rise up to one place and fall after it.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.select.clouds import one_peak
    >>> one_peak(np.array([1.0, 5.0, 3.0, 4.0])).tolist()
    [1.0, 5.0, 3.5, 3.5]
    """
    best, least = counts, np.inf
    for peak in range(len(counts)):
        rising = isotonic_regression(counts[: peak + 1]).x
        falling = isotonic_regression(counts[peak + 1 :], increasing=False).x
        fitted = np.concatenate([rising, np.minimum(falling, rising[-1])])
        error = float(((fitted - counts) ** 2).sum())
        if error < least:
            best, least = fitted, error
    return best


def _elliptical_cloud(X: FloatArray) -> Cloud:
    """Student's t, or a normal distribution, with the degrees of freedom of the greatest likelihood."""
    n, d = X.shape
    fits = [_student(X, freedom) for freedom in FREEDOM]
    likely, spread, freedom = max(fits, key=lambda fit: fit[0])
    # sample variances of many columns vary more than the true ones, and those of the drawn cloud once more
    shrinkage = ledoit_wolf_shrinkage(X / spread.max())
    variance = (1 - shrinkage) * spread**2 + shrinkage * np.mean(spread**2)

    def draw(rng: np.random.Generator) -> FloatArray:
        cloud = rng.standard_normal((n, d)) * np.sqrt(variance)
        if np.isfinite(freedom):
            cloud /= np.sqrt(rng.chisquare(freedom, n) / freedom)[:, None]
        return np.asarray(cloud)

    return Cloud(2 * (d + 1) - 2 * likely, draw)


def _student(X: FloatArray, freedom: float) -> tuple[float, FloatArray, float]:
    """The log-likelihood and the scales of uncorrelated columns, and the degrees of freedom."""
    d = X.shape[1]
    variance = X.var(axis=0)
    if np.isinf(freedom):
        likely = -0.5 * (np.log(2 * np.pi * variance) + X**2 / variance).sum()
        return float(likely), np.sqrt(variance), freedom
    for _ in range(EM_STEPS):
        weights = (freedom + d) / (freedom + (X**2 / variance).sum(axis=1))
        variance = (weights[:, None] * X**2).mean(axis=0)
    squares = (X**2 / variance).sum(axis=1)
    constant = special.gammaln((freedom + d) / 2) - special.gammaln(freedom / 2)
    constant -= 0.5 * (d * np.log(freedom * np.pi) + np.log(variance).sum())
    likely = len(X) * constant - 0.5 * (freedom + d) * np.log1p(squares / freedom).sum()
    return float(likely), np.sqrt(variance), freedom
