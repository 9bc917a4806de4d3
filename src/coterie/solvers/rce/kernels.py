"""RCE's passes over pairs: cleaned evidence for a consensus, and the step towards it.

A pair's consensus x is the probability that two samples belong together. Members that join the pair
are cleaned to one value, members that separate it to another, because both depend on x alone.
"""

from __future__ import annotations

import numpy as np

from coterie.numerics.compiled import kernel, part_of_kernels

# lower bound of probabilities and of the arguments of logarithms
FLOOR = 2.0**-52


@kernel()
def _error(total, lam):
    """Amount subtracted from a one, given the sum of both consensus values of a pair."""
    error = (1.0 + lam - np.sqrt((1.0 - lam) ** 2 + 2.0 * lam * total)) / (2.0 * lam)
    return min(max(error, 0.0), 1.0)


@part_of_kernels()
def _divergence(x, y):
    """Kullback-Leibler divergence of two coin tosses with probabilities x and y."""
    value = 0.0
    if x > 0.0:
        value += x * np.log(x / max(y, FLOOR))
    if x < 1.0:
        value += (1.0 - x) * np.log((1.0 - x) / max(1.0 - y, FLOOR))
    return value


@kernel()
def clean(consensus, both, joined, seen, lam, weights, pull, sums):
    """Clean the evidence of every pair.

    ``both`` holds x_pq + x_qp. Fills ``pull`` with the sum over members of log((1 - y) / y) for the
    cleaned y, and ``sums`` with each row's share of the divergence and of lam times the errors. ``seen``
    is 1 x 1 where all members saw all pairs.
    """
    n = consensus.shape[0]
    complete = seen.shape[0] == 1
    for p in range(n):
        total = 0.0
        for q in range(n):
            count = seen[0, 0] if complete else seen[p, q]
            ones = joined[p, q]
            taken = _error(both[p, q], lam)
            added = _error(2.0 - both[p, q], lam)
            value = 0.0
            cost = 0.0
            x = consensus[p, q]
            if ones > 0.0:
                value += ones * (np.log(max(taken, FLOOR)) - np.log(max(1.0 - taken, FLOOR)))
                cost += ones * (_divergence(x, 1.0 - taken) + lam * taken)
            if count > ones:
                zeros = count - ones
                value += zeros * (np.log(max(1.0 - added, FLOOR)) - np.log(max(added, FLOOR)))
                cost += zeros * (_divergence(x, added) + lam * added)
            pull[p, q] = value
            total += weights[q] * cost
        sums[p] = weights[p] * total


@kernel()
def approach(consensus, pull, towards, away, seen):
    """One multiplicative step of every pair that is neither 0 nor 1; returns the largest change.

    ``towards`` and ``away`` hold the products of the consensus with the negative and the positive part of
    the rank term.
    """
    n = consensus.shape[0]
    complete = seen.shape[0] == 1
    largest = 0.0
    for p in range(n):
        for q in range(n):
            x = consensus[p, q]
            if x <= 0.0 or x >= 1.0:
                continue
            count = seen[0, 0] if complete else seen[p, q]
            low, high = max(x, FLOOR), max(1.0 - x, FLOOR)
            linear = count * (np.log(low) - np.log(high) - 2.0 / high)
            curve = 2.0 * count / low + 2.0 * count / high
            curve += (max(pull[p, q], 0.0) + 2.0 * away[p, q]) / low
            rise = (max(-pull[p, q], 0.0) + 2.0 * towards[p, q]) * x
            new = (-linear + np.sqrt(linear**2 + 4.0 * curve * rise)) / (2.0 * curve)
            new = min(new, 1.0)
            largest = max(largest, abs(new - x))
            consensus[p, q] = new
    return largest
