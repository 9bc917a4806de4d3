"""Labels of any number of rows, compressed to an Ensemble of the distinct rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.budget import Budget, shown_bytes
from coterie.core.budget import memory_budget as bytes_allowed
from coterie.core.errors import LabelError, MemoryBudgetError
from coterie.core.params import BUDGET, CALLBACK, check_parameters
from coterie.ensemble import Ensemble
from coterie.ensemble.checks import checked_weights
from coterie.ensemble.compress import DistinctRows
from coterie.ensemble.ids import refuse_id_columns
from coterie.ensemble.missing import Missing
from coterie.generate.members import Progress
from coterie.scale._table import LabelTable, merge_tables
from coterie.scale.engine import compute
from coterie.scale.layout import Layout
from coterie.scale.source import Source, is_array, open_labels, read_blocks

# Tables merged in one task.
SPLIT_EVERY = 8


def ensemble_from_dask(
    labels: Any,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    missing: Missing = -1,
    member_weight: ArrayLike | None = None,
    memory_budget: Budget = None,
    client: Any = None,
    callback: Progress | None = None,
) -> Ensemble:
    """Compress labels in their partitions to an Ensemble of the distinct rows and their counts.

    Each partition is reduced to its distinct label rows, neighbouring tables are merged in a tree, and
    only the last table reaches this process. The *samples* of the ensemble are the N distinct rows, in
    order of first appearance; ``sample_weight`` and ``weights`` count how often each occurs. A method
    finds the same clusters, with the same numbers, as on all rows in memory. ``labels_`` of a fitted
    method has one entry per distinct row; :func:`expand_to_dask` and :func:`labels_to_parquet` copy
    it to all rows.

    Parameters
    ----------
    labels : dask dataframe, dask array (n x m), or path, directory or pattern of parquet files
        One row per sample and one column per member; labels as in ``Ensemble.from_labels``. This
        process and all workers must be able to read the paths.
    columns : sequence of str, optional
        The columns with labels. By default all but the id. For a dask array, names of the members.
    id : str, optional
        A column that names the rows and is not a member. If the index of a dataframe names them,
        call its ``reset_index`` first.
    missing : value, collection of values or None, default -1
        Values that mean "no label", besides NaN, None and NA.
    member_weight : array, optional
        Positive weight of each member.
    memory_budget : int, str or None, default None
        Bytes that the distinct rows may take in this process. Too many raise an error as soon as
        a table on a worker has them.
    client : distributed.Client, optional
        The cluster to work on. By default the one that Dask uses, or threads of this process.
    callback : callable, optional
        Called with (partitions read, number of partitions).

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from coterie import EAC
    >>> from coterie.scale import ensemble_from_dask, expand_to_dask
    >>> labels = da.from_array(np.repeat([[0, 0], [0, 1], [2, 2]], 1000, axis=0), chunks=(700, 2))
    >>> ensemble = ensemble_from_dask(labels)
    >>> ensemble.n_samples, ensemble.weights.tolist()
    (3, [1000, 1000, 1000])
    >>> model = EAC(2).fit(ensemble)
    >>> expand_to_dask(ensemble, model.labels_, labels)[[0, 1500, 2999]].compute().tolist()
    [0, 0, 1]
    """
    check_parameters(
        "ensemble_from_dask",
        {"memory_budget": memory_budget, "callback": callback},
        {"memory_budget": BUDGET, "callback": CALLBACK},
    )
    source = open_labels(labels, columns, id, missing)
    weight = checked_weights(member_weight, len(source.layout.names))
    table = _compressed(source, memory_budget, client, callback)
    if table.n_rows == 0:
        raise LabelError("no samples: the partitions are empty")
    if not is_array(source.collection):
        refuse_id_columns(
            dict(zip(source.layout.names, table.categories, strict=True)),
            table.n_rows,
            "name it with {id}, or leave it out with {columns}",
            stacklevel=3,
        )
    size = len(table.codes)
    rows = DistinctRows(
        table.codes.astype(np.int32), np.arange(size, dtype=np.int32), table.categories
    )
    return Ensemble._assemble(rows, source.layout.names, table.counts, weight, None)


def _compressed(
    source: Source,
    memory_budget: Budget,
    client: Any,
    callback: Progress | None,
) -> LabelTable:
    """The distinct rows of all partitions; the first table with too many raises an error."""
    from dask import delayed

    layout, budget = source.layout, bytes_allowed(memory_budget)
    level = [delayed(collapse)(part, layout, part_name) for part, part_name in source.named_parts]
    sizes = [delayed(_Size.of)(table, True) for table in level]
    while len(level) > 1:
        level = [
            delayed(merge_tables)(level[begin : begin + SPLIT_EVERY])
            for begin in range(0, len(level), SPLIT_EVERY)
        ]
        sizes += [delayed(_Size.of)(table, False) for table in level]
    partitions_read = itertools.count(1)

    def watch(size: _Size) -> None:
        _refuse_too_many(size, layout, budget)
        if size.is_partition and callback is not None:
            callback(next(partitions_read), len(source.parts))

    try:
        table: LabelTable = compute(sizes, level[0], watch, client)
    except KeyError:
        # Dask selects the columns of a dataframe, and its error does not name the partition.
        source.blame(client)
        raise
    return table


def collapse(part: Any, layout: Layout, part_name: str) -> LabelTable:
    """The distinct rows of one partition."""
    table = LabelTable.empty(len(layout.names))
    for _, rows, _ in read_blocks(part, layout, part_name):
        block = LabelTable.of(rows)
        table = block if len(table.codes) == 0 else merge_tables([table, block])
    return table


class _Size(NamedTuple):
    """What this process learns of a table before the last one arrives."""

    is_partition: bool
    n_rows: int
    n_distinct: int
    n_labels: list[int]

    @classmethod
    def of(cls, table: LabelTable, is_partition: bool) -> Self:
        n_labels = [len(values) for values in table.categories]
        return cls(is_partition, table.n_rows, len(table.codes), n_labels)


def _refuse_too_many(size: _Size, layout: Layout, budget: int) -> None:
    """Raise MemoryBudgetError if the distinct rows of a table exceed the budget."""
    # Bytes per distinct row while rows are sorted, for its copies, hashes, weight and position.
    needed = size.n_distinct * (10 * len(layout.names) + 80)
    if needed <= budget:
        return
    text = (
        f"{size.n_distinct:,} distinct label rows among {size.n_rows:,} rows need "
        f"{shown_bytes(needed)} here, but the memory budget is {shown_bytes(budget)}"
    )
    widest = int(np.argmax(size.n_labels))
    if size.n_labels[widest] == size.n_rows:
        raise MemoryBudgetError(
            f"{text}. Column {layout.names[widest]!r} differs in every row, as an id does",
            "name it with {id}, or leave it out with {columns}",
        )
    raise MemoryBudgetError(
        f"{text}. Give fewer members, or members with fewer clusters (the most are in "
        f"{layout.names[widest]!r}), or raise memory_budget."
    )
