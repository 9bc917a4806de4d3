"""What the page says in sentences: the headline, the cautions, and what each picture shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.core.text import counted, noun_for, shown_count
from coterie.report._payload import HISTOGRAMS, THINNEST, histogram_clusters
from coterie.report._reading import AGREEMENT_MEMBERS, Reading
from coterie.report._text import plain
from coterie.trust.explanation import SURE, UNSURE

if TYPE_CHECKING:
    from coterie.result import Result

# clusters that may be two, each with a sentence of its own
MERGED = 3


def percent(share: float) -> str:
    """A share as a percentage that never rounds to a false 0 or 100."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def no_structure(result: Result) -> bool:
    """Whether the search for k found that the data have no stable clusters."""
    return result.selection is not None and not result.selection.structure


def headline(reading: Reading) -> list[str]:
    """The result in two or three sentences."""
    result = reading.result
    n = counted(reading.n, "sample")
    if result.n_clusters == 1:
        alone = f"all {n} are left in one cluster."
        first = f"No stable structure: {alone}" if no_structure(result) else alone.capitalize()
        return [first, *_against_truth(reading)]
    clusters = counted(result.n_clusters, "cluster")
    if no_structure(result):
        return [
            f"No stable structure: the {clusters} of {n} below are not to be trusted.",
            *_against_truth(reading),
        ]
    median = reading.median_confidence
    if median >= SURE:
        how = "most assignments sure"
    elif median >= UNSURE:
        how = "assignments fairly sure"
    else:
        how = "most assignments unsure"
    first = f"{clusters} of {n}, {how} (median confidence {median:.2f})."
    return [first, *_weakest(reading), *_against_truth(reading)]


def _weakest(reading: Reading) -> list[str]:
    table = reading.clusters
    confidence = table["confidence"]
    lowest = int(np.argmin(confidence))
    rival = int(table["nearest"][lowest])
    if confidence[lowest] >= SURE and np.ptp(confidence) < 0.1:
        return ["No cluster is much less sure than the others."]
    words = f"Cluster {lowest} is the weakest (mean confidence {confidence[lowest]:.2f})"
    if table["separation"][lowest] > 0:
        words += f"; its samples are most often taken for cluster {rival}"
    return [f"{words}."]


def _against_truth(reading: Reading) -> list[str]:
    scores = truth_scores(reading.result)
    if scores is None:
        return []
    return [
        f"Against the known classes: adjusted Rand index {scores['ari']:.2f}, "
        f"accuracy {percent(scores['accuracy'])}."
    ]


def truth_scores(result: Result) -> dict[str, float] | None:
    """Scores against the known classes, where they are known for every sample."""
    if result.truth is None:
        return None
    from coterie.evaluate import scores

    try:
        return scores(result.truth, result.labels)
    except ValueError:
        return None


def unsure_samples(reading: Reading) -> int | float:
    """Samples below the line of what counts as unsure."""
    count = reading.counts[reading.result.sample_confidence < UNSURE].sum()
    found: int | float = count.item()
    return found


def tiles(reading: Reading) -> list[tuple[str, str, str]]:
    """The numbers at the top: value, name, a word on it."""
    result, ensemble = reading.result, reading.ensemble
    n = reading.n
    rows = counted(ensemble.n_microclusters, "distinct label row")
    found = [
        (shown_count(n), "samples", f"by weight; {rows}" if reading.weighted else rows),
        (f"{result.n_clusters:,}", noun_for(result.n_clusters, "cluster"), _chosen(result)),
        (
            f"{ensemble.n_members:,}",
            noun_for(ensemble.n_members, "member"),
            f"the clusterings combined; {_coverage(reading)}",
        ),
    ]
    # with one cluster there is no rival to compare with, and every sample would count as sure
    if result.n_clusters > 1:
        unsure = unsure_samples(reading)
        median = f"{reading.median_confidence:.2f}"
        found += [
            (median, "median confidence", "1 is sure, 0 a tie with a rival"),
            (shown_count(unsure), "unsure samples", f"{percent(unsure / n)} below {UNSURE}"),
        ]
    return found


