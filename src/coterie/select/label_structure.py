"""How many clusters a label matrix supports, if any, when the features are unknown.

Members that know something about the same clusters depend on each other: samples that one member puts
together, the others put together more often than by chance.

1. Are the members dependent at all? Each member's labels are permuted, which keeps its cluster sizes and
   its missing labels. This is an exact test.
2. For each k, latent classes are fitted, inside which the members are independent (latent_classes.py). At
   true classes the dependence that is left inside the classes falls much, and with one class more it falls
   little. The k with the largest such bend is taken, if the bend is clear.
3. If members have many small clusters inside true clusters, the bend is weaker, because the dependence
   inside the clusters remains. But then members hardly cut across the true clusters (line_crossing.py).

The cuts of one dendrogram are nested whatever the data are, and copies of a member agree whatever the member
is. Neither is evidence. So copies count once in the tests, members of a single hierarchy are not tested, and
the members on a line have the same hierarchies. If most members are copies, perhaps because clear
clusters leave no room for errors, k is chosen but the p-value is NaN.

Groups of members may see different clusters, such as cell types that differ in RNA or in protein only. Then
the clusters are the intersections of what the groups see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from coterie.core.random import child_seeds
from coterie.core.text import counted, listed, percent
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble
from coterie.select._sample import Sample
from coterie.select.choice import LEVEL, Choice, evidence_for
from coterie.select.latent_classes import CLEAR_BEND, Curve, LatentClasses, dependence
from coterie.select.line_crossing import N_LINES, Crossing
from coterie.select.separation import least_size

# at most so many microclusters and members are compared; larger ensembles are represented by random ones
MAX_ROWS, MAX_MEMBERS = 500, 40
# samples and rounds of the permutation test
TESTED_ROWS, N_PERMUTATIONS = 300, 99
# how many times as long as a line all permutations take
PERMUTATION_STEPS = 5


def n_label_steps(n_groups: int) -> int:
    """Number of steps of the choice with so many groups; fewer are done if there is no structure."""
    return (1 + n_groups) * (PERMUTATION_STEPS + N_LINES)


def choose_from_labels(
    ensemble: Ensemble,
    ks: IntArray,
    rng: np.random.Generator,
    *,
    groups: Sequence[Any] | None = None,
    step: Callable[[int], None] = lambda count: None,
) -> Choice:
    """Choose the number of clusters that the members support, or find that there is no structure.

    Parameters
    ----------
    ensemble : Ensemble
    ks : ndarray of int
        Numbers of clusters to choose from, ascending.
    rng : Generator
    groups : sequence, one entry per member, optional
        The source of each member, such as a modality. ``notes`` then says what each group supports. If
        at least two groups support clusters, their intersections may be recommended.
    step : callable, optional
        Called with the number of steps done since the last call; at most :func:`n_label_steps` in all.

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
    evidence = Evidence.of(part, ks, rng, step)
    if groups is None:
        return evidence.choice
    group_of = dict(zip(ensemble.members, map(str, groups), strict=True))
    named = np.array([group_of[name] for name in part.members])
    return _of_groups(part, named, ks, evidence, rng, step)


@dataclass(frozen=True)
class Evidence:
    """The choice from an ensemble, and the latent classes that it was made from."""

    choice: Choice
    curve: Curve

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        ks: IntArray,
        rng: np.random.Generator,
        step: Callable[[int], None],
    ) -> Evidence:
        """Fit latent classes and test them."""
        curve = Curve.of(ensemble, int(ks.max()))
        possible = ks[(ks >= 2) & (ks <= curve.max_k)]
        return cls(_choice(ensemble, curve, possible, rng, step), curve)


