"""``coterie bench`` on the command line: its options; the work is imported when it is asked for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.cli.outputs import Journal


def run(arguments: argparse.Namespace, journal: Journal) -> None:
    """Carry out the parsed command."""
    from coterie_bench.command import bench

    bench(arguments, journal)


def add_arguments(commands: Any, add_jobs: Callable[[argparse.ArgumentParser], None]) -> None:
    """The command and its own commands."""
    parser = commands.add_parser(
        "bench",
        allow_abbrev=False,
        help="compare methods, as the papers do",
        description="Carry out an experiment that a spec describes, and show what came of it.",
        epilog="examples:\n"
        "  coterie bench specs\n"
        "  coterie bench run quick --out quick --jobs 2\n"
        "  coterie bench table quick\n"
        "  coterie bench plot quick\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    steps = parser.add_subparsers(metavar="STEP", dest="step", required=True)
    _add_run(steps, add_jobs)
    _add_table(steps)
    _add_plot(steps)
    _add_specs(steps)


def _add_run(steps: Any, add_jobs: Callable[[argparse.ArgumentParser], None]) -> None:
    parser = steps.add_parser(
        "run",
        allow_abbrev=False,
        help="carry out a spec, or what is left of it",
        description="Carry out a spec. Stopped at whatever moment and started again, it goes on "
        "where it was; several processes may share a directory.",
    )
    parser.add_argument(
        "spec", metavar="SPEC", help="a .toml file, or a name from: coterie bench specs"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="directory of the runs (default: bench-SPEC)"
    )
    _add_data(parser)
    add_jobs(parser)
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="have the runs done by a Dask cluster, such as tcp://host:8786, by as many processes at "
        'a time as its workers have threads (or --jobs); with "coterie[dask]"',
    )


def _add_table(steps: Any) -> None:
    parser = steps.add_parser(
        "table",
        allow_abbrev=False,
        help="print the scores, tests, ranks and costs of runs",
        description="Every score three ways: at the default setting, at the best setting, and by "
        "an oracle that chooses with the labels; published values beside them.",
    )
    _add_directory(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write instead: .md, .txt, or one row a number as .csv, .tsv or .parquet",
    )


def _add_plot(steps: Any) -> None:
    parser = steps.add_parser(
        "plot",
        allow_abbrev=False,
        help="draw the figures that the runs support",
        description="Draw the runs: scores against parameters, sizes and missing labels, "
        "convergence, costs, ablations, ranks, and the evidence itself.",
    )
    _add_directory(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="folder for the figures (default: DIR/figures)",
    )
    parser.add_argument(
        "--formats",
        nargs="+",
        default=["svg", "png"],
        choices=["svg", "png", "pdf"],
        help="kinds of files (default: svg png)",
    )
    _add_data(parser)


def _add_specs(steps: Any) -> None:
    steps.add_parser(
        "specs",
        allow_abbrev=False,
        help="list the specs that come with coterie",
        description="List the specs that come with coterie, and the data sets that each knows.",
    )


def _add_directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="directory of the runs")


def _add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FOLDER",
        help="folders with data sets (default: $COTERIE_DATA, else ./data)",
    )
