"""Literal transcription of CESHL on samples, for comparison with the compressed solver.

P. Zhou, X. Wang, L. Du, X. Li, "Clustering ensemble via structured hypergraph learning",
Information Fusion 78 (2022). Every matrix has one row per sample, the Laplacian and F F' are
n x n, and the gradient is written product by product as in (13).

The Y-step is a quasi-Newton method with projection on the box, as the paper says; which one it does
not say. Here as in the solver: limited memory BFGS on the entries that are free to move, with an
Armijo search along the projected path. A degree d below f, ``floor`` times what it was in H,
counts as (f + d^2 / f) / 2, since the Laplacian (5) divides by degrees that the Y-step can drive to
zero.

``authors=True`` follows the authors' program instead: F from the unnormalised Laplacian, rank by
eigenvalue tolerances, L-BFGS-B with memory 5, 20 iterations, pgtol 1e-3 and factr 1e7, no floor.

Where a label is missing (-1), the sample lies in none of the member's hyperedges, and the quality of
a base cluster is the share of agreement among what the members saw of the pairs inside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import lsq_linear, minimize
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]

TINY = np.finfo(np.float64).eps
MEMORY = 5
ARMIJO = 1e-4
BACKTRACKS = 30


@dataclass
class TwinRun:
    """What one run of the transcription ends with."""

    incidence: Floats
    weights: Floats
    quality: Floats
    n_components: int
    component_labels: NDArray[np.int32]
    component_history: list[int] = field(default_factory=list)
    rho_history: list[float] = field(default_factory=list)
    objective_history: list[float] = field(default_factory=list)


def ceshl(
    labels: NDArray[np.integer],
    n_clusters: int,
    lam: float,
    *,
    edge_weights: str = "propagated",
    rho: float = 100.0,
    inner_iter: int = 20,
    tol: float = 1e-6,
    floor: float = 0.5,
    max_iter: int = 100,
    unnormalised: bool = False,
    authors: bool = False,
) -> TwinRun:
    """Algorithm 1; ``unnormalised`` takes F from D_v - Y W D_e^-1 Y' and leaves the rest alone."""
    unnormalised = unnormalised or authors
    H = incidence(labels)
    s = quality(labels)
    w = {
        "propagated": lambda: propagated(H, s, lam),
        "quality": lambda: s,
        "uniform": lambda: np.ones_like(s),
    }[edge_weights]()
    least = np.full(len(H), TINY) if authors else floor * (H @ w)

    Y = H.copy()
    _, part = components(Y, w)
    F = bottom_eigenvectors(Y, w, least, n_clusters, unnormalised)[0]
    if part.max() + 1 > n_clusters and not authors:
        F = indicators(part, Y @ w)
    run = TwinRun(Y, w, s, 0, part)
    for turn in range(max_iter):
        if authors:
            Y = authors_y_step(Y, H, w, F, rho)
        else:
            Y = y_step(Y, H, w, F, rho, least, inner_iter, tol)
        run.objective_history.append(objective(Y, H, w, F, rho, least))
        run.rho_history.append(rho)
        run.incidence = Y
        run.n_components, run.component_labels = components(Y, w)
        if not authors:
            run.n_components, run.component_labels = without_lost_nodes(
                Y, H, w, run.component_labels
            )
        run.component_history.append(run.n_components)
        new, values = bottom_eigenvectors(Y, w, least, n_clusters, unnormalised)
        if authors:
            too_few = values[:n_clusters].sum() > 1e-9
            too_many = values[: n_clusters + 1].sum() < 1e-11
        else:
            too_few = run.n_components < n_clusters
            too_many = run.n_components > n_clusters
        if too_few:
            rho, F = 2 * rho, new
        elif too_many:
            rho = rho / 2
        elif turn > 0:
            break
        else:
            F = new
    return run


def incidence(labels: NDArray[np.integer]) -> Floats:
    """H of section 3.1, n x k, members side by side."""
    columns = [
        member == cluster for member in labels.T for cluster in np.unique(member[member >= 0])
    ]
    return np.array(columns, dtype=np.float64).T


def quality(labels: NDArray[np.integer]) -> Floats:
    """Equation (1): the mean of U over the pairs inside each base cluster, member by member."""
    together = np.zeros((len(labels), len(labels)))
    observed = np.zeros_like(together)
    for member in labels.T:
        both = (member[:, None] >= 0) & (member >= 0)
        observed += both
        together += both & (member[:, None] == member)
    scores = []
    for member in labels.T:
        for cluster in np.unique(member[member >= 0]):
            inside = np.ix_(member == cluster, member == cluster)
            scores.append(together[inside].sum() / observed[inside].sum())
    return np.array(scores)


