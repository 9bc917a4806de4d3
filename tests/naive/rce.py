"""RCE literally: one n x n matrix of errors a member, every pair in a loop, T over the samples.

Labels are an n x m integer array, -1 where a member has no label for the sample; a member's terms run over
the pairs of which it saw both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

EPS = 2.0**-52


@dataclass
class NaiveRCE:
    """What the literal run ends with."""

    X: np.ndarray
    objectives: list[float] = field(default_factory=list)


def kl(x: float, y: float) -> float:
    """Divergence of two coins."""
    first = x * np.log(x / max(y, EPS)) if x > 0 else 0.0
    second = (1 - x) * np.log((1 - x) / max(1 - y, EPS)) if x < 1 else 0.0
    return float(first + second)


def best_error(a: float, b: float, answer: int, lam: float) -> float:
    """The better of the two candidates for the error of a pair and its mirror image."""
    up = (1 + lam * (2 * answer - 1) - np.sqrt((1 - lam) ** 2 + 2 * lam * (a + b))) / (2 * lam)
    down = (lam * (2 * answer - 1) - 1 + np.sqrt((1 + lam) ** 2 - 2 * lam * (a + b))) / (2 * lam)
    up = max(0.0, up)
    down = min(0.0, down)
    up = 0.0 if up > answer + 1e-12 else min(up, float(answer))
    down = 0.0 if down < answer - 1 - 1e-12 else max(down, float(answer - 1))

    def cost(x: float) -> float:
        return kl(a, answer - x) + kl(b, answer - x) + 2 * lam * abs(x)

    return up if cost(up) <= cost(down) else down


def errors(X: np.ndarray, answers: np.ndarray, seen: np.ndarray, lam: float) -> np.ndarray:
    """E, m x n x n."""
    m, n, _ = answers.shape
    E = np.zeros((m, n, n))
    for i in range(m):
        for p in range(n):
            for q in range(n):
                if seen[i, p, q]:
                    E[i, p, q] = best_error(X[p, q], X[q, p], int(answers[i, p, q]), lam)
    return E


def rce(
    labels: np.ndarray, lam1: float, lam2: float, *, passes: int = 20, steps: int = 20
) -> NaiveRCE:
    """The passes, without the spectral clustering that follows."""
    n, m = labels.shape
    there = labels.T >= 0
    seen = there[:, :, None] & there[:, None, :]
    answers = seen & (labels.T[:, :, None] == labels.T[:, None, :])
    count = seen.sum(axis=0)
    X = np.divide(answers.sum(axis=0), count, out=np.zeros((n, n)), where=count > 0)
    X[(labels[:, None, :] == labels[None, :, :]).all(axis=2)] = 1.0
    T = np.zeros((n, n))
    result = NaiveRCE(X)
    for _ in range(passes):
        E = errors(X, answers, seen, lam1)
        C = np.zeros((n, n))
        for i in range(m):
            ratio = np.fmax(1 - answers[i] + E[i], EPS) / np.fmax(answers[i] - E[i], EPS)
            C += np.where(seen[i], np.log(ratio), 0.0)
        D = lam2 * T
        for _ in range(steps):
            low, high = np.fmax(X, EPS), np.fmax(1 - X, EPS)
            G = 2 * count / low + 2 * count / high + np.fmax(C, 0) / low
            G += 2 * (np.fmax(D, 0) @ X) / low
            B = count * np.log(low) - count * np.log(high) - 2 * count / high
            H = np.fmax(-C, 0) * X + 2 * (np.fmax(-D, 0) @ X) * X
            free = (X > 0) & (X < 1)
            root = (-B[free] + np.sqrt(B[free] ** 2 + 4 * G[free] * H[free])) / (2 * G[free])
            X = X.copy()
            X[free] = np.fmin(root, 1.0)
        w, V = np.linalg.eigh(X @ X.T)
        T = (V / np.sqrt(np.fmax(w, 0) + 1e-3)) @ V.T
        result.objectives.append(objective(X, answers, seen, lam1, lam2))
    result.X = (X + X.T) / 2
    return result


def objective(X, answers, seen, lam1, lam2) -> float:
    """At the best errors for X."""
    E = errors(X, answers, seen, lam1)
    total = lam2 * np.linalg.norm(X, "nuc")
    for i, p, q in np.argwhere(seen):
        total += kl(X[p, q], answers[i, p, q] - E[i, p, q]) + lam1 * abs(E[i, p, q])
    return float(total)
