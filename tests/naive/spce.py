"""SPCE straight from the paper: n x n matrices, one loop per equation, no weights, no compression.

Equation numbers are those of Zhou, Du, Liu, Shen, Fan and Li, "Self-Paced Clustering Ensemble" (2021).
Labels are an n x m integer array, -1 where a member has no label for the sample. With missing labels
every sum over members runs over the members that observed both samples, scaled by m over their
number, and a pair is certain to belong together only if all members observed and joined it; without
missing labels that is the paper's own objective.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse.csgraph import connected_components

# within this of its threshold a link may be kept or cut at the same cost; it is cut
EQUAL = 1e-10


@dataclass
class NaiveSPCE:
    """What the literal run ends with, all at sample level."""

    labels: np.ndarray
    consensus: np.ndarray
    pair_weights: np.ndarray
    alpha: np.ndarray
    penalty: float
    n_components: int
    objectives: list[tuple[float, float]] = field(default_factory=list)
    components: list[int] = field(default_factory=list)


def connectivity(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """S^(i) and the mask of observed pairs, both m x n x n."""
    n, m = labels.shape
    together = np.zeros((m, n, n), dtype=bool)
    observed = np.zeros((m, n, n), dtype=bool)
    for i in range(m):
        for p in range(n):
            if labels[p, i] < 0:
                continue
            seen = labels[:, i] >= 0
            observed[i, p, seen] = True
            together[i, p, seen & (labels[:, i] == labels[p, i])] = True
    return together, observed


def laplacian(S: np.ndarray) -> np.ndarray:
    """L = D - (S + S')/2."""
    symmetric = (S + S.T) / 2
    return np.diag(symmetric.sum(axis=1)) - symmetric


def embedding(S: np.ndarray, c: int, labels: np.ndarray) -> np.ndarray:
    """Eq. (18), with a rule for what it leaves open.

    Identical samples get identical rows: vectors that tell them apart are lifted above all others.
    Where the c-th eigenvalue is repeated, its vectors share the places left to them.
    """
    same = (labels[:, None, :] == labels[None, :, :]).all(axis=2).astype(float)
    averaging = same / same.sum(axis=1, keepdims=True)
    L = averaging @ laplacian(S) @ averaging + 4 * len(S) * (np.eye(len(S)) - averaging)
    values, F = np.linalg.eigh((L + L.T) / 2)
    tied = np.abs(values - values[c - 1]) <= 1e-10 * S.sum(axis=1).max()
    below = values < values[c - 1]
    F[:, tied] *= np.sqrt((c - (below & ~tied).sum()) / tied.sum())
    return F[:, below | tied]


def smallest_eigenvectors(S: np.ndarray, c: int) -> np.ndarray:
    """Eq. (18) as any eigensolver answers it."""
    return np.linalg.eigh(laplacian(S))[1][:, :c]


def indicators(components: np.ndarray) -> np.ndarray:
    """Orthonormal null vectors of the Laplacian of a graph with these components."""
    F = (components[:, None] == np.unique(components)[None, :]).astype(float)
    return F / np.sqrt(F.sum(axis=0))


def squared_distances(F: np.ndarray) -> np.ndarray:
    """|y_p - y_q|^2 for every pair of rows."""
    return ((F[:, None, :] - F[None, :, :]) ** 2).sum(axis=2)


def spce(
    labels: np.ndarray,
    c: int,
    theta: float,
    *,
    self_paced: bool | str = True,
    stage_passes: int = 5,
    last_passes: int = 20,
    authors_rank_test: bool = False,
) -> NaiveSPCE:
    """Algorithm 1.

    ``authors_rank_test`` compares sums of eigenvalues with 1e-9 and 1e-11 and takes every F from the
    eigensolver, as the authors' program does.
    """
    n, m = labels.shape
    together, observed = connectivity(labels)
    seen = observed.sum(axis=0)
    scale = np.divide(m, seen, out=np.zeros((n, n)), where=seen > 0)
    share = np.divide(together.sum(axis=0), seen, out=np.zeros((n, n)), where=seen > 0)  # eq. (2)
    identical = (labels[:, None, :] == labels[None, :, :]).all(axis=2)
    always, never = (together.sum(axis=0) == m) | identical, share == 0
    coverage = np.array([(scale * observed[i]).sum() for i in range(m)])
    coverage *= m / coverage.sum()

    S = share.copy()
    S[always] = 1.0
    alpha = np.full(m, 1 / m)
    rho = 1.0
    gamma = (theta * m) ** 2
    n_components, components = connected_components(S > 0, directed=False)
    if authors_rank_test:
        F = smallest_eigenvectors(S, c)
    elif n_components < c:
        F = embedding(S, c, labels)
    else:
        F = indicators(components)
    result = NaiveSPCE(components, S, np.ones((n, n)), alpha, rho, n_components)

    for tenth in (9, 8, 7, 6, 5):
        r = tenth / 10
        age = 2 * ((r - 1) ** 2 * r + r**2 * (1 - r)) * m**2  # eq. (23)
        if self_paced is True or (self_paced == "fixed" and tenth == 9):
            B = sum(scale * observed[i] * (S - together[i]) ** 2 / alpha[i] for i in range(m))
            W = np.ones((n, n))
            hard = age < 2 * B
            W[hard] = age / (2 * B[hard])  # eq. (13)
        elif self_paced is False:
            W = np.ones((n, n))
        W[seen == 0] = 0.0

        for inner in range(last_passes if tenth == 5 else stage_passes):
            a = sum(scale * observed[i] / alpha[i] for i in range(m))
            U = sum(scale * together[i] / alpha[i] for i in range(m))
            before = objective(S, W, F, alpha, rho, age, gamma, together, observed, scale)

            g = squared_distances(F)
            S = np.zeros((n, n))
            known = seen > 0
            C = (U[known] - rho * g[known] / (2 * W[known] ** 2)) / a[known]  # eq. (16)
            root_tau = np.sqrt(gamma / (a[known] * W[known] ** 2))
            linked = np.maximum(root_tau * (1 + EQUAL), EQUAL) < C
            S[known] = np.where(linked, np.minimum(C, 1.0), 0.0)  # eq. (17)
            S[never] = 0.0
            S[always] = 1.0
            S = (S + S.T) / 2

            previous = F
            n_components, components = connected_components(S > 0, directed=False)
            if authors_rank_test:
                values = np.linalg.eigvalsh(laplacian(S))
                order = int(values[:c].sum() <= 1e-9) + int(values[: c + 1].sum() < 1e-11)
                F = smallest_eigenvectors(S, c)
            else:
                order = int(n_components >= c) + int(n_components > c)
                if order == 0:
                    F = embedding(S, c, labels)
                elif order == 1:
                    F = indicators(components)
            if order == 2:
                F = previous

            d = np.array(
                [(scale * observed[i] * (W * (S - together[i])) ** 2).sum() for i in range(m)]
            )
            spread = np.sqrt(d / coverage)
            spread = np.maximum(spread, 1e-6 * spread.mean()) if spread.any() else np.ones(m)
            alpha = spread / (coverage * spread).sum()  # eq. (21)

            after = objective(S, W, F, alpha, rho, age, gamma, together, observed, scale)
            result.objectives.append((before, after))
            result.components.append(n_components)
            if order == 0:
                rho *= 2
            elif order == 2:
                rho /= 2
            elif inner >= 1:
                break

    result.labels, result.n_components = components, n_components
    result.consensus, result.pair_weights = S, W
    result.alpha, result.penalty = alpha, rho
    return result


def objective(S, W, F, alpha, rho, age, gamma, together, observed, scale) -> float:
    """Eq. (10), the rank term with the factor two that eq. (14) gives it."""
    total = -age * W.sum() + gamma * np.count_nonzero(S)
    total += 2 * rho * np.trace(F.T @ laplacian(S) @ F)
    for i in range(len(alpha)):
        total += (scale * observed[i] * (W * (S - together[i])) ** 2).sum() / alpha[i]
    return float(total)