def _chosen(result: Result) -> str:
    if result.selection is None:
        asked = result.parameters.get("n_clusters") == result.n_clusters
        return "as asked for" if asked else f"as {result.method.upper()} found"
    if result.selection.recommended == result.n_clusters:
        return "as recommended"
    if result.selection.recommended == 1:
        return "none recommended"
    return f"{result.selection.recommended} recommended"


def _coverage(reading: Reading) -> str:
    ensemble = reading.ensemble
    if ensemble.is_complete:
        return "no label missing"
    weight = ensemble.sizes
    absent = float(weight @ (~ensemble.observed).mean(axis=1) / weight.sum())
    return f"{percent(absent)} of labels missing"


def cautions(reading: Reading) -> list[str]:
    """What the reader should know before trusting the page."""
    result = reading.result
    found = []
    if no_structure(result) and result.selection is not None:
        found.append(result.selection.reason)
    selection = result.selection
    if selection is not None and selection.structure:
        if selection.recommended != result.n_clusters:
            found.append(
                f"This result has {counted(result.n_clusters, 'cluster')}, but "
                f"{selection.recommended} are recommended. {selection.reason}"
            )
        if selection.disagreement:
            found.append(selection.disagreement)
    if not no_structure(result):
        found += _merged(reading)
    if not result.converged:
        found.append(
            f"{result.method.upper()} did not converge in "
            f"{len(result.history):,} {'pass' if len(result.history) == 1 else 'passes'}; more passes "
            "(max_iter) may change the result."
        )
    if reading.ensemble.n_members == 1:
        found.append("There is one member only: nothing can be said about agreement.")
    outliers = int(np.count_nonzero(reading.members["outlier"]))
    if outliers:
        found.append(
            f"{counted(outliers, 'member')} {'agrees' if outliers == 1 else 'agree'} far less "
            "with the result than the others; see the table of members."
        )
    # a warning that repeats one of these sentences under its function's name says nothing new
    return [*found, *(text for text in result.warnings if not any(one in text for one in found))]


def _merged(reading: Reading) -> list[str]:
    """Clusters that join what most members keep apart, in words and numbers."""
    found = []
    for merged in reading.merged[:MERGED]:
        one, other = (f"{size:,.0f}" for size in merged.sizes)
        found.append(
            f"Cluster {merged.cluster} may be two: {merged.apart} of {merged.asked} members put a "
            f"part of about {one} samples and one of about {other} into different clusters. They "
            f"put two samples together in {percent(merged.inside[0])} and "
            f"{percent(merged.inside[1])} of cases inside the parts, in {percent(merged.between)} "
            "across them. Look at its block in the matrix, and try more clusters."
        )
    more = [str(merged.cluster) for merged in reading.merged[MERGED:]]
    if more:
        are = "cluster" if len(more) == 1 else "clusters"
        found.append(f"The same goes for {are} {', '.join(more)}.")
    return found


def aggregated(reading: Reading, searchable: int) -> list[str]:
    """What the page shows in aggregate, because it would not fit otherwise."""
    n, entries = reading.n, reading.ensemble.n_samples
    what = _entries(reading)
    found = []
    blocks = len(reading.blocks.cluster)
    if blocks < n:
        found.append(
            f"the matrix shows {shown_count(n)} × {shown_count(n)} pairs as {blocks} × {blocks} "
            "means of equal weight"
        )
    if reading.result.coordinates is not None and len(reading.points) < entries:
        found.append(
            f"the map shows {len(reading.points):,} of {entries:,} {what}, each cluster by its "
            "share, rows spread evenly"
        )
    if searchable < entries:
        found.append(
            f"{searchable:,} of {entries:,} {what} can be searched: those of the map and then the "
            "least sure"
        )
    if reading.ensemble.n_members > AGREEMENT_MEMBERS:
        found.append(
            f"the agreement of members is drawn for the {AGREEMENT_MEMBERS} of greatest weight"
        )
    return found


def by_weight(reading: Reading) -> str:
    """That a point and a row of the page stand for several samples, where they do; else nothing."""
    if not reading.weighted:
        return ""
    entries = reading.ensemble.n_samples
    return (
        f"Samples are counted by weight: {counted(entries, 'weighted row')} "
        f"{'stands' if entries == 1 else 'stand'} for {counted(reading.n, 'sample')}. The map and "
        "the search show weighted rows; all other numbers and pictures count samples."
    )


