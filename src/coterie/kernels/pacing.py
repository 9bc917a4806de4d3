"""SPCE's passes over rows of pairs: weights of pairs, then links, each with what members say to it.

A row of pairs is handled at a time, in loops over all its pairs that vectorise. What only concerns
the pairs that a member joins goes by the list of the microclusters in each base cluster, which
is much shorter than the row.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numba
import numpy as np
from numba import njit

# a link this close to its threshold is at it, and one this weak is none
ROUNDING = 1e-10
# waking threads costs more than this many rows
SERIAL_ROWS = 500


def over_rows(kernel: Callable[..., None], *arguments: Any) -> None:
    """Run a kernel on ranges of rows, one for each thread that numba may use.

    Every row is computed by itself and written to its own place, so the ranges do not matter.
    """
    n = len(arguments[-1])
    n_threads = numba.get_num_threads() if n > SERIAL_ROWS else 1
    if n_threads == 1:
        kernel(0, n, *arguments)
        return
    bounds = [n * k // n_threads for k in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as threads:
        runs = [threads.submit(kernel, begin, end, *arguments) for begin, end in pairwise(bounds)]
        for run in runs:
            run.result()


@njit(cache=True, nogil=True, error_model="numpy")
def _observe(by_member, u, prior, values, seen, total):
    """Over the members that saw both u and v, the sums of their priors and of their values."""
    m, n = by_member.shape
    seen[:] = 0.0
    total[:] = 0.0
    for i in range(m):
        if by_member[i, u] < 0:
            continue
        labels = by_member[i]
        for v in range(n):
            there = labels[v] >= 0
            seen[v] += prior[i] if there else 0.0
            total[v] += values[i] if there else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _join(base, u, values, joined, support):
    """How many members join u and v, and the sum of their values."""
    base_clusters, starts, rows = base
    joined[:] = 0
    support[:] = 0.0
    for i in range(base_clusters.shape[1]):
        q = base_clusters[u, i]
        if q >= 0:
            for p in range(starts[q], starts[q + 1]):
                joined[rows[p]] += 1
                support[rows[p]] += values[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _apart(labels, label, apart):
    """Sum over the microclusters to which a member gives another label."""
    total = 0.0
    for v in range(labels.shape[0]):
        total += apart[v] if labels[v] != label and labels[v] >= 0 else 0.0
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _disagree(base, by_member, complete, u, together, apart, out):
    """Every member's sum of ``together`` over the pairs that it joins and ``apart`` over the others.

    Without gaps the others are all less the joined ones. Both sums run in the order of the pairs,
    so that nothing is left where all of ``apart`` lies in the joined ones.
    """
    base_clusters, starts, rows = base
    everything = 0.0
    if complete:
        for v in range(apart.shape[0]):
            everything += apart[v]
    for i in range(base_clusters.shape[1]):
        q = base_clusters[u, i]
        if q < 0:
            continue
        inside, joined = 0.0, 0.0
        for p in range(starts[q], starts[q + 1]):
            joined += together[rows[p]]
            inside += apart[rows[p]]
        if complete:
            out[i] += joined + max(everything - inside, 0.0)
        else:
            out[i] += joined + _apart(by_member[i], by_member[i, u], apart)


@njit(cache=True, nogil=True, error_model="numpy")
def cover(begin, end, fixed, covered):
    """Add up the pairs that each member saw, each scaled by the votes over those that saw it."""
    _, by_member, weights, prior = fixed
    m, n = by_member.shape
    n_votes = prior.sum()
    seen, total = np.empty(n), np.empty(n)
    for u in range(begin, end):
        _observe(by_member, u, prior, prior, seen, total)
        for i in range(m):
            if by_member[i, u] < 0:
                continue
            for v in range(n):
                if by_member[i, v] >= 0:
                    covered[u, i] += weights[u] * weights[v] * n_votes / seen[v]


@njit(cache=True, nogil=True, error_model="numpy")
def weigh(begin, end, fixed, complete, moving, disagreement, mass):
    """W in place; and per row its sum and every member's disagreement."""
    base, by_member, weights, prior = fixed
    values, age, consensus, out = moving
    n = len(weights)
    n_votes = prior.sum()
    seen, total = np.full(n, n_votes), np.full(n, values.sum())
    support, together, apart = np.empty(n), np.empty(n), np.empty(n)
    joined = np.empty(n, dtype=np.int32)
    for u in range(begin, end):
        if not complete:
            _observe(by_member, u, prior, values, seen, total)
        _join(base, u, values, joined, support)
        links, row = consensus[u], out[u]
        for v in range(n):
            link = links[v]
            scale = n_votes / seen[v]
            loss = scale * (total[v] * link * link - 2.0 * link * support[v] + support[v])
            weight = age / (2.0 * loss) if 2.0 * loss > age else 1.0
            row[v] = weight if seen[v] > 0.0 else 0.0
            pairs = weights[u] * weights[v] * scale * weight * weight
            pairs = pairs if seen[v] > 0.0 else 0.0
            together[v] = pairs * (1.0 - link) * (1.0 - link)
            apart[v] = pairs * link * link
        mass[u] = weights[u] * _dot(weights, row)
        _disagree(base, by_member, complete, u, together, apart, disagreement[u])


