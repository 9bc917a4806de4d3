"""The choice from features: the largest number of clusters that are all separated from each other.

For every k several partitions into k clusters are made (candidates.py). Two clusters are separated if
hardly any sample of one has a neighbour in the other, or if fewer samples lie at the border between them than
on both sides of it (separation.py). A single bent cloud may have such a border by chance. So in addition,
fewer neighbours must lie across the border than across the weakest cut inside the clusters, or a mixture of k
normal distributions must describe the samples best: a bent cloud needs more of them. A number of clusters is
supported if there is a partition in which every two clusters are separated. First, the features are tested
against single clouds (clouds.py). Classes that touch have no border, so the numbers of clusters that
replicate in halves of the samples (replication.py), and those that Gaussian mixtures describe best
(likelihood.py), are named, too.

Everything is drawn by a generator of its own, from samples in an order that depends on their values only. So
neither a seed nor the order of the samples changes the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from coterie.core.random import random_rows
from coterie.core.types import FloatArray, IntArray
from coterie.select.candidates import Candidates
from coterie.select.choice import LEVEL, NEGLIGIBLE, Choice, evidence_for, listed_ks
from coterie.select.clouds import MIN_TESTED, N_CLOUDS, cloud_p_value, principal_scores
from coterie.select.likelihood import likely_ks
from coterie.select.replication import N_SPLITS, replicated_ks
from coterie.select.separation import (
    border_ratios,
    cut_depths,
    depths,
    discriminant_space,
    least_size,
    neighbour_graph,
)

# maximum number of samples on which partitions are compared
MAX_ROWS = 1_000
# A difference of counts, in standard deviations, is clear above this: a normal number exceeds it with the
# probability LEVEL.
MIN_DEPTH = 1.645
# partitions into more clusters are tried too, because some clusters may hold outliers only
OUTLIER_CLUSTERS = 5
# Replication is measured up to this number at least, so that the range that is asked for does not matter.
MIN_COMPARED = 30
# samples that each cluster has on average in the partitions that are tried
SAMPLES_PER_CLUSTER = 8
# splits into halves, if the first one does not show that two clusters touch
MORE_SPLITS = 5
# how many times as long as the partitions into one number of clusters a cloud takes, and a split into halves
CLOUD_STEPS, SPLIT_STEPS = 2, 8


def n_feature_steps(n: int, ks: IntArray) -> int:
    """Number of steps of the choice for n samples; fewer are done if there is no structure."""
    partitions = max(0, _largest_tried(min(n, MAX_ROWS), int(ks.max())) - 1)
    return CLOUD_STEPS * N_CLOUDS + SPLIT_STEPS * N_SPLITS + partitions


def choose_from_features(
    X: Any, ks: IntArray, step: Callable[[int], None] = lambda count: None
) -> Choice:
    """The number of clusters among ``ks`` that the features support, or 1.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
    ks : ndarray of int
    step : callable, optional
        Called with the number of steps done since the last call; at most :func:`n_feature_steps` in all.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.datasets import load
    >>> from coterie.select.feature_structure import choose_from_features
    >>> X = load("blobs").X
    >>> choose_from_features(X, np.arange(2, 11)).recommended
    5
    """
    rng = np.random.default_rng(0)
    sample, columns = _principal_sample(X, rng)
    p_value = cloud_p_value(columns, rng, partial(step, CLOUD_STEPS))
    if np.isnan(p_value):
        reason = (
            f"Structure could not be tested: {MIN_TESTED} samples that are not all equal are needed, and "
            f"there are {X.shape[0]} samples. Treat the data as one cluster."
        )
        return Choice(1, {}, p_value, reason)
    if p_value >= LEVEL:
        reason = (
            "There is no structure: the clusters are not better separated than those of a single "
            f"cloud with the same spread (p = {p_value:.2f}). Treat the data as one cluster."
        )
        return Choice(1, {}, p_value, reason)
    top = int(ks.max())
    more = max(top, MIN_COMPARED)
    replicated = replicated_ks(sample, more, rng, partial(step, SPLIT_STEPS))
    candidates = Candidates(sample, _largest_tried(len(sample), more))
    likely = likely_ks(candidates, more)
    supported = {
        "borders": _separated_ks(candidates, top, likely, rng, partial(step, 1)),
        "replication": replicated,
        "likelihood": likely,
    }
    return _choice(ks, supported, p_value)


def _choice(ks: IntArray, supported: Mapping[str, Sequence[int]], p_value: float) -> Choice:
    """The largest of ``ks`` with separated clusters; other kinds of evidence support further numbers."""
    evidence = evidence_for(
        {kind: [k for k in ks if k in found] for kind, found in supported.items()}
    )
    separated = supported["borders"]
    best = max((k for k in separated if k in ks), default=1)
    # the reason names each further number once, with its strongest evidence
    others = {
        kind: [k for k, kinds in evidence.items() if k != best and kinds.startswith(kind)]
        for kind in supported
    }
    reason = _not_separated(separated, others) if best == 1 else _separated(best, others)
    notes: tuple[str, ...] = ()
    if best == ks.max() and best < max(separated):
        notes = (f"k = {best} is the largest number compared, and larger ones are supported, too.",)
    return Choice(best, evidence, p_value, reason.format(p=f"p = {p_value:.2f}"), notes)


def _separated(best: int, others: Mapping[str, Sequence[int]]) -> str:
    every = "Both" if best == 2 else f"All {best}"
    reason = (
        f"{every} clusters are separated: the samples are sparser at their borders than on either side. In a "
        "single cloud without clusters this is improbable ({p})."
    )
    if others["borders"]:
        reason += (
            f" Partitions into {listed_ks(others['borders'])} clusters are separated, too; the largest "
            f"such number, {best}, is recommended."
        )
    if weaker := sorted([*others["replication"], *others["likelihood"]]):
        reason += f" For {listed_ks(weaker)} clusters there is weaker evidence: replication or likelihood."
    return reason


def _not_separated(separated: Sequence[int], others: Mapping[str, Sequence[int]]) -> str:
    reason = "The data differ from a single cloud ({p}), but "
    if separated:
        reason += (
            f"only partitions into {listed_ks(separated)} clusters, which were not asked for, have "
        )
        reason += "separated clusters."
    else:
        reason += (
            "in every partition that was tried some clusters run into each other: a continuum, not "
            "groups. Treat the data as one cluster."
        )
    weaker = []
    if others["replication"]:
        ks = listed_ks(others["replication"])
        weaker.append(
            f"partitions into {ks} clusters replicate, that is, they are found again in other samples"
        )
    if others["likelihood"]:
        ks = listed_ks(others["likelihood"])
        weaker.append(f"mixtures of {ks} normal distributions describe the samples best")
    return reason + (f" If you need groups: {'; '.join(weaker)}." if weaker else "")


def _principal_sample(X: Any, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Principal components of the samples, or of a part of them; and their columns.

    The order of the rows depends on their values only.
    """
    # a fixed direction gives dense and sparse matrices the same order
    if sparse.issparse(X):
        X = X.tocsr()
    order = np.argsort(X @ np.random.default_rng(0).standard_normal(X.shape[1]), kind="stable")
    chosen = X[order[random_rows(len(order), MAX_ROWS, rng)]]
    dense = (chosen.toarray() if sparse.issparse(chosen) else np.asarray(chosen)).astype(np.float64)
    if not dense.std(axis=0).any():
        return np.zeros((len(dense), 0)), dense
    return principal_scores(dense, rng), dense


