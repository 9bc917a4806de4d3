"""Features of any number of rows: members are fitted on a sample and label all rows in their partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import CALLBACK, Integer, check_parameters
from coterie.core.random import RandomState, generator
from coterie.ensemble import Ensemble
from coterie.generate.features import as_features
from coterie.generate.members import Pool, Progress, fit_members
from coterie.generate.plans import ClusterCount, kmeans_plans
from coterie.generate.pools import check_pool
from coterie.scale._ensemble import ensemble_from_dask
from coterie.scale._expand import expand_to_dask
from coterie.scale._workers import draw_rows, label_rows, light, predict_rows
from coterie.scale.engine import gather
from coterie.scale.parquet import empty_frame, read_frame
from coterie.scale.source import Source, is_array, is_frame, open_labels, per_row

SAMPLE = 100_000
# Numbers in a partition of parquet files: 128 MiB.
PART_CELLS = 2**24


def features_from_dask(
    X: Any,
    *,
    sample: int = SAMPLE,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    memory_budget: Budget = None,
    client: Any = None,
    callback: Progress | None = None,
    encode: bool = True,
) -> DaskFeatures:
    """Features in partitions, for ``ConsensusClustering.fit``.

    The members are fitted on a random sample of rows and label all rows in their partitions. They
    are combined on the distinct label rows. ``labels_`` and ``sample_confidence_`` of the fitted
    model are lazy, in the partitions of X; ``ensemble_`` and ``solver_`` are those of the distinct
    rows, and ``pool_`` is a :class:`DaskPool`. With ``n_clusters="auto"`` the number of clusters is
    chosen on the sample. If X has no more than ``sample`` rows, the labels are those of the same fit
    in memory, except that no outliers are set aside, and that gaps are filled with the mean of their
    donors instead of anew for each member.

    The sample depends only on the seed and on the position of each row among all rows: the position
    is hashed with the seed, and the rows with the smallest hashes are taken, in their order. Neither
    the partitions nor the number of workers changes it.

    Parameters
    ----------
    X : dask dataframe, dask array (n x d), or path, directory or pattern of parquet files
    sample : int, default 100,000
        Number of rows to fit on, gathered in this process.
    columns : sequence of str, optional
        The features. By default all columns but the id.
    id : str, optional
        A column that names the rows, kept beside the labels.
    memory_budget : int, str or None, default None
        Bytes that the distinct label rows may take in this process.
    client : distributed.Client, optional
        The cluster to work on. By default the one that Dask uses, or threads of this process.
    callback : callable, optional
        Called with (partitions done, number of partitions) while the labels are compressed. The
        callback of the model follows the members.
    encode : bool, default True
        Whether a dataframe may hold categories, dates and gaps, which the model encodes. With False,
        anything but numbers is refused with its partition, column and row.

    Examples
    --------
    >>> import dask.array as da
    >>> from coterie import ConsensusClustering
    >>> from coterie.datasets import load
    >>> from coterie.scale import features_from_dask
    >>> blobs = load("blobs").X
    >>> features = features_from_dask(da.from_array(blobs, chunks=(100, -1)), sample=10_000)
    >>> model = ConsensusClustering(5, random_state=0).fit(features)
    >>> bool((model.labels_.compute() == ConsensusClustering(5, random_state=0).fit(blobs).labels_).all())
    True
    """
    given = {"sample": sample, "callback": callback}
    check_parameters("features_from_dask", given, {"sample": Integer(2), "callback": CALLBACK})
    return DaskFeatures(_open(X, columns, id), sample, memory_budget, client, callback, encode)


def _open(X: Any, columns: Sequence[str] | None, id: str | None) -> Source:
    """Features as a dask collection, with all columns of a dataframe."""
    if is_frame(X) and X.ndim == 1:
        raise ParameterError(
            "X is a dask series, but must have two dimensions (n x d); call to_frame first"
        )
    if is_array(X) and (X.ndim != 2 or id is not None or columns is not None):
        raise ParameterError(
            "a dask array of features must be n x d, without columns and id, but has shape "
            f"{X.shape} with columns={columns!r} and id={id!r}"
        )
    # Every file is opened, so that an error names the file with other columns.
    source = open_labels(X, columns, id, None, PART_CELLS, name="X")
    if is_array(X):
        return source
    # Not only the columns to read: a partition that lacks one is named when its rows are read.
    frame = X
    if source.collection is None:
        import dask.dataframe as dd

        wanted = source.layout.wanted()
        # Not Dask's reader, whose partitions do not say which file they come from.
        frame = dd.from_map(
            read_frame, source.parts, columns=wanted, meta=empty_frame(source.parts[0], wanted)
        )
    return replace(source, collection=frame, parts=tuple(frame.to_delayed()))


@dataclass(frozen=True, eq=False)
class DaskPool(Pool):
    """Fitted members and the lazy labels that they give to all rows.

    Attributes
    ----------
    plans : tuple of MemberPlan
    members : tuple of fitted clusterers
    labels : dask dataframe or dask array of int32
        One column per member (and the id, if there is one), computed on demand. Every pass over it
        calls the members again. If that takes long, persist it or write it to parquet.
    dtype : dtype
        Precision of the features in the sample.
    id : str or None
    sampled : int
        Rows of the sample that the members were fitted on.
    rows : int
        Number of all rows.
    """

    id: str | None = None
    sampled: int = 0
    rows: int = 0

    def ensemble(
        self,
        *,
        memory_budget: Budget = None,
        client: Any = None,
        callback: Progress | None = None,
    ) -> Ensemble:
        """Compress the labels to an Ensemble; see :func:`ensemble_from_dask`."""
        return ensemble_from_dask(
            self.labels,
            columns=self.member_names,
            id=self.id,
            memory_budget=memory_budget,
            client=client,
            callback=callback,
        )


@dataclass(frozen=True, eq=False)
class DaskFeatures:
    """Features in partitions, and how to work on them; made by :func:`features_from_dask`.

    Attributes
    ----------
    source : Source
        The dask dataframe or dask array, its partitions and columns.
    sample, memory_budget, client, callback, encode
        As given to :func:`features_from_dask`.
    """

    source: Source
    sample: int
    memory_budget: Budget
    client: Any
    callback: Progress | None
    encode: bool = True
    _drawn: dict[int, Any] = field(default_factory=dict, repr=False)

    # ------------------------------------------------------------------ what a fit asks for

    def make_pool(self, fit: Callable[..., Pool], rng: np.random.Generator) -> DaskPool:
        """Fit the members on a sample and label all rows with them."""
        drawn = self.draw(rng)
        total = sum(self.lengths)
        pool = fit(drawn, total=total)
        unable = pool.cannot_predict()
        if unable and pool.prototypes is None:
            raise ParameterError(
                "members fitted on a sample must be able to label other rows; these cannot predict: "
                f"{', '.join(unable[:5])}"
            )
        labels = self._labelled(pool)
        return DaskPool(
            plans=pool.plans,
            members=pool.members,
            labels=labels,
            dtype=pool.dtype,
            prepare=pool.prepare,
            prototypes=pool.prototypes,
            id=self.source.layout.id,
            sampled=len(drawn),
            rows=total,
        )

    def ensemble(self, pool: DaskPool) -> Ensemble:
        """The labels of a pool, compressed; its samples are the distinct rows."""
        return pool.ensemble(
            memory_budget=self.memory_budget, client=self.client, callback=self.callback
        )

    def expand(self, pool: Pool, ensemble: Ensemble, values: NDArray[Any], name: str) -> Any:
        """Values per sample of the ensemble, copied to all rows; computed on demand."""
        return expand_to_dask(
            ensemble,
            values,
            pool.labels,
            columns=pool.member_names,
            id=self.source.layout.id,
            name=name,
        )

    # ------------------------------------------------------------------ rows and samples

    @property
    def columns(self) -> tuple[Any, ...]:
        """The features of a dataframe. Empty for an array."""
        return () if is_array(self.source.collection) else self.source.layout.columns

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.source.layout.columns)

    @cached_property
    def lengths(self) -> list[int]:
        """Rows of each partition; counted if they are not known."""
        from dask import delayed

        if self.source.rows is not None:
            return [*self.source.rows]

        def count(parts: Sequence[Any]) -> list[int]:
            return gather([delayed(len)(part) for part in parts], self.client)

        if not self.columns:
            return count(self.source.parts)
        try:
            # One column is enough to count. Not the index, for which Dask may join partitions.
            return count(self.source.collection[[self.columns[0]]].to_delayed())
        except KeyError:
            # A partition lacks the column. The error that names it comes when its rows are read.
            return count(self.source.parts)

    def draw(self, rng: np.random.Generator) -> Any:
        """A random sample of rows in their order; every partition is read and checked once per seed.

        Infinite numbers are rejected with their partition, column and row; without ``encode`` also
        anything else that is not a number. ``rng`` does not advance: the seed comes from a child, so
        that members are drawn as they are in memory.
        """
        seed = int(rng.spawn(1)[0].integers(2**63))
        if seed not in self._drawn:
            self._drawn[seed] = self._smallest_hashes(seed)
        return self._drawn[seed]

    def _smallest_hashes(self, seed: int) -> Any:
        from dask import delayed

        rows, size = self.lengths, self.sample
        total = sum(rows)
        if total < 2:
            raise ParameterError(
                f"n_samples={total}: at least two rows are needed to cluster anything"
            )
        # Slightly more rows than needed, so that almost no draw has too few.
        share = min(1.0, (size + 6.0 * np.sqrt(size) + 10.0) / total)
        starts = np.concatenate([[0], np.cumsum(rows)]).tolist()
        tasks = [
            delayed(draw_rows)(part, part_name, start, share, seed, self.columns, self.encode)
            for (part, part_name), start in zip(self.source.named_parts, starts[:-1], strict=True)
        ]
        drawn = gather(tasks, self.client)
        for part_name, (_, block) in zip(self.source.part_names, drawn, strict=True):
            if block.shape[1] != self.width:
                raise ParameterError(
                    f"{part_name} has {block.shape[1]} features, but X has {self.width}; every "
                    "partition needs the same features"
                )
        hashes = np.concatenate([hashes for hashes, _ in drawn])
        kept = np.arange(len(hashes))
        if len(hashes) > size:
            kept = np.sort(np.argpartition(hashes, size - 1)[:size])
        blocks = [block for _, block in drawn]
        if hasattr(blocks[0], "iloc"):
            import pandas as pd

            filled = [block for block in blocks if len(block)]
            return pd.concat(filled, ignore_index=True).iloc[kept].reset_index(drop=True)
        return np.concatenate(blocks)[kept]

    # ------------------------------------------------------------------ labels of all rows

    def _labelled(self, pool: Pool) -> Any:
        """The labels of all rows, to be computed in the partitions."""
        return per_row(
            replace(self.source, rows=tuple(self.lengths)),
            partial(label_rows, columns=self.columns),
            light(pool),
            np.empty((0, len(pool.plans)), dtype=np.int32),
            [*pool.member_names],
            self.source.layout.id,
        )


def kmeans_pool_dask(
    X: Any,
    n_members: int = 20,
    n_clusters: ClusterCount = "sqrt",
    *,
    sample: int = SAMPLE,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    client: Any = None,
    callback: Progress | None = None,
) -> DaskPool:
    """k-means members fitted on a random sample of rows, which label all rows in their partitions.

    Neither the partitions nor the number of workers changes the sample (see
    :func:`features_from_dask`) or the label that a member gives to a row. If X has no more than
    ``sample`` rows, the members are those of :func:`coterie.generate.kmeans_pool`.

    Parameters
    ----------
    X : dask dataframe, dask array (n x d), or path, directory or pattern of parquet files
    n_members : int, default 20
    n_clusters : int, "sqrt" or (low, high), default "sqrt"
        Clusters of each member; "sqrt" is (2, square root of the number of rows in the sample). With
        many rows, members with few clusters leave far fewer distinct label rows.
    sample, columns, id, client
        As in :func:`features_from_dask`.
    random_state : int, Generator or None
    n_jobs : int or None
        Number of members fitted in parallel, as in joblib. Within ``joblib.parallel_config("dask")``
        the workers fit them.
    callback : callable, optional
        Called with (members done, number of members).

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
    check_pool("kmeans_pool_dask", n_members, n_clusters, n_jobs, callback)
    rng = generator(random_state)

    def fit(rows: Any, total: int) -> Pool:
        numbers = as_features(rows)
        plans = kmeans_plans(numbers, n_members, n_clusters, rng)
        return fit_members(numbers, plans, n_jobs=n_jobs, callback=callback)

    features = features_from_dask(
        X, sample=sample, columns=columns, id=id, client=client, encode=False
    )
    return features.make_pool(fit, rng)


def predict_dask(
    X: Any,
    pool: Pool,
    clusters: Callable[[NDArray[Any]], NDArray[np.int64]],
    *,
    n_features: int,
    feature_names: Sequence[str] | None,
) -> Any:
    """Lazy clusters of rows in partitions; ``clusters`` maps the members' labels to clusters."""
    columns = None if feature_names is None or is_array(X) else [*feature_names]
    features = features_from_dask(X, columns=columns)
    if features.width != n_features:
        raise ParameterError(
            f"X has {features.width} features, but the members were fitted on {n_features}"
        )
    predict = partial(predict_rows, columns=features.columns)
    model = light(pool), clusters
    return per_row(features.source, predict, model, np.empty(0, np.int64), "cluster")
