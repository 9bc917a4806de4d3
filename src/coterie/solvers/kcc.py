r"""KCC: k-means-based consensus clustering.

A utility measures how well a partition agrees with member j:

.. math:: U = \sum_l \frac{n_l^j}{n^j} \, \varphi(P_l^j) - \varphi(P^j),

where :math:`P_l^j` are the shares of j's labels in cluster l, :math:`P^j` those among all samples that it
labelled, :math:`n_l^j` the samples of l that it labelled. Each convex :math:`\varphi` has a distance for
which k-means on the members' indicator vectors, side by side, maximises the weighted sum of utilities. With
q the sample's label and p the centre's shares :math:`P_l^j`:

==========  ==========================  =======================================================
utility     phi                         distance
==========  ==========================  =======================================================
``"U_c"``   :math:`\|p\|_2^2`           :math:`1 + \|p\|_2^2 - 2 p(q)`
``"U_H"``   minus entropy (bits)        :math:`-\log_2 (p(q) + 2^{-52})`
``"U_cos"`` :math:`\|p\|_2`             :math:`1 - p(q) / \|p\|_2`
``"U_Lp"``  :math:`\|p\|_p`             :math:`1 - (p(q) / \|p\|_p)^{p - 1}`
==========  ==========================  =======================================================

The normalised variants divide a member's weight by :math:`|\varphi(P^j)|`.

Steps, from the rows of ``n_clusters`` random samples as first centres
  1. assign each sample to the nearest centre, the lower one in a tie
  2. an empty cluster takes the sample farthest from its centre
  3. new centres: the shares of the labels in each cluster
Stop when a round lowers the objective, the sum of all distances, by less than the share ``tol``. The best of
``n_init`` starts is kept. No round raises the objective (for U_H up to the 2^-52).

Exactness. Rows are treated one by one and combined only in sums, so a microcluster of weight r gives the
same result as r samples. First centres are distinct rows, drawn with probability proportional to weight.

Missing labels. The distance is taken over the members that labelled the sample, the shares over
the samples of the cluster that the member labelled.

Where programs differ from this: if a member labelled no sample of a cluster, the authors' toolbox puts a
random label of the member into the centre (here: its shares among all samples). It gives an empty cluster a
random row, and stops at a drop of 1e-5 however large the objective is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from coterie.core.params import Choice, Real, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.solvers._label_kmeans import (
    EPSILON,
    Costs,
    by_member,
    centres_of,
    label_kmeans,
    shares_of_labels,
    squared_costs,
)
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition

Utility = Literal["U_c", "U_H", "U_cos", "U_Lp"]


@dataclass(eq=False, repr=False, kw_only=True)
class KCC(Method):
    """k-means-based consensus clustering.

    k-means on the label rows, with a distance for each way to measure how well a partition agrees
    with a member. Linear in N.

    Parameters
    ----------
    utility : {"U_H", "U_c", "U_cos", "U_Lp"}, default "U_H"
        What is maximised: mutual information ("U_H"), agreement of pairs ("U_c"), or the mean norm
        of the vectors of label shares ("U_cos" with the 2-norm, "U_Lp" with the p-norm).
    normalised : bool, default False
        Whether each member's utility is divided by phi of its shares among all samples (for "U_H",
        its entropy), so that members of many clusters do not count more, or less, than others.
    p : float, default 5.0
        The norm of "U_Lp", above 1; 2 is "U_cos".
    n_init : int, default 10
        Number of starts; the one with the lowest objective is kept.

    Attributes
    ----------
    objective_ : float
        The sum of all distances.
    utility_ : float
        The weighted sum of the members' utilities, which the method maximises.
    member_utilities_ : ndarray, shape (m,)
        The utility of each member, times the member's weight.

    See Also
    --------
    coterie.EAC : hierarchical clustering of the co-association.

    Notes
    -----
    A missing label is left out of distances and centres.

    Examples
    --------
    >>> from coterie import KCC
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> model = KCC(n_clusters=2, utility="U_c", random_state=0).fit(labels)
    >>> model.labels_.tolist(), round(model.objective_, 4)
    ([0, 0, 0, 1, 1, 1], 1.3333)
    """

    about = MethodInfo(
        name="kcc",
        cost="O(N m c) per round, O(N (m + c)) memory",
        paper="J. Wu, H. Liu, H. Xiong, J. Cao, J. Chen. K-means-based consensus clustering: a "
        "unified view. IEEE Transactions on Knowledge and Data Engineering 27, 2015.",
        scaling="linear",
        random=True,
        grid={"utility": ("U_H", "U_c", "U_cos", "U_Lp"), "normalised": (False, True)},
    )

    utility: Utility = parameter("U_H", Choice(("U_H", "U_c", "U_cos", "U_Lp")))
    normalised: bool = parameter(False, Choice((False, True)))
    p: float = parameter(5.0, Real(1.0, closed_low=False))
    n_init: int = 10
    max_iter: int = 100
    tol: float = 1e-5
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        shares = shares_of_labels(ensemble)[:, None]
        own = convexity(ensemble, shares, self.utility, self.p)[:, 0]
        weights = ensemble.member_weight
        if self.normalised:
            # a member with one cluster has entropy zero, and utility zero for any weight
            weights = weights / np.where(np.abs(own) > 0, np.abs(own), 1.0)
        best = label_kmeans(
            ensemble,
            cost_table(self.utility, weights, self.p),
            self.n_clusters,
            rng,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        history = _records(best.objectives)
        self._call_back(history)
        gained = weights * (
            member_values(ensemble, best.labels, self.n_clusters, self.utility, self.p) - own
        )
        return Partition(
            best.labels,
            member_weights=weights,
            converged=best.converged,
            history=history,
            advice="Raise tol.",
            by_member={"member_utilities_": gained},
            other={"utility_": float(gained.sum())},
        )


def cost_table(utility: Utility, member_weight: FloatArray, p: float) -> Costs:
    """Cost of each label in each cluster, k x c: the distances in the table of the module's docstring."""
    if utility == "U_c":
        return squared_costs(member_weight)

    def costs(ensemble: Ensemble, centres: FloatArray) -> FloatArray:
        member = ensemble.member_of_cluster
        weight = member_weight[member][:, None]
        if utility == "U_H":
            return -weight * np.log2(centres + EPSILON)
        norm = 2.0 if utility == "U_cos" else p
        lengths = _lengths(ensemble, centres, norm)[member]
        return weight * (1.0 - (centres / lengths) ** (norm - 1.0))

    return costs


