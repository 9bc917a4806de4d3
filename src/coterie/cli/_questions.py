"""The commands that answer: how many clusters, what a result says, why a sample is where it is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.cli._commands import chosen_k, read_label_files
from coterie.cli.arguments import UsageError, in_partitions
from coterie.cli.outputs import (
    Journal,
    check_page,
    closing_facts,
    file_facts,
    selection_facts,
)
from coterie.cli.screen import Screen, Stages
from coterie.core.text import counted
from coterie.io import check_writable, read_table, write_table
from coterie.result import Result
from coterie.trust import Explanation

if TYPE_CHECKING:
    from coterie.select import Selection

# rows of an explanation that are shown
MOST_VOTES = 40


def select(arguments: argparse.Namespace, journal: Journal) -> None:
    """Features or labels in, a number of clusters out."""
    files: list[Path] = arguments.files
    if arguments.output is not None:
        check_writable(arguments.output)
        there = [path for path in files if path.exists() and arguments.output.exists()]
        if any(arguments.output.samefile(path) for path in there):
            raise UsageError(f"-o {arguments.output} would overwrite the input; name another file")
    if not arguments.labels and len(files) > 1:
        raise UsageError("several files are read only with --labels; features come in one file")
    if in_partitions(arguments, files):
        from coterie.cli import partitions

        _tell_choice(arguments, journal, *partitions.select(arguments))
        return
    with Stages() as stages:
        data: Any
        if arguments.labels:
            data, _ = read_label_files(files, arguments.id, arguments.columns, None, stages)
            size = f"{counted(data.n_samples, 'sample')}, {counted(data.n_members, 'member')}"
        else:
            stages.begin(f"reading {files[0].name}")
            table = read_table(
                files[0], "features", () if arguments.id is None else (arguments.id,)
            )
            data, names, _ = table.features(arguments.columns, arguments.id, arguments.drop)
            size = f"{counted(len(data), 'sample')}, {counted(len(names), 'feature')}"
        selection = chosen_k(arguments, data, None, stages)
    headline = f"{', '.join(path.name for path in files)}: {size}"
    _tell_choice(arguments, journal, selection, file_facts(files), headline)


def _tell_choice(
    arguments: argparse.Namespace,
    journal: Journal,
    selection: Selection,
    input: dict[str, Any],
    headline: str,
) -> None:
    if arguments.output is not None:
        write_table(arguments.output, selection.table().to_dict())
        journal.written.append(("table", arguments.output))
    screen = Screen()
    if arguments.json:
        screen.json({"input": input} | selection_facts(selection) | closing_facts(journal))
        return
    screen.say(headline)
    _show_choice(screen, selection)
    if arguments.output is not None:
        screen.say("table written to", arguments.output)


def report(arguments: argparse.Namespace, journal: Journal) -> None:
    """A saved result in, a page out."""
    from coterie.report import write

    if not arguments.result.is_file():
        # which says why it cannot be read, before anything is said of the page
        Result.load(arguments.result)
    output = arguments.output or arguments.result.with_suffix(".html")
    check_page(output, "-o")
    if output.exists() and arguments.result.exists() and output.samefile(arguments.result):
        raise UsageError(f"-o {output} would overwrite the result; name another file")
    result = Result.load(arguments.result)
    write(result, output, title=arguments.title)
    journal.written.append(("report", output))
    screen = Screen()
    if arguments.json:
        screen.json(closing_facts(journal))
        return
    screen.say(f"{arguments.result.name}: {result!r}")
    screen.say("report written to", output)


def explain(arguments: argparse.Namespace, journal: Journal) -> None:
    """A saved result and samples in, reasons out."""
    result = Result.load(arguments.result)
    if "parts" in result.input:
        from coterie.cli._distinct import explained

        found = explained(result, arguments.result, arguments.samples, arguments.labels)
    elif arguments.labels is not None:
        raise UsageError(
            f"--labels is for results of rows in partitions; {arguments.result} knows its samples"
        )
    else:
        found = [result.explain(_sample(result, text)) for text in arguments.samples]
    screen = Screen()
    if arguments.json:
        screen.json({"samples": [_explained(one) for one in found]} | closing_facts(journal))
        return
    for i, explanation in enumerate(found):
        if i:
            screen.say("")
        screen.say(explanation.sentence)
        _show_votes(screen, explanation)


def _show_choice(screen: Screen, selection: Selection) -> None:
    screen.say(selection.headline())
    marked = [f"{'*' if k == selection.recommended else ''}{k}" for k in selection.ks]
    headings, *rows = zip(*[["k", *marked, "vote"], *selection.columns()], strict=True)
    screen.table(headings, rows, text=())
    screen.say("")
    for text in selection.sentences():
        screen.say(text)


def _show_votes(screen: Screen, explanation: Explanation) -> None:
    """A row a member, those that see the sample elsewhere first."""
    rows = []
    for vote in explanation.votes.rows():
        if vote["label"] is None:
            rows.append([str(vote["member"]), "-", "-", "-", "-"])
            continue
        agrees = {True: "yes", False: "no", None: "tie"}[vote["agrees"]]
        goes_with = str(vote["goes_with"]) if vote["goes_with"] >= 0 else "several"
        share = f"{100 * vote['share']:.0f} %"
        rows.append([str(vote["member"]), str(vote["label"]), agrees, goes_with, share])
    rows.sort(key=lambda row: ["no", "tie", "yes", "-"].index(row[2]))
    shown = rows[:MOST_VOTES]
    screen.table(["member", "its label", "agrees", "goes with", "share"], shown, text=(0, 1))
    if len(rows) > len(shown):
        more = counted(len(rows) - len(shown), "member")
        screen.say(f"and {more} more; --json tells all", indent=2)


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
        "attachment": explanation.attachment,
        "memberships": explanation.soft.tolist(),
        "votes": list(explanation.votes.rows()),
        "sentence": explanation.sentence,
    }
