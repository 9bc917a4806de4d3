"""The commands that choose k, write the report of a saved result, and explain its samples."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.cli._clustering import chosen_k, requested_columns
from coterie.cli._label_files import read_label_files, read_oriented
from coterie.cli.arguments import UsageError
from coterie.cli.outputs import (
    CONFIDENCE,
    DISTINCT,
    LABEL,
    RunLog,
    check_page,
    closing_facts,
    file_facts,
    refuse_overwriting,
    selection_facts,
)
from coterie.cli.screen import Screen, Stages
from coterie.core.errors import DataError, SampleError
from coterie.core.text import counted, listed, percent
from coterie.generate.tables import table_features
from coterie.io import check_writable, write_table
from coterie.io.parquet import readable, require_pyarrow
from coterie.result import Result
from coterie.trust import Explanation

if TYPE_CHECKING:
    from coterie.select import Selection

# rows of an explanation to print
MAX_VOTES = 40


def select(arguments: argparse.Namespace, log: RunLog) -> None:
    """Recommend a number of clusters for features or labels."""
    files: list[Path] = arguments.files
    check_select(arguments)
    with Stages() as stages:
        data: Any
        if arguments.labels:
            read = read_label_files(
                files, arguments.id, arguments.columns, None, arguments.transpose, stages
            )
            name, data = read.words, read.ensemble
            size = f"{counted(data.n_samples, 'sample')}, {counted(data.n_members, 'member')}"
        else:
            name = files[0].name
            stages.begin(f"reading {name}")
            table, arguments.id = read_oriented(
                files[0], "features", arguments.id, arguments.transpose
            )
            data = table_features(*requested_columns(arguments, table))
            size = f"{counted(len(data), 'sample')}, {counted(data.shape[1], 'feature')}"
        selection = chosen_k(arguments, data, None, stages)
    show_selection(arguments, log, selection, file_facts(files), f"{name}: {size}")


def check_select(arguments: argparse.Namespace) -> None:
    """Refuse options of ``select`` that cannot be carried out."""
    files: list[Path] = arguments.files
    if arguments.output is not None:
        check_writable(arguments.output)
        refuse_overwriting("-o", arguments.output, files)
    if not arguments.labels and len(files) > 1:
        raise UsageError("several files are read only with --labels; features come in one file")
    if not arguments.labels and arguments.groups is not None:
        raise UsageError("--groups names groups of clusterings; use it with --labels")


def show_selection(
    arguments: argparse.Namespace,
    log: RunLog,
    selection: Selection | None,
    input: dict[str, Any],
    headline: str,
) -> None:
    """Write the table of criteria if a file is named, and print the recommendation."""
    assert selection is not None
    if arguments.output is not None:
        write_table(arguments.output, selection.table().to_dict())
        log.written.append(("table", arguments.output))
    screen = Screen()
    if arguments.json:
        screen.json({"input": input} | selection_facts(selection) | closing_facts(log))
        return
    screen.say(headline)
    _show_criteria(screen, selection)
    if arguments.output is not None:
        screen.say("table written to", arguments.output)


def report(arguments: argparse.Namespace, log: RunLog) -> None:
    """Write the report of a saved result."""
    from coterie.report import write

    if not arguments.result.is_file():
        # the error about the result comes before any error about the page
        Result.load(arguments.result)
    output = arguments.output or arguments.result.with_suffix(".html")
    check_page(output, "-o")
    refuse_overwriting("-o", output, [arguments.result])
    result = Result.load(arguments.result)
    write(result, output, title=arguments.title)
    log.written.append(("report", output))
    screen = Screen()
    if arguments.json:
        screen.json(closing_facts(log))
        return
    screen.say(f"{arguments.result.name}: {result!r}")
    screen.say("report written to", output)


def explain(arguments: argparse.Namespace, log: RunLog) -> None:
    """Say why samples of a saved result are in their clusters."""
    result = Result.load(arguments.result)
    if "parts" in result.input:
        explanations = _explained_by_distinct_row(
            result, arguments.result, arguments.samples, arguments.labels
        )
    elif arguments.labels is not None:
        raise UsageError(
            f"--labels is only for results of rows in partitions; leave it out for {arguments.result}"
        )
    else:
        explanations = [result.explain(_sample(result, text)) for text in arguments.samples]
    screen = Screen()
    if arguments.json:
        screen.json(
            {"samples": [_explanation_facts(one) for one in explanations]} | closing_facts(log)
        )
        return
    for i, explanation in enumerate(explanations):
        if i:
            screen.say("")
        screen.say(explanation.sentence)
        _show_votes(screen, explanation)


def _show_criteria(screen: Screen, selection: Selection) -> None:
    screen.say(selection.headline())
    marked = [f"{'*' if k == selection.recommended else ''}{k}" for k in selection.ks]
    headings, *rows = zip(*[["k", *marked], *selection.columns()], strict=True)
    screen.table(headings, rows, text=())
    screen.say("")
    for text in selection.sentences():
        screen.say(text)


def _show_votes(screen: Screen, explanation: Explanation) -> None:
    """One row per member; members that disagree come first."""
    rows = []
    for vote in explanation.votes.rows():
        if vote["label"] is None:
            rows.append([str(vote["member"]), "-", "-", "-", "-"])
            continue
        agrees = {True: "yes", False: "no", None: "tie"}[vote["agrees"]]
        goes_with = str(vote["goes_with"]) if vote["goes_with"] >= 0 else "several"
        share = percent(vote["share"])
        rows.append([str(vote["member"]), str(vote["label"]), agrees, goes_with, share])
    rows.sort(key=lambda row: ["no", "tie", "yes", "-"].index(row[2]))
    shown = rows[:MAX_VOTES]
    screen.table(["member", "its label", "agrees", "goes with", "share"], shown, text=(0, 1))
    if len(rows) > len(shown):
        more = counted(len(rows) - len(shown), "member")
        screen.say(f"and {more} more; --json lists all", indent=2)


def _sample(result: Result, text: str) -> Any:
    """The id as text, or as a number if the ids are numbers or row numbers."""
    ids = result.ensemble.sample_ids
    if ids is not None and ids.dtype.kind not in "iuf":
        return text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _explanation_facts(explanation: Explanation) -> dict[str, Any]:
    return {
        "sample": explanation.sample,
        "cluster": explanation.cluster,
        "confidence": explanation.confidence,
        "rival": explanation.rival,
        "attachment": explanation.attachment,
        "memberships": explanation.soft.tolist(),
        "votes": list(explanation.votes.rows()),
        "sentence": explanation.sentence,
    }


# ---------------------------------------------------------------------- results of rows in partitions


def _explained_by_distinct_row(
    result: Result, path: Path, samples: Sequence[str], labels: Path | None
) -> list[Explanation]:
    """Explain samples by id or row number, or by distinct row if ``labels`` is None.

    The result holds distinct label rows only. ``labels`` is the directory that the same command wrote;
    it gives the distinct row of every row.
    """
    if labels is None:
        return [_by_distinct_row(result, path, text) for text in samples]
    rows = _find_distinct_rows(result, labels, samples)
    return [_explain(result, row, text) for text, row in zip(samples, rows, strict=True)]


def _by_distinct_row(result: Result, path: Path, text: str) -> Explanation:
    size = result.ensemble.n_samples
    if not (text.isdecimal() and int(text) < size):
        raise SampleError(
            f"{text!r}: {path} holds {counted(size, 'distinct row')} (0 to {size - 1}), not the ids of "
            f"the {result.ensemble.total_count:,} rows they represent; give the directory of "
            "labels written by the same command: --labels DIR (if there is none, run that command again "
            "with -o DIR)"
        )
    return _explain(result, int(text), None)


def _explain(result: Result, row: int, name: str | None) -> Explanation:
    explanation = result.explain(row)
    count = counted(int(result.ensemble.sample_counts[row]), "row")
    if name is None:
        sentence = f"{explanation.sentence} (This distinct row represents {count}.)"
        return replace(explanation, sentence=sentence)
    rest = explanation.sentence.removeprefix(f"Sample {row} ")
    note = f"It has the same labels as distinct row {row}, which represents {count}."
    sentence = f"Sample {name} {rest} ({note})"
    return replace(explanation, sample=name, sentence=sentence)


def _find_distinct_rows(result: Result, folder: Path, samples: Sequence[str]) -> list[int]:
    """The distinct row of each sample, by its id or, without ids, by its row number."""
    require_pyarrow(folder)
    from pyarrow import dataset

    # part-9 before part-10
    files = sorted(folder.glob("*.parquet"), key=lambda file: (len(file.name), file.name))
    if not files:
        raise DataError(f"--labels {folder} is not a directory of parquet files")
    with readable(folder):
        labels = dataset.dataset(files, format="parquet")
        size, present = labels.count_rows(), labels.schema.names
        expected = result.ensemble.total_count
        if DISTINCT not in present or LABEL not in present or size != expected:
            raise DataError(
                f"--labels {folder} was not written with this result: it has {size:,} rows with "
                f"{listed(present)}, but the result has {expected:,} rows, with {LABEL} and {DISTINCT}"
            )
        ids = [name for name in present if name not in (LABEL, CONFIDENCE, DISTINCT)]
        if ids:
            rows = _rows_by_id(labels, folder, ids[0], samples)
        else:
            rows = _rows_by_number(labels, folder, size, samples)
    for text, row in zip(samples, rows, strict=True):
        distinct = row[DISTINCT]
        if not 0 <= distinct < len(result.labels) or result.labels[distinct] != row[LABEL]:
            raise DataError(
                f"--labels {folder} was not written with this result: its label of {text} differs"
            )
    return [row[DISTINCT] for row in rows]


def _rows_by_id(labels: Any, folder: Path, id: str, samples: Sequence[str]) -> list[dict[str, Any]]:
    """For each sample, the first row that has its id."""
    import pyarrow as pa
    from pyarrow import compute

    kind = labels.schema.field(id).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    id_of: dict[str, Any] = {}
    for text in samples:
        # text that cannot be an id of this type is absent
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            id_of[text] = pa.scalar(text).cast(kind).as_py()
    values = pa.array([*id_of.values()], type=kind)
    is_wanted = compute.field(id).cast(kind).isin(values)
    table = labels.to_table(columns=[id, LABEL, DISTINCT], filter=is_wanted)
    rows: dict[Any, dict[str, Any]] = {}
    for row in table.to_pylist():
        rows.setdefault(row[id], row)
    absent = [text for text in samples if text not in id_of or id_of[text] not in rows]
    if absent:
        raise SampleError(f"{folder}: no row has {listed(map(repr, absent), 5)} in column {id!r}")
    return [rows[id_of[text]] for text in samples]


def _rows_by_number(
    labels: Any, folder: Path, size: int, samples: Sequence[str]
) -> list[dict[str, Any]]:
    """For each sample, the row with its number."""
    for text in samples:
        if not (text.isdecimal() and int(text) < size):
            raise SampleError(
                f"{folder} has no column of ids, so samples are row numbers from 0 to {size - 1:,}, "
                f"not {text!r}"
            )
    numbers = [*map(int, samples)]
    rows: list[dict[str, Any]] = labels.take(numbers, columns=[LABEL, DISTINCT]).to_pylist()
    return rows
