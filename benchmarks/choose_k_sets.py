"""Data sets for benchmarks/choose_k.py: artificial ones of many families, and real ones with known classes.

A family is a function that draws features or a label matrix from a generator; sizes, numbers of clusters
and distances are drawn from the ranges in its first lines. Distances are in standard deviations of a
cluster and refer to the two nearest clusters. A label of -1 is missing; a class of -1 is an outlier.

The halves are fixed by hashes of the names. A quarter of the families is kept for checking as a whole,
because users have other kinds of data than those that a rule was chosen on. In the other families, a hash
of family and draw puts each set in one of the halves. Real tables keep the half that they have in
benchmarks/tables.py ("later" is for checking).
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from tables import MAX_COLUMNS_OF_MIXTURE, standard_features, tables

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
KINDS = ("structure", "null", "labels", "null labels", "real")
# one family of four is only for checking
SHARE_FOR_CHECKING = 4
# draws from here on belong to no half; choose_k.py measures the level of the test on them
FIRST_DRAW_OF_LEVEL = 100_000

Features = NDArray[np.float64]
Labels = NDArray[np.int64]
Rng = np.random.Generator


@dataclass(frozen=True)
class Drawn:
    """Features or a label matrix, the classes, and the numbers of clusters that are right."""

    data: Features | Labels
    classes: Labels | None = None
    right: frozenset[int] = frozenset({1})


@dataclass(frozen=True)
class Set:
    """One data set; ``right`` has several numbers if coarse and fine clusters are both there."""

    name: str
    family: str
    kind: str
    half: str
    data: Features | Labels
    classes: Labels | None
    right: frozenset[int]

    @property
    def is_labels(self) -> bool:
        return self.data.dtype.kind == "i"

    @property
    def digest(self) -> str:
        return hashlib.sha256(np.ascontiguousarray(self.data).tobytes()).hexdigest()[:16]


def sets(kind: str, half: str | None, n_draws: int) -> Iterator[Set]:
    """The sets of one kind: ``n_draws`` of each family that is in the half, or all real ones."""
    if kind in ("real", "candidates"):
        stored = real_candidates() if kind == "candidates" else real_sets()
        yield from (real for real in stored if half in (None, real.half))
        return
    for family in FAMILIES[kind]:
        name = family_name(family)
        for part in ("choose", "check") if half is None else (half,):
            if part == "check" or not is_for_checking(name):
                draws = (draw for draw in count() if half_of(name, draw) == part)
                yield from (draw_set(kind, family, draw) for draw in islice(draws, n_draws))


def draw_set(kind: str, family: Callable[[Rng], Drawn], draw: int) -> Set:
    name = family_name(family)
    rng = np.random.default_rng(_hash(f"{name} {draw}"))
    drawn = family(rng)
    rows = rng.permutation(len(drawn.data))
    classes = None if drawn.classes is None else drawn.classes[rows]
    half = half_of(name, draw)
    return Set(f"{name} {draw}", name, kind, half, drawn.data[rows], classes, drawn.right)


def family_name(family: Callable[[Rng], Drawn]) -> str:
    return family.__name__.replace("_", " ")


def half_of(family: str, draw: int) -> str:
    if draw >= FIRST_DRAW_OF_LEVEL:
        return "level"
    return "check" if is_for_checking(family) else _half(f"{family} {draw}")


def _half(name: str) -> str:
    return "check" if _hash(f"half of {name}") % 2 else "choose"


def is_for_checking(family: str) -> bool:
    return _hash(f"family {family}") % SHARE_FOR_CHECKING == 0


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:16], 16)


# ---------------------------------------------------------------------- parts of artificial sets


def _int(rng: Rng, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(rng.integers(low, high + 1))


def _classes(rng: Rng, k: int, per_cluster: tuple[int, int], ratio: float = 1.0) -> Labels:
    """Classes whose mean size is drawn; the largest is ``ratio`` times as large as the smallest."""
    n = k * _int(rng, *per_cluster)
    share = np.geomspace(1.0, ratio, k)
    sizes = np.maximum(1, np.rint(n * share / share.sum())).astype(int)
    return np.repeat(np.arange(k), rng.permutation(sizes))


def _centres(
    rng: Rng, k: int, d: int, distance: float, radii: Features | Sequence[float] | None = None
) -> Features:
    """k random points; the two nearest are ``distance`` apart, in units of the mean of their radii."""
    sizes = np.ones(k) if radii is None else np.asarray(radii, dtype=float)
    unit = (sizes[:, None] + sizes) / 2
    side = float(np.sum(sizes**d) ** (1 / d))
    points: list[Features] = []
    while len(points) < k:
        side *= 1.01
        point = rng.uniform(0, side, d)
        i = len(points)
        if all(np.linalg.norm(point - other) >= unit[i, j] for j, other in enumerate(points)):
            points.append(point)
    centres = np.stack(points)
    nearest = (squareform(pdist(centres)) / unit)[~np.eye(k, dtype=bool)].min()
    return centres * (distance / nearest)


def _rotated(rng: Rng, X: Features) -> Features:
    return X @ np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]


def _one_hot(columns: Labels) -> Features:
    """One column per category; a missing label has zeros only."""
    parts = [column[:, None] == np.unique(column[column >= 0]) for column in columns.T]
    return np.concatenate(parts, axis=1).astype(float)


def _clusters(data: Features | Labels, classes: Labels, *others: int) -> Drawn:
    return Drawn(data, classes, frozenset({len(np.unique(classes[classes >= 0])), *others}))


def _blobs(
    rng: Rng,
    k: int,
    d: int,
    distance: float,
    per_cluster: tuple[int, int],
    ratio: float = 1.0,
    radii: Features | Sequence[float] | None = None,
) -> tuple[Features, Labels]:
    classes = _classes(rng, k, per_cluster, ratio)
    scale = np.ones(k) if radii is None else np.asarray(radii, dtype=float)
    noise = rng.normal(size=(len(classes), d)) * scale[classes, None]
    return _centres(rng, k, d, distance, radii)[classes] + noise, classes


# ---------------------------------------------------------------------- features with structure


def blobs(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 2, 8), _int(rng, 2, 20), rng.uniform(6, 10)
    return _clusters(*_blobs(rng, k, d, distance, (30, 120)))


def few_rows(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 3, 4), _int(rng, 2, 5), rng.uniform(7, 10)
    return _clusters(*_blobs(rng, k, d, distance, (16, 24)))


def blobs_with_outliers(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 3, 5), _int(rng, 2, 6), rng.uniform(8, 12)
    X, classes = _blobs(rng, k, d, distance, (80, 300))
    n_outliers = _int(rng, 3, max(3, len(X) // 100))
    low, high = X.min(axis=0), X.max(axis=0)
    margin = rng.uniform(1, 2) * (high - low)
    outliers = rng.uniform(low - margin, high + margin, size=(n_outliers, d))
    return _clusters(np.vstack([X, outliers]), np.append(classes, np.full(n_outliers, -1)))


def unequal_sizes(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 3, 6), _int(rng, 2, 10), rng.uniform(7, 10)
    return _clusters(*_blobs(rng, k, d, distance, (80, 150), ratio=rng.uniform(4, 10)))


def rare_cluster(rng: Rng) -> Drawn:
    d, distance, share = _int(rng, 2, 8), rng.uniform(8, 11), rng.uniform(0.04, 0.07)
    n = _int(rng, 400, 1000)
    classes = np.r_[np.zeros(int(n * (1 - share)), int), np.ones(int(n * share), int)]
    return _clusters(
        _centres(rng, 2, d, distance)[classes] + rng.normal(size=(len(classes), d)), classes
    )


def many_clusters(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 11, 30), _int(rng, 2, 8), rng.uniform(7, 9)
    return _clusters(*_blobs(rng, k, d, distance, (25, 45)))


def groups_of_clusters(rng: Rng) -> Drawn:
    """Coarse and fine clusters: both numbers are right."""
    groups, inner, d = _int(rng, 2, 4), _int(rng, 2, 3), _int(rng, 2, 6)
    classes = _classes(rng, groups * inner, (40, 100))
    centre_of_group = _centres(rng, groups, d, rng.uniform(35, 45))
    centres = np.vstack([c + _centres(rng, inner, d, rng.uniform(6.5, 8)) for c in centre_of_group])
    return _clusters(centres[classes] + rng.normal(size=(len(classes), d)), classes, groups)


def moons(rng: Rng) -> Drawn:
    return _clusters(
        *make_moons(
            _int(rng, 200, 900), noise=rng.uniform(0.03, 0.09), random_state=_int(rng, 0, 10**6)
        )
    )


def rings(rng: Rng) -> Drawn:
    k, noise = _int(rng, 2, 3), rng.uniform(0.04, 0.09)
    classes = _classes(rng, k, (150, 350))
    angle = rng.uniform(0, 2 * np.pi, len(classes))
    X = (1.0 + classes)[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    return _clusters(X + noise * rng.normal(size=X.shape), classes)


def ring_around_blob(rng: Rng) -> Drawn:
    classes = _classes(rng, 2, (120, 350))
    angle = rng.uniform(0, 2 * np.pi, len(classes))
    ring = rng.uniform(6, 9) * np.c_[np.cos(angle), np.sin(angle)]
    return _clusters(
        np.where(classes[:, None] == 1, ring, 0) + rng.normal(size=ring.shape) * 0.8, classes
    )


def spirals(rng: Rng) -> Drawn:
    k, noise = _int(rng, 2, 3), rng.uniform(0.1, 0.2)
    classes = _classes(rng, k, (150, 300))
    t = np.sqrt(rng.uniform(0.1, 1, len(classes)))
    angle = t * 3 * np.pi + classes * 2 * np.pi / k
    X = (3 * np.pi * t)[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    return _clusters(X + noise * rng.normal(size=X.shape), classes)


def mixed_shapes(rng: Rng) -> Drawn:
    """A ball, a stick and an arc."""
    n = _int(rng, 80, 250)
    angle = rng.uniform(0, np.pi, n)
    arc = np.c_[np.cos(angle), np.sin(angle)] * rng.uniform(8, 11) + [0, 4]
    stick = np.c_[rng.uniform(-12, 12, n), np.full(n, -rng.uniform(7, 9))]
    X = np.vstack([np.zeros((n, 2)), stick, arc]) + rng.normal(size=(3 * n, 2)) * [1, 0.8]
    return _clusters(_rotated(rng, X), np.repeat(np.arange(3), n))


def sticks(rng: Rng) -> Drawn:
    k, ratio, distance = _int(rng, 2, 4), rng.uniform(10, 20), rng.uniform(6, 8)
    classes = _classes(rng, k, (60, 250))
    along = rng.normal(size=len(classes)) * ratio
    if rng.random() < 0.5:
        along = rng.uniform(-1.7, 1.7, len(classes)) * ratio
    X = np.c_[along, distance * classes + rng.normal(size=len(classes))]
    return _clusters(_rotated(rng, X), classes)


def sheared_blobs(rng: Rng) -> Drawn:
    k, d, distance, shear = (
        _int(rng, 3, 5),
        _int(rng, 2, 4),
        rng.uniform(6.5, 9),
        rng.uniform(1.5, 4),
    )
    X, classes = _blobs(rng, k, d, distance, (60, 200))
    X[:, 0] += shear * X[:, 1]
    return _clusters(X, classes)


def own_covariances(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 3, 5), _int(rng, 2, 6), rng.uniform(7, 9)
    classes = _classes(rng, k, (60, 200))
    X = np.empty((len(classes), d))
    for c in range(k):
        mine = classes == c
        X[mine] = _rotated(rng, rng.normal(size=(mine.sum(), d)) * rng.uniform(0.4, 1.6, d))
    return _clusters(X + _centres(rng, k, d, distance)[classes], classes)


def overlapping_blobs(rng: Rng) -> Drawn:
    k, d = _int(rng, 2, 4), _int(rng, 2, 5)
    distance = rng.uniform(3.5, 4) + 0.1 * (k - 2)
    return _clusters(*_blobs(rng, k, d, distance, (100, 300)))


def binary_columns(rng: Rng) -> Drawn:
    k, d, flipped = _int(rng, 3, 5), _int(rng, 12, 30), rng.uniform(0.04, 0.1)
    classes = _classes(rng, k, (60, 150))
    prototypes = _far_prototypes(rng, k, d, 2)
    return _clusters(
        (prototypes[classes] ^ (rng.random((len(classes), d)) < flipped)).astype(float), classes
    )


def categories(rng: Rng) -> Drawn:
    """One column per category of each of several columns."""
    k, d, n_categories = _int(rng, 3, 5), _int(rng, 8, 15), _int(rng, 3, 5)
    classes = _classes(rng, k, (60, 150))
    columns = _far_prototypes(rng, k, d, n_categories)[classes]
    replaced = rng.random(columns.shape) < rng.uniform(0.1, 0.25)
    columns[replaced] = rng.integers(n_categories, size=replaced.sum())
    return _clusters(_one_hot(columns), classes)


def _far_prototypes(rng: Rng, k: int, d: int, n_categories: int) -> Labels:
    """Of many random sets of prototypes, the one whose nearest two differ in most columns."""
    tries = [rng.integers(n_categories, size=(k, d)) for _ in range(200)]
    return max(tries, key=lambda prototypes: pdist(prototypes, "hamming").min())


def mixed_columns(rng: Rng) -> Drawn:
    """Numbers and categories in one table, standardised."""
    k, numbers, others = _int(rng, 2, 4), _int(rng, 3, 6), _int(rng, 3, 6)
    X, classes = _blobs(rng, k, numbers, rng.uniform(5, 7), (60, 200))
    columns = _far_prototypes(rng, k, others, 3)[classes]
    replaced = rng.random(columns.shape) < 0.25
    columns[replaced] = rng.integers(3, size=replaced.sum())
    return _clusters(StandardScaler().fit_transform(np.c_[X, _one_hot(columns)]), classes)


def densities(rng: Rng) -> Drawn:
    """Standard deviations that differ by a factor of two to three from one cluster to the next."""
    k, d, distance = _int(rng, 3, 4), _int(rng, 2, 4), rng.uniform(6.5, 9)
    radii = rng.uniform(2, 3.3) ** np.arange(k)
    return _clusters(*_blobs(rng, k, d, distance, (60, 250), radii=radii / radii.mean()))


def heavy_tails(rng: Rng) -> Drawn:
    """Student's t with two to four degrees of freedom."""
    k, d, degrees = _int(rng, 3, 4), _int(rng, 2, 6), _int(rng, 2, 4)
    classes = _classes(rng, k, (60, 250))
    scale = np.sqrt(rng.chisquare(degrees, len(classes)) / degrees)
    X = rng.normal(size=(len(classes), d)) / scale[:, None]
    return _clusters(X + _centres(rng, k, d, rng.uniform(13, 18))[classes], classes)