def convexity(ensemble: Ensemble, centres: FloatArray, utility: Utility, p: float) -> FloatArray:
    """phi of each member's shares in each cluster, m x c."""
    if utility == "U_H":
        # 0 log 0 is 0
        return by_member(ensemble, centres * np.log2(np.where(centres > 0, centres, 1.0)))
    if utility == "U_c":
        return by_member(ensemble, centres**2)
    norm = 2.0 if utility == "U_cos" else p
    return _lengths(ensemble, centres, norm)


def _lengths(ensemble: Ensemble, centres: FloatArray, norm: float) -> FloatArray:
    """The norm of each member's shares in each cluster, m x c.

    Shares are divided by the largest first, so that no power underflows to zero.
    """
    largest = np.maximum.reduceat(centres, ensemble.cluster_starts, axis=0)
    scaled = centres / largest[ensemble.member_of_cluster]
    return largest * by_member(ensemble, scaled**norm) ** (1.0 / norm)


def member_values(
    ensemble: Ensemble, labels: IntArray, n_clusters: int, utility: Utility, p: float
) -> FloatArray:
    """The mean of phi over the samples that each member labelled, shape (m,)."""
    seen = np.zeros((n_clusters, ensemble.n_members))
    np.add.at(seen, labels, ensemble.sizes[:, None] * ensemble.observed)
    phi = convexity(ensemble, centres_of(ensemble, labels, n_clusters), utility, p)
    return np.asarray((seen.T * phi).sum(axis=1) / seen.sum(axis=0))


def _records(objectives: tuple[float, ...]) -> list[Pass]:
    records: list[Pass] = []
    for number, objective in enumerate(objectives, start=1):
        before = objectives[number - 2] if number > 1 else objective
        change = (before - objective) / before if before > 0 else 0.0
        records.append({"pass": number, "objective": objective, "residual": change})
    return records