def _choice(
    ensemble: Ensemble,
    curve: Curve,
    possible: IntArray,
    rng: np.random.Generator,
    step: Callable[[int], None],
) -> Choice:
    """The choice among the numbers of classes that are possible."""
    if not possible.size:
        return Choice(1, {}, np.nan, "No k above 1 can be reached, so there is nothing to choose.")
    best = int(possible[np.argmax(curve.bends[possible - 2])])
    left = f"{percent(curve.unexplained_at(best))} of the members' dependence unexplained"
    explained = f"{best} classes leave {left}"
    nesting = Nesting.of(ensemble)
    distinct = np.sort([equal[0] for equal in nesting.copies])
    if len(distinct) == 1:
        k = int(ensemble.n_clusters_per_member[distinct[0]])
        k = k if k in possible else best
        subject = "There is one member" if ensemble.n_members == 1 else "All members are equal"
        reason = (
            f"{subject}, with {k} clusters. Labels alone cannot show whether these are clusters or a "
            "cut of one cloud."
        )
        return Choice(k, evidence_for({"classes": [k]}), np.nan, reason)
    notes: tuple[str, ...] = ()
    copies = sum(len(equal) for equal in nesting.copies if len(equal) > 1)
    if copies:
        notes = (
            f"{copies} of {counted(ensemble.n_members, 'member')} equal another one. Equal members may "
            "be copies, so they count as one in the test.",
        )
    if 2 * copies > ensemble.n_members and curve.fall_at(best) >= CLEAR_BEND:
        reason = (
            f"{copies} of {ensemble.n_members} members equal another one, and {explained}. Labels "
            "alone cannot show whether equal members found clusters, are copies, or make the same cut "
            "of one cloud."
        )
        return Choice(best, evidence_for({"classes": [best]}), np.nan, reason, notes)
    if len(nesting.chains) == 1:
        reason = (
            f"The members are {counted(len(distinct), 'cut')} of one hierarchy. They agree whatever the "
            "data are, so they show no structure; give members that were made independently."
        )
        notes += ("Nested members of one hierarchy cannot be evidence for each other.",)
        return Choice(1, {}, np.nan, reason, notes)
    table = _sampled(ensemble.reorder_members(distinct), rng)
    permuted = permutation_p(table, rng)
    step(PERMUTATION_STEPS)
    if permuted > LEVEL:
        reason = f"The members agree no more than independent labels of the same sizes (p = {permuted:.2f})."
        return Choice(1, {}, permuted, reason, notes)
    clear = [k for k in possible.tolist() if curve.fall_at(k) >= CLEAR_BEND]
    if clear:
        reason = (
            f"{explained}, and one class more explains little: the step to {best} classes divides this share "
            f"by a number {curve.fall_at(best):.1f} times as large as the step to {best + 1} does (at least "
            f"{CLEAR_BEND} is needed)."
        )
        return Choice(best, evidence_for({"classes": clear}), permuted, reason, notes)
    crossing = Crossing.of(
        ensemble, nesting.copies, nesting.chains, curve.max_k, rng, partial(step, 1)
    )
    bends = curve.bends[possible - 2]
    coarse = best
    best = int(possible[np.argmax(bends + crossing.rises_at(possible))])
    p_value = max(permuted, crossing.p_value(best))
    words = (
        f"members' clusters cross the partition into {best} clusters {percent(crossing.value(best))} as "
        "often as by chance. For similar members of one cloud, it is about "
        f"{percent(crossing.typical(best))}"
    )
    if p_value > LEVEL:
        reason = (
            f"Members like these may cut one cloud: the {words}. No number of classes stands out: none "
            f"explains {CLEAR_BEND} times as much as one class more does."
        )
        return Choice(1, {}, p_value, reason, notes)
    supported = {best} | ({coarse} if crossing.p_value(coarse) <= LEVEL else set())
    return Choice(best, evidence_for({"crossing": supported}), p_value, f"The {words}.", notes)


# ---------------------------------------------------------------------- the tests


def _sampled(ensemble: Ensemble, rng: np.random.Generator) -> NDArray[np.int32]:
    """Labels of at most ``TESTED_ROWS`` samples, one row per sample."""
    counts = np.maximum(np.rint(ensemble.weights), 1).astype(np.int64)
    if counts.sum() > TESTED_ROWS:
        counts = rng.multivariate_hypergeometric(counts, TESTED_ROWS, method="marginals")
    return np.repeat(ensemble.labels, counts, axis=0)


