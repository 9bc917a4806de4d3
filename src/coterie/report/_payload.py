"""The numbers behind the pictures and the search, as the page's script reads them."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from coterie.core.text import plain
from coterie.ensemble import Ensemble
from coterie.plot.arrange import block_means, pooled_coassociation
from coterie.profiles import BINS
from coterie.report._reading import Reading
from coterie.report._sentences import THINNEST
from coterie.select.criteria import CRITERIA
from coterie.trust.explanation import LOOSE, SURE, UNSURE

if TYPE_CHECKING:
    from coterie.select import Selection

# passes drawn of a long run
PASSES = 400
# clusters with a number and a button on the map
MAP_CLUSTERS = 60
# the darkest shade of the matrix is the value that this share of the cells inside clusters does not exceed
FULL_SHADE = 0.95
# overlapping points of the map are pushed this far apart, as a share of its width, in so many rounds
POINT_ROOM = 0.013
PUSHES = 30
# bytes of the page that samples may take
STORE_BYTES = 2_000_000
# bytes of STORE_BYTES for the names of the members' labels; longer lists of names are left out
NAME_BYTES = 250_000
# bytes of a row number, which is stored if not all samples fit
ROW_BYTES = 16 / 3
# least sure samples offered below the search box
N_LEAST_SURE = 8


def payload(reading: Reading, budget: float = STORE_BYTES) -> dict[str, Any]:
    """Everything that is drawn or searched, as JSON values; arrays are in base64.

    ``budget`` is the number of bytes that the samples may take.
    """
    result = reading.result
    return {
        "n": reading.ensemble.n_samples,
        "weighted": reading.weighted,
        "n_clusters": result.n_clusters,
        "sure": SURE,
        "unsure": UNSURE,
        "reliable": reading.reliable,
        "loose": LOOSE,
        "profile": _profile(reading),
        "matrix": _matrix(reading),
        "map": _map(reading),
        "confidence": [
            {"cluster": cluster, "counts": reading.histograms[cluster].tolist()}
            for cluster in reading.histogram_clusters
        ],
        "convergence": _convergence(result.history),
        "selection": None if result.selection is None else _selection(result.selection),
        "tracking": None if result.selection is None else _tracking(reading),
        "agreement": _agreement(reading),
        "samples": _sample_store(reading, budget),
    }


def decimals(values: Any, digits: int = 4) -> Any:
    """Numbers rounded to some significant digits; None for what is not finite."""
    array = np.asarray(values, dtype=np.float64)
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.tolist()
    ]


def triangle(values: NDArray[np.float64], top: float) -> str:
    """A symmetric matrix in 256 levels from 0 to ``top``: upper triangle, row by row."""
    scaled = np.rint(np.clip(values / top, 0.0, 1.0) * 255)
    return pack(scaled[np.triu_indices(len(values))], "u1")


def _profile(reading: Reading) -> dict[str, Any] | None:
    profile = reading.profile
    if profile is None:
        return None
    names = ("difference", "low", "high", "auc", "typical", "typical_rest", "mean", "mean_rest")
    columns = [
        column
        | {
            "column": plain(column["column"]),
            "labels": [plain(label, 40) for label in column["labels"]],
            "levels": [plain(level, 40) for level in column["levels"]],
            # dates beyond the calendar of a browser and numbers that are not finite cannot be shown
            "ends": decimals(column["ends"], 6),
        }
        for column in profile.columns
    ]
    return {
        "clusters": profile.clusters.tolist(),
        "columns": columns,
        "bins": BINS,
        **{name: pack(getattr(profile, name), "f4") for name in (*names, "missing")},
        "level": pack(np.maximum(profile.level, 0), "u2"),
        **{name: pack(np.rint(255 * getattr(profile, name)), "u1") for name in ("own", "rest")},
    }


def _matrix(reading: Reading) -> dict[str, Any]:
    blocks = reading.blocks
    views = [
        _view(
            "Co-association", pooled_coassociation(reading.ensemble, blocks.inside), blocks.cluster
        )
    ]
    learned = reading.result.matrix
    if learned is not None:
        name = plain(reading.result.matrix_name or "learned matrix")
        values = block_means(learned, blocks.inside)
        views.append(_view(name[:1].upper() + name[1:], values, blocks.cluster))
    change = np.flatnonzero(np.r_[True, blocks.cluster[1:] != blocks.cluster[:-1]])
    lengths = np.diff(np.r_[change, len(blocks.cluster)])
    per = reading.ensemble.total_count / len(blocks.cluster)
    return {
        "size": len(blocks.cluster),
        "clusters": np.stack([blocks.cluster[change], lengths], axis=1).tolist(),
        "per": "two samples" if per == 1 else f"mean over about {per:,.0f} × {per:,.0f} samples",
        "views": views,
    }


def _view(name: str, values: NDArray[np.float64], cluster: NDArray[np.int64]) -> dict[str, Any]:
    """A matrix in shades up to the value that few cells inside clusters exceed.

    The diagonal, where samples meet themselves, does not count.
    """
    inside = (cluster[:, None] == cluster) & ~np.eye(len(cluster), dtype=bool)
    top = float(np.quantile(values[inside], FULL_SHADE)) if inside.any() else 0.0
    top = top if top > 0 else max(float(values.max()), np.finfo(np.float64).tiny)
    above = bool(values.max() > 1.005 * top)
    return {"name": name, "top": top, "above": above, "values": triangle(values, top)}


def _map(reading: Reading) -> dict[str, Any] | None:
    result = reading.result
    if result.coordinates is None:
        return None
    chosen = reading.points
    drawn = result.coordinates[chosen].astype(np.float64)
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    aspect = float(span[1] / span[0])
    unit = spread((drawn - low) / span, aspect)
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
        "aspect": decimals([aspect])[0],
        "label": pack(labels, "u2"),
        "confidence": pack(np.rint(confidence * 255), "u1"),
        "row": pack(chosen, "u4"),
        "centres": centres if len(centres) <= MAP_CLUSTERS else [],
        "legend": [[cluster, size] for cluster, size in enumerate(sizes.tolist())][:MAP_CLUSTERS],
    }


def spread(unit: NDArray[np.float64], aspect: float) -> NDArray[np.float64]:
    """Points of the unit square, moved apart where several have the same position.

    Points at the same position are arranged as the seeds of a sunflower around it. Then all points that
    overlap push each other apart.
    """
    spots, at, count = np.unique(unit, axis=0, return_inverse=True, return_counts=True)
    if len(spots) == len(unit):
        return unit
    at = at.reshape(-1)
    # distances are those on the page
    scale = np.array([1.0, min(max(aspect, 0.55), 1.0)])
    room = min(POINT_ROOM, 0.7 * float(np.sqrt(scale[1] / len(unit))))
    order = np.argsort(at, kind="stable")
    turn = np.empty(len(at))
    turn[order] = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
    angle = turn * np.pi * (3 - np.sqrt(5))
    disc = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.sqrt(turn)[:, None]
    points = unit * scale + 0.55 * room * disc
    for _ in range(PUSHES):
        one, other = cKDTree(points).query_pairs(room, output_type="ndarray").T
        between = points[other] - points[one]
        far = np.maximum(np.linalg.norm(between, axis=1), 1e-9)
        push = between * ((room - far) / far / 2)[:, None]
        moved = np.zeros_like(points)
        np.add.at(moved, other, push)
        np.add.at(moved, one, -push)
        # several neighbours together would throw a point too far
        length = np.linalg.norm(moved, axis=1, keepdims=True)
        points += moved * np.minimum(1.0, room / np.maximum(length, 1e-12))
    low, high = np.minimum(points.min(axis=0), 0.0), np.maximum(points.max(axis=0), scale)
    return np.asarray((points - low) / (high - low))


def _convergence(history: list[dict[str, Any]]) -> dict[str, Any] | None:
    if len(history) < 2:
        return None
    step = -(-len(history) // PASSES)
    # counted from the end, so that the last pass is drawn
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
    passes = [int(record.get("pass", i + 1)) for i, record in enumerate(kept)]
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
                "title": CRITERIA[name].title
                if name in CRITERIA
                else plain(name).replace("_", " "),
                "values": decimals(values),
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
    """Sizes of the clusters (parts) at each k, and how many samples go from part to part.

    Parts are ordered by where their samples come from, so that few streams cross. Each has the
    colour of the final cluster that most of its samples belong to.
    """
    selection = reading.result.selection
    if selection is None or len(selection.ks) < 2:
        return None
    if selection.labels.shape[1] != len(reading.result.labels):
        # k was chosen on some of the samples, and the result does not say which
        return None
    n, counts = reading.ensemble.total_count, reading.counts
    final = reading.result.labels
    sizes: list[list[float]] = []
    colours: list[list[int]] = []
    flows: list[list[tuple[int, int, float]]] = []
    nested: list[float] = []
    previous: NDArray[np.int64] | None = None
    for partition in selection.labels:
        labels = np.unique(partition, return_inverse=True)[1]
        towards = cross_table(labels, final, counts)
        home = previous if previous is not None else final.astype(np.int64)
        origin = cross_table(labels, home, counts)
        mean_origin = origin @ np.arange(origin.shape[1]) / origin.sum(axis=1)
        order = np.argsort(mean_origin, kind="stable")
        labels = np.argsort(order)[labels]
        sizes.append(np.bincount(labels, counts).astype(counts.dtype).tolist())
        colours.append(towards.argmax(axis=1)[order].tolist())
        if previous is not None:
            table = cross_table(previous, labels, counts)
            nested.append(float(table.max(axis=0).sum() / n))
            rows, columns = np.nonzero((table > 0) & (table >= THINNEST * n))
            passing = table[rows, columns].tolist()
            flows.append([*zip(rows.tolist(), columns.tolist(), passing, strict=True)])
        previous = labels
    return {
        "ks": selection.ks.tolist(),
        "sizes": sizes,
        "colours": colours,
        "flows": flows,
        "nested": decimals(nested),
        "chosen": reading.result.n_clusters,
    }


def cross_table(one: NDArray[Any], other: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """Samples in common of each two clusters of two partitions, counted ``counts`` times each."""
    return np.asarray(sparse.coo_array((counts, (one, other))).toarray())


def _agreement(reading: Reading) -> dict[str, Any] | None:
    if reading.ensemble.n_members < 2:
        return None
    order, values = reading.agreement
    # the scale starts just below the least similar pair; from 0, most pictures would be one shade of blue
    low = float(np.floor(min(values.min(), 0.9) * 10) / 10)
    return {
        "members": [plain(reading.ensemble.members[j]) for j in order.tolist()],
        "low": low,
        "values": triangle((values - low) / (1 - low), 1.0),
    }


# ---------------------------------------------------------------------- samples to search


def _sample_store(reading: Reading, budget: float) -> dict[str, Any] | None:
    """Everything that the search needs; None if not even one sample fits.

    A sample costs its id and the number of its microcluster; what is known about a microcluster
    (labels, cluster, rival, confidence) is stored once. If not all samples fit, those of the map
    come first and then the least sure, because readers look these up most.
    """
    ensemble, votes = reading.ensemble, reading.result.cluster_votes
    confidence = reading.result.sample_confidence
    goes, share, ties = reading.base_clusters
    code_kind = smallest_kind(int(ensemble.n_clusters_per_member.max()))
    label_names = _label_names(ensemble)
    member_names = [plain(member) for member in ensemble.members]
    own, rival_support, rival = votes.support
    # what is stored for each microcluster beside its labels, two bytes each
    fields = {
        "cluster": votes.labels,
        "confidence": share16(reading.confidence),
        # for the page, a rival equal to the cluster means that there is none
        "rival": np.where(rival < 0, votes.labels, rival),
        "support": share16(own),
        "rival_support": share16(rival_support),
        "attachment": share16(votes.attachment),
    }
    # base64 makes four bytes of three
    row_bytes = (ensemble.n_members * int(code_kind[1]) + 2 * len(fields)) * 4 / 3
    spent = 4 * ensemble.n_base_clusters * 4 / 3 + 20 * len(ties)
    spent += sum(len(name) + 3 for name in [*(label_names or []), *member_names])
    chosen = choose_samples(ensemble, confidence, reading.points, row_bytes, budget - spent)
    if not len(chosen):
        return None
    ids = ensemble.sample_ids
    used, micro = np.unique(ensemble.inverse[chosen], return_inverse=True)
    micro_kind = smallest_kind(len(used))
    codes = ensemble.labels[used].astype(np.int64)
    codes[codes < 0] = np.iinfo(code_kind).max
    least = np.argsort(confidence[chosen], kind="stable")[:N_LEAST_SURE]
    least = least[confidence[chosen][least] < SURE]
    return {
        "count": len(chosen),
        "ids": None if ids is None else [plain(value) for value in ids[chosen].tolist()],
        "rows": None if len(chosen) == ensemble.n_samples else pack(chosen, "u4"),
        "micro": pack(micro, micro_kind),
        "micro_kind": micro_kind,
        "codes": pack(codes, code_kind),
        "codes_kind": code_kind,
        "members": member_names,
        "offsets": ensemble.cluster_offsets.tolist(),
        "labels": label_names,
        "goes": pack(goes, "u2"),
        "share": pack(share16(share), "u2"),
        "ties": {str(base): also for base, also in ties.items()},
        "least": least.tolist(),
        **{name: pack(values[used], "u2") for name, values in fields.items()},
    }


def choose_samples(
    ensemble: Ensemble,
    confidence: NDArray[np.float64],
    first: NDArray[np.int64],
    row_bytes: float,
    budget: float,
) -> NDArray[np.int64]:
    """Positions of the samples that fit, in order of position.

    Parameters
    ----------
    ensemble : Ensemble
    confidence : ndarray, shape (n,)
    first : ndarray
        Samples to take before the least sure ones, with at most half of the budget.
    row_bytes : float
        Bytes of each microcluster, which are spent once.
    budget : float
        Bytes for everything.
    """
    n, ids = ensemble.n_samples, ensemble.sample_ids
    each = int(smallest_kind(ensemble.n_microclusters)[1]) * 4 / 3
    if ids is not None:
        # estimated from a few ids: a page that gets too large is made again with a smaller budget
        some = [plain(name) for name in ids[:: -(-n // 1000)].tolist()]
        each += len(script_json(some)) / len(some)
    if each * n + row_bytes * ensemble.n_microclusters <= budget:
        return np.arange(n)
    each += ROW_BYTES

    def fitting(order: NDArray[np.int64], budget: float) -> NDArray[np.int64]:
        """The samples that fit, taken in order."""
        new = np.zeros(len(order), dtype=bool)
        new[np.unique(ensemble.inverse[order], return_index=True)[1]] = True
        spent = np.cumsum(row_bytes * new + each)
        return order[: np.searchsorted(spent, budget, side="right")]

    fixed = fitting(first, budget / 2)
    unsure = np.argsort(confidence, kind="stable")
    others = unsure[~np.isin(unsure, fixed)]
    return np.sort(fitting(np.concatenate([fixed, others]), budget))


def _label_names(ensemble: Ensemble) -> list[str] | None:
    """Names of all base clusters in the order of the incidence; None where they take too many bytes."""
    if ensemble.n_base_clusters > NAME_BYTES // 4:
        return None
    names = [plain(value, 40) for values in ensemble.categories for value in values.tolist()]
    return names if sum(len(name) + 3 for name in names) <= NAME_BYTES else None


# ---------------------------------------------------------------------- encoding


def pack(values: NDArray[Any], kind: str) -> str:
    """Little-endian numbers as base64; kind is u1, u2, u4 or f4."""
    return b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode("ascii")


def share16(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers in [0, 1] scaled to two bytes."""
    return np.rint(np.clip(np.nan_to_num(values), 0.0, 1.0) * 65535)


def smallest_kind(largest: int) -> str:
    """The narrowest of u1, u2 and u4 that holds a number, with one value to spare for 'none'."""
    return "u1" if largest < 255 else "u2" if largest < 65535 else "u4"


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element.

    Examples
    --------
    >>> from coterie.report._payload import script_json
    >>> script_json({"name": "</script>&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u0026"}'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
