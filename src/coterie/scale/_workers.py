"""What workers do with a partition of features: draw a sample of its rows, and label them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from coterie.core.errors import DataError
from coterie.core.text import counted
from coterie.core.threads import one_thread
from coterie.generate.features import as_features
from coterie.generate.members import Pool
from coterie.generate.plans import MemberPlan
from coterie.scale.layout import refuse_absent

# Rows whose labels are computed together.
BLOCK_ROWS = 2**16
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def light(pool: Pool) -> Pool:
    """A pool without labels, clusterers and their rows, which only fitting needs."""
    plans = tuple(MemberPlan(plan.name, None, None, plan.columns) for plan in pool.plans)
    members = pool.members if pool.prototypes is None else ()
    return Pool(plans, members, None, pool.dtype, pool.prepare, pool.prototypes)


# ---------------------------------------------------------------------- in the workers


def position_hashes(start: int, count: int, seed: int) -> NDArray[np.uint64]:
    """One hash per position among all rows: splitmix64 of the position and the seed."""
    positions = np.arange(start, start + count, dtype=np.uint64)
    return _mix_bits(positions * GOLDEN ^ np.uint64(seed))


def _mix_bits(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The last steps of splitmix64: every bit of x changes about half of the bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def numbers_of(part: Any, columns: tuple[Any, ...], part_name: str) -> NDArray[Any]:
    """The features of a partition, or an error that names it, the column and the row."""
    if hasattr(part, "iloc"):
        refuse_absent(columns, [*part.columns], part_name)
    features = part[[*columns]] if hasattr(part, "iloc") else np.asarray(part)
    if len(features) == 0:
        return np.empty((0, features.shape[1]))
    try:
        numbers: NDArray[Any] = as_features(features)
    except ValueError as error:
        raise DataError(f"{part_name}: {error}") from None
    return numbers


def _refuse_infinite(part: Any, columns: tuple[Any, ...], part_name: str) -> None:
    """Raise DataError naming the partition, column and row of an infinite number."""
    for name in columns:
        if getattr(part[name].dtype, "kind", "O") != "f":
            continue
        infinite = np.isinf(part[name].to_numpy(np.float64, na_value=np.nan))
        if infinite.any():
            raise DataError(
                f"{part_name}: column {name!r} holds {counted(int(infinite.sum()), 'infinite value')} "
                f"(first in row {int(np.argmax(infinite))}); replace them, or leave the column out"
            )


def draw_rows(
    part: Any,
    part_name: str,
    start: int,
    share: float,
    seed: int,
    columns: tuple[Any, ...],
    encode: bool,
) -> tuple[NDArray[np.uint64], Any]:
    if encode and columns:
        refuse_absent(columns, [*part.columns], part_name)
        _refuse_infinite(part, columns, part_name)
    else:
        numbers_of(part, columns, part_name)
    hashes = position_hashes(start, len(part), seed)
    chosen = np.flatnonzero(hashes.astype(np.float64) < share * 2.0**64)
    if share >= 1.0:
        chosen = np.arange(len(part))
    block = part[[*columns]].iloc[chosen] if hasattr(part, "iloc") else np.asarray(part)[chosen]
    return hashes[chosen], block


def label_rows(
    part: Any, pool: Pool, part_name: str, columns: tuple[Any, ...]
) -> NDArray[np.int32]:
    return assign_members(part[[*columns]] if columns else part, pool)


def assign_members(X: Any, pool: Pool) -> NDArray[np.int32]:
    """Labels of some rows by every member. The labels of a row do not depend on the other rows."""
    from coterie.scale.centres import nearest_centres

    labels = np.empty((len(X), len(pool.plans)), dtype=np.int32)
    if len(X) == 0:
        return labels
    features = as_features(X) if pool.prepare is None else pool.prepare(X)
    if pool.prototypes is not None:
        labels[:] = pool.predict(features)
        return labels
    for j, (plan, estimator) in enumerate(zip(pool.plans, pool.members, strict=True)):
        centres = None
        if type(estimator) is KMeans:
            centres = np.ascontiguousarray(estimator.cluster_centers_.T, dtype=np.float64)
        for begin in range(0, len(features), BLOCK_ROWS):
            block = slice(begin, begin + BLOCK_ROWS)
            seen = np.ascontiguousarray(plan.columns_of(features[block]))
            if centres is not None:
                nearest_centres(seen, centres, labels[block, j])
                continue
            with one_thread():
                labels[block, j] = estimator.predict(seen)
    return labels


def predict_rows(
    part: Any, model: tuple[Any, Any], part_name: str, columns: tuple[Any, ...]
) -> NDArray[np.int64]:
    pool, clusters = model
    rows = part[[*columns]] if columns else part
    if pool.prepare is None:
        rows = numbers_of(part, columns, part_name)
    if len(rows) == 0:
        return np.empty(0, dtype=np.int64)
    return clusters(assign_members(rows, pool))
