"""Ranks, medians and means of a variable in each cluster, from its sorted values."""

from __future__ import annotations

import numpy as np
from numba import njit

# sums of float weights that are equal may differ in their last digits
ROUNDING = 1e-12


@njit(cache=True, nogil=True)
def summarise(values, clusters, mass, n_clusters):
    """Statistics of each variable, of each cluster in it, and of each cluster's rest.

    A sample of weight w counts like w samples with the same value. Samples without a value (NaN) do not
    count.

    Parameters
    ----------
    values : ndarray, shape (v, n)
        One row per variable, ascending, NaN last.
    clusters : ndarray of int, shape (v, n)
        Cluster of the sample that has each value.
    mass : ndarray, shape (v, n) or (1, n)
        Weight of the sample that has each value; a single row is for all variables.
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
    for row in range(n_variables):
        n_present = n
        while n_present > 0 and np.isnan(values[row, n_present - 1]):
            n_present -= 1
        sample = (
            values[row, :n_present],
            clusters[row, :n_present],
            mass[row % len(mass), :n_present],
        )
        present = np.zeros(n_clusters)
        for i in range(n_present):
            present[sample[1][i]] += sample[2][i]
        of_clusters[0, row] = present
        of_variables[0, row] = _set_means(sample, present, of_clusters[:, row])
        of_clusters[1, row] = 0.0
        _sum_ranks(sample, of_clusters[1, row], of_variables[:, row])
        _set_medians(sample, present, of_clusters[3, row], of_clusters[5, row])
    return of_clusters, of_variables


@njit(cache=True, nogil=True)
def pack(values, codes, n_bits):
    """Whole numbers in the order of the values, with the code of the sample in their last bits."""
    keys = np.empty(values.shape, dtype=np.int64)
    last_bits = (1 << n_bits) - 1
    all_but_sign = np.int64(2**63 - 1)
    for row in range(len(values)):
        # -0 and 0 are equal, but have different bits
        bits = (values[row] + 0.0).view(np.int64)
        for i in range(values.shape[1]):
            key = bits[i]
            if np.isnan(values[row, i]):
                key = all_but_sign
            elif key < 0:
                key ^= all_but_sign
            keys[row, i] = (key & ~last_bits) | codes[i]
    return keys


@njit(cache=True, nogil=True)
def unpack(keys, values, n_bits):
    """Replace sorted keys by the codes in them; returns the rows in which keys tie and values do not."""
    ambiguous = np.zeros(len(keys), dtype=np.bool_)
    last_bits = (1 << n_bits) - 1
    for row in range(len(keys)):
        before = keys[row, 0] >> n_bits
        keys[row, 0] &= last_bits
        for i in range(1, keys.shape[1]):
            key = keys[row, i] >> n_bits
            if key == before and values[row, i] > values[row, i - 1]:
                ambiguous[row] = True
            before = key
            keys[row, i] &= last_bits
    return ambiguous


@njit(cache=True, nogil=True)
def _set_means(sample, present, of_clusters):
    """Set the means of clusters and of their rests; returns the standard deviation of all."""
    value, cluster, mass = sample
    if len(value) == 0:
        return 0.0
    # sums of distances from one of the values lose fewer digits than sums of the values
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
def _set_medians(sample, present, median, median_of_rest):
    """The median of each cluster, and of all samples but those of the cluster."""
    value, cluster, mass = sample
    n_clusters, whole = len(present), present.sum()
    # The samples of a rest cannot reach half of its weight before all samples together reach as much, so
    # the search for its median begins there. The largest cluster has the smallest rest and comes first.
    by_size = np.argsort(-present)
    begin, reached_by_rest = np.full(n_clusters, len(value)), np.zeros(n_clusters)
    reached, everything, n_begun = np.zeros(n_clusters), 0.0, 0
    half, below = present / 2, np.full(n_clusters, np.nan)
    for i in range(len(value)):
        c, m = cluster[i], mass[i]
        while n_begun < n_clusters:
            largest = by_size[n_begun]
            if 2 * (everything + m) < (whole - present[largest]) * (1 - ROUNDING):
                break
            begin[largest] = i
            reached_by_rest[largest] = everything - reached[largest]
            n_begun += 1
        everything += m
        reached[c] += m
        if reached[c] >= half[c] * (1 - ROUNDING):
            if reached[c] <= half[c] * (1 + ROUNDING):
                # exactly half: the next value of the cluster counts as well
                below[c] = value[i]
            else:
                median[c] = value[i] if np.isnan(below[c]) else (below[c] + value[i]) / 2
                half[c] = np.inf
    for c in range(n_clusters):
        median_of_rest[c] = _median_without(
            sample, c, begin[c], reached_by_rest[c], whole - present[c]
        )


@njit(cache=True, nogil=True)
def _median_without(sample, left_out, begin, reached, whole):
    """The median of all samples but those of one cluster; the samples before ``begin`` weigh ``reached``."""
    value, cluster, mass = sample
    below = np.nan
    for i in range(begin, len(value)):
        if cluster[i] == left_out:
            continue
        reached += mass[i]
        if 2 * reached >= whole * (1 - ROUNDING):
            if 2 * reached > whole * (1 + ROUNDING):
                return value[i] if np.isnan(below) else (below + value[i]) / 2
            below = value[i]
    return np.nan
