"""Ranks, medians and means of a variable in each cluster, from its sorted values."""

from __future__ import annotations

import numpy as np

from coterie.numerics.compiled import kernel, part_of_kernels

# sums of float weights that are equal may differ in their last digits
ROUNDING = 1e-12


@kernel()
def summarise(values, clusters, mass, n_clusters):
    """Ranks and medians of each variable, of each cluster in it, and of each cluster's rest.

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
    of_clusters : ndarray, shape (4, v, c)
        Weight with a value, sum of ranks, median; median of the rest.
    of_variables : ndarray, shape (2, v)
        Sum of t^3 - t over groups of t equal values, number of different values.
    """
    n_variables, n = values.shape
    of_clusters = np.full((4, n_variables, n_clusters), np.nan)
    of_variables = np.zeros((2, n_variables))
    for row in range(n_variables):
        n_present = n
        while n_present > 0 and np.isnan(values[row, n_present - 1]):
            n_present -= 1
        sample = (
            values[row, :n_present],
            clusters[row, :n_present],
            mass[row % len(mass), :n_present],
        )
        of_clusters[:2, row] = 0.0
        present, rank_sum = of_clusters[0, row], of_clusters[1, row]
        _sum_ranks(sample, present, rank_sum, of_variables[:, row])
        _set_medians(sample, present, of_clusters[2, row], of_clusters[3, row])
    return of_clusters, of_variables


@kernel()
def gather(values, starts, width):
    """Leave out all zeros but one per cluster and variable, which stands for the others.

    Parameters
    ----------
    values : ndarray, shape (v, n)
        Samples in the order of their clusters.
    starts : ndarray of int, shape (c + 1,)
        Where the samples of each cluster begin.
    width : int
        Larger than the number of values of a variable that are not 0 by more than c.

    Returns
    -------
    gathered : ndarray, shape (v, width)
        The values that are not 0, the zeros of the clusters that have any, and NaN.
    clusters : ndarray of int, shape (v, width)
    n_zeros : ndarray, shape (v, c)
    """
    n_clusters = len(starts) - 1
    n_zeros = np.zeros((len(values), n_clusters))
    gathered = np.empty((len(values), width))
    clusters = np.zeros((len(values), width), dtype=np.int64)
    for row in range(len(values)):
        end = 0
        for cluster in range(n_clusters):
            before = end
            for i in range(starts[cluster], starts[cluster + 1]):
                # without branches; a zero is written over
                value = values[row, i]
                gathered[row, end] = value
                clusters[row, end] = cluster
                end += value != 0
            n_zeros[row, cluster] = starts[cluster + 1] - starts[cluster] - (end - before)
        for cluster in range(n_clusters):
            gathered[row, end] = 0.0
            clusters[row, end] = cluster
            end += n_zeros[row, cluster] > 0
        gathered[row, end:] = np.nan
    return gathered, clusters, n_zeros


@kernel()
def masses(values, clusters, n_zeros):
    """Number of samples that each of the sorted values of :func:`gather` stands for."""
    mass = np.ones(values.shape)
    for row in range(len(values)):
        i = 0
        while values[row, i] < 0:
            i += 1
        while values[row, i] == 0:
            mass[row, i] = n_zeros[row, clusters[row, i]]
            i += 1
    return mass


@kernel()
def pack(values, codes, n_bits):
    """Whole numbers in the order of the values, with the code of the sample in their last bits.

    ``codes`` has a row per variable, or a single one for all.
    """
    keys = np.empty(values.shape, dtype=np.int64)
    for row in range(len(values)):
        # -0 and 0 are equal, but have different bits
        _pack_row(values[row] + 0.0, codes[row if len(codes) > 1 else 0], keys[row], n_bits)
    return keys


@part_of_kernels()
def _pack_row(numbers, codes, keys, n_bits):
    value_bits = np.int64(-1) << n_bits
    all_but_sign = np.int64(2**63 - 1)
    bits = numbers.view(np.int64)
    for i in range(len(numbers)):
        # without branches, so that it is vectorised; the bits of negative numbers fall as they rise
        key = bits[i] ^ ((bits[i] >> 63) & all_but_sign)
        key = all_but_sign if numbers[i] != numbers[i] else key
        keys[i] = (key & value_bits) | codes[i]


@kernel(error_model="numpy")
def differences(total, weight):
    """Replace sums by the mean of each cluster minus that of all others; NaN where one has no weight.

    Parameters
    ----------
    total : ndarray, shape (c, v, b)
        Sum over each cluster, for each variable and bootstrap sample.
    weight : ndarray, shape (c, v, b) or (c, 1, b)

    Returns
    -------
    ndarray of int, shape (c, v)
        Number of differences that are known.
    """
    n_clusters, n_variables, n_bootstrap = total.shape
    known = np.zeros((n_clusters, n_variables), dtype=np.int64)
    for row in range(n_variables):
        shared = row % weight.shape[1]
        everything, whole = np.zeros(n_bootstrap), np.zeros(n_bootstrap)
        for cluster in range(n_clusters):
            everything += total[cluster, row]
            whole += weight[cluster, shared]
        for cluster in range(n_clusters):
            count = 0
            for i in range(n_bootstrap):
                own, share = total[cluster, row, i], weight[cluster, shared, i]
                difference = own / share - (everything[i] - own) / (whole[i] - share)
                is_known = share > 0 and whole[i] > share
                total[cluster, row, i] = difference if is_known else np.nan
                count += is_known
            known[cluster, row] = count
    return known