def _entries(reading: Reading) -> str:
    return "weighted rows" if reading.weighted else "samples"


def captions(reading: Reading) -> dict[str, str]:
    """A text alternative for each picture: what it shows, in numbers."""
    found = {"matrix": _matrix(reading), "confidence": _confidence(reading)}
    if reading.result.coordinates is not None:
        found["map"] = _map(reading)
    if reading.ensemble.n_members > 1:
        found["agreement"] = _agreement(reading)
    return found


def _matrix(reading: Reading) -> str:
    result, blocks = reading.result, reading.blocks
    n, size = reading.n, len(blocks.cluster)
    between, inside = reading.between[1], reading.clusters["cohesion"]
    words = (
        "How often members put two samples together. "
        + (
            "The"
            if result.n_clusters == 1
            else "Clusters follow one another along both sides; in each the"
        )
        + f" samples are ordered {blocks.order}. "
    )
    if size < n:
        words += (
            f"Each of the {size} × {size} cells is the mean over all pairs of about "
            f"{n / size:,.0f} × {n / size:,.0f} samples. "
        )
    known = inside[np.isfinite(inside)]
    if len(known):
        low, high = f"{known.min():.2f}", f"{known.max():.2f}"
        words += f"Inside {'it' if result.n_clusters == 1 else 'clusters'} the mean is {low}"
        words += "" if low == high else f" to {high}"
        if len(between) > 1:
            apart = between[~np.eye(len(between), dtype=bool)]
            most = "under 0.01" if apart.max() < 0.01 else f"at most {apart.max():.2f}"
            words += f"; between two clusters it is {most}"
        words += "."
    return words


def _map(reading: Reading) -> str:
    n, drawn = reading.ensemble.n_samples, len(reading.points)
    what = _entries(reading)
    which = f"{drawn:,} of the {n:,} {what}" if drawn < n else f"The {n:,} {what}"
    if reading.result.n_clusters == 1:
        return f"{which}. The plane: {plain(reading.result.coordinates_name)}."
    return (
        f"{which}, coloured by cluster; the fainter, the less sure. "
        f"The plane: {plain(reading.result.coordinates_name)}. Numbers stand in the middle of each "
        "cluster’s surer half."
    )


def _confidence(reading: Reading) -> str:
    result, medians = reading.result, reading.medians
    shown = histogram_clusters(reading)
    words = (
        "Confidence is one minus the support of the next best cluster over that of the own one, "
        "less where members put a sample with its cluster more rarely than is usual. "
    )
    if result.n_clusters > 1:
        low, high = int(np.argmin(medians)), int(np.argmax(medians))
        alike = f"{medians[low]:.2f}" == f"{medians[high]:.2f}"
        words += (
            f"The median is {medians[low]:.2f} in every cluster. "
            if alike
            else f"Medians run from {medians[low]:.2f} (cluster {low}) to {medians[high]:.2f} "
            f"(cluster {high}). "
        )
    if len(shown) < result.n_clusters:
        words += f"Only the {HISTOGRAMS} least sure of {result.n_clusters:,} clusters are drawn. "
    return words + "Bars are scaled to each cluster’s highest."


def _agreement(reading: Reading) -> str:
    values = reading.agreement[1]
    pairs = values[np.triu_indices(len(values), 1)]
    return (
        "How alike each pair of members is (normalised mutual information), like members side by "
        f"side. Pairs run from {pairs.min():.2f} to {pairs.max():.2f}, median "
        f"{np.median(pairs):.2f}."
    )


def tracking_words(tracking: dict[str, Any]) -> str:
    """What the streams from k to k show."""
    ks, nested = tracking["ks"], tracking["nested"]
    worst = int(np.argmin(nested))
    words = (
        f"How the clusters at one k become those at the next, k = {ks[0]} to {ks[-1]}; bars and "
        "streams are as thick as their samples are many and have the colour of this result’s "
        "cluster that most of them belong to. "
    )
    if min(nested) > 0.99:
        words += "Each step only splits clusters. "
    else:
        words += (
            f"The least tidy step is from {ks[worst]} to {ks[worst + 1]}, where "
            f"{percent(1 - nested[worst])} of the samples leave the company of the rest. "
        )
    return words + f"Streams of fewer than {100 * THINNEST:.1f} % of the samples are not drawn."
