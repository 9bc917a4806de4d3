"""Co-association: how often members put two microclusters together.

The share among the members that saw both, sums weighted by member, and the transition probabilities
of a walk that picks a member, then a sample of the same cluster in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from coterie.core.budget import Budget, require
from coterie.core.errors import ParameterError
from coterie.core.params import as_numbers
from coterie.ensemble import Ensemble, require_ensemble

ADVICE = (
    "Make fewer distinct rows (fewer members, or members with fewer clusters), or take a method that "
    "is linear in N, such as PCE or CESHL."
)
# base clusters per product, which bounds the dense part
COLUMNS = 4096


def require_dense(
    ensemble: Ensemble, bytes_per_pair: float, purpose: str, budget: Budget = None
) -> None:
    """Refuse N x N arrays that would exceed the budget."""
    n = ensemble.n_microclusters
    require(bytes_per_pair * n * n, f"{purpose} for N = {n:,} microclusters", ADVICE, budget)


def weighted_coassociation(
    ensemble: Ensemble, member_values: ArrayLike, *, memory_budget: Budget = None
) -> NDArray[np.float64]:
    """Sum over members of value times connectivity: sum_i a_i S^(i), N x N.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import weighted_coassociation
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 1]])
    >>> weighted_coassociation(ensemble, [0.75, 0.25]).tolist()
    [[1.0, 0.75], [0.75, 1.0]]
    """
    require_ensemble(ensemble)
    from coterie.numerics.pairs import weighted_agreements

    values = as_numbers("member_values", member_values)
    if values.shape != (ensemble.n_members,):
        raise ParameterError(
            f"member_values must hold one number per member ({ensemble.n_members}), "
            f"but has shape {values.shape}"
        )
    finite = np.isfinite(values)
    if not finite.all():
        j = int(np.argmin(finite))
        raise ParameterError(f"member_values must be finite, but entry {j} is {values[j]}")
    require_dense(ensemble, 8, "The weighted co-association", memory_budget)
    per_cluster = values[ensemble.member_of_cluster]
    return weighted_agreements(ensemble.labels, per_cluster, ensemble.cluster_starts)


def coassociation(ensemble: Ensemble, *, memory_budget: Budget = None) -> NDArray[np.float64]:
    """Share of the members that put a pair together, among the members that labelled both, N x N.

    Members are weighted by ``member_weight``. Pairs never labelled by the same member carry no
    evidence and get 0; the diagonal is 1.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import coassociation
    >>> coassociation(Ensemble.from_labels([[0, 0], [0, -1], [1, 0]])).round(2).tolist()
    [[1.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.5, 0.0, 1.0]]
    """
    require_ensemble(ensemble)
    needed = bytes_of_coassociation(ensemble)
    require_dense(ensemble, needed, "The co-association matrix", memory_budget)
    from coterie.numerics.pairs import agreement_counts, observation_counts, weighted_agreements

    labels = ensemble.labels
    if ensemble.has_equal_members:
        seen = ensemble.n_members if ensemble.is_complete else observation_counts(labels)
        shares = share(agreement_counts(labels), seen)
    else:
        shares = share_of_seen(
            ensemble,
            weighted_agreements(labels, ensemble.weight_of_cluster, ensemble.cluster_starts),
        )
    np.fill_diagonal(shares, 1.0)
    return shares


def transitions(ensemble: Ensemble, *, memory_budget: Budget = None) -> NDArray[np.float64]:
    """Mean over members of the connectivity divided by cluster size, N x N between single samples.

    Entry (u, v) is the chance to step from a sample of u to one given sample of v; cluster sizes
    count samples, so the rows sum to one with the weights: ``T @ ensemble.weights == 1``. Only the
    members that label a sample are picked for it, in proportion to their ``member_weight``. The row of
    samples without any label is zero.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evidence import transitions
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 0]])
    >>> transitions(ensemble).round(3).tolist()
    [[0.417, 0.167], [0.167, 0.667]]
    >>> (transitions(ensemble) @ ensemble.weights).round(12).tolist()
    [1.0, 1.0]
    """
    require_ensemble(ensemble)
    from coterie.numerics.pairs import weighted_agreements

    require_dense(ensemble, 8, "The transition matrix", memory_budget)
    values = ensemble.weight_of_cluster / ensemble.cluster_sizes
    steps = weighted_agreements(ensemble.labels, values, ensemble.cluster_starts)
    # no step leads from a sample without any label
    steps /= np.where(ensemble.has_label, ensemble.observed_weight, 1.0)[:, None]
    return steps


def bytes_of_coassociation(ensemble: Ensemble) -> int:
    """Bytes per pair of microclusters that :func:`coassociation` takes."""
    return 16 if ensemble.has_equal_members else bytes_of_shares(ensemble)


def bytes_of_shares(ensemble: Ensemble) -> int:
    """Bytes per pair for :func:`share_of_seen`: both sums, a mask and the result."""
    return 16 if ensemble.is_complete else 25


def share_of_seen(ensemble: Ensemble, together: NDArray[np.float64]) -> NDArray[np.float64]:
    """N x N sums over members, divided by the weight of the members that labelled both.

    0 where no member did. May overwrite the sums.
    """
    weight = ensemble.member_weight
    if ensemble.is_complete:
        together /= weight.sum()
        return together
    from coterie.numerics.pairs import weighted_observations

    return share(together, weighted_observations(ensemble.labels, weight))


def share(
    part: NDArray[Any], whole: NDArray[Any] | float, otherwise: float = 0.0
) -> NDArray[np.float64]:
    """Part over whole, or another value where the whole is not positive."""
    out = np.full(part.shape, otherwise)
    np.divide(part, whole, out=out, where=np.asarray(whole) > 0)
    return out


def mean_coassociation(ensemble: Ensemble, inside: sparse.csr_array) -> NDArray[np.float64]:
    """Mean co-association between groups of samples, given their weight in each base cluster.

    The weighted share of (member, pair of samples) that are together, among those in which the
    member labelled both samples.
    """
    columns = sparse.csc_array(inside)
    per_cluster = ensemble.weight_of_cluster
    together = np.zeros((inside.shape[0], inside.shape[0]))
    for start in range(0, inside.shape[1], COLUMNS):
        part = columns[:, start : start + COLUMNS].toarray()
        together += (part * per_cluster[start : start + COLUMNS]) @ part.T
    # the samples of a group that a member labelled are those in its base clusters
    members = sparse.csr_array(
        (np.ones(inside.shape[1]), np.arange(inside.shape[1]), ensemble.cluster_offsets)
    )
    observed = np.asarray((inside @ members.T).toarray())
    seen = (observed * ensemble.member_weight) @ observed.T
    means = share(together, seen)
    return np.clip((means + means.T) / 2, 0.0, 1.0)
