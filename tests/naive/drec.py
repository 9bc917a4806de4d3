"""DREC literally: one linear system a column, n x n matrices, loops.

Z is solved column by column from ``(X'X + lam / d I) z = X'x``; nothing is decomposed but the final Z. As
the method is defined, identical label rows are one object, each counted once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.cluster import KMeans


@dataclass
class NaiveDREC:
    """What the literal run ends with; ``inverse`` says which distinct row each sample is."""

    affinity: np.ndarray
    residual: np.ndarray
    inverse: np.ndarray
    objectives: list[float] = field(default_factory=list)


def indicators(rows: np.ndarray) -> np.ndarray:
    """X, k x N: which base clusters each row lies in; a missing label is in none."""
    columns = []
    for member in rows.T:
        for label in np.unique(member[member >= 0]):
            columns.append((member == label).astype(float))
    return np.array(columns)


def spectral_rows(W: np.ndarray, c: int) -> np.ndarray:
    """Unit rows of the c leading eigenvectors of D^-1/2 W D^-1/2, zero eigenvalues left out."""
    d = W.sum(axis=1)
    values, vectors = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))
    H = vectors[:, values > 1e-10][:, -c:]
    return H / np.linalg.norm(H, axis=1, keepdims=True)


def partition(affinity: np.ndarray, c: int) -> np.ndarray:
    """Spectral clustering of the affinity."""
    return KMeans(c, n_init=100, random_state=0).fit_predict(spectral_rows(affinity, c))


def drec(labels: np.ndarray, lam: float, *, rounds: int = 5) -> NaiveDREC:
    """Reweighted ridge regressions and the affinity that comes of them."""
    rows, inverse = np.unique(labels, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    X = indicators(rows)
    n = X.shape[1]
    Z = np.zeros((n, n))
    d = np.ones(n)
    objectives = []
    for _ in range(rounds):
        for i in range(n):
            Z[:, i] = np.linalg.solve(X.T @ X + lam / d[i] * np.eye(n), X.T @ X[:, i])
        residual = np.array([np.linalg.norm(X[:, i] - X @ Z[:, i]) for i in range(n)])
        d = 1 / (2 * np.sqrt(residual**2 + 1e-10))
        objectives.append(float(np.sqrt(residual**2 + 1e-10).sum() + lam * (Z**2).sum()))
    U, s, _ = np.linalg.svd(Z)
    kept = s > 1e-4 * s[0]
    M = U[:, kept] * np.sqrt(s[kept])
    M /= np.linalg.norm(M, axis=1, keepdims=True)
    W = (M @ M.T) ** 4
    lengths = np.linalg.norm(X, axis=0)
    return NaiveDREC(W, residual / lengths, inverse, objectives)
