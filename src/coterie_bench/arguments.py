"""Options of ``coterie bench``; the work itself is imported when the command runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.cli.outputs import RunLog


def add_arguments(commands: Any, add_jobs: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the command and its steps."""
    parser = commands.add_parser(
        "bench",
        allow_abbrev=False,
        help="run experiments that compare methods",
        description="Run the experiment that a spec describes, and show its results.",
        epilog="examples:\n"
        "  coterie bench specs\n"
        "  coterie bench run quick --out quick --jobs 2\n"
        "  coterie bench table quick\n"
        "  coterie bench plot quick\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=_bench)
    steps = parser.add_subparsers(metavar="STEP", dest="step", required=True)
    _add_run(steps, add_jobs)
    _add_table(steps)
    _add_plot(steps)
    _add_specs(steps)


def _add_run(steps: Any, add_jobs: Callable[[argparse.ArgumentParser], None]) -> None:
    parser = steps.add_parser(
        "run",
        allow_abbrev=False,
        help="run a spec, or what is left of it",
        description="Run a spec. An interrupted command continues where it stopped when it is started "
        "again. Several processes may share a directory.",
    )
    parser.add_argument(
        "spec", metavar="SPEC", help="a .toml file, or a name from: coterie bench specs"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="directory to keep the runs in (default: bench-SPEC)",
    )
    _add_data(parser)
    add_jobs(parser)
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="run on this Dask cluster, such as tcp://host:8786, in as many processes as its workers "
        'have threads (or --jobs); needs "coterie[dask]"',
    )


def _add_table(steps: Any) -> None:
    parser = steps.add_parser(
        "table",
        allow_abbrev=False,
        help="print scores, tests, ranks and costs",
        description="Print every score for the default setting, for the best setting, and for an "
        "oracle that chooses the setting by the true labels, beside the published values.",
    )
    _add_directory(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write to a file instead: .md, .txt, or one row per number as .csv, .tsv or .parquet",
    )


def _add_plot(steps: Any) -> None:
    parser = steps.add_parser(
        "plot",
        allow_abbrev=False,
        help="draw the figures that the runs support",
        description="Draw scores against parameters, ensemble sizes and missing labels; convergence, "
        "costs, ablations, ranks, and the evidence itself.",
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
        help="file formats (default: svg png)",
    )
    _add_data(parser)


def _add_specs(steps: Any) -> None:
    steps.add_parser(
        "specs",
        allow_abbrev=False,
        help="list the specs that come with coterie",
        description="List the specs that come with coterie, and the data sets of each.",
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
        help="folders of data sets (default: $COTERIE_DATA, else ./data)",
    )


def _bench(arguments: argparse.Namespace, log: RunLog) -> None:
    from coterie_bench.command import bench

    bench(arguments, log)
