"""Copy values of the distinct rows of an ensemble to all rows, in their partitions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.errors import DataError, LabelError, ParameterError, SchedulerError
from coterie.core.params import CALLBACK, check_parameters
from coterie.core.text import repeated
from coterie.ensemble import Ensemble
from coterie.ensemble.missing import Missing
from coterie.generate.members import Progress
from coterie.io.parquet import require_pyarrow
from coterie.io.write import cannot_write, make_beside, whole_file
from coterie.scale._table import Lookup, narrow
from coterie.scale.engine import compute
from coterie.scale.layout import Layout
from coterie.scale.source import open_labels, per_row, read_blocks


def expand_to_dask(
    ensemble: Ensemble,
    values: ArrayLike,
    labels: Any,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    missing: Missing = -1,
    name: str = "cluster",
) -> Any:
    """Copy values per sample of an ensemble to all rows that it was made of, lazily.

    Parameters
    ----------
    ensemble : Ensemble
        Made by :func:`ensemble_from_dask`: its samples are the distinct rows.
    values : array, shape (N,) or (N, c)
        One row per sample of the ensemble, such as ``labels_``, ``sample_confidence_`` or
        ``soft_labels()`` of a fitted method. Values per microcluster need ``ensemble.expand`` first.
    labels : dask dataframe, dask array, or path, directory or pattern of parquet files
        The rows that the ensemble was made of. Their partitions may differ.
    columns, id, missing
        As given to :func:`ensemble_from_dask`.
    name : str, default "cluster"
        Name of the series. If values have several columns, the prefix of their names.

    Returns
    -------
    dask series or dataframe for a dask dataframe, else dask array
        In the partitions of ``labels``, row by row.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from coterie import EAC
    >>> from coterie.scale import ensemble_from_dask, expand_to_dask
    >>> frame = pd.DataFrame({"a": ["x", "x", "y", "y"], "b": [1, 1, 2, None]})
    >>> labels = dd.from_pandas(frame, npartitions=2)
    >>> ensemble = ensemble_from_dask(labels)
    >>> labels.assign(cluster=expand_to_dask(ensemble, EAC(2).fit(ensemble).labels_, labels)).compute()
       a    b  cluster
    0  x  1.0        0
    1  x  1.0        0
    2  y  2.0        1
    3  y  NaN        1
    """
    source = open_labels(labels, columns, id, missing)
    array = _per_sample({"values": values}, ensemble)["values"]
    if array.ndim > 2:
        raise ParameterError(f"values must have one or two dimensions, but has shape {array.shape}")
    lookup = _lookup(ensemble, source.layout, [array])
    names = name if array.ndim == 1 else [f"{name}_{q}" for q in range(array.shape[1])]
    expand = partial(_expand_part, layout=source.layout)
    return per_row(source, expand, lookup, array[:0], names)


def labels_to_parquet(
    path: str | PathLike[str],
    ensemble: Ensemble,
    values: Mapping[str, ArrayLike],
    labels: Any,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    missing: Missing = -1,
    client: Any = None,
    callback: Progress | None = None,
) -> int:
    """Write values for all rows to a directory of parquet files, one per partition, in order.

    The workers write. The directory appears under its name once it is complete, and nothing is left
    behind after a failure.

    Parameters
    ----------
    path : str or path
        The directory to create, on a disk that this process and the workers share. It must be new or
        empty.
    ensemble : Ensemble
        Made by :func:`ensemble_from_dask`.
    values : mapping of name to array
        One row per sample of the ensemble, such as ``{"label": model.labels_}``. An array of two
        dimensions is written as several columns.
    labels : dask dataframe, dask array, or path, directory or pattern of parquet files
        The rows that the ensemble was made of.
    columns, id, missing
        As given to :func:`ensemble_from_dask`. The id becomes the first column.
    client : distributed.Client, optional
        The cluster to work on. By default the one that Dask uses, or threads of this process.
    callback : callable, optional
        Called with (partitions written, number of partitions).

    Returns
    -------
    int
        Number of rows written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import dask.array as da
    >>> import numpy as np
    >>> from coterie import EAC
    >>> from coterie.scale import ensemble_from_dask, labels_to_parquet
    >>> labels = da.from_array(np.repeat([[0, 0], [0, 1], [2, 2]], 1000, axis=0), chunks=(1500, 2))
    >>> ensemble = ensemble_from_dask(labels)
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "labels")
    ...     rows = labels_to_parquet(target, ensemble, {"label": EAC(2).fit_predict(ensemble)}, labels)
    ...     rows, sorted(file.name for file in target.iterdir())
    (3000, ['part-00000.parquet', 'part-00001.parquet'])
    """
    from dask import delayed

    check_parameters("labels_to_parquet", {"callback": callback}, {"callback": CALLBACK})
    target = Path(path)
    require_pyarrow(target)
    _check_target(target)
    source = open_labels(labels, columns, id, missing)
    arrays = _written_columns(_per_sample(values, ensemble), source.layout)
    lookup = delayed(_lookup(ensemble, source.layout, [*arrays.values()]))
    temporary = _directory_beside(target)
    try:
        tasks = [
            delayed(_write_part)(
                part,
                lookup,
                part_name,
                source.layout,
                tuple(arrays),
                str(temporary / f"part-{i:05d}.parquet"),
            )
            for i, (part, part_name) in enumerate(source.named_parts)
        ]
        written: list[int] = []

        def count(rows: int) -> None:
            written.append(rows)
            if callback is not None:
                callback(len(written), len(tasks))

        compute(tasks, delayed(len)(tasks), count, client)
        expected = int(ensemble.weights.sum())
        if sum(written) != expected:
            raise LabelError(
                f"labels has {sum(written):,} rows, but the ensemble was made of {expected:,}; pass the "
                "labels that the ensemble was made of"
            )
        if target.is_dir():
            target.rmdir()
        temporary.rename(target)
    except SchedulerError:
        raise
    except OSError as error:
        raise cannot_write(target, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sum(written)


# ---------------------------------------------------------------------- in this process


def _per_sample(values: Mapping[str, ArrayLike], ensemble: Ensemble) -> dict[str, NDArray[Any]]:
    size = ensemble.n_samples
    if size != ensemble.n_microclusters:
        raise LabelError(
            f"the ensemble has {size:,} samples, but only {ensemble.n_microclusters:,} distinct rows; "
            "expand_to_dask needs an ensemble made by ensemble_from_dask, whose samples are the "
            "distinct rows; for other ensembles, labels_ already has one entry per row"
        )
    arrays = {str(name): np.asarray(value) for name, value in values.items()}
    for name, array in arrays.items():
        if array.ndim == 0 or len(array) != size:
            raise ParameterError(
                f"{name} must have one row per sample of the ensemble ({size:,}), "
                f"but has shape {array.shape}"
            )
    return arrays


def _lookup(ensemble: Ensemble, layout: Layout, arrays: Sequence[NDArray[Any]]) -> Lookup:
    if layout.names != ensemble.members:
        raise LabelError(
            f"labels has the members {', '.join(layout.names[:5])}, but the ensemble has "
            f"{', '.join(ensemble.members[:5])}; pass the labels that the ensemble was made of"
        )
    # Values are in the order of the samples, codes in that of the microclusters.
    sample_of = np.argsort(ensemble.inverse)
    return Lookup(
        narrow(ensemble.labels, ensemble.categories),
        tuple(ensemble.categories),
        tuple(array[sample_of] for array in arrays),
    )


def _written_columns(values: Mapping[str, NDArray[Any]], layout: Layout) -> dict[str, NDArray[Any]]:
    columns: list[tuple[str, NDArray[Any]]] = []
    for name, array in values.items():
        if array.ndim == 2:
            columns += [(f"{name}_{q}", column) for q, column in enumerate(array.T)]
        else:
            columns.append((name, array))
    names = [name for name, _ in columns] + ([] if layout.id is None else [str(layout.id)])
    if twice := repeated(names):
        raise LabelError(f"two columns would be named {twice[0]!r}; names must differ")
    return dict(columns)


def _check_target(target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise DataError(f"{target} is a file; give a directory for the labels of all partitions")
    if target.is_dir() and any(target.iterdir()):
        raise DataError(f"{target} is not empty; give another directory")
    if not target.parent.is_dir():
        raise DataError(f"{target} cannot be written: there is no directory {target.parent}")


def _directory_beside(target: Path) -> Path:
    """A new directory on the same disk, so that renaming it is atomic."""
    try:
        return make_beside(target.absolute(), Path.mkdir)[1]
    except OSError as error:
        raise cannot_write(target, error) from None


# ---------------------------------------------------------------------- in the workers


def _expand_part(part: Any, lookup: Lookup, part_name: str, layout: Layout) -> NDArray[Any]:
    blocks = [values for _, (values,) in _expanded(part, lookup, part_name, layout)]
    return np.concatenate([lookup.values[0][:0], *blocks])


def _expanded(
    part: Any, lookup: Lookup, part_name: str, layout: Layout
) -> Iterator[tuple[dict[str, Any], list[NDArray[Any]]]]:
    """The ids and the values of each block of a part."""
    numbers = lookup.numbered()
    for begin, rows, ids in read_blocks(part, layout, part_name):
        yield ids, lookup.expand(rows, numbers, part_name, begin)


def _write_part(
    part: Any, lookup: Lookup, part_name: str, layout: Layout, names: tuple[str, ...], path: str
) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    total = 0
    writer = None
    with whole_file(path) as file:
        for ids, values in _expanded(part, lookup, part_name, layout):
            columns = ids | dict(zip(names, values, strict=True))
            block = pa.table({name: pa.array(content) for name, content in columns.items()})
            if writer is None:
                writer = parquet.ParquetWriter(file, block.schema)
            writer.write_table(block.cast(writer.schema))
            total += block.num_rows
        if writer is None:
            empty = {
                name: pa.array(values[:0])
                for name, values in zip(names, lookup.values, strict=True)
            }
            ids = {} if layout.id is None else {str(layout.id): pa.nulls(0)}
            writer = parquet.ParquetWriter(file, pa.table(ids | empty).schema)
        writer.close()
    return total
