r"""BCE: Bayesian cluster ensembles.

A mixed-membership model of the label rows. Sample i has memberships :math:`\theta_i \sim
\mathrm{Dirichlet}(\alpha)` in c groups; for each member j a group :math:`z_{ij} \sim \theta_i` is drawn and
the label from that group's distribution, :math:`y_{ij} \sim \beta_j[z_{ij}]`. Fitted by variational EM.

Steps of a pass
  1. memberships of each row, from :math:`\phi = 1/c`, repeated until they change by less than 1 %:
     :math:`\phi_{hj} \propto \beta_j[h, y_{ij}] \exp(\psi(\gamma_h) - \psi(\sum \gamma))`,
     :math:`\gamma_h = \alpha_h + \sum_j \phi_{hj}`
  2. :math:`\beta_j[h, q] \propto \sum_i \phi^{(i)}_{hj} [y_{ij} = q] + 10^{-6}`
  3. :math:`\alpha` by Newton steps (the Hessian is diagonal plus a constant), halved until alpha is positive
Stop when the relative change of beta is below ``tol``. A sample belongs to its largest :math:`\gamma_h`.

Starts. The likelihood has many poor maxima. In the worst of them all groups are equal and all samples
fall into one. Half of the ``n_init`` starts (rounded up) take beta from a partition into c clusters: the
shares of labels in each cluster, mixed with a tenth of the shares among all samples, and alpha = 1/2. The
partitions are the members with exactly c clusters, then k-means consensuses of the label rows. The other
starts are random: alpha uniform on (0, 1), rows of beta uniform and normalised. The start with the largest
variational bound is kept:

.. math::

    \sum_i \Big[ \log\Gamma(\textstyle\sum_h \alpha_h) - \sum_h \log\Gamma(\alpha_h)
    - \log\Gamma(\textstyle\sum_h \gamma_{ih}) + \sum_h \log\Gamma(\gamma_{ih})
    + \sum_{j, h} \phi_{hj} (\log \beta_j[h, y_{ij}] - \log \phi_{hj}) \Big].

Exactness. Step 1 is by row, steps 2 and 3 are sums over samples. So a microcluster of weight r gives the
same result as r samples. A ``member_weight`` of 2 is the same as giving that member twice.

Missing labels have no group and are left out of all sums.

Where programs differ from this: the authors' program has one random start and does not compute the bound.
A copy of it in circulation lacks the branch for missing labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import polygamma, psi

from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.solvers._label_kmeans import by_member, centres_of, kmeans_partition, shares_of_labels
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.bce.kernels import memberships
from coterie.solvers.partition import Partition

# added to the counts of step 2
SMOOTHING = 1e-6
# relative change at which step 1 ends, and its maximum number of rounds
ROW_TOL, ROW_ROUNDS = 0.01, 500
# relative change at which step 3 ends, and its maximum number of steps
ALPHA_TOL, ALPHA_STEPS = 1e-3, 500
# empty groups drive alpha to zero, identical samples drive it to infinity
MIN_ALPHA, MAX_ALPHA = 1e-6, 1e6
# a start from a partition: share of the overall distribution in beta, and alpha
MIXED, FIRST_ALPHA = 0.1, 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class BCE(Method):
    """Bayesian cluster ensembles: a mixed-membership model of the label rows. Linear in N.

    Parameters
    ----------
    n_init : int, default 10
        Number of starts, the larger half from partitions and the others random; the one with the
        largest bound is kept.
    tol : float, default 0.01
        A start ends when a pass changes the label distributions by less than this share.

    Attributes
    ----------
    memberships_ : ndarray, shape (n, n_clusters)
        Expected membership of each sample in each group, rows summing to one. Columns are in the
        order of the groups, not of ``labels_``.
    bound_ : float
        The variational bound of the log likelihood.
    alpha_ : ndarray, shape (n_clusters,)
        The Dirichlet parameters.
    label_chances_ : ndarray, shape (k, n_clusters)
        beta: the chance of each base cluster in each group, in the order of ``ensemble_.incidence``.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the co-association.

    Notes
    -----
    ``history_`` has the bound as "objective". It usually rises, but can fall slightly because step
    1 ends early. A missing label is left out.

    Examples
    --------
    >>> from coterie import BCE
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = BCE(n_clusters=2, random_state=0).fit(labels)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    about = MethodInfo(
        name="bce",
        cost="O(N m c) per round of step 1, some tens of rounds per pass; O(N c + k c) memory",
        paper="H. Wang, H. Shan, A. Banerjee. Bayesian cluster ensembles. Statistical Analysis "
        "and Data Mining 4, 2011.",
        scaling="linear",
        random=True,
    )

    n_init: int = 10
    max_iter: int = 500
    tol: float = 0.01
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        best: Fit | None = None
        for first in starts(ensemble, self.n_clusters, self.n_init, rng):
            fit = follow(ensemble, first, self.max_iter, self.tol)
            if best is None or fit.bound > best.bound + 1e-9 * abs(best.bound):
                best = fit
        assert best is not None
        self._call_back(best.history)
        memberships = best.gamma / best.gamma.sum(axis=1, keepdims=True)
        components = np.argmax(memberships, axis=1)
        complete = len(np.unique(components)) == self.n_clusters
        return Partition(
            components,
            converged=best.converged,
            history=best.history,
            advice="Raise tol." if complete else "Raise n_init, or ask for fewer clusters.",
            embedding=memberships,
            by_sample={"memberships_": memberships},
            by_base_cluster={"label_chances_": best.model.beta},
            other={"bound_": best.bound, "alpha_": best.model.alpha},
        )