def permutation_p(table: NDArray[np.int32], rng: np.random.Generator) -> float:
    """Exact p-value of "the members share nothing", by permuting each member's labels.

    Labels are permuted among the samples that the member labels.

    Parameters
    ----------
    table : ndarray of int32, shape (n, m)
        -1 is missing.
    rng : Generator
    """
    sizes = table.max(axis=0).astype(np.int64) + 1
    weights, ends = np.ones(len(table)), np.array([len(table)])
    value = dependence(table, weights, sizes, ends)[0]
    known = [np.flatnonzero(column >= 0) for column in table.T]
    reached = 1
    for _ in range(N_PERMUTATIONS):
        shuffled = table.copy()
        for j, rows in enumerate(known):
            shuffled[rows, j] = rng.permutation(table[rows, j])
        reached += dependence(shuffled, weights, sizes, ends)[0] >= value
    return reached / (N_PERMUTATIONS + 1)


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
    def of(cls, ensemble: Ensemble) -> Nesting:
        """Compare each two members."""
        incidence = ensemble.incidence
        tables = sparse.coo_array(incidence.T @ incidence)
        member, m = ensemble.member_of_cluster, ensemble.n_members
        row, column = (member[index] for index in tables.coords)
        overlaps = np.bincount(row * m + column, minlength=m * m).reshape(m, m)
        seen = np.asarray(incidence.T @ ensemble.observed.astype(np.float64)) > 0
        sizes = np.add.reduceat(seen, ensemble.cluster_starts, axis=0, dtype=np.int64)
        # with a single cluster on the common samples nothing can be compared
        comparable = np.minimum(sizes, sizes.T) > 1
        equal = comparable & (overlaps == sizes) & (overlaps == sizes.T)
        nested = comparable & (overlaps == np.maximum(sizes, sizes.T)) & ~equal
        # from coarse to fine
        order = np.argsort(ensemble.n_clusters_per_member, kind="stable").tolist()
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


# ---------------------------------------------------------------------- groups of members


def _of_groups(
    ensemble: Ensemble,
    named: NDArray[np.str_],
    ks: IntArray,
    together: Evidence,
    rng: np.random.Generator,
    step: Callable[[int], None],
) -> Choice:
    """The choice from all members, or the intersections of what the groups support alone."""
    notes: list[str] = []
    views: list[IntArray] = []
    choices: list[Choice] = []
    names = np.unique(named)
    for name, seed in zip(names, child_seeds(rng, len(names)), strict=True):
        members = np.flatnonzero(named == name)
        if len(members) < 2:
            continue
        rows = np.flatnonzero(ensemble.observed[:, members].any(axis=1))
        part = Ensemble.from_labels(
            ensemble.labels[np.ix_(rows, members)], sample_weight=ensemble.weights[rows]
        )
        alone = Evidence.of(part, ks, np.random.default_rng(seed), step)
        k = alone.choice.recommended
        support = f"k = {listed(list(map(str, alone.choice.supported)), 5)}" if k > 1 else "no k"
        notes.append(f"The members of {name} alone support {support}.")
        if k > 1:
            view = np.full(ensemble.n_microclusters, -1)
            view[rows] = alone.curve.fits[k - 1].classes[part.inverse]
            views.append(view)
            choices.append(alone.choice)
    choice = together.choice
    cells = _intersections(np.column_stack(views), ensemble.sizes) if len(views) > 1 else None
    if cells is not None:
        k = int(cells.max()) + 1
        split = LatentClasses.fit(ensemble, cells, k).information_criterion(ensemble)
        joint = together.curve.fits[choice.recommended - 1].information_criterion(ensemble)
        if k > choice.recommended and k in ks and split < joint:
            largest_p = float(np.max([alone.p_value for alone in choices]))
            seen = listed([str(alone.recommended) for alone in choices], 5)
            choice = Choice(
                k,
                dict(sorted({**choice.evidence, k: "intersections"}.items())),
                largest_p,
                f"The groups see different clusters: alone they support {seen}, and these intersect in "
                f"{k} clusters.",
                choice.notes,
            )
    return replace(choice, notes=(*notes, *choice.notes))


def _intersections(views: IntArray, weights: FloatArray) -> IntArray | None:
    """The intersections of partitions that are large enough; None if there are fewer than two.

    A row in a smaller one, or one that is missing in a partition, joins the large one with which it has
    the most in common, or the largest of these.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.select.label_structure import _intersections
    >>> views = np.array([[0, 0], [0, 1], [1, 1], [1, -1], [1, 0]])
    >>> _intersections(views, np.array([20.0, 20.0, 20.0, 5.0, 1.0]))
    array([0, 1, 2, 2, 0])
    """
    known = (views >= 0).all(axis=1)
    cells, inverse = np.unique(views[known], axis=0, return_inverse=True)
    sizes = np.bincount(inverse.ravel(), weights[known], minlength=len(cells)).astype(np.float64)
    large = sizes >= least_size(weights[known].sum())
    if large.sum() < 2:
        return None
    common = (views[:, None] == cells[large]).sum(axis=2)
    # sizes decide between cells with equally much in common
    return np.asarray((common + sizes[large] / (1 + sizes.sum())).argmax(axis=1), dtype=np.int64)