def noise_columns(rng: Rng) -> Drawn:
    """Most columns know nothing of the clusters; all are standardised."""
    k, d, distance = _int(rng, 3, 5), _int(rng, 3, 5), rng.uniform(7, 9)
    X, classes = _blobs(rng, k, d, distance, (50, 150))
    noise = rng.normal(size=(len(X), _int(rng, 5, 15)))
    return _clusters(StandardScaler().fit_transform(np.c_[X, noise]), classes)


def more_columns_than_rows(rng: Rng) -> Drawn:
    k, d = _int(rng, 2, 4), _int(rng, 200, 1000)
    classes = _classes(rng, k, (20, 40))
    shifts = np.where(
        rng.random((k, d)) < 0.1, rng.choice([-1, 1], (k, d)) * rng.uniform(1.5, 2.5), 0
    )
    return _clusters(shifts[classes] + rng.normal(size=(len(classes), d)), classes)


def blobs_behind_loadings(rng: Rng) -> Drawn:
    """Blobs in a few factors; every column is a mixture of the factors, with noise."""
    k, factors, d = _int(rng, 3, 6), _int(rng, 2, 4), _int(rng, 10, 30)
    X, classes = _blobs(rng, k, factors, rng.uniform(7, 9), (50, 150))
    loadings = rng.normal(size=(factors, d)) / np.sqrt(factors)
    return _clusters(X @ loadings + 0.5 * rng.normal(size=(len(X), d)), classes)


