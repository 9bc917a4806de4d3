"""ConsensusClustering on features that do not fit: lazy labels of all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import check_parameters
from coterie.core.random import generator
from coterie.generate.members import Pool, Progress
from coterie.scale._expand import expand_to_dask
from coterie.scale.pool import (
    SAMPLE,
    DaskPool,
    Features,
    assign_members,
    light_plans,
    make_pool,
    numbers_of,
)
from coterie.scale.source import is_array

if TYPE_CHECKING:
    from coterie.consensus import ConsensusClustering


def fit_dask(
    estimator: ConsensusClustering,
    X: Any,
    *,
    sample: int = SAMPLE,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    memory_budget: Budget = None,
    client: Any = None,
    callback: Progress | None = None,
) -> DaskPool:
    """Fit a ConsensusClustering on rows in partitions.

    The members are fitted on a sample (see :func:`kmeans_pool_dask`), label all rows in their
    partitions, and are combined on the distinct label rows. ``labels_`` and ``sample_confidence_``
    of the estimator are lazy, in the partitions of X; ``ensemble_`` and ``solver_`` are those of the
    distinct rows. Where the rows are no more than ``sample``, the labels are those of the same fit
    in memory.

    Parameters
    ----------
    estimator : ConsensusClustering
        Its fitted attributes are set. With ``n_clusters="auto"`` the number of clusters is chosen on
        the sample. ``generator="spectral"``, whose members cannot label other rows, is refused.
    X : dask dataframe, dask array (n x d), or path, directory or pattern of parquet files
    sample, columns, id
        As in :func:`kmeans_pool_dask`.
    memory_budget : int, str or None
        Bytes that the distinct rows may take here.
    client : distributed.Client, optional
    callback : callable, optional
        Called with (partitions done, partitions in all) while the labels are compressed; the
        estimator's own callback is told of the members.

    Returns
    -------
    DaskPool
        The members and their lazy labels, for :func:`labels_to_parquet`.

    Examples
    --------
    >>> import dask.array as da
    >>> from coterie import ConsensusClustering
    >>> from coterie.datasets import load
    >>> from coterie.scale import fit_dask
    >>> blobs = load("blobs").X
    >>> model = ConsensusClustering(5, random_state=0)
    >>> pool = fit_dask(model, da.from_array(blobs, chunks=(100, -1)))
    >>> bool((model.labels_.compute() == ConsensusClustering(5, random_state=0).fit(blobs).labels_).all())
    True
    """
    name = type(estimator).__name__
    check_parameters(name, estimator.get_params(deep=False), estimator._domains)
    if isinstance(estimator.generator, str) and estimator.generator == "spectral":
        raise ParameterError(
            f"{name}: generator is 'spectral', whose members cannot label rows outside of a sample; "
            "with dask collections take 'kmeans', 'subsample', 'features' or clusterers that predict"
        )
    # an unknown name is told before the members are made
    estimator._chosen_solver()
    rng = generator(estimator.random_state)
    estimator.__dict__.pop("selection_", None)

    def fitted(rows: Any) -> Pool:
        features = estimator._checked(rows, reset=True)
        if isinstance(estimator.n_clusters, str):
            pool, estimator.selection_ = estimator._choose(features, rng)
            return pool
        return estimator._make_members(features, rng, estimator.callback)

    lazy, pool = make_pool(X, fitted, rng, sample=sample, columns=columns, id=id, client=client)
    ensemble = lazy.ensemble(memory_budget=memory_budget, client=client, callback=callback)
    n_clusters: Any = estimator.n_clusters
    if isinstance(n_clusters, str):
        n_clusters = estimator.selection_.recommended
    solver = estimator._configured_solver(ensemble, n_clusters, rng)
    with warnings.catch_warnings():
        if hasattr(estimator, "selection_") and n_clusters == 1:
            # that the evidence has more parts than the one cluster left is known by now
            warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.solver_ = solver.fit(ensemble)
    estimator._pool = pool
    estimator.members_ = list(pool.estimators)
    estimator.ensemble_ = ensemble
    for attribute, title in (("labels_", "cluster"), ("sample_confidence_", "confidence")):
        values = getattr(solver, attribute)
        expanded = expand_to_dask(
            ensemble, values, lazy.labels, columns=lazy.names, id=id, name=title
        )
        setattr(estimator, attribute, expanded)
    for attribute in ("n_clusters_", "member_weights_", "converged_", "history_", "n_iter_"):
        setattr(estimator, attribute, getattr(solver, attribute))
    return lazy


def predict_dask(
    X: Any,
    pool: Pool,
    names: Sequence[str] | None,
    n_features: int,
    clusters: Callable[[NDArray[Any]], NDArray[np.int64]],
) -> Any:
    """Lazy clusters of rows in partitions: what ``clusters`` makes of the members' labels for them."""
    from dask import delayed

    columns = None if names is None or is_array(X) else [*names]
    features = Features.of(X, columns, None)
    if features.width != n_features:
        raise ParameterError(
            f"X has {features.width} features, but the members were fitted on {n_features}"
        )
    model = delayed((light_plans(pool.plans), pool.estimators, clusters), traverse=False)
    if not is_array(X):
        import pandas as pd

        meta = pd.Series(np.empty(0, np.int64), features.collection._meta.index[:0], name="cluster")
        return features.collection.map_partitions(_predict, model, features.columns, meta=meta)
    import dask.array as da

    sizes = features.rows or (float("nan"),) * len(features.places)
    blocks = [
        da.from_delayed(delayed(_predict)(part, model, (), place), (size,), np.int64)
        for part, place, size in zip(features.parts(), features.places, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _predict(
    part: Any, model: tuple[Any, Any, Any], columns: tuple[Any, ...], place: str = "a partition"
) -> Any:
    plans, estimators, clusters = model
    numbers = numbers_of(part, columns, place)
    found = np.empty(0, dtype=np.int64)
    if len(numbers):
        found = clusters(assign_members(numbers, (plans, estimators)))
    if not columns:
        return found
    import pandas as pd

    return pd.Series(found, index=part.index, name="cluster")
