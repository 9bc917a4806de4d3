"""Samples of a result whose rows stayed in partitions: it holds distinct rows, the ids are elsewhere.

The labels that the same command wrote tell the distinct row of every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from coterie.cli.outputs import CONFIDENCE, DISTINCT, LABEL
from coterie.core.errors import DataError, SampleError
from coterie.core.text import counted, listed
from coterie.io.parquet import require_pyarrow
from coterie.result import Result
from coterie.trust import Explanation


def explained(
    result: Result, path: Path, samples: Sequence[str], labels: Path | None
) -> list[Explanation]:
    """Why samples are where they are, by id or row number, or by distinct row where none are at hand."""
    if labels is None:
        return [_by_distinct_row(result, path, text) for text in samples]
    rows = _Written.of(labels, result).find(samples)
    return [_explain(result, row, text) for text, row in zip(samples, rows, strict=True)]


def _by_distinct_row(result: Result, path: Path, text: str) -> Explanation:
    size = result.ensemble.n_samples
    if not (text.isdecimal() and int(text) < size):
        raise SampleError(
            f"{text!r}: {path} holds {counted(size, 'distinct row')} (0 to {size - 1}) and no ids of "
            f"the {result.ensemble.total_count:,} rows they stand for; name the directory of labels "
            "that was written with it: --labels DIR (none was? give the command -o DIR too)"
        )
    return _explain(result, int(text), None)


def _explain(result: Result, row: int, name: str | None) -> Explanation:
    found = result.explain(row)
    count = counted(int(result.ensemble.sample_counts[row]), "row")
    if name is None:
        sentence = f"{found.sentence} (It is a distinct row, and stands for {count}.)"
        return replace(found, sentence=sentence)
    rest = found.sentence.removeprefix(f"Sample {row} ")
    sentence = f"Sample {name} {rest} (It has the labels of distinct row {row}: {count} in all.)"
    return replace(found, sample=name, sentence=sentence)


class _Written:
    """The labels of all rows, in a directory of parquet files."""

    def __init__(self, folder: Path, files: Sequence[Path], id: str | None, result: Result) -> None:
        self._folder = folder
        self._files = files
        self._id = id
        self._result = result

    @classmethod
    def of(cls, folder: Path, result: Result) -> _Written:
        """Of a directory that was written with the result; any other is refused."""
        require_pyarrow(folder)
        from pyarrow import parquet

        # names that grow with the number of parts
        files = sorted(folder.glob("*.parquet"), key=lambda file: (len(file.name), file.name))
        if not files:
            raise DataError(f"--labels {folder} is no directory of parquet files")
        rows = sum(_read(file, parquet.read_metadata).num_rows for file in files)
        present = _read(files[0], parquet.read_schema).names
        expected = result.ensemble.total_count
        if DISTINCT not in present or LABEL not in present or rows != expected:
            raise DataError(
                f"--labels {folder} was not written with this result: it has {rows:,} rows with "
                f"{listed(present)}; wanted are {expected:,} rows with {LABEL} and {DISTINCT}"
            )
        names = [name for name in present if name not in (LABEL, CONFIDENCE, DISTINCT)]
        return cls(folder, files, names[0] if names else None, result)

    def find(self, samples: Sequence[str]) -> list[int]:
        """The distinct row of each, by its id or, without ids, by its row number."""
        found = self._by_id(samples) if self._id is not None else self._by_place(samples)
        for text, (row, label) in found.items():
            if not 0 <= row < len(self._result.labels) or self._result.labels[row] != label:
                raise DataError(
                    f"--labels {self._folder} was not written with this result: its label of {text} "
                    "is another"
                )
        return [found[text][0] for text in samples]

    def _by_id(self, samples: Sequence[str]) -> dict[str, tuple[int, int]]:
        import pyarrow as pa
        from pyarrow import compute, parquet

        found: dict[str, tuple[int, int]] = {}
        for path in self._files:
            kind = _read(path, parquet.read_schema).field(self._id).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            wanted = _as_kind([text for text in samples if text not in found], kind)
            if not wanted:
                continue
            values = pa.array(list(wanted), type=kind)
            with _read(path, parquet.ParquetFile) as file:
                for batch in file.iter_batches(columns=[self._id, LABEL, DISTINCT]):
                    ids = batch.column(self._id).cast(kind)
                    hits = batch.filter(compute.is_in(ids, value_set=values)).to_pylist()
                    for hit in hits:
                        # of several rows with this id the first
                        found.setdefault(wanted[hit[self._id]], (hit[DISTINCT], hit[LABEL]))
        absent = [text for text in samples if text not in found]
        if absent:
            raise SampleError(
                f"{self._folder}: no row has {listed(map(repr, absent), 5)} in column {self._id!r}"
            )
        return found

    def _by_place(self, samples: Sequence[str]) -> dict[str, tuple[int, int]]:
        from pyarrow import parquet

        total = self._result.ensemble.total_count
        sizes = [_read(path, parquet.read_metadata).num_rows for path in self._files]
        found: dict[str, tuple[int, int]] = {}
        for text in samples:
            if not (text.isdecimal() and int(text) < total):
                raise SampleError(
                    f"{self._folder} has no column of ids, so that samples are row numbers from 0 to "
                    f"{total - 1:,}, but {text!r} is none"
                )
            place = int(text)
            part = 0
            while place >= sizes[part]:
                place -= sizes[part]
                part += 1
            table = parquet.read_table(self._files[part], columns=[LABEL, DISTINCT])
            found[text] = (table[DISTINCT][place].as_py(), table[LABEL][place].as_py())
        return found


def _read(path: Path, how: Any) -> Any:
    import pyarrow as pa

    try:
        return how(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is damaged or cut short: {' '.join(str(error).split())}") from None


def _as_kind(samples: Sequence[str], kind: Any) -> dict[Any, str]:
    """What the ids would be in a column of a kind; text that is none there is left out."""
    import pyarrow as pa

    found = {}
    for text in samples:
        try:
            found[pa.scalar(text).cast(kind).as_py()] = text
        # text that is no value of this kind cannot stand in the column, so it is not looked for
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return found
