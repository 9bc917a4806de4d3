"""Label matrices of members that err, and fits without the warning that passes ran out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble
from tests.naive import evidence

Model = TypeVar("Model")
Labels = NDArray[np.int64]


def noisy_members(
    seed: int,
    n: int = 60,
    n_members: int = 8,
    n_classes: int = 3,
    *,
    n_labels: int | None = None,
    wrong: float | tuple[float, float] = 0.2,
    missing: float = 0.0,
    random_classes: bool = False,
    repeats: int = 0,
) -> tuple[Labels, Labels]:
    """Members that copy a partition with errors, and the partition.

    Parameters
    ----------
    seed, n, n_members, n_classes : int
    n_labels : int, optional
        Wrong labels are drawn from 0 .. n_labels - 1; as many as classes where it is not given.
    wrong : float or (float, float)
        Share of labels drawn at random, or the range from which each member draws its own share.
    missing : float
        Share of labels that are missing (-1). Every sample keeps at least one.
    random_classes : bool
        Draw the classes; otherwise samples take the classes in turn.
    repeats : int
        Return ``repeats * n`` rows drawn with replacement; 0 returns each row once.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n) if random_classes else np.arange(n) % n_classes
    labels = np.repeat(truth[:, None], n_members, axis=1)
    drawn = rng.random(labels.shape)
    errs = drawn < (rng.uniform(*wrong, n_members) if isinstance(wrong, tuple) else wrong)
    labels[errs] = rng.integers(n_labels or n_classes, size=int(errs.sum()))
    return _with_gaps_and_repeats(rng, labels, truth, missing, repeats)


def cells_of_blobs(
    n: int, seed: int, *, spread: float, n_members: int = 10, n_blobs: int = 12, d: int = 10
) -> tuple[Labels, Labels]:
    """Members that assign points of overlapping blobs to the nearest of 10 to 30 of them; the blobs.

    Almost every point has a label row of its own.
    """
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10.0, 10.0, (n_blobs, d))
    blobs = rng.integers(0, n_blobs, n)
    points = centres[blobs] + spread * rng.normal(size=(n, d))
    labels = np.empty((n, n_members), dtype=np.int64)
    for j in range(n_members):
        chosen = points[rng.choice(n, rng.integers(10, 31), replace=False)]
        labels[:, j] = ((chosen**2).sum(axis=1) - 2.0 * points @ chosen.T).argmin(axis=1)
    return labels, blobs


def samples_of_parties(
    n_parties: int, size: int, shared: int
) -> tuple[list[NDArray[np.int64]], int]:
    """The samples of each party, of which each pair of parties shares some, and how many there are."""
    samples: list[list[int]] = [[] for _ in range(n_parties)]
    n = 0
    for p in range(n_parties):
        own = size - shared * (n_parties - 1)
        samples[p] += range(n, n + own)
        n += own
        for q in range(p):
            for party in (p, q):
                samples[party] += range(n, n + shared)
            n += shared
    return [np.array(mine) for mine in samples], n


def members_of_sizes(
    seed: int,
    n: int = 60,
    n_members: int = 6,
    n_classes: int = 3,
    *,
    sizes: Sequence[int] = (3, 4, 5),
    wrong: float = 0.15,
    missing: float = 0.0,
    repeats: int = 0,
) -> tuple[Labels, Labels]:
    """Members that merge or split the classes into as many clusters as ``sizes`` says, in turn.

    The other parameters and the return value are those of :func:`noisy_members`.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    columns = []
    for member in range(n_members):
        size = sizes[member % len(sizes)]
        column = (truth + n_classes * rng.integers(-(-size // n_classes), size=n)) % size
        errs = rng.random(n) < wrong
        columns.append(np.where(errs, rng.integers(size, size=n), column))
    return _with_gaps_and_repeats(rng, np.stack(columns, axis=1), truth, missing, repeats)


def _with_gaps_and_repeats(
    rng: np.random.Generator, labels: Labels, truth: Labels, missing: float, repeats: int
) -> tuple[Labels, Labels]:
    n, n_members = labels.shape
    gaps = rng.random(labels.shape) < missing
    gaps[np.arange(n), rng.integers(n_members, size=n)] = False
    labels[gaps] = -1
    if not repeats:
        return labels, truth
    rows = rng.integers(n, size=repeats * n)
    return labels[rows], truth[rows]


def fit_quietly(model: Model, labels: Any, **weights: Any) -> Model:
    """Fit without the warning that the passes ran out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(labels, **weights)


def canonical(labels: Any, **weights: Any) -> Ensemble:
    """The ensemble with its members in the order in which solvers see them."""
    ensemble = Ensemble.from_labels(labels, **weights)
    return ensemble.reorder_members(ensemble.canonical_member_order)


def in_literal_order(labels: Labels, ensemble: Ensemble) -> list[int]:
    """Columns of the ensemble's incidence, by member and label as the twins number base clusters."""
    return [
        ensemble.cluster_offsets[j] + ensemble.categories[j].tolist().index(q)
        for j, q, _ in evidence.base_clusters(labels)
    ]