def one_column(rng: Rng) -> Drawn:
    k, distance = _int(rng, 2, 5), rng.uniform(6.5, 9)
    return _clusters(*_blobs(rng, k, 1, distance, (50, 200)))


def boxes(rng: Rng) -> Drawn:
    """Uniform boxes in cells of a grid, with space between them."""
    k, d, spacing = _int(rng, 3, 6), _int(rng, 2, 3), rng.uniform(1.6, 2.2)
    classes = _classes(rng, k, (60, 150))
    cells = rng.permutation(np.stack(np.meshgrid(*[np.arange(3)] * d), axis=-1).reshape(-1, d))
    return _clusters(spacing * cells[classes] + rng.random((len(classes), d)), classes)


def skewed_clusters(rng: Rng) -> Drawn:
    k, d, shape = _int(rng, 3, 5), _int(rng, 2, 6), rng.uniform(1, 3)
    classes = _classes(rng, k, (60, 200))
    noise = rng.gamma(shape, size=(len(classes), d)) / np.sqrt(shape)
    return _clusters(_centres(rng, k, d, rng.uniform(8, 11))[classes] + noise, classes)


def counts(rng: Rng) -> Drawn:
    """Logarithms of counts, as of genes in cells; each class has genes of its own."""
    k, d = _int(rng, 3, 6), _int(rng, 30, 60)
    classes = _classes(rng, k, (40, 120), ratio=rng.uniform(1, 3))
    marked = rng.random((k, d)) < 0.25
    level = rng.normal(1, 0.5, d) + np.where(
        marked, rng.choice([-1, 1], (k, d)) * rng.uniform(1, 1.5), 0
    )
    depth = rng.normal(0, 0.2, (len(classes), 1))
    return _clusters(np.log1p(rng.poisson(np.exp(level[classes] + depth))).astype(float), classes)


