"""The command that says what the clusters of a saved result are."""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from typing import Any

from coterie.cli.arguments import UsageError
from coterie.cli.outputs import RunLog, closing_facts, file_facts, refuse_overwriting
from coterie.cli.screen import Screen
from coterie.core.errors import CoterieError, DataError
from coterie.core.tables import Table
from coterie.core.text import counted, value_text
from coterie.ensemble.ids import join_key
from coterie.io import check_writable, read_table, write_table
from coterie.io.table import FileTable
from coterie.profiles import Profile
from coterie.profiles import profile as make_profile
from coterie.result import Result

BY_ORDER = (
    "No column holds the ids of the samples, so the rows are taken in the order of the samples; --id names "
    "a column of ids."
)
THE_TABLE = re.compile(r"(?<!')\bX\b(?!')")
# columns that are printed for a pair of clusters
MAX_COLUMNS = 15


def profile(arguments: argparse.Namespace, log: RunLog) -> None:
    """Describe the clusters of a saved result by the columns of a table."""
    if arguments.output is not None:
        check_writable(arguments.output)
        refuse_overwriting("-o", arguments.output, [arguments.result, arguments.table])
    result = Result.load(arguments.result)
    if "parts" in result.input:
        raise UsageError(
            f"{arguments.result} holds distinct label rows of rows in partitions, not the samples; "
            "cluster a sample of the rows to describe the clusters"
        )
    table = read_table(arguments.table, "features", arguments.id)
    id = arguments.id or _id_column(table, result)
    by_order = id is None and result.ensemble.sample_ids is not None
    for name in [*arguments.external, *arguments.categories]:
        # raises an error if the file has no such column
        table.column(name)
    columns = table.mixed(None, [id], arguments.drop, arguments.categories)
    try:
        described = make_profile(
            columns,
            result,
            external=arguments.external or None,
            categories=arguments.categories,
            sample_ids=None if id is None else table.ids(id),
            sample_weight="confidence" if arguments.confidence else None,
            random_state=arguments.seed,
        )
    except DataError as error:
        # in Python the table is X
        message = THE_TABLE.sub(lambda _: arguments.table.name, error.message)
        raise DataError(message, error.advice, error.values) from error
    pair = None if arguments.between is None else _pair(described, result, arguments.between)
    if arguments.output is not None:
        write_table(arguments.output, (pair or described.table).to_dict())
        log.written.append(("table", arguments.output))
    screen = Screen()
    if arguments.json:
        screen.json(_facts(arguments, described, pair, by_order) | closing_facts(log))
        return
    screen.say(f"{arguments.result.name}, {arguments.table.name}: {described.headline()}")
    if by_order:
        screen.say(BY_ORDER)
    if pair is None:
        _show(screen, described)
    else:
        _show_pair(screen, pair, arguments.between)
    for note in described.notes:
        screen.say("")
        screen.say(note)
    if arguments.output is not None:
        screen.say("table written to", arguments.output)


def _id_column(table: FileTable, result: Result) -> str | None:
    """The column that holds the ids of all samples, if the result has ids.

    Without such a column it is the one that held them when the result was made, so that ids which do not
    match are an error.
    """
    if result.ensemble.sample_ids is None:
        return None
    wanted = {join_key(value) for value in result.ensemble.sample_ids.tolist()}
    for name in table.columns:
        # a column with gaps or repeated values holds no ids
        with suppress(CoterieError):
            if wanted <= {join_key(value) for value in table.ids(name)}:
                return name
    held = result.input.get("id")
    return held if held in table.columns else None


def _pair(described: Profile, result: Result, clusters: list[str]) -> Table:
    numbers = []
    for text in clusters:
        if not text.isdecimal() or int(text) >= result.n_clusters:
            raise UsageError(
                f"--between {text}: the clusters are 0 to {result.n_clusters - 1}; name two of them"
            )
        numbers.append(int(text))
    return described.between(*numbers)


def _show(screen: Screen, described: Profile) -> None:
    for sentence, rule in zip(described.sentences, described.rule_sentences, strict=True):
        screen.say("")
        screen.say(sentence)
        if not rule.startswith("no rule"):
            screen.say(f"Rule: {rule}", indent=2)
    if len(described.annotations):
        rows = [
            [row["column"], row["kind"], _number(row["association"]), _number(row["p_adjusted"])]
            for row in described.annotations.rows()
        ]
        headings = ["not used for clustering", "kind", "association", "adjusted p"]
        screen.table(headings, rows, text=(0, 1))


def _show_pair(screen: Screen, pair: Table, clusters: list[str]) -> None:
    rows = []
    for row in list(pair.rows())[:MAX_COLUMNS]:
        name = row["column"] if row["level"] is None else f"{row['column']} = {row['level']}"
        typical = [value_text(row[of], row["kind"]) for of in ("typical", "typical_b")]
        rows.append([name, *typical, f"{row['difference']:+.2f}", f"{row['auc']:.2f}"])
    headings = ["column", *(f"cluster {name}" for name in clusters), "difference", "AUC"]
    screen.table(headings, rows)
    if len(pair) > len(rows):
        more = counted(len(pair) - len(rows), "column")
        screen.say(f"and {more} more; -o writes all", indent=2)


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3g}"


def _facts(
    arguments: argparse.Namespace, described: Profile, pair: Table | None, by_order: bool
) -> dict[str, Any]:
    record: dict[str, Any] = {
        "input": file_facts([arguments.table]),
        "sentences": list(described.sentences),
        "notes": [BY_ORDER, *described.notes] if by_order else list(described.notes),
    }
    if pair is not None:
        return record | {"between": list(pair.rows())}
    return record | {
        "rules": list(described.rules.rows()),
        "annotations": list(described.annotations.rows()),
        "columns": list(described.columns.rows()),
        "table": list(described.table.rows()),
    }
