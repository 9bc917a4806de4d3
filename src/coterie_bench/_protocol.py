"""The ensemble of a repetition: members from a pool, with a share of their labels removed."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import DataError
from coterie.ensemble import Ensemble
from coterie.io.arrays import read_arrays
from coterie.io.read import check_kind
from coterie_bench._data import DataPool, UnfitData
from coterie_bench._spec import DataSource, Protocol, SpecError


def repetition_seed(seed: int, data: str, members: int, missing: float, repetition: int) -> int:
    """The seed of a repetition, equal for all methods and settings."""
    entropy = [seed, zlib.crc32(data.encode()), members, round(missing * 1e6), repetition]
    return int(np.random.default_rng(entropy).integers(0, 2**31 - 1))


def count_repetitions(protocol: Protocol, pool: DataPool, members: int) -> int:
    """Number of repetitions that the pool allows; raises UnfitData if it allows none."""
    if pool.labels.ndim == 3:
        if protocol.kind == "draw":
            raise UnfitData(
                f"data {pool.name!r} holds {len(pool.labels)} ensembles instead of a pool to draw "
                "from; set protocol.kind to 'groups'"
            )
        return min(protocol.repetitions, len(pool.labels))
    available = pool.labels.shape[1]
    if members > available:
        raise UnfitData(
            f"data {pool.name!r} has {available} members, but protocol.members is {members}"
        )
    if protocol.kind == "groups":
        return min(protocol.repetitions, available // members)
    return protocol.repetitions


def ensemble_of(
    source: DataSource,
    pool: DataPool,
    protocol: Protocol,
    members: int,
    missing: float,
    repetition: int,
    seed: int,
    columns: NDArray[np.int64] | None = None,
) -> Ensemble:
    """The ensemble of a repetition.

    Each member loses the labels of a share ``missing`` of its samples, drawn at random. A sample that
    would lose all labels keeps one. Members generated on subsamples lose nothing here.
    """
    rng = np.random.default_rng(repetition_seed(seed, pool.name, members, missing, repetition))
    if pool.labels.ndim == 3:
        labels = pool.labels[repetition]
    elif protocol.kind == "groups":
        labels = pool.labels[:, repetition * members : (repetition + 1) * members]
    elif columns is not None:
        labels = pool.labels[:, columns[repetition]]
    else:
        labels = pool.labels[:, rng.choice(pool.labels.shape[1], members, replace=False)]
    if missing and not made_partial(source):
        labels = without(labels, missing, rng)
    return Ensemble.from_labels(labels)


def made_partial(source: DataSource) -> bool:
    """Whether the members are generated on subsamples, so that labels are missing already."""
    return source.generate is not None and source.generate.kind == "subsample"


def without(
    labels: NDArray[np.int32], missing: float, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Remove a share of each member's labels, but not all labels of any sample."""
    n, m = labels.shape
    removed = np.zeros((n, m), dtype=np.bool_)
    for j in range(m):
        removed[rng.choice(n, size=round(missing * n), replace=False), j] = True
    removed |= labels < 0
    blank = np.flatnonzero(removed.all(axis=1))
    removed[blank, rng.integers(0, m, size=len(blank))] = False
    return np.where(removed, np.int32(-1), labels)


def read_columns(path: Path, protocol: Protocol) -> NDArray[np.int64]:
    """Read the draws from a file; the array has the shape (repetitions, members)."""
    if check_kind(path) != ".npz":
        raise DataError(f"{path}: the draws (protocol.columns) must be in an npz file")
    columns = read_arrays(path).get("columns")
    if columns is None:
        raise DataError(f"{path} has no array 'columns', which must hold the draws")
    if columns.ndim != 2 or columns.dtype.kind not in "iu" or not columns.size or columns.min() < 0:
        raise DataError(f"{path}: 'columns' must be repetitions x members, counted from 0")
    if protocol.members != (columns.shape[1],) or len(columns) < protocol.repetitions:
        raise SpecError(
            f"{path} gives {len(columns)} draws of {columns.shape[1]} members; protocol.members is "
            f"{list(protocol.members)} and protocol.repetitions {protocol.repetitions}"
        )
    return columns.astype(np.int64)