def propagated(H: Floats, s: Floats, lam: float) -> Floats:
    """Equation (4), a strictly convex quadratic in the box, as bounded least squares."""
    C = H.T @ H
    D = C.sum(axis=1)
    quadratic = np.eye(len(D)) - C / np.sqrt(np.outer(D, D)) + lam * np.eye(len(D))
    root = np.linalg.cholesky(quadratic).T
    target = np.linalg.solve(root.T, lam * s)
    return np.asarray(lsq_linear(root, target, (0, 1), method="bvls", tol=1e-14).x)


def degrees(Y: Floats, w: Floats, least: Floats) -> tuple[Floats, Floats]:
    """D_v and D_e, guarded against division by zero."""
    dv = Y @ w
    return np.where(dv >= least, dv, (least + dv**2 / least) / 2), np.maximum(Y.sum(axis=0), TINY)


def laplacian(Y: Floats, w: Floats, least: Floats, *, normalised: bool = True) -> Floats:
    """Equation (5), or D_v - Y W D_e^-1 Y' as in the authors' program."""
    dv, de = degrees(Y, w, least)
    linked = Y @ np.diag(w / de) @ Y.T
    if normalised:
        return np.eye(len(Y)) - linked / np.sqrt(np.outer(dv, dv))
    return np.diag(dv) - linked


def bottom_eigenvectors(
    Y: Floats, w: Floats, least: Floats, n_clusters: int, unnormalised: bool
) -> tuple[Floats, Floats]:
    """Equation (9): F, and the eigenvalues in ascending order.

    Where the last eigenvalue wanted is repeated, every choice among its vectors is a minimiser; all
    are taken, scaled so that F F' is the mean over the choices. Eigenvectors that no hyperedge
    sees (eigenvalue 1) say nothing and are left out.
    """
    L = laplacian(Y, w, least, normalised=not unnormalised)
    values, vectors = eigh((L + L.T) / 2)
    if unnormalised:
        return vectors[:, :n_clusters], values
    # eigenvectors of n x n matrices that would split identical samples have eigenvalue 1 as well
    last = values[n_clusters - 1]
    begin = int(np.searchsorted(values, last - 1e-10))
    end = int(np.searchsorted(values, last + 1e-10, side="right"))
    shares = np.ones(end)
    shares[begin:] = (n_clusters - begin) / (end - begin)
    shares[values[:end] > 1 - 1e-10] = 0.0
    return (vectors[:, :end] * np.sqrt(shares))[:, shares > 0], values


def indicators(part: NDArray[np.int32], degree: Floats) -> Floats:
    """Null vectors of (5), one per component: roots of the degrees, normalised."""
    F = np.zeros((len(part), part.max() + 1))
    F[np.arange(len(part)), part] = np.sqrt(degree)
    return F / np.linalg.norm(F, axis=0)


def components(Y: Floats, w: Floats) -> tuple[int, NDArray[np.int32]]:
    """Connected components of the hypergraph: of Y W Y'."""
    count, part = connected_components((Y * w) @ Y.T > 0, directed=False)
    return int(count), part


def without_lost_nodes(
    Y: Floats, H: Floats, w: Floats, part: NDArray[np.int32]
) -> tuple[int, NDArray[np.int32]]:
    """A node without any hyperedge joins the part that has most of the weight of those it had in H."""
    part = part.copy()
    for p in np.flatnonzero(~Y.any(axis=1)):
        weight = np.zeros(part.max() + 1)
        for q in np.flatnonzero(H[p]):
            inside = np.flatnonzero(Y[:, q])
            if inside.size:
                weight[part[inside[0]]] += w[q]
        if weight.any():
            part[p] = weight.argmax()
    names, part = np.unique(part, return_inverse=True)
    return len(names), part.astype(np.int32)


def objective(Y: Floats, H: Floats, w: Floats, F: Floats, rho: float, least: Floats) -> float:
    """Equation (8)."""
    loss = np.sum(((Y - H) @ np.diag(w)) ** 2)
    return float(loss + rho * np.trace(F.T @ laplacian(Y, w, least) @ F))


