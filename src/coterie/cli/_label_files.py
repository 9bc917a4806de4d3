"""Files of labels, side by side or joined by an id, become one Ensemble."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any

from coterie.cli.arguments import UsageError
from coterie.cli.screen import Stages
from coterie.core.errors import DataError, LabelError
from coterie.core.text import counted, listed
from coterie.ensemble import Ensemble
from coterie.ensemble.ids import checked_ids, differs_in_every_row, join_key
from coterie.ensemble.read import with_suffixes
from coterie.generate.column_plans import looks_like_id_name
from coterie.io import FileTable, read_table
from coterie.io.arrays import Purpose
from coterie.io.table import ids_to_join
from coterie.solvers.reading import FEW_SAMPLES, MANY_TIMES


@dataclass(frozen=True)
class LabelFiles:
    """Files of labels as one ensemble.

    Attributes
    ----------
    ensemble : Ensemble
    classes : list or None
        The known class of each sample.
    id : str or None
        The column of ids.
    words : str
        The files, and how they were joined.
    """

    ensemble: Ensemble
    classes: list[Any] | None
    id: str | None
    words: str


def read_oriented(
    path: Path, purpose: Purpose, id: str | None, transpose: bool
) -> tuple[FileTable, str | None]:
    """Read a file whose rows are samples, or whose columns are, and the name of its id column."""
    table = read_table(path, purpose, id)
    if not transpose:
        return table, id
    turned = table.transposed(id)
    return turned, turned.main[0]


def read_label_files(
    files: Sequence[Path],
    id: str | None,
    columns: Sequence[str] | None,
    truth: str | None,
    transpose: bool,
    stages: Stages,
) -> LabelFiles:
    """Read files of labels as one ensemble.

    Parameters
    ----------
    files : sequence of Path
    id : str or None
        The column to join by. None takes a column that names the samples in every file; without one,
        files with equal numbers of rows are put side by side.
    columns : sequence of str or None
        The columns with labels, each in at least one of the files; None takes all.
    truth : str or None
        The column of known classes, which is not a member.
    transpose : bool
        Whether the rows of the files are clusterings, and their columns samples.
    stages : Stages
    """
    refuse_repeated(files)
    tables = []
    for path in files:
        stages.begin(f"reading {path.name}")
        table, sample_id = read_oriented(path, "labels", id, transpose)
        tables.append(table)
    id = sample_id
    if id is None and (id := _shared_id(tables, columns, truth)) is not None:
        # ids are read as they were written
        tables = [read_table(path, "labels", id) for path in files]
    try:
        ensemble = _label_ensemble(tables, id, columns, truth)
    except LabelError as error:
        note = " (rows are counted from 0)" if re.search(r" rows? \d", error.message) else ""
        message = f"{listed(map(str, files), 5)}: {error.message}{note}"
        raise DataError(message, error.advice, error.values) from error
    if not transpose and ensemble.n_samples <= FEW_SAMPLES:
        _ask_about_rows(ensemble)
    classes = None if truth is None else _known_classes(tables, id, truth, ensemble)
    return LabelFiles(ensemble, classes, id, _in_words(files, id))


def _ask_about_rows(ensemble: Ensemble) -> None:
    """Warn about a table that may hold members as rows."""
    n, m = ensemble.n_samples, ensemble.n_members
    if m >= MANY_TIMES * n > MANY_TIMES:
        warnings.warn(
            f"{n} rows and {m} columns are read as {n} samples in {m} clusterings; if the "
            "clusterings are rows, use --transpose",
            UserWarning,
            stacklevel=2,
        )


def _in_words(files: Sequence[Path], id: str | None) -> str:
    if len(files) == 1:
        return files[0].name if id is None else f"{files[0].name}, ids in {id!r}"
    how = "row number" if id is None else repr(id)
    return f"{counted(len(files), 'file')} joined by {how}"


def _shared_id(
    tables: Sequence[FileTable], labels: Sequence[str] | None, truth: str | None
) -> str | None:
    """The column that names the samples in every file, or None.

    It holds text or whole numbers that differ in every row. Unless the label columns are named, it must
    be named like an id, or have so many rows that it cannot be a clustering.
    """
    best, rank = None, (0, False)
    for name in tables[0].columns:
        if name in (*(labels or ()), truth) or any(name not in table.columns for table in tables):
            continue
        columns = [table.columns[name] for table in tables]
        named = looks_like_id_name(name)
        try:
            ids = [checked_ids(column, name) for column in columns]
        except LabelError:
            if (named or not labels) and any(map(differs_in_every_row, columns)):
                # the column holds ids in one of the files, so raise the error about the others
                for table in tables:
                    table.ids(name)
            continue
        if any(isinstance(value, float) for column in ids for value in column) or not (
            labels or named or all(map(differs_in_every_row, columns))
        ):
            continue
        # in how many files samples are found again; a count of the rows says little about samples
        texts = [{join_key(str(value)) for value in column} for column in ids]
        shared = sum(map(len, texts)) - len(set().union(*texts)) if len(texts) > 1 else 1
        counts = all(
            column in ([*range(len(column))], [*range(1, len(column) + 1)]) for column in ids
        )
        if shared and (shared, not counts) > rank:
            best, rank = name, (shared, not counts)
    return best


def refuse_repeated(files: Sequence[Path]) -> None:
    """Refuse a file that is given twice."""
    real_paths: set[str] = set()
    for path in files:
        real_path = realpath(path)
        if real_path in real_paths:
            raise UsageError(f"{path} is given twice")
        real_paths.add(real_path)


def _label_ensemble(
    tables: Sequence[FileTable], id: str | None, label: Sequence[str] | None, truth: str | None
) -> Ensemble:
    """All label columns of all files as members."""
    for column in label or ():
        if not any(column in table.columns for table in tables):
            tables[0].column(column)
    labels_by_file = {}
    for file, table in zip(_file_names(tables), tables, strict=True):
        # if a file has none of the named columns, the error lists the columns it has
        present = [column for column in label or () if column in table.columns] or label
        leave_out = [truth] if truth is not None and truth in table.columns else []
        labels_by_file[file] = table.members(id, present, leave_out)
    if id is not None:
        for labels, ids in zip(labels_by_file.values(), ids_to_join(tables, id), strict=True):
            labels[id] = ids
        _refuse_disjoint_files(labels_by_file, id)
        return Ensemble.from_tables(labels_by_file, id=id)
    if len(tables) == 1:
        return Ensemble.from_labels(next(iter(labels_by_file.values())))
    _check_same_rows(tables)
    member_names = with_suffixes(
        [f"{file}.{column}" for file, labels in labels_by_file.items() for column in labels]
    )
    columns = [values for labels in labels_by_file.values() for values in labels.values()]
    return Ensemble.from_labels(dict(zip(member_names, columns, strict=True)))


def _known_classes(
    tables: Sequence[FileTable], id: str | None, truth: str, ensemble: Ensemble
) -> list[Any]:
    """The known class of each sample; None for a sample without one."""
    tables_with_truth = [table for table in tables if truth in table.columns]
    if not tables_with_truth:
        tables[0].column(truth)
    if id is None or ensemble.sample_ids is None:
        return [*tables_with_truth[0].labels(truth)]
    known: dict[str, Any] = {}
    for table in tables_with_truth:
        for sample, value in zip(table.ids(id), table.labels(truth), strict=True):
            if value is not None and value == value:
                known.setdefault(join_key(str(sample)), value)
    return [known.get(join_key(str(sample))) for sample in ensemble.sample_ids.tolist()]


def _file_names(tables: Sequence[FileTable]) -> list[str]:
    stems = [table.path.stem for table in tables]
    return stems if len(set(stems)) == len(stems) else [str(table.path) for table in tables]


def _check_same_rows(tables: Sequence[FileTable]) -> None:
    first = tables[0]
    for table in tables[1:]:
        if table.n_rows != first.n_rows:
            raise DataError(
                f"{table.path} has {table.n_rows} rows, but {first.path} has {first.n_rows}; give files "
                "with the same rows, or name a column of ids to join them by (--id)"
            )


def _refuse_disjoint_files(labels_by_file: dict[str, dict[str, Any]], id: str) -> None:
    """Refuse files without a common sample: parts of one table, or ids written in different ways."""
    all_ids = [join_key(sample) for labels in labels_by_file.values() for sample in labels[id]]
    if len(labels_by_file) > 1 and len({*all_ids}) == len(all_ids):
        first = [repr(labels[id][0]) for labels in labels_by_file.values() if len(labels[id])]
        raise DataError(
            f"no sample is in two of the {len(labels_by_file)} files (the first ids in {id!r} are "
            f"{' and '.join(first[:2])}), so there is "
            "nothing to combine; write the ids in the same way in all files. If these are parts of "
            "one table, put them into one file, or give a directory or a quoted pattern (parquet only)"
        )
