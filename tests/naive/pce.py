"""Literal transcription of PCE on samples, for comparison with the compressed solver.

P. Zhou, L. Du, X. Liu, Z. Ling, X. Ji, X. Li, Y.-D. Shen, "Partial clustering ensemble", IEEE TKDE
2023. Every member is an n x k indicator matrix, the co-association is n x n, nothing is weighted.

``pce`` follows the paper where it is definite, with the choices that the solver documents: start
from the completed co-association, all members at once, H'H = (n/c) I unless ``unit_columns``.
``program`` follows the authors' program instead, replaying the random rows that it drew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class TwinRun:
    """What one run of the transcription ends with."""

    labels: Ints
    completed: Ints
    reliability: Floats
    alpha: Floats
    embedding: Floats
    objective_history: list[float] = field(default_factory=list)


def pce(
    labels: Ints,
    n_clusters: int,
    start_rows: Sequence[int],
    *,
    gamma: float = 1.0,
    rotation: bool = True,
    self_paced: bool = True,
    diversity: bool = True,
    projections: bool = False,
    unit_columns: bool = False,
    passes: int = 10,
) -> TwinRun:
    """Algorithm 1 on samples, from labels 0 .. k_i - 1 with -1 missing."""
    n, m = labels.shape
    missing = labels < 0
    length = 1.0 if unit_columns else np.sqrt(n / n_clusters)
    members, embedding = completed_start(labels, n_clusters, projections=projections)
    embedding = length * embedding
    alpha = np.full(m, 1 / m)
    v = np.ones(n)
    turns = [procrustes(y.T @ embedding) for y in members]
    turns = [
        turned(turn, y.T @ embedding, np.diag(y.T @ y))
        for turn, y in zip(turns, members, strict=True)
    ]
    partition, spin = best_rotation(embedding, start_rows)

    def mean() -> Floats:
        return sum(a * y @ t for a, y, t in zip(alpha, members, turns, strict=True))

    def mismatch() -> Floats:
        if diversity:
            return ((embedding - mean()) ** 2).sum(axis=1)
        own = sum(a**2 * (y @ t) ** 2 for a, y, t in zip(alpha, members, turns, strict=True))
        return (embedding**2 - 2 * embedding * mean() + own).sum(axis=1)

    def objective() -> float:
        value = float(v**2 @ mismatch()) - (age * v.sum() if self_paced else 0.0)
        return value + (gamma * ((partition - embedding @ spin) ** 2).sum() if rotation else 0.0)

    age = max(np.sort(2 * mismatch())[-(-n // 10) - 1], 1e-3)
    history = [objective()]
    for number in range(1, passes + 1):
        if self_paced:  # (6)
            v = np.array(
                [min(age / (2 * max(d, 1e-300)), 1.0) if d > 0 else 1.0 for d in mismatch()]
            )
        trust = np.diag(v**2)
        g = gamma if rotation else 0.0
        embedding = embedding_step(  # (7)
            embedding, v**2 + g, g * partition @ spin.T + trust @ mean(), length
        )
        residual = embedding - mean()  # (11)
        filled = []
        for i in range(m):
            target, price = (
                (residual + members[i] @ turns[i], 1.0) if diversity else (embedding, alpha[i])
            )
            cost = price / 2 * (turns[i] ** 2).sum(axis=1) - target @ turns[i].T
            chosen = np.eye(len(turns[i]))[cost.argmin(axis=1)]
            filled.append(np.where(missing[:, [i]], chosen, members[i]))
        members = filled
        alpha = member_weights(embedding, members, turns, trust, diversity)  # (12)
        residual = embedding - mean()  # (13)
        aligned = []
        for i in range(m):
            target, price = (
                (residual + members[i] @ turns[i], 1.0) if diversity else (embedding, alpha[i])
            )
            inertia = price * np.diag(members[i].T @ trust @ members[i])
            aligned.append(turned(turns[i], members[i].T @ trust @ target, inertia))
        turns = aligned
        if rotation:  # (14), (15)
            partition, spin = settled_rotation(embedding, spin)
        history.append(objective())
        if number <= 10:
            age *= 1.1
    if not rotation:
        partition, spin = best_rotation(embedding, start_rows)
    completed = np.stack([y.argmax(axis=1) for y in members], axis=1)
    return TwinRun(partition.argmax(axis=1), completed, v, alpha, embedding, history)


def program(labels: Ints, n_clusters: int, rows: Sequence[int], *, gamma: float = 1.0) -> Ints:
    """The authors' program: 20 passes, member after member, a fresh discretisation in each.

    ``rows`` are the rows at which its discretisations started. Members have n_clusters clusters.
    """
    n, m = labels.shape
    missing = labels < 0
    members = indicators(labels)
    embedding = np.linalg.eigh(sum(y @ y.T for y in members) / m)[1][:, ::-1][:, :n_clusters]
    alpha, v = np.full(m, 1 / m), np.ones(n)
    turns = [np.eye(n_clusters) for _ in range(m)]

    def mean(without: int = -1) -> Floats:
        return sum(alpha[i] * members[i] @ turns[i] for i in range(m) if i != without)

    def align() -> None:
        for i in range(m):
            turns[i] = procrustes(members[i].T @ np.diag(v**2) @ (embedding - mean(i)))

    align()
    unit = embedding / np.maximum(np.linalg.norm(embedding, axis=1, keepdims=True), 1e-300)
    partition, spin = settled_rotation(unit, spread(unit, rows[0]), rounds=20)
    age = np.sort(2 * ((embedding - mean()) ** 2).sum(axis=1))[n // 10 - 1] or 1e-3
    for number in range(1, 21):
        v = np.minimum(age / np.maximum(2 * ((embedding - mean()) ** 2).sum(axis=1), 1e-300), 1.0)
        trust = np.diag(v**2)
        embedding = embedding_step(
            embedding, v**2 + gamma, gamma * partition @ spin.T + trust @ mean(), 1.0, steps=300
        )
        for i in range(m):
            nearness = (embedding - mean(i)) @ turns[i].T
            chosen = np.eye(n_clusters)[nearness.argmax(axis=1)]
            members[i] = np.where(missing[:, [i]], chosen, members[i])
        alpha = member_weights(embedding, members, turns, trust, diversity=True)
        align()
        partition, spin = settled_rotation(embedding, spread(embedding, rows[number]), rounds=20)
        if number < 10:
            age *= 1.1
    return partition.argmax(axis=1)


# ---------------------------------------------------------------- start


def indicators(labels: Ints) -> list[Floats]:
    """Y^(i), one row a sample, zero where the label is missing."""
    return [
        np.where((column >= 0)[:, None], np.eye(column.max() + 1)[column], 0.0)
        for column in labels.T
    ]


def completed_start(
    labels: Ints, n_clusters: int, *, projections: bool = False, rounds: int = 10
) -> tuple[list[Floats], Floats]:
    """The members with their gaps filled, and the leading eigenvectors of their evidence.

    The evidence is the co-association, or the sum of the projections on the members' indicators.
    A gap holds shares of the member's clusters, predicted by the eigenvectors, and in the end the
    likeliest of them.
    """
    known = indicators(labels)
    members = shares = known
    for number in range(rounds + 1):
        evidence = sum(y @ (y / y.sum(axis=0) if projections else y).T for y in shares)
        vectors = np.linalg.eigh(evidence)[1][:, ::-1][:, :n_clusters]
        if number == rounds or not (labels < 0).any():
            break
        predicted = [np.maximum(vectors @ vectors.T @ y, 0.0) for y in shares]
        predicted = [f / np.maximum(f.sum(axis=1, keepdims=True), 1e-300) for f in predicted]
        gaps = (labels < 0).T[:, :, None]
        shares = [np.where(g, f, y) for g, f, y in zip(gaps, predicted, known, strict=True)]
        members = [np.eye(f.shape[1])[f.argmax(axis=1)] for f in shares]
    return members, vectors


# ---------------------------------------------------------------- the steps


def procrustes(matrix: Floats) -> Floats:
    """Theorem 3: U S' of the singular value decomposition."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def embedding_step(
    start: Floats, diagonal: Floats, linear: Floats, length: float, *, steps: int = 50
) -> Floats:
    """Problem (7) by H <- polar(C + (d I - D) H), which never raises it."""
    for _ in range(steps):
        moved = length * procrustes(linear + (diagonal.max() - diagonal)[:, None] * start)
        far = np.linalg.norm(moved - start)
        start = moved
        if far <= 1e-10 * length * np.sqrt(start.shape[1]):
            break
    return start


