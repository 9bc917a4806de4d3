"""What one ensemble says about each number of clusters, from one set of dendrograms.

Members are split at random into two halves, again and again. Each half gives one dendrogram, and a
dendrogram gives a partition at every k at once; all criteria are read off those partitions and off the
dendrogram of the whole ensemble.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import linalg, sparse

from coterie.core.budget import Budget
from coterie.core.threads import one_blas_thread
from coterie.ensemble import Ensemble
from coterie.evaluate.internal import cophenetic_correlation
from coterie.evidence.coassociation import coassociation, require_dense, weighted_coassociation
from coterie.numerics.partitions import Overlaps

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

# criterion: whether more is better
CRITERIA = {
    "stability": True,
    "crossing": False,
    "pac": False,
    "cophenetic": True,
    "delta_area": True,
    "eigengap": True,
    "lifetime": True,
    "anmi": True,
}
# those that compare partitions of different halves of the members
RESAMPLED = ("stability", "pac", "cophenetic", "delta_area")
AMBIGUOUS = (0.1, 0.9)
# steps of the CDF's grid
GRID = 100
BLOCK = 512


@dataclass(frozen=True)
class Profile:
    """The criteria of one ensemble at each k, and the partitions they were read off.

    Attributes
    ----------
    criteria : dict of ndarray, shape (K,)
        NaN where a criterion is not defined.
    cdf : ndarray, shape (K, GRID + 1)
        Share of the pairs of samples whose consensus index is at most that of the grid.
    partitions : ndarray, shape (K, N)
        Cluster of each microcluster, from the whole ensemble's dendrogram.
    """

    criteria: dict[str, Array]
    cdf: Array
    partitions: Labels


def profile(
    ensemble: Ensemble,
    ks: NDArray[np.int64],
    splits: Iterable[Labels],
    *,
    partitions: Labels | None = None,
    wanted: Iterable[str] = tuple(CRITERIA),
    n_jobs: int | None = None,
    memory_budget: Budget = None,
    step: Callable[[], None] | None = None,
) -> Profile:
    """The criteria at each k.

    Parameters
    ----------
    ensemble : Ensemble
        With its members in canonical order.
    ks : ndarray
        Numbers of clusters, each at most the number of microclusters.
    splits : arrays of m member positions
        The first half of each is compared with the second.
    partitions : ndarray, shape (K, N), optional
        Partitions of another solver, in place of those of the dendrogram.
    wanted : names of criteria
    step : callable, optional
        Called after each dendrogram.
    """
    wanted = set(wanted)
    criteria = {name: np.full(len(ks), np.nan) for name in CRITERIA if name in wanted}
    weights = ensemble.sizes
    heights, own = _cuts(ensemble, ks, memory_budget)
    if step is not None:
        step()
    partitions = own if partitions is None else partitions
    halves = [
        np.sort(half)
        for order in splits
        for half in (order[: len(order) // 2], order[len(order) // 2 : 2 * (len(order) // 2)])
        if len(half)
    ]
    cuts = []
    if wanted.intersection(RESAMPLED):
        jobs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        for cut in jobs(
            delayed(_cuts_of_seen)(ensemble.reorder_members(half), ks, memory_budget)
            for half in halves
        ):
            cuts.append(cut)
            if step is not None:
                step()
    cdf = np.full((len(ks), GRID + 1), np.nan)
    if cuts:
        _resampled(criteria, cdf, np.stack(cuts), ks, weights, memory_budget)
    if "lifetime" in criteria:
        lifetimes = np.append(np.diff(np.concatenate([[0.0], heights]))[::-1], 0.0)
        criteria["lifetime"] = np.where(ks >= 2, lifetimes[np.maximum(ks - 2, 0)], np.nan)
    if "eigengap" in criteria:
        criteria["eigengap"] = eigengaps(ensemble, ks, memory_budget)
    if wanted.intersection(("crossing", "anmi")):
        values = np.array([against_members(ensemble, labels) for labels in partitions])
        for j, name in enumerate(("crossing", "anmi")):
            if name in criteria:
                criteria[name] = values.reshape(-1, 2)[:, j]
    return Profile(criteria, cdf, partitions)


def stability_pairs(cuts: Labels, weights: Array) -> Array:
    """ARI of the two halves of each split: cuts of halves one after the other, 2 B x N."""
    # halves that saw no sample in common do not agree
    return np.nan_to_num(Overlaps.of_labels(cuts[0::2], cuts[1::2], weights).ari())


def against_members(ensemble: Ensemble, labels: Labels) -> tuple[float, float]:
    """Crossing and ANMI of a partition of the microclusters.

    A cluster of a member that lies inside a cluster of the partition, or holds whole ones, agrees
    with it at another resolution. One that holds a part of this and a part of that does not: with
    n_ca samples in member cluster c and cluster a, the member crosses by
    sum n_ca (1 - max(n_ca / n_c, n_ca / n_a)) / n. Crossing is the sum of that over members, divided
    by its value for independent labels of the same sizes: 0 nested, 1 as by chance, NaN where
    nothing can cross. ANMI is the mean of the normalised mutual information.
    """
    n = len(labels)
    chosen = sparse.csr_array(
        (ensemble.weights.astype(np.float64), (np.arange(n), labels)),
        shape=(n, int(labels.max()) + 1),
    )
    tables = sparse.csr_array(ensemble.incidence.T @ chosen)
    overlaps = Overlaps.of_tables(tables, ensemble.cluster_offsets)
    influence, totals, table = ensemble.member_weight, overlaps.totals, overlaps.table
    nested = np.maximum(
        overlaps.weight / overlaps.row_sizes[overlaps.row],
        overlaps.weight / overlaps.column_sizes[overlaps.column],
    )
    crossed = overlaps.weight * (1 - nested) @ (influence / totals)[table]
    # independent labels: the share of a pair of clusters is the product of their shares
    own = (overlaps.row_sizes / totals[overlaps.row_table])[:, None]
    sizes = np.add.reduceat(tables.toarray(), ensemble.cluster_offsets[:-1], axis=0)
    others = (sizes / totals[:, None])[overlaps.row_table]
    by_chance = (own * others * (1 - np.maximum(own, others))).sum(axis=1)
    expected = float(by_chance @ influence[overlaps.row_table])
    crossing = float(crossed) / expected if expected > 1e-12 else np.nan
    return crossing, float(np.average(overlaps.nmi(), weights=influence))


def eigengaps(
    ensemble: Ensemble, ks: NDArray[np.int64], memory_budget: Budget = None
) -> NDArray[np.float64]:
    """Gap between the k-th and the next smallest eigenvalue of the normalised Laplacian.

    Of the graph of samples whose edges are the members' weights that put two together. Written with
    the incidence Z of microclusters and base clusters, the matrix is Z Z' and has the eigenvalues
    of Z' Z, so the smaller of the two is formed. NaN at k = N, where there is no next one.
    """
    root = np.sqrt(ensemble.sizes)
    per_cluster = ensemble.weight_of_cluster
    degree = ensemble.incidence @ (per_cluster * ensemble.cluster_sizes)
    scale = np.divide(root, np.sqrt(degree), out=np.zeros_like(root), where=degree > 0)
    n, k = ensemble.n_microclusters, ensemble.n_base_clusters
    if k <= n:
        scaled = ensemble.incidence.multiply(scale[:, None]).tocsr()
        scaled = scaled.multiply(np.sqrt(per_cluster)[None, :]).tocsr()
        matrix = np.asarray((scaled.T @ scaled).toarray())
    else:
        require_dense(ensemble, 16, "The eigenvalues of the Laplacian", memory_budget)
        matrix = weighted_coassociation(
            ensemble, ensemble.member_weight, memory_budget=memory_budget
        )
        matrix *= scale[:, None]
        matrix *= scale[None, :]
    wanted = min(int(ks.max()) + 1, len(matrix))
    with one_blas_thread():
        top = linalg.eigh(
            matrix,
            eigvals_only=True,
            subset_by_index=(len(matrix) - wanted, len(matrix) - 1),
            overwrite_a=True,
            check_finite=False,
        )[::-1]
    values = np.concatenate([np.clip(top, 0.0, 1.0), np.zeros(max(0, int(ks.max()) + 1 - wanted))])
    gaps = values[ks - 1] - values[ks]
    return np.where(ks < n, np.round(gaps, 12), np.nan)


def areas_gained(area: Array) -> Array:
    """Relative growth of the area under the CDF with k; the first entry is the area itself."""
    gained = area.copy()
    best = np.maximum.accumulate(area)[:-1]
    gained[1:] = np.divide(area[1:] - best, best, out=np.zeros(len(best)), where=best > 0)
    return gained


# ---------------------------------------------------------------------- the steps


def _cuts(ensemble: Ensemble, ks: NDArray[np.int64], memory_budget: Budget) -> tuple[Array, Labels]:
    """Heights of the average-link dendrogram and its partition at each k."""
    from coterie.numerics.linkage import weighted_linkage

    require_dense(ensemble, 16, "The co-association matrix and its linkage", memory_budget)
    dissimilarity = coassociation(ensemble, memory_budget=memory_budget)
    np.subtract(1.0, dissimilarity, out=dissimilarity)
    dendrogram = weighted_linkage(dissimilarity, ensemble.sizes, overwrite=True)
    return dendrogram.heights, np.stack([dendrogram.cut(int(k)) for k in ks])


def _cuts_of_seen(half: Ensemble, ks: NDArray[np.int64], memory_budget: Budget) -> Labels:
    """The partitions of what a half of the members saw; -1 for the rest, of which it says nothing."""
    seen = np.asarray(half.observed.any(axis=1))
    if seen.all():
        return _cuts(half, ks, memory_budget)[1]
    labels = np.full((len(ks), len(seen)), -1, dtype=np.int64)
    if seen.any():
        known = replace(
            half,
            labels=half.labels[seen],
            weights=half.weights[seen],
            inverse=np.arange(seen.sum(), dtype=np.int32),
            sample_weight=None,
            sample_ids=None,
        )
        labels[:, seen] = _cuts(known, np.minimum(ks, seen.sum()), memory_budget)[1]
    return labels


def _resampled(
    criteria: dict[str, Array],
    cdf: Array,
    cuts: Labels,
    ks: NDArray[np.int64],
    weights: Array,
    memory_budget: Budget,
) -> None:
    """Fill in what follows from the partitions of the halves, cuts of shape 2 B x K x N."""
    for i in range(len(ks)):
        at_k = cuts[:, i]
        if "stability" in criteria:
            criteria["stability"][i] = stability_pairs(at_k, weights).mean()
        together = Ensemble.from_labels(at_k.T, sample_weight=weights, blank_samples="keep")
        cdf[i], ambiguous = _distribution(together, memory_budget)
        if "pac" in criteria:
            criteria["pac"][i] = ambiguous
        if "cophenetic" in criteria:
            criteria["cophenetic"][i] = cophenetic_correlation(
                together, memory_budget=memory_budget
            )
    if "delta_area" in criteria:
        criteria["delta_area"] = areas_gained(cdf[:, :-1].mean(axis=1))


def _distribution(ensemble: Ensemble, memory_budget: Budget) -> tuple[Array, float]:
    """Share of the pairs of samples with co-association up to 0, 1 / GRID, ... 1; and the PAC."""
    weights = ensemble.sizes
    together = coassociation(ensemble, memory_budget=memory_budget)
    counts, ambiguous = np.zeros(GRID + 1), 0.0
    low, high = AMBIGUOUS
    for begin in range(0, len(weights), BLOCK):
        rows = slice(begin, begin + BLOCK)
        place = np.ceil(together[rows] * GRID - 1e-9).astype(np.int64)
        pairs = np.multiply.outer(weights[rows], weights)
        counts += np.bincount(place.ravel(), weights=pairs.ravel(), minlength=GRID + 1)
        # the slack keeps shares such as 18 / 20, which are not exact, on their side
        between = (together[rows] > low + 1e-9) & (together[rows] < high - 1e-9)
        ambiguous += float(pairs[between].sum())
    # a sample is no pair with itself
    counts[-1] -= weights.sum()
    total = counts.sum()
    if total <= 0:
        return np.ones(GRID + 1), 0.0
    return np.cumsum(counts) / total, ambiguous / total