@kernel()
def product(values, rows, begin, counts):
    """The product of some rows of a matrix, which have many zeros, with ``counts``.

    Only the columns of ``values`` from ``begin`` on are used, as many as ``counts`` has rows.
    """
    n = len(counts)
    result = np.zeros((len(rows), counts.shape[1]))
    nonzero = np.empty(n, dtype=np.int64)
    for row in range(len(rows)):
        own, out = values[rows[row], begin : begin + n], result[row]
        end = 0
        for i in range(n):
            nonzero[end] = i
            end += own[i] != 0
        # four samples at a time, so that sums are read and written less often
        last = end - end % 4
        for k in range(0, last, 4):
            i0, i1, i2, i3 = nonzero[k], nonzero[k + 1], nonzero[k + 2], nonzero[k + 3]
            x0, x1, x2, x3 = own[i0], own[i1], own[i2], own[i3]
            n0, n1, n2, n3 = counts[i0], counts[i1], counts[i2], counts[i3]
            for j in range(len(out)):
                out[j] += (x0 * n0[j] + x1 * n1[j]) + (x2 * n2[j] + x3 * n3[j])
        for k in range(last, end):
            x0, n0 = own[nonzero[k]], counts[nonzero[k]]
            for j in range(len(out)):
                out[j] += x0 * n0[j]
    return result


@kernel()
def scatter(indptr, indices, data, rows, position, first, block):
    """Write some columns of a sparse matrix (CSR, sorted) to the rows of a block that holds zeros.

    Parameters
    ----------
    indptr, indices, data : ndarray
    rows : ndarray of int, shape (n,)
        The rows to take.
    position : ndarray of int
        Row of the block for columns ``first``, ``first + 1``, ...; -1 for columns that are left out.
    first : int
    block : ndarray, shape (v, n)
    """
    stop = first + len(position)
    for sample in range(len(rows)):
        entry, end = indptr[rows[sample]], indptr[rows[sample] + 1]
        entry += np.searchsorted(indices[entry:end], first)
        while entry < end and indices[entry] < stop:
            row = position[indices[entry] - first]
            if row >= 0:
                block[row, sample] = data[entry]
            entry += 1


@kernel()
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


@part_of_kernels()
def _sum_ranks(sample, present, rank_sum, of_variable):
    """Add up the weights and ranks per cluster, the ties, and the number of different values."""
    value, cluster, mass = sample
    before = 0.0
    begin = 0
    while begin < len(value):
        end = begin + 1
        together = mass[begin]
        while end < len(value) and value[end] == value[begin]:
            together += mass[end]
            end += 1
        rank = before + (together + 1) / 2
        i = begin
        while i < end:
            # samples of one cluster with one value, of which there are many among zeros
            c, own = cluster[i], mass[i]
            i += 1
            while i < end and cluster[i] == c:
                own += mass[i]
                i += 1
            present[c] += own
            rank_sum[c] += own * rank
        before += together
        of_variable[0] += together**3 - together
        of_variable[1] += 1
        begin = end


@part_of_kernels()
def _set_medians(sample, present, median, median_of_rest):
    """The median of each cluster, and of all samples but those of the cluster."""
    value, cluster, mass = sample
    n_clusters, whole = len(present), present.sum()
    # The samples of a rest cannot reach half of its weight before all samples together reach as much, so
    # the search for its median begins there. The largest cluster has the smallest rest and comes first.
    by_size = np.argsort(-present)
    begin, reached_by_rest = np.full(n_clusters, len(value)), np.zeros(n_clusters)
    reached, everything, n_begun = np.zeros(n_clusters), 0.0, 0
    n_done = (present == 0).sum()
    half, below = present / 2, np.full(n_clusters, np.nan)
    i, n = 0, len(value)
    while i < n:
        # samples of one cluster with one value count like one sample
        first, c, m = i, cluster[i], mass[i]
        i += 1
        while i < n and cluster[i] == c and value[i] == value[first]:
            m += mass[i]
            i += 1
        while n_begun < n_clusters:
            largest = by_size[n_begun]
            if 2 * (everything + m) < (whole - present[largest]) * (1 - ROUNDING):
                break
            begin[largest] = first
            reached_by_rest[largest] = everything - reached[largest]
            n_begun += 1
        everything += m
        reached[c] += m
        if reached[c] >= half[c] * (1 - ROUNDING):
            if reached[c] <= half[c] * (1 + ROUNDING):
                # exactly half: the next value of the cluster counts as well
                below[c] = value[first]
            else:
                median[c] = value[first] if np.isnan(below[c]) else (below[c] + value[first]) / 2
                half[c] = np.inf
                n_done += 1
                if n_done == n_clusters and n_begun == n_clusters:
                    break
    for c in range(n_clusters):
        median_of_rest[c] = _median_without(
            sample, c, begin[c], reached_by_rest[c], whole - present[c]
        )


@part_of_kernels()
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
