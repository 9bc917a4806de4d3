"""Literal n x n transcription of TRCE, for comparison with the compressed solver.

P. Zhou, L. Du, Y.-D. Shen, X. Li, "Tri-level Robust Clustering Ensemble with Multiple Graph
Learning", AAAI 2021. Every matrix has one row per sample and every member its own n x n
transition matrix. Two misprints of the paper are read as its derivation demands: the
coefficient in (8) and (11) is lambda, and o_k below (13) divides by A + E.

Where a label is missing (-1) the member says nothing about that sample: its row and column of
A^(k) are zero. A sample's evidence is averaged over the members that saw it (factor m / m_i on
its row) and a member's disagreement over the samples that it saw (share q_k in the constraint
sum_k q_k / alpha_k = 1); with nothing missing both are 1 and the formulas are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]


@dataclass
class TwinRun:
    """What one run of the transcription ends with."""

    graph: Floats
    smoothed: Floats
    instance_weights: Floats
    member_weights: Floats
    n_components: int
    component_labels: NDArray[np.int32]
    embedding: Floats
    component_history: list[int] = field(default_factory=list)
    rho_history: list[float] = field(default_factory=list)
    objective_history: list[float] = field(default_factory=list)
    residual_history: list[float] = field(default_factory=list)

    @property
    def noise(self) -> Floats:
        """E = B - A."""
        return self.smoothed - self.graph


def trce(
    labels: NDArray[np.integer],
    n_clusters: int,
    lam: float,
    *,
    member_level: bool = True,
    instance_level: bool = True,
    graph_level: bool = True,
    max_iter: int = 10,
    last_member_only: bool = False,
) -> TwinRun:
    """Algorithm 1 on samples.

    ``last_member_only`` reproduces the slip in the authors' program, whose difficulty b_i is m
    times the divergence from the last member instead of the sum in (5).
    """
    members = [transition(labels[:, k]) for k in range(labels.shape[1])]
    n, m = labels.shape
    seen = labels >= 0
    row_factor = m / seen.sum(axis=1)
    member_share = seen.sum(axis=0) / n

    graph = sum(members) / m * row_factor[:, None]
    smoothed = graph.copy()
    alpha = np.full(m, member_share.sum())
    rho = 1.0
    embedding = bottom_eigenvectors(graph, n_clusters)
    if components(graph)[0] > n_clusters:
        embedding = np.zeros_like(embedding)
    age = 0.0
    run = TwinRun(graph, smoothed, np.ones(n), alpha, 0, np.zeros(n, dtype=np.int32), embedding)

    divergence = divergences(members, smoothed) * row_factor[:, None]
    for iteration in range(max_iter):
        if last_member_only:
            difficulty = m * alpha[-1] * divergence[:, -1]
        else:
            difficulty = divergence @ alpha
        if iteration == 0:
            age = first_age(difficulty, negligible=1e-12 * m**2)
        w = instance_weights(difficulty, age) if instance_level else np.ones(n)

        distances = squared_distances(embedding)
        evidence = sum(a * member for a, member in zip(alpha, members, strict=True))
        evidence = evidence * (w**2 * row_factor)[:, None]
        previous = graph
        smoothed = smoothed_rows(evidence, rho * distances)
        if graph_level:
            graph = simplex_projections(smoothed - rho * distances / (2 * lam))
        else:
            graph = smoothed

        found, found_labels = components(graph)
        divergence = divergences(members, smoothed) * row_factor[:, None]
        if member_level:
            floor = 1e-12 * np.sum(w**2 * row_factor)
            alpha = member_weights(w**2 @ divergence, member_share, floor)

        run.component_history.append(found)
        run.rho_history.append(rho)
        if found <= n_clusters:
            embedding = bottom_eigenvectors(graph, n_clusters)
        run.objective_history.append(
            objective(divergence, smoothed - graph, graph, w, alpha, embedding, lam, age, rho)
        )
        run.residual_history.append(
            float(np.linalg.norm(graph - previous) / np.linalg.norm(previous))
        )
        run.graph, run.smoothed, run.instance_weights = graph, smoothed, w
        run.member_weights, run.embedding = alpha, embedding
        run.n_components, run.component_labels = found, found_labels
        if found == n_clusters and iteration > 0:
            break
        if found < n_clusters:
            rho *= 2.0
        elif found > n_clusters:
            rho /= 2.0
        age *= 1.1
    return run


def transition(labels: NDArray[np.integer]) -> Floats:
    """A^(k) = D^{-1} S^(k); the row of a sample without a label is zero."""
    together = (labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)
    sizes = np.maximum(together.sum(axis=1), 1)
    return together / sizes[:, None]


def divergences(members: list[Floats], smoothed: Floats) -> Floats:
    """KL(A^(k)_i || B_i) for every sample i (rows) and member k (columns)."""
    result = np.zeros((len(smoothed), len(members)))
    for k, member in enumerate(members):
        ratio = np.divide(member, smoothed, out=np.ones_like(member), where=member > 0)
        result[:, k] = np.sum(member * np.log(ratio), axis=1)
    return np.maximum(result, 0.0)


def first_age(difficulty: Floats, negligible: float) -> float:
    """Twice the difficulty that a tenth of the samples do not exceed; never zero."""
    n = len(difficulty)
    ordered = np.sort(difficulty)
    value = ordered[max(n // 10, 1) - 1]
    if value <= negligible:
        positive = ordered[ordered > negligible]
        value = positive[0] if len(positive) else 0.5
    return float(2.0 * value)


def instance_weights(difficulty: Floats, age: float) -> Floats:
    """(6): w_i = min(age / (2 b_i), 1)."""
    return np.array([1.0 if 2.0 * b <= age else age / (2.0 * b) for b in difficulty])


def squared_distances(embedding: Floats) -> Floats:
    """G_ij = |F_i - F_j|^2."""
    return np.array([np.sum((embedding - row) ** 2, axis=1) for row in embedding])


def smoothed_rows(evidence: Floats, penalty: Floats) -> Floats:
    """The KKT conditions (10) of every row of (7), by Newton from the left end of the bracket."""
    theta = np.max(np.where(evidence > 0, evidence - penalty, -np.inf), axis=1)
    for _ in range(200):
        share = evidence / (penalty + theta[:, None])
        excess = share.sum(axis=1) - 1.0
        step = excess / np.sum(share / (penalty + theta[:, None]), axis=1)
        climbing = theta + step > theta
        if not climbing.any():
            break
        theta = np.where(climbing, theta + step, theta)
    return evidence / (penalty + theta[:, None])


def simplex_projections(points: Floats) -> Floats:
    """(11): for every row the nearest point with non-negative entries that sum to one."""
    ordered = np.sort(points, axis=1)[:, ::-1]
    ranks = np.arange(1, points.shape[1] + 1)
    thresholds = (np.cumsum(ordered, axis=1) - 1.0) / ranks
    last = np.sum(ordered > thresholds, axis=1) - 1
    return np.maximum(points - thresholds[np.arange(len(points)), last][:, None], 0.0)


def laplacian(graph: Floats) -> Floats:
    """L = D - (A + A') / 2."""
    symmetric = (graph + graph.T) / 2
    return np.diag(symmetric.sum(axis=1)) - symmetric


def bottom_eigenvectors(graph: Floats, n_clusters: int) -> Floats:
    """(12): the eigenvectors of the c smallest eigenvalues."""
    return eigh(laplacian(graph), subset_by_index=[0, n_clusters - 1])[1]


def components(graph: Floats) -> tuple[int, NDArray[np.int32]]:
    """Connected components of the symmetrised graph; rank(L) = n - c holds when there are c."""
    count, found = connected_components((graph + graph.T) > 0, directed=False)
    return int(count), found


def member_weights(disagreement: Floats, share: Floats, floor: float) -> Floats:
    """(16), with sum_k q_k / alpha_k = 1 where members saw only a share q_k of the samples."""
    root = np.sqrt(np.maximum(disagreement / share, floor))
    return np.sum(share * root) / root


def objective(
    divergence: Floats,
    noise: Floats,
    graph: Floats,
    w: Floats,
    alpha: Floats,
    embedding: Floats,
    lam: float,
    age: float,
    rho: float,
) -> float:
    """(4) at the current point."""
    rank_term = 2.0 * rho * np.trace(embedding.T @ laplacian(graph) @ embedding)
    fit = w**2 @ divergence @ alpha
    return float(fit + lam * np.sum(noise**2) - age * np.sum(w) + rank_term)
