"""Clusters: how they hold together, how stable they are, and who sees them otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.budget import require
from coterie.core.tables import Table
from coterie.ensemble import Ensemble
from coterie.trust.votes import ClusterVotes

# a member sees a cluster if one of its own shares more than half of what either holds
SEES = 0.5
NAMED = 3


def clusters(ensemble: Ensemble, labels: Any) -> Table:
    """One row a cluster: size, cohesion, stability and the members that see it otherwise.

    Columns: ``cluster``; ``size`` in samples (the sum of their ``sample_weight``, where the ensemble
    has weights) and ``share`` of the total; ``confidence`` (mean over its samples; 1, and saying
    nothing, where there is only one cluster); ``cohesion``
    (mean co-association of its pairs of samples, NaN for a single one); ``separation`` (mean
    co-association with samples outside, small is good); ``stability`` (mean over members of the
    best Jaccard index of a base cluster with it); ``nearest`` (the cluster of greatest mean
    co-association with it, -1 where there is only one); ``disagreeing``: the members that split or
    merge it, that is, whose best Jaccard index is at most one half, the worst first.

    Where labels are missing, means of co-association run over all (member, pair) in which the
    member labelled both; Jaccard indices over what the member labelled.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import clusters
    >>> ensemble = Ensemble.from_labels(
    ...     {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "coarse": [0, 0, 0, 0]})
    >>> table = clusters(ensemble, [0, 0, 1, 1])
    >>> table["cohesion"].tolist(), table["separation"].round(3).tolist()
    ([1.0, 1.0], [0.333, 0.333])
    >>> table["stability"].round(3).tolist(), table["disagreeing"].tolist()
    ([0.833, 0.833], ['coarse', 'coarse'])
    """
    return clusters_of(ClusterVotes.of(ensemble, labels))


def clusters_of(votes: ClusterVotes) -> Table:
    """The table from votes that are there already."""
    ensemble, c = votes.ensemble, votes.n_clusters
    weights = ensemble.sizes
    weight = np.bincount(votes.labels, weights=weights, minlength=c)
    trusted = np.bincount(votes.labels, weights=weights * votes.confidence(), minlength=c)
    together, seen = _pair_sums(votes)
    between = _shares(together - np.diag(np.diag(together)), seen)
    cohesion = _cohesion(votes, np.diag(together), np.diag(seen))
    stability, disagreeing = _stability(votes)
    np.fill_diagonal(between, -1.0)
    outside, outside_seen = together.copy(), seen.copy()
    np.fill_diagonal(outside, 0.0)
    np.fill_diagonal(outside_seen, 0.0)
    return Table(
        {
            "cluster": np.arange(c),
            "size": counts_of(ensemble, weight),
            "share": weight / weight.sum(),
            "confidence": trusted / weight,
            "cohesion": cohesion,
            "separation": _shares(outside.sum(axis=1), outside_seen.sum(axis=1), np.nan),
            "stability": stability,
            "nearest": between.argmax(axis=1) if c > 1 else np.array([-1]),
            "disagreeing": np.array(disagreeing, dtype=np.str_),
        }
    )


def counts_of(ensemble: Ensemble, sums: NDArray[Any]) -> NDArray[Any]:
    """Sums of the ensemble's weights as numbers of samples: whole ones where all weights are."""
    return np.rint(sums).astype(np.int64) if has_whole_weights(ensemble) else sums


def has_whole_weights(ensemble: Ensemble) -> bool:
    """Whether every sample stands for a whole number of them, as without weights each does for one."""
    weights = ensemble.weights if ensemble.sample_weight is None else ensemble.sample_weight
    if weights.dtype.kind != "f":
        return True
    # beyond this, sums of whole numbers are not exact
    return bool((weights == np.rint(weights)).all() and weights.sum() <= 2.0**53)


