"""Scores of a partition, or of the ensemble itself, that need no known classes.

Samples that no member labelled are left out.

A microcluster of weight r represents r samples. Pairs of samples are counted without listing them: r_u r_v
pairs between two microclusters and r_u (r_u - 1) / 2 inside one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import Budget
from coterie.core.errors import LabelError, ParameterError
from coterie.core.params import Real, check_parameters
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evaluate.external import AVERAGE, coded
from coterie.evidence.coassociation import coassociation, require_dense
from coterie.numerics.partitions import Average, Overlaps

if TYPE_CHECKING:
    from coterie.numerics.linkage import Dendrogram

# rows of the co-association per block, which keeps the working copies small
BLOCK = 512


def anmi(ensemble: Ensemble, labels: Any, average: Average = "arithmetic") -> float:
    """Mean NMI of a partition with the members, each over the samples that it labelled.

    Members count with their ``member_weight``, samples with their ``sample_weight``.

    Parameters
    ----------
    ensemble : Ensemble
    labels : sequence, array or series of n labels
        A partition of the samples; -1 is an ordinary label here.
    average : {"arithmetic", "max", "min", "geometric"}, default "arithmetic"
        See :func:`coterie.evaluate.nmi`.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evaluate import anmi
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 1], [1, -1]])
    >>> anmi(ensemble, ["a", "a", "b", "b"])
    1.0
    """
    require_ensemble(ensemble)
    check_parameters("anmi", {"average": average}, {"average": AVERAGE})
    codes, n_clusters = coded(labels, "labels")
    if len(codes) != ensemble.n_samples:
        raise LabelError(
            f"labels has {len(codes)} labels, but the ensemble has {ensemble.n_samples} samples"
        )
    shares = sparse.csr_array(
        (ensemble.sample_counts.astype(np.float64), (ensemble.inverse, codes)),
        shape=(ensemble.n_microclusters, n_clusters),
    )
    # the members' contingency tables with the partition, one below the other
    tables = sparse.csr_array(ensemble.incidence.T @ shares)
    values = Overlaps.of_tables(tables, ensemble.cluster_offsets).nmi(average)
    return float(np.average(values, weights=ensemble.member_weight))


def cophenetic_correlation(
    ensemble: Ensemble, dendrogram: Any = None, *, memory_budget: Budget = None
) -> float:
    """Correlation of dissimilarity and cophenetic distance over all pairs of samples.

    The dissimilarity of two samples is one minus their co-association; the cophenetic distance is
    the height at which the dendrogram joins them. If both are constant over all pairs the value is
    1; if only one is constant, it is 0.

    Parameters
    ----------
    ensemble : Ensemble
    dendrogram : Dendrogram, optional
        A dendrogram of the ensemble's microclusters, such as ``EAC().fit(ensemble).dendrogram_``; by
        default the average-link dendrogram of the dissimilarities.
    memory_budget : int, str or None, default None
        Bytes (or text such as "4GB") that may be allocated; see :func:`coterie.memory_budget`.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evaluate import cophenetic_correlation
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> round(cophenetic_correlation(Ensemble.from_labels(labels)), 4)
    0.9554
    """
    require_ensemble(ensemble)
    ensemble = ensemble.without_blank
    from coterie.numerics.linkage import Dendrogram, weighted_linkage

    require_dense(ensemble, 24, "The cophenetic correlation", memory_budget)
    weights = ensemble.sizes
    dissimilarity = coassociation(ensemble, memory_budget=memory_budget)
    np.subtract(1.0, dissimilarity, out=dissimilarity)
    if dendrogram is None:
        dendrogram = weighted_linkage(dissimilarity, weights, "average")
    elif not isinstance(dendrogram, Dendrogram):
        raise ParameterError(
            f"dendrogram must be a solver's dendrogram_, but is {type(dendrogram).__name__}"
        )
    if len(dendrogram.sizes) != len(weights):
        raise ParameterError(
            f"dendrogram joins {len(dendrogram.sizes)} items, but the ensemble has "
            f"{len(weights)} microclusters; fit it on this ensemble"
        )
    total = _pairs_between(weights) + _pairs_inside(weights)
    if total == 0:
        return 1.0
    original = _Centred.of(dissimilarity, weights, total)
    cophenetic = _Centred.of(_joining_heights(dendrogram), weights, total)
    spreads = original.product(original), cophenetic.product(cophenetic)
    # a spread at the level of rounding counts as zero, because a constant has no correlation
    constant = [spread <= 1e-24 * total for spread in spreads]
    if any(constant):
        return float(all(constant))
    covariance = original.product(cophenetic)
    return float(np.clip(covariance / np.sqrt(spreads[0] * spreads[1]), -1.0, 1.0))


def pac(
    ensemble: Ensemble,
    lower: float = 0.1,
    upper: float = 0.9,
    *,
    memory_budget: Budget = None,
) -> float:
    """Proportion of ambiguously clustered pairs: co-association strictly between two bounds.

    0 if the members agree about every pair. A pair that no member labelled has co-association 0 and
    is not ambiguous; nor is a pair of samples of one microcluster.

    Parameters
    ----------
    ensemble : Ensemble
    lower, upper : float, default 0.1 and 0.9
        Pairs at or below ``lower`` are apart, pairs at or above ``upper`` together.
    memory_budget : int, str or None, default None
        Bytes (or text such as "4GB") that may be allocated; see :func:`coterie.memory_budget`.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evaluate import pac
    >>> pac(Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]]))
    0.5
    """
    require_ensemble(ensemble)
    domain = {"lower": Real(0, 1), "upper": Real(0, 1)}
    check_parameters("pac", {"lower": lower, "upper": upper}, domain)
    if not lower < upper:
        raise ParameterError(f"pac: lower must be below upper, but is {lower} with upper {upper}")
    ensemble = ensemble.without_blank
    together = coassociation(ensemble, memory_budget=memory_budget)
    return ambiguous_share(together, ensemble.sizes, lower, upper)


def ambiguous_share(
    together: NDArray[np.float64], weights: NDArray[np.float64], lower: float, upper: float
) -> float:
    """The :func:`pac` of a co-association matrix."""
    ambiguous = 0.0
    for begin in range(0, len(weights), BLOCK):
        rows = slice(begin, begin + BLOCK)
        # the tolerance keeps shares such as 18 / 20, which are not exact, on the right side
        between = (together[rows] > lower + 1e-9) & (together[rows] < upper - 1e-9)
        ambiguous += float(weights[rows] @ (between @ weights))
    # the diagonal is 1 and never ambiguous, so each pair was counted twice
    total = _pairs_between(weights) + _pairs_inside(weights)
    return float(ambiguous / 2 / total) if total else 0.0


def _pairs_between(weights: NDArray[np.float64]) -> float:
    return float((weights.sum() ** 2 - (weights**2).sum()) / 2)


def _pairs_inside(weights: NDArray[np.float64]) -> float:
    # a sample of weight below one has no pairs
    return float(np.maximum(weights * (weights - 1) / 2, 0.0).sum())


def _joining_heights(dendrogram: Dendrogram) -> NDArray[np.float64]:
    """Height at which each pair of items is joined, N x N, 0 on the diagonal."""
    groups = [[item] for item in range(len(dendrogram.sizes))]
    joined = np.zeros((len(groups), len(groups)))
    for (low, high), height in zip(dendrogram.pairs.tolist(), dendrogram.heights, strict=True):
        joined[np.ix_(groups[low], groups[high])] = height
        joined[np.ix_(groups[high], groups[low])] = height
        groups[low] += groups[high]
    return joined


@dataclass(frozen=True)
class _Centred:
    """Distances of all pairs of samples minus their mean: between microclusters, and inside them."""

    between: NDArray[np.float64]
    inside: float
    weights: NDArray[np.float64]

    @classmethod
    def of(
        cls, distances: NDArray[np.float64], weights: NDArray[np.float64], total: float
    ) -> _Centred:
        """Centre distances, which must be 0 inside microclusters; overwrites them."""
        mean = float(weights @ distances @ weights / 2 / total)
        distances -= mean
        # the diagonal holds no pairs
        np.fill_diagonal(distances, 0.0)
        return cls(distances, -mean, weights)

    def product(self, other: _Centred) -> float:
        """Sum over all pairs of samples of the products of their distances."""
        by_row = np.einsum("uv,uv,v->u", self.between, other.between, self.weights)
        inside = _pairs_inside(self.weights) * self.inside * other.inside
        return float(self.weights @ by_row / 2 + inside)