def cayley_step(point: Floats, diagonal: Floats, linear: Floats, size: float) -> Floats:
    """Theorem 1: H - M N H - M (I + N M)^-1 (N H - N M N H) along the curve of step ``size``."""
    gradient = diagonal[:, None] * point - linear
    m = np.hstack([size * gradient, -size * point])
    n = np.hstack([point, gradient]).T
    inner = np.linalg.solve(np.eye(len(n)) + n @ m, n @ point - n @ m @ n @ point)
    return point - m @ (n @ point) - m @ inner


def turned(turn: Floats, pull: Floats, inertia: Floats) -> Floats:
    """Theorem 3 where the rows of R^(i) are orthonormal, the quadratic on its columns otherwise."""
    if pull.shape[0] <= pull.shape[1]:
        return procrustes(pull)
    return embedding_step(turn, inertia, pull, 1.0, steps=10)


def member_weights(
    embedding: Floats, members: list[Floats], turns: list[Floats], trust: Floats, diversity: bool
) -> Floats:
    """Problem (12)."""
    embedded = [y @ t for y, t in zip(members, turns, strict=True)]
    gram = np.array([[np.trace(a.T @ trust @ b) for b in embedded] for a in embedded])
    linear = np.array([np.trace(a.T @ trust @ embedding) for a in embedded])
    if not diversity:
        gram = np.diag(np.diag(gram))
    return simplex_qp(gram, linear)


