"""EC-CMS and the similarities it starts from, written straight from the paper with n x n matrices.

Jia, Tao, Wang, Wang: Ensemble Clustering via Co-association Matrix Self-enhancement. Numbers in
the docstrings are the paper's equations. Every sample is a row of its own: no weights, no
microclusters (but for probability trajectories, which are defined on them).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

GAMMA_1 = GAMMA_2 = 1.0


class Enhanced(NamedTuple):
    """All matrices of Algorithm 1 at its end, and what its stopping rule saw in each pass."""

    C: np.ndarray
    E: np.ndarray
    F: np.ndarray
    Y1: np.ndarray
    Y2: np.ndarray
    changes: list[list[float]]
    converged: bool

    @property
    def n_iter(self):
        return len(self.changes)

    @property
    def similarity(self):
        """The symmetric part of C within its bounds, which is what gets clustered."""
        return np.clip((self.C + self.C.T) / 2, 0.0, 1.0)


def together_and_observed(labels):
    """How many members put a pair into one cluster, and how many saw both of its samples."""
    labels = np.asarray(labels)
    n, m = labels.shape
    together = np.zeros((n, n), dtype=int)
    observed = np.zeros((n, n), dtype=int)
    for j in range(m):
        seen = labels[:, j] >= 0
        both = np.outer(seen, seen)
        observed += both
        together += both & (labels[:, j][:, None] == labels[:, j][None, :])
    return together, observed


def co_association(labels):
    """Eq. (1): the share of the members that saw both samples; 0 where none did, 1 for itself."""
    together, observed = together_and_observed(labels)
    ca = together / np.maximum(observed, 1)
    np.fill_diagonal(ca, 1.0)
    return ca


def cluster_certainty(labels, theta=0.4):
    """ECI of every base cluster, as a list with one array (by label) for each member.

    A member that saw nobody of a cluster says nothing about it: the entropy is scaled up by
    the share of members that did.
    """
    labels = np.asarray(labels)
    m = labels.shape[1]
    certainty = []
    for i in range(m):
        of_member = np.zeros(labels[:, i].max() + 1)
        for s in range(len(of_member)):
            inside = labels[:, i] == s
            uncertainty, used = 0.0, 0
            for j in range(m):
                seen = labels[inside, j]
                seen = seen[seen >= 0]
                if len(seen) == 0:
                    continue
                used += 1
                for k in np.unique(seen):
                    p = np.mean(seen == k)
                    uncertainty -= p * math.log2(p)
            if used:
                of_member[s] = math.exp(-uncertainty * m / used / (theta * m))
        certainty.append(of_member)
    return certainty


def locally_weighted(labels, theta=0.4):
    """LWCA (section II-A): co-association in which a base cluster counts with its ECI."""
    labels = np.asarray(labels)
    n, m = labels.shape
    certainty = cluster_certainty(labels, theta)
    _, observed = together_and_observed(labels)
    total = np.zeros((n, n))
    for j in range(m):
        for s, weight in enumerate(certainty[j]):
            inside = (labels[:, j] == s).astype(float)
            total += weight * np.outer(inside, inside)
    lwca = total / np.maximum(observed, 1)
    np.fill_diagonal(lwca, 1.0)
    return lwca


def high_confidence(labels, alpha):
    """Eq. (2): co-association where it reaches alpha, with an empty diagonal."""
    together, observed = together_and_observed(labels)
    enough = np.maximum(1, np.ceil(alpha * observed - 1e-9))
    high = np.where(together >= enough, together / np.maximum(observed, 1), 0.0)
    np.fill_diagonal(high, 0.0)
    return high


def enhance(
    A,
    H,
    lam,
    *,
    tol=1e-2,
    max_iter=100,
    propagate=True,
    keep_confident=True,
    squared_norms=False,
    pin_diagonal=False,
):
    """Algorithm 1 on a similarity A and a high-confidence matrix H.

    ``squared_norms`` is the stopping rule as the paper prints it; the authors' program and the
    published numbers use plain norms. ``pin_diagonal`` puts the diagonal into Omega as the paper
    does; the program leaves it out.
    """
    n = len(A)
    omega = H > 0
    if pin_diagonal:
        omega = omega | np.eye(n, dtype=bool)
    if not keep_confident:
        omega = np.zeros((n, n), dtype=bool)
    Phi = np.diag(H.sum(axis=1)) - H if propagate else np.zeros((n, n))
    inverse = np.linalg.inv(2 * Phi + (GAMMA_1 + GAMMA_2) * np.eye(n))
    C, E, F = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    Y1, Y2 = A - C - E, C - F
    changes = []
    converged = False
    while not converged and len(changes) < max_iter:
        old = C, E, F, Y1, Y2
        P1 = A - E + Y1 / GAMMA_1
        P2 = F - Y2 / GAMMA_2
        C = inverse @ (GAMMA_1 * P1 + GAMMA_2 * P2)  # (9)
        E = (GAMMA_1 * (A - C) + Y1) / (lam + GAMMA_1)  # (11)
        E[omega] = 0.0
        P3 = C + Y2 / GAMMA_2
        F = np.clip((P3 + P3.T) / 2, 0.0, 1.0)  # (13)
        Y1 = Y1 + GAMMA_1 * (A - C - E)  # (14)
        Y2 = Y2 + GAMMA_2 * (C - F)
        changes.append(
            [
                relative_change(a, b, squared_norms)
                for a, b in zip((C, E, F, Y1, Y2), old, strict=True)
            ]
        )
        converged = np.nanmax(changes[-1]) < tol
    return Enhanced(C, E, F, Y1, Y2, changes, bool(converged))


def relative_change(new, old, squared=False):
    """sigma of Algorithm 1; 0/0 is not a number and the rule passes over it."""
    change, size = np.linalg.norm(new - old), np.linalg.norm(old)
    if size == 0:
        return np.nan if change == 0 else np.inf
    return (change / size) ** (2 if squared else 1)


def objective(C, E, H, lam, propagate=True):
    """tr(C' Phi C) + lambda/2 |E|^2 of problem (5)."""
    Phi = np.diag(H.sum(axis=1)) - H
    smoothness = np.trace(C.T @ Phi @ C) if propagate else 0.0
    return smoothness + lam / 2 * np.sum(E**2)


def average_link(similarity, n_clusters):
    """Average link on 1 - similarity, its last n_clusters - 1 merges undone."""
    n = len(similarity)
    if n == 1:
        return np.zeros(1, dtype=int)
    distance = 1.0 - np.asarray(similarity)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    return cut_tree(tree, n_clusters=n_clusters).ravel()


def ec_cms(labels, n_clusters, *, alpha=0.8, lam=0.4, theta=0.4, lower_triangle=False, **rules):
    """Labels as the paper makes them from LWCA.

    ``lower_triangle`` clusters the lower triangle of C, as the authors' program does, in place
    of its symmetric part.
    """
    run = enhance(locally_weighted(labels, theta), high_confidence(labels, alpha), lam, **rules)
    similarity = run.similarity
    if lower_triangle:
        similarity = np.tril(run.C, -1)
        similarity = similarity + similarity.T
    return average_link(similarity, n_clusters)


def optimality_gap(C, A, H, lam):
    """How far C is from the Karush-Kuhn-Tucker point of problem (5), Omega without diagonal.

    With E = A - C the derivative of the objective along symmetric C is 2 sym(Phi C) - lambda E.
    It must vanish where C is free and inside (0, 1), may not be negative at 0 nor positive at 1.
    """
    Phi = np.diag(H.sum(axis=1)) - H
    gradient = Phi @ C + (Phi @ C).T - lam * (A - C)
    stationary = np.where(
        C <= 0, np.minimum(gradient, 0), np.where(C >= 1, np.maximum(gradient, 0), gradient)
    )
    omega = H > 0
    return {
        "stationarity": np.abs(stationary[~omega]).max(initial=0.0),
        "confident": np.abs((C - A)[omega]).max(initial=0.0),
        "symmetry": np.abs(C - C.T).max(),
        "box": max(-C.min(), C.max() - 1.0, 0.0),
    }


def probability_trajectories(similarity, sizes, n_neighbours, n_steps):
    """PTS (section II-B) of microclusters with the given co-association and sizes."""
    w = np.array(similarity, dtype=float)
    count = len(w)
    np.fill_diagonal(w, 0.0)
    kept = np.zeros((count, count), dtype=bool)
    for a in range(count):
        others = np.sort(np.delete(w[a], a))[::-1]
        kth = others[min(n_neighbours, len(others)) - 1] if len(others) else np.inf
        kept[a] = w[a] >= kth
    w[~(kept | kept.T)] = 0.0
    walk = np.zeros((count, count))
    for a in range(count):
        total = sum(sizes[k] * w[a, k] for k in range(count) if k != a)
        for b in range(count):
            if total > 0:
                walk[a, b] = sizes[b] * w[a, b] / total
    steps = [walk]
    for _ in range(n_steps - 1):
        steps.append(steps[-1] @ walk)
    trajectory = np.concatenate(steps, axis=1)
    pts = np.zeros((count, count))
    for a in range(count):
        for b in range(count):
            lengths = np.linalg.norm(trajectory[a]) * np.linalg.norm(trajectory[b])
            if lengths > 0:
                pts[a, b] = trajectory[a] @ trajectory[b] / lengths
    np.fill_diagonal(pts, 1.0)
    return pts
