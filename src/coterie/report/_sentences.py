"""The sentences of the page: the headline, the notes, and what each picture shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.core.text import counted, noun_for, percent, plain, shown_count
from coterie.report._reading import AGREEMENT_MEMBERS, HISTOGRAMS, Reading
from coterie.trust.explanation import SURE, UNSURE

# streams of a smaller share of the samples are not drawn
THINNEST = 0.002


def no_structure(reading: Reading) -> bool:
    """Whether the choice of k found no structure."""
    selection = reading.result.selection
    return selection is not None and not selection.structure


def headline(reading: Reading) -> list[str]:
    """The result in two or three sentences."""
    sentences = _clusters_and_confidence(reading)
    if reading.result.verdict is not None and reading.result.n_clusters > 1:
        sentences.append(reading.result.verdict.text)
    if (scores := reading.truth_scores) is not None:
        sentences.append(
            f"Against the known classes: adjusted Rand index {scores['ari']:.2f}, "
            f"accuracy {percent(scores['accuracy'])}."
        )
    return sentences


def _clusters_and_confidence(reading: Reading) -> list[str]:
    result = reading.result
    n = counted(reading.ensemble.total_count, "sample")
    if result.n_clusters == 1:
        alone = f"all {n} are in one cluster."
        return [f"No structure: {alone}" if no_structure(reading) else alone.capitalize()]
    clusters = counted(result.n_clusters, "cluster")
    if no_structure(reading):
        return [f"No structure: do not trust the {clusters} of {n} below."]
    median = reading.median_confidence
    if not reading.reliable:
        how = "unreliable"
    elif median >= SURE:
        how = "most assignments sure"
    elif median >= UNSURE:
        how = "assignments fairly sure"
    else:
        how = "most assignments unsure"
    return [f"{clusters} of {n}, {how} (median confidence {median:.2f}).", _weakest(reading)]


def _weakest(reading: Reading) -> str:
    table = reading.clusters
    confidence = table["confidence"]
    lowest = int(np.argmin(confidence))
    rival = int(table["nearest"][lowest])
    if confidence[lowest] >= SURE and np.ptp(confidence) < 0.1:
        return "No cluster is much weaker than the others."
    sentence = f"Cluster {lowest} is the weakest (mean confidence {confidence[lowest]:.2f})"
    if table["separation"][lowest] > 0:
        sentence += f"; its samples are most often put together with those of cluster {rival}"
    return f"{sentence}."


def tiles(reading: Reading) -> list[tuple[str, str, str]]:
    """The numbers at the top: value, name, and a remark."""
    result, ensemble = reading.result, reading.ensemble
    n = reading.ensemble.total_count
    rows = counted(ensemble.n_microclusters, "distinct label row")
    if reading.left_out:
        rows += f"; {shown_count(reading.left_out)} more without a label, in no cluster"
    numbers = [
        (shown_count(n), "samples", f"by weight; {rows}" if reading.weighted else rows),
        (f"{result.n_clusters:,}", noun_for(result.n_clusters, "cluster"), _choice_of_k(reading)),
        (
            f"{ensemble.n_members:,}",
            noun_for(ensemble.n_members, "member"),
            f"the clusterings combined; {_coverage(reading)}",
        ),
    ]
    # without a rival every sample would count as sure
    if result.n_clusters > 1:
        unsure = reading.counts[result.sample_confidence < UNSURE].sum().item()
        median = f"{reading.median_confidence:.2f}"
        numbers += [
            (median, "median confidence", "1 is sure, 0 is unsure"),
            (shown_count(unsure), "unsure samples", f"{percent(unsure / n)} below {UNSURE}"),
        ]
    return numbers


def _choice_of_k(reading: Reading) -> str:
    result = reading.result
    if result.selection is None:
        asked = result.parameters.get("n_clusters") == result.n_clusters
        return "as requested" if asked else f"chosen by {result.method.upper()}"
    if result.selection.recommended == result.n_clusters:
        return "as recommended"
    if result.selection.recommended == 1:
        return "none recommended"
    return f"{result.selection.recommended} recommended"


def _coverage(reading: Reading) -> str:
    ensemble = reading.ensemble
    if ensemble.is_complete:
        return "no label missing"
    return f"{percent(ensemble.missing_share)} of labels missing"


def notes(reading: Reading) -> list[str]:
    """What the reader should know before trusting the page."""
    result, selection = reading.result, reading.result.selection
    sentences = []
    if selection is not None and no_structure(reading):
        sentences.append(selection.reason)
    elif selection is not None and selection.recommended != result.n_clusters:
        sentences.append(
            f"This result has {counted(result.n_clusters, 'cluster')}, but "
            f"{selection.recommended} are recommended. {selection.reason}"
        )
    if not result.converged:
        passes = "pass" if len(result.history) == 1 else "passes"
        sentences.append(
            f"{result.method.upper()} did not converge in {len(result.history):,} {passes}; more "
            "passes (max_iter) may change the result."
        )
    if reading.ensemble.n_members == 1:
        sentences.append("There is only one member, so agreement cannot be assessed.")
    apart = int(np.count_nonzero(reading.members["apart"]))
    # only members that were given can be mended; coterie made the others
    if apart and "n_members" not in result.parameters:
        sentences.append(
            f"{counted(apart, 'member')} {'stands' if apart == 1 else 'stand'} apart from the others; "
            "see the table of members."
        )
    # warnings of the run may repeat these sentences, after the name of a function
    return sentences + [
        warning for warning in result.warnings if not any(one in warning for one in sentences)
    ]


def aggregated(reading: Reading, searchable: int) -> list[str]:
    """What the page shows in aggregate to stay small."""
    n, rows = reading.ensemble.total_count, reading.ensemble.n_samples
    what = _rows(reading)
    parts = []
    blocks = len(reading.blocks.cluster)
    if blocks < n:
        parts.append(
            f"the matrix shows {shown_count(n)} × {shown_count(n)} pairs as {blocks} × {blocks} "
            "means of equal weight"
        )
    if reading.result.coordinates is not None and len(reading.points) < rows:
        parts.append(
            f"the map shows {len(reading.points):,} of {rows:,} {what}, each cluster in "
            "proportion, rows spread evenly"
        )
    if searchable < rows:
        parts.append(
            f"{searchable:,} of {rows:,} {what} can be searched: those on the map, then the "
            "least sure"
        )
    if reading.ensemble.n_members > AGREEMENT_MEMBERS:
        parts.append(
            f"the agreement of members is drawn for the {AGREEMENT_MEMBERS} with the largest weight"
        )
    return parts


def nothing_to_compare(reading: Reading) -> list[str]:
    """Why a single cluster is not described, and how to get groups that are; empty without a table."""
    result = reading.result
    if result.n_clusters > 1 or result.profile is None:
        return []
    if result.selection is None:
        return [*result.profile.sentences]
    k = result.selection.smallest_supported
    asked = f"-k {k} on the command line or n_clusters={k} in Python"
    if result.describes_groups:
        kinds = result.selection.evidence.get(k, "none")
        return [
            "All samples are in one cluster, so there is nothing to compare it with. If you need groups, "
            f"this is a partition into {k}, for which there is weaker evidence ({kinds}): {asked} makes "
            "such groups."
        ]
    return [
        *result.profile.sentences,
        f"To have groups described all the same, ask for a number of clusters, such as {asked}.",
    ]


def profile_notes(reading: Reading) -> list[str]:
    """What the reader should know about the description of the clusters."""
    profile = reading.profile
    if profile is None:
        return []
    sentences = []
    roles = {column["role"] for column in profile.columns}
    if "used" in roles:
        these = "these columns" if roles == {"used"} else "the columns without the mark “external”"
        why = f"The clusters were made from {these}, so the columns differ by construction."
        if "n_members" not in reading.result.parameters:
            # of given labels, nobody knows what they were made from
            why = f"If the members were made from {these}, the columns differ by construction."
        sentences.append(
            f"{why} This describes the clusters; it does not prove that they are real. To test a column, "
            "make the clusters without it: model.profile(X, held_out=5)."
        )
    if profile.n_looked_at < profile.n_samples:
        sentences.append(
            f"All numbers are those of {profile.n_looked_at:,} samples drawn from {profile.n_samples:,}."
        )
    if len(profile.columns) < profile.n_columns:
        sentences.append(
            f"The page holds the {len(profile.columns):,} most telling of {profile.n_columns:,} columns; "
            "coterie profile RESULT TABLE -o FILE writes all."
        )
    if len(profile.clusters) < reading.result.n_clusters:
        sentences.append(
            f"The {len(profile.clusters)} largest of {reading.result.n_clusters:,} clusters."
        )
    return [*sentences, *profile.notes]


def by_weight(reading: Reading) -> str:
    """How weighted samples are counted on this page; empty without weights."""
    if not reading.weighted:
        return ""
    rows, n = reading.ensemble.n_samples, reading.ensemble.total_count
    return (
        f"Samples are counted by weight: {counted(rows, 'weighted row')} "
        f"{'represents' if rows == 1 else 'represent'} {counted(n, 'sample')}. The map and the search "
        "show weighted rows; all other numbers and pictures count samples."
    )


def _rows(reading: Reading) -> str:
    return "weighted rows" if reading.weighted else "samples"


def captions(reading: Reading) -> dict[str, str]:
    """A text alternative for each picture: what it shows, in numbers."""
    texts = {"matrix": _matrix(reading), "confidence": _confidence(reading)}
    if reading.result.coordinates is not None:
        texts["map"] = _map(reading)
    if reading.ensemble.n_members > 1:
        texts["agreement"] = _agreement(reading)
    return texts


def _matrix(reading: Reading) -> str:
    result, blocks = reading.result, reading.blocks
    n, size = reading.ensemble.total_count, len(blocks.cluster)
    between, inside = reading.between[1], reading.clusters["cohesion"]
    one = result.n_clusters == 1
    text = "How often members put two samples together. "
    if not one:
        text += "Both sides list the clusters in the same order. "
    text += f"{'Samples' if one else 'Within a cluster, samples'} are ordered {blocks.order}. "
    if size < n:
        text += (
            f"Each of the {size} × {size} cells is the mean over all pairs of about "
            f"{n / size:,.0f} × {n / size:,.0f} samples. "
        )
    known = inside[np.isfinite(inside)]
    if len(known):
        low, high = f"{known.min():.2f}", f"{known.max():.2f}"
        text += f"Inside {'it' if one else 'clusters'} the mean is {low}"
        text += "" if low == high else f" to {high}"
        if len(between) > 1:
            apart = between[~np.eye(len(between), dtype=bool)]
            most = "under 0.01" if apart.max() < 0.01 else f"at most {apart.max():.2f}"
            text += f"; between two clusters it is {most}"
        text += "."
    return text


def _map(reading: Reading) -> str:
    n, drawn = reading.ensemble.n_samples, len(reading.points)
    what = _rows(reading)
    which = f"{drawn:,} of the {n:,} {what}" if drawn < n else f"The {n:,} {what}"
    coordinates = f"Coordinates: {plain(reading.result.coordinates_name)}."
    if reading.result.n_clusters == 1:
        return f"{which}. {coordinates}"
    return (
        f"{which}, coloured by cluster; fainter points are less sure. {coordinates} Each number "
        "marks the middle of the more certain half of a cluster."
    )


def _confidence(reading: Reading) -> str:
    result, medians = reading.result, reading.medians
    text = (
        "Confidence is one minus the ratio of the support for the next best cluster to the support "
        "for the sample’s own, and is lower where members rarely put the sample with its cluster. It "
        "is lower for all samples if a second run may differ, or if there is a doubt about the whole. "
    )
    if result.n_clusters > 1:
        low, high = int(np.argmin(medians)), int(np.argmax(medians))
        alike = f"{medians[low]:.2f}" == f"{medians[high]:.2f}"
        text += (
            f"The median is {medians[low]:.2f} in every cluster. "
            if alike
            else f"Medians run from {medians[low]:.2f} (cluster {low}) to {medians[high]:.2f} "
            f"(cluster {high}). "
        )
    if result.n_clusters > HISTOGRAMS:
        text += f"Only the {HISTOGRAMS} least sure of {result.n_clusters:,} clusters are drawn. "
    return text + "Bars are scaled to the highest bar of each cluster."


def _agreement(reading: Reading) -> str:
    values = reading.agreement[1]
    pairs = values[np.triu_indices(len(values), 1)]
    return (
        "How similar each pair of members is (normalised mutual information), with similar members "
        f"side by side. Pairs run from {pairs.min():.2f} to {pairs.max():.2f}, median "
        f"{np.median(pairs):.2f}."
    )


def tracking_caption(tracking: dict[str, Any]) -> str:
    """What the streams from k to k show."""
    ks, nested = tracking["ks"], tracking["nested"]
    worst = int(np.argmin(nested))
    text = (
        f"How the clusters at one k become those at the next, k = {ks[0]} to {ks[-1]}. The thickness "
        "of bars and streams shows how many samples they hold; their colour is that of the cluster "
        "of this result to which most of these samples belong. "
    )
    if min(nested) > 0.99:
        text += "Each step only splits clusters. "
    else:
        text += (
            f"Most samples are regrouped in the step from {ks[worst]} to {ks[worst + 1]}: "
            f"{percent(1 - nested[worst])} join a cluster whose samples come mostly from another "
            "cluster. "
        )
    return text + f"Streams of fewer than {100 * THINNEST:.1f} % of the samples are not drawn."
