"""SPCE's passes over rows of pairs: weights of pairs, then links, each with what members say to it."""

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


@njit(cache=True, nogil=True)
def _votes(by_member, u, prior, values):
    """For row u and every v: how many members join them; over the members that saw both, the sums of
    their priors and of their values; and the sum of the values of those that join.
    """
    m, n = by_member.shape
    joined = np.zeros(n, dtype=np.int32)
    seen = np.zeros(n)
    total = np.zeros(n)
    support = np.zeros(n)
    for i in range(m):
        label = by_member[i, u]
        if label < 0:
            continue
        labels = by_member[i]
        for v in range(n):
            same = labels[v] == label
            there = labels[v] >= 0
            joined[v] += same
            seen[v] += prior[i] * there
            total[v] += values[i] * there
            support[v] += values[i] * same
    return joined, seen, total, support


@njit(cache=True, nogil=True)
def cover(begin, end, fixed, covered):
    """Add up the pairs that each member saw, each scaled by the votes over those that saw it."""
    _, by_member, weights, prior = fixed
    m, n = by_member.shape
    n_votes = prior.sum()
    for u in range(begin, end):
        _, seen, _, _ = _votes(by_member, u, prior, prior)
        for i in range(m):
            if by_member[i, u] < 0:
                continue
            for v in range(n):
                if by_member[i, v] >= 0:
                    covered[u, i] += weights[u] * weights[v] * n_votes / seen[v]


@njit(cache=True, nogil=True)
def _disagree(labels, u, v, link, pairs, row):
    """Add ``pairs (S_uv - S^(i)_uv)^2`` for every member i that saw both."""
    together = pairs * (1.0 - link) * (1.0 - link)
    apart = pairs * link * link
    for i in range(labels.shape[1]):
        here, there = labels[u, i], labels[v, i]
        term = together if here == there else apart
        row[i] += term if here >= 0 and there >= 0 else 0.0


@njit(cache=True, nogil=True)
def weigh(begin, end, fixed, moving, disagreement, mass):
    """W in place; and per row its sum and every member's disagreement."""
    labels, by_member, weights, prior = fixed
    values, age, consensus, out = moving
    n = len(labels)
    n_votes = prior.sum()
    for u in range(begin, end):
        _, seen, total, support = _votes(by_member, u, prior, values)
        for v in range(n):
            out[u, v] = 0.0
            if seen[v] == 0.0:
                continue
            link = consensus[u, v]
            scale = n_votes / seen[v]
            loss = scale * (total[v] * link * link - 2.0 * link * support[v] + support[v])
            weight = age / (2.0 * loss) if 2.0 * loss > age else 1.0
            out[u, v] = weight
            pairs = weights[u] * weights[v]
            mass[u] += pairs * weight
            _disagree(labels, u, v, link, pairs * scale * weight * weight, disagreement[u])


@njit(cache=True, nogil=True)
def learn(begin, end, fixed, moving, disagreement, sums):
    """S in place; and per row its squared change, squared norm before, links and disagreements."""
    labels, by_member, weights, prior = fixed
    values, (rho, gamma), embedding, pair_weights, consensus = moving
    n, m = labels.shape
    n_votes = prior.sum()
    for u in range(begin, end):
        joined, seen, total, support = _votes(by_member, u, prior, values)
        for v in range(n):
            # without a member that joins them S is zero, and so is every disagreement
            if joined[v] == 0:
                continue
            scale = n_votes / seen[v]
            squared = pair_weights[u, v] * pair_weights[u, v]
            link = 1.0
            if joined[v] < m and u != v:
                distance = 0.0
                for k in range(embedding.shape[1]):
                    step = embedding[u, k] - embedding[v, k]
                    distance += step * step
                pull = scale * total[v]
                link = (scale * support[v] - rho * distance / (2.0 * squared)) / pull
                threshold = np.sqrt(gamma / (pull * squared))
                if link <= max(threshold * (1.0 + ROUNDING), ROUNDING):
                    link = 0.0
            pairs = weights[u] * weights[v]
            old = consensus[u, v]
            sums[u, 0] += pairs * (link - old) * (link - old)
            sums[u, 1] += pairs * old * old
            sums[u, 2] += pairs if link > 0.0 else 0.0
            consensus[u, v] = link
            _disagree(labels, u, v, link, pairs * scale * squared, disagreement[u])
