"""The numbers behind the pictures, as the page's script reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coterie.report._reading import Reading
from coterie.report._store import STORE_BYTES, pack, sample_store
from coterie.report._text import plain
from coterie.trust.explanation import LOOSE, SURE, UNSURE

if TYPE_CHECKING:
    from coterie.select import Selection

# small pictures of confidence; the least sure clusters come first
HISTOGRAMS = 40
# passes drawn of a long run
PASSES = 400
# streams thinner than this share of the samples are not drawn
THINNEST = 0.002
TITLES = {
    "stability": "Stability of halves",
    "crossing": "Crossing members",
    "pac": "Ambiguous pairs (PAC)",
    "cophenetic": "Cophenetic correlation",
    "delta_area": "Gain in CDF area",
    "eigengap": "Eigengap",
    "lifetime": "Lifetime",
    "anmi": "Agreement (ANMI)",
}


def payload(reading: Reading, budget: float = STORE_BYTES) -> dict[str, Any]:
    """Everything that is drawn or searched, as JSON values; arrays are base64."""
    result = reading.result
    return {
        "n": reading.ensemble.n_samples,
        "weighted": reading.weighted,
        "n_clusters": result.n_clusters,
        "sure": SURE,
        "unsure": UNSURE,
        "loose": LOOSE,
        "matrix": _matrix(reading),
        "map": _map(reading),
        "confidence": _confidence(reading),
        "convergence": _convergence(result.history),
        "selection": None if result.selection is None else _selection(result.selection),
        "tracking": None if result.selection is None else _tracking(reading),
        "agreement": _agreement(reading),
        "samples": _samples(reading, budget),
    }


def decimals(values: Any, digits: int = 4) -> Any:
    """Numbers rounded to so many significant digits; None for what is not a number."""
    array = np.asarray(values, dtype=np.float64)
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.tolist()
    ]


def triangle(values: NDArray[np.float64], top: float) -> str:
    """A symmetric matrix in 256 levels from 0 to ``top``: upper triangle, row by row."""
    scaled = np.rint(np.clip(values / top, 0.0, 1.0) * 255)
    return pack(scaled[np.triu_indices(len(values))], "u1")


def _matrix(reading: Reading) -> dict[str, Any]:
    blocks = reading.blocks
    views = [
        {
            "name": "Co-association",
            "top": 1.0,
            "values": triangle(blocks.coassociation(reading.ensemble), 1.0),
        }
    ]
    learned = reading.result.matrix
    if learned is not None:
        values = blocks.average(learned)
        top = max(float(values.max()), np.finfo(np.float64).tiny)
        name = plain(reading.result.matrix_name or "learned matrix")
        views.append(
            {"name": name[:1].upper() + name[1:], "top": top, "values": triangle(values, top)}
        )
    change = np.flatnonzero(np.r_[True, blocks.cluster[1:] != blocks.cluster[:-1]])
    lengths = np.diff(np.r_[change, len(blocks.cluster)])
    per = reading.n / len(blocks.cluster)
    return {
        "size": len(blocks.cluster),
        "clusters": np.stack([blocks.cluster[change], lengths], axis=1).tolist(),
        "per": "two samples" if per == 1 else f"mean over about {per:,.0f} × {per:,.0f} samples",
        "views": views,
    }


def _map(reading: Reading) -> dict[str, Any] | None:
    result = reading.result
    if result.coordinates is None:
        return None
    chosen = reading.points
    drawn = result.coordinates[chosen].astype(np.float64)
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    unit = (drawn - low) / span
    labels = result.labels[chosen]
    confidence = result.sample_confidence[chosen]
    centres = []
    for cluster in np.unique(labels).tolist():
        own = np.flatnonzero(labels == cluster)
        sure = own[confidence[own] >= np.median(confidence[own])]
        centres.append([cluster, *decimals(np.median(unit[sure], axis=0), 3)])
    sizes = reading.clusters["size"]
    return {
        "x": pack(np.rint(unit[:, 0] * 65535), "u2"),
        "y": pack(np.rint(unit[:, 1] * 65535), "u2"),
        "aspect": decimals([span[1] / span[0]])[0],
        "label": pack(labels, "u2"),
        "confidence": pack(np.rint(confidence * 255), "u1"),
        "row": pack(chosen, "u4"),
        "centres": centres if len(centres) <= 60 else [],
        "legend": [[cluster, size] for cluster, size in enumerate(sizes.tolist())][:60],
    }


def histogram_clusters(reading: Reading) -> list[int]:
    """Clusters whose confidence is drawn: all, or the least sure ones."""
    count = reading.result.n_clusters
    if count <= HISTOGRAMS:
        return list(range(count))
    return np.argsort(reading.medians, kind="stable")[:HISTOGRAMS].tolist()


def _confidence(reading: Reading) -> list[dict[str, Any]]:
    return [
        {"cluster": cluster, "counts": reading.histograms[cluster].tolist()}
        for cluster in histogram_clusters(reading)
    ]


def _convergence(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    if len(history) < 2:
        return None
    step = -(-len(history) // PASSES)
    # the last pass is always there
    kept = history[::-1][::step][::-1]
    series = []
    for name in ("objective", "residual"):
        values = decimals([_number(record.get(name)) for record in kept], 5)
        known = [value for value in values if value is not None]
        if len(known) < 2:
            continue
        log = min(known) > 0 and max(known) / min(known) > 1000
        series.append({"name": name, "values": values, "log": log})
    if not series:
        return None
    passes = [int(record.get("pass", place + 1)) for place, record in enumerate(kept)]
    return {"passes": passes, "series": series}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _selection(selection: Selection) -> dict[str, Any]:
    grid = np.asarray(selection.cdf_grid, dtype=np.float64)
    step = max(1, -(-len(grid) // 101))
    known = np.isfinite(selection.cdf).all()
    return {
        "ks": selection.ks.tolist(),
        "recommended": int(selection.recommended),
        "criteria": [
            {
                "name": plain(name),
                "title": TITLES.get(name, plain(name).replace("_", " ")),
                "values": decimals(values),
                "null": decimals(selection.null[name]) if name in selection.null else None,
                "vote": selection.votes.get(name),
            }
            for name, values in selection.criteria.items()
        ],
        "grid": decimals(grid[::step]),
        "cdf": [decimals(row[::step]) for row in selection.cdf] if known else None,
        "delta": decimals(selection.delta_area)
        if np.isfinite(selection.delta_area).any()
        else None,
    }


def _tracking(reading: Reading) -> dict[str, Any] | None:
    """Sizes of the parts at each k and how many samples go from part to part.

    Parts stand in the order of where their samples come from, so that streams cross little; each has
    the colour of the final cluster that most of its samples belong to.
    """
    selection = reading.result.selection
    if selection is None or len(selection.ks) < 2:
        return None
    if selection.labels.shape[1] != len(reading.result.labels):
        # chosen on a part of the samples, which cannot be told among these
        return None
    n, counts = reading.n, reading.counts
    final = reading.result.labels
    sizes: list[list[float]] = []
    colours: list[list[int]] = []
    flows: list[list[list[float]]] = []
    nested: list[float] = []
    previous: NDArray[np.int64] | None = None
    for partition in selection.labels:
        labels = np.unique(partition, return_inverse=True)[1]
        towards = cross_table(labels, final, counts)
        home = previous if previous is not None else final.astype(np.int64)
        origin = cross_table(labels, home, counts)
        mean_place = origin @ np.arange(origin.shape[1]) / origin.sum(axis=1)
        order = np.argsort(mean_place, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        labels = rank[labels]
        sizes.append(_sums(labels, counts).tolist())
        colours.append(towards.argmax(axis=1)[order].tolist())
        if previous is not None:
            table = cross_table(previous, labels, counts)
            nested.append(float(table.max(axis=0).sum() / n))
            rows, columns = np.nonzero((table > 0) & (table >= THINNEST * n))
            flows.append(
                [
                    [*ends]
                    for ends in zip(
                        rows.tolist(), columns.tolist(), table[rows, columns].tolist(), strict=True
                    )
                ]
            )
        previous = labels
    return {
        "ks": selection.ks.tolist(),
        "sizes": sizes,
        "colours": colours,
        "flows": flows,
        "nested": decimals(nested),
        "chosen": reading.result.n_clusters,
    }


def cross_table(
    one: NDArray[Any], other: NDArray[Any], counts: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Samples in each pair of parts of two partitions, each counting for one or as told."""
    columns = int(other.max()) + 1
    pairs = one.astype(np.int64) * columns + other
    return _sums(pairs, counts, (int(one.max()) + 1) * columns).reshape(-1, columns)


def _sums(groups: NDArray[Any], counts: NDArray[Any] | None, length: int = 0) -> NDArray[Any]:
    """Sum of the counts of each group, of the counts' own kind."""
    if counts is None:
        return np.bincount(groups, minlength=length)
    return np.bincount(groups, weights=counts, minlength=length).astype(counts.dtype)


def _agreement(reading: Reading) -> dict[str, Any] | None:
    if reading.ensemble.n_members < 2:
        return None
    order, values = reading.agreement
    # the scale starts at the tenth below the least alike pair, else most pictures are one blue
    low = float(np.floor(min(values.min(), 0.9) * 10) / 10)
    return {
        "members": [plain(reading.ensemble.members[j]) for j in order.tolist()],
        "low": low,
        "values": triangle((values - low) / (1 - low), 1.0),
    }


def _samples(reading: Reading, budget: float) -> dict[str, Any] | None:
    return sample_store(
        reading.ensemble,
        {
            "cluster": reading.labels,
            "confidence": reading.confidence,
            "attachment": reading.votes.attachment,
            **reading.rivals,
        },
        reading.result.sample_confidence,
        reading.base_clusters,
        reading.points,
        budget,
    )