def simplex_qp(gram: Floats, linear: Floats) -> Floats:
    """min x'Gx/2 - f'x on the simplex: the best of the stationary points of all its faces."""
    m = len(linear)
    best, least = np.eye(m)[0], np.inf
    for size in range(1, m + 1):
        faces = np.array(list(combinations(range(m), size)))
        system = np.zeros((len(faces), size + 1, size + 1))
        system[:, :size, :size] = gram[faces[:, :, None], faces[:, None, :]]
        # the least norm among equals, as a slight ridge gives it
        system[:, range(size), range(size)] += 1e-9 * max(np.abs(gram).max(), np.abs(linear).max())
        system[:, :size, size] = system[:, size, :size] = 1.0
        right = np.concatenate([linear[faces], np.ones((len(faces), 1))], axis=1)
        points = np.linalg.solve(system, right[:, :, None])[:, :size, 0]
        for face, point in zip(faces, points, strict=True):
            if (point >= 0).all():
                x = np.zeros(m)
                x[face] = point
                value = x @ gram @ x / 2 - linear @ x
                if value < least:
                    best, least = x, value
    return best


def spread(rows: Floats, first: int) -> Floats:
    """Rows as columns of a first rotation, each the least parallel to those before it."""
    chosen = [rows[first]]
    while len(chosen) < rows.shape[1]:
        parallel = sum(np.abs(rows @ one) for one in chosen)
        chosen.append(rows[np.argmin(parallel)])
    return np.array(chosen).T


def settled_rotation(embedding: Floats, spin: Floats, rounds: int = 100) -> tuple[Floats, Floats]:
    """(15) and (14) in turn until the distance of Y and H R settles."""
    c = embedding.shape[1]
    last = np.inf
    partition = np.eye(c)[(embedding @ spin).argmax(axis=1)]
    for _ in range(rounds):
        spin = procrustes(embedding.T @ partition)
        partition = np.eye(c)[(embedding @ spin).argmax(axis=1)]
        distance = -float((partition * (embedding @ spin)).sum())
        if last - distance <= 1e-12 * abs(distance):
            break
        last = distance
    return partition, spin


def best_rotation(embedding: Floats, start_rows: Sequence[int]) -> tuple[Floats, Floats]:
    """The discretisation nearest to the embedding, of those started at the given rows."""
    unit = embedding / np.linalg.norm(embedding, axis=1, keepdims=True)
    found = [settled_rotation(embedding, spread(unit, row)) for row in start_rows]
    return min(
        found, key=lambda pair: round(float(((pair[0] - embedding @ pair[1]) ** 2).sum()), 7)
    )
