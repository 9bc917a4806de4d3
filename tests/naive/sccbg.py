"""Self-paced consensus with a bipartite graph, on samples: dense k x k programs, one a sample."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components


def incidence(labels):
    """B and which of its entries are known, n x k."""
    blocks, known = [], []
    for column in labels.T:
        k = column.max() + 1
        blocks.append((column[:, None] == np.arange(k)).astype(float))
        known.append(np.repeat((column >= 0).astype(float)[:, None], k, axis=1))
    return np.hstack(blocks), np.hstack(known)


def pace(w, s, b, known, C, gamma, age, sweeps=1000, tol=1e-9):
    """The W program of a row: coordinates in turn on the dense matrix."""
    D = (s[:, None] - s[None]) ** 2
    H = np.diag(known * (s - b) ** 2) + gamma * C * D
    w = w.copy()
    for _ in range(sweeps):
        largest = 0.0
        for p in range(len(w)):
            rest = H[p] @ w - H[p, p] * w[p]
            slack = age / 2 - rest
            if abs(slack) <= 1e-12 * age / 2:
                slack = 0.0
            if H[p, p] > 0:
                new = min(max(slack / H[p, p], 0.0), 1.0)
            else:
                new = 1.0 if slack > 0 else 0.0 if slack < 0 else w[p]
            largest = max(largest, abs(new - w[p]))
            w[p] = new
        if largest <= tol:
            break
    return w


def program(w, b, known, C, gamma, pull):
    """Matrix and vector of the S program s'Hs - 2 q's of a row."""
    E = C * np.outer(w, w)
    H = np.diag(known * w**2) + 2 * gamma * (np.diag(E.sum(axis=1)) - E)
    return H, known * w**2 * b - pull / 2


def box_minimum(H, q, s):
    """Minimiser of s'Hs - 2 q's over the unit box, by guessing bounds until they are consistent."""
    s = s.copy()
    flat = np.diag(H) <= 0
    s[flat & (q < 0)] = 0.0
    s[flat & (q > 0)] = 1.0
    low, high = np.zeros(len(s), bool), np.zeros(len(s), bool)
    for _ in range(10_000):
        free = ~low & ~high & ~flat
        s[low], s[high] = 0.0, 1.0
        fixed = ~free
        step = np.zeros(len(s))
        if free.any():
            rest = q[free] - H[np.ix_(free, fixed)] @ s[fixed]
            step[free] = np.linalg.solve(H[np.ix_(free, free)], rest) - s[free]
        share, hit = 1.0, None
        for p in np.flatnonzero(free):
            room = s[p] if step[p] < 0 else 1 - s[p]
            if abs(step[p]) > 0 and room / abs(step[p]) < share:
                share, hit = room / abs(step[p]), p
        s += share * step
        if hit is not None:
            (low if step[hit] < 0 else high)[hit] = True
            continue
        slope = H @ s - q
        wrong = np.where(low, -slope, np.where(high, slope, -np.inf))
        if wrong.max() <= 1e-12:
            return s
        low[np.argmax(wrong)] = high[np.argmax(wrong)] = False
    raise AssertionError("the active set cycles")


def spectrum(S, c):
    """U / sqrt(d) and V / sqrt(d), with all vectors that tie at the c-th, each with its share."""
    d, e = S.sum(axis=1), S.sum(axis=0)
    left = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    right = np.where(e > 0, 1 / np.sqrt(np.where(e > 0, e, 1)), 0)
    U, sigma, Vt = np.linalg.svd(left[:, None] * S * right, full_matrices=False)
    kept = sigma**2 > 1e-10
    U, sigma, Vt = U[:, kept], sigma[kept], Vt[kept]
    if len(sigma) > c:
        inside = sigma**2 >= sigma[c - 1] ** 2 - 1e-9
        U, sigma, Vt = U[:, inside], sigma[inside], Vt[inside]
        ties = sigma**2 <= sigma[c - 1] ** 2 + 1e-9
        share = np.where(ties, (c - (~ties).sum()) / ties.sum(), 1.0)
    else:
        share = np.ones(len(sigma))
    scale = np.sqrt(share / 2)
    return left[:, None] * U * scale, right[:, None] * Vt.T * scale


def parts(S):
    """Connected part of each sample."""
    n, k = S.shape
    whole = np.zeros((n + k, n + k))
    whole[:n, n:] = S > 0
    return connected_components(whole, directed=False)[1][:n]


def count_parts(S, labels):
    """Connected parts; samples without entries count by their distinct label rows."""
    empty = S.sum(axis=1) == 0
    return len(np.unique(parts(S)[~empty])) + len(np.unique(labels[empty], axis=0))


def sccbg(labels, c, gamma, passes=20):
    """S, W and the number of parts after each pass."""
    B, known = incidence(labels)
    C = B.T @ B
    S, W = B.copy(), np.zeros_like(B)
    age, rho = 0.5, 1.0
    U, V = spectrum(S, c)
    counts = []
    for _ in range(passes):
        for i in range(len(S)):
            if not (W >= 1).all():
                W[i] = pace(W[i], S[i], B[i], known[i], C, gamma, age)
        for i in range(len(S)):
            pull = ((U[i] - V) ** 2).sum(axis=1)
            pull[pull <= 1e-12 * ((U[i] ** 2).sum() + (V**2).sum(axis=1))] = 0.0
            pull *= rho
            S[i] = box_minimum(*program(W[i], B[i], known[i], C, gamma, pull), S[i])
        S[S < 1e-4] = 0.0
        U, V = spectrum(S, c)
        counts.append(count_parts(S, labels))
        if counts[-1] == c:
            break
        rho *= 2.0 if counts[-1] < c else 0.5
        age *= 2.0
    return S, W, counts