@dataclass(frozen=True)
class Model:
    """alpha (c) and beta (k x c, the chance of a base cluster in a group)."""

    alpha: FloatArray
    beta: FloatArray


@dataclass(frozen=True)
class Fit:
    """Result of one start."""

    model: Model
    gamma: FloatArray
    bound: float
    history: tuple[Pass, ...]
    converged: bool


def starts(
    ensemble: Ensemble, n_clusters: int, count: int, rng: np.random.Generator
) -> list[Model]:
    """First models: the larger half from partitions, the others random."""
    informed = -(-count // 2)
    candidates = np.flatnonzero(ensemble.n_clusters_per_member == n_clusters)
    chosen = np.sort(rng.permutation(candidates)[:informed])
    partitions = [ensemble.labels[:, j].astype(np.int64) for j in chosen]
    # k-means where too few members have c clusters
    partitions += [
        kmeans_partition(ensemble, n_clusters, rng, n_init=1)
        for _ in range(informed - len(partitions))
    ]
    models = [model_of_partition(ensemble, labels, n_clusters) for labels in partitions]
    for _ in range(count - informed):
        alpha = rng.random(n_clusters)
        chances = rng.random((ensemble.n_base_clusters, n_clusters))
        # zero, which has probability 2^-53, is not a valid Dirichlet parameter
        beta = normalised(ensemble, chances + SMOOTHING)
        models.append(Model(np.maximum(alpha, SMOOTHING), beta))
    return models


def model_of_partition(ensemble: Ensemble, labels: IntArray, n_clusters: int) -> Model:
    """beta from the labels in each cluster of a partition (-1: in no cluster)."""
    # samples outside the partition go to one more cluster, which is dropped
    outside = np.where(labels < 0, n_clusters, labels)
    inside = centres_of(ensemble, outside, n_clusters + 1)[:, :n_clusters]
    beta = (1 - MIXED) * inside + MIXED * shares_of_labels(ensemble)[:, None]
    return Model(np.full(n_clusters, FIRST_ALPHA), beta)


def normalised(ensemble: Ensemble, counts: FloatArray) -> FloatArray:
    """Counts k x c as chances within each member and group."""
    return counts / by_member(ensemble, counts)[ensemble.member_of_cluster]


def follow(ensemble: Ensemble, model: Model, max_iter: int, tol: float) -> Fit:
    """Passes until beta settles, and the memberships of the last model."""
    c = len(model.alpha)
    history: list[Pass] = []
    gamma = np.empty((ensemble.n_microclusters, c))
    converged = False
    for number in range(1, max_iter + 1):
        counts, logs, bound = fit_rows(ensemble, model, gamma)  # 1
        beta = normalised(ensemble, counts + SMOOTHING)  # 2
        alpha = dirichlet(model.alpha, logs, float(ensemble.sizes.sum()))  # 3
        change = float(np.abs(beta - model.beta).sum() / model.beta.sum())
        model = Model(alpha, beta)
        history.append({"pass": number, "objective": bound, "residual": change})
        if change <= tol:
            converged = True
            break
    _, _, bound = fit_rows(ensemble, model, gamma)
    return Fit(model, gamma, bound, tuple(history), converged)


def fit_rows(
    ensemble: Ensemble, model: Model, gamma: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Step 1: fills gamma; returns counts (k x c), summed expected logs (c) and the bound."""
    counts, logs = np.empty_like(model.beta), np.empty_like(model.alpha)
    bounds = memberships(
        np.ascontiguousarray(ensemble.labels),
        ensemble.cluster_offsets,
        model.beta,
        model.alpha,
        ensemble.sizes,
        ensemble.member_weight,
        ROW_TOL,
        ROW_ROUNDS,
        gamma,
        counts,
        logs,
    )
    bound = float(bounds.sum())
    if not np.isfinite(bound):
        raise FloatingPointError("BCE: the memberships of step 1 are not finite")
    return counts, logs, bound


def dirichlet(alpha: FloatArray, logs: FloatArray, n: float) -> FloatArray:
    """Step 3: the alpha that fits n samples with summed expected log memberships ``logs``."""
    if len(alpha) == 1:
        # with one group the membership is one for any alpha
        return alpha
    for _ in range(ALPHA_STEPS):
        slope = logs + n * (psi(alpha.sum()) - psi(alpha))
        diagonal = -n * polygamma(1, alpha)
        constant = n * float(polygamma(1, alpha.sum()))
        shift = (slope / diagonal).sum() / (1.0 / constant + (1.0 / diagonal).sum())
        step = (slope - shift) / diagonal
        size = 1.0
        while (alpha - size * step <= 0).any():
            size /= 2
        moved = np.clip(alpha - size * step, MIN_ALPHA, MAX_ALPHA)
        change = np.abs(moved - alpha).sum() / alpha.sum()
        alpha = moved
        if change <= ALPHA_TOL:
            break
    return alpha
