"""Measure the cost of one operation of each kind on this machine, in loops like those of the kernels.

All arrays but that of the column writes fit into the nearest caches, so that the costs are those of
the operations and not of memory.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np
from numba import get_num_threads, njit

LENGTH, WIDTH, ROUNDS = 2_048, 10, 500


def best_of(call: Callable[[], object], repeats: int = 5) -> float:
    """Shortest time of several runs in seconds; with one thread, processor time."""
    clock = process_time if get_num_threads() == 1 else perf_counter
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


@njit(error_model="numpy")
def divisions(a, b, positions, out):
    for _ in range(ROUNDS):
        for j in range(len(out)):
            out[j] = a[j] / b[j]


@njit
def logarithms(a, b, positions, out):
    for _ in range(ROUNDS):
        for j in range(len(out)):
            out[j] = np.log(a[j])


@njit(fastmath={"reassoc"})
def gathered_reads(a, b, positions, out):
    for r in range(ROUNDS):
        total = 0.0
        for p in range(len(positions)):
            total += a[positions[p]]
        out[r] = total


@njit
def scattered_additions(a, b, positions, out):
    for r in range(ROUNDS):
        for p in range(len(positions)):
            out[positions[p]] += a[r]


@njit
def selections(a, b, positions, out):
    for r in range(ROUNDS):
        count = 0
        for j in range(len(a)):
            positions[count] = j
            count += a[j] > b[r]


@njit
def branches(a, b, positions, out):
    for r in range(ROUNDS):
        for j in range(len(a)):
            if a[j] > 2.0:
                out[r] += 1.0


@njit
def coordinates(a, b, positions, out):
    """Add squared differences, one coordinate of all columns after the other."""
    for r in range(ROUNDS):
        here, there = a[r], b[r]
        for j in range(len(out)):
            out[j] += (a[j] - here) * (a[j] - here) + (b[j] - there) * (b[j] - there)


@njit(fastmath={"reassoc"})
def _apart(one, other):
    total = 0.0
    for t in range(len(one)):
        total += (one[t] - other[t]) * (one[t] - other[t])
    return total


@njit
def gathered_coordinates(points, b, positions, out):
    """Add squared differences, one column after the other."""
    for r in range(ROUNDS):
        for p in range(len(positions)):
            out[p] = _apart(points[r], points[positions[p]])


@njit
def gathered_points(points, b, positions, out):
    """Add rows of ten numbers."""
    sums = out[: points.shape[1]]
    for _ in range(ROUNDS):
        for p in range(len(positions)):
            point = points[positions[p]]
            for t in range(len(sums)):
                sums[t] += point[t]


@njit
def row_products(a, b, positions, out):
    for r in range(ROUNDS):
        for j in range(len(out)):
            out[j] += a[r] * b[j]


@njit(fastmath={"reassoc", "contract"})
def weighted_squares(a, b, positions, out):
    for r in range(ROUNDS):
        total = 0.0
        for j in range(len(a)):
            total += b[j] * (a[j] - b[r]) ** 2
        out[r] = total


@njit
def comparisons(labels, b, positions, counts):
    for _ in range(ROUNDS):
        for j in range(len(counts)):
            counts[j] += labels[j] == 3


@njit
def mixings(words, b, positions, out):
    """Hash ten words of a row, each depending on the previous one."""
    for r in range(ROUNDS):
        for i in range(0, len(words), 10):
            h = np.uint64(r)
            for j in range(i, min(i + 10, len(words))):
                h ^= words[j]
                h *= np.uint64(0xBF58476D1CE4E5B9)
                h ^= h >> np.uint64(31)
            out[i] = h


@njit
def turned_entries(tile, b, positions, out):
    for _ in range(ROUNDS):
        for i in range(len(tile)):
            for j in range(i):
                tile[i, j], tile[j, i] = tile[j, i], tile[i, j]


@njit
def _down(matrix):
    for column in range(0, matrix.shape[1], 40):
        for row in range(len(matrix)):
            matrix[row, column] = 1.0


def measured() -> dict[str, float]:
    """Seconds per operation, by kind."""
    rng = np.random.default_rng(0)
    a, b, out = 1.0 + rng.random(LENGTH), 1.0 + rng.random(LENGTH), np.zeros(LENGTH)
    # in the order in which microclusters are listed by base cluster
    positions = np.argsort(rng.integers(0, 8, LENGTH), kind="stable")
    points = rng.random((LENGTH, WIDTH))
    labels, counts = rng.integers(0, 30, 2 * LENGTH).astype(np.int8), np.zeros(2 * LENGTH, np.int8)
    words = rng.integers(0, 2**62, LENGTH).astype(np.uint64)

    def per_operation(call: Callable[..., None], first=a, last=out, each: int = 1) -> float:
        slots = positions.copy()
        call(first, b, slots, last)
        return best_of(lambda: call(first, b, slots, last)) / (ROUNDS * LENGTH * each)

    small = rng.random((20, WIDTH, WIDTH))
    narrow, matrix = rng.random((4_000, WIDTH)), np.zeros((4_000, 4_000))
    _down(matrix)
    return {
        "divisions": per_operation(divisions),
        "logarithms": per_operation(logarithms),
        "gathered reads": per_operation(gathered_reads),
        "scattered additions": per_operation(scattered_additions),
        "selections": per_operation(selections),
        "branches": per_operation(branches),
        "coordinates": per_operation(coordinates, each=2),
        "gathered coordinates": per_operation(gathered_coordinates, points, each=WIDTH),
        "gathered points": per_operation(gathered_points, points, each=WIDTH),
        "row products": per_operation(row_products),
        "weighted squares": per_operation(weighted_squares),
        "turned entries": per_operation(turned_entries, rng.random((64, 64)), each=2),
        "comparisons": per_operation(comparisons, labels, counts, 2),
        "mixings": per_operation(mixings, words, np.zeros(LENGTH, np.uint64)),
        "column writes": best_of(lambda: _down(matrix)) / (matrix.size / 40),
        "small eigenproblems": best_of(lambda: np.linalg.eigh(small)) / len(small),
        "narrow products": best_of(lambda: narrow.T @ narrow) / narrow.size / WIDTH,
    }