def directions(rng: Rng) -> Drawn:
    """Unit vectors around a few directions."""
    k, d, spread = _int(rng, 3, 6), _int(rng, 6, 20), 1 / rng.uniform(5, 7)
    classes = _classes(rng, k, (40, 150))
    axes = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = axes[classes] + spread * rng.normal(size=(len(classes), d))
    return _clusters(X / np.linalg.norm(X, axis=1, keepdims=True), classes)


def curves(rng: Rng) -> Drawn:
    """Noisy measurements over time; each class has a smooth curve of its own."""
    k, d, noise = _int(rng, 3, 5), _int(rng, 30, 60), rng.uniform(0.6, 0.9)
    classes = _classes(rng, k, (40, 120))
    t = np.linspace(0, 2 * np.pi, d)
    waves = np.vstack([np.sin(h * t) for h in (1, 2, 3)] + [np.cos(h * t) for h in (1, 2, 3)])
    curve = rng.normal(size=(k, 6)) @ waves
    curve /= curve.std(axis=1, keepdims=True)
    height = rng.uniform(0.8, 1.2, (len(classes), 1))
    return _clusters(height * curve[classes] + noise * rng.normal(size=(len(classes), d)), classes)


def ratings(rng: Rng) -> Drawn:
    """Answers from 1 to 5 to 10 to 20 questions."""
    k, d = _int(rng, 3, 5), _int(rng, 10, 20)
    classes = _classes(rng, k, (60, 150))
    level = rng.uniform(1.5, 4.5, (k, d))
    return _clusters(
        np.clip(np.rint(level[classes] + 0.7 * rng.normal(size=(len(classes), d))), 1, 5), classes
    )


def rounded_blobs(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 3, 6), _int(rng, 2, 4), rng.uniform(7, 9)
    X, classes = _blobs(rng, k, d, distance, (60, 200))
    return _clusters(np.rint(X), classes)


# ---------------------------------------------------------------------- features without structure


def uniform(rng: Rng) -> Drawn:
    return Drawn(rng.random((_int(rng, 60, 1000), int(rng.choice([1, 2, 3, 5, 10, 20, 50])))))


def uniform_ball(rng: Rng) -> Drawn:
    X = rng.normal(size=(_int(rng, 60, 1000), _int(rng, 2, 6)))
    radius = rng.random(len(X)) ** (1 / X.shape[1])
    return Drawn(X / np.linalg.norm(X, axis=1, keepdims=True) * radius[:, None])


def gaussian(rng: Rng) -> Drawn:
    return Drawn(rng.normal(size=(_int(rng, 60, 1000), _int(rng, 1, 30))))


def stretched_gaussian(rng: Rng) -> Drawn:
    """One axis is 10 to 40 times as long as the others."""
    X = rng.normal(size=(_int(rng, 60, 1000), _int(rng, 2, 10)))
    X[:, 0] *= rng.uniform(10, 40)
    return Drawn(_rotated(rng, X))


def correlated_gaussian(rng: Rng) -> Drawn:
    d = _int(rng, 3, 30)
    X = rng.normal(size=(_int(rng, 60, 1000), d)) * np.geomspace(1, rng.uniform(3, 20), d)
    return Drawn(StandardScaler().fit_transform(_rotated(rng, X)))


def gaussian_more_columns_than_rows(rng: Rng) -> Drawn:
    return Drawn(rng.normal(size=(_int(rng, 60, 150), _int(rng, 200, 1000))))


