"""RSEC literally: every matrix n x n over the samples, every step a full decomposition.

Z, E, J and both multipliers are held whole; nothing is known of microclusters or of the range of S.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.cluster import KMeans


@dataclass
class NaiveRSEC:
    """What the literal run ends with, all at sample level."""

    Z: np.ndarray
    J: np.ndarray
    E: np.ndarray
    S: np.ndarray
    W: np.ndarray | None
    H: np.ndarray
    residuals: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)


def coassociation(labels: np.ndarray) -> np.ndarray:
    """Share of all members that label both samples of a pair alike."""
    n, m = labels.shape
    S = np.zeros((n, n))
    for i in range(m):
        for p in range(n):
            if labels[p, i] >= 0:
                S[p] += labels[:, i] == labels[p, i]
    return S / m


def leading(W: np.ndarray, c: int) -> np.ndarray:
    """Leading eigenvectors of D^-1/2 W D^-1/2; zeros left out, a tie at the last shared out."""
    d = W.sum(axis=1)
    values, vectors = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))
    values, vectors = values[::-1], vectors[:, ::-1]
    positive = values > 1e-10
    values, vectors = values[positive], vectors[:, positive]
    if len(values) <= c:
        return vectors
    tied = np.abs(values - values[c - 1]) <= 1e-9
    above = np.arange(len(values)) < np.flatnonzero(tied)[0]
    vectors[:, tied] *= np.sqrt((c - above.sum()) / tied.sum())
    return vectors[:, above | tied]


def affinity(J: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Fourth powers of the cosines between the rows of U S^1/2."""
    U, s, _ = np.linalg.svd((J + J.T) / 2 + H @ H.T)
    kept = s > 1e-4 * s[0]
    M = U[:, kept] * np.sqrt(s[kept])
    M /= np.linalg.norm(M, axis=1, keepdims=True)
    return (M @ M.T) ** 4


def rsec(
    labels: np.ndarray, c: int, lam1: float, lam2: float, *, passes: int, tol: float = 0.0
) -> NaiveRSEC:
    """Augmented Lagrangian passes."""
    S = coassociation(labels)
    n = len(S)
    mu = 1.5 / np.linalg.norm(S, 2)
    Z, E, Y1, Y2, G = (np.zeros((n, n)) for _ in range(5))
    H, W = np.zeros((n, 0)), None
    result = NaiveRSEC(Z, Z, E, S, W, H)
    for _ in range(passes):
        U, s, Vt = np.linalg.svd(Z + Y2 / mu)
        s = np.maximum(s - lam1 / mu, 0)
        J = (U * s) @ Vt
        Z = np.linalg.solve(S.T @ S + np.eye(n), S.T @ S + J - S.T @ E + (S.T @ Y1 - Y2 + G) / mu)
        Q = S - S @ Z + Y1 / mu
        E = np.zeros((n, n))
        for p in range(n):
            length = np.linalg.norm(Q[:, p])
            if length > lam2 / mu:
                E[:, p] = (1 - lam2 / mu / length) * Q[:, p]
        if s.any():
            W = affinity(J, H)
            H = leading(W, c)
            d = W.sum(axis=1)
            F = H / np.sqrt(d)[:, None]
            G = F @ F.T
            rough = np.trace(H.T @ H) - np.trace(F.T @ W @ F)
        else:
            W, H, G, rough = None, np.zeros((n, 0)), np.zeros((n, n)), 0.0
        unfit, apart = S - S @ Z - E, Z - J
        Y1 = Y1 + mu * unfit
        Y2 = Y2 + mu * apart
        mu = min(1.1 * mu, 1e10)
        lengths = [np.linalg.norm(unfit, axis=0).max(), np.linalg.norm(apart, axis=0).max()]
        result.residuals.append(float(max(lengths)))
        errors = np.linalg.norm(E, axis=0).sum()
        result.objectives.append(float(rough + lam1 * s.sum() + lam2 * errors))
        result.ranks.append(int((s > 0).sum()))
        if result.residuals[-1] < tol:
            break
    result.Z, result.J, result.E, result.W, result.H = Z, J, E, W, H
    return result


def partition(rows: np.ndarray, c: int) -> np.ndarray:
    """k-means on unit rows."""
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return KMeans(c, n_init=20, random_state=0).fit_predict(units)
