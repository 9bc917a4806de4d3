"""Late fusion of incomplete members on samples: n x k_p matrices, missing rows filled in place."""

from __future__ import annotations

import numpy as np


def polar(M):
    """U V' over the singular values that are not rounding."""
    U, s, Vt = np.linalg.svd(M, full_matrices=False)
    held = s > 1e-10 * s.max(initial=0.0)
    return U[:, held] @ Vt[held]


def indicators(labels):
    """H_p with unit columns, zero rows where a label is missing."""
    out = []
    for column in labels.T:
        Y = (column[:, None] == np.arange(column.max() + 1)).astype(float)
        out.append(Y / np.sqrt(Y.sum(axis=0)))
    return out


def guide(H, c):
    """c leading eigenvectors of the sum of H_p H_p'."""
    values, vectors = np.linalg.eigh(sum(h @ h.T for h in H))
    assert values[-c] - values[-c - 1] > 1e-8, "a tie: the eigenvectors are not unique"
    return vectors[:, ::-1][:, :c]


def combine(H, W, beta, weights, lam, H0):
    total = lam * H0
    for h, w, b, v in zip(H, W, beta, weights, strict=True):
        total = total + v * b * h @ w
    return total


def update(labels, H, W, weights, G):
    """Rotations, missing rows and weights for a consensus G; H is changed in place."""
    W = [polar(h.T @ G) for h in H]
    for p, h in enumerate(H):
        rows = labels[:, p] < 0
        if rows.any():
            h[rows] = polar(G[rows] @ W[p].T)
    f = np.array([max(np.trace(G.T @ h @ w), 0.0) for h, w in zip(H, W, strict=True)])
    return W, f / np.sqrt(weights @ f**2)


def imvc(labels, c, lam, weights, H0, passes):
    """H, the weights and the objective after each pass."""
    H = indicators(labels)
    W = [polar(h.T @ H0) for h in H]
    beta = np.full(len(H), weights.sum() ** -0.5)
    objectives = []
    for _ in range(passes):
        G = polar(combine(H, W, beta, weights, lam, H0))
        W, beta = update(labels, H, W, weights, G)
        objectives.append(np.trace(G.T @ combine(H, W, beta, weights, lam, H0)))
    return G, beta, objectives


def osimvc(labels, C, lam, weights, H0, passes):
    """The partition, the weights and the objective after each pass."""
    H = indicators(labels)
    W = [polar(h.T @ H0) for h in H]
    beta = np.full(len(H), weights.sum() ** -0.5)
    T = combine(H, W, beta, weights, lam, H0)
    objectives = []
    for _ in range(passes):
        scores = T @ C.T
        y = np.array(
            [int(np.flatnonzero(row >= row.max() - 1e-10 * np.abs(row).max())[0]) for row in scores]
        )
        Y = np.eye(len(C))[y]
        C = polar(Y.T @ T)
        W, beta = update(labels, H, W, weights, Y @ C)
        T = combine(H, W, beta, weights, lam, H0)
        objectives.append(np.trace((Y @ C).T @ T))
    return y, beta, objectives
