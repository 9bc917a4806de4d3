"""A test of whether features are a single cloud.

The separation of their clusters is compared with that of clusters of random clouds that fit the data
(cloud_fit.py). The clouds are treated like the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coterie.core.random import random_rows
from coterie.core.threads import one_blas_thread
from coterie.core.types import FloatArray
from coterie.generate.mixtures import principal_components
from coterie.generate.steps import fill_steps
from coterie.select.candidates import Candidates
from coterie.select.cloud_fit import Cloud, RadialCloud
from coterie.select.separation import border_ratios, least_size, separation

# maximum number of samples in a cloud
MAX_ROWS = 600
# with more numbers, clouds have the important principal components as columns, because more take long
MAX_ENTRIES = 100_000
# a uniform move of at most this many standard deviations adds no more variance than the column has
MAX_MOVE = np.sqrt(3.0)
# Of few components all are used: clusters may lie side by side in a direction of little variance.
MIN_COMPONENTS = 10
# number of clouds; the two most unusual of 50 are below the level
N_CLOUDS = 49
# numbers of clusters at which clouds are compared: round clusters, and clusters of any shape
ROUND_KS = (2, 3, 4, 6, 8)
ANY_SHAPE_KS = (2, 3, 4)
# samples that each cluster needs on average
MIN_SAMPLES = 10
# fewer samples have no two such clusters
MIN_TESTED = 2 * MIN_SAMPLES


def cloud_p_value(
    X: FloatArray, rng: np.random.Generator, step: Callable[[], None] = lambda: None
) -> float:
    """The probability that clusters of a single cloud are at least as clearly separated as those of X.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    rng : numpy Generator
    step : callable, optional
        Called after each cloud.

    Returns
    -------
    float
        NaN if there are too few samples for two clusters.
    """
    sample = X[random_rows(len(X), MAX_ROWS, rng)]
    sample = sample[:, np.ptp(sample, axis=0) > 0]
    if len(sample) < MIN_TESTED or sample.shape[1] == 0:
        return float("nan")
    filled = fill_steps(sample, rng, MAX_MOVE)
    cloud = _likeliest_cloud(sample, filled, rng)
    values = [_separations(_principal(filled), rng)]
    for _ in range(N_CLOUDS):
        values.append(_separations(principal_scores(cloud.draw(rng), rng), rng))
        step()
    return _rank_of_first(np.array(values))


def principal_scores(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The important principal components of X, with the steps of its columns filled."""
    return _principal(fill_steps(X, rng, MAX_MOVE))


def _principal(filled: FloatArray) -> FloatArray:
    mean, components = principal_components(filled, 0, MIN_COMPONENTS)
    return np.asarray((filled - mean) @ components)


def _likeliest_cloud(
    X: FloatArray, filled: FloatArray, rng: np.random.Generator
) -> Cloud | RadialCloud:
    """The cloud that fits best: along the columns, along the principal components, or a ball."""
    n, d = X.shape
    if X.size > MAX_ENTRIES:
        scores = _principal(filled)
        return Cloud(scores, scores, rng)
    if d >= n - 1:
        return Cloud(X, filled, rng)
    centred = filled - filled.mean(axis=0)
    with one_blas_thread():
        _, widths, axes = np.linalg.svd(centred, full_matrices=False)
        turned = centred @ axes[widths > 1e-9 * widths[0]].T
    along = Cloud(turned, turned, rng)
    clouds: list[Cloud | RadialCloud] = [along]
    if np.isinf(along.freedom):
        clouds.append(RadialCloud(turned))
    # the likelihoods of columns that determine each other cannot be compared
    if turned.shape[1] == d:
        clouds.append(Cloud(X, filled, rng))
    return min(clouds, key=lambda cloud: cloud.criterion)


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
    partitions = [candidates.kmeans(k) for k in round_ks]
    partitions += [candidates.side_by_side(k) for k in any_shape_ks]
    for labels in partitions:
        value = separation(X, labels, rng)
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