@njit(cache=True, nogil=True, error_model="numpy")
def learn(begin, end, fixed, complete, moving, disagreement, sums):
    """S in place; and per row its squared change, squared norm before, links and disagreements.

    The embedding comes with its coordinates as rows.
    """
    base, by_member, weights, prior = fixed
    values, (rho, gamma), embedding, pair_weights, consensus = moving
    m, n = by_member.shape
    n_votes = prior.sum()
    seen, total = np.full(n, n_votes), np.full(n, values.sum())
    support, distance, links = np.empty(n), np.empty(n), np.empty(n)
    thresholds, scales = np.empty(n), np.empty(n)
    together, apart = np.empty(n), np.empty(n)
    joined = np.empty(n, dtype=np.int32)
    half_rho, inverse_pull = 0.5 * rho, 1.0 / values.sum()
    root = np.sqrt(gamma * inverse_pull) * (1.0 + ROUNDING)
    for u in range(begin, end):
        if not complete:
            _observe(by_member, u, prior, values, seen, total)
        _join(base, u, values, joined, support)
        joined[u] = m
        distance[:] = 0.0
        for k in range(embedding.shape[0]):
            column = embedding[k]
            here = column[u]
            for v in range(n):
                distance[v] += (column[v] - here) * (column[v] - here)
        if complete:
            for v in range(n):
                # the same as below with one division
                inverse = 1.0 / pair_weights[u, v]
                links[v] = (support[v] - half_rho * distance[v] * inverse * inverse) * inverse_pull
                thresholds[v] = root * inverse
                scales[v] = pair_weights[u, v] * pair_weights[u, v]
        else:
            for v in range(n):
                scale = n_votes / seen[v]
                squared = pair_weights[u, v] * pair_weights[u, v]
                pull = scale * total[v]
                links[v] = (scale * support[v] - half_rho * distance[v] / squared) / pull
                thresholds[v] = np.sqrt(gamma / (pull * squared)) * (1.0 + ROUNDING)
                scales[v] = scale * squared
        for v in range(n):
            threshold = thresholds[v] if thresholds[v] > ROUNDING else ROUNDING
            link = 0.0 if links[v] <= threshold else links[v]
            link = 1.0 if joined[v] == m else link
            # without a member that joins them S is zero, and so is every disagreement
            link = 0.0 if joined[v] == 0 else link
            links[v] = link
            pairs = weights[u] * weights[v] * scales[v]
            pairs = 0.0 if joined[v] == 0 else pairs
            together[v] = pairs * (1.0 - link) * (1.0 - link)
            apart[v] = pairs * link * link
        changed, before, linked = _changes(weights, links, consensus[u])
        sums[u, 0] = weights[u] * changed
        sums[u, 1] = weights[u] * before
        sums[u, 2] = weights[u] * linked
        consensus[u] = links
        _disagree(base, by_member, complete, u, together, apart, disagreement[u])


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _dot(weights, row):
    total = 0.0
    for v in range(len(row)):
        total += weights[v] * row[v]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _changes(weights, links, before):
    """Squared change, squared norm before and number of links of a row, weighted."""
    changed, norm, linked = 0.0, 0.0, 0.0
    for v in range(len(links)):
        step = links[v] - before[v]
        changed += weights[v] * step * step
        norm += weights[v] * before[v] * before[v]
        linked += weights[v] if links[v] > 0.0 else 0.0
    return changed, norm, linked
