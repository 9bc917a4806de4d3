"""Scores of a partition, or of the ensemble itself, that need no known classes.

A microcluster of weight r represents r samples. Pairs of samples are counted without listing them: r_u r_v
pairs between two microclusters and r_u (r_u - 1) / 2 inside one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import Real, check_parameters
from coterie.ensemble import Ensemble, require_ensemble
from coterie.evaluate.external import AVERAGE, coded
from coterie.evidence.coassociation import coassociation, require_dense
from coterie.numerics.partitions import Average, Overlaps

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
        raise ValueError(
            f"labels has {len(codes)} labels, but the ensemble has {ensemble.n_samples} samples"
        )
    weight = np.ones(len(codes)) if ensemble.sample_weight is None else ensemble.sample_weight
    shares = sparse.csr_array(
        (weight.astype(np.float64), (ensemble.inverse, codes)),
        shape=(ensemble.n_microclusters, n_clusters),
    )
    # the members' contingency tables with the partition, one below the other
    tables = sparse.csr_array(ensemble.incidence.T @ shares)
    values = Overlaps.of_tables(tables, ensemble.cluster_offsets).nmi(average)
    return float(np.average(values, weights=ensemble.member_weight))


def cophenetic_correlation(
    ensemble: Ensemble, dendrogram: Any = None, *, memory_budget: Budget = None
) -> float:
    """Correlation, over all pairs of samples, of co-association and cophenetic distance.

    The dissimilarity of two samples is one minus their co-association; the cophenetic distance is
    the height at which the dendrogram joins them. If both are constant over the pairs the value is
    1; if only one is constant, it is 0.

    Parameters
    ----------
    ensemble : Ensemble
    dendrogram : Dendrogram, optional
        Merges of the ensemble's microclusters, such as ``EAC().fit(ensemble).dendrogram_``; by
        default average link of the dissimilarities.
    memory_budget : int, str or None, default None
        Bytes (or text such as "4GB") that may be allocated; None takes 60 % of what is available.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evaluate import cophenetic_correlation
    >>> labels = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    >>> round(cophenetic_correlation(Ensemble.from_labels(labels)), 4)
    0.9554
    """
    require_ensemble(ensemble)
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
        raise ValueError(
            f"dendrogram joins {len(dendrogram.sizes)} items, but the ensemble has "
            f"{len(weights)} microclusters; fit it on this ensemble"
        )
    heights = np.append(dendrogram.heights, 0.0)
    pairs, given = _sums_by_merge(dissimilarity, weights, dendrogram.pairs)
    # inside a microcluster both distances are 0
    pairs, given = np.append(pairs, _pairs_inside(weights)), np.append(given, 0.0)
    total = pairs.sum()
    if total == 0:
        return 1.0
    mean_given, mean_height = given.sum() / total, (pairs * heights).sum() / total
    shifted = heights - mean_height
    covariance = ((given - mean_given * pairs) * shifted).sum()
    spread_heights = (pairs * shifted**2).sum()
    spread_given = _spread(dissimilarity, weights, float(mean_given))
    # a spread at the level of rounding counts as zero, because a constant has no correlation
    flat = [spread <= 1e-24 * total for spread in (spread_given, spread_heights)]
    if any(flat):
        return float(all(flat))
    return float(np.clip(covariance / np.sqrt(spread_given * spread_heights), -1.0, 1.0))


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
        Bytes (or text such as "4GB") that may be allocated; None takes 60 % of what is available.

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
    weights = ensemble.sizes
    together = coassociation(ensemble, memory_budget=memory_budget)
    ambiguous = 0.0
    for begin in range(0, len(weights), BLOCK):
        rows = slice(begin, begin + BLOCK)
        between = (together[rows] > lower) & (together[rows] < upper)
        ambiguous += float(weights[rows] @ (between @ weights))
    # the diagonal is 1 and never ambiguous, so each pair was counted twice
    total = (weights.sum() ** 2 - (weights**2).sum()) / 2 + _pairs_inside(weights)
    return float(ambiguous / 2 / total) if total else 0.0


def _pairs_inside(weights: NDArray[np.float64]) -> float:
    # a sample of weight below one has no pairs
    return float(np.maximum(weights * (weights - 1) / 2, 0.0).sum())


def _sums_by_merge(
    dissimilarity: NDArray[np.float64],
    weights: NDArray[np.float64],
    merges: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per merge, the pairs of samples that it joins and the sum of their dissimilarities.

    The leaves are ordered so that every cluster is contiguous. A merge is then a block of the matrix,
    and all blocks together are half of it.
    """
    groups = [[item] for item in range(len(weights))]
    for low, high in merges.tolist():
        groups[low] += groups[high]
    order = np.array(groups[0])
    position = np.argsort(order)
    reordered, weight = dissimilarity[np.ix_(order, order)], weights[order]
    # start and length of each cluster, which is named by its lowest item
    start, length = position.copy(), np.ones(len(order), dtype=np.int64)
    pairs, sums = np.empty(len(merges)), np.empty(len(merges))
    for step, (low, high) in enumerate(merges.tolist()):
        first = slice(start[low], start[low] + length[low])
        second = slice(start[high], start[high] + length[high])
        pairs[step] = weight[first].sum() * weight[second].sum()
        sums[step] = weight[first] @ reordered[first, second] @ weight[second]
        length[low] += length[high]
    return pairs, sums


def _spread(dissimilarity: NDArray[np.float64], weights: NDArray[np.float64], mean: float) -> float:
    """Sum over all pairs of samples of the squared deviation from the mean; changes the diagonal."""
    # the diagonal holds no pairs; set to the mean it adds nothing, and subtracting it would lose digits
    np.fill_diagonal(dissimilarity, mean)
    twice = 0.0
    for begin in range(0, len(weights), BLOCK):
        rows = slice(begin, begin + BLOCK)
        twice += float(weights[rows] @ ((dissimilarity[rows] - mean) ** 2 @ weights))
    # pairs inside a microcluster are at distance 0
    return twice / 2 + _pairs_inside(weights) * mean**2
