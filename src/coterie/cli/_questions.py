"""The commands that answer: how many clusters, what a result says, why a sample is where it is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from coterie.cli._arguments import UsageError
from coterie.cli._commands import chosen_k, read_labels
from coterie.cli._outputs import (
    Journal,
    check_page,
    closing_facts,
    file_facts,
    selection_facts,
)
from coterie.cli._screen import Screen, Stages, counted
from coterie.io import check_writable, read_table, write_table
from coterie.io._read import features_of
from coterie.result import Result
from coterie.trust import Explanation


def select(arguments: argparse.Namespace, journal: Journal) -> None:
    """Features or labels in, a number of clusters out."""
    files: list[Path] = arguments.files
    if arguments.output is not None:
        check_writable(arguments.output)
        if any(arguments.output.exists() and arguments.output.samefile(path) for path in files):
            raise UsageError(f"-o {arguments.output} would overwrite the input; name another file")
    if not arguments.labels and len(files) > 1:
        raise UsageError("several files are read only with --labels; features come in one file")
    with Stages() as stages:
        data: Any
        if arguments.labels:
            data, _ = read_labels(files, arguments.id, arguments.columns, None, stages)
            size = f"{counted(data.n_samples, 'sample')}, {counted(data.n_members, 'member')}"
        else:
            stages.begin(f"reading {files[0].name}")
            table = read_table(
                files[0], "features", () if arguments.id is None else (arguments.id,)
            )
            data, names, _ = features_of(table, arguments.columns, arguments.id, arguments.drop)
            size = f"{counted(len(data), 'sample')}, {counted(len(names), 'feature')}"
        selection = chosen_k(arguments, data, None, stages)
        if arguments.output is not None:
            write_table(arguments.output, selection.table().to_dict())
            journal.written.append(("table", arguments.output))
    screen = Screen()
    if arguments.json:
        screen.json(
            {"input": file_facts(files)} | selection_facts(selection) | closing_facts(journal)
        )
        return
    screen.say(f"{', '.join(path.name for path in files)}: {size}")
    screen.say("")
    screen.say(str(selection))
    if arguments.output is not None:
        screen.say(f"table written to {arguments.output}")


def report(arguments: argparse.Namespace, journal: Journal) -> None:
    """A saved result in, a page out."""
    from coterie.report import write

    output = arguments.output or arguments.result.with_suffix(".html")
    check_page(output, "-o")
    result = Result.load(arguments.result)
    write(result, output, title=arguments.title)
    journal.written.append(("report", output))
    screen = Screen()
    if arguments.json:
        screen.json(closing_facts(journal))
        return
    screen.say(f"{arguments.result.name}: {result!r}")
    screen.say(f"report written to {output}")


def explain(arguments: argparse.Namespace, journal: Journal) -> None:
    """A saved result and samples in, reasons out."""
    result = Result.load(arguments.result)
    found = [result.explain(_sample(result, text)) for text in arguments.samples]
    screen = Screen()
    if arguments.json:
        screen.json({"samples": [_explained(one) for one in found]} | closing_facts(journal))
        return
    for i, explanation in enumerate(found):
        if i:
            screen.say("")
        screen.say(str(explanation))


def _sample(result: Result, text: str) -> Any:
    """The id as the data have it: text, or a number where ids are numbers or rows."""
    ids = result.ensemble.sample_ids
    if ids is not None and ids.dtype.kind not in "iuf":
        return text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _explained(explanation: Explanation) -> dict[str, Any]:
    return {
        "sample": explanation.sample,
        "cluster": explanation.cluster,
        "confidence": explanation.confidence,
        "rival": explanation.rival,
        "memberships": explanation.soft.tolist(),
        "votes": list(explanation.votes.rows()),
        "sentence": explanation.sentence,
    }