def gradient(Y: Floats, H: Floats, w: Floats, F: Floats, rho: float, least: Floats) -> Floats:
    """Equation (13); the third product is smaller where a guarded degree replaces the degree."""
    dv, de = degrees(Y, w, least)
    W, J = np.diag(w), np.ones_like(Y)
    Dv12, Dv32 = np.diag(dv**-0.5), np.diag(dv**-1.5)
    De1, De2 = np.diag(1 / de), np.diag(de**-2.0)
    FF = F @ F.T
    loss = 2 * (Y - H) @ W**2
    edges = rho * J @ np.diag(np.diag(Y.T @ Dv12 @ FF @ Dv12 @ Y @ W @ De2))
    nodes = rho * Dv32 @ np.diag(np.diag(Y @ W @ De1 @ Y.T @ Dv12 @ FF)) @ J @ W
    nodes *= np.minimum(Y @ w / least, 1.0)[:, None]
    return np.asarray(loss + edges + nodes - 2 * rho * Dv12 @ FF @ Dv12 @ Y @ W @ De1)


def y_step(
    Y: Floats,
    H: Floats,
    w: Floats,
    F: Floats,
    rho: float,
    least: Floats,
    inner_iter: int,
    tol: float,
) -> Floats:
    """Equation (10) by projected limited memory BFGS."""
    value, slope = (f(Y, H, w, F, rho, least) for f in (objective, gradient))
    pairs: list[tuple[Floats, Floats]] = []
    for _ in range(inner_iter):
        slack = 1e-9 * np.abs(slope).max()
        free = ~((Y <= 0) & (slope >= -slack)) & ~((Y >= 1) & (slope <= slack))
        direction, first_step = quasi_newton(slope, pairs, free, w)
        found = armijo(Y, H, w, F, rho, least, value, slope, direction, first_step)
        if found is None:
            break
        moved, lower = found
        new_slope = gradient(moved, H, w, F, rho, least)
        pairs = [*pairs, (moved - Y, new_slope - slope)][-MEMORY:]
        done = value - lower <= tol * max(abs(value), abs(lower))
        Y, slope, value = moved, new_slope, lower
        if done:
            break
    return Y


def quasi_newton(
    slope: Floats, pairs: list[tuple[Floats, Floats]], free: NDArray[np.bool_], w: Floats
) -> tuple[Floats, float]:
    """Direction of descent on the free entries, and the step to try first."""
    usable = []
    for s, y in pairs:
        s, y = s[free], y[free]
        if s @ y > 1e-10 * np.sqrt((s @ s) * (y @ y)):
            usable.append((s, y))
    direction = np.zeros_like(slope)
    if not usable:
        direction[free] = -slope[free]
        return direction, 1 / (2 * w.max() ** 2)
    q = slope[free]
    alphas = []
    for s, y in reversed(usable):
        alphas.append(s @ q / (s @ y))
        q = q - alphas[-1] * y
    s, y = usable[-1]
    q = q * (s @ y) / (y @ y)
    for (s, y), alpha in zip(usable, reversed(alphas), strict=True):
        q = q + (alpha - y @ q / (s @ y)) * s
    direction[free] = -q
    return direction, 1.0


def armijo(
    Y: Floats,
    H: Floats,
    w: Floats,
    F: Floats,
    rho: float,
    least: Floats,
    value: float,
    slope: Floats,
    direction: Floats,
    step: float,
) -> tuple[Floats, float] | None:
    """The first halved step along the projected path that lowers the objective enough."""
    for _ in range(BACKTRACKS):
        moved = Y + step * direction
        moved[moved < 1e-12] = 0.0
        moved[moved > 1 - 1e-12] = 1.0
        lower = objective(moved, H, w, F, rho, least)
        promised = np.sum(slope * (moved - Y))
        if promised < 0 and lower <= value + ARMIJO * promised:
            return moved, lower
        step /= 2
    return None


def authors_y_step(Y: Floats, H: Floats, w: Floats, F: Floats, rho: float) -> Floats:
    """Equation (10) by L-BFGS-B with the settings of the authors' program."""
    least = np.full(len(H), TINY)

    def value_and_slope(flat: Floats) -> tuple[float, Floats]:
        point = flat.reshape(H.shape)
        value, slope = (f(point, H, w, F, rho, least) for f in (objective, gradient))
        return value, slope.ravel()

    found = minimize(
        value_and_slope,
        Y.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, 1)] * Y.size,
        options={"maxcor": 5, "maxiter": 20, "ftol": 1e7 * TINY, "gtol": 1e-3},
    )
    return np.asarray(found.x.reshape(H.shape))
