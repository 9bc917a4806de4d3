"""Labels of any number of rows, compressed to an Ensemble of the distinct rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.budget import Budget, shown_bytes
from coterie.core.budget import memory_budget as bytes_allowed
from coterie.core.errors import LabelError, MemoryBudgetError
from coterie.core.params import BUDGET, CALLBACK, Integer, check_parameters
from coterie.ensemble import Ensemble
from coterie.ensemble.checks import checked_weights
from coterie.ensemble.compress import DistinctRows
from coterie.ensemble.ids import MIN_ROWS_OF_IDS, refuse_id_columns
from coterie.ensemble.missing import Missing
from coterie.generate.members import Progress
from coterie.scale._table import LabelTable, is_plain_integer, merge_tables
from coterie.scale.engine import compute
from coterie.scale.source import Layout, Source, is_array, open_labels, read_blocks

# Tables merged in one task.
SPLIT_EVERY = 8
# Hashes of a sketch: 32 KiB, and a standard error of 1.6 %.
SKETCHED = 2**12
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def ensemble_from_dask(
    labels: Any,
    *,
    columns: Sequence[str] | None = None,
    id: str | None = None,
    missing: Missing = -1,
    member_weight: ArrayLike | None = None,
    memory_budget: Budget = None,
    split_every: int = SPLIT_EVERY,
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
        Bytes that the distinct rows may take in this process. Their number is estimated while
        partitions are read, from a sketch of 32 KiB per partition. Too many raise an error at once.
    split_every : int, default 8
        Number of tables merged in one task.
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
        {"split_every": split_every, "memory_budget": memory_budget, "callback": callback},
        {"split_every": Integer(2), "memory_budget": BUDGET, "callback": CALLBACK},
    )
    source = open_labels(labels, columns, id, missing)
    weight = checked_weights(member_weight, len(source.layout.names))
    table = _compressed(source, split_every, memory_budget, client, callback)
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
    split_every: int,
    memory_budget: Budget,
    client: Any,
    callback: Progress | None,
) -> LabelTable:
    """The distinct rows of all partitions; too many raise an error as soon as that is known."""
    from dask import delayed

    level = [
        delayed(collapse)(part, source.layout, part_name) for part, part_name in source.named_parts
    ]
    sketches = [delayed(Sketch.of)(table) for table in level]
    while len(level) > 1:
        level = [
            delayed(merge_tables)(level[begin : begin + split_every])
            for begin in range(0, len(level), split_every)
        ]
    watch = _Watch(source.layout, len(sketches), bytes_allowed(memory_budget), callback)
    try:
        table: LabelTable = compute(sketches, level[0], watch, client)
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


@dataclass
class _Watch:
    """Merges the sketches as they arrive, and raises an error once the estimate is too large."""

    layout: Layout
    parts: int
    budget: int
    callback: Progress | None
    done: int = 0
    merged: Sketch | None = None

    def __call__(self, sketch: Sketch) -> None:
        self.merged = sketch if self.merged is None else self.merged.merge(sketch)
        self.done += 1
        estimate = self.merged.estimate()
        # Bytes per distinct row while rows are sorted, for its copies, hashes, weight and position.
        needed = estimate * (10 * len(self.layout.names) + 80)
        if needed > self.budget:
            raise self._refusal(estimate, needed)
        if self.callback is not None:
            self.callback(self.done, self.parts)

    def _refusal(self, estimate: float, needed: float) -> MemoryBudgetError:
        assert self.merged is not None
        read = (
            f"the {self.parts} partitions"
            if self.done == self.parts
            else f"{self.done} of {self.parts} partitions"
        )
        text = (
            f"about {estimate:,.0f} distinct label rows in {read} ({self.merged.rows:,} rows) need "
            f"{shown_bytes(needed)} here, but the memory budget is {shown_bytes(self.budget)}"
        )
        unique = np.flatnonzero(self.merged.labels == self.merged.rows)
        if unique.size and self.merged.rows >= MIN_ROWS_OF_IDS:
            name = self.layout.names[unique[0]]
            return MemoryBudgetError(
                f"{text}. Column {name!r} differs in every row, as an id does",
                "name it with {id}, or leave it out with {columns}",
            )
        widest = self.layout.names[int(np.argmax(self.merged.labels))]
        return MemoryBudgetError(
            f"{text}. Give fewer members, or members with fewer clusters (the most are in "
            f"{widest!r}), or raise memory_budget."
        )


# ---------------------------------------------------------------------- number of distinct rows


@dataclass(frozen=True)
class Sketch:
    """An estimate of the number of distinct rows, from a few kilobytes per partition.

    Bottom-k sketch (Beyer, Haas, Reinwald, Sismanis and Gemulla, 2007): the smallest hashes of the
    rows. The more distinct rows there are, the closer to zero they lie. The sketch of several
    partitions holds the smallest of their hashes, whatever the order or the number of partitions.

    Attributes
    ----------
    smallest : ndarray of uint64
        The smallest hashes, ascending. If there are fewer than SKETCHED, these are all.
    rows : int
        Rows of the partitions, including repeated ones.
    labels : ndarray of int64, shape (m,)
        Distinct labels of each member, summed over partitions.
    """

    smallest: NDArray[np.uint64]
    rows: int
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, table: LabelTable) -> Self:
        """The sketch of one partition."""
        labels = np.array([len(values) for values in table.categories], dtype=np.int64)
        return cls(np.unique(row_hashes(table))[:SKETCHED], table.n_rows, labels)

    def merge(self, other: Sketch) -> Sketch:
        """The sketch of the rows of both."""
        return Sketch(
            np.union1d(self.smallest, other.smallest)[:SKETCHED],
            self.rows + other.rows,
            self.labels + other.labels,
        )

    def estimate(self) -> float:
        """Approximate number of distinct rows."""
        if len(self.smallest) < SKETCHED:
            return len(self.smallest)
        return (SKETCHED - 1) * 2.0**64 / float(self.smallest[-1])


def row_hashes(table: LabelTable) -> NDArray[np.uint64]:
    """One hash per distinct row, computed from labels because codes differ between partitions."""
    hashes = np.full(len(table.codes), GOLDEN, dtype=np.uint64)
    for j, categories in enumerate(table.categories):
        # A missing label has the code -1 and selects the last entry.
        of_label = np.append(_label_hashes(categories), np.uint64(1))
        hashes = mix_bits(hashes * GOLDEN ^ of_label[table.codes[:, j]])
    return hashes


def _label_hashes(categories: NDArray[Any]) -> NDArray[np.uint64]:
    if is_plain_integer(categories):
        return mix_bits(categories.astype(np.int64).view(np.uint64) + GOLDEN)
    return np.array([_label_hash(value) for value in categories.tolist()], dtype=np.uint64)


def _label_hash(value: object) -> int:
    if type(value) is int and -(2**63) <= value < 2**63:
        return int(_label_hashes(np.array([value]))[0])
    # Python's own hash of a text differs between processes.
    text = f"{type(value).__name__} {value!r}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def mix_bits(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The last steps of splitmix64: every bit of x changes about half of the bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
