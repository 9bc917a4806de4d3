"""Members for features of any number of rows: fitted on a sample, asked in the partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import CALLBACK, Domain, Integer, check_parameters
from coterie.core.random import RandomState, generator
from coterie.ensemble import Ensemble
from coterie.generate.features import as_features
from coterie.generate.members import MemberPlan, Pool, Progress, _seen, fit_members
from coterie.generate.pools import ClusterCount, kmeans_plans
from coterie.scale._batches import follow_batches
from coterie.scale._ensemble import ensemble_from_dask
from coterie.scale.engine import compute
from coterie.scale.source import (
    empty_frame,
    is_array,
    is_frame,
    open_labels,
    read_frame,
    refuse_absent,
)

SAMPLE = 100_000
# rows whose labels are computed at a time
BLOCK_ROWS = 2**16
# numbers in a partition of parquet files: 128 MiB
PART_CELLS = 2**24


@dataclass(frozen=True, eq=False)
class DaskPool:
    """Fitted members, and the labels that they will give where the rows are.

    Attributes
    ----------
    labels : dask dataframe or dask array of int32
        A column per member (and the id, where there is one), computed when asked for. Every pass over
        it asks the members again: persist it, or write it to parquet, where that takes long.
    members : tuple of fitted clusterers
    names : tuple of str
    id : str or None
    sampled : int
        Rows of the sample that the members were fitted on.
    rows : int
        Rows in all.
    """

    labels: Any
    members: tuple[Any, ...]
    names: tuple[str, ...]
    id: str | None
    sampled: int
    rows: int

    def ensemble(
        self,
        *,
        member_weight: ArrayLike | None = None,
        memory_budget: Budget = None,
        client: Any = None,
        callback: Progress | None = None,
    ) -> Ensemble:
        """The labels compressed; see :func:`ensemble_from_dask`."""
        return ensemble_from_dask(
            self.labels,
            columns=self.names,
            id=self.id,
            member_weight=member_weight,
            memory_budget=memory_budget,
            client=client,
            callback=callback,
        )


def kmeans_pool_dask(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    sample: int = SAMPLE,
    batch: int | None = None,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    client: Any = None,
    callback: Progress | None = None,
) -> DaskPool:
    """k-means members fitted on a random sample of rows, which label all rows in their partitions.

    The sample depends on the seed and on the rows' places among all rows only: each place is hashed
    with the seed, and the rows with the smallest hashes are taken, in their order. So is the label
    that a member gives: no partitioning and no number of workers changes either. Where the rows are
    no more than ``sample``, and without ``batch``, the members are those of
    :func:`coterie.generate.kmeans_pool`.

    Parameters
    ----------
    X : dask dataframe, dask array (n x d), or path, directory or pattern of parquet files
    n_members : int, default 20
    n_clusters : int, "sqrt" or (low, high), default "sqrt"
        Clusters of each member; "sqrt" stands for 2 to the square root of the number of rows in the
        sample. Of many rows, members with few clusters leave far fewer distinct label rows.
    sample : int, default 100,000
        Rows to fit on, gathered in this process.
    batch : int or None, default None
        Rows of a mini-batch: from the sample on, the centres follow all rows once, in their order,
        and each is the mean of the rows it was given. Batches are counted off among all rows, so that
        the partitioning changes nothing here either; another batch size or order of the rows does.
        None leaves the centres as the sample gave them.
    columns : sequence of str, optional
        The features; by default all columns but the id.
    id : str, optional
        A column that names the rows, carried along with the labels.
    random_state : int, Generator or None
    n_jobs : int or None
        Members fitted at a time, as in joblib; within ``joblib.parallel_config("dask")`` the workers
        fit them.
    client : distributed.Client, optional
        The cluster that draws the sample; by default the one that Dask uses.
    callback : callable, optional
        Called with (members done, members in all).

    Examples
    --------
    >>> import dask.array as da
    >>> from coterie.datasets import load
    >>> from coterie.scale import kmeans_pool_dask
    >>> X = da.from_array(load("iris").X, chunks=(40, 4))
    >>> pool = kmeans_pool_dask(X, 10, n_clusters=3, random_state=0)
    >>> pool.labels.shape, pool.rows, int(pool.ensemble().weights.sum())
    ((150, 10), 150, 150)
    """
    rng = generator(random_state)

    def fitted(features: Any) -> Pool:
        numbers = as_features(features)
        plans = kmeans_plans(numbers, n_members, n_clusters, rng)
        return fit_members(numbers, plans, n_jobs=n_jobs, callback=callback)

    given = {"callback": callback, "batch": batch}
    domains: dict[str, Domain] = {"callback": CALLBACK, "batch": Integer(1, optional=True)}
    check_parameters("kmeans_pool_dask", given, domains)
    pool, _ = make_pool(
        X, fitted, rng, sample=sample, columns=columns, id=id, client=client, batch=batch
    )
    return pool


def make_pool(
    X: Any,
    fit: Callable[[Any], Pool],
    rng: np.random.Generator,
    *,
    sample: int,
    columns: Sequence[str] | None,
    id: str | None,
    client: Any,
    batch: int | None = None,
) -> tuple[DaskPool, Pool]:
    """Draw a sample, fit the members on it, and let them label all rows; with ``batch`` all are k-means."""
    check_parameters("pool", {"sample": sample}, {"sample": Integer(2)})
    features = Features.of(X, columns, id)
    rows = features.lengths(client)
    # a child of its own leaves the stream from which members are drawn as it is in memory
    seed = int(rng.spawn(1)[0].integers(2**63))
    drawn = features.draw(rows, sample, seed, client)
    pool = fit(drawn)
    silent = pool.cannot_predict()
    if silent:
        raise ParameterError(
            "members fitted on a sample must be able to label other rows; these cannot predict: "
            f"{', '.join(silent[:5])}"
        )
    members = pool.estimators
    if batch is not None:
        members = follow_batches(members, features, rows, batch, client)
    labels = features.labelled(pool.plans, members, rows)
    names = tuple(plan.name for plan in pool.plans)
    found = DaskPool(labels, members, names, id, len(drawn), sum(rows))
    return found, pool


@dataclass(frozen=True)
class Features:
    """Features in partitions.

    Attributes
    ----------
    collection : dask dataframe or dask array
    columns : tuple
        The features of a dataframe.
    id : str or None
    places : tuple of str
        What to call each partition in a message.
    rows : tuple of int or None
        Rows of each partition, where they are known.
    """

    collection: Any
    columns: tuple[Any, ...]
    id: str | None
    places: tuple[str, ...]
    rows: tuple[int, ...] | None = None

    @classmethod
    def of(cls, X: Any, columns: Sequence[str] | None, id: str | None) -> Features:
        """Of a collection, or of parquet files that all have the same columns."""
        if isinstance(X, str | PathLike) or (isinstance(X, list | tuple) and X):
            import dask.dataframe as dd

            # every file is looked at, so that one with other columns is named
            source = open_labels(X, columns, id, None, PART_CELLS)
            wanted = source.layout.wanted()
            # parts of our own making: of Dask's it is not known which file they are of
            frame = dd.from_map(
                read_frame, source.parts, columns=wanted, meta=empty_frame(source.parts[0], wanted)
            )
            return cls(frame, source.layout.columns, id, source.places, source.rows)
        if is_frame(X):
            if X.ndim == 1:
                raise ParameterError(
                    "X is a dask series, but features are n x d; call to_frame first"
                )
            source = open_labels(X, columns, id, None, name="X")
            return cls(X, source.layout.columns, id, source.places)
        if is_array(X):
            if X.ndim != 2 or id is not None or columns is not None:
                raise ParameterError(
                    f"a dask array of features is n x d and has no named columns, but it has shape "
                    f"{X.shape} with columns={columns!r} and id={id!r}"
                )
            array = X.rechunk({1: -1})
            places = tuple(f"partition {i}" for i in range(array.numblocks[0]))
            known = not np.isnan(array.shape[0])
            rows = tuple(int(size) for size in array.chunks[0]) if known else None
            return cls(array, (), None, places, rows)
        raise ParameterError(
            "X must be a dask dataframe, a dask array or the path of parquet files, but is "
            f"{type(X).__name__}"
        )

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.columns) or int(self.collection.shape[1])

    def parts(self) -> list[Any]:
        """The partitions, delayed."""
        parts = self.collection.to_delayed()
        return [*parts.ravel()] if isinstance(parts, np.ndarray) else [*parts]

    def lengths(self, client: Any) -> list[int]:
        """Rows of each partition; counted where they are not known."""
        from dask import delayed

        if self.rows is not None:
            return [*self.rows]

        def count(parts: Sequence[Any]) -> list[int]:
            tasks = [delayed(len)(part) for part in parts]
            return [*map(int, compute([], delayed(list)(tasks), lambda _: None, client))]

        if not self.columns:
            return count(self.parts())
        try:
            # one column is enough to count
            return count(self.collection[[self.columns[0]]].to_delayed())
        except KeyError:
            # a partition lacks it, which is told by name once its rows are looked at
            return count(self.parts())

    def draw(self, rows: Sequence[int], size: int, seed: int, client: Any) -> Any:
        """The rows with the smallest hashes of their places, in the order of the places.

        All rows are read for it, and what is no number is refused by partition, column and row.
        """
        from dask import delayed

        total = sum(rows)
        if total < 2:
            raise ParameterError(
                f"n_samples={total}: at least two rows are needed to cluster anything"
            )
        # a little more than wanted, so that fewer are found once in many millions of times
        share = min(1.0, (size + 6.0 * np.sqrt(size) + 10.0) / total)
        starts = np.concatenate([[0], np.cumsum(rows)]).tolist()
        tasks = [
            delayed(_draw)(part, place, start, share, seed, self.columns)
            for part, place, start in zip(self.parts(), self.places, starts[:-1], strict=True)
        ]
        found = compute([], delayed(list)(tasks), lambda _: None, client)
        for place, (_, block) in zip(self.places, found, strict=True):
            if block.shape[1] != self.width:
                raise ParameterError(
                    f"{place} has {block.shape[1]} features, but X {self.width}; every partition "
                    "needs the same"
                )
        hashes = np.concatenate([hashes for hashes, _ in found])
        kept = np.arange(len(hashes))
        if len(hashes) > size:
            kept = np.sort(np.argpartition(hashes, size - 1)[:size])
        blocks = [block for _, block in found]
        if hasattr(blocks[0], "iloc"):
            import pandas as pd

            filled = [block for block in blocks if len(block)]
            return pd.concat(filled, ignore_index=True).iloc[kept].reset_index(drop=True)
        return np.concatenate(blocks)[kept]

    def labelled(
        self, plans: Sequence[MemberPlan], estimators: Sequence[Any], rows: Sequence[int]
    ) -> Any:
        """The labels of all rows, to be computed in the partitions."""
        from dask import delayed

        members = delayed((light_plans(plans), tuple(estimators)), traverse=False)
        names = [plan.name for plan in plans]
        if is_frame(self.collection):
            meta = self.collection._meta[[] if self.id is None else [self.id]]
            meta = meta.assign(**{name: np.empty(0, dtype=np.int32) for name in names})
            return self.collection.map_partitions(
                _label_frame, members, self.columns, self.id, meta=meta
            )
        import dask.array as da

        blocks = [
            da.from_delayed(
                delayed(assign_members)(part, members), shape=(size, len(names)), dtype=np.int32
            )
            for part, size in zip(self.parts(), rows, strict=True)
        ]
        return da.concatenate(blocks, axis=0)


def light_plans(plans: Sequence[MemberPlan]) -> tuple[MemberPlan, ...]:
    """Plans without what fitting needed: the clusterer, and the rows that it saw."""
    return tuple(MemberPlan(plan.name, None, None, plan.columns) for plan in plans)


# ---------------------------------------------------------------------- in the workers


def place_hashes(start: int, count: int, seed: int) -> NDArray[np.uint64]:
    """One hash per place among all rows: splitmix64 of the place and the seed."""
    x = np.arange(start, start + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x ^= np.uint64(seed)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def numbers_of(part: Any, columns: tuple[Any, ...], place: str) -> NDArray[Any]:
    """The features of a partition, or an error that names it, the column and the row."""
    if hasattr(part, "iloc"):
        refuse_absent(columns, [*part.columns], place)
    features = part[[*columns]] if hasattr(part, "iloc") else np.asarray(part)
    if len(features) == 0:
        return np.empty((0, features.shape[1]))
    try:
        numbers: NDArray[Any] = as_features(features)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return numbers


def _draw(
    part: Any, place: str, start: int, share: float, seed: int, columns: tuple[Any, ...]
) -> tuple[NDArray[np.uint64], Any]:
    numbers_of(part, columns, place)
    hashes = place_hashes(start, len(part), seed)
    chosen = np.flatnonzero(hashes.astype(np.float64) < share * 2.0**64)
    if share >= 1.0:
        chosen = np.arange(len(part))
    block = part[[*columns]].iloc[chosen] if hasattr(part, "iloc") else np.asarray(part)[chosen]
    return hashes[chosen], block


def _label_frame(
    frame: Any, members: tuple[Any, Any], columns: tuple[Any, ...], id: str | None
) -> Any:
    import pandas as pd

    plans, _ = members
    labels = assign_members(frame[[*columns]], members)
    found = pd.DataFrame(labels, index=frame.index, columns=[plan.name for plan in plans])
    if id is not None:
        found.insert(0, id, frame[id])
    return found


def assign_members(
    X: Any, members: tuple[Sequence[MemberPlan], Sequence[Any]]
) -> NDArray[np.int32]:
    """Labels of some rows by every member; those of a row do not depend on the others."""
    from coterie.scale.centres import nearest_centres

    plans, estimators = members
    labels = np.empty((len(X), len(plans)), dtype=np.int32)
    if len(X) == 0:
        return labels
    features = as_features(X)
    for j, (plan, estimator) in enumerate(zip(plans, estimators, strict=True)):
        centres = None
        if type(estimator) is KMeans:
            centres = np.ascontiguousarray(estimator.cluster_centers_.T, dtype=np.float64)
        for begin in range(0, len(features), BLOCK_ROWS):
            block = slice(begin, begin + BLOCK_ROWS)
            seen = np.ascontiguousarray(_seen(features[block], None, plan.columns))
            if centres is not None:
                nearest_centres(seen, centres, labels[block, j])
                continue
            with threadpool_limits(limits=1):
                labels[block, j] = estimator.predict(seen)
    return labels
