"""Ranks, medians and means of a variable in each cluster, from one pass over its sorted values."""

from __future__ import annotations

import numpy as np
from numba import njit

# sums of float weights that are equal may differ in their last digits
ROUNDING = 1e-12


@njit(cache=True, nogil=True)
def summarise(values, order, codes, weight, n_clusters):
    """Statistics of each variable, of each cluster in it, and of each cluster's rest.

    A sample of weight w counts like w samples with the same value. Samples without a value (NaN) do not
    count.

    Parameters
    ----------
    values : ndarray, shape (v, n)
        One row per variable.
    order : ndarray of int, shape (v, n)
        Positions of the sorted values of each row, NaN last.
    codes : ndarray of int, shape (n,)
        Cluster of each sample.
    weight : ndarray, shape (n,)
    n_clusters : int

    Returns
    -------
    of_clusters : ndarray, shape (6, v, c)
        Weight with a value, sum of ranks, mean, median; mean and median of the rest.
    of_variables : ndarray, shape (3, v)
        Standard deviation, sum of t^3 - t over groups of t equal values, number of different values.
    """
    n_variables, n = values.shape
    of_clusters = np.full((6, n_variables, n_clusters), np.nan)
    of_variables = np.zeros((3, n_variables))
    value, cluster, mass = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n)
    for row in range(n_variables):
        n_present = 0
        for i in order[row]:
            if np.isnan(values[row, i]):
                break
            value[n_present] = values[row, i]
            cluster[n_present] = codes[i]
            mass[n_present] = weight[i]
            n_present += 1
        sample = value[:n_present], cluster[:n_present], mass[:n_present]
        present = np.zeros(n_clusters)
        for i in range(n_present):
            present[cluster[i]] += mass[i]
        of_clusters[0, row] = present
        of_variables[0, row] = _set_means(sample, present, of_clusters[:, row])
        of_clusters[1, row] = 0.0
        _sum_ranks(sample, of_clusters[1, row], of_variables[:, row])
        _set_medians(sample, present, of_clusters[3, row])
        for c in range(n_clusters):
            of_clusters[5, row, c] = _median_without(sample, c, present.sum() - present[c])
    return of_clusters, of_variables


@njit(cache=True, nogil=True)
def _set_means(sample, present, of_clusters):
    """Set the means of clusters and of their rests; returns the standard deviation of all."""
    value, cluster, mass = sample
    if len(value) == 0:
        return 0.0
    # distances from one of the values lose fewer digits than the values themselves
    origin = value[len(value) // 2]
    total = np.zeros(len(present))
    for i in range(len(value)):
        total[cluster[i]] += mass[i] * (value[i] - origin)
    whole, everything = present.sum(), total.sum()
    for c in range(len(present)):
        if present[c] > 0:
            of_clusters[2, c] = origin + total[c] / present[c]
        if whole > present[c]:
            of_clusters[4, c] = origin + (everything - total[c]) / (whole - present[c])
    mean = everything / whole
    squares = 0.0
    for i in range(len(value)):
        squares += mass[i] * (value[i] - origin - mean) ** 2
    return np.sqrt(squares / whole)


@njit(cache=True, nogil=True)
def _sum_ranks(sample, rank_sum, of_variable):
    """Add up the ranks per cluster, the ties, and the number of different values."""
    value, cluster, mass = sample
    before = 0.0
    begin = 0
    while begin < len(value):
        end = begin
        together = 0.0
        while end < len(value) and value[end] == value[begin]:
            together += mass[end]
            end += 1
        rank = before + (together + 1) / 2
        for i in range(begin, end):
            rank_sum[cluster[i]] += mass[i] * rank
        before += together
        of_variable[1] += together**3 - together
        of_variable[2] += 1
        begin = end


@njit(cache=True, nogil=True)
def _set_medians(sample, present, median):
    """The median of each cluster; if exactly half is reached at one value, the mean with the next."""
    value, cluster, mass = sample
    reached = np.zeros(len(present))
    below = np.full(len(present), np.nan)
    for i in range(len(value)):
        c = cluster[i]
        reached[c] += mass[i]
        if np.isnan(median[c]) and 2 * reached[c] > present[c] * (1 - ROUNDING):
            if not np.isnan(below[c]):
                median[c] = (below[c] + value[i]) / 2
            elif 2 * reached[c] > present[c] * (1 + ROUNDING):
                median[c] = value[i]
            else:
                below[c] = value[i]


@njit(cache=True, nogil=True)
def _median_without(sample, left_out, whole):
    """The median of all samples but those of one cluster."""
    value, cluster, mass = sample
    reached = 0.0
    below = np.nan
    for i in range(len(value)):
        if cluster[i] == left_out:
            continue
        reached += mass[i]
        if 2 * reached > whole * (1 - ROUNDING):
            if not np.isnan(below):
                return (below + value[i]) / 2
            if 2 * reached > whole * (1 + ROUNDING):
                return value[i]
            below = value[i]
    return np.nan
