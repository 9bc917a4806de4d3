"""Non-negative factorisation of the n x n co-association, updates as they are written."""

from __future__ import annotations

import numpy as np


def coassociation(labels, member_weight):
    """Weight of the members that put two samples together, over that of all; no label, no agreement."""
    n = len(labels)
    A = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            same = (labels[i] == labels[j]) & (labels[i] >= 0)
            A[i, j] = member_weight[same].sum() / member_weight.sum()
    return A


def nmfc(A, Q, S, passes):
    """Both updates, and the squared error after each pass."""
    errors = []
    for _ in range(passes):
        Q = Q * np.sqrt((A @ Q @ S) / (Q @ Q.T @ A @ Q @ S + 1e-8))
        S = S * np.sqrt((Q.T @ A @ Q) / (Q.T @ Q @ S @ Q.T @ Q + 1e-8))
        errors.append(((A - Q @ S @ Q.T) ** 2).sum())
    return Q, S, errors
