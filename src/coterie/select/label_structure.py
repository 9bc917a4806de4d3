"""How many clusters a label matrix supports, if any, when the features are unknown.

Members that know something about the same clusters depend on each other: samples that one member puts
together, the others put together more often than by chance. If the samples fall into k classes, these
classes explain the dependence: inside a class, the members' labels are independent. So the number of
clusters shows in the *unexplained dependence*, the share of the dependence that is left inside the classes.

1. Are the members dependent at all? Each member's labels are permuted, which keeps its cluster sizes and
   its missing labels. This is an exact test.
2. For each k, latent classes are fitted: a mixture of k classes in which members are independent (EM, started
   from average link of the co-association and from splits of the classes at k - 1; missing labels are left
   out of the likelihood).
3. At true classes the unexplained dependence falls much, and it falls little with one class more. Cells of
   one cloud have no such bend: every class more explains a little more. The *bend* at k is the logarithm of
   the fall from k - 1 to k over the fall from k to k + 1. The k with the largest bend is taken, if the bend
   reaches MIN_BEND. Raters who cut one trait with much noise may show such a bend too.
4. If members have many small clusters inside true clusters, the bend is weak, because the dependence inside
   the clusters remains. But then members hardly cut across the true clusters. How much they do is compared
   with half of what k-means members of the same sizes do on a line. Members of a line cut across each other
   least of all convex clouds; the half is for bent ones.

The cuts of one dendrogram are nested whatever the data are, and copies of a member agree whatever the member
is. Neither is evidence. So copies count once in step 1, members of a single hierarchy are not tested, and the
members on a line in step 4 have the same hierarchies. If most members are copies, perhaps because clear
clusters leave no room for errors, k is chosen but the p-value is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.text import counted, listed
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation
from coterie.numerics.linkage import weighted_linkage
from coterie.select._sample import Sample
from coterie.select.choice import LEVEL, Choice, evidence_for
from coterie.select.criteria import against_members

# logarithm of how many times as much the unexplained dependence must fall before k as after it
MIN_BEND = 0.9
# Added to the shares before their logarithms, so that negligible shares make no bend: as a share of what
# tells apart two of k equal classes, 2 / (k (k - 1)).
NEGLIGIBLE = 0.1
# dependence below this many standard deviations is like chance: the normal quantile of LEVEL
CHANCE = 1.645
# at most so many microclusters and members are compared; larger ensembles are represented by random ones
MAX_ROWS, MAX_MEMBERS = 500, 40
# samples and rounds of the permutation test
PERMUTED_ROWS, N_PERMUTATIONS = 300, 99
# points on a line and number of lines that crossing is compared on
LINE_ROWS, N_LINES = 400, 39
# Members of a bent cloud may cross less than those of a line, seldom less than this share of it.
# Structure must cross less.
LINE_SHARE = 0.5
# EM stops if the log-likelihood grows by less than this share
TOLERANCE, MAX_STEPS = 1e-6, 60
# pseudo-count per member and class, so that no probability is 0
PRIOR = 0.5
# classes of the previous k that are tried to split
N_SPLITS = 2


def choose_from_labels(
    ensemble: Ensemble,
    ks: IntArray,
    rng: np.random.Generator,
    *,
    groups: Sequence[Any] | None = None,
) -> Choice:
    """Choose the number of clusters that the members support, or find that there is no structure.

    Parameters
    ----------
    ensemble : Ensemble
    ks : ndarray of int
        Numbers of clusters to choose from, ascending.
    rng : Generator
    groups : sequence, one entry per member, optional
        The source of each member, such as a modality. ``notes`` then says what each group supports.

    Returns
    -------
    Choice
        With a clear bend, ``p_value`` is that of "the members share nothing"; otherwise it is the larger
        one of this and of "the members cut one cloud".
    """
    whole = ensemble.without_blank
    chosen = whole.canonical_member_order
    if len(chosen) > MAX_MEMBERS:
        chosen = chosen[np.sort(rng.choice(len(chosen), MAX_MEMBERS, replace=False))]
    whole = whole.reorder_members(chosen)
    part = Sample.of(whole, rng, MAX_ROWS).ensemble
    curve = Curve.of(Labels.of(part), int(ks.max()))
    notes = []
    if groups is not None:
        group_of = dict(zip(ensemble.members, map(str, groups), strict=True))
        notes += _of_groups(part, [group_of[name] for name in part.members], int(ks.max()))
    possible = ks[(ks >= 2) & (ks <= curve.max_k)]

    def answer(
        recommended: int,
        supported: Sequence[int],
        p_value: float,
        reason: str,
        kind: str = "classes",
    ) -> Choice:
        return Choice(recommended, evidence_for({kind: supported}), p_value, reason, tuple(notes))

    if not possible.size:
        return answer(1, (), np.nan, "No k above 1 can be reached, so there is nothing to choose.")
    nesting = Nesting.of(curve.labels)
    best = int(possible[np.nanargmax(curve.bends_at(possible))])
    bend = float(curve.bends_at(np.array([best]))[0])
    left = float(curve.unexplained_at(np.array([best]))[0])
    copies = sum(len(equal) for equal in nesting.copies if len(equal) > 1)
    distinct = np.sort([equal[0] for equal in nesting.copies])
    if len(distinct) == 1:
        k = int(part.n_clusters_per_member[distinct[0]])
        k = k if k in possible else best
        subject = "There is one member" if part.n_members == 1 else "All members are equal"
        return answer(
            k,
            (k,),
            np.nan,
            f"{subject}, with {k} clusters. Labels alone cannot show whether these are clusters or a "
            "cut of one cloud.",
        )
    if copies:
        notes.append(
            f"{copies} of {counted(part.n_members, 'member')} equal another one. Equal members may be "
            "copies, so they count as one in the test."
        )
    if 2 * copies > part.n_members and bend >= MIN_BEND:
        return answer(
            best,
            (best,),
            np.nan,
            f"{copies} of {part.n_members} members equal another one, and {best} classes leave {left:.0%} "
            "of the members' dependence unexplained. Labels alone cannot show whether equal members "
            "found clusters, are copies, or make the same cut of one cloud.",
        )
    if len(nesting.chains) == 1:
        notes.append("Nested members of one hierarchy cannot be evidence for each other.")
        return answer(
            1,
            (),
            np.nan,
            f"The members are {counted(len(distinct), 'cut')} of one hierarchy. They agree whatever the "
            "data are, so they show no structure; give members that were made independently.",
        )
    p_value = permutation_p(part.reorder_members(distinct), rng)
    if p_value > LEVEL:
        return answer(
            1,
            (),
            p_value,
            f"The members agree no more than independent labels of the same sizes (p = {p_value:.2f}).",
        )
    if bend >= MIN_BEND:
        supported = possible[curve.bends_at(possible) >= MIN_BEND].tolist()
        return answer(
            best,
            supported,
            p_value,
            f"{best} classes leave {left:.0%} of the members' dependence unexplained, and one class "
            f"more explains little (bend {bend:.2f}, {MIN_BEND:.2f} is needed).",
        )
    crossing = Crossing.of(part, nesting, curve.max_k, rng)
    best = int(possible[np.argmax(curve.bends_at(possible) + crossing.rises_at(possible))])
    p_value = max(p_value, crossing.p_value(best))
    words = (
        f"members' clusters cross a partition into {best} {crossing.value(best):.0%} as much as by "
        f"chance; those of members of the same sizes on a line {crossing.typical(best):.0%}"
    )
    if p_value > LEVEL:
        return answer(
            1,
            (),
            p_value,
            f"Members like these may cut one cloud: {words}. No number of classes stands out (the "
            f"largest bend is {bend:.2f}, and {MIN_BEND:.2f} is needed).",
        )
    coarse = int(possible[np.nanargmax(curve.bends_at(possible))])
    supported = {best} | ({coarse} if crossing.p_value(coarse) <= LEVEL else set())
    return answer(best, sorted(supported), p_value, f"The {words}.", "crossing")


# ---------------------------------------------------------------------- latent classes


@dataclass(frozen=True)
class Labels:
    """The label matrix of some microclusters as an incidence matrix, with their weights."""

    incidence: sparse.csr_array
    observed: FloatArray
    weights: FloatArray
    member_of_cluster: IntArray
    starts: IntArray
    ensemble: Ensemble

    @classmethod
    def of(cls, ensemble: Ensemble) -> Labels:
        """The labels of an ensemble."""
        return cls(
            ensemble.incidence,
            ensemble.observed.astype(np.float64),
            ensemble.sizes,
            ensemble.member_of_cluster,
            ensemble.cluster_starts,
            ensemble,
        )

    @cached_property
    def transposed(self) -> sparse.csr_array:
        """Base clusters by microclusters."""
        return sparse.csr_array(self.incidence.T)


@dataclass(frozen=True)
class LatentClasses:
    """Shares of the classes and, in each class, the probability of each base cluster (logarithms)."""

    shares: FloatArray
    probabilities: FloatArray
    log_likelihood: float

    def classify(self, incidence: sparse.csr_array) -> IntArray:
        """The most probable class of each row."""
        return (incidence @ self.probabilities + self.shares).argmax(axis=1).astype(np.int64)

    @classmethod
    def fit(cls, labels: Labels, start: IntArray, k: int) -> LatentClasses:
        """EM from a partition into k classes."""
        weights, starts, member = labels.weights, labels.starts, labels.member_of_cluster
        prior = (PRIOR / np.bincount(member)[member])[:, None]
        posterior = np.full((len(weights), k), 0.1 / k)
        posterior[np.arange(len(weights)), start] += 0.9
        previous = -np.inf
        for _ in range(MAX_STEPS):
            mass = weights[:, None] * posterior
            sizes = mass.sum(axis=0) + PRIOR
            shares = np.log(sizes / sizes.sum())
            counts = labels.transposed @ mass + prior
            probabilities = np.log(counts / np.add.reduceat(counts, starts, axis=0)[member])
            joint = labels.incidence @ probabilities + shares
            top = joint.max(axis=1, keepdims=True)
            relative = np.exp(joint - top)
            total = relative.sum(axis=1, keepdims=True)
            posterior = relative / total
            value = float(weights @ (top + np.log(total))[:, 0])
            if value - previous <= TOLERANCE * abs(value):
                break
            previous = value
        return cls(shares, probabilities, value)


@dataclass(frozen=True)
class Curve:
    """The dependence of the members inside 1, 2, ... latent classes, and what chance may leave of it."""

    labels: Labels
    dependence: FloatArray
    chance: float

    @classmethod
    def of(cls, labels: Labels, max_k: int) -> Curve:
        """Fit up to ``max_k + 1`` classes, one more than may be chosen."""
        ensemble = labels.ensemble
        apart = 1.0 - coassociation(ensemble)
        dendrogram = weighted_linkage(apart.copy(), labels.weights, overwrite=True)
        fit: LatentClasses | None = None
        values = []
        chance = 0.0
        for k in range(1, min(max_k + 1, ensemble.n_microclusters) + 1):
            starts = [dendrogram.cut(k)]
            if fit is not None:
                starts += _splits(labels, apart, fit)
            fit = max(
                (LatentClasses.fit(labels, start, k) for start in starts),
                key=lambda fitted: fitted.log_likelihood,
            )
            classes = fit.classify(labels.incidence)
            dependence, expected = dependence_inside(labels, classes, k)
            values.append(dependence)
            if k == 1:
                chance = CHANCE * np.sqrt(2 * expected)
        return cls(labels, np.array(values), float(chance))

    @property
    def max_k(self) -> int:
        """The largest number of classes that was fitted."""
        return len(self.dependence)

    @cached_property
    def unexplained(self) -> FloatArray:
        """Share of the dependence that is left inside 1, 2, ... classes, and once more the last."""
        if self.dependence[0] <= self.chance:
            return np.ones(len(self.dependence) + 1)
        # adding what chance may leave keeps ratios of small shares from being noise
        left = np.minimum.accumulate(np.maximum(self.dependence, 0.0)) + self.chance
        shares = left / left[0]
        return np.append(shares, shares[-1])

    def unexplained_at(self, ks: IntArray) -> FloatArray:
        """The unexplained share at each k, NaN where k cannot be reached."""
        return np.array([self.unexplained[k - 1] if k <= self.max_k else np.nan for k in ks])

    def bends_at(self, ks: IntArray) -> FloatArray:
        """How much more the unexplained dependence falls before k than after it, as a logarithm."""
        values = np.full(len(ks), np.nan)
        for i, k in enumerate(ks):
            if 2 <= k <= self.max_k:
                negligible = NEGLIGIBLE * 2 / (k * (k - 1))
                before, here, after = np.log(self.unexplained[k - 2 : k + 1] + negligible)
                values[i] = before - 2 * here + after
        return values


def _splits(labels: Labels, apart: FloatArray, fit: LatentClasses) -> list[IntArray]:
    """Partitions with one class of a fit split by average link: the classes that fit their rows worst."""
    classes = fit.classify(labels.incidence)
    fitted = (labels.incidence @ fit.probabilities)[np.arange(len(classes)), classes]
    badness = np.bincount(classes, -labels.weights * fitted, minlength=len(fit.shares))
    partitions = []
    for chosen in np.argsort(-badness, kind="stable")[:N_SPLITS]:
        rows = np.flatnonzero(classes == chosen)
        if len(rows) > 1:
            inside = np.ascontiguousarray(apart[np.ix_(rows, rows)])
            halves = weighted_linkage(inside, labels.weights[rows], overwrite=True).cut(2)
            partition = classes.copy()
            partition[rows[halves == 1]] = len(fit.shares)
            partitions.append(partition)
    return partitions


# ---------------------------------------------------------------------- dependence of the members


def dependence_inside(labels: Labels, classes: IntArray, k: int) -> tuple[float, float]:
    """Sum over classes and pairs of members of Pearson's chi-square minus its mean; and the sum of the means.

    The mean is that of permuted labels, the degrees of freedom times n / (n - 1). Two members are
    compared over the samples that both label.
    """
    incidence, weights, observed = labels.incidence, labels.weights, labels.observed
    n_clusters, m = incidence.shape[1], observed.shape[1]
    # a base cluster counts once per class
    columns = incidence.indices + n_clusters * np.repeat(classes, np.diff(incidence.indptr))
    inside = sparse.csr_array(
        (incidence.data, columns, incidence.indptr), shape=(len(classes), n_clusters * k)
    )
    weighted = sparse.csr_array(
        (np.repeat(weights, np.diff(incidence.indptr)), columns, incidence.indptr),
        shape=inside.shape,
    )
    table = sparse.coo_array(inside.T @ weighted)
    row, column = table.coords
    first = labels.member_of_cluster[row % n_clusters]
    second = labels.member_of_cluster[column % n_clusters]
    upper = first < second
    row, column, first, second = row[upper], column[upper], first[upper], second[upper]
    # weight of base cluster a, in each class, among the samples that member l labels
    margins = np.asarray(weighted.T @ observed)
    both = np.stack(
        [
            observed[classes == c].T @ (weights[classes == c, None] * observed[classes == c])
            for c in range(k)
        ]
    )
    pairs = both[row // n_clusters, first, second]
    terms = table.data[upper] ** 2 * pairs / (margins[row, second] * margins[column, first])
    starts = (np.arange(k)[:, None] * n_clusters + labels.starts).ravel()
    levels = np.add.reduceat(margins > 0, starts, axis=0, dtype=np.float64).reshape(k, m, m)
    freedom = (levels - 1) * (levels.transpose(0, 2, 1) - 1)
    factor = np.divide(both, both - 1, out=np.zeros_like(both), where=both > 1)
    above = np.triu_indices(m, 1)
    some = both[:, *above] > 1
    expected = float((freedom * factor)[:, *above][some].sum())
    alone = pairs <= 1
    return float(terms[~alone].sum() - both[:, *above][some].sum()) - expected, expected


def permutation_p(ensemble: Ensemble, rng: np.random.Generator) -> float:
    """Exact p-value of "the members share nothing", by permuting each member's labels.

    Labels are permuted among the samples that the member labels. At most ``PERMUTED_ROWS`` samples are
    compared.
    """
    counts = np.maximum(np.rint(ensemble.weights), 1).astype(np.int64)
    if counts.sum() > PERMUTED_ROWS:
        counts = rng.multivariate_hypergeometric(counts, PERMUTED_ROWS, method="marginals")
    table = np.repeat(ensemble.labels, counts, axis=0)
    table = table[:, (table >= 0).any(axis=0)]
    value = _dependence_of(table)
    known = [np.flatnonzero(column >= 0) for column in table.T]
    reached = 1
    for _ in range(N_PERMUTATIONS):
        shuffled = table.copy()
        for j, rows in enumerate(known):
            shuffled[rows, j] = rng.permutation(table[rows, j])
        reached += _dependence_of(shuffled) >= value
    return reached / (N_PERMUTATIONS + 1)


def _dependence_of(table: NDArray[np.int32]) -> float:
    """Dependence of the members of a label matrix, without classes."""
    sizes = table.max(axis=0).astype(np.int64) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    observed = table >= 0
    columns = (table + starts)[observed]
    pointers = np.concatenate([[0], np.cumsum(observed.sum(axis=1))])
    one_hot = np.zeros((len(table), int(sizes.sum())), dtype=np.float32)
    one_hot[np.repeat(np.arange(len(table)), np.diff(pointers)), columns] = 1
    seen = observed.astype(np.float32)
    overlap = (one_hot.T @ one_hot).astype(np.float64)
    member = np.repeat(np.arange(table.shape[1]), sizes)
    margins = (one_hot.T @ seen).astype(np.float64)
    both = (seen.T @ seen).astype(np.float64)
    by_chance = margins[:, member] * margins[:, member].T
    shares = np.divide(overlap**2, by_chance, out=np.zeros_like(overlap), where=by_chance > 0)
    squares = np.add.reduceat(np.add.reduceat(shares, starts, axis=0), starts, axis=1) * both
    levels = np.add.reduceat(margins > 0, starts, axis=0, dtype=np.float64)
    factor = np.divide(both, both - 1, out=np.zeros_like(both), where=both > 1)
    excess = squares - both - (levels - 1) * (levels.T - 1) * factor
    return float(excess[np.triu_indices(len(both), 1)].sum())


# ---------------------------------------------------------------------- copies and hierarchies


@dataclass(frozen=True)
class Nesting:
    """Members that cannot be evidence for each other.

    Attributes
    ----------
    copies : list of list of int
        All members, those together that are equal on the samples that both label.
    chains : list of list of int
        One member of each list of copies, those together that are nested in each other, as the cuts
        of one dendrogram are.
    """

    copies: list[list[int]]
    chains: list[list[int]]

    @classmethod
    def of(cls, labels: Labels) -> Nesting:
        """Compare each two members."""
        tables = sparse.coo_array(labels.incidence.T @ labels.incidence)
        member, m = labels.member_of_cluster, labels.observed.shape[1]
        row, column = (member[index] for index in tables.coords)
        overlaps = np.bincount(row * m + column, minlength=m * m).reshape(m, m)
        seen = np.asarray(labels.incidence.T @ labels.observed) > 0
        sizes = np.add.reduceat(seen, labels.starts, axis=0, dtype=np.int64)
        # with a single cluster on the common samples nothing can be compared
        comparable = np.minimum(sizes, sizes.T) > 1
        equal = comparable & (overlaps == sizes) & (overlaps == sizes.T)
        nested = comparable & (overlaps == np.maximum(sizes, sizes.T)) & ~equal
        # from coarse to fine
        order = np.argsort(labels.ensemble.n_clusters_per_member, kind="stable").tolist()
        copies = _cliques(order, equal)
        return cls(copies, _cliques([group[0] for group in copies], nested))


def _cliques(order: list[int], related: NDArray[np.bool_]) -> list[list[int]]:
    """Groups whose members are all related; each member joins the first group that it can."""
    groups: list[list[int]] = []
    for j in order:
        for group in groups:
            if related[j, group].all():
                group.append(j)
                break
        else:
            groups.append([j])
    return groups


# ---------------------------------------------------------------------- crossing on a line


@dataclass(frozen=True)
class Crossing:
    """How much members cross the average-link partition into 1, 2, ... clusters, and members on lines theirs.

    Attributes
    ----------
    values : ndarray, shape (K,)
        0 if nested, 1 as by chance.
    lines : ndarray, shape (N_LINES, K)
        The same for members of uniform points on a line. They have the same numbers of clusters and
        the same hierarchies as the members.
    """

    values: FloatArray
    lines: FloatArray

    @classmethod
    def of(
        cls, ensemble: Ensemble, nesting: Nesting, max_k: int, rng: np.random.Generator
    ) -> Crossing:
        """Measure the crossing up to ``max_k`` clusters."""
        sizes = ensemble.n_clusters_per_member
        share = ensemble.weights / ensemble.weights.sum()
        n = int(np.clip(ensemble.weights.sum(), 2, LINE_ROWS))
        alike = {group[0]: group for group in nesting.copies}
        lines = []
        for _ in range(N_LINES):
            points = np.sort(rng.random(n))
            table = np.empty((n, ensemble.n_members), dtype=np.int64)
            for chain in nesting.chains:
                for j, cells in zip(chain, _hierarchy(points, sizes[chain], rng), strict=True):
                    table[:, alike[j]] = cells[:, None]
            table[ensemble.labels[rng.choice(len(share), size=n, p=share)] < 0] = -1
            table = table[:, (table >= 0).any(axis=0)]
            lines.append(_crossings(Ensemble.from_labels(table).without_blank, max_k))
        return cls(_crossings(ensemble, max_k), np.stack(lines))

    def value(self, k: int) -> float:
        """The crossing of the partition into k clusters."""
        return float(self.values[k - 1])

    def typical(self, k: int) -> float:
        """The median crossing on lines."""
        return float(np.median(self.lines[:, k - 1]))

    def rises_at(self, ks: IntArray) -> FloatArray:
        """How much more members cross the partition into k + 1 clusters, as a logarithm."""
        padded = np.append(self.values, self.values[-1])
        negligible = np.array([max(NEGLIGIBLE * self.typical(int(k)), 1e-9) for k in ks])
        return np.asarray(np.log((padded[ks] + negligible) / (padded[ks - 1] + negligible)))

    def p_value(self, k: int) -> float:
        """The share of lines on which half of the crossing at k is as little."""
        fewer = (LINE_SHARE * self.lines[:, k - 1] <= self.values[k - 1]).sum()
        return float((1 + fewer) / (1 + len(self.lines)))


def _crossings(ensemble: Ensemble, max_k: int) -> FloatArray:
    """Crossing of the average-link partitions; 0 if nothing can cross."""
    apart = 1.0 - coassociation(ensemble)
    dendrogram = weighted_linkage(apart, ensemble.sizes, overwrite=True)
    values = np.zeros(max_k)
    for k in range(2, max_k + 1):
        labels = dendrogram.cut(min(k, ensemble.n_microclusters))
        values[k - 1] = np.nan_to_num(against_members(ensemble, labels)[0])
    return values


def _hierarchy(points: FloatArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Nested partitions of sorted points into ``sizes`` cells, ascending: k-means, then Ward's merges."""
    cells = _cells(points, int(sizes[-1]), rng)
    partitions = [cells]
    for size in sizes[-2::-1]:
        while cells.max() >= size:
            counts = np.bincount(cells)
            means = np.bincount(cells, points) / counts
            costs = np.diff(means) ** 2 / (1 / counts[1:] + 1 / counts[:-1])
            cells = cells - (cells > costs.argmin())
        partitions.append(cells)
    return partitions[::-1]


