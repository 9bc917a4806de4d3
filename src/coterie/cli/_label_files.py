"""Files of labels, side by side or joined by an id, become one Ensemble."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import realpath
from pathlib import Path
from typing import Any

from coterie.cli.arguments import UsageError
from coterie.cli.screen import Stages
from coterie.core.errors import DataError, LabelError
from coterie.core.text import listed
from coterie.ensemble import Ensemble
from coterie.ensemble.read import with_suffixes
from coterie.io import FileTable, read_table
from coterie.io.table import ids_to_join


def read_label_files(
    files: Sequence[Path],
    id: str | None,
    columns: Sequence[str] | None,
    truth: str | None,
    stages: Stages,
) -> tuple[Ensemble, list[Any] | None]:
    """Read files of labels as one ensemble, and the known class of each sample.

    Parameters
    ----------
    files : sequence of Path
    id : str or None
        The column to join by; None puts files with the same rows side by side.
    columns : sequence of str or None
        The columns with labels, each in at least one of the files; None takes all.
    truth : str or None
        The column of known classes, which is not a member.
    stages : Stages
    """
    refuse_repeated(files)
    tables = []
    for path in files:
        stages.begin(f"reading {path.name}")
        tables.append(read_table(path, "labels", id))
    try:
        ensemble = _label_ensemble(tables, id, columns, truth)
    except LabelError as error:
        note = " (rows are counted from 0)" if re.search(r" rows? \d", error.message) else ""
        message = f"{listed(map(str, files), 5)}: {error.message}{note}"
        raise DataError(message, error.advice, error.values) from error
    return ensemble, None if truth is None else _known_classes(tables, id, truth, ensemble)


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
                known.setdefault(str(sample), value)
    return [known.get(str(sample)) for sample in ensemble.sample_ids.tolist()]


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
    all_ids = [sample for labels in labels_by_file.values() for sample in labels[id]]
    if len(labels_by_file) > 1 and len({*all_ids}) == len(all_ids):
        first = [repr(labels[id][0]) for labels in labels_by_file.values() if len(labels[id])]
        raise DataError(
            f"no sample is in two of the {len(labels_by_file)} files (the first ids in {id!r} are "
            f"{' and '.join(first[:2])}), so there is "
            "nothing to combine; write the ids in the same way in all files. If these are parts of "
            "one table, put them into one file, or give a directory or a quoted pattern (parquet only)"
        )