def sample_counts(ensemble: Ensemble) -> NDArray[Any]:
    """How many samples each sample of the ensemble stands for, shape (n,): its weight, else one."""
    if ensemble.sample_weight is None:
        return np.ones(ensemble.n_samples, dtype=np.int64)
    return counts_of(ensemble, ensemble.sample_weight.astype(np.float64))


def total_count(ensemble: Ensemble) -> int | float:
    """How many samples the ensemble stands for: its total weight."""
    if ensemble.sample_weight is None:
        return ensemble.n_samples
    total = float(ensemble.weights.sum())
    return round(total) if has_whole_weights(ensemble) else total


def _pair_sums(votes: ClusterVotes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per pair of clusters, (member, pair of samples) together and seen, self pairs included."""
    c = votes.n_clusters
    require(
        32 * c * c,
        f"Comparing {c:,} clusters with each other",
        "Ask for fewer clusters.",
    )
    ensemble = votes.ensemble
    by_base = ensemble.weight_of_cluster
    seen_by = _seen(votes)
    together = (
        votes.overlap.T @ sparse.csr_array(votes.overlap.multiply(by_base[:, None]))
    ).toarray()
    return together, seen_by.T @ (seen_by * ensemble.member_weight[:, None])


def _seen(votes: ClusterVotes) -> NDArray[np.float64]:
    """Weight of each cluster that each member labelled, m x c."""
    return np.asarray((_by_member(votes.ensemble) @ votes.overlap).toarray())


def _by_member(ensemble: Ensemble) -> sparse.csr_array:
    """m x k, one where a base cluster is the member's."""
    k = ensemble.n_base_clusters
    return sparse.csr_array(
        (np.ones(k), np.arange(k), ensemble.cluster_offsets), shape=(ensemble.n_members, k)
    )


def _cohesion(
    votes: ClusterVotes, together: NDArray[np.float64], seen: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean co-association inside, a sample and itself being no pair."""
    ensemble = votes.ensemble
    weights = ensemble.sizes
    # r samples make r (r - 1) ordered pairs; one of weight below one makes none
    selves = weights**2 - np.maximum(weights * (weights - 1), 0.0)
    says = ensemble.observed_weight
    alone = np.bincount(votes.labels, weights=selves * says, minlength=votes.n_clusters)
    pairs = seen - alone
    # what is left of a cluster without pairs is rounding
    pairs[pairs <= 1e-12 * seen] = 0.0
    return _shares(together - alone, pairs, np.nan)


def _shares(
    part: NDArray[np.float64], whole: NDArray[np.float64], otherwise: float = 0.0
) -> NDArray[np.float64]:
    out = np.full(part.shape, otherwise)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _stability(votes: ClusterVotes) -> tuple[NDArray[np.float64], list[str]]:
    """Mean best Jaccard index of each cluster, and who has none above one half."""
    ensemble, c = votes.ensemble, votes.n_clusters
    seen = _seen(votes)
    entries = votes.overlap.tocoo()
    base, cluster = entries.coords
    member = ensemble.member_of_cluster[base]
    union = ensemble.cluster_sizes[base] + seen[member, cluster] - entries.data
    best = np.zeros((ensemble.n_members, c))
    np.maximum.at(best, (member, cluster), entries.data / union)
    weight = np.where(seen > 0, ensemble.member_weight[:, None], 0.0)
    stability = _shares((weight * best).sum(axis=0), weight.sum(axis=0), np.nan)
    return stability, [_named(ensemble, best[:, q], seen[:, q] > 0) for q in range(c)]


def _named(ensemble: Ensemble, best: NDArray[np.float64], saw: NDArray[np.bool_]) -> str:
    against = np.flatnonzero(saw & (best <= SEES))
    against = against[np.argsort(best[against], kind="stable")]
    names = [ensemble.members[j] for j in against[:NAMED].tolist()]
    more = len(against) - len(names)
    return ", ".join([*names, f"… ({more} more)"] if more else names)
