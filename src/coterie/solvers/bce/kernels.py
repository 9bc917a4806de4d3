"""Variational memberships of label rows in a mixture of label distributions (BCE's E-step)."""

from __future__ import annotations

import math

import numpy as np

from coterie.numerics.compiled import kernel, part_of_kernels

# from here on the asymptotic series of the digamma function is exact to rounding
SERIES_FROM = 10.0


@kernel()
def digamma(x):
    """The logarithmic derivative of the gamma function, for x > 0."""
    shift = 0.0
    while x < SERIES_FROM:
        shift -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (
        1.0 / 12.0
        - y
        * (
            1.0 / 120.0
            - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y * (1.0 / 132.0 - y * 691.0 / 32760.0)))
        )
    )
    return shift + math.log(x) - 0.5 / x - series


@part_of_kernels()
def _expected_log(gamma, out):
    """psi(gamma_h) - psi(sum gamma)."""
    total = 0.0
    for h in range(gamma.shape[0]):
        total += gamma[h]
    total = digamma(total)
    for h in range(gamma.shape[0]):
        out[h] = digamma(gamma[h]) - total


@kernel()
def memberships(
    labels, offsets, beta, alpha, weights, member_weight, tol, max_rounds, gamma, counts, logs
):
    """Fit every row; returns each row's share of the variational bound.

    ``beta`` is k x c: the probability of each label in each group. The kernel fills ``gamma`` (N x c,
    the Dirichlet parameters), ``counts`` (k x c, expected weight of the samples that a group gave a
    label) and ``logs`` (c, the weighted sum of expected log memberships). Rows are processed one after
    the other, so that the order of the sums is fixed.
    """
    n, m = labels.shape
    c = alpha.shape[0]
    bounds = np.empty(n)
    phi = np.empty((m, c))
    fresh = np.empty(c)
    expected = np.empty(c)
    power = np.empty(c)
    counts[:] = 0.0
    logs[:] = 0.0
    prior, prior_total = 0.0, 0.0
    for h in range(c):
        prior -= math.lgamma(alpha[h])
        prior_total += alpha[h]
    prior += math.lgamma(prior_total)
    for u in range(n):
        votes = 0.0
        for j in range(m):
            if labels[u, j] >= 0:
                votes += member_weight[j]
                for h in range(c):
                    phi[j, h] = 1.0 / c
        g = gamma[u]
        for h in range(c):
            g[h] = alpha[h] + votes / c
        information = 0.0
        for _ in range(max_rounds):
            _expected_log(g, expected)
            top = expected.max()
            for h in range(c):
                power[h] = math.exp(expected[h] - top)
                fresh[h] = alpha[h]
            moved, information = 0.0, 0.0
            for j in range(m):
                if labels[u, j] < 0:
                    continue
                p = offsets[j] + labels[u, j]
                w = member_weight[j]
                z = 0.0
                for h in range(c):
                    z += beta[p, h] * power[h]
                inside = math.log(z) + top
                for h in range(c):
                    share = beta[p, h] * power[h] / z
                    moved += w * abs(share - phi[j, h])
                    phi[j, h] = share
                    fresh[h] += w * share
                    inside -= share * expected[h]
                information += w * inside
            turned, total = 0.0, 0.0
            for h in range(c):
                turned += abs(fresh[h] - g[h])
                total += g[h]
                g[h] = fresh[h]
            # the memberships of a row sum to the weight of its members
            if max(moved / votes, turned / total) <= tol:
                break
        posterior, total = 0.0, 0.0
        for h in range(c):
            posterior += math.lgamma(g[h])
            total += g[h]
        bounds[u] = weights[u] * (prior + posterior - math.lgamma(total) + information)
        _expected_log(g, expected)
        for h in range(c):
            logs[h] += weights[u] * expected[h]
        for j in range(m):
            if labels[u, j] >= 0:
                p = offsets[j] + labels[u, j]
                for h in range(c):
                    counts[p, h] += weights[u] * phi[j, h]
    return bounds