def _largest_tried(n: int, top: int) -> int:
    """The largest number of clusters that n samples are partitioned into."""
    return min(top + OUTLIER_CLUSTERS, n // SAMPLES_PER_CLUSTER)


def _separated_ks(
    candidates: Candidates,
    top: int,
    likely: Sequence[int],
    rng: np.random.Generator,
    step: Callable[[], None],
) -> list[int]:
    """Numbers of clusters for which a partition into separated clusters was found, ascending."""
    n = len(candidates.X)
    largest = _largest_tried(n, top)
    seeds = rng.integers(2**63, size=largest + 1)
    found = set()
    for k in range(2, largest + 1):
        # a seed for each k, so that the range of k does not matter
        source = np.random.default_rng(seeds[k])
        for labels in candidates.of(k):
            count = int((np.bincount(labels) >= least_size(n)).sum())
            if count not in found and is_separated(candidates, labels, likely, source):
                found.add(count)
        step()
    return sorted(found)


def is_separated(
    candidates: Candidates, labels: IntArray, likely: Sequence[int], rng: np.random.Generator
) -> bool:
    """Whether every two clusters that are large enough are separated."""
    X = candidates.X
    large = np.flatnonzero(np.bincount(labels) >= least_size(len(X)))
    if len(large) < 2:
        return False
    pairs = tuple(large[i] for i in np.triu_indices(len(large), 1))
    ratios = border_ratios(candidates.graph, X, labels)[pairs]
    # such a border is clear whatever its depth
    clear = ratios < NEGLIGIBLE
    if not clear.all():
        # most partitions are rejected by a single split
        if not (clear | (depths(X, labels, rng, 1)[pairs] > 0)).all():
            return False
        deep = depths(X, labels, rng, MORE_SPLITS)[pairs] > MIN_DEPTH
        if not (clear | deep).all():
            return False
    if len(large) in likely:
        return True
    fewer = cut_depths(candidates.graph, labels)[pairs]
    if (fewer > MIN_DEPTH).all():
        return True
    # columns that do not differ between clusters hide borders from the nearest neighbours
    graph = neighbour_graph(discriminant_space(X, labels))
    return bool((np.maximum(fewer, cut_depths(graph, labels)[pairs]) > MIN_DEPTH).all())