def gaussian_with_outliers(rng: Rng) -> Drawn:
    X = rng.normal(size=(_int(rng, 200, 1000), _int(rng, 2, 8)))
    X[: max(2, len(X) // 100)] *= rng.uniform(3, 6)
    return Drawn(X)


def two_variances_one_centre(rng: Rng) -> Drawn:
    X = rng.normal(size=(_int(rng, 200, 1000), _int(rng, 2, 8)))
    X[rng.random(len(X)) < 0.5] *= rng.uniform(1.5, 3)
    return Drawn(X)


def exponential(rng: Rng) -> Drawn:
    return Drawn(rng.exponential(size=(_int(rng, 60, 1000), _int(rng, 1, 15))))


def lognormal(rng: Rng) -> Drawn:
    return Drawn(
        rng.lognormal(0, rng.uniform(0.4, 1.2), size=(_int(rng, 60, 1000), _int(rng, 1, 15)))
    )


def student(rng: Rng) -> Drawn:
    """Student's t with one to five degrees of freedom, columns dependent or not."""
    n, d, degrees = _int(rng, 60, 1000), _int(rng, 1, 10), _int(rng, 1, 5)
    shape = (n, 1) if rng.random() < 0.5 else (n, d)
    return Drawn(rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(degrees, shape) / degrees))


def random_binary_columns(rng: Rng) -> Drawn:
    n, d = _int(rng, 100, 800), _int(rng, 8, 40)
    return Drawn((rng.random((n, d)) < rng.uniform(0.15, 0.85, d)).astype(float))


def random_categories(rng: Rng) -> Drawn:
    n, d, n_categories = _int(rng, 100, 800), _int(rng, 4, 15), _int(rng, 3, 6)
    return Drawn(_one_hot(rng.integers(n_categories, size=(n, d))))


def factor_model(rng: Rng) -> Drawn:
    n, d, factors = _int(rng, 80, 800), _int(rng, 8, 40), _int(rng, 1, 4)
    X = rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d))
    return Drawn(
        StandardScaler().fit_transform(X + rng.uniform(0.5, 1.5) * rng.normal(size=(n, d)))
    )


def trajectory(rng: Rng) -> Drawn:
    """Points along a smooth curve through many columns, as of cells that develop."""
    n, d = _int(rng, 150, 800), _int(rng, 5, 40)
    t = rng.random(n)
    waves = np.c_[t, t**2, np.sin(np.pi * t), np.cos(np.pi * t)]
    return Drawn(
        waves @ rng.normal(size=(4, d)) * 3 + rng.uniform(0.2, 0.5) * rng.normal(size=(n, d))
    )


def sine_chain(rng: Rng) -> Drawn:
    t = rng.uniform(0, rng.uniform(2, 6) * np.pi, _int(rng, 200, 900))
    return Drawn(np.c_[t, 2 * np.sin(t)] + rng.uniform(0.05, 0.3) * rng.normal(size=(len(t), 2)))


def one_ring(rng: Rng) -> Drawn:
    angle = rng.uniform(0, 2 * np.pi, _int(rng, 150, 800))
    X = np.c_[np.cos(angle), np.sin(angle)]
    return Drawn(X + rng.uniform(0.03, 0.2) * rng.normal(size=X.shape))


def one_moon(rng: Rng) -> Drawn:
    angle = rng.uniform(0, np.pi, _int(rng, 150, 800))
    X = np.c_[np.cos(angle), np.sin(angle)]
    return Drawn(X + rng.uniform(0.03, 0.15) * rng.normal(size=X.shape))


def rolled_sheet(rng: Rng) -> Drawn:
    n = _int(rng, 300, 1000)
    t = 1.5 * np.pi * (1 + 2 * np.sqrt(rng.random(n)))
    X = np.c_[t * np.cos(t), rng.uniform(0, 20, n), t * np.sin(t)]
    return Drawn(X + 0.2 * rng.normal(size=X.shape))


def shares_of_a_whole(rng: Rng) -> Drawn:
    n, d = _int(rng, 100, 800), _int(rng, 3, 10)
    return Drawn(rng.dirichlet(np.full(d, rng.uniform(1, 5)), size=n))


def counts_of_one_kind(rng: Rng) -> Drawn:
    n, d = _int(rng, 80, 800), _int(rng, 20, 60)
    level = rng.normal(1, 0.8, d) + rng.normal(0, 0.3, (n, 1))
    return Drawn(np.log1p(rng.poisson(np.exp(level))).astype(float))


def ratings_by_one_trait(rng: Rng) -> Drawn:
    """Answers from 1 to 5 that depend on one trait, which varies continuously."""
    n, d = _int(rng, 100, 800), _int(rng, 8, 20)
    trait = rng.normal(size=(n, 1)) * rng.uniform(0.3, 1.2, d)
    return Drawn(
        np.clip(np.rint(rng.uniform(2, 4, d) + trait + 0.8 * rng.normal(size=(n, d))), 1, 5)
    )


def rounded_gaussian(rng: Rng) -> Drawn:
    return Drawn(
        np.rint(rng.uniform(1, 2) * rng.normal(size=(_int(rng, 100, 800), _int(rng, 2, 6))))
    )


def noisy_series(rng: Rng) -> Drawn:
    """Stationary autoregressive series, one per row."""
    n, d, memory = _int(rng, 80, 500), _int(rng, 20, 60), rng.uniform(0.3, 0.9)
    X = rng.normal(size=(n, d))
    for t in range(1, d):
        X[:, t] = memory * X[:, t - 1] + np.sqrt(1 - memory**2) * X[:, t]
    return Drawn(X)


# ---------------------------------------------------------------------- label matrices with structure


def _raters(rng: Rng, classes: Labels, accuracy: Features | Sequence[float], k: int) -> Labels:
    """Members that copy the classes; a wrong label is any other class."""
    labels = np.repeat(classes[:, None], len(accuracy), axis=1)
    wrong = rng.random(labels.shape) > np.asarray(accuracy)
    labels[wrong] = (labels[wrong] + rng.integers(1, k, size=wrong.sum())) % k
    return labels


def _with_gaps(rng: Rng, labels: Labels, share: float) -> Labels:
    """Labels removed at random; every sample keeps one."""
    missing = rng.random(labels.shape) < share
    missing[np.arange(len(labels)), rng.integers(labels.shape[1], size=len(labels))] = False
    return np.where(missing, -1, labels)