def _cells(points: FloatArray, k: int, rng: np.random.Generator) -> IntArray:
    """k-means of sorted numbers, from random points."""
    k = min(k, len(points))
    sums = np.concatenate([[0.0], np.cumsum(points)])
    centres = np.sort(rng.choice(points, k, replace=False))
    borders = np.empty(0, dtype=np.int64)
    for _ in range(100):
        previous = borders
        borders = np.searchsorted(points, (centres[1:] + centres[:-1]) / 2)
        if np.array_equal(borders, previous):
            break
        edges = np.concatenate([[0], borders, [len(points)]])
        counts = np.diff(edges)
        means = np.diff(sums[edges]) / np.maximum(counts, 1)
        centres = np.sort(np.where(counts > 0, means, centres))
    cells = np.searchsorted(borders, np.arange(len(points)), side="right")
    # a centre without points has no cell
    return np.unique(cells, return_inverse=True)[1].astype(np.int64)


# ---------------------------------------------------------------------- parts of an ensemble


def _of_groups(ensemble: Ensemble, groups: list[str], max_k: int) -> list[str]:
    """What each group of members supports alone."""
    sentences = []
    for name in sorted(set(groups)):
        members = np.flatnonzero([group == name for group in groups])
        if len(members) > 1:
            part = Ensemble.from_labels(
                ensemble.labels[:, members], sample_weight=ensemble.weights
            ).without_blank
            curve = Curve.of(Labels.of(part), max_k)
            possible = np.arange(2, min(max_k, curve.max_k) + 1)
            bends = curve.bends_at(possible)
            alone = possible[bends >= MIN_BEND].tolist()
            support = f"k = {listed(map(str, alone), 5)}" if alone else "no k"
            sentences.append(f"The members of {name} alone support {support}.")
    return sentences
