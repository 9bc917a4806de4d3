"""The samples that the page can explain, packed into a given number of bytes.

A sample costs its id and the number of its microcluster; what is known of a microcluster (label
row, cluster, rival, confidence) is stored once. Where all samples do not fit, a fixed choice and
the least sure ones come first, because those are the ones people look up.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble
from coterie.report._text import plain, script_json
from coterie.trust.explanation import SURE

# bytes of the page that samples may take, all in
STORE_BYTES = 2_000_000
# of these, what the names of the members' labels may take; beyond it they are left out
NAME_BYTES = 250_000
# numbers kept of each microcluster beside its labels, two bytes each
FIELDS = ("cluster", "confidence", "rival", "support", "rival_support", "attachment")
# the row number of a sample, needed where not all are there
ROW_BYTES = 16 / 3
LEAST = 8


def pack(values: NDArray[Any], kind: str) -> str:
    """Little-endian unsigned integers as base64; kind is u1, u2 or u4."""
    return b64encode(np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()).decode("ascii")


def share16(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers in [0, 1] on the scale of two bytes."""
    return np.rint(np.clip(np.nan_to_num(values), 0.0, 1.0) * 65535)


def smallest_kind(largest: int) -> str:
    """The narrowest of u1, u2 and u4 that holds a number and one more value for 'none'."""
    return "u1" if largest < 255 else "u2" if largest < 65535 else "u4"


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
        What each microcluster costs, once.
    budget : float
        Bytes in all.
    """
    n, ids = ensemble.n_samples, ensemble.sample_ids
    micro_bytes = int(smallest_kind(ensemble.n_microclusters)[1]) * 4 / 3
    # no name takes fewer than its quotes, a comma and a letter
    least = micro_bytes + (0 if ids is None else 4)
    rows = row_bytes * ensemble.n_microclusters
    if rows + least * n <= budget and rows + _sample_bytes(ids, micro_bytes, n).sum() <= budget:
        return np.arange(n)
    least += ROW_BYTES
    fixed = first[: _fitting(ensemble, first, np.full(len(first), least), row_bytes, budget / 2)]
    cost = _sample_bytes(None if ids is None else ids[fixed], micro_bytes, len(fixed)) + ROW_BYTES
    fixed = fixed[: _fitting(ensemble, fixed, cost, row_bytes, budget / 2)]
    taken = np.zeros(n, dtype=bool)
    taken[fixed] = True
    unsure = np.argsort(confidence, kind="stable")
    order = np.concatenate([fixed, unsure[~taken[unsure]]])
    # names are measured only of those that could fit
    order = order[: _fitting(ensemble, order, np.full(n, least), row_bytes, budget)]
    cost = _sample_bytes(None if ids is None else ids[order], micro_bytes, len(order)) + ROW_BYTES
    return np.sort(order[: _fitting(ensemble, order, cost, row_bytes, budget)])


def _sample_bytes(ids: NDArray[Any] | None, micro_bytes: float, count: int) -> NDArray[np.float64]:
    """What each sample costs by itself: its name in JSON and the number of its microcluster."""
    if ids is None:
        return np.full(count, micro_bytes)
    return np.array([len(script_json(plain(name))) + 1 for name in ids.tolist()]) + micro_bytes


def _fitting(
    ensemble: Ensemble,
    order: NDArray[np.int64],
    cost: NDArray[np.float64],
    row_bytes: float,
    budget: float,
) -> int:
    """How many of the samples, taken in order, cost no more than the budget."""
    rows = ensemble.inverse[order]
    new = np.zeros(len(order), dtype=bool)
    new[np.unique(rows, return_index=True)[1]] = True
    spent = np.cumsum(cost + row_bytes * new)
    return int(np.searchsorted(spent, budget, side="right"))


def sample_store(
    ensemble: Ensemble,
    fields: dict[str, NDArray[Any]],
    confidence: NDArray[np.float64],
    base_clusters: tuple[NDArray[np.int64], NDArray[np.float64], dict[int, list[int]]],
    first: NDArray[np.int64],
    budget: float = STORE_BYTES,
) -> dict[str, Any] | None:
    """All that the search box needs.

    Parameters
    ----------
    ensemble : Ensemble
    fields : dict of ndarray, shape (N,)
        cluster, confidence, rival (the cluster itself for none), support, rival_support and
        attachment.
    confidence : ndarray, shape (n,)
    base_clusters : (ndarray, ndarray, dict)
        Cluster that each base cluster mostly belongs to, the share of it that does, and the other
        clusters that have as much.
    first : ndarray
        Samples that are taken first where not all fit.
    budget : float
        Bytes in all.

    Returns
    -------
    dict or None
        None where not even one sample fits, as with a hundred thousand members.
    """
    m = ensemble.n_members
    goes, share, ties = base_clusters
    code_kind = smallest_kind(int(ensemble.n_clusters_per_member.max()))
    names = _label_names(ensemble)
    # base64 makes four bytes of three
    row_bytes = (m * int(code_kind[1]) + 2 * len(FIELDS)) * 4 / 3
    spent = 4 * ensemble.n_base_clusters * 4 / 3 + 20 * len(ties)
    spent += sum(len(name) for name in names) + 3 * len(names) if names is not None else 0
    spent += sum(len(plain(member)) + 3 for member in ensemble.members)
    chosen = choose_samples(ensemble, confidence, first, row_bytes, budget - spent)
    if not len(chosen):
        return None
    ids = ensemble.sample_ids
    used, micro = np.unique(ensemble.inverse[chosen], return_inverse=True)
    micro_kind = smallest_kind(len(used))
    codes = ensemble.labels[used].astype(np.int64)
    codes[codes < 0] = np.iinfo(code_kind).max
    least = np.argsort(confidence[chosen], kind="stable")[:LEAST]
    least = least[confidence[chosen][least] < SURE]
    packed = {name: fields[name][used].astype(np.float64) for name in FIELDS}
    for name in ("confidence", "support", "rival_support", "attachment"):
        packed[name] = share16(packed[name])
    return {
        "count": len(chosen),
        "ids": None if ids is None else [plain(value) for value in ids[chosen].tolist()],
        "rows": None if len(chosen) == ensemble.n_samples else pack(chosen, "u4"),
        "micro": pack(micro, micro_kind),
        "micro_kind": micro_kind,
        "codes": pack(codes, code_kind),
        "codes_kind": code_kind,
        "members": [plain(member) for member in ensemble.members],
        "offsets": ensemble.cluster_offsets.tolist(),
        "labels": names,
        "goes": pack(goes, "u2"),
        "share": pack(share16(share), "u2"),
        "ties": {str(base): also for base, also in ties.items()},
        "least": least.tolist(),
        **{name: pack(values, "u2") for name, values in packed.items()},
    }


def _label_names(ensemble: Ensemble) -> list[str] | None:
    """Names of all base clusters, in the order of the incidence, where they are short enough."""
    if ensemble.n_base_clusters > NAME_BYTES // 4:
        return None
    names = [plain(value, 40) for values in ensemble.categories for value in values.tolist()]
    return names if sum(len(name) + 3 for name in names) <= NAME_BYTES else None