def _kmeans(rng: Rng, X: Features, sizes: Sequence[int] | Labels) -> Labels:
    seeds = rng.integers(2**31, size=len(sizes))
    fits = [
        KMeans(int(k), n_init=1, random_state=int(s)) for k, s in zip(sizes, seeds, strict=True)
    ]
    return np.stack([fit.fit_predict(X) for fit in fits], axis=1).astype(np.int64)


def raters(rng: Rng) -> Drawn:
    k, m = _int(rng, 2, 8), _int(rng, 8, 40)
    classes = _classes(rng, k, (40, 100), ratio=rng.uniform(1, 3))
    accuracy = rng.uniform(0.7 if m >= 20 else 0.85, 0.95)
    return _clusters(_raters(rng, classes, np.full(m, accuracy), k), classes)


def few_raters_with_gaps(rng: Rng) -> Drawn:
    k, m = _int(rng, 3, 5), _int(rng, 5, 8)
    classes = _classes(rng, k, (40, 130))
    labels = _raters(rng, classes, np.full(m, rng.uniform(0.9, 0.95)), k)
    return _clusters(_with_gaps(rng, labels, rng.choice([0, 0.2, 0.4])), classes)


def raters_and_guessers(rng: Rng) -> Drawn:
    k, m, guessing = _int(rng, 3, 6), _int(rng, 14, 30), rng.uniform(0.3, 0.5)
    classes = _classes(rng, k, (50, 100))
    accuracy = np.where(rng.random(m) < guessing, 1 / k, rng.uniform(0.85, 0.95, m))
    return _clusters(_raters(rng, classes, accuracy, k), classes)


