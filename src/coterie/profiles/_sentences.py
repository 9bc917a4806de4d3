"""A profile in words: what a cluster has more of, or less of, than the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.text import (
    counted,
    enumerated,
    number_text,
    percent,
    plain,
    shown_count,
    texts_to_compare,
)
from coterie.core.types import FloatArray, IntArray
from coterie.profiles._groups import Groups
from coterie.profiles._measures import Measures
from coterie.profiles._variables import Described

# columns that a sentence names: of those that the clusters were made from, and of the others
NAMED_COLUMNS, NAMED_EXTERNAL = 3, 2
# columns are named if their adjusted p-value is smaller
LEVEL = 0.05
# of groups this small, no p-value is asked for: with many columns, none may be small enough
FEW_SAMPLES = 8
# longer names are cut in a sentence
LONGEST_NAME = 40
NO_COLUMN = "differs from the rest in no single column"


def cluster_sentences(groups: Groups, predicates: list[str]) -> list[str]:
    """One sentence for each cluster, with its size."""
    whole = groups.sizes.sum()
    if groups.n_clusters == 1:
        return [f"{cluster_name(groups.names[0])} {predicates[0]}."]
    return [
        f"{cluster_name(name)} ({shown_count(size)} of {counted(whole, 'sample')}, "
        f"{percent(size / whole)}) {predicate}."
        for name, size, predicate in zip(
            groups.names, groups.sizes.tolist(), predicates, strict=True
        )
    ]


def cluster_name(label: Any) -> str:
    """How a sentence names a cluster."""
    return f"Cluster {plain(label, LONGEST_NAME)}"


def cluster_predicates(
    columns: list[Described],
    measures: Measures,
    groups: Groups,
    ranking: IntArray,
    p_adjusted: FloatArray,
) -> list[str]:
    """What a sentence says about each cluster, such as "has higher age (median 54 against 31)".

    Parameters
    ----------
    columns : list of Described
    measures : Measures
    groups : Groups
    ranking : ndarray of int, shape (d, c)
        Positions of the columns, the most telling one of each cluster first.
    p_adjusted : ndarray, shape (d, c)
    """
    if groups.n_clusters == 1:
        whole = counted(groups.sizes.sum(), "sample")
        return [f"has all {whole}: there is nothing to compare it with"]
    external = {j for j, column in enumerate(columns) if column.role == "external"}
    if len(external) == len(columns):
        external = set()
    differing = _differing(measures, groups, p_adjusted)
    predicates = []
    for c in range(groups.n_clusters):
        by_rank = [j for j in ranking[:, c].tolist() if differing[j, c]]
        telling = [j for j in by_rank if j not in external][:NAMED_COLUMNS]
        besides = [j for j in by_rank if j in external and p_adjusted[j, c] < LEVEL]
        besides = besides[:NAMED_EXTERNAL]
        traits = [_trait(columns[j], measures, j, c, j == telling[0]) for j in telling]
        predicate = f"has {enumerated(traits)}" if telling else NO_COLUMN
        if besides:
            traits = [_trait(columns[j], measures, j, c, j == besides[0]) for j in besides]
            predicate += f"; of the columns not used for clustering, {enumerated(traits)}"
        predicates.append(predicate)
    return predicates


def _differing(measures: Measures, groups: Groups, p_adjusted: FloatArray) -> NDArray[np.bool_]:
    """Where the difference is not 0, its interval leaves out 0, and the test agrees.

    Of many columns, some intervals leave out 0 by chance. The p-value of a column that was clustered by
    proves nothing if it is small, but if it is not, the column does not tell the cluster from the rest.
    """
    low, high, difference = measures.low, measures.high, measures.difference
    without = np.isnan(low) & ~np.isnan(difference) & (difference != 0)
    sizes = np.diff(groups.starts)
    smaller = np.minimum(sizes, sizes.sum() - sizes)
    # a single sample has no interval: its value must lie beyond nearly all others
    beyond = (smaller > 1) | (np.abs(measures.auc - 0.5) >= (1 - LEVEL) / 2)
    telling = (without & beyond) | (low > 0) | (high < 0)
    return telling & ((p_adjusted < LEVEL) | (smaller <= FEW_SAMPLES))


def _trait(column: Described, measures: Measures, j: int, c: int, first: bool) -> str:
    """What a cluster has more or less of, such as "higher age (median 54 against 31)"."""
    name = plain(column.name, LONGEST_NAME)
    own, rest = float(measures.typical[j, c]), float(measures.typical_rest[j, c])
    if column.kind == "category":
        level = plain(column.levels[measures.level[j, c]], LONGEST_NAME)
        more = "more" if own > rest else "less"
        return f"{more} often {name} = {level} ({percent(own)} against {percent(rest)})"
    what = "median "
    if own == rest or (own > rest) != (measures.auc[j, c] > 0.5):
        # where medians say nothing, as among many zeros, means do
        own, rest, what = float(measures.mean[j, c]), float(measures.mean_rest[j, c]), "mean "
    elif not first:
        what = ""
    word = {"number": ("higher", "lower"), "date": ("later", "earlier")}[column.kind][
        0 if own > rest else 1
    ]
    if column.kind == "number":
        texts = texts_to_compare(own, rest)
    elif abs(own - rest) >= 1:
        texts = number_text(np.floor(own), "date"), number_text(np.floor(rest), "date")
    else:
        texts = number_text(own, "date"), number_text(rest, "date")
    return f"{word} {name} ({what}{texts[0]} against {texts[1]})"
