"""The command ``coterie bench``: run a spec, print its tables, draw its figures."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coterie.cli.outputs import RunLog
from coterie.cli.screen import Screen, Stages
from coterie.core.packages import require_package
from coterie.core.text import counted
from coterie.io import write_table
from coterie.io.write import WRITABLE, check_writable, whole_file
from coterie_bench import (
    as_columns,
    as_markdown,
    as_text,
    plot,
    read_spec,
    run,
    shipped,
    table,
)
from coterie_bench._records import RunRecord
from coterie_bench._run import usual_directory

PAGES = (".md", ".txt")


def bench(arguments: argparse.Namespace, log: RunLog) -> None:
    """Run one step."""
    {"run": _run, "table": _table, "plot": _plot, "specs": _specs}[arguments.step](arguments, log)


def _run(arguments: argparse.Namespace, log: RunLog) -> None:
    screen = Screen()
    out: Path = arguments.out or usual_directory(arguments.spec)
    with Stages() as stages, _client(arguments.scheduler) as client:
        stages.begin("making members")

        def follow(done: int, total: int, finished: RunRecord | None) -> None:
            if finished is None:
                # from here on every finished run is kept, even if the command is interrupted
                log.written.append(("runs", out))
                stages.begin("running", total)
            stages.reach(done, total)

        outcome = run(
            arguments.spec,
            out,
            data=arguments.data,
            n_jobs=arguments.jobs,
            client=client,
            callback=follow,
        )
    already = outcome.total - outcome.done_now
    screen.say(
        f"{counted(outcome.total, 'run')}"
        + (f", {already:,} of them done before" if already else "")
        + f"; {outcome.failed or 'none'} failed."
    )
    for remark in outcome.remarks:
        screen.say(f"{remark}.")
    if outcome.absent:
        screen.say(f"Not found and left out: {', '.join(outcome.absent)}.")
    screen.say("The runs are in", outcome.directory, "(coterie bench table, coterie bench plot).")


@contextmanager
def _client(address: str | None) -> Iterator[Any]:
    """A client of the scheduler at an address; None to stay on this machine."""
    if address is None:
        yield None
        return
    from coterie.cli.partitions import connected

    require_package(f"--scheduler {address}", "dask", "dask")
    with connected(address) as client:
        yield client


def _table(arguments: argparse.Namespace, log: RunLog) -> None:
    screen = Screen()
    output: Path | None = arguments.output
    kind = "" if output is None else output.suffix.lower()
    if output is not None:
        check_writable(output, None if kind in PAGES else WRITABLE)
    summary = table(arguments.directory)
    if output is None:
        screen.text(as_text(summary, screen.width))
        return
    if kind in PAGES:
        page = as_markdown(summary) if kind == ".md" else as_text(summary)
        with whole_file(output) as file:
            file.write(f"{page}\n".encode())
    else:
        write_table(output, as_columns(summary))
    log.written.append(("table", output))
    screen.say("Wrote", output)


def _plot(arguments: argparse.Namespace, log: RunLog) -> None:
    require_package("a figure", "matplotlib", "bench")
    screen = Screen()
    with Stages() as stages:
        saved = plot(
            arguments.directory,
            arguments.output,
            arguments.formats,
            data=arguments.data,
            callback=lambda figure: stages.begin(f"drawing {figure.name}"),
        )
    captions = saved.files[-1]
    log.written += [("figure", path) for path in saved.files]
    screen.say(
        f"Wrote {counted(len(saved.files) - 1, 'figure file')}; what each shows is in", captions
    )
    for reason in saved.left_out:
        screen.say(f"Left out: {reason}", indent=2)


def _specs(arguments: argparse.Namespace, log: RunLog) -> None:
    screen = Screen()
    for name in shipped():
        spec = read_spec(name)
        runs = sum(len(method.settings()) for method in spec.methods)
        screen.say(f"{name}: {spec.title}.")
        screen.say(
            f"Data: {', '.join(source.name for source in spec.data)}. "
            f"{counted(len(spec.methods), 'method')} at {counted(runs, 'setting')}, "
            f"{counted(spec.protocol.repetitions, 'repetition')}.",
            indent=2,
        )