def most_members_agree(rng: Rng) -> Drawn:
    """Two thirds of six to nine members agree; the others are random partitions."""
    k, m = _int(rng, 3, 6), int(rng.choice([6, 9]))
    classes = _classes(rng, k, (40, 120))
    good = _raters(rng, classes, rng.uniform(0.93, 1, 2 * m // 3), k)
    poor = [rng.integers(_int(rng, 2, 6), size=len(classes)) for _ in range(m // 3)]
    return _clusters(np.c_[good, np.stack(poor, axis=1)], classes)


def modalities(rng: Rng) -> Drawn:
    """One modality does not tell the first two classes apart, the other not the last two."""
    k = _int(rng, 4, 6)
    classes = _classes(rng, k, (50, 120))
    first, second = np.maximum(classes, 1) - 1, np.minimum(classes, k - 2)
    accuracy = rng.uniform(0.94, 1, (2, _int(rng, 3, 6)))
    parts = [
        _raters(rng, view, a, k - 1) for view, a in zip((first, second), accuracy, strict=True)
    ]
    return _clusters(np.hstack(parts), classes)


def raters_who_merge(rng: Rng) -> Drawn:
    """Every rater confuses a pair of classes of its own."""
    k, m = _int(rng, 4, 6), _int(rng, 10, 25)
    classes = _classes(rng, k, (50, 100))
    labels = _raters(rng, classes, rng.uniform(0.92, 0.99, m), k)
    for j in range(m):
        a, b = rng.choice(k, 2, replace=False)
        labels[labels[:, j] == a, j] = b
    return _clusters(labels, classes)


def kmeans_of_blobs(rng: Rng) -> Drawn:
    k, d, distance = _int(rng, 3, 8), _int(rng, 2, 10), rng.uniform(7, 9)
    X, classes = _blobs(rng, k, d, distance, (40, 120))
    sizes = rng.integers(2, int(np.sqrt(len(X))) + 1, size=_int(rng, 15, 40))
    return _clusters(_kmeans(rng, X, sizes), classes)


def subsampled_kmeans_of_blobs(rng: Rng) -> Drawn:
    """k-means with the right number of clusters; each member has labels for 80 % of the rows."""
    k, d, distance = _int(rng, 3, 6), _int(rng, 4, 10), rng.uniform(5, 7)
    X, classes = _blobs(rng, k, d, distance, (40, 120))
    labels = _kmeans(rng, X, np.full(_int(rng, 10, 30), k))
    return _clusters(_with_gaps(rng, labels, 0.2), classes)


def resolutions(rng: Rng) -> Drawn:
    """Members that merge some classes or split them, as community detection does."""
    k, m = _int(rng, 3, 6), _int(rng, 10, 25)
    classes = _classes(rng, k, (50, 120))
    position = rng.random((len(classes), 3))
    labels = _raters(rng, classes, rng.uniform(0.96, 1, m), k)
    for j in range(m):
        if rng.random() < 0.5:
            labels[:, j] = rng.integers(max(2, k - 1), size=k)[labels[:, j]]
        else:
            upper = position @ rng.normal(size=3) > rng.normal(0, 0.4)
            labels[:, j] = 2 * labels[:, j] + (upper & (rng.random(k) < 0.6)[labels[:, j]])
    return _clusters(labels, classes)


def cuts_of_blobs(rng: Rng) -> Drawn:
    """Nested cuts of several dendrograms."""
    k, d, distance = _int(rng, 3, 6), _int(rng, 2, 8), rng.uniform(7, 9)
    X, classes = _blobs(rng, k, d, distance, (40, 100))
    trees = [linkage(X, method) for method in ("ward", "average", "complete")]
    return _clusters(
        np.hstack([cut_tree(tree, np.arange(2, 12)) for tree in trees]).astype(np.int64), classes
    )


# ---------------------------------------------------------------------- label matrices without structure


def _noise(rng: Rng) -> Features:
    """A Gaussian or uniform cloud."""
    shape = _int(rng, 100, 600), _int(rng, 2, 15)
    return rng.normal(size=shape) if rng.random() < 0.5 else rng.random(shape)


def permuted_labels(rng: Rng) -> Drawn:
    """Members of blobs or raters, each shuffled: the sizes stay."""
    source = (kmeans_of_blobs, raters, cuts_of_blobs)[_int(rng, 0, 2)]
    labels = np.asarray(source(rng).data)
    return Drawn(
        np.stack([rng.permutation(column) for column in labels.T], axis=1).astype(np.int64)
    )


def nested_cuts_of_noise(rng: Rng) -> Drawn:
    """Cuts of one dendrogram at 2 to 11 clusters."""
    tree = linkage(_noise(rng), str(rng.choice(["ward", "average", "complete"])))
    return Drawn(cut_tree(tree, np.arange(2, 12)).astype(np.int64))


def random_labels_of_one_size(rng: Rng) -> Drawn:
    n, k, m = _int(rng, 100, 600), _int(rng, 2, 8), _int(rng, 6, 40)
    return Drawn(rng.integers(k, size=(n, m)))


def random_labels_of_many_sizes(rng: Rng) -> Drawn:
    n, m = _int(rng, 100, 600), _int(rng, 6, 40)
    return Drawn(np.stack([rng.integers(_int(rng, 2, 15), size=n) for _ in range(m)], axis=1))


def random_labels_with_gaps(rng: Rng) -> Drawn:
    n, k, m = _int(rng, 100, 500), _int(rng, 2, 6), _int(rng, 6, 20)
    return Drawn(_with_gaps(rng, rng.integers(k, size=(n, m)), rng.uniform(0.1, 0.5)))


def raters_with_habits(rng: Rng) -> Drawn:
    """Every rater prefers some labels, whatever the sample is."""
    n, k, m = _int(rng, 100, 500), _int(rng, 3, 6), _int(rng, 6, 30)
    habits = rng.dirichlet(np.ones(k), size=m)
    return Drawn(np.stack([rng.choice(k, size=n, p=habit) for habit in habits], axis=1))


def kmeans_of_noise(rng: Rng) -> Drawn:
    """k-means at many numbers of clusters."""
    X = _noise(rng)
    return Drawn(_kmeans(rng, X, rng.integers(2, int(np.sqrt(len(X))) + 1, size=_int(rng, 15, 40))))


def kmeans_of_one_size_of_noise(rng: Rng) -> Drawn:
    X = rng.normal(size=(_int(rng, 100, 600), _int(rng, 3, 15)))
    return Drawn(_kmeans(rng, X, np.full(_int(rng, 10, 40), _int(rng, 4, 10))))


def subsampled_kmeans_of_noise(rng: Rng) -> Drawn:
    X = _noise(rng)
    labels = _kmeans(rng, X, rng.integers(2, 12, size=_int(rng, 15, 40)))
    return Drawn(_with_gaps(rng, labels, 0.2))


def thresholds_on_one_trait(rng: Rng) -> Drawn:
    """Raters who cut the same continuous trait, each at thresholds of its own."""
    n, m = _int(rng, 100, 500), _int(rng, 8, 25)
    trait = rng.normal(size=(n, 1)) + 0.2 * rng.normal(size=(n, m))
    columns = [np.digitize(column, np.sort(rng.normal(size=_int(rng, 1, 4)))) for column in trait.T]
    return Drawn(np.stack(columns, axis=1).astype(np.int64))


FAMILIES: dict[str, tuple[Callable[[Rng], Drawn], ...]] = {
    "structure": (
        *(blobs, few_rows, blobs_with_outliers, unequal_sizes, rare_cluster, many_clusters),
        *(groups_of_clusters, moons, rings, ring_around_blob, spirals, mixed_shapes, sticks),
        *(sheared_blobs, own_covariances, overlapping_blobs, binary_columns, categories),
        *(mixed_columns, densities, heavy_tails, noise_columns, more_columns_than_rows),
        *(blobs_behind_loadings, one_column, boxes, skewed_clusters, counts, directions, curves),
        *(ratings, rounded_blobs),
    ),
    "null": (
        *(uniform, uniform_ball, gaussian, stretched_gaussian, correlated_gaussian),
        *(gaussian_more_columns_than_rows, gaussian_with_outliers, two_variances_one_centre),
        *(exponential, lognormal, student, random_binary_columns, random_categories, factor_model),
        *(trajectory, sine_chain, one_ring, one_moon, rolled_sheet, shares_of_a_whole),
        *(counts_of_one_kind, ratings_by_one_trait, rounded_gaussian, noisy_series),
    ),
    "labels": (
        *(raters, few_raters_with_gaps, raters_and_guessers, most_members_agree, modalities),
        *(raters_who_merge, kmeans_of_blobs, subsampled_kmeans_of_blobs, resolutions),
        cuts_of_blobs,
    ),
    "null labels": (
        *(permuted_labels, nested_cuts_of_noise, random_labels_of_one_size),
        *(random_labels_of_many_sizes, random_labels_with_gaps, raters_with_habits),
        *(kmeans_of_noise, kmeans_of_one_size_of_noise, subsampled_kmeans_of_noise),
        thresholds_on_one_trait,
    ),
}
# Kinds of null sets on which the level of the p-value is measured, and whether the test promises its level
# there. Members of one cloud depend on each other; the test promises no more than the level for them.
LEVEL_FAMILIES = (
    *(("null", uniform, True), ("null", correlated_gaussian, True), ("null", student, True)),
    *(("null", factor_model, True), ("null", random_categories, True)),
    *(("null labels", permuted_labels, True), ("null labels", kmeans_of_noise, False)),
)


# ---------------------------------------------------------------------- real sets

# Tables of benchmarks/tables.py, features and pools of labels whose classes clustering can find: with the
# true number of clusters, one of a few usual methods reaches MIN_ARI (recovered). Before, MAX_ROWS rows are
# drawn from larger sets, and rows of classes with fewer than MIN_CLASS_SIZE rows are left out.
# REAL is what this rule gives; `choose_k.py --list --kind candidates` checks that.
MIN_ARI, MIN_CLASS_SIZE, MAX_ROWS = 0.4, 5, 1500
REAL = (
    *("iris", "wine", "breast_cancer", "digits", "penguins_raw", "biopsy", "oils"),
    *("leaf_id_flavia", "olive", "tissue_gene_expression", "ais", "Diabetes", "bdims", "Hawks"),
    *("AHCAvote2017", "College", "NCI60", "heart", "housevotes", "ionosphere", "led7digit"),
    *("mushroom", "penbased", "satimage", "segment", "splice", "texture", "australian"),
    *("aggregation pool", "ecoli pool", "isolet pool", "kdd99_10p pool"),
)
# the same samples as biopsy, digits, penbased and satimage; ring and twonorm are artificial sets
NOT_REAL = ("wisconsin", "optdigits", "pendigits", "ls pool", "ring", "twonorm")
MEMBERS_OF_POOL = 20
# the areas of the olive oils lie in three regions, which are known classes too
ALSO_RIGHT = {"olive": (3,)}


def real_sets() -> Iterator[Set]:
    """The real sets; those stored outside the project are left out if they are not there."""
    return (real for real in real_candidates() if real.name in REAL)


def real_candidates() -> Iterator[Set]:
    for table in tables():
        if table.name not in NOT_REAL:
            half = "choose" if table.half == "choose" else "check"
            yield _real(table.name, half, standard_features(table), table.classes)
    for path in sorted(DATA.glob("features/*.npz")):
        if path.stem not in NOT_REAL:
            stored = np.load(path)
            X = StandardScaler().fit_transform(np.asarray(stored["X"], dtype=float))
            yield _real(path.stem, _half(path.stem), X, stored["y"])
    for path in sorted(DATA.glob("pools/*.npz")):
        name = f"{path.stem} pool"
        if name not in NOT_REAL:
            stored = np.load(path)
            members = stored["members"]
            columns = np.random.default_rng(_hash(name)).permutation(members.shape[1])
            labels = members[:, columns[:MEMBERS_OF_POOL]].astype(np.int64)
            yield _real(name, _half(name), labels, stored["gt"].ravel())


def _real(name: str, half: str, data: Features | Labels, classes: NDArray[np.generic]) -> Set:
    codes = np.unique(classes, return_inverse=True)[1].reshape(-1)
    rows = np.random.default_rng(_hash(name)).permutation(len(codes))[:MAX_ROWS]
    rows = np.sort(rows[np.bincount(codes[rows])[codes[rows]] >= MIN_CLASS_SIZE])
    codes = np.unique(codes[rows], return_inverse=True)[1].astype(np.int64)
    right = frozenset({int(codes.max()) + 1, *ALSO_RIGHT.get(name, ())})
    return Set(name, name, "real", half, data[rows], codes, right)


# ---------------------------------------------------------------------- can the truth be known


def oracle(data: Set) -> float:
    """Best ARI of classifiers that learn the classes, in five folds: what can be known of the classes."""
    if data.classes is None:
        return np.nan
    known = data.classes >= 0
    X, y = _as_features(data)[known], data.classes[known]
    learners = [KNeighborsClassifier(5), KNeighborsClassifier(15)]
    if X.shape[1] <= MAX_COLUMNS_OF_MIXTURE:
        learners.append(LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
    if X.shape[1] * 3 < np.bincount(y).min():
        learners.append(QuadraticDiscriminantAnalysis(reg_param=0.01))
    if data.is_labels:
        learners.append(BernoulliNB())
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return max(
            adjusted_rand_score(y, cross_val_predict(learner, X, y, cv=folds))
            for learner in learners
        )


def recovered(data: Set) -> float:
    """Best ARI of usual clusterings with the true number of clusters.

    Features: k-means, a mixture and Ward's method. Labels: average and Ward's link of the co-association.
    """
    k = int(data.classes.max()) + 1
    if data.is_labels:
        apart = 1 - coassociation(data.data)
        trees = [linkage(squareform(apart, checks=False), "average"), linkage(pdist(apart), "ward")]
        found = [cut_tree(tree, k).ravel() for tree in trees]
    else:
        X = data.data
        found = [
            KMeans(k, n_init=10, random_state=0).fit_predict(X),
            AgglomerativeClustering(k).fit_predict(X),
        ]
        if X.shape[1] <= MAX_COLUMNS_OF_MIXTURE:
            mixture = GaussianMixture(k, reg_covar=1e-3, n_init=2, random_state=0)
            found.append(mixture.fit_predict(X))
    return max(adjusted_rand_score(data.classes, labels) for labels in found)


def coassociation(labels: Labels) -> Features:
    """Share of the members that put two samples together, of those that label both; 0 if none does."""
    incidence, known = _one_hot(labels), (labels >= 0).astype(float)
    together, both = incidence @ incidence.T, known @ known.T
    shares = np.divide(together, both, out=np.zeros_like(together), where=both > 0)
    np.fill_diagonal(shares, 1.0)
    return shares


def _as_features(data: Set) -> Features:
    return _one_hot(data.data) if data.is_labels else data.data
